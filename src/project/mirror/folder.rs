//! The directory of a provider in a mirror: its packages, and the documents that name the verified
//! ones. Documents with nothing but content of a mirror are removed with their packages if no lock
//! file names them. No symlink is followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::json;
use tempfile::NamedTempFile;

use super::directory::{MirrorDirectory, file_name};
use super::documents::{Archives, Document, INDEX, Index, document_name};
use super::fill::{
    FoundArchive, FoundPackage, ProviderStore, PublishedPackages, Stored, is_package,
};
use super::mirrored::{Mirrored, RemovedFile};
use super::releases::{Release, Versions};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use crate::packages::archive::{Limits, PackageDigest, PackageId, hash_zip_file};
use crate::packages::oci::PushedPackage;
use crate::project::session::Session;
use crate::provider::{Dialect, Platform, ProviderAddress, Version};
use crate::system::files;
use crate::system::parallel::{self, WAITING_REQUESTS};

pub(super) struct Folder<'a> {
    mirror: &'a MirrorDirectory<'a>,
    address: ProviderAddress,
    path: PathBuf,
    index: Document<Index>,
    /// Documents about the versions in lock files or in the index.
    archives: BTreeMap<Version, Document<Archives>>,
    /// Set when the directory is needed. Temporary files of killed runs are removed only once,
    /// before there are new ones.
    created: OnceLock<Result<()>>,
}

/// Packages by version and platform.
type Verified = BTreeMap<Version, BTreeMap<Platform, PackageDigest>>;

impl<'a> Folder<'a> {
    /// Reads the documents in the directory of a provider.
    ///
    /// # Errors
    /// The directory is outside the mirror, or one of the files is not such a document.
    pub(super) fn open(
        mirror: &'a MirrorDirectory<'a>,
        address: &ProviderAddress,
        versions: &Versions,
    ) -> Result<Self> {
        let path = mirror.of_provider(address)?;
        let index: Document<Index> = Document::read(path.join(INDEX))?;
        let listed = index
            .content
            .versions
            .keys()
            .filter_map(|version| version.parse().ok());
        let versions: BTreeSet<Version> = versions.keys().cloned().chain(listed).collect();
        let read = |version: Version| {
            Ok((
                version.clone(),
                Document::read(path.join(document_name(&version)))?,
            ))
        };
        let archives = versions.into_iter().map(read).collect::<Result<_>>()?;
        Ok(Self {
            mirror,
            address: address.clone(),
            path,
            index,
            archives,
            created: OnceLock::new(),
        })
    }

    /// Verifies a package that a document lists and no lock file requires. Returns its hashes, or
    /// `None` if it is missing.
    fn verify_other(
        &self,
        package: &PackageId,
        document: &Document<Archives>,
        verified: &Verified,
        session: &Session<'_>,
    ) -> Result<Option<PackageDigest>> {
        let is_beside = document
            .content
            .names(&package.platform, &file_name(package));
        let PackageId {
            address,
            version,
            platform,
        } = package;
        match self.find(package)? {
            FoundPackage::Nothing if is_beside => return Ok(None),
            FoundPackage::Archive(FoundArchive {
                zh,
                digest: Some(digest),
                ..
            }) if is_beside => {
                let release = self.mirror.releases.get(address, version);
                let mut all = verified.values().flat_map(BTreeMap::values);
                let mut records = release.into_iter().flat_map(Release::with_hashes);
                let mut is_recorded =
                    || records.any(|record| record.has(&digest)) && all.all(|other| other.zh != zh);
                let dialect = self.mirror.releases.dialect_of(address);
                if is_package(package, &zh, dialect, session)?.unwrap_or_else(&mut is_recorded) {
                    return Ok(Some(digest));
                }
            }
            _ => {}
        }
        let (document, address) = (document.path.display(), address.to_string());
        let message = format!(
            "{document} lists a package that is not known to be {address} {version} for {platform}"
        );
        let error = Diagnostic::error(Code::InvalidPackage, message);
        Err(error
            .help("find out who put it there, remove the document, and run the command again")
            .into())
    }

