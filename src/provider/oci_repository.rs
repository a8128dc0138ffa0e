//! Addresses of repositories in OCI registries.

use std::fmt::Write as _;

use crate::provider::{ProviderAddress, PublicKey};

/// The longest repository name that registries are known to take.
const LONGEST_NAME: usize = 255;

/// A repository of an OCI registry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display("{registry}/{name}")]
pub struct OciRepository {
    /// The registry's host, with its port if one is written.
    pub registry: String,
    /// The name within the registry (`<name>` of the OCI distribution specification 1.1).
    pub name: String,
}

/// Repository of shared facts about packages, and the keys that are trusted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SharedCache {
    /// Each provider has a repository below this one.
    pub repository: OciRepository,
    /// The keys, sorted. One of them must have signed the facts.
    pub trusted_keys: Vec<PublicKey>,
}

/// Error of a text that is not the address of a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OciRepositoryError {
    /// There is no name, or no registry.
    #[error("a repository is written REGISTRY/NAME")]
    Shape,
    /// The part before the first slash is not a host with an optional port.
    #[error("the registry before the first slash must be a host with an optional port")]
    Registry,
    /// The name does not have the form that the OCI distribution specification demands.
    #[error(
        "a repository's name consists of lower-case letters and digits, with single \".\", \"_\", \"__\" or dashes \
         between them, in parts separated by slashes"
    )]
    Name,
}

impl OciRepository {
    /// Reads `oci://REGISTRY/NAME`.
    ///
    /// # Errors
    /// Description that quotes the text.
    pub fn parse_url(text: &str) -> Result<Self, String> {
        let why = match text.strip_prefix("oci://") {
            Some(address) => match address.parse::<Self>() {
                Ok(repository) => return Ok(repository),
                Err(error) => error.to_string(),
            },
            None => "write it as oci://HOST/PATH".to_owned(),
        };
        Err(format!(
            "{text:?} is not an address in an OCI registry: {why}"
        ))
    }

    /// The repository of a provider below this one: the parts of the address with `_` between them,
    /// in one level of the name, since GitLab takes two below a project and Docker Hub takes one.
    /// The colon before a port becomes a `_`, too, and a part that a name cannot contain becomes
    /// `hex.` with its bytes.
    ///
    /// # Errors
    /// The name would be longer than registries take.
    pub(crate) fn of_provider(
        &self,
        address: &ProviderAddress,
    ) -> Result<Self, OciRepositoryError> {
        let parts = [
            address.hostname.as_ascii(),
            &address.namespace,
            &address.name,
        ]
        .map(path_component);
        let name = format!("{}/{}", self.name, parts.join("_"));
        if name.len() > LONGEST_NAME {
            return Err(OciRepositoryError::Name);
        }
        Ok(Self {
            registry: self.registry.clone(),
            name,
        })
    }
}

/// A text as a part of a level of a repository's name.
fn path_component(text: &str) -> String {
    let with_port = text.replace(':', "_");
    if is_path_component(&with_port) {
        return with_port;
    }
    text.bytes().fold("hex.".to_owned(), |mut name, byte| {
        let _ = write!(name, "{byte:02x}");
        name
    })
}

impl std::str::FromStr for OciRepository {
    type Err = OciRepositoryError;

    fn from_str(text: &str) -> std::result::Result<Self, OciRepositoryError> {
        let (registry, name) = text.split_once('/').ok_or(OciRepositoryError::Shape)?;
        if !is_registry(registry) {
            return Err(OciRepositoryError::Registry);
        }
        if !is_repository_name(name) {
            return Err(OciRepositoryError::Name);
        }
        Ok(Self {
            registry: registry.to_owned(),
            name: name.to_owned(),
        })
    }
}

