//! Fetches packages by the getter of their address, each once a run, and keeps them in the cache.

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sha2::Sha256;
use url::Url;

use super::archive::{self, Format};
use super::cache::Identity;
use super::checksum::hexadecimal;
use super::copy;
use super::fetch_error::{FetchError, Fetched};
use super::fetcher::{Clients, ModuleFetcher};
use super::git::{Git, GitAddress};
use super::http::{self, HttpAddress, HttpPackage};
use super::limits::MOST_BYTES;
use super::locked::LockedAddress;
use super::package::{Package, PackageOrigin, Wildcards};
use super::registry::PackageLocation;
use super::source::{Getter, RegistryModule, RemoteSource, with_directory};
use crate::cli_config::Netrc;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::net::{Client, Credentials};
use crate::packages::oci::ModulePackage;
use crate::provider::{Dialect, Hash, Version};
use crate::system::{TemporaryDirectory, storage};

/// How long a package is kept if its address may lead to a different one tomorrow.
const LIFETIME: Duration = Duration::from_hours(1);
/// How long git may take for a package, unless `PROVLOCK_GIT_TIMEOUT` sets another limit.
const GIT_TIME_LIMIT: Duration = Duration::from_mins(5);
/// How often a server may refer to another address.
const MOST_HOPS: usize = 10;

/// The package of an address that is to be fetched.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    clients: &'a Clients,
    client: &'a Client,
    source: &'a RemoteSource,
    /// Whether the package is to be recorded in a lock file. Then it is fetched whatever the cache contains.
    is_recorded: bool,
    /// Number of servers that have referred to another address.
    hops: usize,
}

/// A package that was written to a scratch directory.
struct Written {
    directory: PathBuf,
    /// The reason why it cannot be locked, if it cannot.
    omitted: Option<FetchError>,
    /// The hash of the archive that it was unpacked from.
    zh: Option<Hash>,
}

impl ModuleFetcher {
    /// Returns the package of an address, whatever its directory.
    ///
    /// # Errors
    /// It cannot be fetched or read, or it is to be recorded and cannot be locked.
    pub(super) fn package(&self, clients: &Clients, source: &RemoteSource, is_recorded: bool) -> Fetched<Arc<Package>> {
        let client = clients.http.clone();
        let client = if source.is_unencrypted() { client.with_plain_http() } else { client };
        self.package_through(&client, clients, source, is_recorded)
    }

    fn package_through(
        &self,
        client: &Client,
        clients: &Clients,
        source: &RemoteSource,
        is_recorded: bool,
    ) -> Fetched<Arc<Package>> {
        self.packages.get_or_compute(&(clients.dialect, source.package.clone(), is_recorded), || {
            self.obtain(Wanted { clients, client, source, is_recorded, hops: 0 }).map(Arc::new)
        })
    }

    /// Returns the package of a version of a registry module. `locate` asks the registry where that is.
    ///
    /// # Errors
    /// Those of `locate` and of [`ModuleFetcher::package`].
    pub(super) fn version(
        &self,
        clients: &Clients,
        (module, version): (&RegistryModule, &Version),
        is_recorded: bool,
        locate: impl FnOnce() -> Fetched<PackageLocation>,
    ) -> Fetched<Arc<Package>> {
        let (key, name) = (version_key(module, version), format!("{module} {version}"));
        self.packages.get_or_compute(&(clients.dialect, key.clone(), is_recorded), || {
            let cached = if is_recorded { None } else { self.cached_version(module, version)? };
            if let Some(package) = cached {
                return Ok(Arc::new(package));
            }
            let recorded = LockedAddress::of_version(module, version);
            let package = match locate()? {
                PackageLocation::Archive { url, credentials_of } => {
                    let fetch = || {
                        let scratch = self.cache()?.scratch()?;
                        let credentials = credentials_of.as_ref().map_or(Credentials::None, Credentials::TokenOf);
                        let file = http::download(&clients.http, &url, credentials, scratch.path())?;
                        self.keep(Some(&key), recorded, unpack(&scratch, file, None)?, is_recorded)
                    };
                    fetch().map_err(|error: FetchError| error.named(&name))?
                }
                PackageLocation::Source(source) => {
                    let package = self.package_through(&clients.http, clients, &source, is_recorded)?;
                    let directory = package.directory(&source.directory, Wildcards::Literal)?;
                    let package = Package { directory: package.below_top(&directory), ..(*package).clone() };
                    if let Some(h1) = package.h1.as_ref().filter(|_| !is_recorded) {
                        // A cache that cannot be written must not stop the run.
                        let _ = self.cache()?.remember(&key, h1, &package.directory);
                    }
                    self.recorded_as(&recorded, package).map_err(|error| error.named(&name))?
                }
            };
            Ok(Arc::new(Package { name, ..package }))
        })
    }

