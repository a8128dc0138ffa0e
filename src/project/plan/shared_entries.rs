//! Entries that were recorded in this run. Most root modules lock the same releases, so an entry
//! and its block are computed once for all that plan the same and have the same entry before.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex, OnceLock};

use crate::diagnostic::Diagnostic;
use crate::lockfile::{CanonicalBlock, LockedProvider};
use crate::packages::Packages;
use crate::packages::archive::ComparedHashes;
use crate::provider::{Platform, ProviderAddress};
use crate::system::lock;

/// Maximum number of entries of a provider that are kept. Most root modules get one of the same
/// few.
const MAX_OF_PROVIDER: usize = 8;

/// Numbers of recorded hashes that differ from the published release, or may do so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnconfirmedHashes {
    /// Number of hashes that belong to no published package.
    pub unpublished: usize,
    /// Number of hashes that could not be compared with the published release.
    pub uncompared: usize,
}

impl UnconfirmedHashes {
    /// Numbers of the compared hashes that are not known to be published.
    pub(super) fn of(compared: &ComparedHashes) -> Self {
        Self {
            unpublished: compared.unpublished.len(),
            uncompared: compared.unknown,
        }
    }
}

/// The new entry of a provider, with its input.
pub(crate) struct NewEntry {
    pub(super) provider: Arc<LockedProvider>,
    pub(super) warning: Option<Diagnostic>,
    pub(super) counts: UnconfirmedHashes,
    /// Platforms that the entry covers; `None` if a package with one of its `h1:` is not known.
    pub(super) covered: Option<BTreeSet<Platform>>,
    /// The packages that were looked at.
    pub(super) packages: Arc<Packages>,
    pub(super) rules: EntryRules,
    /// The entry before.
    pub(super) previous: Option<Arc<LockedProvider>>,
    /// Its block, for the first lock file that needs it and for all others.
    pub(super) block: OnceLock<CanonicalBlock>,
}

/// Rules by which an entry is recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryRules {
    /// Location in memory of the source, which lives as long as the run.
    pub(super) source: usize,
    /// Whether an entry that stays gets no other platform than it covers.
    pub(super) keeps_platforms: bool,
    /// Whether the locked version is kept.
    pub(super) keeps_version: bool,
    pub(super) platforms_are_named: bool,
}

/// Entries that were recorded in this run, the last ones of each provider.
#[derive(Default)]
pub(crate) struct SharedEntries(Mutex<HashMap<ProviderAddress, VecDeque<Arc<NewEntry>>>>);

impl SharedEntries {
    /// Returns an entry of a provider that fits; `None` if no root module has recorded one.
    pub(super) fn find(
        &self,
        address: &ProviderAddress,
        fits: impl Fn(&NewEntry) -> bool,
    ) -> Option<Arc<NewEntry>> {
        lock(&self.0)
            .get(address)?
            .iter()
            .find(|entry| fits(entry))
            .cloned()
    }

    /// Keeps an entry for other root modules and returns it. Returns the entry of a different
    /// thread instead if that has kept the same one meanwhile.
    pub(super) fn keep_or_find_same(
        &self,
        address: &ProviderAddress,
        entry: Arc<NewEntry>,
        is_same: impl Fn(&NewEntry) -> bool,
    ) -> Arc<NewEntry> {
        let mut by_provider = lock(&self.0);
        let entries = by_provider.entry(address.clone()).or_default();
        if let Some(known) = entries.iter().find(|entry| is_same(entry)) {
            return Arc::clone(known);
        }
        entries.truncate(MAX_OF_PROVIDER - 1);
        entries.push_front(Arc::clone(&entry));
        entry
    }
}

impl NewEntry {
    /// The block of the entry in canonical form. `address` is the one of its provider.
    pub(super) fn canonical_block(&self, address: &ProviderAddress) -> &CanonicalBlock {
        self.block
            .get_or_init(|| CanonicalBlock::new(address, &self.provider))
    }

    /// Whether the entry belongs to one lock file only: its warning shows positions there, or the
    /// lock file has hashes that are not published.
    pub(super) fn depends_on_lock_file(&self) -> bool {
        self.warning.is_some() || self.counts.unpublished > 0
    }
}

impl std::ops::AddAssign for UnconfirmedHashes {
    fn add_assign(&mut self, other: Self) {
        self.unpublished += other.unpublished;
        self.uncompared += other.uncompared;
    }
}
