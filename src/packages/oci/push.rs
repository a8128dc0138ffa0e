//! Writing to a repository: blobs and manifests
//! (<https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md#push>).

use std::fmt;
use std::fs::File;
use std::io::{self, Seek as _};

use reqwest::Method;
use reqwest::blocking::{Body, RequestBuilder, Response};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use url::Url;

use super::client::{ManifestName, RepositoryClient};
use super::login::login_help;
use super::manifest::Digest;
use super::refusal::says_no_repository;
use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::net::{Failure, RequestError, RequestErrorKind};

/// Content of an upload.
#[derive(Clone, Copy)]
pub(crate) enum Content<'a> {
    Bytes(&'a [u8]),
    /// All of a file that has so many bytes, which is read while it is sent.
    File(&'a File, u64),
}

impl RepositoryClient<'_> {
    /// Whether a blob is there.
    pub(super) fn has_blob(&self, digest: &Digest) -> Result<bool, RequestError> {
        let url = self.url(&format!("blobs/{digest}"))?;
        self.attempt_with_retries(&url, || match self.request_once(&Method::HEAD, &url, Ok) {
            // A redirect leads to where it is.
            Err(Failure {
                kind:
                    RequestErrorKind::Status {
                        status: 300..400, ..
                    },
                ..
            }) => Ok(true),
            Err(failure) if says_no_repository(&failure) => Ok(false),
            response => response.map(|_| true),
        })
    }

    /// Uploads a blob.
    pub(super) fn push_blob(
        &self,
        digest: &Digest,
        content: Content<'_>,
    ) -> Result<(), RequestError> {
        const MEDIA_TYPE: &str = "application/octet-stream";
        let start = self.url("blobs/uploads/")?;
        self.attempt_with_retries(&start, || {
            let response =
                self.upload_once(&Method::POST, &start, MEDIA_TYPE, Content::Bytes(b""))?;
            let mut place = upload_place(&response)?;
            place
                .query_pairs_mut()
                .append_pair("digest", &digest.to_string());
            self.upload_once(&Method::PUT, &place, MEDIA_TYPE, content)
                .map(drop)
        })
    }

    /// Uploads a manifest under a name.
    pub(super) fn push_manifest(
        &self,
        name: &ManifestName,
        media_type: &str,
        bytes: &[u8],
    ) -> Result<(), RequestError> {
        let url = self.manifest_url(name)?;
        self.attempt_with_retries(&url, || {
            self.upload_once(&Method::PUT, &url, media_type, Content::Bytes(bytes))
                .map(drop)
        })
    }

    /// The error of an upload. A registry may answer "not found" when the repository does not
    /// exist.
    pub(super) fn push_error(&self, error: RequestError, what: &impl fmt::Display) -> Diagnostics {
        if error.kind == RequestErrorKind::NotFound {
            let message = format!(
                "cannot publish {what}: {} does not accept it (status 404)",
                self.repository
            );
            let error = Diagnostic::error(Code::RequestFailed, message);
            return error.help(login_help(&self.repository)).into();
        }
        let note = format!("needed to publish in {}", self.repository);
        Diagnostics::from(self.source_error(error, what)).map(|error| error.note(note.clone()))
    }

    /// Sends content to a URL, in one attempt. A file may take as long as a download.
    fn upload_once(
        &self,
        method: &Method,
        url: &Url,
        media_type: &str,
        content: Content<'_>,
    ) -> Result<Response, Failure> {
        self.request_once(method, url, |request| {
            let request = request.header(CONTENT_TYPE, media_type);
            Ok(match content {
                Content::Bytes(bytes) => request.body(bytes.to_vec()),
                // An archive takes longer than the limit for documents, and is read anew in each
                // attempt.
                Content::File(file, size) => {
                    let time_limit = self.registries.client.settings().download_timeout;
                    request
                        .timeout(time_limit)
                        .body(Body::sized(from_start(file)?, size))
                }
            })
        })
    }

    /// Makes one attempt; `complete` adds the content to the request. Redirects are not followed.
    fn request_once(
        &self,
        method: &Method,
        url: &Url,
        complete: impl Fn(RequestBuilder) -> io::Result<RequestBuilder>,
    ) -> Result<Response, Failure> {
        self.answer_challenges(url, |authorization: Option<&HeaderValue>| {
            let request = self
                .registries
                .client
                .request(method.clone(), url.clone())?;
            let mut request = complete(request).map_err(|error| {
                Failure::permanent(RequestErrorKind::Connection(error.to_string()))
            })?;
            if let Some(authorization) = authorization {
                request = request.header(AUTHORIZATION, authorization);
            }
            self.registries.client.send_without_redirects(request)
        })
    }
}

fn from_start(mut file: &File) -> io::Result<File> {
    file.rewind()?;
    file.try_clone()
}

/// Address to which a blob is uploaded: of the registry itself, which alone gets the authorization.
fn upload_place(response: &Response) -> Result<Url, Failure> {
    let Some(location) = response.headers().get(LOCATION) else {
        return Err(invalid("the registry returned no location for an upload"));
    };
    let Ok(location) = location.to_str() else {
        return Err(invalid("the registry returned no location for an upload"));
    };
    let place = response
        .url()
        .join(location)
        .map_err(|_| invalid("the location of an upload is not a URL"))?;
    if place.origin() != response.url().origin() {
        return Err(invalid("the location of an upload is on a different host"));
    }
    Ok(place)
}

fn invalid(problem: &str) -> Failure {
    Failure::permanent(RequestErrorKind::InvalidBody(problem.to_owned()))
}
