//! Opening root modules.

use std::path::{Path, PathBuf};

use super::units::{OwnConfiguration, UnitsOfDirectory};
use crate::configuration::{Requirements, Resolver};
use crate::diagnostic::{Diagnostic, Result, collect_all};
use crate::lockfile::{self, LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME};
use crate::project::coverage::DirectoryKind;
use crate::project::event::Event;
use crate::project::root_module::locked_calls;
use crate::project::root_module::roots::{FoundRoot, Roots, kind_of, without_leading_dot};
use crate::project::root_module::unit::TerragruntUnit;
use crate::project::root_module::{DialectReason, MissingModules, OtherReading, RootModule};
use crate::project::session::Session;
use crate::provider::Dialect;
use crate::settings::{Settings, SettingsFiles};
use crate::system::{boundary, parallel};

/// Paths of the lock files of a root module.
struct LockFilePaths {
    /// As the user knows it.
    providers: PathBuf,
    /// As the user knows it.
    modules: PathBuf,
    /// Their directory, without symlinks.
    directory: PathBuf,
}

impl LockFilePaths {
    /// The lock files of a directory, given as the user knows it and without symlinks. A unit may
    /// have them in the directory of its module.
    fn of(path: &Path, canonical: &Path, unit: Option<&TerragruntUnit>) -> Self {
        let (shown, directory) = match unit.and_then(TerragruntUnit::lock_directory) {
            Some(of_module) => of_module,
            None => (path.to_owned(), canonical.to_owned()),
        };
        let providers = crate::project::join(&shown, Path::new(LOCK_FILE_NAME));
        let modules = providers.with_file_name(MODULE_LOCK_FILE_NAME);
        Self {
            providers,
            modules,
            directory,
        }
    }
}

