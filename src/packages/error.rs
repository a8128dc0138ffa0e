//! Why a source has no answer, for code that decides what to do next, and as the user is told.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use url::Url;

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::net::RequestError;
use crate::packages::archive::{PackageError, PackageId};
use crate::packages::authentication::SignatureError;
use crate::provider::{Platform, ProviderAddress, Version};
use crate::system::SafeUrl;

/// What to do about a package that is not what its publisher signed.
const NOT_AUTHENTIC_HELP: &str = "ask the provider's publisher; this is what tampering looks like";

/// What a source answers. The error is boxed, since it says much of what it is about.
pub type Result<T> = std::result::Result<T, Box<SourceError>>;

/// Why a source cannot answer.
#[derive(Clone, Debug)]
pub enum SourceError {
    /// The source was asked and has no such provider; another source may have it.
    ProviderNotFound {
        /// The provider.
        address: ProviderAddress,
        /// Every place that was asked.
        searched: Vec<SearchedPlace>,
    },
    /// The source has the version, but not for this platform.
    PlatformNotAvailable {
        /// The package that is not there.
        package: PackageId,
        /// The platforms that there are packages for; empty when they are not known.
        available: BTreeSet<Platform>,
        /// The URL that was asked for it, if one was.
        asked: Option<String>,
    },
    /// The source does not say which platforms there are packages for.
    PlatformsNotListed {
        /// The provider.
        address: ProviderAddress,
        /// Its version.
        version: Version,
    },
    /// No host may be asked, and the package was never seen here.
    NotKnownOffline {
        /// The provider.
        address: ProviderAddress,
        /// Its version.
        version: Version,
        /// The platform; none when no package of the version was seen.
        platform: Option<Platform>,
    },
    /// The version speaks none of the plugin protocols that OpenTofu and Terraform speak.
    UnsupportedProtocol {
        /// The provider.
        address: ProviderAddress,
        /// Its version.
        version: Version,
        /// The protocols that it speaks, as in `4.0, 4.1`.
        protocols: Box<str>,
    },
    /// A request failed.
    Request {
        /// What was asked for, as in "hashicorp/null 3.2.4".
        subject: String,
        /// Why the request failed.
        error: RequestError,
    },
    /// An OCI registry wants another login.
    Unauthorized {
        /// What was asked for.
        subject: String,
        /// What the registry did.
        problem: String,
        /// Which login was used, or where one was searched for.
        notes: Vec<String>,
        /// What to do next.
        help: String,
    },
    /// The source answered something that cannot be used.
    InvalidResponse {
        /// What was asked about.
        subject: String,
        /// What is wrong with the answer.
        problem: String,
    },
    /// The package did not arrive, because what is signed about it was refused first.
    Cancelled(PackageId),
    /// The signature over SHA256SUMS is not accepted.
    Signature {
        /// The provider.
        address: ProviderAddress,
        /// Its version.
        version: Version,
        /// Why it is not accepted.
        error: SignatureError,
        /// Where SHA256SUMS is.
        sums: Url,
        /// Where its signature is.
        signature: Url,
    },
    /// The package is not the one that its source describes.
    NotAuthentic {
        /// The package.
        package: PackageId,
        /// What differs.
        problem: String,
        /// Where the package came from, if it came.
        origin: Option<String>,
    },
    /// The package cannot be hashed, or is not one that OpenTofu would install.
    InvalidPackage {
        /// The package.
        package: PackageId,
        /// Why it was refused.
        error: Arc<PackageError>,
        /// Where it came from, as in "downloaded from URL".
        origin: String,
    },
    /// A file of a mirror could not be read.
    Io {
        /// What was tried, as in "open the package".
        attempt: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        error: Arc<io::Error>,
    },
    /// The host could not be found, or offers no such service.
    Unreachable(Diagnostics),
    /// The source is not configured so that it can be asked about this provider.
    Configuration(Diagnostics),
}

