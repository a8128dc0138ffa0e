//! One module directory: its files merged, its local names resolved.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::address::ProviderAddress;
use crate::constraint::ConstraintList;
use crate::diagnostic::{Code, Diagnostic, Location, Result, SourceFile};
use crate::dialect::Dialect;
use crate::files::join;
use crate::hcl::{Fault, json};

use super::DeclarationKind;
use super::decode::{self, Call, CallSource, Contents, Import, ProviderBlock, ProviderReference, Resource};
use super::files::{self, ModuleFiles};
use super::native;
use super::syntax::Items;

/// A module directory that was read. What it holds depends on the directory's files and the dialect only.
#[derive(Debug)]
pub struct Module {
    directory: PathBuf,
    /// How many files were read, and whether others belong to the other dialect.
    empty: bool,
    foreign: bool,
    root_blocks: bool,
    /// The addresses of the local names in `required_providers`.
    pub(super) local_names: BTreeMap<String, ProviderAddress>,
    pub(super) found: Vec<Found>,
    pub(super) calls: Vec<Call>,
    /// The constant defaults of variables; only there if a call's source is not a constant.
    pub(super) defaults: BTreeMap<String, hcl::Value>,
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// A place that requires a provider.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub address: ProviderAddress,
    pub kind: DeclarationKind,
    pub location: Location,
    pub version: Option<Location>,
    pub constraints: ConstraintList,
}

/// Modules that were read already, by their directory and dialect; to be shared by the roots of one run and by threads.
#[derive(Debug, Default)]
pub struct ModuleCache {
    modules: Mutex<HashMap<(PathBuf, Dialect), Slot>>,
}

type Slot = Arc<OnceLock<Arc<Module>>>;

impl ModuleCache {
    /// The module in `directory`, which is shown as given; read on first use only.
    pub fn module(&self, directory: &Path, dialect: Dialect) -> Arc<Module> {
        let Ok(canonical) = directory.canonicalize() else {
            return Arc::new(Module::read(directory, dialect));
        };
        self.canonical_module(&canonical, directory, dialect)
    }

    /// [`ModuleCache::module`] for a directory whose canonical path is known.
    pub(crate) fn canonical_module(&self, canonical: &Path, shown: &Path, dialect: Dialect) -> Arc<Module> {
        let slot = {
            let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(modules.entry((canonical.to_owned(), dialect)).or_default())
        };
        Arc::clone(slot.get_or_init(|| Arc::new(Module::read(shown, dialect))))
    }
}

impl Module {
    /// Reads the files of a directory. What is wrong with them is found in [`Module::diagnostics`].
    pub fn read(directory: &Path, dialect: Dialect) -> Self {
        let mut builder = Builder { dialect, ..Builder::default() };
        let files = files::module_files(directory, dialect).unwrap_or_else(|error| {
            builder.diagnostics.push(Diagnostic::io("read the directory", directory, &error));
            ModuleFiles::default()
        });
        let mut sources = Vec::new();
        for (paths, overriding) in [(&files.primary, false), (&files.overrides, true)] {
            for path in paths {
                match files::read_source(path) {
                    Ok(source) => {
                        builder.add(&source, overriding);
                        sources.push(source);
                    }
                    Err(errors) => builder.diagnostics.extend(errors),
                }
            }
        }
        let empty = files.primary.is_empty() && files.overrides.is_empty();
        Self { empty, foreign: files.foreign, ..builder.finish(directory, &sources) }
    }

    /// The directory as it is shown to the user.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Whether the directory holds no file that either dialect reads.
    pub fn is_empty(&self) -> bool {
        self.empty && !self.foreign
    }

    /// Whether all of the directory's files are for the other dialect.
    pub fn is_foreign(&self) -> bool {
        self.empty && self.foreign
    }

    /// Whether the module has a `backend`, `cloud` or `provider` block, which make it a root module.
    pub fn has_root_blocks(&self) -> bool {
        self.root_blocks
    }

    /// The directories of the modules that are called from this one by a local path.
    pub fn local_calls(&self) -> impl Iterator<Item = PathBuf> {
        self.calls.iter().filter_map(|call| match &call.source {
            CallSource::Constant(source) if is_local(source) => Some(self.join(source)),
            _ => None,
        })
    }

    /// The directory that a local source leads to.
    pub(super) fn join(&self, source: &str) -> PathBuf {
        join(&self.directory, source.replace('\\', "/"))
    }

    /// What is wrong with the module's own files.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// The provider that a local name stands for.
    fn address(&self, local_name: &str, dialect: Dialect, location: &Location) -> Result<ProviderAddress> {
        if let Some(address) = self.local_names.get(local_name) {
            return Ok(address.clone());
        }
        ProviderAddress::implied(local_name, dialect).map_err(|error| {
            let message = format!("{local_name:?} cannot be the name of a provider: {error}");
            Diagnostic::error(Code::InvalidConfiguration, message).at(location.clone(), "").into()
        })
    }
}