    /// A package to which a registry leads, as a lock file records it: with the commit if it is in git, else under the
    /// address of the registry.
    fn recorded_as(&self, address: &str, package: Package) -> Fetched<Package> {
        let Some(identity) = &package.identity else { return Ok(package) };
        let own = RemoteSource::parse_full(&identity.address);
        let Some(own) = own.filter(|own| own.getter() != Getter::Git) else { return Ok(package) };
        let identity = Identity { address: with_directory(address, &own.directory), ..(**identity).clone() };
        self.cache()?.record(&identity)?;
        Ok(Package { identity: Some(Arc::new(identity)), ..package })
    }

    /// Returns the package that an address led to last, if the cache contains it. Makes no requests.
    pub(super) fn cached(&self, source: &RemoteSource) -> Fetched<Option<Package>> {
        self.remembered(&source.package, None, source.without_directory())
    }

    /// Returns the package of a version of a registry module, if the cache contains it. Makes no requests.
    pub(super) fn cached_version(&self, module: &RegistryModule, version: &Version) -> Fetched<Option<Package>> {
        self.remembered(&version_key(module, version), None, format!("{module} {version}"))
    }

    fn remembered(&self, key: &str, lifetime: Option<Duration>, name: String) -> Fetched<Option<Package>> {
        let found = self.cache()?.get(key, lifetime);
        Ok(found.map(|(content, directory)| Package { directory, ..Package::cached(content, name) }))
    }

    fn obtain(&self, wanted: Wanted<'_>) -> Fetched<Package> {
        let (source, name) = (wanted.source, wanted.source.without_directory());
        self.connections.environment().secrets.learn_url(source.url());
        let unknown = |help: &str| {
            let getter = source.getter_name();
            FetchError::address(format!("{getter:?} is not a known way to get a package")).help(help)
        };
        let obtained = match source.getter() {
            // git treats the name of a host as a directory, and its errors quote files.
            _ if source.is_on_this_machine() && source.path_on_this_machine().is_none() => {
                Err(FetchError::address("it does not name a directory of this machine"))
            }
            Getter::Git => self.fetch_git(wanted),
            Getter::Http => self.http(wanted),
            Getter::File => self.file(wanted),
            Getter::Oci if wanted.clients.dialect == Dialect::Tofu => self.oci(wanted),
            Getter::S3 | Getter::Gcs | Getter::Mercurial => Err(unknown("install it with tofu get or terraform get")),
            Getter::Oci | Getter::Unknown(_) => {
                Err(unknown("use git::, https:// or the address of a module in a registry"))
            }
        };
        let package = obtained.map_err(|error| error.named(&name))?;
        Ok(Package { name, ..package })
    }

    fn fetch_git(&self, wanted: Wanted<'_>) -> Fetched<Package> {
        let Wanted { client, source, is_recorded, .. } = wanted;
        let address = GitAddress::parse(source.url())?;
        client.permits(&address.url)?;
        if let Some(package) = self.current(wanted, address.is_immutable())? {
            return Ok(package);
        }
        let scratch = self.cache()?.scratch()?;
        let directory = new_directory(&scratch, "package")?;
        let fetched = self.git(&new_directory(&scratch, "git")?).fetch(&address, &directory)?;
        let Some(commit) = fetched.commit else {
            let empty = Written { directory, omitted: Some(FetchError::package("it has no commit")), zh: None };
            return self.keep(Some(&source.package), String::new(), empty, is_recorded);
        };
        let recorded = source.without_credentials().at_commit(&commit).package;
        let written = Written { directory, omitted: fetched.omitted, zh: None };
        self.keep(Some(&source.package), recorded, written, is_recorded)
    }

