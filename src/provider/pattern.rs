//! Patterns over provider addresses, as `include` and `exclude` have them.

use std::fmt;

use crate::provider::{AddressError, AddressParts, Dialect, Hostname, ProviderAddress};

/// `[HOSTNAME/]NAMESPACE/TYPE` in which `*` stands for any part. Two parts belong to the dialect's
/// default host.
#[derive(Clone, PartialEq, Eq, derive_more::Debug)]
#[debug("{self}")]
pub struct ProviderPattern {
    /// The host; `None` is `*`.
    pub hostname: Option<Hostname>,
    /// The namespace; `None` is `*`.
    pub namespace: Option<String>,
    /// The type; `None` is `*`.
    pub name: Option<String>,
}

/// Set of providers, such as in `provider_installation`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProviderSelection {
    /// These; all when empty.
    pub include: Vec<ProviderPattern>,
    /// Not these, even if included.
    pub exclude: Vec<ProviderPattern>,
}

/// Error of a text that is not a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// Neither two nor three parts.
    #[error("a pattern is [HOSTNAME/]NAMESPACE/TYPE, with * for any part")]
    Shape,
    /// A `*` before a part that is none.
    #[error("a * may only be followed by *")]
    Wildcard,
    /// A part that cannot be in an address.
    #[error(transparent)]
    Address(#[from] AddressError),
}

impl ProviderPattern {
    /// Reads a pattern.
    pub fn parse(text: &str, dialect: Dialect) -> Result<Self, PatternError> {
        let parts: Vec<_> = text.split('/').collect();
        let [host, namespace, name] = match parts[..] {
            [namespace, name] => [dialect.default_host_name(), namespace, name],
            [host, namespace, name] => [host, namespace, name],
            _ => return Err(PatternError::Shape),
        };
        // As in the CLI configuration, only wildcards may follow a wildcard.
        if (host == "*" && namespace != "*") || (namespace == "*" && name != "*") {
            return Err(PatternError::Wildcard);
        }

        // With a valid part instead of each `*`, the rules of addresses check the other parts.
        let valid_host = if host == "*" { "any.test" } else { host };
        let valid_namespace = if namespace == "*" { "any" } else { namespace };
        let valid_name = if name == "*" { "any" } else { name };
        let address = format!("{valid_host}/{valid_namespace}/{valid_name}");
        let AddressParts {
            hostname,
            namespace: parsed_namespace,
            name: parsed_name,
        } = (*ProviderAddress::parse(&address, dialect)?).clone();
        Ok(Self {
            hostname: if host == "*" { None } else { Some(hostname) },
            namespace: if namespace == "*" {
                None
            } else {
                Some(parsed_namespace)
            },
            name: if name == "*" { None } else { Some(parsed_name) },
        })
    }

    /// Whether the pattern matches a provider.
    pub fn matches(&self, address: &ProviderAddress) -> bool {
        self.hostname
            .as_ref()
            .is_none_or(|hostname| *hostname == address.hostname)
            && self
                .namespace
                .as_ref()
                .is_none_or(|namespace| *namespace == address.namespace)
            && self.name.as_ref().is_none_or(|name| *name == address.name)
    }
}

/// The pattern that covers one provider only.
impl From<ProviderAddress> for ProviderPattern {
    fn from(address: ProviderAddress) -> Self {
        let AddressParts {
            hostname,
            namespace,
            name,
        } = &*address;
        Self {
            hostname: Some(hostname.clone()),
            namespace: Some(namespace.clone()),
            name: Some(name.clone()),
        }
    }
}

impl ProviderSelection {
    /// Whether the set contains a provider.
    pub fn contains(&self, address: &ProviderAddress) -> bool {
        if self.exclude.iter().any(|pattern| pattern.matches(address)) {
            return false;
        }
        self.include.is_empty() || self.include.iter().any(|pattern| pattern.matches(address))
    }
}

impl fmt::Display for ProviderPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.hostname {
            Some(hostname) => write!(f, "{hostname}")?,
            None => f.write_str("*")?,
        }
        let namespace = self.namespace.as_deref().unwrap_or("*");
        let name = self.name.as_deref().unwrap_or("*");
        write!(f, "/{namespace}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_part_by_part() {
        let address = |text| ProviderAddress::parse(text, Dialect::Tofu).unwrap();
        for (pattern, text, expected) in [
            ("acme/*", "acme/gamma", true),
            ("acme/*", "registry.terraform.io/acme/gamma", false),
            ("acme/gamma", "acme/delta", false),
            (
                "registry.terraform.io/*/*",
                "registry.terraform.io/acme/gamma",
                true,
            ),
            ("*/*/*", "h.test/acme/gamma", true),
            ("H.test/ACME/Gamma", "h.test/acme/gamma", true),
            ("Bücher.test/a/*", "bücher.test/a/b", true),
        ] {
            let pattern = ProviderPattern::parse(pattern, Dialect::Tofu).unwrap();
            assert_eq!(
                pattern.matches(&address(text)),
                expected,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn patterns_that_cannot_match_are_refused() {
        let parse = |text| ProviderPattern::parse(text, Dialect::Tofu);
        assert_eq!(parse("gamma"), Err(PatternError::Shape));
        assert_eq!(parse("a/b/c/d"), Err(PatternError::Shape));
        assert_eq!(parse("*/gamma"), Err(PatternError::Wildcard));
        assert_eq!(parse("*/acme/*"), Err(PatternError::Wildcard));
        assert!(matches!(parse("acme/a_b"), Err(PatternError::Address(_))));
        assert!(matches!(parse("acme/"), Err(PatternError::Address(_))));
    }
}
