//! The versions that registries listed, kept across runs. Offline, they name the packages that the cache may hold.

use std::path::{Path, PathBuf};

use super::source::RegistryModule;
use crate::provider::Version;
use crate::system::storage;

const FOLDER: &str = "provlock-module-versions-v1";
/// No list is longer, in bytes.
const LONGEST_LIST: u64 = 4 << 20;

/// Lists of versions in a directory. A directory that cannot be used is treated as empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionLists {
    folder: PathBuf,
}

impl VersionLists {
    /// The lists in `directory`, which need not exist.
    pub fn open(directory: &Path) -> Self {
        Self { folder: directory.join(FOLDER) }
    }

    /// Removes all lists. Returns how many bytes that frees.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub fn clean(&self) -> std::io::Result<u64> {
        storage::remove(&self.folder)
    }

    /// The versions of a module.
    pub(super) fn get(&self, module: &RegistryModule) -> Vec<Version> {
        let text = storage::read(&self.path(module), LONGEST_LIST).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Keeps the versions of a module, if that is possible.
    pub(super) fn put(&self, module: &RegistryModule, versions: &[Version]) {
        let lines: Vec<_> = versions.iter().map(|version| format!("{version}\n")).collect();
        let text = lines.concat();
        if storage::read(&self.path(module), LONGEST_LIST).is_none_or(|known| known != text) {
            // A cache that cannot be written must not stop the run.
            let _ = storage::replace(&self.path(module), text.as_bytes());
        }
    }

    fn path(&self, module: &RegistryModule) -> PathBuf {
        let RegistryModule { host, namespace, name, system } = module;
        self.folder
            .join(storage::file_name(host.as_ascii()))
            .join(storage::file_name(&format!("{namespace}/{name}/{system}")))
    }
}
