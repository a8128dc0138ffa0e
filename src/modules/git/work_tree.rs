//! Packages from the objects in the `.git` of a work tree that nobody vouches for.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::checkout;
use super::error::{GitError, Result};
use super::objects::Objects;
use super::{Fetch, Git, GitAddress, MOST_SUBMODULES};
use crate::modules::contents::{Extent, MOST_BYTES, PackageWriter};
use crate::system::process;

/// How long git may take.
const TIME_LIMIT: Duration = Duration::from_mins(1);

impl Git<'_> {
    /// Writes the package of a commit into `package` from the objects that are in a `.git`. Nothing else in that is
    /// read: no configuration, hook, index, HEAD or replaced object. The objects need not be what their names say, so
    /// only the hash of the package says what it is. `directory` is an empty one for a repository.
    pub(in crate::modules) fn read_objects(
        &self,
        dot_git: &Path,
        address: &GitAddress,
        directory: &Path,
        package: &Path,
    ) -> Result<()> {
        let deadline = Instant::now() + self.time_limit.min(TIME_LIMIT);
        let fetch = Fetch { deadline, ..self.in_directory(address, directory) };
        fetch.create()?;
        let mut stores = String::new();
        for store in object_stores(dot_git) {
            let store = store.to_str().filter(|path| !path.contains('\n')).ok_or_else(GitError::unreadable)?.to_owned();
            stores += &(store + "\n");
        }
        fs::create_dir_all(directory.join("objects/info"))?;
        fs::write(directory.join("objects/info/alternates"), stores)?;
        let mut command = fetch.command("cat-file");
        command.arg("--batch").env("GIT_NO_LAZY_FETCH", "1");
        let (mut writer, mut left) = (PackageWriter::new(package, Extent::Whole), MOST_BYTES);
        let time = deadline.saturating_duration_since(Instant::now());
        let written = process::talk(command, time, |requests, answers| {
            let mut objects = Objects::new(requests, answers);
            let mut wanted = vec![(address.reference().unwrap_or_default().to_owned(), String::new())];
            let mut read = 0;
            while let Some((commit, prefix)) = wanted.pop() {
                read += 1;
                if read > MOST_SUBMODULES {
                    return Err(GitError::new(format!("it has more than {MOST_SUBMODULES} submodules")));
                }
                let written = checkout::write(&mut objects, &commit, &prefix, &mut writer, &mut left)?;
                wanted.extend(written.submodules.into_iter().map(|submodule| (submodule.commit, submodule.path)));
            }
            Ok(())
        });
        written.map_err(|why| fetch.ended(&why))??;
        Ok(writer.finish()?)
    }
}

/// The directories of objects in a `.git`, with those of submodules.
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
