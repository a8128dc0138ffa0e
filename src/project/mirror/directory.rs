//! The directory of a mirror: where everything in it is, and that nothing leads out of it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::packages::archive::PackageId;
use crate::packages::packed_name;
use crate::provider::ProviderAddress;
use crate::system::canonicalize;
use crate::system::files::DirectoryLock;
use crate::system::files::name::{is_device, is_special_on_windows};

pub(super) struct MirrorDirectory {
    /// As the user knows it.
    pub(super) path: PathBuf,
    /// Absolute and without symbolic links; none if it is not there.
    canonical: Option<PathBuf>,
    /// No other run fills it; none if this one only looks.
    lock: Option<DirectoryLock>,
}

impl MirrorDirectory {
    /// Makes the directory if it is to be written to, and waits until no other run fills it.
    pub(super) fn open(path: &Path, is_read_only: bool) -> Result<Self> {
        let lock = if is_read_only {
            None
        } else {
            create(path)?;
            let wait = |error| Diagnostic::io("lock", path, &error).help("wait until no other run fills the mirror");
            Some(DirectoryLock::wait(path).map_err(wait)?)
        };
        Ok(Self { path: path.to_owned(), canonical: canonicalize(path).ok(), lock })
    }

    /// The directory of a provider's packages, `HOST/NAMESPACE/TYPE`, which need not exist.
    ///
    /// # Errors
    /// It leads out of the mirror, or cannot be copied to every system.
    pub(super) fn of_provider(&self, address: &ProviderAddress) -> Result<PathBuf> {
        let host = address.hostname.to_string();
        let parts = [host.as_str(), &address.namespace, &address.name];
        if let Some(part) = parts.into_iter().find(|part| !is_directory_name(part)) {
            let message =
                format!("{address} cannot be mirrored: {part} is not the name of a directory on every system");
            let error = Diagnostic::error(Code::InvalidArgument, message).about(address);
            return Err(error.help("name the root modules that do not lock it").into());
        }
        let directory = parts.iter().fold(self.path.clone(), |path, part| path.join(part));
        self.check_inside(&directory)?;
        Ok(directory)
    }

    /// `terraform-provider-TYPE_VERSION_OS_ARCH.zip`
    pub(super) fn file_name(PackageId { address, version, platform }: &PackageId) -> String {
        format!("terraform-provider-{}_{version}_{platform}.zip", address.name)
    }

    /// Makes a directory of the mirror, and removes the temporary files that killed runs have left there.
    pub(super) fn create(&self, directory: &Path) -> Result<()> {
        create(directory)?;
        self.check_inside(directory)?;
        self.remove_left_over(directory);
        Ok(())
    }

    /// Removes the packages in the directory of a provider that killed runs have not finished, if no other run can be
    /// writing them.
    pub(super) fn remove_left_over(&self, directory: &Path) {
        let provider_type = directory.file_name().unwrap_or_default().to_string_lossy();
        if let Some(lock) = &self.lock {
            lock.remove_left_over(directory, |name| packed_name(name, &provider_type).is_some());
        }
    }

    /// That a path in the mirror, as far as it exists, does not lead out of it over symbolic links.
    fn check_inside(&self, path: &Path) -> Result<()> {
        let existing = path.ancestors().find_map(|path| canonicalize(path).ok());
        match (&self.canonical, existing) {
            (Some(mirror), Some(existing)) if !existing.starts_with(mirror) => {
                let message = format!("{} leads out of the mirror {}", path.display(), self.path.display());
                Err(Diagnostic::error(Code::Io, message).help("remove the symbolic link").into())
            }
            _ => Ok(()),
        }
    }
}

/// Makes a directory and those above it, as far as they are not there.
fn create(directory: &Path) -> Result<()> {
    let help = "name a directory that you can write to, where only a mirror is";
    Ok(fs::create_dir_all(directory).map_err(|error| Diagnostic::io("create", directory, &error).help(help))?)
}

/// Whether a part of an address can be a directory here, and is not a device on Windows, where the mirror may be copied
/// to. Only there the port of a host cannot be in a name.
fn is_directory_name(part: &str) -> bool {
    let is_plain = !part.is_empty() && part != "." && part != ".." && !part.contains(['/', '\\', '\0']);
    is_plain && !is_device(part) && !(cfg!(windows) && is_special_on_windows(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_addresses_are_directories_unless_they_lead_elsewhere() {
        for name in ["registry.opentofu.org", "registry.example.com:8443", "hashicorp", "null", "bücher.example", "a_b"]
        {
            assert!(is_directory_name(name) || (cfg!(windows) && name.contains(':')), "{name}");
        }
        for name in ["", ".", "..", "a/b", "..\\a", "con", "nul.example.com", "com1", "a\0"] {
            assert!(!is_directory_name(name), "{name}");
        }
    }
}
