//! Opening root modules.

use std::path::{Path, PathBuf};

use super::change::Change;
use super::event::Event;
use super::module_locks;
use super::root_module::{DialectReason, OtherReading, RootModule};
use super::roots::{RootPath, Roots};
use super::session::Session;
use super::unit::Unit;
use crate::configuration::{Requirements, Resolver};
use crate::diagnostic::{Diagnostic, Result};
use crate::lockfile::{self, LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME};
use crate::provider::Dialect;
use crate::settings::{Settings, SettingsFiles};
use crate::system::{boundary, canonicalize, parallel};

impl Session<'_> {
    /// Reads the settings and the lock file of the root module in a directory, and detects its dialect.
    ///
    /// # Errors
    /// The directory cannot be opened, or the settings or the lock file cannot be read.
    pub fn open(&self, path: &Path) -> Result<RootModule> {
        self.open_at(path, self.canonical(path)?, true)
    }

    /// [`Session::open`] in a dialect that the caller knows, so that none is detected.
    ///
    /// # Errors
    /// Those of [`Session::open`].
    pub fn open_as(&self, path: &Path, dialect: Dialect) -> Result<RootModule> {
        Ok(RootModule { dialect, dialect_reason: DialectReason::Named, ..self.open(path)? })
    }

    /// [`Session::open`] for one of several.
    pub(super) fn open_root(&self, root: &RootPath) -> Result<RootModule> {
        let mut opened = match &root.canonical {
            Some(canonical) => self.open_at(&root.path, canonical.clone(), root.is_unit)?,
            None => self.open(&root.path)?,
        };
        let sharing = root.sharing.iter();
        opened.units.extend(sharing.filter_map(|(path, canonical)| Unit::open(path, canonical, &self.environment)));
        opened.stays.extend(root.stays.clone());
        Ok(opened)
    }

    /// Opens root modules, several at a time, and applies `read` to those that may be read. What becomes of each, in
    /// their order, with its path.
    pub(super) fn each_root<T: Send>(
        &self,
        roots: &Roots,
        read: impl Fn(&RootPath, RootModule) -> Result<T> + Sync,
    ) -> Vec<(PathBuf, Result<T>)> {
        let read = |root: &RootPath| {
            let done = self.open_root(root).and_then(|opened| match opened.refused {
                Some(refused) => Err(refused.into()),
                None => read(root, opened),
            });
            (root.path.clone(), done.map_err(|errors| root.name(roots.are_many(), errors)))
        };
        parallel::map(roots.list.iter().collect(), self.modules.threads(), read)
    }

    fn open_at(&self, path: &Path, canonical: PathBuf, may_be_unit: bool) -> Result<RootModule> {
        let limit = &self.modules.boundary;
        let outside = limit.excludes(&canonical).then_some(path);
        let unit =
            if may_be_unit && outside.is_none() { Unit::open(path, &canonical, &self.environment) } else { None };
        let (lock_path, lock_directory) = match unit.as_ref().and_then(Unit::lock_directory) {
            Some((shown, directory)) => (super::join(&shown, Path::new(LOCK_FILE_NAME)), directory),
            None => (super::join(path, Path::new(LOCK_FILE_NAME)), canonical.clone()),
        };
        let outside = outside.or_else(|| limit.is_link_out(&lock_path).then_some(&*lock_path));
        let module_lock_path = lock_path.with_file_name(MODULE_LOCK_FILE_NAME);
        let has_modules = module_lock_path.symlink_metadata().is_ok();
        let is_link_out = || has_modules && limit.is_link_out(&module_lock_path);
        let outside = outside.or_else(|| is_link_out().then_some(&*module_lock_path));
        let refused = outside.map(boundary::refused);
        let (settings, lock_bytes, module_lock_bytes) = if refused.is_some() {
            (Settings::default(), None, None)
        } else {
            let unchanged = self.options.change.as_ref();
            let unchanged = unchanged.and_then(|change| change.unchanged(&lock_directory.join(LOCK_FILE_NAME)));
            let lock_bytes = match unchanged {
                Some(bytes) => Some(bytes.to_vec()),
                None => lockfile::read(&lock_path)?,
            };
            let module_lock_bytes = if has_modules { lockfile::read(&module_lock_path)? } else { None };
            (self.settings_at(path, &canonical)?, lock_bytes, module_lock_bytes)
        };
        let named = self.options.dialect.map(|dialect| (dialect, DialectReason::Named));
        let named = named.or_else(|| Some((settings.dialect?, DialectReason::Settings)));
        let before = named.is_none().then(|| self.dialect_before(&lock_directory)).flatten();
        let of_lock_file = lock_bytes.as_deref().and_then(lockfile::detect_dialect);
        let is_new = |change: &Change| change.is_new(&canonical) && change.is_new(&lock_directory);
        let is_new = before.is_some() && self.options.change.as_ref().is_some_and(is_new);
        let (dialect, dialect_reason) = if let Some(known) = named.or(before.filter(|_| !is_new)) {
            known
        } else if let Some(dialect) = of_lock_file {
            (dialect, DialectReason::LockFile)
        } else if let Some(known) = before {
            known
        } else if refused.is_some() {
            (Dialect::default(), DialectReason::Default)
        } else {
            self.detect_dialect(&canonical)
        };
        let is_told = |(_, reason): (_, DialectReason)| !reason.is_guess() || reason == DialectReason::OtherLockFiles;
        let other_reading = match named.or(before) {
            Some((of_base, _)) if is_new && of_base != dialect => OtherReading::IsLocked,
            known if self.options.change.is_some() && !known.is_some_and(is_told) => OtherReading::MeetsPolicy,
            _ => OtherReading::Ignored,
        };
        let hides_files = |change: &Change, unit: &Unit| {
            change.makes_unit(&canonical)
                && (change.had_configuration(&canonical) || !unit.loads_own_files(&self.modules))
        };
        let may_hide_files =
            self.options.change.as_ref().zip(unit.as_ref()).is_some_and(|(change, unit)| hides_files(change, unit));
        Ok(RootModule {
            path: path.to_owned(),
            stays: may_hide_files.then(|| path.to_owned()).into_iter().collect(),
            settings,
            dialect,
            dialect_reason,
            other_reading,
            lock_path,
            lock_bytes,
            module_lock_path,
            module_lock_bytes,
            data_directory: self.environment.path_variable("TF_DATA_DIR").unwrap_or_else(|| ".terraform".into()),
            units: unit.filter(|_| refused.is_none()).into_iter().collect(),
            canonical,
            lock_directory,
            refused,
        })
    }

    /// What the configuration of a root module requires, as far as its modules are there.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub fn requirements(&self, root: &RootModule, ignore_tests: bool) -> Result<Requirements> {
        self.notify(Event::Reading);
        let requirements = self.requirements_of(root, ignore_tests);
        self.finish();
        requirements
    }

    /// [`Session::requirements`] for one of several.
    pub(super) fn requirements_of(&self, root: &RootModule, ignore_tests: bool) -> Result<Requirements> {
        let modules = root.locks_modules(false).then(|| root.parsed_module_lock_file());
        let following = modules.as_ref().map(module_locks::following);
        let resolver = following.as_ref().map(|resolve| resolve as &Resolver<'_>);
        root.requirements_with(&self.modules, ignore_tests, true, resolver)
    }

    /// The absolute path of a directory, without symbolic links.
    pub(super) fn canonical(&self, directory: &Path) -> Result<PathBuf> {
        let absolute = self.environment.current_directory.join(directory);
        Ok(canonicalize(&absolute).map_err(|error| Diagnostic::io("open", directory, &error))?)
    }

    /// The settings of a directory whose absolute path is known: those that the caller names, else those that are
    /// found.
    pub(super) fn settings_at(&self, directory: &Path, canonical: &Path) -> Result<Settings> {
        if let Some(settings) = &self.options.settings {
            return Ok(settings.clone());
        }
        let files = match &self.options.change {
            Some(change) => change.settings_files(),
            None => SettingsFiles::OnDisk(&self.modules.boundary),
        };
        let shown = |path: &Path| match path.strip_prefix(canonical) {
            Ok(below) => super::join(directory, below),
            Err(_) => self.environment.shown(path),
        };
        Settings::find(canonical, files, &self.repositories.settings, &shown)
    }
}
