//! SHA256SUMS, OpenPGP signatures, and the hashes that may be recorded, by the rules of OpenTofu's
//! `internal/getproviders/package_authentication.go`.
//!
//! Nothing here uses the network or the clock: the functions take bytes, a policy and the time.
//!
//! - `sha256sums`: the list of sums of a version, and its comparison with the registry's metadata.
//! - `signature`: whether one of the registry's keys signed that list.
//! - `packages`: the hashes that the OpenTofu registry reports for all platforms.
//! - `dispositions`: where each hash comes from, whether it may be recorded, and whether it
//!   confirms an entry.

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
pub use signature::{Expired, OpenPgpKey, SignatureError, SignaturePolicy};

use crate::provider::{Authentication, Dialect};

/// Authenticates the SHA256SUMS file of a provider, which may be on the dialect's default host, at
/// the time `now`.
///
/// # Errors
/// No key was reported where one is needed, or no reported key made an acceptable signature.
pub(crate) fn authenticate_sums(
    sums: &[u8],
    signature: &[u8],
    keys: &[OpenPgpKey],
    policy: SignaturePolicy,
    is_on_default_host: bool,
    now: SystemTime,
) -> Result<(Authentication, Option<Expired>), SignatureError> {
    if keys.is_empty()
        && policy.dialect == Dialect::Tofu
        && is_on_default_host
        && !policy.enforce_validation
    {
        return Ok((Authentication::SigningSkipped, None));
    }
    verify_detached(sums, signature, keys, policy, now)
}

#[cfg(test)]
mod tests;
