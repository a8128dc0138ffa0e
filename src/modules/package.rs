//! A package that was fetched, and the directories in it.

use std::fs;
use std::path::{Path, PathBuf};

use super::cache::Stored;
use super::contents::is_configuration;
use super::source::with_directory;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::system::{canonicalize, glob};

/// A fetched package: the configuration files in it, without anything else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) stored: Stored,
    /// Where it came from.
    pub(super) origin: PackageOrigin,
    /// Its address, without secrets, or the registry module and version that it is.
    pub(super) address: String,
}

/// Where a package came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PackageOrigin {
    /// It was fetched in this run.
    Network,
    /// An earlier run fetched it.
    Cache,
    /// A directory of this machine, which is read where it is.
    Directory,
    /// An archive of this machine.
    Archive,
}

/// Whether `*` in the directory of a source is a wildcard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wildcards {
    /// It is, and must match exactly one directory, as in the address of a package.
    Expanded,
    /// It is part of the name, as in the address of a registry module.
    Literal,
}

impl Package {
    /// The directory with its files. Nothing outside it belongs to the package.
    pub(super) fn top(&self) -> PathBuf {
        self.stored.content.join(&self.stored.top)
    }

    /// Where the package is kept, with a directory in it as the one that its address leads to.
    pub(super) fn stored_at(&self, directory: &Path) -> Stored {
        let below = directory.strip_prefix(self.top()).unwrap_or(Path::new(""));
        Stored { directory: below.to_string_lossy().into_owned(), ..self.stored.clone() }
    }

    /// The address under which a lock file records a whole package, with the directory that it leads to.
    pub(super) fn locked_address(&self) -> Option<String> {
        let identity = self.stored.identity.as_ref()?;
        Some(with_directory(&identity.address, &self.stored.directory))
    }

    /// A directory of the package, relative to where its address leads.
    ///
    /// # Errors
    /// There is no such directory or more than one; or the directory, or a configuration file in it, lies outside the
    /// package.
    pub(super) fn directory(&self, directory: &str, wildcards: Wildcards) -> Result<PathBuf> {
        self.directory_below(&self.top().join(&self.stored.directory), directory, wildcards)
    }

    /// [`Package::directory`], relative to another directory of the package.
    pub(super) fn directory_below(&self, base: &Path, directory: &str, wildcards: Wildcards) -> Result<PathBuf> {
        let failed = |why: String| -> Diagnostic {
            Diagnostic::error(Code::InvalidPackage, format!("the module package {} {why}", self.address))
        };
        let found = match wildcards {
            Wildcards::Expanded if directory.contains(['*', '?', '[']) => {
                let mut matches = matching(base, directory);
                match (matches.pop(), matches.pop()) {
                    (Some(only), None) => only,
                    (None, _) => return Err(failed(format!("has no directory that {directory:?} stands for")).into()),
                    _ => return Err(failed(format!("has several directories that {directory:?} stands for")).into()),
                }
            }
            _ if directory.is_empty() => base.to_owned(),
            _ => base.join(directory.trim_start_matches('/')),
        };
        let missing = || failed(format!("has no directory {directory:?}"));
        let (Ok(top), Ok(canonical)) = (canonicalize(self.top()), canonicalize(&found)) else {
            return Err(missing().into());
        };
        if !canonical.starts_with(&top) {
            return Err(failed(format!("does not contain {directory:?}, which leads out of it")).into());
        }
        let leads_outside = |path: &Path| path.is_symlink() && !canonicalize(path).is_ok_and(|to| to.starts_with(&top));
        for entry in fs::read_dir(&canonical).map_err(|_| missing())?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_configuration(&name) && leads_outside(&entry.path()) {
                return Err(failed(format!("contains {name}, a link that leads out of it, or nowhere")).into());
            }
        }
        Ok(found)
    }
}

/// The directories below `top` that a pattern stands for.
fn matching(top: &Path, pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![top.to_owned()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let Ok(glob) = glob::parse(part) else { return Vec::new() };
        let matcher = glob.compile_matcher();
        let is_match = |path: &PathBuf| path.is_dir() && path.file_name().is_some_and(|name| matcher.is_match(name));
        let children = found.iter().filter_map(|directory| fs::read_dir(directory).ok());
        found = children.flat_map(|entries| entries.flatten().map(|entry| entry.path())).filter(is_match).collect();
    }
    found
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
        let (origin, address) = (PackageOrigin::Cache, "https://h.test/m.zip".to_owned());
        let package = Package { stored: Stored::whole(content), origin, address };
        (place, package)
    }

    #[test]
    fn a_directory_is_in_the_package() {
        let (_place, package) = package(&["modules/a", "modules/b", "[x]"]);
        let directory = |name, wildcards| {
            package.directory(name, wildcards).map(|path| path.strip_prefix(package.top()).unwrap().to_owned())
        };
        assert_eq!(directory("", Wildcards::Literal), Ok(PathBuf::new()));
        assert_eq!(directory("modules/a", Wildcards::Literal), Ok("modules/a".into()));
        assert_eq!(directory("mod*/[a]", Wildcards::Expanded), Ok("modules/a".into()));
        assert_eq!(directory("[x]", Wildcards::Literal), Ok("[x]".into()));
        for (name, wildcards, message) in [
            ("absent", Wildcards::Literal, r#"has no directory "absent""#),
            ("..", Wildcards::Literal, r#"does not contain "..", which leads out of it"#),
            ("modules/../../..", Wildcards::Expanded, r#"does not contain "modules/../../..", which leads out of it"#),
            ("modules/*", Wildcards::Expanded, r#"has several directories that "modules/*" stands for"#),
            ("modules/*", Wildcards::Literal, r#"has no directory "modules/*""#),
            ("c*", Wildcards::Expanded, r#"has no directory that "c*" stands for"#),
        ] {
            let error = directory(name, wildcards).unwrap_err().to_string();
            assert_eq!(error, format!("the module package https://h.test/m.zip {message}"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_out_of_the_package_are_named() {
        let (place, package) = package(&["modules"]);
        fs::create_dir(place.path().join("outside")).unwrap();
        std::os::unix::fs::symlink("../outside", package.top().join("out")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", package.top().join("modules/passwd.tf")).unwrap();
        package.directory("", Wildcards::Literal).unwrap();
        for (name, message) in [("out", "which leads out of it"), ("modules", "contains passwd.tf, a link")] {
            let error = package.directory(name, Wildcards::Literal).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