/// Whether a module source is a path: it starts with `./` or `../` (on Windows also with a backslash).
pub(super) fn is_local(source: &str) -> bool {
    ["./", "../", ".\\", "..\\"].iter().any(|prefix| source.starts_with(prefix))
}

/// Splits a file of either syntax into its top-level arguments and blocks, and hands them to `decode`.
pub(super) fn with_items<T>(file: &Arc<SourceFile>, decode: impl FnOnce(&Items<'_>) -> T) -> Result<T> {
    let is_json = file.path.extension().is_some_and(|extension| extension == "json");
    let decoded = if is_json {
        json::parse(&file.text).and_then(|value| Ok(decode(&super::syntax::Body::Json(&value).items()?)))
    } else {
        native::file_items(&file.text).map(|items| decode(&Items::Native { text: &file.text, items }))
    };
    decoded.map_err(|fault: Fault| decode::diagnose(file, fault).into())
}

/// The blocks of a module by what names them, in the order of the files.
#[derive(Default)]
struct Builder {
    dialect: Dialect,
    required: Option<Location>,
    required_providers: BTreeMap<String, decode::RequiredProvider>,
    providers: Table<ProviderBlock>,
    resources: Table<Resource>,
    calls: Table<Call>,
    imports: Vec<Import>,
    backend: bool,
    diagnostics: Vec<Diagnostic>,
}

/// Blocks that have a name which is unique in the module.
struct Table<T> {
    blocks: Vec<T>,
    names: HashMap<String, usize>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { blocks: Vec::new(), names: HashMap::new() }
    }
}

impl<T> Table<T> {
    /// Adds a block, or in an override file changes the block of that name by `merge`.
    fn add(
        &mut self,
        (name, location): (String, &Location),
        block: T,
        overriding: bool,
        merge: impl FnOnce(&mut T, T),
    ) -> Result<()> {
        let error = |message: String| {
            Err(Diagnostic::error(Code::InvalidConfiguration, message).at(location.clone(), "").into())
        };
        match (self.names.get(&name), overriding) {
            (Some(_), false) => error(format!("{name} is declared twice in this module")),
            (None, true) => error(format!("{name} is in an override file, but there is nothing that it overrides")),
            (Some(index), true) => {
                merge(&mut self.blocks[*index], block);
                Ok(())
            }
            (None, false) => {
                self.names.insert(name, self.blocks.len());
                self.blocks.push(block);
                Ok(())
            }
        }
    }
}

impl Builder {
    fn add(&mut self, file: &Arc<SourceFile>, overriding: bool) {
        match with_items(file, |items| decode::decode_configuration(file, items, self.dialect)) {
            Ok(contents) => self.merge(contents, overriding),
            Err(errors) => self.diagnostics.extend(errors),
        }
    }

    /// Merges a file as OpenTofu does: `required_providers` entries are replaced as a whole, other blocks by argument.
    fn merge(&mut self, contents: Contents, overriding: bool) {
        self.diagnostics.extend(contents.diagnostics);
        self.backend |= contents.backend;
        for block in contents.required {
            match &self.required {
                Some(first) if !overriding => self.diagnostics.push(
                    Diagnostic::error(
                        Code::InvalidConfiguration,
                        "a module may have only one required_providers block",
                    )
                    .at(block.location, "the second")
                    .at(first.clone(), "the first"),
                ),
                _ => {
                    if !overriding {
                        self.required = Some(block.location);
                    }
                    let entries = block.entries.into_iter().map(|entry| (entry.local_name.clone(), entry));
                    self.required_providers.extend(entries);
                }
            }
        }
        let mut results = Vec::new();
        for block in contents.providers {
            let name = provider_name(&block);
            let location = block.label.clone();
            // A provider without configuration has an empty one, which may be overridden.
            let overriding = overriding && (block.alias.is_some() || self.providers.names.contains_key(&name));
            results.push(self.providers.add((name, &location), block, overriding, |base, block| {
                base.version = block.version.or(base.version.take());
            }));
        }
        for block in contents.resources {
            let name = format!("{} \"{}\" \"{}\"", block.kind, block.type_name, block.name);
            let location = block.label.clone();
            results.push(self.resources.add((name, &location), block, overriding, |base, block| {
                base.provider = block.provider.or(base.provider.take());
            }));
        }
        for block in contents.calls {
            let location = block.location.clone();
            results.push(self.calls.add((module_name(&block.name), &location), block, overriding, merge_call));
        }
        self.diagnostics.extend(results.into_iter().filter_map(Result::err).flatten());
        self.imports.extend(contents.imports);
    }

