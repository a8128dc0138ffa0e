//! Modules that were read once for all roots.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::dialect::Dialect;
use crate::once_map::OnceMap;

use super::module::Module;

/// Modules that were read already, by their directory and dialect; to be shared by the roots of one run and by threads.
#[derive(Debug, Default)]
pub struct ModuleCache {
    modules: OnceMap<(PathBuf, Dialect), Arc<Module>>,
}

impl ModuleCache {
    /// The module in `directory`, which is shown as given; read on first use only.
    pub fn module(&self, directory: &Path, dialect: Dialect) -> Arc<Module> {
        let Ok(canonical) = directory.canonicalize() else {
            return Arc::new(Module::read(directory, dialect));
        };
        self.canonical_module(&canonical, directory, dialect)
    }

    /// [`ModuleCache::module`] for a directory whose canonical path is known.
    pub(crate) fn canonical_module(&self, canonical: &Path, shown: &Path, dialect: Dialect) -> Arc<Module> {
        self.modules.get_or_compute((canonical.to_owned(), dialect), || Arc::new(Module::read(shown, dialect)))
    }
}
