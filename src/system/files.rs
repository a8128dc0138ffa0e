//! Files on disk: reads them up to a limit, and replaces them in one step that no interrupt can
//! split.

mod lock;
pub(crate) mod name;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tempfile::NamedTempFile;
use unicode_normalization::UnicodeNormalization as _;

use super::temporary_paths::Temporary;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Message, Result};
pub(crate) use lock::{DirectoryLock, remove_old};

/// Byte order mark that some editors write at the start. It is not part of the text.
pub(crate) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Locked for reading while a file is replaced, and for writing before the program ends.
static REPLACING: RwLock<()> = RwLock::new(());

/// Number of files that this process has replaced or created with [`write()`], [`write_all`],
/// [`overwrite`] and [`put_in_place`].
static REPLACED: AtomicUsize = AtomicUsize::new(0);

/// While the result lives, [`wait_for_writes`] does not return. Hold it only for a short time, and
/// only once per thread.
pub(crate) fn hold_off_interrupts() -> RwLockReadGuard<'static, ()> {
    REPLACING.read().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until no file is being replaced. A program that must stop calls this, so that it leaves no
/// temporary files. While the result lives, no other file is replaced.
pub fn wait_for_writes() -> RwLockWriteGuard<'static, ()> {
    REPLACING.write().unwrap_or_else(PoisonError::into_inner)
}

/// Number of files that this process has written so far, without files in the cache.
pub fn number_replaced() -> usize {
    REPLACED.load(Ordering::Relaxed)
}

/// The absolute path without symlinks, `.` and `..`, of something that exists. On Windows without
/// the prefix `\\?\` wherever the path has a meaning without it, since other programs do not take
/// it.
///
/// # Errors
/// The path does not exist, or may not be read.
pub fn canonicalize(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    dunce::canonicalize(path)
}

/// [`canonicalize`], or the unchanged path if that fails.
pub fn canonical_or_given(path: &Path) -> PathBuf {
    canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Opens a regular file.
///
/// # Errors
/// The path leads to something else: opening a pipe would block, and a device might never end.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    Ok(open_with_length(path)?.0)
}

fn open_with_length(path: &Path) -> io::Result<(File, u64)> {
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory"));
    }
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok((File::open(path)?, metadata.len()))
}

/// Reads a regular file of at most `limit` bytes, a whole number of MiB.
///
/// # Errors
/// Fails as [`open`] does, and if the file is larger.
pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (mut file, length) = open_with_length(path)?;
    // The library reads in pieces of 8 KiB where there is a limit; one call reads it all, and one
    // finds the end.
    let mut bytes = vec![0; usize::try_from(length.min(limit)).unwrap_or_default() + 1];
    let first = file.read(&mut bytes)?;
    bytes.truncate(first);
    file.take(limit + 1 - first as u64)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it is larger than {} MiB", limit >> 20),
        ));
    }
    Ok(bytes)
}

/// Entries of a directory; none if it does not exist.
pub(crate) fn entries(directory: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(directory) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Whether bytes begin like UTF-16 text, which PowerShell writes.
pub(crate) fn is_utf16(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
}

/// Joins a relative path to a directory and removes `.` and `..` by the text alone, as OpenTofu
/// does with Go's `filepath.Join`. The result is `.` if nothing else is left.
pub fn join(directory: &Path, relative: impl AsRef<Path>) -> PathBuf {
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
    if joined.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        joined
    }
}

/// The path of a file relative to a directory, if the file is below it, or beside it or one of the
/// directories around it: `a/main.tf`, `../../provlock.toml`. Both are absolute and without
/// symlinks.
pub fn relative(file: &Path, directory: &Path) -> Option<PathBuf> {
    if let Ok(below) = file.strip_prefix(directory) {
        return Some(below.to_owned());
    }
    let above = file.parent()?;
    let depth = directory.strip_prefix(above).ok()?.components().count();
    let mut relative: PathBuf = std::iter::repeat_n("..", depth).collect();
    relative.push(file.file_name()?);
    Some(relative)
}

