//! What root modules are locked from.

use std::sync::{Arc, OnceLock};

use super::batches::{Batches, KnownVersions};
use super::many::{Member, SupplyKind, Workspaces};
use super::options::LockOptions;
use crate::diagnostic::{Diagnostics, Result};
use crate::packages::connections::Connections;
use crate::packages::{PublicationDates, Source};
use crate::provider::{Dialect, SharedCache};

/// What root modules are locked from, made when the first of them needs it.
pub struct Supplies {
    /// The versions that lock files name; nothing where hosts are asked.
    locked: KnownVersions,
    made: Vec<Arc<Supply>>,
    failed: Vec<Failed>,
}

/// What the root modules of one batch are locked from.
pub struct BatchSupplies {
    pub(super) made: Vec<Arc<Supply>>,
    /// Why some of the root modules have none.
    pub(super) refused: Vec<(usize, Diagnostics)>,
}

/// What the root modules of a dialect, and of those who trust the same others, are locked from.
pub(super) struct Supply {
    dialect: Dialect,
    shared_cache: Option<SharedCache>,
    /// Where packages come from.
    pub(super) source: Source,
    /// Who knows when versions were published, if that had to be known and anybody can be asked.
    pub(super) dates: OnceLock<PublicationDates>,
}

/// A supply that could not be made.
struct Failed {
    dialect: Dialect,
    shared_cache: Option<SharedCache>,
    errors: Diagnostics,
}

impl Supply {
    /// Which root modules it is for.
    pub(super) fn kind(&self) -> SupplyKind<'_> {
        (self.dialect, self.shared_cache.as_ref())
    }
}

impl Failed {
    fn kind(&self) -> SupplyKind<'_> {
        (self.dialect, self.shared_cache.as_ref())
    }
}

impl Supplies {
    /// Nothing yet.
    pub fn new(batches: &Batches<'_>) -> Self {
        Self { locked: batches.locked_versions().clone(), made: Vec::new(), failed: Vec::new() }
    }

    /// What a batch needs; what of it is not there yet is made.
    pub fn provide(&mut self, batch: &Workspaces, connections: &Connections, options: &LockOptions) -> BatchSupplies {
        for (_, member) in batch.members() {
            let kind = member.supply_kind();
            if self.failed.iter().any(|failed| failed.kind() == kind) {
                continue;
            }
            if let Err(errors) = self.provide_for(member, connections, options) {
                self.made.retain(|supply| supply.kind() != kind);
                let (dialect, shared_cache) = (kind.0, kind.1.cloned());
                self.failed.push(Failed { dialect, shared_cache, errors });
            }
        }
        let refuse = |failed: &Failed| {
            batch.of_kind(failed.kind()).map(|(index, _)| (index, failed.errors.clone())).collect::<Vec<_>>()
        };
        BatchSupplies { made: self.made.clone(), refused: self.failed.iter().flat_map(refuse).collect() }
    }

    fn provide_for(&mut self, member: &Member, connections: &Connections, options: &LockOptions) -> Result<()> {
        let kind @ (dialect, shared) = member.supply_kind();
        let needs_dates = !options.offline && member.minimum_age(options).is_some();
        if !self.made.iter().any(|supply| supply.kind() == kind) {
            let locked = self.locked.iter();
            let locked = locked.flat_map(|(address, versions)| versions.iter().map(move |one| (address, one)));
            let source =
                if options.offline { connections.offline(locked) } else { connections.source_with(dialect, shared)? };
            let shared_cache = shared.cloned();
            self.made.push(Arc::new(Supply { dialect, shared_cache, source, dates: OnceLock::new() }));
        }
        let without_dates = self.made.iter().find(|supply| supply.kind() == kind && supply.dates.get().is_none());
        if let Some(supply) = without_dates.filter(|_| needs_dates)
            && let Some(dates) = connections.publication_dates(dialect)?
        {
            let _ = supply.dates.set(dates);
        }
        Ok(())
    }
}

impl BatchSupplies {
    /// One source, for root modules of one kind.
    pub(super) fn only((dialect, shared_cache): SupplyKind<'_>, source: Source) -> Self {
        let supply = Supply { dialect, shared_cache: shared_cache.cloned(), source, dates: OnceLock::new() };
        Self { made: vec![Arc::new(supply)], refused: Vec::new() }
    }
}
