//! Finds called modules by a lock file of modules, and records what each call leads to.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::caller::Calling;
use super::locked_calls::{
    CallToLock, InstalledAt, LockedCalls, LockedPackage, LockingMode, ModuleLocking, ModuleRecord,
};
use super::missing::Reason;
use super::module_cache::ModuleCache;
use super::moving_call::{MovingCall, Wanted};
use super::planned_module::ModuleUpgrades;
use super::root::ModulePath;
use super::tree::Walk;
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Result};
use crate::lockfile::{self, LockedModule};
use crate::modules::ModuleSource;
use crate::modules::fetched::{FetchedModule, ModuleRequest};
use crate::modules::locked;
use crate::provider::{ConstraintList, Dialect};
use crate::system::files::join;
use crate::system::{Secrets, canonicalize, links};

impl Walk<'_> {
    /// Notes a call that should be locked, and returns the path of its module in the locked package; none if that must
    /// be fetched first, or is not what is locked. Continues where it is not locked, or its package is not here.
    pub(super) fn followed(
        &mut self,
        calling: &Calling<'_>,
        wanted: &Wanted,
    ) -> ControlFlow<Option<(ModulePath, InstalledAt)>> {
        let Some(locking) = self.locking else { return ControlFlow::Continue(()) };
        let (Calling { caller, call, key }, Wanted { source, constraints, .. }) = (calling, wanted);
        self.locked.calls.push(CallToLock {
            key: (*key).to_owned(),
            source: source.clone(),
            constraints: constraints.clone(),
            location: call.location.clone(),
            entry: caller.entry.cloned(),
        });
        let known = locking.locks.get(*key).filter(|known| locked::is_allowed(known, source, constraints));
        let is_named_by_others = caller.entry.is_some();
        let is_refused =
            matches!(source, ModuleSource::Remote(source) if self.cache.refuses(source, is_named_by_others));
        let Some(known) = known.filter(|_| !is_refused) else { return ControlFlow::Continue(()) };
        let request = ModuleRequest::Locked { source: source.clone(), locked: Arc::clone(known), may_change: false };
        let Some(fetched) = self.fetched(source, request) else { return ControlFlow::Break(None) };
        match fetched {
            Ok(None) => ControlFlow::Continue(()),
            Ok(Some(module)) => {
                let at = self.options.data_directory.join("modules").join(key);
                ControlFlow::Break(Some(self.found(source, key, at, module)))
            }
            // Whoever follows the lock file says why.
            Err(_) => {
                self.missing.add(calling, Reason::NotInstalled(source.to_string()));
                ControlFlow::Break(None)
            }
        }
    }

    /// The path of a module of another package that is locked, or is to be.
    pub(super) fn locked(&mut self, calling: &Calling<'_>, wanted: &Wanted) -> Option<(ModulePath, InstalledAt)> {
        let (locking, key, wanted) = (self.locking?, calling.key, wanted.clone());
        // The path becomes the name of a directory.
        if key.contains(['/', '\\', '\0']) || key.starts_with('.') {
            let message = format!("module \"{key}\" has a name that cannot be that of a directory");
            self.errors.push(calling.error(Code::InvalidConfiguration, message));
            return None;
        }
        let known = locking.locks.get(key);
        let dialect = self.options.dialect;
        if let LockingMode::Pin { with_registry } = locking.mode {
            let rules = &ModuleUpgrades::default();
            self.pin(&MovingCall { calling: *calling, wanted, known, rules, dialect }, with_registry);
            return None;
        }
        let wanted = match locking.upgrades.as_ref().filter(|upgrades| upgrades.selects(key)) {
            Some(rules) => self.moved(&MovingCall { calling: *calling, wanted, known, rules, dialect })?,
            None => wanted,
        };
        if matches!(locking.mode, LockingMode::Lock { .. }) && Secrets::may_be_in(&wanted.source.recorded()) {
            self.errors.push(would_hold_secret(calling));
            return None;
        }
        self.obtained(calling, &wanted, locking.mode, known)
    }

    /// [`Walk::locked`] once it is decided what is wanted.
    fn obtained(
        &mut self,
        calling: &Calling<'_>,
        wanted: &Wanted,
        mode: LockingMode,
        known: Option<&Arc<LockedModule>>,
    ) -> Option<(ModulePath, InstalledAt)> {
        let (Wanted { source, constraints, .. }, key) = (wanted, calling.key);
        let allowed = known.filter(|known| wanted.is_locked(known)).cloned();
        let at = self.options.data_directory.join("modules").join(key);
        let package = |locked: &Arc<LockedModule>, top, is_installed| {
            let (locked, source) = (Arc::clone(locked), source.clone());
            LockedPackage { key: key.to_owned(), top, is_installed, locked, source }
        };
        let request = match (mode, &allowed) {
            (LockingMode::Lock { may_change }, Some(known)) => {
                ModuleRequest::Locked { source: source.clone(), locked: Arc::clone(known), may_change }
            }
            (LockingMode::Lock { .. }, None) => {
                let exactly = wanted.version.as_ref().map(ConstraintList::exactly);
                let constraints = exactly.unwrap_or_else(|| constraints.clone());
                ModuleRequest::new(source.clone(), constraints)?.into_request_to_lock()
            }
            (_, None) => {
                let error = not_locked(calling, (source, constraints), known.map(AsRef::as_ref));
                self.errors.push(error);
                return None;
            }
            (_, Some(known)) => {
                let fetcher = self.cache.fetcher.as_ref();
                let module = fetcher.and_then(|fetcher| fetcher.installed(&join(self.root, &at), source, known));
                if module.is_some() || mode == LockingMode::Compare {
                    let top = module.as_ref().map(FetchedModule::top);
                    self.locked.packages.push(package(known, top, module.is_some()));
                    return module.map(|module| self.found(source, key, at, module));
                }
                ModuleRequest::Locked { source: source.clone(), locked: Arc::clone(known), may_change: false }
            }
        };
        match self.fetched(source, request)? {
            Ok(Some(module)) => {
                let locked = entry(allowed.as_deref(), source, constraints, &module)?;
                if Secrets::may_be_in(&locked.package) {
                    self.errors.push(would_hold_secret(calling));
                    return None;
                }
                let locked = Arc::new(locked);
                self.locked.locks.insert(key.to_owned(), Arc::clone(&locked));
                self.locked.packages.push(package(&locked, Some(module.top()), false));
                return Some(self.found(source, key, at, module));
            }
            Ok(None) => self.missing.add(calling, Reason::NotInstalled(source.to_string())),
            Err(errors) => self.not_fetched(calling, errors),
        }
        None
    }

    fn found(
        &mut self,
        source: &ModuleSource,
        key: &str,
        package: PathBuf,
        module: FetchedModule,
    ) -> (ModulePath, InstalledAt) {
        let directory = join(&package, module.directory());
        self.locked.records.push(ModuleRecord {
            key: key.to_owned(),
            source: source.installed(),
            version: module.version().filter(|_| matches!(source, ModuleSource::Registry(_))).cloned(),
            directory: directory.clone(),
        });
        (ModulePath::Package(module), InstalledAt { directory, package: Some(package) })
    }

    /// Records a call of a local module, and returns where it is.
    pub(super) fn record_local(&mut self, calling: &Calling<'_>, place: &ModulePath, source: &str) -> InstalledAt {
        if self.locking.is_none() {
            return InstalledAt::root();
        }
        let Calling { caller, key, .. } = calling;
        let package = caller.at.package.clone();
        let directory = match (place, &package) {
            (ModulePath::Package(module), Some(package)) => {
                let below = || -> Option<PathBuf> {
                    let path = canonicalize(module.path().ok()?).ok()?;
                    Some(path.strip_prefix(canonicalize(module.top()).ok()?).ok()?.to_owned())
                };
                join(package, below().unwrap_or_else(|| PathBuf::from(module.directory())))
            }
            _ => without_links(self.root, &join(&caller.at.directory, source)),
        };
        self.record_path(key, source, &directory);
        InstalledAt { directory, package }
    }

    /// Records a call by a directory of the package that is installed, or belongs, in `package`.
    pub(super) fn record_installed(
        &mut self,
        calling: &Calling<'_>,
        source: &str,
        package: Option<PathBuf>,
        below: &str,
    ) -> InstalledAt {
        let Some(package) = package else { return InstalledAt::root() };
        let directory = join(&package, below);
        self.record_path(calling.key, source, &directory);
        InstalledAt { directory, package: Some(package) }
    }

    fn record_path(&mut self, key: &str, source: &str, directory: &Path) {
        let source = ModuleSource::Local(source.to_owned()).installed();
        let (key, directory) = (key.to_owned(), directory.to_owned());
        self.locked.records.push(ModuleRecord { key, source, version: None, directory });
    }
}

