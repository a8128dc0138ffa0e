//! Revisions over a work tree.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provlock::system::{Overlay, Replaced, Tree, canonicalize};

/// Parts of paths.
const NAMES: [&str; 4] = ["a", "b", "c", "A"];
/// Targets of links.
const TARGETS: [&str; 8] = [
    "a",
    "b/c",
    "../a",
    "../b",
    ".",
    "../../project/a",
    "..",
    "A/b",
];
/// Number of files in a revision, at most.
const MOST_FILES: usize = 20;
/// Limit for the size of a file in bytes, far above all of them.
const LIMIT: u64 = 1 << 20;

/// Files by their paths.
type Files = BTreeMap<PathBuf, Content>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Text(u8),
    Link(&'static str),
}

/// Reads three bytes for each file: the revisions that have it, its path, and its content. The base
/// over the files of the work tree is read like the base on disk, in whatever order its paths are
/// looked up.
pub fn overlay(data: &[u8]) -> bool {
    let mut work = Files::new();
    let mut base = Files::new();
    for file in data.chunks_exact(3).take(MOST_FILES) {
        let path = path_of(file[1]);
        let content = content_of(file[2]);
        if file[0] & 1 != 0 {
            add(&mut work, &path, &content);
        }
        if file[0] & 2 != 0 {
            add(&mut base, &path, &content);
        }
    }
    let directories = [(); 2].map(|()| tempfile::tempdir().expect("a temporary directory"));
    let [top, expected_top] = [&directories[0], &directories[1]].map(|directory| {
        let top = directory.path().join("project");
        fs::create_dir(&top).expect("a directory");
        // Git's own directory is in no revision.
        fs::write(top.join(".git"), "").expect("a file");
        canonicalize(top).expect("an existing directory")
    });
    write(&work, &top);
    write(&base, &expected_top);

    let tree = base_over(&work, &base, &top);
    let mut looked_up: Vec<PathBuf> = (0..=u8::MAX).map(path_of).collect();
    looked_up.extend(TARGETS.map(PathBuf::from));
    // Which paths come first must not matter.
    let first = data.first().map_or(0, |byte| usize::from(*byte));
    let start = first % looked_up.len();
    looked_up.rotate_left(start);
    for path in &looked_up {
        compare(&tree, &top.join(path), &expected_top.join(path));
    }
    work != base
}

/// A path of one to three parts. The last part of a longer one may be `..`.
fn path_of(byte: u8) -> PathBuf {
    let name = |position: u8| NAMES[usize::from(byte >> position & 3)];
    let mut path = PathBuf::from(name(0));
    if byte >> 6 > 0 {
        path.push(name(2));
    }
    if byte >> 6 > 1 {
        path.push(name(4));
    }
    if byte >> 6 > 2 {
        path.push("..");
    }
    path
}

fn content_of(byte: u8) -> Content {
    if byte < 160 || cfg!(not(unix)) {
        Content::Text(byte)
    } else {
        Content::Link(TARGETS[usize::from(byte % 8)])
    }
}

/// Adds a file unless it would be in a file, or in place of a directory.
fn add(files: &mut Files, path: &Path, content: &Content) {
    let is_in_file = path.ancestors().any(|above| files.contains_key(above));
    let is_directory = files.keys().any(|file| file.starts_with(path));
    if !is_in_file && !is_directory && !path.ends_with("..") {
        files.insert(path.to_owned(), content.clone());
    }
}

fn write(files: &Files, top: &Path) {
    for (path, content) in files {
        let path = top.join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        match content {
            Content::Text(text) => fs::write(path, [*text]).expect("a file"),
            #[cfg(unix)]
            Content::Link(target) => {
                std::os::unix::fs::symlink(target, path).expect("a link");
            }
            #[cfg(not(unix))]
            Content::Link(_) => unreachable!("there are links on Unix only"),
        }
    }
}

/// The tree of `base` over the files of `work`, which are in `top`.
fn base_over(work: &Files, base: &Files, top: &Path) -> Tree {
    let mut replaced = BTreeMap::new();
    let all: BTreeSet<&PathBuf> = work.keys().chain(base.keys()).collect();
    for path in all {
        let at_base = match base.get(path) {
            content if content == work.get(path) => continue,
            None => Replaced::Absent,
            Some(Content::Text(text)) => Replaced::File(text.to_string()),
            Some(Content::Link(target)) => Replaced::Link(target.into()),
        };
        replaced.insert(top.join(path), at_base);
    }
    let read = |name: &str, _limit| Ok(vec![name.parse().expect("a number")]);
    let overlay = Overlay::new(top.to_owned(), replaced, Box::new(read));
    Tree::Revision(Arc::new(overlay))
}

/// Compares a path of the revision with the same path on disk.
fn compare(tree: &Tree, path: &Path, expected: &Path) {
    let disk = Tree::Work;
    let shown = path.display();
    assert_eq!(tree.exists(path), disk.exists(expected), "{shown}");
    assert_eq!(tree.has(path), disk.has(expected), "{shown}");
    assert_eq!(tree.is_dir(path), disk.is_dir(expected), "{shown}");
    assert_eq!(tree.is_file(path), disk.is_file(expected), "{shown}");
    assert_eq!(tree.is_symlink(path), disk.is_symlink(expected), "{shown}");
    let text = tree.read(path, LIMIT).ok();
    assert_eq!(text, disk.read(expected, LIMIT).ok(), "{shown}");
    let target = tree.read_link(path).ok();
    assert_eq!(target, disk.read_link(expected).ok(), "{shown}");
    let canonical = below_project(tree.canonicalize(path));
    let expected = below_project(disk.canonicalize(expected));
    assert_eq!(canonical, expected, "{shown}");
}

/// The part of a path after the directory `project`; `None` if it does not exist or is outside.
fn below_project(path: io::Result<PathBuf>) -> Option<PathBuf> {
    let path = path.ok()?;
    let mut parts = path.components();
    parts.find(|part| part.as_os_str() == "project")?;
    Some(parts.as_path().to_owned())
}
