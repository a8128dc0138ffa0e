//! Reads the providers and modules of one file.

use std::iter;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::{self, Code, Diagnostic, Location, SourceFile};
use crate::hcl::evaluate::value::Value;
use crate::hcl::{Fault, scan};
use crate::provider::{AddressError, ConstraintList, Dialect, ProviderAddress};

use super::file::{
    Backend, Call, CallSource, CloudHost, Import, ProviderBlock, ProviderReference,
    RequiredProvider, Resource, StatePaths,
};
use super::merge::MergedFiles;
use super::requirement::{Declaration, DeclarationKind};
use super::storage::StorageBlock;
use super::syntax::{
    Attribute, AttributeNames, Block, BlockSchema, Content, JsonStrings, Name, Schema, diagnose,
};

const fn block_schema(kind: &'static str, labels: &'static [&'static str]) -> BlockSchema {
    BlockSchema { kind, labels }
}

const MODULE_FILE: Schema = Schema::of_blocks(&[
    block_schema("terraform", &[]),
    block_schema("provider", &["name"]),
    block_schema("resource", &["type", "name"]),
    block_schema("data", &["type", "name"]),
    block_schema("ephemeral", &["type", "name"]),
    block_schema("action", &["type", "name"]),
    block_schema("check", &["name"]),
    block_schema("import", &[]),
    block_schema("module", &["name"]),
    block_schema("variable", &["name"]),
    block_schema("locals", &[]),
]);

/// Mocked providers are skipped: a test that mocks a provider needs its schema, so the
/// configuration under test requires the provider, too.
const TEST_FILE: Schema = Schema::of_blocks(&[
    block_schema("provider", &["name"]),
    block_schema("run", &["name"]),
]);

const TERRAFORM: Schema = Schema {
    attributes: AttributeNames::These(&["required_version"]),
    blocks: &[
        block_schema("required_providers", &[]),
        block_schema("backend", &["type"]),
        block_schema("cloud", &[]),
        block_schema("state_store", &["type"]),
    ],
};

/// Reads a file of a module, and adds its blocks to the blocks of other files.
///
/// # Errors
/// The file is malformed. Errors in a block are in [`MergedFiles::diagnostics`].
pub(super) fn module_file(
    file: &Arc<SourceFile>,
    dialect: Dialect,
    files: &mut MergedFiles,
) -> diagnostic::Result<()> {
    read(file, dialect, &MODULE_FILE, files)
}

/// Reads a test file: its `provider` blocks and the modules of its `run` blocks.
///
/// # Errors
/// As for [`module_file`].
pub(super) fn test_file(
    file: &Arc<SourceFile>,
    dialect: Dialect,
) -> diagnostic::Result<MergedFiles> {
    let mut files = MergedFiles::default();
    read(file, dialect, &TEST_FILE, &mut files)?;
    Ok(files)
}

fn read(
    file: &Arc<SourceFile>,
    dialect: Dialect,
    schema: &Schema,
    files: &mut MergedFiles,
) -> diagnostic::Result<()> {
    let content = Block::of_file(file)
        .content(schema)
        .map_err(|fault| diagnose(file, conflict_in_json(file).unwrap_or(fault)))?;
    Decoder {
        file,
        dialect,
        files,
    }
    .decode_each(content, Decoder::decode_block);
    Ok(())
}

/// Returns the error for the first conflict marker of git in a JSON file that cannot be read. A
/// string of JSON has no lines that could look like one.
fn conflict_in_json(file: &SourceFile) -> Option<Fault> {
    if file
        .path
        .extension()
        .is_none_or(|extension| extension != "json")
    {
        return None;
    }
    let text = file.text.as_bytes();
    let mut starts = iter::once(0).chain(memchr::memchr_iter(b'\n', text).map(|at| at + 1));
    let at = starts.find(|at| scan::is_conflict_marker(text, *at))?;
    Some(scan::conflict_marker(at))
}

struct Decoder<'a> {
    file: &'a Arc<SourceFile>,
    dialect: Dialect,
    files: &'a mut MergedFiles,
}

