//! Fetches module packages, each once a run, and keeps them in the cache.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sha2::Sha256;
use url::Url;

use super::archive::{self, Format};
use super::cache::{PackageCache, Stored};
use super::checksum::hexadecimal;
use super::contents::{Extent, MOST_BYTES, Problem};
use super::fetch_error::FetchError;
use super::git::{Git, GitAddress};
use super::http::{self, Found, HttpAddress};
use super::package::{Package, PackageOrigin, Wildcards};
use super::registry::PackageLocation;
use super::source::{RegistryModule, RemoteSource};
use crate::cli_config::Netrc;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use crate::net::{Client, Credentials};
use crate::packages::oci::{ModulePackage, OciRegistries};
use crate::provider::{Dialect, Hostname, Version};
use crate::system::{Environment, OnceMap, TemporaryDirectory};

/// How long a package is kept if its address may lead to another one tomorrow.
const LIFETIME: Duration = Duration::from_hours(1);
/// How long git may take for a package, unless `PROVLOCK_GIT_TIMEOUT` sets another limit.
const GIT_TIME_LIMIT: Duration = Duration::from_mins(5);
/// How often a server may refer to another address.
const MOST_HOPS: usize = 10;

/// Fetches packages. The threads of a run share it.
pub(super) struct PackageFetcher {
    client: Client,
    environment: Environment,
    dialect: Dialect,
    pub(super) cache: PackageCache,
    /// The directory of a cache that lasts only as long as the fetcher.
    _temporary: Option<TemporaryDirectory>,
    netrc: OnceLock<Netrc>,
    oci_registries: Option<Arc<OciRegistries>>,
    packages: OnceMap<String, Result<Arc<Package>>>,
    registry_packages: OnceMap<(RegistryModule, Version), Result<Arc<Package>>>,
}

/// What was fetched, and where from.
type Fetched = std::result::Result<(Stored, PackageOrigin), FetchError>;

/// A temporary directory for assembling a package.
struct Workshop<'a> {
    cache: &'a PackageCache,
    directory: TemporaryDirectory,
}

impl PackageFetcher {
    /// Packages are kept below `cache_directory`; without it, as long as the fetcher lives. `client` sends the token of
    /// a registry only to that registry.
    pub(super) fn new(
        client: Client,
        environment: &Environment,
        dialect: Dialect,
        cache_directory: Option<&Path>,
        oci_registries: Option<Arc<OciRegistries>>,
    ) -> Result<Self> {
        let no_place = |error| {
            Diagnostic::error(Code::Io, format!("cannot create a temporary directory for module packages: {error}"))
        };
        let (cache, temporary) = if let Some(directory) = cache_directory {
            (PackageCache::open(directory), None)
        } else {
            let directory = TemporaryDirectory::new().map_err(no_place)?;
            (PackageCache::open(directory.path()), Some(directory))
        };
        Ok(Self {
            client,
            environment: environment.clone(),
            dialect,
            cache,
            _temporary: temporary,
            netrc: OnceLock::new(),
            oci_registries,
            packages: OnceMap::default(),
            registry_packages: OnceMap::default(),
        })
    }

    /// The package of an address, whatever its directory.
    ///
    /// # Errors
    /// It cannot be fetched or read.
    pub(super) fn fetch(&self, source: &RemoteSource) -> Result<Arc<Package>> {
        let client = self.client.clone();
        self.fetch_from(source, &if source.is_unencrypted() { client.with_plain_http() } else { client })
    }

    fn fetch_from(&self, source: &RemoteSource, client: &Client) -> Result<Arc<Package>> {
        self.packages.get_or_compute(&source.package, || {
            let (stored, origin) = self.obtain(source, client, 0)?;
            Ok(Arc::new(Package { stored, origin, address: source.without_directory() }))
        })
    }

    /// The package of an address if the cache holds it, whatever its age. Makes no requests.
    pub(super) fn cached(&self, source: &RemoteSource) -> Option<Package> {
        let stored = self.cache.get(&source.package, None)?;
        Some(Package { stored, origin: PackageOrigin::Cache, address: source.without_directory() })
    }

