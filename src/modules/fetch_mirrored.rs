//! Finds the packages of calls in a mirror of modules.

use super::copy;
use super::fetch_error::{FetchError, FetchResult};
use super::fetcher::ModuleFetcher;
use super::locked::{self, LockedAddress};
use super::mirror::{FoundPackage, ModuleMirror, index_key};
use super::package::{Package, PackageOrigin};
use super::package_store::Content;
use super::registry;
use super::source::ModuleSource;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::lockfile::LockedModule;
use crate::provider::{ConstraintList, HashesByScheme, Version};
use crate::system::storage;

impl ModuleFetcher {
    /// Returns the package that a lock file records for a call.
    ///
    /// # Errors
    /// The mirror does not contain it, or it was altered.
    pub(super) fn locked_package_in_mirror(
        &self,
        mirror: &ModuleMirror,
        source: &ModuleSource,
        locked: &LockedModule,
    ) -> Result<Package> {
        let address = LockedAddress::of(locked, source)
            .map_err(|why| Diagnostic::error(Code::InvalidPackage, format!("the module {why}")))?;
        let (lock_address, directory) = address.cache_key(source);
        let name = locked::display_name(locked);
        // The error for a directory that is no mirror comes before the one about a missing package.
        mirror.index()?;
        let hashes: HashesByScheme = locked.hashes.iter().collect();
        let mut altered_error = None;
        for h1 in &hashes.h1 {
            match mirror.find(h1) {
                FoundPackage::Intact(path) => {
                    let content = Content {
                        path,
                        h1: (*h1).clone(),
                    };
                    let content = self.safe_from_changes(mirror, content)?;
                    return Ok(Package {
                        directory,
                        zh: hashes.zh.first().map(|zh| (*zh).clone()),
                        lock_address: Some(lock_address),
                        origin: PackageOrigin::Mirror,
                        ..Package::cached(content, name)
                    });
                }
                FoundPackage::Altered(why) => {
                    altered_error = Some(mirror.altered_error(&name, h1, &why));
                }
                FoundPackage::Absent => {}
            }
        }
        if hashes.h1.is_empty() {
            let message = format!("{name} is locked without an h1, which a mirror needs");
            let error = Diagnostic::error(Code::ModuleNotInstalled, message);
            return Err(error.help("lock it again where the network is").into());
        }
        match altered_error {
            Some(error) => Err(error.into()),
            None => Err(mirror.absent_error(&name).into()),
        }
    }

    /// Returns the package for a call that no lock file records, and its version.
    ///
    /// # Errors
    /// The mirror does not contain it, has several, or it was altered.
    pub(super) fn package_in_mirror(
        &self,
        mirror: &ModuleMirror,
        source: &ModuleSource,
        constraints: &ConstraintList,
    ) -> Result<(Package, Option<Version>)> {
        let mut entries: Vec<_> = mirror.index()?.packages.iter().collect();
        let address = index_key(source);
        entries.retain(|entry| entry.source == address);
        if let ModuleSource::Registry(registry) = source {
            let versions: Vec<_> = entries
                .iter()
                .filter_map(|entry| entry.parsed_version())
                .collect();
            if versions.is_empty() {
                return Err(mirror.absent_error(&address).into());
            }
            let selected = registry::select_version(&registry.module, &versions, constraints)?;
            entries.retain(|entry| entry.parsed_version().as_ref() == Some(&selected));
        }
        match &entries[..] {
            [] => Err(mirror.absent_error(&source.to_string()).into()),
            [entry] => {
                let locked = entry.locked(source);
                let package = self.locked_package_in_mirror(mirror, source, &locked)?;
                Ok((package, locked.version))
            }
            several => {
                let message = format!(
                    "the mirror {} has {} packages of {source}, and no lock file chooses one",
                    mirror.directory().display(),
                    several.len()
                );
                let error = Diagnostic::error(Code::NoMatchingVersion, message);
                Err(error.help("lock it where the network is").into())
            }
        }
    }

    /// A package that no other user can change while this run reads it: itself, or a copy.
    fn safe_from_changes(&self, mirror: &ModuleMirror, content: Content) -> Result<Content> {
        let is_writable = storage::is_writable_by_others(&content.path)
            || storage::is_writable_by_others(&mirror.contents());
        if !is_writable {
            return Ok(content);
        }
        Ok(self
            .copy_into_cache(&content)
            .map_err(|error| error.about_package(&content.path.display().to_string()))?)
    }

    fn copy_into_cache(&self, content: &Content) -> FetchResult<Content> {
        let cache = self.cache()?;
        let scratch = cache.scratch()?;
        let copy = scratch.path().join("package");
        storage::create_directory(&copy)?;
        copy::tree(&content.path, &copy)?;
        let copied = cache.put(&copy)?;
        if copied.h1 != content.h1 {
            return Err(FetchError::package("it changed while it was copied"));
        }
        Ok(copied)
    }
}
