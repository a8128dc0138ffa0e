//! Whether a change alters what a call leads to: the call itself, or what its source and version are computed from.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::configuration::{Module, Origin};
use crate::diagnostic::Location;
use crate::project::reviewed_change::ReviewedChange;
use crate::provider::Dialect;
use crate::system::{OnceMap, canonicalize};

/// Calls and values as they are written, in files and directories that the change touches. Each is read when it is
/// first needed.
#[derive(Default)]
pub(super) struct WrittenCalls {
    /// Texts in a file now, by their start.
    now: OnceMap<PathBuf, Arc<BTreeMap<usize, String>>>,
    /// Texts in a directory in the base, where override files and comments have their effect.
    before: OnceMap<(PathBuf, Dialect), Arc<BTreeSet<String>>>,
}

impl WrittenCalls {
    /// Whether the change alters a call: its source, its version, or a value that these are computed from.
    pub(super) fn alters(&self, change: &ReviewedChange, written: &[&Location], origin: &Origin) -> bool {
        let mut all = written.iter().copied().chain(&origin.locations);
        origin.has_more || all.any(|location| self.is_new(change, location))
    }

    /// Whether the base has no such call or value. A line of something else is compared by its text.
    fn is_new(&self, change: &ReviewedChange, location: &Location) -> bool {
        let path = change.current_directory.join(location.path());
        let directory = path.parent().and_then(|directory| canonicalize(directory).ok());
        let Some(directory) = directory.filter(|directory| change.touched.contains(directory)) else {
            return false;
        };
        let written = self.now.get_or_compute(&path, || {
            let bytes = location.file.text.as_bytes();
            let dialect = dialects(&path)[0];
            let module = Module::of_texts(&directory, [(path.as_path(), bytes)].into_iter(), dialect);
            Arc::new(module.written().into_iter().map(|(location, text)| (location.span.start, text)).collect())
        });
        let Some(text) = written.get(&location.span.start) else { return change.is_new_line(location) };
        let is_missing = |dialect: &Dialect| {
            let before = self.before.get_or_compute(&(directory.clone(), *dialect), || {
                let module = change.module_before(&directory, *dialect);
                Arc::new(module.iter().flat_map(Module::written).map(|(_, text)| text).collect())
            });
            !before.contains(text)
        };
        dialects(&path).iter().any(is_missing)
    }
}

/// The dialects that read a file.
fn dialects(path: &Path) -> &'static [Dialect] {
    let is_of_tofu = path.extension().is_some_and(|extension| extension == "tofu")
        || path.file_name().is_some_and(|name| name.as_encoded_bytes().ends_with(b".tofu.json"));
    if is_of_tofu { &[Dialect::Tofu] } else { &[Dialect::Tofu, Dialect::Terraform] }
}