/// Replaces a file in one step: a reader sees either the old bytes or the new ones, even if this
/// program is killed.
///
/// A symlink stays, and its target is replaced. The file's mode stays, and its owner and group
/// where the system allows that; hard links, extended attributes and access control lists do not.
/// Do not call this if nothing changes.
///
/// # Errors
/// The content of the file differs from `expected_old` (`None`: no file), or the file cannot be
/// replaced, for example because it is read-only on Windows. Then nothing has changed.
pub fn write(path: &Path, expected_old: Option<&[u8]>, new: &[u8]) -> Result<()> {
    let _uninterrupted = hold_off_interrupts();
    replace(path, expected_old, new)?;
    REPLACED.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Creates a file that the user alone can read, in one step.
///
/// # Errors
/// The file exists, or it cannot be written. Then nothing has changed.
pub fn create_private(path: &Path, content: &[u8]) -> Result<()> {
    let _uninterrupted = hold_off_interrupts();
    Ok(Reserved::wait(path)?.replace(None, content, Access::Private)?)
}

/// [`write()`] for a caller that holds off interrupts.
fn replace(
    path: &Path,
    expected_old: Option<&[u8]>,
    new: &[u8],
) -> std::result::Result<(), WriteError> {
    Reserved::wait(path)?.replace(expected_old, new, Access::Kept)
}

/// Removes temporary files that killed processes have left beside an unchanged file, unless another
/// process replaces a file there now.
pub(crate) fn remove_left_over(path: &Path) {
    if let Ok(target) = link_target(path)
        && let Some(lock) = DirectoryLock::take(directory_of(&target))
    {
        remove_left_over_of(&lock, &target);
    }
}

fn remove_left_over_of(lock: &DirectoryLock, target: &Path) {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    lock.remove_left_over(directory_of(target), |replaced| {
        replaced == lock::without_dots(&name)
    });
}

/// Reason why files were not replaced.
#[derive(Debug)]
pub(crate) enum WriteError {
    /// A different program changed a file after it was read.
    Changed(Diagnostics),
    Failed(Diagnostics),
}

impl From<Diagnostic> for WriteError {
    fn from(error: Diagnostic) -> Self {
        Self::Failed(error.into())
    }
}

impl From<Diagnostics> for WriteError {
    fn from(errors: Diagnostics) -> Self {
        Self::Failed(errors)
    }
}

impl From<WriteError> for Diagnostics {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Changed(errors) | WriteError::Failed(errors) => errors,
        }
    }
}

/// A file that no other provlock process replaces while this lives.
pub(crate) struct Reserved<'a> {
    path: &'a Path,
    /// The file that the path leads to over symlinks.
    target: PathBuf,
    lock: DirectoryLock,
}

/// Access to a replaced file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// The same users as before; for a new file, the users who can access any new file.
    Kept,
    /// The user alone.
    Private,
}

impl<'a> Reserved<'a> {
    /// Waits until no other provlock process replaces a file in the same directory.
    pub(crate) fn wait(path: &'a Path) -> Result<Self> {
        let target = link_target(path).map_err(|error| not_written(path, &error))?;
        let lock = DirectoryLock::wait(directory_of(&target))
            .map_err(|error| not_written(path, &error))?;
        Ok(Self { path, target, lock })
    }

    /// Replaces the file, or creates it if there is no `expected_old`, as [`write()`] does. The
    /// caller holds off interrupts.
    pub(crate) fn replace(
        &self,
        expected_old: Option<&[u8]>,
        new: &[u8],
        access: Access,
    ) -> std::result::Result<(), WriteError> {
        let replaces = expected_old.is_some();
        // Windows does not replace a read-only file, and its error does not name this reason.
        if cfg!(windows) && access == Access::Kept && is_read_only(&self.target) {
            let error = Diagnostic::error(
                Code::Io,
                format!("cannot write {}: it is read-only", self.path.display()),
            );
            let help = format!(
                "if it may change, make it writable first: attrib -r {}",
                self.path.display()
            );
            return Err(error.help(help).into());
        }
        let mut file = self
            .temporary_file(replaces, access)
            .map_err(|error| not_written(self.path, &error))?;
        // The bytes are on the disk before they get the name of the file, so a crash leaves one
        // file whole.
        file.write_all(new)
            .and_then(|()| file.as_file().sync_all())
            .map_err(|error| not_written(self.path, &error))?;
        // An edit since the file was read must not be lost.
        if !has_content(&self.target, expected_old)
            .map_err(|error| Diagnostic::io("read", &self.target, &error))?
        {
            return Err(WriteError::Changed(
                changed_by_other_program(self.path).into(),
            ));
        }
        let persisted = if replaces {
            rename(file, &self.target)
        } else {
            // A file that was created in the meantime must not be lost, either.
            file.persist_noclobber(&self.target)
                .map(drop)
                .map_err(|error| error.error)
        };
        persisted.map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => {
                WriteError::Changed(changed_by_other_program(self.path).into())
            }
            _ => not_written(self.path, &error).into(),
        })
    }

    /// An empty file beside the target and named after it.
    fn temporary_file(&self, replaces: bool, access: Access) -> io::Result<NamedTempFile> {
        let directory = directory_of(&self.target);
        let name = self
            .target
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        remove_left_over_of(&self.lock, &self.target);
        let file = temporary_file(directory, &name, access)?;
        if replaces
            && access == Access::Kept
            && let Ok(metadata) = fs::metadata(&self.target)
        {
            keep_access(file.as_file(), &metadata)?;
        }
        Ok(file)
    }
}

