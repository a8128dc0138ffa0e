//! The directory of a mirror. No path in it may resolve to a file outside of it.

use std::fs;
use std::path::{Path, PathBuf};

use super::releases::LockedReleases;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::packages::archive::PackageId;
use crate::packages::packed_name;
use crate::provider::ProviderAddress;
use crate::system::canonicalize;
use crate::system::files::DirectoryLock;
use crate::system::files::name::{is_device_name, is_special_on_windows};

pub(super) struct MirrorDirectory<'a> {
    /// Path, as the user knows it.
    pub(super) path: PathBuf,
    /// Path, absolute and without symlinks; `None` if the directory does not exist.
    canonical: Option<PathBuf>,
    /// Lock against other runs; `None` in a dry run.
    lock: Option<DirectoryLock>,
    pub(super) releases: &'a LockedReleases,
    pub(super) is_dry_run: bool,
    /// Whether versions that no lock file names are removed.
    pub(super) prunes: bool,
}

impl<'a> MirrorDirectory<'a> {
    /// Creates the directory unless this is a dry run, and waits until no other run fills it.
    pub(super) fn open(
        path: &Path,
        releases: &'a LockedReleases,
        is_dry_run: bool,
        prunes: bool,
    ) -> Result<Self> {
        let mut lock = None;
        // A dry run leaves no trace, not even an empty directory.
        if !is_dry_run {
            create(path)?;
            let own = DirectoryLock::wait(path).map_err(|error| {
                Diagnostic::io("lock", path, &error)
                    .help("wait until no other run fills the mirror")
            })?;
            lock = Some(own);
        }
        let canonical = canonicalize(path).ok();
        Ok(Self {
            path: path.to_owned(),
            canonical,
            lock,
            releases,
            is_dry_run,
            prunes,
        })
    }

    /// The directory of a provider's packages, `HOST/NAMESPACE/TYPE`, which may be missing.
    ///
    /// # Errors
    /// It leads out of the mirror, or cannot be copied to every system.
    pub(super) fn of_provider(&self, address: &ProviderAddress) -> Result<PathBuf> {
        let host = address.hostname.to_string();
        let parts = [host.as_str(), &address.namespace, &address.name];
        if let Some(part) = parts.into_iter().find(|part| !is_directory_name(part)) {
            let message = format!(
                "{address} cannot be mirrored: {part} is not the name of a directory on every system"
            );
            let error = Diagnostic::error(Code::InvalidArgument, message).about(address);
            return Err(error
                .help("name the root modules that do not lock it")
                .into());
        }
        let directory = parts
            .iter()
            .fold(self.path.clone(), |path, part| path.join(part));
        self.check_inside(&directory)?;
        Ok(directory)
    }

    /// Creates a directory of the mirror, and removes the temporary files that killed runs have
    /// left there.
    pub(super) fn create(&self, directory: &Path) -> Result<()> {
        create(directory)?;
        self.check_inside(directory)?;
        self.remove_left_over(directory);
        Ok(())
    }

    /// Removes unfinished packages of killed runs from the directory of a provider, if no other run
    /// can be writing them.
    pub(super) fn remove_left_over(&self, directory: &Path) {
        let provider_type = directory.file_name().unwrap_or_default().to_string_lossy();
        if let Some(lock) = &self.lock {
            lock.remove_left_over(directory, |name| {
                packed_name(name, &provider_type).is_some()
            });
        }
    }

    /// Fails if the existing part of a path in the mirror resolves to a file outside of the mirror.
    fn check_inside(&self, path: &Path) -> Result<()> {
        let existing = path.ancestors().find_map(|path| canonicalize(path).ok());
        match (&self.canonical, existing) {
            (Some(mirror), Some(existing)) if !existing.starts_with(mirror) => {
                let message = format!(
                    "{} leads out of the mirror {}",
                    path.display(),
                    self.path.display()
                );
                Err(Diagnostic::error(Code::Io, message)
                    .help("remove the symbolic link")
                    .into())
            }
            _ => Ok(()),
        }
    }
}

/// Returns `terraform-provider-TYPE_VERSION_OS_ARCH.zip`.
pub(super) fn file_name(
    PackageId {
        address,
        version,
        platform,
    }: &PackageId,
) -> String {
    format!(
        "terraform-provider-{}_{version}_{platform}.zip",
        address.name
    )
}

/// Creates a directory and its ancestors.
fn create(directory: &Path) -> Result<()> {
    let help = "name a directory that you can write to, where only a mirror is";
    Ok(fs::create_dir_all(directory)
        .map_err(|error| Diagnostic::io("create", directory, &error).help(help))?)
}

/// Whether a part of an address can be a directory here, and is not a device on Windows, to which
/// users may copy the mirror. Only on Windows a name cannot contain the port of a host.
fn is_directory_name(part: &str) -> bool {
    let is_plain =
        !part.is_empty() && part != "." && part != ".." && !part.contains(['/', '\\', '\0']);
    is_plain && !is_device_name(part) && !(cfg!(windows) && is_special_on_windows(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_addresses_are_directories_unless_they_lead_elsewhere() {
        for name in [
            "registry.opentofu.org",
            "registry.example.com:8443",
            "hashicorp",
            "null",
            "bücher.example",
            "a_b",
        ] {
            assert!(
                is_directory_name(name) || (cfg!(windows) && name.contains(':')),
                "{name}"
            );
        }
        for name in [
            "",
            ".",
            "..",
            "a/b",
            "..\\a",
            "con",
            "nul.example.com",
            "com1",
            "a\0",
        ] {
            assert!(!is_directory_name(name), "{name}");
        }
    }
}
