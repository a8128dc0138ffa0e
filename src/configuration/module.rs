//! One module directory: its files merged, its local names resolved.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use serde::Deserialize;

use crate::diagnostic::{
    Code, Collector, Diagnostic, Diagnostics, Label, Location, Result, SourceFile,
};
use crate::modules::ModuleSource;
use crate::modules::fetched::ModuleRequest;
use crate::modules::local::{self, is_local};
use crate::provider::{ConstraintList, Dialect, ProviderAddress};
use crate::system::boundary::outside_error;
use crate::system::files::join;
use crate::system::{Boundary, Tree};

use super::decode;
use super::file::{
    Backend, Call, CallSource, CloudHost, Import, ProviderBlock, ProviderReference, Resource,
};
use super::files::{self, Texts};
use super::merge::{MergedFiles, Table, module_name};
use super::names::Names;
use super::requirement::{Declaration, DeclarationKind};
use super::root::RootFiles;
use super::storage::StorageBlock;
use super::syntax::Block;

/// A module directory that was read. It depends only on the files of the directory and the dialect.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is independent of the others"
)]
pub(crate) struct Module {
    pub(crate) directory: PathBuf,
    /// Whether no file was read.
    empty: bool,
    /// Whether there are files that only the other dialect reads.
    has_files_of_other_dialect: bool,
    /// Storage of the state according to a `backend`, `cloud` or `state_store` block, which only
    /// root modules have.
    pub(crate) backend: Option<Backend>,
    /// Host of HCP Terraform or Terraform Enterprise, if the backend has one.
    pub(crate) cloud_host: Option<CloudHost>,
    /// The block that specifies these.
    pub(super) storage: Option<StorageBlock>,
    /// Constraints on the version of OpenTofu or Terraform.
    pub(crate) required_version: ConstraintList,
    /// Whether it uses providers that it configures itself, as root modules do: it has a `provider`
    /// block together with a resource, a data source or a module call, and no
    /// `configuration_aliases`, which a caller has to fill. A stack that CDK for Terraform has
    /// written needs no `provider` block.
    pub(crate) configures_providers: bool,
    /// Whether an unreadable file may belong to a root module, according to its lines.
    pub(crate) may_be_root: bool,
    pub(super) local_names: BTreeMap<String, ProviderAddress>,
    /// The providers that the files require, and where.
    pub(super) declarations: Vec<(ProviderAddress, Declaration)>,
    pub(super) calls: Vec<Call>,
    /// Length of all files in bytes.
    length: usize,
    /// The names of the test files in its directory, if that was read.
    pub(super) test_names: Option<Vec<String>>,
    /// Files that were not read, because they resolve to files outside of the repository.
    pub(super) refused: Vec<Diagnostic>,
    /// `variable` and `locals` blocks.
    name_blocks: Vec<Block>,
    /// Read when they are first needed.
    names: OnceLock<Names>,
    pub(crate) diagnostics: Diagnostics,
}

impl Module {
    /// Whether it requires providers or calls modules.
    pub(crate) fn has_requirements(&self) -> bool {
        !self.declarations.is_empty() || !self.calls.is_empty()
    }

    /// Whether it is a root module, according to its files, if no other module calls it. An
    /// unreadable file may belong to one, and must not be skipped silently.
    pub(crate) fn is_likely_root(&self, with_modules: bool) -> bool {
        self.configures_providers || self.may_be_root || (with_modules && self.calls_packages())
    }

