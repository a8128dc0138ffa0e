//! Reads the providers and modules of one file.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Location, SourceFile};
use crate::hcl::Fault;
use crate::provider::{AddressError, ConstraintList, Dialect, ProviderAddress};

use super::file::{
    Backend, Call, CallSource, File, Import, ProviderBlock, ProviderReference, RequiredProvider, RequiredProviders,
    Resource, StatePaths,
};
use super::syntax::{Block, Body, Expression, Items, Name, diagnose};

pub(super) fn decode_module_file(file: &Arc<SourceFile>, items: &Items<'_>, dialect: Dialect) -> File {
    let mut decoder = Decoder { file, dialect, found: File::default() };
    decoder.each(items, "terraform", &[], Decoder::terraform);
    decoder.each(items, "provider", &["name"], Decoder::provider);
    for kind in ["resource", "data", "ephemeral", "action"] {
        decoder.each(items, kind, &["type", "name"], |decoder, block| decoder.resource(kind, block));
    }
    decoder.each(items, "check", &["name"], |decoder, block| {
        let items = block.body.items()?;
        decoder.each(&items, "data", &["type", "name"], |decoder, block| decoder.resource("data", block));
        Ok(())
    });
    decoder.each(items, "import", &[], Decoder::import);
    decoder.each(items, "module", &["name"], |decoder, block| decoder.call(&block.labels[0].clone(), block));
    decoder.found
}

/// Reads a test file: its `provider` blocks and the modules of its `run` blocks. Mocked providers are left out: a test
/// that mocks a provider needs its schema, so the configuration under test requires it already.
pub(super) fn decode_test_file(file: &Arc<SourceFile>, items: &Items<'_>, dialect: Dialect) -> File {
    let mut decoder = Decoder { file, dialect, found: File::default() };
    decoder.each(items, "provider", &["name"], Decoder::provider);
    decoder.each(items, "run", &["name"], |decoder, block| {
        let run = &block.labels[0];
        let items = block.body.items()?;
        decoder.each(&items, "module", &[], |decoder, block| decoder.call(run, block));
        Ok(())
    });
    decoder.found
}

struct Decoder<'a> {
    file: &'a Arc<SourceFile>,
    dialect: Dialect,
    found: File,
}

