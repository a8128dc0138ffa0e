//! Publishing the hashes in the cache of this machine.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{mem, process, thread};

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::packages::oci::OciRegistries;
use crate::packages::oci::facts::ReleaseTag;
use crate::packages::shared_facts::{Envelope, ReleaseFacts};
use crate::provider::{OciRepository, SigningKey};
use crate::system::parallel;

/// Releases that are published at the same time.
const THREADS: usize = 8;
/// Maximum number of times that a release is published again because other machines have replaced
/// it.
const MOST_ROUNDS: usize = 10;
/// The longest pause before a release is requested again.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// The outcome for one release.
pub struct PublishedRelease {
    /// The release, with the packages that this machine has hashed.
    pub facts: ReleaseFacts,
    /// Whether the published facts have changed; none if another release failed before.
    pub outcome: Option<Result<bool>>,
}

/// Publishes facts, signed with `key`, in addition to the published facts that the same key signed.
/// After a failure no other release is begun.
///
/// Registries cannot replace a manifest on a condition. So the published facts are fetched again
/// after a pause, which is longer than another machine needs that has read the old facts at the
/// same time, and published again if that machine has replaced them.
pub(in crate::packages) fn publish(
    registries: &OciRegistries,
    repository: &OciRepository,
    key: &SigningKey,
    releases: Vec<ReleaseFacts>,
) -> Vec<PublishedRelease> {
    let has_failed = AtomicBool::new(false);
    let mut outcomes = vec![None; releases.len()];
    // The indexes of the releases that are published in the next round.
    let mut to_publish: Vec<usize> = (0..releases.len()).collect();
    for round in 0..MOST_ROUNDS {
        let started = Instant::now();
        let pushed = parallel::map(mem::take(&mut to_publish), THREADS, |index| {
            if has_failed.load(Ordering::Relaxed) {
                return (index, None);
            }
            let facts = &releases[index];
            let tag = ReleaseTag {
                repository,
                address: &facts.address,
                version: &facts.version,
            };
            let outcome = registries.push_facts(&tag, |published| {
                merged_envelope(published.as_ref(), facts.clone(), key)
            });
            if outcome.is_err() {
                has_failed.store(true, Ordering::Relaxed);
            }
            (index, Some(outcome))
        });
        for (index, outcome) in pushed {
            match outcome {
                Some(Ok(true)) => to_publish.push(index),
                // In later rounds this means that the facts are still there, so the first
                // result stays.
                Some(Ok(false)) | None if round > 0 => continue,
                _ => {}
            }
            outcomes[index] = outcome;
        }
        if to_publish.is_empty() || has_failed.load(Ordering::Relaxed) {
            break;
        }
        // As long as it took to publish all, but at least one second, which is twice the back-off.
        // Machines that have begun together do not go on together.
        let pause = started
            .elapsed()
            .max(registries.client.settings().back_off * 2)
            .min(LONGEST_PAUSE);
        thread::sleep(pause + pause * (process::id() % 16) / 16);
    }
    releases
        .into_iter()
        .zip(outcomes)
        .map(|(facts, outcome)| PublishedRelease { facts, outcome })
        .collect()
}

/// The facts together with the published ones that the same key has signed; none if these contain
/// all of them.
fn merged_envelope(
    published_envelope: Option<&Envelope>,
    facts: ReleaseFacts,
    key: &SigningKey,
) -> Result<Option<Envelope>> {
    let ReleaseFacts {
        address,
        version,
        packages,
    } = &facts;
    let keys = [key.public_key()];
    // Facts that another key has signed are replaced.
    let own = published_envelope.and_then(|envelope| envelope.open(&keys, address, version).ok());
    let Some(published) = own else {
        return Ok(Some(Envelope::seal(&facts, key)));
    };

    for (platform, digest) in packages {
        // The archive is the same, and the hashes of its files differ.
        if let Some(other) = published.packages.get(platform)
            && other.zh == digest.zh
            && other != digest
        {
            let message = format!(
                "the published hashes of {address} {version} for {platform} differ from the ones computed here"
            );
            return Err(Diagnostic::error(Code::PackageNotAuthentic, message)
                .note("the same archive has a different h1: there, signed with the same key")
                .help("find out which machine published it: the machine and the key may be compromised")
                .into());
        }
    }

    let mut merged = published.clone();
    merged.packages.extend(facts.packages);
    if merged == published {
        return Ok(None);
    }
    Ok(Some(Envelope::seal(&merged, key)))
}
