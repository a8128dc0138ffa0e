//! SHA256SUMS of a release with its signature: fetched and verified once for all platforms.

use std::sync::Arc;
use std::time::SystemTime;

use jiff::Timestamp;
use url::{Origin, Url};

use super::cache::RegistryCache;
use super::protocol::Metadata;
use crate::diagnostic::Diagnostic;
use crate::net::{Client, FetchedDocument, Purpose, RequestError, RequestErrorKind, is_web_page};
use crate::packages::archive::PackageId;
use crate::packages::authentication::{
    Expired, OpenPgpKey, Sha256Sums, SignaturePolicy, authenticate_sums,
};
use crate::packages::error::{Result, SourceError};
use crate::provider::{Authentication, Hash, ProviderAddress, Version};
use crate::system::{OnceMap, SafeUrl};

/// SHA256SUMS has a line of about 120 bytes per platform; the largest known one is below 10 KiB.
const MAXIMUM_SUMS_BYTES: u64 = 256 << 10;
/// A signature is a few hundred bytes per key.
const MAXIMUM_SIGNATURE_BYTES: u64 = 64 << 10;

/// Fetches and verifies SHA256SUMS, each once.
pub(super) struct SignedReleases {
    client: Client,
    policy: SignaturePolicy,
    cache: Option<RegistryCache>,
    documents: OnceMap<(Url, Url), std::result::Result<Arc<Documents>, RequestError>>,
    verified: OnceMap<SumsKey, Result<Arc<SignedSums>>>,
}

/// SHA256SUMS and its signature, not verified.
struct Documents {
    sums: FetchedDocument,
    signature: Vec<u8>,
}

/// Platforms that name the same SHA256SUMS with the same keys share it.
#[derive(Clone, PartialEq, Eq, Hash)]
struct SumsKey {
    sums: Url,
    signature: Url,
    keys: Vec<OpenPgpKey>,
    /// Without keys, it is accepted from the default host only.
    is_default_host: bool,
}

/// A SHA256SUMS document whose signature was checked.
pub(super) struct SignedSums {
    pub(super) sums: Sha256Sums,
    pub(super) authentication: Authentication,
    pub(super) last_modified: Option<Timestamp>,
    expired: Option<Expired>,
}

impl SignedReleases {
    pub(super) fn new(
        client: Client,
        policy: SignaturePolicy,
        cache: Option<RegistryCache>,
    ) -> Self {
        Self {
            client,
            policy,
            cache,
            documents: OnceMap::default(),
            verified: OnceMap::default(),
        }
    }

    /// Whether an earlier run has seen the release.
    pub(super) fn was_seen_before(
        &self,
        service: &Origin,
        address: &ProviderAddress,
        version: &Version,
    ) -> bool {
        match &self.cache {
            Some(cache) => cache.release_urls(service, address, version).is_some(),
            None => false,
        }
    }

    /// Fetches SHA256SUMS and its signature from where they were in an earlier run, in case they
    /// are still there.
    pub(super) fn prefetch_from_known_urls(
        &self,
        service: &Origin,
        address: &ProviderAddress,
        version: &Version,
    ) {
        if let Some(cache) = &self.cache
            && let Some((sums, signature)) = cache.release_urls(service, address, version)
        {
            drop(self.documents_once(&sums, &signature));
        }
    }

    /// The verified SHA256SUMS that a package's metadata names.
    pub(super) fn verified_sums(&self, metadata: &Metadata) -> Result<Arc<SignedSums>> {
        let key = SumsKey {
            sums: metadata.absolute_url(&metadata.response.shasums_url)?,
            signature: metadata.absolute_url(&metadata.response.shasums_signature_url)?,
            keys: metadata.signing_keys().to_vec(),
            is_default_host: metadata
                .package
                .address
                .hostname
                .is_default_of(self.policy.dialect),
        };
        self.verified
            .get_or_compute(&key, || self.fetch_and_verify(metadata, &key).map(Arc::new))
    }

