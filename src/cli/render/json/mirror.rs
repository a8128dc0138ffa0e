//! Results of `mirror`, as JSON.

use provlock::project::mirror::{MirrorAction, MirrorTarget, Mirrored, MirroredPackage};
use serde::Serialize;

#[cfg(test)]
use super::tests::schema;
use super::values::shown;

/// A mirror that was filled.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "mirror", deny_unknown_fields))]
pub(crate) struct Mirror {
    /// The directory, or `oci://` and the template of repositories.
    directory: String,
    /// Whether anything was written; false with --dry-run, and if the mirror was up to date.
    written: bool,
    /// Packages in lock files, without packages among the errors.
    packages: Vec<Package>,
    /// The files that no lock file names; empty without --prune.
    removed: Vec<Removed>,
    downloaded_bytes: u64,
    kept_bytes: u64,
    removed_bytes: u64,
}

/// A package in a mirror.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "mirrored_package", deny_unknown_fields))]
struct Package {
    /// The full address, with the host.
    address: String,
    version: String,
    #[cfg_attr(test, schemars(regex(pattern = "^[a-z0-9]+_[a-z0-9]+$")))]
    platform: String,
    /// In an OCI registry the address of the tag.
    file: String,
    #[cfg_attr(test, schemars(with = "schema::MirrorAction"))]
    action: MirrorAction,
    /// Size in bytes; null for a package that --dry-run did not download.
    bytes: Option<u64>,
}

/// A file that was removed, or would be.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "removed_file", deny_unknown_fields))]
struct Removed {
    file: String,
    bytes: u64,
}

impl Mirror {
    pub(crate) fn new(target: &MirrorTarget, mirrored: &Mirrored, is_dry_run: bool) -> Self {
        let Mirrored { packages, removed, .. } = mirrored;
        let is_kept = |package: &&MirroredPackage| package.action == MirrorAction::Kept;
        let bytes = |package: &MirroredPackage| package.size.unwrap_or_default();
        let has_changed = !removed.is_empty() || !packages.iter().all(|package| is_kept(&package));
        Self {
            directory: target.to_string(),
            written: has_changed && !is_dry_run,
            packages: packages.iter().map(Package::from).collect(),
            removed: removed.iter().map(|file| Removed { file: shown(&file.path), bytes: file.size }).collect(),
            downloaded_bytes: packages.iter().filter(|package| !is_kept(package)).map(bytes).sum(),
            kept_bytes: packages.iter().filter(is_kept).map(bytes).sum(),
            removed_bytes: removed.iter().map(|file| file.size).sum(),
        }
    }
}

impl From<&MirroredPackage> for Package {
    fn from(MirroredPackage { package, path, action, size, .. }: &MirroredPackage) -> Self {
        Self {
            address: package.address.to_string(),
            version: package.version.to_string(),
            platform: package.platform.to_string(),
            file: shown(path),
            action: *action,
            bytes: *size,
        }
    }
}