    fn finish(self, directory: &Path, sources: &[Arc<SourceFile>]) -> Module {
        let mut module = Module {
            directory: directory.to_owned(),
            empty: false,
            foreign: false,
            root_blocks: self.backend || !self.providers.blocks.is_empty(),
            local_names: self.required_providers.iter().map(|(name, p)| (name.clone(), p.address.clone())).collect(),
            found: Vec::new(),
            calls: Vec::new(),
            defaults: BTreeMap::new(),
            diagnostics: self.diagnostics,
        };
        for call in self.calls.blocks {
            match call.source {
                CallSource::Missing => module.diagnostics.push(
                    Diagnostic::error(Code::InvalidConfiguration, format!("{} has no source", module_name(&call.name)))
                        .at(call.location, ""),
                ),
                _ => module.calls.push(call),
            }
        }
        if module.calls.iter().any(|call| matches!(call.source, CallSource::Expression(_))) {
            let defaults = sources.iter().filter_map(|file| with_items(file, decode::variable_defaults).ok());
            module.defaults = defaults.flatten().collect();
        }
        module.found.extend(self.required_providers.into_values().map(|entry| Found {
            address: entry.address,
            kind: DeclarationKind::RequiredProviders,
            location: entry.location,
            version: entry.version,
            constraints: entry.constraints,
        }));
        module.add_providers(self.providers.blocks, self.dialect);
        module.add_implied(&self.resources, &self.imports, self.dialect);
        module
    }
}

fn provider_name(block: &ProviderBlock) -> String {
    match &block.alias {
        Some(alias) => format!("provider \"{}\" with the alias \"{alias}\"", block.local_name),
        None => format!("provider \"{}\"", block.local_name),
    }
}

fn module_name(name: &str) -> String {
    format!("module \"{name}\"")
}

fn merge_call(base: &mut Call, call: Call) {
    if !matches!(call.source, CallSource::Missing) {
        base.source = call.source;
        base.location = call.location;
    }
    base.version = call.version.or(base.version.take());
    base.arguments.extend(call.arguments);
}

impl Module {
    fn add_providers(&mut self, blocks: Vec<ProviderBlock>, dialect: Dialect) {
        let (found, errors) = self.resolve_providers(blocks, dialect);
        self.found.extend(found);
        self.diagnostics.extend(errors);
    }

    /// What `provider` blocks of the module or its test files require.
    pub(super) fn resolve_providers(
        &self,
        blocks: Vec<ProviderBlock>,
        dialect: Dialect,
    ) -> (Vec<Found>, Vec<Diagnostic>) {
        let mut found = Vec::new();
        let mut errors = Vec::new();
        for block in blocks {
            match self.address(&block.local_name, dialect, &block.label) {
                Ok(address) => found.push(provider_found(address, block)),
                Err(more) => errors.extend(more),
            }
        }
        (found, errors)
    }

    /// Adds the providers that only resources and imports require, each with the first place.
    fn add_implied(&mut self, resources: &Table<Resource>, imports: &[Import], dialect: Dialect) {
        let mut known: BTreeSet<_> = self.found.iter().map(|found| found.address.clone()).collect();
        let mut names = BTreeMap::new();
        for resource in &resources.blocks {
            let (name, location) = implied_name(resource.provider.as_ref(), &resource.type_name, &resource.label);
            names.entry(name).or_insert(location);
        }
        for import in imports {
            let resource = format!("resource \"{}\" \"{}\"", import.type_name, import.name);
            // Terraform takes the provider from the target or its module, if there is one; OpenTofu from the import.
            let elsewhere = import.in_module || resources.names.contains_key(&resource);
            if dialect == Dialect::Tofu || !elsewhere {
                let (name, location) = implied_name(import.provider.as_ref(), &import.type_name, &import.location);
                names.entry(name).or_insert(location);
            }
        }
        for (name, location) in names {
            match self.address(&name, dialect, &location) {
                Ok(address) if known.insert(address.clone()) => self.found.push(Found {
                    address,
                    kind: DeclarationKind::Implied,
                    location,
                    version: None,
                    constraints: ConstraintList::default(),
                }),
                Ok(_) => {}
                Err(errors) => self.diagnostics.extend(errors),
            }
        }
    }
}

fn provider_found(address: ProviderAddress, block: ProviderBlock) -> Found {
    let (version, constraints) = block.version.unzip();
    Found {
        address,
        kind: DeclarationKind::ProviderBlock,
        location: version.clone().unwrap_or(block.label),
        version,
        constraints: constraints.unwrap_or_default(),
    }
}

/// The local name of a resource's provider: that of its `provider` argument, else the first word of its type.
fn implied_name(provider: Option<&ProviderReference>, type_name: &str, label: &Location) -> (String, Location) {
    match provider {
        Some(reference) => (reference.local_name.clone(), reference.location.clone()),
        None => (type_name.split('_').next().unwrap_or_default().to_lowercase(), label.clone()),
    }
}
