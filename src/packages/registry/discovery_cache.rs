//! The results of service discovery, kept across runs.
//!
//! Only a service on the host itself is kept, so that a program which can write to the cache cannot send a request, or
//! the token that goes with it, to another host. An entry is valid for [`LIFETIME`]; after a failed request the
//! discovery is repeated.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use url::Url;

use super::service::Service;
use crate::provider::Hostname;
use crate::system::storage;

/// Services move rarely.
const LIFETIME: std::time::Duration = std::time::Duration::from_hours(1);
const FOLDER: &str = "provlock-discovery-v1";
/// No entry is longer, in bytes.
const LONGEST_ENTRY: u64 = 4096;

/// Answers of service discovery in a directory. One that cannot be used is a cache without answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveryCache {
    folder: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    /// Seconds since 1970.
    saved: i64,
    url: String,
}

impl DiscoveryCache {
    /// The answers in `directory`, which need not exist.
    pub fn open(directory: &Path) -> Self {
        Self { folder: directory.join(FOLDER) }
    }

    /// Removes all answers. Returns how many bytes that frees.
    ///
    /// # Errors
    /// What the operating system says when something cannot be removed.
    pub fn clean(&self) -> io::Result<u64> {
        storage::remove(&self.folder)
    }

    /// The base URL of a host's registry.
    pub(super) fn get(&self, host: &Hostname, service: Service) -> Option<Url> {
        let stored: Stored = serde_json::from_str(&storage::read(&self.path(host, service), LONGEST_ENTRY)?).ok()?;
        let age = Timestamp::now().as_second().checked_sub(stored.saved)?;
        let is_current = u64::try_from(age).is_ok_and(|age| age < LIFETIME.as_secs());
        let url = Url::parse(&stored.url).ok()?;
        (is_current && is_on(&url, host)).then_some(url)
    }

    /// Keeps an answer, if that is allowed and possible.
    pub(super) fn put(&self, host: &Hostname, service: Service, url: &Url) {
        let stored = Stored { saved: Timestamp::now().as_second(), url: url.to_string() };
        if let (true, Ok(text)) = (is_on(url, host), serde_json::to_string(&stored)) {
            // The run goes on without a cache that cannot be written.
            let _ = storage::replace(&self.path(host, service), text.as_bytes());
        }
    }

    fn path(&self, host: &Hostname, service: Service) -> PathBuf {
        self.folder.join(service.name()).join(storage::file_name(host.as_ascii()))
    }
}

/// Whether a URL leads to the host itself, encrypted.
fn is_on(url: &Url, host: &Hostname) -> bool {
    let host = Url::parse(&format!("https://{}/", host.as_ascii()));
    url.username().is_empty() && url.password().is_none() && host.is_ok_and(|host| host.origin() == url.origin())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    #[test]
    fn only_a_service_of_the_host_itself_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let cache = DiscoveryCache::open(directory.path());
        let host = Hostname::known("registry.example.com:8443");
        for elsewhere in
            ["https://registry.example.com/v1/", "http://registry.example.com:8443/v1/", "https://other.test:8443/"]
        {
            cache.put(&host, Service::Providers, &url(elsewhere));
            assert_eq!(cache.get(&host, Service::Providers), None, "{elsewhere}");
        }
        let here = url("https://registry.example.com:8443/v1/");
        cache.put(&host, Service::Providers, &here);
        assert_eq!(cache.get(&host, Service::Providers), Some(here));
        assert_eq!(cache.get(&host, Service::Modules), None);
        assert_eq!(cache.get(&Hostname::known("registry.example.com"), Service::Providers), None);
        assert!(cache.clean().unwrap() > 0);
        assert_eq!(cache.get(&host, Service::Providers), None);
    }

    #[test]
    fn what_is_old_damaged_or_from_the_future_does_not_count() {
        let directory = tempfile::tempdir().unwrap();
        let cache = DiscoveryCache::open(directory.path());
        let host = Hostname::known("a.test");
        let now = Timestamp::now().as_second();
        for (saved, counts) in [(now - 60, true), (now - 3600, false), (now + 60, false), (i64::MIN, false)] {
            let text = serde_json::to_string(&Stored { saved, url: "https://a.test/v1/".to_owned() }).unwrap();
            storage::replace(&cache.path(&host, Service::Providers), text.as_bytes()).unwrap();
            assert_eq!(cache.get(&host, Service::Providers).is_some(), counts, "{saved}");
        }
        storage::replace(&cache.path(&host, Service::Providers), b"{\"saved\":").unwrap();
        assert_eq!(cache.get(&host, Service::Providers), None);
    }
}