/// An empty file beside a path. When it is complete, [`put_in_place`] gives it the path's name.
pub(crate) fn incoming(path: &Path) -> io::Result<Temporary<NamedTempFile>> {
    Temporary::make(|| temporary_file_beside(path))
}

fn temporary_file_beside(path: &Path) -> io::Result<NamedTempFile> {
    temporary_file(
        directory_of(path),
        &path.file_name().unwrap_or_default().to_string_lossy(),
        Access::Kept,
    )
}

/// An empty file in a directory that only the user can access, whichever file it will replace.
pub(crate) fn private_file_in(directory: &Path) -> io::Result<NamedTempFile> {
    temporary_file(directory, "private", Access::Private)
}

/// Gives a file a path's name in one step, and replaces any file or symlink of that name.
pub(crate) fn put_in_place(file: Temporary<NamedTempFile>, path: &Path) -> io::Result<()> {
    file.as_file().sync_all()?;
    let _uninterrupted = hold_off_interrupts();
    file.rename(|file| rename(file, path))?;
    REPLACED.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// Writes a file in one step that no interrupt can split, and replaces any file or symlink of that
/// name.
pub(crate) fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let _uninterrupted = hold_off_interrupts();
    let mut file = temporary_file_beside(path)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    rename(file, path)?;
    REPLACED.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// An empty file in a directory, named after the file that it will replace.
fn temporary_file(directory: &Path, name: &str, access: Access) -> io::Result<NamedTempFile> {
    let prefix = lock::temporary_prefix(name);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    if access == Access::Kept {
        open_to_all(&mut builder);
    }
    builder.tempfile_in(directory)
}

/// Gives temporary files the mode of any new file, subject to the process's umask. By default, only
/// the user can access them.
#[cfg(unix)]
fn open_to_all(builder: &mut tempfile::Builder<'_, '_>) {
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
}

/// The directory's access control list decides who may read and write a file.
#[cfg(not(unix))]
fn open_to_all(_: &mut tempfile::Builder<'_, '_>) {}

fn directory_of(target: &Path) -> &Path {
    target
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Gives a file the mode of another, and its owner and group if the system allows it: only a
/// privileged process may change the owner, and other processes may choose only groups that they
/// are in.
#[cfg(unix)]
fn keep_access(file: &File, metadata: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let _ = fchown(file, Some(metadata.uid()), Some(metadata.gid()))
        .or_else(|_| fchown(file, None, Some(metadata.gid())));
    file.set_permissions(metadata.permissions())
}

/// A file inherits the access control list of its directory, and a read-only file cannot be
/// replaced.
#[cfg(not(unix))]
fn keep_access(_: &File, _: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

/// Whether a file contains exactly these bytes, or with `None`, whether there is no file.
fn has_content(path: &Path, expected: Option<&[u8]>) -> io::Result<bool> {
    match read(path, expected.map_or(0, <[u8]>::len) as u64) {
        Ok(bytes) => Ok(expected == Some(bytes.as_slice())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(expected.is_none()),
        Err(error) if error.kind() == ErrorKind::FileTooLarge => Ok(false),
        Err(error) => Err(error),
    }
}

/// Content of a file before and after a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Path of the file, as the user knows it.
    pub path: PathBuf,
    /// The content that was read; `None` if there is no file.
    pub old: Option<Vec<u8>>,
    /// The new content.
    pub new: Vec<u8>,
}

/// Replaces files one after the other, each as [`write()`] does, and all of them before an
/// interrupt. If one cannot be replaced, the files before it get their old content back.
///
/// # Errors
/// Fails as [`write()`] does, with a note for each file that could not be restored.
pub(crate) fn write_all<'a>(
    changes: impl IntoIterator<Item = &'a FileChange>,
) -> std::result::Result<(), WriteError> {
    let _uninterrupted = hold_off_interrupts();
    let mut written: Vec<&FileChange> = Vec::new();
    for change in changes {
        if let Err(error) = replace(&change.path, change.old.as_deref(), &change.new) {
            return Err(restore_after_error(&written, error));
        }
        written.push(change);
    }
    REPLACED.fetch_add(written.len(), Ordering::Relaxed);
    Ok(())
}

/// Gives written files their old content back after an error. Returns the error, with a note for
/// each file that could not be restored.
fn restore_after_error(written: &[&FileChange], error: WriteError) -> WriteError {
    let mut notes = Vec::new();
    for FileChange { path, old, new } in written {
        let is_restored = match old {
            Some(content) => replace(path, Some(new), content).is_ok(),
            // There was no file, and the new one stays.
            None => false,
        };
        if !is_restored {
            let path = path.display();
            notes.push(format!("{path} was written, and could not be restored"));
        }
    }
    if notes.is_empty() {
        return error;
    }
    // A run that is repeated because of a change by another program must find the other files as
    // they were.
    let errors = Diagnostics::from(error).map(|mut error| {
        for note in &notes {
            error = error.note(note.clone());
        }
        error
    });
    WriteError::Failed(errors)
}

/// The error about a file that could not be replaced, with the next step.
fn not_written(path: &Path, error: &io::Error) -> Diagnostic {
    let help = match error.kind() {
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "make its directory writable: the new file is created there before it replaces the old one"
        }
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            "create its directory; a symbolic link must lead into one"
        }
        _ if is_disk_full(error) => "free disk space for its directory",
        ErrorKind::ResourceBusy => "end the process that holds the lock, or wait for it",
        _ => "check its directory, where the new file is created before it replaces the old one",
    };
    Diagnostic::io("write", path, error).help(help)
}

