//! Files on disk: reading with a cap, and replacing in one step, which an interrupt has to wait for.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tempfile::NamedTempFile;

use crate::diagnostic::{Code, Diagnostic, Result};

/// Shared by everything that replaces a file, held alone by what is about to end the program.
static REPLACING: RwLock<()> = RwLock::new(());

/// While the result lives, [`wait_for_writes`] does not return. It is held for a short time, and never twice at once by a
/// thread.
pub(crate) fn hold_off_interrupts() -> RwLockReadGuard<'static, ()> {
    REPLACING.read().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no file is being replaced, for a program that was told to stop: temporary files would stay otherwise. While
/// the result lives, no other file is replaced.
pub fn wait_for_writes() -> RwLockWriteGuard<'static, ()> {
    REPLACING.write().unwrap_or_else(PoisonError::into_inner)
}

/// Reads a regular file of at most `limit` bytes, a whole number of MiB.
///
/// # Errors
/// A pipe would block when it is opened, and a device might never end; both are errors, as are directories.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory"));
    }
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    // With room for the end of the file, one call reads it all.
    let length = usize::try_from(metadata.len().min(limit)).unwrap_or_default();
    let mut bytes = Vec::with_capacity(length + 1);
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {} MiB", limit >> 20)));
    }
    Ok(bytes)
}

/// Joins a relative path to a directory and removes `.` and `..` by the text alone, as OpenTofu does with Go's
/// `filepath.Join`; `.` stays when nothing else is left.
pub(crate) fn join(directory: &Path, relative: impl AsRef<Path>) -> PathBuf {
    let mut joined = PathBuf::new();
    for component in directory.join(relative).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => match joined.components().next_back() {
                Some(Component::Normal(_)) => {
                    joined.pop();
                }
                Some(Component::RootDir | Component::Prefix(_)) => {}
                _ => joined.push(".."),
            },
            other => joined.push(other),
        }
    }
    if joined.as_os_str().is_empty() { PathBuf::from(".") } else { joined }
}

/// Replaces a file in one step: whoever reads it sees the old bytes or the new ones, whenever this program ends.
///
/// A symlink stays, and its target is replaced. The file's mode stays, and its owner where the system allows that.
/// Not to be called when there is nothing to change.
///
/// # Errors
/// When the file no longer holds `expected_old` (none: there was no file), or cannot be replaced. Nothing is changed then,
/// and nothing left behind.
pub fn write(path: &Path, expected_old: Option<&[u8]>, new: &[u8]) -> Result<()> {
    let _uninterrupted = hold_off_interrupts();
    replace(path, expected_old, new)
}

/// [`write`], when no interrupt is to end the program.
fn replace(path: &Path, expected_old: Option<&[u8]>, new: &[u8]) -> Result<()> {
    let failed = |error: &io::Error| not_written(path, error);
    let target = link_target(path).map_err(|error| failed(&error))?;
    let directory = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut file = temporary_file(directory, &target, expected_old.is_some()).map_err(|error| failed(&error))?;
    file.write_all(new).and_then(|()| file.as_file().sync_all()).map_err(|error| failed(&error))?;
    if !holds(&target, expected_old).map_err(|error| Diagnostic::io("read", &target, &error))? {
        return Err(changed(path).into());
    }
    persist(file, &target, expected_old.is_some()).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => changed(path),
        _ => failed(&error),
    })?;
    Ok(())
}

/// Whether a file holds just these bytes; with none, whether there is no file.
fn holds(path: &Path, expected: Option<&[u8]>) -> io::Result<bool> {
    match read(path, expected.map_or(0, <[u8]>::len) as u64) {
        Ok(bytes) => Ok(expected == Some(bytes.as_slice())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(expected.is_none()),
        Err(error) if error.kind() == ErrorKind::FileTooLarge => Ok(false),
        Err(error) => Err(error),
    }
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
///
/// # Errors
/// Those of [`write`], with a note for each file that could not be restored.
pub fn write_all(replacements: &[Replacement<'_>]) -> Result<()> {
    let _uninterrupted = hold_off_interrupts();
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
fn not_written(path: &Path, error: &io::Error) -> Diagnostic {
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
fn persist(file: NamedTempFile, target: &Path, replace: bool) -> io::Result<()> {
    let persisted = if replace { file.persist(target) } else { file.persist_noclobber(target) };
    persisted.map(drop).map_err(|error| error.error)
}

/// The file that a path leads to over symlinks, the last of which may point to where no file is yet.
fn link_target(path: &Path) -> io::Result<PathBuf> {
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
    Err(io::Error::other("too many symlinks"))
}

/// An empty file in `directory`, named after `target`. If it is to replace the target, it has the target's mode and, as far
/// as the system allows, its owner; else those of any new file.
fn temporary_file(directory: &Path, target: &Path, replaces: bool) -> io::Result<NamedTempFile> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    // Programs that read the directory skip hidden files.
    let prefix = format!(".{}.", name.trim_start_matches('.'));
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    // The mode of a new file is subject to the process's umask.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let file = builder.tempfile_in(directory)?;
    if let Some(metadata) = Some(target).filter(|_| replaces).and_then(|target| fs::metadata(target).ok()) {
        // Only a privileged process may give a file away; for any other the new owner is the one it runs as.
        #[cfg(unix)]
        let _ = {
            use std::os::unix::fs::{MetadataExt as _, fchown};
            fchown(file.as_file(), Some(metadata.uid()), Some(metadata.gid()))
        };
        file.as_file().set_permissions(metadata.permissions())?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests;
