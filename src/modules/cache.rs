//! Module packages, and the versions that registries listed, kept across runs. Offline, these lists name the packages
//! that the cache may hold.
//!
//! Each package lies in a directory named after its content, which never changes once it has its name. A small file for
//! each address holds the name of that directory, the hash of its files and the time. So concurrent runs can share
//! both. What is found there is checked again: it has that hash, and nobody else can write to it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::contents::Problem;
use super::package_hash;
use super::source::RegistryModule;
use crate::provider::{Hash, HashesByScheme, Version};
use crate::system::{TemporaryDirectory, files, storage};

/// The longest entry, in bytes.
const LONGEST_ENTRY: u64 = 64 * 1024;
/// The longest list of versions, in bytes.
const LONGEST_LIST: u64 = 4 << 20;

/// Packages and lists of versions in a directory. A directory that cannot be used is treated as empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageCache {
    packages: PathBuf,
    versions: PathBuf,
}

/// A package in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stored {
    /// The directory with all that was fetched.
    pub(super) content: PathBuf,
    /// The part of what was fetched that belongs to the package; empty for all.
    pub(super) top: String,
    /// The directory in the package that its address leads to; empty for its top.
    pub(super) directory: String,
    /// What a whole package is.
    pub(super) identity: Option<Arc<Identity>>,
}

/// What a whole package is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    /// Its address, which never leads to another package.
    pub(super) address: String,
    /// The hash of its files.
    pub(super) h1: Hash,
    /// The hash of the archive that it came in, if that is known.
    pub(super) zh: Option<Hash>,
}

impl Identity {
    /// Whether it is what a lock file records: with one of the hashes of its files, or of its archive where none of the
    /// files is recorded.
    pub(super) fn is_one_of(&self, hashes: &BTreeSet<Hash>) -> bool {
        let HashesByScheme { h1, zh, unknown: _ } = hashes.iter().collect();
        if !h1.is_empty() {
            return h1.contains(&&self.h1);
        }
        self.zh.as_ref().is_some_and(|archive| zh.contains(&archive))
    }
}

#[derive(Serialize, Deserialize)]
struct Entry {
    /// Seconds since 1970.
    saved: i64,
    /// The name of the directory.
    content: String,
    /// The hash of its files.
    h1: Hash,
    top: String,
    directory: String,
}

impl Stored {
    /// A package of all that is in a directory.
    pub(super) fn whole(content: PathBuf) -> Self {
        Self { content, top: String::new(), directory: String::new(), identity: None }
    }

    fn identified(content: PathBuf, address: &str, h1: Hash, zh: Option<Hash>) -> Self {
        let identity = Some(Arc::new(Identity { address: address.to_owned(), h1, zh }));
        Self { identity, ..Self::whole(content) }
    }

    /// The same with nothing but the directory that its address leads to.
    pub(super) fn below_directory(self) -> Self {
        let top = Path::new(&self.top).join(&self.directory).to_string_lossy().into_owned();
        Self { top, directory: String::new(), ..self }
    }
}

impl PackageCache {
    /// The cache in `directory`, which need not exist.
    pub fn open(directory: &Path) -> Self {
        Self { packages: directory.join(storage::MODULES), versions: directory.join(storage::MODULE_VERSIONS) }
    }

