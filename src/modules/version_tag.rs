//! Tags that name versions: `v1.2.0`, `1.2.0`, `network-v1.2.0`.

use crate::provider::Version;

/// A tag that names a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VersionTag {
    /// Text before the numbers.
    prefix: String,
    /// Count of numbers: 2 in `v1.2`.
    numbers: usize,
    pub(crate) version: Version,
}

impl VersionTag {
    /// Parses a name that ends in a version; `None` if a character of it needs an escape in a URL,
    /// a string or a comment.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let start = version_start(name)?;
        let start = if name[start..].starts_with('v') {
            start + 1
        } else {
            start
        };
        let (version, numbers) = Version::parse_partial(&name[start..]).ok()?;
        is_harmless(name).then(|| Self {
            prefix: name[..start].to_owned(),
            numbers,
            version,
        })
    }

    /// Whether two tags differ only in their versions.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        (&self.prefix, self.numbers) == (&other.prefix, other.numbers)
    }
}

/// Whether the name of a branch or tag needs no escape in a configuration or a comment.
pub(crate) fn is_harmless(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-/@".contains(&byte))
}

/// Returns the start of the version at the end of a name: `1.2.3`, `v1.2`, `network-v1.2.3-rc1`,
/// `network/1.2.3`. A name with only two numbers, such as `release-1.2`, is more often a branch.
pub(super) fn version_start(name: &str) -> Option<usize> {
    if [
        "refs/heads/",
        "heads/",
        "refs/remotes/",
        "remotes/",
        "origin/",
    ]
    .iter()
    .any(|start| name.starts_with(start))
    {
        return None;
    }
    if is_version(name) {
        return Some(0);
    }
    for (separator, _) in name.match_indices(['/', '-', '_', '@']) {
        if is_version(&name[separator + 1..]) {
            return Some(separator + 1);
        }
    }
    None
}

fn is_version(text: &str) -> bool {
    let (rest, least) = match text.strip_prefix('v') {
        Some(rest) => (rest, 2),
        None => (text, 3),
    };
    let numbers = rest.split(['-', '+']).next().unwrap_or_default();
    let parts: Vec<_> = numbers.split('.').collect();
    if parts.len() < least || !is_name(&rest[numbers.len()..]) {
        return false;
    }
    parts
        .iter()
        .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a text is a plain name, not an expression such as the parent of a tag (`v1.2.3-rc1~1`).
fn is_name(text: &str) -> bool {
    text.bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b".-+".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_alike_if_only_the_version_differs() {
        let parse = |name| VersionTag::parse(name).unwrap();
        for (one, other) in [
            ("v1.2.0", "v1.10.0"),
            ("1.2.0", "2.0.0-rc.1"),
            ("network-v1.2.0", "network-v1.3.0"),
            ("net/work/1.2.0", "net/work/1.2.1"),
            ("v1.2", "v1.3"),
            ("refs/tags/v1.2.0", "refs/tags/v2.0.0"),
        ] {
            assert!(parse(one).is_like(&parse(other)), "{one} {other}");
        }
        for (one, other) in [
            ("v1.2.0", "1.3.0"),
            ("v1.2", "v1.2.0"),
            ("a-1.2.0", "b-1.3.0"),
            ("a-v1.2.0", "v1.3.0"),
        ] {
            assert!(!parse(one).is_like(&parse(other)), "{one} {other}");
        }
        assert!(parse("v1.10.0").version > parse("v1.9.0").version);
        for name in [
            "main",
            "v1",
            "release-1.2",
            "v1.2.0+build",
            "v1.2.0~1",
            "refs/heads/v1.2.0",
            "\"-1.2.0",
            "1.2.3.4",
        ] {
            assert_eq!(VersionTag::parse(name), None, "{name}");
        }
    }
}
