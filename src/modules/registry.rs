//! Registries of modules: their versions, and the locations of their packages
//! (<https://opentofu.org/docs/internals/module-registry-protocol/>; OpenTofu's `internal/registry/client.go`).

use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use url::Url;

use super::fetch_error::{FetchError, Fetched, is_gone};
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
    versions: OnceMap<RegistryModule, Fetched<Arc<Vec<Version>>>>,
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
    pub(super) fn versions(&self, module: &RegistryModule) -> Fetched<Arc<Vec<Version>>> {
        self.versions
            .get_or_compute(module, || self.list(module).map(Arc::new))
    }

    fn list(&self, module: &RegistryModule) -> Fetched<Vec<Version>> {
        let what = format!("the versions of {module}");
        let answer = self.ask(
            module,
            "versions",
            MAXIMUM_VERSIONS_BYTES,
            &what,
            |document| {
                let invalid = |why: &str| RequestErrorKind::InvalidBody(why.to_owned());
                let response = serde_json::from_slice::<VersionsResponse>(&document.bytes);
                let response = response.map_err(|_| invalid("it is not a list of versions"))?;
                let entry = response
                    .modules
                    .0
                    .into_iter()
                    .next()
                    .ok_or_else(|| invalid("it contains no module"))?;
                // OpenTofu and Terraform skip versions that they cannot parse.
                let versions: Vec<_> = entry
                    .versions
                    .0
                    .iter()
                    .filter_map(|entry| version(entry.version.as_ref()?))
                    .collect();
                let kept = versions
                    .iter()
                    .map(|version| size_of::<Version>() + version.text_length())
                    .sum();
                Ok((versions, kept))
            },
        );
        answer.map(|(_, versions)| versions)
    }

    /// Returns when a version was published; `None` if the registry does not report it.
    pub(crate) fn published(
        &self,
        module: &RegistryModule,
        version: &Version,
    ) -> Result<Option<Timestamp>> {
        let what = format!("the date of {module} {version}");
        let path = version.to_string();
        let answer = self.ask(module, &path, MAXIMUM_DETAILS_BYTES, &what, |document| {
            let details = serde_json::from_slice::<VersionDetails>(&document.bytes).ok();
            Ok((
                details.and_then(|details| details.published_at?.parse().ok()),
                0,
            ))
        });
        Ok(answer.map(|(_, date)| date)?)
    }

    /// Returns the location of the package of a version.
    pub(super) fn location(
        &self,
        module: &RegistryModule,
        version: &Version,
    ) -> Fetched<PackageLocation> {
        let what = format!("{module} {version}");
        let path = format!("{version}/download");
        let (url, document) =
            self.ask(module, &path, MAXIMUM_LOCATION_BYTES, &what, |document| {
                Ok((document, 0))
            })?;
        let invalid = |why: String| {
            let message = format!("cannot get {what}: {} {why}", SafeUrl::from(&url));
            FetchError::from(Diagnostic::error(Code::RequestFailed, message))
        };
        let Some((location, credentials)) = self.read_location(&document) else {
            return Err(invalid(
                "does not contain the location of the package".to_owned(),
            ));
        };
        let joined = || {
            url.join(&location)
                .map_err(|_| invalid("contains a location that is not a URL".to_owned()))
        };
        if let Some(with_credentials) = credentials {
            return Ok(self.archive(module, joined()?, with_credentials)?);
        }
        let is_relative = ["/", "./", "../"]
            .iter()
            .any(|prefix| location.starts_with(prefix));
        let location = if is_relative {
            joined()?.to_string()
        } else {
            location
        };
        let source = RemoteSource::detect(&location, "");
        let source = source.map_err(|error| {
            invalid(format!("contains a location that cannot be used: {error}"))
        })?;
        if source.is_on_this_machine() {
            return Err(invalid("contains a location on this machine".to_owned()));
        }
        Ok(PackageLocation::Source(source))
    }

    /// Returns the location in an answer, and the value of `use_registry_credentials`. Terraform
    /// reads only the header.
    fn read_location(&self, document: &FetchedDocument) -> Option<(String, Option<bool>)> {
        let header = || {
            let header = document
                .headers
                .get(LOCATION)
                .and_then(|value| value.to_str().ok());
            header
                .filter(|text| !text.is_empty())
                .map(|text| (text.to_owned(), None))
        };
        if self.dialect == Dialect::Terraform {
            return header();
        }
        let response = serde_json::from_slice::<LocationResponse>(&document.bytes).ok();
        let location = response
            .and_then(|response| Some((response.location?, response.use_registry_credentials)));
        location
            .filter(|(location, _)| !location.is_empty())
            .or_else(header)
    }

    /// Returns the location of an archive. A registry's token is sent only to the registry's hosts.
    fn archive(
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
        let host = &self.discovery.contacted(&module.host, Service::Modules)?;
        let service = self.discovery.service(host, Service::Modules)?;
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

    /// Requests a document about a module, and returns its URL, too. For `decode` see
    /// [`Client::get_decoded`].
    fn ask<T>(
        &self,
        module: &RegistryModule,
        path: &str,
        limit: u64,
        what: &str,
        decode: impl Fn(FetchedDocument) -> std::result::Result<(T, usize), RequestErrorKind>,
    ) -> Fetched<(Url, T)> {
        let RegistryModule {
            host,
            namespace,
            name,
            system,
        } = module;
        let path = format!("{namespace}/{name}/{system}/{path}");
        let get = |url: &Url, credentials_of: Option<&Hostname>| {
            self.client
                .get_decoded(url, credentials_of, limit, Purpose::Metadata, &decode)
        };
        let (url, answer) = self.discovery.ask(host, Service::Modules, &path, get)?;
        let answer = answer.map_err(|error| {
            let is_gone = is_gone(&error);
            FetchError::from(error.into_diagnostic(what)).gone(is_gone)
        });
        Ok((url, answer?))
    }
}

/// Selects the newest version of a module that meets the constraints, as OpenTofu and Terraform do.
pub(crate) fn select(
    module: &RegistryModule,
    versions: &[Version],
    constraints: &ConstraintList,
) -> Result<Version> {
    newest(versions.iter(), constraints).cloned().ok_or_else(|| {
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
pub(crate) fn newest<'a>(
    versions: impl Iterator<Item = &'a Version>,
    constraints: &ConstraintList,
) -> Option<&'a Version> {
    let newer = |best: &'a Version, next: &'a Version| {
        if next.cmp_precedence(best).is_gt() {
            next
        } else {
            best
        }
    };
    versions
        .filter(|version| allows(constraints, version))
        .reduce(newer)
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
        && (!version.is_prerelease() || pinned(constraints).is_some())
}

/// Returns the version of constraints that allow exactly one.
pub(crate) fn pinned(constraints: &ConstraintList) -> Option<&Version> {
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
            let found = newest(versions.iter(), &constraints).map(ToString::to_string);
            assert_eq!(found.as_deref(), selected, "{listed:?} {constraints}");
        }
    }
}
