//! Makes sources: the one that a flag asks for, or the installation methods of the CLI configuration.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::SystemTime;

use provlock::cli_config::{CliConfig, Environment, InstallationMethod, MethodKind};
use provlock::diagnostic::{Code, Diagnostic, Result};
use provlock::dialect::Dialect;
use provlock::provider_pattern::ProviderSelection;
use provlock::source::oci::{OciLogins, OciRegistries, RepositoryTemplate};
use provlock::source::{
    Discovery, Downloader, FilesystemMirror, Method, MultiSource, NetworkMirror, OciMirror, Registry, RegistryPolicy,
    ReleaseUrls, Source, SourceKind,
};

/// What sources are made of.
pub(crate) struct Sources<'a> {
    pub(crate) config: &'a CliConfig,
    pub(crate) environment: &'a Environment,
    pub(crate) dialect: Dialect,
    pub(crate) downloader: Downloader,
    pub(crate) discovery: Arc<Discovery>,
    /// Whether hashes that a registry reports are taken without a look at the packages.
    pub(crate) trust_registry: bool,
    /// Where releases were in earlier runs.
    pub(crate) places: Option<ReleaseUrls>,
    /// Shared by all mirrors in OCI registries, so that they log in once.
    pub(crate) oci_registries: OnceCell<Arc<OciRegistries>>,
}

impl Sources<'_> {
    /// The registries that addresses name.
    pub(crate) fn registry(&self, downloader: Downloader) -> SourceKind {
        let enforced = |name| self.dialect == Dialect::Tofu && self.environment.variable(name) == Some("true");
        let policy = RegistryPolicy {
            dialect: self.dialect,
            enforce_validation: enforced("OPENTOFU_ENFORCE_GPG_VALIDATION"),
            enforce_expiration: enforced("OPENTOFU_ENFORCE_GPG_EXPIRATION"),
            trust_registry: self.trust_registry,
            now: SystemTime::now(),
        };
        SourceKind::Registry(Registry::new(downloader, Arc::clone(&self.discovery), policy, self.places.clone()))
    }

    /// The repositories of OCI registries that a template names.
    pub(crate) fn oci_mirror(&self, template: RepositoryTemplate) -> SourceKind {
        let registries = self.oci_registries.get_or_init(|| {
            let logins = OciLogins::new(
                self.config.oci_credentials.clone(),
                self.config.oci_default_credentials.clone(),
                self.environment.clone(),
                self.environment.helper_time_limit(),
            );
            Arc::new(OciRegistries::new(self.downloader.client().clone(), logins))
        });
        let mirror = OciMirror::new(self.downloader.clone(), Arc::clone(registries), template, self.dialect);
        SourceKind::OciMirror(mirror)
    }

    /// The installation methods of the CLI configuration; without any, the directories that both programs look into before
    /// they ask registries.
    pub(crate) fn configured(&self) -> Result<SourceKind> {
        let Some(installation) = &self.config.provider_installation else {
            return Ok(SourceKind::Multi(MultiSource::new(self.implied_methods(), std::collections::BTreeMap::new())));
        };
        let (mut methods, mut errors) = (Vec::new(), Vec::new());
        for method in &installation.methods {
            match self.kind(method) {
                Ok(kind) => {
                    methods.push(Method { source: Source::new(kind), providers: method.providers.clone() });
                }
                Err(error) => errors.extend(error),
            }
        }
        if !errors.is_empty() {
            return Err(errors.into());
        }
        Ok(SourceKind::Multi(MultiSource::new(methods, installation.dev_overrides.clone())))
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
                let mirror = NetworkMirror::new(downloader, url.as_str(), self.dialect)?;
                let mirror = if *trust_all_hashes { mirror.trusting_all_hashes() } else { mirror };
                Ok(SourceKind::NetworkMirror(mirror))
            }
            MethodKind::OciMirror { repository_template } => {
                let include = &method.providers.include;
                let template = RepositoryTemplate::parse_configuration(repository_template, include, &method.location)?;
                Ok(self.oci_mirror(template))
            }
            MethodKind::Unknown { name } => {
                let message = format!("the installation method {name:?} is not known");
                let error = Diagnostic::error(Code::InvalidCliConfiguration, message).at(method.location.clone(), "");
                Err(error.help("use direct, filesystem_mirror, network_mirror or oci_mirror").into())
            }
        }
    }

    /// Registries are not asked for a provider that one of the directories has, whatever its version.
    fn implied_methods(&self) -> Vec<Method> {
        let directories = self.environment.implied_mirror_directories(self.dialect).into_iter();
        let mirrors: Vec<_> = directories.filter(|path| path.is_dir()).map(FilesystemMirror::new).collect();
        let found = mirrors.iter().flat_map(|mirror| mirror.providers(self.dialect));
        let direct = ProviderSelection { include: Vec::new(), exclude: found.map(Into::into).collect() };
        let mirrors = mirrors.into_iter().map(|mirror| {
            let source = Source::new(SourceKind::FilesystemMirror(mirror));
            Method { source, providers: ProviderSelection::default() }
        });
        let registry = Source::new(self.registry(self.downloader.clone()));
        mirrors.chain([Method { source: registry, providers: direct }]).collect()
    }
}
