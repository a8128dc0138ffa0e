//! Facts that a registry publishes about releases besides their packages: dates, and the repository
//! with their notes.

use jiff::Timestamp;

use crate::provider::{Dialect, ProviderAddress, Version};

/// The most characters of the name of an owner or of a repository; GitHub allows 39 and 100.
const LONGEST_NAME: usize = 100;

/// The release that a provider moves to, and the newest one.
#[derive(Clone, Debug, Default)]
pub struct ReleaseInfo {
    /// Publication date of the chosen version.
    pub published: Option<Timestamp>,
    /// Publication date of the newest version.
    pub newest_published: Option<Timestamp>,
    /// Repository in which the provider is released.
    pub repository: Option<GithubRepository>,
}

/// A repository on github.com. Both public registries take providers from nowhere else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GithubRepository {
    /// `OWNER/NAME`, each made of characters that need no escaping in a URL.
    name: String,
}

impl GithubRepository {
    const HOST: &str = "https://github.com/";

    /// The repository that a registry names, as in `https://github.com/hashicorp/terraform-provider-null`.
    pub(super) fn parse(url: &str) -> Option<Self> {
        let path = url.strip_prefix(Self::HOST)?;
        let name = path.strip_suffix('/').unwrap_or(path);
        let (owner, repository) = name.split_once('/')?;
        if !is_name(owner) || !is_name(repository) {
            return None;
        }
        Some(Self {
            name: name.to_owned(),
        })
    }

    /// Repository from which OpenTofu's registry takes a provider
    /// (<https://github.com/opentofu/registry#adding-providers-modules-or-gpg-keys-to-the-registry>).
    pub(super) fn of(address: &ProviderAddress) -> Option<Self> {
        let url = format!(
            "{}{}/terraform-provider-{}",
            Self::HOST,
            address.namespace,
            address.name
        );
        if address.hostname.is_default_of(Dialect::Tofu) {
            Self::parse(&url)
        } else {
            None
        }
    }

    /// The page of a release.
    pub fn release_notes(&self, version: &Version) -> String {
        format!("{}{}/releases/tag/v{version}", Self::HOST, self.name)
    }

    /// The page with the changes between two versions.
    pub fn comparison(&self, one: &Version, other: &Version) -> String {
        format!(
            "{}{}/compare/v{}...v{}",
            Self::HOST,
            self.name,
            one.min(other),
            one.max(other)
        )
    }
}

/// Whether a text may be the name of an owner or of a repository.
fn is_name(text: &str) -> bool {
    (1..=LONGEST_NAME).contains(&text.len())
        && !text.starts_with('.')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_repository_is_linked_to() {
        for url in [
            "https://github.com/acme/terraform-provider-a.b_c",
            "https://github.com/acme/x/",
        ] {
            assert!(GithubRepository::parse(url).is_some(), "{url}");
        }
        for url in [
            "",
            "http://github.com/acme/x",
            "https://github.com.example.com/acme/x",
            "https://github.com/acme",
            "https://github.com/acme/",
            "https://github.com//x",
            "https://github.com/acme/../x",
            "https://github.com/acme/..",
            "https://github.com/acme/x/y",
            "https://github.com/acme/x?y",
            "https://github.com/acme/x#y",
            "https://github.com/acme/x)[y](z",
            "https://github.com/acme/x\u{1b}[1m",
            "https://github.com/acme/\u{445}",
        ] {
            assert_eq!(GithubRepository::parse(url), None, "{url}");
        }
        assert_eq!(
            GithubRepository::parse(&format!("https://github.com/acme/{}", "x".repeat(101))),
            None
        );
    }

    #[test]
    fn a_comparison_starts_with_the_older_version() {
        let repository =
            |text| GithubRepository::of(&ProviderAddress::parse(text, Dialect::Tofu).unwrap());
        assert_eq!(repository("registry.example.com/acme/gamma"), None);
        let repository = repository("acme/gamma").unwrap();
        let (old, new) = (Version::new(1, 9, 0), Version::new(1, 10, 0));
        let expected = "https://github.com/acme/terraform-provider-gamma/compare/v1.9.0...v1.10.0";
        assert_eq!(
            [
                repository.comparison(&old, &new),
                repository.comparison(&new, &old)
            ],
            [expected; 2]
        );
    }
}
