//! Packages that a lock file records: from the cache, from an installed module, or from where they
//! are.

#![expect(
    clippy::disallowed_methods,
    reason = "packages of modules are the same in every revision"
)]

use std::fs;
use std::path::{Path, PathBuf};

use super::fetch_error::{FetchError, FetchResult};
use super::fetch_package::new_directory;
use super::fetched::{FetchPurpose, ReplacedPackage};
use super::fetcher::{Clients, ModuleFetcher};
use super::git::{GitAddress, Revision};
use super::limits::GIT;
use super::locked::{self, LockedAddress, locked_commit};
use super::package::{Package, Wildcards};
use super::package_hash;
use super::source::{Getter, ModuleSource, RemoteSource};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::lockfile::LockedModule;
use crate::provider::HashScheme;
use crate::system::canonicalize;

impl ModuleFetcher {
    /// Returns the package that a lock file records for a call: from a mirror alone if there is
    /// one, or else from the cache or from where it is. `None` if it would have to be fetched and
    /// no requests may be made.
    ///
    /// # Errors
    /// It was removed, or has different hashes and may not change.
    pub(super) fn locked_package(
        &self,
        clients: &Clients,
        source: &ModuleSource,
        locked: &LockedModule,
        replaced: ReplacedPackage,
    ) -> Result<Option<Package>> {
        let address = match LockedAddress::of(locked, source) {
            Ok(address) => address,
            Err(why) => {
                let message = format!("the module {why}");
                return Err(Diagnostic::error(Code::InvalidPackage, message).into());
            }
        };
        // A mirror replaces the cache and the network.
        if let Some(mirror) = &self.mirror {
            return self
                .locked_package_in_mirror(mirror, source, locked)
                .map(Some);
        }

        // 1. Take it from the cache.
        let (key, directory_of_call) = address.cache_key(source);
        if let Some(content) = self.cache()?.get_recorded(&key, &locked.hashes) {
            let package = Package::cached(content, locked::display_name(locked));
            // The cache keeps no archive, so that its `zh:` is taken from the entry.
            let zh = locked
                .hashes
                .iter()
                .find(|hash| hash.scheme() == HashScheme::Zh)
                .cloned();
            return Ok(Some(Package {
                directory: directory_of_call,
                zh,
                lock_address: Some(key),
                ..package
            }));
        }
        if self.is_offline() {
            return Ok(None);
        }

        // 2. Fetch it.
        let package = self.fetch_locked(clients, &address, source)?;
        let package = match (&address, source) {
            // The registry specifies the directory of the module in the package.
            (LockedAddress::Remote(_), ModuleSource::Registry(_)) => Package {
                directory: directory_of_call,
                ..package
            },
            // An address with a directory is locked with the hashes of that directory alone.
            (LockedAddress::Remote(address), _) => {
                let name = package.name.clone();
                let narrowed = self.narrow_to_directory(
                    package,
                    &address.directory,
                    Wildcards::Literal,
                    FetchPurpose::Locking,
                );
                narrowed.map_err(|error| error.about_package(&name))?
            }
            _ => package,
        };

        // 3. Compare it with the lock file.
        if replaced == ReplacedPackage::Accepted || package.is_one_of(&locked.hashes) {
            return Ok(Some(package));
        }
        Err(locked::replaced_error(locked, &package).into())
    }

    /// Fetches the package of a locked address, with the login and the key of the call's source if
    /// that is for the same repository or archive. Addresses in lock files have none.
    fn fetch_locked(
        &self,
        clients: &Clients,
        address: &LockedAddress,
        source: &ModuleSource,
    ) -> FetchResult<Package> {
        match (address, source) {
            (
                LockedAddress::Registry {
                    module, version, ..
                },
                _,
            ) => self.registry_version(clients, module, version, FetchPurpose::Locking, || {
                clients.registry.location(module, version)
            }),
            (LockedAddress::Remote(package), ModuleSource::Remote(_))
                if package.getter() == Getter::Git =>
            {
                let commit = locked_commit(package).unwrap_or_default();
                let own = repository_with_login(source, package).at_commit(&commit);
                self.package_at_locked_address(
                    clients,
                    &RemoteSource {
                        directory: String::new(),
                        ..own
                    },
                )
            }
            (LockedAddress::Remote(package), ModuleSource::Remote(with_login))
                if with_login.without_credentials().package == package.package =>
            {
                self.package_at_locked_address(clients, with_login)
            }
            (LockedAddress::Remote(package), _) => self.package_at_locked_address(clients, package),
        }
    }

