//! Whether a change alters what a call leads to: the call itself, or what its source and version
//! are computed from.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::configuration::{
    Cause, Module, ModuleCache, Origin, Written, has_argument, place, written_in_test,
};
use crate::diagnostic::Location;
use crate::project::reviewed_change::ReviewedChange;
use crate::provider::Dialect;
use crate::system::{OnceMap, canonicalize};

/// Calls and values as they are written, in directories that the change touches. Each directory or
/// test file is read when it is first needed.
#[derive(Default)]
pub(super) struct WrittenCalls {
    places: OnceMap<(PathBuf, Dialect), Arc<WrittenChange>>,
}

/// Calls and values in a directory or a test file.
struct WrittenChange {
    now: Written,
    before: BTreeSet<String>,
}

impl WrittenCalls {
    /// Whether the change alters a call: its source, its version, or a value that these are
    /// computed from.
    pub(super) fn alters(
        &self,
        change: &ReviewedChange,
        modules: &ModuleCache,
        written: &[&Location],
        origin: &Origin,
    ) -> bool {
        let causes = origin
            .causes
            .iter()
            .map(|Cause { location, lacking }| (location, lacking.as_deref()));
        let mut all = written
            .iter()
            .map(|location| (*location, None))
            .chain(causes);
        origin.has_more
            || all.any(|(location, lacking)| self.is_new(change, modules, location, lacking))
    }

    /// Whether the base has no such call or value, or its call has the argument that this one
    /// lacks. Anything else in a configuration file is new if the change alters the file, and in
    /// any other file if its line is new. A value that is read from a file is new if the change
    /// alters any such file.
    fn is_new(
        &self,
        change: &ReviewedChange,
        modules: &ModuleCache,
        location: &Location,
        lacking: Option<&str>,
    ) -> bool {
        let path = change.current_directory.join(location.path());
        let directory = path
            .parent()
            .and_then(|directory| canonicalize(directory).ok());
        let value = location
            .file
            .text
            .get(location.span.clone())
            .unwrap_or_default();
        if may_read_files(value) && change.alters_other_files() {
            return true;
        }
        let Some(directory) = directory.filter(|directory| change.touched.contains(directory))
        else {
            return false;
        };
        let Some(dialects) = dialects(&path) else {
            return change.is_new_line(location);
        };
        let mut is_known = false;
        let is_missing = |dialect: &Dialect| {
            let written = self.written(change, modules, &directory, location, *dialect);
            let Some(text) = written.now.get(&place(location)) else {
                return false;
            };
            is_known = true;
            !written.before.contains(text)
                || lacking.is_some_and(|name| has_argument(text, name, &written.before))
        };
        let is_new = dialects.iter().any(is_missing);
        let before = || change.file_before(&directory.join(path.file_name().unwrap_or_default()));
        is_new || (!is_known && before() != Some(location.file.text.as_bytes()))
    }

    fn written(
        &self,
        change: &ReviewedChange,
        modules: &ModuleCache,
        directory: &Path,
        location: &Location,
        dialect: Dialect,
    ) -> Arc<WrittenChange> {
        let in_test = |path: &Path, text: &str| written_in_test(path, text, dialect);
        let of_test = in_test(location.path(), &location.file.text);
        let key = if of_test.is_some() {
            location.path()
        } else {
            directory
        };
        self.places.get_or_compute(&(key.to_owned(), dialect), || {
            let mut before = Written::default();
            if of_test.is_some() {
                let files = change.files_before(directory);
                let texts = files
                    .filter_map(|(path, bytes)| in_test(path, &String::from_utf8_lossy(bytes)));
                before.extend(texts.flatten());
            } else {
                before.extend(
                    change
                        .module_before(directory, dialect)
                        .iter()
                        .flat_map(Module::written),
                );
            }
            let now = of_test.unwrap_or_else(|| modules.module(directory, dialect).written());
            Arc::new(WrittenChange {
                now,
                before: before.into_values().collect(),
            })
        })
    }
}

/// Whether a value may come from a file by a function such as `file` or `templatefile`.
fn may_read_files(text: &str) -> bool {
    text.contains("file") && text.contains('(')
}

/// The dialects that read a configuration file; `None` for any other file.
fn dialects(path: &Path) -> Option<&'static [Dialect]> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_suffix(".json").unwrap_or(name);
    let is_common = [".tf", ".tftest", ".tftest.hcl"]
        .iter()
        .any(|end| name.ends_with(end));
    let is_of_tofu = [".tofu", ".tofutest", ".tofutest.hcl"]
        .iter()
        .any(|end| name.ends_with(end));
    match (is_common, is_of_tofu) {
        (true, _) => Some(&[Dialect::Tofu, Dialect::Terraform]),
        (false, true) => Some(&[Dialect::Tofu]),
        (false, false) => None,
    }
}