    /// The package of a version of a registry module. `locate` finds its location if the cache does not hold it.
    ///
    /// # Errors
    /// Those of `locate`, and of [`PackageFetcher::fetch`].
    pub(super) fn fetch_version(
        &self,
        module: &RegistryModule,
        version: &Version,
        locate: impl FnOnce() -> Result<PackageLocation>,
    ) -> Result<Arc<Package>> {
        self.registry_packages.get_or_compute(&(module.clone(), version.clone()), || {
            if let Some(package) = self.cached_version(module, version) {
                return Ok(Arc::new(package));
            }
            let address = format!("{module} {version}");
            let key = version_key(module, version);
            let (stored, origin) = match locate()? {
                PackageLocation::Archive { url, credentials_of } => {
                    let stored = self.archive(&url, credentials_of.as_ref(), &key);
                    (stored.map_err(|error| error.into_diagnostics(&address))?, PackageOrigin::Network)
                }
                PackageLocation::Source(source) => {
                    let package = self.fetch_from(&source, &self.client)?;
                    let directory = package.directory(&source.directory, Wildcards::Literal)?;
                    let stored = package.stored_at(&directory);
                    // A cache that cannot be written must not stop the run.
                    let _ = self.cache.put_again(&key, &stored);
                    (stored, package.origin)
                }
            };
            Ok(Arc::new(Package { stored, origin, address }))
        })
    }

    /// The package of a version of a registry module if the cache holds it. Makes no requests.
    pub(super) fn cached_version(&self, module: &RegistryModule, version: &Version) -> Option<Package> {
        let stored = self.cache.get(&version_key(module, version), None)?;
        Some(Package { stored, origin: PackageOrigin::Cache, address: format!("{module} {version}") })
    }

    /// Gets a package after `hops` referrals from server to server.
    fn obtain(&self, source: &RemoteSource, client: &Client, hops: usize) -> Result<(Stored, PackageOrigin)> {
        let address = source.without_directory();
        self.environment.secrets.learn_url(source.getter().1);
        let obtained = match source.getter() {
            // git takes the name of a host for a directory, and its errors quote files.
            _ if source.is_on_this_machine() && source.path_on_this_machine().is_none() => {
                Err(FetchError::Address("it does not name a directory of this machine".to_owned()))
            }
            ("git", url) => self.git(source, url),
            ("http" | "https", url) => self.http(source, url, client, hops),
            ("file", url) => self.file(url),
            ("oci", url) if self.dialect == Dialect::Tofu => self.oci(source, url, &address),
            (getter, _) => Err(FetchError::Getter(getter.to_owned())),
        };
        obtained.map_err(|error| error.into_diagnostics(&address))
    }

    fn git(&self, source: &RemoteSource, url: &str) -> Fetched {
        let address = GitAddress::parse(url)?;
        if let Some(stored) = self.remembered(source, address.is_immutable()) {
            return Ok((stored, PackageOrigin::Cache));
        }
        let seconds = self.environment.variable("PROVLOCK_GIT_TIMEOUT").and_then(|value| value.trim().parse().ok());
        let git = Git {
            program: Path::new("git"),
            time_limit: seconds.filter(|seconds| *seconds > 0).map_or(GIT_TIME_LIMIT, Duration::from_secs),
            ssh_command: self.environment.os_variable("GIT_SSH_COMMAND"),
        };
        let workshop = self.workshop()?;
        let (repository, package) = (workshop.new_directory("repository")?, workshop.new_directory("package")?);
        let commit = git.fetch(&address, &repository, &package, Extent::Configuration)?;
        let identity = format!("{} {}", address.repository(), commit.as_deref().unwrap_or("empty"));
        Ok((workshop.cache.put(&source.package, &identity, &package)?, PackageOrigin::Network))
    }

    fn http(&self, source: &RemoteSource, url: &str, client: &Client, hops: usize) -> Fetched {
        let netrc = self.netrc.get_or_init(|| Netrc::read(&self.environment));
        let address = HttpAddress::parse(url, self.dialect, netrc)?;
        if let Some(stored) = self.remembered(source, address.is_immutable()) {
            return Ok((stored, PackageOrigin::Cache));
        }
        let workshop = self.workshop()?;
        let next = match address.fetch(client, netrc, workshop.directory.path())? {
            Found::Archive(file, format) => {
                return Ok((workshop.unpack(file, Some(format), &source.package)?, PackageOrigin::Network));
            }
            Found::Elsewhere(next) => next,
        };
        if hops == MOST_HOPS {
            return Err(FetchError::Package(format!("more than {MOST_HOPS} servers refer to another server")));
        }
        // What is encrypted leads to nothing that is not.
        let client = if source.is_unencrypted() { client } else { &self.client };
        let (stored, origin) = self.obtain(&next, client, hops + 1)?;
        let package = Package { stored, origin, address: next.without_directory() };
        let directory = package.directory(&next.directory, Wildcards::Expanded)?;
        let stored = package.stored_at(&directory).below_directory();
        workshop.cache.put_again(&source.package, &stored)?;
        Ok((stored, origin))
    }