impl Decoder<'_> {
    /// Decodes every block of a type. A fault of one does not keep the others from being read.
    fn each<'b>(
        &mut self,
        items: &Items<'b>,
        kind: &str,
        labels: &[&str],
        mut decode: impl FnMut(&mut Self, &Block<'b>) -> Result<(), Fault>,
    ) {
        match items.blocks(kind, labels) {
            Ok(blocks) => {
                for block in &blocks {
                    if let Err(fault) = decode(self, block) {
                        self.fault(fault);
                    }
                }
            }
            Err(fault) => self.fault(fault),
        }
    }

    fn location(&self, span: Range<usize>) -> Location {
        Location::new(self.file, span)
    }

    fn fault(&mut self, fault: Fault) {
        self.found.diagnostics.push(diagnose(self.file, fault));
    }

    fn error(&mut self, span: Range<usize>, message: String, label: String) {
        let diagnostic = Diagnostic::error(Code::InvalidConfiguration, message).at(self.location(span), label);
        self.found.diagnostics.push(diagnostic);
    }

    fn terraform(&mut self, block: &Block<'_>) -> Result<(), Fault> {
        let items = block.body.items()?;
        if let Some(backend) = backend(&items) {
            self.found.backend = Some(backend);
            self.found.state_store = self.state_store(&items)?;
        }
        let required = items.argument("required_version").and_then(|version| version.constant_string().ok());
        let required = required.and_then(|text| text.parse::<ConstraintList>().ok()).unwrap_or_default();
        self.found.required_version = ConstraintList::merge([&self.found.required_version, &required]);
        self.each(&items, "required_providers", &[], Self::required_providers);
        Ok(())
    }

    /// The provider that a `state_store` block names by the label of its `provider` block.
    fn state_store(&self, items: &Items<'_>) -> Result<Option<ProviderReference>, Fault> {
        let Some(store) = items.blocks("state_store", &["type"])?.pop() else { return Ok(None) };
        let Some(mut provider) = store.body.items()?.blocks("provider", &["name"])?.pop() else { return Ok(None) };
        let name = provider.labels.swap_remove(0);
        check_local_name(&name, self.dialect)?;
        Ok(Some(ProviderReference { local_name: name.text, location: self.location(name.span) }))
    }

    fn required_providers(&mut self, block: &Block<'_>) -> Result<(), Fault> {
        let items = block.body.items()?;
        if let Some(span) = items.first_block() {
            return Err(Fault::new(span, "a required_providers block holds NAME = { … }, not blocks"));
        }
        let mut entries = Vec::new();
        for (name, value) in items.arguments() {
            if let Some(entry) = self.required_provider(&name, &value) {
                entries.push(entry);
            }
        }
        let location = self.location(block.header.clone());
        self.found.required.push(RequiredProviders { location, entries });
        Ok(())
    }

    /// An entry, unless it has errors, which are noted.
    fn required_provider(&mut self, name: &Name, value: &Expression<'_>) -> Option<RequiredProvider> {
        let entries = match value.entries() {
            Ok(Some(entries)) => entries,
            Ok(None) => return self.legacy_required_provider(name, value),
            Err(fault) => {
                self.fault(fault);
                return None;
            }
        };
        if let Err(fault) = check_local_name(name, self.dialect) {
            self.fault(fault);
            return None;
        }
        let errors = self.found.diagnostics.added();
        let mut location = self.location(name.span.clone());
        let mut address = None;
        let mut source = None;
        let mut version = None;
        let mut has_aliases = false;
        for (key, value) in &entries {
            match key.text.as_str() {
                "source" => {
                    address = self.source(&name.text, value);
                    source = Some(self.location(value.span()));
                    if version.is_none() {
                        location = self.location(value.span());
                    }
                }
                "version" => {
                    version = self.version(&name.text, value.constant_string(), value.span());
                    location = self.location(value.span());
                }
                "configuration_aliases" => has_aliases = true,
                other => {
                    let message =
                        format!("the required_providers entry of {} has an unknown argument {other:?}", name.text);
                    self.error(key.span.clone(), message, "only source, version and configuration_aliases".to_owned());
                }
            }
        }
        let address = address.or_else(|| self.implied(&name.text, &name.span))?;
        if self.found.diagnostics.added() > errors {
            return None;
        }
        let (version, constraints) = version.unzip();
        let constraints = constraints.unwrap_or_default();
        let local_name = name.text.clone();
        Some(RequiredProvider { local_name, address, location, source, version, constraints, has_aliases })
    }

    /// `NAME = "~> 1.0"`, the form from before providers had sources.
    fn legacy_required_provider(&mut self, name: &Name, value: &Expression<'_>) -> Option<RequiredProvider> {
        let address = self.implied(&name.text, &name.span)?;
        let (location, constraints) = self.version(&name.text, value.constant_text(), value.span())?;
        let version = Some(location.clone());
        let local_name = name.text.clone();
        Some(RequiredProvider { local_name, address, location, source: None, version, constraints, has_aliases: false })
    }

    fn implied(&mut self, local_name: &str, span: &Range<usize>) -> Option<ProviderAddress> {
        match ProviderAddress::implied(local_name, self.dialect) {
            Ok(address) => Some(address),
            Err(error) => {
                let message = format!("{local_name:?} cannot be the name of a provider: {error}");
                self.error(span.clone(), message, String::new());
                None
            }
        }
    }

    fn source(&mut self, provider: &str, value: &Expression<'_>) -> Option<ProviderAddress> {
        let source = match value.constant_string() {
            Ok(source) => source,
            Err(fault) => {
                self.fault(fault);
                return None;
            }
        };
        match ProviderAddress::parse(&source, self.dialect) {
            Ok(address) => Some(address),
            Err(error) => {
                let message = format!("the source {source:?} of provider {provider} is not a provider address");
                self.error(value.span(), message, error.to_string());
                None
            }
        }
    }

    /// The place and the meaning of a version constraint. Errors are noted.
    fn version(
        &mut self,
        provider: &str,
        text: Result<String, Fault>,
        span: Range<usize>,
    ) -> Option<(Location, ConstraintList)> {
        match text {
            Ok(text) => Some((self.location(span.clone()), self.constraints(provider, &text, span)?)),
            Err(fault) => {
                self.fault(fault);
                None
            }
        }
    }

    fn constraints(&mut self, provider: &str, text: &str, span: Range<usize>) -> Option<ConstraintList> {
        let reason = match text.parse() {
            Ok(_) if text.trim().is_empty() => "it is empty; leave it out to allow every version".to_owned(),
            // Lock files may have a comma at the end, but the programs refuse it in a configuration.
            Ok(_) if text.trim_end().ends_with(',') => "nothing follows the last comma".to_owned(),
            Ok(constraints) => return Some(constraints),
            Err(error) => format!("{error}"),
        };
        let message = format!("{text:?} is not a version constraint for provider {provider}");
        self.error(span, message, reason);
        None
    }

    fn provider(&mut self, block: &Block<'_>) -> Result<(), Fault> {
        let label = &block.labels[0];
        check_local_name(label, self.dialect)?;
        let items = block.body.items()?;
        let alias = items.argument("alias").map(|alias| alias.constant_string()).transpose()?;
        let version = items
            .argument("version")
            .and_then(|version| self.version(&label.text, version.constant_text(), version.span()));
        let block =
            ProviderBlock { local_name: label.text.clone(), alias, label: self.location(label.span.clone()), version };
        self.found.providers.push(block);
        Ok(())
    }

    fn resource(&mut self, kind: &'static str, block: &Block<'_>) -> Result<(), Fault> {
        let [type_name, name] = &block.labels[..] else { return Ok(()) };
        let provider = if block.body.may_hold("provider") { self.provider_reference(&block.body)? } else { None };
        let resource = Resource {
            kind,
            type_name: type_name.text.clone(),
            name: name.text.clone(),
            label: self.location(type_name.span.clone()),
            provider,
        };
        self.found.resources.push(resource);
        Ok(())
    }

    fn provider_reference(&mut self, body: &Body<'_>) -> Result<Option<ProviderReference>, Fault> {
        let Some(value) = body.items()?.argument("provider") else { return Ok(None) };
        let name = Name { text: value.reference()?.swap_remove(0), span: value.span() };
        check_local_name(&name, self.dialect)?;
        Ok(Some(ProviderReference { local_name: name.text, location: self.location(name.span) }))
    }

    fn import(&mut self, block: &Block<'_>) -> Result<(), Fault> {
        let items = block.body.items()?;
        let Some(to) = items.argument("to") else {
            return Err(Fault::new(block.header.clone(), "an import block needs the argument \"to\""));
        };
        let names = to.reference()?;
        let modules = names.iter().step_by(2).take_while(|name| *name == "module").count();
        let [type_name, name] = names.get(modules * 2..).unwrap_or_default() else {
            return Err(Fault::new(to.span(), "the address of a resource is expected here"));
        };
        let import = Import {
            type_name: type_name.clone(),
            name: name.clone(),
            in_module: modules > 0,
            location: self.location(to.span()),
            provider: self.provider_reference(&block.body)?,
        };
        self.found.imports.push(import);
        Ok(())
    }

    fn call(&mut self, name: &Name, block: &Block<'_>) -> Result<(), Fault> {
        let items = block.body.items()?;
        let value = items.argument("source");
        let source = match &value {
            None => CallSource::Missing,
            Some(value) => match value.constant_template() {
                Ok(source) => CallSource::Constant(source),
                Err(_) => CallSource::Expression(value.deferred(self.file)),
            },
        };
        let version = items.argument("version").map(|version| version.deferred(self.file));
        let span = value.map_or_else(|| name.span.clone(), |value| value.span());
        let location = self.location(span);
        let arguments =
            items.arguments().into_iter().map(|(name, value)| (name.text, value.deferred(self.file))).collect();
        self.found.calls.push(Call { name: name.text.clone(), source, version, location, arguments });
        Ok(())
    }
}

