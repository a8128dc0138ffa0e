//! Compares the published release of a locked module with its entry in the lock file. The cache is
//! not used.

use super::fetch_error::{FetchError, FetchResult};
use super::fetch_locked::repository_with_login;
use super::fetched::FetchPurpose;
use super::fetcher::{Clients, ModuleFetcher};
use super::locked::{self, PinnedAddress, Revision};
use super::package::Package;
use super::source::{Getter, ModuleSource, RemoteSource};
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Result};
use crate::lockfile::LockedModule;
use crate::provider::Dialect;

impl ModuleFetcher {
    /// Fetches the package to which a source leads now, and compares it with the locked one.
    /// Returns findings without locations.
    ///
    /// # Errors
    /// It cannot be fetched, and was not removed.
    pub(crate) fn compare_published(
        &self,
        dialect: Dialect,
        source: &ModuleSource,
        locked: &LockedModule,
    ) -> Result<Vec<Diagnostic>> {
        let clients = self.clients(dialect)?;
        match self.compare_with_published(&clients, source, locked) {
            Err(error) if error.is_gone => Ok(vec![withdrawn_finding(locked, &error)]),
            findings => Ok(findings?),
        }
    }

    /// [`ModuleFetcher::compare_published`], with an error for a package that was removed.
    fn compare_with_published(
        &self,
        clients: &Clients,
        source: &ModuleSource,
        locked: &LockedModule,
    ) -> FetchResult<Vec<Diagnostic>> {
        let package = self.fetch_published_package(clients, source, locked)?;
        let has_same_files = package.is_one_of(&locked.hashes);
        // The source leads to a different revision now. The locked revision is compared, too.
        if let Some(old) = PinnedAddress::parse(&locked.package)
            && let Some(address) = package.lock_address_with_directory()
            && let Some(new) = PinnedAddress::parse(&address)
            && old.repository == new.repository
            && old.revision != new.revision
        {
            let moved =
                self.moved_finding(source, locked, &old.revision, &new.revision, has_same_files)?;
            let mut findings = Vec::from_iter(moved);
            findings.extend(self.compare_locked_revision(clients, source, locked, &old)?);
            return Ok(findings);
        }
        // Its address may differ: the registry decides where the package is.
        if has_same_files {
            return Ok(Vec::new());
        }
        Ok(vec![locked::replaced_error(locked, &package)])
    }

    /// Fetches the package to which the source leads now, in the locked version.
    ///
    /// # Errors
    /// It cannot be fetched, or its registry does not list the version any more.
    fn fetch_published_package(
        &self,
        clients: &Clients,
        source: &ModuleSource,
        locked: &LockedModule,
    ) -> FetchResult<Package> {
        let registry = &clients.registry;
        match (source, &locked.version) {
            (ModuleSource::Registry(source), Some(version)) => {
                let module = &source.module;
                if !registry.versions(module)?.contains(version) {
                    let message = format!("{module} does not list the version {version}");
                    return Err(FetchError::from(Diagnostic::error(
                        Code::NoMatchingVersion,
                        message,
                    ))
                    .marked_gone());
                }
                self.registry_version(clients, module, version, FetchPurpose::Locking, || {
                    registry.location(module, version)
                })
            }
            (ModuleSource::Remote(source), _) => {
                self.cached_or_fetched(clients, source, FetchPurpose::Locking)
            }
            _ => Err(Diagnostic::error(
                Code::NoMatchingVersion,
                "the module is locked without a version",
            )
            .into()),
        }
    }

    /// Returns a finding if the source leads to a different commit or digest now, unless it is made
    /// to move: a branch of a repository, or the tag `latest` of an OCI registry.
    fn moved_finding(
        &self,
        source: &ModuleSource,
        locked: &LockedModule,
        old: &Revision,
        new: &Revision,
        has_same_files: bool,
    ) -> FetchResult<Option<Diagnostic>> {
        let subject = match source {
            ModuleSource::Registry(_) => locked::display_name(locked),
            ModuleSource::Remote(own)
                if own.getter() == Getter::Git
                    && self.ask_git(own, |git, address| git.has_tag(address))? =>
            {
                format!("the tag of {own}")
            }
            ModuleSource::Remote(own)
                if own
                    .in_oci_registry()
                    .is_some_and(|package| package.has_fixed_tag()) =>
            {
                format!("the tag of {own}")
            }
            _ => return Ok(None),
        };
        let noun = match new {
            Revision::Commit(_) => "commit",
            Revision::Digest(_) => "digest",
        };
        let message = format!("{subject} resolves to a different {noun} than when it was locked");
        let error = Diagnostic::finding(Code::ModuleMoved, message)
            .note(format!("locked {noun}: {old}"))
            .note(format!("{noun} now: {new}"));
        let error = if has_same_files {
            error.note("both have the same files")
        } else {
            error
        };
        let help =
            format!("find out why; provlock get installs the locked {noun}, and init the new one");
        Ok(Some(error.help(help)))
    }

    /// Returns a finding if the locked commit or digest was removed, or has different files.
    fn compare_locked_revision(
        &self,
        clients: &Clients,
        source: &ModuleSource,
        locked: &LockedModule,
        pinned: &PinnedAddress,
    ) -> FetchResult<Option<Diagnostic>> {
        let package = &pinned.package;
        let locked_source = match &pinned.revision {
            Revision::Commit(commit) => repository_with_login(source, package).at_commit(commit),
            Revision::Digest(_) => package.clone(),
        };
        match self.package_at_locked_address(
            clients,
            &RemoteSource {
                directory: String::new(),
                ..locked_source
            },
        ) {
            Ok(fetched) => {
                // The hash is of a directory only if a server has referred to one.
                let is_whole =
                    package.directory.is_empty() || matches!(source, ModuleSource::Registry(_));
                let is_replaced = is_whole && !fetched.is_one_of(&locked.hashes);
                Ok(is_replaced.then(|| locked::replaced_error(locked, &fetched)))
            }
            Err(error) if error.is_gone => Ok(Some(withdrawn_finding(locked, &error))),
            Err(error) => Err(error),
        }
    }
}

fn withdrawn_finding(locked: &LockedModule, why: &FetchError) -> Diagnostic {
    let message = format!(
        "{} is locked, and its package was removed",
        locked::display_name(locked)
    );
    let error = Diagnostic::finding(Code::ModuleWithdrawn, message);
    let error = why
        .errors
        .iter()
        .fold(error, |error, why| error.note(why.message.clone()));
    error
        .help(Help::text("call a different version or address, and run: ").and(Remedy::LockModules))
}
