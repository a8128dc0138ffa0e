//! The evaluation of a unit: its limits, and the repository whose files it may read.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::unit_reads::UnitReads;
use crate::diagnostic::{Diagnostic, SourceFile};
use crate::hcl::evaluate::allowance::{Allowance, within_depth};
use crate::hcl::evaluate::value::{Stop, Value};
use crate::modules::is_configuration;
use crate::system::tree::CopiedDirectory;
use crate::system::{Tree, files, lock};

pub(crate) const MAX_FILE_SIZE: u64 = 4 << 20;

/// Largest number of entries of a directory that are read.
const MAX_ENTRIES: usize = 10_000;

/// A directory tree that configurations may read from, usually the work tree of a repository.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    /// Top directory, absolute and without symbolic links.
    root: PathBuf,
    /// A directory as the user wrote it.
    known: PathBuf,
    /// The same directory, absolute and without symbolic links.
    canonical: PathBuf,
    tree: Tree,
    /// Directory of a fetched package in which some of its files are, and its path in messages.
    package: Option<(PathBuf, PathBuf)>,
    /// Paths that exist and were not read.
    unread: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Repository {
    /// The repository with the top directory `root`.
    ///
    /// # Errors
    /// The directory does not exist or cannot be reached.
    pub(crate) fn open(tree: &Tree, root: &Path) -> io::Result<Self> {
        Self::open_from(tree, root, root)
    }

    /// [`Repository::open`], showing paths relative to the directory `known`.
    ///
    /// # Errors
    /// A directory does not exist or cannot be reached.
    pub(crate) fn open_from(tree: &Tree, root: &Path, known: &Path) -> io::Result<Self> {
        Ok(Self {
            root: tree.canonicalize(root)?,
            known: known.to_owned(),
            canonical: tree.canonicalize(known)?,
            tree: tree.clone(),
            package: None,
            unread: Arc::default(),
        })
    }

    /// The same repository with copies of directories that a stack generates in it. Messages show
    /// the originals.
    pub(super) fn with_copies(&self, copies: &[CopiedDirectory]) -> Self {
        let mut repository = self.clone();
        if !copies.is_empty() {
            repository.tree = self.tree.with_copies(copies.to_vec());
        }
        repository
    }

    /// The same repository, some of whose files are in a directory of a fetched package.
    pub(super) fn with_package(self, directory: &Path, shown: &Path) -> Self {
        Self {
            package: Some((directory.to_owned(), shown.to_owned())),
            ..self
        }
    }

    /// The files that configurations are read from.
    pub(crate) fn tree(&self) -> &Tree {
        &self.tree
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a path in the repository as messages show it.
    pub(crate) fn shown_path(&self, path: &Path) -> PathBuf {
        let original = self.tree.original(path);
        if let Some((directory, shown)) = &self.package
            && let Ok(below) = original.strip_prefix(directory)
        {
            return shown.join(below);
        }
        files::join(&self.known, relative(&original, &self.canonical))
    }

    /// Returns a path in the repository without `..` and symbolic links. Whether a path outside of
    /// it exists is unknown. `.git` may contain credentials, and never contains configuration.
    pub(super) fn resolve(&self, path: &Path) -> Result<PathBuf, Stop> {
        let plain = files::join(&self.root, path);
        if !self.contains(&plain) {
            return Err(Stop::unknown("the path leads out of the repository"));
        }
        let followed = match self.tree.canonicalize(&plain) {
            Ok(path) if self.contains(&path) => return Ok(path),
            Ok(_) => Err(Stop::unknown("the path leads out of the repository")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                // What it leads to may exist elsewhere.
                if has_dangling_link(&self.tree, &plain) {
                    return Err(Stop::unknown("a symbolic link on the path leads nowhere"));
                }
                return Err(Stop::failure("the path does not exist"));
            }
            Err(_) => Err(Stop::unknown("the path cannot be followed")),
        };
        self.note_unread(plain);
        followed
    }

    pub(super) fn note_unread(&self, path: PathBuf) {
        lock(&self.unread).insert(path);
    }

    /// Returns the paths that exist and were not read so far.
    pub(crate) fn unread(&self) -> BTreeSet<PathBuf> {
        lock(&self.unread).clone()
    }

    /// Whether a path without `..` is in the repository, by its text.
    pub(super) fn contains(&self, path: &Path) -> bool {
        path.strip_prefix(&self.root)
            .is_ok_and(|rest| rest.components().all(|part| part.as_os_str() != ".git"))
    }

    /// Whether a file is in a fetched package.
    pub(crate) fn is_in_package(&self, path: &Path) -> bool {
        let original = self.tree.original(path);
        let package = self.package.as_ref();
        package.is_some_and(|(directory, _)| original.starts_with(directory))
    }

    /// Reads a file of the repository or of a fetched package. A file that cannot be read is noted.
    pub(super) fn read_file(&self, path: &Path) -> Result<Arc<SourceFile>, Stop> {
        let path = self.resolve(path)?;
        let shown = self.shown_path(&path);
        let unread = match self.tree.read(&path, MAX_FILE_SIZE).map(String::from_utf8) {
            Ok(Ok(text)) if self.is_in_package(&path) => {
                return Ok(SourceFile::fetched(shown, text));
            }
            Ok(Ok(text)) => return Ok(SourceFile::new(shown, text)),
            Ok(Err(_)) => Err(Stop::failure(format!("{} is not UTF-8", shown.display()))),
            Err(_) => {
                let limit = MAX_FILE_SIZE >> 20;
                Err(Stop::unknown(format!(
                    "{} cannot be read, or is larger than {limit} MiB",
                    shown.display()
                )))
            }
        };
        self.note_unread(path);
        unread
    }
}

/// Whether a path does not exist because of a link on it that leads nowhere.
fn has_dangling_link(tree: &Tree, path: &Path) -> bool {
    let nearest = path.ancestors().find(|above| tree.has(above));
    nearest.is_some_and(|nearest| !tree.exists(nearest))
}

/// Whether a directory contains configuration files.
pub(super) fn has_configuration(tree: &Tree, directory: &Path) -> bool {
    let entries = tree.entries(directory).unwrap_or_default();
    entries
        .iter()
        .take(MAX_ENTRIES)
        .any(|entry| is_configuration(&entry.text()))
}

/// Returns the path from one absolute directory to another, as Go's `filepath.Rel` does.
pub(super) fn relative(to: &Path, from: &Path) -> PathBuf {
    let shared = to
        .components()
        .zip(from.components())
        .take_while(|(a, b)| a == b)
        .count();
    let mut path = PathBuf::new();
    for _ in from.components().skip(shared) {
        path.push(Component::ParentDir);
    }
    path.extend(to.components().skip(shared));
    if path.as_os_str().is_empty() {
        path.push(Component::CurDir);
    }
    path
}

/// The evaluation of one unit: the files that it may read, and its limits.
pub(super) struct Evaluation<'a> {
    pub repository: &'a Repository,
    /// Environment for `get_env`.
    pub environment: &'a BTreeMap<String, String>,
    /// Values that a stack gives to the unit; `None` if they are in a file beside it.
    pub values: Option<Value>,
    pub allowance: Allowance,
    /// Syntax error in the unit's own configuration, or in a file that it includes.
    pub malformed: RefCell<Option<Diagnostic>>,
    /// The files that were read so far, without symbolic links.
    pub files: RefCell<BTreeSet<PathBuf>>,
    /// The files that calls in them may read, and the units whose outputs they use.
    pub reads: RefCell<UnitReads>,
    configurations: Cell<usize>,
}

