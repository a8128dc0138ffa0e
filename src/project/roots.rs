//! What a user names, and the root modules that are meant.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::coverage::{Coverage, Kind};
use crate::configuration::terragrunt;
use crate::diagnostic::{Diagnostic, Diagnostics, Merged};

/// What a user names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Directories of root modules, or files in them; the current directory when empty.
    pub paths: Vec<PathBuf>,
    /// Whether directories stand for all root modules below them.
    pub recursive: bool,
    /// Whether modules are to be locked, too, so that a directory which only calls some may be a root module.
    pub with_modules: bool,
}

/// Root modules in the order of their paths, each once.
#[derive(Clone, Debug)]
pub struct Roots {
    pub(super) list: Vec<RootPath>,
    pub(super) selection: Selection,
    /// What was found and is not among them.
    pub(super) passed_over: Coverage,
    /// Absolute directories of units without a lock file that are not among them.
    pub(super) unlocked_units: Vec<PathBuf>,
    pub(super) others: OtherDirectories,
}

/// Directories with configuration files that are not root modules. They explain why no root module was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OtherDirectories {
    /// Directories that are skipped because of a name such as `examples` or `modules`, and would be root modules.
    pub skipped_by_name: Vec<PathBuf>,
    /// The directories that were searched and have a configuration without a sign of a root module.
    pub without_sign: Vec<PathBuf>,
    /// Stacks of Terraform, which are not read. Collected only if there is no root module.
    pub stacks: Vec<PathBuf>,
}

#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is independent of the others")]
pub(super) struct RootPath {
    pub(super) path: PathBuf,
    /// Absolute, without symbolic links; none if it cannot be opened.
    pub(super) canonical: Option<PathBuf>,
    /// Where its lock file is, if that is another directory, without symbolic links.
    pub(super) lock_directory: Option<PathBuf>,
    /// Other units whose lock file this one is, as the user knows them and without symbolic links.
    pub(super) sharing: Vec<(PathBuf, PathBuf)>,
    /// The directory that was a root module of its own before the change that is judged, whatever runs it now.
    pub(super) stays: Option<PathBuf>,
    /// Whether Terragrunt's files make it a unit, or what units include.
    pub(super) is_unit: bool,
    /// Whether a path is just this directory, and not one above it or a file.
    pub(super) is_named: bool,
    /// Whether it is not a root module, but a directory that a change is judged by: it has a lock file, or the change
    /// touches its configuration.
    pub(super) is_policy_only: bool,
    /// Whether the change touches its configuration, which no root module reads.
    pub(super) is_touched: bool,
    /// How many root modules there are.
    pub(super) one_of: usize,
}

/// Why a directory with a configuration is not taken for a root module.
#[derive(Clone, Copy)]
pub(super) enum Unlikely {
    /// A name in its path is one of modules, examples, tests or templates.
    Name,
    /// It is where the search starts, and its configuration has no sign of a root module.
    Start,
}

impl OtherDirectories {
    pub(super) fn add(&mut self, why: Option<Unlikely>, directory: PathBuf) {
        match why {
            Some(Unlikely::Name) => self.skipped_by_name.push(directory),
            Some(Unlikely::Start) => self.without_sign.push(directory),
            None => {}
        }
    }
}

impl Selection {
    /// All root modules below a directory.
    pub fn recursive(directory: impl Into<PathBuf>) -> Self {
        Self { paths: vec![directory.into()], recursive: true, with_modules: false }
    }

    /// The root module in a directory.
    pub fn one(directory: impl Into<PathBuf>) -> Self {
        Self { recursive: false, ..Self::recursive(directory) }
    }

    /// The paths; without any the current directory is meant.
    pub(super) fn paths(&self) -> &[PathBuf] {
        static CURRENT: std::sync::LazyLock<[PathBuf; 1]> = std::sync::LazyLock::new(|| [PathBuf::from(".")]);
        if self.paths.is_empty() { &*CURRENT } else { &self.paths }
    }

    /// The first directory that is meant, or that holds the file which is.
    pub(super) fn first_directory(&self) -> PathBuf {
        let first = self.paths().first().map_or(Path::new("."), PathBuf::as_path);
        if first.is_dir() { normal(first) } else { first.parent().map(normal).unwrap_or_default() }
    }
}

