//! Downloads of packages, hashed as they arrive.

use std::cell::RefCell;
use std::io::{Read, Write as _};
use std::sync::Arc;

use url::Url;

use super::archive_file::ArchiveFile;
use super::download_queue::DownloadQueue;
use super::error::{Result, SourceError};
use super::fetched::Fetch;
use super::progress::Progress;
use crate::cli_config::LazyNetrc;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::net::{Client, RequestCredentials, RequestError, WEB_PAGE_HELP, is_web_page};
use crate::packages::archive::{
    HashCache, Limits, PackageDigest, PackageError, PackageId, hash_zip, hash_zip_spooled,
};
use crate::provider::Hash;
use crate::system::{SafeUrl, Token};

/// Fetches documents and packages. Limits the number of simultaneous packages, because each takes
/// memory and a core.
///
/// Clones share the limit, so that it applies to all sources of a run.
#[derive(Clone)]
pub(super) struct Downloader {
    pub(super) client: Client,
    /// Hashes that earlier runs computed.
    pub(super) cache: Option<HashCache>,
    queue: Arc<DownloadQueue>,
    /// Logins for the hosts of archives, in a dialect that uses them.
    netrc: Option<LazyNetrc>,
}

/// Number of bytes of a body that are kept, to recognise a web page.
const BEGINNING: usize = 64;
/// Error of a cancelled download.
const CANCELLED: &str = "the download was cancelled";

/// An archive that can be downloaded.
pub(super) struct Archive<'a> {
    /// Its location, for errors.
    pub(super) origin: String,
    /// The host that it is downloaded from.
    pub(super) host: &'a str,
    /// Its size in bytes, if known.
    pub(super) size: Option<u64>,
    /// Its hash, if it is known.
    pub(super) expected: Option<Expected<'a>>,
    /// Polled during the download; returning false cancels it.
    pub(super) is_wanted: &'a dyn Fn() -> bool,
}

/// The hash that an archive must have.
pub(super) struct Expected<'a> {
    pub(super) zh: &'a Hash,
    /// The document that states the hash.
    pub(super) stated_by: &'a str,
}

/// Hashes an archive from its body, whose length may be known.
pub(super) type Hasher<'a> =
    dyn FnMut(&mut dyn Read, Option<u64>) -> std::result::Result<PackageDigest, PackageError> + 'a;

/// A package whose hashes are known.
pub(super) struct Downloaded {
    pub(super) digest: PackageDigest,
    /// Downloaded bytes: zero if the hashes were in the cache, or shared.
    pub(super) transferred: u64,
    /// Whether another machine has hashed it.
    pub(super) is_shared: bool,
}

/// A body that reports progress, is copied if the archive is kept, and fails once the download is
/// cancelled.
struct Received<'a> {
    body: &'a mut dyn Read,
    /// Start of the body.
    beginning: &'a RefCell<Vec<u8>>,
    fetch: &'a Fetch<'a>,
    archive: &'a Archive<'a>,
}

impl Downloader {
    /// Downloads through `client`, `jobs` packages at a time, and stores hashes in `cache`.
    /// Archives are requested with the logins in `netrc`, if there is one.
    pub(super) fn new(
        client: Client,
        jobs: usize,
        cache: Option<HashCache>,
        netrc: Option<LazyNetrc>,
    ) -> Self {
        Self {
            client,
            cache,
            queue: Arc::new(DownloadQueue::new(jobs.max(1))),
            netrc,
        }
    }

    /// The same downloader with a different number of retries (`download_retry_count` of an
    /// installation method).
    #[must_use]
    pub(crate) fn with_retries(&self, retries: u32) -> Self {
        Self {
            client: self.client.with_download_retries(retries),
            ..self.clone()
        }
    }

    /// The hashes of the package in `archive`, which is at `url`: from the cache, or downloaded. If
    /// the hash of the archive is known, the caller must not use the result unless a verified
    /// SHA256SUMS lists that hash.
    pub(super) fn cached_or_downloaded(
        &self,
        fetch: &Fetch<'_>,
        url: &Url,
        archive: &Archive<'_>,
    ) -> Result<Downloaded> {
        let downloaded = self.cached_or_received(fetch, archive, |hasher| {
            let login = self
                .netrc_login(url)
                .map_err(|why| SourceError::invalid_response(fetch.package, why))?;
            let credentials = match &login {
                Some(login) => RequestCredentials::Basic(login),
                None => RequestCredentials::None,
            };
            let limit = Limits::default().archive_bytes;
            let hashed = self.client.download(url, credentials, limit, hasher);
            hashed.map_err(|error| self.request_error(fetch.package, error))
        })?;
        if downloaded.transferred == 0 {
            self.client.observer().report_cached(url);
        }
        Ok(downloaded)
    }

    /// The login in `.netrc` for an archive whose URL has none; `None` in a dialect without it,
    /// too.
    fn netrc_login(&self, url: &Url) -> std::result::Result<Option<Token>, String> {
        let has_own = !url.username().is_empty() || url.password().is_some();
        match &self.netrc {
            Some(netrc) if !has_own => Ok(netrc.get()?.token(url)),
            _ => Ok(None),
        }
    }

    fn request_error(&self, package: &PackageId, error: RequestError) -> SourceError {
        let help = match &self.netrc {
            Some(_) => error.netrc_help(),
            None => None,
        };
        let error = SourceError::request_failed(package, error);
        match help {
            Some(help) => Diagnostics::from(error)
                .map(|error| error.help(help.clone()))
                .into(),
            None => error,
        }
    }

