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

    /// The source has the version, but not for this platform. `available` is empty if its platforms
    /// are not known, `asked` is the URL of the request for the package.
    pub(crate) fn platform_not_available(
        package: &PackageId,
        available: impl IntoIterator<Item = Platform>,
        asked: Option<&str>,
    ) -> Self {
        let PackageId {
            address,
            version,
            platform,
        } = package;
        let message = format!("{address} {version} has no package for {platform}");
        let mut error = Diagnostic::error(Code::PlatformNotAvailable, message)
            .help("remove the platform, or lock a different version");
        let available: BTreeSet<_> = available.into_iter().collect();
        if !available.is_empty() {
            let names: Vec<_> = available.iter().map(ToString::to_string).collect();
            error = error.note(format!("there are packages for {}", names.join(", ")));
        }
        if let Some(asked) = asked {
            error = error.note(format!("asked for {asked}"));
        }
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

    /// The run is offline, and the cache has no package of the version, or none for the platform.
    pub(crate) fn not_known_offline(
        address: &ProviderAddress,
        version: &Version,
        platform: Option<&Platform>,
    ) -> Self {
        let message = match platform {
            Some(platform) => format!(
                "{address} {version} for {platform}: the package is not in the cache of hashes"
            ),
            None => format!("no package of {address} {version} is in the cache of hashes"),
        };
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
    pub(crate) fn request(subject: impl fmt::Display, error: RequestError) -> Self {
        error.into_diagnostic(&subject.to_string()).into()
    }

    /// The source sent an unusable response about `subject`.
    pub(crate) fn invalid_response(subject: impl fmt::Display, problem: impl fmt::Display) -> Self {
        Diagnostic::error(Code::RequestFailed, format!("{subject}: {problem}")).into()
    }

    /// The package differs from its source's description. `origin` says where it came from.
    pub(crate) fn not_authentic(
        package: &PackageId,
        problem: impl fmt::Display,
        origin: Option<String>,
    ) -> Self {
        let error = Diagnostic::error(Code::PackageNotAuthentic, format!("{package}: {problem}"));
        let error = origin.into_iter().fold(error, Diagnostic::note);
        Self::release_refused(
            error.help("ask the provider's publisher; the package may have been tampered with"),
        )
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
