//! Edits of configuration files that root modules may share.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::configuration::rewrite::{self, ConstraintEdit, FileRewrite};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::system::files::{self, Replacement, canonical_or_given};
use crate::system::lock;

/// Files with edits that are not written yet, each with its path without symlinks.
pub(super) struct Rewrites(Mutex<Vec<(PathBuf, FileRewrite)>>);

impl Rewrites {
    /// What all edits of all roots come to. Edits of one place must be the same in every root.
    pub(super) fn new<'a>(edits: impl IntoIterator<Item = &'a ConstraintEdit>) -> Self {
        let files = rewrite::files(edits).into_iter();
        Self(Mutex::new(files.map(|rewrite| (canonical_or_given(&rewrite.path), rewrite)).collect()))
    }

    /// Writes the files of a root module's edits that no other root has written, then its lock files that change: all
    /// or nothing.
    pub(super) fn write<'a>(
        &self,
        edits: impl IntoIterator<Item = &'a ConstraintEdit>,
        lock_files: &[Replacement<'_>],
    ) -> Result<()> {
        let paths: BTreeSet<&Path> = edits.into_iter().map(|edit| edit.location.path()).collect();
        if paths.is_empty() {
            return files::write_all(lock_files);
        }
        let paths: BTreeSet<PathBuf> = paths.into_iter().map(canonical_or_given).collect();
        let mut unwritten = lock(&self.0);
        let files = unwritten.iter().filter(|(canonical, _)| paths.contains(canonical));
        let replacements = files.map(|(_, FileRewrite { path, old, new })| Replacement {
            path,
            old: Some(old.as_bytes()),
            new: new.as_bytes(),
        });
        files::write_all(&replacements.chain(lock_files.iter().copied()).collect::<Vec<_>>())?;
        unwritten.retain(|(canonical, _)| !paths.contains(canonical));
        Ok(())
    }
}

/// Lets root modules fail that would each write something else into a call that they share.
pub(super) fn agree<T>(plans: &mut [Result<T>], edits_of: impl Fn(&T) -> &[ConstraintEdit]) {
    let place = |edit: &ConstraintEdit| (canonical_or_given(edit.location.path()), edit.location.span.start);
    let mut edits: BTreeMap<(PathBuf, usize), (&str, bool)> = BTreeMap::new();
    for edit in plans.iter().flatten().flat_map(&edits_of) {
        let (new, differs) = edits.entry(place(edit)).or_insert((&edit.new, false));
        *differs |= **new != *edit.new;
    }
    let places: BTreeSet<_> = edits.into_iter().filter(|(_, (_, differs))| *differs).map(|(place, _)| place).collect();
    for plan in plans {
        let edits = plan.iter().flat_map(&edits_of);
        let Some(edit) = edits.into_iter().find(|edit| places.contains(&place(edit))) else { continue };
        let message = "this cannot be rewritten for all root modules that share it: they would get different versions";
        let error = Diagnostic::error(Code::VersionOutsideConstraints, message).at(edit.location.clone(), "");
        *plan = Err(error.into());
    }
}
