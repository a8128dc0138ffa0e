//! Files with arguments of backends beside a root module, which its backend does not name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::deciding_kind::DecidingKind;
use super::file_effect::MAX_SIZE;
use crate::configuration::StateStorage;
use crate::project::reviewed_change::ReviewedChange;
use crate::system::Tree;

/// Returns the places that a backend of the base has with each of the files with arguments in the
/// directory of its root module, and in directories directly below.
pub(super) fn completed_places(
    change: &ReviewedChange,
    root: &Path,
    backend: &StateStorage,
) -> Vec<StateStorage> {
    let base = Tree::Revision(Arc::clone(&change.base));
    let mut files = files_in(&base, root);
    for entry in base.entries(root).unwrap_or_default() {
        let below = root.join(&entry.name);
        if entry.is_dir() {
            files.extend(files_in(&base, &below));
        }
    }
    let mut places = Vec::new();
    for path in files {
        let bytes = base.read(&path, MAX_SIZE).unwrap_or_default();
        if let Some(file) = StateStorage::of_arguments(&path, &bytes)
            && backend.is_completed_by(&file)
        {
            places.push(backend.completed_by(file));
        }
    }
    places
}

/// The files in a directory whose names are usual for arguments of backends.
fn files_in(base: &Tree, directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in base.entries(directory).unwrap_or_default() {
        let path = directory.join(&entry.name);
        let kinds = [DecidingKind::Backend, DecidingKind::PerhapsBackend];
        if DecidingKind::of(&path).is_some_and(|kind| kinds.contains(&kind)) {
            files.push(path);
        }
    }
    files
}
