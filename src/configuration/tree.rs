//! Follows the module calls of a root module, and collects the providers that the modules require.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Help, Location, Merged, Remedy, Result};
use crate::hcl::evaluate::allowance::Allowance;
use crate::hcl::evaluate::value::Unknown;
use crate::modules::fetched::{FetchedModule, ModuleRequest};
use crate::modules::installed::Manifest;
use crate::modules::local::{self, is_local};
use crate::modules::{ModuleSource, submodule};
use crate::provider::{ConstraintList, Dialect, ProviderAddress};
use crate::system::boundary::refused;
use crate::system::files::canonical_or_given;
use crate::system::files::join;
use crate::system::{canonicalize, parallel, walk};

use super::called_packages::{CalledPackage, CalledPackages, DATA_DIRECTORY, split_installed};
use super::caller::{Caller, Calling, Reach, Visit};
use super::decode;
use super::file::Call;
use super::files;
use super::locked_calls::{InstalledAt, LockedCalls, ModuleLocking};
use super::missing::{MissingModules, Reason};
use super::module::Module;
use super::module_cache::ModuleCache;
use super::moving_call::Wanted;
use super::requirement::{
    CalledModule, Declaration, DeclarationKind, ModuleCall, ModuleDirectory, Requirement, Requirements, StateKnowledge,
    UnknownCall,
};
use super::root::{ModulePath, RootFiles, RootModule};
use super::scope::{Scope, UserValues, Values};
use super::syntax;
use super::variables::InputVariables;

/// How deeply modules may call one another.
const MAX_DEPTH: usize = 100;
/// How many calls are followed in all. A configuration with more was written to waste time.
const MAX_CALLS: usize = 100_000;
/// How many places of a root module may require a provider, and how many providers they may require.
const MOST_DECLARATIONS: usize = 100_000;
const MOST_PROVIDERS: usize = 1_000;
/// For how many providers of one module `required` waits at the same time.
const ASKING_AT_ONCE: usize = 16;
/// Maximum number of passes over a configuration only because calls by the directories of installed packages come
/// before the calls of these packages.
const MOST_PASSES: usize = 8;

/// How a configuration is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose files are read, and whose registry is the default.
    pub dialect: Dialect,
    /// Whether the root module's test files are read, as `init` does.
    pub tests: bool,
    /// Whether a module that is not installed is a warning. Its requirements are unknown then.
    pub allow_missing_modules: bool,
    /// `.terraform` or the value of `TF_DATA_DIR`, relative to the root module or absolute.
    pub data_directory: PathBuf,
    /// Whether modules that are not installed are fetched, if the cache of modules can do that.
    pub fetch_modules: bool,
    /// The values that the user gives to the root module's variables.
    pub variables: InputVariables,
}

/// Learns that a provider is required.
pub(crate) type Required<'a> = &'a (dyn Fn(&ProviderAddress) + Sync);

/// Reads the configuration whose root module is the directory `root`, given as the user knows it, for example `.`; all
/// paths in the result start with it.
///
/// # Errors
/// Everything that is wrong with the configuration, not only the first.
pub fn read(root: &Path, options: &Options) -> Result<Requirements> {
    read_locked(RootModule::Directory(root, None), options, &ModuleCache::default(), None, &|_| ())
}

/// [`read`] for any root module, where modules that several root modules call are read once. The modules are those of a
/// lock file if one is followed. What a fetched module requires goes to `required` while others are fetched.
///
/// # Errors
/// The errors of [`read`].
pub(crate) fn read_locked(
    root: RootModule<'_>,
    options: &Options,
    cache: &ModuleCache,
    locking: Option<&ModuleLocking>,
    required: Required<'_>,
) -> Result<Requirements> {
    let arrived = |module: FetchedModule| {
        // What is wrong with it is said when its call is followed.
        let Ok(directory) = module.path() else { return };
        let Ok(canonical) = canonicalize(&directory) else { return };
        let module = cache.fetched_module(&canonical, &directory, &module.shown(), options.dialect);
        let providers: BTreeSet<_> = module.found.iter().map(|(address, _)| address).collect();
        parallel::map(providers.into_iter().collect(), ASKING_AT_ONCE, required);
    };
    let (mut packages, mut passes) = (CalledPackages::default(), 0);
    loop {
        let pass = read_known(root, options, cache, locking, packages);
        match &cache.fetcher {
            Some(fetcher) if !(pass.wanted.is_empty() && pass.asked.is_empty()) => {
                fetcher.ask_releases(options.dialect, pass.asked.into_iter().collect());
                fetcher.fetch_all(options.dialect, pass.wanted.into_iter().collect(), arrived);
            }
            _ if pass.packages.is_settled() || passes == MOST_PASSES => return pass.requirements,
            _ => passes += 1,
        }
        packages = pass.packages.for_next_pass();
    }
}

