//! Provider addresses, `[HOSTNAME/]NAMESPACE/TYPE`, read as OpenTofu reads them: its
//! `internal/addrs/provider.go`,
//! <https://github.com/opentofu/registry-address> and <https://github.com/hashicorp/terraform-svchost>.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::provider::Dialect;

/// The host of a registry, normalised by IDNA, with its port unless that is 443.
///
/// Compared and sorted in its ASCII (punycode) form, shown in Unicode.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Debug)]
#[debug("{self}")]
pub struct Hostname {
    ascii: Cow<'static, str>,
}

/// A provider's full address. The order is host, namespace, type, each byte by byte, which is the
/// order of the entries of a lock file. A clone shares the parts: a thousand root modules name the
/// same providers.
#[derive(
    Clone,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    derive_more::Debug,
    derive_more::Deref,
    derive_more::Display,
    derive_more::From,
)]
#[debug("{self}")]
#[display("{}/{}/{}", self.hostname, self.namespace, self.name)]
#[from(AddressParts)]
pub struct ProviderAddress(#[deref(forward)] Arc<AddressParts>);

/// Parts of a provider address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddressParts {
    /// The registry that the provider comes from.
    pub hostname: Hostname,
    /// Its publisher.
    pub namespace: String,
    /// Name, for example `aws`.
    pub name: String,
}

/// Error of a text that is not a provider address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Neither one, two nor three parts, or an empty one.
    #[error("a provider address is [HOSTNAME/]NAMESPACE/TYPE")]
    Shape,
    /// The host is not a valid host name.
    #[error("{0:?} is not a host name")]
    Hostname(String),
    /// The host is written in punycode.
    #[error("the host {0:?} must be written in Unicode: {1}")]
    Punycode(String, String),
    /// A character or dash where none may be.
    #[error("{0:?} may only contain letters, digits and single dashes between them")]
    Part(String),
    /// The type has the prefix of a repository's name.
    #[error("the type {0:?} must not start with \"{1}\"; did you mean {2:?}?")]
    Prefix(String, &'static str, String),
    /// An address that may be written in a configuration but never in a lock file.
    #[error("{0} cannot be in a lock file")]
    NeverLocked(ProviderAddress),
    /// The namespace of legacy addresses, on a host that never had any.
    #[error("the legacy namespace \"-\" is only for {0}; write the provider's own namespace")]
    Legacy(Hostname),
    /// A lock file contains a shorter or differently spelled form.
    #[error("the address must be written {0}")]
    NotCanonical(ProviderAddress),
}

impl Hostname {
    /// Reads a host name, in any case and in Unicode, with an optional port.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let invalid = || AddressError::Hostname(text.to_owned());
        let (host, port) = match text.split_once(':') {
            // `parse` accepts a plus sign.
            Some((_, port)) if port.starts_with('+') => return Err(invalid()),
            Some((host, port)) => (host, Some(port.parse::<u16>().map_err(|_| invalid())?)),
            None => (text, None),
        };
        if host.is_empty() || host.ends_with('.') {
            return Err(invalid());
        }
        let ascii = idna::domain_to_ascii_strict(host).map_err(|_| invalid())?;
        let (unicode, _) = idna::domain_to_unicode(&ascii);
        if unicode != ascii
            && host
                .to_ascii_lowercase()
                .split('.')
                .any(|label| label.starts_with("xn--"))
        {
            return Err(AddressError::Punycode(host.to_owned(), unicode));
        }
        Ok(Self {
            // The default port is not part of the canonical name.
            ascii: match port {
                None | Some(443) => ascii.into(),
                Some(port) => format!("{ascii}:{port}").into(),
            },
        })
    }

    /// The host of the registry that an address without a host belongs to.
    pub fn default_of(dialect: Dialect) -> Self {
        Self::known(dialect.default_host_name())
    }

    /// Whether addresses without a host have this host.
    pub fn is_default_of(&self, dialect: Dialect) -> bool {
        self.as_ascii() == dialect.default_host_name()
    }

    /// A name that is known to be normal.
    pub(crate) fn known(ascii: impl Into<Cow<'static, str>>) -> Self {
        Self {
            ascii: ascii.into(),
        }
    }

    /// The ASCII form, with the port if there is one; fit for a URL.
    pub fn as_ascii(&self) -> &str {
        &self.ascii
    }

    /// The host without its port, in ASCII.
    pub fn host(&self) -> &str {
        self.ascii
            .split_once(':')
            .map_or(&self.ascii, |(host, _)| host)
    }

    /// The port, when it is not 443.
    pub fn port(&self) -> Option<u16> {
        self.ascii
            .split_once(':')
            .and_then(|(_, port)| port.parse().ok())
    }
}

