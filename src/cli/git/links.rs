//! Symbolic links of the work tree to files in the repository, and altered links to directories.

#![expect(
    clippy::disallowed_methods,
    reason = "git's objects are compared with the files of the work tree themselves"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use provlock::system::{Tree, canonicalize, files};

use super::command::Entry;

/// Maximum number of links that are followed, as on Linux.
const MOST_LINKS: usize = 40;

/// A link to a file in the repository, both relative to its top.
pub(super) struct LinkedFile {
    pub(super) path: OsString,
    /// `None` if the link leads elsewhere in the base.
    pub(super) target: Option<PathBuf>,
    /// Whether the base has a different file behind the link.
    pub(super) is_changed: bool,
}

/// The links among the files `now` to files in the repository with this top. `is_changed` returns
/// whether a path differs from the base.
pub(super) fn linked_files(
    top: &Path,
    now: &BTreeMap<OsString, Entry>,
    is_changed: impl Fn(&Path) -> bool,
) -> Vec<LinkedFile> {
    let mut linked = Vec::new();
    for (path, entry) in now {
        if entry.is_link
            && let Some(steps) = steps_behind_link(top, path)
            && let Some(file) = file_behind_steps(top, path, &steps, &is_changed)
        {
            linked.push(file);
        }
    }
    linked
}

/// The files to which links lead, with these links.
pub(super) fn targets(top: &Path, linked: &[LinkedFile]) -> BTreeMap<PathBuf, BTreeSet<PathBuf>> {
    let mut targets: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
    for link in linked {
        if let Some(target) = &link.target {
            let links = targets.entry(top.join(target)).or_default();
            links.insert(top.join(&link.path));
        }
    }
    targets
}

/// The links at changed paths through which something else is read than at the base: all but new
/// and removed links to files.
pub(super) fn altered_links(base: &Tree, changed: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let mut links = BTreeSet::new();
    for path in changed {
        let trees = [base, &Tree::Work];
        let is_link = trees.iter().any(|tree| tree.is_symlink(path));
        let leads_to_file = trees
            .iter()
            .all(|tree| tree.is_file(path) || !tree.has(path));
        let is_in_both = trees.iter().all(|tree| tree.has(path));
        if is_link && (is_in_both || !leads_to_file) {
            links.insert(path.clone());
        }
    }
    links
}

/// The files behind altered links to directories of the repository with this top, in either
/// revision, by their paths below the links. Links behind a link are not followed.
pub(super) fn files_below_links(
    base: &Tree,
    top: &Path,
    links: &BTreeSet<PathBuf>,
) -> BTreeSet<PathBuf> {
    let mut files = BTreeSet::new();
    for link in links {
        for tree in [base, &Tree::Work] {
            // Other directories may have any size, and no change alters them.
            let is_inside = tree
                .canonicalize(link)
                .is_ok_and(|target| target.starts_with(top));
            if is_inside && tree.is_dir(link) {
                let mut below = tree.files_below(link);
                below.retain(|path| path.iter().all(|part| part != ".git"));
                files.extend(below);
            }
        }
    }
    files
}

/// The paths to which a link leads, one after the other, the link itself first and relative to the
/// top. `None` if it leads out of the repository, where no change alters a file.
fn steps_behind_link(top: &Path, link: &OsString) -> Option<Vec<PathBuf>> {
    let mut steps = Vec::new();
    let mut step = Some(top.join(link));
    while let Some(path) = step
        && steps.len() < MOST_LINKS
    {
        steps.push(path.strip_prefix(top).ok()?.to_owned());
        step = target_of(&path);
    }
    Some(steps)
}

/// The file at the last of the steps of a link; `None` if the link leads to nothing.
fn file_behind_steps(
    top: &Path,
    link: &OsString,
    steps: &[PathBuf],
    is_changed: impl Fn(&Path) -> bool,
) -> Option<LinkedFile> {
    let (target, links_on_way) = steps.split_last()?;
    if links_on_way.is_empty() {
        return None;
    }
    // A link that changed leads elsewhere in the base, and so does one through a link to a
    // directory that changed.
    let mut leads_elsewhere = false;
    for step in links_on_way {
        let text = top.join(step).read_link().unwrap_or_default();
        let written = files::join(step.parent().unwrap_or(Path::new("")), text);
        leads_elsewhere |= is_changed(step) || written.parent().is_some_and(&is_changed);
    }
    let mut target_in_base = None;
    if !leads_elsewhere {
        target_in_base = Some(target.clone());
    }
    Some(LinkedFile {
        path: link.clone(),
        target: target_in_base,
        is_changed: leads_elsewhere || is_changed(target),
    })
}

/// The path to which a link leads, without symlinks above it; `None` if it is no link, or leads to
/// nothing.
fn target_of(path: &Path) -> Option<PathBuf> {
    let target = path.parent()?.join(path.read_link().ok()?);
    let directory = canonicalize(target.parent()?).ok()?;
    Some(directory.join(target.file_name()?))
}
