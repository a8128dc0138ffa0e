//! What the source of a module can move to.

use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use super::fetch_error::{FetchError, Obtained};
use super::git::{Git, GitAddress, GitError, References, Revision};
use super::package_fetcher::PackageFetcher;
use super::source::{Getter, ModuleSource, RemoteSource};
use crate::diagnostic::Result;
use crate::provider::Version;

/// What the source of a module can move to.
#[derive(Clone, Debug)]
pub(crate) enum Releases {
    /// The versions of a registry's module.
    Versions(Arc<Vec<Version>>),
    /// The branches and tags of a git repository.
    References(Arc<References>),
    /// Nothing else: the address of a package has no versions.
    None,
}

impl Revision {
    /// The `ref` of a source; none if that is not a git repository.
    pub(crate) fn of(source: &RemoteSource) -> Option<Self> {
        let is_in_git = source.getter() == Getter::Git;
        is_in_git.then(|| GitAddress::parse(source.url()).ok())?.map(|address| address.revision)
    }
}

/// What tells the releases of one source from those of another.
pub(super) fn key(source: &ModuleSource) -> String {
    match source {
        ModuleSource::Local(_) => String::new(),
        ModuleSource::Registry(source) => source.module.to_string(),
        ModuleSource::Remote(source) => source.at_commit("").package,
    }
}

impl PackageFetcher {
    /// The branches and tags of a git repository.
    ///
    /// # Errors
    /// They cannot be listed.
    pub(super) fn references(&self, source: &RemoteSource) -> Result<References> {
        Ok(self.ask_git(source, |git, address, workshop| git.references(address, workshop))?)
    }

    /// When the commit of a git source was made, as its author says.
    ///
    /// # Errors
    /// It cannot be fetched.
    pub(super) fn committed(&self, source: &RemoteSource) -> Result<Timestamp> {
        Ok(self.ask_git(source, |git, address, workshop| git.committed(address, workshop))?)
    }

    /// Whether a source in git names a tag.
    ///
    /// # Errors
    /// The repository cannot be asked.
    pub(super) fn is_tag(&self, source: &RemoteSource) -> Obtained<bool> {
        self.ask_git(source, |git, address, workshop| git.has_tag(address, workshop))
    }

    fn ask_git<T>(
        &self,
        source: &RemoteSource,
        ask: impl FnOnce(Git<'_>, &GitAddress, &Path) -> std::result::Result<T, GitError>,
    ) -> Obtained<T> {
        let ask = || -> std::result::Result<T, FetchError> {
            let (address, workshop) = (git_address(source)?, self.cache.workshop()?);
            Ok(ask(self.git_program(), &address, workshop.path())?)
        };
        ask().map_err(|error| error.named(&source.without_directory()))
    }
}

fn git_address(source: &RemoteSource) -> std::result::Result<GitAddress, FetchError> {
    // Git takes the name of a host for a directory.
    if source.is_on_this_machine() && source.path_on_this_machine().is_none() {
        return Err(FetchError::Address("it does not name a directory of this machine".to_owned()));
    }
    Ok(GitAddress::parse(source.url())?)
}
