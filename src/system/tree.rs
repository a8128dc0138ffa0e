//! The files of a project in one revision. A revision is not written to disk: it is the work tree
//! with some files replaced, at the same absolute paths. So two readings of a project differ only
//! where the revisions do.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fmt::{self, Debug, Formatter};
use std::fs;
use std::io::{self, ErrorKind};
use std::ops::Bound;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::{OnceMap, files, lock};

/// Maximum number of links in one path, as on Linux.
const MOST_LINKS: usize = 40;

/// The files of a project. Everything that belongs to a project is read from here, so that the same
/// code reads the work tree and a revision.
#[derive(Clone, Debug, Default)]
pub enum Tree {
    /// The files on disk.
    #[default]
    Work,
    /// The files of a different revision.
    Revision(Arc<Overlay>),
    /// The files of a tree, some of them also at a second path.
    Copied(Arc<Copies>),
}

/// A tree with copies of directories that are not made yet. Only absolute paths without `..` are
/// looked up in the copies.
#[derive(Debug)]
pub struct Copies {
    tree: Tree,
    copies: Vec<CopiedDirectory>,
}

/// A directory of a tree that is also at a second path. Both are absolute and without symlinks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopiedDirectory {
    /// Path of the copy. Files that are there already are hidden.
    pub(crate) to: PathBuf,
    /// Path of the original.
    pub(crate) from: PathBuf,
}

/// A revision: the work tree with some files replaced.
pub struct Overlay {
    /// Directory to which relative paths are relative.
    current_directory: PathBuf,
    /// Absolute paths without symlinks that differ from the work tree, with what the revision has
    /// there.
    replaced: BTreeMap<PathBuf, Replaced>,
    /// Directories above a path at which the revision has something of its own.
    above_present: HashSet<PathBuf>,
    /// Directories above a path at which it has nothing.
    above_absent: HashSet<PathBuf>,
    /// Whether the revision has nothing but its own files, as in a repository without a work tree.
    is_alone: bool,
    /// Whether a directory of the work tree is [added](Overlay::is_added). Each file below asks.
    added: OnceMap<PathBuf, bool>,
    /// Directories that the revision has and the work tree, too; absolute and without symlinks.
    /// With them, hardly any path is followed from its start.
    passed: Mutex<HashSet<PathBuf>>,
    /// Reads the content of a file of the revision.
    read: Box<ReadBlob>,
}

/// Reads the content of a file of a revision, of at most a number of bytes.
///
/// # Errors
/// It is larger, or cannot be read.
pub type ReadBlob = dyn Fn(&str, u64) -> io::Result<Vec<u8>> + Send + Sync;

/// Content of a revision at a path at which it differs from the work tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// Nothing. A directory may be here if the revision has files below.
    Absent,
    /// A file, with the name of its content for [`ReadBlob`].
    File(String),
    /// A symbolic link, with its target.
    Link(PathBuf),
    /// A submodule. Its files are not part of the revision, so they are the files of the work tree.
    Submodule,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) name: OsString,
    pub(crate) kind: Kind,
}

/// Kind of a file. A link is one of these itself if nothing follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    /// A pipe, a device or a socket.
    Other,
}

/// A file of a revision.
struct Found {
    /// Absolute path, without symlinks except possibly the last part.
    path: PathBuf,
    node: Node,
}

impl Found {
    fn is_in_work_tree(&self) -> bool {
        matches!(self.node, Node::Work(_))
    }
}

/// Treatment of a link at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastLink {
    Followed,
    Kept,
}

/// Place of a file's content.
enum Node {
    /// The work tree, which the revision does not change here.
    Work(Kind),
    /// A file of the revision.
    Blob(String),
    /// A link of the revision.
    Link(PathBuf),
    /// A directory that only the revision has.
    Directory,
}