    /// git with the user's settings. `directory` is empty.
    pub(super) fn git<'a>(&'a self, directory: &'a Path) -> Git<'a> {
        let environment = self.connections.environment();
        let seconds = environment.variable("PROVLOCK_GIT_TIMEOUT").and_then(|value| value.trim().parse().ok());
        let time_limit = seconds.filter(|seconds| *seconds > 0).map_or(GIT_TIME_LIMIT, Duration::from_secs);
        Git::new(Path::new("git"), environment.os_variable("GIT_SSH_COMMAND"), directory, time_limit)
    }

    fn http(&self, wanted: Wanted<'_>) -> Fetched<Package> {
        let Wanted { clients, client, source, is_recorded, hops } = wanted;
        let netrc = self.netrc.get_or_init(|| Netrc::read(self.connections.environment()));
        let netrc = netrc.as_ref().map_err(FetchError::package)?;
        let address = HttpAddress::parse(source.url(), clients.dialect, netrc)?;
        if let Some(package) = self.current(wanted, address.is_immutable())? {
            return Ok(package);
        }
        let scratch = self.cache()?.scratch()?;
        let next = match address.fetch(client, netrc, scratch.path())? {
            HttpPackage::Archive(file, format) => {
                return self.keep_archive(wanted, unpack(&scratch, file, Some(format))?);
            }
            HttpPackage::Elsewhere(next) => next,
        };
        if hops == MOST_HOPS {
            return Err(FetchError::package(format!("more than {MOST_HOPS} servers refer to another server")));
        }
        // An encrypted address leads to no unencrypted one.
        let client = if source.is_unencrypted() { client } else { &clients.http };
        let package = self.obtain(Wanted { client, source: &next, hops: hops + 1, ..wanted })?;
        let package = if next.directory.is_empty() {
            package
        } else {
            self.narrowed(&package, &next.directory, Wildcards::Expanded, is_recorded)?
        };
        if let Some(h1) = package.h1.as_ref().filter(|_| !is_recorded) {
            self.cache()?.remember(&source.package, h1, "")?;
        }
        Ok(package)
    }

    /// A package of only the files in a directory of another package.
    pub(super) fn narrowed(
        &self,
        package: &Package,
        directory: &str,
        wildcards: Wildcards,
        is_recorded: bool,
    ) -> Fetched<Package> {
        let found = package.directory(directory, wildcards)?;
        let below = package.below_top(&found);
        let scratch = self.cache()?.scratch()?;
        let target = new_directory(&scratch, "package")?;
        copy::tree(&found, &target)?;
        let (recorded, zh) = match &package.identity {
            Some(identity) => (with_directory(&identity.address, &below), identity.zh.clone()),
            None => (String::new(), None),
        };
        let narrowed = self.keep(None, recorded, Written { directory: target, omitted: None, zh }, is_recorded)?;
        Ok(Package { origin: package.origin, name: package.name.clone(), ..narrowed })
    }

    fn oci(&self, wanted: Wanted<'_>) -> Fetched<Package> {
        let source = wanted.source;
        let url = Url::parse(source.url());
        let url = url.map_err(|error| FetchError::address(format!("its URL cannot be read: {error}")))?;
        let package = ModulePackage::parse(&url).map_err(FetchError::address)?;
        if wanted.is_recorded && !package.is_immutable() {
            let why =
                "a package of an OCI registry can be locked only by its digest; write ?digest=sha256:… in its source";
            return Err(FetchError::address(why));
        }
        if let Some(package) = self.current(wanted, package.is_immutable())? {
            return Ok(package);
        }
        let scratch = self.cache()?.scratch()?;
        let mut file = tempfile::tempfile_in(scratch.path())?;
        let subject = format!("the module package {}", source.without_directory());
        let downloaded = wanted.clients.oci_registries.download_module(&package, &subject, MOST_BYTES, &mut file);
        downloaded.map_err(Diagnostics::from)?;
        self.keep_archive(wanted, unpack(&scratch, file, Some(Format::Zip))?)
    }

