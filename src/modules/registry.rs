//! Registries of modules: their versions, and the locations of their packages
//! (<https://opentofu.org/docs/internals/module-registry-protocol/>; OpenTofu's `internal/registry/client.go`).

use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use url::Url;

use super::fetch_error::{FetchError, FetchResult, has_no_document};
use super::source::{RegistryModule, RemoteSource};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::net::{Client, FetchedDocument, Purpose, RequestErrorKind};
use crate::packages::{Discovery, Service};
use crate::provider::{ConstraintList, Dialect, Hostname, Operator, Version};
use crate::system::bounded::List;
use crate::system::{OnceMap, SafeUrl};

/// Largest list of versions in bytes.
const MAXIMUM_VERSIONS_BYTES: u64 = 8 << 20;
const MOST_VERSIONS: usize = 10_000;
/// Largest number of modules in an answer, which should contain one.
const MOST_MODULES: usize = 16;
/// Largest document with the location of a package in bytes.
const MAXIMUM_LOCATION_BYTES: u64 = 64 << 10;
/// Largest description of a version in bytes. It may list all inputs and resources of the module.
const MAXIMUM_DETAILS_BYTES: u64 = 8 << 20;
/// Header with the location of a package.
const LOCATION: &str = "x-terraform-get";

/// Client for all registries of modules. It requests the versions of each module once per run.
pub(crate) struct ModuleRegistry {
    client: Client,
    discovery: Arc<Discovery>,
    dialect: Dialect,
    versions: OnceMap<RegistryModule, FetchResult<Arc<Vec<Version>>>>,
}

/// Location of the package of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PackageLocation {
    /// A module source.
    Source(RemoteSource),
    /// An archive whose name does not matter (`use_registry_credentials`), and the host whose token
    /// is sent along.
    Archive {
        url: Url,
        credentials_of: Option<Hostname>,
    },
}

#[derive(Deserialize)]
struct VersionsResponse {
    #[serde(default)]
    modules: List<ModuleEntry, MOST_MODULES>,
}

#[derive(Deserialize)]
struct ModuleEntry {
    #[serde(default)]
    versions: List<VersionEntry, MOST_VERSIONS>,
}

#[derive(Deserialize)]
struct VersionEntry {
    version: Option<String>,
}

#[derive(Deserialize)]
struct LocationResponse {
    location: Option<String>,
    use_registry_credentials: Option<bool>,
}

/// Description of a version
/// (<https://developer.hashicorp.com/terraform/registry/api-docs#get-a-specific-module>).
#[derive(Deserialize)]
struct VersionDetails {
    published_at: Option<String>,
}

impl ModuleRegistry {
    /// A client that finds registries with `discovery`.
    pub(crate) fn new(client: Client, discovery: Arc<Discovery>, dialect: Dialect) -> Self {
        Self {
            client,
            discovery,
            dialect,
            versions: OnceMap::default(),
        }
    }

    /// Returns the versions of a module, without unreadable ones.
    pub(super) fn versions(&self, module: &RegistryModule) -> FetchResult<Arc<Vec<Version>>> {
        self.versions
            .get_or_compute(module, || self.list(module).map(Arc::new))
    }

    fn list(&self, module: &RegistryModule) -> FetchResult<Vec<Version>> {
        let what = format!("the versions of {module}");
        let (_, versions) = self.request_document(
            module,
            "versions",
            MAXIMUM_VERSIONS_BYTES,
            &what,
            |document| decode_versions(&document),
        )?;
        Ok(versions)
    }

    /// Returns when a version was published; `None` if the registry does not report it.
    pub(crate) fn published(
        &self,
        module: &RegistryModule,
        version: &Version,
    ) -> Result<Option<Timestamp>> {
        let what = format!("the date of {module} {version}");
        let path = version.to_string();
        let answer =
            self.request_document(module, &path, MAXIMUM_DETAILS_BYTES, &what, |document| {
                let details = serde_json::from_slice::<VersionDetails>(&document.bytes).ok();
                Ok((
                    details.and_then(|details| details.published_at?.parse().ok()),
                    0,
                ))
            });
        Ok(answer.map(|(_, date)| date)?)
    }