/// Whether there is no space left on a disk, or none for this user.
pub(crate) fn is_disk_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}

/// A warning for a read-only file that is replaced. Its directory decides whether that is possible,
/// and OpenTofu and Terraform replace it silently.
pub(crate) fn read_only_warning(path: &Path) -> Option<Diagnostic> {
    if !is_read_only(path) {
        return None;
    }
    let message = format!(
        "{} is read-only, but was replaced anyway; it stays read-only",
        path.display()
    );
    let help = "to prevent this, make its directory read-only, too";
    Some(Diagnostic::warning(Code::Io, message).help(help))
}

fn is_read_only(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.permissions().readonly())
}

fn changed_by_other_program(path: &Path) -> Diagnostic {
    let message = Message::naming(path, |path| {
        format!("{path} was changed by another program after it was read; nothing was written")
    });
    Diagnostic::error(Code::FileChanged, message).help("run the command again")
}

/// Gives a temporary file the name of another, which it replaces. Unlike with
/// [`NamedTempFile::persist`], the other file may be open on Windows.
pub(crate) fn rename(file: NamedTempFile, target: &Path) -> io::Result<()> {
    let temporary = file.into_temp_path().keep()?;
    fs::rename(&temporary, target).inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })
}

/// A name or path without differences that some file systems ignore: of case, and of accents that
/// are characters of their own. The upper case of some letters outside ASCII is in ASCII.
pub(crate) fn folded_name(name: &str) -> String {
    let decomposed: String = name.nfd().collect();
    decomposed.to_uppercase().to_lowercase()
}

/// Returns the absolute path of the file that a path resolves to, without symlinks. The file need
/// not exist.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    if let Ok(canonical) = canonicalize(path) {
        return canonical;
    }
    let target = link_target(path).unwrap_or_else(|_| path.to_owned());
    match (target.parent().map(canonicalize), target.file_name()) {
        (Some(Ok(directory)), Some(name)) => directory.join(name),
        _ => target,
    }
}

/// The file that a path leads to through symlinks. It need not exist.
fn link_target(path: &Path) -> io::Result<PathBuf> {
    /// Linux's limit.
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

#[cfg(test)]
mod tests;
