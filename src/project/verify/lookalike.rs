//! Addresses that are easily taken for those of well-known providers.

use crate::provider::{Dialect, ProviderAddress};

/// Namespaces whose providers are installed most often, and long enough that one letter makes no other word of them.
const NAMESPACES: &str = include_str!("well_known_namespaces.txt");

/// What an address looks like, if that is a well-known host or namespace which it is not.
pub(super) fn of(address: &ProviderAddress) -> Option<String> {
    let host = address.hostname.to_string();
    let hosts = [Dialect::Tofu, Dialect::Terraform].map(Dialect::default_host_name);
    if let Some(known) = imitated(&host, hosts.iter().copied()) {
        return Some(known.to_owned());
    }
    let known = imitated(&address.namespace, NAMESPACES.lines())?;
    hosts.contains(&host.as_str()).then(|| format!("{known}/{}", address.name))
}

/// The well-known name that a text is not, but could be taken for.
fn imitated<'a>(text: &str, mut known: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    if known.clone().any(|name| name == text) {
        return None;
    }
    let seen = skeleton(text);
    known.find(|name| skeleton(name) == seen || (name.len() >= 6 && differs_by_one(text, name)))
}

/// The text with letters that look alike made the same.
fn skeleton(text: &str) -> String {
    let letter = |c: char| match c {
        '0' | 'о' | 'ο' => 'o',
        '1' | 'i' | 'ı' | 'і' | 'ӏ' => 'l',
        '5' | 'ѕ' => 's',
        'а' | 'α' => 'a',
        'с' => 'c',
        'е' => 'e',
        'һ' => 'h',
        'р' | 'ρ' => 'p',
        'х' => 'x',
        'у' => 'y',
        'ν' => 'v',
        'ԁ' => 'd',
        'ј' => 'j',
        other => other,
    };
    text.chars().map(letter).filter(|c| *c != '-').collect::<String>().replace("rn", "m").replace("vv", "w")
}

/// Whether one character was added, left out or replaced, or two neighbours were swapped.
fn differs_by_one(one: &str, other: &str) -> bool {
    strsim::osa_distance(one, other) == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks_like(text: &str) -> Option<String> {
        of(&ProviderAddress::parse(text, Dialect::Tofu).unwrap())
    }

    #[test]
    fn imitations_are_known() {
        for text in
            ["hashlcorp/aws", "hashicorpp/aws", "hashcorp/aws", "hahsicorp/aws", "hash-icorp/aws", "hаshicorp/aws"]
        {
            assert_eq!(looks_like(text).as_deref(), Some("hashicorp/aws"), "{text}");
        }
        assert_eq!(looks_like("registry.0pentofu.org/acme/x").as_deref(), Some("registry.opentofu.org"));
        assert_eq!(looks_like("data-dog/datadog").as_deref(), Some("datadog/datadog"));
    }

    #[test]
    fn other_names_are_left_alone() {
        for text in
            ["hashicorp/aws", "acme/aws", "datadog/datadog", "registry.example.com/hashlcorp/aws", "azur/x", "vult/x"]
        {
            assert_eq!(looks_like(text), None, "{text}");
        }
    }
}
