//! The files of a commit: names from `git ls-tree`, content from `git cat-file`.
//!
//! Content is the blobs of the commit, whatever `.gitattributes` contain. `git archive` would load the whole tree into
//! memory, so that a few kilobytes of objects that stand for millions of files would take a gigabyte.

use std::collections::HashSet;
use std::io::{self, BufRead, Read as _, Write};
use std::path::Path;

use super::address::GitAddress;
use super::repository::Repository;
use super::submodules::{FILE_NAME, MOST_SUBMODULES, Submodule, below};
use crate::modules::fetch_error::{FetchError, Fetched};
use crate::modules::limits::{MOST_BYTES, MOST_ENTRIES};
use crate::modules::package_writer::PackageWriter;
use crate::system::process;

/// Longest list of files in bytes. A package with as many entries and as long names as it may have needs less.
const LONGEST_LIST: u64 = 24 << 20;
/// Longest target of a link in bytes, as on Linux.
const LONGEST_TARGET: u64 = 4095;
/// Largest `.gitmodules` in bytes.
const LARGEST_MAPPING: u64 = 1 << 20;

/// A package that was written from git.
pub(in crate::modules) struct GitPackage {
    /// Id of the commit; `None` for an empty repository.
    pub(in crate::modules) commit: Option<String>,
    /// Why the package cannot be locked, if a file of the commit was omitted.
    pub(in crate::modules) omitted: Option<FetchError>,
}

/// Writes the commit of an address and its submodules into a package. `open` returns a repository with the commit of an
/// address, and a name for the commit; `None` if the repository is empty.
pub(super) fn write_package<'g>(
    address: &GitAddress,
    package: &Path,
    open: impl Fn(&str, &GitAddress) -> Fetched<(Repository<'g>, Option<String>)>,
) -> Fetched<GitPackage> {
    let (mut writer, mut bytes_left) = (PackageWriter::new(package), MOST_BYTES);
    let mut wanted = vec![(address.clone(), String::new())];
    let (mut repositories, mut commit) = (0, None);
    while let Some((address, path)) = wanted.pop() {
        let written = open(&repositories.to_string(), &address).and_then(|(repository, revision)| {
            let write = |revision| repository.write(revision, &path, &mut writer, &mut bytes_left);
            revision.as_deref().map(write).transpose()
        });
        let written = written.map_err(|error| error.in_submodule(&path, &address.url))?;
        let (written_commit, submodules) = written.unzip();
        if repositories == 0 {
            commit = written_commit;
        }
        repositories += 1;
        let submodules = submodules.unwrap_or_default();
        if repositories + wanted.len() + submodules.len() > MOST_SUBMODULES {
            return Err(FetchError::git(format!("it has more than {MOST_SUBMODULES} submodules")));
        }
        for Submodule { path, url, commit } in submodules {
            let address = address.submodule(&url, &commit).ok_or_else(|| {
                FetchError::git(format!("provlock does not pass the URL of its submodule {path:?} to git"))
            })?;
            wanted.push((address, path));
        }
    }
    Ok(GitPackage { commit, omitted: writer.finish()? })
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

impl Repository<'_> {
    /// Writes the commit of a revision into the directory `prefix` of a package, which may have `bytes_left` more.
    /// Returns the id of the commit, and its submodules.
    pub(super) fn write(
        &self,
        revision: &str,
        prefix: &str,
        writer: &mut PackageWriter,
        bytes_left: &mut u64,
    ) -> Fetched<(String, Vec<Submodule>)> {
        let written = process::run_interactively(
            self.command(&["cat-file", "--batch"]),
            self.time_left(),
            |requests, answers| {
                let mut objects = Objects { requests, answers };
                let commit = objects.commit(revision)?;
                let list_tree = self.command(&["ls-tree", "-r", "-t", "-z", "--long", "--full-tree", &commit]);
                let too_long = format!("the list of its files is longer than {} MiB", LONGEST_LIST >> 20);
                let list = self.read(list_tree, None, LONGEST_LIST, &too_long)?;
                let entries = parse(&list)?;
                let size = entries.iter().map(|entry| entry.size).sum();
                *bytes_left = bytes_left.checked_sub(size).ok_or_else(FetchError::too_large)?;
                let submodules = objects.write(&entries, prefix, writer)?;
                let is_mapping = |entry: &&TreeEntry<'_>| entry.path == FILE_NAME.as_bytes();
                let mapping = entries.iter().find(is_mapping).filter(|entry| entry.size <= LARGEST_MAPPING);
                let mapping = mapping.filter(|_| !submodules.is_empty()).map(|entry| entry.id);
                Ok((commit, self.submodules(mapping, prefix, submodules)?))
            },
        );
        written.map_err(|why| self.ended(&why))?
    }
}

