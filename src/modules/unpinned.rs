//! Module calls that do not pin a version, as far as this can be seen without network requests.

use super::checksum::Checksum;
use super::fetched::ModuleRequest;
use super::git::{GitAddress, Revision};
use super::source::{Getter, ModuleSource, RemoteSource, parameters, request_url};
use super::version_tag::version_start;
use crate::packages::oci::ModulePackage;
use crate::provider::ConstraintList;

/// Reason why a later run may fetch a different module for the same call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unpinned {
    /// A module of a registry without a version constraint.
    AnyVersion,
    /// A git repository without `ref`: the default branch.
    DefaultBranch,
    /// A git repository with a `ref` that may be a branch.
    Reference(String),
    /// An archive without a checksum, with a checksum that its server lists, or with an MD5 or
    /// SHA-1, which is not unique.
    NoChecksum,
    /// A package of an OCI registry with a tag instead of a digest.
    Tag,
}

impl ModuleRequest {
    /// Returns why the request is not pinned; `None` if it is, or for a directory or an archive of
    /// this machine. A git repository of this machine has branches that move, too.
    pub(crate) fn why_unpinned(&self) -> Option<Unpinned> {
        let Self::Unlocked {
            source,
            constraints,
            ..
        } = self
        else {
            // The lock file specifies the package.
            return None;
        };
        match source {
            ModuleSource::Local(_) => None,
            // A registry publishes a version once, and a constraint limits the versions: the user
            // decides how far.
            ModuleSource::Registry(_) => constraints.is_empty().then_some(Unpinned::AnyVersion),
            ModuleSource::Remote(source) => match source.getter() {
                // An address that provlock does not pass to git is an error when it is fetched.
                Getter::Git => GitAddress::parse(source.url()).ok()?.why_unpinned(),
                Getter::Oci => (!source.is_immutable()).then_some(Unpinned::Tag),
                _ if source.is_on_this_machine() => None,
                _ => (!source.is_immutable()).then_some(Unpinned::NoChecksum),
            },
        }
    }
}

impl RemoteSource {
    /// Whether the address always leads to the same files: it contains a commit or a digest.
    pub(super) fn is_immutable(&self) -> bool {
        let Ok(url) = request_url(self.url()) else {
            return false;
        };
        match self.getter() {
            Getter::Git => {
                GitAddress::parse(self.url()).is_ok_and(|address| address.is_immutable())
            }
            Getter::Oci => self
                .in_oci_registry()
                .is_some_and(|package| package.is_immutable()),
            _ => {
                let query = parameters(&url);
                let checksum = query.iter().find(|(name, _)| name == "checksum");
                checksum.is_some_and(
                    |(_, text)| matches!(Checksum::parse(text), Ok(Checksum::Digest(digest)) if digest.is_unique()),
                )
            }
        }
    }
}

impl RemoteSource {
    /// Returns the package of an OCI registry; `None` if the source is not the address of one.
    pub(crate) fn in_oci_registry(&self) -> Option<ModulePackage> {
        if self.getter() != Getter::Oci {
            return None;
        }
        ModulePackage::parse(&request_url(self.url()).ok()?).ok()
    }

    /// Whether the address is made to lead to different packages: a branch, an archive without a
    /// checksum, a tag such as `latest` or `v1`. The tag of a version is not.
    pub(super) fn is_made_to_move(&self) -> bool {
        if let Some(package) = self.in_oci_registry() {
            return package
                .tag()
                .is_some_and(|tag| version_start(tag).is_none());
        }
        let request = ModuleRequest::new(
            ModuleSource::Remote(self.clone()),
            ConstraintList::default(),
        );
        request.is_some_and(|request| request.why_unpinned().is_some())
    }
}

