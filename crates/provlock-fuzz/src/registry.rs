//! Answers of registries.

use provlock::packages::{AvailableVersions, read_reported_hashes, read_versions};
use provlock::provider::{Hash, Platform};
use serde_json::json;

/// Reads an answer as a list of versions and as the metadata of a package. Accepted parts of a list
/// are well-formed, and are read the same when they are written again; so is every reported hash.
pub fn registry(data: &[u8]) -> bool {
    let versions = read_versions(data).map(|versions| names(&versions));
    if let Ok(versions) = &versions {
        for platform in versions.iter().flat_map(|(_, platforms)| platforms) {
            assert!(platform.parse::<Platform>().is_ok(), "{platform:?}");
        }
        let again = read_versions(&written(versions)).expect("what was written");
        assert_eq!(names(&again), *versions);
    }
    let reported = read_reported_hashes(data);
    for hash in reported.iter().flatten() {
        assert_eq!(hash.as_str().parse::<Hash>().as_ref(), Ok(hash));
    }
    versions.is_ok_and(|versions| !versions.is_empty()) || reported.is_some()
}

/// The versions, each with its platforms.
fn names(list: &AvailableVersions) -> Vec<(String, Vec<String>)> {
    let versions = list.versions.iter();
    let versions = versions.map(|(version, available)| {
        (
            version.to_string(),
            available
                .platforms
                .iter()
                .map(|platform| platform.to_string())
                .collect(),
        )
    });
    versions.collect()
}

/// The list as a registry would send it.
fn written(versions: &[(String, Vec<String>)]) -> Vec<u8> {
    let versions = versions.iter().map(|(version, platforms)| {
        let platforms = platforms
            .iter()
            .filter_map(|platform| platform.split_once('_'));
        let platforms: Vec<_> = platforms
            .map(|(os, arch)| json!({ "os": os, "arch": arch }))
            .collect();
        json!({ "version": version, "platforms": platforms })
    });
    json!({ "versions": versions.collect::<Vec<_>>() })
        .to_string()
        .into_bytes()
}
