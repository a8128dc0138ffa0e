//! From a root module through all that it calls to the providers that the configuration requires.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::address::ProviderAddress;
use crate::constraint::ConstraintList;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Location, Result};
use crate::dialect::Dialect;
use crate::files::join;
use crate::modules::installed::{Installed, Manifest};
use crate::modules::local::{self, is_local};
use crate::modules::submodule;

use super::constant::Deferred;
use super::decode;
use super::file::{Call, CallSource};
use super::files;
use super::missing::{MissingModules, Reason};
use super::module::{Found, Module};
use super::module_cache::ModuleCache;
use super::requirement::{Declaration, ModuleDirectory, Requirement, Requirements};
use super::root::{RootFiles, RootModule};
use super::syntax;

/// How deeply modules may call one another.
const MAX_DEPTH: usize = 100;
/// How many calls are followed in all; a configuration with more was made to waste time.
const MAX_CALLS: usize = 100_000;
/// Where programs install modules unless `TF_DATA_DIR` names another directory.
const DATA_DIRECTORY: &str = ".terraform";

/// How a configuration is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose files are read, and whose registry is the default.
    pub dialect: Dialect,
    /// Whether the root module's test files count, as they do for `init`.
    pub tests: bool,
    /// Whether a module that is not installed is a warning only; what it requires is then not known.
    pub allow_missing_modules: bool,
    /// `.terraform` or what `TF_DATA_DIR` says; relative to the root module, or absolute.
    pub data_directory: PathBuf,
}

/// Reads the configuration whose root module is the directory `root`, given as the user knows it, for example `.`; all
/// paths in the result start with it.
///
/// # Errors
/// Everything that is wrong with the configuration, not only the first.
pub fn read(root: &Path, options: &Options) -> Result<Requirements> {
    read_with_cache(RootModule::Directory(root), options, &ModuleCache::default())
}

/// [`read`] for any root module, where modules that several root modules call are read once.
///
/// # Errors
/// Those of [`read`].
pub(crate) fn read_with_cache(root: RootModule<'_>, options: &Options, cache: &ModuleCache) -> Result<Requirements> {
    let mut walk = Walk::new(root.directory(), options, cache);
    match root {
        RootModule::Directory(_) => walk.root(),
        RootModule::Files(files) => walk.files(files),
    }
    walk.report_missing();
    if walk.errors.is_empty() { Ok(walk.finish()) } else { Err(walk.errors) }
}

struct Walk<'a> {
    /// The root module's directory, or where its lock file is.
    root: &'a Path,
    options: &'a Options,
    cache: &'a ModuleCache,
    /// Read when it is first needed.
    manifest: Option<Manifest>,
    /// The canonical directories of the modules that are being read, each called by the one before.
    chain: Vec<PathBuf>,
    /// Directories whose declarations and errors were taken.
    taken: HashSet<PathBuf>,
    /// Directories whose calls lead to the same modules whoever calls them; they need not be followed again.
    finished: HashSet<PathBuf>,
    calls: usize,
    declarations: Vec<(ProviderAddress, Declaration)>,
    modules: Vec<ModuleDirectory>,
    missing: MissingModules,
    /// Whether modules are called that no place is known for.
    is_incomplete: bool,
    warnings: Vec<Diagnostic>,
    errors: Diagnostics,
}

/// A module that is about to be read.
struct Visit<'a> {
    /// As the user knows it.
    directory: PathBuf,
    /// The names of the calls that lead to it.
    key: String,
    /// Whether only local calls lead to it.
    local: bool,
    call: &'a Call,
}

impl Visit<'_> {
    fn error(&self, what: &str) -> Diagnostic {
        let message = format!("module \"{}\" is in {}, {what}", self.key, self.directory.display());
        Diagnostic::error(Code::InvalidConfiguration, message).at(self.call.location.clone(), "called here")
    }
}