/// A place that does not have a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SearchedPlace {
    /// The registry that the provider's address names.
    Registry {
        /// The URL that was asked.
        asked: String,
    },
    /// A network mirror.
    NetworkMirror {
        /// Its base URL.
        base: String,
        /// The URL that was asked.
        asked: String,
    },
    /// A filesystem mirror.
    FilesystemMirror {
        /// Its directory.
        directory: PathBuf,
        /// The directory that holds the provider's packages in a mirror.
        expected: PathBuf,
    },
    /// The directory of a filesystem mirror, which does not exist.
    MissingDirectory(PathBuf),
    /// A repository of an OCI registry.
    OciRepository {
        /// Its name, with the registry's.
        repository: String,
        /// The template that gave the name.
        template: String,
    },
    /// The lock files and the cache on this machine.
    ThisMachine,
}

impl SourceError {
    /// An answer that cannot be used.
    pub(crate) fn invalid_response(subject: impl fmt::Display, problem: impl fmt::Display) -> Box<Self> {
        Box::new(Self::InvalidResponse { subject: subject.to_string(), problem: problem.to_string() })
    }

    /// A package that is not the one that its source describes.
    pub(crate) fn not_authentic(package: &PackageId, problem: impl fmt::Display) -> Box<Self> {
        Box::new(Self::NotAuthentic { package: package.clone(), problem: problem.to_string(), origin: None })
    }

    /// A request that failed.
    pub(crate) fn request(subject: impl fmt::Display, error: RequestError) -> Box<Self> {
        Box::new(Self::Request { subject: subject.to_string(), error })
    }

    /// A file that could not be read.
    pub(crate) fn io(attempt: &'static str, path: &Path, error: io::Error) -> Box<Self> {
        Box::new(Self::Io { attempt, path: path.to_owned(), error: Arc::new(error) })
    }

    /// Whether the source has no package for the platform, or does not know for which it has; another source may.
    pub(crate) fn is_platform_missing(&self) -> bool {
        matches!(self, Self::PlatformNotAvailable { .. } | Self::PlatformsNotListed { .. })
    }

    /// Whether the source answered, and the release is not one to be installed. Any other error says nothing of the
    /// release.
    pub(crate) fn condemns_release(&self) -> bool {
        matches!(self, Self::Signature { .. } | Self::NotAuthentic { .. } | Self::InvalidPackage { .. })
    }
}

/// The error with what to do next.
impl From<SourceError> for Diagnostics {
    fn from(error: SourceError) -> Self {
        use SourceError as E;
        let diagnostic = match error {
            E::ProviderNotFound { address, searched } => provider_not_found(&address, &searched),
            E::PlatformNotAvailable { package, available, asked } => {
                let error = platform_not_available(&package, &available);
                asked.iter().fold(error, |error, asked| error.note(format!("asked for {asked}")))
            }
            E::PlatformsNotListed { address, version } => {
                let message = format!("{} does not list the platforms of {address} {version}", address.hostname);
                Diagnostic::error(Code::PlatformNotAvailable, message)
                    .help("name the platforms, for example: --platform linux_amd64")
            }
            E::NotKnownOffline { address, version, platform } => {
                let message = match platform {
                    Some(platform) => {
                        format!("{address} {version} for {platform}: the package is not in the cache of hashes")
                    }
                    None => format!("no package of {address} {version} is in the cache of hashes"),
                };
                Diagnostic::error(Code::PlatformNotKnown, message).help(OFFLINE_HELP)
            }
            E::UnsupportedProtocol { address, version, protocols } => {
                let message =
                    format!("{address} {version} uses plugin protocol {protocols}; only 5 and 6 are supported");
                Diagnostic::error(Code::UnsupportedProtocol, message)
            }
            E::Request { subject, error } => return error.into_diagnostic(&subject),
            E::Unauthorized { subject, problem, notes, help } => {
                let error =
                    Diagnostic::error(Code::Unauthorized, format!("cannot get {subject}: {problem}")).help(help);
                notes.into_iter().fold(error, Diagnostic::note)
            }
            E::InvalidResponse { subject, problem } => {
                Diagnostic::error(Code::RequestFailed, format!("{subject}: {problem}"))
            }
            E::Cancelled(package) => {
                Diagnostic::error(Code::RequestFailed, format!("{package}: the download was cancelled"))
            }
            E::Signature { address, version, error, sums, signature } => error
                .diagnostic(&format!("{address} {version}"))
                .note(format!("checksums: {}", SafeUrl::from(sums)))
                .note(format!("signature: {}", SafeUrl::from(signature))),
            E::NotAuthentic { package, problem, origin } => {
                let error = Diagnostic::error(Code::PackageNotAuthentic, format!("{package}: {problem}"));
                origin.into_iter().fold(error, Diagnostic::note).help(NOT_AUTHENTIC_HELP)
            }
            E::InvalidPackage { package, error, origin } => {
                Diagnostic::error(Code::InvalidPackage, format!("{package}: {error}")).note(origin)
            }
            E::Io { attempt, path, error } => Diagnostic::io(attempt, &path, &error),
            E::Unreachable(diagnostics) | E::Configuration(diagnostics) => return diagnostics,
        };
        diagnostic.into()
    }
}

