//! Packages from the objects in the `.git` of an installed module, which anybody may have changed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::error::{GitError, Result};
use super::scratch::Scratch;
use super::{Git, GitAddress, MOST_SUBMODULES};
use crate::modules::package_writer::PackageWriter;
use crate::modules::problem::MOST_BYTES;

/// The longest time that git may take.
const TIME_LIMIT: Duration = Duration::from_mins(1);

impl Git<'_> {
    /// Writes the package of a commit into `package` from the objects in a `.git`. Nothing else in that is read: no
    /// configuration, hook, index, HEAD or replaced object. The content of objects need not match their ids, so only
    /// the hash of the package shows whether it is right. `directory` is an empty one for a repository.
    pub(in crate::modules) fn read_objects(
        &self,
        dot_git: &Path,
        address: &GitAddress,
        directory: &Path,
        package: &Path,
    ) -> Result<()> {
        let deadline = Instant::now() + self.time_limit.min(TIME_LIMIT);
        let scratch = Scratch { deadline, ..Scratch::new(self, directory) };
        scratch.create()?;
        let mut stores = String::new();
        for store in object_stores(dot_git) {
            let store = store.to_str().filter(|path| !path.contains('\n')).ok_or_else(GitError::unreadable)?.to_owned();
            stores += &(store + "\n");
        }
        fs::create_dir_all(directory.join("objects/info"))?;
        fs::write(directory.join("objects/info/alternates"), stores)?;
        let (mut writer, mut left) = (PackageWriter::new(package), MOST_BYTES);
        let mut wanted = vec![(address.reference().unwrap_or_default().to_owned(), String::new())];
        let mut read = 0;
        while let Some((commit, prefix)) = wanted.pop() {
            read += 1;
            if read > MOST_SUBMODULES {
                return Err(GitError::new(format!("it has more than {MOST_SUBMODULES} submodules")));
            }
            let written = scratch.write(&commit, &prefix, &mut writer, &mut left)?;
            wanted.extend(written.submodules.into_iter().map(|submodule| (submodule.commit, submodule.path)));
        }
        writer.finish()?;
        Ok(())
    }
}

/// Directories of objects in a `.git`, including those of submodules.
fn object_stores(dot_git: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut wanted = vec![(dot_git.to_owned(), 0)];
    while let Some((directory, depth)) = wanted.pop() {
        if found.len() > MOST_SUBMODULES || depth > 8 {
            break;
        }
        let objects = directory.join("objects");
        let is_repository = objects.is_dir();
        found.extend(is_repository.then_some(objects));
        let below = if is_repository { directory.join("modules") } else { directory };
        let entries = fs::read_dir(below).into_iter().flatten().flatten();
        let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        wanted.extend(directories.map(|entry| (entry.path(), depth + 1)).take(MOST_SUBMODULES));
    }
    found
}
