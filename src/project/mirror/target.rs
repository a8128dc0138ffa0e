//! Where a mirror is.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::diagnostic::Result;
use crate::packages::RepositoryTemplate;

/// Where a mirror is.
#[derive(Clone, Debug)]
pub enum MirrorTarget {
    /// In a directory, which need not exist yet.
    Directory(PathBuf),
    /// In OCI registries, in a repository for each provider.
    Repositories(RepositoryTemplate),
}

impl MirrorTarget {
    /// A directory, or `oci://` and the template of repositories.
    ///
    /// # Errors
    /// What follows `oci://` is not such a template.
    pub fn parse(text: &Path) -> Result<Self> {
        match text.to_str().and_then(|text| text.strip_prefix("oci://")) {
            Some(template) => RepositoryTemplate::parse_url_path(template).map(Self::Repositories),
            None => Ok(Self::Directory(text.to_owned())),
        }
    }
}

impl fmt::Display for MirrorTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(f),
            Self::Repositories(template) => write!(f, "oci://{template}"),
        }
    }
}
