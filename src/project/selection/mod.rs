//! From paths to root modules.

mod dialect_detection;
mod discover;
mod open;
mod shared_lock_files;
mod units;

use std::collections::{BTreeSet, HashSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::coverage::{DirectoryKind, RootStatus};
use super::filter::Filter;
use super::reviewed_change::ReviewedChange;
use super::root_module::roots::{
    FoundRoot, OtherDirectories, Roots, Selection, is_among_modules, joined, kind_of,
    without_leading_dot,
};
use super::root_module::unit::TerragruntUnit;
use super::root_module::{LOCK_STACK, MissingModules, RootModule};
use super::session::Session;
use super::similar_names::path_meant;
use crate::configuration::{self, CloudHost, DirectoryListing, is_of_stack, is_test, terragrunt};
use crate::diagnostic::{Code, Diagnostic, Help, Result, RunOption};
use crate::lockfile::LOCK_FILE_NAME;
use crate::modules;
use crate::provider::{Dialect, Hostname};
use crate::settings::Settings;
use crate::system::tree::Kind;
use crate::system::{Tree, boundary, walk};
pub(in crate::project) use discover::SearchStart;
use discover::{PassedOver, RootSearch, SearchResult, is_root};
use units::OwnConfiguration;

/// Content of a directory, as far as the policy matters.
enum DirectoryContent {
    Nothing,
    /// A module or a unit.
    Configuration,
    Unreadable,
}

impl Session<'_> {
    /// Returns the selected root modules. A directory is a root module; a file stands for the root
    /// module that contains it, for the root modules that call the module of the file, and for the
    /// units of Terragrunt that read it. Two paths of one directory are one root module.
    ///
    /// # Errors
    /// A path does not exist, or directories cannot be searched.
    pub fn roots(&self, selection: &Selection) -> Result<Roots> {
        let tree = self.tree();
        let mut found = Vec::new();
        let mut called_modules = Vec::new();
        let mut passed_over = PassedOver::new();
        let mut others = OtherDirectories::default();
        let mut copied_lock_files = Vec::new();
        let mut unit_files = Vec::new();
        for selected in selection.paths() {
            let path = &self.without_links(selected);
            if tree.is_dir(path) && selection.recursive {
                let start = without_leading_dot(path);
                // The current directory is the default.
                let is_named = start != Path::new(".") && !selection.paths.is_empty();
                let origin = if is_named {
                    SearchStart::Named
                } else {
                    SearchStart::Default
                };
                let below = self.search(&start, selection.with_modules, origin)?;
                found.extend(below.roots);
                passed_over.extend(below.passed_over);
                copied_lock_files.extend(below.copied_lock_files);
                others.skipped_by_name.extend(below.others.skipped_by_name);
                others.without_sign.extend(below.others.without_sign);
            } else if tree.is_dir(path) {
                let root = self.root_in(without_leading_dot(path));
                copied_lock_files.extend(copied_lock_files_in(tree, &root));
                found.push(FoundRoot {
                    is_explicit: true,
                    ..root
                });
            } else {
                // pre-commit passes changed files, which may belong to modules that root modules
                // call.
                for directory in self.directories_of_file(path)? {
                    if self.is_root(&directory, selection.with_modules) {
                        found.push(self.root_in(directory));
                    } else if !is_read_for_units(path) {
                        called_modules.push(directory);
                    }
                }
                if is_read_for_units(path) {
                    unit_files.push(path.to_owned());
                }
            }
        }
        if !called_modules.is_empty() || !unit_files.is_empty() {
            found.extend(self.roots_that_use(
                &called_modules,
                &unit_files,
                selection.with_modules,
            )?);
        }

        let mut roots = Roots {
            copied_lock_files,
            others,
            ..Roots::new(found, selection)
        };
        self.find_sharing(&mut roots.list);
        for root in &roots.list {
            self.note_cloud_host(root);
            // A directory may be skipped below one path and selected by a different one.
            if let Some(canonical) = &root.canonical {
                passed_over.remove(canonical);
            }
        }
        for (directory, (kind, status)) in passed_over {
            roots.passed_over.add(kind, status, None);
            if status == RootStatus::NotLocked {
                roots.unlocked_units.push(directory);
            }
        }
        // A search that finds nothing explains where root modules may be instead.
        if roots.is_empty() {
            for path in selection.paths() {
                roots
                    .others
                    .stacks
                    .extend(self.directories_with_stacks(path));
                roots
                    .others
                    .ignored
                    .extend(self.directories_ignored_by_git(path));
            }
        }
        Ok(roots)
    }

    /// Returns the path of a directory, or of a file in it, without links to directories: the tools
    /// run in the directory behind them, to which paths in the configuration are relative.
    fn without_links(&self, path: &Path) -> PathBuf {
        let tree = self.tree();
        let mut directory = path;
        let mut name = None;
        if !tree.is_dir(path)
            && let Some(parent) = path.parent()
        {
            directory = parent;
            name = path.file_name();
        }
        let directory = without_leading_dot(directory);
        if !directory.ancestors().any(|above| tree.is_symlink(above)) {
            return path.to_owned();
        }
        let Ok(canonical) = self.canonical(&directory) else {
            return path.to_owned();
        };
        let shown = without_leading_dot(&self.environment.shown_path(&canonical));
        match name {
            Some(name) => shown.join(name),
            None => shown,
        }
    }

    /// Returns the directories whose modules read a file. Tests in a directory `tests` are tests of
    /// the module above, and of the directory itself if it has a lock file.
    fn directories_of_file(&self, path: &Path) -> Result<Vec<PathBuf>> {
        let directory = self.directory_of_file(path)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_in_tests = self
            .canonical(&directory)
            .is_ok_and(|canonical| canonical.ends_with("tests"));
        if !is_test(&name) || !is_in_tests {
            return Ok(vec![directory]);
        }
        let tested = match (directory.file_name(), directory.parent()) {
            (Some(_), Some(above)) => without_leading_dot(above),
            // The current directory.
            _ => super::join(&directory, Path::new("..")),
        };
        if self.tree().exists(&directory.join(LOCK_FILE_NAME)) {
            return Ok(vec![tested, directory]);
        }
        Ok(vec![tested])
    }

    /// Returns the directory of a file. A change under review may have deleted a configuration
    /// file.
    fn directory_of_file(&self, path: &Path) -> Result<PathBuf> {
        let directory = path.parent().map(without_leading_dot).unwrap_or_default();
        let tree = self.tree();
        if tree.exists(path) || (is_configuration(path) && tree.is_dir(&directory)) {
            return Ok(directory);
        }
        let error = match tree.canonicalize(path) {
            Err(error) => error,
            // The path has been created in the meantime.
            Ok(_) => ErrorKind::NotFound.into(),
        };
        let mut error = Diagnostic::io("open", path, &error);
        if let Some(similar) = path_meant(path)
            && !self.modules.boundary.is_outside(&similar)
        {
            error = error.help(format!("did you mean {}?", similar.display()));
        }
        Err(error.into())
    }

    /// Directories with files of Terraform's stacks, sorted, as the user knows them.
    fn directories_with_stacks(&self, start: &Path) -> Vec<PathBuf> {
        let Ok(canonical) = self.canonical(start) else {
            return Vec::new();
        };
        let collected = walk::collect_below(self.tree(), &canonical, |directory| {
            let mut files = directory.files.iter();
            if !files.any(|file| is_of_stack(&file.name)) {
                return None;
            }
            let below = directory.path.strip_prefix(&canonical);
            Some(joined(start, below.unwrap_or(directory.path)))
        });
        let mut stacks = collected.items;
        stacks.sort_unstable();
        stacks
    }

    /// Directories below that git ignores and that have configurations, sorted, as the user knows
    /// them.
    fn directories_ignored_by_git(&self, start: &Path) -> Vec<PathBuf> {
        let Ok(canonical) = self.canonical(start) else {
            return Vec::new();
        };
        let collected = walk::collect_below(self.tree(), &canonical, |directory| {
            let mut with_configuration = Vec::new();
            for ignored in directory.ignored {
                if has_configuration_below(self.tree(), ignored) {
                    let below = ignored.strip_prefix(&canonical).unwrap_or(ignored);
                    with_configuration.push(joined(start, below));
                }
            }
            with_configuration
        });
        let mut directories = collected.items;
        directories.sort_unstable();
        directories
    }

    /// The root module in a directory that a path selects.
    pub(super) fn root_in(&self, path: PathBuf) -> FoundRoot {
        let canonical = self.canonical(&path).ok();
        let kind = kind_of(self.tree(), canonical.as_ref().unwrap_or(&path));
        let mut root = FoundRoot::new(path, canonical, kind);
        let Some(canonical) = &root.canonical else {
            return root;
        };
        let opened = self.units_in(canonical, canonical, OwnConfiguration::NotListed);
        let unit = opened.units.first();
        if let Some(unit) = unit {
            root.kind = DirectoryKind::Unit;
            if let Some((_, directory)) = unit.lock_directory() {
                root.lock_directory = Some(directory);
            }
        }
        // The host of the cloud decides for which registry `localterraform.com` stands.
        if unit.is_none() && !self.modules.boundary.excludes(canonical) {
            let dialect = self.options.dialect.unwrap_or_default();
            let module = self
                .modules
                .canonical_module(canonical, &root.path, dialect);
            root.cloud_host.clone_from(&module.cloud_host);
        }
        root
    }

    /// Notes the host for which `localterraform.com` stands in a root module, or that it is not
    /// known. A root module without HCP Terraform adds nothing.
    pub(super) fn note_cloud_host(&self, root: &FoundRoot) {
        const VARIABLE: &str = "TF_CLOUD_HOSTNAME";
        const DEFAULT: &str = "app.terraform.io";
        let mut cloud_host = root.cloud_host.clone();
        // A change under review must not choose the host that confirms what it brings.
        if let Some(change) = &self.options.change
            && let Some(directory) = &root.canonical
            && let Some(before) =
                change.module_before(directory, self.options.dialect.unwrap_or_default())
        {
            cloud_host = before.cloud_host.clone().or(cloud_host);
        }
        let Some(cloud_host) = cloud_host else {
            return;
        };
        let host = match &cloud_host {
            CloudHost::Literal(host) => Some(host.as_str()),
            CloudHost::Default => match self.environment.variables.get(VARIABLE) {
                Some(host) if !host.is_empty() => Some(host.as_str()),
                // OpenTofu has no default.
                _ if self.options.dialect == Some(Dialect::Tofu) => None,
                _ => Some(DEFAULT),
            },
            CloudHost::Unknown => None,
        };
        let host = host.and_then(|host| Hostname::parse(host).ok());
        self.connections.cloud_hosts().add(host);
    }

    /// Searches the root modules below a directory.
    pub(super) fn search(
        &self,
        start: &Path,
        with_modules: bool,
        origin: SearchStart,
    ) -> Result<SearchResult> {
        let (canonical, settings) = self.settings(start)?;
        let dialect = self.options.dialect.or(settings.dialect);
        let filter = Filter::new(&settings.roots)?;
        let with_modules = with_modules || settings.lock_modules == Some(true);
        let base = self.base();
        let removed_files = match &self.options.change {
            Some(change) => change.removed_files(),
            None => BTreeSet::new(),
        };
        let search = RootSearch {
            session: self,
            base: base.as_ref(),
            removed_files: &removed_files,
            start,
            canonical: &canonical,
            filter: &filter,
            dialect,
            with_modules,
            is_named: origin == SearchStart::Named,
        };
        let mut found = search.find()?;
        if let Some(change) = &self.options.change {
            self.add_policy_only_directories(&mut found, change, &search);
        }
        Ok(found)
    }

    /// Adds the directories to which only the policy applies: those with lock files that are not of
    /// root modules, and those whose configuration or unit the change alters and no root module
    /// reads.
    fn add_policy_only_directories(
        &self,
        result: &mut SearchResult,
        change: &ReviewedChange,
        search: &RootSearch<'_, '_>,
    ) {
        // A root module whose lock file is in another directory, as that of a unit may be, has none
        // of its own.
        let mut with_own_lock_file = HashSet::new();
        for root in &result.roots {
            if root.lock_directory.is_none()
                && let Some(directory) = &root.canonical
            {
                with_own_lock_file.insert(directory.as_path());
            }
        }

        let mut added = Vec::new();
        // All below the start: the filter excludes no directory whose lock file is changed.
        for directory in change.lock_directories_to_check(search.canonical, search.filter) {
            if !with_own_lock_file.contains(directory) {
                added.push(search.found_root(directory, DirectoryKind::OtherLockFile));
            }
        }
        added.extend(self.changed_modules(result, change, search, &with_own_lock_file));
        result.roots.extend(added);
    }

    /// Directories below the start whose configuration or unit the change alters and no root module
    /// reads. Directories that the filter excludes are returned, too, and marked.
    fn changed_modules(
        &self,
        result: &SearchResult,
        change: &ReviewedChange,
        search: &RootSearch<'_, '_>,
        with_own_lock_file: &HashSet<&Path>,
    ) -> Vec<FoundRoot> {
        let read = &result.read_directories;
        let mut changed = change.touched_directories();
        changed.extend(
            result
                .units_reading_altered_files
                .iter()
                .map(PathBuf::as_path),
        );
        let mut modules = Vec::new();
        for directory in changed {
            if !directory.starts_with(search.canonical) || read.contains(directory) {
                continue;
            }
            // A file that a checked directory reads through a link is checked there.
            let is_checked_elsewhere = change.is_read_by_links(directory, |linking| {
                with_own_lock_file.contains(linking) || read.contains(linking)
            });
            if is_checked_elsewhere {
                continue;
            }
            let root = search.found_root(directory, DirectoryKind::ChangedModule);
            let is_excluded = !search.filter.selects(directory);
            let dialect = search.dialect.unwrap_or_default();
            match self.content_of(directory, &root.path, dialect) {
                DirectoryContent::Nothing => continue,
                // Probably a template, which OpenTofu and Terraform would not run.
                DirectoryContent::Unreadable
                    if is_excluded || is_among_modules(search.below_start(directory)) =>
                {
                    continue;
                }
                DirectoryContent::Unreadable | DirectoryContent::Configuration => {}
            }
            modules.push(FoundRoot {
                is_excluded,
                ..root
            });
        }
        modules
    }

    /// Whether a directory, which the user knows as `shown`, has a configuration or a unit.
    fn content_of(&self, directory: &Path, shown: &Path, dialect: Dialect) -> DirectoryContent {
        if !self.tree().is_dir(directory) {
            return DirectoryContent::Nothing;
        }
        let module = self.modules.canonical_module(directory, shown, dialect);
        if !module.diagnostics.is_empty() {
            return DirectoryContent::Unreadable;
        }
        if !module.is_empty() {
            return DirectoryContent::Configuration;
        }
        match TerragruntUnit::open(self.tree(), shown, directory, &self.environment) {
            Some(_) => DirectoryContent::Configuration,
            None => DirectoryContent::Nothing,
        }
    }

    /// The lock files that the change removes from the selected root modules.
    pub(super) fn removed_lock_files<'a>(
        &self,
        selection: &Selection,
        change: &'a ReviewedChange,
    ) -> Result<BTreeSet<&'a Path>> {
        let mut removed = BTreeSet::new();
        for path in selection.paths() {
            let is_directory = self.tree().is_dir(path);
            if is_directory && selection.recursive {
                let (canonical, settings) = self.settings(path)?;
                let filter = Filter::new(&settings.roots)?;
                removed.extend(change.removed_lock_files(|root| {
                    root.starts_with(&canonical) && filter.selects(root)
                }));
                continue;
            }
            let mut directory = Some(path.as_path());
            if !is_directory {
                directory = path.parent();
            }
            if let Some(directory) = directory
                && let Ok(canonical) = self.canonical(&without_leading_dot(directory))
            {
                removed.extend(change.removed_lock_files(|root| root == canonical));
            }
        }
        Ok(removed)
    }

    /// The settings that apply in a directory.
    ///
    /// # Errors
    /// It cannot be opened, or settings cannot be read.
    pub fn settings_in(&self, directory: &Path) -> Result<Settings> {
        Ok(self.settings(directory)?.1)
    }

    /// The absolute path of a directory, and the settings that apply there.
    pub(super) fn settings(&self, directory: &Path) -> Result<(PathBuf, Settings)> {
        let canonical = self.canonical(directory)?;
        if self.modules.boundary.excludes(&canonical) {
            return Err(boundary::outside_error(directory).into());
        }
        let settings = self.settings_at(directory, &canonical)?;
        Ok((canonical, settings))
    }

    /// The error for a root module without a lock file, or for a directory that is none.
    /// `consequence` completes the message.
    pub(super) fn nothing_locked(&self, root: &RootModule, consequence: &str) -> Diagnostic {
        self.no_configuration_error(root)
            .unwrap_or_else(|| root.lock_file_missing(consequence))
    }

    /// The error for a directory without a configuration, which cannot be locked either.
    pub(super) fn no_configuration_error(&self, root: &RootModule) -> Option<Diagnostic> {
        if root.has_configuration(&self.modules) {
            return None;
        }
        if let Some(elsewhere) = self.roots_elsewhere_error(root) {
            return Some(elsewhere);
        }
        if let Some(only_stack) = self.only_stack_error(root) {
            return Some(only_stack);
        }
        Some(configuration::no_configuration(root.path(), root.dialect))
    }

    /// The error for a directory with nothing but a stack of Terraform.
    pub(super) fn only_stack_error(&self, root: &RootModule) -> Option<Diagnostic> {
        if root.has_configuration(&self.modules) || !root.has_stack(self.tree()) {
            return None;
        }
        let message = format!(
            "{} contains only a stack, and no root module",
            root.path().display()
        );
        Some(Diagnostic::error(Code::NoConfiguration, message).help(LOCK_STACK))
    }

    /// The error for a directory without a configuration, if there are root modules in directories
    /// below.
    pub(super) fn roots_elsewhere_error(&self, root: &RootModule) -> Option<Diagnostic> {
        if root.has_configuration(&self.modules) {
            return None;
        }
        let with_modules = false;
        let search = self.search(root.path(), with_modules, SearchStart::Default);
        // If the search fails, the caller reports that this directory has no configuration.
        let mut below = search.ok()?.roots;
        // A directory with a lock file alone is found, too.
        below.retain(|other| match self.open_root(other) {
            Ok(other) => other.has_configuration(&self.modules),
            Err(_) => true,
        });
        let example = &below.first()?.path;
        let number = match below.len() {
            1 => "there is 1 root module below".to_owned(),
            number => format!("there are {number} root modules below"),
        };
        let message = format!(
            "{} contains no configuration, but {number}",
            root.path().display()
        );
        let help = Help::text("select all of them with ").and(RunOption::Recursive);
        let help = help.and_text(format!(", or one of them, such as {}", example.display()));
        Some(Diagnostic::error(Code::NoConfiguration, message).help(help))
    }

    fn is_root(&self, directory: &Path, with_modules: bool) -> bool {
        let dialect = self.options.dialect.unwrap_or_default();
        let module = self.modules.module(directory, dialect);
        if is_root(self.tree(), &module, directory, with_modules) {
            return true;
        }
        // The settings may name it.
        let Ok((canonical, settings)) = self.settings(directory) else {
            return false;
        };
        match Filter::new(&settings.roots) {
            Ok(filter) => filter.names_exactly(&canonical) || filter.includes(&canonical),
            Err(_) => false,
        }
    }

    /// The root modules below the current directory that use one of these modules, and the units of
    /// Terragrunt that read one of these files. A root module that cannot be read may use any of
    /// the modules, and is returned so that the command reports its error.
    fn roots_that_use(
        &self,
        modules: &[PathBuf],
        files: &[PathBuf],
        with_modules: bool,
    ) -> Result<Vec<FoundRoot>> {
        let modules = self.canonical_paths(modules);
        let files = self.canonical_paths(files);
        let mut users = self
            .search(Path::new("."), with_modules, SearchStart::Default)?
            .roots;
        users.retain(|found| {
            let Ok(root) = self.open_root(found) else {
                return !modules.is_empty();
            };
            if root.units.iter().any(|unit| reads_any(unit, &files)) {
                return true;
            }
            if modules.is_empty() {
                return false;
            }
            let ignore_tests = false;
            let missing_modules = MissingModules::Allowed;
            let Ok(read) =
                root.requirements_with(&self.modules, ignore_tests, missing_modules, None)
            else {
                return true;
            };
            let mut called = read.modules.iter();
            called.any(|module| modules.contains(&module.canonical))
        });
        Ok(users)
    }

    /// The paths that exist, absolute and without symbolic links.
    fn canonical_paths(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let mut canonical = Vec::new();
        for path in paths {
            canonical.extend(self.canonical(path));
        }
        canonical
    }
}

