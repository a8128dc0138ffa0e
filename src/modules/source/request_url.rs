//! The URL that OpenTofu and Terraform request for an address (Go's `net/url`). Programs differ in
//! what they read in an unusual URL: its host for one is a part of the path for another. Such a URL
//! is refused.

use percent_encoding::percent_decode_str;
use url::Url;

use crate::modules::fetch_error::{FetchError, Fetched};

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
pub(in crate::modules) fn request_url(text: &str) -> Fetched<Url> {
    let unreadable = |error| FetchError::address(format!("its URL cannot be read: {error}"));
    let parse = |text: &str| Url::parse(text).map_err(unreadable);
    if text
        .get(..5)
        .is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
    {
        return parse(text);
    }
    if let Some(why) = ambiguity(text) {
        let error = FetchError::address(format!(
            "its URL {why}, so programs read it in different ways"
        ));
        return Err(error.help("write the URL in its usual form: https://HOST/PATH?QUERY"));
    }
    let (address, query) = split_query(text);
    let (start, path) = address.split_at(path_start(address));
    parse(&format!("{start}{}{query}", request_path(path)))
}

/// Returns why programs read a URL in different ways, if they do.
fn ambiguity(text: &str) -> Option<&'static str> {
    let (address, _) = split_query(text);
    let (start, path) = address.split_at(path_start(address));
    let authority = start
        .split_once("://")
        .map_or("", |(_, authority)| authority);
    let (login, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let is_dots = |part: &str| matches!(&*percent_decode_str(part).decode_utf8_lossy(), "." | "..");
    if text.contains('#') {
        Some("contains a #")
    } else if host.is_empty() {
        Some("does not have :// and a host")
    } else if host.contains(['\\', '%'])
        || !login.bytes().all(|byte| is_valid(byte, VALID_IN_LOGIN))
    {
        Some("has an unusual character before its path")
    } else if path.split('/').any(is_dots) {
        Some("has . or .. in its path")
    } else {
        None
    }
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
    let escape = |byte| {
        if is_valid(byte, KEPT_IN_PATH) {
            char::from(byte).into()
        } else {
            format!("%{byte:02X}")
        }
    };
    percent_decode_str(path).map(escape).collect()
}

/// Returns the parameters of a URL that Go reads (`URL.Query`).
pub(in crate::modules) fn parameters(url: &Url) -> Vec<(String, String)> {
    parameters_of_query(url.query().unwrap_or_default())
}

/// Returns the parameters of a query, without parameters that have a semicolon or a damaged escape
/// (`url.ParseQuery`).
pub(super) fn parameters_of_query(query: &str) -> Vec<(String, String)> {
    let decoded = |text: &str| {
        percent_decode_str(&text.replace('+', " "))
            .decode_utf8_lossy()
            .into_owned()
    };
    let parameter = |written: &str| {
        let (name, value) = written.split_once('=').unwrap_or((written, ""));
        (decoded(name), decoded(value))
    };
    let is_read = |written: &&str| {
        !written.is_empty() && !written.contains(';') && has_valid_escapes(written)
    };
    query.split('&').filter(is_read).map(parameter).collect()
}

/// Returns a query as Go writes it, which sorts parameters by name (`Values.Encode`).
pub(in crate::modules) fn request_query(mut parameters: Vec<(String, String)>) -> Option<String> {
    let escape = |text: &str| {
        let escape = |byte| match byte {
            b' ' => "+".to_owned(),
            byte if is_valid(byte, b"-_.~") => char::from(byte).into(),
            byte => format!("%{byte:02X}"),
        };
        text.bytes().map(escape).collect::<String>()
    };
    parameters.sort_by(|(one, _), (other, _)| one.cmp(other));
    let written: Vec<_> = parameters
        .iter()
        .map(|(name, value)| format!("{}={}", escape(name), escape(value)))
        .collect();
    (!written.is_empty()).then(|| written.join("&"))
}

/// Splits an address before its query: `https://h.test/a` and `?ref=v1`.
pub(super) fn split_query(address: &str) -> (&str, &str) {
    address.split_at(address.find('?').unwrap_or(address.len()))
}

/// Whether two hexadecimal digits follow each percent sign.
pub(super) fn has_valid_escapes(text: &str) -> bool {
    let is_digits = |text: &str| {
        text.as_bytes()
            .get(..2)
            .is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    };
    text.split('%').skip(1).all(is_digits)
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
