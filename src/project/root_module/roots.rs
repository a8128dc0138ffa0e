//! The root modules that a user selects.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::configuration::{CloudHost, terragrunt};
use crate::diagnostic::{Collector, Diagnostic, Diagnostics, RootModules};
use crate::project::coverage::{Coverage, DirectoryKind};
use crate::system::Tree;

/// Root modules that a user asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Directories of root modules, or files in them; the current directory when empty.
    pub paths: Vec<PathBuf>,
    /// Whether directories stand for all root modules below them.
    pub recursive: bool,
    /// Whether modules are to be locked, too, so that a directory that only calls modules may be a
    /// root module.
    pub with_modules: bool,
}

/// Root modules in the order of their paths, each once.
#[derive(Clone, Debug)]
pub struct Roots {
    pub(in crate::project) list: Vec<FoundRoot>,
    pub(in crate::project) selection: Selection,
    /// Directories that were found and skipped.
    pub(in crate::project) passed_over: Coverage,
    /// Absolute directories of skipped units without a lock file.
    pub(in crate::project) unlocked_units: Vec<PathBuf>,
    /// Lock files under other names, which only `verify` reads.
    pub(in crate::project) copied_lock_files: Vec<FoundRoot>,
    pub(in crate::project) others: OtherDirectories,
}

/// Directories with configuration files that are not root modules. They explain why no root module
/// was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OtherDirectories {
    /// Directories that are skipped because of a name such as `examples` or `modules`, and would be
    /// root modules.
    pub skipped_by_name: Vec<PathBuf>,
    /// Directories with a configuration that no module calls, without a sign of a root module.
    pub without_sign: Vec<PathBuf>,
    /// Stacks of Terraform, which are not read. Collected only if there is no root module.
    pub stacks: Vec<PathBuf>,
    /// Directories that git ignores and that contain a configuration, or are above one. Collected
    /// only if there is no root module.
    pub ignored: Vec<PathBuf>,
}

/// A root module that was found, or a directory that a change under review is checked by.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(in crate::project) struct FoundRoot {
    /// Directory, as the user knows it.
    pub(in crate::project) path: PathBuf,
    /// Directory, absolute and without symlinks; `None` if it cannot be opened.
    pub(in crate::project) canonical: Option<PathBuf>,
    /// Directory of the lock file if it is a different one, absolute and without symlinks.
    pub(in crate::project) lock_directory: Option<PathBuf>,
    /// Lock files in its directory; `None` if it was not listed, or if they may be links.
    pub(in crate::project) listed_lock_files: Option<ListedLockFiles>,
    /// Name of the lock file if it is under a different one.
    pub(in crate::project) lock_name: Option<String>,
    /// Other root modules that use the same lock file, of providers or of modules.
    pub(in crate::project) sharing: Vec<SharingRoot>,
    /// The lock file of providers that root modules share through links, as the user knows it.
    pub(in crate::project) linked_lock_file: Option<PathBuf>,
    /// Whether an earlier root module of the list shares the lock file of providers through links,
    /// so that findings about the sharing are reported there.
    pub(in crate::project) is_sharing_reported: bool,
    /// Directory that was a root module without Terragrunt at the base revision.
    pub(in crate::project) former_root: Option<PathBuf>,
    pub(in crate::project) kind: DirectoryKind,
    /// Whether the user selected exactly this directory, rather than one above it or a file in it.
    pub(in crate::project) is_explicit: bool,
    /// The nearest directory that exists, as the user knows it, if a stack generates a unit in a
    /// directory that does not exist.
    pub(in crate::project) to_be_generated_below: Option<PathBuf>,
    /// Whether the settings exclude the directory, so that only the policy applies to a change in
    /// it.
    pub(in crate::project) is_excluded: bool,
    /// Host for which `localterraform.com` stands in its configuration.
    pub(in crate::project) cloud_host: Option<CloudHost>,
    /// Number of root modules in the list.
    pub(in crate::project) list_length: usize,
    /// Whether there may be other root modules, so that messages name this one.
    pub(in crate::project) is_one_of_several: bool,
}

/// Lock files that a search found in a directory without symbolic links, so that no other step has
/// to look for them again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::project) struct ListedLockFiles {
    pub(in crate::project) has_providers: bool,
    pub(in crate::project) has_modules: bool,
}

/// A root module that uses a lock file of a different root module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::project) struct SharingRoot {
    /// Directory, as the user knows it.
    pub(in crate::project) path: PathBuf,
    /// Directory, absolute and without symlinks.
    pub(in crate::project) canonical: PathBuf,
    pub(in crate::project) shared: SharedFiles,
}

/// Lock files that two root modules share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::project) enum SharedFiles {
    /// Both are units without lock files of their own, which use the lock files of their module.
    OfModule,
    /// Files that are symbolic links to one file, or a link and its target. Each of the two is a
    /// root module of its own.
    Linked { providers: bool, modules: bool },
}

