//! Readings of the base revision: its root modules, read by the code that reads the head. What the
//! head has and the base has in the same way is not new, wherever it is written.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::called_source::CalledSource;
use crate::configuration::{
    Fingerprint, Module, ModuleCache, NO_OBSERVER, OutsideModule, OwnCommit, PartId, Requirements,
    Resolver, StateKnowledge, StateStorage, listings,
};
use crate::modules::{locked, requested_hosts};
use crate::project::reviewed_change::ReviewedChange;
use crate::project::root_module::locked_calls;
use crate::project::root_module::roots::{FoundRoot, kind_of};
use crate::project::root_module::{MissingModules, OtherReading, RootModule};
use crate::project::selection::SearchStart;
use crate::project::session::Session;
use crate::provider::{ConstraintList, Dialect, ProviderAddress};
use crate::system::{OnceMap, Tree, parallel, walk};

/// Number of names at the end of a path that the path of a module in the repository must have, too.
const MIN_COMMON_NAMES: usize = 2;

/// Requirements of a root module at the base revision.
#[derive(Default)]
pub(super) struct RequirementsBefore {
    /// Whether the base has the root module.
    pub(super) exists: bool,
    /// Parts that cannot be read.
    pub(super) unknown_calls: BTreeSet<PartId>,
    /// Directories of called modules that are missing.
    pub(super) missing_directories: BTreeSet<PathBuf>,
    /// Calls of other packages.
    pub(super) package_calls: BTreeSet<PartId>,
    /// Calls that depend on an input of the run.
    pub(super) variable_calls: BTreeSet<PartId>,
    /// Sources and constraints of calls of other packages, by the paths of the calls. A source
    /// without a host has one in each dialect; the one in the dialect of the head is the first.
    pub(super) sources: BTreeMap<String, Vec<CalledSource>>,
    /// Publishers of the called packages.
    pub(super) publishers: BTreeSet<String>,
    /// Required providers with the constraints on their versions.
    pub(super) providers: BTreeMap<ProviderAddress, ConstraintList>,
    /// Places of the state.
    pub(super) state_storages: Vec<StateStorage>,
    /// Sources in commits of the user's own repository.
    pub(super) own_commits: Vec<OwnCommit>,
    /// Texts in generated files that are not known.
    pub(super) generated_texts: BTreeSet<PartId>,
    /// Whether there is a state file whose providers are not all known.
    pub(super) has_unreadable_state: bool,
    /// Hosts of all called packages and required providers, also of modules of other packages.
    pub(super) hosts: BTreeSet<String>,
    /// The files that were read for its units.
    pub(super) unit_files: BTreeSet<PathBuf>,
}

/// Readings of the base revision. Each root module is read when a comparison first needs it.
pub(super) struct BaseReadings {
    session: Session<'static>,
    top: PathBuf,
    ignore_tests: bool,
    readings: OnceMap<PathBuf, Arc<RequirementsBefore>>,
    whole_base: OnceLock<WholeBase>,
}

/// Facts about all directories of a revision.
#[derive(Default)]
pub(super) struct WholeBase {
    /// Publishers of the called modules.
    pub(super) publishers: BTreeSet<String>,
    /// As in [`RequirementsBefore::hosts`].
    pub(super) hosts: BTreeSet<String>,
    /// Places of states.
    pub(super) state_storages: Vec<StateStorage>,
    /// Identities of the parts that cannot be read, wherever they are. A new root module may have
    /// the same.
    pub(super) unknown_calls: HashSet<Fingerprint>,
    /// Paths of the called modules out of the repository.
    outside_modules: BTreeSet<PathBuf>,
    /// Paths of the repository on other machines.
    checkouts: BTreeSet<PathBuf>,
    /// Variables of root modules on which sources, versions and places of states depend.
    pub(super) variables: BTreeSet<String>,
}

impl BaseReadings {
    pub(super) fn new(
        session: Session<'static>,
        change: &ReviewedChange,
        ignore_tests: bool,
    ) -> Self {
        Self {
            session,
            top: change.top.clone(),
            ignore_tests,
            readings: OnceMap::default(),
            whole_base: OnceLock::new(),
        }
    }

    /// The reading of a root module of the head, which the change may have moved from a different
    /// directory. A root module that cannot be read has nothing.
    pub(super) fn requirements_of(
        &self,
        head: &RootModule,
        moved_from: Option<&Path>,
    ) -> Arc<RequirementsBefore> {
        self.readings.get_or_compute(&head.canonical, || {
            Arc::new(self.read(head, moved_from).unwrap_or_default())
        })
    }

    /// The files of the base.
    pub(super) fn tree(&self) -> &Tree {
        self.session.tree()
    }

