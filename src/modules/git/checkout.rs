//! Writes the files of a commit: their content as it is in the repository, whatever its `.gitattributes` say.
//!
//! A whole package is installed like that. Where only the configuration is read, git makes the copy that OpenTofu and
//! Terraform read, so a configuration file that git changes at checkout (beyond its line ends) refuses the package.

use super::attributes::{self, Attributes, Macros};
use super::error::{GitError, Result};
use super::objects::{Kind, Objects, TreeEntry};
use super::submodules::{self, Mapping};
use crate::modules::contents::{Extent, MOST_ENTRIES, PackageWriter, Problem, is_configuration};

use std::collections::BTreeMap;

/// How deeply directories may lie in one another.
const MOST_DEPTH: usize = 100;
/// The longest target of a link, in bytes, as on Linux.
const LONGEST_TARGET: u64 = 4095;
/// The largest `.gitmodules` that is read, in bytes.
const LARGEST_MAPPING: u64 = 1 << 20;

/// A submodule of a commit that was written.
pub(super) struct Submodule {
    /// Where it is in the package.
    pub(super) path: String,
    /// As the repository has it.
    pub(super) url: String,
    pub(super) commit: String,
}

/// What was written of a repository.
pub(super) struct Written {
    pub(super) commit: String,
    pub(super) submodules: Vec<Submodule>,
}

/// Writes the commit that a revision leads to into the directory `prefix` of a package.
pub(super) fn write(
    objects: &mut Objects<'_>,
    revision: &str,
    prefix: &str,
    writer: &mut PackageWriter,
    left: &mut u64,
) -> Result<Written> {
    let commit = objects.find(&format!("{revision}^{{commit}}"))?;
    let commit = commit.ok_or_else(|| GitError::new(format!("it has no commit {revision:?}")))?;
    objects.copy(&commit, &mut std::io::sink())?;
    let id_length = commit.id.len() / 2;
    let mut checkout = Checkout {
        objects,
        writer,
        id_length,
        left,
        mappings: BTreeMap::new(),
        submodules: Vec::new(),
        macros: Macros::default(),
        attributes: Vec::new(),
    };
    let top = checkout.objects.tree(&format!("{}^{{tree}}", commit.id), id_length)?;
    let file = top.iter().find(|entry| entry.name == submodules::FILE_NAME.as_bytes());
    if let Some(TreeEntry { kind: Kind::File { .. }, id, .. }) = file {
        let (_, text) = checkout.objects.whole(id, LARGEST_MAPPING)?;
        checkout.mappings = submodules::read(&String::from_utf8_lossy(&text))?;
    }
    let mut entries = 0;
    checkout.count(&top, 0, &mut entries)?;
    checkout.directory(&top, prefix, prefix, 0)?;
    Ok(Written { commit: commit.id, submodules: checkout.submodules })
}

struct Checkout<'a, 'b> {
    objects: &'a mut Objects<'b>,
    writer: &'a mut PackageWriter,
    /// How many bytes an object's id has.
    id_length: usize,
    /// How many bytes may still be written.
    left: &'a mut u64,
    mappings: BTreeMap<String, Mapping>,
    submodules: Vec<Submodule>,
    macros: Macros,
    /// Attributes of the directory that is written and of the directories around it, from the top; empty for a whole
    /// package.
    attributes: Vec<Attributes>,
}

impl Checkout<'_, '_> {
    /// Refuses a tree that stands for more entries than a package may have, before anything of it is written.
    fn count(&mut self, tree: &[TreeEntry], depth: usize, entries: &mut usize) -> Result<()> {
        *entries += tree.len();
        if *entries > MOST_ENTRIES {
            return Err(Problem::TooMany.into());
        }
        let directories = tree.iter().filter(|entry| entry.kind == Kind::Directory && depth < MOST_DEPTH);
        directories.into_iter().try_for_each(|directory| {
            let below = self.objects.tree(&directory.id, self.id_length)?;
            self.count(&below, depth + 1, entries)
        })
    }

