//! Authentication of packages.

/// Method by which a package was authenticated, in the words of OpenTofu.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
pub enum Authentication {
    /// SHA256SUMS is signed by a key that the registry reports.
    #[display("signed")]
    Signed {
        /// The primary key's ID, 16 upper-case hexadecimal digits, as OpenTofu prints it.
        key_id: String,
        /// The primary key's fingerprint, 40 upper-case hexadecimal digits, for `[trust]`.
        fingerprint: String,
    },
    /// The registry reports no key and the policy accepts that: its word, over TLS, is all there
    /// is.
    #[display("signing skipped")]
    SigningSkipped,
    /// A mirror reported hashes, and the package has them.
    #[display("verified checksum")]
    HashesChecked,
    /// No signature or checksum authenticates the package.
    #[display("unauthenticated")]
    Unauthenticated,
}

impl Authentication {
    /// With the ID of the key that signed, as `init` shows it.
    pub fn with_key(&self) -> String {
        match self {
            Self::Signed { key_id, .. } => format!("signed, key {key_id}"),
            other => other.to_string(),
        }
    }

    /// With the whole fingerprint, as `[trust]` wants it.
    pub fn in_full(&self) -> String {
        match self {
            Self::Signed { fingerprint, .. } => format!("signed by {fingerprint}"),
            other => other.to_string(),
        }
    }
}
