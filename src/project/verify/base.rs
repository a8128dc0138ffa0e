//! The base revision of a change under review: facts that all root modules share, and the lock
//! files of one root module.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::deciding_names::DecidingNames;
use super::moved_roots::RemovedRoots;
use super::readings::{BaseReadings, RequirementsBefore};
use crate::configuration::terragrunt;
use crate::configuration::{DATA_DIRECTORY, Module, ModuleCache};
use crate::hcl::code_lines::{CodeLine, code_lines};
use crate::lockfile::{
    EntryKind, LOCK_FILE_NAME, LockedModule, LockedProvider, MODULE_LOCK_FILE_NAME, ModuleLockFile,
    Parsed, named_providers, parse, parse_as,
};
use crate::modules::locked;
use crate::modules::requested_hosts::{self, RequestedHosts};
use crate::project::reviewed_change::ReviewedChange;
use crate::project::root_module::RootModule;
use crate::project::session::Session;
use crate::provider::{Dialect, Hash, ProviderAddress, Version};
use crate::settings::{self, Settings};
use crate::system::{Environment, canonicalize, files, parallel};

/// The base revision as far as it concerns one root module.
pub(super) struct Base<'a> {
    pub(super) facts: &'a BaseFacts<'a>,
    pub(super) lock_file: BaseLockFile<'a, LockedProvider>,
    pub(super) module_lock_file: BaseLockFile<'a, LockedModule>,
    /// Directory at the base of a root module that the change moves.
    pub(super) moved_from: Option<PathBuf>,
}

/// A lock file at the base revision. It is parsed once, when it is first needed.
pub(super) struct BaseLockFile<'a, T: EntryKind> {
    /// The path of the lock file, as the user knows it.
    pub(super) path: PathBuf,
    /// The content; empty if there was no file.
    pub(super) bytes: &'a [u8],
    /// The content in the named revision, whose comments apply. It differs from that of the merge
    /// base if HEAD lacks commits.
    pub(super) approved_bytes: &'a [u8],
    /// Whether git has a different file than at the base revision.
    pub(super) is_altered: bool,
    dialect: Dialect,
    parsed: OnceLock<Parsed<T>>,
    approved: OnceLock<Parsed<T>>,
}

/// Hashes of each locked version of each provider.
pub(super) type VersionsByProvider = BTreeMap<ProviderAddress, BTreeMap<Version, BTreeSet<Hash>>>;

/// Providers, and publishers of modules, at the base revision: hosts, with the namespace of a
/// registry or the owner of repositories. Facts outside of lock files are collected when they are
/// first needed.
pub(super) struct BaseFacts<'a> {
    pub(super) change: &'a ReviewedChange,
    pub(super) module_cache: &'a ModuleCache,
    pub(super) environment: &'a Environment,
    /// Providers in lock files.
    pub(super) providers: BTreeSet<ProviderAddress>,
    /// Entries of lock files of modules.
    pub(super) locked_modules: Vec<Arc<LockedModule>>,
    /// Publishers in lock files of modules.
    pub(super) module_publishers: BTreeSet<String>,
    /// The root modules of the base, read as the root modules of the head are.
    pub(super) readings: Arc<BaseReadings>,
    /// The same without packages of modules that are not installed.
    unfetched: Arc<BaseReadings>,
    versions: OnceLock<VersionsByProvider>,
    removed_roots: OnceLock<RemovedRoots>,
    /// Directories in which the change alters a file with values of variables.
    altered_values: OnceLock<BTreeSet<PathBuf>>,
    /// Files that the change alters and that Terragrunt may read.
    altered_terragrunt_files: OnceLock<BTreeSet<PathBuf>>,
    deciding_names: OnceLock<DecidingNames>,
    /// Commits that the branch of the base was at. They are listed once, because a change may refer
    /// to any number of commits.
    pub(super) own_history: OnceLock<BTreeSet<String>>,
}

