//! Modules that were read, and packages that were fetched, once for all roots.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::modules::fetched::{FetchedModule, ModuleRequest};
use crate::modules::requested_hosts::RequestedHosts;
use crate::modules::{Getter, ModuleFetcher, ModuleSource, RemoteSource};
use crate::provider::Dialect;
use crate::system::boundary::outside_error;
use crate::system::parallel::{Permits, cores};
use crate::system::{Boundary, OnceMap, Secrets, Tree};

use super::files::Texts;
use super::listing::DirectoryListing;
use super::module::Module;
use super::requirement::ModuleCall;
use super::variables::InputVariables;

/// Approximate number of bytes of listed modules that are kept for the next reader; later modules
/// are read again.
const LISTED_KEPT: usize = 32 << 20;

/// The error about a module that is not fetched, because a change under review brings its host.
pub(super) fn not_requested(host: &str) -> Diagnostic {
    let message = format!("the module was not fetched: the base does not use {host}");
    let help = "if this is intended, name the host in allowed-hosts or allowed-modules first, in a pull request of its own";
    Diagnostic::error(Code::RequestFailed, message).help(help)
}

/// Number of root modules read at the same time if their modules may have to be fetched.
const ROOTS_FETCHING: usize = 16;

/// Modules that were read already, by their directory and dialect, and packages that were fetched.
/// The root modules of a run and its threads share it.
#[derive(Default)]
pub struct ModuleCache {
    modules: OnceMap<(PathBuf, Dialect), Arc<Module>>,
    /// The sizes of all listed modules that were read.
    listed: AtomicUsize,
    /// Reads the files, and limits how much of them is in memory.
    pub(super) texts: Texts,
    /// Limits how many modules are read at the same time, because reading takes many times the
    /// memory of the files.
    reading: Permits,
    /// Fetches missing modules; `None` if nothing may be fetched.
    pub(crate) fetcher: Option<Arc<ModuleFetcher>>,
    /// Values that the user sets for variables of root modules.
    pub(crate) variables: InputVariables,
    /// Nothing outside of it is read.
    pub(crate) boundary: Boundary,
    /// Learns the passwords in the addresses of modules.
    pub(crate) secrets: Secrets,
    /// Hosts that may be requested; all if it is not set.
    pub(crate) requested_hosts: OnceLock<RequestedHosts>,
}

impl ModuleCache {
    /// A cache for root modules whose variables have these values. It reads nothing outside of a
    /// boundary except what `fetcher` fetches, and adds the passwords in the addresses of modules
    /// to `secrets`.
    pub(crate) fn new(
        variables: InputVariables,
        boundary: Boundary,
        secrets: Secrets,
        fetcher: Option<Arc<ModuleFetcher>>,
    ) -> Self {
        Self {
            variables: variables.within(boundary.clone()),
            boundary,
            secrets,
            fetcher,
            ..Self::default()
        }
    }

    /// The files that are read.
    pub(crate) fn tree(&self) -> &Tree {
        self.boundary.tree()
    }

    /// Number of root modules to read at the same time: one for each core, or more if they wait for
    /// the network.
    pub(crate) fn threads(&self) -> usize {
        let waits = self
            .fetcher
            .as_ref()
            .is_some_and(|fetcher| !fetcher.is_offline());
        if waits {
            cores().max(ROOTS_FETCHING)
        } else {
            cores()
        }
    }

    /// The module in a directory that was listed, given by its path without symbolic links. The
    /// module is kept for the next reader unless more than [`LISTED_KEPT`] bytes are kept.
    pub(crate) fn listed_module(
        &self,
        canonical: &Path,
        shown: &Path,
        listing: DirectoryListing,
        dialect: Dialect,
    ) -> Arc<Module> {
        let anywhere = self.boundary.unlimited();
        let boundary = if listing.has_links {
            &self.boundary
        } else {
            &anywhere
        };
        let module = self.get_or_read(canonical, shown, dialect, boundary, || listing.into_names());
        if self.listed.fetch_add(module.size(), Ordering::Relaxed) > LISTED_KEPT {
            self.modules.remove(&(canonical.to_owned(), dialect));
        }
        module
    }

    /// Forgets the module in a directory, which is given without symbolic links.
    pub(crate) fn forget(&self, directory: &Path) {
        for dialect in [Dialect::Tofu, Dialect::Terraform] {
            self.modules.remove(&(directory.to_owned(), dialect));
        }
    }

    /// A module in another package, fetched if it is not here; `None` if nothing may be fetched.
    ///
    /// # Errors
    /// When it cannot be fetched.
    pub(crate) fn fetched(
        &self,
        dialect: Dialect,
        request: &ModuleRequest,
    ) -> Result<Option<FetchedModule>> {
        let Some(fetcher) = &self.fetcher else {
            return Ok(None);
        };
        if let Some(path) = request.remote().and_then(|source| self.outside(source)) {
            return Err(outside_error(&path).into());
        }
        if let Some(host) = self.refused_host(request) {
            return Err(not_requested(&host).into());
        }
        fetcher.fetch_all(dialect, vec![request.clone()], drop);
        fetcher.get(dialect, request).unwrap_or(Ok(None))
    }

