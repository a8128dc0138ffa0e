//! Sources of packages: the named one, or the installation methods of the CLI configuration.

#![expect(
    clippy::disallowed_methods,
    reason = "a mirror is the same in every revision"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Connection, Connections, Shared, SourceChoice};
use crate::cli_config::{InstallationMethod, MethodKind, directories, parse_mirror_url};
use crate::diagnostic::{Code, Diagnostic, Result, collect_all};
use crate::packages::authentication::SignaturePolicy;
use crate::packages::oci::{OciMirror, RepositoryTemplate};
use crate::packages::registry::TrustedFacts;
use crate::packages::{
    Downloader, FilesystemMirror, Method, NetworkMirror, Offline, Registry, Source, SourceKind,
};
use crate::provider::{Dialect, ProviderAddress, ProviderSelection, SharedCache, Version};
use crate::system::{OnceMap, SafeUrl};

impl Connections {
    /// A new source. If `shared` gives facts about packages of registries, these packages need not
    /// be downloaded.
    pub fn source(&self, dialect: Dialect, shared: Option<&SharedCache>) -> Result<Source> {
        let options = &self.shared.options;
        // A directory needs neither the CLI configuration nor a connection.
        if let SourceChoice::FilesystemMirror(directory) = &options.choice {
            return Ok(Source::in_directory(directory).with_cache(self.cache().as_ref()));
        }
        let connection = self.connection(dialect)?;
        let cache = self.cache().map(|cache| {
            if options.distrusts_cache {
                cache.distrusted()
            } else {
                cache
            }
        });
        // As Terraform does since 1.11, and OpenTofu does not.
        let netrc = match dialect {
            Dialect::Terraform => Some(self.shared.netrc.clone()),
            Dialect::Tofu => None,
        };
        let facts = match shared {
            Some(shared) => Some(self.trusted_facts(dialect, shared)?),
            None => None,
        };
        let methods = Methods {
            shared: &self.shared,
            connection,
            downloader: Downloader::new(connection.client.clone(), options.jobs, cache, netrc),
            facts,
        };
        Ok(methods.chosen_source()?.with_cache(self.cache().as_ref()))
    }

    /// The packages in the cache, and these versions from lock files.
    pub fn offline<'b>(
        &self,
        versions: impl Iterator<Item = (&'b ProviderAddress, &'b Version)>,
    ) -> Source {
        let mut locked: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (address, version) in versions {
            locked
                .entry(address.clone())
                .or_default()
                .insert(version.clone());
        }
        Source::new(SourceKind::Offline(Offline {
            cache: self.cache(),
            registries: self.shared.registry_cache(),
            packages: OnceMap::default(),
            locked,
        }))
    }
}

/// Makes the installation methods of a source.
struct Methods<'a> {
    shared: &'a Shared,
    connection: &'a Connection,
    downloader: Downloader,
    /// Facts about packages of registries that other machines have published.
    facts: Option<TrustedFacts>,
}

