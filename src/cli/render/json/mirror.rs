//! Results of `mirror`, as JSON.

use std::borrow::Cow;

use provlock::project::mirror::{
    MirrorAction, MirrorTarget, Mirrored, MirroredModules, RemovedFile,
};
use provlock::provider::{Hash, Platform, ProviderAddress, Version};
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
    /// Packages in lock files, without packages among the errors; empty with --modules.
    packages: Vec<Package<'a>>,
    /// Packages of modules in lock files, without packages among the errors; empty without
    /// --modules.
    modules: Vec<Module<'a>>,
    /// The files, or directories of modules, that no lock file names; empty without --prune.
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

/// A package of modules in a mirror.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "mirrored_module", deny_unknown_fields)
)]
struct Module<'a> {
    /// The source and the version, or the address of the package.
    name: &'a str,
    /// Hash of the files.
    hash: AsText<&'a Hash>,
    directory: Cow<'a, str>,
    #[cfg_attr(test, schemars(with = "schema::MirrorAction"))]
    action: MirrorAction,
    /// Size in bytes; null for a package that --dry-run did not fetch.
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
        let mut packages = Vec::new();
        let mut downloaded_bytes = 0;
        let mut kept_bytes = 0;
        let mut is_fetched = false;
        for package in &mirrored.packages {
            let bytes = package.size.unwrap_or_default();
            if package.action == MirrorAction::Kept {
                kept_bytes += bytes;
            } else {
                downloaded_bytes += bytes;
                is_fetched = true;
            }
            packages.push(Package {
                address: AsText(&package.package.address),
                version: AsText(&package.package.version),
                platform: AsText(&package.package.platform),
                file: package.path.to_string_lossy(),
                action: package.action,
                bytes: package.size,
            });
        }
        let removed: Vec<_> = mirrored.removed.iter().map(Removed::new).collect();
        let removed_bytes = removed.iter().map(|file| file.bytes).sum();
        let has_changes = is_fetched || !removed.is_empty() || mirrored.documents > 0;
        Self {
            directory: AsText(target),
            written: !is_dry_run && has_changes,
            packages,
            modules: Vec::new(),
            removed,
            downloaded_bytes,
            kept_bytes,
            removed_bytes,
        }
    }

    pub(crate) fn of_modules(
        target: &'a MirrorTarget,
        mirrored: &'a MirroredModules,
        is_dry_run: bool,
    ) -> Self {
        let mut modules = Vec::new();
        let mut downloaded_bytes = 0;
        let mut kept_bytes = 0;
        let mut is_fetched = false;
        for module in &mirrored.modules {
            let bytes = module.size.unwrap_or_default();
            if module.action == MirrorAction::Kept {
                kept_bytes += bytes;
            } else {
                downloaded_bytes += bytes;
                is_fetched = true;
            }
            modules.push(Module {
                name: &module.name,
                hash: AsText(&module.h1),
                directory: module.path.to_string_lossy(),
                action: module.action,
                bytes: module.size,
            });
        }
        let removed: Vec<_> = mirrored.removed.iter().map(Removed::new).collect();
        let removed_bytes = removed.iter().map(|directory| directory.bytes).sum();
        let has_changes = is_fetched || !removed.is_empty() || mirrored.is_index_written;
        Self {
            directory: AsText(target),
            written: !is_dry_run && has_changes,
            packages: Vec::new(),
            modules,
            removed,
            downloaded_bytes,
            kept_bytes,
            removed_bytes,
        }
    }
}

impl<'a> Removed<'a> {
    fn new(removed: &'a RemovedFile) -> Self {
        Self {
            file: removed.path.to_string_lossy(),
            bytes: removed.size,
        }
    }
}