impl<'a> Base<'a> {
    pub(super) fn new(facts: &'a BaseFacts<'a>, root: &'a RootModule) -> Self {
        let moved_from = facts.moved_from(&root.lock_directory);
        let old = moved_from.as_deref();
        Self {
            facts,
            lock_file: BaseLockFile::new(facts.change, root, old),
            module_lock_file: BaseLockFile::new(facts.change, root, old),
            moved_from,
        }
    }
}

impl Base<'_> {
    /// The module in the directory of a root module at the base, if the change touches the
    /// directory.
    pub(super) fn module(&self, root: &RootModule) -> Option<Arc<Module>> {
        let is_touched = self.facts.change.touched.contains(&root.canonical);
        is_touched.then(|| self.facts.readings.module(&root.canonical, root.dialect))
    }

    /// The requirements of a root module at the base revision.
    pub(super) fn requirements_before(&self, root: &RootModule) -> Arc<RequirementsBefore> {
        self.facts
            .readings
            .requirements_of(root, self.moved_from.as_deref())
    }
}

impl<'a, T: EntryKind> BaseLockFile<'a, T> {
    /// Finds the lock file of a root module at the base: in the same directory, or where the root
    /// module was before the change moved it.
    fn new(change: &'a ReviewedChange, root: &'a RootModule, moved_from: Option<&Path>) -> Self {
        let name = match &root.found.lock_name {
            Some(name) => name,
            None => T::FILE_NAME,
        };
        // No lock file of modules belongs to a lock file under a different name.
        let has_file = name == T::FILE_NAME || T::FILE_NAME == LOCK_FILE_NAME;
        let canonical = root.lock_directory.join(name);
        let is_altered = has_file && change.differing.contains(&canonical);
        let mut file_before = change.file_before(&canonical);
        // A moved root module is compared with what it was at its old place.
        if let Some(old_directory) = moved_from
            && file_before.is_none()
        {
            file_before = change.file_before(&old_directory.join(name));
        }
        let bytes = match file_before {
            Some(bytes) if has_file => bytes,
            _ => &[],
        };
        let mut approved_bytes = bytes;
        // The named revision may have newer comments than the merge base, and they are approved,
        // too.
        if let Some(lock_files) = &change.revision_lock_files {
            let old_directory = moved_from.unwrap_or(&root.lock_directory);
            let old_path = old_directory.join(name).into_os_string();
            let approved = lock_files.get(&old_path);
            approved_bytes = approved.map(Vec::as_slice).unwrap_or_default();
        }
        let path = root.lock_path.with_file_name(name);
        Self {
            path,
            bytes,
            approved_bytes,
            is_altered,
            dialect: root.dialect,
            parsed: OnceLock::new(),
            approved: OnceLock::new(),
        }
    }

    /// The lock file in the named revision.
    pub(super) fn approved(&self) -> &Parsed<T> {
        if self.approved_bytes == self.bytes {
            return self.parsed();
        }
        self.approved
            .get_or_init(|| parse_as(&self.path, self.approved_bytes, self.dialect))
    }

    pub(super) fn parsed(&self) -> &Parsed<T> {
        self.parsed
            .get_or_init(|| parse_as(&self.path, self.bytes, self.dialect))
    }
}

impl<'a> BaseFacts<'a> {
    /// The facts of the base of a change that a session checks. `ignore_tests` is set if the tests
    /// of root modules are not read.
    pub(super) fn of(
        change: &'a ReviewedChange,
        session: &'a Session<'_>,
        ignore_tests: bool,
    ) -> Self {
        let readings = BaseReadings::new(session.at_base(change), change, ignore_tests);
        let offline_session = session.at_base(change).without_fetching();
        let unfetched = BaseReadings::new(offline_session, change, ignore_tests);
        let mut locked_modules = Vec::new();
        let mut module_publishers = BTreeSet::new();
        for (path, bytes) in change.base_files_named(MODULE_LOCK_FILE_NAME) {
            // A lock file in an installed package is not of this repository.
            if is_installed(path) {
                continue;
            }
            let Some(lock_file) = ModuleLockFile::parse(path, bytes).lock_file else {
                continue;
            };
            for entry in lock_file.locks().values() {
                module_publishers.extend(locked::publishers(entry));
                locked_modules.push(Arc::clone(entry));
            }
        }
        let lock_files = change.base_lock_files();
        Self {
            change,
            module_cache: &session.modules,
            environment: &session.environment,
            readings: Arc::new(readings),
            unfetched: Arc::new(unfetched),
            providers: named_providers(lock_files.map(|(_, bytes)| bytes).collect()),
            module_publishers,
            locked_modules,
            versions: OnceLock::new(),
            removed_roots: OnceLock::new(),
            altered_values: OnceLock::new(),
            altered_terragrunt_files: OnceLock::new(),
            deciding_names: OnceLock::new(),
            own_history: OnceLock::new(),
        }
    }

