//! Fetches packages of modules, each once a run, and remembers them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tempfile::TempDir;

use super::cache::{About, PackageCache, Stored};
use super::contents::is_configuration;
use super::git::{Git, GitAddress, GitError};
use super::source::{RegistryModule, RemoteSource};
use crate::cli_config::Environment;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::once_map::OnceMap;
use crate::version::Version;

/// How long a package is kept whose address may mean something else tomorrow.
const LIFETIME: Duration = Duration::from_hours(1);
/// How long git may take for a package, unless `PROVLOCK_GIT_TIMEOUT` says otherwise.
const GIT_TIME_LIMIT: Duration = Duration::from_mins(5);

/// Fetches packages, to be shared by the threads of a run.
pub struct PackageFetcher {
    environment: Environment,
    cache: Option<PackageCache>,
    /// Where packages are kept during the run when there is no cache.
    scratch: OnceLock<std::result::Result<(TempDir, PackageCache), String>>,
    packages: OnceMap<String, Result<Arc<Package>>>,
    registry_packages: OnceMap<(RegistryModule, Version), Result<Arc<Package>>>,
}

/// A fetched package: the configuration files in it, without anything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// The directory with its files. Nothing outside belongs to the package.
    pub top: PathBuf,
    /// The directory that its address leads to: `top`, or one below it.
    pub directory: PathBuf,
    /// Where it came from.
    pub origin: PackageOrigin,
    /// The commit that it was taken from, if it comes from a repository.
    pub commit: Option<String>,
    /// Its address, without secrets.
    pub address: String,
}

/// Where a package came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageOrigin {
    /// It was fetched in this run.
    Network,
    /// An earlier run fetched it.
    Cache,
    /// A directory of this machine, where it is read.
    Directory,
}

/// Whether `*` in the directory of a source stands for other text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wildcards {
    /// It stands for one directory, as in a package's own address.
    Expanded,
    /// It stands for itself, as in a registry address.
    Literal,
}

impl PackageFetcher {
    /// Packages are kept below `cache_directory`; without it, as long as the fetcher lives.
    pub fn new(environment: &Environment, cache_directory: Option<&Path>) -> Self {
        Self {
            environment: environment.clone(),
            cache: cache_directory.map(PackageCache::open),
            scratch: OnceLock::new(),
            packages: OnceMap::default(),
            registry_packages: OnceMap::default(),
        }
    }

    /// The package of an address, whatever its directory.
    ///
    /// # Errors
    /// When it cannot be fetched or is not fit to be read.
    pub fn fetch(&self, source: &RemoteSource) -> Result<Arc<Package>> {
        self.packages.get_or_compute(source.package.clone(), || self.cached_or_fetched(source).map(Arc::new))
    }

    /// The package of an address if an earlier run fetched it, however long ago. Nobody is asked.
    pub fn cached(&self, source: &RemoteSource) -> Option<Package> {
        let stored = self.cache.as_ref()?.get(&source.package, None)?;
        Some(Package::stored(stored, PackageOrigin::Cache, address_of(source)))
    }

    /// The package of a version of a registry module. If no earlier run fetched it, `locate` says where it is.
    ///
    /// # Errors
    /// Those of `locate`, and of [`PackageFetcher::fetch`].
    pub fn fetch_version(
        &self,
        module: &RegistryModule,
        version: &Version,
        locate: impl FnOnce() -> Result<RemoteSource>,
    ) -> Result<Arc<Package>> {
        self.registry_packages.get_or_compute((module.clone(), version.clone()), || {
            if let Some(package) = self.cached_version(module, version) {
                return Ok(Arc::new(package));
            }
            let source = locate()?;
            let package = self.fetch(&source)?;
            let directory = package.directory(&source.directory, Wildcards::Literal)?;
            if let Some(cache) = &self.cache
                && let Ok(relative) = directory.strip_prefix(&package.top)
            {
                let about =
                    About { directory: relative.to_string_lossy().into_owned(), commit: package.commit.clone() };
                // A cache that cannot be written is no reason to stop.
                let _ = cache.put_again(&version_address(module, version), &Stored { top: package.top.clone(), about });
            }
            Ok(Arc::new(Package { directory, ..Package::clone(&package) }))
        })
    }

    /// The package of a version of a registry module if an earlier run fetched it. Nobody is asked.
    pub fn cached_version(&self, module: &RegistryModule, version: &Version) -> Option<Package> {
        let stored = self.cache.as_ref()?.get(&version_address(module, version), None)?;
        Some(Package::stored(stored, PackageOrigin::Cache, format!("{module} {version}")))
    }

    fn cached_or_fetched(&self, source: &RemoteSource) -> Result<Package> {
        let address = address_of(source);
        match source.getter() {
            ("git", url) => self.git(source, url).map_err(|error| git_failed(&address, error)),
            (getter, _) => Err(unsupported(&address, getter).into()),
        }
    }

    fn git(&self, source: &RemoteSource, url: &str) -> std::result::Result<Package, GitError> {
        let address = GitAddress::parse(url)?;
        let shown = address_of(source);
        if let Some(package) = self.remembered(source, (!address.is_immutable()).then_some(LIFETIME)) {
            return Ok(package);
        }
        let seconds = self.environment.variable("PROVLOCK_GIT_TIMEOUT").and_then(|value| value.trim().parse().ok());
        let git = Git {
            program: Path::new("git"),
            time_limit: seconds.filter(|seconds| *seconds > 0).map_or(GIT_TIME_LIMIT, Duration::from_secs),
            ssh_command: self.environment.variable("GIT_SSH_COMMAND"),
        };
        let cache = self.storage()?;
        let workshop = cache.workshop()?;
        let (repository, package) = (workshop.path().join("repository"), workshop.path().join("package"));
        fs::create_dir(&repository).and_then(|()| fs::create_dir(&package))?;
        let commit = git.fetch(&address, &repository, &package)?;
        let identity = format!("{} {}", address.repository(), commit.as_deref().unwrap_or("empty"));
        let about = About { directory: String::new(), commit };
        let stored = cache.put(&source.package, &identity, &about, &package)?;
        Ok(Package::stored(stored, PackageOrigin::Network, shown))
    }

