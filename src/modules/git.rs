//! Packages in git repositories, fetched by the user's own git, which knows the user's credentials, keys and proxies
//! (`getter/get_git.go` of go-getter).
//!
//! Git gets a bare repository without hooks, one commit of history if it can, and never a working tree: files are read
//! from its objects, so that no filter runs. It uses only the protocols that it trusts for addresses that no user
//! wrote, and it never prompts.

mod address;
mod attributes;
mod fetch;
mod installed;
mod references;
mod repository;
mod submodules;
mod tree;

use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::fetch_error::{FetchError, Fetched};
use super::limits::MOST_BYTES;
use super::package_writer::PackageWriter;
pub(super) use address::GitAddress;
pub(crate) use address::Revision;
pub(crate) use references::References;
use repository::Repository;
use submodules::Submodule;

/// Largest number of submodules of a package, including those of its submodules.
const MOST_SUBMODULES: usize = 100;

/// How git is run for one package. Its time begins when this is created.
pub(super) struct Git<'a> {
    /// Path of the program.
    program: &'a Path,
    /// `GIT_SSH_COMMAND`, if it is set.
    ssh_command: Option<&'a OsStr>,
    /// Empty directory for temporary repositories.
    directory: &'a Path,
    time_limit: Duration,
    deadline: Instant,
}

/// A package that was written from git.
pub(super) struct GitPackage {
    /// Id of the commit; `None` for an empty repository.
    pub(super) commit: Option<String>,
    /// Why the package cannot be locked, if a file of the commit was omitted.
    pub(super) omitted: Option<FetchError>,
}

impl<'a> Git<'a> {
    pub(super) fn new(
        program: &'a Path,
        ssh_command: Option<&'a OsStr>,
        directory: &'a Path,
        time_limit: Duration,
    ) -> Self {
        Self { program, ssh_command, directory, time_limit, deadline: Instant::now() + time_limit }
    }

    /// Fetches a package into the empty directory `package`.
    pub(super) fn fetch(&self, address: &GitAddress, package: &Path) -> Fetched<GitPackage> {
        self.write_package(address, package, |name, address| {
            let repository = Repository::for_fetching(self, name, address)?;
            let revision = repository.fetch(address)?;
            Ok((repository, revision))
        })
    }

    /// Writes the commit of an address and its submodules into a package. `open` returns a repository with the commit
    /// of an address, and a name for the commit; `None` if the repository is empty.
    fn write_package<'g>(
        &'g self,
        address: &GitAddress,
        package: &Path,
        open: impl Fn(&str, &GitAddress) -> Fetched<(Repository<'g>, Option<String>)>,
    ) -> Fetched<GitPackage> {
        let (mut writer, mut bytes_left) = (PackageWriter::new(package), MOST_BYTES);
        let mut wanted = vec![(address.clone(), String::new())];
        let (mut repositories, mut commit) = (0, None);
        while let Some((address, path)) = wanted.pop() {
            let written = open(&repositories.to_string(), &address).and_then(|(repository, revision)| {
                let write = |revision| repository.write(revision, &path, &mut writer, &mut bytes_left);
                revision.as_deref().map(write).transpose()
            });
            let written = written.map_err(|error| error.in_submodule(&path, &address.url))?;
            let (written_commit, submodules) = written.unzip();
            if repositories == 0 {
                commit = written_commit;
            }
            repositories += 1;
            let submodules = submodules.unwrap_or_default();
            if repositories + wanted.len() + submodules.len() > MOST_SUBMODULES {
                return Err(FetchError::git(format!("it has more than {MOST_SUBMODULES} submodules")));
            }
            for Submodule { path, url, commit } in submodules {
                let address = address.submodule(&url, &commit).ok_or_else(|| {
                    FetchError::git(format!("the URL of its submodule {path:?} is not one that provlock passes to git"))
                })?;
                wanted.push((address, path));
            }
        }
        Ok(GitPackage { commit, omitted: writer.finish()? })
    }

    /// Lists the branches and tags of a repository.
    pub(super) fn references(&self, address: &GitAddress) -> Fetched<References> {
        let repository = Repository::for_fetching(self, "0", address)?;
        let too_many = "it has too many branches and tags to list them all";
        let list = repository.list_refs(address, &[], &["HEAD", "refs/heads/*", "refs/tags/*"], too_many)?;
        Ok(References::parse(&list))
    }

    /// Returns the date of a commit according to its committer.
    pub(super) fn committed(&self, address: &GitAddress) -> Fetched<Timestamp> {
        let unknown = || FetchError::git("git does not report when the commit was made");
        let repository = Repository::for_fetching(self, "0", address)?;
        let revision = repository.fetch(address)?.ok_or_else(unknown)?;
        let arguments = ["rev-list", "--max-count=1", "--format=%ct", "--end-of-options", &revision];
        let seconds = repository.output(&arguments)?.lines().last().and_then(|line| line.parse().ok());
        seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()).ok_or_else(unknown)
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
