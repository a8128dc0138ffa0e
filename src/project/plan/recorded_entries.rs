//! Entries that were recorded in this run. Most root modules lock the same releases, so an entry is computed once for
//! all that plan the same and have the same entry before.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use super::candidate::Wanted;
use super::packages::ProviderPlan;
use super::record::RecordedEntry;
use super::request::LockRequest;
use crate::lockfile::LockedProvider;
use crate::packages::Source;
use crate::provider::{ConstraintList, Platform, ProviderAddress, Version};
use crate::system::lock;

/// Maximum number of entries of a provider that are kept. Most root modules get one of the same few.
const KEPT: usize = 8;

/// Entries that were recorded in this run, the last ones of each provider.
#[derive(Default)]
pub(crate) struct RecordedEntries {
    by_provider: Mutex<HashMap<ProviderAddress, VecDeque<KnownEntry>>>,
}

/// An entry with everything that it was computed from.
struct KnownEntry {
    source: usize,
    version: Version,
    platforms: Vec<Platform>,
    constraints: ConstraintList,
    rules: [bool; 3],
    old: Option<Arc<LockedProvider>>,
    entry: Arc<RecordedEntry>,
}

impl RecordedEntries {
    /// Returns the entry of a root module that plans the same and has the same entry before.
    pub(super) fn find(
        &self,
        plan: &ProviderPlan<'_>,
        old: Option<&Arc<LockedProvider>>,
        request: &LockRequest<'_>,
    ) -> Option<Arc<RecordedEntry>> {
        let by_provider = lock(&self.by_provider);
        let known = by_provider.get(plan.candidate.address)?.iter().find(|known| known.is_for(plan, old, request))?;
        Some(Arc::clone(&known.entry))
    }

    /// Keeps an entry, and returns it, or the entry that a different thread has kept in the meantime.
    pub(super) fn keep(
        &self,
        entry: Arc<RecordedEntry>,
        plan: &ProviderPlan<'_>,
        old: Option<&Arc<LockedProvider>>,
        request: &LockRequest<'_>,
    ) -> Arc<RecordedEntry> {
        let mut by_provider = lock(&self.by_provider);
        let entries = by_provider.entry(plan.candidate.address.clone()).or_default();
        if let Some(known) = entries.iter().find(|known| known.is_for(plan, old, request)) {
            return Arc::clone(&known.entry);
        }
        entries.truncate(KEPT - 1);
        entries.push_front(KnownEntry {
            source: place(request.source),
            version: plan.version.clone(),
            platforms: plan.platforms.to_vec(),
            constraints: plan.candidate.requirement.constraints.clone(),
            rules: rules(plan, request),
            old: old.cloned(),
            entry: Arc::clone(&entry),
        });
        entry
    }
}

impl KnownEntry {
    fn is_for(&self, plan: &ProviderPlan<'_>, old: Option<&Arc<LockedProvider>>, request: &LockRequest<'_>) -> bool {
        self.source == place(request.source)
            && self.version == *plan.version
            && self.platforms == *plan.platforms
            && self.constraints == plan.candidate.requirement.constraints
            && self.rules == rules(plan, request)
            && self.old.as_ref() == old
    }
}

/// Whether the entry keeps its platforms, whether it is kept, and whether the user named platforms.
fn rules(plan: &ProviderPlan<'_>, request: &LockRequest<'_>) -> [bool; 3] {
    [plan.keeps_platforms, plan.candidate.wanted == Wanted::Keep, request.prepared.platforms_are_named]
}

/// Place in memory of a source, which lives as long as the run.
fn place(source: &Source) -> usize {
    std::ptr::from_ref(source).addr()
}