impl Tree {
    /// Reads a regular file of at most `limit` bytes, a whole number of MiB.
    ///
    /// # Errors
    /// The path resolves to something else, the file is larger, or it cannot be read.
    pub fn read(&self, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
        let overlay = match self {
            Self::Work => return files::read(path, limit),
            Self::Copied(copies) => return copies.tree.read(&copies.original(path), limit),
            Self::Revision(overlay) => overlay,
        };
        let found = overlay.follow(path, LastLink::Followed)?;
        match found.node {
            Node::Work(_) => files::read(&found.path, limit),
            Node::Blob(name) => (overlay.read)(&name, limit),
            Node::Link(_) | Node::Directory => {
                Err(io::Error::new(ErrorKind::IsADirectory, "it is a directory"))
            }
        }
    }

    /// Lists a directory.
    ///
    /// # Errors
    /// The path does not resolve to a directory, or it cannot be listed.
    pub(crate) fn entries(&self, directory: &Path) -> io::Result<Vec<Entry>> {
        match self {
            Self::Work => entries_on_disk(directory),
            Self::Copied(copies) => copies.tree.entries(&copies.original(directory)),
            Self::Revision(overlay) => {
                let found = overlay.follow(directory, LastLink::Followed)?;
                overlay.entries(&found)
            }
        }
    }

    /// Returns the files and links in a directory and below, without following further links. A
    /// directory that cannot be listed has none.
    #[must_use]
    pub fn files_below(&self, directory: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        let mut directories = vec![directory.to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in self.entries(&directory).unwrap_or_default() {
                let path = directory.join(&entry.name);
                match entry.kind {
                    Kind::Directory => directories.push(path),
                    Kind::File | Kind::Link | Kind::Other => files.push(path),
                }
            }
        }
        files
    }

    /// Kind of the file that a path resolves to.
    pub(crate) fn kind(&self, path: &Path) -> Option<Kind> {
        match self {
            Self::Work => Some(kind_of(fs::metadata(path).ok()?.file_type())),
            Self::Copied(copies) => copies.tree.kind(&copies.original(path)),
            Self::Revision(overlay) => {
                Some(overlay.follow(path, LastLink::Followed).ok()?.node.kind())
            }
        }
    }

    /// Kind of the file at a path, which may be a link.
    pub(crate) fn own_kind(&self, path: &Path) -> Option<Kind> {
        match self {
            Self::Work => Some(kind_of(fs::symlink_metadata(path).ok()?.file_type())),
            Self::Copied(copies) => copies.tree.own_kind(&copies.original(path)),
            Self::Revision(overlay) => Some(overlay.follow(path, LastLink::Kept).ok()?.node.kind()),
        }
    }

    /// Whether there is surely nothing at a path, so that a path that may not be read is not
    /// overlooked.
    pub(crate) fn is_missing(&self, path: &Path) -> bool {
        let metadata = match self {
            Self::Work => fs::symlink_metadata(path).map(drop),
            Self::Copied(copies) => return copies.tree.is_missing(&copies.original(path)),
            Self::Revision(overlay) => overlay.follow(path, LastLink::Kept).map(drop),
        };
        metadata.is_err_and(|error| error.kind() == ErrorKind::NotFound)
    }

    /// Whether a path resolves to something.
    pub fn exists(&self, path: &Path) -> bool {
        self.kind(path).is_some()
    }

    /// Whether there is something at a path, if only a link to nothing.
    pub fn has(&self, path: &Path) -> bool {
        self.own_kind(path).is_some()
    }

    /// Whether a path resolves to a directory.
    pub fn is_dir(&self, path: &Path) -> bool {
        self.kind(path) == Some(Kind::Directory)
    }

    /// Whether a path resolves to a regular file.
    pub fn is_file(&self, path: &Path) -> bool {
        self.kind(path) == Some(Kind::File)
    }

    /// Whether there is a symbolic link at a path.
    pub fn is_symlink(&self, path: &Path) -> bool {
        self.own_kind(path) == Some(Kind::Link)
    }

