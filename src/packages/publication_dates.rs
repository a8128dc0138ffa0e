//! The dates of versions, which the registry protocol does not have, and a registry's other facts
//! about a provider. The documentation services of the two public registries have them; for any
//! other registry the date is the time stamp of SHA256SUMS.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use url::Url;

use super::Source;
use super::release_info::{GithubRepository, ReleaseInfo};
use crate::net::Client;
use crate::provider::{Dialect, ProviderAddress, Version};
use crate::system::bounded::List;
use crate::system::{OnceMap, lock};

/// The documents with dates of a provider with hundreds of versions have some hundred KiB.
const MAXIMUM_DOCUMENT_BYTES: u64 = 4 << 20;
const MOST_VERSIONS: usize = 10_000;
/// The most characters of a text about a provider that are kept.
const LONGEST_TEXT: usize = 2000;

/// Addresses at which the public registries publish the dates of their versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DateServices {
    /// For providers of registry.opentofu.org: the base of
    /// `registry/docs/providers/NAMESPACE/TYPE/index.json`.
    pub opentofu: Url,
    /// For providers of registry.terraform.io: the base of `v2/providers/NAMESPACE/TYPE`.
    pub terraform: Url,
}

/// Publication dates, asked for once per provider.
pub(crate) struct PublicationDates {
    client: Client,
    services: DateServices,
    /// By the path of the document.
    documents: OnceMap<String, Result<Arc<Documented>, String>>,
    /// Hosts whose servers dated releases themselves, by `Last-Modified`.
    claiming_hosts: Mutex<BTreeSet<String>>,
}

/// The age that a chosen version must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DemandedAge {
    /// The age.
    pub(crate) age: Duration,
    /// The time at which the age is measured.
    pub(crate) now: Timestamp,
}

/// Reason why something is not old enough, or cannot be shown to be.
pub(crate) struct NotOldEnough {
    pub(crate) is_date_known: bool,
    pub(crate) why: String,
}

impl DemandedAge {
    /// Returns the reason why something is not old enough, or cannot be shown to be; `None` if it
    /// is, or no age is demanded. The date is requested only if an age is demanded.
    pub(crate) fn why_not_old_enough(
        &self,
        publication_date: impl FnOnce() -> Result<Timestamp, String>,
    ) -> Option<NotOldEnough> {
        if self.age.is_zero() {
            return None;
        }
        let age = SignedDuration::try_from(self.age).unwrap_or(SignedDuration::MAX);
        let known_date = publication_date();
        let why = match &known_date {
            Ok(date) if self.now.duration_since(*date) >= age => return None,
            Ok(date) => format!(
                "published {date:.0}, and it must be {} old",
                self.shown_age()
            ),
            Err(why) => format!("its publication date is not known: {why}"),
        };
        Some(NotOldEnough {
            is_date_known: known_date.is_ok(),
            why,
        })
    }

    fn shown_age(&self) -> String {
        const DAY: u64 = 86_400;
        match self.age.as_secs() {
            DAY => "1 day".to_owned(),
            seconds if seconds % DAY == 0 => format!("{} days", seconds / DAY),
            seconds => format!(
                "{:#}",
                SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX))
            ),
        }
    }
}

/// Content of a document.
struct Documented {
    dates: BTreeMap<Version, Timestamp>,
    listing: Listing,
}

/// Facts about a provider as a whole in Terraform's registry; other registries have none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Listing {
    /// `official`, `partner` or `community`, as of now.
    pub(crate) tier: Option<String>,
    /// Whether the registry no longer shows the provider in its search.
    pub(crate) unlisted: Option<bool>,
    /// The registry's warning about the provider.
    pub(crate) warning: Option<String>,
    /// The address of the repository that it is released from.
    source: Option<String>,
}

/// The index of OpenTofu's documentation of a provider or module.
#[derive(Deserialize)]
struct TofuDocument {
    versions: List<TofuVersion, MOST_VERSIONS>,
}

#[derive(Deserialize)]
struct TofuVersion {
    id: Option<String>,
    published: Option<String>,
}

/// A provider in version 2 of the API of Terraform's registry, together with its versions.
#[derive(Deserialize)]
struct TerraformDocument {
    included: List<Attributes<TerraformVersion>, MOST_VERSIONS>,
    data: Option<Attributes<Listing>>,
}

#[derive(Deserialize)]
struct Attributes<T> {
    attributes: Option<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct TerraformVersion {
    version: Option<String>,
    published_at: Option<String>,
}

impl Listing {
    fn capped(self) -> Self {
        Self {
            tier: self.tier.as_deref().map(capped),
            warning: self.warning.as_deref().map(capped),
            source: self.source.as_deref().map(capped),
            ..self
        }
    }
}

impl PublicationDates {
    /// Dates that are asked for through `client`, without credentials.
    pub(crate) fn new(client: Client, services: DateServices) -> Self {
        Self {
            client,
            services,
            documents: OnceMap::default(),
            claiming_hosts: Mutex::default(),
        }
    }

    /// Returns the publication date of a version.
    ///
    /// # Errors
    /// The reason why the date is not known.
    pub(crate) fn publication_date(
        &self,
        address: &ProviderAddress,
        version: &Version,
        source: &Source,
    ) -> Result<Timestamp, String> {
        let why = match self.documented(address) {
            Ok(documented) => match documented.dates.get(version) {
                Some(date) => return Ok(*date),
                None => format!("the documentation of {address} does not list {version}"),
            },
            Err(why) => why,
        };
        // Only the public registries document dates; elsewhere the time stamp of a file must do.
        match source.sums_modified(address, version) {
            Ok(Some(date)) => {
                // Users are told that the host itself claims this date.
                lock(&self.claiming_hosts).insert(address.hostname.to_string());
                Ok(date)
            }
            Ok(None) => Err(format!("{why}, and SHA256SUMS has no time stamp")),
            Err(error) => Err(format!("{why}, and {error}")),
        }
    }