impl Decoder<'_> {
    /// Decodes blocks until there are too many. An error in one does not prevent the others from
    /// being read.
    fn decode_each(
        &mut self,
        content: Content,
        mut decode: impl FnMut(&mut Self, Block) -> Result<(), Fault>,
    ) {
        for (kind, block) in content.blocks {
            if !self.files.has_room_for(1) {
                return;
            }
            match block {
                Ok(block) => decode(self, block).unwrap_or_else(|fault| self.report_fault(fault)),
                // Only values depend on these.
                Err(_) if matches!(kind, "variable" | "locals") => {}
                // OpenTofu or Terraform reports it, unless another file overrides the block.
                Err(_) if kind == "backend" => {
                    (self.files.backend, self.files.state_store) =
                        (Some(Backend::Remote(kind.to_owned())), None);
                    self.files.storage = Some(StorageBlock {
                        name: kind.to_owned(),
                        location: None,
                        block: None,
                    });
                }
                Err(fault) => self.report_fault(fault),
            }
        }
    }

    /// Decodes a top-level block.
    fn decode_block(&mut self, block: Block) -> Result<(), Fault> {
        match block.kind {
            "terraform" => self.decode_terraform(&block),
            "provider" => self.decode_provider(&block),
            "check" => {
                const CHECK: Schema = Schema::of_blocks(&[block_schema("data", &["type", "name"])]);
                self.decode_each(block.content(&CHECK)?, |decoder, block| {
                    decoder.decode_resource(&block)
                });
                Ok(())
            }
            "import" => self.decode_import(&block),
            "module" => self.decode_module_call(&block.labels[0], &block),
            "run" => {
                const RUN: Schema = Schema::of_blocks(&[block_schema("module", &[])]);
                self.decode_each(block.content(&RUN)?, |decoder, module| {
                    decoder.decode_module_call(&block.labels[0], &module)
                });
                Ok(())
            }
            "variable" | "locals" => {
                self.files.names.push(block);
                Ok(())
            }
            // Terraform ignores ephemeral blocks in override files, OpenTofu merges them.
            "ephemeral" if self.files.is_overriding && self.dialect == Dialect::Terraform => Ok(()),
            _ => self.decode_resource(&block),
        }
    }

    fn location(&self, span: Range<usize>) -> Location {
        Location::new(self.file, span)
    }

    fn report_fault(&mut self, fault: Fault) {
        self.files.diagnostics.push(diagnose(self.file, fault));
    }

    fn report_error(&mut self, location: Location, message: String, label: String) {
        let diagnostic = Diagnostic::error(Code::InvalidConfiguration, message).at(location, label);
        self.files.diagnostics.push(diagnostic);
    }

    /// Decodes a `terraform` block. Of several blocks that say where the state is stored, the last
    /// one counts.
    fn decode_terraform(&mut self, block: &Block) -> Result<(), Fault> {
        let content = block.content(&TERRAFORM)?;
        if let Some(version) = content.attribute("required_version")
            && let Ok(text) = version.string_or_number()
            && let Ok(required) = text.parse::<ConstraintList>()
        {
            self.files.required_version =
                ConstraintList::merge([&self.files.required_version, &required]);
        }
        self.decode_each(content, |decoder, block| {
            let kind = block.kind;
            let mut state_store = None;
            let backend = match kind {
                "required_providers" => return decoder.decode_required_providers(&block),
                "backend" if block.labels[0].text == "local" => Backend::Local(state_paths(&block)),
                "backend" => Backend::Remote(format!("backend {:?}", block.labels[0].text)),
                "state_store" => {
                    state_store = decoder.read_state_store(&block)?;
                    Backend::Remote(kind.to_owned())
                }
                _ => Backend::Remote(kind.to_owned()),
            };
            let name = match &backend {
                Backend::Local(_) => "backend \"local\"".to_owned(),
                Backend::Remote(name) => name.clone(),
            };
            decoder.files.backend = Some(backend);
            decoder.files.state_store = state_store;
            decoder.files.cloud_host = cloud_host(&block);
            decoder.files.storage = Some(StorageBlock {
                name,
                location: Some(block.location(&block.header)),
                block: Some(block),
            });
            Ok(())
        });
        Ok(())
    }

    /// The provider of a `state_store` block: the label of its `provider` block.
    fn read_state_store(&self, block: &Block) -> Result<Option<ProviderReference>, Fault> {
        const STATE_STORE: Schema = Schema::of_blocks(&[block_schema("provider", &["name"])]);
        let Some((_, provider)) = block.content(&STATE_STORE)?.blocks.pop() else {
            return Ok(None);
        };
        let name = provider?.labels.swap_remove(0);
        check_local_name(&name, self.dialect)?;
        Ok(Some(ProviderReference {
            local_name: name.text,
            location: self.location(name.span),
        }))
    }

    fn decode_required_providers(&mut self, block: &Block) -> Result<(), Fault> {
        let content = block.content(&Schema::ALL_ATTRIBUTES)?;
        if let Some(span) = content.other_block {
            return Err(Fault::new(
                span,
                "a required_providers block holds NAME = { … }, not blocks",
            ));
        }
        let entries = content
            .attributes
            .iter()
            .filter_map(|entry| self.read_required_provider(entry))
            .collect();
        let location = self.location(block.header.clone());
        self.files.add_required_providers(location, entries);
        Ok(())
    }

    /// Reads an entry of `required_providers`; `None` if it has errors, which are reported.
    fn read_required_provider(&mut self, entry: &Attribute) -> Option<RequiredProvider> {
        let name = &entry.name;
        let entries = match entry.entries() {
            Ok(Some(entries)) => entries,
            Ok(None) => return self.read_legacy_required_provider(entry),
            Err(fault) => {
                self.report_fault(fault);
                return None;
            }
        };
        if let Err(fault) = check_local_name(name, self.dialect) {
            self.report_fault(fault);
            return None;
        }
        let errors_before = self.files.diagnostics.added();
        let name_location = self.location(name.span.clone());
        let mut declaration = Declaration::new(DeclarationKind::RequiredProviders, name_location);
        let mut address = None;
        let mut has_aliases = false;
        for value in &entries {
            match value.name.text.as_str() {
                "source" => {
                    address = self.read_source(&name.text, value);
                    declaration.source = Some(value.location.clone());
                    if declaration.version.is_none() {
                        declaration.location = value.location.clone();
                    }
                }
                "version" => {
                    self.add_version(
                        &name.text,
                        value,
                        value.string(JsonStrings::Literal),
                        &mut declaration,
                    );
                }
                "configuration_aliases" => has_aliases = true,
                other => {
                    let message = format!(
                        "the required_providers entry of {} has an unknown argument {other:?}",
                        name.text
                    );
                    let label = "only source, version and configuration_aliases".to_owned();
                    self.report_error(self.location(value.name.span.clone()), message, label);
                }
            }
        }
        // Without a source, the local name is the type of a provider of `hashicorp`.
        let address = address.or_else(|| self.implied_provider(name))?;
        // All problems of the entry are reported before it is refused.
        if self.files.diagnostics.added() > errors_before {
            return None;
        }
        Some(RequiredProvider {
            local_name: name.text.clone(),
            address,
            declaration,
            has_aliases,
        })
    }

    /// `NAME = "~> 1.0"`, the form from before providers had sources.
    fn read_legacy_required_provider(&mut self, entry: &Attribute) -> Option<RequiredProvider> {
        let address = self.implied_provider(&entry.name)?;
        let mut declaration =
            Declaration::new(DeclarationKind::RequiredProviders, entry.location.clone());
        self.add_version(
            &entry.name.text,
            entry,
            entry.string_or_number(),
            &mut declaration,
        )?;
        Some(RequiredProvider {
            local_name: entry.name.text.clone(),
            address,
            declaration,
            has_aliases: false,
        })
    }

    fn implied_provider(&mut self, name: &Name) -> Option<ProviderAddress> {
        let address = implied_provider(&name.text, self.dialect, &self.location(name.span.clone()));
        address
            .map_err(|errors| self.files.diagnostics.extend(errors))
            .ok()
    }

    fn read_source(&mut self, provider: &str, value: &Attribute) -> Option<ProviderAddress> {
        let source = value
            .string(JsonStrings::Literal)
            .map_err(|fault| self.report_fault(fault))
            .ok()?;
        let address = ProviderAddress::parse(&source, self.dialect);
        address
            .map_err(|error| {
                let message = format!(
                    "the source {source:?} of provider {provider} is not a provider address"
                );
                self.report_error(value.location.clone(), message, error.to_string());
            })
            .ok()
    }

    /// Adds a version constraint to a declaration. Returns `None` if it has errors, which are added
    /// to the others.
    fn add_version(
        &mut self,
        provider: &str,
        value: &Attribute,
        text: Result<String, Fault>,
        declaration: &mut Declaration,
    ) -> Option<()> {
        let text = text.map_err(|fault| self.report_fault(fault)).ok()?;
        let reason = match text.parse() {
            Ok(_) if text.trim().is_empty() => {
                "it is empty; omit it to allow every version".to_owned()
            }
            // Lock files may have a comma at the end, but OpenTofu and Terraform refuse it in a
            // configuration.
            Ok(_) if text.trim_end().ends_with(',') => {
                "there is nothing after the last comma".to_owned()
            }
            Ok(constraints) => {
                declaration.constraints = constraints;
                declaration.location = value.location.clone();
                declaration.version = Some(value.location.clone());
                return Some(());
            }
            Err(error) => format!("{error}"),
        };
        let message = format!("{text:?} is not a version constraint for provider {provider}");
        self.report_error(value.location.clone(), message, reason);
        None
    }

    /// Decodes a `provider` block. Its version is a constraint on the provider.
    fn decode_provider(&mut self, block: &Block) -> Result<(), Fault> {
        const PROVIDER: Schema = Schema::of_attributes(&["alias", "version"]);
        let label = &block.labels[0];
        check_local_name(label, self.dialect)?;
        let content = block.content(&PROVIDER)?;
        let alias = content
            .attribute("alias")
            .map(|alias| alias.string(JsonStrings::Literal))
            .transpose()?;
        let local_name = label.text.clone();
        let label = self.location(label.span.clone());
        let mut declaration = Declaration::new(DeclarationKind::ProviderBlock, label.clone());
        // The argument is deprecated, but still constrains the provider.
        if let Some(version) = content.attribute("version")
            && !matches!(version.constant(JsonStrings::Literal), Ok(Value::Null))
        {
            self.add_version(
                &local_name,
                version,
                version.string_or_number(),
                &mut declaration,
            );
        }
        self.files.add_provider(ProviderBlock {
            local_name,
            alias,
            label,
            declaration,
        });
        Ok(())
    }

    fn decode_resource(&mut self, block: &Block) -> Result<(), Fault> {
        let [type_name, name] = &block.labels[..] else {
            return Ok(());
        };
        let provider = if block.may_have("provider") {
            let content = block.content(&Schema::of_attributes(&["provider"]))?;
            self.provider_reference(&content)?
        } else {
            None
        };
        self.files.add_resource(Resource {
            kind: block.kind,
            type_name: type_name.text.clone(),
            name: name.text.clone(),
            label: self.location(type_name.span.clone()),
            provider,
        });
        Ok(())
    }

    fn provider_reference(&self, content: &Content) -> Result<Option<ProviderReference>, Fault> {
        let Some(value) = content.attribute("provider") else {
            return Ok(None);
        };
        let name = Name {
            text: value.reference()?.swap_remove(0),
            span: value.location.span.clone(),
        };
        check_local_name(&name, self.dialect)?;
        Ok(Some(ProviderReference {
            local_name: name.text,
            location: value.location.clone(),
        }))
    }

    /// Decodes an `import` block. It requires the provider of the resource that it names, unless
    /// the resource is in a called module.
    fn decode_import(&mut self, block: &Block) -> Result<(), Fault> {
        let content = block.content(&Schema::of_attributes(&["to", "provider"]))?;
        let Some(to) = content.attribute("to") else {
            return Err(Fault::new(
                block.header.clone(),
                "an import block needs the argument \"to\"",
            ));
        };
        let names = to.reference()?;
        // Pairs of `module` and a name lead to the resource: `module.a.module.b.null_resource.c`.
        let modules = names
            .iter()
            .step_by(2)
            .take_while(|name| *name == "module")
            .count();
        let [type_name, name] = names.get(modules * 2..).unwrap_or_default() else {
            return Err(to.fault("the address of a resource is expected here"));
        };
        self.files.imports.push(Import {
            type_name: type_name.clone(),
            name: name.clone(),
            in_module: modules > 0,
            location: to.location.clone(),
            provider: self.provider_reference(&content)?,
        });
        Ok(())
    }

    /// Decodes a `module` block. A source that is no constant stays an expression.
    fn decode_module_call(&mut self, name: &Name, block: &Block) -> Result<(), Fault> {
        let content = block.content(&Schema::ALL_ATTRIBUTES)?;
        let mut source = CallSource::Missing;
        let mut location = self.location(name.span.clone());
        if let Some(attribute) = content.attribute("source") {
            // An expression is evaluated with the values of each caller.
            source = match attribute.string(JsonStrings::Template) {
                Ok(text) => CallSource::Constant(text),
                Err(_) => CallSource::Expression(attribute.clone()),
            };
            location = attribute.location.clone();
        }
        self.files.add_call(Call {
            name: name.text.clone(),
            source,
            version: content.attribute("version").cloned(),
            location,
            arguments: content.attributes,
        });
        Ok(())
    }
}