    /// Writes the changed documents; the list of versions last, so that each version in it has a
    /// document. Returns the number of changed documents.
    fn write(&mut self, verified: &Verified, held: &BTreeSet<Version>) -> Result<usize> {
        let is_dry_run = self.mirror.is_dry_run;
        let written = verified
            .iter()
            .filter(|(version, _)| !held.contains(version));
        let (mut versions, mut changed) = (BTreeMap::new(), 0);
        for (version, packages) in written {
            versions.insert(version.to_string(), json!({}));
            let Some(document) = self.archives.get_mut(version) else {
                continue;
            };
            document.content = Archives::new(packages, |platform| {
                file_name(&PackageId::new(&self.address, version, platform))
            });
            changed += usize::from(document.write(is_dry_run)?);
        }
        let is_listed = |version: &Version| {
            self.index
                .content
                .versions
                .contains_key(&version.to_string())
        };
        if versions.is_empty() || held.iter().any(is_listed) {
            return Ok(changed);
        }
        self.index.content = Index {
            versions,
            ..Index::default()
        };
        Ok(changed + usize::from(self.index.write(is_dry_run)?))
    }
}

impl ProviderStore for Folder<'_> {
    const SIDE_BY_SIDE: usize = 16;

    fn path(&self, package: &PackageId) -> PathBuf {
        self.path.join(file_name(package))
    }

    /// A symbolic link is not followed: it is treated as a file that is not the package.
    fn find(&self, package: &PackageId) -> Result<FoundPackage> {
        let path = self.path(package);
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            return Ok(FoundPackage::Nothing);
        };
        let hash = || {
            let mut file = files::open(&path).ok()?;
            hash_zip_file(&mut file, &package.address.name, &Limits::default()).ok()
        };
        Ok(match metadata.is_file().then(hash).flatten() {
            Some(digest) => FoundPackage::Archive(FoundArchive {
                zh: digest.zh.clone(),
                size: digest.size,
                digest: Some(digest),
            }),
            None => FoundPackage::Other,
        })
    }

    fn temporary_file(&self, package: &PackageId) -> Result<NamedTempFile> {
        self.created
            .get_or_init(|| self.mirror.create(&self.path))
            .clone()?;
        let path = self.path(package);
        Ok(files::incoming(&path).map_err(|error| Diagnostic::io("write", &path, &error))?)
    }

    fn put(
        &self,
        package: &PackageId,
        file: NamedTempFile,
        _: &PackageDigest,
    ) -> Result<Option<PushedPackage>> {
        let path = self.path(package);
        files::put_in_place(file, &path).map_err(|error| Diagnostic::io("write", &path, &error))?;
        Ok(None)
    }

    /// Writes the verified packages into the documents: packages in lock files, and others that the
    /// documents listed before. A document about a package that cannot be verified stays unchanged.
    fn publish(
        mut self,
        stored: &mut Vec<Stored>,
        failed: &BTreeSet<PackageId>,
        session: &Session<'_>,
    ) -> PublishedPackages {
        let mut verified = Verified::new();
        for Stored {
            package, digest, ..
        } in &*stored
        {
            if let Some(digest) = digest {
                let PackageId {
                    version, platform, ..
                } = package.package.clone();
                verified
                    .entry(version)
                    .or_default()
                    .insert(platform, digest.clone());
            }
        }
        let (mut errors, mut held) = (Diagnostics::default(), BTreeSet::new());
        let folder = &self;
        let named = folder.archives.iter().flat_map(|(version, document)| {
            let platforms = document.content.platforms();
            platforms.map(move |platform| {
                (
                    PackageId::new(&folder.address, version, &platform),
                    document,
                )
            })
        });
        let is_verified = |package: &PackageId| {
            verified
                .get(&package.version)
                .is_some_and(|packages| packages.contains_key(&package.platform))
        };
        let others = named.filter(|(package, _)| !is_verified(package)).collect();
        let verify = |(package, document)| {
            let is_failed = failed.contains(&package);
            let verified = if is_failed {
                Err(Diagnostics::default())
            } else {
                folder.verify_other(&package, document, &verified, session)
            };
            (package, verified)
        };
        for (package, result) in parallel::map(others, WAITING_REQUESTS, verify) {
            let PackageId {
                address,
                version,
                platform,
            } = package;
            match result {
                Ok(Some(digest)) => {
                    _ = verified
                        .entry(version)
                        .or_default()
                        .insert(platform, digest);
                }
                Ok(None) => {}
                Err(_)
                    if self.mirror.prunes
                        && self.mirror.releases.get(&address, &version).is_none() => {}
                Err(more) => {
                    errors.extend(more);
                    held.insert(version);
                }
            }
        }
        let documents = self.write(&verified, &held).unwrap_or_else(|more| {
            errors.extend(more);
            0
        });
        PublishedPackages { documents, errors }
    }
}

/// The directory of a provider whose unused packages are removed.
struct PrunedFolder<'a> {
    mirror: &'a MirrorDirectory<'a>,
    address: ProviderAddress,
    path: PathBuf,
}

