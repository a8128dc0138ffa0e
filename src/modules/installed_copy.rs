//! Copies of packages as OpenTofu and Terraform install them.
//!
//! Every call has its own copy. Only one copy of a package contains the names that begin with a dot
//! (`copyDir` in OpenTofu's `internal/copy`). git may have changed line endings, expanded `$Id$`,
//! or run a filter such as Git LFS when it wrote a file, so that the file differs from the locked
//! blob.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use sha1::{Digest as _, Sha1};

use super::git::Git;
use super::limits::is_configuration;
use super::package_hash::Listing;
use crate::system::{TemporaryDirectory, files};

/// Largest file whose line endings are compared in bytes.
const LARGEST_TEXT: u64 = 64 << 20;
/// Time limit of git for reading the attributes of a package.
const ATTRIBUTES_TIME_LIMIT: Duration = Duration::from_mins(1);
/// Largest pointer of Git LFS in bytes.
const LARGEST_POINTER: u64 = 1024;

/// The result of comparing a copy with a whole package.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// The copy is what OpenTofu and Terraform make of the package, except for files that git
    /// changes at checkout in a way that cannot be computed here. These were not compared.
    Same { not_compared: Vec<String> },
    /// The first difference. The text continues a message that names the copy.
    Different(String),
}

/// Compares an installed copy with the locked package. `is_from_git` is whether git has written the
/// copy.
pub(crate) fn compare(copy: &Listing, package: &Listing, is_from_git: bool) -> Comparison {
    for name in copy.files.keys() {
        if !package.files.contains_key(name) {
            return Comparison::Different(format!("has {name:?}, which the package does not have"));
        }
    }

    // Only one copy of a package has hidden files, so another one need not have them.
    let has_hidden = copy.files.keys().any(|name| is_hidden(name));
    let mut differing = Vec::new();
    for (name, locked) in &package.files {
        if is_hidden(name) && !has_hidden {
            continue;
        }
        let Some(digest) = copy.files.get(name) else {
            return Comparison::Different(format!("does not have {name:?}"));
        };
        if digest == locked {
            continue;
        }
        if is_from_git && is_written_by_git(&copy.top.join(name), &package.top.join(name)) {
            continue;
        }
        differing.push((name.as_str(), digest));
    }

    // A filter of git may have written the others. Only the one of Git LFS can be computed.
    let mut changed = BTreeSet::new();
    if is_from_git {
        changed = changed_at_checkout(&package.top, &differing);
    }
    let mut not_compared = Vec::new();
    for (name, digest) in differing {
        if !changed.contains(name) {
            return Comparison::Different(format!("has a different {name:?}"));
        }
        match pointed_at(&package.top.join(name)) {
            Some(expected) if expected == *digest => {}
            Some(_) => {
                return Comparison::Different(format!(
                    "has a different {name:?} than its Git LFS pointer specifies"
                ));
            }
            None => not_compared.push(name.to_owned()),
        }
    }
    Comparison::Same { not_compared }
}

/// Returns the files that git may have changed when it checked them out. If git cannot read the
/// attributes of the package, it may have changed any. Configuration is always compared.
fn changed_at_checkout<'a>(package: &Path, files: &[(&'a str, &String)]) -> BTreeSet<&'a str> {
    let names: Vec<_> = files
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| !is_configuration(name))
        .collect();
    if names.is_empty() {
        return BTreeSet::new();
    }
    if let Ok(directory) = TemporaryDirectory::new() {
        let program = Path::new("git");
        let git = Git::new(program, None, directory.path(), ATTRIBUTES_TIME_LIMIT);
        if let Ok(changed) = git.changed_at_checkout(package, &names) {
            return changed;
        }
    }
    names.into_iter().collect()
}

/// Returns the SHA-256 in a pointer of Git LFS (<https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>); `None`
/// for any other file.
fn pointed_at(blob: &Path) -> Option<String> {
    let text = String::from_utf8(files::read(blob, LARGEST_POINTER).ok()?).ok()?;
    let rest = text.strip_prefix("version https://git-lfs.github.com/spec/v1\n")?;
    let digest = rest
        .lines()
        .find_map(|line| line.strip_prefix("oid sha256:"))?;
    let is_digest = digest.len() == 64
        && digest
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_digest {
        return None;
    }
    Some(digest.to_owned())
}

fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part.starts_with('.'))
}

/// Whether git may have written a file for a blob: with carriage returns before line ends, with
/// `$Id$` expanded, or both.
fn is_written_by_git(copy: &Path, blob: &Path) -> bool {
    let Some(copy) = read_small(copy) else {
        return false;
    };
    let Some(blob) = read_small(blob) else {
        return false;
    };
    let expanded = with_expanded_id(&blob);
    copy == expanded
        || copy == with_carriage_returns(&blob)
        || copy == with_carriage_returns(&expanded)
}

/// Reads a file of at most [`LARGEST_TEXT`].
fn read_small(path: &Path) -> Option<Vec<u8>> {
    files::read(path, LARGEST_TEXT).ok()
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

/// Expands `$Id$` in a blob, as the attribute `ident` does (gitattributes(5)).
fn with_expanded_id(blob: &[u8]) -> Vec<u8> {
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
    use std::fs;

    use super::*;
    use crate::modules::package_hash;

    #[test]
    fn git_writes_line_ends_and_ids() {
        assert_eq!(with_carriage_returns(b"\na\r\nb\n"), b"\r\na\r\nb\r\n");
        // `printf 'x $Id$\n' | git hash-object --stdin`
        assert_eq!(
            with_expanded_id(b"x $Id$\n"),
            b"x $Id: 5692e3a11c870839981c0b1bc913dd02601f18a7 $\n"
        );
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
        let (_expected, expected_files) = listed(&whole);
        for (copy, is_from_git, why) in [
            (&whole[..], false, None),
            (&whole[..1], false, None),
            (&whole[..2], false, Some("does not have \"d/.y\"")),
            (&whole[1..], false, Some("does not have \"main.tf\"")),
            (
                &[("main.tf", "a\n"), ("evil.tf", "")],
                false,
                Some("has \"evil.tf\", which the package does not have"),
            ),
            (
                &[("main.tf", "a\n"), (".evil", "")],
                false,
                Some("has \".evil\", which the package does not have"),
            ),
            (
                &[("main.tf", "b\n")],
                true,
                Some("has a different \"main.tf\""),
            ),
            (
                &[("main.tf", "a\r\n")],
                false,
                Some("has a different \"main.tf\""),
            ),
            (&[("main.tf", "a\r\n")], true, None),
        ] {
            let (_place, files) = listed(copy);
            let found = compare(&files, &expected_files, is_from_git);
            let same = Comparison::Same {
                not_compared: Vec::new(),
            };
            assert_eq!(
                found,
                why.map_or(same, |why| Comparison::Different(why.to_owned())),
                "{copy:?}"
            );
        }
    }
}