impl Selection {
    /// All root modules below a directory.
    pub fn recursive(directory: impl Into<PathBuf>) -> Self {
        Self {
            paths: vec![directory.into()],
            recursive: true,
            with_modules: false,
        }
    }

    /// The root module in a directory.
    pub fn one(directory: impl Into<PathBuf>) -> Self {
        Self {
            recursive: false,
            ..Self::recursive(directory)
        }
    }

    /// Returns the paths, or the current directory if there are none.
    pub(in crate::project) fn paths(&self) -> &[PathBuf] {
        static CURRENT: std::sync::LazyLock<[PathBuf; 1]> =
            std::sync::LazyLock::new(|| [PathBuf::from(".")]);
        if self.paths.is_empty() {
            &*CURRENT
        } else {
            &self.paths
        }
    }

    /// Returns the first directory, or the directory of the first file.
    pub(in crate::project) fn first_directory(&self) -> PathBuf {
        let first = self
            .paths()
            .first()
            .map_or(Path::new("."), PathBuf::as_path);
        if Tree::Work.is_dir(first) {
            without_leading_dot(first)
        } else {
            first.parent().map(without_leading_dot).unwrap_or_default()
        }
    }
}

impl Roots {
    /// Each directory with a lock file once, by the first name of a root module that uses it,
    /// sorted by names.
    pub(in crate::project) fn new(found: Vec<FoundRoot>, selection: &Selection) -> Self {
        let mut list: Vec<FoundRoot> = Vec::new();
        let mut indexes = HashMap::new();
        for root in found {
            // Links lead to one directory by several paths, and units may use the lock file of
            // their module.
            let identity = root
                .lock_directory
                .as_ref()
                .or(root.canonical.as_ref())
                .unwrap_or(&root.path)
                .clone();
            let index = *indexes.entry(identity).or_insert(list.len());
            match list.get_mut(index) {
                Some(known) => known.merge(root),
                None => list.push(root),
            }
        }
        list.sort_by(|one, other| one.path.cmp(&other.path));
        let list_length = list.len();
        for root in &mut list {
            root.list_length = list_length;
            root.is_one_of_several = selection.recursive || list_length != 1;
        }
        Self {
            list,
            selection: selection.clone(),
            passed_over: Coverage::default(),
            unlocked_units: Vec::new(),
            copied_lock_files: Vec::new(),
            others: OtherDirectories::default(),
        }
    }

    /// The same with lock files under other names, each in the place of a root module.
    pub(in crate::project) fn with_copied_lock_files(&self) -> Self {
        let mut roots = self.clone();
        let is_one_of_several = roots.list.len() + roots.copied_lock_files.len() != 1;
        for copied in roots.copied_lock_files.drain(..) {
            roots.list.push(FoundRoot {
                is_one_of_several,
                ..copied
            });
        }
        roots
    }

    /// Number of root modules.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Number of Terragrunt units.
    pub fn units(&self) -> usize {
        self.list
            .iter()
            .filter(|root| root.kind == DirectoryKind::Unit)
            .count()
    }

    /// Directories, as the user knows them.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.list.iter().map(|root| root.path.as_path())
    }

    /// Whether there is no root module.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Directories that the settings exclude, and units without a lock file.
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

    /// Whether the searched paths stand for all root modules below them. Otherwise a file stands
    /// for the root modules that contain or call its module.
    pub fn searches_below(&self) -> bool {
        self.selection.recursive
    }

    /// Whether the selection may contain several root modules, so that messages contain their
    /// paths.
    pub fn may_be_several(&self) -> bool {
        self.selection.recursive || self.list.len() != 1
    }
}

impl FoundRoot {
    pub(in crate::project) fn new(
        path: PathBuf,
        canonical: Option<PathBuf>,
        kind: DirectoryKind,
    ) -> Self {
        Self {
            path,
            canonical,
            kind,
            list_length: 1,
            ..Self::default()
        }
    }

    /// Lock files under different names in a directory.
    pub(in crate::project) fn copied_lock_files(
        path: &Path,
        canonical: &Path,
        names: Vec<String>,
    ) -> Vec<Self> {
        let mut copied = Vec::new();
        for name in names {
            let kind = DirectoryKind::OtherLockFile;
            copied.push(Self {
                lock_name: Some(name),
                ..Self::new(path.to_owned(), Some(canonical.to_owned()), kind)
            });
        }
        copied
    }

    /// Adds a unit that uses the same lock file, or a different path of the same root module.
    fn merge(&mut self, other: Self) {
        // A root module is checked in full, and precedes a directory to which only the policy
        // applies.
        self.kind = match (self.is_policy_only(), other.is_policy_only()) {
            (true, true) => self.kind.max(other.kind),
            (true, false) => other.kind,
            (false, _) => self.kind,
        };
        // A user who names one of the paths selects the root module, whatever the others are.
        self.is_explicit |= other.is_explicit;
        self.is_excluded &= other.is_excluded;
        self.former_root = self.former_root.take().or(other.former_root);
        // It is the same root module, or its lock file is in its own directory.
        if other.canonical == self.canonical || other.lock_directory.is_none() {
            return;
        }
        if let Some(canonical) = other.canonical {
            let unit = SharingRoot {
                path: other.path,
                canonical,
                shared: SharedFiles::OfModule,
            };
            if !self.sharing.contains(&unit) {
                self.sharing.push(unit);
            }
        }
    }