    /// Requests the location of the package of a version: an archive, if the registry says whether
    /// its token is sent there, or else a source of any kind.
    pub(super) fn location(
        &self,
        module: &RegistryModule,
        version: &Version,
    ) -> FetchResult<PackageLocation> {
        let name = format!("{module} {version}");
        let path = format!("{version}/download");
        let (url, document) =
            self.request_document(module, &path, MAXIMUM_LOCATION_BYTES, &name, |document| {
                Ok((document, 0))
            })?;
        let Some((location, with_credentials)) = self.read_location(&document) else {
            let why = "does not contain the location of the package";
            return Err(invalid_location_error(&name, &url, why));
        };

        if let Some(with_credentials) = with_credentials {
            let archive = joined_location(&name, &url, &location)?;
            return Ok(self.archive_location(module, archive, with_credentials)?);
        }
        let mut source = location;
        if ["/", "./", "../"]
            .iter()
            .any(|prefix| source.starts_with(prefix))
        {
            source = joined_location(&name, &url, &source)?.to_string();
        }
        let source = match RemoteSource::detect(&source, "") {
            Ok(source) => source,
            Err(error) => {
                let why = format!("contains a location that cannot be used: {error}");
                return Err(invalid_location_error(&name, &url, &why));
            }
        };
        if source.is_on_this_machine() {
            let why = "contains a location on this machine";
            return Err(invalid_location_error(&name, &url, why));
        }
        Ok(PackageLocation::Source(source))
    }

    /// Returns the location in an answer, and the value of `use_registry_credentials`.
    fn read_location(&self, document: &FetchedDocument) -> Option<(String, Option<bool>)> {
        // Terraform reads only the header.
        if self.dialect == Dialect::Tofu
            && let Ok(response) = serde_json::from_slice::<LocationResponse>(&document.bytes)
            && let Some(location) = response.location
            && !location.is_empty()
        {
            return Some((location, response.use_registry_credentials));
        }
        let location = document.headers.get(LOCATION)?.to_str().ok()?;
        if location.is_empty() {
            return None;
        }
        Some((location.to_owned(), None))
    }

    /// Returns the location of an archive. A registry's token is sent only to the registry's hosts.
    fn archive_location(
        &self,
        module: &RegistryModule,
        url: Url,
        with_credentials: bool,
    ) -> Result<PackageLocation> {
        if !with_credentials {
            return Ok(PackageLocation::Archive {
                url,
                credentials_of: None,
            });
        }
        let host = &self
            .discovery
            .host_to_contact(&module.host, Service::Modules)?;
        let service = self.discovery.registry_url(host, Service::Modules)?;
        let own = Url::parse(&format!("https://{}/", host.as_ascii()));
        let is_of_service = service.origin() == url.origin()
            && self.discovery.credentials_of(host, &service).is_some();
        if is_of_service || own.is_ok_and(|own| own.origin() == url.origin()) {
            return Ok(PackageLocation::Archive {
                url,
                credentials_of: Some(host.clone()),
            });
        }
        let shown = SafeUrl::from(&url);
        let message = format!(
            "{host} requests that its token is sent to a different host, for the package of {module} at {shown}"
        );
        Err(Diagnostic::error(Code::RequestFailed, message).into())
    }

    /// Requests a document about a module of at most `limit` bytes, and returns it with its URL.
    /// `what` is its name in errors. For `decode` see [`Client::get_decoded`].
    fn request_document<T>(
        &self,
        module: &RegistryModule,
        path: &str,
        limit: u64,
        what: &str,
        decode: impl Fn(FetchedDocument) -> std::result::Result<(T, usize), RequestErrorKind>,
    ) -> FetchResult<(Url, T)> {
        let RegistryModule {
            host,
            namespace,
            name,
            system,
        } = module;
        let path = format!("{namespace}/{name}/{system}/{path}");
        let (url, answer) = self.discovery.request_from_registry(
            host,
            Service::Modules,
            &path,
            |url: &Url, credentials_of: Option<&Hostname>| {
                self.client
                    .get_decoded(url, credentials_of, limit, Purpose::Metadata, &decode)
            },
        )?;
        match answer {
            Ok(document) => Ok((url, document)),
            Err(error) => {
                let is_gone = has_no_document(&error);
                Err(FetchError::from(error.into_diagnostic(what)).marked_gone_if(is_gone))
            }
        }
    }
}

/// Returns the versions in an answer, and their size in memory in bytes.
fn decode_versions(
    document: &FetchedDocument,
) -> std::result::Result<(Vec<Version>, usize), RequestErrorKind> {
    let Ok(response) = serde_json::from_slice::<VersionsResponse>(&document.bytes) else {
        let why = "it is not a list of versions";
        return Err(RequestErrorKind::InvalidBody(why.to_owned()));
    };
    let Some(module) = response.modules.0.into_iter().next() else {
        let why = "it contains no module";
        return Err(RequestErrorKind::InvalidBody(why.to_owned()));
    };
    let mut versions = Vec::new();
    let mut size = 0;
    for entry in module.versions.0 {
        // OpenTofu and Terraform skip versions that they cannot parse.
        if let Some(version) = entry.version.as_deref().and_then(version) {
            size += size_of::<Version>() + version.text_length();
            versions.push(version);
        }
    }
    Ok((versions, size))
}