    /// Reads the files with these names in a directory, which the user knows as `shown`, except
    /// files that lead out of the boundary. Errors in the files become [`Module::diagnostics`].
    pub(super) fn read(
        names: io::Result<Vec<String>>,
        directory: &Path,
        shown: &Path,
        dialect: Dialect,
        texts: &Texts,
        boundary: &Boundary,
    ) -> Self {
        let mut merged = MergedFiles::default();
        let names = match names {
            Ok(names) => names,
            Err(error) => {
                let error = Diagnostic::io("read the directory", shown, &error);
                merged.diagnostics.push(error);
                Vec::new()
            }
        };
        let test_names = files::test_names(&names);
        let (outside, inside): (Vec<_>, Vec<_>) = names
            .into_iter()
            .partition(|name| boundary.is_link_to_outside(&directory.join(name)));

        // Only a fetched package has a different path than the user knows. It is on disk in every
        // revision, and so are its files.
        let is_fetched = shown != directory;
        // Only links that would be read as files of the module are reported.
        let mut refused_files = Vec::new();
        let refused_names = files::module_files(&outside, dialect);
        for name in refused_names.primary.iter().chain(&refused_names.overrides) {
            refused_files.push(outside_error(&shown_file(shown, name, is_fetched)));
        }
        let module = Self::read_and_merge(shown, &inside, merged, dialect, |name| {
            let path = directory.join(name);
            let shown_path = shown_file(shown, name, is_fetched);
            if is_fetched {
                texts.read_fetched(&path, &shown_path)
            } else {
                texts.read(boundary.tree(), &path, &shown_path)
            }
        });
        Self {
            // A refused file may be what makes the directory a root module.
            may_be_root: module.may_be_root || !refused_files.is_empty(),
            refused: refused_files,
            test_names: Some(test_names),
            ..module
        }
    }

    /// A directory that was not read, because it resolves to one outside of the repository.
    pub(super) fn outside_of_repository(directory: &Path, dialect: Dialect) -> Self {
        let module = Self::of_merged(directory, MergedFiles::default(), &[], dialect);
        Self {
            empty: true,
            may_be_root: true,
            refused: vec![outside_error(directory)],
            ..module
        }
    }

    /// Reads the files of a root module that come from several directories. A location in a
    /// generated file becomes the location of the block that generates the file; errors in the file
    /// have both.
    pub(super) fn of_root_files(root: &RootFiles, dialect: Dialect) -> Self {
        let names: Vec<_> = root.files.keys().cloned().collect();
        let directory = root.module().shown_path();
        let mut module = Self::read_and_merge(
            &directory,
            &names,
            MergedFiles::default(),
            dialect,
            |name| Ok(Arc::clone(&root.files[name])),
        );
        module.diagnostics = module
            .diagnostics
            .map(|error| with_generating_blocks(error, root));
        // Users can correct the block that generates a file, not the file.
        for (_, declaration) in &mut module.declarations {
            root.replace_generated(&mut declaration.location);
            if let Some(version) = &mut declaration.version {
                root.replace_generated(version);
            }
        }
        for call in &mut module.calls {
            root.replace_generated(&mut call.location);
        }
        module
    }

