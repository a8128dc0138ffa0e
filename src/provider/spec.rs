//! Providers as people write them, in arguments and settings: the address is known once the dialect
//! is.

use std::fmt;
use std::str::FromStr;

use crate::provider::{
    AddressError, Dialect, Hostname, PatternError, ProviderAddress, ProviderPattern, Version,
    VersionError,
};

/// A provider, `[[HOSTNAME/]NAMESPACE/]TYPE`, with an optional version after an `@`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderSpec {
    /// With the host of the default dialect and the namespace `hashicorp` if none is written.
    address: ProviderAddress,
    /// Number of written parts: the type, the namespace and the host.
    parts: usize,
    version: Option<Version>,
}

/// Providers that a [`ProviderSpec`] may stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedProvider<'a> {
    /// A provider.
    One(&'a ProviderAddress),
    /// No known provider.
    Unknown,
    /// Several, none of them by the rules of the dialect.
    Ambiguous(Vec<&'a ProviderAddress>),
}

/// Providers, `[HOSTNAME/]NAMESPACE/TYPE` with `*` for any part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderPatternSpec {
    /// With the host of the default dialect if none is written.
    pattern: ProviderPattern,
    has_host: bool,
}

/// Error of a text that is not a provider.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderSpecError {
    /// The provider.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Text after the `@`.
    #[error("{0:?} is not a version: {1}")]
    Version(String, VersionError),
}

impl ProviderSpec {
    /// Address of the provider by the rules of a dialect.
    pub fn resolve(&self, dialect: Dialect) -> ProviderAddress {
        if self.has_host() {
            self.address.clone()
        } else {
            self.address.at_host(Hostname::default_of(dialect))
        }
    }

    /// The provider among `known` addresses: the one by the rules of the dialect, or else the only
    /// one with the written parts. `alpha` stands for `registry.example.com/acme/alpha` if no
    /// `hashicorp/alpha` and no other `alpha` is known.
    pub fn find<'a>(
        &self,
        dialect: Dialect,
        known: impl IntoIterator<Item = &'a ProviderAddress>,
    ) -> NamedProvider<'a> {
        let resolved = self.resolve(dialect);
        let mut short_for = Vec::new();
        for address in known {
            if *address == resolved {
                return NamedProvider::One(address);
            }
            if self.is_short_for(address) && !short_for.contains(&address) {
                short_for.push(address);
            }
        }
        match short_for[..] {
            [] => NamedProvider::Unknown,
            [address] => NamedProvider::One(address),
            _ => NamedProvider::Ambiguous(short_for),
        }
    }

    /// Whether an address has the written parts.
    pub fn is_short_for(&self, address: &ProviderAddress) -> bool {
        match self.parts {
            1 => address.name == self.address.name,
            2 => address.name == self.address.name && address.namespace == self.address.namespace,
            _ => *address == self.address,
        }
    }

    /// A provider, written in full and without a version.
    pub fn from_address(address: &ProviderAddress) -> Self {
        Self {
            address: address.clone(),
            parts: 3,
            version: None,
        }
    }

    /// The same version of a provider, written in full.
    #[must_use]
    pub fn in_full(&self, address: &ProviderAddress) -> Self {
        Self {
            address: address.clone(),
            parts: 3,
            version: self.version.clone(),
        }
    }

    /// The provider as it is written, without the version.
    pub fn written(&self) -> String {
        match self.parts {
            1 => self.address.name.clone(),
            _ => self.to_string(),
        }
    }

    fn has_host(&self) -> bool {
        self.parts == 3
    }

    /// The requested version.
    pub fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }
}

impl FromStr for ProviderSpec {
    type Err = ProviderSpecError;

    fn from_str(text: &str) -> Result<Self, ProviderSpecError> {
        let (name, version) = match text.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (text, None),
        };
        // The default dialect is enough to check the form. Only `resolve` adds the default host.
        let address = ProviderAddress::parse(name, Dialect::default())?;
        let version = match version {
            Some(version) => match version.parse() {
                Ok(version) => Some(version),
                Err(error) => {
                    return Err(ProviderSpecError::Version(version.to_owned(), error));
                }
            },
            None => None,
        };
        Ok(Self {
            address,
            parts: name.split('/').count(),
            version,
        })
    }
}

/// As short as it can be written, without the version.
impl fmt::Display for ProviderSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.has_host() {
            write!(f, "{}", self.address)
        } else {
            f.write_str(&self.address.short(Dialect::default()))
        }
    }
}

impl ProviderPatternSpec {
    /// Reads `[HOSTNAME/]NAMESPACE`, which means all providers of the namespace.
    pub fn parse_namespace(text: &str) -> Result<Self, PatternError> {
        format!("{text}/*").parse()
    }