    /// Looks up the hashes of a package in the cache.
    pub(super) fn cached_digest(&self, package: &PackageId) -> Option<PackageDigest> {
        self.cache.as_ref()?.digest_of(package)
    }

    /// The hashes of the package in `archive`: from the cache if the hash of the archive is known
    /// and cached, or else of the body that `request` passes to its argument.
    pub(super) fn cached_or_received(
        &self,
        fetch: &Fetch<'_>,
        archive: &Archive<'_>,
        request: impl Fn(&mut Hasher<'_>) -> Result<std::result::Result<PackageDigest, PackageError>>,
    ) -> Result<Downloaded> {
        let Fetch {
            package,
            archive_file,
            ..
        } = fetch;
        // The cache contains hashes only, so an archive that is wanted as a file is downloaded.
        if archive_file.is_none()
            && let Some(cache) = &self.cache
            && let Some(expected) = &archive.expected
            && let Some(digest) = cache.digest_by_zh(expected.zh, &package.address.name)
        {
            self.queue.learn_size(&package.address, Some(digest.size));
            return Ok(Downloaded {
                digest,
                transferred: 0,
                is_shared: false,
            });
        }
        let digest = self.receive_and_hash(fetch, archive, request)?;
        if let Some(cache) = &self.cache
            && archive.expected.is_some()
        {
            cache.store_by_zh(package, &digest);
        }
        Ok(Downloaded {
            transferred: digest.size,
            digest,
            is_shared: false,
        })
    }

    /// Receives and hashes an archive, and again in full if it cannot be hashed in one pass.
    fn receive_and_hash(
        &self,
        fetch: &Fetch<'_>,
        archive: &Archive<'_>,
        request: impl Fn(&mut Hasher<'_>) -> Result<std::result::Result<PackageDigest, PackageError>>,
    ) -> Result<PackageDigest> {
        let Fetch {
            package,
            archive_file,
            progress,
        } = *fetch;
        self.queue.learn_size(&package.address, archive.size);
        let _permit = self.queue.wait_for_permit(archive.host, &package.address);
        // The release may have been refused while this download waited for its turn.
        if !(archive.is_wanted)() {
            return Err(SourceError::invalid_response(package, CANCELLED));
        }
        let limits = Limits::default();
        let beginning = RefCell::new(Vec::new());
        let mut is_spooled = false;
        let digest = loop {
            let digest = request(&mut |body, length| {
                beginning.borrow_mut().clear();
                self.queue.learn_size(&package.address, length);
                progress(package, Progress::Started(length));
                if let Some(archive_file) = archive_file {
                    archive_file.restart().map_err(PackageError::Read)?;
                }
                let body = Received {
                    body,
                    beginning: &beginning,
                    fetch,
                    archive,
                };
                let provider_type = &package.address.name;
                if is_spooled {
                    hash_zip_spooled(body, provider_type, &limits)
                } else {
                    hash_zip(body, provider_type, &limits)
                }
            })?;
            // The second time the archive goes to a file, in which the central directory is read
            // first.
            if is_spooled || !matches!(digest, Err(PackageError::NotStreamable(_))) {
                break digest;
            }
            is_spooled = true;
        };
        if let Some(error) = archive_file.and_then(ArchiveFile::write_error) {
            return Err(error);
        }
        // A hash that differs from the expected one is reported rather than a damaged archive.
        let received_zh = match &digest {
            Ok(digest) => Some(&digest.zh),
            Err(PackageError::Refused { zh, .. }) => zh.as_ref(),
            Err(_) => None,
        };
        let is_expected = match &archive.expected {
            Some(Expected { zh, .. }) => received_zh == Some(*zh),
            None => digest.is_ok(),
        };
        // A proxy or a login of the site answers with a page, and its hash would look like an
        // attack.
        if !is_expected && is_web_page(&beginning.borrow()) {
            let message = format!(
                "cannot get {package}: {} returned a web page instead of an archive",
                archive.origin
            );
            return Err(Diagnostic::error(Code::RequestFailed, message)
                .help(WEB_PAGE_HELP)
                .into());
        }
        let origin = format!("downloaded from {}", archive.origin);
        if let Some(Expected { zh, stated_by }) = &archive.expected
            && let Some(received_zh) = received_zh
            && *zh != received_zh
        {
            let problem =
                format!("the package has the hash {received_zh}, but {stated_by} says {zh}");
            return Err(SourceError::not_authentic_from(package, problem, origin));
        }
        digest.map_err(|error| SourceError::invalid_package(package, &error, origin))
    }
}

impl<'a> Archive<'a> {
    /// The archive at `url`, without a known hash or length, which is always wanted.
    pub(super) fn at_url(url: &'a Url) -> Self {
        Self {
            origin: SafeUrl::from(url).to_string(),
            host: url.host_str().unwrap_or_default(),
            size: None,
            expected: None,
            is_wanted: &|| true,
        }
    }
}

impl Read for Received<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if !(self.archive.is_wanted)() {
            return Err(std::io::Error::other(CANCELLED));
        }
        let count = self.body.read(buffer)?;
        let mut beginning = self.beginning.borrow_mut();
        let wanted = BEGINNING.saturating_sub(beginning.len()).min(count);
        beginning.extend(&buffer[..wanted]);
        (self.fetch.progress)(self.fetch.package, Progress::Received(count as u64));
        self.fetch
            .archive_file
            .map_or(Ok(()), |mut file| file.write_all(&buffer[..count]))?;
        Ok(count)
    }
}
