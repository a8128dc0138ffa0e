//! Fetches packages by the getter of their address, each once a run, and keeps them in the cache.

#![expect(
    clippy::disallowed_methods,
    reason = "packages of modules are the same in every revision"
)]

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::Sha256;
use url::Url;

use super::archive::{self, Format};
use super::archive_parameters::ArchiveParameters;
use super::checksum::hexadecimal;
use super::copy;
use super::fetch_error::{FetchError, FetchResult};
use super::fetched::FetchPurpose;
use super::fetcher::{Clients, ModuleFetcher};
use super::git::{Git, GitAddress};
use super::http::{self, HttpAddress, HttpPackage};
use super::limits::MOST_BYTES;
use super::locked::LockedAddress;
use super::package::{Package, PackageOrigin, Wildcards};
use super::registry::PackageLocation;
use super::source::{Getter, RegistryModule, RemoteSource, request_url, with_directory};
use crate::cli_config::Netrc;
use crate::diagnostic::{Diagnostic, Diagnostics, Help, Remedy};
use crate::net::{RequestCredentials, WEB_PAGE_HELP, is_web_page};
use crate::packages::oci::ModulePackage;
use crate::provider::{Dialect, Hash, Version};
use crate::system::{storage, variables};

/// Time for which a package is kept if its address may lead to a different one tomorrow.
const LIFETIME: Duration = Duration::from_hours(1);
/// Time limit of git for a package, unless `PROVLOCK_GIT_TIMEOUT` sets a different one.
const GIT_TIME_LIMIT: Duration = Duration::from_mins(5);
/// Largest number of servers in a row that refer to a different address.
const MOST_REFERRALS: usize = 10;

/// The package of an address that is to be fetched.
#[derive(Clone, Copy)]
struct PackageRequest<'a> {
    clients: &'a Clients,
    source: &'a RemoteSource,
    purpose: FetchPurpose,
    /// Whether a lock file records it already, so that the recorded hash protects it.
    is_locked: bool,
    /// Number of servers that have referred to a different address.
    referrals: usize,
}

/// A package that was written to a scratch directory.
struct UnpackedPackage {
    directory: PathBuf,
    /// Reason why it cannot be locked, if it cannot.
    why_not_lockable: Option<FetchError>,
    /// Hash of the archive that it was unpacked from.
    zh: Option<Hash>,
}

impl ModuleFetcher {
    /// Returns the package of an address, whatever its directory: from the cache if it is only read
    /// and was fetched before, otherwise from where it is.
    ///
    /// # Errors
    /// It cannot be fetched or read, or it is to be recorded and cannot be locked.
    pub(super) fn cached_or_fetched(
        &self,
        clients: &Clients,
        source: &RemoteSource,
        purpose: FetchPurpose,
    ) -> FetchResult<Package> {
        let key = (clients.dialect, source.package.clone(), purpose);
        self.packages.get_or_compute(&key, || {
            self.obtain_named(PackageRequest {
                clients,
                source,
                purpose,
                is_locked: false,
                referrals: 0,
            })
        })
    }

    /// [`ModuleFetcher::cached_or_fetched`] for the address that a lock file records, which may be
    /// that of a commit whose branch was deleted.
    pub(super) fn package_at_locked_address(
        &self,
        clients: &Clients,
        source: &RemoteSource,
    ) -> FetchResult<Package> {
        let key = (clients.dialect, source.package.clone());
        self.locked_packages.get_or_compute(&key, || {
            self.obtain_named(PackageRequest {
                clients,
                source,
                purpose: FetchPurpose::Locking,
                is_locked: true,
                referrals: 0,
            })
        })
    }

