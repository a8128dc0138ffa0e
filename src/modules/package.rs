//! Fetched packages and their directories.

#![expect(
    clippy::disallowed_methods,
    reason = "packages of modules are the same in every revision"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::limits::is_configuration;
use super::package_store::Content;
use super::source::with_directory;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::provider::{Hash, HashesByScheme};
use crate::system::{canonicalize, glob};

/// A package of modules on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Package {
    /// Directory of the package. No file outside of it belongs to the package.
    pub(super) top: PathBuf,
    /// Hash of the files; `None` for a directory of this machine, which may change.
    pub(super) h1: Option<Hash>,
    /// Directory to which the address leads; empty for the top.
    pub(super) directory: String,
    /// Hash of the archive, if there is one and it is known.
    pub(super) zh: Option<Hash>,
    /// Address for a lock file, which always leads to the same package; `None` if it was fetched
    /// only to be read.
    pub(super) lock_address: Option<String>,
    pub(super) origin: PackageOrigin,
    /// Name in messages: the address without secrets, or the registry module and version.
    pub(super) name: String,
}

/// Place in which a package was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PackageOrigin {
    /// A server, in this run.
    Network,
    /// The cache, or the directory of an installed module.
    Cache,
    /// A mirror of modules.
    Mirror,
    /// A directory or an archive of this machine.
    ThisMachine,
}

/// Meaning of `*` in the directory of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wildcards {
    /// A wildcard that must match exactly one directory, as in the address of a package.
    Expanded,
    /// Part of the name, as in the address of a registry module.
    Literal,
}

impl Package {
    /// A package in the cache.
    pub(super) fn cached(content: Content, name: String) -> Self {
        let origin = PackageOrigin::Cache;
        Self {
            h1: Some(content.h1),
            origin,
            ..Self::of_this_machine(content.path, name)
        }
    }

    /// A directory of this machine, which is read where it is. Its `name` is empty if no other
    /// address leads to it.
    pub(super) fn of_this_machine(top: PathBuf, name: String) -> Self {
        Self {
            top,
            h1: None,
            directory: String::new(),
            zh: None,
            lock_address: None,
            origin: PackageOrigin::ThisMachine,
            name,
        }
    }

    /// Whether one of the hashes in a lock file is that of the files, or that of the archive if
    /// there is no `h1:`.
    pub(super) fn is_one_of(&self, hashes: &BTreeSet<Hash>) -> bool {
        let HashesByScheme {
            h1,
            zh,
            unknown: _,
            malformed: _,
        } = hashes.iter().collect();
        let (expected, own) = if h1.is_empty() {
            (zh, &self.zh)
        } else {
            (h1, &self.h1)
        };
        own.as_ref().is_some_and(|own| expected.contains(&own))
    }

    /// Returns the path of a directory of the package, relative to the top and with slashes.
    pub(super) fn below_top(&self, directory: &Path) -> String {
        let below = directory.strip_prefix(&self.top).unwrap_or(directory);
        let parts: Vec<_> = below
            .components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect();
        parts.join("/")
    }

    /// Returns the address of the package for a lock file, with the directory to which it leads.
    pub(super) fn lock_address_with_directory(&self) -> Option<String> {
        Some(with_directory(self.lock_address.as_ref()?, &self.directory))
    }

    /// Finds a directory of the package, relative to the one to which its address leads.
    ///
    /// # Errors
    /// There is no such directory, or more than one; or the directory, or a configuration file in
    /// it, is a link out of the package.
    pub(super) fn directory(&self, directory: &str, wildcards: Wildcards) -> Result<PathBuf> {
        self.directory_below(&self.top.join(&self.directory), directory, wildcards)
    }

    /// [`Package::directory`], relative to a given directory of the package.
    pub(super) fn directory_below(
        &self,
        base: &Path,
        directory: &str,
        wildcards: Wildcards,
    ) -> Result<PathBuf> {
        let found = if wildcards == Wildcards::Expanded && directory.contains(['*', '?', '[']) {
            let mut matches = matching(base, directory);
            if matches.len() > 1 {
                let why = format!("has several files or directories that match {directory:?}");
                return Err(self.invalid(&why).into());
            }
            let Some(only) = matches.pop() else {
                let why = format!("has no directory that matches {directory:?}");
                return Err(self.invalid(&why).into());
            };
            only
        } else {
            base.join(directory.trim_start_matches('/'))
        };

        let missing = format!("has no directory {directory:?}");
        let Ok(top) = canonicalize(&self.top) else {
            return Err(self.invalid(&missing).into());
        };
        let Ok(canonical) = canonicalize(&found) else {
            return Err(self.invalid(&missing).into());
        };
        if !canonical.starts_with(&top) {
            let why = format!("does not contain {directory:?}, which leads out of it");
            return Err(self.invalid(&why).into());
        }
        let Ok(entries) = fs::read_dir(&canonical) else {
            return Err(self.invalid(&missing).into());
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_configuration(&name) && is_link_out(&entry.path(), &top) {
                let why = format!("contains {name}, a link that leads out of it, or nowhere");
                return Err(self.invalid(&why).into());
            }
        }
        Ok(found)
    }

