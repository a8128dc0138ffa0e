//! `[without-platforms]`: platforms for which a provider has no package.

use crate::diagnostic::{Code, Diagnostic, Help, Location, Remedy};
use crate::provider::{Dialect, Platform, ProviderAddress, ProviderSpec};

/// Platforms for which providers have no package, from all settings files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WithoutPlatforms(Vec<MissingPlatform>);

/// A platform for which a provider has no package, so that it is not required of its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingPlatform {
    pub(super) provider: ProviderSpec,
    /// The platform.
    pub platform: Platform,
    /// Location of the platform in the settings file.
    pub location: Location,
}

impl WithoutPlatforms {
    /// The platforms for which a provider has no package.
    pub(crate) fn of(
        &self,
        address: &ProviderAddress,
        dialect: Dialect,
    ) -> impl Iterator<Item = &MissingPlatform> {
        self.0
            .iter()
            .filter(move |missing| missing.provider.resolve(dialect) == *address)
    }

    /// Whether a provider has no package for a platform.
    pub(crate) fn has(
        &self,
        address: &ProviderAddress,
        dialect: Dialect,
        platform: &Platform,
    ) -> bool {
        self.of(address, dialect)
            .any(|missing| missing.platform == *platform)
    }

    /// Adds platforms, each once.
    pub(super) fn extend(&mut self, others: impl IntoIterator<Item = MissingPlatform>) {
        for missing in others {
            if !self.0.contains(&missing) {
                self.0.push(missing);
            }
        }
    }
}

impl IntoIterator for WithoutPlatforms {
    type Item = MissingPlatform;
    type IntoIter = std::vec::IntoIter<MissingPlatform>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl MissingPlatform {
    /// The warning that a release has a package for the platform. `release` is its name and
    /// version.
    pub(crate) fn exists(&self, release: &str) -> Diagnostic {
        let message = format!(
            "{release} has a package for {}, so the lock file should have its hash",
            self.platform
        );
        let help = "remove the platform from [without-platforms], then run: ";
        Diagnostic::finding(Code::PlatformExists, message)
            .at(
                self.location.clone(),
                "this line exempts the provider from the platform",
            )
            .help(Help::text(help).and(Remedy::lock()))
    }
}