/// Whether a text is a host name or address with an optional port.
fn is_registry(text: &str) -> bool {
    // The brackets show that the colons of an IPv6 address do not begin a port.
    if let Some(rest) = text.strip_prefix('[')
        && let Some((address, after)) = rest.split_once(']')
        && address.parse::<std::net::Ipv6Addr>().is_ok()
    {
        return match after.strip_prefix(':') {
            Some(port) => is_port(port),
            None => after.is_empty(),
        };
    }
    match text.split_once(':') {
        Some((host, port)) => host.split('.').all(is_label) && is_port(port),
        None => text.split('.').all(is_label),
    }
}

fn is_label(label: &str) -> bool {
    !label.is_empty()
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok_and(|port| port > 0)
}

fn is_repository_name(name: &str) -> bool {
    name.len() <= LONGEST_NAME && name.split('/').all(is_path_component)
}

/// Whether a text is `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`.
fn is_path_component(component: &str) -> bool {
    let bytes = component.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    is_alphanumeric(*first)
        && is_alphanumeric(*last)
        && component
            .split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            .all(is_separator)
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

/// Whether a text may be between two letters. Between neighbours, it is empty.
fn is_separator(text: &str) -> bool {
    matches!(text, "" | "." | "_" | "__") || text.bytes().all(|byte| byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Dialect;

    #[test]
    fn names_follow_the_distribution_grammar() {
        for name in ["a", "a/b", "a.b", "a_b", "a__b", "a-b", "a---b", "0/1"] {
            assert!(is_repository_name(name), "{name}");
        }
        for name in [
            "", "/a", "a/", "a//b", "A", "a..b", "a___b", "a._b", "-a", "a-", "a%b", "a b", "é",
            "..", "a/../b",
        ] {
            assert!(!is_repository_name(name), "{name}");
        }
        assert!(!is_repository_name(&"a".repeat(256)));
        for registry in [
            "h",
            "h.test",
            "H.test:5000",
            "127.0.0.1:5000",
            "[::1]",
            "[::1]:5000",
        ] {
            assert!(is_registry(registry), "{registry}");
        }
        for registry in [
            "", "h:", "h:0", "h:x", "h:+1", "h:65536", "a@h", "h_h", "[::1", "[x]:1", "[::1]5",
            "h..t", "-h",
        ] {
            assert!(!is_registry(registry), "{registry}");
        }
    }

    #[test]
    fn a_url_is_a_repository_with_its_scheme() {
        assert_eq!(
            OciRepository::parse_url("oci://h.test:5000/a/b")
                .unwrap()
                .to_string(),
            "h.test:5000/a/b"
        );
        for text in [
            "h.test/a",
            "https://h.test/a",
            "oci://h.test",
            "oci://me:pw@h.test/a",
            "oci://h.test/A",
            "oci:///a",
        ] {
            let error = OciRepository::parse_url(text).unwrap_err();
            assert!(
                error.contains("is not an address in an OCI registry"),
                "{error}"
            );
        }
    }

    #[test]
    fn every_provider_has_a_repository_with_a_legal_name() {
        let place: OciRepository = "h.test/facts".parse().unwrap();
        let name = |text: &str| {
            let repository = place
                .of_provider(&ProviderAddress::parse(text, Dialect::Terraform).unwrap())
                .unwrap();
            assert_eq!(repository.to_string().parse(), Ok(repository.clone()));
            repository.name
        };
        assert_eq!(name("acme/gamma"), "facts/registry.terraform.io_acme_gamma");
        assert_eq!(
            name("h.test:8443/acme/gamma"),
            "facts/h.test_8443_acme_gamma"
        );
        assert_eq!(
            name("bücher.test/größe/gamma"),
            "facts/xn--bcher-kva.test_hex.6772c3b6c39f65_gamma"
        );
        let long = OciRepository {
            name: "a".repeat(250),
            ..place.clone()
        };
        let address = ProviderAddress::parse("acme/gamma", Dialect::Tofu).unwrap();
        assert_eq!(long.of_provider(&address), Err(OciRepositoryError::Name));
    }
}
