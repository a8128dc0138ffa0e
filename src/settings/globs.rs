//! Globs of settings files, which are relative to a directory.

use std::path::Path;

/// Whether globs that are relative to `base` match a directory, which is absolute and without symlinks. `infra/**` means `infra`
/// itself, too, and `base` is `.`.
pub(crate) fn is_match(base: &Path, directory: &Path, globs: impl Fn(&Path) -> bool) -> bool {
    let path = directory.strip_prefix(base).unwrap_or(directory);
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    globs(path) || globs(&path.join(""))
}