    /// Returns the package of a version of a registry module: from the cache if it is only read and
    /// was fetched before, otherwise from the location that `locate` requests from the registry.
    ///
    /// # Errors
    /// Returns errors of `locate` and of [`ModuleFetcher::cached_or_fetched`].
    pub(super) fn registry_version(
        &self,
        clients: &Clients,
        module: &RegistryModule,
        version: &Version,
        purpose: FetchPurpose,
        locate: impl FnOnce() -> FetchResult<PackageLocation>,
    ) -> FetchResult<Package> {
        let address = LockedAddress::of_version(module, version);
        let key = (clients.dialect, address.clone(), purpose);
        self.packages.get_or_compute(&key, || {
            let name = format!("{module} {version}");
            if purpose == FetchPurpose::Reading {
                match self.cached_registry_version(module, version) {
                    Ok(Some(package)) => return Ok(package),
                    Ok(None) => {}
                    Err(error) => return Err(error.about_package(&name)),
                }
            }
            match self.fetch_from_location(clients, &address, purpose, locate) {
                Ok(package) => Ok(Package { name, ..package }),
                Err(error) => Err(self.about_space(error).about_package(&name)),
            }
        })
    }

    /// Fetches the package of a version from the location that its registry specifies: an archive,
    /// or a directory of a different package. `address` is that of the version in lock files.
    fn fetch_from_location(
        &self,
        clients: &Clients,
        address: &str,
        purpose: FetchPurpose,
        locate: impl FnOnce() -> FetchResult<PackageLocation>,
    ) -> FetchResult<Package> {
        match locate()? {
            PackageLocation::Archive {
                url,
                credentials_of,
            } => {
                let scratch = self.cache()?.scratch()?;
                let credentials = match &credentials_of {
                    Some(host) => RequestCredentials::TokenOf(host),
                    None => RequestCredentials::None,
                };
                let file = http::download(&clients.http, &url, credentials, scratch.path())?;
                let unpacked = unpack_archive(scratch.path(), file, None)?;
                self.put_into_cache(Some(address), address.to_owned(), unpacked, purpose)
            }
            PackageLocation::Source(source) => {
                check_referral(clients, &source)?;
                let package = self.cached_or_fetched(clients, &source, purpose)?;
                let path = package.directory(&source.directory, Wildcards::Literal)?;
                let directory = package.below_top(&path);
                if purpose == FetchPurpose::Reading
                    && let Some(h1) = &package.h1
                {
                    // A cache that cannot be written must not stop the run.
                    let _ = self.cache()?.remember(address, h1, &directory);
                }
                let package = Package {
                    directory,
                    ..package
                };
                self.with_lock_address(address, &source, package)
            }
        }
    }

    /// Sets the address under which a lock file records a package to which a registry leads: that
    /// of the commit if it is in git, that of the archive if the `location` refers to a different
    /// address, else `address`, that of the version in the registry. A package that is only read
    /// has none.
    fn with_lock_address(
        &self,
        address: &str,
        location: &RemoteSource,
        package: Package,
    ) -> FetchResult<Package> {
        let fetched_from = package
            .lock_address
            .as_deref()
            .and_then(RemoteSource::parse_full);
        let (Some(fetched_from), Some(h1)) = (fetched_from, &package.h1) else {
            return Ok(package);
        };
        if fetched_from.getter() == Getter::Git {
            return Ok(package);
        }
        // The hash of a directory in the archive is not that of the archive.
        let is_referred = fetched_from.package != location.without_credentials().package;
        if is_referred && fetched_from.directory.is_empty() {
            return Ok(package);
        }
        let lock_address = with_directory(address, &fetched_from.directory);
        self.cache()?
            .record(&lock_address, h1, package.zh.as_ref())?;
        Ok(Package {
            lock_address: Some(lock_address),
            ..package
        })
    }

    /// Returns the package that an address led to last, if the cache contains it. Makes no
    /// requests.
    pub(super) fn cached_package(&self, source: &RemoteSource) -> FetchResult<Option<Package>> {
        self.remembered_package(&source.package, None, source.without_directory())
    }

    /// Returns the package of a version of a registry module, if the cache contains it. Makes no
    /// requests.
    pub(super) fn cached_registry_version(
        &self,
        module: &RegistryModule,
        version: &Version,
    ) -> FetchResult<Option<Package>> {
        self.remembered_package(
            &LockedAddress::of_version(module, version),
            None,
            format!("{module} {version}"),
        )
    }

    /// Returns the package of a key, unless it was remembered longer than `lifetime` ago.
    fn remembered_package(
        &self,
        key: &str,
        lifetime: Option<Duration>,
        name: String,
    ) -> FetchResult<Option<Package>> {
        let found = self.cache()?.get_remembered(key, lifetime);
        Ok(found.map(|(content, directory)| Package {
            directory,
            ..Package::cached(content, name)
        }))
    }

