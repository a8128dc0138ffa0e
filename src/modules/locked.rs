//! The packages that a lock file of modules records.

use std::collections::BTreeSet;
use std::sync::Arc;

use url::Url;

use super::fetched::ModuleRequest;
use super::git::GitAddress;
use super::package::Package;
use super::source::{Getter, ModuleSource, RegistryModule, RemoteSource, with_directory};
use crate::diagnostic::{Code, Diagnostic};
use crate::lockfile::{self, LockedModule};
use crate::modules::registry;
use crate::provider::{ConstraintList, Dialect, Hash, HashesByScheme, Version};

/// Start of the address of a package that a registry hands out.
const REGISTRY: &str = "registry::";
/// Hosts on which the first part of a path is the owner of a repository or a bucket, for archives,
/// too.
const SHARED_HOSTS: [&str; 11] = [
    "bitbucket.org",
    "codeberg.org",
    "codeload.github.com",
    "dev.azure.com",
    "gist.githubusercontent.com",
    "github.com",
    "gitlab.com",
    "media.githubusercontent.com",
    "raw.githubusercontent.com",
    "storage.cloud.google.com",
    "storage.googleapis.com",
];

/// The address of a locked package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LockedAddress {
    /// The package of a version in a registry, and the directory in it that the registry specifies.
    Registry {
        module: RegistryModule,
        version: Version,
        directory: String,
    },
    /// Any other package.
    Remote(RemoteSource),
}

/// Whether `recorded` may be the address of the package of a source.
fn is_package_of(recorded: &RemoteSource, source: &RemoteSource) -> bool {
    match (recorded.getter(), source.getter()) {
        // The same repository at any commit: the source may name a branch or a tag. Its credentials
        // are never recorded, so an address with credentials is of no source.
        (Getter::Git, Getter::Git) => {
            recorded.directory.is_empty()
                && recorded.address_without_revision()
                    == source.without_credentials().address_without_revision()
        }
        // The same repository at any digest, unless the source has one.
        (Getter::Oci, Getter::Oci) => {
            if source.is_immutable() && digest(recorded) != digest(source) {
                return false;
            }
            recorded.directory.is_empty()
                && recorded.at_digest("").package == source.at_digest("").package
        }
        // A web server may refer to a different address, but an encrypted one not to an unencrypted
        // one.
        (_, Getter::Http) => {
            !recorded.is_on_this_machine()
                && (source.is_unencrypted() || !recorded.is_unencrypted())
        }
        _ => {
            *recorded
                == RemoteSource {
                    directory: String::new(),
                    ..source.without_credentials()
                }
        }
    }
}

impl LockedAddress {
    /// Parses the `package` of an entry: `registry::registry.opentofu.org/acme/net/aws@1.2.0`, or a
    /// full source.
    fn parse(text: &str) -> Option<Self> {
        let Some(rest) = text.strip_prefix(REGISTRY) else {
            return RemoteSource::parse_full(text).map(Self::Remote);
        };
        // The host is written, so the dialect does not matter.
        let (name, rest) = rest
            .split_once('@')
            .filter(|(name, _)| name.split('/').count() == 4)?;
        let (version, directory) = rest.split_once("//").unwrap_or((rest, ""));
        let module = RegistryModule::parse(name, Dialect::default())?;
        Some(Self::Registry {
            module,
            version: version.parse().ok()?,
            directory: directory.to_owned(),
        })
    }

    /// Returns the address of a version of a registry module.
    pub(super) fn of_version(module: &RegistryModule, version: &Version) -> String {
        format!("{REGISTRY}{module}@{version}")
    }

    /// Returns the address of an entry for a call with this source.
    ///
    /// # Errors
    /// The package cannot be that of the source, or there is no hash. The text continues a message
    /// that names the call.
    pub(super) fn of(locked: &LockedModule, source: &ModuleSource) -> Result<Self, String> {
        let address = Self::of_source(locked, source)?;
        if !locked.hashes.iter().any(Hash::is_known) {
            return Err("is locked without a hash that can be compared".to_owned());
        }
        Ok(address)
    }

