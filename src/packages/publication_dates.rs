//! The dates of versions, which the registry protocol does not have. The documentation services of the two public
//! registries have them; for any other registry it is the time stamp of SHA256SUMS.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::Source;
use crate::net::{Client, Purpose};
use crate::provider::{Dialect, ProviderAddress, Version};
use crate::system::OnceMap;
use crate::system::bounded::List;

/// The documents with dates of a provider with hundreds of versions have some hundred KiB.
const MAXIMUM_DOCUMENT_BYTES: u64 = 4 << 20;
const MOST_VERSIONS: usize = 10_000;

/// Where the public registries publish the dates of their versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DateServices {
    /// For providers of registry.opentofu.org: the base of `registry/docs/providers/NAMESPACE/TYPE/index.json`.
    pub opentofu: Url,
    /// For providers of registry.terraform.io: the base of `v2/providers/NAMESPACE/TYPE`.
    pub terraform: Url,
}

/// Publication dates, asked for once per provider.
pub(crate) struct PublicationDates {
    client: Client,
    services: DateServices,
    documents: OnceMap<ProviderAddress, Result<Arc<Dates>, String>>,
}

type Dates = BTreeMap<Version, Timestamp>;

/// The index of OpenTofu's documentation of a provider.
#[derive(Deserialize)]
struct DocumentationIndex {
    versions: List<DocumentedVersion, MOST_VERSIONS>,
}

#[derive(Deserialize)]
struct DocumentedVersion {
    id: String,
    published: Option<String>,
}

/// A provider in version 2 of the API of Terraform's registry, with its versions.
#[derive(Deserialize)]
struct RegistryProvider {
    included: List<IncludedVersion, MOST_VERSIONS>,
}

#[derive(Deserialize)]
struct IncludedVersion {
    #[serde(default)]
    attributes: VersionAttributes,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct VersionAttributes {
    version: Option<String>,
    published_at: Option<String>,
}

impl PublicationDates {
    /// Dates that are asked for through `client`, without credentials.
    pub(crate) fn new(client: Client, services: DateServices) -> Self {
        Self { client, services, documents: OnceMap::default() }
    }

    /// When a version was published.
    ///
    /// # Errors
    /// Why the date is not known.
    pub(crate) fn published(
        &self,
        address: &ProviderAddress,
        version: &Version,
        source: &Source,
    ) -> Result<Timestamp, String> {
        let documented = self.documents.get_or_compute(address, || self.document(address).map(Arc::new));
        let why = match documented {
            Ok(dates) => match dates.get(version) {
                Some(date) => return Ok(*date),
                None => format!("the documentation of {address} does not list {version}"),
            },
            Err(why) => why,
        };
        match source.sums_modified(address, version) {
            Ok(Some(date)) => Ok(date),
            Ok(None) => Err(format!("{why}, and SHA256SUMS has no time stamp")),
            Err(error) => Err(format!("{why}, and {error}")),
        }
    }

    /// All dates that the registry of a provider documents.
    fn document(&self, address: &ProviderAddress) -> Result<Dates, String> {
        let provider = format!("{}/{}", address.namespace, address.name);
        let host = address.hostname.as_ascii();
        let pairs: Vec<_> = if host == Dialect::Tofu.default_host_name() {
            let path = format!("registry/docs/providers/{provider}/index.json");
            let index: DocumentationIndex =
                self.get(&self.services.opentofu, &path, |index: &DocumentationIndex| index.versions.0.len())?;
            index.versions.0.into_iter().map(|version| (Some(version.id), version.published)).collect()
        } else if host == Dialect::Terraform.default_host_name() {
            let path = format!("v2/providers/{provider}?include=provider-versions");
            let provider: RegistryProvider =
                self.get(&self.services.terraform, &path, |provider: &RegistryProvider| provider.included.0.len())?;
            let attributes = provider.included.0.into_iter().map(|included| included.attributes);
            attributes.map(|attributes| (attributes.version, attributes.published_at)).collect()
        } else {
            return Err(format!("{} does not tell", address.hostname));
        };
        let dated = |(version, date): (Option<String>, Option<String>)| {
            let version = version?;
            Some((version.strip_prefix('v').unwrap_or(&version).parse().ok()?, date?.parse().ok()?))
        };
        Ok(pairs.into_iter().filter_map(dated).collect())
    }

    /// Fetches a document. `count` returns the number of its dates, which stay in memory.
    fn get<T: DeserializeOwned>(&self, base: &Url, path: &str, count: fn(&T) -> usize) -> Result<T, String> {
        /// Of a date and its version in the map, in bytes.
        const ENTRY: usize = 128;
        let mut base = base.clone();
        if !base.path().ends_with('/') {
            base.set_path(&format!("{}/", base.path()));
        }
        let url = base.join(path).map_err(|error| format!("{base}{path} is not a URL: {error}"))?;
        let weight = |document: &T| ENTRY * count(document);
        let answer = self.client.get_json(&url, None, MAXIMUM_DOCUMENT_BYTES, Purpose::Metadata, weight);
        answer.map(|(_, document)| document).map_err(|error| error.to_string())
    }
}
