//! Packages and entries that root modules need, each once, however many of them share it.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use super::lock::Plan;
use super::record::Recorded;
use crate::diagnostic::{Diagnostics, Merged, Result};
use crate::lockfile::{LockedProvider, Locks};
use crate::packages::archive::PackageId;
use crate::packages::{self, Fetched, Packages};
use crate::provider::{Platform, ProviderAddress, Version};

/// Maximum number of entries of a provider that an entry is compared with. Most root modules get one of the same few.
const COMPARED: usize = 8;

#[derive(Default)]
pub(super) struct Needed<'a> {
    pub(super) packages: Vec<Package<'a>>,
    pub(super) entries: Vec<NewEntry<'a>>,
    of_provider: HashMap<&'a ProviderAddress, OfProvider>,
}

#[derive(Default)]
struct OfProvider {
    packages: Vec<usize>,
    entries: Vec<usize>,
}

pub(super) struct Package<'a> {
    pub(super) address: &'a ProviderAddress,
    version: &'a Version,
    platform: &'a Platform,
    /// Index of its platform in the list of locked platforms.
    pub(super) place: usize,
    /// The root modules that need it.
    pub(super) waiting: Vec<usize>,
    /// The result; `None` inside if no root module needed it any more.
    pub(super) fetched: OnceLock<Option<packages::Result<Arc<Fetched>>>>,
}

/// A new entry, for all root modules that plan the same and have the same entry now.
pub(super) struct NewEntry<'a> {
    plan: &'a Plan<'a>,
    old: Option<&'a Arc<LockedProvider>>,
    /// The packages of its platforms.
    pub(super) packages: Vec<usize>,
    supplied: OnceLock<Result<Arc<Packages>>>,
    /// The recorded entry, if there is no warning, which would be about one root module.
    pub(super) recorded: OnceLock<Recorded>,
}

impl<'a> Needed<'a> {
    /// Takes note of what a root module needs, given the entries that it has; which new entries these are, in the order
    /// of its plans.
    pub(super) fn by(&mut self, root: usize, plans: &'a [Plan<'_>], old: &'a Locks) -> Vec<usize> {
        let entries: Vec<_> = plans.iter().map(|plan| self.entry(plan, old.get(plan.candidate.address))).collect();
        for package in entries.iter().flat_map(|entry| &self.entries[*entry].packages) {
            self.packages[*package].waiting.push(root);
        }
        entries
    }

    fn entry(&mut self, plan: &'a Plan<'a>, old: Option<&'a Arc<LockedProvider>>) -> usize {
        let of_provider = self.of_provider.entry(plan.candidate.address).or_default();
        let is_it = |entry: &&usize| {
            let entry = &self.entries[**entry];
            entry.plan.records_the_same(plan) && entry.old == old
        };
        if let Some(entry) = of_provider.entries.iter().rev().take(COMPARED).find(is_it) {
            return *entry;
        }
        let Plan { version, platforms, candidate, .. } = plan;
        let mut packages = Vec::new();
        for (place, platform) in platforms.iter().enumerate() {
            let is_it = |package: &&usize| {
                let package = &self.packages[**package];
                package.version == version && package.platform == platform
            };
            packages.push(of_provider.packages.iter().find(is_it).copied().unwrap_or_else(|| {
                let (address, waiting, fetched) = (candidate.address, Vec::new(), OnceLock::new());
                self.packages.push(Package { address, version, platform, place, waiting, fetched });
                of_provider.packages.push(self.packages.len() - 1);
                self.packages.len() - 1
            }));
        }
        let (supplied, recorded) = (OnceLock::new(), OnceLock::new());
        self.entries.push(NewEntry { plan, old, packages, supplied, recorded });
        of_provider.entries.push(self.entries.len() - 1);
        self.entries.len() - 1
    }

    /// The packages of an entry, when they have come, or what went wrong with any.
    pub(super) fn supplied(&self, entry: usize) -> &Result<Arc<Packages>> {
        let entry = &self.entries[entry];
        entry.supplied.get_or_init(|| {
            let (mut packages, mut errors) = (Packages::new(), Merged::default());
            for (platform, package) in entry.plan.platforms.iter().zip(&entry.packages) {
                match self.packages[*package].fetched.get().and_then(Option::as_ref) {
                    Some(Ok(package)) => _ = packages.insert(platform.clone(), Arc::clone(package)),
                    Some(Err(error)) => {
                        Diagnostics::from(error.clone()).into_iter().for_each(|error| errors.merge(error));
                    }
                    None => {}
                }
            }
            errors.into_result(Arc::new(packages))
        })
    }
}

impl Package<'_> {
    pub(super) fn id(&self) -> PackageId {
        PackageId::new(self.address, self.version, self.platform)
    }
}