impl fmt::Display for Hostname {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&idna::domain_to_unicode(self.host()).0)?;
        match self.port() {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl ProviderAddress {
    /// Reads an address as a configuration or a user writes it: missing parts are `hashicorp` and
    /// the dialect's default host.
    pub fn parse(text: &str, dialect: Dialect) -> Result<Self, AddressError> {
        let default_host = Hostname::default_of(dialect);
        let parts: Vec<_> = text.split('/').take(4).collect();
        let mut hostname = default_host.clone();
        let [namespace, name] = match parts[..] {
            [name] => ["hashicorp", name],
            [namespace, name] => [namespace, name],
            [host, namespace, name] => {
                hostname = Hostname::parse(host)?;
                [namespace, name]
            }
            _ => return Err(AddressError::Shape),
        };
        if namespace.is_empty() || name.is_empty() {
            return Err(AddressError::Shape);
        }
        let namespace = match namespace {
            // Terraform 0.13 wrote `-` for providers in states of 0.12, which had no namespaces.
            "-" if hostname != default_host => return Err(AddressError::Legacy(default_host)),
            "-" => namespace.to_owned(),
            // Terraform 1.16 and later: organizations of HCP Terraform may have underscores
            // (https://github.com/hashicorp/terraform-registry-address/pull/144).
            _ if dialect == Dialect::Terraform => parse_part(namespace, Underscores::Allowed)?,
            _ => parse_part(namespace, Underscores::Refused)?,
        };
        let name = parse_part(name, Underscores::Refused)?;
        // This is the name of the provider's repository or program. An address contains only the
        // type.
        for prefix in ["terraform-provider-", "terraform-"] {
            if let Some(rest) = name.strip_prefix(prefix) {
                let suggestion = rest.to_owned();
                return Err(AddressError::Prefix(name, prefix, suggestion));
            }
        }
        Ok(AddressParts {
            hostname,
            namespace,
            name,
        }
        .into())
    }

    /// Reads an address in the form of a lock file: all three parts, normalised, of a provider that
    /// can be locked.
    pub fn parse_canonical(text: &str, dialect: Dialect) -> Result<Self, AddressError> {
        let address = Self::parse(text, dialect)?;
        if address.is_never_locked() {
            return Err(AddressError::NeverLocked(address));
        }
        if address.to_string() != text {
            return Err(AddressError::NotCanonical(address));
        }
        Ok(address)
    }

    /// The provider of a resource type or provider block whose local name no `required_providers`
    /// entry explains.
    pub fn implied(local_name: &str, dialect: Dialect) -> Result<Self, AddressError> {
        if local_name == "terraform" {
            return Ok(AddressParts {
                hostname: Hostname::known("terraform.io"),
                namespace: "builtin".to_owned(),
                name: "terraform".to_owned(),
            }
            .into());
        }
        Self::parse(local_name, dialect)
    }

    /// The provider of the same name at another host.
    #[must_use]
    pub fn at_host(&self, hostname: Hostname) -> Self {
        AddressParts {
            hostname,
            namespace: self.namespace.clone(),
            name: self.name.clone(),
        }
        .into()
    }

    /// Whether the provider is built in or has a legacy address. Lock files contain neither.
    pub fn is_never_locked(&self) -> bool {
        self.namespace == "-"
            || (self.hostname.as_ascii() == "terraform.io" && self.namespace == "builtin")
    }

    /// The shortest text that [`ProviderAddress::parse`] reads back: without the dialect's default
    /// host.
    pub fn short(&self, dialect: Dialect) -> String {
        if self.hostname.is_default_of(dialect) {
            format!("{}/{}", self.namespace, self.name)
        } else {
            self.to_string()
        }
    }
}

/// Treatment of underscores in a part of an address.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Underscores {
    Allowed,
    Refused,
}

