//! What one machine has found out about the packages of a release, signed, so that others need not download them.
//!
//! A document says of one release which `h1:` the archive with a `zh:` has, for each platform ([`ReleaseFacts`]). It is in an
//! envelope with an Ed25519 signature ([`Envelope`]). Where it comes from does not matter: it counts for who trusts the key, for
//! the release that it names, and for a package whose `zh:` a verified SHA256SUMS lists.

mod envelope;
mod key;
mod release;

pub use envelope::{Envelope, EnvelopeError};
pub use key::{KeyError, PublicKey, SigningKey};
pub use release::{ReleaseFacts, ReleaseFactsError};

use crate::oci_repository::Repository;

/// Where facts are shared, and whose count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SharedCache {
    /// Each provider has a repository below this one.
    pub repository: Repository,
    /// The keys that facts must be signed with, one of them; sorted.
    pub trusted_keys: Vec<PublicKey>,
}