/// The result of one pass over a configuration.
struct Pass {
    requirements: Result<Requirements>,
    /// Missing modules that can be fetched.
    wanted: HashSet<ModuleRequest>,
    /// Sources whose versions or tags are needed.
    asked: HashSet<ModuleSource>,
    packages: CalledPackages,
}

/// Reads the configuration as far as its modules are here. The others are to be fetched, and sources asked for what
/// there is.
fn read_known(
    root: RootModule<'_>,
    options: &Options,
    cache: &ModuleCache,
    locking: Option<&ModuleLocking>,
    packages: CalledPackages,
) -> Pass {
    let values = UserValues::new(root.directory(), root.inputs(), &options.variables);
    let allowance = Allowance::default();
    let mut walk = Walk {
        root: root.directory(),
        options,
        cache,
        locking,
        values: &values,
        allowance: &allowance,
        manifest: None,
        base: None,
        packages,
        chain: Vec::new(),
        taken: HashSet::new(),
        finished: HashSet::new(),
        calls: 0,
        declarations: Vec::new(),
        own: 0,
        modules: Vec::new(),
        tree: Vec::new(),
        elsewhere: Vec::new(),
        noted: HashSet::new(),
        locked: LockedCalls::default(),
        missing: MissingModules::default(),
        unknown: Vec::new(),
        wanted: HashSet::new(),
        asked: HashSet::new(),
        is_incomplete: false,
        warnings: Vec::new(),
        errors: Merged::default(),
    };
    match root {
        RootModule::Directory(_, canonical) => walk.root(canonical),
        RootModule::Files(files) => walk.files(files),
    }
    let missing = walk.missing.diagnostics(options.dialect, options.allow_missing_modules);
    if options.allow_missing_modules {
        walk.warnings.extend(missing);
    } else {
        walk.errors.extend(missing);
    }
    let (wanted, asked) = (std::mem::take(&mut walk.wanted), std::mem::take(&mut walk.asked));
    let errors = std::mem::take(&mut walk.errors);
    let packages = std::mem::take(&mut walk.packages);
    let requirements = errors.into_result(()).and_then(|()| walk.finish());
    Pass { requirements, wanted, asked, packages }
}

pub(super) struct Walk<'a> {
    /// The root module's directory, or where its lock file is.
    pub(super) root: &'a Path,
    pub(super) options: &'a Options,
    pub(super) cache: &'a ModuleCache,
    /// The lock file of modules that is followed, if one is.
    pub(super) locking: Option<&'a ModuleLocking>,
    values: &'a UserValues<'a>,
    allowance: &'a Allowance,
    /// Read when it is first needed.
    pub(super) manifest: Option<Manifest>,
    /// Directory from which OpenTofu and Terraform run, unless that is a fetched module.
    base: Option<PathBuf>,
    packages: CalledPackages,
    /// The canonical directories of the modules that are being read, each called by the one before.
    chain: Vec<PathBuf>,
    /// Directories whose declarations and errors were collected.
    taken: HashSet<PathBuf>,
    /// Directories whose calls lead to the same modules for every caller, so that they are followed once.
    finished: HashSet<PathBuf>,
    calls: usize,
    declarations: Vec<(ProviderAddress, Declaration)>,
    /// How many of these the root module's own files hold, which come first.
    own: usize,
    modules: Vec<ModuleDirectory>,
    tree: Vec<CalledModule>,
    pub(super) elsewhere: Vec<ModuleCall>,
    /// The places and the requests of these.
    pub(super) noted: HashSet<(Location, ModuleRequest)>,
    pub(super) locked: LockedCalls,
    pub(super) missing: MissingModules,
    pub(super) unknown: Vec<UnknownCall>,
    /// The missing modules that can be fetched.
    pub(super) wanted: HashSet<ModuleRequest>,
    /// The sources of which it is to be known what they can move to.
    pub(super) asked: HashSet<ModuleSource>,
    /// Whether the source of a called module is unknown.
    pub(super) is_incomplete: bool,
    pub(super) warnings: Vec<Diagnostic>,
    pub(super) errors: Merged,
}