    fn oci(&self, source: &RemoteSource, url: &str, address: &str) -> Fetched {
        let url = Url::parse(url).map_err(|error| FetchError::Address(format!("its URL cannot be read: {error}")))?;
        let package = ModulePackage::parse(&url).map_err(FetchError::Address)?;
        if let Some(stored) = self.remembered(source, package.is_immutable()) {
            return Ok((stored, PackageOrigin::Cache));
        }
        let not_asked = || FetchError::Address("packages in OCI registries are not fetched".to_owned());
        let registries = self.oci_registries.as_ref().ok_or_else(not_asked)?;
        let workshop = self.workshop()?;
        let mut file = tempfile::tempfile_in(workshop.directory.path())?;
        let subject = format!("the module package {address}");
        registries.download_module(&package, &subject, MOST_BYTES, &mut file).map_err(Diagnostics::from)?;
        Ok((workshop.unpack(file, Some(Format::Zip), &source.package)?, PackageOrigin::Network))
    }

    /// A directory, which is read where it is, or an archive.
    fn file(&self, url: &str) -> Fetched {
        let invalid = |why: &str| FetchError::Address(why.to_owned());
        let path = Url::parse(url).ok().and_then(|url| url.to_file_path().ok());
        let path = path.ok_or_else(|| invalid("its URL is not that of a file"))?;
        if path.is_dir() {
            return Ok((Stored::whole(path), PackageOrigin::Directory));
        }
        let format = path.to_str().and_then(|path| Format::of_path(path, self.dialect));
        let format = format.ok_or_else(|| invalid("it is neither a directory nor an archive"))?;
        let file = File::open(&path).map_err(|error| Diagnostics::from(Diagnostic::io("read", &path, &error)))?;
        Ok((self.workshop()?.unpack(file, Some(format), url)?, PackageOrigin::Archive))
    }

    /// An archive that is fetched as it is, and unpacked whatever its name.
    fn archive(
        &self,
        url: &Url,
        credentials_of: Option<&Hostname>,
        key: &str,
    ) -> std::result::Result<Stored, FetchError> {
        let credentials = credentials_of.map_or(Credentials::None, Credentials::TokenOf);
        let workshop = self.workshop()?;
        let file = http::download(&self.client, url, credentials, workshop.directory.path())?;
        Ok(workshop.unpack(file, None, key)?)
    }

    /// A package in the cache that has not changed, or not within its lifetime.
    fn remembered(&self, source: &RemoteSource, is_immutable: bool) -> Option<Stored> {
        self.cache.get(&source.package, (!is_immutable).then_some(LIFETIME))
    }

    fn workshop(&self) -> io::Result<Workshop<'_>> {
        Ok(Workshop { cache: &self.cache, directory: self.cache.workshop()? })
    }
}

impl Workshop<'_> {
    fn new_directory(&self, name: &str) -> io::Result<std::path::PathBuf> {
        let path = self.directory.path().join(name);
        fs::create_dir(&path)?;
        Ok(path)
    }

    /// Unpacks an archive and keeps the package under `key`; without a format, its first bytes decide.
    fn unpack(&self, mut archive: File, format: Option<Format>, key: &str) -> std::result::Result<Stored, Problem> {
        let format = match format {
            Some(format) => Some(format),
            None => Format::of_content(&beginning(&mut archive)?),
        };
        let format = format.ok_or_else(|| Problem::Damaged("it is not an archive".to_owned()))?;
        let identity = format!("{format:?} {}", hexadecimal::<Sha256>(&mut archive)?);
        let package = self.new_directory("package")?;
        archive::unpack(archive, format, MOST_BYTES, &package, Extent::Configuration)?;
        Ok(self.cache.put(key, &identity, &package)?)
    }
}

/// The first bytes of a file, which is left at its start.
fn beginning(file: &mut File) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    file.take(8).read_to_end(&mut start)?;
    file.rewind()?;
    Ok(start)
}

/// The key under which a version of a registry module is kept. It differs from all addresses, which are URLs.
fn version_key(module: &RegistryModule, version: &Version) -> String {
    format!("{}/{}/{}/{} {version}", module.host.as_ascii(), module.namespace, module.name, module.system)
}

#[cfg(test)]
mod tests;
