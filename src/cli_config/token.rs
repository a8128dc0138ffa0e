//! Secrets, and texts that may hold one.

use std::fmt;

use url::Url;

/// A secret that is sent to a host. Neither `Debug` nor `Display` shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Wraps a secret, exactly as it is; `None` if it is empty.
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The secret itself: for the request or the program that it is meant for, and nothing else.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Whether the secret can be the value of an HTTP header (RFC 9110, section 5.5).
    pub(crate) fn is_sendable(&self) -> bool {
        self.0.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
    }

    /// The text without the secret, in case a server or a program echoed it.
    pub(crate) fn redact(&self, text: &str) -> String {
        text.replace(&self.0, "[redacted]")
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// A URL fit to be shown: without a password, and without its query, since signed URLs carry their secret there.
pub fn shown_url(url: &Url) -> String {
    if url.cannot_be_a_base() {
        // Such as "user:password@host", which forgets its scheme.
        return format!("{}:[redacted]", url.scheme());
    }
    let mut url = url.clone();
    if !url.username().is_empty() || url.password().is_some() {
        // Only a URL that cannot have a user name refuses this, and such a URL has none.
        let _ = url.set_username("redacted");
        let _ = url.set_password(None);
    }
    url.set_fragment(None);
    let has_query = url.query().is_some();
    url.set_query(None);
    if has_query { format!("{url}?[redacted]") } else { url.to_string() }
}

/// Words of the configuration language, which are no secrets.
const LANGUAGE: &[&str] = &[
    "access_token",
    "args",
    "config",
    "credentials",
    "credentials_helper",
    "dev_overrides",
    "direct",
    "discover_ambient_credentials",
    "docker_credentials_helper",
    "docker_style_config_files",
    "download_retry_count",
    "exclude",
    "false",
    "filesystem_mirror",
    "host",
    "include",
    "network_mirror",
    "oci_credentials",
    "oci_default_credentials",
    "oci_mirror",
    "password",
    "path",
    "plugin_cache_dir",
    "provider_installation",
    "refresh_token",
    "registry_protocols",
    "repository_template",
    "request_timeout_seconds",
    "retry_count",
    "services",
    "token",
    "true",
    "trust_all_hashes",
    "url",
    "username",
];

/// A configuration file's text as an error may quote it: if secrets may be in it, every word that is not of the language
/// is masked. Offsets, lines and columns stay what they are.
pub(super) fn quotable(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    if !["credentials", "token", "password", "secret", "@"].iter().any(|sign| lower.contains(sign)) {
        return text.to_owned();
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let word = &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())];
        if LANGUAGE.contains(&word) {
            result.push_str(word);
        } else {
            result.extend(word.chars().map(|_| '*'));
        }
        rest = &rest[word.len()..];
        let other = &rest[..rest.find(is_word).unwrap_or(rest.len())];
        result.push_str(other);
        rest = &rest[other.len()..];
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_never_printed() {
        let token = Token::new("s3cr3t").unwrap();
        assert_eq!(token.reveal(), "s3cr3t");
        assert_eq!(format!("{token} {token:?} {:?}", Some(&token)), "[redacted] [redacted] Some([redacted])");
        assert_eq!(token.redact("no s3cr3t here"), "no [redacted] here");
        assert!(Token::new("").is_none());
        assert!(!Token::new("a\nb").unwrap().is_sendable());
    }

    #[test]
    fn a_url_is_shown_without_its_secrets() {
        let show = |text| shown_url(&Url::parse(text).unwrap());
        assert_eq!(show("https://h.test/a?X-Amz-Signature=abc#f"), "https://h.test/a?[redacted]");
        assert_eq!(show("https://user:pass@h.test/"), "https://redacted@h.test/");
        assert_eq!(show("https://h.test:8443/a/b"), "https://h.test:8443/a/b");
        assert_eq!(show("user:pass@h.test/"), "user:[redacted]");
    }

    #[test]
    fn quoted_files_hold_no_secret_whatever_their_syntax() {
        for text in [
            "credentials \"h\" {\n  token = \"abc123\n",
            "credentials \"h\" { token = abc123\" }",
            "token = <<E\nabc123\nE\n",
            "{\"credentials\":{\"h\":\n{\"token\":\n\"abc123\"",
            "url = \"https://abc123@h/\"",
        ] {
            let shown = quotable(text);
            assert!(!shown.contains("abc123"), "{shown}");
            assert_eq!((shown.len(), shown.lines().count()), (text.len(), text.lines().count()));
        }
        assert_eq!(quotable("host \"é\" {\n"), "host \"é\" {\n");
    }
}
