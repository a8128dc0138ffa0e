//! From paths to root modules.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::configuration::ModuleCache;
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Result};
use crate::lockfile::{self, LOCK_FILE_NAME};
use crate::provider::Dialect;
use crate::settings::{Settings, SettingsFiles};
use crate::system::boundary::refused;
use crate::system::{Environment, canonicalize};

use super::Workspace;
use super::change::Change;
use super::dialect::{DialectReason, Surroundings};
use super::discover::{Filter, RootSearch, find_roots, is_root, joined};
use super::repository::Repositories;
use super::unit::Unit;

/// A root module that paths mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedRoot {
    /// Its directory, as the user knows it.
    pub path: PathBuf,
    /// Whether a path is just this directory, and not one above it or a file.
    pub is_named: bool,
}

/// What paths are turned into root modules with.
#[derive(Clone, Copy)]
pub struct RootSelection<'a> {
    /// Directories of root modules, or files in them; the current directory when empty.
    pub paths: &'a [PathBuf],
    /// Whether directories stand for all root modules below them.
    pub recursive: bool,
    /// The dialect, if the caller names it; else it is detected.
    pub dialect: Option<Dialect>,
    /// The surroundings.
    pub environment: &'a Environment,
    /// The modules that were read.
    pub modules: &'a ModuleCache,
    /// What is known of the repositories that they are in.
    pub repositories: &'a Repositories,
    /// The change that is judged, if one is.
    pub change: Option<&'a Change>,
    /// The settings that hold in place of those that are found on disk or in the change.
    pub settings: Option<&'a Settings>,
}

impl Workspace {
    /// Reads the settings and the lock file of the root module in a directory, and detects its dialect.
    pub fn open(root: &Path, environment: &Environment) -> Result<Self> {
        Self::open_as(root, None, environment)
    }

    /// One of which nothing is read, since its directory or lock file leads out of the repository.
    fn refused(root: &Path, dialect: Option<Dialect>, refused: Diagnostic) -> Self {
        Self {
            root: root.to_owned(),
            settings: Settings::default(),
            dialect: dialect.unwrap_or_default(),
            dialect_reason: DialectReason::Default,
            lock_path: super::join(root, Path::new(LOCK_FILE_NAME)),
            lock_bytes: None,
            refused: Some(refused),
            canonical: PathBuf::new(),
            data_directory: PathBuf::new(),
            unit: None,
        }
    }

    /// [`Workspace::open`], where the caller may name the dialect.
    pub fn open_as(root: &Path, dialect: Option<Dialect>, environment: &Environment) -> Result<Self> {
        let (modules, repositories) = (ModuleCache::default(), Repositories::default());
        let selection = RootSelection::new(&[], environment, &modules, &repositories);
        RootSelection { dialect, ..selection }.open(root)
    }
}

impl<'a> RootSelection<'a> {
    /// The root modules that the paths name, with a dialect that is detected and the settings that are found.
    pub fn new(
        paths: &'a [PathBuf],
        environment: &'a Environment,
        modules: &'a ModuleCache,
        repositories: &'a Repositories,
    ) -> Self {
        let (recursive, dialect, change, settings) = (false, None, None, None);
        Self { paths, recursive, dialect, environment, modules, repositories, change, settings }
    }
}