    /// The providers that are meant where this dialect's rules apply.
    pub fn resolve(&self, dialect: Dialect) -> ProviderPattern {
        let mut pattern = self.pattern.clone();
        if !self.has_host {
            pattern.hostname = Some(Hostname::default_of(dialect));
        }
        pattern
    }
}

impl FromStr for ProviderPatternSpec {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let pattern = ProviderPattern::parse(text, Dialect::default())?;
        Ok(Self {
            pattern,
            has_host: text.split('/').count() == 3,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_resolved_for_a_dialect() {
        for (text, tofu, terraform, shown) in [
            (
                "aws",
                "registry.opentofu.org/hashicorp/aws",
                "registry.terraform.io/hashicorp/aws",
                "hashicorp/aws",
            ),
            (
                "Acme/aws",
                "registry.opentofu.org/acme/aws",
                "registry.terraform.io/acme/aws",
                "acme/aws",
            ),
            ("H.test/a/b", "h.test/a/b", "h.test/a/b", "h.test/a/b"),
            (
                "registry.opentofu.org/a/b",
                "registry.opentofu.org/a/b",
                "registry.opentofu.org/a/b",
                "registry.opentofu.org/a/b",
            ),
        ] {
            let spec: ProviderSpec = text.parse().unwrap();
            assert_eq!(spec.resolve(Dialect::Tofu).to_string(), tofu);
            assert_eq!(spec.resolve(Dialect::Terraform).to_string(), terraform);
            assert_eq!((spec.to_string(), spec.version()), (shown.to_owned(), None));
        }
    }

    #[test]
    fn a_short_name_stands_for_the_only_provider_with_it() {
        let known = [
            "h.test/acme/alpha",
            "h.test/acme/beta",
            "other.test/acme/beta",
        ];
        let known: Vec<_> = known
            .iter()
            .map(|text| ProviderAddress::parse(text, Dialect::Tofu).unwrap())
            .collect();
        let find = |text: &str, known: &[ProviderAddress]| {
            let spec: ProviderSpec = text.parse().unwrap();
            match spec.find(Dialect::Tofu, known) {
                NamedProvider::One(address) => address.to_string(),
                NamedProvider::Unknown => "unknown".to_owned(),
                NamedProvider::Ambiguous(all) => format!("{} of them", all.len()),
            }
        };
        for (text, expected) in [
            ("alpha", "h.test/acme/alpha"),
            ("acme/alpha", "h.test/acme/alpha"),
            ("other/alpha", "unknown"),
            ("h.test/acme/alpha", "h.test/acme/alpha"),
            ("other.test/acme/alpha", "unknown"),
            ("beta", "2 of them"),
            ("acme/beta", "2 of them"),
            ("gamma", "unknown"),
        ] {
            assert_eq!(find(text, &known), expected, "{text}");
        }
        let by_rule = ProviderAddress::parse("beta", Dialect::Tofu).unwrap();
        let all = [known, vec![by_rule]].concat();
        assert_eq!(find("beta", &all), "registry.opentofu.org/hashicorp/beta");
    }

    #[test]
    fn a_version_is_behind_an_at_sign() {
        let spec: ProviderSpec = "acme/gamma@1.2.3-beta.1".parse().unwrap();
        assert_eq!(spec.version(), Some(&"1.2.3-beta.1".parse().unwrap()));
        for text in ["acme/gamma@", "acme/gamma@new", "acme/gamma@1@2"] {
            assert!(
                matches!(
                    text.parse::<ProviderSpec>(),
                    Err(ProviderSpecError::Version(..))
                ),
                "{text}"
            );
        }
        assert!(matches!(
            "@1.0.0".parse::<ProviderSpec>(),
            Err(ProviderSpecError::Address(AddressError::Shape))
        ));
    }

    #[test]
    fn patterns_are_resolved_for_a_dialect() {
        let matches = |pattern: ProviderPatternSpec, dialect, text| {
            pattern
                .resolve(dialect)
                .matches(&ProviderAddress::parse(text, dialect).unwrap())
        };
        for dialect in [Dialect::Tofu, Dialect::Terraform] {
            assert!(matches("acme/*".parse().unwrap(), dialect, "acme/gamma"));
            assert!(matches(
                ProviderPatternSpec::parse_namespace("h.test/acme").unwrap(),
                dialect,
                "h.test/acme/x"
            ));
            assert!(!matches(
                ProviderPatternSpec::parse_namespace("acme").unwrap(),
                dialect,
                "h.test/acme/x"
            ));
        }
        assert_eq!(
            ProviderPatternSpec::parse_namespace("a/b/c"),
            Err(PatternError::Shape)
        );
    }
}