/// Removes the packages of versions that no lock file records, their entries in the documents, and
/// the directories that are empty afterwards.
pub(super) fn prune(mirror: &MirrorDirectory<'_>, mirrored: &mut Mirrored) {
    for (host, path) in directories(&mirror.path) {
        for (namespace, path) in directories(&path) {
            for (name, path) in directories(&path) {
                // Namespaces may have underscores in this dialect, and with all three parts there
                // is no other difference.
                let address = format!("{host}/{namespace}/{name}");
                let Ok(address) = ProviderAddress::parse_canonical(&address, Dialect::Terraform)
                else {
                    continue;
                };
                mirror.remove_left_over(&path);
                let pruned = PrunedFolder {
                    mirror,
                    address,
                    path,
                }
                .prune(&mut mirrored.removed);
                mirrored.errors.extend(pruned.err().into_iter().flatten());
            }
        }
    }
}

impl PrunedFolder<'_> {
    fn prune(&self, removed: &mut Vec<RemovedFile>) -> Result<()> {
        let index = self.path.join(INDEX);
        // The list of versions is removed first, so that each version in it still has its packages.
        if index.symlink_metadata().is_ok() {
            // The file belongs to another program, or its error was reported before.
            let Ok(mut document) = Document::<Index>::read(index.clone()) else {
                return Ok(());
            };
            if !document.content.is_of_mirror() {
                return Ok(());
            }
            let versions = &mut document.content.versions;
            let number = versions.len();
            let is_removable = |version: Version| {
                let document = self.path.join(document_name(&version));
                let is_gone = || {
                    document.symlink_metadata().is_err()
                        && self.mirror.releases.get(&self.address, &version).is_none()
                };
                self.unnamed(&version, &document).is_some() || is_gone()
            };
            versions.retain(|version, _| !version.parse().is_ok_and(is_removable));
            if versions.is_empty() && !self.mirror.releases.0.contains_key(&self.address) {
                self.remove(&index, removed)?;
            } else if versions.len() < number && !self.mirror.is_dry_run {
                document.write(false)?;
            }
        }
        let files: BTreeMap<_, _> = children(&self.path, fs::FileType::is_file)
            .into_iter()
            .collect();
        for (version, document) in files
            .iter()
            .filter_map(|(name, path)| Some((version_of(name)?, path)))
        {
            let platforms = self.unnamed(&version, document);
            let packages = platforms
                .iter()
                .flatten()
                .map(|platform| self.package(&version, platform));
            for path in packages.filter_map(|name| files.get(&name)) {
                self.remove(path, removed)?;
            }
            // Last, so that a run that is killed before can be repeated.
            if platforms.is_some() {
                self.remove(document, removed)?;
            }
        }
        Ok(())
    }

    /// The platforms of a version that no lock file records, if its document belongs to a mirror.
    /// Without a document, another program has put the packages there.
    fn unnamed(&self, version: &Version, document: &Path) -> Option<Vec<Platform>> {
        if self.mirror.releases.get(&self.address, version).is_some() {
            return None;
        }
        let archives = Document::<Archives>::read(document.to_owned())
            .ok()?
            .content;
        archives
            .is_of_mirror(&self.address.name, version)
            .then(|| archives.platforms().collect())
    }

    fn package(&self, version: &Version, platform: &Platform) -> String {
        file_name(&PackageId::new(&self.address, version, platform))
    }

    /// Removes a file, and its directories below the mirror's if they are empty afterwards.
    fn remove(&self, path: &Path, removed: &mut Vec<RemovedFile>) -> Result<()> {
        let failed = |error: std::io::Error| Diagnostic::io("remove", path, &error);
        let size = path.symlink_metadata().map_err(failed)?.len();
        if !self.mirror.is_dry_run {
            fs::remove_file(path).map_err(failed)?;
            // A directory that is not empty cannot be removed, nor its parents.
            let _ = path
                .ancestors()
                .skip(1)
                .take(3)
                .try_for_each(fs::remove_dir);
        }
        removed.push(RemovedFile {
            path: path.to_owned(),
            size,
        });
        Ok(())
    }
}

/// The version that a document is about.
fn version_of(name: &str) -> Option<Version> {
    name.strip_suffix(".json")?
        .parse()
        .ok()
        .filter(|version| name == document_name(version))
}

fn directories(directory: &Path) -> Vec<(String, PathBuf)> {
    children(directory, fs::FileType::is_dir)
}

/// Returns the entries of a directory of one kind, sorted by name. Unreadable entries and names
/// that are not Unicode are skipped.
fn children(directory: &Path, is_of_kind: fn(&fs::FileType) -> bool) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| is_of_kind(&kind)));
    let mut children: Vec<_> = entries
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path())))
        .collect();
    children.sort();
    children
}
