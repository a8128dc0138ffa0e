//! Where SHA256SUMS and its signature were in an earlier run, so that they can be asked for before the registry has
//! said so again. Only the URLs are kept, and the documents are used only if the registry names the same URLs. URLs are
//! kept for the service that named them: a `host` block of the CLI configuration may give a host another service.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use url::{Origin, Url};

use crate::provider::{ProviderAddress, Version};
use crate::system::storage;

const FOLDER: &str = "provlock-releases-v2";
/// No entry is longer, in bytes.
const LONGEST_ENTRY: u64 = 16 * 1024;

/// The URLs of releases, in a directory. A directory that cannot be used is a cache without entries.
#[derive(Clone, Debug)]
pub struct ReleaseUrls {
    folder: PathBuf,
}

#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct Stored {
    sums: String,
    signature: String,
}

impl ReleaseUrls {
    /// The URLs in `directory`, which need not exist.
    pub fn open(directory: &Path) -> Self {
        Self { folder: directory.join(FOLDER) }
    }

    /// Removes all URLs. Returns how many bytes that frees.
    ///
    /// # Errors
    /// What the operating system says when something cannot be removed.
    pub fn clean(&self) -> std::io::Result<u64> {
        storage::remove(&self.folder)
    }

    /// The URLs of SHA256SUMS and its signature.
    pub(super) fn get(&self, service: &Origin, address: &ProviderAddress, version: &Version) -> Option<(Url, Url)> {
        let stored = read(&self.path(service, address, version))?;
        let url = |text: &str| Url::parse(text).ok().filter(may_be_kept);
        Some((url(&stored.sums)?, url(&stored.signature)?))
    }

    /// Keeps the URLs, if that is allowed and possible.
    pub(super) fn put(
        &self,
        service: &Origin,
        address: &ProviderAddress,
        version: &Version,
        (sums, signature): (&Url, &Url),
    ) {
        let stored = Stored { sums: sums.to_string(), signature: signature.to_string() };
        let path = self.path(service, address, version);
        if !(may_be_kept(sums) && may_be_kept(signature)) || read(&path).as_ref() == Some(&stored) {
            return;
        }
        if let Ok(text) = serde_json::to_string(&stored) {
            // The run goes on without a cache that cannot be written.
            let _ = storage::replace(&path, text.as_bytes());
        }
    }

    fn path(&self, service: &Origin, address: &ProviderAddress, version: &Version) -> PathBuf {
        let (service, version) = (service.ascii_serialization(), version.to_string());
        let parts = [address.hostname.as_ascii(), &service, &address.namespace, &address.name, &version];
        parts.into_iter().fold(self.folder.clone(), |path, part| path.join(storage::file_name(part)))
    }
}

fn read(path: &Path) -> Option<Stored> {
    serde_json::from_str(&storage::read(path, LONGEST_ENTRY)?).ok()
}

/// A URL with a query or a user name may hold a secret, or be good for one use only.
fn may_be_kept(url: &Url) -> bool {
    url.scheme() == "https" && url.query().is_none() && url.username().is_empty() && url.password().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Dialect;

    #[test]
    fn only_plain_urls_are_kept() {
        let directory = tempfile::tempdir().unwrap();
        let urls = ReleaseUrls::open(directory.path());
        let address = ProviderAddress::parse("acme/gamma", Dialect::Tofu).unwrap();
        let version: Version = "1.0.0".parse().unwrap();
        let url = |text: &str| Url::parse(text).unwrap();
        let service = url("https://registry.opentofu.org/v1/").origin();
        let signature = url("https://files.test/SHA256SUMS.sig");
        for secret in ["https://files.test/SHA256SUMS?token=1", "https://me:pw@files.test/S", "http://files.test/S"] {
            urls.put(&service, &address, &version, (&url(secret), &signature));
            assert_eq!(urls.get(&service, &address, &version), None, "{secret}");
        }
        let sums = url("https://files.test/SHA256SUMS");
        urls.put(&service, &address, &version, (&sums, &signature));
        assert_eq!(urls.get(&service, &address, &version), Some((sums, signature)));
        assert_eq!(urls.get(&service, &address, &"1.0.1".parse().unwrap()), None);
        let another = url("https://internal.test/v1/").origin();
        assert_eq!(urls.get(&another, &address, &version), None, "another service has not named it");
        std::fs::write(urls.path(&service, &address, &version), "{").unwrap();
        assert_eq!(urls.get(&service, &address, &version), None);
    }
}
