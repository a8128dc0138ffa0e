//! The files of the base commit, over the files of the work tree.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Result;
use provlock::project::ReviewedChange;
use provlock::project::verify::may_decide;
use provlock::system::{Overlay, ReadBlob, Replaced};

use super::command::{contents, native_path, sizes};

/// Maximum size of a file that is read together with others, in bytes.
const SMALL: u64 = 64 << 10;

/// Objects of a commit by their paths, relative to the top of the work tree, at which the work tree
/// differs.
pub(super) type BaseFiles = BTreeMap<OsString, BaseFile>;

/// Content of a commit at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BaseFile {
    Absent,
    /// A file, with the object name of its content.
    File(String),
    /// A symbolic link, with the object name of its target.
    Link(String),
    Submodule,
}

impl BaseFile {
    /// Reads the mode and the object name of a commit from `:MODE MODE OBJECT OBJECT STATUS`, which
    /// git prints.
    pub(super) fn of_words(words: &str) -> Self {
        let mut words = words.trim_start_matches(':').split(' ');
        let mode = words.next().unwrap_or_default();
        let object = words.nth(1).unwrap_or_default().to_owned();
        match mode.get(..2) {
            Some("10") => Self::File(object),
            Some("12") => Self::Link(object),
            Some("16") => Self::Submodule,
            _ => Self::Absent,
        }
    }
}

/// Makes the tree of the base commit. `directory` is the current one. `added` are files that git
/// does not track yet.
pub(super) fn overlay(
    directory: &Path,
    top: &Path,
    files: &BaseFiles,
    added: impl IntoIterator<Item = PathBuf>,
) -> Result<Overlay> {
    let mut links = BTreeMap::new();
    for (path, file) in files {
        if let BaseFile::Link(object) = file {
            links.insert(object.as_str(), Path::new(path));
        }
    }
    let targets = contents(top, &links)?;

    let mut replaced = BTreeMap::new();
    for path in added {
        replaced.insert(top.join(path), Replaced::Absent);
    }
    for (path, file) in files {
        let at_base = match file {
            BaseFile::Absent => Replaced::Absent,
            BaseFile::File(object) => Replaced::File(object.clone()),
            BaseFile::Link(object) => {
                let target = targets.get(object).map(Vec::as_slice);
                Replaced::Link(native_path(target.unwrap_or_default()))
            }
            BaseFile::Submodule => Replaced::Submodule,
        };
        replaced.insert(top.join(path), at_base);
    }
    let read = blob_reader(top.to_owned(), files.clone());
    Ok(Overlay::new(directory.to_owned(), replaced, read))
}

/// Reads blobs of the commit when they are needed: the first time all files that provlock reads by
/// their names, because one process of git is enough for these, and then all small files that may
/// decide.
fn blob_reader(top: PathBuf, files: BaseFiles) -> Box<ReadBlob> {
    let by_name = OnceLock::new();
    let deciding = OnceLock::new();
    Box::new(move |object, limit| {
        let mut known = by_name.get_or_init(|| read_by_name(&top, &files).unwrap_or_default());
        if !known.contains_key(object) {
            known = deciding.get_or_init(|| read_deciding(&top, &files).unwrap_or_default());
        }
        let bytes = match known.get(object) {
            Some(bytes) => bytes.clone(),
            None => read_one(&top, object)?,
        };
        if bytes.len() as u64 > limit {
            let why = format!("it is larger than {} MiB", limit >> 20);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        Ok(bytes)
    })
}

fn read_by_name(top: &Path, files: &BaseFiles) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut objects = BTreeMap::new();
    for (path, file) in files {
        let path = Path::new(path);
        let name = path.file_name().and_then(|name| name.to_str());
        if let BaseFile::File(object) = file
            && name.is_some_and(ReviewedChange::reads)
        {
            objects.insert(object.as_str(), path);
        }
    }
    contents(top, &objects)
}

/// Reads the files that may decide. Large ones are read by themselves if they are needed.
fn read_deciding(top: &Path, files: &BaseFiles) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut objects = BTreeMap::new();
    for (path, file) in files {
        let path = Path::new(path);
        if let BaseFile::File(object) = file
            && may_decide(path)
        {
            objects.insert(object.as_str(), path);
        }
    }
    let sizes = sizes(top, objects.keys().copied())?;
    objects.retain(|object, _| sizes.get(*object).is_some_and(|size| *size <= SMALL));
    contents(top, &objects)
}

fn read_one(top: &Path, object: &str) -> io::Result<Vec<u8>> {
    let objects = BTreeMap::from([(object, top)]);
    let mut contents = contents(top, &objects).map_err(io::Error::other)?;
    contents
        .remove(object)
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}
