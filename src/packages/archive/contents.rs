//! The list of a package's files, and the hashes over it.

use std::borrow::Cow;

use sha2::{Digest as _, Sha256};

use super::Limits;
use super::central::Entry;
use super::error::{EntryProblem, Refusal};
use crate::provider::Hash;

/// The longest name of a file or directory in common file systems, in bytes.
const LONGEST_PART: usize = 255;
/// The longest path on Linux, in bytes.
const LONGEST_PATH: usize = 4095;

/// The hashes over the files in an archive.
#[derive(Debug)]
pub(super) struct Hashes {
    pub(super) h1: Hash,
    pub(super) h1_with_directories: Hash,
}

/// The entries of an archive as they are extracted: for each entry its path, or none if it is a
/// directory.
pub(super) struct Contents<'a> {
    entries: &'a [Entry<'a>],
    paths: Vec<Option<Cow<'a, [u8]>>>,
}

impl<'a> Contents<'a> {
    /// The contents of these entries.
    ///
    /// # Errors
    /// They break a rule about names or sizes, or there is none.
    pub(super) fn new(
        entries: &'a [Entry<'a>],
        provider_type: &str,
        limits: &Limits,
    ) -> Result<Self, Refusal> {
        if entries.is_empty() {
            return Err(Refusal::Empty);
        }

        let mut paths = Vec::with_capacity(entries.len());
        let mut directories = Vec::new();
        for entry in entries {
            let path = extracted_path(entry.name)
                .map_err(|problem| Refusal::entry(entry.name, problem))?;
            if entry.is_directory {
                directories.push(path);
                paths.push(None);
            } else {
                paths.push(Some(path));
            }
        }
        refuse_conflicts(&paths, &directories)?;
        require_executable(paths.iter().flatten().map(AsRef::as_ref), provider_type)?;

        let contents = Self { entries, paths };
        // Entries may share their data, so even a small archive can take long to read.
        contents.refuse_total_above(limits.archive_bytes, |entry| entry.compressed_size)?;
        contents.refuse_total_above(limits.inflated_bytes, |entry| entry.size)?;
        Ok(contents)
    }

    /// Refuses files with more than `limit` bytes together.
    fn refuse_total_above(
        &self,
        limit: u64,
        size_of: fn(&Entry<'_>) -> u64,
    ) -> Result<(), Refusal> {
        let mut total: u64 = 0;
        for (entry, path) in self.entries.iter().zip(&self.paths) {
            if path.is_none() {
                continue;
            }
            total = match total.checked_add(size_of(entry)) {
                Some(total) if total <= limit => total,
                _ => return Err(Refusal::FilesTooLarge(limit)),
            };
        }
        Ok(())
    }

    /// Computes the hashes. `digests` contains the SHA-256 of each entry; the digests of
    /// directories are not used.
    pub(super) fn hashes(&self, digests: &[[u8; 32]]) -> Hashes {
        Hashes {
            h1: self.h1(digests),
            h1_with_directories: self.h1_with_directories(digests),
        }
    }

    /// The hash over the files; if several have the same path, the last one is used.
    fn h1(&self, digests: &[[u8; 32]]) -> Hash {
        let mut files: Vec<(&[u8], &[u8; 32])> = self
            .paths
            .iter()
            .zip(digests)
            .filter_map(|(path, digest)| Some((path.as_deref()?, digest)))
            .collect();
        // Stable, so that the last of each path stays last.
        files.sort_by_key(|(path, _)| *path);
        let last = files
            .chunk_by(|a, b| a.0 == b.0)
            .filter_map(|same| same.last().copied());
        h1_of_list(last)
    }

    /// The hash over the archive without extraction, as `providers mirror` computes it: names are
    /// unchanged, directories are empty files, and a name that occurs twice is listed twice, each
    /// time with the last content.
    fn h1_with_directories(&self, digests: &[[u8; 32]]) -> Hash {
        let empty: [u8; 32] = Sha256::digest([]).into();
        let mut listed = Vec::with_capacity(self.entries.len());
        for (entry, digest) in self.entries.iter().zip(digests) {
            let digest = if entry.is_directory { &empty } else { digest };
            listed.push((entry.name, digest));
        }

        // Stable, so that the last of each name stays last.
        listed.sort_by_key(|(name, _)| *name);
        for same in listed.chunk_by_mut(|a, b| a.0 == b.0) {
            if let Some(last) = same.last().copied() {
                same.fill(last);
            }
        }
        h1_of_list(listed.into_iter())
    }
}