/// The backend of a `terraform` block. Mistakes in the block itself are left to the program.
fn backend(items: &Items<'_>) -> Option<Backend> {
    if items.has_block("backend") {
        let mut blocks = items.blocks("backend", &["type"]).unwrap_or_default();
        let Some(block) = blocks.pop() else { return Some(Backend::Remote("backend".to_owned())) };
        return Some(match block.labels[0].text.as_str() {
            "local" => Backend::Local(state_paths(&block)),
            other => Backend::Remote(format!("backend {other:?}")),
        });
    }
    let kind = ["state_store", "cloud"].into_iter().find(|kind| items.has_block(kind));
    kind.map(|kind| Backend::Remote(kind.to_owned()))
}

/// The paths of a local backend; `None` if one is not a constant.
fn state_paths(block: &Block<'_>) -> Option<StatePaths> {
    let items = block.body.items().ok()?;
    let path = |name: &str, default: PathBuf| match items.argument(name) {
        None => Some(default),
        Some(value) => match value.constant_template().ok()? {
            path if path.is_empty() => Some(default),
            path => Some(path.into()),
        },
    };
    let StatePaths { state, workspaces } = StatePaths::default();
    Some(StatePaths { state: path("path", state)?, workspaces: path("workspace_dir", workspaces)? })
}

/// Whether a module may call a provider by this name: it is like the last part of an address, in lower case.
fn check_local_name(name: &Name, dialect: Dialect) -> Result<(), Fault> {
    let lower = name.text.to_lowercase();
    if lower != name.text {
        return Err(Fault::new(
            name.span.clone(),
            format!("the local name {:?} of a provider must be in lower case: {lower}", name.text),
        ));
    }
    match ProviderAddress::implied(&name.text, dialect) {
        Ok(_) | Err(AddressError::Prefix(..)) => Ok(()),
        Err(error) => Err(Fault::new(
            name.span.clone(),
            format!("{:?} cannot be the local name of a provider: {error}", name.text),
        )),
    }
}
