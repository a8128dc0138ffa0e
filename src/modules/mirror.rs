//! Mirrors of modules: directories with the packages of locked modules, for machines without a
//! network. A mirror has the form of the cache: a package lies in a directory that is named after
//! the hash of its files. `index.json` lists the sources and addresses of the packages, for calls
//! that no lock file records.
//!
//! Nothing in a mirror is trusted that a lock file can prove: the files of a package are hashed
//! each time, and the index does not matter for a locked module.

#![expect(
    clippy::disallowed_methods,
    reason = "packages of modules are the same in every revision"
)]

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::copy;
use super::fetch_error::{FetchError, FetchResult};
use super::fetched::FetchedModule;
use super::locked::LockedAddress;
use super::package::{Package, PackageOrigin};
use super::package_hash;
use super::package_store::{Content, PackageStore, Readers};
use super::source::ModuleSource;
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Result};
use crate::lockfile::LockedModule;
use crate::provider::{ConstraintList, Hash, HashScheme, HashesByScheme, Version};
use crate::system::{OnceMap, files};

/// The list of packages.
const INDEX: &str = "index.json";
/// Longest list of packages in bytes.
const LONGEST_INDEX: u64 = 16 << 20;
/// Number of the format of the list.
const FORMAT: u32 = 1;

/// A mirror of modules in a directory.
pub(crate) struct ModuleMirror {
    store: PackageStore,
    index: OnceLock<Result<Index>>,
    found: OnceMap<Hash, FoundPackage>,
}

/// The packages of a mirror.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Index {
    format: u32,
    pub(crate) packages: BTreeSet<IndexEntry>,
}

/// A package for a source, as a lock file of modules records it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct IndexEntry {
    /// Source without the directory in the package.
    pub(super) source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    package: String,
    /// Hash of the files, which decides where the package is.
    pub(crate) h1: Hash,
}

/// The package that a mirror has in the place of a hash.
#[derive(Clone)]
pub(crate) enum FoundPackage {
    /// The files have the hash.
    Intact(PathBuf),
    /// The files have a different hash, or cannot be hashed for a reason.
    Altered(String),
    Absent,
}

impl IndexEntry {
    /// The entry for a locked module, whose package has the hash.
    pub(crate) fn new(source: &ModuleSource, locked: &LockedModule, h1: &Hash) -> Self {
        Self {
            source: index_key(source),
            version: locked.version.as_ref().map(ToString::to_string),
            package: locked.package.clone(),
            h1: h1.clone(),
        }
    }

    /// The entry of a lock file for a call with this source.
    pub(super) fn locked(&self, source: &ModuleSource) -> LockedModule {
        LockedModule {
            source: source.lock_file_text(),
            version: self.parsed_version(),
            constraints: ConstraintList::default(),
            package: self.package.clone(),
            hashes: BTreeSet::from([self.h1.clone()]),
        }
    }

    pub(super) fn parsed_version(&self) -> Option<Version> {
        self.version.as_ref()?.parse().ok()
    }
}

/// The source of a package, whatever the directory in it.
pub(super) fn index_key(source: &ModuleSource) -> String {
    match source {
        ModuleSource::Local(path) => path.clone(),
        ModuleSource::Registry(source) => source.module.to_string(),
        ModuleSource::Remote(source) => source.without_credentials().package,
    }
}

/// The error for an index that is not one. `why` completes the message.
fn damaged_index_error(path: &Path, why: &str) -> Diagnostic {
    let message = format!("{} is not the index of a mirror: {why}", path.display());
    let help = "find out who changed it; to make it again, remove it and fill the mirror";
    Diagnostic::error(Code::InvalidPackage, message).help(help)
}

