//! Merging the files of a module, with override files last
//! (<https://opentofu.org/docs/language/files/override/>).

use std::collections::{BTreeMap, HashMap};

use crate::diagnostic::{Code, Collector, Diagnostic, Location};
use crate::provider::ConstraintList;

use super::file::{
    Backend, Call, CallSource, CloudHost, Import, ProviderBlock, ProviderReference,
    RequiredProvider, Resource,
};
use super::storage::StorageBlock;
use super::syntax::Block;

/// Maximum number of blocks and entries of `required_providers` in a module.
const MOST_BLOCKS: usize = 50_000;

/// The blocks of all files of a module, by name and in the order of the files. They are merged as
/// by OpenTofu's `internal/configs/module_merge.go`: `required_providers` entries as a whole, other
/// blocks by argument.
#[derive(Default)]
pub(super) struct MergedFiles {
    /// Whether the current file is an override file.
    pub(super) is_overriding: bool,
    required_block: Option<Location>,
    pub(super) required_providers: BTreeMap<String, RequiredProvider>,
    pub(super) providers: Table<ProviderBlock>,
    pub(super) resources: Table<Resource>,
    pub(super) calls: Table<Call>,
    pub(super) imports: Vec<Import>,
    /// `variable` and `locals` blocks.
    pub(super) names: Vec<Block>,
    pub(super) backend: Option<Backend>,
    pub(super) cloud_host: Option<CloudHost>,
    pub(super) storage: Option<StorageBlock>,
    pub(super) state_store: Option<ProviderReference>,
    pub(super) required_version: ConstraintList,
    pub(super) diagnostics: Collector,
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
        Self {
            blocks: Vec::new(),
            names: HashMap::new(),
        }
    }
}

impl<T> Table<T> {
    /// Adds a block, or in an override file changes the block of that name by `merge`.
    ///
    /// # Errors
    /// The name is declared twice, or an override file overrides nothing.
    fn add_or_override(
        &mut self,
        name: String,
        location: &Location,
        block: T,
        is_overriding: bool,
        merge: impl FnOnce(&mut T, T),
    ) -> Result<(), Box<Diagnostic>> {
        let message = match (self.names.get(&name), is_overriding) {
            (Some(_), false) => format!("{name} is declared twice in this module"),
            (None, true) => {
                format!("{name} is in an override file, but there is nothing that it overrides")
            }
            (Some(index), true) => {
                merge(&mut self.blocks[*index], block);
                return Ok(());
            }
            (None, false) => {
                self.names.insert(name, self.blocks.len());
                self.blocks.push(block);
                return Ok(());
            }
        };
        let error = Diagnostic::error(Code::InvalidConfiguration, message);
        Err(Box::new(error.at_location(location.clone())))
    }
}

impl MergedFiles {
    /// Counts blocks or entries. Reports an error and returns `false` if there are too many.
    pub(super) fn has_room_for(&mut self, blocks: usize) -> bool {
        self.count += blocks;
        if self.count > MOST_BLOCKS {
            let message =
                format!("a module has more than {MOST_BLOCKS} blocks and required providers");
            self.diagnostics
                .merge(Diagnostic::error(Code::InvalidConfiguration, message));
        }
        self.count <= MOST_BLOCKS
    }

    /// Adds a `required_providers` block. Entries of an override file replace others as a whole.
    pub(super) fn add_required_providers(
        &mut self,
        location: Location,
        entries: Vec<RequiredProvider>,
    ) {
        if !self.has_room_for(entries.len()) {
            return;
        }
        if !self.is_overriding {
            if let Some(first) = &self.required_block {
                let message = "a module may have only one required_providers block";
                let error = Diagnostic::error(Code::InvalidConfiguration, message)
                    .at(location, "the second")
                    .at(first.clone(), "the first");
                return self.diagnostics.push(error);
            }
            self.required_block = Some(location);
        }
        for entry in entries {
            self.required_providers
                .insert(entry.local_name.clone(), entry);
        }
    }

    pub(super) fn add_provider(&mut self, block: ProviderBlock) {
        let name = provider_name(&block);
        let location = block.label.clone();
        // A provider without configuration has an empty one, which may be overridden.
        let is_known = block.alias.is_some() || self.providers.names.contains_key(&name);
        let merge = |base: &mut ProviderBlock, block: ProviderBlock| {
            if block.declaration.version.is_some() {
                base.declaration = block.declaration;
            }
        };
        let added = self.providers.add_or_override(
            name,
            &location,
            block,
            self.is_overriding && is_known,
            merge,
        );
        if let Err(error) = added {
            self.diagnostics.push(*error);
        }
    }

    pub(super) fn add_resource(&mut self, block: Resource) {
        let name = format!("{} \"{}\" \"{}\"", block.kind, block.type_name, block.name);
        let location = block.label.clone();
        let merge = |base: &mut Resource, block: Resource| {
            base.provider = block.provider.or(base.provider.take());
        };
        let added =
            self.resources
                .add_or_override(name, &location, block, self.is_overriding, merge);
        if let Err(error) = added {
            self.diagnostics.push(*error);
        }
    }

    pub(super) fn add_call(&mut self, block: Call) {
        let name = module_name(&block.name);
        let location = block.location.clone();
        let added =
            self.calls
                .add_or_override(name, &location, block, self.is_overriding, merge_call);
        if let Err(error) = added {
            self.diagnostics.push(*error);
        }
    }
}

fn provider_name(block: &ProviderBlock) -> String {
    match &block.alias {
        Some(alias) => format!(
            "provider \"{}\" with the alias \"{alias}\"",
            block.local_name
        ),
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
