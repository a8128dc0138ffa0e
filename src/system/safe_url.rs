//! URLs that may hold a secret.

use std::fmt;
use std::ops::Deref;

use percent_encoding::percent_decode_str;
use url::Url;

/// A URL whose `Display` and `Debug` hide the user and the query, which may hold secrets.
///
/// The URL is boxed to keep errors small.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SafeUrl(Box<Url>);

impl From<Url> for SafeUrl {
    fn from(url: Url) -> Self {
        Self(Box::new(url))
    }
}

impl From<&Url> for SafeUrl {
    fn from(url: &Url) -> Self {
        Self(Box::new(url.clone()))
    }
}

impl Deref for SafeUrl {
    type Target = Url;

    fn deref(&self) -> &Url {
        &self.0
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
            // Only a URL that cannot have a user name refuses this, and such a URL has none.
            let _ = shown.set_username("redacted");
            let _ = shown.set_password(None);
        }
        shown.set_fragment(None);
        shown.set_query(None);
        write!(f, "{shown}")?;
        if self.query().is_some() { f.write_str("?[redacted]") } else { Ok(()) }
    }
}

impl fmt::Debug for SafeUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// `%41` is `A` (RFC 3986, section 2.1).
pub(crate) fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_secrets() {
        for (text, shown) in [
            ("https://h.test/a?X-Amz-Signature=abc#f", "https://h.test/a?[redacted]"),
            ("https://user:pass@h.test/", "https://redacted@h.test/"),
            ("https://h.test:8443/a/b", "https://h.test:8443/a/b"),
            ("user:pass@h.test/", "user:[redacted]"),
        ] {
            let url = SafeUrl::from(Url::parse(text).unwrap());
            assert_eq!((url.to_string(), format!("{url:?}")), (shown.to_owned(), format!("\"{shown}\"")));
            assert_eq!(url.as_str(), text);
        }
    }

    #[test]
    fn what_is_not_encoded_well_stays_as_it_is() {
        assert_eq!(percent_decoded("p%20w%zz%C3%BC%"), "p w%zzü%");
    }
}
