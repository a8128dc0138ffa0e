//! Package URLs (<https://github.com/package-url/purl-spec>).
//!
//! The type `terraform` is a proposal: <https://github.com/package-url/purl-spec/pull/889>. A provider is
//! `NAMESPACE/TYPE`, a module of a registry `NAMESPACE/NAME/SYSTEM`.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use provlock::provider::{Dialect, Hostname};

/// Characters that are encoded in each part.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b':');

/// Parts of a package URL, not encoded.
#[derive(Default)]
pub(super) struct Purl<'a> {
    pub(super) kind: &'static str,
    pub(super) path: Vec<&'a str>,
    pub(super) version: Option<&'a str>,
    /// By their names, in order. Qualifiers without a value are omitted.
    pub(super) qualifiers: Vec<(&'static str, String)>,
    /// The directory in the package.
    pub(super) subpath: &'a str,
}

impl std::fmt::Display for Purl<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "pkg:{}", self.kind)?;
        for part in &self.path {
            write!(f, "/{}", percent_encoded(part))?;
        }
        if let Some(version) = self.version {
            write!(f, "@{}", percent_encoded(version))?;
        }
        // A qualifier without a value is the same as none.
        let mut separator = '?';
        for (name, value) in &self.qualifiers {
            if !value.is_empty() {
                write!(f, "{separator}{name}={}", percent_encoded(value))?;
                separator = '&';
            }
        }
        // The specification forbids these segments in a subpath.
        let mut separator = '#';
        for part in self.subpath.split('/') {
            if !["", ".", ".."].contains(&part) {
                write!(f, "{separator}{}", percent_encoded(part))?;
                separator = '/';
            }
        }
        Ok(())
    }
}

/// The qualifier for a registry that is not the default of the type, which is Terraform's.
pub(super) fn repository_qualifier(host: &Hostname) -> (&'static str, String) {
    let is_default = host.is_default_of(Dialect::Terraform);
    (
        "repository_url",
        if is_default {
            String::new()
        } else {
            host.as_ascii().to_owned()
        },
    )
}

fn percent_encoded(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, ENCODED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_encoded() {
        let purl = Purl {
            kind: "generic",
            path: vec!["a/b", "é ?#@"],
            version: Some("1.0+x"),
            qualifiers: vec![
                ("checksum", String::new()),
                ("vcs_url", "git+https://h:1/a.git@b".to_owned()),
            ],
            subpath: "/modules/../a b/",
        };
        let expected = "pkg:generic/a%2Fb/%C3%A9%20%3F%23%40@1.0%2Bx\
                        ?vcs_url=git%2Bhttps:%2F%2Fh:1%2Fa.git%40b#modules/a%20b";
        assert_eq!(purl.to_string(), expected);
        assert_eq!(
            Purl {
                kind: "terraform",
                path: vec!["a", "b"],
                ..Purl::default()
            }
            .to_string(),
            "pkg:terraform/a/b"
        );
    }

    #[test]
    fn only_the_default_registry_is_omitted() {
        let value = |text: &str| repository_qualifier(&Hostname::parse(text).unwrap()).1;
        assert_eq!(value("registry.terraform.io"), "");
        assert_eq!(value("registry.opentofu.org"), "registry.opentofu.org");
        assert_eq!(value("bücher.test:8443"), "xn--bcher-kva.test:8443");
    }
}
