//! Results of `mirror`, as JSON.

use std::borrow::Cow;

use provlock::project::mirror::{
    MirrorAction, MirrorTarget, Mirrored, MirroredPackage, RemovedFile,
};
use provlock::provider::{Platform, ProviderAddress, Version};
use serde::Serialize;

#[cfg(test)]
use super::tests::schema;
use super::values::AsText;

/// A mirror that was filled.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "mirror", deny_unknown_fields)
)]
pub(crate) struct Mirror<'a> {
    /// The directory, or `oci://` and the template of repositories.
    directory: AsText<&'a MirrorTarget>,
    /// Whether anything was written; false with --dry-run, and if the mirror was up to date.
    written: bool,
    /// Packages in lock files, without packages among the errors.
    packages: Vec<Package<'a>>,
    /// The files that no lock file names; empty without --prune.
    removed: Vec<Removed<'a>>,
    downloaded_bytes: u64,
    kept_bytes: u64,
    removed_bytes: u64,
}

/// A package in a mirror.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "mirrored_package", deny_unknown_fields)
)]
struct Package<'a> {
    /// The full address, with the host.
    address: AsText<&'a ProviderAddress>,
    version: AsText<&'a Version>,
    #[cfg_attr(test, schemars(regex(pattern = "^[a-z0-9]+_[a-z0-9]+$")))]
    platform: AsText<&'a Platform>,
    /// In an OCI registry the address of the tag.
    file: Cow<'a, str>,
    #[cfg_attr(test, schemars(with = "schema::MirrorAction"))]
    action: MirrorAction,
    /// Size in bytes; null for a package that --dry-run did not download.
    bytes: Option<u64>,
}

/// A file that was removed, or would be.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "removed_file", deny_unknown_fields)
)]
struct Removed<'a> {
    file: Cow<'a, str>,
    bytes: u64,
}

impl<'a> Mirror<'a> {
    pub(crate) fn new(target: &'a MirrorTarget, mirrored: &'a Mirrored, is_dry_run: bool) -> Self {
        let (kept, fetched): (Vec<_>, Vec<_>) = mirrored
            .packages
            .iter()
            .partition(|package| package.action == MirrorAction::Kept);
        let bytes = |packages: &[&MirroredPackage]| {
            packages.iter().filter_map(|package| package.size).sum()
        };
        let package = |MirroredPackage {
                           package,
                           path,
                           action,
                           size,
                           ..
                       }: &'a MirroredPackage| Package {
            address: AsText(&package.address),
            version: AsText(&package.version),
            platform: AsText(&package.platform),
            file: path.to_string_lossy(),
            action: *action,
            bytes: *size,
        };
        let file = |RemovedFile { path, size }: &'a RemovedFile| Removed {
            file: path.to_string_lossy(),
            bytes: *size,
        };
        Self {
            directory: AsText(target),
            written: !is_dry_run
                && (!mirrored.removed.is_empty() || !fetched.is_empty() || mirrored.documents > 0),
            packages: mirrored.packages.iter().map(package).collect(),
            removed: mirrored.removed.iter().map(file).collect(),
            downloaded_bytes: bytes(&fetched),
            kept_bytes: bytes(&kept),
            removed_bytes: mirrored.removed.iter().map(|file| file.size).sum(),
        }
    }
}