/// Whether units of Terragrunt in other directories may read a file: an included `root.hcl`, or a
/// file of values. No module reads such a file.
fn is_read_for_units(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    terragrunt::may_read(&name) && !is_test(&name)
}

fn reads_any(unit: &TerragruntUnit, files: &[PathBuf]) -> bool {
    files.iter().any(|file| unit.read.files.contains(file))
}

/// Returns the lock files under other names in the directory of a root module.
fn copied_lock_files_in(tree: &Tree, root: &FoundRoot) -> Vec<FoundRoot> {
    if let Some(canonical) = &root.canonical
        && let Some(listing) = DirectoryListing::of(tree, canonical)
    {
        return FoundRoot::copied_lock_files(&root.path, canonical, listing.copied_lock_files);
    }
    Vec::new()
}

/// Whether a path, possibly of a deleted file, is a file of a configuration.
fn is_configuration(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("tf" | "tofu" | "hcl" | "json"))
}

/// Whether a directory contains a configuration, also in directories below it. Of very many only
/// the first are read.
fn has_configuration_below(tree: &Tree, directory: &Path) -> bool {
    const MOST_READ: usize = 200;
    let mut open = vec![directory.to_owned()];
    for _ in 0..MOST_READ {
        let Some(directory) = open.pop() else {
            return false;
        };
        for entry in tree.entries(&directory).unwrap_or_default() {
            if entry.is_dir() {
                if !walk::is_skipped(Path::new(&entry.name)) {
                    open.push(directory.join(&entry.name));
                }
            } else if entry.kind == Kind::File && modules::is_configuration(&entry.text()) {
                return true;
            }
        }
    }
    false
}
