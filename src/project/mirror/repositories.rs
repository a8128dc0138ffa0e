//! A mirror in OCI registries. The index of a version makes its packages visible, and is written
//! last.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use tempfile::NamedTempFile;

use super::fill::{ExistingArchive, ExistingPackage, ProviderStore, PublishedPackages, Stored};
use super::mirrored::MirrorAction;
use super::releases::{LockedReleases, Versions};
use crate::diagnostic::{Diagnostic, Diagnostics, Result};
use crate::packages::RepositoryTemplate;
use crate::packages::archive::{PackageDigest, PackageId};
use crate::packages::oci::{Content, OciRegistries, ProviderTag, PushedPackage};
use crate::project::session::Session;
use crate::provider::{OciRepository, ProviderAddress, Version};
use crate::system::{Temporary, TemporaryDirectory, parallel};

/// The repository of one provider.
pub(super) struct MirrorRepository<'a> {
    tags: BTreeMap<Version, Result<ProviderTag<'a>>>,
    /// Contains packages between download and upload.
    directory: &'a TemporaryDirectory,
}

/// The repositories of all providers. Each provider must have a repository of its own.
pub(super) fn repositories_of<'a>(
    template: &RepositoryTemplate,
    releases: &'a LockedReleases,
) -> BTreeMap<&'a ProviderAddress, Result<OciRepository>> {
    let mut owners = BTreeMap::new();
    let mut repositories = BTreeMap::new();
    for address in releases.0.keys() {
        let mut resolved = template.resolve(address);
        if let Ok(repository) = &resolved {
            let owner = *owners.entry(repository.clone()).or_insert(address);
            if owner != address {
                resolved = Err(template
                    .given_twice_error(owner, address, repository)
                    .into());
            }
        }
        repositories.insert(address, resolved);
    }
    repositories
}

impl<'a> MirrorRepository<'a> {
    /// Reads the tags of versions.
    pub(super) fn open(
        registries: &'a OciRegistries,
        repository: &OciRepository,
        versions: &Versions,
        directory: &'a TemporaryDirectory,
        is_dry_run: bool,
    ) -> Self {
        let versions = versions.keys().collect();
        let tags = parallel::map(versions, Self::SIDE_BY_SIDE, |version: &Version| {
            let tag = ProviderTag::read(registries, repository.clone(), version, is_dry_run);
            (version.clone(), tag)
        });
        Self {
            tags: tags.into_iter().collect(),
            directory,
        }
    }

    fn tag(&self, package: &PackageId) -> Result<&ProviderTag<'_>> {
        self.tags[&package.version].as_ref().map_err(Clone::clone)
    }
}

impl ProviderStore for MirrorRepository<'_> {
    /// Each package is a temporary file in the meantime.
    const SIDE_BY_SIDE: usize = 4;

    fn path(&self, package: &PackageId) -> PathBuf {
        self.tag(package)
            .map(|tag| tag.to_string().into())
            .unwrap_or_default()
    }

    fn find(&self, package: &PackageId) -> Result<ExistingPackage> {
        let tag = self.tag(package)?;
        Ok(match tag.listed_archive(&package.platform)? {
            Some((zh, size)) => ExistingPackage::Archive(ExistingArchive {
                zh,
                size,
                digest: None,
            }),
            None if tag.lists(&package.platform) => ExistingPackage::Other,
            None => ExistingPackage::Nothing,
        })
    }

    fn temporary_file(&self, package: &PackageId) -> Result<Temporary<NamedTempFile>> {
        // The directory is temporary, too.
        let file = Temporary::make(|| NamedTempFile::new_in(self.directory.path()));
        Ok(file.map_err(|error| Diagnostic::io("create", &self.path(package), &error))?)
    }

    fn put(
        &self,
        package: &PackageId,
        file: Temporary<NamedTempFile>,
        digest: &PackageDigest,
    ) -> Result<Option<PushedPackage>> {
        self.tag(package)?
            .push(
                &package.platform,
                Content::File(file.as_file(), digest.size),
                digest,
            )
            .map(Some)
    }

    /// Writes nothing in a dry run, because that pushes no package.
    fn publish(
        self,
        stored: &mut Vec<Stored>,
        _: &BTreeSet<PackageId>,
        _: &Session<'_>,
    ) -> PublishedPackages {
        let mut errors = Diagnostics::default();
        for (version, tag) in &self.tags {
            let mut pushed = Vec::new();
            for stored in &mut *stored {
                if stored.package.package.version == *version {
                    pushed.extend(stored.pushed.take());
                }
            }
            if let Ok(tag) = tag
                && !pushed.is_empty()
                && let Err(more) = tag.list_in_index(&pushed)
            {
                // Packages that are not in an index are invisible, unless they were in the old one.
                stored.retain(|stored| {
                    let package = &stored.package;
                    package.package.version != *version || package.action == MirrorAction::Kept
                });
                errors.extend(more);
            }
        }
        PublishedPackages {
            documents: 0,
            errors,
        }
    }
}
