//! Requests for references and dates of git repositories.

use jiff::Timestamp;

use super::fetch_error::{FetchError, FetchResult};
use super::fetcher::ModuleFetcher;
use super::git::{Git, GitAddress};
use super::source::RemoteSource;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help};

impl ModuleFetcher {
    /// Returns the date of the commit of a git source.
    ///
    /// # Errors
    /// The reason why it is unknown.
    pub(crate) fn commit_date(&self, source: &RemoteSource) -> Result<Timestamp, String> {
        self.ask_git(source, |git, address| git.commit_date(address))
            .map_err(|error| error.to_string())
    }

    /// Returns the full ID of the commit that a source names by the beginning of its ID.
    ///
    /// # Errors
    /// The repository cannot be fetched, has no such commit, or no requests are made.
    pub(crate) fn full_commit(&self, source: &RemoteSource) -> Result<String, Diagnostics> {
        if self.is_offline() {
            let message =
                format!("the commit of {source} is not known, because no requests are made");
            let error = Diagnostic::error(Code::RequestFailed, message);
            return Err(error.help(Help::run_online()).into());
        }
        Ok(self.ask_git(source, |git, address| git.commit(address))?)
    }

    /// Runs git for the repository of a source.
    pub(super) fn ask_git<T>(
        &self,
        source: &RemoteSource,
        ask: impl FnOnce(Git<'_>, &GitAddress) -> FetchResult<T>,
    ) -> FetchResult<T> {
        self.with_git(source, ask)
            .map_err(|error| error.about_package(&source.without_directory()))
    }

    fn with_git<T>(
        &self,
        source: &RemoteSource,
        ask: impl FnOnce(Git<'_>, &GitAddress) -> FetchResult<T>,
    ) -> FetchResult<T> {
        // git treats the name of a host as a directory.
        if source.is_on_this_machine() && source.path_on_this_machine().is_none() {
            return Err(FetchError::address(
                "it does not name a directory of this machine",
            ));
        }
        let address = GitAddress::parse(source.url())?;
        let scratch = self.cache()?.scratch()?;
        ask(self.git(scratch.path()), &address)
    }
}
