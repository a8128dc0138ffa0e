//! Where packages come from: registries and mirrors (spec sections 7 and 9).
//!
//! A source answers two questions, which versions there are and what the package of one version and platform is, and
//! asks its host for the answer to each at most once per run.

mod download;
mod download_queue;
mod filesystem_mirror;
pub mod from_config;
mod multi;
mod network_mirror;
pub mod oci;
mod offline;
mod publication_dates;
mod registry;
mod release_urls;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

pub use download::Downloader;
pub use filesystem_mirror::FilesystemMirror;
pub use multi::{Method, MultiSource};
pub use network_mirror::NetworkMirror;
pub use oci::OciMirror;
pub use offline::Offline;
pub use publication_dates::{DateServices, PublicationDates};
pub(crate) use registry::protocol::{speaks_supported_protocol, unsupported_protocol};
pub use registry::{Discovery, DiscoveryCache, Registry, RegistryPolicy};
pub use release_urls::ReleaseUrls;

use jiff::Timestamp;

use crate::address::ProviderAddress;
use crate::authentication::Authentication;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use crate::hash::Hash;
use crate::once_map::OnceMap;
use crate::platform::Platform;
use crate::version::Version;

/// What to do about a package that is not what its publisher signed.
const NOT_AUTHENTIC_HELP: &str = "ask the provider's publisher; a package that was tampered with looks like this";

/// A place that packages come from, with what it has answered so far.
pub struct Source {
    kind: SourceKind,
    versions: OnceMap<ProviderAddress, std::result::Result<Arc<AvailableVersions>, SourceError>>,
    packages: OnceMap<PackageId, Result<Arc<Fetched>>>,
}

/// The kinds of sources.
pub enum SourceKind {
    /// The registry that each provider's address names.
    Registry(Registry),
    /// A directory of packages.
    FilesystemMirror(FilesystemMirror),
    /// A server that speaks the provider mirror protocol.
    NetworkMirror(NetworkMirror),
    /// What is known on this machine.
    Offline(Offline),
    /// Repositories of OCI registries.
    OciMirror(OciMirror),
    /// The installation methods of the CLI configuration.
    Multi(MultiSource),
}

/// The versions of a provider.
#[derive(Clone, Debug, Default)]
pub struct AvailableVersions {
    /// What is known of each version.
    pub versions: BTreeMap<Version, AvailableVersion>,
    /// Messages for the user that the source sent along.
    pub warnings: Vec<String>,
}

/// What a source says of a version before its package is fetched.
#[derive(Clone, Debug, Default)]
pub struct AvailableVersion {
    /// Plugin protocols such as `5.0`; empty when the source does not say.
    pub protocols: Vec<String>,
    /// Platforms; empty when the source does not say.
    pub platforms: BTreeSet<Platform>,
}

/// One package that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageId {
    /// The provider.
    pub address: ProviderAddress,
    /// Its version.
    pub version: Version,
    /// The platform.
    pub platform: Platform,
}

/// A package that was fetched, hashed and authenticated by the rules of spec section 8.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The `h1:` of the package.
    pub h1: Hash,
    /// Everything that may be recorded: the package's own hashes, and those that its source vouches for.
    pub recordable: BTreeSet<Hash>,
    /// Hashes of packages that are known to be right, whether or not they may be recorded. A recorded hash among them
    /// shows that the release is still the one that was locked.
    pub confirmed: BTreeSet<Hash>,
    /// How the package was authenticated.
    pub authentication: Authentication,
    /// What the user should know about it.
    pub warnings: Vec<Diagnostic>,
    /// Bytes that were downloaded.
    pub downloaded: u64,
    /// Whether the `h1:` is the registry's word, and nobody looked at the package.
    pub reported: bool,
}

