//! From paths to root modules.

use std::collections::{BTreeSet, HashSet};
use std::fs::DirEntry;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::change::Change;
use super::coverage::{Coverage, RootStatus};
use super::discover::{Found, PassedOver, find_roots, is_among_modules, is_root, joined};
use super::filter::Filter;
use super::path_meant::path_meant;
use super::root_module::RootModule;
use super::roots::{OtherDirectories, RootPath, Roots, Selection, distinct, normal};
use super::session::Session;
use super::unit::survey;
use crate::configuration::terragrunt;
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Result};
use crate::provider::Dialect;
use crate::settings::Settings;
use crate::system::{boundary, lock, walk};

/// How the names of files of Terraform's stacks end.
const STACK_FILES: [&str; 3] = [".tfcomponent.hcl", ".tfstack.hcl", ".tfdeploy.hcl"];

impl Session<'_> {
    /// The root modules that are selected. A directory is a root module; a file stands for the root module that it is
    /// in, or for those that call the module it is in. Two names of one directory are one root module.
    ///
    /// # Errors
    /// A path that is not there, and directories that cannot be searched.
    pub fn roots(&self, selection: &Selection) -> Result<Roots> {
        let (mut found, mut modules, mut passed_over) = (Vec::new(), Vec::new(), PassedOver::new());
        let mut others = OtherDirectories::default();
        for path in selection.paths() {
            if path.is_dir() {
                let directory = normal(path);
                if selection.recursive {
                    let below = self.search(&directory, selection.with_modules)?;
                    found.extend(below.roots);
                    passed_over.extend(below.passed_over);
                    others.skipped_by_name.extend(below.others.skipped_by_name);
                    others.without_sign.extend(below.others.without_sign);
                } else {
                    found.push(self.root_path(directory, true));
                }
                continue;
            }
            let directory = path.parent().map(normal).unwrap_or_default();
            let is_meant = path.exists() || (is_configuration(path) && directory.is_dir());
            if !is_meant {
                // What the system says, if nothing has come there since.
                let error = path.metadata().err().unwrap_or_else(|| ErrorKind::NotFound.into());
                let error = Diagnostic::io("open", path, &error);
                let meant = path_meant(path).filter(|meant| !self.modules.boundary.is_outside(meant));
                let help = meant.map(|meant| format!("did you mean {}?", meant.display()));
                return Err(Diagnostic { help: help.map(Help::text).or(error.help.clone()), ..error }.into());
            }
            if self.is_root(&directory, selection.with_modules) {
                found.push(self.root_path(directory, false));
            } else {
                modules.push(directory);
            }
        }
        if !modules.is_empty() {
            found.extend(self.callers(&modules, selection.with_modules)?);
        }
        let list = distinct(found);
        let meant: HashSet<&PathBuf> = list.iter().filter_map(|root| root.canonical.as_ref()).collect();
        passed_over.retain(|directory, _| !meant.contains(directory));
        let (mut coverage, mut unlocked_units) = (Coverage::default(), Vec::new());
        for (directory, (kind, status)) in passed_over {
            coverage.add(kind, status);
            if status == RootStatus::NotLocked {
                unlocked_units.push(directory);
            }
        }
        if list.is_empty() {
            others.stacks = selection.paths().iter().flat_map(|path| self.stacks(path)).collect();
        }
        Ok(Roots { list, selection: selection.clone(), passed_over: coverage, unlocked_units, others })
    }

    /// Directories with files of Terraform's stacks, sorted, as the user knows them.
    fn stacks(&self, start: &Path) -> Vec<PathBuf> {
        let Ok(canonical) = self.canonical(start) else { return Vec::new() };
        let is_of_stack = |file: &DirEntry| {
            let name = file.file_name();
            STACK_FILES.iter().any(|end| name.as_encoded_bytes().ends_with(end.as_bytes()))
        };
        let found = Mutex::new(BTreeSet::new());
        walk::below(&canonical, |directory| {
            if directory.files.iter().any(is_of_stack) {
                let below = directory.path.strip_prefix(&canonical).unwrap_or(directory.path);
                lock(&found).insert(joined(start, below));
            }
            true
        });
        found.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().collect()
    }

    fn root_path(&self, path: PathBuf, is_named: bool) -> RootPath {
        let canonical = self.canonical(&path).ok();
        let unit = canonical.as_ref().and_then(|canonical| survey(canonical, &self.environment));
        let lock_directory = unit.and_then(|unit| unit.lock_directory);
        RootPath { lock_directory, is_named, ..RootPath::new(path, canonical) }
    }

    fn search(&self, start: &Path, with_modules: bool) -> Result<Found> {
        let (canonical, settings) = self.settings(start)?;
        let dialect = self.options.dialect.or(settings.dialect);
        let filter = Filter::new(&settings.roots)?;
        let with_modules = with_modules || settings.lock_modules == Some(true);
        let mut found = find_roots(self, (start, &canonical), &filter, dialect, with_modules)?;
        if let Some(change) = &self.options.change {
            let judged = |directory: &Path, is_touched| {
                let path = joined(start, directory.strip_prefix(&canonical).unwrap_or(directory));
                RootPath { is_policy_only: true, is_touched, ..RootPath::new(path, Some(directory.to_owned())) }
            };
            let own = found.roots.iter().filter(|root| root.lock_directory.is_none());
            let known: HashSet<_> = own.filter_map(|root| root.canonical.as_deref()).collect();
            let locked = change.locked_directories(&canonical, &filter).filter(|directory| !known.contains(directory));
            let locked: Vec<_> = locked.map(|directory| judged(directory, false)).collect();
            found.roots.extend(locked);
            let touched =
                change.touched_directories().into_iter().filter(|directory| directory.starts_with(&canonical));
            let touched = touched.filter(|directory| {
                let below = directory.strip_prefix(&canonical).unwrap_or(directory);
                let is_meant = filter.takes(directory) && !is_among_modules(below);
                let (shown, dialect) = (joined(start, below), dialect.unwrap_or_default());
                !found.read.contains(*directory) && self.is_judged(directory, &shown, dialect, is_meant)
            });
            found.roots.extend(touched.map(|directory| judged(directory, true)).collect::<Vec<_>>());
        }
        Ok(found)
    }

    /// Whether there is something to judge in a directory that the change touches. A template that cannot be read is
    /// nothing that the programs would run.
    fn is_judged(&self, directory: &Path, shown: &Path, dialect: Dialect, is_meant: bool) -> bool {
        if !directory.is_dir() {
            return false;
        }
        let module = self.modules.canonical_module(directory, shown, dialect);
        if module.diagnostics.is_empty() { terragrunt::is_unit(directory) || !module.is_empty() } else { is_meant }
    }

    /// The lock files that the change removes from the selected root modules.
    pub(super) fn removed<'a>(&self, selection: &Selection, change: &'a Change) -> Result<BTreeSet<&'a Path>> {
        let mut removed = BTreeSet::new();
        for path in selection.paths() {
            if selection.recursive && path.is_dir() {
                let (canonical, settings) = self.settings(path)?;
                let filter = Filter::new(&settings.roots)?;
                removed.extend(change.removed(|root| root.starts_with(&canonical) && filter.takes(root)));
            } else {
                let directory = if path.is_dir() { Some(path.as_path()) } else { path.parent() };
                let directory = directory.map(normal).and_then(|directory| self.canonical(&directory).ok());
                removed.extend(change.removed(|root| Some(root) == directory.as_deref()));
            }
        }
        Ok(removed)
    }

    /// The settings that hold in a directory.
    ///
    /// # Errors
    /// It cannot be opened, or settings cannot be read.
    pub fn settings_in(&self, directory: &Path) -> Result<Settings> {
        Ok(self.settings(directory)?.1)
    }

    /// The absolute path of a directory, and the settings that hold there.
    pub(super) fn settings(&self, directory: &Path) -> Result<(PathBuf, Settings)> {
        let canonical = self.canonical(directory)?;
        if self.modules.boundary.excludes(&canonical) {
            return Err(boundary::refused(directory).into());
        }
        let settings = self.settings_at(directory, &canonical)?;
        Ok((canonical, settings))
    }

    /// The error for a directory without a configuration, with one in directories below.
    pub(super) fn roots_elsewhere(&self, root: &RootModule) -> Option<Diagnostic> {
        if root.has_configuration(&self.modules) {
            return None;
        }
        let below = self.search(&root.path, false).ok()?.roots;
        let example = &below.iter().find(|other| other.path != root.path)?.path;
        let number = match below.len() {
            1 => "there is 1 root module below".to_owned(),
            number => format!("there are {number} root modules below"),
        };
        let message = format!("{} holds no configuration, but {number}", root.path.display());
        let help = Help::text("take all of them with ").and(Remedy::Recursive);
        let help = help.and_text(format!(", or name one, such as {}", example.display()));
        Some(Diagnostic::error(Code::NoConfiguration, message).help(help))
    }

    fn is_root(&self, directory: &Path, with_modules: bool) -> bool {
        let is_named = || {
            let (canonical, settings) = self.settings(directory).ok()?;
            let filter = Filter::new(&settings.roots).ok()?;
            Some(filter.names(&canonical) || filter.includes(&canonical))
        };
        let module = self.modules.module(directory, self.options.dialect.unwrap_or_default());
        is_root(&module, directory, with_modules) || is_named().unwrap_or(false)
    }

    /// The root modules below the current directory that use one of these modules. One whose configuration cannot be
    /// read counts: that is for the command to report.
    fn callers(&self, modules: &[PathBuf], with_modules: bool) -> Result<Vec<RootPath>> {
        let canonical: Vec<_> = modules.iter().filter_map(|module| self.canonical(module).ok()).collect();
        let mut roots = self.search(Path::new("."), with_modules)?.roots;
        roots.retain(|path| {
            let Ok(root) = self.open_root(path) else { return true };
            let read = root.requirements_with(&self.modules, false, true, None);
            read.map_or(true, |read| read.modules.iter().any(|module| canonical.contains(&module.canonical)))
        });
        Ok(roots)
    }
}

/// Whether a path that need not exist, because the change deletes it, is one of a file of a configuration.
fn is_configuration(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("tf" | "tofu" | "hcl" | "json"))
}