    /// Writes the entries of a tree into the directory `path` of the package; `prefix` is that of the repository.
    fn directory(&mut self, entries: &[TreeEntry], path: &str, prefix: &str, depth: usize) -> Result<()> {
        if depth > MOST_DEPTH {
            return Err(GitError::new(format!("its directories are more than {MOST_DEPTH} deep")));
        }
        let outer = self.attributes.len();
        if self.writer.extent() == Extent::Configuration {
            self.read_attributes(entries, path, prefix)?;
        }
        for TreeEntry { kind, name, id } in entries {
            let (kind, name) = (*kind, self.text(name, *kind)?);
            let path = if path.is_empty() { name } else { format!("{path}/{name}") };
            match kind {
                Kind::Directory => {
                    self.writer.directory(&path)?;
                    let entries = self.objects.tree(id, self.id_length)?;
                    self.directory(&entries, &path, prefix, depth + 1)?;
                }
                Kind::File { is_executable } => self.file(&path, is_executable, id)?,
                Kind::Link => {
                    let (_, target) = self.objects.whole(id, LONGEST_TARGET)?;
                    let target = String::from_utf8(target).map_err(|_| Problem::Name(path.clone()))?;
                    self.writer.link(&path, &target)?;
                }
                Kind::Submodule => self.submodule(path, prefix, id.clone())?,
            }
        }
        self.attributes.truncate(outer);
        Ok(())
    }

    /// Reads the attributes that a directory gives to its files.
    fn read_attributes(&mut self, entries: &[TreeEntry], path: &str, prefix: &str) -> Result<()> {
        let is_read = |entry: &&TreeEntry| entry.name.eq_ignore_ascii_case(attributes::FILE_NAME.as_bytes());
        for TreeEntry { kind, id, .. } in entries.iter().filter(is_read) {
            match kind {
                Kind::File { .. } => {}
                // Not every version of git follows it.
                Kind::Link => return Err(GitError::new(format!("its {} is a link", attributes::FILE_NAME))),
                Kind::Directory | Kind::Submodule => continue,
            }
            let (object, text) = self.objects.whole(id, attributes::LARGEST)?;
            *self.left = self.left.checked_sub(object.size).ok_or(Problem::TooLarge)?;
            if text.contains(&0) {
                return Err(GitError::new(format!("its {} is not text", attributes::FILE_NAME)));
            }
            let text = String::from_utf8_lossy(&text);
            if path == prefix {
                self.macros = Macros::read(&text)?;
            }
            self.attributes.push(Attributes::read(&text, path, &self.macros)?);
        }
        Ok(())
    }

    /// A name as text. One that is not may only be that of a file that nobody reads.
    fn text(&self, name: &[u8], kind: Kind) -> Result<String> {
        String::from_utf8(name.to_vec()).or_else(|error| {
            let shown = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let is_read = kind == Kind::Directory || is_configuration(&shown);
            if is_read || self.writer.extent() == Extent::Whole {
                return Err(Problem::Name(shown).into());
            }
            Ok(shown)
        })
    }

    fn file(&mut self, path: &str, is_executable: bool, id: &str) -> Result<()> {
        if let Some(mut file) = self.writer.open(path, is_executable)? {
            if let Some(attribute) = attributes::changing(path, &self.attributes) {
                let (change, file) = ("git may change its", attributes::FILE_NAME);
                let why = format!("{change} {path:?} at checkout, by the attribute {attribute} in {file}");
                return Err(GitError::new(why));
            }
            let object = self.objects.ask(id)?;
            *self.left = self.left.checked_sub(object.size).ok_or(Problem::TooLarge)?;
            self.objects.copy(&object, &mut file)?;
        }
        Ok(())
    }

    /// Notes a submodule, as `git submodule update --init` would fetch it.
    fn submodule(&mut self, path: String, prefix: &str, commit: String) -> Result<()> {
        let below = path.strip_prefix(prefix).unwrap_or(&path).trim_start_matches('/');
        let mapping = self.mappings.get(below).cloned();
        let unmapped =
            || GitError::new(format!("its .gitmodules does not say where the submodule {path:?} comes from"));
        let mapping = mapping.ok_or_else(unmapped)?;
        self.writer.directory(&path)?;
        if !mapping.is_left_out {
            self.submodules.push(Submodule { path, url: mapping.url, commit });
        }
        Ok(())
    }
}
