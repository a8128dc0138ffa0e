//! Which root modules lock which versions of which providers: what their lock files say, and nothing else.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::event::Event;
use super::roots::Roots;
use super::session::Session;
use crate::diagnostic::Diagnostics;
use crate::provider::{Dialect, ProviderAddress, Version};

/// The versions of providers that root modules lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockedVersions {
    /// For each version of each provider the root modules that lock it, in the order of their paths.
    pub providers: BTreeMap<ProviderAddress, BTreeMap<Version, Vec<PathBuf>>>,
    /// How many root modules have a lock file.
    pub locked: usize,
    /// The root modules without a lock file.
    pub not_locked: Vec<PathBuf>,
    /// Their dialect, if all have the same; else the default one.
    pub dialect: Dialect,
    /// Why some lock files could not be read.
    pub errors: Diagnostics,
}

impl Session<'_> {
    /// Which versions the lock files of root modules name.
    pub fn locked_versions(&self, roots: &Roots) -> LockedVersions {
        self.notify(Event::Reading);
        let mut versions = LockedVersions::default();
        let mut dialects = Vec::new();
        let answers = self.each_root(roots, |opened| {
            let locks = opened.lock_bytes.is_some().then(|| opened.lock_file()).transpose()?;
            Ok((opened.dialect, locks.map(|(lock_file, _)| lock_file)))
        });
        for (path, answer) in answers {
            match answer {
                Ok((dialect, Some(lock_file))) => {
                    versions.locked += 1;
                    dialects.push(dialect);
                    for (address, locked) in lock_file.locks() {
                        let of_provider = versions.providers.entry(address.clone()).or_default();
                        of_provider.entry(locked.version.clone()).or_default().push(path.clone());
                    }
                }
                Ok((_, None)) => versions.not_locked.push(path),
                Err(errors) => versions.errors.extend(errors),
            }
        }
        versions.dialect = dialects
            .iter()
            .copied()
            .reduce(|all, one| if all == one { all } else { Dialect::default() })
            .unwrap_or_default();
        self.finish();
        versions
    }
}