/// Returns the provider that a local name stands for without an entry in `required_providers`.
///
/// # Errors
/// No provider can have this name.
pub(super) fn implied_provider(
    name: &str,
    dialect: Dialect,
    location: &Location,
) -> diagnostic::Result<ProviderAddress> {
    ProviderAddress::implied(name, dialect).map_err(|error| {
        let message = format!("{name:?} cannot be the name of a provider: {error}");
        Diagnostic::error(Code::InvalidConfiguration, message)
            .at_location(location.clone())
            .into()
    })
}

/// The paths of a local backend; `None` if one is not a constant.
fn state_paths(block: &Block) -> Option<StatePaths> {
    let content = block
        .content(&Schema::of_attributes(&["path", "workspace_dir"]))
        .ok()?;
    let StatePaths { state, workspaces } = StatePaths::default();
    Some(StatePaths {
        state: path_argument(&content, "path", state)?,
        workspaces: path_argument(&content, "workspace_dir", workspaces)?,
    })
}

/// Returns the path in an argument, or the default if it has none; `None` if it is not a constant.
fn path_argument(content: &Content, name: &str, default: PathBuf) -> Option<PathBuf> {
    let Some(argument) = content.attribute(name) else {
        return Some(default);
    };
    let value = argument.constant(JsonStrings::Template).ok()?;
    if value.is_null() {
        return Some(default);
    }
    // OpenTofu and Terraform convert numbers.
    let path = value.as_string().ok()?;
    if path.is_empty() {
        return Some(default);
    }
    Some(PathBuf::from(&*path))
}

