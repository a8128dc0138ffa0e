//! The hash cache.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use tempfile::TempDir;

use super::*;

use crate::provider::{Dialect, ProviderAddress, Version};
use crate::system::storage;

type Cached = (PackageId, PackageDigest);

fn package(provider: &str, version: &str, platform: &str, seed: u8) -> Cached {
    let package = PackageId {
        address: ProviderAddress::parse(provider, Dialect::Terraform).unwrap(),
        version: version.parse().unwrap(),
        platform: platform.parse().unwrap(),
    };
    let digest = PackageDigest {
        zh: Hash::zh(&[seed; 32]),
        h1: Hash::h1(&[seed + 1; 32]),
        h1_with_directories: Hash::h1(&[seed + 2; 32]),
        size: 188_000_000,
    };
    (package, digest)
}

fn null() -> Cached {
    package("hashicorp/null", "3.2.4", "linux_amd64", 1)
}

fn cache() -> (TempDir, HashCache) {
    let directory = tempfile::tempdir().unwrap();
    let cache = HashCache::open(&directory.path().join("not/there/yet"));
    (directory, cache)
}

/// All files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let children = fs::read_dir(directory)
        .unwrap()
        .map(|child| child.unwrap().path());
    children
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

fn put(cache: &HashCache, (package, digest): &Cached) {
    cache.store_by_zh(package, digest);
    cache.store_by_provider(package, digest);
}

#[test]
fn what_is_stored_is_found_by_zh_and_by_provider() {
    let (directory, cache) = cache();
    assert_eq!(cache.digest_by_zh(&null().1.zh, "null"), None);
    assert_eq!(cache.digest_of(&null().0), None);
    put(&cache, &null());
    assert_eq!(cache.digest_by_zh(&null().1.zh, "null"), Some(null().1));
    assert_eq!(cache.digest_of(&null().0), Some(null().1));
    assert_eq!(files(directory.path()).len(), 2);
}

#[test]
fn a_namespace_with_an_underscore_is_found() {
    let (_directory, cache) = cache();
    let kube = package(
        "app.terraform.io/openai_inc/kube",
        "1.0.0",
        "linux_amd64",
        1,
    );
    put(&cache, &kube);
    assert_eq!(cache.digest_of(&kube.0), Some(kube.1));
}

#[test]
fn all_entries_are_listed_by_release() {
    let (directory, cache) = cache();
    let of = |provider, version, platform| package(provider, version, platform, 1);
    let all = [
        of("acme/gamma", "1.0.0", "darwin_arm64"),
        of("acme/gamma", "1.0.0", "linux_amd64"),
        of("acme/gamma", "1.1.0", "linux_amd64"),
        of("h.test:8443/acme/gamma", "1.0.0+x", "linux_amd64"),
    ];
    for cached in &all {
        put(&cache, cached);
    }
    let listed = |cache: &HashCache| -> Vec<Cached> {
        let releases = cache.releases().into_iter();
        let package = |address: &ProviderAddress, version: &Version, platform| PackageId {
            address: address.clone(),
            version: version.clone(),
            platform,
        };
        releases
            .flat_map(|((address, version), packages)| {
                packages
                    .into_iter()
                    .map(move |(platform, digest)| (package(&address, &version, platform), digest))
            })
            .collect()
    };
    let mut expected = all.to_vec();
    expected.sort_by_key(|(package, _)| package.address.clone());
    assert_eq!(listed(&cache), expected);
    // One in the place of another does not count.
    let paths: Vec<_> = files(directory.path())
        .into_iter()
        .filter(|path| path.to_str().unwrap().contains("by-provider"))
        .collect();
    let moved = paths
        .iter()
        .find(|path| path.ends_with("1.1.0/linux_amd64"))
        .unwrap();
    fs::rename(moved, moved.with_file_name("linux_arm64")).unwrap();
    assert_eq!(listed(&cache).len(), 3);
}

#[test]
fn what_was_not_put_is_not_found() {
    let (_directory, cache) = cache();
    put(&cache, &null());
    assert_eq!(cache.digest_by_zh(&null().1.zh, "random"), None);
    assert_eq!(cache.digest_by_zh(&Hash::zh(&[9; 32]), "null"), None);
    assert_eq!(
        cache.digest_by_zh(&"zh:../../../etc/passwd".parse().unwrap(), "null"),
        None
    );
    assert_eq!(cache.digest_by_zh(&null().1.h1, "null"), None);
    for other in [
        package("hashicorp/null", "3.2.3", "linux_amd64", 1),
        package("hashicorp/null", "3.2.4", "linux_arm64", 1),
        package("other/null", "3.2.4", "linux_amd64", 1),
        package("example.com/hashicorp/null", "3.2.4", "linux_amd64", 1),
    ] {
        assert_eq!(cache.digest_of(&other.0), None, "{other:?}");
    }
}

