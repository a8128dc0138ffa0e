//! What `cache push` and `cache keygen` say, as JSON.

use provlock::packages;
use provlock::provider::{OciRepository, PublicKey};
use serde::Serialize;

/// Where facts were published, and which.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "published_facts", deny_unknown_fields))]
pub(crate) struct PublishedFacts {
    /// `oci://HOST/PATH`
    place: String,
    /// The key that checks the signatures.
    public_key: String,
    /// Those that are published now; what could not be published is among the errors.
    releases: Vec<PublishedRelease>,
}

/// A release about which facts are published.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "published_release", deny_unknown_fields))]
struct PublishedRelease {
    address: String,
    version: String,
    /// How many packages of it this machine knows.
    packages: usize,
    /// Whether it was not published so before.
    changed: bool,
}

/// A new key.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "signing_key_file", deny_unknown_fields))]
pub(crate) struct SigningKeyFile {
    /// The file with the private key, which is not printed.
    pub(crate) file: String,
    pub(crate) public_key: String,
}

impl PublishedFacts {
    pub(crate) fn new(repository: &OciRepository, key: PublicKey, releases: &[packages::PublishedRelease]) -> Self {
        let releases = releases.iter().filter_map(|release| {
            let changed = *release.outcome.as_ref()?.as_ref().ok()?;
            let (address, version) = (release.address.to_string(), release.version.to_string());
            Some(PublishedRelease { address, version, packages: release.packages, changed })
        });
        let place = format!("oci://{repository}");
        Self { place, public_key: key.to_string(), releases: releases.collect() }
    }
}