    /// Reads the files of a directory as they are elsewhere, such as in a commit, by their sorted
    /// paths.
    pub(crate) fn of_texts<'a>(
        directory: &Path,
        files: impl Iterator<Item = (&'a Path, &'a [u8])>,
        dialect: Dialect,
    ) -> Self {
        let mut by_name = BTreeMap::new();
        for (path, bytes) in files {
            if let Some(name) = path.file_name().and_then(|name| name.to_str())
                && files::is_read(name)
            {
                let file = SourceFile::new(path, String::from_utf8_lossy(bytes));
                by_name.insert(name.to_owned(), file);
            }
        }
        let names: Vec<_> = by_name.keys().cloned().collect();
        Self::read_and_merge(directory, &names, MergedFiles::default(), dialect, |name| {
            Ok(Arc::clone(&by_name[name]))
        })
    }

    /// Reads and merges the files with these names, which are sorted. Files that override others
    /// come last. Errors in the files become [`Module::diagnostics`].
    fn read_and_merge(
        directory: &Path,
        names: &[String],
        mut merged: MergedFiles,
        dialect: Dialect,
        read: impl Fn(&str) -> Result<Arc<SourceFile>>,
    ) -> Self {
        let files = files::module_files(names, dialect);
        // A file that cannot be read may contain a block that makes a root module.
        let mut may_be_root = !merged.diagnostics.is_empty();
        let mut sources = Vec::new();
        for (names, is_overriding) in [(&files.primary, false), (&files.overrides, true)] {
            for name in names {
                merged.is_overriding = is_overriding;
                let source = match read(name) {
                    Ok(source) => source,
                    Err(errors) => {
                        // This file may be what makes the directory a root module.
                        may_be_root = true;
                        merged.diagnostics.extend(errors);
                        continue;
                    }
                };
                if let Err(errors) = decode::module_file(&source, dialect, &mut merged) {
                    may_be_root |= has_line_of_root(&source.text);
                    merged.diagnostics.extend(errors);
                }
                sources.push(source);
            }
        }
        let empty = files.primary.is_empty() && files.overrides.is_empty();
        Self {
            empty,
            has_files_of_other_dialect: files.has_files_of_other_dialect,
            may_be_root,
            ..Self::of_merged(directory, merged, &sources, dialect)
        }
    }

    /// Makes a module of its merged files. Names of providers become addresses, and resources imply
    /// providers that no file declares.
    fn of_merged(
        directory: &Path,
        files: MergedFiles,
        sources: &[Arc<SourceFile>],
        dialect: Dialect,
    ) -> Self {
        let configures_providers = configures_used_providers(&files, sources);
        let mut errors = files.diagnostics;
        let mut module = Self {
            directory: directory.to_owned(),
            empty: false,
            has_files_of_other_dialect: false,
            backend: files.backend,
            cloud_host: files.cloud_host,
            storage: files.storage,
            required_version: files.required_version.clone(),
            configures_providers,
            may_be_root: false,
            local_names: files
                .required_providers
                .iter()
                .map(|(name, p)| (name.clone(), p.address.clone()))
                .collect(),
            declarations: Vec::new(),
            calls: Vec::new(),
            length: sources.iter().map(|file| file.text.len()).sum(),
            test_names: None,
            refused: Vec::new(),
            name_blocks: files.names,
            names: OnceLock::new(),
            diagnostics: Diagnostics::default(),
        };
        for call in files.calls.blocks {
            match call.source {
                CallSource::Missing => errors.push(
                    Diagnostic::error(
                        Code::InvalidConfiguration,
                        format!("{} has no source", module_name(&call.name)),
                    )
                    .at_location(call.location),
                ),
                _ => module.calls.push(call),
            }
        }
        module.declarations.extend(
            files
                .required_providers
                .into_values()
                .map(|entry| (entry.address, entry.declaration)),
        );
        let resolved = module.resolve_providers(files.providers.blocks, dialect, &mut errors);
        module.declarations.extend(resolved);
        module.add_implied(
            files.state_store.as_ref(),
            &files.resources,
            &files.imports,
            dialect,
            &mut errors,
        );
        Self {
            diagnostics: errors.into_diagnostics(),
            ..module
        }
    }

    /// Whether the directory contains no file that either dialect reads.
    pub(crate) fn is_empty(&self) -> bool {
        self.empty && !self.has_files_of_other_dialect && self.refused.is_empty()
    }

    /// Whether all of the directory's files are for the other dialect.
    pub(crate) fn is_for_other_dialect(&self) -> bool {
        self.empty && self.has_files_of_other_dialect && self.refused.is_empty()
    }

    /// Whether it calls a module that may be in a different package.
    pub(crate) fn calls_packages(&self) -> bool {
        self.calls.iter().any(|call| match &call.source {
            CallSource::Constant(source) => !is_local(source),
            CallSource::Expression(_) | CallSource::Missing => true,
        })
    }

    /// Whether the modules that it calls may depend on more than its own files: on values of
    /// variables or, by a local path, on the directory that it is copied to.
    pub(crate) fn calls_depend_on_context(&self, is_copied: bool) -> bool {
        self.calls.iter().any(|call| match &call.source {
            CallSource::Constant(source) => is_copied && is_local(source),
            CallSource::Expression(_) | CallSource::Missing => true,
        })
    }

    /// Whether everything in its directory was read, and the directory has no test files.
    pub(crate) fn is_read_in_full(&self, tree: &Tree) -> bool {
        if !self.refused.is_empty() || !self.diagnostics.is_empty() {
            return false;
        }
        match &self.test_names {
            Some(names) if names.is_empty() => !tree.exists(&self.directory.join("tests")),
            _ => false,
        }
    }

    /// The modules of other packages that it calls by a source that is plain text.
    pub(crate) fn requests(&self, dialect: Dialect) -> impl Iterator<Item = ModuleRequest> {
        self.calls.iter().filter_map(move |call| {
            let source = ModuleSource::parse(call.constant_source()?, dialect).ok()?;
            ModuleRequest::new(source, ConstraintList::default())
        })
    }

    /// The directories of the modules that are called from this one by a local path.
    pub(crate) fn local_calls(&self) -> impl Iterator<Item = PathBuf> {
        self.calls.iter().filter_map(|call| match &call.source {
            CallSource::Constant(source) if is_local(source) => {
                Some(local::directory(&self.directory, source))
            }
            _ => None,
        })
    }

    /// The directories of [`Module::local_calls`] without the module's own.
    pub(crate) fn calls_to_others(&self) -> impl Iterator<Item = PathBuf> {
        self.local_calls()
            .filter(|called| *called != self.directory)
    }

    /// Estimated memory in bytes: the files, and several hundred bytes for each required provider,
    /// block and error.
    pub(super) fn size(&self) -> usize {
        let blocks = self.declarations.len() + self.calls.len() + self.name_blocks.len();
        self.length + 512 * blocks + 1024 * self.diagnostics.len()
    }

    /// The variables and locals that the module declares.
    pub(super) fn names(&self) -> &Names {
        self.names.get_or_init(|| Names::read(&self.name_blocks))
    }

    /// Whether the module declares a variable with this name.
    pub(crate) fn has_variable(&self, name: &str) -> bool {
        self.names().variables.contains_key(name)
    }

    /// The provider that a local name stands for. An error is reported.
    fn address(
        &self,
        name: &str,
        dialect: Dialect,
        location: &Location,
        errors: &mut Collector,
    ) -> Option<ProviderAddress> {
        if let Some(address) = self.local_names.get(name) {
            return Some(address.clone());
        }
        match decode::implied_provider(name, dialect, location) {
            Ok(address) => Some(address),
            Err(more) => {
                errors.extend(more);
                None
            }
        }
    }

    /// Resolves the local names of `provider` blocks in the module or its test files.
    pub(super) fn resolve_providers(
        &self,
        blocks: Vec<ProviderBlock>,
        dialect: Dialect,
        errors: &mut Collector,
    ) -> Vec<(ProviderAddress, Declaration)> {
        let mut resolved = Vec::new();
        for block in blocks {
            let name = &block.local_name;
            if let Some(address) = self.address(name, dialect, &block.label, errors) {
                resolved.push((address, block.declaration));
            }
        }
        resolved
    }

    /// Adds the providers that only the state store, resources and imports require, each with its
    /// first location.
    fn add_implied(
        &mut self,
        state_store: Option<&ProviderReference>,
        resources: &Table<Resource>,
        imports: &[Import],
        dialect: Dialect,
        errors: &mut Collector,
    ) {
        // A provider that is declared already needs no other location.
        let mut declared: BTreeSet<_> = self
            .declarations
            .iter()
            .map(|(address, _)| address.clone())
            .collect();
        let mut first_locations = BTreeMap::new();
        if let Some(store) = state_store {
            first_locations.insert(store.local_name.clone(), store.location.clone());
        }
        for resource in &resources.blocks {
            let (name, location) = implied_name(
                resource.provider.as_ref(),
                &resource.type_name,
                &resource.label,
            );
            first_locations.entry(name).or_insert(location);
        }
        for import in imports {
            let resource = format!("resource \"{}\" \"{}\"", import.type_name, import.name);
            // Terraform takes the provider from the target or its module, if there is one; OpenTofu
            // from the import.
            let has_target_elsewhere = import.in_module || resources.names.contains_key(&resource);
            if dialect == Dialect::Tofu || !has_target_elsewhere {
                let (name, location) = implied_name(
                    import.provider.as_ref(),
                    &import.type_name,
                    &import.location,
                );
                first_locations.entry(name).or_insert(location);
            }
        }
        for (name, location) in first_locations {
            if let Some(address) = self.address(&name, dialect, &location, errors)
                && declared.insert(address.clone())
            {
                self.declarations.push((
                    address,
                    Declaration::new(DeclarationKind::Implied, location),
                ));
            }
        }
    }
}

