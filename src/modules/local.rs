//! Module sources that are paths.

use std::path::{Path, PathBuf};

use crate::system::files::join;

/// Whether a module source is a path: it starts with `./` or `../` (on Windows also with a
/// backslash).
pub(crate) fn is_local(source: &str) -> bool {
    ["./", "../", ".\\", "..\\"]
        .iter()
        .any(|prefix| source.starts_with(prefix))
}

/// Returns the directory of a local source in a module in `caller`.
pub(crate) fn directory(caller: &Path, source: &str) -> PathBuf {
    join(caller, source.replace('\\', "/"))
}
