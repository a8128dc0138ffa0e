//! Secrets that are sent to hosts.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::HeaderValue;

use crate::provider::Hostname;

/// A secret that is sent to a host. Neither `Debug` nor `Display` shows it.
#[derive(Clone, PartialEq, Eq, derive_more::Debug, derive_more::Display)]
#[debug("[redacted]")]
#[display("[redacted]")]
pub struct Token {
    text: String,
    /// The password in it, if it is a user name and a password.
    password: Option<String>,
}

impl Token {
    /// Wraps a secret without changing it; `None` if it is empty.
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self {
            text: text.to_owned(),
            password: None,
        })
    }

    /// A user name and a password (RFC 7617, section 2).
    pub(crate) fn basic(user: &str, password: &str) -> Self {
        Self {
            text: BASE64_STANDARD.encode(format!("{user}:{password}")),
            password: Some(password.to_owned()),
        }
    }

    /// The secret itself. Only for the request or the program that needs it.
    pub(crate) fn reveal(&self) -> &str {
        &self.text
    }

    /// The password in it, which is as secret as the token.
    pub(super) fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// Whether the secret can be the value of an HTTP header (RFC 9110, section 5.5).
    pub(crate) fn is_sendable(&self) -> bool {
        self.text
            .bytes()
            .all(|byte| byte == b' ' || byte.is_ascii_graphic())
    }

    /// The value of an `Authorization` header (RFC 9110, section 11.6.2); `None` if the secret
    /// cannot be sent.
    pub(crate) fn authorization(&self) -> Option<HeaderValue> {
        let scheme = if self.password.is_some() {
            "Basic"
        } else {
            "Bearer"
        };
        let value = self
            .is_sendable()
            .then(|| format!("{scheme} {}", self.text))?;
        let mut value = HeaderValue::from_str(&value).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// A text without the secret, which a server or a program may have repeated.
    pub(crate) fn redact(&self, text: &str) -> String {
        text.replace(&self.text, "[redacted]")
    }
}

/// The environment variable for a host's token, as a shell can set it; there is none for a host
/// with a port
/// (<https://opentofu.org/docs/cli/config/config-file/#environment-variable-credentials>).
pub fn token_variable(host: &Hostname) -> Option<String> {
    host.port().is_none().then(|| {
        format!(
            "TF_TOKEN_{}",
            host.host().replace('-', "__").replace('.', "_")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_printed() {
        let token = Token::new("s3cr3t").unwrap();
        assert_eq!(token.reveal(), "s3cr3t");
        assert_eq!(
            format!("{token} {token:?} {:?}", Some(&token)),
            "[redacted] [redacted] Some([redacted])"
        );
        assert_eq!(token.redact("no s3cr3t here"), "no [redacted] here");
        assert!(Token::new("").is_none());
        assert_eq!(format!("{:?}", token.authorization().unwrap()), "Sensitive");
        assert!(!Token::new("a\nb").unwrap().is_sendable());
        assert!(Token::new("ü").unwrap().authorization().is_none());
    }
}
