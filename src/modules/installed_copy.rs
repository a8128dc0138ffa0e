//! Copies of packages as OpenTofu and Terraform install them.
//!
//! Every call has a copy of its own. Names that begin with a dot are in one copy of a package only (`copyDir` of
//! OpenTofu's `internal/copy`). Git may have written the files with other line endings, expanded `$Id$`, or run a filter
//! such as Git LFS: then a file is not the blob that is locked.

use std::cell::OnceCell;
use std::fs;
use std::path::{Path, PathBuf};

use sha1::{Digest as _, Sha1};

use super::contents::{GIT, is_configuration};
use super::fetcher::ModuleFetcher;
use super::git::PackageAttributes;
use super::locked::LockedAddress;
use super::package_hash::Listing;
use super::source::ModuleSource;
use crate::lockfile::LockedModule;
use crate::provider::Dialect;
use crate::system::{canonicalize, files};

/// The largest file whose line endings are looked at, in bytes.
const LARGEST_TEXT: u64 = 64 << 20;
/// The largest pointer of Git LFS, in bytes.
const LARGEST_POINTER: u64 = 1024;

impl ModuleFetcher {
    /// The directory of the whole package that is locked for a call with this source: in the cache, or made of the
    /// objects in the `.git` of a copy. It has the hash that is locked.
    pub(crate) fn whole(
        &self,
        dialect: Dialect,
        source: &ModuleSource,
        locked: &LockedModule,
        copy: &Path,
    ) -> Option<PathBuf> {
        let (address, _) = LockedAddress::of(locked, source).ok()?.key(source);
        let getters = self.getters(dialect).ok()?;
        if let Some(stored) = getters.packages.cache.get_whole(&address, &locked.hashes) {
            return Some(stored.content);
        }
        let dot_git = canonicalize(copy).ok()?.join(GIT);
        let is_repository = dot_git.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        is_repository.then(|| getters.packages.package_of_copy(&address, &dot_git, &locked.hashes)).flatten()
    }
}

/// The result of comparing a copy with a whole package.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// The copy is what OpenTofu and Terraform make of the package, except for files that git changes at checkout in a
    /// way that cannot be computed here. These were not compared.
    Same { not_compared: Vec<String> },
    /// The first difference. The text continues a message that names the copy.
    Different(String),
}

/// Compares a copy with a whole package.
pub(crate) fn compare(
    (copy, files): (&Path, &Listing),
    (whole, expected): (&Path, &Listing),
    is_from_git: bool,
) -> Comparison {
    let has_hidden = files.0.keys().any(|name| is_hidden(name));
    if let Some(name) = files.0.keys().find(|name| !expected.0.contains_key(*name)) {
        return Comparison::Different(format!("has {name:?}, which the package does not have"));
    }
    let attributes = OnceCell::new();
    let mut not_compared = Vec::new();
    for (name, locked) in expected.0.iter().filter(|(name, _)| has_hidden || !is_hidden(name)) {
        let Some(digest) = files.0.get(name) else {
            return Comparison::Different(format!("does not have {name:?}"));
        };
        let blob = whole.join(name);
        if digest == locked || (is_from_git && is_written_by_git(&copy.join(name), &blob)) {
            continue;
        }
        let attributes = attributes.get_or_init(|| PackageAttributes::read(whole, expected.0.keys()));
        let is_changed = is_from_git && !is_configuration(name) && attributes.changing(name).is_some();
        match pointed_at(&blob) {
            _ if !is_changed => return Comparison::Different(format!("has another {name:?}")),
            Some(wanted) if wanted == *digest => {}
            Some(_) => return Comparison::Different(format!("has another {name:?} than its Git LFS pointer names")),
            None => not_compared.push(name.clone()),
        }
    }
    Comparison::Same { not_compared }
}