    /// The module in a directory of the base.
    pub(super) fn module(&self, directory: &Path, dialect: Dialect) -> Arc<Module> {
        self.session.modules.module(directory, dialect)
    }

    /// Reads a root module at the base, in both dialects if the head is read in both. `None` if it
    /// does not exist there or cannot be opened.
    fn read(&self, head: &RootModule, moved_from: Option<&Path>) -> Option<RequirementsBefore> {
        let tree = self.session.tree();
        let directory = moved_from.unwrap_or(&head.canonical);
        let canonical = tree.canonicalize(directory).ok()?;
        let kind = kind_of(tree, &canonical);
        let path = match moved_from {
            Some(directory) => self.session.environment.shown_path(directory),
            None => head.found.path.clone(),
        };
        let mut found = FoundRoot::new(path, Some(canonical), kind);
        // The same root modules share its lock file, as far as the base has them.
        for other in &head.found.sharing {
            if tree.is_dir(&other.canonical) {
                found.sharing.push(other.clone());
            }
        }
        let root = self.session.open_root(&found).ok()?;

        let mut before = RequirementsBefore {
            exists: true,
            ..RequirementsBefore::default()
        };
        for unit in &root.units {
            before.unit_files.extend(unit.read.files.iter().cloned());
        }
        let mut dialects = vec![root.dialect];
        // Where the head is read for both tools, the base is compared as both read it.
        if head.other_reading != OtherReading::Ignored {
            dialects.push(root.dialect.other());
            // The dialect of the head comes first.
            dialects.sort_by_key(|dialect| *dialect != head.dialect);
        }
        for dialect in dialects {
            if let Some(requirements) = self.requirements(&root, dialect) {
                before.add(&requirements);
                if dialect == root.dialect {
                    before.state_storages = requirements.storages;
                    before.own_commits = requirements.own_commits;
                }
            }
        }
        Some(before)
    }

    fn requirements(&self, root: &RootModule, dialect: Dialect) -> Option<Requirements> {
        let following = locked_calls::following_own(root);
        let resolver = following.as_ref().map(|resolve| resolve as &Resolver<'_>);
        let cache = &self.session.modules;
        let read = root.requirements_as(
            dialect,
            cache,
            self.ignore_tests,
            MissingModules::Allowed,
            resolver,
            NO_OBSERVER,
        );
        read.ok()
    }

    /// Facts about all root modules of the base, and about modules that none of them calls. What
    /// cannot be read adds nothing.
    pub(super) fn whole_base(&self) -> &WholeBase {
        self.whole_base.get_or_init(|| {
            let listed = listings(self.session.tree(), &self.top).unwrap_or_default();
            let mut directories: Vec<PathBuf> = listed.directories.into_keys().collect();
            directories.retain(|directory| {
                let below = directory.strip_prefix(&self.top);
                below.is_ok_and(|below| !walk::is_skipped(below))
            });
            // A root module that calls a module has its facts already; others are read on their
            // own.
            let with_modules = true;
            let search = self
                .session
                .search(&self.top, with_modules, SearchStart::Default)
                .unwrap_or_default();
            let mut roots = HashSet::new();
            for root in &search.roots {
                roots.extend(root.canonical.clone());
            }

            let of_directories = parallel::map(directories, parallel::cores(), |directory| {
                let is_root = roots.contains(&directory);
                let is_read_by_root = search.read_directories.contains(&directory);
                self.facts_about(&directory, is_root, is_read_by_root)
            });
            let mut all = WholeBase::default();
            for facts in of_directories.into_iter().flatten() {
                all.publishers.extend(facts.publishers);
                all.hosts.extend(facts.hosts);
                all.state_storages.extend(facts.state_storages);
                all.unknown_calls.extend(facts.unknown_calls);
                all.outside_modules.extend(facts.outside_modules);
                all.variables.extend(facts.variables);
            }
            all.checkouts = self.checkouts(&all.outside_modules);
            all
        })
    }

    /// Facts about a directory. `None` for a module that a root module reads (`is_read_by_root`),
    /// and if it cannot be read.
    fn facts_about(
        &self,
        directory: &Path,
        is_root: bool,
        is_read_by_root: bool,
    ) -> Option<WholeBase> {
        let root = self.open(directory)?;
        if is_root || root.is_unit() {
            let requirements = self.requirements(&root, root.dialect)?;
            let mut own = RequirementsBefore::default();
            own.add(&requirements);
            let unknown_calls = own.unknown_calls.iter();
            return Some(WholeBase {
                publishers: own.publishers,
                hosts: own.hosts,
                unknown_calls: unknown_calls.map(|call| call.fingerprint).collect(),
                variables: deciding_variables(&requirements),
                state_storages: requirements.storages,
                outside_modules: paths_of(requirements.outside_modules),
                checkouts: BTreeSet::new(),
            });
        }
        // A root module has read it with the values of its calls, and has its facts.
        if is_read_by_root {
            return None;
        }
        // No root module calls it, but what it calls was approved with the base.
        let module = root.module(&self.session.modules);
        let mut facts = WholeBase::default();
        for request in module.requests(root.dialect) {
            facts.publishers.extend(locked::publisher(&request));
            facts.hosts.extend(requested_hosts::hosts_of(&request));
        }
        Some(facts)
    }

    /// Returns the paths of the repository on other machines: directories in which all modules that
    /// are called have the same paths as modules in the repository.
    fn checkouts(&self, outside_modules: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
        let mut checkouts = BTreeSet::new();
        for path in outside_modules {
            for directory in path.ancestors().skip(MIN_COMMON_NAMES) {
                let is_top = directory.parent().is_none();
                if !is_top && self.has_module_of(path, directory) {
                    checkouts.insert(directory.to_owned());
                }
            }
        }
        checkouts.retain(|directory| {
            let mut inside = outside_modules.iter();
            inside.all(|path| !path.starts_with(directory) || self.has_module_of(path, directory))
        });
        checkouts
    }

    /// Whether the repository has the module at a path if a directory is a copy of it.
    fn has_module_of(&self, path: &Path, directory: &Path) -> bool {
        let Ok(below) = path.strip_prefix(directory) else {
            return false;
        };
        has_module(&self.session.modules, &self.top.join(below))
    }

    fn open(&self, directory: &Path) -> Option<RootModule> {
        let kind = kind_of(self.session.tree(), directory);
        let path = self.session.environment.shown_path(directory);
        let found = FoundRoot::new(path, Some(directory.to_owned()), kind);
        self.session.open_root(&found).ok()
    }
}

impl WholeBase {
    /// The path in the repository of a module at a path out of it, if that is in a directory in
    /// which other machines have the repository.
    pub(super) fn path_in_repository<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let mut checkouts = self.checkouts.iter();
        checkouts.find_map(|checkout| path.strip_prefix(checkout).ok())
    }
}

