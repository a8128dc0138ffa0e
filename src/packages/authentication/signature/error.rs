//! Reasons why a signature is not accepted, and their diagnostics.

use crate::diagnostic::{Code, Diagnostic};

/// A key or signature that is not valid now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expired {
    /// Whether it is the signing key or its primary key, and not a signature.
    pub is_key: bool,
    /// The key or signature that is not valid, with the date.
    pub message: String,
}

/// The reason why no signature was accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The registry reports no key, and the policy requires one.
    #[error("the registry reports no signing key")]
    NoKeys,
    /// A key cannot be decoded; that is an error even if another key would match.
    #[error("signing key {key_id:?} cannot be decoded: {reason}")]
    UndecodableKey {
        /// The key's ID according to the registry.
        key_id: String,
        /// The reason.
        reason: String,
    },
    /// No reported key that may sign issued the signature.
    #[error("none of the reported signing keys made the signature")]
    NoKeyMatches,
    /// The file is not a binary OpenPGP signature.
    #[error("the signature file cannot be read: {0}")]
    MalformedSignature(&'static str),
    /// The signature is not over these bytes. Contains the primary key's ID, as the next two do.
    #[error("the signature does not match SHA256SUMS, signing key {0}")]
    BadSignature(String),
    /// The key, its user ID or the subkey that signed was revoked.
    #[error("signing key {0} has been revoked")]
    RevokedKey(String),
    /// A critical notation is not understood.
    #[error("the signature by key {0} depends on a notation that is not supported")]
    UnknownCriticalNotation(String),
    /// The key or the signature has expired, and the policy does not accept that.
    #[error("{}", .0.message)]
    Expired(Expired),
    /// An input is larger than any honest input.
    #[error("{0}")]
    TooLarge(&'static str),
}

impl SignatureError {
    /// The diagnostic for the user; `subject` is the provider with its version.
    pub fn diagnostic(&self, subject: &str) -> Diagnostic {
        let (code, help) = match self {
            Self::NoKeys => (
                Code::UnsignedProvider,
                "ask the provider's author to publish the signing key in the registry",
            ),
            Self::Expired(_) => (
                Code::KeyExpired,
                "ask the provider's author for a release with a valid signature",
            ),
            Self::UndecodableKey { .. } | Self::TooLarge(_) => (
                Code::SignatureInvalid,
                "the registry must report valid keys; tell its operator",
            ),
            Self::RevokedKey(_) => (
                Code::SignatureInvalid,
                "do not use this release; its key may be compromised: ask the provider's author",
            ),
            Self::NoKeyMatches
            | Self::MalformedSignature(_)
            | Self::BadSignature(_)
            | Self::UnknownCriticalNotation(_) => (
                Code::SignatureInvalid,
                "do not use this release before the provider's author has explained this",
            ),
        };
        Diagnostic::error(code, format!("cannot authenticate {subject}: {self}")).help(help)
    }
}

impl Expired {
    /// The warning about an accepted signature; `subject` is the provider with its version.
    pub fn warning(&self, subject: &str) -> Diagnostic {
        Diagnostic::warning(Code::KeyExpired, format!("{subject}: {}", self.message))
            .help("ask the provider's author for a release with a valid signature")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diagnostics_contain_the_subject_the_key_and_the_next_step() {
        let key_id = "34365D9472D7468F".to_owned();
        let message = "signing key 34365D9472D7468F expired on 1970-01-01".to_owned();
        let expired = Expired {
            is_key: true,
            message,
        };
        let warning = expired.warning("acme/null 1.0.0");
        assert_eq!(
            warning.message,
            "acme/null 1.0.0: signing key 34365D9472D7468F expired on 1970-01-01"
        );
        let error = SignatureError::RevokedKey(key_id).diagnostic("acme/null 1.0.0");
        assert_eq!(error.code, Code::SignatureInvalid);
        let message =
            "cannot authenticate acme/null 1.0.0: signing key 34365D9472D7468F has been revoked";
        assert_eq!(error.message, message);
        assert!(error.help.is_some());
        assert_eq!(
            SignatureError::NoKeys.diagnostic("a").code,
            Code::UnsignedProvider
        );
        assert_eq!(
            SignatureError::Expired(expired).diagnostic("a").code,
            Code::KeyExpired
        );
    }
}
