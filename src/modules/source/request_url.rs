//! The URL that OpenTofu and Terraform request for an address (Go's `net/url`). Programs differ in
//! what they read in an unusual URL: its host for one is a part of the path for another. Such a URL
//! is refused.

use std::fmt::Write as _;

use percent_encoding::percent_decode_str;
use url::Url;

use crate::modules::fetch_error::{FetchError, FetchResult};

/// Bytes besides letters and digits that Go leaves as they are in a path without other bytes.
const VALID_IN_PATH: &[u8] = b"-_.~$&+,/:;=@!'()*[]%";
/// Bytes besides letters and digits that Go leaves as they are when it escapes a path.
const KEPT_IN_PATH: &[u8] = b"-_.~$&+,/:;=@";
/// Bytes besides letters and digits that Go permits in a login.
const VALID_IN_LOGIN: &[u8] = b"-._:~!$&'()*+,;=%@";

/// Parses a URL. Its query is as written ([`request_query`] returns what is requested).
///
/// # Errors
/// The URL is malformed, or programs may read it in different ways.
pub(in crate::modules) fn request_url(text: &str) -> FetchResult<Url> {
    let scheme = text.get(..5).unwrap_or_default();
    if scheme.eq_ignore_ascii_case("file:") {
        return parsed(text);
    }
    if let Some(why) = ambiguity(text) {
        let error = FetchError::address(format!(
            "its URL {why}, so programs read it in different ways"
        ));
        return Err(error.help("write the URL in its usual form: https://HOST/PATH?QUERY"));
    }
    let (address, query) = split_query(text);
    let (start, path) = address.split_at(path_start(address));
    parsed(&format!("{start}{}{query}", request_path(path)))
}

fn parsed(text: &str) -> FetchResult<Url> {
    Url::parse(text)
        .map_err(|error| FetchError::address(format!("its URL cannot be read: {error}")))
}

/// Returns why programs read a URL in different ways, if they do.
fn ambiguity(text: &str) -> Option<&'static str> {
    let (address, _) = split_query(text);
    let (start, path) = address.split_at(path_start(address));
    let (_, authority) = start.split_once("://").unwrap_or_default();
    let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if text.contains('#') {
        return Some("contains a #");
    }
    if host.is_empty() {
        return Some("does not have :// and a host");
    }
    if host.contains(['\\', '%']) || !login.bytes().all(|byte| is_valid(byte, VALID_IN_LOGIN)) {
        return Some("has an unusual character before its path");
    }
    if path.split('/').any(is_dots) {
        return Some("has . or .. in its path");
    }
    None
}

/// Whether a part of a path is `.` or `..`, also with escapes.
fn is_dots(part: &str) -> bool {
    matches!(&*percent_decode_str(part).decode_utf8_lossy(), "." | "..")
}

/// Index of the path in a URL without a query.
fn path_start(address: &str) -> usize {
    let authority = address.find("://").map_or(0, |index| index + 3);
    address[authority..]
        .find('/')
        .map_or(address.len(), |index| authority + index)
}

/// Escapes a path as Go does (`URL.EscapedPath`).
fn request_path(path: &str) -> String {
    if path.bytes().all(|byte| is_valid(byte, VALID_IN_PATH)) {
        return path.to_owned();
    }
    escaped(percent_decode_str(path), KEPT_IN_PATH)
}

/// Escapes all bytes but letters, digits and `kept`.
pub(super) fn escaped(bytes: impl Iterator<Item = u8>, kept: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        if is_valid(byte, kept) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

/// Returns the parameters of a URL that Go reads (`URL.Query`).
pub(in crate::modules) fn parameters(url: &Url) -> Vec<(String, String)> {
    parameters_of_query(url.query().unwrap_or_default())
}

/// Returns the parameters of a query, without parameters that have a semicolon or a damaged escape
/// (`url.ParseQuery`).
pub(super) fn parameters_of_query(query: &str) -> Vec<(String, String)> {
    let mut parameters = Vec::new();
    for written in query.split('&') {
        if written.is_empty() || written.contains(';') || !has_valid_escapes(written) {
            continue;
        }
        let (name, value) = written.split_once('=').unwrap_or((written, ""));
        parameters.push((decoded(name), decoded(value)));
    }
    parameters
}

fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " "))
        .decode_utf8_lossy()
        .into_owned()
}

