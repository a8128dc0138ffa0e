//! A client for parts of the OCI distribution specification 1.1: tags, manifests, blobs.
//!
//! The crate `oci-client` 0.18 is not used. It is asynchronous only and makes its own HTTP client,
//! so that neither provlock's retries nor its rules for redirects apply; it follows no `Link` in a
//! list of tags, reads manifests and lists of any size into memory, sends a password to any token
//! server, even over plain HTTP, and knows no refresh tokens. It would add 21 crates.

use std::fmt;
use std::io::Read;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use reqwest::StatusCode;
use reqwest::blocking::Response;
use reqwest::header::{ACCEPT, HeaderValue, LINK, WWW_AUTHENTICATE};
use serde::Deserialize;
use url::Url;

use super::authorization::{Access, Authorization, Requester};
use super::challenge;
use super::credentials::{FoundLogin, OciLogins};
use super::login::{DOCKER_HUB, login_help};
use super::manifest::Digest;
use super::refusal::{refusal_failure, says_no_repository};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::net::{
    Client, Failure, PlainHttp, Purpose, Request, RequestError, RequestErrorKind, is_loopback,
    read_whole,
};
use crate::packages::error::SourceError;
use crate::provider::OciRepository;
use crate::system::bounded::List;
use crate::system::{OnceMap, SafeUrl, lock};

/// Registries should accept manifests up to this size, and need not accept larger ones (OCI
/// distribution specification 1.1).
const MAXIMUM_MANIFEST_BYTES: u64 = 4 << 20;
/// The longest list of tags that is read, in pages of at most [`MAXIMUM_MANIFEST_BYTES`].
const MOST_PAGES: usize = 1_000;
const MOST_TAGS: usize = 100_000;
const MAXIMUM_TAG_LIST_BYTES: u64 = 32 << 20;
/// The most characters of a tag (OCI distribution specification 1.1, "Pulling manifests").
pub(super) const LONGEST_TAG: usize = 128;
/// The most authorizations that are tried for one request.
const MOST_AUTHORIZATIONS: usize = 4;

/// Access to OCI registries, shared by all mirrors of a run: connections, logins, tokens.
pub struct OciRegistries {
    pub(in crate::packages) client: Client,
    logins: OciLogins,
    bases: OnceMap<String, Result<Url>>,
    sessions: OnceMap<(OciRepository, Access), Result<Arc<Session>>>,
}

/// State of one repository in this run.
struct Session {
    /// The registry's base URL.
    base: Url,
    login: OnceLock<Result<Option<FoundLogin>>>,
    authorization: Mutex<Option<Authorization>>,
}

/// A repository, with a client for its content.
pub(super) struct RepositoryClient<'a> {
    pub(super) registries: &'a OciRegistries,
    pub(super) repository: OciRepository,
    access: Access,
    session: Arc<Session>,
}

/// Reference to a manifest.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
pub(super) enum ManifestName {
    Tag(String),
    Digest(Digest),
}

#[derive(Deserialize)]
struct TagList {
    tags: Option<List<String, MOST_TAGS>>,
}

impl OciRegistries {
    /// Registries that are reached through `client`, and get only the credentials of `logins`.
    pub fn new(client: Client, logins: OciLogins) -> Self {
        Self {
            client,
            logins,
            bases: OnceMap::default(),
            sessions: OnceMap::default(),
        }
    }

    /// A client for a repository.
    ///
    /// # Errors
    /// When the registry's name cannot be part of a URL.
    pub(super) fn client(
        &self,
        access: Access,
        repository: OciRepository,
    ) -> Result<RepositoryClient<'_>> {
        let session = self
            .sessions
            .get_or_compute(&(repository.clone(), access), || {
                let registry = &repository.registry;
                let base = self
                    .bases
                    .get_or_compute(registry, || self.find_base_url(registry))?;
                Ok(Arc::new(Session {
                    base,
                    login: OnceLock::new(),
                    authorization: Mutex::default(),
                }))
            });
        Ok(RepositoryClient {
            registries: self,
            session: session?,
            access,
            repository,
        })
    }

    /// The registry's base URL. On this machine a registry may speak HTTP, so HTTPS is tried first
    /// there.
    fn find_base_url(&self, registry: &str) -> Result<Url> {
        let encrypted = base_url("https", registry)?;
        if !is_loopback(&encrypted) {
            return Ok(encrypted);
        }
        match self
            .client
            .send_following_redirects(&self.document_request(&encrypted, None), None)
        {
            Err(Failure {
                kind: RequestErrorKind::Connection(_),
                ..
            }) => base_url("http", registry),
            _ => Ok(encrypted),
        }
    }

    /// A request for a document of one of the media types in `accept`, or of any.
    fn document_request<'a>(&self, url: &'a Url, accept: Option<&'static str>) -> Request<'a> {
        let headers = accept
            .map(|types| (ACCEPT, HeaderValue::from_static(types)))
            .into_iter()
            .collect();
        Request {
            url,
            headers,
            time_limit: Some(self.client.settings().timeout),
            plain_http: PlainHttp::ThisMachine,
        }
    }
}