/// Whether a module uses providers that it configures itself ([`Module::configures_providers`]).
fn configures_used_providers(files: &MergedFiles, sources: &[Arc<SourceFile>]) -> bool {
    if files.resources.blocks.is_empty() && files.calls.blocks.is_empty() {
        return false;
    }
    // A caller has to pass these providers.
    if files
        .required_providers
        .values()
        .any(|entry| entry.has_aliases)
    {
        return false;
    }
    !files.providers.blocks.is_empty() || sources.iter().any(|source| is_cdktf_stack(source))
}

/// Whether a file is what CDK for Terraform writes for a stack, which is a root module:
/// `cdk.tf.json` with a top-level `"//"` that has `metadata`.
fn is_cdktf_stack(source: &SourceFile) -> bool {
    #[derive(Deserialize)]
    struct Stack {
        #[serde(rename = "//")]
        comment: Comment,
    }
    #[derive(Deserialize)]
    struct Comment {
        metadata: BTreeMap<String, serde_json::Value>,
    }
    let is_named_so = source
        .path
        .file_name()
        .is_some_and(|name| name == "cdk.tf.json");
    is_named_so
        && serde_json::from_str(&source.text)
            .is_ok_and(|stack: Stack| !stack.comment.metadata.is_empty())
}

/// Whether a line of a file that cannot be read begins as a block does that makes a root module.
fn has_line_of_root(text: &str) -> bool {
    const BLOCKS: [&str; 4] = ["backend", "cloud", "state_store", "provider"];
    for line in text.lines() {
        let code = line.trim_start();
        for block in BLOCKS {
            if let Some(rest) = code.strip_prefix(block)
                && rest.trim_start().starts_with(['"', '{'])
            {
                return true;
            }
        }
    }
    false
}

/// Returns the path of a file as the user knows it, in the directory `shown`.
fn shown_file(shown: &Path, name: &str, is_fetched: bool) -> PathBuf {
    if is_fetched {
        shown.join(name)
    } else {
        join(shown, name)
    }
}

/// Adds the blocks that generate the files of an error before its other locations.
fn with_generating_blocks(mut error: Diagnostic, root: &RootFiles) -> Diagnostic {
    let mut blocks: Vec<_> = error
        .labels
        .iter()
        .filter_map(|label| root.origin(&label.location))
        .collect();
    blocks.dedup();
    let generated: Vec<_> = blocks
        .into_iter()
        .map(|block| Label {
            location: block.clone(),
            text: "generated here".to_owned(),
        })
        .collect();
    error.labels.splice(0..0, generated);
    error
}

/// The local name of a resource's provider: its `provider` argument, or else the first word of its
/// type.
fn implied_name(
    provider: Option<&ProviderReference>,
    type_name: &str,
    label: &Location,
) -> (String, Location) {
    match provider {
        Some(reference) => (reference.local_name.clone(), reference.location.clone()),
        None => (
            type_name
                .split('_')
                .next()
                .unwrap_or_default()
                .to_lowercase(),
            label.clone(),
        ),
    }
}
