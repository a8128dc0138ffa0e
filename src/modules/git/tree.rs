//! The files of a commit: its trees and blobs from one `git cat-file`.
//!
//! Content is the blobs of the commit, whatever `.gitattributes` contain. `git archive` would load
//! the whole tree into memory, so that a few kilobytes of objects that stand for millions of files
//! would take a gigabyte.

use std::io::{self, BufRead, Read as _, Write};
use std::path::Path;

use super::address::GitAddress;
use super::repository::Repository;
use super::submodules::{FILE_NAME, MOST_SUBMODULES, Submodule, below};
use crate::modules::fetch_error::{FetchError, FetchResult};
use crate::modules::limits::{MOST_BYTES, MOST_ENTRIES};
use crate::modules::package_writer::PackageWriter;
use crate::system::process;

/// Longest list of files in bytes. A package with as many entries and as long names as it may have
/// needs less.
const LONGEST_LIST: u64 = 24 << 20;
/// Size of an entry of the list in bytes without its path.
const ENTRY_SIZE: usize = 64;
/// Length of an id in bytes.
const ID_LENGTH: usize = 20;
/// Longest target of a link in bytes, as on Linux.
const LONGEST_TARGET: u64 = 4095;
/// Largest `.gitmodules` in bytes.
const LARGEST_MAPPING: u64 = 1 << 20;

/// A package that was written from git.
pub(in crate::modules) struct GitPackage {
    /// Id of the commit; `None` for an empty repository.
    pub(in crate::modules) commit: Option<String>,
    /// Reason why the package cannot be locked, if a file of the commit was omitted.
    pub(in crate::modules) why_not_lockable: Option<FetchError>,
}

/// Writes the commit of an address and its submodules into a package.
///
/// `open` returns a repository with the commit of an address, and a name for the commit; `None` if
/// the repository is empty. Its first argument is a name for the directory of the repository: its
/// number in this package.
pub(super) fn write_package<'g>(
    address: &GitAddress,
    package: &Path,
    open: impl Fn(&str, &GitAddress) -> FetchResult<(Repository<'g>, Option<String>)>,
) -> FetchResult<GitPackage> {
    let mut writer = PackageWriter::new(package);
    let mut bytes_left = MOST_BYTES;
    let mut top_commit = None;
    // Repositories to write, each with its directory in the package.
    let mut unwritten = vec![(address.clone(), String::new())];
    for number in 0.. {
        let Some((current, path)) = unwritten.pop() else {
            break;
        };
        let (repository, revision) = open(&number.to_string(), &current)
            .map_err(|error| error.in_submodule(&path, &current.url))?;
        // An empty repository has neither files nor submodules.
        let Some(revision) = revision else {
            continue;
        };
        let (commit, submodules) = repository
            .write_commit(&revision, &path, &mut writer, &mut bytes_left)
            .map_err(|error| error.in_submodule(&path, &current.url))?;
        if number == 0 {
            top_commit = Some(commit);
        }

        // The package itself is number 0, so `number` submodules were opened.
        if number + unwritten.len() + submodules.len() > MOST_SUBMODULES {
            let message = format!("it has more than {MOST_SUBMODULES} submodules");
            return Err(FetchError::git(message));
        }
        for submodule in submodules {
            let Some(submodule_address) =
                current.address_of_submodule(&submodule.url, &submodule.commit)
            else {
                return Err(FetchError::git(format!(
                    "provlock does not pass the URL of its submodule {:?} to git",
                    submodule.path
                )));
            };
            unwritten.push((submodule_address, submodule.path));
        }
    }
    Ok(GitPackage {
        commit: top_commit,
        why_not_lockable: writer.finish()?,
    })
}

/// An entry of a tree.
struct TreeEntry {
    kind: Kind,
    /// Id in hexadecimal digits.
    id: String,
    /// Path in the repository.
    path: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Directory,
    File { is_executable: bool },
    Link,
    Submodule,
}

impl Repository<'_> {
    /// Writes the commit of a revision into the directory `prefix` of a package, which may have
    /// `bytes_left` more. Returns the id of the commit, and its submodules.
    pub(super) fn write_commit(
        &self,
        revision: &str,
        prefix: &str,
        writer: &mut PackageWriter,
        bytes_left: &mut u64,
    ) -> FetchResult<(String, Vec<Submodule>)> {
        let written = process::run_interactively(
            self.command(&["cat-file", "--batch"]),
            self.time_left(),
            |requests, answers| {
                let mut objects = Objects { requests, answers };
                let commit = objects.commit_id(revision)?;
                let entries = objects.list_entries(&commit)?;
                let WrittenTree {
                    mapping,
                    submodules,
                } = objects.write_entries(&entries, prefix, writer, bytes_left)?;
                Ok((
                    commit,
                    self.submodules_to_fetch(mapping.as_deref(), prefix, submodules)?,
                ))
            },
        );
        written.map_err(|why| self.ended(&why))?
    }
}