    /// The versions of a module that its registry listed last.
    pub(super) fn versions(&self, module: &RegistryModule) -> Vec<Version> {
        let text = storage::read(&self.list(module), LONGEST_LIST).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Keeps the versions of a module.
    pub(super) fn put_versions(&self, module: &RegistryModule, versions: &[Version]) {
        let text: String = versions.iter().map(|version| format!("{version}\n")).collect::<Vec<_>>().concat();
        storage::keep(&self.list(module), &text);
    }

    fn list(&self, RegistryModule { host, namespace, name, system }: &RegistryModule) -> PathBuf {
        storage::path(&self.versions, [host.as_ascii(), &format!("{namespace}/{name}/{system}")])
    }

    /// The package of an address, if it is younger than `lifetime`. Without `lifetime`, its age does not matter.
    pub(super) fn get(&self, address: &str, lifetime: Option<Duration>) -> Option<Stored> {
        let Entry { saved, content, h1, top, directory } = storage::read_json(&self.entry(address), LONGEST_ENTRY)?;
        let age = Timestamp::now().as_second().checked_sub(saved)?;
        let is_current = lifetime.is_none_or(|lifetime| u64::try_from(age).is_ok_and(|age| age < lifetime.as_secs()));
        let is_name = content.len() == 64 && content.bytes().all(|byte| byte.is_ascii_hexdigit());
        let content = self.contents().join(&content);
        let is_right = is_current && is_name && stays_below(&top) && stays_below(&directory) && is_kept(&content, &h1);
        is_right.then_some(Stored { content, top, directory, identity: None })
    }

    /// A temporary directory for assembling a package.
    pub(super) fn workshop(&self) -> io::Result<TemporaryDirectory> {
        let folder = self.packages.join("unfinished");
        storage::create_directory(&folder)?;
        TemporaryDirectory::new_in(&folder)
    }

    /// Keeps the package in the directory `package`, which is moved, for an address. Packages with different content
    /// have different values of `identity`.
    pub(super) fn put(&self, address: &str, identity: &str, package: &Path) -> Result<Stored, Problem> {
        let (content, h1) = (self.contents().join(digest(identity)), package_hash::h1(package)?);
        self.keep(package, &content, &h1)?;
        let stored = Stored::whole(content);
        self.note(address, &stored, h1)?;
        Ok(stored)
    }

    /// Keeps a package that the cache holds for another address, too. A directory elsewhere is not kept.
    pub(super) fn put_again(&self, address: &str, stored: &Stored) -> Result<(), Problem> {
        if stored.content.parent() != Some(&self.contents()) {
            return Ok(());
        }
        self.note(address, stored, package_hash::h1(&stored.content)?)
    }

    fn note(&self, address: &str, stored: &Stored, h1: Hash) -> Result<(), Problem> {
        let content = stored.content.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Stored { top, directory, .. } = stored.clone();
        let entry = Entry { saved: Timestamp::now().as_second(), content, h1, top, directory };
        let entry = serde_json::to_vec(&entry).map_err(io::Error::from)?;
        Ok(storage::replace(&self.entry(address), &entry)?)
    }

    /// Moves a package into its place, unless it is there.
    fn keep(&self, package: &Path, content: &Path, h1: &Hash) -> io::Result<()> {
        storage::create_directory(&self.contents())?;
        let _uninterrupted = files::hold_off_interrupts();
        // What another run has put there has the same hash, or is damaged.
        if !is_kept(content, h1) {
            let _ = if content.is_symlink() { fs::remove_file(content) } else { fs::remove_dir_all(content) };
            fs::rename(package, content).or_else(|error| if is_kept(content, h1) { Ok(()) } else { Err(error) })?;
        }
        Ok(())
    }

    /// Keeps the whole package in the directory `package`, which is moved, under its address and the hash of its files.
    pub(super) fn put_whole(&self, address: &str, zh: Option<Hash>, package: &Path) -> Result<Stored, Problem> {
        let h1 = package_hash::h1(package)?;
        let content = self.whole(address, &h1);
        self.keep(package, &content, &h1)?;
        if let Some(zh) = &zh {
            storage::replace(&self.of_archive(address, zh), h1.as_str().as_bytes())?;
        }
        Ok(Stored::identified(content, address, h1, zh))
    }

    /// The whole package of an address that has one of these hashes.
    pub(super) fn get_whole(&self, address: &str, hashes: &BTreeSet<Hash>) -> Option<Stored> {
        let HashesByScheme { h1, zh, unknown: _ } = hashes.iter().collect();
        let of_files: Vec<Hash> = if h1.is_empty() {
            let of_archive = |zh: &&Hash| storage::read(&self.of_archive(address, zh), LONGEST_ENTRY)?.parse().ok();
            zh.iter().filter_map(of_archive).collect()
        } else {
            h1.into_iter().cloned().collect()
        };
        of_files.into_iter().find_map(|h1| {
            let content = self.whole(address, &h1);
            let is_right = is_kept(&content, &h1);
            let zh = zh.first().map(|zh| (*zh).clone());
            is_right.then(|| Stored::identified(content, address, h1, zh))
        })
    }

    /// Where the objects of the commit are that the address of a package names.
    pub(super) fn pack(&self, address: &str) -> PathBuf {
        self.packages.join("repositories").join(digest(address))
    }

    /// Keeps a pack file, which is moved.
    pub(super) fn put_pack(&self, address: &str, pack: &Path) -> io::Result<()> {
        let place = self.pack(address);
        storage::create_directory(place.parent().unwrap_or(&place))?;
        let _uninterrupted = files::hold_off_interrupts();
        fs::rename(pack, place)
    }

    fn whole(&self, address: &str, h1: &Hash) -> PathBuf {
        self.contents().join(digest(&format!("whole {address} {h1}")))
    }

    /// Where the hash of the files in an archive is.
    fn of_archive(&self, address: &str, zh: &Hash) -> PathBuf {
        self.packages.join("archives").join(digest(&format!("{address} {zh}")))
    }

    fn entry(&self, address: &str) -> PathBuf {
        // The address may hold a password.
        self.packages.join("addresses").join(digest(address))
    }

    fn contents(&self) -> PathBuf {
        self.packages.join("contents")
    }
}

/// Whether a directory of the cache, which is not a link and which nobody else can write to, holds files with this
/// hash.
fn is_kept(content: &Path, h1: &Hash) -> bool {
    content.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
        && !storage::is_writable_by_others(content)
        && package_hash::h1(content).ok().as_ref() == Some(h1)
}

/// Whether a path cannot lead out of the directory that it is joined to.
fn stays_below(path: &str) -> bool {
    Path::new(path).components().all(|component| matches!(component, Component::Normal(_)))
}

/// SHA-256 in hexadecimal digits.
fn digest(text: &str) -> String {
    format!("{:x}", Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(cache: &PackageCache, text: &str) -> (TemporaryDirectory, PathBuf) {
        let workshop = cache.workshop().unwrap();
        let path = workshop.path().join("package");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("main.tf"), text).unwrap();
        (workshop, path)
    }

    #[test]
    fn a_package_is_found_by_its_address_as_long_as_it_lives() {
        let directory = tempfile::tempdir().unwrap();
        let cache = PackageCache::open(directory.path());
        let (_workshop, path) = package(&cache, "one");
        let stored = cache.put("git::https://u:s3cr3t@h.test/a.git", "1", &path).unwrap();
        assert_eq!(fs::read(stored.content.join("main.tf")).unwrap(), b"one");
        assert_eq!(cache.get("git::https://u:s3cr3t@h.test/a.git", None), Some(stored.clone()));
        assert_eq!(cache.get("git::https://u:s3cr3t@h.test/a.git", Some(Duration::ZERO)), None);
        assert_eq!(cache.get("git::https://h.test/b.git", None), None);
        let stored = Stored { directory: "m".to_owned(), ..stored };
        cache.put_again("registry", &stored).unwrap();
        assert_eq!(cache.get("registry", Some(Duration::from_hours(1))), Some(stored));
        assert!(storage::clean(directory.path()).unwrap() > 0);
        assert_eq!(cache.get("registry", None), None);
    }

    #[test]
    fn a_second_run_shares_what_the_first_put_there() {
        let directory = tempfile::tempdir().unwrap();
        let cache = PackageCache::open(directory.path());
        let (_workshop, path) = package(&cache, "one");
        let first = cache.put("a", "1", &path).unwrap();
        let (_workshop, path) = package(&cache, "one");
        assert_eq!(cache.put("a", "1", &path).unwrap(), first);
        let (_workshop, path) = package(&cache, "two");
        let moved = cache.put("a", "2", &path).unwrap();
        assert_eq!(fs::read(first.content.join("main.tf")).unwrap(), b"one", "as it was, for whoever reads it");
        assert_eq!(cache.get("a", None), Some(moved));
    }

    #[test]
    fn what_is_damaged_or_leads_elsewhere_does_not_count() {
        let directory = tempfile::tempdir().unwrap();
        let cache = PackageCache::open(directory.path());
        let (_workshop, path) = package(&cache, "one");
        cache.put("a", "1", &path).unwrap();
        let right = storage::read(&cache.entry("a"), LONGEST_ENTRY).unwrap();
        let mut changed = vec!["{\"saved\":".to_owned()];
        for elsewhere in ["../../../../secret", "..", "/etc", "a/../..", "./.."] {
            for part in ["top", "directory", "content"] {
                let mut entry: serde_json::Value = serde_json::from_str(&right).unwrap();
                entry[part] = elsewhere.into();
                changed.push(entry.to_string());
            }
        }
        let mut entry: serde_json::Value = serde_json::from_str(&right).unwrap();
        entry.as_object_mut().unwrap().remove("h1");
        changed.push(entry.to_string());
        for text in &changed {
            storage::replace(&cache.entry("a"), text.as_bytes()).unwrap();
            assert_eq!(cache.get("a", None), None, "{text}");
        }
        provlock_test::survived("a module in the cache that others have changed", changed.len());
    }

    #[cfg(unix)]
    #[test]
    fn what_others_have_changed_does_not_count() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let changes: [fn(&Path, &Path); 8] = [
            |content, _| fs::write(content.join("main.tf"), "evil").unwrap(),
            |content, _| fs::write(content.join("more.tf"), "evil").unwrap(),
            |content, _| fs::remove_file(content.join("main.tf")).unwrap(),
            |content, _| symlink("/etc/hosts", content.join("more.tf")).unwrap(),
            |content, _| fs::set_permissions(content, PermissionsExt::from_mode(0o777)).unwrap(),
            |content, entry| {
                fs::rename(content, entry).unwrap();
                symlink(entry, content).unwrap();
            },
            |_, entry| fs::set_permissions(entry, PermissionsExt::from_mode(0o666)).unwrap(),
            |_, entry| fs::remove_file(entry).unwrap(),
        ];
        for (number, change) in changes.iter().enumerate() {
            let directory = tempfile::tempdir().unwrap();
            let cache = PackageCache::open(directory.path());
            let (_workshop, path) = package(&cache, "one");
            let stored = cache.put("a", "1", &path).unwrap();
            assert_eq!(cache.get("a", None).as_ref(), Some(&stored));
            let aside = directory.path().join("aside");
            change(&stored.content, &if number < 6 { aside } else { cache.entry("a") });
            assert_eq!(cache.get("a", None), None, "{number}");
            let (_workshop, path) = package(&cache, "one");
            cache.put("a", "1", &path).unwrap();
            assert_eq!(cache.get("a", None), Some(stored.clone()), "{number}");
            assert_eq!(fs::read_dir(&stored.content).unwrap().count(), 1, "{number}");
        }
        provlock_test::survived("a module in the cache that others have changed", changes.len());
    }
}
