//! URLs that may contain a secret.

use std::fmt;

use percent_encoding::percent_decode_str;
use url::Url;

/// Parameters of URLs that contain no secret: the parameters of go-getter (<https://github.com/hashicorp/go-getter>),
/// of OCI sources, and of the protocols that provlock uses.
const PUBLIC_PARAMETERS: &str =
    "archive checksum depth digest filename last n ref region rev tag terraform-get version";

/// A URL whose `Display` and `Debug` hide the user, and possible secrets in the query.
///
/// The URL is boxed to keep errors small.
#[derive(
    Clone,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    derive_more::Debug,
    derive_more::Deref,
    derive_more::From,
)]
#[debug("\"{self}\"")]
#[from(Url)]
pub struct SafeUrl(#[deref(forward)] Box<Url>);

impl From<&Url> for SafeUrl {
    fn from(url: &Url) -> Self {
        Self(Box::new(url.clone()))
    }
}

impl fmt::Display for SafeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.cannot_be_a_base() {
            // Such as "user:password@host", which is read as the scheme "user".
            return write!(f, "{}:[redacted]", self.scheme());
        }
        let mut shown = Url::clone(self);
        if !self.username().is_empty() || self.password().is_some() {
            // This fails only for a URL that cannot have a user name, and such a URL has none.
            let _ = shown.set_username("redacted");
            let _ = shown.set_password(None);
        }
        shown.set_fragment(None);
        shown.set_query(None);
        write!(f, "{shown}")?;
        let Some(query) = self.query() else {
            return Ok(());
        };
        let (mut shown_parameters, hidden): (Vec<_>, Vec<_>) = query
            .split('&')
            .partition(|parameter| is_public_parameter(parameter));
        if !hidden.is_empty() {
            shown_parameters.push("[redacted]");
        }
        write!(f, "?{}", shown_parameters.join("&"))
    }
}

/// Whether a parameter such as `ref=v1.0.0` contains no secret. A checksum may be in a file at a
/// URL with a login.
pub(crate) fn is_public_parameter(parameter: &str) -> bool {
    let (name, value) = parameter.split_once('=').unwrap_or(("", parameter));
    PUBLIC_PARAMETERS.split(' ').any(|public| public == name) && !value.contains(['@', '?'])
}

/// Decodes `%41` as `A` (RFC 3986, section 2.1).
pub(crate) fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_secrets() {
        for (text, shown) in [
            (
                "https://h.test/a?X-Amz-Signature=abc#f",
                "https://h.test/a?[redacted]",
            ),
            (
                "https://h.test/a?ref=v1&token=abc&archive=zip",
                "https://h.test/a?ref=v1&archive=zip&[redacted]",
            ),
            (
                "https://h.test/a?abc&depth=1",
                "https://h.test/a?depth=1&[redacted]",
            ),
            (
                "https://h.test/a?checksum=file:https://u:p@h.test/",
                "https://h.test/a?[redacted]",
            ),
            ("https://user:pass@h.test/", "https://redacted@h.test/"),
            ("https://h.test:8443/a/b", "https://h.test:8443/a/b"),
            ("user:pass@h.test/", "user:[redacted]"),
        ] {
            let url = SafeUrl::from(Url::parse(text).unwrap());
            assert_eq!(
                (url.to_string(), format!("{url:?}")),
                (shown.to_owned(), format!("\"{shown}\""))
            );
            assert_eq!(url.as_str(), text);
        }
    }

    #[test]
    fn what_is_not_encoded_well_stays_as_it_is() {
        assert_eq!(percent_decoded("p%20w%zz%C3%BC%"), "p w%zzü%");
    }
}