impl RootSelection<'_> {
    /// Reads the settings and the lock file of a root module, and detects its dialect.
    pub fn open(&self, root: &Path) -> Result<Workspace> {
        let lock_path = super::join(root, Path::new(LOCK_FILE_NAME));
        let canonical = super::absolute(root, self.environment)?;
        let boundary = &self.modules.boundary;
        let outside = boundary.excludes(&canonical).then_some(root);
        if let Some(outside) = outside.or_else(|| boundary.is_link_out(&lock_path).then_some(&*lock_path)) {
            return Ok(Workspace::refused(root, self.dialect, refused(outside)));
        }
        let settings = self.settings_at(root, &canonical)?;
        let lock_bytes = lockfile::read(&lock_path)?;
        let (dialect, dialect_reason) = if let Some(dialect) = self.dialect {
            (dialect, DialectReason::Named)
        } else if let Some(dialect) = settings.dialect {
            (dialect, DialectReason::Settings)
        } else if let Some(dialect) = lock_bytes.as_deref().and_then(lockfile::detect_dialect) {
            (dialect, DialectReason::LockFile)
        } else {
            let Self { environment, modules, repositories, .. } = *self;
            Surroundings { canonical: &canonical, shown: root, environment, repositories, modules }.dialect()
        };
        let data_directory = self.environment.path_variable("TF_DATA_DIR").unwrap_or_else(|| ".terraform".into());
        let unit = Unit::open(root, &canonical, self.environment);
        Ok(Workspace {
            root: root.to_owned(),
            settings,
            dialect,
            dialect_reason,
            lock_path,
            lock_bytes,
            canonical,
            refused: None,
            data_directory,
            unit,
        })
    }

    /// The root modules that the paths mean, sorted, each once. A directory is a root module; a file stands for the root
    /// module that it is in, or for those that call the module it is in. Without paths it is the current directory.
    pub fn roots(&self) -> Result<Vec<SelectedRoot>> {
        let mut roots = Vec::new();
        let mut named = Vec::new();
        let mut modules = Vec::new();
        for path in self.paths().iter() {
            if path.is_dir() {
                let directory = normal(path);
                if self.recursive {
                    roots.extend(self.search(&directory)?);
                } else {
                    named.push(directory);
                }
                continue;
            }
            let directory = path.parent().map(normal).unwrap_or_default();
            let is_meant = path.exists() || (is_configuration(path) && directory.is_dir());
            if !is_meant {
                // What the system says, if nothing has come there since.
                let error = path.metadata().err().unwrap_or_else(|| ErrorKind::NotFound.into());
                return Err(Diagnostic::io("open", path, &error).into());
            }
            if self.is_root(&directory) { roots.push(directory) } else { modules.push(directory) }
        }
        if !modules.is_empty() {
            roots.extend(self.callers(&modules)?);
        }
        let found = roots.into_iter().map(|path| SelectedRoot { path, is_named: false });
        let named = named.into_iter().map(|path| SelectedRoot { path, is_named: true });
        let mut roots: Vec<_> = named.chain(found).collect();
        roots.sort_by(|one, other| one.path.cmp(&other.path));
        roots.dedup_by(|one, other| one.path == other.path);
        Ok(roots)
    }

    /// The paths; without any the current directory is meant.
    fn paths(&self) -> Cow<'_, [PathBuf]> {
        if self.paths.is_empty() { Cow::Owned(vec![PathBuf::from(".")]) } else { Cow::Borrowed(self.paths) }
    }

    fn search(&self, start: &Path) -> Result<Vec<PathBuf>> {
        let (canonical, settings) = self.settings(start)?;
        let dialect = self.dialect.or(settings.dialect);
        let filter = Filter::new(&settings.roots)?;
        let search = RootSearch { start, filter: &filter, dialect, environment: self.environment };
        let mut roots = find_roots(&search, self.modules)?;
        if let Some(change) = self.change {
            let below = |directory: &Path| joined(start, directory.strip_prefix(&canonical).unwrap_or(directory));
            roots.extend(change.locked_directories(&canonical, &filter).map(below));
        }
        Ok(roots)
    }

    /// What the change removes from below the directories that stand for all root modules in them.
    pub(super) fn removed(&self, change: &Change) -> Result<Vec<Diagnostic>> {
        let mut removed = Vec::new();
        for start in self.paths().iter().filter(|path| self.recursive && path.is_dir()) {
            let (canonical, settings) = self.settings(start)?;
            removed.extend(change.removed(&canonical, &Filter::new(&settings.roots)?, self.environment));
        }
        Ok(removed)
    }

    /// The absolute path of a directory, and the settings that hold there.
    fn settings(&self, directory: &Path) -> Result<(PathBuf, Settings)> {
        let canonical = super::absolute(directory, self.environment)?;
        if self.modules.boundary.excludes(&canonical) {
            return Err(refused(directory).into());
        }
        let settings = self.settings_at(directory, &canonical)?;
        Ok((canonical, settings))
    }

    /// The settings of a directory whose absolute path is known: those that the caller names, else those that are found.
    fn settings_at(&self, directory: &Path, canonical: &Path) -> Result<Settings> {
        if let Some(settings) = self.settings {
            return Ok(settings.clone());
        }
        let files = self.change.map_or(SettingsFiles::OnDisk(&self.modules.boundary), Change::settings_files);
        super::settings(directory, canonical, files, &self.repositories.settings, self.environment)
    }

    /// The error for a directory without a configuration, with one in directories below.
    pub(super) fn roots_elsewhere(&self, workspace: &Workspace) -> Option<Diagnostic> {
        if workspace.has_configuration(self.modules) {
            return None;
        }
        let below = self.search(&workspace.root).ok()?;
        let example = below.iter().find(|root| **root != workspace.root)?;
        let number = match below.len() {
            1 => "there is 1 root module below".to_owned(),
            number => format!("there are {number} root modules below"),
        };
        let message = format!("{} holds no configuration, but {number}", workspace.root.display());
        let help = Help::text("take all of them with ").and(Remedy::Recursive);
        let help = help.and_text(format!(", or name one, such as {}", example.display()));
        Some(Diagnostic::error(Code::NoConfiguration, message).help(help))
    }

    fn is_root(&self, directory: &Path) -> bool {
        let is_named = || {
            let (canonical, settings) = self.settings(directory).ok()?;
            Some(Filter::new(&settings.roots).ok()?.names(&canonical))
        };
        let module = self.modules.module(directory, self.dialect.unwrap_or_default());
        is_root(&module, directory) || is_named().unwrap_or(false)
    }

    /// The root modules below the current directory that use one of these modules. One whose configuration cannot be read
    /// counts: that is for the command to report.
    fn callers(&self, modules: &[PathBuf]) -> Result<Vec<PathBuf>> {
        let canonical: Vec<_> = modules.iter().filter_map(|module| canonicalize(module).ok()).collect();
        let mut roots = self.search(Path::new("."))?;
        roots.retain(|root| {
            let Ok(workspace) = self.open(root) else { return true };
            let read = workspace.requirements(false, true, self.modules);
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

/// A directory as it is shown: without a needless `.` in front.
fn normal(directory: &Path) -> PathBuf {
    let below = directory.strip_prefix(".").unwrap_or(directory);
    if below.as_os_str().is_empty() { PathBuf::from(".") } else { below.components().collect() }
}
