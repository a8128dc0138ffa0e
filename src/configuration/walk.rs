//! Follows the module calls of a root module, and collects the providers that the modules require.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::called_packages::{CalledPackage, CalledPackages, split_installed};
use super::caller::{Caller, Calling, CallsOf, InstallPath, Targets, Visit};
use super::decode;
use super::evaluated_storage;
use super::file::Call;
use super::file_reads::FileReads;
use super::files;
use super::fingerprint::Fingerprint;
use super::listing;
use super::missing::{MissingModules, MissingReason, Situation};
use super::module::Module;
use super::module_cache::ModuleCache;
use super::options::{Options, Resolver};
use super::origin::Origin;
use super::requirement::{
    CalledModule, Declaration, DeclarationKind, ModuleCall, ModuleDirectory, Requirement,
    Requirements,
};
use super::root::{ModulePath, RootFiles, RootSource};
use super::scope::{Scope, UserValues, Values};
use crate::diagnostic::{Code, Collector, Diagnostic, Help, Location, Message, Result, RunOption};
use crate::hcl::evaluate::allowance::Allowance;
use crate::hcl::evaluate::value::Unknown;
use crate::modules::ModuleSource;
use crate::modules::fetched::ModuleRequest;
use crate::modules::installed::Manifest;
use crate::modules::local::{self, is_local};
use crate::provider::{ConstraintList, Dialect, ProviderAddress};
use crate::system::Tree;
use crate::system::boundary::outside_error;
use crate::system::files::join;

/// Maximum depth of calls.
pub(super) const MAX_DEPTH: usize = 100;
/// Maximum number of calls that are followed. A configuration with more was written to waste time.
pub(super) const MAX_CALLS: usize = 100_000;
/// Maximum number of declarations that require a provider.
const MOST_DECLARATIONS: usize = 100_000;
/// Maximum number of providers that a root module requires.
const MOST_PROVIDERS: usize = 1_000;

/// Whether OpenTofu and Terraform accept a name of a module or a test run.
fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && name
            .chars()
            .all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-'))
}

/// Whether a call leads to a directory below the one of the lock file, or to a different package.
/// Other paths start from the root module's directory.
fn is_found_without_module(call: &Call, root: &RootFiles, tree: &Tree) -> bool {
    match call.constant_source() {
        Some(source) if is_local(source) => tree.is_dir(&local::directory(&root.directory, source)),
        _ => true,
    }
}

/// Everything that decides the result of a walk.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    /// The root module's directory, or the directory of its lock file.
    pub(super) root: &'a Path,
    pub(super) options: &'a Options,
    pub(super) cache: &'a ModuleCache,
    pub(super) resolver: Option<&'a Resolver<'a>>,
    pub(super) values: &'a UserValues<'a>,
    pub(super) allowance: &'a Allowance,
}

impl<'a> Input<'a> {
    /// The files that are read.
    pub(super) fn tree(&self) -> &'a Tree {
        self.cache.tree()
    }
}

/// One pass over the calls of a configuration.
pub(super) struct Walk<'a> {
    pub(super) input: Input<'a>,
    /// Directory from which OpenTofu and Terraform run, unless that is a fetched module.
    run_directory: Option<PathBuf>,
    pub(super) packages: CalledPackages,
    /// Read when it is first needed.
    pub(super) manifest: Option<Manifest>,
    /// Canonical directories of the modules that are being read, each called by the one before.
    chain: Vec<PathBuf>,
    /// Directories whose declarations and errors were collected.
    collected: HashSet<PathBuf>,
    /// Directories whose calls have the same targets for every caller, so that they are followed
    /// once.
    followed: HashSet<PathBuf>,
    declarations: Vec<(ProviderAddress, Declaration)>,
    /// Number of declarations in the root module's own files, which come first.
    own_declarations: usize,
    /// Whether the root module may have files that are not known, which may map names to other
    /// providers.
    pub(super) has_unknown_files: bool,
    /// The result, without the providers.
    pub(super) result: Requirements,
    pub(super) missing: MissingModules,
    /// Whether the root module is a Terragrunt unit.
    pub(super) is_unit: bool,
    /// Missing modules that can be fetched.
    pub(super) requests: HashSet<ModuleRequest>,
    pub(super) errors: Collector,
}

