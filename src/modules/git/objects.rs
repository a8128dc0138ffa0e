//! The objects of a repository, one after the other from one process (`git cat-file --batch`).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{self, BufRead, Read as _, Write};
use std::rc::Rc;

use super::error::{GitError, Result};

/// The largest object that is held in memory, in bytes: a tree of a directory with as many files as a package may have.
const LARGEST: u64 = 16 << 20;
/// How many entries of trees are kept. A tree that is in a package many times is read once.
const MOST_KEPT: usize = 100_000;

/// A conversation with `git cat-file --batch`.
pub(super) struct Objects<'a> {
    requests: &'a mut dyn Write,
    answers: &'a mut dyn BufRead,
    trees: HashMap<String, Rc<[TreeEntry]>>,
    kept: usize,
}

/// What is said of an object before its content.
pub(super) struct Object {
    pub(super) id: String,
    /// In bytes.
    pub(super) size: u64,
}

/// An entry of a tree.
pub(super) struct TreeEntry {
    pub(super) kind: Kind,
    pub(super) name: Vec<u8>,
    pub(super) id: String,
}

/// What an entry of a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Directory,
    File {
        is_executable: bool,
    },
    Link,
    /// A commit of another repository.
    Submodule,
}

impl<'a> Objects<'a> {
    pub(super) fn new(requests: &'a mut dyn Write, answers: &'a mut dyn BufRead) -> Self {
        Self { requests, answers, trees: HashMap::new(), kept: 0 }
    }

    /// Asks for an object. Its content must be taken before the next is asked for.
    pub(super) fn ask(&mut self, name: &str) -> Result<Object> {
        self.find(name)?.ok_or_else(|| GitError::new("an object of the repository is missing"))
    }

    /// [`Objects::ask`] for an object that need not be there.
    pub(super) fn find(&mut self, name: &str) -> Result<Option<Object>> {
        let mut line = String::new();
        let asked = writeln!(self.requests, "{name}").and_then(|()| self.requests.flush());
        asked
            .and_then(|()| (&mut *self.answers).take(1024).read_line(&mut line))
            .map_err(|_| GitError::unreadable())?;
        let mut words = line.trim_end().split(' ');
        match (words.next(), words.next(), words.next().map(str::parse)) {
            (Some(id), Some(_), Some(Ok(size))) => Ok(Some(Object { id: id.to_owned(), size })),
            (Some(_), Some("missing"), None) => Ok(None),
            _ => Err(GitError::unreadable()),
        }
    }

    /// Writes the content of the object that was asked for.
    pub(super) fn copy(&mut self, object: &Object, into: &mut dyn Write) -> Result<()> {
        let copied = io::copy(&mut (&mut *self.answers).take(object.size), into)?;
        let mut end = [0];
        let ended = self.answers.read_exact(&mut end);
        if copied == object.size && ended.is_ok() && end == *b"\n" { Ok(()) } else { Err(GitError::unreadable()) }
    }

    /// An object of at most `most` bytes.
    pub(super) fn whole(&mut self, name: &str, most: u64) -> Result<(Object, Vec<u8>)> {
        let object = self.ask(name)?;
        if object.size > most {
            return Err(GitError::new(format!("an object in it is larger than {most} bytes")));
        }
        let mut content = Vec::new();
        self.copy(&object, &mut content)?;
        Ok((object, content))
    }

    /// The entries of a tree, given by its id or a name that leads to it.
    pub(super) fn tree(&mut self, name: &str, id_length: usize) -> Result<Rc<[TreeEntry]>> {
        if let Some(entries) = self.trees.get(name) {
            return Ok(Rc::clone(entries));
        }
        let (_, content) = self.whole(name, LARGEST)?;
        let mut rest = content.as_slice();
        let mut entries = Vec::new();
        while !rest.is_empty() {
            let (entry, behind) = tree_entry(rest, id_length).ok_or_else(GitError::unreadable)?;
            entries.push(entry?);
            rest = behind;
        }
        let entries: Rc<[_]> = entries.into();
        if self.kept + entries.len() <= MOST_KEPT {
            self.kept += entries.len();
            self.trees.insert(name.to_owned(), Rc::clone(&entries));
        }
        Ok(entries)
    }
}

/// Reads `MODE NAME`, a zero byte and the bytes of an id.
fn tree_entry(bytes: &[u8], id_length: usize) -> Option<(Result<TreeEntry>, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == 0)?;
    let space = bytes[..end].iter().position(|byte| *byte == b' ')?;
    let mode = u32::from_str_radix(std::str::from_utf8(&bytes[..space]).ok()?, 8).ok()?;
    let (id, rest) = bytes[end + 1..].split_at_checked(id_length)?;
    let name = bytes[space + 1..end].to_owned();
    let id = id.iter().fold(String::with_capacity(2 * id_length), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    });
    let kind = match mode & 0o170_000 {
        0o040_000 => Kind::Directory,
        0o100_000 => Kind::File { is_executable: mode & 0o100 != 0 },
        0o120_000 => Kind::Link,
        0o160_000 => Kind::Submodule,
        _ => return None,
    };
    Some((check_name(&name, kind).map(|()| TreeEntry { kind, name, id }), rest))
}

/// Refuses the names that git does not check out (`verify_path` in its `read-cache.c`).
fn check_name(name: &[u8], kind: Kind) -> Result<()> {
    let is_special = matches!(name, b"" | b"." | b"..") || name.contains(&b'/');
    let is_linked_file = kind == Kind::Link && name.eq_ignore_ascii_case(b".gitmodules");
    if is_special || is_linked_file || is_git_directory(name) {
        let name = String::from_utf8_lossy(name);
        return Err(GitError::new(format!("git does not check out its entry {name:?}")));
    }
    Ok(())
}

/// Whether a name is `.git` on any file system, Windows' included (`is_ntfs_dotgit` in git's `path.c`).
fn is_git_directory(name: &[u8]) -> bool {
    for part in name.split(|byte| *byte == b'\\') {
        let file = part.split(|byte| *byte == b':').next().unwrap_or_default();
        let end = file.iter().rposition(|byte| !matches!(byte, b' ' | b'.')).map_or(0, |last| last + 1);
        if [&b".git"[..], b"git~1"].iter().any(|git| file[..end].eq_ignore_ascii_case(git)) {
            return true;
        }
        if file.len() < part.len() {
            return false;
        }
    }
    false
}