impl RepositoryClient<'_> {
    /// The names of all tags; `None` if the registry has no such repository. Names that are too
    /// long for a tag are skipped.
    pub(super) fn tags(&self) -> std::result::Result<Option<Vec<String>>, RequestError> {
        let mut url = self.url("tags/list")?;
        let mut tags = Vec::new();
        let mut total_bytes: u64 = 0;
        for _ in 0..MOST_PAGES {
            let page = self.attempt_with_retries(&url, || {
                match self.get_once(
                    &self
                        .registries
                        .document_request(&url, Some("application/json")),
                ) {
                    Ok(response) => Ok(Some((
                        next_page_url(&response)?,
                        read_whole(response, MAXIMUM_MANIFEST_BYTES)?,
                    ))),
                    Err(failure) if says_no_repository(&failure) => Ok(None),
                    Err(failure) => Err(failure),
                }
            });
            // Without a repository, the provider has no versions here. A host that is no registry
            // is an error.
            let Some((next_url, bytes)) = page? else {
                if self.is_registry() {
                    return Ok(None);
                }
                return Err(request_error(&url, RequestErrorKind::NotFound));
            };
            let list: TagList = serde_json::from_slice(&bytes).map_err(|error| {
                let why = format!(
                    "it is not a list of tags (line {}, column {})",
                    error.line(),
                    error.column()
                );
                request_error(&url, RequestErrorKind::InvalidBody(why))
            })?;
            total_bytes += bytes.len() as u64;
            let names = list.tags.unwrap_or_default().0;
            tags.extend(names.into_iter().filter(|tag| tag.len() <= LONGEST_TAG));
            if total_bytes > MAXIMUM_TAG_LIST_BYTES {
                return Err(request_error(
                    &url,
                    RequestErrorKind::TooLarge {
                        limit: MAXIMUM_TAG_LIST_BYTES,
                    },
                ));
            }
            // A registry could answer with ever more pages.
            match next_url {
                Some(next_url) if tags.len() <= MOST_TAGS => url = next_url,
                Some(_) => break,
                None => return Ok(Some(tags)),
            }
        }
        Err(request_error(
            &url,
            RequestErrorKind::InvalidBody("the list of tags has no end".to_owned()),
        ))
    }

    /// Fetches a manifest. Its digest is checked if `name` is a digest, or if the registry sends
    /// the digest.
    pub(super) fn manifest(
        &self,
        name: &ManifestName,
        accept: &'static str,
    ) -> std::result::Result<Vec<u8>, RequestError> {
        let url = self.manifest_url(name)?;
        self.attempt_with_retries(&url, || {
            let response = self.get_once(&self.registries.document_request(&url, Some(accept)))?;
            let header = response
                .headers()
                .get("docker-content-digest")
                .and_then(|value| value.to_str().ok());
            // A tag has no digest of its own, but the header protects against a damaged answer.
            let (expected, problem) = match name {
                ManifestName::Digest(digest) => (
                    Some(digest.clone()),
                    "the manifest does not have its digest",
                ),
                ManifestName::Tag(_) => (
                    header.and_then(|text| text.parse().ok()),
                    "the registry sent a manifest with a different digest than its header",
                ),
            };
            let bytes = read_whole(response, MAXIMUM_MANIFEST_BYTES)?;
            if expected.is_some_and(|digest| digest != Digest::of(&bytes)) {
                return Err(Failure::permanent(RequestErrorKind::InvalidBody(
                    problem.to_owned(),
                )));
            }
            Ok(bytes)
        })
    }

    /// The manifest of a tag, of at most `limit` bytes. One attempt, for a caller that can do
    /// without it.
    pub(super) fn manifest_in_one_attempt(
        &self,
        tag: &ManifestName,
        accept: &'static str,
        limit: u64,
        time_limit: Duration,
    ) -> std::result::Result<Vec<u8>, RequestError> {
        let url = self.manifest_url(tag)?;
        let request = self.registries.document_request(&url, Some(accept));
        let time_limit = request.time_limit.map(|known| known.min(time_limit));
        let response = self.get_once(&Request {
            time_limit,
            ..request
        });
        let bytes = response.and_then(|response| read_whole(response, limit));
        bytes.map_err(|failure| request_error(&url, failure.kind))
    }

    pub(super) fn manifest_url(
        &self,
        name: &ManifestName,
    ) -> std::result::Result<Url, RequestError> {
        self.url(&format!("manifests/{name}"))
    }

    /// Hands the content of a blob, at most `limit` bytes, to `consume`, with its length if that is
    /// known, as [`Client::download`] does.
    ///
    /// The digest is not checked, because `consume` has better ways to do that.
    pub(super) fn download_blob<T>(
        &self,
        digest: &Digest,
        limit: u64,
        consume: impl FnMut(&mut dyn Read, Option<u64>) -> T,
    ) -> std::result::Result<T, RequestError> {
        let url = self.url(&format!("blobs/{digest}"))?;
        let content = self.registries.client.download_by(
            limit,
            |headers| {
                self.get_once(&Request {
                    headers,
                    time_limit: None,
                    ..self.registries.document_request(&url, None)
                })
            },
            consume,
        );
        content.map_err(|kind| request_error(&url, kind))
    }

    /// The error for the user, with notes about the login if access was refused. `subject` is the
    /// requested thing.
    pub(super) fn source_error(
        &self,
        error: RequestError,
        subject: impl fmt::Display,
    ) -> SourceError {
        let RequestErrorKind::Unauthorized {
            status,
            credentials_sent,
        } = error.kind
        else {
            return SourceError::request_failed(subject, error);
        };
        let mut notes = Vec::new();
        match self.session.login.get() {
            Some(Ok(Some(login))) if credentials_sent => {
                notes.push(format!("the login comes from {}", login.origin));
            }
            Some(Ok(Some(login))) => {
                let origin = &login.origin;
                notes.push(format!(
                "no credentials were sent, because the registry requests none that {origin} contains"
            ));
            }
            _ => {
                notes.push("no credentials were sent, because there is no login for it".to_owned());
                notes.extend(self.registries.logins.searched_places());
            }
        }

        let registry = &self.repository.registry;
        let url = error.url;
        let message =
            format!("cannot get {subject}: {registry} refused access to {url} ({status})");
        let mut error =
            Diagnostic::error(Code::Unauthorized, message).help(login_help(&self.repository));
        for note in notes {
            error = error.note(note);
        }
        error.into()
    }

    /// Whether the host is an OCI registry at all: if a host answers nothing but "not found", the
    /// problem is not a missing repository.
    fn is_registry(&self) -> bool {
        let request = self
            .registries
            .document_request(&self.session.base, Some("application/json"));
        let response = self
            .registries
            .client
            .send_following_redirects(&request, None);
        response.is_ok_and(|response| {
            response.status().is_success() || response.status() == StatusCode::UNAUTHORIZED
        })
    }

    /// A URL in the repository.
    pub(super) fn url(&self, path: &str) -> std::result::Result<Url, RequestError> {
        let base = &self.session.base;
        let path = format!("{}/{path}", self.repository.name);
        base.join(&path)
            .map_err(|error| request_error(base, RequestErrorKind::Connection(error.to_string())))
    }

    /// One attempt to get something from the registry, with the answers to its challenges.
    fn get_once(&self, request: &Request<'_>) -> std::result::Result<Response, Failure> {
        self.answer_challenges(request.url, |authorization| {
            self.registries
                .client
                .send_following_redirects(request, authorization)
        })
    }

    /// Makes one attempt, and answers the registry's challenges in it. `request` sends the request
    /// to `url`, with an authorization if one is known.
    pub(super) fn answer_challenges(
        &self,
        url: &Url,
        request: impl Fn(Option<&HeaderValue>) -> std::result::Result<Response, Failure>,
    ) -> std::result::Result<Response, Failure> {
        let mut authorization = lock(&self.session.authorization).clone();
        let mut is_from_this_attempt = false;
        for _ in 0..MOST_AUTHORIZATIONS {
            let header = authorization
                .as_ref()
                .map(|authorization| &authorization.header);
            let response = request(header)?;
            if response.status().is_success() {
                return Ok(response);
            }
            // Only the registry itself may request credentials, not the target of a redirect.
            let is_from_registry = response.url().origin() == url.origin();
            let is_challenge = response.status() == StatusCode::UNAUTHORIZED && is_from_registry;
            let mut renewed = None;
            if is_challenge {
                renewed = self.renew_authorization(
                    &response,
                    authorization.as_ref(),
                    is_from_this_attempt,
                )?;
            }
            if renewed.is_none() {
                let credentials_sent = authorization.is_some() && is_from_registry;
                return Err(refusal_failure(response, credentials_sent));
            }
            authorization = renewed;
            is_from_this_attempt = true;
        }
        Err(Failure::permanent(RequestErrorKind::Unauthorized {
            status: 401,
            credentials_sent: authorization.is_some(),
        }))
    }

    /// An authorization other than the refused one; `None` if there is no other. Of threads that
    /// are refused at the same time, one gets it for all. `is_fresh` says whether the refused one
    /// was made in this attempt.
    fn renew_authorization(
        &self,
        response: &Response,
        refused: Option<&Authorization>,
        is_fresh: bool,
    ) -> std::result::Result<Option<Authorization>, Failure> {
        let mut current = lock(&self.session.authorization);
        // Another thread has got a new one in the meantime.
        if current.as_ref() != refused {
            return Ok(current.clone());
        }
        let login = self
            .session
            .login
            .get_or_init(|| self.registries.logins.login_for(&self.repository));
        let login = login
            .as_ref()
            .map_err(|error| Failure::permanent(RequestErrorKind::Credentials(error.clone())))?;
        let requester = Requester {
            client: &self.registries.client,
            repository: &self.repository,
            registry: response.url(),
            login: login.as_ref(),
            logins: &self.registries.logins,
            access: self.access,
        };
        let fields = response
            .headers()
            .get_all(WWW_AUTHENTICATE)
            .iter()
            .filter_map(|value| value.to_str().ok());
        let next = requester.next_authorization(&challenge::parse(fields), refused, is_fresh)?;
        if next.is_some() {
            current.clone_from(&next);
        }
        Ok(next)
    }

    /// Makes attempts until one succeeds, fails permanently, or no retry is left.
    pub(super) fn attempt_with_retries<T>(
        &self,
        url: &Url,
        attempt: impl FnMut() -> std::result::Result<T, Failure>,
    ) -> std::result::Result<T, RequestError> {
        self.registries
            .client
            .attempt_with_retries(Purpose::Metadata, attempt)
            .map_err(|kind| request_error(url, kind))
    }
}

