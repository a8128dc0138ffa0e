//! The files of a commit: names from `git ls-tree`, content from `git cat-file`.
//!
//! Content is the blobs of the commit, whatever `.gitattributes` contain. `git archive` would load the whole tree into
//! memory, so that a few kilobytes of objects that stand for millions of files would take a gigabyte.

use std::collections::HashSet;
use std::io::{self, BufRead, Read as _, Write};

use super::error::{GitError, Result};
use super::scratch::Scratch;
use super::submodules::{FILE_NAME, Submodule};
use crate::modules::package_writer::PackageWriter;
use crate::modules::problem::{MOST_ENTRIES, Problem};
use crate::system::process::{self, Failure};

/// The longest list of files in bytes. A package with as many entries and as long names as it may have needs less.
const LONGEST_LIST: u64 = 24 << 20;
/// The longest target of a link in bytes, as on Linux.
const LONGEST_TARGET: u64 = 4095;
/// The largest `.gitmodules` in bytes.
const LARGEST_MAPPING: u64 = 1 << 20;

/// A commit that was written into a package.
pub(super) struct Written {
    pub(super) commit: String,
    pub(super) submodules: Vec<Submodule>,
}

/// An entry of a tree or of a directory in it.
struct TreeEntry<'a> {
    kind: Kind,
    id: &'a str,
    /// Size of a blob in bytes.
    size: u64,
    path: &'a [u8],
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Directory,
    File { is_executable: bool },
    Link,
    Submodule,
}

impl Scratch<'_> {
    /// Writes the commit of a revision into the directory `prefix` of a package, which may have `left` more bytes.
    pub(super) fn write(
        &self,
        revision: &str,
        prefix: &str,
        writer: &mut PackageWriter,
        left: &mut u64,
    ) -> Result<Written> {
        let mut command = self.command("cat-file");
        command.arg("--batch");
        let written = process::talk(command, self.time_left(), |requests, answers| {
            let mut objects = Objects { requests, answers };
            let commit = objects.commit(revision)?;
            let list = self.list(&commit)?;
            let entries = parse(&list)?;
            *left = left.checked_sub(entries.iter().map(|entry| entry.size).sum()).ok_or(Problem::TooLarge)?;
            let mut submodules = Vec::new();
            for entry in &entries {
                let Some(path) = text(entry, writer)? else { continue };
                let path = if prefix.is_empty() { path.to_owned() } else { format!("{prefix}/{path}") };
                match entry.kind {
                    Kind::Directory => writer.directory(&path)?,
                    Kind::File { is_executable } => {
                        if let Some(mut file) = writer.open(&path, is_executable)? {
                            objects.copy(entry, &mut file)?;
                        }
                    }
                    Kind::Link => {
                        let mut target = Vec::new();
                        if entry.size > LONGEST_TARGET {
                            let why = format!("the target of its link {path:?} is longer than {LONGEST_TARGET} bytes");
                            return Err(GitError::new(why));
                        }
                        objects.copy(entry, &mut target)?;
                        let target = String::from_utf8(target).map_err(|_| Problem::Name(path.clone()))?;
                        writer.link(&path, &target)?;
                    }
                    Kind::Submodule => {
                        writer.directory(&path)?;
                        submodules.push(Submodule { path, url: String::new(), commit: entry.id.to_owned() });
                    }
                }
            }
            if !submodules.is_empty() {
                let is_mapping = |entry: &&TreeEntry<'_>| entry.path == FILE_NAME.as_bytes();
                let mapping = entries.iter().find(is_mapping).filter(|entry| entry.size <= LARGEST_MAPPING);
                submodules = self.mapped(mapping.map(|entry| entry.id), prefix, submodules)?;
            }
            Ok(Written { commit, submodules })
        });
        written.map_err(|why| self.ended(&why))?
    }

    /// Lists all entries of a commit, each directory before what it contains.
    fn list(&self, commit: &str) -> Result<Vec<u8>> {
        let mut command = self.command("ls-tree");
        command.args(["-r", "-t", "-z", "--long", "--full-tree", commit]);
        match self.within(LONGEST_LIST, |limits| process::run_within(command, None, limits)) {
            Ok(finished) if finished.status.success() => Ok(finished.stdout),
            Ok(finished) => Err(self.failure(&finished)),
            Err(Failure::TooMuchOutput) => {
                Err(GitError::new(format!("the list of its files is longer than {} MiB", LONGEST_LIST >> 20)))
            }
            Err(why) => Err(self.ended(&why)),
        }
    }
}