    /// Units without a lock file of their own that use the same one.
    pub(in crate::project) fn sharing_units(&self) -> impl Iterator<Item = &SharingRoot> {
        self.sharing
            .iter()
            .filter(|other| other.shared == SharedFiles::OfModule)
    }

    /// Root modules that share the lock file of providers through links.
    pub(in crate::project) fn sharing_providers(&self) -> impl Iterator<Item = &SharingRoot> {
        self.sharing.iter().filter(|other| {
            matches!(
                other.shared,
                SharedFiles::Linked {
                    providers: true,
                    ..
                }
            )
        })
    }

    /// Whether only the policy applies to the directory, which is not a root module: it has a lock
    /// file, or the change under review touches its configuration.
    pub(in crate::project) fn is_policy_only(&self) -> bool {
        matches!(
            self.kind,
            DirectoryKind::OtherLockFile | DirectoryKind::ChangedModule
        )
    }

    /// Completes errors with the root module, for remedies and, if there may be several, for
    /// messages.
    pub(in crate::project) fn with_root_module(&self, errors: Diagnostics) -> Diagnostics {
        self.truncate(errors)
            .map(|error| self.one_with_root_module(error))
    }

    /// [`FoundRoot::with_root_module`] for one diagnostic, which always stays.
    pub(in crate::project) fn one_with_root_module(&self, diagnostic: Diagnostic) -> Diagnostic {
        self.complete(diagnostic, self.is_one_of_several)
    }

    /// Completes a diagnostic with the root module, for remedies only.
    pub(in crate::project) fn with_root_module_in_remedies(
        &self,
        diagnostic: Diagnostic,
    ) -> Diagnostic {
        self.complete(diagnostic, false)
    }

    /// Completes a diagnostic with the root module. `is_noted` decides whether a note names it.
    fn complete(&self, diagnostic: Diagnostic, is_noted: bool) -> Diagnostic {
        // No command can be run in a directory that does not exist.
        if let Some(existing) = &self.to_be_generated_below {
            return diagnostic.in_root_modules(RootModules::Selected {
                paths: vec![existing.clone()],
                recursive: true,
                directories: vec![self.path.clone()],
            });
        }
        diagnostic.in_root(&self.path, is_noted)
    }

    /// Limits the diagnostics of the root module: the more root modules there are, the fewer are
    /// kept of each.
    pub(in crate::project) fn truncate(
        &self,
        diagnostics: impl IntoIterator<Item = Diagnostic>,
    ) -> Diagnostics {
        let mut truncated = Collector::for_one_of(self.list_length);
        truncated.extend(diagnostics);
        truncated.into_diagnostics()
    }
}

/// Returns the kind of a root module by the files in its directory.
pub(in crate::project) fn kind_of(tree: &Tree, directory: &Path) -> DirectoryKind {
    if terragrunt::is_unit(tree, directory) {
        DirectoryKind::Unit
    } else {
        DirectoryKind::RootModule
    }
}

/// Whether a path contains a usual directory of units from which stacks generate others.
pub(in crate::project) fn is_in_catalog(path: &Path) -> bool {
    path.components().any(|component| {
        ["catalog", "units"]
            .iter()
            .any(|name| component.as_os_str() == *name)
    })
}

/// Whether the path contains a usual directory of modules, examples, tests or templates.
pub(in crate::project) fn is_among_modules(path: &Path) -> bool {
    path.components().any(|component| {
        let name = component.as_os_str().to_string_lossy();
        NAMES_OF_MODULES.contains(&&*name)
            || is_enclosed(&name, "__", "__")
            || is_enclosed(&name, "{{", "}}")
    })
}

/// Whether a name is a placeholder, such as `{{name}}`.
fn is_enclosed(name: &str, start: &str, end: &str) -> bool {
    name.len() > 4 && name.starts_with(start) && name.ends_with(end)
}

/// The usual names of directories of modules, examples, tests and templates.
const NAMES_OF_MODULES: [&str; 11] = [
    "modules",
    "module",
    "examples",
    "example",
    "tests",
    "test",
    "fixtures",
    "testdata",
    "template",
    "templates",
    "skeleton",
];

/// Returns a directory without a redundant `.` in front.
pub(in crate::project) fn without_leading_dot(directory: &Path) -> PathBuf {
    let below = directory.strip_prefix(".").unwrap_or(directory);
    if below.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        below.components().collect()
    }
}

/// Returns `start/below` without a redundant `.`.
pub(in crate::project) fn joined(start: &Path, below: &Path) -> PathBuf {
    if below.as_os_str().is_empty() {
        start.to_owned()
    } else {
        crate::project::join(start, below)
    }
}
