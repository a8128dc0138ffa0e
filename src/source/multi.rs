//! Several sources, as a `provider_installation` block lists them: OpenTofu's explicit installation methods.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{AvailableVersion, AvailableVersions, Fetched, PackageId, ProgressSink, Source, SourceError};
use crate::address::ProviderAddress;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use crate::platform::Platform;
use crate::provider_pattern::ProviderSelection;
use crate::version::Version;

/// Sources in the order in which they are asked for a package.
pub struct MultiSource {
    methods: Vec<Method>,
    dev_overrides: BTreeMap<ProviderAddress, PathBuf>,
}

/// A source with the providers that it is for.
pub struct Method {
    /// The source.
    pub source: Source,
    /// Which providers it is for.
    pub providers: ProviderSelection,
}

impl MultiSource {
    /// Sources, the first with precedence. Providers with a development override are for none of them.
    pub fn new(methods: Vec<Method>, dev_overrides: BTreeMap<ProviderAddress, PathBuf>) -> Self {
        Self { methods, dev_overrides }
    }

    /// The versions that any of the sources lists. One that has no such provider does not matter, any other failure does.
    pub(super) fn versions(&self, address: &ProviderAddress) -> std::result::Result<AvailableVersions, SourceError> {
        let mut all = AvailableVersions::default();
        let mut missing = Vec::new();
        for method in self.methods_for(address) {
            match method.source.versions(address) {
                Ok(available) => {
                    for (version, offer) in &available.versions {
                        let known = all.versions.entry(version.clone());
                        known.and_modify(|known| merge(known, offer)).or_insert_with(|| offer.clone());
                    }
                    all.warnings.extend(available.warnings.iter().cloned());
                }
                Err(SourceError::NoSuchProvider(error)) => missing.push(error),
                Err(error) => return Err(error),
            }
        }
        if all.versions.is_empty() {
            Err(SourceError::NoSuchProvider(no_such_provider(address, &missing)))
        } else {
            Ok(all)
        }
    }

    /// The platforms that any of the sources has a package for.
    pub(super) fn platforms(&self, address: &ProviderAddress, version: &Version) -> Result<BTreeSet<Platform>> {
        let mut platforms = BTreeSet::new();
        let mut unknown = None;
        for method in self.methods_with(address, version) {
            match method?.source.platforms(address, version) {
                Ok(more) => platforms.extend(more),
                Err(error) if error.iter().all(|error| error.code == Code::PlatformNotAvailable) => {
                    unknown = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        unknown.filter(|_| platforms.is_empty()).map_or(Ok(platforms), Err)
    }

    /// The package of the first source that has it.
    pub(super) fn package(&self, wanted: &PackageId, progress: ProgressSink<'_>) -> Result<Arc<Fetched>> {
        let mut refusal = None;
        for method in self.methods_with(&wanted.address, &wanted.version) {
            match method?.source.package(wanted, progress) {
                Err(error) if error.iter().all(|error| error.code == Code::PlatformNotAvailable) => {
                    refusal = Some(error);
                }
                outcome => return outcome,
            }
        }
        Err(refusal.unwrap_or_else(|| wanted.not_available(std::iter::empty::<String>()).into()))
    }

    /// The first source that lists a version.
    pub(super) fn source_of<'a>(
        &'a self,
        address: &'a ProviderAddress,
        version: &'a Version,
    ) -> Result<Option<&'a Source>> {
        let first = self.methods_with(address, version).next().transpose()?;
        Ok(first.map(|method| &method.source))
    }

    /// The directory that a provider under development is taken from.
    pub(super) fn dev_override(&self, address: &ProviderAddress) -> Option<&Path> {
        self.dev_overrides.get(address).map(PathBuf::as_path)
    }

    fn methods_for<'a>(&'a self, address: &'a ProviderAddress) -> impl Iterator<Item = &'a Method> {
        self.methods.iter().filter(move |method| method.providers.contains(address))
    }

    /// The sources that list a version.
    fn methods_with<'a>(
        &'a self,
        address: &'a ProviderAddress,
        version: &'a Version,
    ) -> impl Iterator<Item = Result<&'a Method>> {
        self.methods_for(address).filter_map(move |method| match method.source.versions(address) {
            Ok(available) => available.versions.contains_key(version).then_some(Ok(method)),
            Err(SourceError::NoSuchProvider(_)) => None,
            Err(SourceError::Failed(error)) => Some(Err(error)),
        })
    }
}

/// Takes the offer of another source for the same version into account: the package of a platform may come from either.
fn merge(known: &mut AvailableVersion, other: &AvailableVersion) {
    if known.platforms.is_empty() || other.platforms.is_empty() {
        known.platforms.clear();
    } else {
        known.platforms.extend(other.platforms.iter().cloned());
    }
}

/// The error when no source has a provider: that of the only one that was asked, or what all of them say.
fn no_such_provider(address: &ProviderAddress, missing: &[Diagnostics]) -> Diagnostics {
    if let [only] = missing {
        return only.clone();
    }
    let (message, help) = if missing.is_empty() {
        let message = format!("no installation method of the CLI configuration is for {address}");
        (message, "add it to the include list of a method in the provider_installation block")
    } else {
        let message = format!("no installation method of the CLI configuration has {address}");
        (message, "correct its source in required_providers, or put it into one of the mirrors")
    };
    let error = Diagnostic::error(Code::ProviderNotFound, message).help(help);
    missing.iter().flatten().fold(error, |error, missing| error.note(missing.message.clone())).into()
}