    /// [`LockedAddress::of`] without looking at the hashes.
    fn of_source(locked: &LockedModule, source: &ModuleSource) -> Result<Self, String> {
        let package = &locked.package;
        let Some(address) = Self::parse(package) else {
            return Err(format!(
                "is locked with {package:?}, which is not the address of a package"
            ));
        };
        if !address.is_of_source(locked, source) {
            return Err(format!(
                "is locked with {package}, which is not a package of its source"
            ));
        }
        if let Self::Remote(remote) = &address {
            if remote.getter() == Getter::Git && locked_commit(remote).is_none() {
                return Err(format!(
                    "is locked with {package}, whose ref is not a full commit id"
                ));
            }
            if remote.getter() == Getter::Oci && !remote.is_immutable() {
                return Err(format!(
                    "is locked with {package}, which has no sha256 digest"
                ));
            }
        }
        Ok(address)
    }

    /// Whether an entry may record this address for a call with this source.
    fn is_of_source(&self, locked: &LockedModule, source: &ModuleSource) -> bool {
        match (self, source) {
            (
                Self::Registry {
                    module, version, ..
                },
                ModuleSource::Registry(source),
            ) => *module == source.module && Some(version) == locked.version.as_ref(),
            // The registry decides where the package is, except for places that it may not choose.
            (Self::Remote(package), ModuleSource::Registry(_)) => {
                locked.version.is_some()
                    && !package.is_on_this_machine()
                    && !package.is_unencrypted()
            }
            (Self::Remote(package), ModuleSource::Remote(source)) => is_package_of(package, source),
            (Self::Registry { .. }, ModuleSource::Remote(_)) | (_, ModuleSource::Local(_)) => false,
        }
    }

    /// Returns the address of the package in the cache, and the directory in it that the registry
    /// of a call with this source specifies. For any other source, a package with a directory
    /// contains only that directory.
    pub(super) fn cache_key(&self, source: &ModuleSource) -> (String, String) {
        match (self, source) {
            (
                Self::Registry {
                    module,
                    version,
                    directory,
                },
                _,
            ) => (Self::of_version(module, version), directory.clone()),
            (Self::Remote(package), ModuleSource::Registry(_)) => {
                (package.package.clone(), package.directory.clone())
            }
            (Self::Remote(package), _) => (
                with_directory(&package.package, &package.directory),
                String::new(),
            ),
        }
    }
}

/// The error for a package that does not have a locked hash.
pub(super) fn replaced_error(locked: &LockedModule, package: &Package) -> Diagnostic {
    let HashesByScheme {
        h1,
        zh,
        unknown,
        malformed,
    } = locked.hashes.iter().collect();
    // Hashes are compared by `h1:`, if the entry has one.
    let mut expected = h1;
    let mut found = &package.h1;
    if expected.is_empty() {
        expected = [zh, unknown, malformed].concat();
        found = &package.zh;
    }
    let expected: Vec<_> = expected.into_iter().map(Hash::as_str).collect();
    let message = format!(
        "the package of {} has changed since it was locked",
        display_name(locked)
    );
    let error = Diagnostic::error(Code::ModuleReplaced, message)
        .note(format!("locked hash: {}", expected.join(", ")))
        .note(format!(
            "fetched hash: {}",
            found.as_ref().map_or("none", Hash::as_str)
        ));
    error.help(
        "find out why before you accept it: a version or address should never change its content",
    )
}

/// Returns the name of a locked package in messages: its source and version, or its address.
pub(crate) fn display_name(locked: &LockedModule) -> String {
    match &locked.version {
        Some(version) => format!("{} {version}", locked.source),
        None => locked.package.clone(),
    }
}

/// The repository and the commit of a locked package in git; `None` if it is not in git.
pub(crate) fn git_repository(locked: &LockedModule) -> Option<(RemoteSource, String)> {
    let pinned = PinnedAddress::parse(&locked.package)?;
    match pinned.revision {
        Revision::Commit(commit) => Some((pinned.package, commit)),
        Revision::Digest(_) => None,
    }
}