    /// A directory, which is read where it is, or an archive.
    fn file(&self, wanted: Wanted<'_>) -> Fetched<Package> {
        let invalid = |why: &str| FetchError::address(why.to_owned());
        let path = Url::parse(wanted.source.url()).ok().and_then(|url| url.to_file_path().ok());
        let path = path.ok_or_else(|| invalid("its URL is not that of a file"))?;
        if path.is_dir() && wanted.is_recorded {
            return Err(invalid("a directory of this machine cannot be locked; its address may lead to other files"));
        }
        if path.is_dir() {
            return Ok(Package::of_this_machine(path, String::new()));
        }
        let format = path.to_str().and_then(|path| Format::of_path(path, wanted.clients.dialect));
        let format = format.ok_or_else(|| invalid("it is neither a directory nor an archive"))?;
        let file = File::open(&path).map_err(|error| Diagnostics::from(Diagnostic::io("read", &path, &error)))?;
        let scratch = self.cache()?.scratch()?;
        let package = self.keep_archive(wanted, unpack(&scratch, file, Some(format))?)?;
        Ok(Package { origin: PackageOrigin::Archive, ..package })
    }

    /// A package in the cache that cannot have changed, or was fetched within its lifetime.
    fn current(&self, wanted: Wanted<'_>, is_immutable: bool) -> Fetched<Option<Package>> {
        if wanted.is_recorded {
            return Ok(None);
        }
        let lifetime = (!is_immutable).then_some(LIFETIME);
        Ok(self.remembered(&wanted.source.package, lifetime, String::new())?)
    }

    fn keep_archive(&self, wanted: Wanted<'_>, written: Written) -> Fetched<Package> {
        let recorded = wanted.source.without_credentials().package;
        self.keep(Some(&wanted.source.package), recorded, written, wanted.is_recorded)
    }

    /// Moves a package into the cache: to be found by its key, or by lock files that record it with an address.
    fn keep(&self, key: Option<&str>, recorded: String, written: Written, is_recorded: bool) -> Fetched<Package> {
        let Written { directory, omitted, zh } = written;
        if let Some(problem) = omitted.filter(|_| is_recorded) {
            return Err(problem.into());
        }
        let cache = self.cache()?;
        let content = cache.put(&directory)?;
        let h1 = content.h1.clone();
        let package = Package { origin: PackageOrigin::Network, ..Package::cached(content, String::new()) };
        if is_recorded {
            let identity = Identity { address: recorded, h1, zh };
            cache.record(&identity)?;
            return Ok(Package { identity: Some(Arc::new(identity)), ..package });
        }
        key.map_or(Ok(()), |key| cache.remember(key, &h1, ""))?;
        Ok(package)
    }
}

/// Unpacks an archive in a scratch directory. Without a format, its first bytes decide.
fn unpack(scratch: &TemporaryDirectory, mut archive: File, format: Option<Format>) -> Fetched<Written> {
    let mut start = Vec::new();
    (&mut archive).take(8).read_to_end(&mut start)?;
    archive.rewind()?;
    let format = format.or_else(|| Format::of_content(&start));
    let format = format.ok_or_else(|| FetchError::package("it is not an archive"))?;
    let zh = format!("zh:{}", hexadecimal::<Sha256>(&mut archive)?).parse().ok();
    let directory = new_directory(scratch, "package")?;
    let omitted = archive::unpack(archive, format, MOST_BYTES, &directory)?;
    Ok(Written { directory, omitted, zh })
}

pub(super) fn new_directory(scratch: &TemporaryDirectory, name: &str) -> std::io::Result<PathBuf> {
    let path = scratch.path().join(name);
    storage::create_directory(&path)?;
    Ok(path)
}

/// The key under which the cache remembers a version of a registry module. It differs from all addresses, which are
/// URLs.
fn version_key(module: &RegistryModule, version: &Version) -> String {
    format!("{}/{}/{}/{} {version}", module.host.as_ascii(), module.namespace, module.name, module.system)
}

#[cfg(test)]
mod tests;
