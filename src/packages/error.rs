//! Reasons why a source cannot answer: diagnostics for the user, sorted by the caller's next step.

use std::collections::BTreeSet;
use std::fmt;

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, RunOption};
use crate::net::RequestError;
use crate::packages::archive::{PackageError, PackageId};
use crate::provider::{Platform, ProviderAddress, Version};

/// Result of a question to a source.
pub type Result<T> = std::result::Result<T, SourceError>;

/// The reason why a source cannot answer.
#[derive(Clone, Debug, derive_more::Display, derive_more::From)]
#[display("{}", Diagnostics::from(self.clone()))]
pub enum SourceError {
    /// The source answered that it has no such provider. Another source may have it.
    ProviderNotFound {
        /// The provider.
        address: ProviderAddress,
        /// An error for each location that was searched.
        searched: Vec<Diagnostic>,
        /// Whether the registry in the address is one of these locations, or no location was
        /// searched.
        in_registry: bool,
    },
    /// The source has no package for the platform, or does not list the platforms. Another source
    /// may have the package.
    PlatformMissing(Diagnostics),
    /// The source answered, but the release must not be installed.
    ReleaseRefused(Diagnostics),
    /// Any other failure, which proves nothing about the provider or the release.
    #[from(Diagnostic, Diagnostics)]
    Other(Diagnostics),
}

impl SourceError {
    /// The location of `error` does not have the provider.
    pub(crate) fn provider_not_found(address: &ProviderAddress, error: Diagnostic) -> Self {
        Self::ProviderNotFound {
            address: address.clone(),
            searched: vec![error],
            in_registry: false,
        }
    }

    /// The source has the version, but only for the platforms `available`.
    pub(crate) fn platform_not_among(
        package: &PackageId,
        available: impl IntoIterator<Item = Platform>,
    ) -> Self {
        let mut error = platform_error(package);
        let available: BTreeSet<_> = available.into_iter().collect();
        if !available.is_empty() {
            let names: Vec<_> = available.iter().map(ToString::to_string).collect();
            error = error.note(format!("there are packages for {}", names.join(", ")));
        }
        Self::PlatformMissing(error.into())
    }

    /// The source has no package at `url`, where the one for this platform would be. It does not
    /// say which platforms it has.
    pub(crate) fn platform_not_at(package: &PackageId, url: &str) -> Self {
        let error = platform_error(package).note(format!("asked for {url}"));
        Self::PlatformMissing(error.into())
    }

    /// The source does not list the platforms of its packages.
    pub(crate) fn platforms_not_listed(address: &ProviderAddress, version: &Version) -> Self {
        let message = format!(
            "{} does not list the platforms of {address} {version}",
            address.hostname
        );
        let error = Diagnostic::error(Code::PlatformNotAvailable, message);
        Self::PlatformMissing(
            error
                .help(Help::text("name the platforms, for example: ").and(RunOption::NamePlatforms))
                .into(),
        )
    }

    /// The run is offline, and the cache has no package of the version.
    pub(crate) fn version_not_known_offline(address: &ProviderAddress, version: &Version) -> Self {
        let message = format!("no package of {address} {version} is in the cache of hashes");
        Diagnostic::error(Code::PlatformNotKnown, message)
            .help(Help::run_online())
            .into()
    }

    /// The run is offline, and the package is not in the cache.
    pub(crate) fn package_not_known_offline(package: &PackageId) -> Self {
        let PackageId {
            address,
            version,
            platform,
        } = package;
        let message = format!(
            "{address} {version} for {platform}: the package is not in the cache of hashes"
        );
        Diagnostic::error(Code::PlatformNotKnown, message)
            .help(Help::run_online())
            .into()
    }

    /// The version uses no plugin protocol that OpenTofu and Terraform support; `protocols` lists
    /// the protocols that it uses, as in `4.0, 4.1`.
    pub(crate) fn unsupported_protocol(
        address: &ProviderAddress,
        version: &Version,
        protocols: &str,
    ) -> Self {
        let message = format!(
            "{address} {version} uses plugin protocol {protocols}; only 5 and 6 are supported"
        );
        Diagnostic::error(Code::UnsupportedProtocol, message).into()
    }

    /// A request for `subject` failed.
    pub(crate) fn request_failed(subject: impl fmt::Display, error: RequestError) -> Self {
        error.into_diagnostic(&subject.to_string()).into()
    }

    /// The source sent an unusable response about `subject`.
    pub(crate) fn invalid_response(subject: impl fmt::Display, problem: impl fmt::Display) -> Self {
        Diagnostic::error(Code::RequestFailed, format!("{subject}: {problem}")).into()
    }

    /// The facts of a source about the package contradict each other.
    pub(crate) fn not_authentic(package: &PackageId, problem: impl fmt::Display) -> Self {
        Self::release_refused(authenticity_error(package, problem))
    }

    /// The package that came from `origin` differs from its source's description.
    pub(crate) fn not_authentic_from(
        package: &PackageId,
        problem: impl fmt::Display,
        origin: String,
    ) -> Self {
        Self::release_refused(authenticity_error(package, problem).note(origin))
    }

    /// The package cannot be hashed, or OpenTofu would not install it. `origin` says where it came
    /// from.
    pub(crate) fn invalid_package(
        package: &PackageId,
        error: &PackageError,
        origin: String,
    ) -> Self {
        Self::release_refused(
            Diagnostic::error(Code::InvalidPackage, format!("{package}: {error}")).note(origin),
        )
    }

    /// The release must not be installed.
    pub(crate) fn release_refused(error: Diagnostic) -> Self {
        Self::ReleaseRefused(error.into())
    }

    /// Whether another source may have a package for the platform.
    pub(crate) fn is_platform_missing(&self) -> bool {
        matches!(self, Self::PlatformMissing(_))
    }
}

/// The error about a package that a source does not have for its platform.
fn platform_error(package: &PackageId) -> Diagnostic {
    let PackageId {
        address,
        version,
        platform,
    } = package;
    let message = format!("{address} {version} has no package for {platform}");
    Diagnostic::error(Code::PlatformNotAvailable, message)
        .help("remove the platform, or lock a different version")
}

/// The error about a package that is not what its source describes.
fn authenticity_error(package: &PackageId, problem: impl fmt::Display) -> Diagnostic {
    Diagnostic::error(Code::PackageNotAuthentic, format!("{package}: {problem}"))
        .help("ask the provider's publisher; the package may have been tampered with")
}

/// The error with the next step.
impl From<SourceError> for Diagnostics {
    fn from(error: SourceError) -> Self {
        let (address, searched) = match error {
            SourceError::ProviderNotFound {
                address, searched, ..
            } => (address, searched),
            SourceError::PlatformMissing(errors)
            | SourceError::ReleaseRefused(errors)
            | SourceError::Other(errors) => {
                return errors;
            }
        };
        // With a single source its own message is the most exact one.
        if let [only] = searched.as_slice() {
            return only.clone().into();
        }
        if searched.is_empty() {
            let message =
                format!("no installation method of the CLI configuration covers {address}");
            return Diagnostic::error(Code::ProviderNotFound, message)
                .help("add it to the include list of a method in the provider_installation block")
                .into();
        }
        let message = format!("no installation method of the CLI configuration has {address}");
        let mut error = Diagnostic::error(Code::ProviderNotFound, message)
            .help("correct its source in required_providers, or put it into one of the mirrors");
        for place in searched {
            error = error.note(place.message);
        }
        error.into()
    }
}

impl std::error::Error for SourceError {}
