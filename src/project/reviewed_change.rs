//! The change under review, with `verify --base`: the difference between the base revision and the
//! working tree. It is not approved yet, so the settings of the base apply, and it cannot hide a
//! lock file.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::filter::Filter;
use crate::configuration::{Module, is_loaded, is_of_tofu, is_part_of_configuration, terragrunt};
use crate::diagnostic::Diagnostic;
use crate::lockfile::{self, LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME, is_copied_lock_file};
use crate::modules::{is_configuration, submodule};
use crate::provider::Dialect;
use crate::settings;
use crate::system::files::folded_name;
use crate::system::{Overlay, Replaced, Tree, canonicalize, files, walk};

/// Names of files that are read by these names alone.
const FIXED_NAMES: [&str; 6] = [
    LOCK_FILE_NAME,
    MODULE_LOCK_FILE_NAME,
    settings::FILE_NAME,
    ".gitignore",
    UPLOAD_IGNORE_FILE,
    submodule::FILE_NAME,
];
/// File of patterns of files that OpenTofu and Terraform do not upload for remote runs.
pub(super) const UPLOAD_IGNORE_FILE: &str = ".terraformignore";
/// Names of files with values of variables that are loaded automatically.
const VALUES: [&str; 2] = ["terraform.tfvars", "terraform.tfvars.json"];
/// Directories whose content OpenTofu and Terraform take as installed.
const DATA_DIRECTORIES: [&str; 2] = [".terraform", "terraform.d"];

/// Files at the base revision and in the working tree. All paths are absolute and without symlinks.
pub struct ReviewedChange {
    /// The top of the repository.
    pub top: PathBuf,
    /// The directory to which the paths of users are relative.
    pub current_directory: PathBuf,
    /// Object name of the base commit: the merge base of the named revision and HEAD.
    pub commit: String,
    /// Number of commits that the named revision has and HEAD lacks.
    pub missing_commits: usize,
    /// Settings files of the named revision, by their paths.
    pub settings: BTreeMap<OsString, Vec<u8>>,
    /// Lock files of the named revision, by their paths; `None` if it is the base commit.
    pub revision_lock_files: Option<BTreeMap<OsString, Vec<u8>>>,
    /// The files of the base commit.
    pub base: Arc<Overlay>,
    /// The files that [`ReviewedChange::reads`] names and that are tracked, or new and not ignored.
    pub read_files_now: BTreeSet<OsString>,
    /// Directories in which such a file, or the file behind a link of such a name, was added,
    /// changed or removed.
    pub touched: BTreeSet<PathBuf>,
    /// Contents of all lock files and settings at the base, and of all such files in touched
    /// directories. Paths are stored as text, which is compared faster. An unchanged link has the
    /// content of the file behind it.
    pub before: BTreeMap<OsString, Vec<u8>>,
    /// Paths in `before` whose files have the same content now.
    pub unchanged: HashSet<OsString>,
    /// All tracked files that differ from the base, whatever their names, and all files below
    /// [`ReviewedChange::altered_links`] to directories in either revision.
    pub differing: BTreeSet<PathBuf>,
    /// Symbolic links in either revision that the change leads elsewhere, and those to directories
    /// that it adds or removes.
    pub altered_links: BTreeSet<PathBuf>,
    /// Symbolic links that the base does not have or that have a different target there.
    pub links: BTreeSet<PathBuf>,
    /// Files to which links of the base lead, with these links.
    pub link_targets: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
    /// Files in `read_files_now` that a sparse checkout omits.
    pub omitted: BTreeSet<PathBuf>,
    /// Submodules whose commit changed, and new and removed ones.
    pub submodules: BTreeSet<PathBuf>,
    /// Paths that the base does not have and for which [`ReviewedChange::is_case_variant`] is true.
    pub case_variants: BTreeSet<PathBuf>,
    /// Findings about files that the caller names instead of these or in addition.
    pub findings: Vec<Diagnostic>,
}