impl ModuleLocking {
    /// Finds the module that the source of a unit names, as [`Walk`] does those of calls. None if it is not here, or
    /// may not be fetched.
    pub(crate) fn module_of_unit(
        &self,
        call: CallToLock,
        dialect: Dialect,
        cache: &ModuleCache,
        found: &mut LockedCalls,
    ) -> Result<Option<FetchedModule>> {
        let CallToLock { key, source, constraints, .. } = &call;
        let Some(request) = ModuleRequest::new(source.clone(), constraints.clone()) else { return Ok(None) };
        let is_refused = request.remote().is_some_and(|remote| cache.refuses(remote, false));
        let known = self.locks.get(key).filter(|known| locked::is_allowed(known, source, constraints) && !is_refused);
        let may_change = self.mode == LockingMode::Lock { may_change: true };
        let locked = known.map(|known| {
            let (source, locked) = (source.clone(), Arc::clone(known));
            ModuleRequest::Locked { source, locked, may_change }
        });
        if self.mode == LockingMode::Follow {
            found.calls.push(call);
            return match locked.map_or(Ok(None), |locked| cache.fetched(dialect, &locked)) {
                Ok(None) => cache.fetched(dialect, &request),
                // Whoever follows the lock file says why.
                followed => Ok(followed.ok().flatten()),
            };
        }
        let name = lockfile::module_name(key);
        if Secrets::may_be_in(&source.recorded()) {
            return Err(holds_secret(&name).into());
        }
        let module = cache.fetched(dialect, &locked.unwrap_or_else(|| request.into_request_to_lock()))?;
        let entry = module.as_ref().and_then(|module| entry(known.map(AsRef::as_ref), source, constraints, module));
        if let Some(entry) = entry {
            if Secrets::may_be_in(&entry.package) {
                return Err(holds_secret(&name).into());
            }
            found.locks.insert(key.clone(), Arc::new(entry));
        }
        Ok(module)
    }
}

