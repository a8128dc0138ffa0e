//! The state of a directory tree, to compare with a later one.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Everything in a directory.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot(BTreeMap<PathBuf, Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    content: Content,
    modified: SystemTime,
    /// Distinguishes a replaced file from an unchanged file; 0 on Windows.
    inode: u64,
}

#[derive(Clone, PartialEq, Eq)]
enum Content {
    Directory,
    Link(PathBuf),
    File(Vec<u8>),
}

impl Snapshot {
    /// Everything in a directory as it is now.
    pub(crate) fn of(directory: &Path) -> Self {
        let mut entries = BTreeMap::new();
        collect(directory, directory, &mut entries);
        Self(entries)
    }

    /// Fails and names what differs, unless both are the same.
    #[track_caller]
    pub fn assert_same(&self, other: &Snapshot) {
        let paths: std::collections::BTreeSet<_> = self.0.keys().chain(other.0.keys()).collect();
        let differences: Vec<String> = paths
            .into_iter()
            .filter(|path| self.0.get(*path) != other.0.get(*path))
            .map(|path| {
                format!(
                    "{}: {:?} became {:?}",
                    path.display(),
                    self.0.get(path),
                    other.0.get(path)
                )
            })
            .collect();
        assert!(
            differences.is_empty(),
            "the project has changed:\n{}",
            differences.join("\n")
        );
    }
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory => f.write_str("directory"),
            Self::Link(target) => write!(f, "link to {}", target.display()),
            Self::File(bytes) => write!(
                f,
                "{} bytes {:?}",
                bytes.len(),
                String::from_utf8_lossy(bytes)
            ),
        }
    }
}

fn collect(base: &Path, directory: &Path, entries: &mut BTreeMap<PathBuf, Entry>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let metadata = fs::symlink_metadata(&path).unwrap();
        let content = if metadata.is_symlink() {
            Content::Link(fs::read_link(&path).unwrap())
        } else if metadata.is_dir() {
            collect(base, &path, entries);
            Content::Directory
        } else {
            Content::File(fs::read(&path).unwrap())
        };
        let entry = Entry {
            content,
            modified: metadata.modified().unwrap(),
            inode: inode(&metadata),
        };
        entries.insert(path.strip_prefix(base).unwrap().to_owned(), entry);
    }
}

#[cfg(unix)]
fn inode(metadata: &fs::Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(windows)]
fn inode(_: &fs::Metadata) -> u64 {
    0
}
