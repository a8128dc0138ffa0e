//! Fetches module packages, each once a run, and keeps them in the cache.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use url::Url;

use super::archive::Format;
use super::cache::{PackageCache, Stored};
use super::contents::{Extent, MOST_BYTES};
use super::copy;
use super::fetch_error::{FetchError, Obtained};
use super::git::{Git, GitAddress};
use super::http::{self, Found, HttpAddress};
use super::locked::{self, LockedAddress, locked_commit};
use super::package::{Package, PackageOrigin, Wildcards};
use super::package_hash;
use super::registry::PackageLocation;
use super::source::{Getter, ModuleSource, RegistryModule, RemoteSource, with_directory};
use super::workshop::Workshop;
use crate::cli_config::Netrc;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use crate::lockfile::LockedModule;
use crate::net::{Client, Credentials};
use crate::packages::oci::{ModulePackage, OciRegistries};
use crate::provider::{Dialect, Hash, Hostname, Version};
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
    netrc: OnceLock<std::result::Result<Netrc, String>>,
    oci_registries: Option<Arc<OciRegistries>>,
    packages: OnceMap<(String, Option<Recorded>), Obtained<Arc<Package>>>,
    /// Those of registries, and whether they are whole.
    versions: OnceMap<(RegistryModule, Version, bool), Obtained<Arc<Package>>>,
}

/// How a whole package is recorded: under an address of a registry, or under its own.
type Recorded = Option<String>;