impl<'a> Evaluation<'a> {
    /// Largest depth of configurations that read each other: `read_terragrunt_config` may call
    /// itself.
    const MAX_CONFIGURATIONS: usize = 8;

    pub(super) fn new(
        repository: &'a Repository,
        environment: &'a BTreeMap<String, String>,
    ) -> Self {
        Self {
            repository,
            environment,
            values: None,
            allowance: Allowance::default(),
            malformed: RefCell::default(),
            files: RefCell::default(),
            reads: RefCell::default(),
            configurations: Cell::new(0),
        }
    }

    /// Depth of the configuration that is being read.
    pub(super) fn depth(&self) -> usize {
        self.configurations.get()
    }

    /// Reads a configuration for a different one, one level deeper. An error if there are too many
    /// levels.
    pub(super) fn one_deeper<T>(&self, read: impl FnOnce() -> Result<T, Stop>) -> Result<T, Stop> {
        within_depth(
            &self.configurations,
            Self::MAX_CONFIGURATIONS,
            "too many configurations read each other",
            read,
        )
    }

    /// Reads a file, and notes that the result depends on it.
    pub(super) fn read_file(&self, path: &Path) -> Result<Arc<SourceFile>, Stop> {
        let resolved = self.repository.resolve(path)?;
        let original = self.repository.tree().original(&resolved);
        self.files.borrow_mut().insert(original.into_owned());
        let file = self.repository.read_file(path)?;
        self.allowance.spend_steps(file.text.len())?;
        Ok(file)
    }
}