    /// [`ModuleFetcher::find_or_fetch`] with the name of the package, also in errors.
    fn obtain_named(&self, request: PackageRequest<'_>) -> FetchResult<Package> {
        self.connections
            .environment()
            .secrets
            .learn_url(request.source.url());
        let name = request.source.without_directory();
        match self.find_or_fetch(request) {
            Ok(package) => Ok(Package { name, ..package }),
            Err(error) => Err(self.about_space(error).about_package(&name)),
        }
    }

    /// Adds the next step to an error about a disk that is full: packages are fetched into the
    /// cache.
    fn about_space(&self, error: FetchError) -> FetchError {
        match self.cache() {
            Ok(cache) => error.help_with_space(cache.help_with_space()),
            Err(_) => error,
        }
    }

    /// Returns the package of an address from the cache, unless it is to be recorded, or else
    /// fetches it.
    fn find_or_fetch(&self, request: PackageRequest<'_>) -> FetchResult<Package> {
        let PackageRequest {
            clients,
            source,
            purpose,
            ..
        } = request;
        // git treats the name of a host as a directory, and its errors quote files.
        if source.is_on_this_machine() && source.path_on_this_machine().is_none() {
            return Err(FetchError::address(
                "it does not name a directory of this machine",
            ));
        }
        // A tag or a branch may move, so the package that it had is remembered for a while only.
        let lifetime = if source.is_immutable() {
            None
        } else {
            Some(LIFETIME)
        };
        if purpose == FetchPurpose::Reading
            && source.getter() != Getter::File
            && let Some(package) =
                self.remembered_package(&source.package, lifetime, String::new())?
        {
            return Ok(package);
        }

        let scratch = self.cache()?.scratch()?;
        match source.getter() {
            Getter::Git => self.fetch_git(request, scratch.path()),
            Getter::Http => self.fetch_http(request, scratch.path()),
            Getter::File => self.fetch_file(request, scratch.path()),
            Getter::Oci if clients.dialect == Dialect::Tofu => {
                self.fetch_oci(request, scratch.path())
            }
            getter => {
                let (written, _) = source.getter_and_url();
                let error = FetchError::address(format!("{written:?} addresses are not supported"));
                Err(if getter == Getter::Unsupported {
                    error.help(Help::text("install it with ").and(Remedy::InstallModules))
                } else {
                    error.help("use git::, https:// or the address of a module in a registry")
                })
            }
        }
    }

    /// Fetches the commit of a git address with its submodules. A repository without a commit is a
    /// package that cannot be locked.
    fn fetch_git(&self, request: PackageRequest<'_>, scratch: &Path) -> FetchResult<Package> {
        let PackageRequest {
            clients,
            source,
            purpose,
            is_locked,
            ..
        } = request;
        let mut address = GitAddress::parse(source.url())?;
        address.allows_any_commit = is_locked;
        if ArchiveParameters::of(&request_url(source.url())?, clients.dialect)?
            .format
            .is_some()
        {
            let error = FetchError::address(
                "its address names an archive in a git repository, which is not supported",
            );
            return Err(
                error.help("write the address of the repository, or of an archive without git::")
            );
        }
        let directory = new_directory(scratch, "package")?;
        let fetched = self.git(&scratch.join("git")).fetch(&address, &directory)?;
        let mut lock_address = String::new();
        let mut why_not_lockable = Some(FetchError::package("it has no commit"));
        if let Some(commit) = fetched.commit {
            lock_address = source.without_credentials().at_commit(&commit).package;
            why_not_lockable = fetched.why_not_lockable;
        }
        self.put_into_cache(
            Some(&source.package),
            lock_address,
            UnpackedPackage {
                directory,
                why_not_lockable,
                zh: None,
            },
            purpose,
        )
    }

    /// Returns git with the user's settings. `directory` is empty or missing.
    pub(super) fn git<'a>(&'a self, directory: &'a Path) -> Git<'a> {
        let environment = self.connections.environment();
        let time_limit = environment
            .seconds(variables::GIT_TIMEOUT)
            .unwrap_or(GIT_TIME_LIMIT);
        Git::new(
            Path::new("git"),
            environment.os_variable("GIT_SSH_COMMAND"),
            directory,
            time_limit,
        )
        .with_client(self.connections.limiting_client())
    }