/// Parses lines such as `100644 blob ID   SIZE<tab>PATH`, each with a zero byte at its end.
fn parse(list: &[u8]) -> Fetched<Vec<TreeEntry<'_>>> {
    let (mut entries, mut directories) = (Vec::new(), HashSet::new());
    for line in list.split(|byte| *byte == 0).filter(|line| !line.is_empty()) {
        let entry = parse_entry(line).ok_or_else(FetchError::unreadable_git_output)?;
        if entries.len() == MOST_ENTRIES {
            return Err(FetchError::too_many_entries());
        }
        // A directory is listed before its entries, unless a name contains a slash.
        let parent = entry.path.iter().rposition(|byte| *byte == b'/').map(|end| &entry.path[..end]);
        let is_in_directory = parent.is_none_or(|parent| directories.contains(parent));
        let name = entry.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let is_linked_mapping = entry.kind == Kind::Link && name.eq_ignore_ascii_case(b".gitmodules");
        if !is_in_directory || matches!(name, b"" | b"." | b"..") || is_git_directory(name) || is_linked_mapping {
            let name = String::from_utf8_lossy(entry.path);
            return Err(FetchError::git(format!("git does not check out its entry {name:?}")));
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
    /// Writes the entries of a tree into a package. Returns the paths and commits of submodules.
    fn write(
        &mut self,
        entries: &[TreeEntry<'_>],
        prefix: &str,
        writer: &mut PackageWriter,
    ) -> Fetched<Vec<(String, String)>> {
        let mut submodules = Vec::new();
        for entry in entries {
            let Ok(name) = std::str::from_utf8(entry.path) else {
                let name = String::from_utf8_lossy(entry.path);
                let why = FetchError::bad_name(&name);
                if entry.kind == Kind::Directory {
                    return Err(why);
                }
                writer.omit(&name, why)?;
                continue;
            };
            let path = below(prefix, name);
            match entry.kind {
                Kind::Directory => writer.directory(&path)?,
                Kind::File { is_executable } => {
                    if let Some(mut file) = writer.open(&path, is_executable)? {
                        self.copy(entry, &mut file)?;
                    }
                }
                Kind::Link => {
                    if entry.size > LONGEST_TARGET {
                        let why = format!("the target of its link {path:?} is longer than {LONGEST_TARGET} bytes");
                        return Err(FetchError::package(why));
                    }
                    let mut target = Vec::new();
                    self.copy(entry, &mut target)?;
                    let target = String::from_utf8(target).map_err(|_| FetchError::bad_name(&path))?;
                    writer.link(&path, &target)?;
                }
                Kind::Submodule => {
                    writer.directory(&path)?;
                    submodules.push((name.to_owned(), entry.id.to_owned()));
                }
            }
        }
        Ok(submodules)
    }

    /// Returns the id of the commit of a revision.
    fn commit(&mut self, revision: &str) -> Fetched<String> {
        let found = self.ask(&format!("{revision}^{{commit}}"))?;
        let (id, size) = found.ok_or_else(|| FetchError::git(format!("it has no commit {revision:?}")))?;
        self.content(size, &mut io::sink())?;
        Ok(id)
    }

    /// Writes the content of a blob.
    fn copy(&mut self, entry: &TreeEntry<'_>, into: &mut dyn Write) -> Fetched<()> {
        match self.ask(entry.id)? {
            Some((_, size)) if size == entry.size => self.content(size, into),
            Some(_) => Err(FetchError::unreadable_git_output()),
            None => Err(FetchError::git("an object of the repository is missing")),
        }
    }

    /// Asks for an object, and returns its id and size; `None` if it is missing.
    fn ask(&mut self, name: &str) -> Fetched<Option<(String, u64)>> {
        let mut line = String::new();
        let asked = writeln!(self.requests, "{name}").and_then(|()| self.requests.flush());
        asked
            .and_then(|()| (&mut *self.answers).take(1024).read_line(&mut line))
            .map_err(|_| FetchError::unreadable_git_output())?;
        let mut words = line.trim_end().split(' ');
        match (words.next(), words.next(), words.next().map(str::parse)) {
            (Some(id), Some(_), Some(Ok(size))) => Ok(Some((id.to_owned(), size))),
            (Some(_), Some("missing"), None) => Ok(None),
            _ => Err(FetchError::unreadable_git_output()),
        }
    }

    /// Writes the content of the object that was asked for.
    fn content(&mut self, size: u64, into: &mut dyn Write) -> Fetched<()> {
        let copied = io::copy(&mut (&mut *self.answers).take(size), into)?;
        let mut end = [0];
        let ended = self.answers.read_exact(&mut end);
        if copied == size && ended.is_ok() && end == *b"\n" { Ok(()) } else { Err(FetchError::unreadable_git_output()) }
    }
}
