//! The lock file on disk: reading with a cap, replacing in one step (spec section 3, "Writing").

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::interruption;
use crate::regular_file;

/// The largest lock file that is read, in bytes: hundreds of times a large one, and small enough that even the worst
/// 4 MiB take less than a gigabyte to parse.
pub const SIZE_LIMIT: u64 = 4 * 1024 * 1024;

/// Reads a lock file; none if there is no such file.
///
/// What is not a regular file, is larger than [`SIZE_LIMIT`] or cannot be read is an error.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match regular_file::read(path, SIZE_LIMIT) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Diagnostic::io("read", path, &error).into()),
    }
}

/// Replaces the lock file in one step: whoever reads it sees the old bytes or the new ones, whenever this program ends.
///
/// A symlink stays, and its target is replaced. The file's mode stays, and its owner where the system allows that.
/// An error, with nothing changed and nothing left behind, when the file no longer holds `expected_old` (none: there
/// was no file). Not to be called when there is nothing to change.
pub fn write(path: &Path, expected_old: Option<&[u8]>, new: &[u8]) -> Result<()> {
    let _uninterrupted = interruption::hold_off();
    replace(path, expected_old, new)
}

/// [`write`], when no interrupt is to end the program.
fn replace(path: &Path, expected_old: Option<&[u8]>, new: &[u8]) -> Result<()> {
    let failed = |error: &std::io::Error| not_written(path, error);
    let target = link_target(path).map_err(|error| failed(&error))?;
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut file = platform::new_file(directory, expected_old.map(|_| target.as_path())).map_err(|e| failed(&e))?;
    file.write_all(new).and_then(|()| file.as_file().sync_all()).map_err(|error| failed(&error))?;
    if read(&target)?.as_deref() != expected_old {
        return Err(changed(path).into());
    }
    persist(file, &target, expected_old.is_some()).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => changed(path),
        _ => failed(&error),
    })?;
    Ok(())
}

/// A file that is to be replaced.
#[derive(Clone, Copy, Debug)]
pub struct Replacement<'a> {
    /// Where it is.
    pub path: &'a Path,
    /// What it holds; none if there is no file.
    pub old: Option<&'a [u8]>,
    /// What it is to hold.
    pub new: &'a [u8],
}

/// Replaces files one after the other, each as [`write`] does, and all of them before an interrupt. If one cannot be
/// replaced, those before it get back what they held.
pub fn write_all(replacements: &[Replacement<'_>]) -> Result<()> {
    let _uninterrupted = interruption::hold_off();
    for (index, Replacement { path, old, new }) in replacements.iter().enumerate() {
        if let Err(error) = replace(path, *old, new) {
            let unrestored = |done: &&Replacement<'_>| {
                done.old.is_none_or(|content| replace(done.path, Some(done.new), content).is_err())
            };
            let unrestored: Vec<_> = replacements[..index].iter().filter(unrestored).collect();
            let note =
                |file: &&Replacement<'_>| format!("{} was written, and could not be restored", file.path.display());
            return Err(error.map(|error| unrestored.iter().map(note).fold(error, Diagnostic::note)));
        }
    }
    Ok(())
}

/// Why a file could not be replaced, and what to do about it.
fn not_written(path: &Path, error: &std::io::Error) -> Diagnostic {
    let help = match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "make its directory writable: a new file is made there and then takes the place of the old one"
        }
        ErrorKind::NotFound | ErrorKind::NotADirectory => "make its directory; a symbolic link must lead into one",
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "make room on the disk of its directory",
        _ => "check its directory, where a new file is made before it takes the place of the old one",
    };
    Diagnostic::io("write", path, error).help(help)
}

fn changed(path: &Path) -> Diagnostic {
    let message = format!("{} was changed by another program after it was read; nothing was written", path.display());
    Diagnostic::error(Code::FileChanged, message).help("run the command again")
}

/// Gives the temporary file its name. Where no file was, none that has come since is replaced.
fn persist(file: NamedTempFile, target: &Path, replace: bool) -> std::io::Result<()> {
    let persisted = if replace { file.persist(target) } else { file.persist_noclobber(target) };
    persisted.map(drop).map_err(|error| error.error)
}

/// The file that a path leads to over symlinks, the last of which may point to where no file is yet.
fn link_target(path: &Path) -> std::io::Result<PathBuf> {
    /// As many as Linux follows.
    const MOST_LINKS: usize = 40;
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::symlink_metadata(&target) {
            Ok(metadata) if metadata.is_symlink() => {
                let link = fs::read_link(&target)?;
                target = target.parent().unwrap_or(Path::new("")).join(link);
            }
            _ => return Ok(target),
        }
    }
    Err(std::io::Error::other("too many symlinks"))
}

#[cfg(unix)]
mod platform {
    use std::fs::{self, Permissions};
    use std::io::Result;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, fchown};
    use std::path::Path;

    use tempfile::NamedTempFile;

    /// An empty file in `directory`, with the mode and owner of `like`, or those of any new file.
    pub(super) fn new_file(directory: &Path, like: Option<&Path>) -> Result<NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".terraform.lock.hcl.");
        // The mode of a new file is subject to the process's umask.
        let file = builder.permissions(Permissions::from_mode(0o666)).tempfile_in(directory)?;
        if let Some(metadata) = like.and_then(|path| fs::metadata(path).ok()) {
            // Only a privileged process may give a file away; for any other the new owner is the one it runs as.
            let _ = fchown(file.as_file(), Some(metadata.uid()), Some(metadata.gid()));
            file.as_file().set_permissions(metadata.permissions())?;
        }
        Ok(file)
    }
}

#[cfg(not(unix))]
mod platform {
    use std::fs;
    use std::io::Result;
    use std::path::Path;

    use tempfile::NamedTempFile;

    /// An empty file in `directory`, read-only if `like` is.
    pub(super) fn new_file(directory: &Path, like: Option<&Path>) -> Result<NamedTempFile> {
        let file = tempfile::Builder::new().prefix(".terraform.lock.hcl.").tempfile_in(directory)?;
        if let Some(metadata) = like.and_then(|path| fs::metadata(path).ok()) {
            file.as_file().set_permissions(metadata.permissions())?;
        }
        Ok(file)
    }
}
