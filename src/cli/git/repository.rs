//! What git knows of lock files. Without git or a repository nothing is known, which is an error only for `--base`.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use anyhow::Result;
use provlock::lockfile::LOCK_FILE_NAME;
use provlock::ops::verify::Tracking;

use super::command::{Running, contents, files_in, native_path, top};

/// A repository, with its lock files as soon as git has listed them.
pub(crate) struct Repository {
    /// The top of the work tree, without symlinks.
    top: PathBuf,
    /// The process that lists the tracked lock files while other work is done.
    listing: Mutex<Option<Running>>,
    tracked: OnceLock<Option<HashSet<PathBuf>>>,
    /// Lock files that are neither tracked nor ignored.
    others: OnceLock<Option<HashSet<PathBuf>>>,
}

impl Repository {
    /// The repository around a directory. Asks git at once which lock files it tracks, and does not wait for the answer.
    pub(crate) fn around(directory: &Path) -> Option<Self> {
        let directory = directory.canonicalize().ok()?;
        let top = top(&directory)?.to_owned();
        let listing = list(&top, &["--cached"]).ok()?;
        let listing = Mutex::new(Some(listing));
        Some(Self { top, listing, tracked: OnceLock::new(), others: OnceLock::new() })
    }

    /// The top of the work tree, without symlinks.
    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    /// What git knows of the lock file of a root module.
    pub(crate) fn tracking(&self, root: &Path) -> Tracking {
        let Some(path) = self.path_of(root) else { return Tracking::Unknown };
        let tracked = self.tracked.get_or_init(|| {
            let listing = self.listing.lock().unwrap_or_else(PoisonError::into_inner).take();
            paths(listing?)
        });
        match tracked {
            None => Tracking::Unknown,
            Some(tracked) if tracked.contains(&path) => Tracking::Tracked,
            Some(_) if !self.holds(root) => Tracking::Unknown,
            Some(_) => {
                let list_others = || paths(list(&self.top, &["--others", "--exclude-standard"]).ok()?);
                match self.others.get_or_init(list_others) {
                    None => Tracking::Unknown,
                    Some(others) if others.contains(&path) => Tracking::Untracked,
                    Some(_) => Tracking::Ignored,
                }
            }
        }
    }

    /// The full name of the commit that a revision stands for.
    pub(crate) fn commit(&self, revision: &str) -> Option<String> {
        let commit = format!("{revision}^{{commit}}");
        let name = self.git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &commit])?;
        Some(String::from_utf8(name).ok()?.trim().to_owned())
    }

    /// The lock file of a root module as it was in a commit; none if it was not there.
    pub(crate) fn lock_file_in(&self, commit: &str, root: &Path) -> Result<Option<Vec<u8>>> {
        let Some(path) = self.path_of(root) else { return Ok(None) };
        let blobs = files_in(&self.top, commit, Some(&path), OsStr::new(LOCK_FILE_NAME))?;
        let objects = blobs.iter().map(|(path, object)| (object.as_str(), path.as_path())).collect();
        Ok(contents(&self.top, &objects)?.into_values().next())
    }

    /// The path of a root module's lock file in the repository.
    fn path_of(&self, root: &Path) -> Option<PathBuf> {
        let root = root.canonicalize().ok()?;
        Some(root.strip_prefix(&self.top).ok()?.join(LOCK_FILE_NAME))
    }

    /// Whether no other repository, such as a submodule, is between the top and the root module.
    fn holds(&self, root: &Path) -> bool {
        root.canonicalize().is_ok_and(|root| top(&root) == Some(&self.top))
    }

    /// What git prints at the top of the work tree, if it ends well.
    fn git(&self, arguments: &[&str]) -> Option<Vec<u8>> {
        Running::start(&self.top, arguments).ok()?.finish(b"").ok()?.success()
    }
}

/// Makes git list lock files, each ended by a NUL.
fn list(top: &Path, which: &[&str]) -> std::io::Result<Running> {
    let pattern = format!(":(top,glob)**/{LOCK_FILE_NAME}");
    Running::start(top, ["ls-files", "-z", "--full-name"].iter().chain(which).chain(&["--", &pattern]))
}

fn paths(listing: Running) -> Option<HashSet<PathBuf>> {
    let listed = listing.finish(b"").ok()?.success()?;
    Some(listed.split(|byte| *byte == 0).filter(|path| !path.is_empty()).map(native_path).collect())
}
