//! Files in the tree of a commit.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use provlock::system::repository;

use super::command::{Paths, blob, native_path, run, successful, unreadable};

/// Mode of a symbolic link, with which the words about it begin.
const LINK: &str = "120000 ";

/// The object names of a tree's blobs, by path.
pub(crate) type Blobs = BTreeMap<PathBuf, String>;

/// The files with wanted names in an object from [`resolve`](super::resolve), at these paths, or
/// anywhere if there are none; for a symbolic link, the file behind it in the object. The object is
/// the state of `directory` if `is_directory` is set, otherwise that of the repository around it.
pub(crate) fn files_in(
    directory: &Path,
    object: &str,
    is_directory: bool,
    paths: &[&Path],
    is_wanted: impl Fn(&OsStr) -> bool,
) -> Result<Blobs> {
    let mut options: Vec<&OsStr> = is_directory
        .then_some(OsStr::new("--full-tree"))
        .into_iter()
        .collect();
    options.extend([OsStr::new("--end-of-options"), OsStr::new(object)]);
    options.extend(paths.iter().map(|path| path.as_os_str()));
    let is_meant = |path: &Path| path.file_name().is_some_and(&is_wanted);
    let entries: Vec<_> = tree(directory, &options)?
        .into_iter()
        .filter(|(_, path)| is_meant(path))
        .collect();
    let links = entries
        .iter()
        .filter(|(words, _)| words.starts_with(LINK))
        .map(|(_, path)| path.clone())
        .collect();
    let mut blobs: Blobs = entries
        .into_iter()
        .filter_map(|(words, path)| Some((path, blob(&words, 2)?)))
        .collect();
    follow_links(directory, object, is_directory, &mut blobs, links)?;
    Ok(blobs)
}

/// Replaces symbolic links among the files of an object, as for [`files_in`], by the files behind
/// them in the object. A link that leads out of the object remains, and a link to nothing is
/// removed.
pub(crate) fn follow_links(
    directory: &Path,
    object: &str,
    is_directory: bool,
    blobs: &mut Blobs,
    links: BTreeSet<PathBuf>,
) -> Result<()> {
    let bytes = |link: &Path| link.as_os_str().as_encoded_bytes().to_vec();
    let is_one_line = |link: &PathBuf| blobs.contains_key(link) && !bytes(link).contains(&b'\n');
    let links: Vec<_> = links.into_iter().filter(is_one_line).collect();
    if links.is_empty() {
        return Ok(());
    }
    let start = if is_directory || repository::is_bare(directory) {
        ""
    } else {
        "./"
    };
    let line =
        |link: &PathBuf| [format!("{object}:{start}").as_bytes(), &bytes(link), b"\n"].concat();
    let input: Vec<u8> = links.iter().flat_map(line).collect();
    let arguments = ["cat-file", "--batch-check", "--follow-symlinks"];
    let printed = run(directory, Paths::Literal, arguments, &input)?.successful()?;
    let mut rest = printed.as_slice();
    for link in links {
        let end = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .ok_or_else(|| unreadable(directory, rest))?;
        let answer = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = &rest[end + 1..];
        let words: Vec<_> = answer.split(' ').collect();
        // A path of so many bytes follows.
        if let ["symlink" | "dangling" | "loop" | "notdir", size] = words[..] {
            let size = size.parse::<usize>().ok().filter(|size| *size < rest.len());
            rest = &rest[size.ok_or_else(|| unreadable(directory, rest))? + 1..];
        }
        match words[..] {
            ["symlink", _] => {}
            [blob, "blob", _] => _ = blobs.insert(link, blob.to_owned()),
            // The link is in the object, so a file or a directory on its way is not in the
            // repository.
            [.., "missing"] => return Err(unreadable(directory, answer.as_bytes()).into()),
            _ => _ = blobs.remove(&link),
        }
    }
    Ok(())
}

/// The entries of a tree: mode, type and object name, separated by spaces, and the path.
fn tree(directory: &Path, options: &[&OsStr]) -> Result<Vec<(String, PathBuf)>> {
    let arguments = ["ls-tree", "-r", "-z"]
        .map(OsStr::new)
        .into_iter()
        .chain(options.iter().copied());
    let listed = successful(directory, arguments)?;
    let entry = |entry: &[u8]| {
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        Some((
            String::from_utf8_lossy(&entry[..tab]).into_owned(),
            native_path(&entry[tab + 1..]),
        ))
    };
    Ok(listed.split(|byte| *byte == 0).filter_map(entry).collect())
}
