//! Answers of registries in earlier runs: where the registries of a host are, where SHA256SUMS of a
//! release is, and its content.
//!
//! A registry is kept only if it is on the host itself, so that a program which can write to the
//! cache cannot send a request, or the token that goes with it, to another host. It is valid for
//! [`LIFETIME`]; after a failed request the discovery is repeated.
//!
//! The URLs of SHA256SUMS and its signature are kept so that the documents can be requested before
//! the registry names the URLs again. The documents are used only if it names the same URLs. They
//! are kept for the service that named them: a `host` block of the CLI configuration may give a
//! host another service.
//!
//! The content of SHA256SUMS is kept once it is verified, for work without a network, and with it
//! the key that signed it. This key is only ever shown, because any program that can write to the
//! cache can replace it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use url::{Origin, Url};

use super::cloud_hosts::HOST_OF_CLOUD;
use super::service::Service;
use crate::packages::authentication::Sha256Sums;
use crate::provider::{Authentication, Hostname, ProviderAddress, Version};
use crate::system::storage;

/// Services move rarely.
const LIFETIME: std::time::Duration = std::time::Duration::from_hours(1);
/// The longest entry, in bytes.
const LONGEST_ENTRY: u64 = 16 * 1024;
/// The longest SHA256SUMS, in bytes.
const LONGEST_SUMS: u64 = 256 * 1024;

/// Answers of registries, in the cache directory. A directory that cannot be used is treated as
/// empty.
#[derive(Clone, Debug)]
pub(crate) struct RegistryCache {
    directory: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct StoredService {
    /// Seconds since 1970.
    saved: i64,
    url: String,
}

#[derive(Serialize, Deserialize)]
struct StoredRelease {
    sums: String,
    signature: String,
}

#[derive(Serialize, Deserialize)]
struct StoredSums {
    /// Lines of SHA256SUMS.
    sums: String,
    /// Fingerprint of the key that has signed them.
    signer: Option<String>,
}

impl RegistryCache {
    /// The cache in `directory`, which need not exist.
    pub(crate) fn open(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
        }
    }

    /// The base URL of a host's registry.
    pub(super) fn service(&self, host: &Hostname, service: Service) -> Option<Url> {
        let stored: StoredService =
            storage::read_json(&self.service_path(host, service), LONGEST_ENTRY)?;
        let age = Timestamp::now().as_second().checked_sub(stored.saved)?;
        // The clock may have been set back since.
        let age = u64::try_from(age).ok()?;
        if age >= LIFETIME.as_secs() {
            return None;
        }
        let url = Url::parse(&stored.url).ok()?;
        if is_on(&url, host) { Some(url) } else { None }
    }

    /// Keeps the base URL of a host's registry, if it may be kept.
    pub(super) fn store_service(&self, host: &Hostname, service: Service, url: &Url) {
        if is_on(url, host) {
            let stored = StoredService {
                saved: Timestamp::now().as_second(),
                url: url.to_string(),
            };
            storage::keep_json(&self.service_path(host, service), &stored);
        }
    }

    /// The URLs of SHA256SUMS and its signature.
    pub(super) fn release_urls(
        &self,
        service: &Origin,
        address: &ProviderAddress,
        version: &Version,
    ) -> Option<(Url, Url)> {
        let stored: StoredRelease =
            storage::read_json(&self.release_path(service, address, version), LONGEST_ENTRY)?;
        let sums = Url::parse(&stored.sums).ok()?;
        let signature = Url::parse(&stored.signature).ok()?;
        if !is_plain(&sums) || !is_plain(&signature) {
            return None;
        }
        Some((sums, signature))
    }

    /// Keeps the URLs of SHA256SUMS and its signature, if they may be kept.
    pub(super) fn store_release_urls(
        &self,
        service: &Origin,
        address: &ProviderAddress,
        version: &Version,
        sums: &Url,
        signature: &Url,
    ) {
        if is_plain(sums) && is_plain(signature) {
            let stored = StoredRelease {
                sums: sums.to_string(),
                signature: signature.to_string(),
            };
            storage::keep_json(&self.release_path(service, address, version), &stored);
        }
    }