/// The error for the answer of a registry to the request for a package.
fn invalid_location_error(what: &str, url: &Url, why: &str) -> FetchError {
    let message = format!("cannot get {what}: {} {why}", SafeUrl::from(url));
    FetchError::from(Diagnostic::error(Code::RequestFailed, message))
}

fn joined_location(what: &str, url: &Url, location: &str) -> FetchResult<Url> {
    url.join(location)
        .map_err(|_| invalid_location_error(what, url, "contains a location that is not a URL"))
}

/// Selects the newest version of a module that meets the constraints, as OpenTofu and Terraform do.
pub(crate) fn select_version(
    module: &RegistryModule,
    versions: &[Version],
    constraints: &ConstraintList,
) -> Result<Version> {
    newest_allowed(versions.iter(), constraints).cloned().ok_or_else(|| {
        let releases = versions.iter().filter(|version| !version.is_prerelease()).max();
        let message = match (versions.iter().max(), releases) {
            (None, _) => format!("{module} has no versions"),
            (Some(newest), None) => format!("{module} has prereleases only; the newest is {newest}"),
            (_, Some(newest)) => format!("no version of {module} meets \"{constraints}\"; the newest is {newest}"),
        };
        let error = Diagnostic::error(Code::NoMatchingVersion, message);
        error.help("a prerelease is selected only if it is the whole constraint, as in \"1.2.0-beta1\"").into()
    })
}

/// Returns the newest version that meets the constraints; of several that differ in build metadata,
/// the first one.
pub(crate) fn newest_allowed<'a>(
    versions: impl Iterator<Item = &'a Version>,
    constraints: &ConstraintList,
) -> Option<&'a Version> {
    let mut newest: Option<&Version> = None;
    for version in versions {
        let is_newer = newest.is_none_or(|newest| version.cmp_precedence(newest).is_gt());
        if is_newer && allows(constraints, version) {
            newest = Some(version);
        }
    }
    newest
}

/// Whether a version of a module meets constraints (OpenTofu's
/// `internal/initwd/module_install.go`). A prerelease meets them only if they consist of one term,
/// which is exactly this version, and no version meets `~>` with a prerelease
/// (<https://github.com/hashicorp/go-version>, `constraintPessimistic`).
pub(crate) fn allows(constraints: &ConstraintList, version: &Version) -> bool {
    if constraints
        .terms()
        .iter()
        .any(|term| term.is_pessimistic() && term.boundary.is_prerelease())
    {
        return false;
    }
    // Build metadata is ignored when versions of modules are compared.
    constraints.allows(&version.without_metadata())
        && (!version.is_prerelease() || pinned_version(constraints).is_some())
}

/// Returns the version of constraints that allow exactly one.
pub(crate) fn pinned_version(constraints: &ConstraintList) -> Option<&Version> {
    match constraints.terms() {
        [term] if term.operator == Operator::Exact => Some(&term.boundary),
        _ => None,
    }
}

/// Parses a version in a registry's list: one to three numbers of at most 63 bits, with or without
/// a `v`.
fn version(text: &str) -> Option<Version> {
    let numbers = text.strip_prefix('v').unwrap_or(text);
    let version = Version::parse_listed(numbers)?;
    [version.major, version.minor, version.patch]
        .iter()
        .all(|number| i64::try_from(*number).is_ok())
        .then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Terraform 1.15.5 selects these from a registry.
    #[test]
    fn the_version_is_the_one_that_terraform_selects() {
        for (listed, constraints, selected) in [
            (&["1.0.0+a", "1.0.0+b"][..], "", Some("1.0.0+a")),
            (&["1.0.0+b", "1.0.0+a"], "1.0.0", Some("1.0.0+b")),
            (&["1.0.0", "1.0.0+a"], "~> 1.0", Some("1.0.0")),
            (&["9223372036854775808.0.0", "0.0.1"], "", Some("0.0.1")),
            (
                &["9223372036854775807.0.0", "0.0.1"],
                "",
                Some("9223372036854775807.0.0"),
            ),
            (&["1.1.0-b", "1.1.5"], "~> 1.1.0-b", None),
            (&["2.0.0-beta", "2.0.0"], "~> 2.0.0-beta", None),
            (&["1.1.0-b", "1.1.5"], ">= 1.1.0-b", Some("1.1.5")),
            (&["1.1.0-b", "1.1.5"], "1.1.0-b", Some("1.1.0-b")),
        ] {
            let versions: Vec<_> = listed.iter().filter_map(|text| version(text)).collect();
            let constraints = ConstraintList::parse_for_module(constraints).unwrap();
            let found = newest_allowed(versions.iter(), &constraints).map(ToString::to_string);
            assert_eq!(found.as_deref(), selected, "{listed:?} {constraints}");
        }
    }
}