/// Whether a directory contains a module, and no link leads there.
pub(super) fn has_module(modules: &ModuleCache, directory: &Path) -> bool {
    let canonical = modules.tree().canonicalize(directory);
    if canonical.is_ok_and(|canonical| canonical == directory) {
        return !modules.module(directory, Dialect::Tofu).is_empty();
    }
    false
}

fn paths_of(modules: Vec<OutsideModule>) -> BTreeSet<PathBuf> {
    modules.into_iter().map(|module| module.path).collect()
}

/// The variables of a root module on which sources, versions and places of states depend.
fn deciding_variables(requirements: &Requirements) -> BTreeSet<String> {
    let mut variables = BTreeSet::new();
    for call in &requirements.variable_calls {
        variables.extend(call.origin.variables.iter().cloned());
    }
    for call in &requirements.unknown_calls {
        variables.extend(call.origin.variables.iter().cloned());
    }
    for storage in &requirements.storages {
        variables.extend(storage.variables.iter().cloned());
    }
    variables
}

impl RequirementsBefore {
    /// Adds the requirements of a root module in one dialect. Sources and publishers come from its
    /// own calls, hosts also from calls in modules of other packages.
    fn add(&mut self, requirements: &Requirements) {
        for call in &requirements.unknown_calls {
            self.unknown_calls.insert(call.id());
            self.missing_directories.extend(call.directory.clone());
        }
        for call in &requirements.variable_calls {
            self.variable_calls.insert(call.id());
        }
        self.has_unreadable_state |= matches!(requirements.state, StateKnowledge::Unreadable(_));
        for text in &requirements.generated_texts {
            self.generated_texts.insert(text.id());
        }
        for call in requirements.own_package_calls() {
            self.package_calls.insert(call.id());
            let sources = self.sources.entry(call.key.clone()).or_default();
            sources.push(CalledSource::of(call));
            if let Some(request) = call.request() {
                self.publishers.extend(locked::publisher(&request));
            }
        }
        for call in requirements.package_calls() {
            if let Some(request) = call.request() {
                self.hosts.extend(requested_hosts::hosts_of(&request));
            }
        }
        for (address, requirement) in &requirements.providers {
            self.hosts.insert(address.hostname.as_ascii().to_owned());
            let constraints = requirement.constraints.clone();
            self.providers.insert(address.clone(), constraints);
        }
    }
}
