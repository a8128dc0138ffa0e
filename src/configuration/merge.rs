//! Merging the files of a module, with override files last
//! (<https://opentofu.org/docs/language/files/override/>).

use std::collections::{BTreeMap, HashMap};

use crate::diagnostic::{Code, Diagnostic, Location, Merged};
use crate::provider::ConstraintList;

use super::file::{
    Backend, Call, CallSource, File, Import, ProviderBlock, ProviderReference, RequiredProvider, Resource,
};
use super::syntax::Block;

/// Maximum number of blocks and entries of `required_providers` in a module.
const MOST_BLOCKS: usize = 50_000;

/// The blocks of all files of a module, by name and in the order of the files.
#[derive(Default)]
pub(super) struct MergedFiles {
    required: Option<Location>,
    pub(super) required_providers: BTreeMap<String, RequiredProvider>,
    pub(super) providers: Table<ProviderBlock>,
    pub(super) resources: Table<Resource>,
    pub(super) calls: Table<Call>,
    pub(super) imports: Vec<Import>,
    /// `variable` and `locals` blocks.
    pub(super) names: Vec<Block>,
    pub(super) backend: Option<Backend>,
    pub(super) state_store: Option<ProviderReference>,
    pub(super) required_version: ConstraintList,
    pub(super) diagnostics: Merged,
    /// Number of blocks and entries in all files.
    count: usize,
}

/// Blocks whose names are unique in the module.
pub(super) struct Table<T> {
    pub(super) blocks: Vec<T>,
    pub(super) names: HashMap<String, usize>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { blocks: Vec::new(), names: HashMap::new() }
    }
}

impl<T> Table<T> {
    /// Adds a block, or in an override file changes the block of that name by `merge`. Returns the error if it cannot.
    fn add(
        &mut self,
        (name, location): (String, &Location),
        block: T,
        overriding: bool,
        merge: impl FnOnce(&mut T, T),
    ) -> Option<Diagnostic> {
        let message = match (self.names.get(&name), overriding) {
            (Some(_), false) => format!("{name} is declared twice in this module"),
            (None, true) => format!("{name} is in an override file, but there is nothing that it overrides"),
            (Some(index), true) => {
                merge(&mut self.blocks[*index], block);
                return None;
            }
            (None, false) => {
                self.names.insert(name, self.blocks.len());
                self.blocks.push(block);
                return None;
            }
        };
        Some(Diagnostic::error(Code::InvalidConfiguration, message).at(location.clone(), ""))
    }
}

impl MergedFiles {
    /// Merges a file as OpenTofu does in `internal/configs/module_merge.go`: `required_providers` entries are replaced
    /// as a whole, other blocks by argument.
    pub(super) fn merge(&mut self, file: File, overriding: bool) {
        self.count += file.count();
        self.diagnostics.extend(file.diagnostics.into_diagnostics());
        if self.count > MOST_BLOCKS {
            let message = format!("a module has more than {MOST_BLOCKS} blocks and required providers");
            return self.diagnostics.merge(Diagnostic::error(Code::InvalidConfiguration, message));
        }
        if file.backend.is_some() {
            (self.backend, self.state_store) = (file.backend, file.state_store);
        }
        self.required_version = ConstraintList::merge([&self.required_version, &file.required_version]);
        for block in file.required {
            match &self.required {
                Some(first) if !overriding => {
                    let message = "a module may have only one required_providers block";
                    let error = Diagnostic::error(Code::InvalidConfiguration, message);
                    self.diagnostics.push(error.at(block.location, "the second").at(first.clone(), "the first"));
                }
                _ => {
                    if !overriding {
                        self.required = Some(block.location);
                    }
                    let entries = block.entries.into_iter().map(|entry| (entry.local_name.clone(), entry));
                    self.required_providers.extend(entries);
                }
            }
        }
        for block in file.providers {
            let name = provider_name(&block);
            let location = block.label.clone();
            // A provider without configuration has an empty one, which may be overridden.
            let overriding = overriding && (block.alias.is_some() || self.providers.names.contains_key(&name));
            self.diagnostics.extend(self.providers.add((name, &location), block, overriding, |base, block| {
                base.version = block.version.or(base.version.take());
            }));
        }
        for block in file.resources {
            let name = format!("{} \"{}\" \"{}\"", block.kind, block.type_name, block.name);
            let location = block.label.clone();
            self.diagnostics.extend(self.resources.add((name, &location), block, overriding, |base, block| {
                base.provider = block.provider.or(base.provider.take());
            }));
        }
        for block in file.calls {
            let location = block.location.clone();
            self.diagnostics.extend(self.calls.add(
                (module_name(&block.name), &location),
                block,
                overriding,
                merge_call,
            ));
        }
        self.imports.extend(file.imports);
        self.names.extend(file.names);
    }
}

fn provider_name(block: &ProviderBlock) -> String {
    match &block.alias {
        Some(alias) => format!("provider \"{}\" with the alias \"{alias}\"", block.local_name),
        None => format!("provider \"{}\"", block.local_name),
    }
}

pub(super) fn module_name(name: &str) -> String {
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
