//! Follows symbolic links by their text, within a directory that they should not leave.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::Tree;

/// Maximum number of links in one path, as on Linux.
const MOST_LINKS: usize = 40;

/// Target of a path in a directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Followed {
    /// The path without links, `.` and `..`, relative to the directory unless a link is absolute.
    /// It need not exist.
    pub(crate) path: PathBuf,
    /// Whether a step of the path is outside of the directory, even if a later step is inside
    /// again.
    pub(crate) is_outside: bool,
    /// Whether a step of the path is `.git`, which is not part of a package.
    pub(crate) passes_git: bool,
}

/// Resolves the symbolic links on `path` in a tree. The path, and the result, are relative to
/// `top`. `None` if there are more than [`MOST_LINKS`] links.
///
/// # Errors
/// A link cannot be read.
pub(crate) fn follow(tree: &Tree, top: &Path, path: &Path) -> io::Result<Option<Followed>> {
    let mut found = PathBuf::new();
    let mut is_outside = false;
    let mut passes_git = false;
    let mut links = 0;
    let mut rest: VecDeque<OsString> = parts(path).collect();
    while let Some(part) = rest.pop_front() {
        match Path::new(&part).components().next() {
            None | Some(Component::CurDir) => continue,
            Some(Component::ParentDir) => {
                if matches!(found.components().next_back(), Some(Component::Normal(_))) {
                    found.pop();
                    continue;
                }
                is_outside = true;
                // The parent of the file system's root is the root.
                if !found.has_root() {
                    found.push("..");
                }
                continue;
            }
            Some(Component::Normal(name)) => {
                passes_git |= name == ".git";
                found.push(name);
            }
            Some(Component::RootDir | Component::Prefix(_)) => {
                is_outside = true;
                found.push(&part);
                continue;
            }
        }
        let here = top.join(&found);
        if !tree.is_symlink(&here) {
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Ok(None);
        }
        let target = tree.read_link(&here)?;
        found.pop();
        for part in parts(&target).rev() {
            rest.push_front(part);
        }
    }
    Ok(Some(Followed {
        path: found,
        is_outside,
        passes_git,
    }))
}

fn parts(path: &Path) -> impl DoubleEndedIterator<Item = OsString> {
    path.components().map(|part| part.as_os_str().to_owned())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn each_step_of_a_path_is_inside_or_outside() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path();
        fs::create_dir_all(top.join("real/deep")).unwrap();
        for (link, target) in [
            ("alias", "real"),
            ("real/up", ".."),
            ("real/deep/out", "../../.."),
            ("hosts", "/etc/hosts"),
            ("self", "self"),
            ("absent", "real/absent/../file"),
        ] {
            symlink(target, top.join(link)).unwrap();
        }
        for (path, expected, is_outside) in [
            ("real/./deep", "real/deep", false),
            ("alias/deep", "real/deep", false),
            ("alias/up/real", "real", false),
            ("absent", "real/file", false),
            ("../x", "../x", true),
            ("real/../../y/z", "../y/z", true),
            ("real/deep/out", "..", true),
            ("alias/up/../here", "../here", true),
            ("hosts", "/etc/hosts", true),
        ] {
            let followed = follow(&Tree::Work, top, Path::new(path)).unwrap();
            let passes_git = false;
            assert_eq!(
                followed,
                Some(Followed {
                    path: expected.into(),
                    is_outside,
                    passes_git
                }),
                "{path}"
            );
        }
        assert!(
            follow(&Tree::Work, top, Path::new("alias/.git/../x"))
                .unwrap()
                .unwrap()
                .passes_git
        );
        assert_eq!(follow(&Tree::Work, top, Path::new("self")).unwrap(), None);
    }
}