pub(super) fn request_error(url: &Url, kind: RequestErrorKind) -> RequestError {
    RequestError {
        url: url.into(),
        kind,
        credentials_of: None,
    }
}

/// The target of a link to the next page, such as `</v2/a/tags/list?last=1.0.0>; rel="next"`.
fn next_link_target(link: &str) -> Option<&str> {
    let (target, parameters) = link.trim_start().strip_prefix('<')?.split_once('>')?;
    for parameter in parameters.split(';') {
        if let Some((name, value)) = parameter.split_once('=')
            && name.trim().eq_ignore_ascii_case("rel")
            && value.trim().trim_matches('"').eq_ignore_ascii_case("next")
        {
            return Some(target);
        }
    }
    None
}

/// The URL of the next page of a list (RFC 8288), if there is one. It must be on the same registry.
fn next_page_url(response: &Response) -> std::result::Result<Option<Url>, Failure> {
    let mut links = Vec::new();
    for field in response.headers().get_all(LINK) {
        // A field that is not text is treated as absent.
        links.extend(field.to_str().unwrap_or_default().split(','));
    }
    let Some(reference) = links.into_iter().find_map(next_link_target) else {
        return Ok(None);
    };

    let next = response
        .url()
        .join(reference)
        .map_err(|error| invalid_list_error(format!("its link is not a URL: {error}")))?;
    if next.origin() != response.url().origin() {
        return Err(invalid_list_error(format!(
            "the list of tags continues on a different host, {}",
            SafeUrl::from(next)
        )));
    }
    Ok(Some(next))
}

fn invalid_list_error(problem: String) -> Failure {
    Failure::permanent(RequestErrorKind::InvalidBody(problem))
}

/// The base URL of a registry.
fn base_url(scheme: &str, registry: &str) -> Result<Url> {
    let host = if registry == DOCKER_HUB {
        "registry-1.docker.io"
    } else {
        registry
    };
    // The URL standard refuses some names that a template may produce, such as 1.2.3.4.5.
    Url::parse(&format!("{scheme}://{host}/v2/")).map_err(|error| {
        let problem = format!("its name is not a host: {error}");
        let message = format!("the OCI registry {registry} could not be reached: {problem}");
        Diagnostic::error(Code::RequestFailed, message).into()
    })
}
