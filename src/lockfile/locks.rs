//! The content of a lock file, without its formatting.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::provider::{ConstraintList, Hash, ProviderAddress, Version};

/// The entry of one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockedProvider {
    /// The selected version.
    pub version: Version,
    /// The configuration's constraints when it was selected; may be empty.
    pub constraints: ConstraintList,
    /// The packages that are accepted; may be empty.
    pub hashes: BTreeSet<Hash>,
}

/// The entries of a lock file, in the order in which they are written. Lock files may share equal entries.
pub type Locks = BTreeMap<ProviderAddress, Arc<LockedProvider>>;
