//! Bundles and repositories at paths like URLs, which git clones in place of remote repositories.

use std::path::Path;

use super::file_effect::{Effect, MAX_SIZE};
use crate::system::Tree;

/// Beginnings of files that git clones from: bundles, and files with the path of a repository.
const BEGINNINGS: [&[u8]; 3] = [b"# v2 git bundle", b"# v3 git bundle", b"gitdir:"];

/// The effect of a changed file, given its path in the repository and its path on disk. Without
/// this, the source of a call could stay as it is, while a different repository is cloned for it.
pub(super) fn effect(inside: &Path, path: &Path) -> Option<Effect> {
    if !is_like_url(inside) || !Tree::Work.exists(path) {
        return None;
    }

    // Files with a colon in their names are usual, and git clones from few of them.
    let is_of_repository = ["HEAD", "objects", "refs"]
        .iter()
        .any(|name| inside.iter().any(|part| part == *name));
    let is_bundle = path.extension().is_some_and(|end| end == "bundle");
    if is_of_repository || is_bundle || may_be_cloned(path) {
        let effect = "is at a path like a URL, where git finds it in place of a remote repository";
        return Some(Effect::needs_owner(effect));
    }
    None
}

/// Whether a path in the repository is like the URL of a repository.
pub(super) fn is_like_url(inside: &Path) -> bool {
    let mut parts = inside.iter();
    parts.any(|part| is_beginning_of_url(&part.to_string_lossy()))
}

/// Whether a part of a path is like the beginning of a URL: `git clone https://HOST/a.git` reads
/// the bundle `https:/HOST/a.git.bundle` in the current directory in place of it, and
/// `git clone git@HOST:a.git` the directory or the bundle of this name.
fn is_beginning_of_url(part: &str) -> bool {
    match part.split_once(':') {
        Some((scheme, "")) => !scheme.is_empty(),
        Some((host, _)) => host.contains(['.', '@']),
        None => false,
    }
}

/// Whether git clones from the file itself. A file that is too large to be read here may be a
/// bundle.
fn may_be_cloned(path: &Path) -> bool {
    match Tree::Work.read(path, MAX_SIZE) {
        Ok(bytes) => BEGINNINGS
            .iter()
            .any(|beginning| bytes.starts_with(beginning)),
        Err(_) => true,
    }
}
