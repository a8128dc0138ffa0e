//! The `.git` of installed modules: packages from its objects, and new ones with one commit.

#![expect(
    clippy::disallowed_methods,
    reason = "packages of modules are the same in every revision"
)]

use std::fs;
use std::path::{Path, PathBuf};

use super::address::GitAddress;
use super::repository::{Git, Repository};
use super::submodules::MOST_SUBMODULES;
use super::tree::write_package;
use crate::modules::fetch_error::{FetchError, FetchResult};
use crate::system::process::STDOUT_LIMIT;

impl Git<'_> {
    /// Writes the package of a commit into `package` from the objects in a `.git`. Nothing else in
    /// that is read: no configuration, hook, index, HEAD or replaced object. Anybody may have
    /// changed the `.git`, and the content of objects need not match their ids, so only the hash of
    /// the package shows whether it is right.
    pub(in crate::modules) fn read_objects(
        &self,
        dot_git: &Path,
        address: &GitAddress,
        package: &Path,
    ) -> FetchResult<()> {
        // git reads a list of paths, one a line.
        let mut alternates = String::new();
        for store in object_stores(dot_git) {
            match store.to_str() {
                Some(path) if !path.contains('\n') => {
                    alternates += path;
                    alternates.push('\n');
                }
                _ => return Err(FetchError::unreadable_git_output()),
            }
        }
        write_package(address, package, |name: &str, address: &GitAddress| {
            let repository = Repository::create(self, self.directory.join(name))?;
            let list = repository.directory.join("objects/info/alternates");
            fs::write(list, &alternates)?;
            Ok((repository, address.reference().map(str::to_owned)))
        })
        .map(drop)
    }

    /// Fetches a commit, and writes its objects, without objects of other commits, into a pack
    /// file.
    pub(in crate::modules) fn fetch_pack(
        &self,
        address: &GitAddress,
        commit: &str,
        pack: &Path,
    ) -> FetchResult<()> {
        let repository = Repository::for_fetching(self, "0", address)?;
        repository.fetch(address)?;
        fs::write(repository.directory.join("shallow"), format!("{commit}\n"))?;
        let command = repository.command(&["pack-objects", "--quiet", "--revs", "package"]);
        let name = repository.read(
            command,
            Some(format!("{commit}\n")),
            STDOUT_LIMIT,
            "git printed too much",
        )?;
        let name = format!("package-{}.pack", String::from_utf8_lossy(&name).trim());
        Ok(fs::rename(repository.directory.join(name), pack)?)
    }

    /// Makes the repository `directory` of a pack file, with a commit as its HEAD, for modules that
    /// call git on themselves. The directory above it has the commit's files.
    ///
    /// The repository is made anew from the objects of the commit, so that nothing in it was chosen
    /// by the repository that was fetched or by a program that can write to the cache: no hook, no
    /// setting, and no object with another content than its id.
    pub(in crate::modules) fn make_repository(
        &self,
        url: &str,
        tag: Option<&str>,
        commit: &str,
        pack: &Path,
        directory: &Path,
    ) -> FetchResult<()> {
        let repository = Repository::create(self, directory.to_owned())?;
        let name = format!("objects/pack/pack-{commit}.pack");
        fs::copy(pack, directory.join(&name))?;
        // The history ends at the commit, as in a shallow clone.
        fs::write(directory.join("shallow"), format!("{commit}\n"))?;
        fs::write(directory.join("HEAD"), format!("{commit}\n"))?;
        repository.output(&["index-pack", &name])?;
        repository.output(&["config", "core.bare", "false"])?;
        repository.output(&["config", "remote.origin.url", url])?;
        repository.output(&[
            "config",
            "remote.origin.fetch",
            "+refs/heads/*:refs/remotes/origin/*",
        ])?;
        if let Some(tag) = tag {
            repository.output(&["update-ref", &format!("refs/tags/{tag}"), commit])?;
        }
        // Without an index, git would report all files as deleted.
        repository.output(&["read-tree", commit]).map(drop)
    }
}

/// Returns the directories of objects in a `.git`, including submodules; not all of them if there
/// are too many or they are too deep.
fn object_stores(dot_git: &Path) -> Vec<PathBuf> {
    let mut stores = Vec::new();
    let mut unread = vec![(dot_git.to_owned(), 0)];
    while let Some((directory, depth)) = unread.pop() {
        if stores.len() > MOST_SUBMODULES || depth > 8 {
            break;
        }
        let objects = directory.join("objects");
        // The submodule `a/b` has its objects in `modules/a/b`.
        let below = if objects.is_dir() {
            stores.push(objects);
            directory.join("modules")
        } else {
            directory
        };
        let mut directories = Vec::new();
        for entry in fs::read_dir(below).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                directories.push((entry.path(), depth + 1));
            }
        }
        directories.truncate(MOST_SUBMODULES);
        unread.append(&mut directories);
    }
    stores
}
