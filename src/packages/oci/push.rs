//! Writing to a repository: blobs and manifests
//! (<https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md#push>).

use reqwest::Method;
use reqwest::blocking::Response;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, LOCATION};
use url::Url;

use super::client::{ManifestName, RepositoryClient};
use super::manifest::Digest;
use crate::net::{Attempt, Failure, RequestErrorKind, Requested};

impl RepositoryClient<'_> {
    /// Uploads a blob.
    pub(super) fn push_blob(&self, bytes: &[u8]) -> Requested<()> {
        const MEDIA_TYPE: &str = "application/octet-stream";
        let start = self.url("blobs/uploads/")?;
        self.repeat(&start, || {
            let response = self.upload(&Method::POST, &start, MEDIA_TYPE, b"")?;
            let mut place = upload_place(&response)?;
            place.query_pairs_mut().append_pair("digest", &Digest::of(bytes).to_string());
            self.upload(&Method::PUT, &place, MEDIA_TYPE, bytes).map(drop)
        })
    }

    /// Uploads a manifest under a tag.
    pub(super) fn push_manifest(&self, tag: &ManifestName, media_type: &str, bytes: &[u8]) -> Requested<()> {
        let url = self.manifest_url(tag)?;
        self.repeat(&url, || self.upload(&Method::PUT, &url, media_type, bytes).map(drop))
    }

    /// One attempt. No redirect is followed.
    fn upload(&self, method: &Method, url: &Url, media_type: &str, body: &[u8]) -> Attempt<Response> {
        let send = |authorization: Option<&HeaderValue>| {
            let mut request = self.http().request(method.clone(), url.clone());
            request = request.header(CONTENT_TYPE, media_type).body(body.to_vec());
            if let Some(authorization) = authorization {
                request = request.header(AUTHORIZATION, authorization);
            }
            self.http().send_once(request)
        };
        Ok(self.authorized(url, send)??)
    }
}

/// Where a blob is to be put: at the registry itself, which alone gets the authorization.
fn upload_place(response: &Response) -> Attempt<Url> {
    let invalid = |why: &str| Failure::lasting(RequestErrorKind::InvalidBody(why.to_owned()));
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let location = location.ok_or_else(|| invalid("the registry does not say where to upload a blob"))?;
    let place = response.url().join(location).map_err(|_| invalid("where to upload a blob is not a URL"))?;
    if place.origin() != response.url().origin() {
        return Err(invalid("the registry wants a blob to be uploaded to another host"));
    }
    Ok(place)
}