/// What a registry publishes of a version, as far as it says so without a package being fetched.
#[derive(Clone, Debug)]
pub struct Published {
    /// The `zh:` of every line of the verified SHA256SUMS.
    pub zh: BTreeSet<Hash>,
    /// The `h1:` that the registry reports, by platform; only those whose `zh:` is in SHA256SUMS.
    pub h1: BTreeMap<Platform, BTreeSet<Hash>>,
    /// How SHA256SUMS was authenticated.
    pub authentication: Authentication,
    /// What has expired.
    pub warnings: Vec<Diagnostic>,
}

/// Why a source cannot list a provider's versions.
#[derive(Clone, Debug)]
pub enum SourceError {
    /// The source was asked and has no such provider; another source may have it.
    NoSuchProvider(Diagnostics),
    /// The source could not be asked, or gave no usable answer.
    Failed(Diagnostics),
}

/// What happens to a package while it is fetched.
#[derive(Clone, Copy, Debug)]
pub enum Progress {
    /// The download starts; its size in bytes, where the server says.
    Started(Option<u64>),
    /// More bytes have arrived.
    Received(u64),
    /// The package is complete, or has failed.
    Finished,
}

/// Takes note of progress; called from several threads.
pub type ProgressSink<'a> = &'a (dyn Fn(&PackageId, Progress) + Sync);

impl Source {
    /// A source that has not been asked anything yet.
    pub fn new(kind: SourceKind) -> Self {
        Self { kind, versions: OnceMap::default(), packages: OnceMap::default() }
    }

    /// The versions of a provider.
    pub fn versions(&self, address: &ProviderAddress) -> std::result::Result<Arc<AvailableVersions>, SourceError> {
        self.versions.get_or_compute(address.clone(), || {
            let available = match &self.kind {
                SourceKind::Registry(registry) => registry.versions(address),
                SourceKind::FilesystemMirror(mirror) => mirror.versions(address),
                SourceKind::NetworkMirror(mirror) => mirror.versions(address),
                SourceKind::Offline(offline) => offline.versions(address),
                SourceKind::OciMirror(mirror) => mirror.versions(address),
                SourceKind::Multi(several) => several.versions(address),
            };
            available.map(Arc::new)
        })
    }

    /// The platforms that there are packages of a version for.
    pub fn platforms(&self, address: &ProviderAddress, version: &Version) -> Result<BTreeSet<Platform>> {
        match &self.kind {
            SourceKind::NetworkMirror(mirror) => return mirror.platforms(address, version),
            SourceKind::OciMirror(mirror) => return mirror.platforms(address, version),
            SourceKind::Multi(several) => return several.platforms(address, version),
            SourceKind::Offline(offline) => return offline.platforms(address, version),
            SourceKind::Registry(_) | SourceKind::FilesystemMirror(_) => {}
        }
        let available = self.versions(address).map_err(SourceError::into_diagnostic)?;
        let platforms = available.versions.get(version).map(|offer| offer.platforms.clone()).unwrap_or_default();
        if platforms.is_empty() {
            let message = format!("{} does not list the platforms of {address} {version}", address.hostname);
            let error = Diagnostic::error(Code::PlatformNotAvailable, message);
            return Err(error.help("name the platforms, for example: --platform linux_amd64").into());
        }
        Ok(platforms)
    }

    /// Fetches what is signed about a version, where an earlier run has seen it. What goes wrong comes up in
    /// [`Source::package`].
    pub fn prepare_release(&self, address: &ProviderAddress, version: &Version) {
        if let SourceKind::Registry(registry) = &self.kind {
            registry.prepare_release(address, version);
        }
    }

    /// Fetches what the source says of a package, so that [`Source::package`] need not wait for it. What goes wrong comes up
    /// there.
    pub fn prepare(&self, wanted: &PackageId) {
        match &self.kind {
            SourceKind::Registry(registry) => registry.prepare(wanted),
            SourceKind::NetworkMirror(mirror) => mirror.prepare(wanted),
            // Which of several is asked depends on the versions that each has.
            SourceKind::FilesystemMirror(_)
            | SourceKind::OciMirror(_)
            | SourceKind::Multi(_)
            | SourceKind::Offline(_) => {}
        }
    }