/// Returns a query as Go writes it, which sorts parameters by name (`Values.Encode`).
pub(in crate::modules) fn request_query(mut parameters: Vec<(String, String)>) -> Option<String> {
    if parameters.is_empty() {
        return None;
    }
    parameters.sort_by(|(one, _), (other, _)| one.cmp(other));
    let written: Vec<_> = parameters
        .iter()
        .map(|(name, value)| format!("{}={}", escaped_in_query(name), escaped_in_query(value)))
        .collect();
    Some(written.join("&"))
}

fn escaped_in_query(text: &str) -> String {
    // A plus sign of the text is escaped already.
    escaped(text.bytes(), b"-_.~ ").replace(' ', "+")
}

/// Splits an address before its query: `https://h.test/a` and `?ref=v1`.
pub(super) fn split_query(address: &str) -> (&str, &str) {
    address.split_at(address.find('?').unwrap_or(address.len()))
}

/// Whether two hexadecimal digits follow each percent sign.
pub(super) fn has_valid_escapes(text: &str) -> bool {
    for rest in text.split('%').skip(1) {
        match rest.as_bytes() {
            [first, second, ..] if first.is_ascii_hexdigit() && second.is_ascii_hexdigit() => {}
            _ => return false,
        }
    }
    true
}

fn is_valid(byte: u8, others: &[u8]) -> bool {
    byte.is_ascii_alphanumeric() || others.contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_requested_as_by_terraform() {
        for (written, requested) in [
            (
                "https://h.test/a%2Fb.zip?y=2&x=1",
                "https://h.test/a%2Fb.zip?y=2&x=1",
            ),
            (
                "https://u:p%20w@h.test:8443/a.zip",
                "https://u:p%20w@h.test:8443/a.zip",
            ),
            (
                "https://h.test/a b|c^d.zip",
                "https://h.test/a%20b%7Cc%5Ed.zip",
            ),
            ("https://h.test/a\\b.zip", "https://h.test/a%5Cb.zip"),
            ("https://h.test/%61 b.zip", "https://h.test/a%20b.zip"),
            ("https://h.test/ü.zip", "https://h.test/%C3%BC.zip"),
            ("ssh://git@h.test/a.git", "ssh://git@h.test/a.git"),
            ("file:///a/../b", "file:///b"),
        ] {
            assert_eq!(
                request_url(written).unwrap().as_str(),
                requested,
                "{written}"
            );
        }
    }

    #[test]
    fn a_url_in_which_programs_find_different_hosts_is_refused() {
        for written in [
            "https://h.test#@o.test/r.git?ref=v1",
            "https://h.test/r.git?ref=v1#@o.test/",
            "https://h.test\\@o.test/b.zip",
            "https:\\\\h.test\\b.zip",
            "https:/h.test/b.zip",
            "https:///h.test/b.zip",
            "https:h.test/b.zip",
            "https://u@/b.zip",
            "https://%68.test/b.zip",
            "https://u:p|q@h.test/b.zip",
            "https://h.test/a/../b.zip",
            "https://h.test/a/%2e%2E/b.zip",
            "https://h.test/./b.zip",
        ] {
            let error = request_url(written).unwrap_err().to_string();
            assert!(
                error.ends_with("so programs read it in different ways"),
                "{written}: {error}"
            );
        }
    }

    #[test]
    fn a_query_is_requested_as_by_terraform() {
        for (written, requested) in [
            ("y=2&x=1&y=1", Some("x=1&y=2&y=1")),
            ("x=1;y=2", None),
            ("x=%20", Some("x=+")),
            ("x", Some("x=")),
            ("%61b=zip&b=1", Some("ab=zip&b=1")),
            ("x=%zz&y=1", Some("y=1")),
            ("a=%2f:?@^*~", Some("a=%2F%3A%3F%40%5E%2A~")),
            ("", None),
        ] {
            assert_eq!(
                request_query(parameters_of_query(written)).as_deref(),
                requested,
                "{written}"
            );
        }
    }
}
