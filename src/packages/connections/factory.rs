//! Makes the installation methods of a source.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use super::connection::Connection;
use crate::cli_config::{InstallationMethod, MethodKind, directories};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use crate::packages::authentication::SignaturePolicy;
use crate::packages::oci::{OciMirror, RepositoryTemplate};
use crate::packages::registry::TrustedFacts;
use crate::packages::{
    Downloader, FilesystemMirror, Method, NetworkMirror, Registry, RegistryCache, Source, SourceKind,
};
use crate::provider::{Dialect, ProviderSelection};
use crate::system::Environment;

/// Makes the installation methods of a source.
pub(super) struct Factory<'a> {
    pub(super) environment: &'a Environment,
    pub(super) connection: &'a Connection,
    /// Whether hashes that a registry reports are recorded without downloading the packages.
    pub(super) trust_registry: bool,
    pub(super) downloader: Downloader,
    pub(super) registry_cache: Option<RegistryCache>,
    /// Facts about packages of registries that other machines have published.
    pub(super) facts: Option<TrustedFacts>,
}

impl Factory<'_> {
    /// The registries that addresses name.
    pub(super) fn registry(&self, downloader: Downloader) -> SourceKind {
        let Connection { dialect, discovery, .. } = self.connection;
        let enforced = |name| *dialect == Dialect::Tofu && self.environment.variable(name) == Some("true");
        let policy = SignaturePolicy {
            dialect: *dialect,
            enforce_validation: enforced("OPENTOFU_ENFORCE_GPG_VALIDATION"),
            enforce_expiration: enforced("OPENTOFU_ENFORCE_GPG_EXPIRATION"),
            now: SystemTime::now(),
        };
        let (discovery, trust) = (Arc::clone(discovery), self.trust_registry);
        let (cache, facts) = (self.registry_cache.clone(), self.facts.clone());
        SourceKind::Registry(Box::new(Registry::new(downloader, discovery, policy, trust, cache, facts)))
    }

    pub(super) fn network_mirror(
        &self,
        downloader: Downloader,
        url: &str,
        trust_all_hashes: bool,
    ) -> Result<SourceKind> {
        self.environment.secrets.learn_url(url);
        NetworkMirror::new(downloader, url, self.connection.dialect, trust_all_hashes).map(SourceKind::NetworkMirror)
    }

    /// The OCI repositories that a template describes.
    pub(super) fn oci_mirror(&self, downloader: Downloader, template: RepositoryTemplate) -> SourceKind {
        let registries = Arc::clone(&self.connection.oci_registries);
        SourceKind::OciMirror(OciMirror::new(downloader, registries, template, self.connection.dialect))
    }

    /// The installation methods of the CLI configuration; without any, the directories that OpenTofu and Terraform
    /// search before they contact registries.
    pub(super) fn configured(&self) -> Result<Source> {
        let Some(installation) = &self.connection.config.provider_installation else {
            return Ok(Source::from_methods(self.implied_methods(), BTreeMap::new()));
        };
        let (mut methods, mut errors) = (Vec::new(), Diagnostics::default());
        for method in &installation.methods {
            match self.kind(method) {
                Ok(kind) => methods.push(Method::new(kind, method.providers.clone())),
                Err(error) => errors.extend(error),
            }
        }
        errors.into_result(Source::from_methods(methods, installation.dev_overrides.clone()))
    }

    fn kind(&self, method: &InstallationMethod) -> Result<SourceKind> {
        let downloader = match method.download_retries {
            Some(retries) => self.downloader.with_retries(retries),
            None => self.downloader.clone(),
        };
        match &method.kind {
            MethodKind::Direct => Ok(self.registry(downloader)),
            MethodKind::FilesystemMirror { path } => Ok(SourceKind::FilesystemMirror(FilesystemMirror::new(path))),
            MethodKind::NetworkMirror { url, trust_all_hashes } => {
                self.network_mirror(downloader, url.as_str(), *trust_all_hashes)
            }
            MethodKind::OciMirror { repository_template } => {
                let include = &method.providers.include;
                let template = RepositoryTemplate::parse_configuration(repository_template, include, &method.location)?;
                Ok(self.oci_mirror(downloader, template))
            }
            MethodKind::Unknown { name } => {
                let message = format!("unknown installation method {name:?}");
                let error = Diagnostic::error(Code::InvalidCliConfiguration, message).at(method.location.clone(), "");
                Err(error.help("use direct, filesystem_mirror, network_mirror or oci_mirror").into())
            }
        }
    }

    /// A provider that is in one of the directories is not requested from its registry, whatever its version.
    fn implied_methods(&self) -> Vec<Method> {
        let dialect = self.connection.dialect;
        let directories = directories::implied_mirrors(self.environment, dialect).into_iter();
        let mirrors: Vec<_> = directories.filter(|path| path.is_dir()).map(FilesystemMirror::new).collect();
        let found = mirrors.iter().flat_map(|mirror| mirror.providers(dialect));
        let direct = ProviderSelection { include: Vec::new(), exclude: found.map(Into::into).collect() };
        let mirrors = mirrors
            .into_iter()
            .map(|mirror| Method::new(SourceKind::FilesystemMirror(mirror), ProviderSelection::default()));
        mirrors.chain([Method::new(self.registry(self.downloader.clone()), direct)]).collect()
    }
}
