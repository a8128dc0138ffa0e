//! Directories of a project with configuration, each listed once.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::files;
use super::module::Module;
use super::terragrunt::FILE_NAMES;
use crate::diagnostic::{Diagnostic, Diagnostics, Result};
use crate::lockfile::{LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME, is_copied_lock_file};
use crate::modules::is_configuration;
use crate::provider::Dialect;
use crate::system::files::join;
use crate::system::tree::{Entry, Kind, Tree};
use crate::system::walk;

/// Maximum number of configuration and test files in a directory; each takes time to open and to
/// merge.
const MOST_FILES: usize = 10_000;

/// The names and kinds of files in a directory that matter for root modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is independent of the others"
)]
pub(crate) struct DirectoryListing {
    /// The names of configuration and test files, sorted.
    pub(super) names: Vec<String>,
    /// Reason why the configuration in it cannot be read, although OpenTofu or Terraform reads it.
    pub(super) unnameable: Option<String>,
    pub(crate) has_lock_file: bool,
    pub(crate) has_module_lock_file: bool,
    /// The names of lock files under other names.
    pub(crate) copied_lock_files: Vec<String>,
    pub(crate) is_unit: bool,
    /// Whether one of these files is a symbolic link.
    pub(crate) has_links: bool,
}

/// The directories of a project.
#[derive(Debug, Default)]
pub(crate) struct Listings {
    pub(crate) directories: BTreeMap<PathBuf, DirectoryListing>,
    /// Directories in which a lock file is a symbolic link, ignored or not.
    pub(crate) with_linked_lock_file: BTreeSet<PathBuf>,
}

/// A directory that belongs to [`Listings`].
struct ListedDirectory {
    path: PathBuf,
    listing: Option<DirectoryListing>,
    has_linked_lock_file: bool,
}

/// Lists the directories from `top` downwards that contain configuration files, a lock file or a
/// unit, except directories that `.gitignore` matches. A directory with one file that is not
/// ignored is listed with all of its files, as OpenTofu and Terraform read them.
///
/// # Errors
/// A directory or a `.gitignore` cannot be read.
pub(crate) fn listings(tree: &Tree, top: &Path) -> Result<Listings> {
    let collected = walk::collect_below(tree, top, |directory| {
        let listing =
            DirectoryListing::if_has_sign(directory.files, |file| !directory.ignores(file));
        let has_linked_lock_file = has_linked_lock_file(directory.files);
        if listing.is_none() && !has_linked_lock_file {
            return None;
        }
        Some(ListedDirectory {
            path: directory.path.to_owned(),
            listing,
            has_linked_lock_file,
        })
    });

    let mut listings = Listings::default();
    for directory in collected.items {
        if directory.has_linked_lock_file {
            listings
                .with_linked_lock_file
                .insert(directory.path.clone());
        }
        if let Some(listing) = directory.listing {
            listings.directories.insert(directory.path, listing);
        }
    }
    let errors: Diagnostics = collected
        .unread
        .into_iter()
        .map(|(path, error)| Diagnostic::io("read", &path, &error))
        .collect();
    errors.into_result(listings)
}

/// Whether one of the files of a directory is a lock file that is a symbolic link.
pub(crate) fn has_linked_lock_file(files: &[Entry]) -> bool {
    files.iter().any(|file| {
        file.kind == Kind::Link
            && (file.name == LOCK_FILE_NAME || file.name == MODULE_LOCK_FILE_NAME)
    })
}