impl Roots {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// How many of them are units of Terragrunt's.
    pub fn units(&self) -> usize {
        self.list.iter().filter(|root| root.is_unit).count()
    }

    /// Their directories, as the user knows them.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.list.iter().map(|root| root.path.as_path())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// What was found besides them: what the settings exclude, and units without a lock file.
    pub fn passed_over(&self) -> &Coverage {
        &self.passed_over
    }

    /// The directories that explain why there is no root module.
    pub fn other_directories(&self) -> &OtherDirectories {
        &self.others
    }

    /// The paths that were searched, as the user named them; empty for the current directory.
    pub fn searched_paths(&self) -> &[PathBuf] {
        &self.selection.paths
    }

    /// Whether there may be several, so that messages name the one that they are about.
    pub fn are_many(&self) -> bool {
        self.selection.recursive || self.list.len() != 1
    }
}

impl RootPath {
    pub(super) fn new(path: PathBuf, canonical: Option<PathBuf>) -> Self {
        let is_unit = terragrunt::is_unit(canonical.as_ref().unwrap_or(&path));
        Self::listed(path, canonical, is_unit)
    }

    /// [`RootPath::new`] of a directory that has been looked at.
    pub(super) fn listed(path: PathBuf, canonical: Option<PathBuf>, is_unit: bool) -> Self {
        Self { path, canonical, is_unit, one_of: 1, ..Self::default() }
    }

    /// Adds a root module that has the same lock file, or is the same.
    fn share(&mut self, other: Self) {
        self.is_named |= other.is_named;
        self.is_policy_only &= other.is_policy_only;
        self.is_touched |= other.is_touched;
        self.stays = self.stays.take().or(other.stays);
        let is_other = other.canonical != self.canonical && other.lock_directory.is_some();
        let unit = other.canonical.filter(|_| is_other).map(|canonical| (other.path, canonical));
        self.sharing.extend(unit.filter(|unit| !self.sharing.contains(unit)));
    }

    /// What it is.
    pub(super) fn kind(&self) -> Kind {
        if self.is_policy_only && self.is_touched {
            Kind::ChangedModule
        } else if self.is_policy_only {
            Kind::OtherLockFile
        } else if self.is_unit {
            Kind::Unit
        } else {
            Kind::RootModule
        }
    }

    /// Errors about the root module, with commands for it. They name it if it is one of many.
    pub(super) fn name(&self, is_one_of_many: bool, errors: Diagnostics) -> Diagnostics {
        self.few(errors).map(|error| error.in_root(&self.path, is_one_of_many))
    }

    /// What there is to say about the root module, or the beginning of it: the more root modules there are, the less is
    /// kept of each.
    pub(super) fn few(&self, diagnostics: impl IntoIterator<Item = Diagnostic>) -> Diagnostics {
        let mut few = Merged::of_one_of(self.one_of);
        few.extend(diagnostics);
        few.into_diagnostics()
    }
}

/// Each directory with a lock file once, by the first name of a root module that uses it, sorted by names. It is named
/// if one of its names is.
pub(super) fn distinct(found: Vec<RootPath>) -> Vec<RootPath> {
    let (mut roots, mut places) = (Vec::<RootPath>::new(), HashMap::new());
    for root in found {
        let identity = root.lock_directory.as_ref().or(root.canonical.as_ref()).unwrap_or(&root.path).clone();
        let place = *places.entry(identity).or_insert(roots.len());
        match roots.get_mut(place) {
            Some(known) => known.share(root),
            None => roots.push(root),
        }
    }
    roots.sort_by(|one, other| one.path.cmp(&other.path));
    let one_of = roots.len();
    for root in &mut roots {
        root.one_of = one_of;
    }
    roots
}

/// A directory as it is shown: without a needless `.` in front.
pub(super) fn normal(directory: &Path) -> PathBuf {
    let below = directory.strip_prefix(".").unwrap_or(directory);
    if below.as_os_str().is_empty() { PathBuf::from(".") } else { below.components().collect() }
}
