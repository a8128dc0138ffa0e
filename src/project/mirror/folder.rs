//! The directory of a provider in a mirror: its packages, and the documents that name the verified
//! ones. Documents with nothing but content of a mirror are removed with their packages if no lock
//! file names them. No symlink is followed.

#![expect(
    clippy::disallowed_methods,
    reason = "a mirror is written, and no part of a revision"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::json;
use tempfile::NamedTempFile;

use super::directory::{MirrorDirectory, file_name};
use super::documents::{Archives, Document, INDEX, Index, document_name};
use super::fill::{
    ArchiveIdentity, ExistingArchive, ExistingPackage, ProviderStore, PublishedPackages, Stored,
    identify_archive,
};
use super::mirrored::{Mirrored, RemovedFile};
use super::releases::Versions;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use crate::packages::archive::{Limits, PackageDigest, PackageId, hash_zip_file};
use crate::packages::oci::PushedPackage;
use crate::project::session::Session;
use crate::provider::{Dialect, Platform, ProviderAddress, Version};
use crate::system::parallel::{self, WAITING_REQUESTS};
use crate::system::{Temporary, files};

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
        // Versions that no lock file records any more stay in the list until they are pruned.
        let mut known: BTreeSet<Version> = versions.keys().cloned().collect();
        for version in index.content.versions.keys() {
            known.extend(version.parse::<Version>());
        }
        let mut archives = BTreeMap::new();
        for version in known {
            let document = Document::read(path.join(document_name(&version)))?;
            archives.insert(version, document);
        }
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
    ///
    /// # Errors
    /// It is not known to be the package.
    fn verify_listed(
        &self,
        package: &PackageId,
        document: &Document<Archives>,
        verified: &Verified,
        session: &Session<'_>,
    ) -> Result<Option<PackageDigest>> {
        let PackageId {
            address,
            version,
            platform,
        } = package;
        // Clients accept what a document lists, so it lists again only what is known to be the
        // package.
        if document.content.names(platform, &file_name(package)) {
            let digest = match self.find(package)? {
                ExistingPackage::Nothing => return Ok(None),
                ExistingPackage::Archive(archive) => archive.digest,
                ExistingPackage::Other => None,
            };
            if let Some(digest) = digest {
                let dialect = self.mirror.releases.dialect_of(address);
                let is_package = match identify_archive(package, &digest.zh, dialect, session)? {
                    ArchiveIdentity::Package => true,
                    ArchiveIdentity::Different => false,
                    ArchiveIdentity::Unknown => self.is_recorded_once(package, &digest, verified),
                };
                if is_package {
                    return Ok(Some(digest));
                }
            }
        }
        let message = format!(
            "{} lists a package that is not known to be {address} {version} for {platform}",
            document.path.display()
        );
        let help = "find out who put it there, remove the document, and run the command again";
        Err(Diagnostic::error(Code::InvalidPackage, message)
            .help(help)
            .into())
    }

    /// Whether a lock file records an archive, and it is no verified package under a different
    /// name.
    fn is_recorded_once(
        &self,
        package: &PackageId,
        digest: &PackageDigest,
        verified: &Verified,
    ) -> bool {
        let PackageId {
            address, version, ..
        } = package;
        let Some(release) = self.mirror.releases.get(address, version) else {
            return false;
        };
        let mut packages = verified.values().flat_map(BTreeMap::values);
        release
            .with_hashes()
            .any(|record| record.has_hash_of(digest))
            && packages.all(|other| other.zh != digest.zh)
    }

    /// Writes the documents that change, except the ones about `unverified` versions; the list of
    /// versions last, so that each version in it has a document. Returns the number of documents
    /// that change.
    fn write_documents(
        &mut self,
        verified: &Verified,
        unverified: &BTreeSet<Version>,
    ) -> Result<usize> {
        let is_dry_run = self.mirror.is_dry_run;
        let mut versions = BTreeMap::new();
        let mut changed = 0;
        for (version, packages) in verified {
            // One of its packages could not be verified, so its document stays as it was.
            if unverified.contains(version) {
                continue;
            }
            versions.insert(version.to_string(), json!({}));
            let Some(document) = self.archives.get_mut(version) else {
                continue;
            };
            document.content = Archives::new(packages, |platform| {
                file_name(&PackageId::new(&self.address, version, platform))
            });
            if document.write(is_dry_run)? {
                changed += 1;
            }
        }
        // The list keeps a version whose document stays unchanged.
        let listed = &self.index.content.versions;
        let lists_unverified = unverified
            .iter()
            .any(|version| listed.contains_key(&version.to_string()));
        if versions.is_empty() || lists_unverified {
            return Ok(changed);
        }
        self.index.content = Index {
            versions,
            ..Index::default()
        };
        if self.index.write(is_dry_run)? {
            changed += 1;
        }
        Ok(changed)
    }
}