impl ReviewedChange {
    /// Whether a file of this name is a lock file, settings, part of a configuration, or an ignore
    /// file of git's.
    pub fn reads(name: &str) -> bool {
        FIXED_NAMES.contains(&name) || is_part_of_configuration(name) || is_copied_lock_file(name)
    }

    /// Whether a file of this name is a lock file of providers or modules. Copies of Atmos have
    /// names of their own.
    pub fn is_lock_file(name: &str) -> bool {
        [LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME].contains(&name) || is_copied_lock_file(name)
    }

    /// Whether a path in the repository is read only where file systems ignore case: `MAIN.TF`,
    /// `.Terraform/modules`.
    pub fn is_case_variant(path: &Path) -> bool {
        if path.iter().any(is_variant_of_data_directory) {
            return true;
        }
        let name = file_name(path);
        let folded = folded_name(name);
        if name == folded {
            return false;
        }
        is_fixed_name(&folded) || (!Self::reads(name) && Self::reads(&folded))
    }

    /// The files that the change adds, alters or removes, that [`ReviewedChange::reads`] names, and
    /// whose names meet a condition.
    pub(super) fn changed_read_files(&self, is_meant: impl Fn(&str) -> bool) -> Vec<&Path> {
        let mut changed = Vec::new();
        for directory in &self.touched {
            let before = self.base_files_in(directory).map(|(path, _)| path);
            for path in before.chain(self.current_files_in(directory)) {
                if is_meant(file_name(path)) && self.unchanged_content(path).is_none() {
                    changed.push(path);
                }
            }
        }
        changed
    }

    /// Content of a file at the base, if it is known.
    pub(super) fn file_before(&self, path: &Path) -> Option<&[u8]> {
        self.before.get(path.as_os_str()).map(Vec::as_slice)
    }

    /// Content of a file, if it is known to be unchanged.
    pub(super) fn unchanged_content(&self, path: &Path) -> Option<&[u8]> {
        if self.unchanged.contains(path.as_os_str()) {
            self.file_before(path)
        } else {
            None
        }
    }

    /// Files of this name at the base.
    pub(super) fn base_files_named(
        &self,
        name: &'static str,
    ) -> impl Iterator<Item = (&Path, &[u8])> {
        let files = self
            .before
            .iter()
            .map(|(path, bytes)| (Path::new(path), bytes.as_slice()));
        files.filter(move |(path, _)| path.file_name() == Some(OsStr::new(name)))
    }

    /// Lock files of providers at the base, under all names.
    pub(super) fn base_lock_files(&self) -> impl Iterator<Item = (&Path, &[u8])> {
        let files = self
            .before
            .iter()
            .map(|(path, bytes)| (Path::new(path), bytes.as_slice()));
        files.filter(|(path, _)| {
            let name = file_name(path);
            name == LOCK_FILE_NAME || is_copied_lock_file(name)
        })
    }

    /// Lock files that were copied over the lock file, and that the change removes.
    pub(super) fn removed_copies(&self) -> impl Iterator<Item = &Path> {
        self.base_lock_files()
            .map(|(path, _)| path)
            .filter(|path| is_copied_lock_file(file_name(path)) && !Tree::Work.exists(path))
    }