#[test]
fn odd_names_and_names_that_differ_in_case_stay_apart() {
    let (_directory, cache) = cache();
    let packages = [
        package(
            "bücher.example:8443/äcme/x",
            "1.0.0-rc1+build.A",
            "linux_amd64",
            1,
        ),
        package(
            "bücher.example:8443/äcme/x",
            "1.0.0-rc1+build.a",
            "linux_amd64",
            11,
        ),
        package("bücher.example/äcme/x", "1.0.0-RC1", "linux_amd64", 21),
        package("bücher.example/äcme/x", "1.0.0-rc1", "linux_amd64", 31),
    ];
    for package in &packages {
        put(&cache, package);
    }
    for package in &packages {
        assert_eq!(cache.digest_of(&package.0).as_ref(), Some(&package.1));
        assert_eq!(
            cache.digest_by_zh(&package.1.zh, "x").as_ref(),
            Some(&package.1)
        );
    }
}

#[test]
fn a_distrusted_cache_finds_nothing() {
    let (_directory, cache) = cache();
    let (package, digest) = null();
    put(&cache, &(package.clone(), digest.clone()));
    let listed = Some([package.platform.clone()].into());
    cache.change_release_evidence(&package.address, &package.version, |platforms| {
        platforms.listed = listed;
    });
    assert_ne!(
        cache.release_evidence(&package.address, &package.version),
        ReleaseEvidence::default()
    );
    let cache = cache.distrusted();
    assert_eq!(cache.digest_by_zh(&digest.zh, &package.address.name), None);
    assert_eq!(cache.digest_of(&package), None);
    assert_eq!(cache.packages(&package.address), []);
    assert_eq!(cache.packages_of(&package.address, &package.version), []);
    assert!(cache.releases().is_empty());
    assert_eq!(
        cache.release_evidence(&package.address, &package.version),
        ReleaseEvidence::default()
    );
}

#[test]
fn a_damaged_entry_is_ignored_and_written_anew() {
    let (directory, cache) = cache();
    put(&cache, &null());
    let whole = fs::read(&files(directory.path())[0]).unwrap();
    let mut damages: Vec<Vec<u8>> = (0..whole.len())
        .map(|length| whole[..length].to_vec())
        .collect();
    for position in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[position] ^= 1;
        damages.push(flipped);
    }
    damages.extend([
        b"\xff\xfe".to_vec(),
        vec![b'x'; 100_000],
        [whole.clone(), b"more".to_vec()].concat(),
    ]);
    for damaged in damages {
        for file in files(directory.path()) {
            fs::write(file, &damaged).unwrap();
        }
        assert_eq!(
            cache.digest_by_zh(&null().1.zh, "null"),
            None,
            "{:?}",
            String::from_utf8_lossy(&damaged)
        );
        assert_eq!(
            cache.digest_of(&null().0),
            None,
            "{:?}",
            String::from_utf8_lossy(&damaged)
        );
    }
    put(&cache, &null());
    assert_eq!(cache.digest_by_zh(&null().1.zh, "null"), Some(null().1));
    assert_eq!(cache.digest_of(&null().0), Some(null().1));
}

#[test]
fn an_entry_under_a_wrong_name_is_ignored() {
    let (directory, cache) = cache();
    put(&cache, &null());
    let others = files(directory.path())
        .into_iter()
        .map(|file| fs::read(file).unwrap());
    let others: Vec<_> = others.collect();
    let moved = package("hashicorp/null", "3.2.5", "linux_amd64", 7);
    put(&cache, &moved);
    for file in files(directory.path()) {
        fs::write(file, &others[0]).unwrap();
    }
    assert_eq!(cache.digest_by_zh(&moved.1.zh, "null"), None);
    assert_eq!(cache.digest_of(&moved.0), None);
}

#[test]
fn many_threads_put_and_get_the_same_package() {
    let (directory, cache) = cache();
    let smaller = PackageDigest {
        size: 1,
        ..null().1
    };
    let packages = [null(), (null().0, smaller)];
    thread::scope(|scope| {
        for index in 0..8 {
            let (cache, packages) = (&cache, &packages);
            scope.spawn(move || {
                for _ in 0..50 {
                    put(cache, &packages[index % 2]);
                    let found = cache
                        .digest_by_zh(&null().1.zh, "null")
                        .expect("there is always a whole entry");
                    assert!(packages.iter().any(|(_, digest)| *digest == found));
                    assert!(cache.digest_of(&null().0).is_some());
                }
            });
        }
    });
    assert_eq!(files(directory.path()).len(), 2, "no temporary file stays");
}

#[test]
fn clean_removes_the_cache_and_nothing_else() {
    let (directory, cache) = cache();
    let parent = directory.path().join("not/there/yet");
    assert_eq!(storage::clean(&parent).unwrap(), 0);
    put(&cache, &null());
    let size = storage::size_below(&parent);
    let other = parent.join("other");
    fs::write(&other, "mine").unwrap();
    assert!(size > 0);
    assert_eq!(storage::clean(&parent).unwrap(), size);
    assert_eq!(cache.digest_by_zh(&null().1.zh, "null"), None);
    assert_eq!(files(directory.path()), [other]);
}

#[test]
fn a_cache_that_cannot_be_written_has_no_entries() {
    let (directory, _) = cache();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let cache = HashCache::open(&file);
    put(&cache, &null());
    assert_eq!(cache.digest_by_zh(&null().1.zh, "null"), None);
}