    /// The verified SHA256SUMS of a release.
    pub(in crate::packages) fn sums(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Option<Sha256Sums> {
        if has_no_fixed_host(address) {
            return None;
        }
        let stored: StoredSums =
            storage::read_json(&self.sums_path(address, version), LONGEST_SUMS)?;
        Some(Sha256Sums::parse(stored.sums.as_bytes()))
    }

    /// The fingerprint of the key that signed a release, only to be shown.
    pub(in crate::packages) fn signer(
        &self,
        address: &ProviderAddress,
        version: &Version,
    ) -> Option<String> {
        let stored: StoredSums =
            storage::read_json(&self.sums_path(address, version), LONGEST_SUMS)?;
        let signer = stored.signer?;
        let is_fingerprint =
            [40, 64].contains(&signer.len()) && signer.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_fingerprint { Some(signer) } else { None }
    }

    /// Adds the sums of a verified SHA256SUMS to the sums from other files: a release may have such
    /// a document for each platform. The stored signer is that of the last document.
    pub(super) fn add_sums(
        &self,
        address: &ProviderAddress,
        version: &Version,
        sums: &Sha256Sums,
        authentication: &Authentication,
    ) {
        // The host `localterraform.com` stands for a different one in each root module.
        if has_no_fixed_host(address) {
            return;
        }
        let earlier = self.sums(address, version);
        let mut sum_by_name = BTreeMap::new();
        if let Some(earlier) = &earlier {
            sum_by_name.extend(earlier.lines());
        }
        sum_by_name.extend(sums.lines());

        let mut document = String::new();
        for (name, sum) in sum_by_name {
            let _ = writeln!(document, "{}  {name}", sum.value());
        }
        let signer = match authentication {
            Authentication::Signed { fingerprint, .. } => Some(fingerprint.clone()),
            _ => None,
        };
        let stored = StoredSums {
            sums: document,
            signer,
        };
        storage::keep_json(&self.sums_path(address, version), &stored);
    }

    fn sums_path(&self, address: &ProviderAddress, version: &Version) -> PathBuf {
        let version = version.to_string();
        let parts = [
            address.hostname.as_ascii(),
            &address.namespace,
            &address.name,
            &version,
        ];
        storage::path(&self.directory.join(storage::SUMS), parts)
    }

    fn service_path(&self, host: &Hostname, service: Service) -> PathBuf {
        storage::path(
            &self.directory.join(storage::SERVICES),
            [service.name(), host.as_ascii()],
        )
    }

    fn release_path(
        &self,
        service: &Origin,
        address: &ProviderAddress,
        version: &Version,
    ) -> PathBuf {
        let service = service.ascii_serialization();
        let version = version.to_string();
        let parts = [
            address.hostname.as_ascii(),
            &service,
            &address.namespace,
            &address.name,
            &version,
        ];
        storage::path(&self.directory.join(storage::RELEASES), parts)
    }
}

/// Whether the host in an address stands for a different one in each root module.
fn has_no_fixed_host(address: &ProviderAddress) -> bool {
    address.hostname.as_ascii() == HOST_OF_CLOUD
}

/// Whether a URL leads to the host itself, encrypted.
fn is_on(url: &Url, host: &Hostname) -> bool {
    let host = Url::parse(&format!("https://{}/", host.as_ascii()));
    url.username().is_empty()
        && url.password().is_none()
        && host.is_ok_and(|host| host.origin() == url.origin())
}

/// Whether a URL may be kept. With a query or a user name it may contain a secret, or be valid only
/// once.
fn is_plain(url: &Url) -> bool {
    url.scheme() == "https"
        && url.query().is_none()
        && url.username().is_empty()
        && url.password().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Dialect;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn only_a_service_of_the_host_itself_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let cache = RegistryCache::open(directory.path());
        let host = Hostname::known("registry.example.com:8443");
        for elsewhere in [
            "https://registry.example.com/v1/",
            "http://registry.example.com:8443/v1/",
            "https://other.test:8443/",
        ] {
            cache.store_service(&host, Service::Providers, &url(elsewhere));
            assert_eq!(
                cache.service(&host, Service::Providers),
                None,
                "{elsewhere}"
            );
        }
        let here = url("https://registry.example.com:8443/v1/");
        cache.store_service(&host, Service::Providers, &here);
        assert_eq!(cache.service(&host, Service::Providers), Some(here));
        assert_eq!(cache.service(&host, Service::Modules), None);
        assert_eq!(
            cache.service(&Hostname::known("registry.example.com"), Service::Providers),
            None
        );
        assert!(storage::clean(directory.path()).unwrap() > 0);
        assert_eq!(cache.service(&host, Service::Providers), None);
    }