    /// The hosts that may be requested while the change is checked: the hosts in
    /// the lock files and settings of the base, and the hosts that its root modules use. The root
    /// modules are read once a different host is to be requested.
    pub(super) fn requested_hosts(&self, settings: Option<&Settings>) -> RequestedHosts {
        let readings = Arc::clone(&self.readings);
        RequestedHosts::new(self.known_hosts(settings), move |host| {
            readings.whole_base().hosts.contains(host)
        })
    }

    /// The hosts in the internal network that may be requested, also by redirects. Only calls in
    /// the repository itself count, because the packages of the base are fetched with this limit.
    pub(super) fn internal_hosts(&self, settings: Option<&Settings>) -> RequestedHosts {
        let readings = Arc::clone(&self.unfetched);
        RequestedHosts::new(self.known_hosts(settings), move |host| {
            readings.whole_base().hosts.contains(host)
        })
    }

    /// The names of variables on which something depends. All of the base is read for them, without
    /// fetching anything.
    pub(super) fn deciding_names(&self) -> &DecidingNames {
        self.deciding_names
            .get_or_init(|| DecidingNames::of_base(self.change, &self.unfetched))
    }

    /// The hosts in lock files and settings of the base.
    fn known_hosts(&self, settings: Option<&Settings>) -> BTreeSet<String> {
        let mut known = BTreeSet::new();
        for address in &self.providers {
            known.insert(address.hostname.as_ascii().to_owned());
        }
        for publisher in &self.module_publishers {
            known.insert(requested_hosts::host_of(publisher));
        }
        if let Some(settings) = settings {
            known.extend(hosts_in(settings));
        }
        for (path, bytes) in self.change.base_files_named(settings::FILE_NAME) {
            let settings = Settings::named(path, bytes.to_vec(), &self.change.top);
            if let Ok(settings) = settings {
                known.extend(hosts_in(&settings));
            }
        }
        known
    }

    /// Returns the locked versions of each provider with their hashes, from all lock files that can
    /// be read.
    pub(super) fn versions(&self) -> &VersionsByProvider {
        self.versions.get_or_init(|| {
            let files = self.change.base_lock_files().collect();
            let lock_files = parallel::map(files, parallel::cores(), |(path, bytes)| {
                parse(path, bytes, Dialect::Tofu).lock_file
            });
            let mut versions = VersionsByProvider::new();
            for lock_file in lock_files.into_iter().flatten() {
                for (address, locked) in lock_file.locks() {
                    let of_provider = versions.entry(address.clone()).or_default();
                    let hashes = of_provider.entry(locked.version.clone()).or_default();
                    hashes.extend(locked.hashes.iter().cloned());
                }
            }
            versions
        })
    }

    /// The directory from which the change moves the root module in a directory.
    pub(super) fn moved_from(&self, directory: &Path) -> Option<PathBuf> {
        let removed = self
            .removed_roots
            .get_or_init(|| RemovedRoots::of(self.change));
        let source = removed.source_of(self.change, directory)?;
        Some(source.to_owned())
    }

    /// Whether a lock file of the base records a hash for a version of a provider.
    pub(super) fn records(
        &self,
        address: &ProviderAddress,
        version: &Version,
        hash: &Hash,
    ) -> bool {
        let Some(versions) = self.versions().get(address) else {
            return false;
        };
        versions
            .get(version)
            .is_some_and(|hashes| hashes.contains(hash))
    }

