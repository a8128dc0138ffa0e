//! `h1:` of a module package on disk: Go's `dirhash.Hash1` (<https://pkg.go.dev/golang.org/x/mod/sumdb/dirhash>) over
//! its files, without any `.git`.
//!
//! Go follows links to files and fails at other links. Here a link to a file of the package is
//! treated as that file, and any other link in the package as a file that contains the link's text.
//! A package with a link that leaves it, at any step, is refused.

#![expect(
    clippy::disallowed_methods,
    reason = "packages of modules are the same in every revision"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::checksum::hexadecimal;
use super::fetch_error::{FetchError, FetchResult};
use super::limits::{GIT, MOST_BYTES, MOST_ENTRIES};
use super::source::{Getter, RemoteSource};
use crate::provider::Hash;
use crate::system::{Tree, links};

/// Computes the hash of the package in a directory.
///
/// # Errors
/// Returns errors of [`listing`].
pub(crate) fn h1(top: &Path) -> FetchResult<Hash> {
    listing(top).map(|listing| listing.h1())
}

/// The files of the package in a directory: names, and SHA-256 in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listing {
    pub(super) top: PathBuf,
    pub(super) files: BTreeMap<String, String>,
}

impl Listing {
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Computes the hash of the package.
    pub(crate) fn h1(&self) -> Hash {
        let mut sum = Sha256::new();
        for (name, digest) in &self.files {
            sum.update(format!("{digest}  {name}\n"));
        }
        Hash::h1(&sum.finalize().into())
    }
}

/// Lists the files of the package in a directory.
///
/// # Errors
/// A link leaves the directory, a name is not text of one line, there are too many files, or one
/// cannot be read.
pub(crate) fn listing(top: &Path) -> FetchResult<Listing> {
    let mut walk = Walk {
        top,
        files: BTreeMap::new(),
        entries: 0,
        bytes: 0,
    };
    walk.add_directory("")?;
    Ok(Listing {
        top: top.to_owned(),
        files: walk.files,
    })
}

/// Returns the path of a `.git` below a directory whose package does not come from git, so that it
/// was added. `None` if there is none, or for a package from git. It must be refused by its name,
/// because no hash covers it.
pub(crate) fn path_of_added_git(top: &Path, package: &str) -> Option<PathBuf> {
    let is_from_git = RemoteSource::parse_full(package)
        .is_some_and(|source| matches!(source.getter(), Getter::Git | Getter::File));
    // A package from git has a repository of its own after `init`.
    if is_from_git {
        return None;
    }
    let mut unread = vec![top.to_owned()];
    while let Some(directory) = unread.pop() {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_name() == GIT {
                return entry.path().strip_prefix(top).ok().map(Path::to_owned);
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                unread.push(entry.path());
            }
        }
    }
    None
}

struct Walk<'a> {
    top: &'a Path,
    files: BTreeMap<String, String>,
    entries: usize,
    bytes: u64,
}

impl Walk<'_> {
    /// Adds the files below a directory of the package.
    fn add_directory(&mut self, directory: &str) -> FetchResult<()> {
        for entry in fs::read_dir(self.top.join(directory))? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                return Err(FetchError::bad_name(&entry.file_name().to_string_lossy()));
            };
            // A `.git` is not part of the package.
            if name == GIT {
                continue;
            }
            self.entries += 1;
            if self.entries > MOST_ENTRIES {
                return Err(FetchError::too_many_entries());
            }
            // The hash is computed over lines with names, so Go refuses a line break in one.
            if name.contains('\n') {
                return Err(FetchError::bad_name(&name));
            }
            let name = if directory.is_empty() {
                name
            } else {
                format!("{directory}/{name}")
            };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                self.add_directory(&name)?;
            } else {
                let digest = if kind.is_symlink() {
                    self.hash_link(&name)?
                } else {
                    self.hash_file(&entry.path())?
                };
                self.files.insert(name, digest);
            }
        }
        Ok(())
    }

    fn hash_file(&mut self, path: &Path) -> FetchResult<String> {
        let mut file = crate::system::files::open(path)?;
        self.bytes += file.metadata()?.len();
        if self.bytes > MOST_BYTES {
            return Err(FetchError::too_large());
        }
        Ok(hexadecimal::<Sha256>(&mut file)?)
    }

    /// Hashes the file to which a link resolves, or else the text of the link.
    fn hash_link(&mut self, name: &str) -> FetchResult<String> {
        let text = read_target(&self.top.join(name))?;
        match linked_file(self.top, name)? {
            Some(file) => self.hash_file(&file),
            None => Ok(format!("{:x}", Sha256::digest(text))),
        }
    }
}

