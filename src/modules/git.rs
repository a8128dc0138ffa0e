//! Packages in git repositories, fetched by the user's own git, which knows the user's credentials, keys and proxies
//! (`getter/get_git.go` of go-getter).
//!
//! Git gets a bare repository without hooks, one commit of history if it can, and never a working tree: files are read
//! from its objects, so that no filter runs. It uses only the protocols that it trusts for addresses that no user
//! wrote, and it never prompts.

mod address;
mod attributes;
mod error;
mod fetch;
mod installed_objects;
mod installed_repository;
mod references;
mod scratch;
mod submodules;
mod tree;

use std::path::Path;
use std::time::Instant;

use jiff::Timestamp;

use super::package_writer::PackageWriter;
use super::problem::{MOST_BYTES, Problem};
pub(super) use address::GitAddress;
pub(crate) use address::Revision;
pub(super) use error::GitError;
use error::Result;
pub(crate) use references::References;
pub(super) use scratch::Git;
use scratch::Scratch;
use submodules::Submodule;

/// The most submodules of a package, including those of its submodules.
const MOST_SUBMODULES: usize = 100;

/// A package that was fetched from git.
pub(super) struct GitPackage {
    /// Id of the commit; `None` for an empty repository.
    pub(super) commit: Option<String>,
    /// The reason why the package cannot be locked, if a file of the commit was omitted.
    pub(super) omitted: Option<Problem>,
}

impl Git<'_> {
    /// Fetches a package into the directory `package`. `directory` is an empty one for repositories.
    pub(super) fn fetch(&self, address: &GitAddress, directory: &Path, package: &Path) -> Result<GitPackage> {
        let deadline = Instant::now() + self.time_limit;
        let (mut writer, mut left) = (PackageWriter::new(package), MOST_BYTES);
        let mut wanted = vec![(address.clone(), String::new())];
        let (mut fetched, mut commit) = (0, None);
        while let Some((address, prefix)) = wanted.pop() {
            let repository = directory.join(fetched.to_string());
            let mut scratch = Scratch { all: directory, deadline, ..Scratch::new(self, &repository) };
            let write = || match scratch.fetch(&address)? {
                Some(revision) => scratch.write(&revision, &prefix, &mut writer, &mut left).map(Some),
                None => Ok(None),
            };
            let written = { write }().map_err(|error| error.in_submodule(&prefix, &address.url))?;
            if fetched == 0 {
                commit = written.as_ref().map(|written| written.commit.clone());
            }
            fetched += 1;
            let submodules = written.map(|written| written.submodules).unwrap_or_default();
            if fetched + wanted.len() + submodules.len() > MOST_SUBMODULES {
                return Err(GitError::new(format!("it has more than {MOST_SUBMODULES} submodules")));
            }
            for Submodule { path, url, commit } in submodules {
                let refused =
                    || GitError::new(format!("the URL of its submodule {path:?} is not one that git is asked for"));
                wanted.push((address.submodule(&url, &commit).ok_or_else(refused)?, path));
            }
        }
        Ok(GitPackage { commit, omitted: writer.finish()? })
    }

    /// Lists the branches and tags of a repository. `directory` is an empty one for a repository.
    pub(super) fn references(&self, address: &GitAddress, directory: &Path) -> Result<References> {
        let mut scratch = Scratch::new(self, directory);
        scratch.open(address)?;
        let list = scratch.list_refs(&[], &["HEAD", "refs/heads/*", "refs/tags/*"])?;
        let too_many = || GitError::new("it has too many branches and tags to look at them all");
        Ok(References::parse(&list.ok_or_else(too_many)?))
    }

    /// Returns the date of a commit according to its committer. `directory` is an empty one for a repository.
    pub(super) fn committed(&self, address: &GitAddress, directory: &Path) -> Result<Timestamp> {
        let mut scratch = Scratch::new(self, directory);
        let unknown = || GitError::new("git does not say when the commit was made");
        let revision = scratch.fetch(address)?.ok_or_else(unknown)?;
        let mut command = scratch.command("rev-list");
        command.args(["--max-count=1", "--format=%ct", "--end-of-options", &revision]);
        let stdout = scratch.success(command)?.stdout;
        let seconds = String::from_utf8_lossy(&stdout).lines().last().and_then(|line| line.parse().ok());
        seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()).ok_or_else(unknown)
    }

    /// Whether the `ref` of an address is a tag. `directory` is an empty one for a repository.
    pub(super) fn has_tag(&self, address: &GitAddress, directory: &Path) -> Result<bool> {
        let name = address.reference().unwrap_or_default();
        let name = name.strip_prefix("refs/").unwrap_or(name);
        let name = name.strip_prefix("tags/").unwrap_or(name);
        if name.is_empty() || name.contains(['*', '?', '[']) {
            return Ok(false);
        }
        let mut scratch = Scratch::new(self, directory);
        scratch.open(address)?;
        let mut command = scratch.command("ls-remote");
        command.args(["--quiet", "--tags", "--", address.url.as_str(), &format!("refs/tags/{name}")]);
        Ok(!scratch.success(command)?.stdout.is_empty())
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
