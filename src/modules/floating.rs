//! Module calls that do not pin a version, as far as this can be seen without network requests.

use super::fetched::ModuleRequest;
use super::git::GitAddress;
use super::version_tag::version_start;

/// Why a call may lead to another module tomorrow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Floating {
    /// A module of a registry without a version constraint.
    AnyVersion,
    /// A git repository without `ref`: the default branch.
    DefaultBranch,
    /// A git repository with a `ref` that may be a branch.
    Reference(String),
}

impl ModuleRequest {
    /// Why the request floats. None if it is pinned, or if it is for neither a registry nor git.
    pub(crate) fn floating(&self) -> Option<Floating> {
        match self {
            Self::Registry(_, constraints) => constraints.is_empty().then_some(Floating::AnyVersion),
            Self::Remote(source) => match source.getter() {
                ("git", url) => GitAddress::parse(url).ok()?.floating(),
                _ => None,
            },
            Self::ToLock(request) => request.floating(),
            Self::Locked { .. } => None,
        }
    }
}

impl GitAddress {
    /// A branch may have any name, so only a commit id is certain to be pinned. A name that contains a version or
    /// begins with `tags/` is assumed to be a tag.
    fn floating(&self) -> Option<Floating> {
        let Some(reference) = self.reference() else { return Some(Floating::DefaultBranch) };
        let is_pinned = self.is_immutable() || self.tag().is_some();
        (!is_pinned).then(|| Floating::Reference(reference.to_owned()))
    }

    /// The tag that it names, judged by the name.
    pub(super) fn tag(&self) -> Option<&str> {
        let reference = self.reference().filter(|_| !self.is_immutable())?;
        let tag = ["refs/tags/", "tags/"].iter().find_map(|start| reference.strip_prefix(start));
        tag.or_else(|| version_start(reference).map(|_| reference))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::ModuleSource;
    use crate::provider::Dialect;

    fn floating(source: &str, version: &str) -> Option<Floating> {
        let source = ModuleSource::parse(source, Dialect::Tofu).unwrap();
        ModuleRequest::new(source, version.parse().unwrap()).unwrap().floating()
    }

    #[test]
    fn a_registry_module_floats_without_a_version() {
        assert_eq!(floating("acme/network/aws", ""), Some(Floating::AnyVersion));
        assert_eq!(floating("acme/network/aws//part", "~> 1.0"), None);
    }

    #[test]
    fn a_repository_floats_without_a_ref() {
        for source in
            ["git::https://h.test/a.git", "github.com/a/b", "git@h.test:a.git//part", "git::https://h.test/a?ref="]
        {
            assert_eq!(floating(source, ""), Some(Floating::DefaultBranch), "{source}");
        }
        for source in ["https://h.test/a.zip", "s3::https://h.test/a.zip", "git::ext::sh"] {
            assert_eq!(floating(source, ""), None, "{source}");
        }
    }

    #[test]
    fn a_ref_floats_unless_it_is_a_commit_or_looks_like_a_tag() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let with = |reference: &str| floating(&format!("git::https://h.test/a.git?depth=1&ref={reference}"), "");
        for pinned in [
            commit,
            &commit.to_uppercase(),
            "1.2.3",
            "v1.2",
            "v1.2.3-rc.1",
            "network-v1.2.3",
            "network/1.2.3",
            "tags/1.2",
            "refs/tags/stable",
        ] {
            assert_eq!(with(pinned), None, "{pinned}");
        }
        for other in [
            "main",
            "v1",
            "release-1.2",
            "release/1.2",
            "1.2.x",
            "v1.2.x",
            "v",
            "refs/heads/v1.2.3",
            "origin/v1.2.3",
            "v1.2.3~1",
            "v1.2.3-rc1^{}",
            &commit[..39],
            &commit[..7],
            "HEAD",
        ] {
            assert_eq!(with(other), Some(Floating::Reference(other.to_owned())), "{other}");
        }
    }
}
