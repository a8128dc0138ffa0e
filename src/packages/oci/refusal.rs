//! Responses of OCI registries without success
//! (<https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md#error-codes>).

use reqwest::StatusCode;
use reqwest::blocking::Response;
use serde::Deserialize;

use crate::net::{Failure, RequestErrorKind, Retry, after_status, read_whole};

/// Longest part of an error's body that is read.
const MAXIMUM_BYTES: u64 = 64 << 10;

/// A response without success. Of its body only the codes of the specification are kept, because a server may repeat a
/// secret of the request in it.
pub(super) struct Refusal {
    status: StatusCode,
    retry: Retry,
    codes: Vec<String>,
    credentials_sent: bool,
}

#[derive(Deserialize)]
struct RefusalJson {
    errors: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    code: String,
}

impl Refusal {
    /// Reads the body of a response.
    pub(super) fn read(response: Response, credentials_sent: bool) -> Self {
        let (status, retry) = (response.status(), after_status(&response));
        let is_code =
            |code: &String| code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
        let body = read_whole(response, MAXIMUM_BYTES).ok();
        let document: Option<RefusalJson> = body.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let codes = document.into_iter().flat_map(|document| document.errors).map(|entry| entry.code);
        Self { status, retry, codes: codes.filter(is_code).take(4).collect(), credentials_sent }
    }

    /// Whether the response is a redirect.
    pub(super) fn is_redirect(&self) -> bool {
        self.status.is_redirection()
    }

    /// Whether the registry knows no repository of that name.
    pub(super) fn says_no_repository(&self) -> bool {
        let is_about_name = |code: &String| code == "NAME_UNKNOWN" || code == "NAME_INVALID";
        match self.status {
            StatusCode::NOT_FOUND => true,
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => false,
            _ => self.retry == Retry::Never && self.codes.iter().any(is_about_name),
        }
    }
}

impl From<Refusal> for Failure {
    /// Retries if the registry does not find a blob of a manifest: while two machines upload the same blob, some
    /// registries do not have it for a moment.
    fn from(refusal: Refusal) -> Self {
        let Refusal { status, retry, codes, credentials_sent } = refusal;
        let is_uploading = codes.iter().any(|code| code == "MANIFEST_BLOB_UNKNOWN");
        let retry = if is_uploading && retry == Retry::Never { Retry::BackOff } else { retry };
        Self { kind: RequestErrorKind::of_status(status, credentials_sent, || codes.join(", ")), retry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_pushed_again_while_another_machine_uploads_its_blobs() {
        let retry = |codes: &[&str]| {
            let codes = codes.iter().map(ToString::to_string).collect();
            let status = StatusCode::BAD_REQUEST;
            Failure::from(Refusal { status, retry: Retry::Never, codes, credentials_sent: false }).retry
        };
        assert_eq!(retry(&["DIGEST_INVALID", "MANIFEST_BLOB_UNKNOWN"]), Retry::BackOff);
        assert_eq!(retry(&["DIGEST_INVALID"]), Retry::Never);
        assert_eq!(retry(&[]), Retry::Never);
    }
}