/// An immutable address, split into the address without its revision, and the revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PinnedAddress {
    pub(super) package: RemoteSource,
    /// The repository, whatever the revision.
    pub(super) repository: String,
    pub(super) revision: Revision,
}

/// The revision in the address of a locked package.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
pub(super) enum Revision {
    /// The full ID of a commit.
    Commit(String),
    /// The digest of a manifest in an OCI registry.
    Digest(String),
}

impl PinnedAddress {
    /// Parses the address of a locked package; `None` if it contains neither a commit nor a digest.
    pub(super) fn parse(package: &str) -> Option<Self> {
        let package = RemoteSource::parse_full(package)?;
        if package.getter() == Getter::Git {
            let commit = locked_commit(&package)?;
            return Some(Self {
                repository: package.at_commit("").full(),
                package,
                revision: Revision::Commit(commit),
            });
        }
        Some(Self {
            repository: package.at_digest("").full(),
            revision: Revision::Digest(digest(&package)?),
            package,
        })
    }
}

/// The commit in the address of a locked package in git.
pub(super) fn locked_commit(package: &RemoteSource) -> Option<String> {
    let address = GitAddress::parse(package.url()).ok()?;
    address
        .reference()
        .filter(|reference| GitAddress::is_commit(reference))
        .map(str::to_owned)
}

/// The commit of a locked package; `None` if it is not in git, or if its `ref` is not a full commit
/// id.
pub fn commit_of(locked: &LockedModule) -> Option<String> {
    git_repository(locked).map(|(_, commit)| commit)
}

/// The digest of a locked package in an OCI registry; `None` if it is not in one.
pub fn digest_of(locked: &LockedModule) -> Option<String> {
    digest(&RemoteSource::parse_full(&locked.package)?)
}

/// The digest in the address of a package in an OCI registry.
fn digest(package: &RemoteSource) -> Option<String> {
    package.in_oci_registry()?.digest()
}

/// Whether a call with this source and these constraints may get a locked module.
pub(crate) fn is_allowed(
    locked: &LockedModule,
    source: &ModuleSource,
    constraints: &ConstraintList,
) -> bool {
    check_entry("", locked, source, constraints).is_ok()
}

/// Reason why a call does not get a locked module.
pub(crate) struct RefusedEntry {
    pub(crate) code: Code,
    /// Names the call.
    pub(crate) message: String,
}

impl RefusedEntry {
    /// The reason for a call without an entry.
    pub(crate) fn missing(key: &str) -> Self {
        Self {
            code: Code::ModuleNotLocked,
            message: format!("{} is not locked", lockfile::module_name(key)),
        }
    }
}

/// Returns the entry of the call `key`, if a call with this source and these constraints gets the
/// module that is locked for it.
///
/// # Errors
/// There is no entry, or it is for a different source or version.
pub(crate) fn accepted_entry<'e>(
    key: &str,
    locked: Option<&'e Arc<LockedModule>>,
    source: &ModuleSource,
    constraints: &ConstraintList,
) -> std::result::Result<&'e Arc<LockedModule>, RefusedEntry> {
    let Some(locked) = locked else {
        return Err(RefusedEntry::missing(key));
    };
    check_entry(key, locked, source, constraints)?;
    Ok(locked)
}