/// What was fetched, and where from.
type Fetched = std::result::Result<(Stored, PackageOrigin), FetchError>;

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
            versions: OnceMap::default(),
        })
    }

    /// The package of an address, whatever its directory.
    ///
    /// # Errors
    /// It cannot be fetched or read.
    pub(super) fn fetch(&self, source: &RemoteSource) -> Result<Arc<Package>> {
        Ok(self.fetch_from(source, &self.client_for(source), None)?)
    }

    /// [`PackageFetcher::fetch`] for the whole package.
    ///
    /// # Errors
    /// Those of [`PackageFetcher::fetch`], and when the package cannot be locked.
    pub(super) fn fetch_whole(&self, source: &RemoteSource) -> Obtained<Arc<Package>> {
        self.fetch_from(source, &self.client_for(source), Some(&None))
    }

    fn client_for(&self, source: &RemoteSource) -> Client {
        let client = self.client.clone();
        if source.is_unencrypted() { client.with_plain_http() } else { client }
    }

    fn fetch_from(&self, source: &RemoteSource, client: &Client, whole: Option<&Recorded>) -> Obtained<Arc<Package>> {
        self.packages.get_or_compute(&(source.package.clone(), whole.cloned()), || {
            let (stored, origin) = self.obtain(source, client, whole, 0)?;
            Ok(Arc::new(Package { stored, origin, address: source.without_directory() }))
        })
    }

    /// The package that a lock file records, from the cache or from where it is.
    ///
    /// # Errors
    /// It is not there any more, or has other bytes and may not have changed.
    pub(super) fn fetch_locked(
        &self,
        source: &ModuleSource,
        locked: &LockedModule,
        may_change: bool,
        is_offline: bool,
        locate: impl FnOnce(&RegistryModule, &Version) -> Obtained<PackageLocation>,
    ) -> Result<Option<Arc<Package>>> {
        let invalid = |why: String| Diagnostic::error(Code::InvalidPackage, format!("the module {why}"));
        let address = LockedAddress::of(locked, source).map_err(invalid)?;
        let (key, directory) = address.key(source);
        if let Some(stored) = self.cache.get_whole(&key, &locked.hashes) {
            let stored = Stored { directory, ..stored };
            return Ok(Some(Arc::new(Package { stored, origin: PackageOrigin::Cache, address: locked::name(locked) })));
        }
        if is_offline {
            return Ok(None);
        }
        let package = match (&address, source) {
            (LockedAddress::Registry { module, version, .. }, _) => {
                self.fetch_version(module, version, true, || locate(module, version))?
            }
            (LockedAddress::Remote(package), ModuleSource::Remote(_)) if package.getter() == Getter::Git => {
                let commit = locked_commit(package).unwrap_or_default();
                let own = own_repository(source, package).at_commit(&commit);
                self.fetch_whole(&RemoteSource { directory: String::new(), ..own })?
            }
            (LockedAddress::Remote(package), ModuleSource::Remote(own))
                if own.without_credentials().package == package.package =>
            {
                self.fetch_whole(own)?
            }
            (LockedAddress::Remote(package), _) => self.fetch_whole(package)?,
        };
        let package = match (&address, source) {
            (LockedAddress::Remote(_), ModuleSource::Registry(_)) => {
                let stored = Stored { directory, ..package.stored.clone() };
                Arc::new(Package { stored, ..(*package).clone() })
            }
            (LockedAddress::Remote(narrowed), _) if !narrowed.directory.is_empty() => {
                Arc::new(self.narrowed(&package, &narrowed.directory, Wildcards::Literal)?)
            }
            _ => package,
        };
        let identity = package.stored.identity.as_deref();
        if may_change || identity.is_some_and(|identity| identity.is_one_of(&locked.hashes)) {
            return Ok(Some(package));
        }
        Err(locked::replaced(locked, identity).into())
    }

    /// A package of only what is in a directory of another.
    fn narrowed(&self, package: &Package, directory: &str, wildcards: Wildcards) -> Result<Package> {
        let found = package.directory(directory, wildcards)?;
        let below = found.strip_prefix(package.top()).unwrap_or(&found).to_string_lossy().into_owned();
        let Some(identity) = &package.stored.identity else {
            let stored = package.stored_at(&found).below_directory();
            return Ok(Package { stored, ..package.clone() });
        };
        let address = with_directory(&identity.address, &below);
        let copied = || -> std::result::Result<Stored, FetchError> {
            let workshop = self.workshop()?;
            let target = workshop.new_directory("package")?;
            copy::tree(&found, &target)?;
            Ok(self.cache.put_whole(&address, identity.zh.clone(), &target)?)
        };
        let stored = copied().map_err(|error| error.named(&package.address))?;
        Ok(Package { stored, ..package.clone() })
    }

    /// The package of an address if the cache holds it, whatever its age. Makes no requests.
    pub(super) fn cached(&self, source: &RemoteSource) -> Option<Package> {
        let stored = self.cache.get(&source.package, None)?;
        Some(Package { stored, origin: PackageOrigin::Cache, address: source.without_directory() })
    }

    /// The package of a version of a registry module, or the whole package. `locate` finds its location if the cache
    /// does not hold it.
    ///
    /// # Errors
    /// Those of `locate`, and of [`PackageFetcher::fetch`] or [`PackageFetcher::fetch_whole`].
    pub(super) fn fetch_version(
        &self,
        module: &RegistryModule,
        version: &Version,
        is_whole: bool,
        locate: impl FnOnce() -> Obtained<PackageLocation>,
    ) -> Obtained<Arc<Package>> {
        self.versions.get_or_compute(&(module.clone(), version.clone(), is_whole), || {
            if !is_whole && let Some(package) = self.cached_version(module, version) {
                return Ok(Arc::new(package));
            }
            let (address, key) = (format!("{module} {version}"), version_key(module, version));
            let whole = is_whole.then(|| Some(LockedAddress::of_version(module, version)));
            let (stored, origin) = match locate()? {
                PackageLocation::Archive { url, credentials_of } => {
                    let stored = self.archive(&url, credentials_of.as_ref(), &key, whole.as_ref());
                    (stored.map_err(|error| error.named(&address))?, PackageOrigin::Network)
                }
                PackageLocation::Source(source) => {
                    let package = self.fetch_from(&source, &self.client, whole.as_ref())?;
                    let directory = package.directory(&source.directory, Wildcards::Literal)?;
                    let stored = package.stored_at(&directory);
                    if !is_whole {
                        // A cache that cannot be written must not stop the run.
                        let _ = self.cache.put_again(&key, &stored);
                    }
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
    fn obtain(
        &self,
        source: &RemoteSource,
        client: &Client,
        whole: Option<&Recorded>,
        hops: usize,
    ) -> Obtained<(Stored, PackageOrigin)> {
        let address = source.without_directory();
        self.environment.secrets.learn_url(source.url());
        let url = source.url();
        let obtained = match source.getter() {
            // git takes the name of a host for a directory, and its errors quote files.
            _ if source.is_on_this_machine() && source.path_on_this_machine().is_none() => {
                Err(FetchError::Address("it does not name a directory of this machine".to_owned()))
            }
            Getter::Git => self.git(source, url, client, whole.is_some()),
            Getter::Http => self.http(source, url, client, whole, hops),
            Getter::File => self.file(source, url, whole),
            Getter::Oci if self.dialect == Dialect::Tofu => self.oci(source, url, &address, whole),
            Getter::Oci => Err(FetchError::UnknownGetter("oci".to_owned())),
            Getter::S3 => Err(FetchError::UnsupportedGetter("s3")),
            Getter::Gcs => Err(FetchError::UnsupportedGetter("gcs")),
            Getter::Mercurial => Err(FetchError::UnsupportedGetter("hg")),
            Getter::Unknown(name) => Err(FetchError::UnknownGetter(name.to_owned())),
        };
        obtained.map_err(|error| error.named(&address))
    }

    fn git(&self, source: &RemoteSource, url: &str, client: &Client, is_whole: bool) -> Fetched {
        let address = GitAddress::parse(url)?;
        client.permits(&address.url)?;
        if let Some(stored) = self.remembered(source, address.is_immutable()).filter(|_| !is_whole) {
            return Ok((stored, PackageOrigin::Cache));
        }
        let workshop = self.workshop()?;
        let (repository, package) = (workshop.new_directory("repository")?, workshop.new_directory("package")?);
        let extent = if is_whole { Extent::Whole } else { Extent::Configuration };
        let commit = self.git_program().fetch(&address, &repository, &package, extent)?;
        if is_whole {
            let commit = commit.ok_or_else(|| FetchError::Package("it has no commit".to_owned()))?;
            let address = source.without_credentials().at_commit(&commit).package;
            return Ok((self.cache.put_whole(&address, None, &package)?, PackageOrigin::Network));
        }
        let identity = format!("{} {}", address.repository(), commit.as_deref().unwrap_or("empty"));
        Ok((self.cache.put(&source.package, &identity, &package)?, PackageOrigin::Network))
    }

    /// The directory of the whole package of an address in git, from the objects in the `.git` of a copy, if these are
    /// what is locked.
    pub(super) fn package_of_copy(&self, address: &str, dot_git: &Path, hashes: &BTreeSet<Hash>) -> Option<PathBuf> {
        let source = RemoteSource::parse_full(address).filter(|source| source.getter() == Getter::Git)?;
        let git_address = GitAddress::parse(source.url()).ok()?;
        let workshop = self.workshop().ok()?;
        let (repository, package) =
            (workshop.new_directory("repository").ok()?, workshop.new_directory("package").ok()?);
        self.git_program().read_objects(dot_git, &git_address, &repository, &package).ok()?;
        let is_locked = package_hash::h1(&package).is_ok_and(|h1| hashes.contains(&h1));
        let stored = if is_locked { self.cache.put_whole(&source.package, None, &package).ok() } else { None };
        stored.map(|stored| stored.content)
    }

    pub(super) fn git_program(&self) -> Git<'_> {
        let seconds = self.environment.variable("PROVLOCK_GIT_TIMEOUT").and_then(|value| value.trim().parse().ok());
        Git {
            program: Path::new("git"),
            time_limit: seconds.filter(|seconds| *seconds > 0).map_or(GIT_TIME_LIMIT, Duration::from_secs),
            ssh_command: self.environment.os_variable("GIT_SSH_COMMAND"),
        }
    }

    /// Makes the git repository of a locked package as a new directory, from the cache or from where it is. The files
    /// of the package are in the directory above it. Does nothing if the package does not come from git.
    ///
    /// # Errors
    /// It cannot be fetched.
    pub(super) fn make_repository(
        &self,
        source: &ModuleSource,
        locked: &LockedModule,
        is_offline: bool,
        directory: &Path,
    ) -> Result<()> {
        let Some((package, commit)) = locked::repository(locked) else { return Ok(()) };
        let make = || -> std::result::Result<(), FetchError> {
            let git = self.git_program();
            let named = GitAddress::parse(own_repository(source, &package).url())?;
            // What is in the installed repository must not have a login.
            let shown = GitAddress::parse(package.url())?.named_as(&named);
            let pack = self.cache.pack(&package.package);
            fs::create_dir(directory)?;
            let is_made = pack.is_file() && git.make_repository(&shown, &commit, &pack, directory).is_ok();
            if is_made {
                return Ok(());
            }
            if is_offline {
                return Err(FetchError::Package("the cache does not hold its git repository".to_owned()));
            }
            let workshop = self.workshop()?;
            let (repository, fetched) = (workshop.new_directory("repository")?, workshop.directory.path().join("pack"));
            git.fetch_pack(&named.at_commit(&commit), &commit, &repository, &fetched)?;
            fs::remove_dir_all(directory)?;
            fs::create_dir(directory)?;
            git.make_repository(&shown, &commit, &fetched, directory)?;
            // A cache that cannot be written must not stop the run.
            let _ = self.cache.put_pack(&package.package, &fetched);
            Ok(())
        };
        Ok(make().map_err(|error| error.named(&package.without_directory()))?)
    }

    fn http(
        &self,
        source: &RemoteSource,
        url: &str,
        client: &Client,
        whole: Option<&Recorded>,
        hops: usize,
    ) -> Fetched {
        let netrc = self.netrc.get_or_init(|| Netrc::read(&self.environment));
        let netrc = netrc.as_ref().map_err(|why| FetchError::Package(why.clone()))?;
        let address = HttpAddress::parse(url, self.dialect, netrc)?;
        if let Some(stored) = self.remembered(source, address.is_immutable()).filter(|_| whole.is_none()) {
            return Ok((stored, PackageOrigin::Cache));
        }
        let workshop = self.workshop()?;
        let next = match address.fetch(client, netrc, workshop.directory.path())? {
            Found::Archive(file, format) => {
                let stored = workshop.unpack(file, Some(format), &source.package, recorded(whole, source))?;
                return Ok((stored, PackageOrigin::Network));
            }
            Found::Elsewhere(next) => next,
        };
        if hops == MOST_HOPS {
            return Err(FetchError::Package(format!("more than {MOST_HOPS} servers refer to another server")));
        }
        // What is encrypted leads to nothing that is not.
        let client = if source.is_unencrypted() { client } else { &self.client };
        let (stored, origin) = self.obtain(&next, client, whole, hops + 1)?;
        let package = Package { stored, origin, address: next.without_directory() };
        if whole.is_some() {
            let is_all = next.directory.is_empty();
            let package = if is_all { package } else { self.narrowed(&package, &next.directory, Wildcards::Expanded)? };
            return Ok((package.stored, origin));
        }
        let directory = package.directory(&next.directory, Wildcards::Expanded)?;
        let stored = package.stored_at(&directory).below_directory();
        self.cache.put_again(&source.package, &stored)?;
        Ok((stored, origin))
    }

    fn oci(&self, source: &RemoteSource, url: &str, address: &str, whole: Option<&Recorded>) -> Fetched {
        let url = Url::parse(url).map_err(|error| FetchError::Address(format!("its URL cannot be read: {error}")))?;
        let package = ModulePackage::parse(&url).map_err(FetchError::Address)?;
        if let Some(stored) = self.remembered(source, package.is_immutable()).filter(|_| whole.is_none()) {
            return Ok((stored, PackageOrigin::Cache));
        }
        if whole.is_some() && !package.is_immutable() {
            let why =
                "a package of an OCI registry can be locked only by its digest; write ?digest=sha256:… in its source";
            return Err(FetchError::Address(why.to_owned()));
        }
        let not_asked = || FetchError::Address("packages in OCI registries are not fetched".to_owned());
        let registries = self.oci_registries.as_ref().ok_or_else(not_asked)?;
        let workshop = self.workshop()?;
        let mut file = tempfile::tempfile_in(workshop.directory.path())?;
        let subject = format!("the module package {address}");
        registries.download_module(&package, &subject, MOST_BYTES, &mut file).map_err(Diagnostics::from)?;
        let stored = workshop.unpack(file, Some(Format::Zip), &source.package, recorded(whole, source))?;
        Ok((stored, PackageOrigin::Network))
    }

    /// A directory, which is read where it is, or an archive.
    fn file(&self, source: &RemoteSource, url: &str, whole: Option<&Recorded>) -> Fetched {
        let invalid = |why: &str| FetchError::Address(why.to_owned());
        let path = Url::parse(url).ok().and_then(|url| url.to_file_path().ok());
        let path = path.ok_or_else(|| invalid("its URL is not that of a file"))?;
        if path.is_dir() && whole.is_some() {
            return Err(invalid("a directory of this machine cannot be locked; its address may lead to other files"));
        }
        if path.is_dir() {
            return Ok((Stored::whole(path), PackageOrigin::Directory));
        }
        let format = path.to_str().and_then(|path| Format::of_path(path, self.dialect));
        let format = format.ok_or_else(|| invalid("it is neither a directory nor an archive"))?;
        let file = File::open(&path).map_err(|error| Diagnostics::from(Diagnostic::io("read", &path, &error)))?;
        let stored = self.workshop()?.unpack(file, Some(format), url, recorded(whole, source))?;
        Ok((stored, PackageOrigin::Archive))
    }

    /// An archive that is fetched as it is, and unpacked whatever its name.
    fn archive(
        &self,
        url: &Url,
        credentials_of: Option<&Hostname>,
        key: &str,
        whole: Option<&Recorded>,
    ) -> std::result::Result<Stored, FetchError> {
        let credentials = credentials_of.map_or(Credentials::None, Credentials::TokenOf);
        let workshop = self.workshop()?;
        let file = http::download(&self.client, url, credentials, workshop.directory.path())?;
        Ok(workshop.unpack(file, None, key, whole.and_then(Clone::clone))?)
    }

    /// A package in the cache that has not changed, or not within its lifetime.
    fn remembered(&self, source: &RemoteSource, is_immutable: bool) -> Option<Stored> {
        self.cache.get(&source.package, (!is_immutable).then_some(LIFETIME))
    }

    fn workshop(&self) -> io::Result<Workshop<'_>> {
        Workshop::new(&self.cache)
    }
}

/// The address under which a whole archive is recorded.
fn recorded(whole: Option<&Recorded>, source: &RemoteSource) -> Option<String> {
    whole.map(|recorded| recorded.clone().unwrap_or_else(|| source.without_credentials().package))
}

/// The address of the repository of a locked package, with a login, which is only in the source.
fn own_repository<'a>(source: &'a ModuleSource, package: &'a RemoteSource) -> &'a RemoteSource {
    match source {
        ModuleSource::Remote(own) if own.getter() == Getter::Git => own,
        _ => package,
    }
}

/// The key under which a version of a registry module is kept. It differs from all addresses, which are URLs.
fn version_key(module: &RegistryModule, version: &Version) -> String {
    format!("{}/{}/{}/{} {version}", module.host.as_ascii(), module.namespace, module.name, module.system)
}

#[cfg(test)]
mod tests;
