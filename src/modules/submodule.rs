//! Git submodules, whose directories are empty until they are checked out
//! (<https://git-scm.com/docs/gitmodules>).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::system::Tree;

/// File that lists the submodules of a repository.
pub(crate) const FILE_NAME: &str = ".gitmodules";
/// Largest file that is read in bytes.
pub(crate) const SIZE_LIMIT: u64 = 1 << 20;

/// Returns the submodule that contains a directory, if it is not checked out: the nearest directory
/// that exists is empty, and a `.gitmodules` above it lists it. The path is relative if `directory`
/// is.
pub(crate) fn not_checked_out(tree: &Tree, directory: &Path) -> Option<PathBuf> {
    let nearest = directory
        .ancestors()
        .find(|directory| tree.is_dir(directory))?;
    // A submodule that is checked out has files.
    if !tree.entries(nearest).ok()?.is_empty() {
        return None;
    }
    let canonical = tree.canonicalize(nearest).ok()?;
    let top = canonical
        .ancestors()
        .skip(1)
        .find(|directory| tree.is_file(&directory.join(FILE_NAME)))?;
    let bytes = tree.read(&top.join(FILE_NAME), SIZE_LIMIT).ok()?;
    for submodule in String::from_utf8_lossy(&bytes)
        .lines()
        .filter_map(path_in_line)
    {
        if top.join(submodule) == canonical {
            return Some(nearest.to_owned());
        }
    }
    None
}

/// Returns the lines of each submodule's section in a `.gitmodules`, by the path of the submodule.
pub(crate) fn sections_by_path(text: &[u8]) -> BTreeMap<String, BTreeSet<String>> {
    let text = String::from_utf8_lossy(text);
    let mut sections: Vec<BTreeSet<String>> = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            sections.push(BTreeSet::new());
        }
        if let Some(section) = sections.last_mut() {
            section.insert(line.to_owned());
        }
    }
    let mut by_path: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for section in sections {
        for path in section.iter().filter_map(|line| path_in_line(line)) {
            by_path
                .entry(path.to_owned())
                .or_default()
                .extend(section.iter().cloned());
        }
    }
    by_path
}

/// Returns the value of a line `path = VALUE`.
fn path_in_line(line: &str) -> Option<&str> {
    let (name, value) = line.split_once('=')?;
    if !name.trim().eq_ignore_ascii_case("path") {
        return None;
    }
    Some(value.trim().trim_matches('"'))
}
