//! SHA256SUMS, OpenPGP signatures, and which hashes may be recorded, as OpenTofu's
//! `internal/getproviders/package_authentication.go` decides it.
//!
//! Nothing here touches the network or the clock: bytes, a policy and the time come in, a verdict comes out.
//!
//! - `sha256sums`: the list of sums of a version, and whether it says what the registry says.
//! - `signature`: whether one of the registry's keys signed that list.
//! - `packages`: the hashes that the OpenTofu registry reports for all platforms.
//! - `dispositions`: where each hash comes from, whether it may be recorded, and whether it confirms an entry.

mod dispositions;
pub(crate) mod packages;
mod sha256sums;
mod signature;

use std::time::SystemTime;

pub(crate) use dispositions::HashDisposition;
pub use dispositions::HashDispositions;
pub(crate) use packages::PackageReport;
pub use sha256sums::Sha256Sums;
#[doc(hidden)]
pub use signature::verify_detached;
pub use signature::{Expired, SignatureError, SignaturePolicy, SigningKey, VerifiedSignature};

use crate::provider::{Authentication, Dialect};

/// What is demanded of a version's signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AuthenticationPolicy {
    /// Whose rules apply.
    pub(crate) dialect: Dialect,
    /// Whether the provider is on the dialect's default host.
    pub(crate) default_host: bool,
    /// `OPENTOFU_ENFORCE_GPG_VALIDATION=true`; without meaning in the terraform dialect.
    pub(crate) enforce_validation: bool,
    /// `OPENTOFU_ENFORCE_GPG_EXPIRATION=true`; without meaning in the terraform dialect.
    pub(crate) enforce_expiration: bool,
}

impl AuthenticationPolicy {
    /// Whether SHA256SUMS is accepted without a signature if the registry reports no signing key.
    fn allows_missing_keys(self) -> bool {
        self.dialect == Dialect::Tofu && self.default_host && !self.enforce_validation
    }
}

/// Authenticates a SHA256SUMS file. Returns how it was authenticated, and what the user must be warned of.
///
/// # Errors
/// No key was reported where one is needed, or no reported key made an acceptable signature.
pub(crate) fn authenticate_sums(
    sums: &[u8],
    signature: &[u8],
    keys: &[SigningKey],
    policy: AuthenticationPolicy,
    now: SystemTime,
) -> Result<(Authentication, Vec<Expired>), SignatureError> {
    if keys.is_empty() {
        return if policy.allows_missing_keys() {
            Ok((Authentication::SigningSkipped, Vec::new()))
        } else {
            Err(SignatureError::NoKeys)
        };
    }
    let policy = SignaturePolicy { dialect: policy.dialect, enforce_expiration: policy.enforce_expiration };
    let verified = signature::verify_detached(sums, signature, keys, policy, now)?;
    let authentication = Authentication::Signed { key_id: verified.key_id, fingerprint: verified.fingerprint };
    Ok((authentication, verified.expired.into_iter().collect()))
}

#[cfg(test)]
mod tests;
