//! Edits of configuration files that root modules may share.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::configuration::rewrite::{self, ConstraintEdit};
use crate::diagnostic::{Code, Diagnostic, Location, Result};
use crate::system::files::{self, FileChange, WriteError, canonical_or_given};
use crate::system::lock;

/// Files with edits that are not written yet, each with its path without symlinks.
pub(in crate::project) struct Rewrites {
    unwritten: Mutex<Vec<(PathBuf, FileChange)>>,
}

impl Rewrites {
    /// Edits of all root modules. Edits of the same string must be equal.
    pub(in crate::project) fn new<'a>(edits: impl IntoIterator<Item = &'a ConstraintEdit>) -> Self {
        let files = rewrite::files(edits).into_iter();
        let unwritten = files.map(|change| (canonical_or_given(&change.path), change));
        Self {
            unwritten: Mutex::new(unwritten.collect()),
        }
    }

    /// Writes the files of a root module's edits that no other root has written, then its lock
    /// files that change: all or nothing.
    pub(in crate::project) fn write<'a>(
        &self,
        edits: impl IntoIterator<Item = &'a ConstraintEdit>,
        lock_files: &[FileChange],
    ) -> std::result::Result<(), WriteError> {
        let paths: BTreeSet<&Path> = edits.into_iter().map(|edit| edit.location.path()).collect();
        if paths.is_empty() {
            return files::write_all(lock_files);
        }

        let canonical_paths: BTreeSet<PathBuf> =
            paths.into_iter().map(canonical_or_given).collect();
        let mut unwritten = lock(&self.unwritten);
        let mut changes = Vec::new();
        for (path, change) in unwritten.iter() {
            if canonical_paths.contains(path) {
                changes.push(change);
            }
        }
        changes.extend(lock_files);
        files::write_all(changes)?;
        unwritten.retain(|(path, _)| !canonical_paths.contains(path));
        Ok(())
    }
}

/// Fails root modules that share a string of a configuration file and need different texts there.
///
/// `paths` are the paths of the root modules. `texts_of` returns the strings that a plan depends
/// on, each with the text that it needs there: an edit, or the present text.
pub(in crate::project) fn fail_if_texts_differ<T>(
    plans: &mut [Result<T>],
    paths: &[&Path],
    texts_of: impl Fn(&T) -> Vec<ConstraintEdit>,
) {
    // 1. Collect the texts by their place in a file, each with the index of its root module.
    let mut canonical_paths: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    let mut by_place: BTreeMap<(PathBuf, usize), Vec<(usize, ConstraintEdit)>> = BTreeMap::new();
    for (root, plan) in plans.iter().enumerate() {
        for text in plan.iter().flat_map(&texts_of) {
            let path = text.location.path();
            let file = canonical_paths
                .entry(path.to_owned())
                .or_insert_with(|| canonical_or_given(path))
                .clone();
            by_place
                .entry((file, text.location.span.start))
                .or_default()
                .push((root, text));
        }
    }

    // 2. Fail all root modules that share a place, if two of them differ.
    for texts in by_place.values() {
        let (root, first) = &texts[0];
        let Some((other_root, other)) = texts.iter().find(|(_, other)| other.new != first.new)
        else {
            continue;
        };
        let Location { file, span } = &first.location;
        let old = file.text.get(span.clone()).unwrap_or_default();
        let message = format!("\"{old}\" cannot be rewritten for all root modules that share it");
        let error = Diagnostic::error(Code::VersionOutsideConstraints, message)
            .at_location(first.location.clone())
            .note(format!("{} needs \"{}\" here", paths[*root].display(), first.new))
            .note(format!("{} needs \"{}\" here", paths[*other_root].display(), other.new))
            .help("select the same version for all of them: name it, or change the constraint that holds one back");
        for root in texts.iter().map(|(root, _)| *root).collect::<BTreeSet<_>>() {
            match &mut plans[root] {
                Err(errors) => errors.push(error.clone()),
                plan => *plan = Err(error.clone().into()),
            }
        }
    }
}
