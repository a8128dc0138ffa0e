//! Repositories for installed packages, for modules that call git on themselves: one commit without its history.
//!
//! They are made anew from the objects of the commit, so that nothing in them was chosen by the repository that was
//! fetched or by whoever can write to the cache: no hook, no setting, and no object with another content than its id.

use std::fs;
use std::path::Path;

use super::address::Revision;
use super::error::{GitError, Result};
use super::scratch::Scratch;
use super::{Git, GitAddress};
use crate::modules::problem::MOST_BYTES;

impl Git<'_> {
    /// Fetches a commit, and writes its objects, without those of other commits, into a pack file. `directory` is
    /// an empty one for a repository.
    pub(in crate::modules) fn fetch_pack(
        &self,
        address: &GitAddress,
        commit: &str,
        directory: &Path,
        pack: &Path,
    ) -> Result<()> {
        let mut scratch = Scratch::new(self, directory);
        scratch.fetch(address)?;
        fs::write(directory.join("shallow"), format!("{commit}\n"))?;
        let mut command = scratch.command("pack-objects");
        command.args(["--quiet", "--revs", "package"]);
        let packed = scratch.run_in_space(MOST_BYTES, command, Some(format!("{commit}\n")))?;
        if !packed.status.success() {
            return Err(scratch.failure(&packed));
        }
        let is_pack = |path: &Path| path.extension().is_some_and(|extension| extension == "pack");
        let made = fs::read_dir(directory)?.flatten().map(|entry| entry.path()).find(|path| is_pack(path));
        let made = made.ok_or_else(|| GitError::new("git made no pack file"))?;
        Ok(fs::rename(made, pack)?)
    }

    /// Makes the repository `directory`, whose HEAD is a commit, of a pack file. The directory above it has the
    /// commit's files. If the address names a version, this becomes a tag.
    pub(in crate::modules) fn make_repository(
        &self,
        address: &GitAddress,
        commit: &str,
        pack: &Path,
        directory: &Path,
    ) -> Result<()> {
        let made = Scratch::new(self, directory);
        made.create()?;
        let name = format!("objects/pack/pack-{commit}.pack");
        fs::copy(pack, directory.join(&name))?;
        fs::write(directory.join("shallow"), format!("{commit}\n"))?;
        fs::write(directory.join("HEAD"), format!("{commit}\n"))?;
        let is_name = matches!(address.revision, Revision::Name(_));
        let tag = address.tag().filter(|_| is_name).map(|tag| format!("refs/tags/{tag}"));
        let url = address.repository();
        let steps = [
            Some(vec!["index-pack", &name]),
            Some(vec!["config", "core.bare", "false"]),
            Some(vec!["config", "remote.origin.url", url]),
            Some(vec!["config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"]),
            tag.as_ref().map(|tag| vec!["update-ref", tag, commit]),
            Some(vec!["read-tree", commit]),
        ];
        for step in steps.into_iter().flatten() {
            let mut command = made.command(step[0]);
            command.args(&step[1..]);
            made.success(command)?;
        }
        Ok(())
    }
}