    /// Returns the target of a symbolic link, as it is written.
    ///
    /// # Errors
    /// There is no link at the path.
    pub fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        let overlay = match self {
            Self::Work => return fs::read_link(path),
            Self::Copied(copies) => return copies.tree.read_link(&copies.original(path)),
            Self::Revision(overlay) => overlay,
        };
        let found = overlay.follow(path, LastLink::Kept)?;
        match found.node {
            Node::Link(target) => Ok(target),
            Node::Work(_) => fs::read_link(&found.path),
            Node::Blob(_) | Node::Directory => Err(ErrorKind::InvalidInput.into()),
        }
    }

    /// Returns the tracked files of this tree, relative to the top of the repository, given the
    /// tracked files of the work tree.
    pub(crate) fn tracked(&self, top: &Path, listed: Vec<PathBuf>) -> Vec<PathBuf> {
        let overlay = match self {
            Self::Work => return listed,
            Self::Copied(copies) => return copies.tree.tracked(top, listed),
            Self::Revision(overlay) => overlay,
        };
        let mut tracked: BTreeSet<PathBuf> = listed.into_iter().collect();
        for (path, replaced) in &overlay.replaced {
            let Ok(path) = path.strip_prefix(top) else {
                continue;
            };
            if *replaced == Replaced::Absent {
                tracked.remove(path);
            } else {
                tracked.insert(path.to_owned());
            }
        }
        tracked.into_iter().collect()
    }

    /// The absolute path without symlinks, `.` and `..`, of something that exists
    /// ([`files::canonicalize`]).
    ///
    /// # Errors
    /// The path does not exist, or may not be read.
    pub fn canonicalize(&self, path: impl AsRef<Path>) -> io::Result<PathBuf> {
        match self {
            Self::Work => files::canonicalize(path),
            Self::Copied(copies) => copies.canonicalize(path.as_ref()),
            Self::Revision(overlay) => Ok(overlay.follow(path.as_ref(), LastLink::Followed)?.path),
        }
    }

    /// The same files, some of them also at a second path.
    #[must_use]
    pub(crate) fn with_copies(&self, copies: Vec<CopiedDirectory>) -> Self {
        let tree = self.clone();
        Self::Copied(Arc::new(Copies { tree, copies }))
    }

    /// The path of the original of a copied file; the same path outside of copies.
    pub(crate) fn original<'p>(&self, path: &'p Path) -> Cow<'p, Path> {
        match self {
            Self::Copied(copies) => copies.original(path),
            Self::Work | Self::Revision(_) => Cow::Borrowed(path),
        }
    }
}

impl Copies {
    /// The innermost copy that contains a path, which is absolute and without `..`.
    fn around(&self, path: &Path) -> Option<&CopiedDirectory> {
        let around = self.copies.iter().filter(|copy| path.starts_with(&copy.to));
        around.max_by_key(|copy| copy.to.as_os_str().len())
    }

    fn original<'p>(&self, path: &'p Path) -> Cow<'p, Path> {
        if let Some(copy) = self.around(path)
            && let Ok(below) = path.strip_prefix(&copy.to)
        {
            return Cow::Owned(files::join(&copy.from, below));
        }
        Cow::Borrowed(path)
    }

    /// The path of a copied file is that of the copy, except behind a link out of the original.
    fn canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        let Some(copy) = self.around(path) else {
            return self.tree.canonicalize(path);
        };
        let original = self.tree.canonicalize(self.original(path))?;
        match original.strip_prefix(&copy.from) {
            Ok(below) => Ok(files::join(&copy.to, below)),
            Err(_) => Ok(original),
        }
    }
}

impl Overlay {
    /// The work tree with the files at these absolute paths replaced. Relative paths are relative
    /// to `current_directory`, which is absolute, and `read` reads the replacing files.
    pub fn new(
        current_directory: PathBuf,
        replaced: BTreeMap<PathBuf, Replaced>,
        read: Box<ReadBlob>,
    ) -> Self {
        let mut above_present = HashSet::new();
        let mut above_absent = HashSet::new();
        for (path, replaced) in &replaced {
            let above = match replaced {
                Replaced::Absent => &mut above_absent,
                _ => &mut above_present,
            };
            for directory in path.ancestors().skip(1) {
                // The directories further up are in the set, too.
                if !above.insert(directory.to_owned()) {
                    break;
                }
            }
        }
        Self {
            current_directory,
            replaced,
            above_present,
            above_absent,
            is_alone: false,
            added: OnceMap::default(),
            passed: Mutex::default(),
            read,
        }
    }

