//! Modules that were read, and packages that were fetched, once for all roots.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::dialect::Dialect;
use crate::modules::fetched::FetchedModules;
use crate::once_map::OnceMap;

use super::module::Module;

/// Modules that were read already, by their directory and dialect, and what was fetched; to be shared by the roots of one run and by threads.
#[derive(Debug, Default)]
pub struct ModuleCache {
    modules: OnceMap<(PathBuf, Dialect), Arc<Module>>,
    /// What was fetched.
    pub(crate) fetched: FetchedModules,
}

impl ModuleCache {
    /// The module in `directory`, which is shown as given; read on first use only.
    pub fn module(&self, directory: &Path, dialect: Dialect) -> Arc<Module> {
        let Ok(canonical) = directory.canonicalize() else {
            return Arc::new(Module::read(directory, directory, dialect));
        };
        self.canonical_module(&canonical, directory, directory, dialect)
    }

    /// [`ModuleCache::module`] for a directory whose canonical path is known, and that the user may know by another name.
    pub(crate) fn canonical_module(
        &self,
        canonical: &Path,
        directory: &Path,
        shown: &Path,
        dialect: Dialect,
    ) -> Arc<Module> {
        self.modules
            .get_or_compute((canonical.to_owned(), dialect), || Arc::new(Module::read(directory, shown, dialect)))
    }
}
