//! The directory of a provider in a mirror: its packages, and the documents that name the verified ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use serde_json::json;
use tempfile::NamedTempFile;

use super::directory::{MirrorDirectory, file_name};
use super::documents::{Archives, Document, INDEX, Index, document_name};
use super::fill::{Archive, Found, Place, Stored, is_package};
use super::releases::Versions;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use crate::packages::archive::{Limits, PackageDigest, PackageId, hash_zip_file};
use crate::project::session::Session;
use crate::provider::{Platform, ProviderAddress, Version};
use crate::system::files;
use crate::system::parallel::{self, WAITING_REQUESTS};

pub(super) struct Folder<'a> {
    mirror: &'a MirrorDirectory<'a>,
    address: ProviderAddress,
    path: PathBuf,
    index: Document<Index>,
    /// Documents about the versions that lock files or the index name.
    archives: BTreeMap<Version, Document<Archives>>,
    /// Set when the directory is needed. Temporary files of killed runs are removed only once, before there are new
    /// ones.
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
        let listed = index.content.versions.keys().filter_map(|version| version.parse().ok());
        let versions: BTreeSet<Version> = versions.keys().cloned().chain(listed).collect();
        let read = |version: Version| Ok((version.clone(), Document::read(path.join(document_name(&version)))?));
        let archives = versions.into_iter().map(read).collect::<Result<_>>()?;
        Ok(Self { mirror, address: address.clone(), path, index, archives, created: OnceLock::new() })
    }

    /// Verifies a package that a document names and no lock file asks for. Returns its hashes, or `None` if it is
    /// missing.
    fn verify_other(
        &self,
        package: &PackageId,
        document: &Document<Archives>,
        verified: &Verified,
        session: &Session<'_>,
    ) -> Result<Option<PackageDigest>> {
        let is_beside = document.content.names(&package.platform, &file_name(package));
        let PackageId { address, version, platform } = package;
        match self.find(package)? {
            Found::Nothing if is_beside => return Ok(None),
            Found::Archive(Archive { zh, digest: Some(digest), .. }) if is_beside => {
                let release = self.mirror.releases.get(address, version);
                let mut all = verified.values().flat_map(BTreeMap::values);
                let mut is_recorded =
                    || release.is_some_and(|release| release.records_any(&digest)) && all.all(|other| other.zh != zh);
                let dialect = self.mirror.releases.dialect_of(address);
                if is_package(package, &zh, dialect, session)?.unwrap_or_else(&mut is_recorded) {
                    return Ok(Some(digest));
                }
            }
            _ => {}
        }
        let (document, address) = (document.path.display(), address.to_string());
        let message = format!("{document} names something that is not known to be {address} {version} for {platform}");
        let error = Diagnostic::error(Code::InvalidPackage, message);
        Err(error.help("find out who put it there, remove the document, and run the command again").into())
    }

    /// Writes the documents that have changed; the list of versions last, so that there is a document for each of them.
    fn write(&mut self, verified: &Verified, held: &BTreeSet<Version>) -> Result<()> {
        let written = verified.iter().filter(|(version, _)| !held.contains(version));
        let mut versions = BTreeMap::new();
        for (version, packages) in written {
            versions.insert(version.to_string(), json!({}));
            let Some(document) = self.archives.get_mut(version) else { continue };
            document.content =
                Archives::new(packages, |platform| file_name(&PackageId::new(&self.address, version, platform)));
            document.write()?;
        }
        let is_listed = |version: &Version| self.index.content.versions.contains_key(&version.to_string());
        if versions.is_empty() || held.iter().any(is_listed) {
            return Ok(());
        }
        self.index.content = Index { versions, ..Index::default() };
        self.index.write()
    }
}

impl Place for Folder<'_> {
    type Pushed = ();

    const SIDE_BY_SIDE: usize = 16;

    fn path(&self, package: &PackageId) -> PathBuf {
        self.path.join(file_name(package))
    }

    /// A symbolic link is not followed: it is something else.
    fn find(&self, package: &PackageId) -> Result<Found> {
        let path = self.path(package);
        let Ok(metadata) = fs::symlink_metadata(&path) else { return Ok(Found::Nothing) };
        let hash = || {
            let mut file = files::open(&path).ok()?;
            hash_zip_file(&mut file, &package.address.name, &Limits::default()).ok()
        };
        Ok(match metadata.is_file().then(hash).flatten() {
            Some(digest) => Found::Archive(Archive { zh: digest.zh.clone(), size: digest.size, digest: Some(digest) }),
            None => Found::Other,
        })
    }

    fn temporary_file(&self, package: &PackageId) -> Result<NamedTempFile> {
        self.created.get_or_init(|| self.mirror.create(&self.path)).clone()?;
        let path = self.path(package);
        Ok(files::incoming(&path).map_err(|error| Diagnostic::io("write", &path, &error))?)
    }

    fn put(&self, package: &PackageId, file: NamedTempFile, _: &PackageDigest) -> Result<()> {
        let path = self.path(package);
        Ok(files::put_in_place(file, &path).map_err(|error| Diagnostic::io("write", &path, &error))?)
    }

    /// Names in the documents what was verified: the packages that lock files name, and others that the documents
    /// named before. A document about a package that cannot be verified stays as it is.
    fn publish(
        mut self,
        stored: &mut Vec<Stored<()>>,
        failed: &BTreeSet<PackageId>,
        session: &Session<'_>,
    ) -> Diagnostics {
        let mut verified = Verified::new();
        for Stored { package, digest, .. } in &*stored {
            if let Some(digest) = digest {
                let PackageId { version, platform, .. } = package.package.clone();
                verified.entry(version).or_default().insert(platform, digest.clone());
            }
        }
        let (mut errors, mut held) = (Diagnostics::default(), BTreeSet::new());
        let folder = &self;
        let named = folder.archives.iter().flat_map(|(version, document)| {
            let platforms = document.content.platforms();
            platforms.map(move |platform| (PackageId::new(&folder.address, version, &platform), document))
        });
        let is_verified = |package: &PackageId| {
            verified.get(&package.version).is_some_and(|packages| packages.contains_key(&package.platform))
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
            let PackageId { address, version, platform } = package;
            match result {
                Ok(Some(digest)) => _ = verified.entry(version).or_default().insert(platform, digest),
                Ok(None) => {}
                Err(_) if self.mirror.prunes && self.mirror.releases.get(&address, &version).is_none() => {}
                Err(more) => {
                    errors.extend(more);
                    held.insert(version);
                }
            }
        }
        errors.extend(self.write(&verified, &held).err().into_iter().flatten());
        errors
    }
}
