//! Requests for references and dates of git repositories.

use jiff::Timestamp;

use super::fetch_error::{FetchError, Fetched};
use super::fetcher::ModuleFetcher;
use super::git::{Git, GitAddress, References};
use super::source::RemoteSource;

impl ModuleFetcher {
    /// Lists the branches and tags of a git repository.
    pub(super) fn references(&self, source: &RemoteSource) -> Fetched<References> {
        self.ask_git(source, |git, address| git.references(address))
    }

    /// Whether the `ref` of a git source is a tag.
    pub(super) fn is_tag(&self, source: &RemoteSource) -> Fetched<bool> {
        self.ask_git(source, |git, address| git.has_tag(address))
    }

    /// Returns the date of the commit of a git source.
    ///
    /// # Errors
    /// The reason why it is unknown.
    pub(crate) fn committed(&self, source: &RemoteSource) -> Result<Timestamp, String> {
        self.ask_git(source, |git, address| git.committed(address)).map_err(|error| error.to_string())
    }

    fn ask_git<T>(&self, source: &RemoteSource, ask: impl FnOnce(Git<'_>, &GitAddress) -> Fetched<T>) -> Fetched<T> {
        let ask = || {
            // git treats the name of a host as a directory.
            if source.is_on_this_machine() && source.path_on_this_machine().is_none() {
                return Err(FetchError::address("it does not name a directory of this machine"));
            }
            let (address, scratch) = (GitAddress::parse(source.url())?, self.cache()?.scratch()?);
            ask(self.git(scratch.path()), &address)
        };
        ask().map_err(|error| error.named(&source.without_directory()))
    }
}