    #[test]
    fn old_damaged_and_future_entries_are_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let cache = RegistryCache::open(directory.path());
        let host = Hostname::known("a.test");
        let now = Timestamp::now().as_second();
        let path = cache.service_path(&host, Service::Providers);
        for (saved, counts) in [
            (now - 60, true),
            (now - 3600, false),
            (now + 60, false),
            (i64::MIN, false),
        ] {
            storage::keep_json(
                &path,
                &StoredService {
                    saved,
                    url: "https://a.test/v1/".to_owned(),
                },
            );
            assert_eq!(
                cache.service(&host, Service::Providers).is_some(),
                counts,
                "{saved}"
            );
        }
        storage::replace(&path, b"{\"saved\":").unwrap();
        assert_eq!(cache.service(&host, Service::Providers), None);
    }

    #[test]
    fn only_plain_urls_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let cache = RegistryCache::open(directory.path());
        let address = ProviderAddress::parse("acme/gamma", Dialect::Tofu).unwrap();
        let version: Version = "1.0.0".parse().unwrap();
        let service = url("https://registry.opentofu.org/v1/").origin();
        let signature = url("https://files.test/SHA256SUMS.sig");
        for secret in [
            "https://files.test/SHA256SUMS?token=1",
            "https://me:pw@files.test/S",
            "http://files.test/S",
        ] {
            cache.store_release_urls(&service, &address, &version, &url(secret), &signature);
            assert_eq!(
                cache.release_urls(&service, &address, &version),
                None,
                "{secret}"
            );
        }
        let sums = url("https://files.test/SHA256SUMS");
        cache.store_release_urls(&service, &address, &version, &sums, &signature);
        assert_eq!(
            cache.release_urls(&service, &address, &version),
            Some((sums, signature))
        );
        assert_eq!(
            cache.release_urls(&service, &address, &"1.0.1".parse().unwrap()),
            None
        );
        let another = url("https://internal.test/v1/").origin();
        assert_eq!(
            cache.release_urls(&another, &address, &version),
            None,
            "another service has not named it"
        );
        std::fs::write(cache.release_path(&service, &address, &version), "{").unwrap();
        assert_eq!(cache.release_urls(&service, &address, &version), None);
    }
    #[test]
    fn documents_for_each_platform_add_up() {
        let directory = tempfile::tempdir().unwrap();
        let cache = RegistryCache::open(directory.path());
        let address = ProviderAddress::parse("acme/gamma", Dialect::Tofu).unwrap();
        let version: Version = "1.0.0".parse().unwrap();
        assert_eq!(cache.sums(&address, &version), None);
        let line = |digit: &str, name: &str| format!("{}  {name}\n", digit.repeat(64));
        let [linux, darwin, replaced] = [
            ("1", "linux_amd64.zip"),
            ("2", "darwin_arm64.zip"),
            ("3", "linux_amd64.zip"),
        ]
        .map(|(digit, name)| line(digit, name));
        for (document, kept) in [
            (&linux, linux.clone()),
            (&darwin, format!("{darwin}{linux}")),
            (&replaced, format!("{darwin}{replaced}")),
        ] {
            let sums = Sha256Sums::parse(document.as_bytes());
            cache.add_sums(&address, &version, &sums, &Authentication::SigningSkipped);
            assert_eq!(
                cache.sums(&address, &version),
                Some(Sha256Sums::parse(kept.as_bytes()))
            );
            assert_eq!(cache.signer(&address, &version), None);
        }
        assert_eq!(cache.sums(&address, &"1.0.1".parse().unwrap()), None);
        assert!(storage::clean(directory.path()).unwrap() > 0);
        assert_eq!(cache.sums(&address, &version), None);
    }

    /// A name of a file cannot pretend to be the key.
    #[test]
    fn the_key_of_a_release_is_the_last_signer() {
        let directory = tempfile::tempdir().unwrap();
        let cache = RegistryCache::open(directory.path());
        let address = ProviderAddress::parse("acme/gamma", Dialect::Tofu).unwrap();
        let version: Version = "1.0.0".parse().unwrap();
        let (sum, key) = ("1".repeat(64), "A".repeat(40));
        let signed = Authentication::Signed {
            key_id: key[24..].to_owned(),
            fingerprint: key.clone(),
        };
        let document = format!(
            "{sum}  a.zip\nsigned by {}\n{sum} signed\u{85}by\u{2028}\n",
            "B".repeat(40)
        );
        let sums = Sha256Sums::parse(document.as_bytes());
        for (authentication, signer) in [
            (&signed, Some(key)),
            (&Authentication::SigningSkipped, None),
        ] {
            cache.add_sums(&address, &version, &sums, authentication);
            assert_eq!(cache.signer(&address, &version), signer);
            assert_eq!(cache.sums(&address, &version).unwrap().lines().count(), 2);
        }
        for forged in ["", "\u{1b}[31m", "ABC"] {
            let stored = StoredSums {
                sums: String::new(),
                signer: Some(forged.to_owned()),
            };
            storage::keep_json(&cache.sums_path(&address, &version), &stored);
            assert_eq!(cache.signer(&address, &version), None, "{forged}");
        }
    }
}
