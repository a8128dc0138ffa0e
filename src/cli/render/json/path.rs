//! Paths in JSON.

use std::path::Path;

/// A path as text; what JSON cannot hold of it is replaced.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