/// Parses the start of a tree of the directory `parent`, which ends with a slash: `100644 NAME`, a
/// zero byte and the bytes of an id. Returns the rest of the tree.
fn parse_entry<'t>(tree: &'t [u8], parent: &[u8]) -> Option<(TreeEntry, &'t [u8])> {
    let end = tree.iter().position(|byte| *byte == 0)?;
    let space = tree[..end].iter().position(|byte| *byte == b' ')?;
    let (id, rest) = tree[end + 1..].split_at_checked(ID_LENGTH)?;
    let id = id
        .iter()
        .fold(String::new(), |id, byte| id + &format!("{byte:02x}"));
    let mode = u32::from_str_radix(std::str::from_utf8(&tree[..space]).ok()?, 8).ok()?;
    let kind = match mode & 0o170_000 {
        0o040_000 => Kind::Directory,
        0o100_000 => Kind::File {
            is_executable: mode & 0o100 != 0,
        },
        0o120_000 => Kind::Link,
        0o160_000 => Kind::Submodule,
        _ => return None,
    };
    Some((
        TreeEntry {
            kind,
            id,
            path: [parent, &tree[space + 1..end]].concat(),
        },
        rest,
    ))
}

/// Whether git does not check out an entry (`verify_path` in its `read-cache.c`).
fn is_refused(kind: Kind, name: &[u8]) -> bool {
    let is_linked_mapping = kind == Kind::Link && name.eq_ignore_ascii_case(FILE_NAME.as_bytes());
    matches!(name, b"" | b"." | b"..")
        || name.contains(&b'/')
        || is_git_directory(name)
        || is_linked_mapping
}

/// Whether a name is `.git` on any file system, Windows' included (`is_ntfs_dotgit` in git's
/// `path.c`).
fn is_git_directory(name: &[u8]) -> bool {
    for part in name.split(|byte| *byte == b'\\') {
        let file = part.split(|byte| *byte == b':').next().unwrap_or_default();
        let end = file
            .iter()
            .rposition(|byte| !matches!(byte, b' ' | b'.'))
            .map_or(0, |last| last + 1);
        if [&b".git"[..], b"git~1"]
            .iter()
            .any(|git| file[..end].eq_ignore_ascii_case(git))
        {
            return true;
        }
        if file.len() < part.len() {
            return false;
        }
    }
    false
}

/// References to submodules in a commit.
struct WrittenTree {
    /// Id of `.gitmodules`.
    mapping: Option<String>,
    /// Paths and commits of submodules.
    submodules: Vec<(String, String)>,
}

/// A conversation with `git cat-file --batch`.
struct Objects<'a> {
    requests: &'a mut dyn Write,
    answers: &'a mut dyn BufRead,
}

