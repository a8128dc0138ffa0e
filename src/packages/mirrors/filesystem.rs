//! A directory of packages, packed or unpacked
//! (<https://opentofu.org/docs/cli/config/config-file/#filesystem_mirror>; OpenTofu's
//! `internal/getproviders/filesystem_search.go`).

#![expect(
    clippy::disallowed_methods,
    reason = "a mirror is the same in every revision"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Code, Diagnostic};
use crate::packages::archive::{Limits, PackageError, PackageId, hash_directory, hash_zip_file};
use crate::packages::archive_file::ArchiveFile;
use crate::packages::available::{AvailableVersion, AvailableVersions};
use crate::packages::error::{Result, SourceError};
use crate::packages::fetched::{Fetch, Fetched};
use crate::provider::{Dialect, Platform, ProviderAddress, Version};
use crate::system::files;

/// A directory in the layout `HOST/NAMESPACE/TYPE/…` that `tofu providers mirror` writes.
#[derive(Clone, Debug)]
pub(crate) struct FilesystemMirror {
    pub(in crate::packages) directory: PathBuf,
}

/// A package in the mirror.
struct LocalPackage {
    version: Version,
    platform: Platform,
    path: PathBuf,
    packed: bool,
}

impl FilesystemMirror {
    /// The mirror in `directory`, which need not exist yet.
    pub(crate) fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
        }
    }

    /// The providers with packages in the mirror. Unreadable directories are skipped.
    pub(crate) fn providers(&self, dialect: Dialect) -> BTreeSet<ProviderAddress> {
        let mut addresses = BTreeSet::new();
        for (host, host_path) in readable_entries(&self.directory) {
            for (namespace, namespace_path) in readable_entries(&host_path) {
                for (name, _) in readable_entries(&namespace_path) {
                    let text = format!("{host}/{namespace}/{name}");
                    addresses.extend(ProviderAddress::parse(&text, dialect).ok());
                }
            }
        }
        addresses.retain(|address| {
            self.packages(address)
                .is_ok_and(|packages| !packages.is_empty())
        });
        addresses
    }

    /// The directories for providers, `HOST/NAMESPACE/TYPE` as they are named, that contain a
    /// directory or an archive. OpenTofu and Terraform read more forms of a name than the canonical
    /// one.
    pub(crate) fn directories(&self) -> Vec<String> {
        let mut directories = Vec::new();
        for (host, host_path) in readable_entries(&self.directory) {
            for (namespace, namespace_path) in readable_entries(&host_path) {
                for (name, provider_path) in readable_entries(&namespace_path) {
                    if has_package(&provider_path) {
                        directories.push(format!("{host}/{namespace}/{name}"));
                    }
                }
            }
        }
        directories
    }

    /// Returns the versions in the directory, with the platforms of their packages.
    pub(in crate::packages) fn versions(
        &self,
        address: &ProviderAddress,
    ) -> Result<AvailableVersions> {
        let mut platforms: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for package in self.packages(address)? {
            platforms
                .entry(package.version)
                .or_default()
                .push(package.platform);
        }
        if platforms.is_empty() {
            return Err(self.provider_not_found(address));
        }
        let available = platforms.into_iter().map(|(version, platforms)| {
            (
                version,
                AvailableVersion {
                    platforms: platforms.into_iter().collect(),
                    ..AvailableVersion::default()
                },
            )
        });
        Ok(AvailableVersions {
            versions: available.collect(),
            ..AvailableVersions::default()
        })
    }

    /// Hashes a package; if it is an archive, it is copied to the file.
    pub(in crate::packages) fn fetch(
        &self,
        Fetch {
            package,
            archive_file,
            ..
        }: &Fetch<'_>,
    ) -> Result<Fetched> {
        let locals = self.local_packages(package)?;
        // An unpacked package has no archive to copy.
        let Some(local) = locals
            .iter()
            .find(|local| local.packed || archive_file.is_none())
        else {
            let problem = format!(
                "it is unpacked in {}, so there is no archive of it",
                self.directory.display()
            );
            return Err(SourceError::invalid_response(package, problem));
        };
        let name = &package.address.name;
        if !local.packed {
            let h1 = hash_directory(&local.path, name)
                .map_err(|error| local.invalid(package, &error))?;
            return Ok(Fetched::of_files(h1));
        }
        let mut archive = files::open(&local.path)
            .map_err(|error| Diagnostic::io("open the package", &local.path, &error))?;
        let digest = match archive_file {
            Some(archive_file) => archive_file.copy_and_hash(archive, name),
            None => hash_zip_file(&mut archive, name, &Limits::default()),
        };
        if let Some(error) = archive_file.and_then(ArchiveFile::write_error) {
            return Err(error);
        }
        match digest {
            Ok(digest) => Ok(Fetched::of_archive(digest)),
            Err(error) => Err(local.invalid(package, &error)),
        }
    }

    /// A package in every form that the mirror contains; at least one.
    fn local_packages(&self, package: &PackageId) -> Result<Vec<LocalPackage>> {
        let mut packages = self.packages(&package.address)?;
        packages.retain(|local| local.version == package.version);
        if packages
            .iter()
            .any(|local| local.platform == package.platform)
        {
            packages.retain(|local| local.platform == package.platform);
            return Ok(packages);
        }
        let available = packages.into_iter().map(|local| local.platform);
        Err(SourceError::platform_not_among(package, available))
    }

    fn provider_not_found(&self, address: &ProviderAddress) -> SourceError {
        let directory = self.directory.display();
        let expected = self.provider_directory(address);
        let error = Diagnostic::error(
            Code::ProviderNotFound,
            format!("the mirror {directory} has no package of {address}"),
        );
        let help = match link_above(&expected) {
            Some(link) => format!(
                "replace the symbolic link {} by a directory",
                link.display()
            ),
            None => format!("expected below {}", expected.display()),
        };
        SourceError::provider_not_found(address, error.help(help))
    }

    fn provider_directory(&self, address: &ProviderAddress) -> PathBuf {
        self.directory
            .join(address.hostname.to_string())
            .join(&address.namespace)
            .join(&address.name)
    }

    /// Every package of a provider, unpacked packages first. Entries of other layouts are skipped,
    /// and so are links to the directories above packages, which OpenTofu and Terraform do not
    /// follow.
    fn packages(&self, address: &ProviderAddress) -> Result<Vec<LocalPackage>> {
        if let Err(error) = self.directory.metadata()
            && error.kind() == ErrorKind::NotFound
        {
            // Another mirror or a registry must not replace a mirror that is not mounted.
            let directory = self.directory.display();
            let message = format!(
                "the mirror directory {directory} does not exist, so it has no package of {address}"
            );
            return Err(Diagnostic::error(Code::ProviderNotFound, message).into());
        }
        let directory = self.provider_directory(address);
        if link_above(&directory).is_some() {
            return Ok(Vec::new());
        }
        let mut packages = Vec::new();
        for (name, path) in entries(&directory)? {
            if let Some((version, platform)) = packed_name(&name, &address.name) {
                // Checked before opening, because opening a named pipe would wait for a writer.
                if path.is_file() {
                    packages.push(LocalPackage {
                        version,
                        platform,
                        path,
                        packed: true,
                    });
                }
            } else if let (Some(version), true) = (
                Version::parse_listed(&name),
                path.is_dir() && !path.is_symlink(),
            ) {
                for (name, path) in entries(&path)? {
                    if let Ok(platform) = name.parse()
                        && path.is_dir()
                    {
                        packages.push(LocalPackage {
                            version: version.clone(),
                            platform,
                            path,
                            packed: false,
                        });
                    }
                }
            }
        }
        packages.sort_by_key(|package| package.packed);
        Ok(packages)
    }
}

