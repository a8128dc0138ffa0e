//! The configuration's files that change, each of which is written once, however many root modules share it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::configuration::rewrite::{self, ConstraintEdit, FileRewrite};
use crate::diagnostic::Result;
use crate::system::files::{self, Replacement, canonical_or_given};

/// Files with new constraints that are not written yet, each with its path without symlinks.
pub(super) struct Rewrites(Mutex<Vec<(PathBuf, FileRewrite)>>);

impl Rewrites {
    /// What all edits of all roots come to. Edits of one constraint must be the same in every root.
    pub(super) fn new<'a>(edits: impl IntoIterator<Item = &'a ConstraintEdit>) -> Self {
        let files = rewrite::files(edits).into_iter();
        Self(Mutex::new(files.map(|rewrite| (canonical_or_given(&rewrite.path), rewrite)).collect()))
    }

    /// Writes the files of a root module's edits that no other root has written, then its lock file if it changes: all or
    /// nothing.
    pub(super) fn write<'a>(
        &self,
        edits: impl IntoIterator<Item = &'a ConstraintEdit>,
        lock_file: Option<Replacement<'_>>,
    ) -> Result<()> {
        let paths: BTreeSet<&Path> = edits.into_iter().map(|edit| edit.location.path()).collect();
        if paths.is_empty() {
            return files::write_all(lock_file.as_slice());
        }
        let paths: BTreeSet<PathBuf> = paths.into_iter().map(canonical_or_given).collect();
        let mut unwritten = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let files = unwritten.iter().filter(|(canonical, _)| paths.contains(canonical));
        let replacements = files.map(|(_, FileRewrite { path, old, new })| Replacement {
            path,
            old: Some(old.as_bytes()),
            new: new.as_bytes(),
        });
        files::write_all(&replacements.chain(lock_file).collect::<Vec<_>>())?;
        unwritten.retain(|(canonical, _)| !paths.contains(canonical));
        Ok(())
    }
}
