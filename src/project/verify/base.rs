//! The base revision of a change under review, as far as it concerns one root module. Its lock files are parsed once.

use std::path::Path;
use std::sync::OnceLock;

use super::publishers::KnownPublishers;
use super::verified::finding;
use crate::diagnostic::{Code, Diagnostic, Help, Location, Remedy, Severity};
use crate::lockfile::{
    self, Entry, EntryDiff, LOCK_FILE_NAME, LockFileOf, Locked, LockedModule, LockedProvider, MODULE_LOCK_FILE_NAME,
    ModuleLockFile, Parsed,
};
use crate::project::change::{Change, KnownProviders};
use crate::project::root_module::RootModule;
use crate::provider::Hash;
use crate::system::Environment;

pub(super) struct Base<'a> {
    pub(super) change: &'a Change,
    pub(super) environment: &'a Environment,
    module: &'a RootModule,
    /// Providers that any lock file of the base contains.
    pub(super) known_providers: &'a KnownProviders,
    /// Hosts and publishers of modules in the base.
    pub(super) known_publishers: &'a KnownPublishers,
    /// The lock file; empty if there was none.
    pub(super) bytes: &'a [u8],
    /// The lock file of modules; empty if there was none.
    pub(super) module_bytes: &'a [u8],
    providers: OnceLock<Parsed<LockedProvider>>,
    modules: OnceLock<Parsed<LockedModule>>,
}

impl<'a> Base<'a> {
    pub(super) fn new(
        change: &'a Change,
        environment: &'a Environment,
        module: &'a RootModule,
        known: &'a (KnownProviders, KnownPublishers),
    ) -> Self {
        let before = |name| change.file_before(&module.lock_directory.join(name)).unwrap_or_default();
        Self {
            change,
            environment,
            module,
            known_providers: &known.0,
            known_publishers: &known.1,
            bytes: before(LOCK_FILE_NAME),
            module_bytes: before(MODULE_LOCK_FILE_NAME),
            providers: OnceLock::new(),
            modules: OnceLock::new(),
        }
    }

    pub(super) fn providers(&self) -> &Parsed<LockedProvider> {
        let RootModule { lock_path, dialect, .. } = self.module;
        self.providers.get_or_init(|| lockfile::parse(lock_path, self.bytes, *dialect))
    }

    pub(super) fn modules(&self) -> &Parsed<LockedModule> {
        self.modules.get_or_init(|| ModuleLockFile::parse(&self.module.module_lock_path, self.module_bytes))
    }

    /// Whether the change adds the line at a location.
    pub(super) fn adds_line(&self, location: &Location) -> bool {
        self.change.is_new_line(location, self.environment)
    }
}

/// Checks each entry that the change adds, removes or alters. Warns if the file of the base cannot be read.
pub(super) fn check_changes<T: Locked>(
    lock_path: &Path,
    base: &Parsed<T>,
    lock_file: &LockFileOf<T>,
    check: impl Fn(Option<&Entry<T>>, &EntryDiff<T>) -> Vec<Diagnostic>,
) -> Vec<Diagnostic> {
    let Some(before) = &base.lock_file else { return vec![unreadable(lock_path, &base.diagnostics)] };
    let differences = lockfile::diff(before.locks(), lock_file.locks());
    differences.changes().flat_map(|change| check(lock_file.entry(&change.address), change)).collect()
}

/// Hashes that the change replaces or adds although the release is the same. It points at the first new hash for which
/// `is_meant` returns `true`.
pub(super) fn hashes_replaced<T: Locked>(
    message: String,
    entry: &Entry<T>,
    change: &EntryDiff<T>,
    is_meant: impl Fn(&Hash) -> bool,
) -> Diagnostic {
    let added = change.hashes_added();
    let location = first_hash(entry, |hash| added.contains(hash) && is_meant(hash));
    finding(Code::HashesReplaced, message, location, "").help(Remedy::verify_online())
}

/// An entry that the change moves to an older version.
pub(super) fn downgrade<T: Locked>(
    name: &str,
    entry: &Entry<T>,
    change: &EntryDiff<T>,
    help: impl Into<Help>,
) -> Option<Diagnostic> {
    let (old, new) = (change.old.as_ref()?.version()?, entry.locked.version()?);
    let message = format!("{name} was downgraded from {old} to {new}");
    (new < old).then(|| finding(Code::Downgrade, message, entry.version(), "").help(help))
}

/// Location of the first hash of an entry for which `is_meant` returns `true`, else of the entry.
pub(super) fn first_hash<T: Locked>(entry: &Entry<T>, is_meant: impl Fn(&Hash) -> bool) -> &Location {
    entry.hashes.iter().find(|(hash, _)| is_meant(hash)).map_or(&entry.block, |(_, location)| location)
}

/// The warning that a lock file cannot be compared, because that of the base cannot be read.
fn unreadable(lock_path: &Path, problems: &[Diagnostic]) -> Diagnostic {
    let warning = Diagnostic::warning(Code::LockFileSyntax, "")
        .naming(lock_path, |path| format!("the change of {path} was not checked: the old file cannot be read"))
        .at(Location::of_file(lock_path), "");
    let first = problems.iter().find(|problem| problem.severity == Severity::Error);
    let warning = first.into_iter().fold(warning, |warning, problem| warning.note(problem.message.clone()));
    warning.help("review the change yourself")
}
