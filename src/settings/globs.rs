//! Globs of settings files, relative to a directory.

use std::path::Path;

/// Whether globs that are relative to `base` match a directory, which is absolute and without symlinks. `infra/**`
/// matches `infra` itself, too, and `.` matches `base`.
pub(crate) fn is_match(base: &Path, directory: &Path, globs: impl Fn(&Path) -> bool) -> bool {
    let path = directory.strip_prefix(base).unwrap_or(directory);
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    globs(path) || globs(&path.join(""))
}