impl<'a> Walk<'a> {
    pub(super) fn new(input: Input<'a>, packages: CalledPackages) -> Self {
        Self {
            input,
            run_directory: None,
            packages,
            manifest: None,
            chain: Vec::new(),
            collected: HashSet::new(),
            followed: HashSet::new(),
            declarations: Vec::new(),
            own_declarations: 0,
            has_unknown_files: false,
            result: Requirements::default(),
            missing: MissingModules::default(),
            is_unit: false,
            requests: HashSet::new(),
            errors: Collector::default(),
        }
    }

    /// Reads a root module as far as the modules that it calls are here.
    pub(super) fn read(&mut self, root: RootSource<'_>) -> Result<Requirements> {
        self.is_unit = matches!(root, RootSource::Files(_));
        match root {
            RootSource::Directory(_, canonical) => self.read_directory(canonical),
            RootSource::Files(files) => self.read_files(files),
        }
        let Options {
            dialect,
            allow_missing_modules,
            ..
        } = *self.input.options;
        let is_online = self
            .input
            .cache
            .fetcher
            .as_ref()
            .is_some_and(|fetcher| !fetcher.is_offline());
        let situation = Situation {
            dialect,
            may_be_missing: allow_missing_modules,
            is_online,
            is_unit: self.is_unit,
        };
        let missing = self.missing.diagnostics(situation);
        if allow_missing_modules {
            self.result.warnings.extend(missing);
        } else {
            self.errors.extend(missing);
        }
        std::mem::take(&mut self.errors).into_result(())?;
        self.take_requirements()
    }

    /// Reads a root module whose files are in one directory, with its tests. `canonical` is the
    /// directory without symbolic links, if it is known.
    fn read_directory(&mut self, canonical: Option<&Path>) {
        let Input { root, cache, .. } = self.input;
        let dialect = self.input.options.dialect;
        let shown = join(root, "");
        let directory = match canonical {
            Some(canonical) => canonical.to_owned(),
            None => match cache.tree().canonicalize(&shown) {
                Ok(canonical) => canonical,
                Err(error) => {
                    self.errors
                        .push(Diagnostic::io("read the directory", root, &error));
                    return;
                }
            },
        };
        let module = cache.canonical_module(&directory, &shown, dialect);
        if module.is_empty()
            && module.diagnostics.is_empty()
            && !listing::has_tests(cache.tree(), &shown, &module, dialect)
        {
            self.errors.push(files::no_configuration(root, dialect));
            return;
        }
        if module.is_for_other_dialect() {
            let help = Help::text("to use them: ").and(RunOption::Dialect(Dialect::Tofu));
            let message = Message::naming(root, |root| {
                format!("the files in {root} are for OpenTofu; Terraform reads none of them")
            });
            let warning = Diagnostic::warning(Code::NoConfiguration, message);
            self.result.warnings.push(warning.help(help));
        }

        self.chain.push(directory.clone());
        self.run_directory = Some(shown.clone());
        self.collect_once(&directory, &module, None);
        self.own_declarations = self.declarations.len();
        self.follow_root(
            &module,
            &module.calls,
            &ModulePath::Directory(shown.clone()),
            None,
            CallsOf::RootModule,
        );
        if self.input.options.tests {
            self.read_tests(&module, &shown, &directory);
        }
    }