impl ProviderStore for Folder<'_> {
    const SIDE_BY_SIDE: usize = 16;

    fn path(&self, package: &PackageId) -> PathBuf {
        self.path.join(file_name(package))
    }

    /// A symbolic link is not followed: it is treated as a file that is not the package.
    fn find(&self, package: &PackageId) -> Result<ExistingPackage> {
        let path = self.path(package);
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            return Ok(ExistingPackage::Nothing);
        };
        if metadata.is_file()
            && let Ok(mut file) = files::open(&path)
            && let Ok(digest) = hash_zip_file(&mut file, &package.address.name, &Limits::default())
        {
            return Ok(ExistingPackage::Archive(ExistingArchive {
                zh: digest.zh.clone(),
                size: digest.size,
                digest: Some(digest),
            }));
        }
        Ok(ExistingPackage::Other)
    }

    fn temporary_file(&self, package: &PackageId) -> Result<Temporary<NamedTempFile>> {
        self.created
            .get_or_init(|| self.mirror.create(&self.path))
            .clone()?;
        let path = self.path(package);
        Ok(files::incoming(&path).map_err(|error| Diagnostic::io("write", &path, &error))?)
    }

    fn put(
        &self,
        package: &PackageId,
        file: Temporary<NamedTempFile>,
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
        for stored in &*stored {
            if let Some(digest) = &stored.digest {
                add_to(&mut verified, &stored.package.package, digest.clone());
            }
        }

        // A document also lists packages for lock files that are not checked in this run.
        let mut others = Vec::new();
        for (version, document) in &self.archives {
            let verified_packages = verified.get(version);
            for platform in document.content.platforms() {
                if verified_packages.is_none_or(|packages| !packages.contains_key(&platform)) {
                    let package = PackageId::new(&self.address, version, &platform);
                    others.push((package, document));
                }
            }
        }
        let results = parallel::map(others, WAITING_REQUESTS, |(package, document)| {
            // The error of a package that could not be stored is reported already.
            let result = if failed.contains(&package) {
                Err(Diagnostics::default())
            } else {
                self.verify_listed(&package, document, &verified, session)
            };
            (package, result)
        });

        let mut errors = Diagnostics::default();
        let mut unverified = BTreeSet::new();
        for (package, result) in results {
            match result {
                Ok(Some(digest)) => add_to(&mut verified, &package, digest),
                Ok(None) => {}
                Err(more) => {
                    let releases = &self.mirror.releases;
                    let is_unused = releases.get(&package.address, &package.version).is_none();
                    // Unused packages are removed anyway.
                    if !(is_unused && self.mirror.prunes) {
                        errors.extend(more);
                        unverified.insert(package.version);
                    }
                }
            }
        }
        let documents = match self.write_documents(&verified, &unverified) {
            Ok(documents) => documents,
            Err(more) => {
                errors.extend(more);
                0
            }
        };
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
pub(super) fn prune_mirror(mirror: &MirrorDirectory<'_>, mirrored: &mut Mirrored) {
    for (host, host_path) in directories(&mirror.path) {
        for (namespace, namespace_path) in directories(&host_path) {
            for (name, path) in directories(&namespace_path) {
                // Namespaces may have underscores in this dialect, and with all three parts there
                // is no other difference.
                let address = format!("{host}/{namespace}/{name}");
                let Ok(address) = ProviderAddress::parse_canonical(&address, Dialect::Terraform)
                else {
                    // Such a directory was not made by a mirror, and does not belong to it.
                    continue;
                };
                mirror.remove_left_over(&path);
                let folder = PrunedFolder {
                    mirror,
                    address,
                    path,
                };
                if let Err(errors) = folder.remove_unused(&mut mirrored.removed) {
                    mirrored.errors.extend(errors);
                }
            }
        }
    }
}

impl PrunedFolder<'_> {
    /// Removes packages and documents of versions that no lock file records. Files of other
    /// programs stay.
    fn remove_unused(&self, removed: &mut Vec<RemovedFile>) -> Result<()> {
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
            versions.retain(|text, _| match text.parse() {
                Ok(version) => !self.is_removable(&version),
                Err(_) => true,
            });
            if versions.is_empty() && !self.mirror.releases.0.contains_key(&self.address) {
                self.remove_file(&index, removed)?;
            } else if versions.len() < number {
                document.write(self.mirror.is_dry_run)?;
            }
        }

        let files: BTreeMap<_, _> = children(&self.path, fs::FileType::is_file)
            .into_iter()
            .collect();
        for (name, document) in &files {
            let Some(version) = version_of(name) else {
                continue;
            };
            let Some(platforms) = self.unused_platforms(&version, document) else {
                continue;
            };
            for platform in platforms {
                let package = PackageId::new(&self.address, &version, &platform);
                if let Some(path) = files.get(&file_name(&package)) {
                    self.remove_file(path, removed)?;
                }
            }
            // Last, so that a run that is killed before can be repeated.
            self.remove_file(document, removed)?;
        }
        Ok(())
    }

    /// Whether a version is removed from the list: no lock file records it, and its document
    /// belongs to a mirror or is missing.
    fn is_removable(&self, version: &Version) -> bool {
        if self.mirror.releases.get(&self.address, version).is_some() {
            return false;
        }
        let document = self.path.join(document_name(version));
        self.unused_platforms(version, &document).is_some() || document.symlink_metadata().is_err()
    }

    /// The platforms of a version that no lock file records, if its document belongs to a mirror.
    /// Without a document, another program has put the packages there.
    fn unused_platforms(&self, version: &Version, document: &Path) -> Option<Vec<Platform>> {
        if self.mirror.releases.get(&self.address, version).is_some() {
            return None;
        }
        let document = Document::<Archives>::read(document.to_owned()).ok()?;
        if !document.content.is_of_mirror(&self.address.name, version) {
            return None;
        }
        Some(document.content.platforms().collect())
    }

    /// Removes a file, and its directories below the mirror's if they are empty afterwards.
    fn remove_file(&self, path: &Path, removed: &mut Vec<RemovedFile>) -> Result<()> {
        let metadata = path
            .symlink_metadata()
            .map_err(|error| Diagnostic::io("remove", path, &error))?;
        if !self.mirror.is_dry_run {
            fs::remove_file(path).map_err(|error| Diagnostic::io("remove", path, &error))?;
            // The directories of the provider, the namespace and the host.
            for directory in path.ancestors().skip(1).take(3) {
                // A directory that is not empty cannot be removed, nor its parents.
                if fs::remove_dir(directory).is_err() {
                    break;
                }
            }
        }
        removed.push(RemovedFile {
            path: path.to_owned(),
            size: metadata.len(),
        });
        Ok(())
    }
}

/// The version that a document is about.
fn version_of(name: &str) -> Option<Version> {
    let version: Version = name.strip_suffix(".json")?.parse().ok()?;
    if name != document_name(&version) {
        return None;
    }
    Some(version)
}

fn add_to(verified: &mut Verified, package: &PackageId, digest: PackageDigest) {
    let packages = verified.entry(package.version.clone()).or_default();
    packages.insert(package.platform.clone(), digest);
}

fn directories(directory: &Path) -> Vec<(String, PathBuf)> {
    children(directory, fs::FileType::is_dir)
}

/// Returns the entries of a directory of one kind, sorted by name. Unreadable entries and names
/// that are not Unicode are skipped.
fn children(directory: &Path, is_of_kind: fn(&fs::FileType) -> bool) -> Vec<(String, PathBuf)> {
    let mut children = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if let Ok(kind) = entry.file_type()
            && let Ok(name) = entry.file_name().into_string()
            && is_of_kind(&kind)
        {
            children.push((name, entry.path()));
        }
    }
    children.sort();
    children
}
