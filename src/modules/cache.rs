//! Module packages, and the versions that registries listed, kept across runs. The versions show
//! offline runs which packages the cache may contain.
//!
//! A package lies in a directory that is named after the hash of its files, and never changes.
//! Small files refer to that directory: one for each address, and one for each address with a hash
//! in a lock file. So concurrent runs can share them. Everything is checked when it is read: the
//! files have the hash, and no other user can write to them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::checksum::text_digest;
use super::fetch_error::FetchResult;
use super::package_store::{Content, PackageStore, Readers};
use super::source::RegistryModule;
use crate::diagnostic::{self, Code, Diagnostic};
use crate::provider::{Hash, HashesByScheme, Version};
use crate::system::{TemporaryDirectory, files, storage};

/// Longest entry in bytes.
const LONGEST_ENTRY: u64 = 64 * 1024;
/// Longest list of versions in bytes.
const LONGEST_LIST: u64 = 4 << 20;

/// Packages and lists of versions in a directory. A directory that cannot be used is treated as
/// empty.
pub(super) struct PackageCache {
    packages: PackageStore,
    versions: PathBuf,
    /// Directory of a cache for one run.
    temporary: Option<TemporaryDirectory>,
}

/// The package to which an address led last.
#[derive(Serialize, Deserialize)]
struct Entry {
    /// Seconds since 1970.
    saved: i64,
    /// Hash of the files.
    h1: Hash,
    /// Directory in the package to which the address leads.
    directory: String,
}

impl PackageCache {
    /// The cache in `directory`, which need not exist; without one, a temporary directory.
    ///
    /// # Errors
    /// The temporary directory cannot be created.
    pub(super) fn open(directory: Option<&Path>) -> diagnostic::Result<Self> {
        let Some(directory) = directory else {
            let temporary = match TemporaryDirectory::new() {
                Ok(temporary) => temporary,
                Err(error) => {
                    let message =
                        format!("cannot create a temporary directory for module packages: {error}");
                    return Err(Diagnostic::error(Code::Io, message).into());
                }
            };
            let cache = Self::open(Some(temporary.path()))?;
            return Ok(Self {
                temporary: Some(temporary),
                ..cache
            });
        };
        Ok(Self {
            packages: PackageStore::new(directory.join(storage::MODULES), Readers::ThisUser),
            versions: directory.join(storage::MODULE_VERSIONS),
            temporary: None,
        })
    }

