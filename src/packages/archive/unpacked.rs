//! A package that is unpacked in a directory.

#![expect(
    clippy::disallowed_methods,
    reason = "an unpacked package is the same in every revision"
)]

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::contents::{h1_of_list, refuse_unlistable_name, require_executable};
use super::error::{EntryProblem, PackageError, Refusal};
use super::limits::Limits;
use super::sha256::Sha256;
use crate::provider::Hash;

/// The `h1:` of the package that is unpacked in `directory`, which may be a symbolic link: all
/// files below it, by their paths with `/`.
///
/// # Errors
/// A file cannot be read or is refused, or the files are together larger than an archive may be.
pub(crate) fn hash_directory(directory: &Path, provider_type: &str) -> Result<Hash, PackageError> {
    let limit = Limits::default().archive_bytes;
    let mut files = Vec::new();
    let mut unvisited = vec![(directory.to_path_buf(), Vec::new())];
    while let Some((directory, prefix)) = unvisited.pop() {
        let children =
            fs::read_dir(&directory).map_err(|error| unreadable_error(&directory, &error))?;
        for child in children {
            let child = child.map_err(|error| unreadable_error(&directory, &error))?;
            let mut name = prefix.clone();
            name.extend_from_slice(&name_bytes(&child.file_name()));
            let kind = child
                .file_type()
                .map_err(|error| unreadable_error(&child.path(), &error))?;
            if kind.is_dir() {
                name.push(b'/');
                unvisited.push((child.path(), name));
            } else {
                // A symbolic link is read as the file that it points to. A link to a directory, to
                // nothing or to a device is refused, because OpenTofu's hash of a directory cannot
                // read it: `internal/getproviders/hash.go`, `PackageHashV1`.
                refuse_unlistable_name(&name).map_err(|problem| Refusal::entry(&name, problem))?;
                files.push((name, child.path()));
            }
        }
    }
    require_executable(files.iter().map(|(name, _)| name.as_slice()), provider_type)?;
    files.sort();
    // A hole in a file costs nothing to make, and takes as long to hash as data.
    let mut total: u64 = 0;
    for (_, path) in &files {
        let metadata = fs::metadata(path).map_err(|error| unreadable_error(path, &error))?;
        total = total.saturating_add(metadata.len());
    }
    if total > limit {
        return Err(Refusal::FilesTooLarge(limit).into());
    }

    let mut buffer = vec![0; 64 * 1024];
    let mut digests = Vec::with_capacity(files.len());
    for (name, path) in &files {
        digests.push(hash_file(name, path, &mut buffer)?);
    }
    Ok(h1_of_list(
        files.iter().map(|(name, _)| name.as_slice()).zip(&digests),
    ))
}

fn hash_file(name: &[u8], path: &PathBuf, buffer: &mut [u8]) -> Result<[u8; 32], PackageError> {
    // Checked before opening, because opening a named pipe would wait for a writer.
    if !fs::metadata(path)
        .map_err(|error| unreadable_error(path, &error))?
        .is_file()
    {
        return Err(Refusal::entry(name, EntryProblem::NotRegular).into());
    }
    let mut file = File::open(path).map_err(|error| unreadable_error(path, &error))?;
    let mut sha256 = Sha256::new();
    loop {
        match file.read(buffer) {
            Ok(0) => return Ok(sha256.finish()),
            Ok(count) => sha256.update(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable_error(path, &error)),
        }
    }
}

fn unreadable_error(path: &Path, error: &io::Error) -> PackageError {
    PackageError::Read(io::Error::new(
        error.kind(),
        format!("{}: {error}", path.display()),
    ))
}

/// A file name's bytes: as they are on Unix, as UTF-8 elsewhere.
fn name_bytes(name: &std::ffi::OsStr) -> std::borrow::Cow<'_, [u8]> {
    #[cfg(unix)]
    return std::os::unix::ffi::OsStrExt::as_bytes(name).into();
    #[cfg(not(unix))]
    return name.to_string_lossy().into_owned().into_bytes().into();
}