impl Objects<'_> {
    /// Lists the entries of a commit, each after the directory that contains it.
    fn list_entries(&mut self, commit: &str) -> FetchResult<Vec<TreeEntry>> {
        let mut entries = Vec::new();
        let mut bytes_left = LONGEST_LIST;
        self.list_tree(
            &format!("{commit}^{{tree}}"),
            b"",
            &mut entries,
            &mut bytes_left,
        )?;
        let mut listed = 0;
        while let Some(TreeEntry { kind, id, path }) = entries.get(listed) {
            if *kind == Kind::Directory {
                let id = id.clone();
                let parent = [path, &b"/"[..]].concat();
                self.list_tree(&id, &parent, &mut entries, &mut bytes_left)?;
            }
            listed += 1;
        }
        Ok(entries)
    }

    /// Adds the entries of one tree, which is the directory `parent`, to a list that may take
    /// `bytes_left` more.
    fn list_tree(
        &mut self,
        tree: &str,
        parent: &[u8],
        entries: &mut Vec<TreeEntry>,
        bytes_left: &mut u64,
    ) -> FetchResult<()> {
        let mut content = Vec::new();
        self.copy_object(tree, "tree", *bytes_left, &mut content)?
            .ok_or_else(too_long)?;
        let mut rest = content.as_slice();
        while !rest.is_empty() {
            let entry;
            (entry, rest) =
                parse_entry(rest, parent).ok_or_else(FetchError::unreadable_git_output)?;
            if is_refused(entry.kind, &entry.path[parent.len()..]) {
                let name = String::from_utf8_lossy(&entry.path);
                return Err(FetchError::git(format!(
                    "git does not check out its entry {name:?}"
                )));
            }
            if entries.len() == MOST_ENTRIES {
                return Err(FetchError::too_many_entries());
            }
            let size = (entry.path.len() + ENTRY_SIZE) as u64;
            *bytes_left = bytes_left.checked_sub(size).ok_or_else(too_long)?;
            entries.push(entry);
        }
        Ok(())
    }

    /// Writes the entries of a commit into the directory `prefix` of a package, which may have
    /// `bytes_left` more. Returns its submodules, and the id of `.gitmodules`.
    fn write_entries(
        &mut self,
        entries: &[TreeEntry],
        prefix: &str,
        writer: &mut PackageWriter,
        bytes_left: &mut u64,
    ) -> FetchResult<WrittenTree> {
        let mut mapping = None;
        let mut submodules = Vec::new();
        for entry in entries {
            let Ok(name) = std::str::from_utf8(&entry.path) else {
                let name = String::from_utf8_lossy(&entry.path);
                let why = FetchError::bad_name(&name);
                if entry.kind == Kind::Directory {
                    return Err(why);
                }
                writer.omit_unless_configuration(&name, why)?;
                continue;
            };
            let path = below(prefix, name);
            match entry.kind {
                Kind::Directory => writer.add_directory(&path)?,
                Kind::File { is_executable } => {
                    if let Some(mut file) = writer.create_file(&path, is_executable)? {
                        let size = self.copy_object(&entry.id, "blob", *bytes_left, &mut file)?;
                        let size = size.ok_or_else(FetchError::too_large)?;
                        *bytes_left -= size;
                        if name == FILE_NAME && size <= LARGEST_MAPPING {
                            mapping = Some(entry.id.clone());
                        }
                    }
                }
                Kind::Link => {
                    let mut target = Vec::new();
                    self.copy_object(&entry.id, "blob", LONGEST_TARGET, &mut target)?.ok_or_else(|| {
                        let why = format!("the target of its link {path:?} is longer than {LONGEST_TARGET} bytes");
                        FetchError::package(why)
                    })?;
                    let target =
                        String::from_utf8(target).map_err(|_| FetchError::bad_name(&path))?;
                    writer.add_link(&path, &target)?;
                }
                Kind::Submodule => {
                    writer.add_directory(&path)?;
                    submodules.push((name.to_owned(), entry.id.clone()));
                }
            }
        }
        Ok(WrittenTree {
            mapping,
            submodules,
        })
    }

    /// Returns the id of the commit of a revision.
    fn commit_id(&mut self, revision: &str) -> FetchResult<String> {
        let Some((id, size)) = self.request_object(&format!("{revision}^{{commit}}"), "commit")?
        else {
            return Err(FetchError::git(format!("it has no commit {revision:?}")));
        };
        self.copy_content(size, &mut io::sink())?;
        Ok(id)
    }

    /// Writes the content of an object, and returns its size; `None` if that is larger than `most`.
    /// Then no other object can be asked for.
    fn copy_object(
        &mut self,
        name: &str,
        kind: &str,
        most: u64,
        into: &mut dyn Write,
    ) -> FetchResult<Option<u64>> {
        let Some((_, size)) = self.request_object(name, kind)? else {
            return Err(FetchError::git("an object of the repository is missing"));
        };
        if size > most {
            return Ok(None);
        }
        self.copy_content(size, into).map(|()| Some(size))
    }

    /// Asks for an object, and returns its id and size; `None` if it is missing.
    fn request_object(&mut self, name: &str, kind: &str) -> FetchResult<Option<(String, u64)>> {
        let mut line = String::new();
        let asked = writeln!(self.requests, "{name}").and_then(|()| self.requests.flush());
        asked
            .and_then(|()| (&mut *self.answers).take(1024).read_line(&mut line))
            .map_err(|_| FetchError::unreadable_git_output())?;
        let mut words = line.trim_end().split(' ');
        match (words.next(), words.next(), words.next().map(str::parse)) {
            (Some(id), Some(found), Some(Ok(size))) if found == kind => {
                Ok(Some((id.to_owned(), size)))
            }
            (Some(_), Some("missing"), None) => Ok(None),
            _ => Err(FetchError::unreadable_git_output()),
        }
    }

    /// Writes the content of the object that was asked for.
    fn copy_content(&mut self, size: u64, into: &mut dyn Write) -> FetchResult<()> {
        let copied = io::copy(&mut (&mut *self.answers).take(size), into)?;
        let mut end = [0];
        let ended = self.answers.read_exact(&mut end);
        if copied == size && ended.is_ok() && end == *b"\n" {
            Ok(())
        } else {
            Err(FetchError::unreadable_git_output())
        }
    }
}

fn too_long() -> FetchError {
    FetchError::git(format!(
        "the list of its files is longer than {} MiB",
        LONGEST_LIST >> 20
    ))
}
