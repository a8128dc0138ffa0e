//! Requests for references and dates of git repositories.

use std::path::Path;

use jiff::Timestamp;

use super::fetch_error::{FetchError, Obtained};
use super::fetcher::ModuleFetcher;
use super::git::{Git, GitAddress, GitError, References};
use super::source::RemoteSource;
use crate::diagnostic::Result;

impl ModuleFetcher {
    /// The branches and tags of a git repository.
    ///
    /// # Errors
    /// They cannot be listed.
    pub(super) fn references(&self, source: &RemoteSource) -> Result<References> {
        Ok(self.ask_git(source, |git, address, scratch| git.references(address, scratch))?)
    }

    /// Returns the date of the commit of a git source.
    ///
    /// # Errors
    /// It cannot be fetched.
    pub(super) fn commit_date(&self, source: &RemoteSource) -> Result<Timestamp> {
        Ok(self.ask_git(source, |git, address, scratch| git.committed(address, scratch))?)
    }

    /// Whether a source in git names a tag.
    ///
    /// # Errors
    /// The repository cannot be asked.
    pub(super) fn is_tag(&self, source: &RemoteSource) -> Obtained<bool> {
        self.ask_git(source, |git, address, scratch| git.has_tag(address, scratch))
    }

    fn ask_git<T>(
        &self,
        source: &RemoteSource,
        ask: impl FnOnce(Git<'_>, &GitAddress, &Path) -> std::result::Result<T, GitError>,
    ) -> Obtained<T> {
        let ask = || -> std::result::Result<T, FetchError> {
            let (address, scratch) = (git_address(source)?, self.cache()?.scratch()?);
            Ok(ask(self.git_program(), &address, scratch.path())?)
        };
        ask().map_err(|error| error.named(&source.without_directory()))
    }
}

fn git_address(source: &RemoteSource) -> std::result::Result<GitAddress, FetchError> {
    // git treats the name of a host as a directory.
    if source.is_on_this_machine() && source.path_on_this_machine().is_none() {
        return Err(FetchError::Address("it does not name a directory of this machine".to_owned()));
    }
    Ok(GitAddress::parse(source.url())?)
}