impl ModuleMirror {
    /// The mirror in a directory, which need not exist.
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self {
            store: PackageStore::new(directory, Readers::All),
            index: OnceLock::new(),
            found: OnceMap::default(),
        }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.store.directory
    }

    /// Reads the list of packages.
    ///
    /// # Errors
    /// The directory is not a mirror of modules.
    pub(super) fn index(&self) -> Result<&Index> {
        let index = self.index.get_or_init(|| match self.read_index() {
            Ok(Some(index)) => Ok(index),
            Ok(None) => {
                let message = format!(
                    "{} is not a mirror of modules: {INDEX} is missing",
                    self.directory().display()
                );
                Err(Diagnostic::error(Code::InvalidPackage, message)
                    .help(self.how_to_fill())
                    .into())
            }
            Err(errors) => Err(errors),
        });
        index.as_ref().map_err(Clone::clone)
    }

    /// Reads the list of packages; `None` if there is none.
    ///
    /// # Errors
    /// It is not such a list.
    pub(crate) fn read_index(&self) -> Result<Option<Index>> {
        let path = self.directory().join(INDEX);
        if path.is_symlink() {
            return Err(damaged_index_error(&path, "it is a link").into());
        }
        let bytes = match files::read(&path, LONGEST_INDEX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Diagnostic::io("read", &path, &error).into()),
        };
        let index: Index = serde_json::from_slice(&bytes)
            .map_err(|error| damaged_index_error(&path, &error.to_string()))?;
        if index.format != FORMAT {
            let why = format!("its format is {}, not {FORMAT}", index.format);
            return Err(damaged_index_error(&path, &why).into());
        }
        for entry in &index.packages {
            if !entry.h1.is_well_formed_as(HashScheme::H1) {
                let why = format!("{} is no h1", entry.h1);
                return Err(damaged_index_error(&path, &why).into());
            }
        }
        Ok(Some(index))
    }

    /// Writes the list of packages, unless it is the same. Returns whether it changed.
    pub(crate) fn write_index(
        &self,
        packages: &BTreeSet<IndexEntry>,
        is_dry_run: bool,
    ) -> Result<bool> {
        let path = self.directory().join(INDEX);
        let index = Index {
            format: FORMAT,
            packages: packages.clone(),
        };
        let mut text = serde_json::to_string_pretty(&index).unwrap_or_default();
        text.push('\n');
        let is_same = files::read(&path, LONGEST_INDEX).is_ok_and(|old| old == text.as_bytes());
        if is_same || is_dry_run {
            return Ok(!is_same);
        }
        files::overwrite(&path, text.as_bytes())
            .map_err(|error| Diagnostic::io("write", &path, &error))?;
        Ok(true)
    }

    /// Finds the package with a hash, which is looked for once.
    pub(crate) fn find(&self, h1: &Hash) -> FoundPackage {
        self.found.get_or_compute(h1, || self.look_for(h1))
    }

    fn look_for(&self, h1: &Hash) -> FoundPackage {
        let content = self.store.content_of(h1.clone());
        let Ok(metadata) = content.path.symlink_metadata() else {
            return FoundPackage::Absent;
        };
        if !metadata.is_dir() {
            return FoundPackage::Altered("it is no directory, but a link or a file".to_owned());
        }
        match package_hash::h1(&content.path) {
            Ok(found) if found == *h1 => FoundPackage::Intact(content.path),
            Ok(found) => FoundPackage::Altered(format!("its files have the hash {found}")),
            Err(error) => FoundPackage::Altered(error.to_string()),
        }
    }

    /// Copies a package into the mirror, in place of a damaged one.
    ///
    /// # Errors
    /// It cannot be copied, or does not have the hash.
    pub(crate) fn add(&self, package: &Path, h1: &Hash) -> Result<PathBuf> {
        let content = self
            .copy_into_store(package, h1)
            .map_err(|error| error.about_package(&package.display().to_string()))?;
        Ok(content.path)
    }

    fn copy_into_store(&self, package: &Path, h1: &Hash) -> FetchResult<Content> {
        let scratch = self.store.scratch()?;
        let copy = scratch.path().join("package");
        fs::create_dir(&copy)?;
        copy::tree(package, &copy)?;
        if package_hash::h1(&copy)? != *h1 {
            return Err(FetchError::package("it changed while it was copied"));
        }
        self.store.put(&copy)
    }

    /// The directories of the packages that have none of these hashes, in order.
    pub(crate) fn packages_without(&self, hashes: &BTreeSet<Hash>) -> Vec<PathBuf> {
        let known: BTreeSet<_> = hashes
            .iter()
            .map(|h1| self.store.content_of(h1.clone()).path)
            .collect();
        let mut others = Vec::new();
        for entry in fs::read_dir(self.store.contents())
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let is_package = name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
            if is_package && !known.contains(&entry.path()) {
                others.push(entry.path());
            }
        }
        others.sort();
        others
    }

    /// The directory of the package with a hash.
    pub(crate) fn path_of(&self, h1: &Hash) -> PathBuf {
        self.store.content_of(h1.clone()).path
    }

    /// The directory in which packages are.
    pub(crate) fn contents(&self) -> PathBuf {
        self.store.contents()
    }

    /// Removes what killed runs have left. No other run may be filling the mirror.
    pub(crate) fn remove_unfinished(&self) {
        self.store.remove_unfinished();
    }

    fn how_to_fill(&self) -> Help {
        let directory = self.directory().display().to_string();
        let arguments = ["mirror", "--modules", &directory];
        let fill = Remedy::Run(arguments.map(str::to_owned).to_vec());
        Help::text("fill it on a machine with a network: ").and(fill)
    }

    /// The error for a module whose package is not in the mirror.
    pub(super) fn absent_error(&self, name: &str) -> Diagnostic {
        let message = format!(
            "the mirror {} does not contain the package of {name}",
            self.directory().display()
        );
        Diagnostic::error(Code::ModuleNotInstalled, message).help(self.how_to_fill())
    }

    /// The error for a package whose files do not have the hash.
    pub(super) fn altered_error(&self, name: &str, h1: &Hash, why: &str) -> Diagnostic {
        let message = format!(
            "the package of {name} in the mirror {} was altered, or is not complete: {why}",
            self.directory().display()
        );
        let path = self.store.content_of(h1.clone()).path;
        let path = path.strip_prefix(self.directory()).unwrap_or(&path);
        Diagnostic::error(Code::ModuleReplaced, message)
            .note(format!("expected hash: {h1}"))
            .note(format!("its directory is {}", path.display()))
            .help("find out who changed it before you fill the mirror again, which replaces it")
    }

    /// Returns the module of a call, if the mirror contains the locked package.
    pub(crate) fn locked_module(
        &self,
        source: &ModuleSource,
        locked: &LockedModule,
    ) -> Option<FetchedModule> {
        let (lock_address, below) = LockedAddress::of(locked, source).ok()?.cache_key(source);
        let hashes: HashesByScheme = locked.hashes.iter().collect();
        for h1 in hashes.h1 {
            if let FoundPackage::Intact(path) = self.find(h1) {
                let content = Content {
                    path,
                    h1: h1.clone(),
                };
                let package = Package {
                    directory: below,
                    lock_address: Some(lock_address.clone()),
                    origin: PackageOrigin::Mirror,
                    ..Package::cached(content, lock_address)
                };
                let module = FetchedModule::of_source(package, source).ok()?;
                return Some(module.with_version(locked.version.clone()));
            }
        }
        None
    }
}