/// Returns the text of a link.
pub(super) fn read_target(link: &Path) -> FetchResult<String> {
    let target = fs::read_link(link)?;
    target
        .into_os_string()
        .into_string()
        .map_err(|target| FetchError::bad_name(&target.to_string_lossy()))
}

/// Returns the file of the package to which a link resolves; `None` if it resolves to anything else
/// in the package, or to nothing.
///
/// # Errors
/// The link leaves the package.
pub(super) fn linked_file(top: &Path, name: &str) -> FetchResult<Option<PathBuf>> {
    let Some(followed) = links::follow(&Tree::Work, top, Path::new(name))? else {
        return Ok(None);
    };
    if followed.is_outside {
        let target = read_target(&top.join(name)).unwrap_or_default();
        return Err(FetchError::link_outside(name, &target));
    }
    let file = top.join(followed.path);
    let is_file = !followed.passes_git
        && file
            .symlink_metadata()
            .is_ok_and(|metadata| metadata.is_file());
    Ok(is_file.then_some(file))
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn package(files: &[(&str, &str)], links: &[(&str, &str)]) -> tempfile::TempDir {
        let top = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::create_dir_all(top.path().join(name).parent().unwrap()).unwrap();
            fs::write(top.path().join(name), content).unwrap();
        }
        for (name, target) in links {
            fs::create_dir_all(top.path().join(name).parent().unwrap()).unwrap();
            symlink(target, top.path().join(name)).unwrap();
        }
        top
    }

    fn hash(files: &[(&str, &str)], links: &[(&str, &str)]) -> String {
        let hash = h1(package(files, links).path());
        hash.map_or_else(|problem| problem.to_string(), |hash| hash.to_string())
    }

    #[test]
    fn the_hash_equals_that_of_go() {
        // `dirhash.HashDir` of a directory with these files and an empty prefix.
        let mut sum = Sha256::new();
        for (name, content) in [("a-b/x", "2"), ("a/x", "1"), ("main.tf", "")] {
            sum.update(format!("{:x}  {name}\n", Sha256::digest(content)));
        }
        let expected = Hash::h1(&sum.finalize().into()).to_string();
        assert_eq!(
            hash(&[("main.tf", ""), ("a/x", "1"), ("a-b/x", "2")], &[]),
            expected
        );
        let with_git = [
            ("main.tf", ""),
            ("a/x", "1"),
            ("a-b/x", "2"),
            (".git/HEAD", "x"),
            ("a/.git", "gitdir: x"),
        ];
        assert_eq!(
            hash(&with_git, &[]),
            expected,
            "what git keeps does not count"
        );
        assert_eq!(
            hash(&[], &[]),
            "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        );
    }

    #[test]
    fn links_are_hashed_as_files() {
        let files = [("real/main.tf", "one"), ("up.tf", "two")];
        for (link, target, as_file) in [
            ("a.tf", "real/main.tf", "one"),
            ("real/b.tf", "../up.tf", "two"),
            ("alias", "real", "real"),
            ("nowhere", "absent/../file", "absent/../file"),
            ("self", "self", "self"),
            ("git", ".git/HEAD", ".git/HEAD"),
        ] {
            let linked = hash(&files, &[(link, target)]);
            assert_eq!(
                linked,
                hash(&[files[0], files[1], (link, as_file)], &[]),
                "{link}"
            );
        }
        let chained = hash(
            &files,
            &[("one", "real"), ("two", "one"), ("x.tf", "two/main.tf")],
        );
        assert_eq!(
            chained,
            hash(
                &[
                    files[0],
                    files[1],
                    ("one", "real"),
                    ("two", "one"),
                    ("x.tf", "one")
                ],
                &[]
            )
        );
    }

    #[test]
    fn a_package_with_a_link_out_of_it_is_refused() {
        for (link, target) in [
            ("hosts", "/etc/hosts"),
            ("up", ".."),
            ("real/up", "../../x"),
            ("around", "real/../../package/real"),
            ("absent", "x/../../y"),
        ] {
            let message = hash(&[("real/main.tf", "one")], &[(link, target)]);
            assert_eq!(
                message,
                format!(
                    "its entry {link:?} is a link to {target:?}, which leads out of the package"
                )
            );
        }
        // Each target looks harmless by its text, and together they lead out.
        let message = hash(
            &[("real/main.tf", "one")],
            &[("real/top", ".."), ("deep/x", "../real/top/..")],
        );
        assert_eq!(
            message,
            "its entry \"deep/x\" is a link to \"../real/top/..\", which leads out of the package"
        );
    }

    #[test]
    fn a_name_of_two_lines_refuses_it() {
        assert_eq!(
            hash(&[("a\nb", "")], &[]),
            r#"its entry "a\nb" does not have a name of one line of text"#
        );
    }
}
