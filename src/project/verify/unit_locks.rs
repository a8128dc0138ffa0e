//! Providers that are locked where Terragrunt runs `init`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::configuration::terragrunt::{UnitSource, is_unit};
use crate::lockfile::{self, LOCK_FILE_NAME};
use crate::project::coverage::DirectoryKind;
use crate::project::root_module::roots::Roots;
use crate::project::root_module::unit::TerragruntUnit;
use crate::provider::{Dialect, ProviderAddress};
use crate::system::{Environment, Tree};

/// The Terragrunt units of a run, with the providers that they lock.
pub(super) struct UnitLocks<'a> {
    environment: &'a Environment,
    /// Directories of the units, absolute and without symbolic links.
    units: Vec<&'a Path>,
    /// Providers that all units lock whose working directory has the files of a directory, which is
    /// that of the unit, or of its module. Most changes need none of them.
    by_directory: OnceLock<BTreeMap<PathBuf, BTreeSet<ProviderAddress>>>,
}

impl<'a> UnitLocks<'a> {
    pub(super) fn new(environment: &'a Environment, roots: &'a Roots) -> Self {
        let mut units = Vec::new();
        for root in &roots.list {
            if root.kind == DirectoryKind::Unit {
                units.extend(root.canonical.as_deref());
            }
        }
        Self {
            environment,
            units,
            by_directory: OnceLock::new(),
        }
    }

    /// Providers that all units lock whose working directory has the files of a directory; `None`
    /// if there is no such unit.
    pub(super) fn locked_by_units_at(&self, directory: &Path) -> Option<BTreeSet<ProviderAddress>> {
        let by_directory = self.by_directory.get_or_init(|| self.read());
        if let Some(locked) = by_directory.get(directory) {
            return Some(locked.clone());
        }
        // A unit that is not among the root modules has no lock file.
        is_unit(&Tree::Work, directory).then(BTreeSet::new)
    }

    fn read(&self) -> BTreeMap<PathBuf, BTreeSet<ProviderAddress>> {
        let mut by_directory = BTreeMap::new();
        for unit in &self.units {
            let opened = TerragruntUnit::open(&Tree::Work, unit, unit, self.environment);
            let mut directories = vec![unit.to_path_buf()];
            let mut lock_directory = unit.to_path_buf();
            if let Some(opened) = &opened {
                if let Ok(UnitSource::Local(module)) = &opened.read.source {
                    directories.push(module.clone());
                }
                if let Some((_, of_module)) = opened.lock_directory() {
                    lock_directory = of_module;
                }
            }
            let locked = locked_in(&lock_directory);
            for directory in directories {
                let of_all_units = by_directory
                    .entry(directory)
                    .or_insert_with(|| locked.clone());
                of_all_units.retain(|address| locked.contains(address));
            }
        }
        by_directory
    }
}

/// Providers in the lock file in a directory; none if it cannot be read, which is an error
/// elsewhere.
pub(super) fn locked_in(directory: &Path) -> BTreeSet<ProviderAddress> {
    let path = directory.join(LOCK_FILE_NAME);
    let Ok(Some(bytes)) = lockfile::read_in(&Tree::Work, &path) else {
        return BTreeSet::new();
    };
    match lockfile::parse(&path, &bytes, Dialect::default()).lock_file {
        Some(lock_file) => lock_file.locks().keys().cloned().collect(),
        None => BTreeSet::new(),
    }
}
