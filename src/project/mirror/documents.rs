//! The JSON documents that make a mirror which an HTTPS server serves a network mirror
//! (<https://opentofu.org/docs/internals/provider-network-mirror-protocol/>), written as `tofu providers mirror` writes
//! them.

#![expect(
    clippy::disallowed_methods,
    reason = "a mirror is written, and no part of a revision"
)]

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::diagnostic::{Diagnostic, Result};
use crate::packages::archive::PackageDigest;
use crate::packages::packed_name;
use crate::provider::{Platform, Version};
use crate::system::files;

/// The name of the document that lists versions.
pub(super) const INDEX: &str = "index.json";
/// Clients read no larger documents.
const SIZE_LIMIT: u64 = 4 << 20;

/// A document with its new content, and its content before.
pub(super) struct Document<T> {
    pub(super) path: PathBuf,
    /// `None` if there was no such file.
    old: Option<Vec<u8>>,
    pub(super) content: T,
}

/// `index.json`: the versions.
#[derive(Default, Deserialize, Serialize)]
pub(super) struct Index {
    pub(super) versions: BTreeMap<String, Value>,
    #[serde(flatten)]
    pub(super) other: BTreeMap<String, Value>,
}

/// `VERSION.json`: the packages of a version by platform.
#[derive(Default, Deserialize, Serialize)]
pub(super) struct Archives {
    archives: BTreeMap<String, Value>,
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
}

/// A package in `VERSION.json`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Archive {
    url: String,
    #[serde(default, rename = "hashes")]
    _hashes: Vec<String>,
}

/// The name of the document about a version.
pub(super) fn document_name(version: &Version) -> String {
    format!("{version}.json")
}

impl<T: Default + DeserializeOwned + Serialize> Document<T> {
    /// Reads a document; a new one if it is missing. A symbolic link is refused, because it may
    /// resolve to any file.
    pub(super) fn read(path: PathBuf) -> Result<Self> {
        match Self::read_from(&path) {
            Ok((old, content)) => Ok(Self { path, old, content }),
            Err(error) => {
                let help = "its path is for a document of the network mirror: remove it, and run the command again";
                Err(Diagnostic::io("read", &path, &error).help(help).into())
            }
        }
    }

    /// The bytes of a document, if it exists, and their content.
    fn read_from(path: &Path) -> io::Result<(Option<Vec<u8>>, T)> {
        if path.is_symlink() {
            return Err(io::Error::other("it is a symbolic link"));
        }
        let old = match files::read(path, SIZE_LIMIT) {
            Ok(old) => old,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok((None, T::default())),
            Err(error) => return Err(error),
        };
        let content = serde_json::from_slice(&old)?;
        Ok((Some(old), content))
    }

    /// Writes the document if its content changed and this is no dry run. Returns whether it
    /// changed.
    pub(super) fn write(&self, is_dry_run: bool) -> Result<bool> {
        let new = serde_json::to_vec_pretty(&self.content)
            .map_err(|error| Diagnostic::io("write", &self.path, &error.into()))?;
        let is_changed = self.old.as_ref() != Some(&new);
        if is_changed && !is_dry_run {
            files::write(&self.path, self.old.as_deref(), &new)?;
        }
        Ok(is_changed)
    }
}

impl Index {
    /// Whether it contains only fields of the protocol.
    pub(super) fn is_of_mirror(&self) -> bool {
        for (version, value) in &self.versions {
            if version.parse::<Version>().is_err() || *value != json!({}) {
                return false;
            }
        }
        self.other.is_empty()
    }
}

impl Archives {
    /// The document about packages of a version. `file_name` returns the name of the package for a
    /// platform.
    pub(super) fn new(
        packages: &BTreeMap<Platform, PackageDigest>,
        file_name: impl Fn(&Platform) -> String,
    ) -> Self {
        let mut document = Self::default();
        for (platform, digest) in packages {
            let hashes = digest.hashes().map(ToString::to_string);
            let archive = json!({ "hashes": hashes, "url": file_name(platform) });
            document.archives.insert(platform.to_string(), archive);
        }
        document
    }

    /// Whether the document lists the file beside it, and nothing else, as the package of a
    /// platform.
    pub(super) fn names(&self, platform: &Platform, file_name: &str) -> bool {
        let Some(archive) = self.archives.get(&platform.to_string()) else {
            return false;
        };
        match Archive::deserialize(archive) {
            Ok(archive) => archive.url == file_name,
            Err(_) => false,
        }
    }

    /// The platforms of the listed packages.
    pub(super) fn platforms(&self) -> impl Iterator<Item = Platform> {
        self.archives
            .keys()
            .filter_map(|platform| platform.parse().ok())
    }

    /// Whether it contains only fields of the protocol, about packages of a version in the same
    /// directory.
    pub(super) fn is_of_mirror(&self, provider_type: &str, version: &Version) -> bool {
        for (platform, value) in &self.archives {
            let Ok(Archive { url, .. }) = Archive::deserialize(value) else {
                return false;
            };
            let Some((of, on)) = packed_name(&url, provider_type) else {
                return false;
            };
            if of != *version || on.to_string() != *platform {
                return false;
            }
        }
        self.other.is_empty() && !self.archives.is_empty()
    }
}