/// Checks that the call `key`, with this source and these constraints, may get the module that is
/// locked for it.
///
/// # Errors
/// The entry is for a different source or version.
pub(crate) fn check_entry(
    key: &str,
    locked: &LockedModule,
    source: &ModuleSource,
    constraints: &ConstraintList,
) -> std::result::Result<(), RefusedEntry> {
    let name = lockfile::module_name(key);
    if locked.source != source.lock_file_text() {
        let message = format!(
            "{name} is locked with the source {}, and the configuration has {source}",
            locked.source
        );
        return Err(RefusedEntry {
            code: Code::ModuleLockStale,
            message,
        });
    }
    let (code, how) = match (source, &locked.version) {
        (ModuleSource::Registry(_), Some(version)) => {
            if constraints.is_empty() || registry::allows(constraints, version) {
                return Ok(());
            }
            let how = format!("as {version}, which does not meet \"{constraints}\"");
            (Code::ModuleVersionOutsideConstraints, how)
        }
        (ModuleSource::Registry(_), None) => {
            (Code::ModulePackageForeign, "without a version".to_owned())
        }
        (_, Some(_)) => (
            Code::ModulePackageForeign,
            "with a version, which only modules of a registry have".to_owned(),
        ),
        (_, None) => return Ok(()),
    };
    Err(RefusedEntry {
        code,
        message: format!("{name} is locked {how}"),
    })
}

/// Whether the source of a locked module may lead to different packages on purpose, such as a
/// branch of a repository.
pub(crate) fn may_move(locked: &LockedModule, dialect: Dialect) -> bool {
    match ModuleSource::parse(&locked.source, dialect) {
        Ok(ModuleSource::Remote(source)) => source.is_made_to_move(),
        _ => false,
    }
}

/// Returns the publishers of a locked module: of its source and of its package the host, with the
/// namespace in a registry or the owner of a repository. Without encryption anybody on the way can
/// replace the module, so `http://` and `git://` are part of the publisher.
pub(crate) fn publishers(locked: &LockedModule) -> BTreeSet<String> {
    // The host of a registry is recorded, so that the dialect does not matter.
    let source = ModuleSource::parse(&locked.source, Dialect::default()).ok();
    let package = match LockedAddress::parse(&locked.package) {
        Some(LockedAddress::Registry { module, .. }) => Some(publisher_in_registry(&module)),
        Some(LockedAddress::Remote(source)) => publisher_of_remote(&source),
        None => None,
    };
    source
        .as_ref()
        .and_then(publisher_of_source)
        .into_iter()
        .chain(package)
        .collect()
}

/// Returns the publisher of the source of a call, in the form of [`publishers`].
pub(crate) fn publisher(request: &ModuleRequest) -> Option<String> {
    match request {
        ModuleRequest::Unlocked { source, .. } => publisher_of_source(source),
        ModuleRequest::Locked { locked, .. } => publishers(locked).into_iter().next(),
    }
}

/// Returns the publisher of a source, in the form of [`publishers`].
pub(crate) fn publisher_of_source(source: &ModuleSource) -> Option<String> {
    match source {
        ModuleSource::Registry(source) => Some(publisher_in_registry(&source.module)),
        ModuleSource::Remote(source) => publisher_of_remote(source),
        ModuleSource::Local(_) => None,
    }
}

/// Returns the host of a package and the owner in its path, as in `github.com/acme`, with an
/// unusual port and an unencrypted scheme. `None` if the address has no URL.
fn publisher_of_remote(source: &RemoteSource) -> Option<String> {
    let url = Url::parse(source.url()).ok()?;
    let host = url
        .host_str()
        .unwrap_or("this machine")
        .to_ascii_lowercase();
    let parts: Vec<_> = url.path_segments().into_iter().flatten().collect();
    let length = owner_length(source.getter(), &host, &parts);
    let owner = parts[..length.min(parts.len())].join("/");
    let host = match url
        .port()
        .filter(|port| url.scheme() != "ssh" || *port != 22)
    {
        Some(port) => format!("{host}:{port}"),
        None => host,
    };
    // Without encryption, others than the owner can change what arrives.
    let host = match url.scheme() {
        scheme @ ("http" | "git") => format!("{scheme}://{host}"),
        _ => host,
    };
    Some(if length == 0 {
        host
    } else {
        format!("{host}/{owner}")
    })
}