    /// Whether the change may alter the values of a root module's variables. The values for a unit
    /// may be in any of Terragrunt's files, and in the directory of its module.
    pub(super) fn may_alter_values(&self, root: &RootModule) -> bool {
        if root
            .units
            .iter()
            .any(|unit| self.may_alter_unit(&unit.read))
        {
            return true;
        }
        let altered = self
            .altered_values
            .get_or_init(|| self.change.altered_values().map(Path::to_owned).collect());
        let is_altered_for_unit = !root.units.is_empty() && !altered.is_empty();
        if is_altered_for_unit || altered.contains(&root.canonical) {
            return true;
        }
        // Files of the user's own choice, by -var-file.
        for path in self.module_cache.variables.named_files(&root.canonical) {
            if let Ok(file) = canonicalize(&path)
                && self.change.differing.contains(&file)
            {
                return true;
            }
        }
        false
    }

    /// Whether the change may alter what a unit runs: it alters a file of Terragrunt's in the
    /// directory of the unit or above, or any file that was read for it. If something about the
    /// unit is not known, it may read any file.
    pub(super) fn may_alter_unit(&self, unit: &terragrunt::Unit) -> bool {
        let altered = self.altered_terragrunt_files.get_or_init(|| {
            let files = self.change.changed_read_files(terragrunt::may_read);
            files.into_iter().map(Path::to_owned).collect()
        });
        let is_unknown = unit.source.is_err() || !unit.unknown.is_empty() || unit.inputs.is_partial;
        for file in altered {
            let is_above = file
                .parent()
                .is_some_and(|directory| unit.directory.starts_with(directory));
            if is_above || unit.files.contains(file) || (is_unknown && !is_own(file)) {
                return true;
            }
        }
        !unit.files.is_disjoint(&self.change.differing)
    }
}

/// The hosts that settings name.
fn hosts_in(settings: &Settings) -> BTreeSet<String> {
    let mut hosts = settings.policy.hosts();
    if let Some(shared) = settings.shared_cache() {
        hosts.insert(shared.repository.registry.clone());
    }
    hosts
}

/// Whether the change alters code of a unit's files on which a source may depend: anything but its
/// inputs, and the files that it generates.
pub(super) fn alters_code(change: &ReviewedChange, unit: &terragrunt::Unit) -> bool {
    for file in unit.files.intersection(&change.differing) {
        let is_code = file.extension().is_some_and(|extension| extension == "hcl");
        let is_decisive = if is_code {
            change.alters_lines(file, may_decide_on_source)
        } else {
            !never_decides_on_source(unit, file)
        };
        if is_decisive {
            return true;
        }
    }
    false
}

/// Whether a lock file belongs to an installed module, which may contain one, too.
fn is_installed(path: &Path) -> bool {
    path.iter()
        .any(|part| part == DATA_DIRECTORY || part == terragrunt::CACHE)
}

/// Whether a line of a unit's configuration may decide on its source.
fn may_decide_on_source(line: &CodeLine) -> bool {
    let others = ["inputs", "generate", "remote_state"];
    !others.iter().any(|start| line.block.starts_with(start))
}

/// Whether a file that a unit reads, such as a template, certainly does not decide on its source.
///
/// The configuration of the unit must contain the name of the file, and only in lines that do not
/// decide on the source.
fn never_decides_on_source(unit: &terragrunt::Unit, file: &Path) -> bool {
    let Some(name) = file.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    let mut is_named = false;
    for configuration in &unit.files {
        let extension = configuration.extension();
        if extension.is_none_or(|extension| extension != "hcl") {
            continue;
        }
        let text = files::read(configuration, terragrunt::MAX_FILE_SIZE).unwrap_or_default();
        let Ok(lines) = code_lines(&String::from_utf8_lossy(&text)) else {
            // The file may be named anywhere in what cannot be parsed.
            return false;
        };
        for line in lines.iter().filter(|line| line.code.contains(name)) {
            if may_decide_on_source(line) {
                return false;
            }
            is_named = true;
        }
    }
    is_named
}

/// Whether a file is a unit's own, which other units do not read without naming it.
fn is_own(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| terragrunt::FILE_NAMES.iter().any(|own| name == *own))
}