    /// The host of a request for a module that may not be requested. Without the network, no host
    /// is.
    pub(crate) fn refused_host(&self, request: &ModuleRequest) -> Option<String> {
        if self.fetcher.as_ref()?.is_offline() {
            return None;
        }
        self.requested_hosts.get()?.refused_host(request)
    }

    /// Whether modules are read without the network.
    pub(crate) fn is_offline(&self) -> bool {
        let fetcher = self.fetcher.as_ref();
        fetcher.is_none_or(|fetcher| fetcher.is_offline())
    }

    /// Whether modules come from a mirror only.
    pub(crate) fn reads_mirror(&self) -> bool {
        let fetcher = self.fetcher.as_ref();
        fetcher.is_some_and(|fetcher| fetcher.reads_mirror())
    }

    /// Whether a missing module cannot be read at all: hosts were asked for it, or its kind of
    /// source is not fetched. Without the network it is only not known yet.
    pub(crate) fn is_surely_unknown(
        &self,
        request: &ModuleRequest,
        dialect: Dialect,
        fetches: bool,
    ) -> bool {
        let is_locked = matches!(request, ModuleRequest::Locked { .. });
        let can_be_asked = is_locked
            || request
                .remote()
                .is_none_or(|source| source.can_be_fetched(dialect));
        let asks = fetches
            && self
                .fetcher
                .as_ref()
                .is_some_and(|fetcher| !fetcher.is_offline());
        asks || !can_be_asked
    }

    /// Whether nothing is fetched for a call: its source is on this machine, and either out of the
    /// repository or requested by a module that is not the user's own.
    pub(crate) fn never_fetches(&self, call: &ModuleCall) -> bool {
        let ModuleSource::Remote(source) = &call.source else {
            return false;
        };
        let is_called_by_fetched_module = call.own_call.is_some();
        self.outside(source).is_some()
            || (source.is_on_this_machine() && is_called_by_fetched_module)
    }

    /// The path of a package on this machine that is not in the repository. It need not exist. No
    /// git repository is inside: git tries its path with other endings, and a file in it may
    /// contain the path of another repository.
    pub(super) fn outside(&self, source: &RemoteSource) -> Option<PathBuf> {
        let Some(path) = source.path_on_this_machine() else {
            // git ignores the host in a file URL, and the target of a relative path is unknown.
            return (source.is_on_this_machine() && !self.boundary.is_unlimited())
                .then(|| source.to_string().into());
        };
        let existing = path
            .ancestors()
            .find_map(|ancestor| self.tree().canonicalize(ancestor).ok())?;
        let is_git = source.getter() == Getter::Git && !self.boundary.is_unlimited();
        (is_git || self.boundary.excludes(&existing)).then_some(path)
    }

    /// The module in `directory`, which is shown as given; read on first use only.
    pub(crate) fn module(&self, directory: &Path, dialect: Dialect) -> Arc<Module> {
        match self.tree().canonicalize(directory) {
            Ok(canonical) => self.canonical_module(&canonical, directory, dialect),
            Err(_) => self.read(
                DirectoryListing::names_in(self.tree(), directory),
                directory,
                directory,
                dialect,
                &self.boundary,
            ),
        }
    }

    /// [`ModuleCache::module`] for a directory whose canonical path is known.
    pub(crate) fn canonical_module(
        &self,
        canonical: &Path,
        shown: &Path,
        dialect: Dialect,
    ) -> Arc<Module> {
        self.get_or_read(canonical, shown, dialect, &self.boundary, || {
            DirectoryListing::names_in(self.tree(), shown)
        })
    }

    /// [`ModuleCache::canonical_module`] for a directory of a package that was fetched, in which no
    /// link leads out.
    pub(super) fn fetched_module(
        &self,
        canonical: &Path,
        directory: &Path,
        shown: &Path,
        dialect: Dialect,
    ) -> Arc<Module> {
        let key = (canonical.to_owned(), dialect);
        self.modules.get_or_compute(&key, || {
            self.read(
                DirectoryListing::names_in(self.tree(), directory),
                directory,
                shown,
                dialect,
                &self.boundary.unlimited(),
            )
        })
    }

    /// The module with this canonical path, whose files have these names and may lead anywhere in
    /// the boundary, if it must be read.
    fn get_or_read(
        &self,
        canonical: &Path,
        shown: &Path,
        dialect: Dialect,
        boundary: &Boundary,
        names: impl FnOnce() -> io::Result<Vec<String>>,
    ) -> Arc<Module> {
        self.modules
            .get_or_compute(&(canonical.to_owned(), dialect), || {
                if self.boundary.excludes(canonical) {
                    return Arc::new(Module::outside_of_repository(shown, dialect));
                }
                self.read(names(), shown, shown, dialect, boundary)
            })
    }

    fn read(
        &self,
        names: io::Result<Vec<String>>,
        directory: &Path,
        shown: &Path,
        dialect: Dialect,
        boundary: &Boundary,
    ) -> Arc<Module> {
        let _permit = self.reading.take(1);
        Arc::new(Module::read(
            names,
            directory,
            shown,
            dialect,
            &self.texts,
            boundary,
        ))
    }
}