    fn invalid(&self, why: &str) -> Diagnostic {
        let message = format!("the module package {} {why}", self.name);
        Diagnostic::error(Code::InvalidPackage, message)
    }
}

/// Returns the files and directories below `top` that match a pattern (Go's `filepath.Glob`).
fn matching(top: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![top.to_owned()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let Ok(glob) = glob::parse(part) else {
            return Vec::new();
        };
        let matcher = glob.compile_matcher();
        let mut children = Vec::new();
        for directory in &found {
            // A file has no entries.
            let Ok(entries) = fs::read_dir(directory) else {
                continue;
            };
            for entry in entries.flatten() {
                if matcher.is_match(entry.file_name()) {
                    children.push(entry.path());
                }
            }
        }
        found = children;
    }
    found
}

/// Whether a path is a link that leads out of a directory, or nowhere.
fn is_link_out(path: &Path, top: &Path) -> bool {
    path.is_symlink() && !canonicalize(path).is_ok_and(|target| target.starts_with(top))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(directories: &[&str]) -> (tempfile::TempDir, Package) {
        let place = tempfile::tempdir().unwrap();
        let content = place.path().join("content");
        for directory in directories {
            fs::create_dir_all(content.join(directory)).unwrap();
        }
        (
            place,
            Package::of_this_machine(content, "https://h.test/m.zip".to_owned()),
        )
    }

    #[test]
    fn a_directory_is_in_the_package() {
        let (_place, package) = package(&["modules/a", "modules/b", "[x]", "one/a"]);
        fs::write(package.top.join("one/main.tf"), "").unwrap();
        let directory = |name, wildcards| {
            package
                .directory(name, wildcards)
                .map(|path| path.strip_prefix(&package.top).unwrap().to_owned())
        };
        assert_eq!(directory("", Wildcards::Literal), Ok(PathBuf::new()));
        assert_eq!(
            directory("modules/a", Wildcards::Literal),
            Ok("modules/a".into())
        );
        assert_eq!(
            directory("mod*/[a]", Wildcards::Expanded),
            Ok("modules/a".into())
        );
        assert_eq!(directory("[x]", Wildcards::Literal), Ok("[x]".into()));
        for (name, wildcards, message) in [
            ("absent", Wildcards::Literal, r#"has no directory "absent""#),
            (
                "..",
                Wildcards::Literal,
                r#"does not contain "..", which leads out of it"#,
            ),
            (
                "modules/../../..",
                Wildcards::Expanded,
                r#"does not contain "modules/../../..", which leads out of it"#,
            ),
            (
                "modules/*",
                Wildcards::Expanded,
                r#"has several files or directories that match "modules/*""#,
            ),
            (
                "one/*",
                Wildcards::Expanded,
                r#"has several files or directories that match "one/*""#,
            ),
            (
                "one/m*",
                Wildcards::Expanded,
                r#"has no directory "one/m*""#,
            ),
            (
                "one/m*/*",
                Wildcards::Expanded,
                r#"has no directory that matches "one/m*/*""#,
            ),
            (
                "modules/*",
                Wildcards::Literal,
                r#"has no directory "modules/*""#,
            ),
            (
                "c*",
                Wildcards::Expanded,
                r#"has no directory that matches "c*""#,
            ),
        ] {
            let error = directory(name, wildcards).unwrap_err().to_string();
            assert_eq!(
                error,
                format!("the module package https://h.test/m.zip {message}")
            );
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_package_are_named() {
        let (place, package) = package(&["modules"]);
        fs::create_dir(place.path().join("outside")).unwrap();
        std::os::unix::fs::symlink("../outside", package.top.join("out")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", package.top.join("modules/passwd.tf")).unwrap();
        package.directory("", Wildcards::Literal).unwrap();
        for (name, message) in [
            ("out", "which leads out of it"),
            ("modules", "contains passwd.tf, a link"),
        ] {
            let error = package
                .directory(name, Wildcards::Literal)
                .unwrap_err()
                .to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