    /// Returns the directories below `start` whose tracked lock files are checked: all that the
    /// filter selects, and excluded ones if their lock file is changed.
    pub(super) fn lock_directories_to_check<'a>(
        &'a self,
        start: &'a Path,
        filter: &'a Filter,
    ) -> Vec<&'a Path> {
        let mut directories = Vec::new();
        for path in self.current_files_named(LOCK_FILE_NAME) {
            let Some(directory) = path.parent() else {
                continue;
            };
            if !path.starts_with(start) {
                continue;
            }
            let is_unchanged = self.unchanged_content(path).is_some();
            let is_checked = if filter.selects(directory) {
                // It may be tracked and not on disk.
                is_unchanged || Tree::Work.exists(path)
            } else {
                // The filter cannot hide a change.
                !is_unchanged && self.has_other_lines(path)
            };
            if is_checked {
                directories.push(directory);
            }
        }
        directories
    }

    /// Whether a lock file has other lines than at the base, or cannot be read.
    fn has_other_lines(&self, lock_file: &Path) -> bool {
        match lockfile::read(lock_file) {
            Ok(Some(now)) => self.file_before(lock_file).map(lines) != Some(lines(&now)),
            Ok(None) => false,
            Err(_) => true,
        }
    }

    /// The directories in which the change touches something. A directory of tests also stands for
    /// the module that the tests check.
    pub(super) fn touched_directories(&self) -> BTreeSet<&Path> {
        let mut directories = BTreeSet::new();
        for directory in &self.touched {
            directories.insert(directory.as_path());
            if directory.ends_with("tests") {
                directories.extend(directory.parent());
            }
        }
        directories
    }

    /// Lock files that the change removes, in the directories for which `is_meant` returns true.
    pub(super) fn removed_lock_files(&self, is_meant: impl Fn(&Path) -> bool) -> BTreeSet<&Path> {
        let mut removed = BTreeSet::new();
        for name in [LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME] {
            for (path, _) in self.base_files_named(name) {
                if path.parent().is_some_and(&is_meant) && self.is_gone(path) {
                    removed.insert(path);
                }
            }
        }
        removed
    }

    /// Whether a file of the base is not tracked any more, or not on disk. A sparse checkout omits
    /// files that are still there.
    fn is_gone(&self, path: &Path) -> bool {
        if !self.read_files_now.contains(path.as_os_str()) {
            return true;
        }
        let is_there = self.unchanged_content(path).is_some()
            || Tree::Work.exists(path)
            || self.omitted.contains(path);
        !is_there
    }

    /// The topmost directory, this one or one above it, that contains no configuration, lock file
    /// or settings any more. `None` if this one still does.
    pub(super) fn removed_directory<'a>(&'a self, directory: &'a Path) -> Option<&'a Path> {
        if directory == self.top {
            // Root modules below may stay, and hidden files such as `.tflint.hcl`.
            let is_configured = self.current_files_in(directory).any(|path| {
                let name = file_name(path);
                is_part_of_configuration(name) && !name.starts_with('.')
            });
            return (!is_configured).then_some(directory);
        }
        let mut topmost = None;
        for above in directory.ancestors() {
            if above == self.top || !self.is_emptied(above) {
                break;
            }
            topmost = Some(above);
        }
        topmost
    }

    /// Whether nothing that is read is left in a directory and below.
    fn is_emptied(&self, directory: &Path) -> bool {
        let mut now = self.current_files_below(directory);
        !now.any(|path| Tree::Work.exists(path))
    }

    /// Directories with a lock file at the base, of whose lock file and configuration nothing is
    /// left.
    pub(super) fn removed_root_modules(&self) -> BTreeSet<&Path> {
        let mut removed = BTreeSet::new();
        for lock_name in [LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME] {
            for (lock_file, _) in self.base_files_named(lock_name) {
                if let Some(directory) = lock_file.parent()
                    && !self.read_files_now.contains(lock_file.as_os_str())
                    && !self.has_configuration(directory)
                {
                    removed.insert(directory);
                }
            }
        }
        removed
    }

    /// Files of this name that are there now.
    pub(super) fn current_files_named(&self, name: &'static str) -> impl Iterator<Item = &Path> {
        self.read_files_now
            .iter()
            .map(Path::new)
            .filter(move |path| path.file_name() == Some(OsStr::new(name)))
    }

    /// Returns the wanted directories below `start` that contain configuration or lock files,
    /// without symlinks. Ignore files of the change hide none of them.
    pub(super) fn configured_directories(
        &self,
        start: &Path,
        is_wanted: impl Fn(&Path) -> bool,
    ) -> Vec<&Path> {
        let mut directories = Vec::new();
        for path in self.read_files_now.iter().map(Path::new) {
            if let Some(directory) = path.parent()
                && !is_copied_lock_file(file_name(path))
            {
                directories.push(directory);
            }
        }
        // The files of a directory follow each other.
        directories.dedup();
        directories.retain(|directory| directory.starts_with(start) && is_wanted(directory));
        // The tools write copies of modules into directories of their own.
        directories.retain(|directory| {
            let below = directory.strip_prefix(&self.top);
            below.is_ok_and(|below| !walk::is_skipped(below))
        });
        directories.retain(|directory| {
            let canonical = canonicalize(directory);
            canonical.is_ok_and(|canonical| canonical == **directory)
        });
        directories
    }

    /// The module in a directory at the base, if the change touches the directory.
    pub(super) fn module_before(&self, directory: &Path, dialect: Dialect) -> Option<Module> {
        self.touched
            .contains(directory)
            .then(|| Module::of_texts(directory, self.base_files_in(directory), dialect))
    }

    /// Names of the files in a directory at the base, if the change touches the directory.
    pub(super) fn base_names_in<'a>(
        &'a self,
        directory: &'a Path,
    ) -> Option<impl Iterator<Item = &'a str>> {
        let names = self
            .base_files_in(directory)
            .filter_map(|(path, _)| path.file_name()?.to_str());
        self.touched.contains(directory).then_some(names)
    }

    /// Whether the configuration in a directory consists of files that other directories load by
    /// links of the base. It means something only there. `is_checked` returns whether a directory
    /// is checked.
    pub(super) fn is_read_by_links(
        &self,
        directory: &Path,
        is_checked: impl Fn(&Path) -> bool,
    ) -> bool {
        let mut is_read = false;
        for path in self.current_files_in(directory) {
            if !is_part_of_configuration(file_name(path)) || is_of_values(file_name(path)) {
                continue;
            }
            let mut links = self.link_targets.get(path).into_iter().flatten();
            if !links.any(|link| self.is_loaded_link(link, &is_checked)) {
                return false;
            }
            is_read = true;
        }
        is_read
    }

    /// Whether a directory that is checked loads the file behind a link in it.
    fn is_loaded_link(&self, link: &Path, is_checked: impl Fn(&Path) -> bool) -> bool {
        let Some(directory) = link.parent() else {
            return false;
        };
        if !is_checked(directory) {
            return false;
        }
        let mut names = Vec::new();
        for path in self.current_files_in(directory) {
            names.push(file_name(path).to_owned());
        }
        is_loaded(file_name(link), &names)
    }

    pub(super) fn current_files_in<'a>(
        &'a self,
        directory: &'a Path,
    ) -> impl Iterator<Item = &'a Path> {
        self.current_files_below(directory)
            .filter(move |path| path.parent() == Some(directory))
    }

    pub(super) fn current_files_below<'a>(
        &'a self,
        directory: &'a Path,
    ) -> impl Iterator<Item = &'a Path> {
        let after = self
            .read_files_now
            .range(directory.join("").into_os_string()..)
            .map(Path::new);
        after.take_while(move |path| path.starts_with(directory))
    }

    /// Files in a directory at the base.
    pub(super) fn base_files_in<'a>(
        &'a self,
        directory: &'a Path,
    ) -> impl Iterator<Item = (&'a Path, &'a [u8])> {
        self.base_files_below(directory)
            .filter(move |(path, _)| path.parent() == Some(directory))
    }

    fn base_files_below<'a>(
        &'a self,
        directory: &'a Path,
    ) -> impl Iterator<Item = (&'a Path, &'a [u8])> {
        let after = self.before.range(directory.join("").into_os_string()..);
        let after = after.map(|(path, bytes)| (Path::new(path), bytes.as_slice()));
        after.take_while(move |(path, _)| path.starts_with(directory))
    }

    /// Whether a directory, or one below it, has a file that only OpenTofu reads, at the base or
    /// now.
    pub(super) fn has_tofu_files(&self, directory: &Path) -> bool {
        let mut now = self.current_files_below(directory);
        let mut before = self.base_files_below(directory).map(|(path, _)| path);
        now.any(|path| is_of_tofu(file_name(path)))
            || before.any(|path| is_of_tofu(file_name(path)))
    }

    /// Whether the change touches a directory that was no Terragrunt unit at the base.
    pub(super) fn had_no_unit(&self, directory: &Path) -> bool {
        let is_unit = |name: &str| terragrunt::FILE_NAMES.contains(&name);
        self.base_names_in(directory)
            .is_some_and(|mut names| !names.any(is_unit))
    }

    /// Whether the change adds files to a directory without any file in the base revision.
    pub(super) fn is_new_directory(&self, directory: &Path) -> bool {
        self.base_names_in(directory)
            .is_some_and(|mut names| names.next().is_none())
    }

    /// Whether a directory has a configuration, which may consist of tests only.
    pub(super) fn has_configuration(&self, directory: &Path) -> bool {
        self.current_files_in(directory)
            .any(|path| is_configuration(file_name(path)))
    }

    /// Whether a directory that the change touches had a configuration or a lock file at the base
    /// revision.
    pub(super) fn had_configuration(&self, directory: &Path) -> bool {
        let is_one = |name: &str| {
            is_configuration(name) || [LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME].contains(&name)
        };
        self.base_names_in(directory)
            .is_some_and(|mut names| names.any(is_one))
    }

    /// Whether the change may have removed the files of a directory that is empty now: the base has
    /// files in it, or it is in an altered submodule.
    pub(super) fn may_have_emptied(&self, directory: &Path) -> bool {
        let directory = files::join(&self.current_directory, directory);
        self.base_files_below(&directory).next().is_some()
            || self
                .altered_submodules()
                .iter()
                .any(|submodule| directory.starts_with(submodule))
    }

    /// Submodules with a different commit or different settings in `.gitmodules` than at the base.
    pub(super) fn altered_submodules(&self) -> BTreeSet<PathBuf> {
        let path = self.top.join(submodule::FILE_NAME);
        let now = files::read(&path, submodule::SIZE_LIMIT).unwrap_or_default();
        let before = if self.touched.contains(&self.top) {
            self.file_before(&path).unwrap_or_default()
        } else {
            &now
        };
        let [before, now] = [before, &now].map(submodule::sections_by_path);
        let mut altered = self.submodules.clone();
        for path in before.keys().chain(now.keys()) {
            if before.get(path) != now.get(path) {
                altered.insert(self.top.join(path));
            }
        }
        altered
    }

    /// Whether `.gitmodules` has a submodule at a path.
    pub(super) fn has_submodule(&self, path: &Path) -> bool {
        let file = self.top.join(submodule::FILE_NAME);
        let now = files::read(&file, submodule::SIZE_LIMIT).unwrap_or_default();
        let sections = submodule::sections_by_path(&now);
        sections.keys().any(|inside| self.top.join(inside) == path)
    }

    /// The link that the change makes of a path or of a directory above, if it makes one.
    pub(super) fn added_link(&self, path: &Path) -> Option<PathBuf> {
        let absolute = self.current_directory.join(path);
        for above in absolute.ancestors() {
            if !Tree::Work.is_symlink(above) {
                continue;
            }
            if let Some(parent) = above.parent()
                && let Ok(parent) = canonicalize(parent)
                && let Some(name) = above.file_name()
                && self.links.contains(&parent.join(name))
            {
                return Some(parent.join(name));
            }
        }
        None
    }

    /// Whether the change alters a file or anything in a directory, or makes a link of the path or
    /// of a directory above it.
    pub fn alters(&self, path: &Path) -> bool {
        if self.added_link(path).is_some() {
            return true;
        }
        let written = files::join(&self.current_directory, path);
        let behind_links = canonicalize(&written).unwrap_or_else(|_| written.clone());
        let mut differing = self.differing.iter();
        differing.any(|file| file.starts_with(&written) || file.starts_with(&behind_links))
    }

    /// The files that the change removes.
    pub(super) fn removed_files(&self) -> BTreeSet<PathBuf> {
        let mut removed = BTreeSet::new();
        for (path, replaced) in self.base.replaced() {
            if *replaced != Replaced::Absent && !Tree::Work.has(path) {
                removed.insert(path.clone());
            }
        }
        removed
    }

    /// Whether a file that the change adds has the name of a file that it removes, but for case. A
    /// file system that ignores case finds it under the old name.
    pub(super) fn renames_in_case(&self) -> bool {
        let mut added: HashMap<String, BTreeSet<&str>> = HashMap::new();
        for (path, replaced) in self.base.replaced() {
            if *replaced == Replaced::Absent {
                let name = file_name(path);
                added.entry(folded_name(name)).or_default().insert(name);
            }
        }
        self.removed_files().iter().any(|removed| {
            let name = file_name(removed);
            let twins = added.get(&folded_name(name)).into_iter().flatten();
            twins.into_iter().any(|twin| *twin != name)
        })
    }

    /// New paths of files that are read, if a part of the path differs only in case from a part of
    /// such a path now: `Modules/main.tf` beside `modules/`. Includes the new paths that are read
    /// only where file systems ignore case.
    pub(super) fn all_case_variants(&self) -> BTreeSet<&Path> {
        let mut variants = BTreeSet::new();
        for path in &self.case_variants {
            variants.insert(path.as_path());
        }
        let mut new = self.changed_read_files(|_| true);
        new.retain(|path| self.file_before(path).is_none());
        if new.is_empty() {
            return variants;
        }

        let spellings = self.spellings();
        for path in new {
            for part in path.ancestors() {
                let same = spellings.get(&folded_name(&part.to_string_lossy()));
                if same.is_some_and(|same| same.len() > 1) {
                    variants.insert(path);
                }
            }
        }
        variants
    }

    /// The paths of files that are read now, and of directories around them, each by its text
    /// without differences of case.
    fn spellings(&self) -> HashMap<String, BTreeSet<&Path>> {
        let mut spellings: HashMap<String, BTreeSet<&Path>> = HashMap::new();
        for path in self.read_files_now.iter().map(Path::new) {
            for part in path.ancestors() {
                if !part.starts_with(&self.top) {
                    break;
                }
                let same = spellings.entry(folded_name(&part.to_string_lossy()));
                same.or_default().insert(part);
            }
        }
        spellings
    }

    /// Directories in which the change adds, alters or removes a file with values of variables.
    pub(super) fn altered_values(&self) -> impl Iterator<Item = &Path> {
        let changed = self.changed_read_files(is_of_values).into_iter();
        changed.filter_map(Path::parent)
    }

    /// Returns a path as the user knows it.
    pub(super) fn shown_path<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.current_directory).unwrap_or(path)
    }
}

/// Lines of a text. Git may convert line endings at checkout.
pub(super) fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes
        .split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .collect()
}

/// Whether a part of a path is `.terraform` or `terraform.d` in other case.
fn is_variant_of_data_directory(part: &OsStr) -> bool {
    let part = part.to_str().unwrap_or_default();
    !DATA_DIRECTORIES.contains(&part) && DATA_DIRECTORIES.contains(&folded_name(part).as_str())
}

/// Whether a file is read by this name alone.
fn is_fixed_name(name: &str) -> bool {
    FIXED_NAMES.contains(&name) || terragrunt::FILE_NAMES.contains(&name) || VALUES.contains(&name)
}

/// Whether a file of this name has values of variables.
fn is_of_values(name: &str) -> bool {
    [".tfvars", ".tfvars.json"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// The name of a file; empty if it is not text.
pub(super) fn file_name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}
