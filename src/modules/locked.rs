//! The packages that a lock file of modules records.

use super::git::GitAddress;
use super::source::{ModuleSource, RegistryModule, RemoteSource, with_directory};
use crate::lockfile::LockedModule;
use crate::modules::registry;
use crate::provider::{ConstraintList, Dialect, Hash, Version};

/// The start of the address of a package that a registry hands out.
const REGISTRY: &str = "registry::";

/// The address of a locked package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LockedAddress {
    /// What a registry hands out as a version, with the directory that it names.
    Registry { module: RegistryModule, version: Version, directory: String },
    /// Any other package.
    Remote(RemoteSource),
}

impl LockedAddress {
    /// Reads the `package` of an entry.
    fn parse(text: &str) -> Option<Self> {
        let Some(rest) = text.strip_prefix(REGISTRY) else { return RemoteSource::parse_full(text).map(Self::Remote) };
        let (name, rest) = rest.split_once('@')?;
        let (version, directory) = rest.split_once("//").unwrap_or((rest, ""));
        // The host is written, so the dialect does not matter.
        let module = RegistryModule::parse(name, Dialect::default()).filter(|_| name.split('/').count() == 4)?;
        Some(Self::Registry { module, version: version.parse().ok()?, directory: directory.to_owned() })
    }

    /// The address of a version of a registry module.
    pub(super) fn of_version(module: &RegistryModule, version: &Version) -> String {
        format!("{REGISTRY}{module}@{version}")
    }

    /// The address of an entry for a call with this source.
    ///
    /// # Errors
    /// Why the package cannot be that of the source. The text continues a message that names the call.
    pub(super) fn of(locked: &LockedModule, source: &ModuleSource) -> Result<Self, String> {
        let Some(address) = Self::parse(&locked.package) else {
            return Err(format!("is locked with {:?}, which is not the address of a package", locked.package));
        };
        if !locked.hashes.iter().any(Hash::is_known) {
            return Err("is locked without a hash that could be compared".to_owned());
        }
        let of_another = || format!("is locked with {}, which is not a package of its source", locked.package);
        let is_own = match (&address, source) {
            (Self::Registry { module, version, .. }, ModuleSource::Registry(source)) => {
                *module == source.module && Some(version) == locked.version.as_ref()
            }
            (Self::Remote(package), ModuleSource::Registry(_)) => {
                locked.version.is_some() && !package.is_on_this_machine() && !package.is_unencrypted()
            }
            (Self::Remote(package), ModuleSource::Remote(source)) => match (package.getter(), source.getter()) {
                (("git", _), ("git", _)) => {
                    let at_commit = package.at_commit("").package;
                    at_commit == source.without_credentials().at_commit("").package && package.directory.is_empty()
                }
                (_, ("http" | "https", _)) => {
                    source.is_unencrypted() || !(package.is_unencrypted() || package.is_on_this_machine())
                }
                (package, source) => package.0 == source.0,
            },
            _ => false,
        };
        if !is_own {
            return Err(of_another());
        }
        match &address {
            Self::Remote(package) if package.getter().0 == "git" && locked_commit(package).is_none() => {
                Err(format!("is locked with {}, whose ref is not a full commit id", locked.package))
            }
            _ => Ok(address),
        }
    }
}

impl LockedAddress {
    /// The address under which the cache keeps the package, and the directory in it that the registry of a call with
    /// this source names. Of any other source, the directory is all that there is of the package.
    pub(super) fn key(&self, source: &ModuleSource) -> (String, String) {
        match (self, source) {
            (Self::Registry { module, version, directory }, _) => {
                (Self::of_version(module, version), directory.clone())
            }
            (Self::Remote(package), ModuleSource::Registry(_)) => (package.package.clone(), package.directory.clone()),
            (Self::Remote(package), _) => (with_directory(&package.package, &package.directory), String::new()),
        }
    }
}

/// What messages call a locked package: its source and version, or its address.
pub(super) fn name(locked: &LockedModule) -> String {
    match &locked.version {
        Some(version) => format!("{} {version}", locked.source),
        None => locked.package.clone(),
    }
}

/// The address of a locked package in git, and the commit; none if the package comes from elsewhere.
pub(crate) fn repository(locked: &LockedModule) -> Option<(RemoteSource, String)> {
    let package = RemoteSource::parse_full(&locked.package).filter(|package| package.getter().0 == "git")?;
    let commit = locked_commit(&package)?;
    Some((package, commit))
}

/// The commit that the address of a locked package in git names.
pub(super) fn locked_commit(package: &RemoteSource) -> Option<String> {
    let address = GitAddress::parse(package.getter().1).ok()?;
    address.reference().filter(|reference| GitAddress::is_commit(reference)).map(str::to_owned)
}

/// The commit that an entry records.
pub(crate) fn commit(locked: &LockedModule) -> Option<String> {
    locked_commit(&RemoteSource::parse_full(&locked.package).filter(|package| package.getter().0 == "git")?)
}

/// Whether a locked module is still what a call with this source and these constraints may get.
pub(crate) fn is_allowed(locked: &LockedModule, source: &ModuleSource, constraints: &ConstraintList) -> bool {
    let allows = |version| constraints.is_empty() || registry::allows(constraints, version);
    locked.source == source.recorded()
        && match source {
            ModuleSource::Registry(_) => locked.version.as_ref().is_some_and(allows),
            _ => locked.version.is_none(),
        }
}