const OFFLINE_HELP: &str = "run the command once without --offline and with the same cache";

fn provider_not_found(address: &ProviderAddress, searched: &[SearchedPlace]) -> Diagnostic {
    let error = |message| Diagnostic::error(Code::ProviderNotFound, message);
    match searched {
        [] => error(format!("no installation method of the CLI configuration covers {address}"))
            .help("add it to the include list of a method in the provider_installation block"),
        [place] => place.with_advice(error(place.has_not(address))),
        places => {
            let error = error(format!("no installation method of the CLI configuration has {address}"))
                .help("correct its source in required_providers, or put it into one of the mirrors");
            places.iter().map(|place| place.has_not(address)).fold(error, Diagnostic::note)
        }
    }
}

impl SearchedPlace {
    /// One sentence: this place does not have the provider.
    fn has_not(&self, address: &ProviderAddress) -> String {
        match self {
            Self::Registry { .. } => format!("{} has no provider {address}", address.hostname),
            Self::NetworkMirror { base, .. } => format!("the mirror {base} has no package of {address}"),
            Self::FilesystemMirror { directory, .. } => {
                format!("the mirror {} has no package of {address}", directory.display())
            }
            Self::MissingDirectory(directory) => {
                let directory = directory.display();
                format!("the mirror directory {directory} does not exist, so it has no package of {address}")
            }
            Self::OciRepository { repository, .. } => {
                format!("the OCI registry has no repository {repository} for {address}")
            }
            Self::ThisMachine => format!("no version of {address} is known offline"),
        }
    }

    /// Adds where exactly it was searched, and what to do next.
    fn with_advice(&self, error: Diagnostic) -> Diagnostic {
        match self {
            Self::Registry { asked } => {
                error.note(format!("asked for {asked}")).help("correct its source in required_providers")
            }
            Self::NetworkMirror { asked, .. } => error.note(format!("asked for {asked}")),
            Self::FilesystemMirror { expected, .. } => error.help(format!("expected below {}", expected.display())),
            Self::MissingDirectory(_) => error,
            Self::OciRepository { template, .. } => error.note(format!("by the template {template}")),
            Self::ThisMachine => error.help(OFFLINE_HELP),
        }
    }
}

fn platform_not_available(package: &PackageId, available: &BTreeSet<Platform>) -> Diagnostic {
    let PackageId { address, version, platform } = package;
    let message = format!("{address} {version} has no package for {platform}");
    let error =
        Diagnostic::error(Code::PlatformNotAvailable, message).help("remove the platform, or lock another version");
    if available.is_empty() {
        return error;
    }
    let available: Vec<_> = available.iter().map(ToString::to_string).collect();
    error.note(format!("there are packages for {}", available.join(", ")))
}

impl From<Box<SourceError>> for Diagnostics {
    fn from(error: Box<SourceError>) -> Self {
        (*error).into()
    }
}

/// The messages alone.
impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Diagnostics::from(self.clone()).fmt(f)
    }
}

impl std::error::Error for SourceError {}
