//! Compares the published release of a locked module with its entry in the lock file. The cache is not used.

use std::sync::Arc;

use super::fetch_error::{FetchError, Fetched};
use super::fetcher::{Clients, ModuleFetcher};
use super::git::GitAddress;
use super::locked::{self, locked_commit};
use super::package::Package;
use super::source::{Getter, ModuleSource, RemoteSource, with_directory};
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Result};
use crate::lockfile::LockedModule;
use crate::provider::Dialect;

impl ModuleFetcher {
    /// Fetches the package to which a source leads now, and compares it with the locked one. Returns findings without
    /// locations.
    ///
    /// # Errors
    /// It cannot be fetched, for another reason than that it was removed.
    pub(crate) fn compare_published(
        &self,
        dialect: Dialect,
        source: &ModuleSource,
        locked: &LockedModule,
    ) -> Result<Vec<Diagnostic>> {
        let clients = &*self.clients(dialect)?;
        match (PublishedModule { fetcher: self, clients, source, locked }).findings() {
            Err(error) if error.is_gone => Ok(vec![withdrawn(locked, &error)]),
            found => Ok(found?),
        }
    }
}

/// A locked module whose published release is compared with its entry.
struct PublishedModule<'a> {
    fetcher: &'a ModuleFetcher,
    clients: &'a Clients,
    source: &'a ModuleSource,
    locked: &'a LockedModule,
}

/// A package in git.
struct Commit {
    /// The address of its repository and the directory in it.
    repository: String,
    id: String,
    source: RemoteSource,
}

impl Commit {
    fn read(package: &str) -> Option<Self> {
        let source = RemoteSource::parse_full(package).filter(|source| source.getter() == Getter::Git)?;
        let repository = with_directory(&source.at_commit("").package, &source.directory);
        Some(Self { repository, id: locked_commit(&source)?, source })
    }
}

impl PublishedModule<'_> {
    fn findings(&self) -> Fetched<Vec<Diagnostic>> {
        let now = self.now()?;
        let identity = now.identity.as_deref();
        let is_same = identity.is_some_and(|identity| identity.is_one_of(&self.locked.hashes));
        let address = now.locked_address().unwrap_or_default();
        Ok(match (Commit::read(&self.locked.package), Commit::read(&address)) {
            (Some(then), Some(now)) if then.repository == now.repository && then.id != now.id => {
                self.moved(&then, &now, is_same)?
            }
            // The registry leads to a different address with the same files.
            _ if is_same => Vec::new(),
            _ => vec![locked::replaced(self.locked, identity)],
        })
    }

    /// Fetches the package to which the source leads now, in the locked version.
    fn now(&self) -> Fetched<Arc<Package>> {
        let Self { fetcher, clients, .. } = self;
        let registry = &clients.registry;
        match (self.source, &self.locked.version) {
            (ModuleSource::Registry(source), Some(version)) => {
                let module = &source.module;
                if !registry.versions(module)?.contains(version) {
                    let message = format!("{module} does not list the version {version}");
                    return Err(FetchError::from(Diagnostic::error(Code::NoMatchingVersion, message)).gone(true));
                }
                fetcher.version(clients, (module, version), true, || registry.location(module, version))
            }
            (ModuleSource::Remote(source), _) => fetcher.package(clients, source, true),
            _ => Err(Diagnostic::error(Code::NoMatchingVersion, "the module is locked without a version").into()),
        }
    }

    /// Findings for a source that leads to a different commit now: one if the source is a version or a tag, and one if
    /// the locked commit was removed.
    fn moved(&self, then: &Commit, now: &Commit, is_same: bool) -> Fetched<Vec<Diagnostic>> {
        let mut findings = Vec::new();
        let is_tag = |own: &RemoteSource| -> Fetched<bool> {
            let Some(name) = GitAddress::parse(own.url())?.reference().map(str::to_owned) else { return Ok(false) };
            Ok(self.fetcher.references(own)?.has_tag(&name))
        };
        let (what, own) = match self.source {
            ModuleSource::Remote(own) if own.getter() == Getter::Git => {
                let what = is_tag(own)?.then(|| format!("the tag of {own}"));
                (what, own.at_commit(&then.id))
            }
            ModuleSource::Registry(_) => (Some(locked::name(self.locked)), then.source.clone()),
            _ => (None, then.source.clone()),
        };
        if let Some(what) = what {
            let error = Diagnostic::finding(
                Code::ModuleMoved,
                format!("{what} leads to another commit than when it was locked"),
            );
            let error = error.note(format!("locked commit: {}", then.id)).note(format!("commit now: {}", now.id));
            let error = if is_same { error.note("both have the same files") } else { error };
            findings.push(error.help("find out why; provlock get installs the locked commit, and init the other one"));
        }
        match self.fetcher.package(self.clients, &RemoteSource { directory: String::new(), ..own }, true) {
            Ok(package) => {
                let identity = package.identity.as_deref();
                let is_locked = identity.is_some_and(|identity| identity.is_one_of(&self.locked.hashes));
                // The hash is of a directory only where a server has referred to one.
                let is_whole = then.source.directory.is_empty() || matches!(self.source, ModuleSource::Registry(_));
                findings.extend((is_whole && !is_locked).then(|| locked::replaced(self.locked, identity)));
            }
            Err(error) if error.is_gone => findings.push(withdrawn(self.locked, &error)),
            Err(error) => return Err(error),
        }
        Ok(findings)
    }
}

fn withdrawn(locked: &LockedModule, why: &FetchError) -> Diagnostic {
    let message = format!("{} is locked, and its package is gone", locked::name(locked));
    let error = Diagnostic::finding(Code::ModuleWithdrawn, message);
    let error = why.errors.iter().fold(error, |error, why| error.note(why.message.clone()));
    error.help(Help::text("call another version or address, and run: ").and(Remedy::LockModules))
}