    /// The same revision without the work tree: nothing on disk is read.
    #[must_use]
    pub fn alone(mut self) -> Self {
        self.is_alone = true;
        self
    }

    /// The paths at which the revision differs from the work tree.
    pub fn replaced(&self) -> &BTreeMap<PathBuf, Replaced> {
        &self.replaced
    }

    /// The start of every absolute path.
    fn start(&self) -> Found {
        let node = if self.is_alone {
            Node::Directory
        } else {
            Node::Work(Kind::Directory)
        };
        Found {
            path: PathBuf::new(),
            node,
        }
    }

    /// The directory of an absolute path, if an earlier path went through it. That one had no `..`,
    /// and so this one has none.
    fn passed_directory(&self, path: &Path) -> Option<Found> {
        let directory = path.parent()?;
        let path = lock(&self.passed).get(directory)?.clone();
        let node = Node::Work(Kind::Directory);
        Some(Found { path, node })
    }

    fn remember_passed(&self, found: &Found) {
        if let Node::Work(Kind::Directory) = found.node {
            let mut passed = lock(&self.passed);
            if !passed.contains(&found.path) {
                passed.insert(found.path.clone());
            }
        }
    }

    /// Finds what a path leads to, through symbolic links.
    fn follow(&self, path: &Path, last_link: LastLink) -> io::Result<Found> {
        let absolute = self.current_directory.join(path);
        let mut found = self.start();
        let mut rest: VecDeque<OsString> = VecDeque::new();
        if let Some(directory) = self.passed_directory(&absolute)
            && let Some(name) = absolute.file_name()
        {
            found = directory;
            rest.push_back(name.to_owned());
        } else {
            rest.extend(parts(&absolute));
        }
        let mut links = 0;
        while let Some(part) = rest.pop_front() {
            match Path::new(&part).components().next() {
                None | Some(Component::CurDir) => continue,
                Some(Component::ParentDir) => {
                    // The path has no links any more, so it can be followed again from the start.
                    let above = found.path.parent().unwrap_or(&found.path).to_owned();
                    for part in parts(&above).rev() {
                        rest.push_front(part);
                    }
                    found = self.start();
                    continue;
                }
                Some(_) => {}
            }
            let directory = found;
            found = self.entry_in(&directory, &part)?;
            match found.node.kind() {
                Kind::Directory => {
                    self.remember_passed(&found);
                    continue;
                }
                Kind::Link if rest.is_empty() && last_link == LastLink::Kept => continue,
                Kind::Link => {}
                Kind::File | Kind::Other if rest.is_empty() => continue,
                Kind::File | Kind::Other => return Err(ErrorKind::NotADirectory.into()),
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(io::Error::other("too many symbolic links"));
            }
            let target = match &found.node {
                Node::Link(target) => target.clone(),
                _ => fs::read_link(&found.path)?,
            };
            for part in parts(&target).rev() {
                rest.push_front(part);
            }
            found = directory;
        }
        Ok(found)
    }

    /// The node in a directory under a name.
    fn entry_in(&self, directory: &Found, name: &OsStr) -> io::Result<Found> {
        let path = directory.path.join(name);
        let is_on_disk = directory.is_in_work_tree();
        let node = self.node(&path, || {
            if !is_on_disk {
                return Err(ErrorKind::NotFound.into());
            }
            Ok(kind_of(fs::symlink_metadata(&path)?.file_type()))
        })?;
        Ok(Found { path, node })
    }

    /// The node at an absolute path without links. `on_disk` returns what the work tree has there.
    fn node(&self, path: &Path, on_disk: impl FnOnce() -> io::Result<Kind>) -> io::Result<Node> {
        let is_absent = match self.replaced.get(path) {
            Some(Replaced::File(name)) => return Ok(Node::Blob(name.clone())),
            Some(Replaced::Link(target)) => return Ok(Node::Link(target.clone())),
            Some(Replaced::Absent) => true,
            Some(Replaced::Submodule) | None => false,
        };
        let mut kind = Err(ErrorKind::NotFound.into());
        if !is_absent {
            kind = on_disk();
        }
        // The revision has files below, so the path is a directory there even if the work tree has
        // a file.
        if self.above_present.contains(path) && !matches!(kind, Ok(Kind::Directory)) {
            return Ok(Node::Directory);
        }
        let kind = kind?;
        // The revision has nothing in it, and git does not know empty directories.
        if kind == Kind::Directory && self.is_added(path) {
            return Err(ErrorKind::NotFound.into());
        }
        Ok(Node::Work(kind))
    }

