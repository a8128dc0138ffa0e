//! Newer versions, tags and commits of modules.

use std::sync::Arc;

use super::git::{GitAddress, References, Revision};
use super::source::{Getter, ModuleSource, RemoteSource};
use crate::provider::Version;

/// The versions, or the branches and tags, that the source of a module can move to.
#[derive(Clone, Debug)]
pub(crate) enum Releases {
    /// The versions of a registry's module.
    Versions(Arc<Vec<Version>>),
    /// The branches and tags of a git repository.
    References(Arc<References>),
    /// The tags of a repository in an OCI registry. They are not requested for a source whose tag
    /// is not a version.
    Tags(Arc<Vec<String>>),
    /// No versions: the address of a package leads to this package only.
    None,
}

impl Revision {
    /// The `ref` of a source; `None` if that is not a git repository.
    pub(crate) fn of(source: &RemoteSource) -> Option<Self> {
        let is_in_git = source.getter() == Getter::Git;
        is_in_git
            .then(|| GitAddress::parse(source.url()).ok())?
            .map(|address| address.revision)
    }
}

/// Returns a text that differs between sources with different releases.
pub(super) fn key(source: &ModuleSource) -> String {
    match source {
        ModuleSource::Local(_) => String::new(),
        ModuleSource::Registry(source) => source.module.to_string(),
        // The tags depend on the form of the source's own tag.
        ModuleSource::Remote(source) if source.getter() == Getter::Oci => source.package.clone(),
        ModuleSource::Remote(source) => source.at_commit("").package,
    }
}
