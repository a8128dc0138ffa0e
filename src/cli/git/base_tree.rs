//! The files of a revision, over the files of the work tree or alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Result;
use provlock::diagnostic::Diagnostic;
use provlock::project::ReviewedChange;
use provlock::system::{Overlay, ReadBlob, Replaced};

use super::command::{native_path, read_blobs, read_sizes, size_limit};

/// Maximum size in bytes of a file that is read together with others although nothing may name it.
const SMALL: u64 = 64 << 10;

/// Objects of a revision by their paths, relative to the top of the work tree. Of the base commit
/// these are the paths at which the work tree differs.
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
    /// Reads the mode and the object name of a commit from `:MODE MODE OBJECT OBJECT STATUS` or
    /// `MODE TYPE OBJECT`, which git prints.
    pub(super) fn parse_words(words: &str) -> Self {
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

/// Makes the tree of a revision. `directory` is the current one, and `files` are relative to `top`.
/// `added` are files of the work tree that git does not track yet, which the revision lacks. The
/// first read of a file to which a filter of `read_together` applies reads all of these files.
pub(super) fn make_overlay(
    directory: &Path,
    top: &Path,
    files: &BaseFiles,
    added: impl IntoIterator<Item = PathBuf>,
    read_together: &[PathFilter],
) -> Result<Overlay> {
    let mut links = BTreeMap::new();
    for (path, file) in files {
        if let BaseFile::Link(object) = file {
            links.insert(object.as_str(), Path::new(path));
        }
    }
    // The content of a link is its target.
    let targets = read_blobs(top, &links)?;

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
    let read_blob = Blobs::new(top, files, read_together).into_reader();
    Ok(Overlay::new(directory.to_owned(), replaced, read_blob))
}

/// Selects files by their paths.
pub(super) type PathFilter = fn(&Path) -> bool;

/// Whether provlock reads a file by its name.
pub(super) fn is_read_by_name(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(ReviewedChange::reads)
}

/// The blobs of a revision, which are read when they are needed. One process of git is enough for
/// many.
struct Blobs {
    /// Directory to which the paths are relative.
    top: PathBuf,
    /// Paths by object names.
    paths: BTreeMap<String, PathBuf>,
    /// Object names of the blobs that are read together.
    batches: Vec<BTreeSet<String>>,
    contents: Vec<OnceLock<BTreeMap<String, Vec<u8>>>>,
}

impl Blobs {
    fn new(top: &Path, files: &BaseFiles, read_together: &[PathFilter]) -> Self {
        let mut paths = BTreeMap::new();
        let mut batches = vec![BTreeSet::new(); read_together.len()];
        for (path, file) in files {
            let BaseFile::File(object) = file else {
                continue;
            };
            let path = Path::new(path);
            paths.insert(object.clone(), path.to_owned());
            // A file belongs to the batch of the first filter that applies to it.
            for (applies, batch) in read_together.iter().zip(&mut batches) {
                if applies(path) {
                    batch.insert(object.clone());
                    break;
                }
            }
        }
        Self {
            top: top.to_owned(),
            paths,
            contents: batches.iter().map(|_| OnceLock::new()).collect(),
            batches,
        }
    }

    fn into_reader(self) -> Box<ReadBlob> {
        Box::new(move |object, limit| {
            let bytes = match self.blob_of_batch(object) {
                Some(bytes) => bytes.clone(),
                None => self.read_one(object)?,
            };
            if bytes.len() as u64 > limit {
                let why = format!("it is larger than {} MiB", limit >> 20);
                return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
            }
            Ok(bytes)
        })
    }

    /// A blob of a batch, which is read with the first of them; `None` if it is read by itself.
    fn blob_of_batch(&self, object: &str) -> Option<&Vec<u8>> {
        for (batch, contents) in self.batches.iter().zip(&self.contents) {
            if batch.contains(object) {
                let contents = contents.get_or_init(|| self.read_batch(batch).unwrap_or_default());
                return contents.get(object);
            }
        }
        None
    }

    /// Reads the blobs of a batch, without blobs that are too large, and without large ones that
    /// are read only if something names them.
    fn read_batch(&self, batch: &BTreeSet<String>) -> Result<BTreeMap<String, Vec<u8>>> {
        let sizes = read_sizes(&self.top, batch.iter().map(String::as_str))?;
        let mut objects = BTreeMap::new();
        for (object, size) in &sizes {
            let Some(path) = self.paths.get(object) else {
                continue;
            };
            let largest = if is_read_by_name(path) {
                size_limit(path)
            } else {
                SMALL
            };
            if *size <= largest {
                objects.insert(object.as_str(), path.as_path());
            }
        }
        read_blobs(&self.top, &objects)
    }

    fn read_one(&self, object: &str) -> io::Result<Vec<u8>> {
        let path = self.paths.get(object).unwrap_or(&self.top);
        let objects = BTreeMap::from([(object, path.as_path())]);
        let mut contents = match read_blobs(&self.top, &objects) {
            Ok(contents) => contents,
            Err(error) => return Err(as_io_error(error)),
        };
        contents
            .remove(object)
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Keeps a diagnostic of git, which readers return as it is.
fn as_io_error(error: anyhow::Error) -> io::Error {
    match error.downcast::<Diagnostic>() {
        Ok(diagnostic) => io::Error::other(diagnostic),
        Err(error) => io::Error::other(error),
    }
}