    /// Reads a root module whose files come from several directories.
    fn read_files(&mut self, root: &RootFiles) {
        let dialect = self.input.options.dialect;
        let module = Module::of_root_files(root, dialect);
        if module.is_empty() && !root.is_partial {
            let error = files::no_configuration(&root.directory, dialect);
            self.errors.push(error);
            return;
        }
        for error in &module.diagnostics {
            let location = error.labels.first().map(|label| &label.location);
            // An error in a fetched module is shown with the unit's source.
            let mut source = None;
            if location.is_some_and(|location| !root.is_own(location)) {
                source = root.source.as_ref();
            }
            self.errors.push(error.clone().called_from(source));
        }

        let mut own = Vec::new();
        let mut fetched = Vec::new();
        for declaration in &module.declarations {
            if root.is_own(&declaration.1.location) {
                own.push(declaration.clone());
            } else {
                fetched.push(declaration.clone());
            }
        }
        self.add_declarations(&own, &root.directory, None);
        self.add_declarations(&fetched, &module.directory, root.source.as_ref());
        self.own_declarations = self.declarations.len();

        let path = root.module();
        let module_in_repository = match &path {
            ModulePath::Directory(directory) => Some(directory),
            ModulePath::InPackage(_) => None,
        };
        self.run_directory = module_in_repository.cloned();
        let tree = self.input.tree();
        let mut directories = vec![&root.directory];
        directories.extend(module_in_repository);
        let directories_with_tests = directories.clone();
        directories.extend(&root.others);
        for directory in directories {
            self.result.modules.push(ModuleDirectory {
                path: directory.clone(),
                canonical: tree
                    .canonicalize(directory)
                    .unwrap_or_else(|_| directory.clone()),
                local: true,
            });
        }
        if let Ok(directory) = path.path()
            && let Ok(canonical) = tree.canonicalize(&directory)
        {
            self.chain.push(canonical);
        }

        let mut calls = Vec::new();
        for call in &module.calls {
            if root.module.is_some() || is_found_without_module(call, root, tree) {
                calls.push(call.clone());
            }
        }
        let has_unread_calls = calls.len() < module.calls.len();
        self.has_unknown_files |= root.is_partial;
        self.result.is_incomplete |= root.is_partial || has_unread_calls;
        self.follow_root(
            &module,
            &calls,
            &path,
            root.source.as_ref(),
            CallsOf::RootModule,
        );

        if self.input.options.tests {
            // Both may be the same directory.
            let mut test_directories = BTreeMap::new();
            for directory in directories_with_tests {
                if let Ok(canonical) = tree.canonicalize(directory) {
                    test_directories.insert(canonical, directory);
                }
            }
            for (canonical, directory) in test_directories {
                self.read_tests(&module, directory, &canonical);
            }
        }
    }

    /// Collects the module's own requirements, once for each directory.
    fn collect_once(&mut self, canonical: &Path, module: &Module, own_call: Option<&Location>) {
        if !self.collected.insert(canonical.to_owned()) {
            return;
        }
        for error in &module.diagnostics {
            self.errors.push(error.clone().called_from(own_call));
        }
        self.warn_of_skipped(
            module
                .refused
                .iter()
                .map(|warning| warning.clone().called_from(own_call)),
        );
        self.add_declarations(&module.declarations, &module.directory, own_call);
        self.result.modules.push(ModuleDirectory {
            path: module.directory.clone(),
            canonical: canonical.to_owned(),
            local: own_call.is_none(),
        });
    }

    /// Adds the declarations of a module. `own_call` leads to it, unless it is the user's own.
    fn add_declarations(
        &mut self,
        declarations: &[(ProviderAddress, Declaration)],
        module: &Path,
        own_call: Option<&Location>,
    ) {
        if self.declarations.len() + declarations.len() > MOST_DECLARATIONS {
            let message =
                format!("more than {MOST_DECLARATIONS} blocks and entries require providers");
            let error = Diagnostic::error(Code::InvalidConfiguration, message);
            self.errors.merge(error);
            return;
        }
        for (address, declaration) in declarations {
            let declaration = Declaration {
                module: module.to_owned(),
                local: own_call.is_none(),
                own_call: own_call.cloned(),
                ..declaration.clone()
            };
            self.declarations.push((address.clone(), declaration));
        }
    }