    /// Fetches the package of an HTTP address: the archive there or, if the server refers to a
    /// different address, the package of that one.
    fn fetch_http(&self, request: PackageRequest<'_>, scratch: &Path) -> FetchResult<Package> {
        let PackageRequest {
            clients,
            source,
            purpose,
            referrals,
            ..
        } = request;
        let netrc = self.netrc()?;
        let address = HttpAddress::parse(source.url(), clients.dialect, netrc)?;
        let client = clients.http.clone();
        let client = if source.is_unencrypted() {
            client.with_plain_http()
        } else {
            client
        };
        let next = match address.fetch(&client, netrc, scratch)? {
            HttpPackage::Archive(file, format) => {
                return self
                    .put_archive_into_cache(request, unpack_archive(scratch, file, Some(format))?);
            }
            HttpPackage::Elsewhere(next) => next,
        };
        if referrals == MOST_REFERRALS {
            return Err(FetchError::package(format!(
                "more than {MOST_REFERRALS} servers in a row refer to a different server"
            )));
        }
        // An unencrypted source has accepted that its answer can be changed on the way.
        if !source.is_unencrypted() {
            check_referral(clients, &next)?;
        }
        let package = self.obtain_named(PackageRequest {
            source: &next,
            referrals: referrals + 1,
            ..request
        })?;
        let package =
            self.narrow_to_directory(package, &next.directory, Wildcards::Expanded, purpose)?;
        if purpose == FetchPurpose::Reading
            && let Some(h1) = &package.h1
        {
            self.cache()?.remember(&source.package, h1, "")?;
        }
        Ok(package)
    }

    /// Makes a package of only the files in a directory of a package, and puts it into the cache.
    /// For an empty path, returns the same package.
    pub(super) fn narrow_to_directory(
        &self,
        package: Package,
        directory: &str,
        wildcards: Wildcards,
        purpose: FetchPurpose,
    ) -> FetchResult<Package> {
        if directory.is_empty() {
            return Ok(package);
        }
        let selected_path = package.directory(directory, wildcards)?;
        let scratch = self.cache()?.scratch()?;
        let target = new_directory(scratch.path(), "package")?;
        copy::tree(&selected_path, &target)?;
        let below = package.below_top(&selected_path);
        let lock_address = package
            .lock_address
            .map(|address| with_directory(&address, &below))
            .unwrap_or_default();
        let narrowed = self.put_into_cache(
            None,
            lock_address,
            UnpackedPackage {
                directory: target,
                why_not_lockable: None,
                zh: package.zh,
            },
            purpose,
        )?;
        Ok(Package {
            origin: package.origin,
            name: package.name,
            ..narrowed
        })
    }

    fn fetch_oci(&self, request: PackageRequest<'_>, scratch: &Path) -> FetchResult<Package> {
        let source = request.source;
        let url = request_url(source.url())?;
        let package = ModulePackage::parse(&url).map_err(FetchError::address)?;
        let mut file = tempfile::tempfile_in(scratch)?;
        let subject = format!("the module package {}", source.without_directory());
        let downloaded = request
            .clients
            .oci_registries
            .download_module(&package, &subject, MOST_BYTES, &mut file);
        let digest = downloaded?;
        // The digest of the manifest that was read, because the tag may have moved since.
        self.put_into_cache(
            Some(&source.package),
            source.at_digest(&digest).package,
            unpack_archive(scratch, file, Some(Format::Zip))?,
            request.purpose,
        )
    }