/// Parses lines such as `100644 blob ID   SIZE<tab>PATH`, each with a zero byte at its end.
fn parse(list: &[u8]) -> Result<Vec<TreeEntry<'_>>> {
    let (mut entries, mut directories) = (Vec::new(), HashSet::new());
    for line in list.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        let entry = parse_entry(line).ok_or_else(GitError::unreadable)?;
        if entries.len() == MOST_ENTRIES {
            return Err(Problem::TooMany.into());
        }
        // A directory is listed before its entries, unless a name contains a slash.
        let parent = entry.path.iter().rposition(|byte| *byte == b'/').map(|end| &entry.path[..end]);
        let is_in_directory = parent.is_none_or(|parent| directories.contains(parent));
        let name = entry.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let is_linked_mapping = entry.kind == Kind::Link && name.eq_ignore_ascii_case(b".gitmodules");
        if !is_in_directory || matches!(name, b"" | b"." | b"..") || is_git_directory(name) || is_linked_mapping {
            let name = String::from_utf8_lossy(entry.path);
            return Err(GitError::new(format!("git does not check out its entry {name:?}")));
        }
        if entry.kind == Kind::Directory {
            directories.insert(entry.path);
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn parse_entry(line: &[u8]) -> Option<TreeEntry<'_>> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let mut words = std::str::from_utf8(&line[..tab]).ok()?.split_ascii_whitespace();
    let (mode, _, id, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let mode = u32::from_str_radix(mode, 8).ok()?;
    let kind = match mode & 0o170_000 {
        0o040_000 => Kind::Directory,
        0o100_000 => Kind::File { is_executable: mode & 0o100 != 0 },
        0o120_000 => Kind::Link,
        0o160_000 => Kind::Submodule,
        _ => return None,
    };
    let is_blob = matches!(kind, Kind::File { .. } | Kind::Link);
    let size = if is_blob { size.parse().ok()? } else { 0 };
    Some(TreeEntry { kind, id, size, path: &line[tab + 1..] })
}

/// The path of an entry as text; `None` if the entry is omitted because its path is not text.
///
/// # Errors
/// The entry is a directory or configuration.
fn text<'a>(entry: &TreeEntry<'a>, writer: &mut PackageWriter) -> Result<Option<&'a str>> {
    let Ok(path) = std::str::from_utf8(entry.path) else {
        let shown = String::from_utf8_lossy(entry.path).into_owned();
        let problem = Problem::Name(shown.clone());
        if entry.kind == Kind::Directory {
            return Err(problem.into());
        }
        writer.omit(&shown, problem)?;
        return Ok(None);
    };
    Ok(Some(path))
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

/// A conversation with `git cat-file --batch`.
struct Objects<'a> {
    requests: &'a mut dyn Write,
    answers: &'a mut dyn BufRead,
}

impl Objects<'_> {
    /// Returns the id of the commit of a revision.
    fn commit(&mut self, revision: &str) -> Result<String> {
        let found = self.ask(&format!("{revision}^{{commit}}"))?;
        let (id, size) = found.ok_or_else(|| GitError::new(format!("it has no commit {revision:?}")))?;
        self.content(size, &mut io::sink())?;
        Ok(id)
    }

    /// Writes the content of a blob.
    fn copy(&mut self, entry: &TreeEntry<'_>, into: &mut dyn Write) -> Result<()> {
        match self.ask(entry.id)? {
            Some((_, size)) if size == entry.size => self.content(size, into),
            Some(_) => Err(GitError::unreadable()),
            None => Err(GitError::new("an object of the repository is missing")),
        }
    }

    /// Asks for an object, and returns its id and size; `None` if it is missing.
    fn ask(&mut self, name: &str) -> Result<Option<(String, u64)>> {
        let mut line = String::new();
        let asked = writeln!(self.requests, "{name}").and_then(|()| self.requests.flush());
        asked
            .and_then(|()| (&mut *self.answers).take(1024).read_line(&mut line))
            .map_err(|_| GitError::unreadable())?;
        let mut words = line.trim_end().split(' ');
        match (words.next(), words.next(), words.next().map(str::parse)) {
            (Some(id), Some(_), Some(Ok(size))) => Ok(Some((id.to_owned(), size))),
            (Some(_), Some("missing"), None) => Ok(None),
            _ => Err(GitError::unreadable()),
        }
    }

    /// Writes the content of the object that was asked for.
    fn content(&mut self, size: u64, into: &mut dyn Write) -> Result<()> {
        let copied = io::copy(&mut (&mut *self.answers).take(size), into)?;
        let mut end = [0];
        let ended = self.answers.read_exact(&mut end);
        if copied == size && ended.is_ok() && end == *b"\n" { Ok(()) } else { Err(GitError::unreadable()) }
    }
}
