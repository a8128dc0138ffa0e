//! The JSON documents that make a mirror which an HTTPS server serves a network mirror
//! (<https://opentofu.org/docs/internals/provider-network-mirror-protocol/>), written as `tofu providers mirror` writes
//! them. What they say of other packages stays if it is true.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::directory::MirrorDirectory;
use super::known;
use super::releases::Releases;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use crate::packages::archive::{PackageDigest, PackageId};
use crate::packages::packed_name;
use crate::project::session::Session;
use crate::provider::{Platform, ProviderAddress, Version};
use crate::system::files;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// The name of the document that lists versions.
pub(super) const INDEX: &str = "index.json";
/// Clients read no larger documents.
const SIZE_LIMIT: u64 = 4 << 20;

pub(super) struct Documents {
    address: ProviderAddress,
    pub(super) directory: PathBuf,
    index: Document<Index>,
    /// As they were read: those about the versions that lock files name, and those that the index lists.
    archives: BTreeMap<Version, Document<Archives>>,
    /// What was verified, and so is written.
    verified: BTreeMap<Version, BTreeMap<Platform, PackageDigest>>,
    /// The versions whose documents stay as they are, since not all that they name could be verified.
    held: BTreeSet<Version>,
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
    /// Reads the documents in the directory of a provider that are about these versions or those that the index lists.
    ///
    /// # Errors
    /// One of them is not such a document.
    pub(super) fn read<'a>(
        address: &ProviderAddress,
        directory: PathBuf,
        versions: impl Iterator<Item = &'a Version>,
    ) -> Result<Self> {
        let index: Document<Index> = Document::read(directory.join(INDEX))?;
        let listed = index.content.versions.keys().filter_map(|version| version.parse().ok());
        let versions: BTreeSet<_> = versions.cloned().chain(listed).collect();
        let read = |version: Version| Ok((version.clone(), Document::read(directory.join(document_name(&version)))?));
        let archives = versions.into_iter().map(read).collect::<Result<_>>()?;
        let address = address.clone();
        Ok(Self { address, directory, index, archives, verified: BTreeMap::new(), held: BTreeSet::new() })
    }

    /// Adds a package that was verified.
    pub(super) fn add(&mut self, package: &PackageId, digest: &PackageDigest) {
        let packages = self.verified.entry(package.version.clone()).or_default();
        packages.insert(package.platform.clone(), digest.clone());
    }

    /// Verifies what else the documents name. What is not there is left out, and so is what is to be removed. Returns
    /// why a package is not what its name says; packages that this run was to put there and could not have their errors
    /// already.
    pub(super) fn check_others(
        &mut self,
        asked_for: &BTreeSet<PackageId>,
        releases: &Releases,
        session: &Session<'_>,
        prune: bool,
    ) -> Diagnostics {
        let mut errors = Diagnostics::default();
        let check = |package: PackageId| {
            let checked = if asked_for.contains(&package) {
                Err(Diagnostics::default())
            } else {
                self.check(&package, releases, session)
            };
            (package, checked)
        };
        for (package, checked) in parallel::map(self.others(), WAITING_REQUESTS, check) {
            match checked {
                Ok(Some(digest)) => self.add(&package, &digest),
                Ok(None) => {}
                Err(_) if prune && releases.get(&package.address, &package.version).is_none() => {}
                Err(more) => {
                    errors.extend(more);
                    self.held.insert(package.version);
                }
            }
        }
        errors
    }

    /// The packages that the documents name and that were not added. No client asks for what is not a platform.
    fn others(&self) -> Vec<PackageId> {
        let named = self.archives.iter().flat_map(|(version, document)| {
            document.content.platforms().map(|platform| PackageId::new(&self.address, version, &platform))
        });
        let is_added = |package: &PackageId| {
            self.verified.get(&package.version).is_some_and(|packages| packages.contains_key(&package.platform))
        };
        named.filter(|package| !is_added(package)).collect()
    }

    /// The hashes of a package that a document names; none if it is not there.
    fn check(&self, package: &PackageId, releases: &Releases, session: &Session<'_>) -> Result<Option<PackageDigest>> {
        let document = &self.archives[&package.version];
        let name = MirrorDirectory::file_name(package);
        let path = self.directory.join(&name);
        let is_beside = document.content.names(&package.platform, &name);
        if is_beside && path.symlink_metadata().is_err() {
            return Ok(None);
        }
        if let Some(digest) = known::digest(&path, package).filter(|_| is_beside) {
            let release = releases.get(&package.address, &package.version);
            let is_recorded = || release.is_some_and(|release| release.records_any(&digest)) && !self.has(&digest);
            let dialect = releases.dialect_of(&package.address);
            if known::is_package(package, &digest.zh, dialect, session)?.unwrap_or_else(is_recorded) {
                return Ok(Some(digest));
            }
        }
        let PackageId { address, version, platform } = package;
        let (document, address) = (document.path.display(), address.to_string());
        let message = format!("{document} names something that is not known to be {address} {version} for {platform}");
        let error = Diagnostic::error(Code::InvalidPackage, message);
        Err(error.help("find out who put it there, remove the document, and run the command again").into())
    }

    fn has(&self, digest: &PackageDigest) -> bool {
        self.verified.values().flat_map(BTreeMap::values).any(|known| known.zh == digest.zh)
    }

    /// Writes the documents that have changed; the list of versions last, so that there is a document for each of them.
    pub(super) fn write(mut self) -> Result<()> {
        self.verified.retain(|version, _| !self.held.contains(version));
        for (version, packages) in &self.verified {
            let archive = |(platform, digest): (&Platform, &PackageDigest)| {
                let package = PackageId::new(&self.address, version, platform);
                let (hashes, url) = (digest.hashes().map(ToString::to_string), MirrorDirectory::file_name(&package));
                (platform.to_string(), json!({ "hashes": hashes, "url": url }))
            };
            if let Some(document) = self.archives.get_mut(version) {
                document.content = Archives { archives: packages.iter().map(archive).collect(), ..Archives::default() };
                document.write()?;
            }
        }
        let versions: BTreeMap<_, _> = self.verified.keys().map(|version| (version.to_string(), json!({}))).collect();
        let is_held = |version: &Version| self.index.content.versions.contains_key(&version.to_string());
        if versions.is_empty() || self.held.iter().any(is_held) {
            return Ok(());
        }
        self.index.content = Index { versions, ..Index::default() };
        self.index.write()
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
    /// Whether it names a file beside it, and nothing else, as the package of a platform.
    fn names(&self, platform: &Platform, file_name: &str) -> bool {
        let archive = self.archives.get(&platform.to_string()).map(Archive::deserialize);
        archive.is_some_and(|archive| archive.is_ok_and(|archive| archive.url == file_name))
    }

    /// The platforms whose packages it names.
    pub(super) fn platforms(&self) -> impl Iterator<Item = Platform> {
        self.archives.keys().filter_map(|platform| platform.parse().ok())
    }

    /// Whether it holds nothing but what the protocol defines, about packages of a version that are beside it.
    pub(super) fn is_of_mirror(&self, provider_type: &str, version: &Version) -> bool {
        let is_archive = |(platform, value): (&String, &Value)| {
            let Ok(Archive { url, .. }) = Archive::deserialize(value) else { return false };
            packed_name(&url, provider_type).is_some_and(|(of, on)| of == *version && on.to_string() == *platform)
        };
        self.other.is_empty() && !self.archives.is_empty() && self.archives.iter().all(is_archive)
    }
}