/// Finds the test files of a root module: in its directory, and in `tests` if there is such a
/// directory.
///
/// Each comes with the path that it has in the keys of `modules.json`: `main` or `tests.main`.
/// `known_names` are the [names](files::test_names) of the test files in the directory of the root
/// module, if it was read.
pub(super) fn test_files(
    tree: &Tree,
    root: &Path,
    known_names: Option<&[String]>,
    dialect: Dialect,
) -> io::Result<Vec<(PathBuf, String)>> {
    let names = match known_names {
        Some(names) => names.to_vec(),
        None => DirectoryListing::names_in(tree, root)?,
    };
    let mut test_files = test_files_with_keys(&names, root, "", dialect);

    let directory = join(root, "tests");
    match tests_in(tree, &directory, dialect) {
        Ok(names) => {
            let below = test_files_with_keys(&names, &directory, "tests.", dialect);
            test_files.extend(below);
        }
        // Most root modules have no `tests`.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    Ok(test_files)
}

/// The paths of the test files that the dialect reads among these names, and their paths in the
/// keys of `modules.json`, which begin with `prefix`.
fn test_files_with_keys(
    names: &[String],
    directory: &Path,
    prefix: &str,
    dialect: Dialect,
) -> Vec<(PathBuf, String)> {
    let mut test_files = Vec::new();
    for name in files::read_in_dialect(names, dialect, files::TEST_EXTENSIONS) {
        let base = name
            .strip_suffix(".tftest.hcl")
            .or_else(|| name.strip_suffix(".tofutest.hcl"))
            .unwrap_or(name);
        test_files.push((join(directory, name), format!("{prefix}{base}")));
    }
    test_files
}

/// Whether a root module has test files, or may have some that cannot be listed. `terraform init`
/// (since 1.12) also locks the providers of tests beside which there is no configuration.
pub(crate) fn has_tests(tree: &Tree, root: &Path, module: &Module, dialect: Dialect) -> bool {
    let files = test_files(tree, root, module.test_names.as_deref(), dialect);
    files.map_or(true, |files| !files.is_empty())
}

/// The sorted names of test files in the directory `tests`.
///
/// # Errors
/// As for [`DirectoryListing::names_in`].
fn tests_in(tree: &Tree, directory: &Path, dialect: Dialect) -> io::Result<Vec<String>> {
    let mut names = DirectoryListing::names_in(tree, directory)?;
    // Terraform reads hidden files there, too.
    if dialect == Dialect::Terraform {
        for file in DirectoryListing::files(tree, directory)? {
            let name = file.text();
            if name.starts_with('.') && files::is_test(&name) {
                names.push(name.into_owned());
            }
        }
        names.sort_unstable();
    }
    Ok(names)
}

impl DirectoryListing {
    /// Lists a directory; `None` if nothing in it may belong to a root module.
    pub(crate) fn of(tree: &Tree, directory: &Path) -> Option<Self> {
        Self::if_has_sign(&Self::files(tree, directory).ok()?, |_| true)
    }

    /// Whether there are configuration or test files.
    pub(crate) fn has_configuration(&self) -> bool {
        !self.names.is_empty() || self.unnameable.is_some()
    }

    /// The sorted names of configuration and test files in a directory.
    ///
    /// # Errors
    /// The directory cannot be listed, or one of these files has a name that is not text.
    pub(super) fn names_in(tree: &Tree, directory: &Path) -> io::Result<Vec<String>> {
        let mut listing = Self::default();
        Self::files(tree, directory)?
            .iter()
            .for_each(|file| listing.add_file(file));
        listing.names.sort_unstable();
        listing.into_names()
    }

    /// The files of a directory that matter for root modules.
    fn files(tree: &Tree, directory: &Path) -> io::Result<Vec<Entry>> {
        let mut entries = tree.entries(directory)?;
        entries.retain(|entry| {
            let name = entry.text();
            (is_sign(&name) || files::is_test(&name)) && !entry.is_dir()
        });
        Ok(entries)
    }

    /// Lists all files of a directory; `None` if no file that `may_be_sign` accepts is a sign of a
    /// root module.
    fn if_has_sign(files: &[Entry], may_be_sign: impl Fn(&Entry) -> bool) -> Option<Self> {
        let mut listing = Self::default();
        let mut has_sign = false;
        for file in files {
            listing.add_file(file);
            has_sign |= is_sign(&file.text()) && may_be_sign(file);
        }
        listing.names.sort_unstable();
        listing.copied_lock_files.sort_unstable();
        if has_sign { Some(listing) } else { None }
    }

    /// The names of the files.
    ///
    /// # Errors
    /// One of them has a name that is not text, or there are too many.
    pub(super) fn into_names(self) -> io::Result<Vec<String>> {
        if self.names.len() > MOST_FILES {
            return Err(io::Error::other(format!(
                "it contains more than {MOST_FILES} configuration files"
            )));
        }
        self.unnameable.map_or(Ok(self.names), |why| {
            Err(io::Error::new(io::ErrorKind::InvalidData, why))
        })
    }

    /// Notes a file of the directory, if it is configuration, a lock file or a test.
    fn add_file(&mut self, file: &Entry) {
        if let Some(error) = files::unnameable(&file.name) {
            self.unnameable = Some(error.to_string());
            return;
        }
        let name = &*file.text();
        if !is_sign(name) && !files::is_test(name) {
            return;
        }
        self.has_links |= file.kind == Kind::Link;
        self.has_lock_file |= name == LOCK_FILE_NAME;
        self.has_module_lock_file |= name == MODULE_LOCK_FILE_NAME;
        self.is_unit |= FILE_NAMES.contains(&name);
        if is_copied_lock_file(name) {
            self.copied_lock_files.push(name.to_owned());
        }
        if files::is_read(name) && !FILE_NAMES.contains(&name) {
            self.names.push(name.to_owned());
        }
    }
}

/// Whether a file of this name may affect what a root module requires: configurations, tests,
/// values of variables, units.
pub(crate) fn is_part_of_configuration(name: &str) -> bool {
    let ends = [
        ".hcl",
        ".hcl.json",
        ".tfvars",
        ".tfvars.json",
        ".tftest.json",
        ".tofutest.json",
    ];
    is_configuration(name) || ends.iter().any(|end| name.ends_with(end))
}

/// Whether a file of this name shows that its directory may be a root module.
fn is_sign(name: &str) -> bool {
    [LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME].contains(&name)
        || FILE_NAMES.contains(&name)
        || is_copied_lock_file(name)
        || is_configuration(name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::configuration::ModuleCache;
    use crate::provider::Dialect;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        directory
    }

    #[test]
    fn a_directory_is_listed_with_the_files_that_are_read_in_it() {
        let directory = tree(&[
            (
                ".gitignore",
                "*_override.tf\n/build/\n!/kept/a_override.tf\n",
            ),
            ("a/main.tf", ""),
            ("a/a_override.tf", ""),
            ("a/.hidden.tf", ""),
            ("a/main.tf~", ""),
            ("a/a.tftest.hcl", ""),
            ("a/readme.md", ""),
            ("build/main.tf", ""),
            ("ignored/a_override.tf", ""),
            ("kept/a_override.tf", ""),
            ("tests/only.tftest.hcl", ""),
            ("locked/.modules.lock.hcl", ""),
            ("unit/terragrunt.hcl", ""),
            ("unit/.terraform.lock.hcl", ""),
            ("unit/.terraform/x/main.tf", ""),
        ]);
        let found = listings(&Tree::Work, directory.path()).unwrap().directories;
        let listing = |names: &[&str]| DirectoryListing {
            names: names.iter().map(|&name| name.into()).collect(),
            ..DirectoryListing::default()
        };
        let expected = [
            ("a", listing(&["a.tftest.hcl", "a_override.tf", "main.tf"])),
            ("kept", listing(&["a_override.tf"])),
            (
                "locked",
                DirectoryListing {
                    has_module_lock_file: true,
                    ..DirectoryListing::default()
                },
            ),
            (
                "unit",
                DirectoryListing {
                    has_lock_file: true,
                    is_unit: true,
                    ..DirectoryListing::default()
                },
            ),
        ];
        assert_eq!(
            found,
            expected
                .map(|(name, listing)| (directory.path().join(name), listing))
                .into()
        );
    }

    #[test]
    fn terraform_reads_hidden_test_files_in_the_directory_of_tests() {
        let tree = tree(&[
            ("main.tf", ""),
            (".a.tftest.hcl", ""),
            ("tests/.b.tftest.hcl", ""),
            ("tests/.tftest.json", ""),
            ("tests/c.tftest.hcl", ""),
            ("tests/.d.tf", ""),
        ]);
        let keys = |dialect| -> Vec<String> {
            test_files(&Tree::Work, tree.path(), None, dialect)
                .unwrap()
                .into_iter()
                .map(|(_, key)| key)
                .collect()
        };
        assert_eq!(
            keys(Dialect::Terraform),
            ["tests..b", "tests..tftest.json", "tests.c"]
        );
        assert_eq!(keys(Dialect::Tofu), ["tests.c"]);
    }

    #[test]
    fn a_listed_directory_is_not_listed_again() {
        let tree = tree(&[("gone.tf", "")]);
        let top = crate::system::canonicalize(tree.path()).unwrap();
        let (directory, listing) = listings(&Tree::Work, &top)
            .unwrap()
            .directories
            .pop_first()
            .unwrap();
        fs::rename(directory.join("gone.tf"), directory.join("new.tf")).unwrap();
        let module =
            ModuleCache::default().listed_module(&directory, &directory, listing, Dialect::Tofu);
        let [error] = &module.diagnostics[..] else {
            panic!("{:?}", module.diagnostics)
        };
        assert!(error.message.contains("gone.tf"), "{error}");
    }

    /// Errors take memory, too, which the size of the files does not show.
    #[test]
    fn few_modules_with_many_errors_are_kept() {
        let name = |number: usize| format!("{number}/main.tf");
        let names: Vec<_> = (0..64).map(name).collect();
        let errors: String = (0..1_000)
            .map(|number| format!("data \"a\" \"b{number}\" {{}}\n").repeat(2))
            .collect();
        let tree = tree(
            &names
                .iter()
                .map(|name| (name.as_str(), errors.as_str()))
                .collect::<Vec<_>>(),
        );
        let top = crate::system::canonicalize(tree.path()).unwrap();
        let cache = ModuleCache::default();
        let modules: Vec<_> = listings(&Tree::Work, &top)
            .unwrap()
            .directories
            .into_iter()
            .map(|(directory, listing)| {
                (
                    cache.listed_module(&directory, &directory, listing, Dialect::Tofu),
                    directory,
                )
            })
            .collect();
        let kept = || {
            modules
                .iter()
                .filter(|(module, _)| Arc::strong_count(module) > 1)
                .count()
        };
        assert!((32..56).contains(&kept()), "{} are kept", kept());
        for (_, directory) in &modules {
            cache.forget(directory);
        }
        assert_eq!(kept(), 0);
    }
}