    /// Returns the versions of a module that its registry listed last.
    pub(super) fn versions(&self, module: &RegistryModule) -> Vec<Version> {
        let text = storage::read(&self.list(module), LONGEST_LIST).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Keeps the versions of a module.
    pub(super) fn put_versions(&self, module: &RegistryModule, versions: &[Version]) {
        let text: String = versions
            .iter()
            .map(|version| format!("{version}\n"))
            .collect::<Vec<_>>()
            .concat();
        storage::keep(&self.list(module), &text);
    }

    fn list(
        &self,
        RegistryModule {
            host,
            namespace,
            name,
            system,
        }: &RegistryModule,
    ) -> PathBuf {
        storage::path(
            &self.versions,
            [host.as_ascii(), &format!("{namespace}/{name}/{system}")],
        )
    }

    /// The next step if there is no space left for a package.
    pub(super) fn help_with_space(&self) -> String {
        if let Some(temporary) = &self.temporary {
            let parent = temporary.path().parent().unwrap_or(temporary.path());
            let parent = parent.display();
            return format!("free disk space for {parent}, the directory for temporary files");
        }
        let directory = self.packages.directory.display();
        format!(
            "free disk space for {directory}, or keep the cache elsewhere with --cache-dir DIR or PROVLOCK_CACHE_DIR"
        )
    }

    /// Creates a temporary directory for fetching and unpacking a package.
    pub(super) fn scratch(&self) -> io::Result<TemporaryDirectory> {
        self.packages.scratch()
    }

    /// Moves a package into the cache.
    pub(super) fn put(&self, package: &Path) -> FetchResult<Content> {
        self.packages.put(package)
    }

    /// Remembers the package to which an address leads now, and the directory in it.
    pub(super) fn remember(&self, address: &str, h1: &Hash, directory: &str) -> io::Result<()> {
        let entry = Entry {
            saved: Timestamp::now().as_second(),
            h1: h1.clone(),
            directory: directory.to_owned(),
        };
        let text = serde_json::to_vec(&entry).map_err(io::Error::from)?;
        storage::replace(&self.entry_path(address), &text)
    }

    /// Returns the package to which an address led last, and the directory in it, unless that was
    /// longer than `lifetime` ago.
    pub(super) fn get_remembered(
        &self,
        address: &str,
        lifetime: Option<Duration>,
    ) -> Option<(Content, String)> {
        let Entry {
            saved,
            h1,
            directory,
        } = storage::read_json(&self.entry_path(address), LONGEST_ENTRY)?;
        let age = Timestamp::now().as_second().checked_sub(saved)?;
        let is_current = lifetime
            .is_none_or(|lifetime| u64::try_from(age).is_ok_and(|age| age < lifetime.as_secs()));
        let content = self.packages.content_of(h1);
        let is_right = is_current && stays_below(&directory) && self.packages.accepts(&content);
        is_right.then_some((content, directory))
    }

    /// Remembers the package of an address and hashes in lock files.
    pub(super) fn record(&self, address: &str, h1: &Hash, zh: Option<&Hash>) -> io::Result<()> {
        [Some(h1), zh]
            .into_iter()
            .flatten()
            .try_for_each(|hash| self.remember(&key_of_recorded(address, hash), h1, ""))
    }

    /// Returns the package of an address and hashes in a lock file. If there is an `h1:`, `zh:`
    /// does not count.
    pub(super) fn get_recorded(&self, address: &str, hashes: &BTreeSet<Hash>) -> Option<Content> {
        let HashesByScheme {
            h1,
            zh,
            unknown: _,
            malformed: _,
        } = hashes.iter().collect();
        let decisive = if h1.is_empty() { &zh } else { &h1 };
        decisive.iter().find_map(|hash| {
            let (content, _) = self.get_remembered(&key_of_recorded(address, hash), None)?;
            (h1.is_empty() || content.h1 == **hash).then_some(content)
        })
    }

    /// Path of the file with the objects of the commit in the address of a package.
    pub(super) fn pack(&self, address: &str) -> PathBuf {
        self.folder("repositories").join(text_digest(address))
    }

    /// Keeps a pack file, which is moved.
    pub(super) fn put_pack(&self, address: &str, pack: &Path) -> io::Result<()> {
        let place = self.pack(address);
        storage::create_directory(place.parent().unwrap_or(&place))?;
        let _uninterrupted = files::hold_off_interrupts();
        fs::rename(pack, place)
    }

    fn entry_path(&self, address: &str) -> PathBuf {
        // The address may contain a password.
        self.folder("addresses").join(text_digest(address))
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.packages.directory.join(name)
    }
}

/// Whether a path cannot lead out of the directory that it is joined to.
fn stays_below(path: &str) -> bool {
    Path::new(path)
        .components()
        .all(|component| matches!(component, Component::Normal(_)))
}

/// The key of a package that lock files record with an address and a hash.
fn key_of_recorded(address: &str, hash: &Hash) -> String {
    format!("{address} {hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Puts a package into a cache, and remembers it for an address.
    fn put(cache: &PackageCache, address: &str, text: &str) -> Content {
        let scratch = cache.scratch().unwrap();
        let path = scratch.path().join("package");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("main.tf"), text).unwrap();
        let content = cache.put(&path).unwrap();
        cache.remember(address, &content.h1, "").unwrap();
        content
    }

    fn found(cache: &PackageCache, address: &str) -> Option<Content> {
        cache
            .get_remembered(address, None)
            .map(|(content, _)| content)
    }

    #[test]
    fn a_package_is_found_by_its_address_as_long_as_it_lives() {
        let directory = tempfile::tempdir().unwrap();
        let cache = PackageCache::open(Some(directory.path())).unwrap();
        let address = "git::https://u:s3cr3t@h.test/a.git";
        let content = put(&cache, address, "one");
        assert_eq!(fs::read(content.path.join("main.tf")).unwrap(), b"one");
        assert_eq!(found(&cache, address).as_ref(), Some(&content));
        assert_eq!(cache.get_remembered(address, Some(Duration::ZERO)), None);
        assert_eq!(found(&cache, "git::https://h.test/b.git"), None);
        cache.remember("registry", &content.h1, "m").unwrap();
        assert_eq!(
            cache.get_remembered("registry", Some(Duration::from_hours(1))),
            Some((content, "m".to_owned()))
        );
        assert!(storage::clean(directory.path()).unwrap() > 0);
        assert_eq!(found(&cache, "registry"), None);
    }

    #[test]
    fn a_recorded_package_is_found_by_its_address_and_hashes() {
        let directory = tempfile::tempdir().unwrap();
        let cache = PackageCache::open(Some(directory.path())).unwrap();
        let (content, other) = (put(&cache, "a", "one"), put(&cache, "b", "two"));
        let zh: Hash = format!("zh:{}", "0".repeat(64)).parse().unwrap();
        cache.record("a", &content.h1, Some(&zh)).unwrap();
        let get = |address: &str, hashes: &[&Hash]| {
            let hashes = hashes.iter().copied().cloned().collect();
            cache.get_recorded(address, &hashes)
        };
        assert_eq!(get("a", &[&content.h1]), Some(content.clone()));
        assert_eq!(
            get("a", &[&zh]),
            Some(content.clone()),
            "without a hash of files, that of the archive decides"
        );
        assert_eq!(get("a", &[&zh, &other.h1]), None);
        assert_eq!(get("a", &[&other.h1]), None);
        assert_eq!(get("b", &[&other.h1]), None, "it was never recorded");
        // A file that names a package with a different hash.
        cache
            .remember(&key_of_recorded("a", &content.h1), &other.h1, "")
            .unwrap();
        assert_eq!(get("a", &[&content.h1]), None);
    }

    #[test]
    fn a_second_run_shares_the_packages_of_the_first() {
        let directory = tempfile::tempdir().unwrap();
        let cache = PackageCache::open(Some(directory.path())).unwrap();
        let first = put(&cache, "a", "one");
        assert_eq!(put(&cache, "a", "one"), first);
        let moved = put(&cache, "a", "two");
        assert_eq!(
            fs::read(first.path.join("main.tf")).unwrap(),
            b"one",
            "unchanged, for runs that read it"
        );
        assert_eq!(found(&cache, "a"), Some(moved));
    }

    #[test]
    fn an_entry_that_is_damaged_or_leads_elsewhere_is_ignored() {
        let directory = tempfile::tempdir().unwrap();
        let cache = PackageCache::open(Some(directory.path())).unwrap();
        put(&cache, "a", "one");
        let right = storage::read(&cache.entry_path("a"), LONGEST_ENTRY).unwrap();
        let mut changed = vec!["{\"saved\":".to_owned()];
        for elsewhere in ["../../../../secret", "..", "/etc", "a/../..", "./.."] {
            for part in ["directory", "h1", "saved"] {
                let mut entry: serde_json::Value = serde_json::from_str(&right).unwrap();
                entry[part] = elsewhere.into();
                changed.push(entry.to_string());
            }
        }
        let mut entry: serde_json::Value = serde_json::from_str(&right).unwrap();
        entry.as_object_mut().unwrap().remove("h1");
        changed.push(entry.to_string());
        for text in &changed {
            storage::replace(&cache.entry_path("a"), text.as_bytes()).unwrap();
            assert_eq!(found(&cache, "a"), None, "{text}");
        }
        provlock_test::survived("a module in the cache that was changed", changed.len());
    }

    #[cfg(unix)]
    #[test]
    fn a_package_that_another_program_changed_is_ignored() {
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
            let cache = PackageCache::open(Some(directory.path())).unwrap();
            let content = put(&cache, "a", "one");
            assert_eq!(found(&cache, "a").as_ref(), Some(&content));
            let aside = directory.path().join("aside");
            change(
                &content.path,
                &if number < 6 {
                    aside
                } else {
                    cache.entry_path("a")
                },
            );
            assert_eq!(found(&cache, "a"), None, "{number}");
            put(&cache, "a", "one");
            assert_eq!(found(&cache, "a").as_ref(), Some(&content), "{number}");
            assert_eq!(fs::read_dir(&content.path).unwrap().count(), 1, "{number}");
        }
        provlock_test::survived("a module in the cache that was changed", changes.len());
    }
}