    /// Whether a directory of the work tree has nothing but files that the revision lacks. Git does
    /// not know directories, so that one comes with its first file.
    fn is_added(&self, directory: &Path) -> bool {
        if self.above_present.contains(directory) || !self.above_absent.contains(directory) {
            return false;
        }
        self.added.get_or_compute(&directory.to_owned(), || {
            let Ok(entries) = entries_on_disk(directory) else {
                return false;
            };
            entries.iter().all(|entry| {
                let path = directory.join(&entry.name);
                match self.replaced.get(&path) {
                    Some(replaced) => *replaced == Replaced::Absent,
                    None => entry.kind == Kind::Directory && self.is_added(&path),
                }
            })
        })
    }

    fn below<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = (&'a PathBuf, &'a Replaced)> {
        // Paths are compared by their parts, so those below a path follow it.
        self.replaced
            .range::<Path, _>((Bound::Excluded(path), Bound::Unbounded))
            .take_while(move |(below, _)| below.starts_with(path))
    }

    /// Returns the entries of a directory: files on disk, if it is in the work tree, and files that
    /// the tree has in their place.
    fn entries(&self, found: &Found) -> io::Result<Vec<Entry>> {
        let directory = &found.path;
        if found.node.kind() != Kind::Directory {
            return Err(ErrorKind::NotADirectory.into());
        }
        // The kind that each name has on disk; an error for names that only the revision has.
        let mut kinds_on_disk = BTreeMap::new();
        if let Node::Work(_) = found.node {
            for entry in entries_on_disk(directory)? {
                kinds_on_disk.insert(entry.name, Ok(entry.kind));
            }
        }
        for (path, replaced) in self.below(directory) {
            if *replaced == Replaced::Absent {
                continue;
            }
            let below = path.strip_prefix(directory).unwrap_or(path);
            if let Some(name) = below.iter().next() {
                kinds_on_disk
                    .entry(name.to_owned())
                    .or_insert_with(|| Err(ErrorKind::NotFound.into()));
            }
        }
        let mut entries = Vec::new();
        for (name, kind) in kinds_on_disk {
            // A file that only the work tree has is no entry.
            if let Ok(node) = self.node(&directory.join(&name), || kind) {
                let kind = node.kind();
                entries.push(Entry { name, kind });
            }
        }
        Ok(entries)
    }
}

impl Debug for Overlay {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let paths = self.replaced.keys();
        formatter.debug_set().entries(paths).finish()
    }
}

impl Node {
    fn kind(&self) -> Kind {
        match self {
            Self::Work(kind) => *kind,
            Self::Blob(_) => Kind::File,
            Self::Link(_) => Kind::Link,
            Self::Directory => Kind::Directory,
        }
    }
}

impl Entry {
    /// Whether it is a directory, and no link to one.
    pub(crate) fn is_dir(&self) -> bool {
        self.kind == Kind::Directory
    }

    /// The name with U+FFFD for bytes that are not text.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        self.name.to_string_lossy()
    }
}

fn entries_on_disk(directory: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type().ok().map(kind_of);
        entries.push(Entry {
            name: entry.file_name(),
            kind: kind.unwrap_or(Kind::Other),
        });
    }
    Ok(entries)
}

fn kind_of(file_type: fs::FileType) -> Kind {
    if file_type.is_dir() {
        Kind::Directory
    } else if file_type.is_file() {
        Kind::File
    } else if file_type.is_symlink() {
        Kind::Link
    } else {
        Kind::Other
    }
}

/// The parts of a path; the root and a prefix are parts, too.
fn parts(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().map(|part| part.as_os_str().to_owned())
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
