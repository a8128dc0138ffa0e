//! Packages in git repositories, fetched by the user's own git, which knows the user's credentials,
//! keys and proxies (`getter/get_git.go` of go-getter).
//!
//! Git gets a bare repository without hooks, one commit of history if it can, and never a working
//! tree: files are read from its objects, so that no filter runs. It uses only the protocols that
//! it trusts for addresses that no user wrote, and it never prompts.

mod address;
mod attributes;
mod fetch;
mod installed;
mod references;
mod repository;
mod submodules;
mod tree;

use std::path::Path;

use jiff::Timestamp;

use super::fetch_error::{FetchError, FetchResult};
use crate::system::process::one_line;
pub(super) use address::GitAddress;
pub(crate) use address::Revision;
pub(crate) use references::References;
pub(super) use repository::Git;
use repository::Repository;
use tree::GitPackage;

impl Git<'_> {
    /// Fetches a package into the empty directory `package`.
    pub(super) fn fetch(&self, address: &GitAddress, package: &Path) -> FetchResult<GitPackage> {
        tree::write_package(address, package, |name, address| {
            let repository = Repository::for_fetching(self, name, address)?;
            let revision = repository.fetch(address)?;
            Ok((repository, revision))
        })
    }

    /// Lists the branches and tags of a repository.
    pub(super) fn references(&self, address: &GitAddress) -> FetchResult<References> {
        let repository = Repository::for_fetching(self, "0", address)?;
        let too_many = "it has too many branches and tags to list them all";
        let list = repository.list_refs(
            address,
            &[],
            &["HEAD", "refs/heads/*", "refs/tags/*"],
            too_many,
        )?;
        Ok(References::parse(&list))
    }

    /// Whether the `ref` of an address is a tag.
    pub(super) fn has_tag(&self, address: &GitAddress) -> FetchResult<bool> {
        let name = address.reference().unwrap_or_default();
        let tag = ["refs/tags/", "tags/"]
            .iter()
            .find_map(|start| name.strip_prefix(start))
            .unwrap_or(name);
        if tag.is_empty() || tag.contains(['*', '?', '[']) {
            return Ok(false);
        }
        let repository = Repository::for_fetching(self, "0", address)?;
        let pattern = format!("refs/tags/{tag}");
        Ok(!repository
            .list_refs(address, &["--tags"], &[&pattern], "git printed too much")?
            .is_empty())
    }

    /// Fetches the commit of an address, and returns its full ID.
    pub(super) fn commit(&self, address: &GitAddress) -> FetchResult<String> {
        let repository = Repository::for_fetching(self, "0", address)?;
        let Some(name) = repository.fetch(address)? else {
            return Err(FetchError::git("it has no commit"));
        };
        let arguments = ["rev-parse", "--verify", "--end-of-options", &name];
        Ok(one_line(repository.output(&arguments)?.as_bytes()))
    }

    /// Returns the date of a commit according to its committer.
    pub(super) fn commit_date(&self, address: &GitAddress) -> FetchResult<Timestamp> {
        let repository = Repository::for_fetching(self, "0", address)?;
        if let Some(revision) = repository.fetch(address)? {
            let output = repository.output(&[
                "rev-list",
                "--max-count=1",
                "--format=%ct",
                "--end-of-options",
                &revision,
            ])?;
            // A line with the ID of the commit comes first.
            if let Some(Ok(seconds)) = output.lines().last().map(str::parse)
                && let Ok(date) = Timestamp::from_second(seconds)
            {
                return Ok(date);
            }
        }
        Err(FetchError::git(
            "git does not report when the commit was made",
        ))
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