impl Methods<'_> {
    /// Makes the source that the options choose.
    fn chosen_source(&self) -> Result<Source> {
        let downloader = self.downloader.clone();
        Ok(Source::new(match &self.shared.options.choice {
            SourceChoice::NetworkMirror(url) => {
                let url = parse_mirror_url(url).map_err(|problem| {
                    Diagnostic::error(Code::InvalidArgument, problem)
                        .help("write it as https://HOST/PATH/")
                })?;
                // Only the CLI configuration can say that a mirror is trusted.
                let trust_all_hashes = false;
                self.network_mirror(downloader, &url, trust_all_hashes)
            }
            SourceChoice::OciMirror(template) => {
                self.oci_mirror(downloader, RepositoryTemplate::parse_flag(template)?)
            }
            SourceChoice::CliConfiguration => return self.configured_source(),
            SourceChoice::Registries | SourceChoice::FilesystemMirror(_) => {
                self.registries(downloader)
            }
        }))
    }

    /// The registries that addresses name.
    fn registries(&self, downloader: Downloader) -> SourceKind {
        let policy = SignaturePolicy {
            dialect: self.connection.dialect,
            enforce_validation: self.is_enforced("OPENTOFU_ENFORCE_GPG_VALIDATION"),
            enforce_expiration: self.is_enforced("OPENTOFU_ENFORCE_GPG_EXPIRATION"),
        };
        SourceKind::Registry(Box::new(Registry::new(
            downloader,
            Arc::clone(&self.connection.discovery),
            policy,
            self.shared.options.trust_registry,
            self.shared.registry_cache(),
            self.facts.clone(),
        )))
    }

    /// Whether a variable of OpenTofu, which Terraform ignores, enforces a rule about signatures.
    fn is_enforced(&self, variable: &str) -> bool {
        self.connection.dialect == Dialect::Tofu
            && self.shared.environment.variable(variable) == Some("true")
    }

    fn network_mirror(
        &self,
        downloader: Downloader,
        url: &SafeUrl,
        trust_all_hashes: bool,
    ) -> SourceKind {
        self.shared.environment.secrets.learn_url(url.as_str());
        let dialect = self.connection.dialect;
        SourceKind::NetworkMirror(NetworkMirror::new(
            downloader,
            url.clone(),
            dialect,
            trust_all_hashes,
        ))
    }

    /// The OCI repositories that a template describes.
    fn oci_mirror(&self, downloader: Downloader, template: RepositoryTemplate) -> SourceKind {
        let registries = Arc::clone(&self.connection.oci_registries);
        SourceKind::OciMirror(OciMirror::new(
            downloader,
            registries,
            template,
            self.connection.dialect,
        ))
    }

    /// The installation methods of the CLI configuration; without any, the directories that
    /// OpenTofu and Terraform search before they contact registries.
    fn configured_source(&self) -> Result<Source> {
        let Some(installation) = &self.connection.config.provider_installation else {
            return Ok(Source::from_methods(
                self.implied_methods(),
                BTreeMap::new(),
            ));
        };
        let methods = collect_all(
            installation
                .methods
                .iter()
                .map(|method| self.method(method)),
        )?;
        Ok(Source::from_methods(
            methods,
            installation.dev_overrides.clone(),
        ))
    }

    fn method(&self, method: &InstallationMethod) -> Result<Method> {
        let kind = self.source_kind(method)?;
        Ok(Method::new(kind, method.providers.clone()))
    }

    /// Makes the source of an installation method.
    fn source_kind(&self, method: &InstallationMethod) -> Result<SourceKind> {
        let downloader = match method.download_retries {
            Some(retries) => self.downloader.with_retries(retries),
            None => self.downloader.clone(),
        };
        match &method.kind {
            MethodKind::Direct => Ok(self.registries(downloader)),
            MethodKind::FilesystemMirror(path) => {
                Ok(SourceKind::FilesystemMirror(FilesystemMirror::new(path)))
            }
            MethodKind::NetworkMirror {
                url,
                trust_all_hashes,
            } => Ok(self.network_mirror(downloader, url, *trust_all_hashes)),
            MethodKind::OciMirror(text) => {
                let include = &method.providers.include;
                let template =
                    RepositoryTemplate::parse_configuration(text, include, &method.location)?;
                Ok(self.oci_mirror(downloader, template))
            }
            MethodKind::Unknown(name) => {
                let message = format!("unknown installation method {name:?}");
                let error = Diagnostic::error(Code::InvalidCliConfiguration, message)
                    .at_location(method.location.clone());
                Err(error
                    .help("use direct, filesystem_mirror, network_mirror or oci_mirror")
                    .into())
            }
        }
    }

    /// A provider that is in one of the directories is not requested from its registry, whatever
    /// its version.
    fn implied_methods(&self) -> Vec<Method> {
        let dialect = self.connection.dialect;
        let mut methods = Vec::new();
        let mut local_providers = Vec::new();
        for path in directories::implied_mirrors(&self.shared.environment, dialect) {
            if !path.is_dir() {
                continue;
            }
            let mirror = FilesystemMirror::new(path);
            local_providers.extend(mirror.providers(dialect).into_iter().map(Into::into));
            methods.push(Method::new(
                SourceKind::FilesystemMirror(mirror),
                ProviderSelection::default(),
            ));
        }

        // OpenTofu and Terraform exclude these providers from `direct` in the same way.
        let other_providers = ProviderSelection {
            include: Vec::new(),
            exclude: local_providers,
        };
        methods.push(Method::new(
            self.registries(self.downloader.clone()),
            other_providers,
        ));
        methods
    }
}
