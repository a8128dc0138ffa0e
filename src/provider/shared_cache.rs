//! Where facts about packages are shared.

use super::OciRepository;
use super::PublicKey;

/// Where facts are shared, and whose count.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SharedCache {
    /// Each provider has a repository below this one.
    pub repository: OciRepository,
    /// The keys that facts must be signed with, one of them; sorted.
    pub trusted_keys: Vec<PublicKey>,
}