    /// Reads the root module's test files: the modules that their runs test and, for OpenTofu,
    /// their `provider` blocks. Terraform has ignored these since 1.9.
    fn read_tests(&mut self, root: &Module, shown: &Path, canonical: &Path) {
        let Input {
            cache,
            options: Options { dialect, .. },
            ..
        } = self.input;
        let files =
            match listing::test_files(cache.tree(), shown, root.test_names.as_deref(), *dialect) {
                Ok(files) => files,
                Err(error) => {
                    return self.errors.push(Diagnostic::io(
                        "read the test files of",
                        shown,
                        &error,
                    ));
                }
            };
        for (path, name) in files {
            if cache.boundary.is_outside(&path) {
                self.warn_of_skipped([outside_error(&path)]);
                continue;
            }
            let source = cache.texts.read(cache.tree(), &path, &path);
            match source.and_then(|source| decode::test_file(&source, *dialect)) {
                Ok(contents) => {
                    self.errors.extend(contents.diagnostics.into_diagnostics());
                    let declarations = root.resolve_providers(
                        contents.providers.blocks,
                        *dialect,
                        &mut self.errors,
                    );
                    if *dialect == Dialect::Tofu {
                        self.add_declarations(&declarations, shown, None);
                    }
                    // A test may call the root module itself, which is not a cycle.
                    self.chain.clear();
                    let path = &ModulePath::Directory(shown.to_owned());
                    self.follow_root(
                        root,
                        &contents.calls.blocks,
                        path,
                        None,
                        CallsOf::Test(&name),
                    );
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
        path: &ModulePath,
        own_call: Option<&Location>,
        calls_of: CallsOf<'_>,
    ) {
        let Input {
            options,
            values,
            allowance,
            ..
        } = self.input;
        let scope = Scope::new(module, Values::User(values), options.dialect, allowance);
        // Tests store no state.
        if let Some(block) = &module.storage
            && calls_of == CallsOf::RootModule
        {
            let storage = evaluated_storage::evaluate(block, &scope);
            self.result.storages.push(storage);
        }
        let key = match calls_of {
            CallsOf::RootModule => String::new(),
            CallsOf::Test(name) => format!("test.{name}"),
        };
        let installed = &InstallPath {
            directory: PathBuf::from("."),
            package: None,
        };
        self.follow(
            &Caller {
                path,
                key: &key,
                own_call,
                node: None,
                scope: &scope,
                installed: Some(installed),
            },
            calls,
        );
    }

    /// Follows the calls in a module.
    fn follow(&mut self, caller: &Caller<'_>, calls: &[Call]) -> Targets {
        let mut targets = Targets::Same;
        for call in calls {
            if self.follow_call(caller, call) == Targets::ByCaller {
                targets = Targets::ByCaller;
            }
        }
        targets
    }

    /// Follows a call, and notes its origin for all that is unknown below.
    fn follow_call(&mut self, caller: &Caller<'_>, call: &Call) -> Targets {
        let calling = Calling {
            caller,
            call,
            key: &caller.key_of(call),
        };
        let unknown_before = self.result.unknown_calls.len();
        let mut origin = Origin::default();
        let is_own = caller.own_call.is_none();
        if is_own {
            origin.fingerprint.mix("call", &calling.code());
        }
        let targets = self.resolve_and_follow(calling, &mut origin);
        // The package of a fetched module decides on its calls, and a call of the user's own
        // decides on the package.
        if !is_own {
            origin.fingerprint = Fingerprint::default();
            origin.files = FileReads::default();
        }
        for unknown in &mut self.result.unknown_calls[unknown_before..] {
            unknown.origin.add(origin.clone());
        }
        targets
    }

    /// Follows a call, whose source and version add to the origin.
    fn resolve_and_follow(&mut self, calling: Calling<'_>, origin: &mut Origin) -> Targets {
        // A module `a.b` would have the key of a module `b` that `a` calls.
        if !is_identifier(&calling.call.name) {
            self.report_invalid_name(&calling);
            self.packages.add_unknown(calling.key);
            return Targets::Same;
        }

        let targets = match self.source_and_constraints(&calling, origin) {
            None => {
                self.packages.add_unknown(calling.key);
                Targets::Same
            }
            Some((ModuleSource::Local(source), _)) => {
                self.result
                    .variable_calls
                    .extend(calling.variable_call(origin));
                self.follow_local(calling, &source, origin.withheld.clone())
            }
            Some((source, constraints)) => {
                self.result
                    .variable_calls
                    .extend(calling.variable_call(origin));
                let call = calling.module_call(source, constraints, origin.clone());
                self.follow_package(calling, call);
                Targets::ByCaller
            }
        };

        // Each caller may choose a different source with its variables.
        let Calling { caller, call, .. } = calling;
        if call.constant_source().is_some() && caller.scope.chosen_by.is_none() {
            targets
        } else {
            Targets::ByCaller
        }
    }

    /// The source and the constraints of a call; `None` if one is not known, which is reported.
    fn source_and_constraints(
        &mut self,
        calling: &Calling<'_>,
        origin: &mut Origin,
    ) -> Option<(ModuleSource, ConstraintList)> {
        let source = self.evaluate_source(calling, origin)?;
        let constraints = self.evaluate_constraints(calling, &source, origin)?;
        Some((source, constraints))
    }

    /// Follows a call of a module in another package.
    fn follow_package(&mut self, calling: Calling<'_>, call: ModuleCall) {
        let withheld = call.origin.withheld.clone();
        let unknown_before = self.result.unknown_calls.len();
        let package = self.find_package(&calling, call);
        let is_unknown = self.result.unknown_calls.len() > unknown_before;
        self.packages.add(calling.key, package.as_ref(), is_unknown);
        if let Some((path, installed)) = package {
            let own_call = calling.caller.own_call.unwrap_or(&calling.call.location);
            self.visit(&Visit {
                path,
                calling,
                own_call: Some(own_call),
                source: None,
                withheld,
                installed,
            });
        }
    }

    /// Follows a call of a module in the package of its caller.
    fn follow_local(
        &mut self,
        calling: Calling<'_>,
        source: &str,
        withheld: Option<Unknown>,
    ) -> Targets {
        let caller = calling.caller;
        let Some(path) = caller.path.local(self.input.tree(), source) else {
            self.report_way_out(&calling, source);
            return Targets::Same;
        };
        // Behind a link, `path.module` is a different path. Errors name the link if it leads out of
        // the repository.
        let written = ModulePath::Directory(local::directory(&caller.path.shown_path(), source));
        let is_as_written =
            matches!(path, ModulePath::InPackage(_)) || path.shown_path() == written.shown_path();
        let is_outside = !is_as_written && self.input.cache.boundary.is_outside(&path.shown_path());
        let path = if is_outside { written } else { path };

        // The package of another call may be installed there.
        if let Some((installed_key, below)) = self.split_installed_path(caller, &path)
            && let Some(package) = self.packages.get(&installed_key)
        {
            self.follow_installed(calling, path, package, &below, source, withheld);
            return Targets::ByCaller;
        }

        let installed = self.local_install_path(&calling, &path, source);
        self.add_local_call(&calling, source, installed.as_ref());
        self.visit(&Visit {
            path,
            calling,
            own_call: caller.own_call,
            source: if is_as_written { Some(source) } else { None },
            withheld,
            installed,
        })
    }

    /// The path of the call in whose installed package a directory is, and the directory in the
    /// package; `None` for any other directory. Only the user's own modules call others in this
    /// way.
    fn split_installed_path(
        &self,
        caller: &Caller<'_>,
        path: &ModulePath,
    ) -> Option<(String, String)> {
        if caller.own_call.is_some() {
            return None;
        }
        let ModulePath::Directory(directory) = path else {
            return None;
        };
        let root = self.run_directory.as_deref()?;
        split_installed(root, &self.input.options.data_directory, directory)
    }

    /// Follows a call by the directory in which the package of another call is installed. The
    /// package is that of the other call, whatever is in the directory, unless OpenTofu or
    /// Terraform installed it for the same source.
    fn follow_installed(
        &mut self,
        calling: Calling<'_>,
        directory: ModulePath,
        package: CalledPackage,
        below: &str,
        source: &str,
        withheld: Option<Unknown>,
    ) {
        let (path, installed) = match package {
            CalledPackage::Missing { is_unknown } => {
                self.result.is_incomplete = true;
                if is_unknown {
                    self.add_unknown(&calling);
                }
                return;
            }
            CalledPackage::Installed => (directory, None),
            CalledPackage::Fetched(module, installed) => {
                let installed = installed.map(|package| InstallPath {
                    directory: join(&package, below),
                    package: Some(package),
                });
                (ModulePath::InPackage(module.at(below)), installed)
            }
        };
        self.add_local_call(&calling, source, installed.as_ref());
        let own_call = Some(&calling.call.location);
        self.visit(&Visit {
            path,
            calling,
            own_call,
            source: None,
            withheld,
            installed,
        });
    }

    /// Reads a called module and all that it calls.
    fn visit(&mut self, visit: &Visit<'_>) -> Targets {
        let directory = match visit.path.path() {
            Ok(directory) => directory,
            Err(errors) => {
                self.errors
                    .extend(errors.map(|error| visit.calling.at_call(error)));
                return Targets::Same;
            }
        };
        let canonical = match self.input.tree().canonicalize(&directory) {
            Ok(canonical) => canonical,
            Err(error) => {
                self.report_unreadable(visit, &error);
                return Targets::Same;
            }
        };
        if self.result.call_tree.len() >= MAX_CALLS || self.chain.len() >= MAX_DEPTH {
            self.report_too_many(visit);
            return Targets::Same;
        }
        // With a lock file each call has an entry of its own.
        let is_repeated = self.input.resolver.is_none() && self.followed.contains(&canonical);
        let node = self.add_node(visit, &canonical, is_repeated);
        if is_repeated {
            return Targets::Same;
        }
        let is_fetched = matches!(visit.path, ModulePath::InPackage(_));
        if !is_fetched && self.input.cache.boundary.excludes(&canonical) {
            self.followed.insert(canonical);
            let outside = visit.calling.error_outside(&visit.path.shown_path());
            self.warn_of_skipped([outside]);
            return Targets::Same;
        }
        if let Some(start) = self
            .chain
            .iter()
            .position(|directory| *directory == canonical)
        {
            self.report_cycle(visit, self.chain.len() - start);
            return Targets::Same;
        }
        let cache = self.input.cache;
        let dialect = self.input.options.dialect;
        let shown = visit.path.shown_path();
        let module = if is_fetched {
            cache.fetched_module(&canonical, &directory, &shown, dialect)
        } else {
            cache.canonical_module(&canonical, &shown, dialect)
        };
        // The directory of a git submodule is empty until it is checked out.
        if module.is_empty()
            && module.diagnostics.is_empty()
            && !is_fetched
            && let Some(submodule) = self.submodule_not_checked_out(visit)
        {
            self.add_missing(visit, MissingReason::Submodule(submodule));
            return Targets::Same;
        }
        self.collect_once(&canonical, &module, visit.own_call);
        self.chain.push(canonical.clone());
        let targets = self.follow_called(visit, node, &module);
        self.chain.pop();
        if targets == Targets::Same {
            self.followed.insert(canonical);
        }
        targets
    }

    /// Follows the calls in a called module.
    fn follow_called(&mut self, visit: &Visit<'_>, node: usize, module: &Module) -> Targets {
        let Calling { caller, call, key } = visit.calling;
        let Input {
            options, allowance, ..
        } = self.input;
        let values = Values::Call(call, caller.scope, visit.source);
        let scope = Scope::new(module, values, options.dialect, allowance)
            .chosen_by(visit.withheld.clone());
        let called = Caller {
            path: &visit.path,
            key,
            own_call: visit.own_call,
            node: Some(node),
            scope: &scope,
            installed: visit.installed.as_ref(),
        };
        self.follow(&called, &module.calls)
    }

    /// Adds a call to the tree, and returns its index.
    fn add_node(&mut self, visit: &Visit<'_>, canonical: &Path, is_repeated: bool) -> usize {
        let Calling { caller, call, key } = &visit.calling;
        let tree = &mut self.result.call_tree;
        tree.push(CalledModule {
            address: caller.address_of(call, tree),
            key: (*key).to_owned(),
            parent: caller.node,
            directory: canonical.to_owned(),
            location: call.location.clone(),
            is_repeated,
        });
        tree.len() - 1
    }

    /// Returns the result, with the declarations grouped by provider. Nothing is left in the walk.
    fn take_requirements(&mut self) -> Result<Requirements> {
        let mut by_provider: BTreeMap<_, Requirement> = BTreeMap::new();
        for (index, (address, declaration)) in self.declarations.drain(..).enumerate() {
            // The declarations of the root module come first. An unknown file of it may map a name
            // to a different provider, unless `required_providers` already does.
            let may_be_mapped = index < self.own_declarations
                && self.has_unknown_files
                && declaration.kind != DeclarationKind::RequiredProviders;
            let requirement = by_provider.entry(address).or_default();
            requirement.is_certain |= !may_be_mapped;
            requirement.declarations.push(declaration);
        }
        if by_provider.len() > MOST_PROVIDERS {
            let message = format!("more than {MOST_PROVIDERS} providers are required");
            return Err(Diagnostic::error(Code::InvalidConfiguration, message).into());
        }

        let mut requirements = std::mem::take(&mut self.result);
        requirements.is_incomplete |= !self.missing.is_empty();
        for (address, mut requirement) in by_provider {
            requirement.constraints = ConstraintList::merge(
                requirement
                    .declarations
                    .iter()
                    .map(|declaration| &declaration.constraints),
            );
            if address.is_never_locked() {
                requirements.never_locked.insert(address, requirement);
            } else {
                requirements.providers.insert(address, requirement);
            }
        }
        Ok(requirements)
    }
}