/// Number of parts of a path that identify the owner of a repository or a bucket: 1 for
/// `github.com/acme/net`, 2 for `bitbucket.example.com/scm/acme/net`, 0 for a host whose files have
/// one publisher.
fn owner_length(getter: Getter, host: &str, parts: &[&str]) -> usize {
    let is_shared = SHARED_HOSTS.contains(&host);
    let is_of_amazon = host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
    let is_path_of_bucket = is_of_amazon && (host.starts_with("s3.") || host.starts_with("s3-"));
    match (getter, parts.first()) {
        (_, Some(&"api")) if host == "gitlab.com" => "api/v4/projects/1".split('/').count(),
        (_, Some(&"repos")) if host == "api.github.com" => "repos/acme".split('/').count(),
        (_, Some(&"storage")) if host == "www.googleapis.com" => {
            "storage/v1/bucket".split('/').count()
        }
        // Bitbucket Server, Azure DevOps over SSH, Google Cloud Source Repositories.
        (Getter::Git, Some(&("scm" | "v3" | "p"))) if !is_shared => 2,
        (Getter::Git | Getter::Oci, _) => 1,
        _ => usize::from(is_shared || is_path_of_bucket),
    }
}

fn publisher_in_registry(module: &RegistryModule) -> String {
    format!("{}/{}", module.host, module.namespace)
}

/// Returns why the package of an entry cannot be that of its source, if it cannot. The text
/// continues a message that names the module.
pub(crate) fn fault(locked: &LockedModule, dialect: Dialect) -> Option<String> {
    match ModuleSource::parse(&locked.source, dialect) {
        Ok(ModuleSource::Local(_)) => {
            Some("is locked, and its source is a local directory".to_owned())
        }
        Ok(source) => LockedAddress::of_source(locked, &source).err(),
        Err(error) => Some(format!(
            "is locked with the source {:?}, which cannot be used: {error}",
            locked.source
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_publisher_owns_a_repository_or_a_bucket() {
        for (source, publisher) in [
            (
                "git::https://github.com/acme/net.git?ref=v1",
                "github.com/acme",
            ),
            (
                "git::https://git.example.com/acme/net.git",
                "git.example.com/acme",
            ),
            (
                "git::https://git.example.com/scm/~acme/net.git",
                "git.example.com/scm/~acme",
            ),
            ("git::https://github.com/scm/net.git", "github.com/scm"),
            (
                "git::git@ssh.dev.azure.com:v3/acme/p/r?ref=v1.0.0",
                "ssh.dev.azure.com/v3/acme",
            ),
            (
                "git::https://source.developers.google.com/p/acme/r/net",
                "source.developers.google.com/p/acme",
            ),
            (
                "https://raw.githubusercontent.com/acme/net/main/m.zip",
                "raw.githubusercontent.com/acme",
            ),
            (
                "https://api.github.com/repos/acme/m/tarball/v1?archive=tar.gz",
                "api.github.com/repos/acme",
            ),
            (
                "https://s3.cn-north-1.amazonaws.com.cn/acme/m.zip",
                "s3.cn-north-1.amazonaws.com.cn/acme",
            ),
            ("https://gitlab.com/acme/net/m.zip", "gitlab.com/acme"),
            (
                "https://gitlab.com/api/v4/projects/1/packages/generic/m.zip",
                "gitlab.com/api/v4/projects/1",
            ),
            (
                "https://storage.googleapis.com/acme/m.zip",
                "storage.googleapis.com/acme",
            ),
            (
                "gcs::https://www.googleapis.com/storage/v1/acme/m.zip",
                "www.googleapis.com/storage/v1/acme",
            ),
            (
                "s3::https://s3.amazonaws.com/acme/m.zip",
                "s3.amazonaws.com/acme",
            ),
            (
                "s3::https://s3-eu-west-1.amazonaws.com/acme/m.zip",
                "s3-eu-west-1.amazonaws.com/acme",
            ),
            (
                "s3::https://acme.s3.amazonaws.com/m.zip",
                "acme.s3.amazonaws.com",
            ),
            ("https://example.com/scm/m.zip", "example.com"),
        ] {
            let parsed = ModuleSource::parse(source, Dialect::default()).unwrap();
            assert_eq!(
                publisher_of_source(&parsed).as_deref(),
                Some(publisher),
                "{source}"
            );
        }
    }
}
