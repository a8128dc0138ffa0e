//! The path that is meant by one that does not exist.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use crate::diagnostic::words;

/// Maximum number of names that a misspelled one is compared with in a directory.
const MOST_COMPARED: usize = 10_000;

/// An existing path whose names are those of `path`, or nearly: `live/network` for `live/netwrok`.
pub(super) fn path_meant(path: &Path) -> Option<PathBuf> {
    let mut meant = PathBuf::new();
    for part in path.components() {
        let next = meant.join(part);
        if next.symlink_metadata().is_ok() {
            meant = next;
            continue;
        }
        let Component::Normal(name) = part else { return None };
        let directory = if meant.as_os_str().is_empty() { Path::new(".") } else { &meant };
        let names = std::fs::read_dir(directory).ok()?.take(MOST_COMPARED);
        let names: Vec<OsString> = names.filter_map(|entry| Some(entry.ok()?.file_name())).collect();
        meant = meant.join(words::nearest(name.to_str()?, names.iter().filter_map(|name| name.to_str()))?);
    }
    (meant != path).then_some(meant)
}