/// The entry of a module whose package was fetched: the known one if the package is what that records. None if the
/// package is not whole.
fn entry(
    known: Option<&LockedModule>,
    source: &ModuleSource,
    constraints: &ConstraintList,
    module: &FetchedModule,
) -> Option<LockedModule> {
    let identity = module.identity();
    let is_kept =
        |known: &&LockedModule| identity.as_ref().is_none_or(|(_, hashes)| !hashes.is_disjoint(&known.hashes));
    let constraints = constraints.clone();
    if let Some(known) = known.filter(is_kept) {
        return Some(LockedModule { constraints, ..known.clone() });
    }
    let (package, hashes) = identity?;
    let (source, version) = (source.recorded(), module.version().cloned());
    Some(LockedModule { source, version, constraints, package, hashes })
}

fn would_hold_secret(calling: &Calling<'_>) -> Diagnostic {
    calling.located(holds_secret(&lockfile::module_name(calling.key)))
}

/// The error for a module whose entry would have a secret in an address. A login is left out of it, so that only
/// parameters are.
fn holds_secret(name: &str) -> Diagnostic {
    let message = format!("{name} cannot be locked: its address has a parameter that may be a secret");
    let error = Diagnostic::error(Code::InvalidConfiguration, message);
    let error = error.note("the lock file of modules holds the address, and is for everybody who reads the repository");
    error.help("take the parameter out, and put the login into ~/.netrc or a credential helper of git")
}

/// The error for a call whose module is not locked as it should be.
fn not_locked(
    calling: &Calling<'_>,
    (source, constraints): (&ModuleSource, &ConstraintList),
    known: Option<&LockedModule>,
) -> Diagnostic {
    let why = locked::refusal(calling.key, known, source, constraints);
    let (code, message) =
        why.unwrap_or_else(|| (Code::ModuleNotLocked, format!("module \"{}\" is not locked", calling.key)));
    calling.error(code, message).help(Help::text("lock it with ").and(Remedy::LockModules))
}

/// Returns a relative path without symbolic links, as Go's `filepath.EvalSymlinks` does.
fn without_links(root: &Path, path: &Path) -> PathBuf {
    let Ok(Some(followed)) = links::follow(root, path) else { return path.to_owned() };
    if followed.path.as_os_str().is_empty() { PathBuf::from(".") } else { followed.path }
}