    /// What is published of a version, seen from the package of one platform; none where a mirror, which holds what
    /// somebody copied, supplies it.
    pub fn published(&self, wanted: &PackageId) -> Result<Option<Published>> {
        self.registry_of(&wanted.address, &wanted.version)?.map(|registry| registry.published(wanted)).transpose()
    }

    /// The registry that supplies a version, if it is one.
    fn registry_of<'a>(&'a self, address: &'a ProviderAddress, version: &'a Version) -> Result<Option<&'a Registry>> {
        match &self.kind {
            SourceKind::Registry(registry) => Ok(Some(registry)),
            SourceKind::Multi(several) => match several.source_of(address, version)? {
                Some(source) => source.registry_of(address, version),
                None => Ok(None),
            },
            SourceKind::FilesystemMirror(_)
            | SourceKind::NetworkMirror(_)
            | SourceKind::OciMirror(_)
            | SourceKind::Offline(_) => Ok(None),
        }
    }

    /// When the SHA256SUMS of a version changed last, if its server says so; only registries have one.
    pub(crate) fn sums_modified(&self, address: &ProviderAddress, version: &Version) -> Result<Option<Timestamp>> {
        let Some(registry) = self.registry_of(address, version)? else { return Ok(None) };
        let platform = self.platforms(address, version)?.into_iter().next().unwrap_or_else(Platform::current);
        registry.sums_modified(&PackageId { address: address.clone(), version: version.clone(), platform })
    }

    /// The directory that a provider under development is taken from; such a provider is not locked.
    pub fn dev_override(&self, address: &ProviderAddress) -> Option<&Path> {
        match &self.kind {
            SourceKind::Multi(several) => several.dev_override(address),
            _ => None,
        }
    }

    /// Fetches and authenticates one package.
    pub fn package(&self, wanted: &PackageId, progress: ProgressSink<'_>) -> Result<Arc<Fetched>> {
        self.packages.get_or_compute(wanted.clone(), || {
            let fetched = match &self.kind {
                SourceKind::Registry(registry) => registry.package(wanted, progress),
                SourceKind::FilesystemMirror(mirror) => mirror.package(wanted),
                SourceKind::NetworkMirror(mirror) => mirror.package(wanted, progress),
                SourceKind::Offline(offline) => offline.package(wanted),
                SourceKind::OciMirror(mirror) => mirror.package(wanted, progress),
                SourceKind::Multi(several) => return several.package(wanted, progress),
            };
            progress(wanted, Progress::Finished);
            fetched.map(Arc::new)
        })
    }
}

impl SourceError {
    /// What to tell the user.
    pub fn into_diagnostic(self) -> Diagnostics {
        match self {
            Self::NoSuchProvider(diagnostic) | Self::Failed(diagnostic) => diagnostic,
        }
    }
}

impl PackageId {
    /// The error for a version that has no package for the platform.
    pub(crate) fn not_available(&self, available: impl IntoIterator<Item = impl ToString>) -> Diagnostic {
        let platforms: Vec<_> = available.into_iter().map(|platform| platform.to_string()).collect();
        let error = Diagnostic::error(
            Code::PlatformNotAvailable,
            format!("{} {} has no package for {}", self.address, self.version, self.platform),
        );
        let error = if platforms.is_empty() {
            error
        } else {
            error.note(format!("there are packages for {}", platforms.join(", ")))
        };
        error.help("leave the platform out, or lock another version")
    }

    /// An error about this package.
    fn error(&self, code: Code, problem: impl std::fmt::Display) -> Diagnostic {
        Diagnostic::error(code, format!("{self}: {problem}"))
    }
}

impl std::fmt::Display for PackageId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} for {}", self.address, self.version, self.platform)
    }
}