    /// Returns the directory of the package that is locked for a call with this source, if it is on
    /// this machine: in a mirror, in the cache, or made of the objects in the `.git` of an
    /// installed module. It has a locked hash. No request is made.
    pub(crate) fn locked_package_here(
        &self,
        source: &ModuleSource,
        locked: &LockedModule,
        installed: &Path,
    ) -> Option<PathBuf> {
        let (address, _) = LockedAddress::of(locked, source).ok()?.cache_key(source);
        if let Some(mirror) = &self.mirror
            && let Ok(package) = self.locked_package_in_mirror(mirror, source, locked)
        {
            return Some(package.top);
        }
        let cache = self.cache().ok()?;
        if let Some(content) = cache.get_recorded(&address, &locked.hashes) {
            return Some(content.path);
        }

        // OpenTofu and Terraform install a module from git with its `.git`.
        let dot_git = canonicalize(installed).ok()?.join(GIT);
        if !dot_git.symlink_metadata().ok()?.is_dir() {
            return None;
        }
        let source = RemoteSource::parse_full(&address)?;
        if source.getter() != Getter::Git {
            return None;
        }
        let git_address = GitAddress::parse(source.url()).ok()?;
        let scratch = cache.scratch().ok()?;
        let package = new_directory(scratch.path(), "package").ok()?;
        self.git(&scratch.path().join("git"))
            .read_objects(&dot_git, &git_address, &package)
            .ok()?;
        // Other programs may have changed the objects, so only the hash shows whether they are
        // right.
        let h1 = package_hash::h1(&package).ok()?;
        if !locked.hashes.contains(&h1) {
            return None;
        }
        let content = cache.put(&package).ok()?;
        cache.record(&address, &h1, None).ok()?;
        Some(content.path)
    }

    /// Whether the cache contains the package that a lock file records for a call with this source.
    pub(crate) fn is_in_cache(&self, source: &ModuleSource, locked: &LockedModule) -> bool {
        let Ok(address) = LockedAddress::of(locked, source) else {
            return false;
        };
        let (key, _) = address.cache_key(source);
        let Ok(cache) = self.cache() else {
            return false;
        };
        cache.get_recorded(&key, &locked.hashes).is_some()
    }

    /// Makes the git repository of a locked package as a new directory, from the cache or from
    /// where it is. The files of the package are in the directory above it. Does nothing if the
    /// package does not come from git.
    ///
    /// # Errors
    /// It cannot be fetched.
    pub(crate) fn make_repository(
        &self,
        source: &ModuleSource,
        locked: &LockedModule,
        directory: &Path,
    ) -> Result<()> {
        let Some((package, commit)) = locked::git_repository(locked) else {
            return Ok(());
        };
        if self.mirror.is_some() {
            let message = "a mirror of modules contains no git repositories";
            let error = Diagnostic::error(Code::InvalidArgument, message);
            return Err(error.help("run the command without --with-git").into());
        }
        let made = self.make_repository_of(&package, &commit, source, directory);
        Ok(made.map_err(|error| error.about_package(&package.without_directory()))?)
    }

    /// Makes the repository of a commit of `package` as a new directory.
    fn make_repository_of(
        &self,
        package: &RemoteSource,
        commit: &str,
        source: &ModuleSource,
        directory: &Path,
    ) -> FetchResult<()> {
        let cache = self.cache()?;
        let scratch = cache.scratch()?;
        let repository = scratch.path().join("git");
        let git = self.git(&repository);
        let address_with_login = GitAddress::parse(repository_with_login(source, package).url())?;
        // The installed repository must not contain a login.
        let address = GitAddress::parse(package.url())?;
        let url = address.url.as_str();
        let tag = if let Revision::Name(_) = address_with_login.revision {
            address_with_login.tag()
        } else {
            None
        };

        let pack = cache.pack(&package.package);
        fs::create_dir(directory)?;
        // A damaged pack in the cache is fetched again.
        if pack.is_file()
            && git
                .make_repository(url, tag, commit, &pack, directory)
                .is_ok()
        {
            return Ok(());
        }
        if self.is_offline() {
            return Err(FetchError::package(
                "the cache does not contain its git repository",
            ));
        }
        let fetched = scratch.path().join("pack");
        git.fetch_pack(&address_with_login.at_commit(commit), commit, &fetched)?;
        fs::remove_dir_all(directory)?;
        fs::create_dir(directory)?;
        git.make_repository(url, tag, commit, &fetched, directory)?;
        // A cache that cannot be written must not stop the run.
        let _ = cache.put_pack(&package.package, &fetched);
        Ok(())
    }
}

/// The address of the repository of a locked package, with a login, which only the source contains.
pub(super) fn repository_with_login<'a>(
    source: &'a ModuleSource,
    package: &'a RemoteSource,
) -> &'a RemoteSource {
    match source {
        ModuleSource::Remote(own) if own.getter() == Getter::Git => own,
        _ => package,
    }
}
