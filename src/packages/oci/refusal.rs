//! Responses of OCI registries without success
//! (<https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md#error-codes>).

use reqwest::blocking::Response;
use serde_json::Value;

use crate::net::{Failure, RequestErrorKind, Retry, read_whole, retry_for_status};

/// Longest part of an error's body that is read.
const MAXIMUM_BYTES: u64 = 64 << 10;
/// Most codes that are kept, each of at most this many characters.
const MOST_CODES: usize = 4;
const LONGEST_CODE: usize = 64;

/// The failure of a request with a response without success. Of its body only the codes of the
/// specification are kept, because a server may repeat a secret of the request in it.
pub(super) fn refusal_failure(response: Response, credentials_sent: bool) -> Failure {
    let status = response.status();
    let retry = retry_for_status(&response);
    let body = read_whole(response, MAXIMUM_BYTES).unwrap_or_default();
    let document: Value = serde_json::from_slice(&body).unwrap_or_default();
    let codes = error_codes(&document);
    Failure {
        kind: RequestErrorKind::of_status(
            status,
            retry.requested_pause(),
            credentials_sent,
            || codes.join(", "),
        ),
        retry: retry_for_codes(retry, &codes),
    }
}

/// The first codes in the document of an error.
fn error_codes(document: &Value) -> Vec<&str> {
    let mut codes = Vec::new();
    for entry in document["errors"].as_array().into_iter().flatten() {
        if let Some(code) = entry["code"].as_str()
            && is_code(code)
            && codes.len() < MOST_CODES
        {
            codes.push(code);
        }
    }
    codes
}

/// Whether a text has the form of the specification's codes, such as `NAME_UNKNOWN`.
fn is_code(text: &str) -> bool {
    text.len() <= LONGEST_CODE
        && text
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// Retries if the registry does not find a blob of a manifest: while two machines upload the same
/// blob, some registries do not have it for a moment.
fn retry_for_codes(retry: Retry, codes: &[&str]) -> Retry {
    let is_uploading = codes.contains(&"MANIFEST_BLOB_UNKNOWN");
    if is_uploading && retry == Retry::Never {
        Retry::BackOff
    } else {
        retry
    }
}

/// Whether the registry knows no repository of that name.
pub(super) fn says_no_repository(failure: &Failure) -> bool {
    match &failure.kind {
        RequestErrorKind::NotFound => true,
        RequestErrorKind::Status { body, .. } => {
            failure.retry == Retry::Never
                && body
                    .split(", ")
                    .any(|code| matches!(code, "NAME_UNKNOWN" | "NAME_INVALID"))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_pushed_again_while_another_machine_uploads_its_blobs() {
        let retry = |codes: &[&str]| retry_for_codes(Retry::Never, codes);
        assert_eq!(
            retry(&["DIGEST_INVALID", "MANIFEST_BLOB_UNKNOWN"]),
            Retry::BackOff
        );
        assert_eq!(retry(&["DIGEST_INVALID"]), Retry::Never);
        assert_eq!(retry(&[]), Retry::Never);
    }
}