impl LocalPackage {
    fn invalid(&self, package: &PackageId, error: &PackageError) -> SourceError {
        SourceError::invalid_package(package, error, format!("read from {}", self.path.display()))
    }
}

/// The version and the platform of `terraform-provider-TYPE_VERSION_OS_ARCH.zip`.
pub(crate) fn packed_name(name: &str, provider_type: &str) -> Option<(Version, Platform)> {
    let stem = name
        .strip_prefix("terraform-provider-")?
        .strip_prefix(provider_type)?
        .strip_prefix('_')?;
    let (version, platform) = stem.strip_suffix(".zip")?.split_once('_')?;
    Some((Version::parse_listed(version)?, platform.parse().ok()?))
}

/// Returns the directory of a provider, of its namespace or of its host if that is a link.
fn link_above(provider_directory: &Path) -> Option<&Path> {
    provider_directory
        .ancestors()
        .take(3)
        .find(|directory| directory.is_symlink())
}

/// The entries of a directory with their names; none if it does not exist.
fn entries(directory: &Path) -> Result<Vec<(String, PathBuf)>> {
    let paths = files::entries(directory)
        .map_err(|error| Diagnostic::io("read the mirror directory", directory, &error))?;
    let mut entries = Vec::new();
    for path in paths {
        if let Some(name) = path.file_name()
            && let Some(name) = name.to_str()
        {
            entries.push((name.to_owned(), path));
        }
    }
    Ok(entries)
}

/// The entries of a directory with their names; none if it cannot be read.
fn readable_entries(directory: &Path) -> Vec<(String, PathBuf)> {
    entries(directory).unwrap_or_default()
}

/// Whether the directory of a provider has an archive, or a directory that is not empty.
fn has_package(provider_directory: &Path) -> bool {
    for (name, path) in readable_entries(provider_directory) {
        let is_archive = name.to_ascii_lowercase().ends_with(".zip");
        if is_archive || (path.is_dir() && !readable_entries(&path).is_empty()) {
            return true;
        }
    }
    false
}