impl GitAddress {
    /// A branch may have any name, so only a commit id is certain to be pinned. A name that
    /// contains a version or begins with `tags/` is assumed to be a tag.
    fn why_unpinned(&self) -> Option<Unpinned> {
        let Some(reference) = self.reference() else {
            return Some(Unpinned::DefaultBranch);
        };
        let is_pinned = self.is_immutable() || self.tag().is_some();
        (!is_pinned).then(|| Unpinned::Reference(reference.to_owned()))
    }

    /// Returns the `ref` if its form is that of a tag.
    pub(super) fn tag(&self) -> Option<&str> {
        let (Revision::Name(reference) | Revision::Expression(reference)) = &self.revision else {
            return None;
        };
        let tag = ["refs/tags/", "tags/"]
            .iter()
            .find_map(|start| reference.strip_prefix(start));
        tag.or_else(|| version_start(reference).map(|_| reference.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::Dialect;

    fn unpinned(source: &str, version: &str) -> Option<Unpinned> {
        let source = ModuleSource::parse(source, Dialect::Tofu).unwrap();
        ModuleRequest::new(source, version.parse().unwrap())
            .unwrap()
            .why_unpinned()
    }

    #[test]
    fn a_registry_module_is_unpinned_without_a_version() {
        assert_eq!(unpinned("acme/network/aws", ""), Some(Unpinned::AnyVersion));
        assert_eq!(unpinned("acme/network/aws//part", "~> 1.0"), None);
    }

    #[test]
    fn a_repository_is_unpinned_without_a_ref() {
        for source in [
            "git::https://h.test/a.git",
            "github.com/a/b",
            "git@h.test:a.git//part",
            "git::https://h.test/a?ref=",
        ] {
            assert_eq!(
                unpinned(source, ""),
                Some(Unpinned::DefaultBranch),
                "{source}"
            );
        }
        assert_eq!(unpinned("git::ext::sh", ""), None);
    }

    #[test]
    fn an_archive_is_unpinned_without_a_checksum_in_its_address() {
        let digest = "0123456789abcdef".repeat(4);
        for source in [
            "https://h.test/a.zip",
            "s3::https://h.test/a.zip",
            "gcs::https://h.test/a.zip",
            "hg::http://h.test/a",
        ] {
            assert_eq!(unpinned(source, ""), Some(Unpinned::NoChecksum), "{source}");
        }
        for (checksum, is_pinned) in [
            (format!("sha256:{digest}"), true),
            (digest, true),
            ("file:https://h.test/SHA256SUMS".to_owned(), false),
            ("d41d8cd98f00b204e9800998ecf8427e".to_owned(), false),
            (
                "sha1:da39a3ee5e6b4b0d3255bfef95601890afd80709".to_owned(),
                false,
            ),
            (String::new(), false),
            ("none".to_owned(), false),
        ] {
            let found = unpinned(&format!("https://h.test/a.zip?checksum={checksum}"), "");
            assert_eq!(
                found,
                (!is_pinned).then_some(Unpinned::NoChecksum),
                "{checksum}"
            );
        }
    }

    #[test]
    fn a_package_of_an_oci_registry_is_unpinned_without_a_digest() {
        let digest = "0123456789abcdef".repeat(4);
        for (source, is_pinned) in [
            ("oci://h.test/a".to_owned(), false),
            ("oci://h.test/a?tag=1.0.0".to_owned(), false),
            (format!("oci://h.test/a?digest=sha256:{digest}"), true),
        ] {
            assert_eq!(
                unpinned(&source, ""),
                (!is_pinned).then_some(Unpinned::Tag),
                "{source}"
            );
        }
    }

    #[test]
    fn a_ref_is_unpinned_unless_it_is_a_commit_or_looks_like_a_tag() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        let with = |reference: &str| {
            unpinned(
                &format!("git::https://h.test/a.git?depth=1&ref={reference}"),
                "",
            )
        };
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
            &format!("{commit}{}", &commit[..24]),
            &commit[..7],
            "HEAD",
        ] {
            assert_eq!(
                with(other),
                Some(Unpinned::Reference(other.to_owned())),
                "{other}"
            );
        }
    }
}