/// `h1:` over files that are sorted by the bytes of their paths.
pub(super) fn h1_of_list<'a>(files: impl Iterator<Item = (&'a [u8], &'a [u8; 32])>) -> Hash {
    let mut list = Sha256::new();
    for (path, digest) in files {
        list.update(Hash::zh(digest).value().as_bytes());
        list.update(b"  ");
        list.update(path);
        list.update(b"\n");
    }
    Hash::h1(&list.finalize().into())
}

/// Refuses a package whose top-level files include no executable of the provider:
/// `terraform-provider-TYPE`, then nothing, or `_` or `.` and anything.
pub(super) fn require_executable<'a>(
    paths: impl Iterator<Item = &'a [u8]>,
    provider_type: &str,
) -> Result<(), Refusal> {
    let name = format!("terraform-provider-{provider_type}");
    for path in paths {
        if !path.contains(&b'/')
            && let Some(rest) = path.strip_prefix(name.as_bytes())
            && matches!(rest.first(), None | Some(b'_' | b'.'))
        {
            return Ok(());
        }
    }
    Err(Refusal::NoExecutable(name))
}

/// The path of an extracted entry relative to the package, without empty parts and `.`.
fn extracted_path(name: &[u8]) -> Result<Cow<'_, [u8]>, EntryProblem> {
    // On Windows, where an archive may be extracted, a backslash separates parts, too.
    if name
        .split(|byte| matches!(byte, b'/' | b'\\'))
        .any(|part| part == b"..")
    {
        return Err(EntryProblem::ParentDirectory);
    }
    refuse_unlistable_name(name)?;

    let mut parts: Vec<&[u8]> = name.split(|byte| *byte == b'/').collect();
    if name.len() > LONGEST_PATH || parts.iter().any(|part| part.len() > LONGEST_PART) {
        return Err(EntryProblem::LongName);
    }

    let all = parts.len();
    parts.retain(|part| !part.is_empty() && *part != b".");
    if parts.len() == all {
        return Ok(Cow::Borrowed(name));
    }
    Ok(Cow::Owned(parts.join(&b'/')))
}

/// Refuses a name with bytes that must not be in the list that `h1:` is computed of.
pub(super) fn refuse_unlistable_name(name: &[u8]) -> Result<(), EntryProblem> {
    if name.contains(&b'\n') {
        Err(EntryProblem::Newline)
    } else if name.contains(&0) {
        Err(EntryProblem::Nul)
    } else {
        Ok(())
    }
}

/// Refuses a package in which a file has the path of a directory.
fn refuse_conflicts(
    paths: &[Option<Cow<'_, [u8]>>],
    directories: &[Cow<'_, [u8]>],
) -> Result<(), Refusal> {
    // A sorted list shows what is below a file in one look; comparing all pairs takes quadratic
    // time.
    let files: Vec<&[u8]> = paths.iter().flatten().map(AsRef::as_ref).collect();
    let mut directories: Vec<&[u8]> = directories.iter().map(AsRef::as_ref).collect();
    // The package itself.
    directories.push(b"");
    directories.sort_unstable();
    let mut all = [files.as_slice(), directories.as_slice()].concat();
    all.sort_unstable();

    for path in files {
        let inside = [path, b"/"].concat();
        let first_inside = all.partition_point(|other| *other < inside.as_slice());
        let has_inside = all
            .get(first_inside)
            .is_some_and(|other| other.starts_with(&inside));
        if has_inside || directories.binary_search(&path).is_ok() {
            return Err(Refusal::entry(path, EntryProblem::FileAndDirectory));
        }
    }
    Ok(())
}