/// The SHA-256 in a pointer of Git LFS (<https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>); `None` for any
/// other file.
fn pointed_at(blob: &Path) -> Option<String> {
    let text = String::from_utf8(files::read(blob, LARGEST_POINTER).ok()?).ok()?;
    let rest = text.strip_prefix("version https://git-lfs.github.com/spec/v1\n")?;
    let digest = rest.lines().find_map(|line| line.strip_prefix("oid sha256:"))?;
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_digest.then(|| digest.to_owned())
}

fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('.'))
}

/// Whether a file is what git may write for a blob that the other file holds: with carriage returns before line ends,
/// with `$Id$` expanded, or both.
fn is_written_by_git(copy: &Path, blob: &Path) -> bool {
    let read = |path: &Path| {
        fs::metadata(path).ok().filter(|file| file.len() <= LARGEST_TEXT).and_then(|_| fs::read(path).ok())
    };
    let (Some(copy), Some(blob)) = (read(copy), read(blob)) else { return false };
    let expanded = expanded(&blob);
    copy == expanded || copy == with_carriage_returns(&blob) || copy == with_carriage_returns(&expanded)
}

fn with_carriage_returns(text: &[u8]) -> Vec<u8> {
    let mut written = Vec::with_capacity(text.len());
    for (index, byte) in text.iter().enumerate() {
        if *byte == b'\n' && (index == 0 || text[index - 1] != b'\r') {
            written.push(b'\r');
        }
        written.push(*byte);
    }
    written
}

/// A blob with the attribute `ident` (gitattributes(5)).
fn expanded(blob: &[u8]) -> Vec<u8> {
    let mut sum = Sha1::new();
    sum.update(format!("blob {}\0", blob.len()));
    sum.update(blob);
    let id = format!("$Id: {:x} $", sum.finalize());
    let mut written = Vec::with_capacity(blob.len());
    let mut rest = blob;
    while let Some(at) = rest.windows(4).position(|four| four == b"$Id$") {
        written.extend_from_slice(&rest[..at]);
        written.extend_from_slice(id.as_bytes());
        rest = &rest[at + 4..];
    }
    written.extend_from_slice(rest);
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::package_hash;

    #[test]
    fn git_writes_line_ends_and_ids() {
        assert_eq!(with_carriage_returns(b"\na\r\nb\n"), b"\r\na\r\nb\r\n");
        // `printf 'x $Id$\n' | git hash-object --stdin`
        assert_eq!(expanded(b"x $Id$\n"), b"x $Id: 5692e3a11c870839981c0b1bc913dd02601f18a7 $\n");
    }

    #[test]
    fn a_copy_may_lack_hidden_names_and_nothing_else() {
        let whole = [("main.tf", "a\n"), (".hidden/x", "b"), ("d/.y", "c")];
        let listed = |files: &[(&str, &str)]| {
            let place = tempfile::tempdir().unwrap();
            for (name, content) in files {
                fs::create_dir_all(place.path().join(name).parent().unwrap()).unwrap();
                fs::write(place.path().join(name), content).unwrap();
            }
            let listing = package_hash::listing(place.path()).unwrap();
            (place, listing)
        };
        let (expected, expected_files) = listed(&whole);
        for (copy, is_from_git, why) in [
            (&whole[..], false, None),
            (&whole[..1], false, None),
            (&whole[..2], false, Some("does not have \"d/.y\"")),
            (&whole[1..], false, Some("does not have \"main.tf\"")),
            (&[("main.tf", "a\n"), ("evil.tf", "")], false, Some("has \"evil.tf\", which the package does not have")),
            (&[("main.tf", "a\n"), (".evil", "")], false, Some("has \".evil\", which the package does not have")),
            (&[("main.tf", "b\n")], true, Some("has another \"main.tf\"")),
            (&[("main.tf", "a\r\n")], false, Some("has another \"main.tf\"")),
            (&[("main.tf", "a\r\n")], true, None),
        ] {
            let (place, files) = listed(copy);
            let found = compare((place.path(), &files), (expected.path(), &expected_files), is_from_git);
            let same = Comparison::Same { not_compared: Vec::new() };
            assert_eq!(found, why.map_or(same, |why| Comparison::Different(why.to_owned())), "{copy:?}");
        }
    }
}
