//! What vouches for a package.

use std::fmt;

/// How a package was authenticated, in the words that OpenTofu uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Authentication {
    /// SHA256SUMS is signed by a key that the registry reports.
    Signed {
        /// The primary key's ID, 16 upper-case hexadecimal digits, as OpenTofu prints it.
        key_id: String,
        /// The primary key's fingerprint, 40 upper-case hexadecimal digits, for `[trust]`.
        fingerprint: String,
    },
    /// The registry reports no key and the policy accepts that: its word, over TLS, is all there is.
    SigningSkipped,
    /// A mirror reported hashes, and the package has them.
    HashesChecked,
    /// Nobody vouches for the package.
    Unauthenticated,
}

impl fmt::Display for Authentication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signed { key_id, .. } => write!(f, "signed, key ID {key_id}"),
            Self::SigningSkipped => f.write_str("signing skipped"),
            Self::HashesChecked => f.write_str("verified checksum"),
            Self::Unauthenticated => f.write_str("unauthenticated"),
        }
    }
}
