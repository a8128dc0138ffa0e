//! What a lock file records, whatever its text looks like.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::provider::{ConstraintList, Hash, ProviderAddress, Version};

/// What a lock file records about one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedProvider {
    /// The selected version.
    pub version: Version,
    /// The configuration's constraints when it was selected; may be empty.
    pub constraints: ConstraintList,
    /// The packages that are accepted; may be empty.
    pub hashes: BTreeSet<Hash>,
}

/// What a lock file records, in the order in which it is written. Lock files that record the same about a provider may share it.
pub type Locks = BTreeMap<ProviderAddress, Arc<LockedProvider>>;
