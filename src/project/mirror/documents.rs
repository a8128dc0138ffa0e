//! The JSON documents that make a mirror which an HTTPS server serves a network mirror
//! (<https://opentofu.org/docs/internals/provider-network-mirror-protocol/>), written as `tofu providers mirror` writes
//! them. What they say of other packages stays.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::directory::MirrorDirectory;
use crate::diagnostic::{Diagnostic, Result};
use crate::packages::archive::{PackageDigest, PackageId};
use crate::packages::packed_name;
use crate::provider::Version;
use crate::system::files;

/// The name of the document that lists versions.
pub(super) const INDEX: &str = "index.json";
/// Clients read no larger documents.
const SIZE_LIMIT: u64 = 4 << 20;

pub(super) struct Documents {
    pub(super) directory: PathBuf,
    index: Document<Index>,
    archives: BTreeMap<Version, Document<Archives>>,
}

/// A document as it is to be, and as it was read.
pub(super) struct Document<T> {
    path: PathBuf,
    /// None if it was not there.
    old: Option<Vec<u8>>,
    pub(super) content: T,
}

/// `index.json`: the versions.
#[derive(Default, Deserialize, Serialize)]
pub(super) struct Index {
    pub(super) versions: BTreeMap<String, Value>,
    #[serde(flatten)]
    other: BTreeMap<String, Value>,
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

impl Documents {
    /// Reads the documents in the directory of a provider that are about these versions.
    ///
    /// # Errors
    /// One of them is not such a document.
    pub(super) fn read<'a>(directory: PathBuf, versions: impl Iterator<Item = &'a Version>) -> Result<Self> {
        let index = Document::read(directory.join(INDEX))?;
        let archives =
            versions.map(|version| Ok((version.clone(), Document::read(directory.join(document_name(version)))?)));
        let archives = archives.collect::<Result<_>>()?;
        Ok(Self { directory, index, archives })
    }

    /// Adds a package of one of these versions.
    pub(super) fn add(&mut self, package: &PackageId, digest: &PackageDigest) {
        let versions = &mut self.index.content.versions;
        versions.entry(package.version.to_string()).or_insert_with(|| json!({}));
        if let Some(archives) = self.archives.get_mut(&package.version) {
            let (hashes, url) = (digest.hashes().map(ToString::to_string), MirrorDirectory::file_name(package));
            let archive = json!({ "hashes": hashes, "url": url });
            archives.content.archives.insert(package.platform.to_string(), archive);
        }
    }

    /// Writes the documents that have changed; the list of versions last, so that there is a document for each of them.
    pub(super) fn write(&self) -> Result<()> {
        for document in self.archives.values().filter(|document| !document.content.archives.is_empty()) {
            document.write()?;
        }
        if self.index.content.versions.is_empty() { Ok(()) } else { self.index.write() }
    }
}

/// The name of the document about a version.
pub(super) fn document_name(version: &Version) -> String {
    format!("{version}.json")
}

impl<T: Default + DeserializeOwned + Serialize> Document<T> {
    /// Reads a document; a new one if there is none. A symbolic link is refused, since it may lead anywhere.
    pub(super) fn read(path: PathBuf) -> Result<Self> {
        let read = |path: &Path| {
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
        };
        match read(&path) {
            Ok((old, content)) => Ok(Self { path, old, content }),
            Err(error) => {
                let error = Diagnostic::io("read", &path, &error);
                Err(error
                    .help("it is to be a document of a network mirror: remove it, and run the command again")
                    .into())
            }
        }
    }

    pub(super) fn write(&self) -> Result<()> {
        let new = serde_json::to_vec_pretty(&self.content)
            .map_err(|error| Diagnostic::io("write", &self.path, &error.into()))?;
        if self.old.as_ref() == Some(&new) { Ok(()) } else { files::write(&self.path, self.old.as_deref(), &new) }
    }
}

impl Index {
    /// Whether it holds nothing but what the protocol defines.
    pub(super) fn is_of_mirror(&self) -> bool {
        let is_version =
            |(version, value): (&String, &Value)| version.parse::<Version>().is_ok() && *value == json!({});
        self.other.is_empty() && self.versions.iter().all(is_version)
    }
}

impl Archives {
    /// Whether it holds nothing but what the protocol defines, about packages of a version that are beside it.
    pub(super) fn is_of_mirror(&self, provider_type: &str, version: &Version) -> bool {
        let is_archive = |(platform, value): (&String, &Value)| {
            let Ok(Archive { url, .. }) = Archive::deserialize(value) else { return false };
            packed_name(&url, provider_type).is_some_and(|(of, on)| of == *version && on.to_string() == *platform)
        };
        self.other.is_empty() && self.archives.iter().all(is_archive)
    }
}