    /// Returns the package of a `file` address: a directory, which is read where it is and cannot
    /// be locked, or an archive.
    fn fetch_file(&self, request: PackageRequest<'_>, scratch: &Path) -> FetchResult<Package> {
        let PackageRequest {
            clients, source, ..
        } = request;
        let (Some(path), Ok(url)) = (source.path_on_this_machine(), Url::parse(source.url()))
        else {
            return Err(FetchError::address("its URL does not name a file"));
        };
        let parameters = ArchiveParameters::of(&url, clients.dialect)?;
        if path.is_dir() {
            if parameters.format.is_some() {
                return Err(FetchError::address(
                    "it is a directory, and its address names an archive",
                ));
            }
            if request.purpose == FetchPurpose::Locking {
                let why = "a directory of this machine cannot be locked; its address may lead to other files";
                return Err(FetchError::address(why));
            }
            return Ok(Package::of_this_machine(path, String::new()));
        }
        let Some(format) = parameters.format else {
            return Err(FetchError::address(
                "it is neither a directory nor an archive",
            ));
        };
        let mut file = File::open(&path)
            .map_err(|error| Diagnostics::from(Diagnostic::io("read", &path, &error)))?;
        parameters.verify_checksum(&mut file, |url| {
            http::read_list(&clients.http, self.netrc()?, url)
        })?;
        let package =
            self.put_archive_into_cache(request, unpack_archive(scratch, file, Some(format))?)?;
        Ok(Package {
            origin: PackageOrigin::ThisMachine,
            ..package
        })
    }

    fn netrc(&self) -> FetchResult<&Netrc> {
        self.connections.netrc().map_err(FetchError::package)
    }

    fn put_archive_into_cache(
        &self,
        request: PackageRequest<'_>,
        unpacked: UnpackedPackage,
    ) -> FetchResult<Package> {
        let lock_address = request.source.without_credentials().package;
        self.put_into_cache(
            Some(&request.source.package),
            lock_address,
            unpacked,
            request.purpose,
        )
    }

    /// Moves a package into the cache. A package for a lock file is found there by `lock_address`
    /// and a hash, any other package by `key`, if it has one.
    fn put_into_cache(
        &self,
        key: Option<&str>,
        lock_address: String,
        unpacked: UnpackedPackage,
        purpose: FetchPurpose,
    ) -> FetchResult<Package> {
        let UnpackedPackage {
            directory,
            why_not_lockable,
            zh,
        } = unpacked;
        // A package without one of its files can be read, but not be locked.
        if purpose == FetchPurpose::Locking
            && let Some(why) = why_not_lockable
        {
            return Err(why);
        }
        let cache = self.cache()?;
        let content = cache.put(&directory)?;
        if purpose == FetchPurpose::Locking {
            cache.record(&lock_address, &content.h1, zh.as_ref())?;
        } else if let Some(key) = key {
            cache.remember(key, &content.h1, "")?;
        }
        let lock_address = (purpose == FetchPurpose::Locking).then_some(lock_address);
        Ok(Package {
            zh,
            lock_address,
            origin: PackageOrigin::Network,
            ..Package::cached(content, String::new())
        })
    }
}

/// Refuses an unencrypted address to which an encrypted one leads.
fn check_referral(clients: &Clients, to: &RemoteSource) -> FetchResult<()> {
    let Ok(url) = Url::parse(to.url()) else {
        return Ok(());
    };
    clients
        .http
        .check_permitted(&url)
        .map_err(|error| FetchError::from(error).about_package(&to.without_directory()))
}

/// Unpacks an archive in a scratch directory. Without a format, its first bytes decide. A web page
/// is an error that says so.
fn unpack_archive(
    scratch: &Path,
    mut archive: File,
    format: Option<Format>,
) -> FetchResult<UnpackedPackage> {
    let mut start = Vec::new();
    (&mut archive).take(64).read_to_end(&mut start)?;
    archive.rewind()?;
    if is_web_page(&start) {
        return Err(
            FetchError::package("it is a web page instead of an archive").help(WEB_PAGE_HELP),
        );
    }
    let format = format.or_else(|| Format::of_content(&start));
    let format = format.ok_or_else(|| FetchError::unreadable("it is not an archive"))?;
    let zh = format!("zh:{}", hexadecimal::<Sha256>(&mut archive)?)
        .parse()
        .ok();
    let directory = new_directory(scratch, "package")?;
    let why_not_lockable = archive::unpack(archive, format, MOST_BYTES, &directory)?;
    Ok(UnpackedPackage {
        directory,
        why_not_lockable,
        zh,
    })
}

pub(super) fn new_directory(scratch: &Path, name: &str) -> io::Result<PathBuf> {
    let path = scratch.join(name);
    storage::create_directory(&path)?;
    Ok(path)
}

#[cfg(test)]
mod tests;