/// Lower-cases a namespace or type and refuses names that no registry can contain.
fn parse_part(text: &str, underscores: Underscores) -> Result<String, AddressError> {
    let lower = text.to_lowercase();
    for word in lower.split('-') {
        let is_allowed = word
            .chars()
            .all(|c| c.is_alphanumeric() || (underscores == Underscores::Allowed && c == '_'));
        if word.is_empty() || !is_allowed {
            return Err(AddressError::Part(text.to_owned()));
        }
    }
    Ok(lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<String, AddressError> {
        ProviderAddress::parse(text, Dialect::Tofu).map(|address| address.to_string())
    }

    #[test]
    fn missing_parts_have_defaults() {
        assert_eq!(
            parse("null").unwrap(),
            "registry.opentofu.org/hashicorp/null"
        );
        assert_eq!(
            parse("Acme/Gamma").unwrap(),
            "registry.opentofu.org/acme/gamma"
        );
        assert_eq!(
            parse("Example.COM:443/acme/gamma").unwrap(),
            "example.com/acme/gamma"
        );
        let terraform = ProviderAddress::parse("acme/gamma", Dialect::Terraform).unwrap();
        assert_eq!(terraform.to_string(), "registry.terraform.io/acme/gamma");
        assert_eq!(terraform.short(Dialect::Terraform), "acme/gamma");
        assert_eq!(
            terraform.short(Dialect::Tofu),
            "registry.terraform.io/acme/gamma"
        );
    }

    #[test]
    fn hosts_are_shown_in_unicode_and_compared_in_punycode() {
        let address = ProviderAddress::parse("BÜCHER.test:8443/acme/gamma", Dialect::Tofu).unwrap();
        assert_eq!(address.hostname.as_ascii(), "xn--bcher-kva.test:8443");
        assert_eq!(address.to_string(), "bücher.test:8443/acme/gamma");
        assert!(matches!(
            parse("xn--bcher-kva.test/acme/gamma"),
            Err(AddressError::Punycode(..))
        ));
    }

    #[test]
    fn addresses_that_no_registry_can_have_are_refused() {
        for text in [
            "",
            "a/b/c/d",
            "acme/",
            "acme//alpha",
            "/alpha",
            "acme/al_pha",
            "acme/alpha-",
            "acme/a--b",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        for text in [
            "bad_host/a/b",
            "[::1]:8443/a/b",
            "host:0x50/a/b",
            "host:99999/a/b",
            "a..b/c/d",
            " a/b",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("-/a").is_ok() && parse("registry.opentofu.org/-/a").is_ok());
        for text in ["example.com/-/a", "registry.terraform.io/-/a"] {
            assert!(
                matches!(parse(text), Err(AddressError::Legacy(_))),
                "{text}"
            );
        }
        let error = parse("acme/terraform-provider-null").unwrap_err();
        assert!(
            error.to_string().contains("did you mean \"null\"?"),
            "{error}"
        );
    }

    #[test]
    fn only_terraform_has_namespaces_with_underscores() {
        for text in ["app.terraform.io/openai_inc/kube", "acme_inc/gamma"] {
            assert!(
                ProviderAddress::parse(text, Dialect::Terraform).is_ok(),
                "{text}"
            );
            assert!(matches!(parse(text), Err(AddressError::Part(_))), "{text}");
        }
        for text in [
            "al_pha",
            "acme/al_pha",
            "app.terraform.io/openai_inc/ku_be",
            "bad_host/acme/alpha",
            "a_--b/c",
        ] {
            assert!(
                ProviderAddress::parse(text, Dialect::Terraform).is_err(),
                "{text}"
            );
        }
        let text = "app.terraform.io/openai_inc/kube";
        assert!(ProviderAddress::parse_canonical(text, Dialect::Terraform).is_ok());
    }

    #[test]
    fn a_lock_file_contains_only_full_canonical_addresses() {
        let canonical = |text| {
            ProviderAddress::parse_canonical(text, Dialect::Tofu).map(|address| address.to_string())
        };
        assert!(canonical("registry.opentofu.org/acme/gamma").is_ok());
        let error = canonical("acme/gamma").unwrap_err();
        assert!(
            error
                .to_string()
                .contains("registry.opentofu.org/acme/gamma"),
            "{error}"
        );
        assert!(matches!(
            canonical("terraform.io/builtin/terraform"),
            Err(AddressError::NeverLocked(_))
        ));
        assert!(matches!(
            canonical("registry.opentofu.org/-/gamma"),
            Err(AddressError::NeverLocked(_))
        ));
    }

    #[test]
    fn addresses_sort_field_by_field() {
        let mut texts = [
            "a.b:80/aa/x",
            "a.b.c/aa/x",
            "a.b-c/aa/x",
            "a.b/zz/x",
            "a.b/acme-x/foo",
            "a.b/acme/foo",
        ];
        texts.sort_by_key(|text| ProviderAddress::parse(text, Dialect::Tofu).unwrap());
        assert_eq!(
            texts,
            [
                "a.b/acme/foo",
                "a.b/acme-x/foo",
                "a.b/zz/x",
                "a.b-c/aa/x",
                "a.b.c/aa/x",
                "a.b:80/aa/x"
            ]
        );
    }
}
