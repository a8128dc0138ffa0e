//! Whether what is published of a locked module is still what was locked. The cache is not asked.

use std::sync::Arc;

use super::fetch_error::{NotFetched, Obtained};
use super::fetcher::{Getters, ModuleFetcher};
use super::locked::{self, locked_commit};
use super::package::Package;
use super::source::{Getter, ModuleSource, RemoteSource, with_directory};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Remedy, Result};
use crate::lockfile::LockedModule;
use crate::provider::Dialect;

impl ModuleFetcher {
    /// Fetches what a source leads to now, and compares it with what is locked for it. Returns findings without places.
    ///
    /// # Errors
    /// It cannot be fetched, though nobody says that it is gone.
    pub(crate) fn compare_published(
        &self,
        dialect: Dialect,
        source: &ModuleSource,
        locked: &LockedModule,
    ) -> Result<Vec<Diagnostic>> {
        let getters = &*self.getters(dialect)?;
        match (Question { getters, source, locked }).ask() {
            Err(NotFetched { errors, is_gone: true }) => Ok(vec![withdrawn(locked, &errors)]),
            found => Ok(found?),
        }
    }
}

struct Question<'a> {
    getters: &'a Getters,
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

impl Question<'_> {
    fn ask(&self) -> Obtained<Vec<Diagnostic>> {
        let now = self.now()?;
        let identity = now.stored.identity.as_deref();
        let is_same = identity.is_some_and(|identity| identity.is_one_of(&self.locked.hashes));
        let address = now.locked_address().unwrap_or_default();
        Ok(match (Commit::read(&self.locked.package), Commit::read(&address)) {
            (Some(then), Some(now)) if then.repository == now.repository && then.id != now.id => {
                self.moved(&then, &now, is_same)?
            }
            // A registry that names another place for the same files has moved, and nothing else.
            _ if is_same => Vec::new(),
            _ => vec![locked::replaced(self.locked, identity)],
        })
    }

    /// The package that the source leads to now, in the locked version.
    fn now(&self) -> Obtained<Arc<Package>> {
        let Getters { registry, packages } = self.getters;
        match (self.source, &self.locked.version) {
            (ModuleSource::Registry(source), Some(version)) => {
                let module = &source.module;
                if !registry.versions(module)?.contains(version) {
                    let message = format!("{module} does not list the version {version}");
                    let errors = Diagnostic::error(Code::NoMatchingVersion, message).into();
                    return Err(NotFetched { errors, is_gone: true });
                }
                packages.fetch_version(module, version, true, || registry.location(module, version))
            }
            (ModuleSource::Remote(source), _) => packages.fetch_whole(source),
            _ => Err(Diagnostic::error(Code::NoMatchingVersion, "the module is locked without a version").into()),
        }
    }

    /// The source names another commit. That is a finding if a version or a tag does, and the locked commit must still
    /// be there.
    fn moved(&self, then: &Commit, now: &Commit, is_same: bool) -> Obtained<Vec<Diagnostic>> {
        let packages = &self.getters.packages;
        let mut findings = Vec::new();
        let (what, own) = match self.source {
            ModuleSource::Remote(own) if own.getter() == Getter::Git => {
                let what = if packages.is_tag(own)? { Some(format!("the tag of {own}")) } else { None };
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
        match packages.fetch_whole(&RemoteSource { directory: String::new(), ..own }) {
            Ok(package) => {
                let identity = package.stored.identity.as_deref();
                let is_locked = identity.is_some_and(|identity| identity.is_one_of(&self.locked.hashes));
                // The hash is of a directory only where a server has referred to one.
                let is_whole = then.source.directory.is_empty() || matches!(self.source, ModuleSource::Registry(_));
                findings.extend((is_whole && !is_locked).then(|| locked::replaced(self.locked, identity)));
            }
            Err(NotFetched { errors, is_gone: true }) => findings.push(withdrawn(self.locked, &errors)),
            Err(error) => return Err(error),
        }
        Ok(findings)
    }
}

fn withdrawn(locked: &LockedModule, why: &Diagnostics) -> Diagnostic {
    let message = format!("{} is locked, and its package is gone", locked::name(locked));
    let error = Diagnostic::finding(Code::ModuleWithdrawn, message);
    let error = why.iter().fold(error, |error, why| error.note(why.message.clone()));
    error.help(Help::text("call another version or address, and run: ").and(Remedy::LockModules))
}