impl Session<'_> {
    /// Reads the settings and the lock file of the root module in a directory, and detects its
    /// dialect.
    ///
    /// # Errors
    /// The directory cannot be opened, or the settings or the lock file cannot be read.
    pub fn open(&self, path: &Path) -> Result<RootModule> {
        let canonical = self.canonical(path)?;
        let kind = kind_of(self.tree(), &canonical);
        self.open_root(&FoundRoot::new(path.to_owned(), Some(canonical), kind))
    }

    /// [`Session::open`] in a dialect that the caller knows, so that none is detected, and with the
    /// root modules that share the lock file.
    ///
    /// # Errors
    /// The same as for [`Session::open`].
    pub(in crate::project) fn open_as(&self, path: &Path, dialect: Dialect) -> Result<RootModule> {
        let mut found = [self.root_in(without_leading_dot(path))];
        self.find_sharing(&mut found);
        self.note_cloud_host(&found[0]);
        Ok(RootModule {
            dialect,
            dialect_reason: DialectReason::Named,
            ..self.open_root(&found[0])?
        })
    }

    /// Opens root modules, several at a time, and applies `read` to each that may be read. Returns
    /// the results in the order of the list, each with the path of its root module.
    pub(in crate::project) fn each_root<T: Send>(
        &self,
        roots: &Roots,
        read: impl Fn(RootModule) -> Result<T> + Sync,
    ) -> Vec<(PathBuf, Result<T>)> {
        let roots = roots.list.iter().collect();
        parallel::map(roots, self.modules.threads(), |root: &FoundRoot| {
            let result = self.one_root(root, &read);
            let result = result.map_err(|errors| root.with_root_module(errors));
            (root.path.clone(), result)
        })
    }

    /// Opens a root module, and applies `read` to it if it may be read.
    fn one_root<T>(&self, root: &FoundRoot, read: impl Fn(RootModule) -> Result<T>) -> Result<T> {
        let mut opened = self.open_root(root)?;
        if let Some(refused) = opened.refused.take() {
            return Err(refused.into());
        }
        let canonical = opened.canonical.clone();
        let result = read(opened);
        // No other root module reads this directory, and there may be very many.
        self.modules.forget(&canonical);
        result
    }

    /// [`Session::each_root`] if `read` succeeds for all root modules, or else all errors.
    pub(in crate::project) fn every_root<T: Send>(
        &self,
        roots: &Roots,
        read: impl Fn(RootModule) -> Result<T> + Sync,
    ) -> Result<Vec<(PathBuf, T)>> {
        let results = self.each_root(roots, read).into_iter();
        collect_all(results.map(|(path, result)| Ok((path, result?))))
    }

    /// [`Session::open`] for a root module of a list.
    pub(in crate::project) fn open_root(&self, found: &FoundRoot) -> Result<RootModule> {
        let path = &found.path;
        let canonical = match &found.canonical {
            Some(canonical) => canonical.clone(),
            None => self.canonical(path)?,
        };

        // Nothing outside of the repository is read.
        let is_outside = self.modules.boundary.excludes(&canonical);
        let mut opened = UnitsOfDirectory::default();
        // A copied lock file is checked on its own.
        let is_copied = found.lock_name.is_some();
        if !is_outside && !is_copied {
            // A directory to which only the policy applies stands for no generated unit.
            let configuration = if found.is_policy_only() {
                OwnConfiguration::Present
            } else {
                OwnConfiguration::NotListed
            };
            opened = match found.kind {
                // The search listed the directory: it has no terragrunt.hcl.
                DirectoryKind::RootModule => self.generated_unit_in(&canonical, configuration),
                _ => self.units_in(path, &canonical, configuration),
            };
        }
        let mut paths = LockFilePaths::of(path, &canonical, opened.units.first());
        if let Some(name) = &found.lock_name {
            paths.providers.set_file_name(name);
        }
        let refused = if is_outside {
            Some(boundary::outside_error(path))
        } else {
            self.refused_link(found, &paths)
        };
        if refused.is_some() {
            opened = UnitsOfDirectory::default();
        }

        let mut found = found.clone();
        if !opened.units.is_empty() && !found.is_policy_only() {
            found.kind = DirectoryKind::Unit;
        }
        let mut root = RootModule {
            found,
            settings: Settings::default(),
            dialect: Dialect::default(),
            dialect_reason: DialectReason::Default,
            other_reading: OtherReading::Ignored,
            lock_path: paths.providers,
            lock_bytes: None,
            module_lock_path: paths.modules,
            module_lock_bytes: None,
            canonical,
            lock_directory: paths.directory,
            refused,
            data_directory: self.data_directory(),
            units: opened.units,
            unknown_unit: opened.unknown,
            has_more_copies: opened.has_more_copies,
            former_roots: Vec::new(),
        };
        // Of a root module outside of the repository, or with a link out of it, nothing is read.
        if root.refused.is_none() {
            root.lock_bytes = self.read_lock_file(&root)?;
            if !is_copied && self.tree().has(&root.module_lock_path) {
                root.module_lock_bytes = lockfile::read_in(self.tree(), &root.module_lock_path)?;
            }
            root.settings = self.settings_at(path, &root.canonical)?;
            for other in root.found.sharing_providers() {
                let settings = self.settings_at(&other.path, &other.canonical)?;
                root.settings.add_sharing(settings);
            }
        }

        if let Some(unit) = root.units.first()
            && self.may_hide_files(unit, &root.canonical)
        {
            root.former_roots.push(path.clone());
        }
        root.former_roots.extend(root.found.former_root.clone());
        for other in root.found.sharing_units() {
            let opened = self.units_in(&other.path, &other.canonical, OwnConfiguration::Present);
            root.units.extend(opened.units);
            root.has_more_copies |= opened.has_more_copies;
        }
        self.decide_dialect(&mut root);
        Ok(root)
    }

    /// The error for a lock file that is a link out of the repository.
    fn refused_link(&self, found: &FoundRoot, paths: &LockFilePaths) -> Option<Diagnostic> {
        let is_own_directory = found.canonical.as_ref() == Some(&paths.directory);
        if found.listed_lock_files.is_some() && found.lock_name.is_none() && is_own_directory {
            // The search saw that they are no links.
            return None;
        }
        for path in [&paths.providers, &paths.modules] {
            if self.modules.boundary.is_link_to_outside(path) {
                return Some(boundary::outside_error(path));
            }
        }
        None
    }

    fn read_lock_file(&self, root: &RootModule) -> Result<Option<Vec<u8>>> {
        // Git has read the file already if it is unchanged.
        if let Some(change) = &self.options.change
            && root.found.lock_name.is_none()
            && let Some(bytes) = change.unchanged_content(&root.lock_directory.join(LOCK_FILE_NAME))
        {
            return Ok(Some(bytes.to_vec()));
        }
        lockfile::read_in(self.tree(), &root.lock_path)
    }

    /// Whether the change under review makes a directory a unit, so that files of its root module
    /// may no longer be read.
    fn may_hide_files(&self, unit: &TerragruntUnit, canonical: &Path) -> bool {
        let Some(change) = &self.options.change else {
            return false;
        };
        change.had_no_unit(canonical)
            && (change.had_configuration(canonical) || !unit.loads_own_files(&self.modules))
    }

    fn data_directory(&self) -> PathBuf {
        match self.environment.path_variable("TF_DATA_DIR") {
            Some(directory) => directory,
            None => PathBuf::from(".terraform"),
        }
    }

    /// Decides the dialect of a root module, and how a change under review is checked by the rules
    /// of the other one. The user or the settings decide first, then the base revision, then the
    /// lock file, then other files.
    fn decide_dialect(&self, root: &mut RootModule) {
        let mut chosen = None;
        if let Some(dialect) = self.options.dialect {
            chosen = Some((dialect, DialectReason::Named));
        } else if let Some(dialect) = root.settings.dialect {
            chosen = Some((dialect, DialectReason::Settings));
        }
        let mut at_base = None;
        if chosen.is_none() {
            at_base = self.dialect_before(&root.lock_directory);
        }
        let is_migrated = at_base.is_some() && self.is_migrated(root);
        let is_new = match &self.options.change {
            Some(change) if at_base.is_some() => {
                change.is_new_directory(&root.canonical)
                    && change.is_new_directory(&root.lock_directory)
            }
            _ => false,
        };

        // A change does not choose the dialect by its lock file, unless the root module is new or
        // moves to the tool of other root modules.
        let mut known = chosen;
        if known.is_none() && !is_new && !is_migrated {
            known = at_base;
        }
        if known.is_none()
            && let Some(bytes) = &root.lock_bytes
            && let Some(dialect) = lockfile::detect_dialect(bytes)
        {
            known = Some((dialect, DialectReason::LockFile));
        }
        let (dialect, dialect_reason) = match known.or(at_base) {
            Some(known) => known,
            None if root.refused.is_some() => (Dialect::default(), DialectReason::Default),
            None => self.detect_dialect(&root.canonical),
        };
        root.dialect = dialect;
        root.dialect_reason = dialect_reason;

        if is_migrated {
            // Files that only one of the tools reads must not hide the others.
            root.other_reading = OtherReading::MeetsPolicy;
            return;
        }
        root.other_reading = match chosen.or(at_base) {
            // A new root module whose lock file is not for the tool of the others.
            Some((dialect_at_base, _)) if is_new && dialect_at_base != dialect => {
                OtherReading::IsLocked
            }
            // Neither the machine nor words in other files have decided.
            Some((_, reason)) if !reason.is_guess() || reason == DialectReason::OtherLockFiles => {
                OtherReading::Ignored
            }
            _ if self.options.change.is_some() => OtherReading::MeetsPolicy,
            _ => OtherReading::Ignored,
        };
    }

    /// Whether the change under review moves a root module to the tool for which other root modules
    /// of the base are locked.
    fn is_migrated(&self, root: &RootModule) -> bool {
        let (Some(change), Some(bytes)) = (&self.options.change, &root.lock_bytes) else {
            return false;
        };
        let path = root.lock_directory.join(LOCK_FILE_NAME);
        let before = change.file_before(&path).and_then(lockfile::detect_dialect);
        let now = lockfile::detect_dialect(bytes);
        if now.is_none() || before == now {
            return false;
        }
        let mut lock_files = change.base_lock_files();
        lock_files.any(|(_, bytes)| lockfile::detect_dialect(bytes) == now)
    }

    /// Returns the requirements of a root module's configuration, as far as its modules are
    /// present.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub fn requirements(&self, root: &RootModule, ignore_tests: bool) -> Result<Requirements> {
        if root.refused.is_none()
            && let Some(error) = self.only_stack_error(root)
        {
            return Err(error.into());
        }
        self.notify(Event::Reading);
        let requirements = self.requirements_of(root, ignore_tests);
        self.notify_at_end();
        requirements
    }

    /// [`Session::requirements`] for one of several.
    pub(in crate::project) fn requirements_of(
        &self,
        root: &RootModule,
        ignore_tests: bool,
    ) -> Result<Requirements> {
        let following = locked_calls::following_own(root);
        let resolver = following.as_ref().map(|resolve| resolve as &Resolver<'_>);
        root.requirements_with(
            &self.modules,
            ignore_tests,
            MissingModules::Allowed,
            resolver,
        )
    }

    /// The absolute path of a directory, without symbolic links.
    pub(in crate::project) fn canonical(&self, directory: &Path) -> Result<PathBuf> {
        let absolute = self.environment.current_directory.join(directory);
        let canonical = self.tree().canonicalize(&absolute);
        Ok(canonical.map_err(|error| Diagnostic::io("open", directory, &error))?)
    }

    /// Returns the settings of a directory whose absolute path is known: the caller's, or else the
    /// settings above it.
    pub(in crate::project) fn settings_at(
        &self,
        directory: &Path,
        canonical: &Path,
    ) -> Result<Settings> {
        if let Some(settings) = &self.options.settings {
            return Ok(settings.clone());
        }
        // A change is judged by the approved settings of its base.
        let files = match &self.options.change {
            Some(change) => SettingsFiles::Committed {
                top: &change.top,
                files: &change.settings,
            },
            None => self.settings_on_disk(),
        };
        let shown = |path: &Path| match path.strip_prefix(canonical) {
            Ok(below) => crate::project::join(directory, below),
            Err(_) => self.environment.shown_path(path),
        };
        let settings = Settings::find(canonical, files, &self.repositories.settings, &shown)?;
        // Another user could loosen the policy in a directory above, so that such a file is not
        // read.
        for path in &settings.of_other_users {
            if self.is_first_notice(format!("settings {}", path.display())) {
                self.notify(Event::SettingsOfOtherUser(
                    &self.environment.shown_path(path),
                ));
            }
        }
        Ok(settings)
    }

    /// The settings files in the working tree.
    pub(in crate::project) fn settings_on_disk(&self) -> SettingsFiles<'_> {
        SettingsFiles::OnDisk {
            boundary: &self.modules.boundary,
            home: self.home.as_deref(),
        }
    }
}