/// The host in a `cloud` block or in `backend "remote"`; `None` for other blocks.
fn cloud_host(block: &Block) -> Option<CloudHost> {
    let is_cloud = match block.kind {
        "cloud" => true,
        "backend" if block.labels[0].text == "remote" => false,
        _ => return None,
    };
    let Ok(content) = block.content(&Schema::of_attributes(&["hostname"])) else {
        return Some(CloudHost::Unknown);
    };
    let written = content.attribute("hostname");
    let value = written.map(|value| value.constant(JsonStrings::Template));
    Some(match value {
        Some(Ok(Value::String(host))) => CloudHost::Literal(host.to_string()),
        None | Some(Ok(Value::Null)) if is_cloud => CloudHost::Default,
        _ => CloudHost::Unknown,
    })
}

/// Checks that a module may call a provider by this name.
///
/// # Errors
/// It is not in lower case, or cannot be the last part of an address.
fn check_local_name(name: &Name, dialect: Dialect) -> Result<(), Fault> {
    let lower = name.text.to_lowercase();
    if lower != name.text {
        return Err(Fault::new(
            name.span.clone(),
            format!(
                "the local name {:?} of a provider must be in lower case: {lower}",
                name.text
            ),
        ));
    }
    match ProviderAddress::implied(&name.text, dialect) {
        // Only the type in an address must not start with `terraform-`.
        Ok(_) | Err(AddressError::Prefix(..)) => Ok(()),
        Err(error) => Err(Fault::new(
            name.span.clone(),
            format!(
                "{:?} cannot be the local name of a provider: {error}",
                name.text
            ),
        )),
    }
}