impl Walk<'_> {
    fn root(&mut self, canonical: Option<&Path>) {
        let dialect = self.options.dialect;
        let shown = join(self.root, "");
        let canonical = match canonical.map_or_else(|| canonicalize(&shown), |known| Ok(known.to_owned())) {
            Ok(canonical) => canonical,
            Err(error) => return self.errors.push(Diagnostic::io("read the directory", self.root, &error)),
        };
        let module = self.cache.canonical_module(&canonical, &shown, dialect);
        if module.is_empty() && module.diagnostics.is_empty() {
            return self.errors.push(files::no_configuration(self.root, dialect));
        }
        if module.is_foreign() {
            let message =
                format!("the files in {} are for OpenTofu; Terraform reads none of them", self.root.display());
            let help = Help::text("to use them: ").and(Remedy::Dialect(Dialect::Tofu));
            self.warnings.push(Diagnostic::warning(Code::NoConfiguration, message).help(help));
        }
        self.chain.push(canonical.clone());
        self.base = Some(shown.clone());
        self.take(&canonical, &module, None);
        self.own = self.declarations.len();
        self.follow_root(&module, &module.calls, &ModulePath::Directory(shown.clone()), None, "");
        if self.options.tests {
            self.tests(&module, &shown, &canonical);
        }
    }

    /// Reads a root module whose files come from several places.
    fn files(&mut self, root: &RootFiles) {
        let module = Module::of_files(root, self.options.dialect);
        if module.is_empty() && !root.is_partial {
            return self.errors.push(files::no_configuration(&root.directory, self.options.dialect));
        }
        self.errors.extend(module.diagnostics.iter().cloned());
        let (own, fetched): (Vec<_>, Vec<_>) =
            module.found.iter().cloned().partition(|(_, found)| root.is_own(&found.location));
        self.declare(&own, &root.directory, true);
        self.declare(&fetched, &module.directory, false);
        self.own = self.declarations.len();
        let place = &root.module();
        let own_module = match place {
            ModulePath::Directory(directory) => Some(directory),
            ModulePath::Package(_) => None,
        };
        self.base = own_module.cloned();
        for path in [&root.directory].into_iter().chain(own_module).chain(&root.others) {
            let canonical = canonical_or_given(path);
            self.modules.push(ModuleDirectory { path: path.clone(), canonical, local: true });
        }
        self.chain.extend(place.path().ok().and_then(|directory| canonicalize(directory).ok()));
        let (calls, lost): (Vec<_>, Vec<_>) = module.calls.iter().cloned().partition(|call| {
            root.module.is_some()
                || call
                    .constant_source()
                    .is_none_or(|source| !is_local(source) || local::directory(&root.directory, source).is_dir())
        });
        self.is_incomplete |= root.is_partial || !lost.is_empty();
        self.follow_root(&module, &calls, place, root.source.as_ref(), "");
        if self.options.tests {
            let canonical = |path: &PathBuf| Some((canonicalize(path).ok()?, path.clone()));
            let directories = [&root.directory].into_iter().chain(own_module).filter_map(canonical);
            for (canonical, path) in directories.collect::<BTreeMap<_, _>>() {
                self.tests(&module, &path, &canonical);
            }
        }
    }

    /// Takes what the module itself requires, once for each directory.
    fn take(&mut self, canonical: &Path, module: &Module, entry: Option<&Location>) {
        if !self.taken.insert(canonical.to_owned()) {
            return;
        }
        let located = |error: Diagnostic| error.at_each(entry, "called from here");
        self.errors.extend(module.diagnostics.iter().cloned().map(&located));
        self.leave_out(module.refused.iter().cloned().map(located));
        let local = entry.is_none();
        self.declare(&module.found, &module.directory, local);
        let (path, canonical) = (module.directory.clone(), canonical.to_owned());
        self.modules.push(ModuleDirectory { path, canonical, local });
    }

    /// Notes files that lead out of the repository. Their requirements are unknown.
    pub(super) fn leave_out(&mut self, refused: impl IntoIterator<Item = Diagnostic>) {
        let before = self.warnings.len();
        self.warnings.extend(refused);
        self.is_incomplete |= self.warnings.len() > before;
    }

    fn declare(&mut self, found: &[(ProviderAddress, Declaration)], module: &Path, local: bool) {
        if self.declarations.len() + found.len() > MOST_DECLARATIONS {
            let message = format!("more than {MOST_DECLARATIONS} blocks and entries require providers");
            return self.errors.merge(Diagnostic::error(Code::InvalidConfiguration, message));
        }
        let found = found.iter().filter(|(address, _)| !address.is_never_locked()).cloned();
        self.declarations.extend(
            found.map(|(address, declaration)| {
                (address, Declaration { module: module.to_owned(), local, ..declaration })
            }),
        );
    }

    /// Reads the root module's test files: the modules that their runs test and, for OpenTofu, their `provider` blocks.
    /// Terraform has not counted these since 1.9.
    fn tests(&mut self, root: &Module, shown: &Path, canonical: &Path) {
        let dialect = self.options.dialect;
        let files = match files::test_files(shown, root.test_names.as_deref(), dialect) {
            Ok(files) => files,
            Err(error) => return self.errors.push(Diagnostic::io("read the test files of", shown, &error)),
        };
        for (path, name) in files {
            if self.cache.boundary.is_outside(&path) {
                self.leave_out([refused(&path)]);
                continue;
            }
            let contents =
                self.cache.texts.read(&path, &path).and_then(|source| {
                    syntax::read(&source, |items| decode::decode_test_file(&source, items, dialect))
                });
            match contents {
                Ok(contents) => {
                    self.errors.extend(contents.diagnostics.into_diagnostics());
                    let found = root.resolve_providers(contents.providers, dialect, &mut self.errors);
                    if dialect == Dialect::Tofu {
                        self.declare(&found, shown, true);
                    }
                    // A test may call the root module itself, which is not a cycle.
                    self.chain.clear();
                    let place = &ModulePath::Directory(shown.to_owned());
                    self.follow_root(root, &contents.calls, place, None, &format!("test.{name}"));
                    self.chain.push(canonical.to_owned());
                }
                Err(errors) => self.errors.extend(errors),
            }
        }
    }

    /// Follows calls of the root module or of its tests.
    fn follow_root(
        &mut self,
        module: &Module,
        calls: &[Call],
        place: &ModulePath,
        entry: Option<&Location>,
        key: &str,
    ) {
        let scope = Scope::new(module, Values::User(self.values), self.options.dialect, self.allowance);
        let at = &InstalledAt::root();
        self.follow(&Caller { place, key, entry, node: None, scope: &scope, at }, calls);
    }

    fn follow(&mut self, caller: &Caller<'_>, calls: &[Call]) -> Reach {
        let mut reach = Reach::Same;
        for call in calls {
            if self.call(caller, call) == Reach::ByCaller {
                reach = Reach::ByCaller;
            }
        }
        reach
    }

    fn call(&mut self, caller: &Caller<'_>, call: &Call) -> Reach {
        let calling = Calling { caller, call, key: &caller.key_of(call) };
        let is_constant = call.constant_source().is_some();
        let is_same = is_constant && caller.scope.chosen_by.is_none();
        let reach_of_source = if is_same { Reach::Same } else { Reach::ByCaller };
        let Some((source, withheld)) = self.source(&calling) else {
            self.packages.add(calling.key, None, true);
            return reach_of_source;
        };
        let Some(constraints) = self.constraints(&calling, &source) else {
            self.packages.add(calling.key, None, true);
            return reach_of_source;
        };
        let ModuleSource::Local(path) = source else {
            let unknown = self.unknown.len();
            let found = self.elsewhere(&calling, &Wanted::new(&source, &constraints));
            self.packages.add(calling.key, found.as_ref(), self.unknown.len() > unknown);
            if let Some((place, at)) = found {
                let entry = Some(caller.entry.unwrap_or(&call.location));
                self.visit(&Visit { place, calling, entry, path: None, withheld, at });
            }
            return Reach::ByCaller;
        };
        let Some(place) = caller.place.local(&path) else {
            let message = format!(
                "module \"{}\" in {} calls {path:?}, which leads out of its package",
                caller.key,
                caller.place.shown().display()
            );
            self.errors.push(calling.error(Code::InvalidConfiguration, message));
            return reach_of_source;
        };
        if let Some((key, below)) = self.installed_call(caller, &place)
            && let Some(package) = self.packages.get(&key)
        {
            self.follow_installed(calling, place, (package, &below), &path, withheld);
            return Reach::ByCaller;
        }
        let at = self.record_local(&calling, &place, &path);
        let entry = caller.entry;
        let reach = self.visit(&Visit { place, calling, entry, path: Some(&path), withheld, at });
        if is_same { reach } else { Reach::ByCaller }
    }

    /// The call in whose installed package a directory is, and the directory in the package. Only the user's own
    /// modules call others in this way.
    fn installed_call(&self, caller: &Caller<'_>, place: &ModulePath) -> Option<(String, String)> {
        let ModulePath::Directory(directory) = place else { return None };
        let base = self.base.as_deref().filter(|_| caller.entry.is_none())?;
        split_installed(base, &self.options.data_directory, directory)
    }

    /// Follows a call by the directory in which the package of another call is installed. The package is that of the
    /// other call, whatever is in the directory, unless OpenTofu or Terraform installed it for the same source.
    fn follow_installed(
        &mut self,
        calling: Calling<'_>,
        directory: ModulePath,
        (package, below): (CalledPackage, &str),
        source: &str,
        withheld: Option<Unknown>,
    ) {
        let (place, at) = match package {
            CalledPackage::Missing { is_unknown } => {
                self.is_incomplete = true;
                if is_unknown {
                    self.note_unknown(&calling);
                }
                return;
            }
            CalledPackage::Installed => (directory, InstalledAt::root()),
            CalledPackage::Fetched(package, installed) => {
                let at = self.record_installed(&calling, source, installed, below);
                (ModulePath::Package(package.at(below)), at)
            }
        };
        let entry = Some(&calling.call.location);
        self.visit(&Visit { place, calling, entry, path: None, withheld, at });
    }

    /// Reads a called module and all that it calls.
    fn visit(&mut self, visit: &Visit<'_>) -> Reach {
        let directory = match visit.place.path() {
            Ok(directory) => directory,
            Err(errors) => {
                self.errors.extend(errors.map(|error| visit.calling.located(error)));
                return Reach::Same;
            }
        };
        let canonical = match canonicalize(&directory) {
            Ok(canonical) => canonical,
            Err(error) => {
                self.unreadable(visit, &error);
                return Reach::Same;
            }
        };
        // A call has entries and records of its own.
        let is_repeated = self.locking.is_none() && self.finished.contains(&canonical);
        let node = self.grow(visit, &canonical, is_repeated);
        if is_repeated {
            return Reach::Same;
        }
        if matches!(visit.place, ModulePath::Directory(_)) && self.cache.boundary.excludes(&canonical) {
            self.finished.insert(canonical);
            let outside = visit.calling.outside(&visit.place.shown());
            self.leave_out([outside]);
            return Reach::Same;
        }
        if let Some(start) = self.chain.iter().position(|directory| *directory == canonical) {
            self.cycle(visit, self.chain.len() - start);
            return Reach::Same;
        }
        self.calls += 1;
        if self.calls > MAX_CALLS || self.chain.len() >= MAX_DEPTH {
            self.too_many(visit);
            return Reach::Same;
        }
        let dialect = self.options.dialect;
        let shown = visit.place.shown();
        let is_fetched = matches!(visit.place, ModulePath::Package(_));
        let module: Arc<Module> = if is_fetched {
            self.cache.fetched_module(&canonical, &directory, &shown, dialect)
        } else {
            self.cache.canonical_module(&canonical, &shown, dialect)
        };
        if module.is_empty() && module.diagnostics.is_empty() && !is_fetched && self.reports_submodule(visit) {
            return Reach::Same;
        }
        self.take(&canonical, &module, visit.entry);
        self.chain.push(canonical.clone());
        let values = Values::Call(visit.calling.call, visit.calling.caller.scope, visit.path);
        let scope = Scope::new(&module, values, dialect, self.allowance).chosen_by(visit.withheld.clone());
        let Visit { place, calling, entry, at, .. } = visit;
        let caller = Caller { place, key: calling.key, entry: *entry, node, scope: &scope, at };
        let reach = self.follow(&caller, &module.calls);
        self.chain.pop();
        if reach == Reach::Same {
            self.finished.insert(canonical);
        }
        reach
    }

    /// Adds a call to the tree, and returns its index; `None` if the tree is full.
    fn grow(&mut self, visit: &Visit<'_>, canonical: &Path, is_repeated: bool) -> Option<usize> {
        let node = self.tree.len();
        if node >= MAX_CALLS {
            return None;
        }
        let Calling { caller, call, key } = &visit.calling;
        self.tree.push(CalledModule {
            address: caller.address_of(call, &self.tree),
            key: (*key).to_owned(),
            parent: caller.node,
            directory: canonical.to_owned(),
            location: call.location.clone(),
            is_repeated,
        });
        Some(node)
    }

    fn unreadable(&mut self, visit: &Visit<'_>, error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            return self.errors.push(visit.error(&format!("which cannot be read: {error}")));
        }
        match &visit.place {
            ModulePath::Directory(directory) if self.is_in_data_directory(directory) => {
                let source =
                    visit.calling.call.constant_source().map_or_else(|| directory.display().to_string(), str::to_owned);
                self.lose(visit, Reason::NotInstalled(source));
            }
            _ if self.reports_submodule(visit) => {}
            ModulePath::Directory(directory) if walk::is_ignored(directory) => {
                self.lose(visit, Reason::Ignored(directory.clone()));
            }
            _ => self.errors.push(visit.error("which does not exist")),
        }
    }

    /// Whether a directory is in a submodule that is not checked out, which is reported then.
    fn reports_submodule(&mut self, visit: &Visit<'_>) -> bool {
        let Some(submodule) = submodule::not_checked_out(&visit.place.shown()) else { return false };
        self.lose(visit, Reason::Submodule(submodule));
        true
    }

    /// Notes a module of the repository that is not there.
    fn lose(&mut self, visit: &Visit<'_>, reason: Reason) {
        self.missing.add(&visit.calling, reason);
        let location = visit.entry.unwrap_or(&visit.calling.call.location).clone();
        self.unknown.push(UnknownCall { location, directory: Some(visit.place.shown()) });
    }

    /// Whether a local module is one that a program installs.
    fn is_in_data_directory(&self, directory: &Path) -> bool {
        let is_default = directory.components().any(|component| component.as_os_str() == DATA_DIRECTORY);
        is_default || directory.starts_with(join(self.root, &self.options.data_directory))
    }

    fn cycle(&mut self, visit: &Visit<'_>, length: usize) {
        let message = match length {
            1 => format!("the module in {} calls itself", visit.place.shown().display()),
            _ => format!(
                "{length} modules call one another in a circle, which ends at {}",
                visit.place.shown().display()
            ),
        };
        self.errors.push(visit.calling.error(Code::ModuleCycle, message));
    }

    /// Reports once that the tree of calls is too large to be meant.
    fn too_many(&mut self, visit: &Visit<'_>) {
        let message = format!("more than {MAX_CALLS} module calls, or calls more than {MAX_DEPTH} deep");
        if !self.errors.iter().any(|error| error.message == message) {
            let error = Diagnostic::error(Code::ModuleCycle, message);
            self.errors.push(error.at(visit.calling.call.location.clone(), "called here"));
        }
    }

    fn finish(self) -> Result<Requirements> {
        let mut providers: BTreeMap<_, Requirement> = BTreeMap::new();
        let is_incomplete = self.is_incomplete || !self.missing.is_empty();
        for (index, (address, declaration)) in self.declarations.into_iter().enumerate() {
            let requirement = providers.entry(address).or_default();
            let is_explicit = declaration.kind == DeclarationKind::RequiredProviders;
            requirement.is_certain |= !is_incomplete || is_explicit || index >= self.own;
            requirement.declarations.push(declaration);
        }
        if providers.len() > MOST_PROVIDERS {
            let message = format!("more than {MOST_PROVIDERS} providers are required");
            return Err(Diagnostic::error(Code::InvalidConfiguration, message).into());
        }
        for requirement in providers.values_mut() {
            let lists = requirement.declarations.iter().map(|declaration| &declaration.constraints);
            requirement.constraints = ConstraintList::merge(lists);
        }
        let Self { warnings, modules, tree, elsewhere: calls, unknown, locked, .. } = self;
        let state = StateKnowledge::default();
        Ok(Requirements { providers, is_incomplete, warnings, modules, tree, calls, unknown, locked, state })
    }
}