    /// A package of an earlier run that is not older than `lifetime`.
    fn remembered(&self, source: &RemoteSource, lifetime: Option<Duration>) -> Option<Package> {
        let stored = self.cache.as_ref()?.get(&source.package, lifetime)?;
        Some(Package::stored(stored, PackageOrigin::Cache, address_of(source)))
    }

    /// Where packages are put: the cache, or a directory that is removed at the end.
    fn storage(&self) -> io::Result<&PackageCache> {
        if let Some(cache) = &self.cache {
            return Ok(cache);
        }
        let scratch = self.scratch.get_or_init(|| {
            let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
            let cache = PackageCache::open(directory.path());
            Ok((directory, cache))
        });
        scratch.as_ref().map(|(_, cache)| cache).map_err(|why| io::Error::other(why.clone()))
    }
}

impl Package {
    fn stored(stored: Stored, origin: PackageOrigin, address: String) -> Self {
        let directory = stored.top.join(&stored.about.directory);
        Self { top: stored.top, directory, origin, commit: stored.about.commit, address }
    }

    /// A directory of the package, relative to where its address leads.
    ///
    /// # Errors
    /// When there is no such directory, several, or it is not in the package, and when it holds a configuration file that is not.
    pub fn directory(&self, directory: &str, wildcards: Wildcards) -> Result<PathBuf> {
        let failed =
            |why: String| Diagnostic::error(Code::InvalidPackage, format!("the module package {} {why}", self.address));
        let found = match wildcards {
            Wildcards::Expanded if directory.contains(['*', '?', '[']) => {
                let mut matches = matching(&self.directory, directory);
                match (matches.pop(), matches.pop()) {
                    (Some(only), None) => only,
                    (None, _) => return Err(failed(format!("has no directory that {directory:?} stands for")).into()),
                    _ => return Err(failed(format!("has several directories that {directory:?} stands for")).into()),
                }
            }
            _ => self.directory.join(directory),
        };
        let missing = || failed(format!("has no directory {directory:?}"));
        let (Ok(top), Ok(canonical)) = (self.top.canonicalize(), found.canonicalize()) else {
            return Err(missing().into());
        };
        if !canonical.starts_with(&top) {
            return Err(failed(format!("does not hold {directory:?}: that leads out of it")).into());
        }
        let entries = fs::read_dir(&canonical).map_err(|_| missing())?;
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_outside = |path: PathBuf| !path.canonicalize().is_ok_and(|target| target.starts_with(&top));
            if is_configuration(&name) && entry.path().is_symlink() && is_outside(entry.path()) {
                return Err(failed(format!("holds {name}, which is a link that leads out of it, or nowhere")).into());
            }
        }
        Ok(found)
    }
}

/// The directories below `top` that a pattern stands for, where `*` and `?` stand for no slash.
fn matching(top: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![top.to_owned()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let matcher =
            globset::GlobBuilder::new(part).literal_separator(true).build().map(|glob| glob.compile_matcher());
        let Ok(matcher) = matcher else { return Vec::new() };
        let children = found.iter().filter_map(|directory| fs::read_dir(directory).ok());
        let children = children.flat_map(|entries| entries.flatten().map(|entry| entry.path()));
        found = children
            .filter(|path| path.is_dir() && path.file_name().is_some_and(|name| matcher.is_match(name)))
            .collect();
    }
    found
}

/// The address of a package without its directory, as it is shown.
fn address_of(source: &RemoteSource) -> String {
    RemoteSource { directory: String::new(), ..source.clone() }.to_string()
}

/// The address under which a version of a registry module is kept. No package has it for its own, since those are URLs.
fn version_address(module: &RegistryModule, version: &Version) -> String {
    format!("{}/{}/{}/{} {version}", module.host.as_ascii(), module.namespace, module.name, module.system)
}

fn git_failed(address: &str, error: GitError) -> crate::diagnostic::Diagnostics {
    let message = format!("cannot get the module package {address}: {}", error.why);
    let diagnostic = Diagnostic::error(Code::RequestFailed, message);
    if error.said.is_empty() {
        return diagnostic.into();
    }
    let diagnostic = error.said.into_iter().fold(diagnostic, Diagnostic::note);
    diagnostic
        .help("see whether git clone can fetch it; git uses its credential helpers and ssh keys, and asks nothing")
        .into()
}

fn unsupported(address: &str, getter: &str) -> Diagnostic {
    let message =
        format!("cannot get the module package {address}: {getter:?} is no way to get packages that is known here");
    let diagnostic = Diagnostic::error(Code::InvalidConfiguration, message);
    match getter {
        "s3" | "gcs" | "hg" => diagnostic.help("install it with tofu get or terraform get; it is read from there then"),
        _ => diagnostic.help("use git::, https:// or the address of a module in a registry"),
    }
}

impl From<io::Error> for GitError {
    fn from(error: io::Error) -> Self {
        Self { why: format!("there is no place to put it: {error}"), said: Vec::new() }
    }
}