    /// Returns the hosts of registries whose releases have the date that their server claims. No
    /// signature covers it.
    pub(crate) fn claiming_hosts(&self) -> BTreeSet<String> {
        lock(&self.claiming_hosts).clone()
    }

    /// Returns the publication date of the oldest version of a provider that still exists.
    ///
    /// # Errors
    /// The reason why the date is not known.
    pub(crate) fn oldest_publication_date(
        &self,
        address: &ProviderAddress,
        source: &Source,
    ) -> Result<Timestamp, String> {
        if let Ok(documented) = self.documented(address)
            && let Some(date) = documented.dates.values().min()
        {
            return Ok(*date);
        }
        // Without documentation each date costs a request, so only the date of the oldest version
        // is requested.
        let available = source
            .versions(address)
            .map_err(|error| error.to_string())?;
        let oldest = available
            .versions
            .keys()
            .next()
            .ok_or_else(|| format!("{address} has no version"))?;
        self.publication_date(address, oldest, source)
    }

    /// Returns the registry's facts about a provider.
    ///
    /// # Errors
    /// The reason why that is not known.
    pub(crate) fn listing(&self, address: &ProviderAddress) -> Result<Listing, String> {
        self.documented(address)
            .map(|published| published.listing.clone())
    }

    /// Returns the documented dates and links of the chosen version and of the newest one.
    pub(crate) fn releases(
        &self,
        address: &ProviderAddress,
        chosen: &Version,
        newest: &Version,
    ) -> ReleaseInfo {
        let mut info = ReleaseInfo::default();
        if let Ok(published) = self.documented(address) {
            info.published = published.dates.get(chosen).copied();
            info.newest_published = published.dates.get(newest).copied();
            if let Some(source) = &published.listing.source {
                info.repository = GithubRepository::parse(source);
            }
        }
        if info.repository.is_none() {
            info.repository = GithubRepository::of(address);
        }
        info
    }

    /// Returns the publication date of a version of a module of registry.opentofu.org, which is
    /// given as `NAMESPACE/NAME/SYSTEM`.
    ///
    /// # Errors
    /// The reason why the date is not known.
    pub(crate) fn published_module(
        &self,
        module: &str,
        version: &Version,
    ) -> Result<Timestamp, String> {
        let path = format!("registry/docs/modules/{module}/index.json");
        let document = self.document_once::<TofuDocument>(&self.services.opentofu, &path)?;
        document
            .dates
            .get(version)
            .copied()
            .ok_or_else(|| format!("the documentation of {module} does not list {version}"))
    }

    /// All that the registry of a provider documents.
    fn documented(&self, address: &ProviderAddress) -> Result<Arc<Documented>, String> {
        let provider = format!("{}/{}", address.namespace, address.name);
        let host = address.hostname.as_ascii();
        if host == Dialect::Tofu.default_host_name() {
            let path = format!("registry/docs/providers/{provider}/index.json");
            self.document_once::<TofuDocument>(&self.services.opentofu, &path)
        } else if host == Dialect::Terraform.default_host_name() {
            let path = format!("v2/providers/{provider}?include=provider-versions");
            self.document_once::<TerraformDocument>(&self.services.terraform, &path)
        } else {
            Err(format!("{} does not publish it", address.hostname))
        }
    }

    /// The content of a document, which is requested once per run.
    fn document_once<T: DeserializeOwned + Into<Documented>>(
        &self,
        base: &Url,
        path: &str,
    ) -> Result<Arc<Documented>, String> {
        /// Bytes of a date and its version in the map.
        const ENTRY: usize = 128;
        self.documents.get_or_compute(&path.to_owned(), || {
            let mut directory = base.clone();
            if !directory.path().ends_with('/') {
                directory.set_path(&format!("{}/", directory.path()));
            }
            let url = directory
                .join(path)
                .map_err(|error| format!("{directory}{path} is not a URL: {error}"))?;
            let answer = self
                .client
                .get_json(&url, None, MAXIMUM_DOCUMENT_BYTES, |document: T| {
                    let documented: Documented = document.into();
                    let memory = ENTRY * (documented.dates.len() + 1);
                    (Arc::new(documented), memory)
                });
            answer
                .map(|(_, documented)| documented)
                .map_err(|error| error.to_string())
        })
    }
}

impl From<TofuDocument> for Documented {
    fn from(document: TofuDocument) -> Self {
        let dates = document
            .versions
            .0
            .into_iter()
            .filter_map(|entry| dated(&entry.id?, &entry.published?));
        Self {
            dates: dates.collect(),
            listing: Listing::default(),
        }
    }
}

impl From<TerraformDocument> for Documented {
    fn from(TerraformDocument { included, data }: TerraformDocument) -> Self {
        let mut dates = BTreeMap::new();
        for entry in included.0 {
            if let Some(attributes) = entry.attributes
                && let Some(version) = attributes.version
                && let Some(date) = attributes.published_at
            {
                dates.extend(dated(&version, &date));
            }
        }
        let mut listing = Listing::default();
        if let Some(provider) = data
            && let Some(attributes) = provider.attributes
        {
            listing = attributes.capped();
        }
        Self { dates, listing }
    }
}

fn dated(version: &str, date: &str) -> Option<(Version, Timestamp)> {
    Some((
        version.strip_prefix('v').unwrap_or(version).parse().ok()?,
        date.parse().ok()?,
    ))
}

/// The start of a text.
fn capped(text: &str) -> String {
    text.chars().take(LONGEST_TEXT).collect()
}
