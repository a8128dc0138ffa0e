//! Downloads of packages, hashed as they arrive.

use std::io::Read;
use std::sync::{Condvar, Mutex, PoisonError};

use url::Url;

use super::{NOT_AUTHENTIC_HELP, Progress, ProgressSink, Wanted};
use crate::diagnostic::{Code, Result};
use crate::hash::Hash;
use crate::net::{Client, DownloadError};
use crate::package::cache::{CachedPackage, HashCache};
use crate::package::{Limits, PackageDigest, PackageError, hash_zip, hash_zip_spooled};

/// Fetches documents and packages; at most so many packages at a time, since each takes memory and a core.
pub struct Downloader {
    pub(super) client: Client,
    cache: Option<HashCache>,
    free: Mutex<usize>,
    freed: Condvar,
}

/// A package whose hashes are known.
pub(super) struct Downloaded {
    pub(super) h1: Hash,
    pub(super) h1_with_directories: Hash,
    pub(super) zh: Hash,
    /// Bytes of the archive.
    pub(super) size: u64,
    /// Bytes that were downloaded: none when the hashes were in the cache.
    pub(super) transferred: u64,
}

/// The right to work on a package, given back when dropped.
struct Permit<'a>(&'a Downloader);

/// A reader that tells how many bytes went through it.
struct Counted<'a, R> {
    inner: R,
    wanted: &'a Wanted,
    progress: ProgressSink<'a>,
}

impl Downloader {
    /// Downloads through `client`, `jobs` packages side by side, and remembers hashes in `cache`.
    pub fn new(client: Client, jobs: usize, cache: Option<HashCache>) -> Self {
        Self { client, cache, free: Mutex::new(jobs.max(1)), freed: Condvar::new() }
    }

    /// The package whose archive has the hash `zh`, which a verified SHA256SUMS names: from the cache if it is there, else
    /// downloaded.
    pub(super) fn verified_package(
        &self,
        wanted: &Wanted,
        url: &Url,
        zh: &Hash,
        progress: ProgressSink<'_>,
    ) -> Result<Downloaded> {
        if let Some(cached) = self.cache.as_ref().and_then(|cache| cache.get(zh, &wanted.address.name)) {
            let CachedPackage { h1, h1_with_directories, zh, size, .. } = cached;
            return Ok(Downloaded { h1, h1_with_directories, zh, size, transferred: 0 });
        }
        let package = self.fetch(wanted, url, Some(zh), progress)?;
        if let Some(cache) = &self.cache {
            cache.put(&CachedPackage {
                provider: wanted.address.clone(),
                version: wanted.version.clone(),
                platform: wanted.platform.clone(),
                zh: package.zh.clone(),
                h1: package.h1.clone(),
                h1_with_directories: package.h1_with_directories.clone(),
                size: package.size,
            });
        }
        Ok(package)
    }

    /// The package at `url`, whatever it is.
    pub(super) fn package(&self, wanted: &Wanted, url: &Url, progress: ProgressSink<'_>) -> Result<Downloaded> {
        self.fetch(wanted, url, None, progress)
    }

    /// Downloads the zip archive of a package and hashes it. No credentials are sent (spec section 7).
    fn fetch(
        &self,
        wanted: &Wanted,
        url: &Url,
        expected: Option<&Hash>,
        progress: ProgressSink<'_>,
    ) -> Result<Downloaded> {
        let _permit = self.permit();
        let limits = Limits::default();
        let get = |spooled: bool| {
            self.client.download(url, None, limits.archive_bytes, |body, length| {
                progress(wanted, Progress::Started(length));
                let body = Counted { inner: body, wanted, progress };
                let hash = if spooled { hash_zip_spooled } else { hash_zip };
                hash(body, &wanted.address.name, &limits)
            })
        };
        let digest = match get(false) {
            Err(DownloadError::Consume(PackageError::NotStreamable(_))) => get(true),
            digest => digest,
        };
        // That a package is not the one that was signed says more than what is wrong with it.
        let found = match &digest {
            Ok(digest) => Some(&digest.zh),
            Err(DownloadError::Consume(PackageError::Refused { zh, .. })) => zh.as_ref(),
            Err(_) => None,
        };
        if let (Some(expected), Some(found)) = (expected, found)
            && expected != found
        {
            let problem = format!("the package has the hash {found}, but SHA256SUMS says {expected}");
            let error = wanted.error(Code::PackageNotAuthentic, problem).note(format!("downloaded from {url}"));
            return Err(Box::new(error.help(NOT_AUTHENTIC_HELP)));
        }
        let PackageDigest { zh, h1, h1_with_directories, size, .. } = digest.map_err(|error| match error {
            DownloadError::Request(error) => error.into_diagnostic(&wanted.to_string()),
            DownloadError::Consume(error) => {
                Box::new(wanted.error(Code::InvalidPackage, error).note(format!("downloaded from {url}")))
            }
        })?;
        Ok(Downloaded { h1, h1_with_directories, zh, size, transferred: size })
    }

    fn permit(&self) -> Permit<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Permit(self)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.inner.read(buffer)?;
        (self.progress)(self.wanted, Progress::Received(count as u64));
        Ok(count)
    }
}