    /// Fetches SHA256SUMS and its signature, verifies the signature with the keys, and keeps the
    /// verified sums and their URLs in the cache.
    fn fetch_and_verify(&self, metadata: &Metadata, key: &SumsKey) -> Result<SignedSums> {
        let PackageId {
            address, version, ..
        } = &metadata.package;
        let release = format!("{address} {version}");
        let documents = self
            .documents_once(&key.sums, &key.signature)
            .map_err(|error| SourceError::request_failed(&release, error))?;

        // Not the start of the run: a registry may sign at each request.
        let now = SystemTime::now();
        let authenticated = authenticate_sums(
            &documents.sums.bytes,
            &documents.signature,
            &key.keys,
            self.policy,
            key.is_default_host,
            now,
        );
        let (authentication, expired) = authenticated.map_err(|error| {
            SourceError::release_refused(
                error
                    .diagnostic(&release)
                    .note(format!("checksums: {}", SafeUrl::from(&key.sums)))
                    .note(format!("signature: {}", SafeUrl::from(&key.signature))),
            )
        })?;

        let sums = Sha256Sums::parse(&documents.sums.bytes);
        // Only a verified release is stored.
        if let Some(cache) = &self.cache {
            let service = &metadata.service;
            cache.store_release_urls(service, address, version, &key.sums, &key.signature);
            cache.add_sums(address, version, &sums, &authentication);
        }
        self.client
            .count_kept_in_memory(&key.sums, sums.weight())
            .map_err(|error| SourceError::request_failed(&release, error))?;
        Ok(SignedSums {
            sums,
            authentication,
            last_modified: documents.sums.last_modified,
            expired,
        })
    }

    /// SHA256SUMS and its signature, fetched once in a run and not verified.
    fn documents_once(
        &self,
        sums: &Url,
        signature: &Url,
    ) -> std::result::Result<Arc<Documents>, RequestError> {
        self.documents
            .get_or_compute(&(sums.clone(), signature.clone()), || {
                self.fetch_documents(sums, signature).map(Arc::new)
            })
    }

    /// Fetches both documents at the same time.
    fn fetch_documents(
        &self,
        sums_url: &Url,
        signature_url: &Url,
    ) -> std::result::Result<Documents, RequestError> {
        std::thread::scope(|scope| {
            let signature = scope.spawn(|| {
                self.fetch_document(signature_url, MAXIMUM_SIGNATURE_BYTES, "a signature")
            });
            let sums = self.fetch_document(sums_url, MAXIMUM_SUMS_BYTES, "checksums");
            let signature = signature
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));

            // If both fail, the error is about the signature.
            let signature = signature?.bytes;
            let sums = sums?;
            self.client
                .count_kept_in_memory(&sums.url, sums.bytes.len() + signature.len())?;
            Ok(Documents { sums, signature })
        })
    }
}

impl SignedReleases {
    /// Fetches a document, which must not be a web page.
    fn fetch_document(
        &self,
        url: &Url,
        limit: u64,
        what: &'static str,
    ) -> std::result::Result<FetchedDocument, RequestError> {
        let document = self.client.get(url, None, limit, Purpose::Download)?;
        if is_web_page(&document.bytes) {
            return Err(RequestError {
                url: url.into(),
                kind: RequestErrorKind::WebPage { instead_of: what },
                credentials_of: None,
            });
        }
        Ok(document)
    }
}

impl SignedSums {
    /// The `zh:` of a package, which SHA256SUMS and the registry must agree on.
    pub(super) fn confirmed_zh(&self, metadata: &Metadata) -> Result<Hash> {
        let sum = self
            .sums
            .confirmed_sum(&metadata.response.filename, &metadata.response.shasum);
        sum.map_err(|error| SourceError::not_authentic(&metadata.package, error))
    }

    /// Warnings about expired keys and signatures.
    pub(super) fn expiry_warnings(&self, package: &PackageId) -> Vec<Diagnostic> {
        let subject = format!("{} {}", package.address, package.version);
        self.expired
            .iter()
            .map(|expired| expired.warning(&subject))
            .collect()
    }
}