/// What a module's calls lead to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// The same modules, whoever calls the module.
    Same,
    /// Perhaps others for another caller: installed modules have a place for each path of calls, and a source may depend
    /// on what the caller sets.
    ByCaller,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Path, options: &'a Options, cache: &'a ModuleCache) -> Self {
        Self {
            root,
            options,
            cache,
            manifest: None,
            chain: Vec::new(),
            taken: HashSet::new(),
            finished: HashSet::new(),
            calls: 0,
            declarations: Vec::new(),
            modules: Vec::new(),
            missing: MissingModules::default(),
            is_incomplete: false,
            warnings: Vec::new(),
            errors: Diagnostics::default(),
        }
    }

    fn root(&mut self) {
        let dialect = self.options.dialect;
        let shown = join(self.root, "");
        let canonical = match shown.canonicalize() {
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
            let warning =
                Diagnostic::warning(Code::NoConfiguration, message).help(Help::command(["--dialect", "tofu"]));
            self.warnings.push(warning);
        }
        self.chain.push(canonical.clone());
        self.take(&canonical, &module, true);
        self.follow(&module, &module.calls, "", true, &[]);
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
        self.declare(&module.found, &root.directory, true);
        for path in [&root.directory].into_iter().chain(&root.module).chain(&root.others) {
            let canonical = path.canonicalize().unwrap_or_else(|_| path.clone());
            self.modules.push(ModuleDirectory { path: path.clone(), canonical, local: true });
        }
        self.chain.extend(root.module().canonicalize());
        let (calls, lost): (Vec<_>, Vec<_>) = module.calls.iter().cloned().partition(|call| {
            root.module.is_some()
                || call
                    .constant_source()
                    .is_none_or(|source| !is_local(source) || local::directory(&root.directory, source).is_dir())
        });
        self.is_incomplete |= root.is_partial || !lost.is_empty();
        self.follow(&module, &calls, "", true, &[]);
        if self.options.tests {
            let canonical = |path: &PathBuf| Some((path.canonicalize().ok()?, path.clone()));
            let directories = [&root.directory].into_iter().chain(&root.module).filter_map(canonical);
            for (canonical, path) in directories.collect::<BTreeMap<_, _>>() {
                self.tests(&module, &path, &canonical);
            }
        }
    }

    /// Takes what the module itself requires, once for each directory.
    fn take(&mut self, canonical: &Path, module: &Module, local: bool) {
        if !self.taken.insert(canonical.to_owned()) {
            return;
        }
        self.errors.extend(module.diagnostics.iter().cloned());
        let shown = module.directory().to_owned();
        self.declare(&module.found, &shown, local);
        self.modules.push(ModuleDirectory { path: shown, canonical: canonical.to_owned(), local });
    }

    fn declare(&mut self, found: &[Found], module: &Path, local: bool) {
        for found in found.iter().filter(|found| !found.address.is_never_locked()) {
            let declaration = Declaration {
                location: found.location.clone(),
                version: found.version.clone(),
                constraints: found.constraints.clone(),
                kind: found.kind,
                module: module.to_owned(),
                local,
            };
            self.declarations.push((found.address.clone(), declaration));
        }
    }

    /// Counts the root module's test files: their `provider` blocks and the modules that their runs test.
    fn tests(&mut self, root: &Module, shown: &Path, canonical: &Path) {
        let dialect = self.options.dialect;
        let files = match files::test_files(shown, dialect) {
            Ok(files) => files,
            Err(error) => return self.errors.push(Diagnostic::io("read the test files of", shown, &error)),
        };
        for (path, name) in files {
            let contents = files::read_source(&path)
                .and_then(|source| syntax::read(&source, |items| decode::decode_test_file(&source, items, dialect)));
            match contents {
                Ok(contents) => {
                    self.errors.extend(contents.diagnostics);
                    let (found, errors) = root.resolve_providers(contents.providers, dialect);
                    self.declare(&found, shown, true);
                    self.errors.extend(errors);
                    // The tested module stands on its own: that it is the root module's caller is not a cycle.
                    self.chain.clear();
                    self.follow(root, &contents.calls, &format!("test.{name}"), true, &[]);
                    self.chain.push(canonical.to_owned());
                }
                Err(errors) => self.errors.extend(errors),
            }
        }
    }

    /// Follows a module's calls. `arguments` are the names that the module's own caller sets.
    fn follow(&mut self, module: &Module, calls: &[Call], key: &str, local: bool, arguments: &[String]) -> Reach {
        let mut reach = Reach::Same;
        for call in calls {
            let key = if key.is_empty() { call.name.clone() } else { format!("{key}.{}", call.name) };
            if self.call(module, call, key, local, arguments) == Reach::ByCaller {
                reach = Reach::ByCaller;
            }
        }
        reach
    }

    fn call(&mut self, module: &Module, call: &Call, key: String, local: bool, arguments: &[String]) -> Reach {
        let source = match &call.source {
            CallSource::Constant(source) => source.clone(),
            CallSource::Missing => return Reach::Same,
            CallSource::Expression(expression) => {
                let Some(source) = self.evaluate(expression.as_deref(), &key, module, arguments) else {
                    self.missing.add(call, &key, Reason::NotInstalled(None));
                    return Reach::ByCaller;
                };
                source
            }
        };
        if is_local(&source) {
            let reach =
                self.visit(&Visit { directory: local::directory(module.directory(), &source), key, local, call });
            return if call.constant_source().is_some() { reach } else { Reach::ByCaller };
        }
        match self.installed(&key).cloned() {
            Some(installed) if !installed.meets(&source, call.version.as_ref(), self.options.dialect) => {
                self.missing.add(call, &key, Reason::Changed(installed.describe()));
            }
            Some(installed) => {
                let directory = join(self.root, installed.dir);
                self.visit(&Visit { directory, key, local: false, call });
            }
            None => self.missing.add(call, &key, Reason::NotInstalled(Some(source))),
        }
        Reach::ByCaller
    }

    /// The source of a module that depends on variables: as it was installed, else by the variables' defaults.
    fn evaluate(
        &mut self,
        expression: Option<&Deferred>,
        key: &str,
        module: &Module,
        arguments: &[String],
    ) -> Option<String> {
        if let Some(installed) = self.installed(key) {
            return Some(installed.source.clone());
        }
        let known = |name: &str| module.defaults.get(name).filter(|_| arguments.iter().all(|set| set != name));
        match expression?.evaluate(known) {
            Some(hcl::Value::String(source)) => Some(source),
            _ => None,
        }
    }

    fn installed(&mut self, key: &str) -> Option<&Installed> {
        let manifest = self.manifest.get_or_insert_with(|| {
            let path = self.options.data_directory.join("modules").join("modules.json");
            Manifest::read(&join(self.root, path)).unwrap_or_else(|error| {
                self.errors.extend(error);
                Manifest::default()
            })
        });
        manifest.modules.get(key)
    }

    /// Reports the modules whose requirements cannot be known until they are there.
    fn report_missing(&mut self) {
        let found = self.missing.diagnostics(self.options.dialect, self.options.allow_missing_modules);
        if self.options.allow_missing_modules {
            self.warnings.extend(found);
        } else {
            self.errors.extend(found);
        }
    }

    /// Reads a called module and all that it calls.
    fn visit(&mut self, visit: &Visit<'_>) -> Reach {
        let canonical = match visit.directory.canonicalize() {
            Ok(canonical) => canonical,
            Err(error) => {
                self.unreadable(visit, &error);
                return Reach::Same;
            }
        };
        if self.finished.contains(&canonical) {
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
        let module: Arc<Module> = self.cache.canonical_module(&canonical, &visit.directory, self.options.dialect);
        if module.is_empty() && module.diagnostics.is_empty() {
            self.without_configuration(visit, "which holds no configuration");
            return Reach::Same;
        }
        self.take(&canonical, &module, visit.local);
        self.chain.push(canonical.clone());
        let reach = self.follow(&module, &module.calls, &visit.key, visit.local, &visit.call.arguments);
        self.chain.pop();
        if reach == Reach::Same {
            self.finished.insert(canonical);
        }
        reach
    }

    fn unreadable(&mut self, visit: &Visit<'_>, error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            return self.errors.push(visit.error(&format!("which cannot be read: {error}")));
        }
        let is_elsewhere = matches!(&visit.call.source, CallSource::Constant(source) if !is_local(source));
        if is_elsewhere || self.is_in_data_directory(&visit.directory) {
            let source = visit.call.constant_source().map(str::to_owned);
            return self.missing.add(visit.call, &visit.key, Reason::NotInstalled(source));
        }
        self.without_configuration(visit, "which does not exist");
    }

    /// Whether a local module is one that a program installs.
    fn is_in_data_directory(&self, directory: &Path) -> bool {
        let is_default = directory.components().any(|component| component.as_os_str() == DATA_DIRECTORY);
        is_default || directory.starts_with(join(self.root, &self.options.data_directory))
    }

    /// Reports that there is nothing to read where a module should be.
    fn without_configuration(&mut self, visit: &Visit<'_>, what: &str) {
        match submodule::not_checked_out(&visit.directory) {
            Some(submodule) => self.missing.add(visit.call, &visit.key, Reason::Submodule(submodule)),
            None => self.errors.push(visit.error(what)),
        }
    }

    fn cycle(&mut self, visit: &Visit<'_>, length: usize) {
        let message = match length {
            1 => format!("the module in {} calls itself", visit.directory.display()),
            _ => format!("{length} modules call one another in a circle, which ends at {}", visit.directory.display()),
        };
        let location: Location = visit.call.location.clone();
        self.errors.push(Diagnostic::error(Code::ModuleCycle, message).at(location, "called here"));
    }

    /// Reports once that the tree of calls is too large to be meant.
    fn too_many(&mut self, visit: &Visit<'_>) {
        let message = format!("more than {MAX_CALLS} module calls, or calls more than {MAX_DEPTH} deep");
        if !self.errors.iter().any(|error| error.message == message) {
            let error = Diagnostic::error(Code::ModuleCycle, message);
            self.errors.push(error.at(visit.call.location.clone(), "called here"));
        }
    }

    fn finish(self) -> Requirements {
        let mut providers: BTreeMap<_, Requirement> = BTreeMap::new();
        for (address, declaration) in self.declarations {
            providers.entry(address).or_default().declarations.push(declaration);
        }
        for requirement in providers.values_mut() {
            let lists = requirement.declarations.iter().map(|declaration| &declaration.constraints);
            requirement.constraints = ConstraintList::merge(lists);
        }
        let Self { missing, warnings, modules, .. } = self;
        let is_incomplete = self.is_incomplete || !missing.is_empty();
        Requirements { providers, is_incomplete, warnings, modules }
    }
}
