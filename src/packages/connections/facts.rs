//! Facts about packages that machines share: trusting and publishing them.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Connections;
use crate::diagnostic::Result;
use crate::packages::registry::TrustedFacts;
use crate::packages::shared_facts::{ReleaseFacts, publish};
use crate::packages::{PublishedRelease, SharedFacts};
use crate::provider::{Dialect, OciRepository, ProviderAddress, SharedCache, SigningKey, Version};

impl Connections {
    /// The shared facts that were requested.
    pub fn shared_facts(&self) -> Vec<Arc<SharedFacts>> {
        let mut all = self.shared.facts.values();
        all.sort_by(|one, other| one.repository().cmp(other.repository()));
        all
    }

    /// Publishes the hashes in the cache for these releases, or for all, below `repository`, and
    /// signs the hashes of each release with `key`.
    ///
    /// # Errors
    /// The CLI configuration, which may contain logins, cannot be read.
    pub fn publish_facts(
        &self,
        dialect: Dialect,
        repository: &OciRepository,
        key: &SigningKey,
        only: Option<&BTreeSet<(ProviderAddress, Version)>>,
    ) -> Result<Vec<PublishedRelease>> {
        let mut facts = Vec::new();
        if let Some(cache) = self.cache() {
            for (release, packages) in cache.releases() {
                if only.is_some_and(|only| !only.contains(&release)) {
                    continue;
                }
                let (address, version) = release;
                facts.push(ReleaseFacts {
                    address,
                    version,
                    packages,
                });
            }
        }
        let registries = self.oci_registries(dialect)?;
        Ok(publish(&registries, repository, key, facts))
    }

    /// The hashes of releases that other machines have published in the repository of these
    /// settings, trusted if one of its keys has signed them. There is one [`SharedFacts`] for each
    /// dialect and repository, so that each release is requested once per run.
    ///
    /// # Errors
    /// The CLI configuration, which may contain logins, cannot be read.
    pub(super) fn trusted_facts(
        &self,
        dialect: Dialect,
        settings: &SharedCache,
    ) -> Result<TrustedFacts> {
        let registries = self.oci_registries(dialect)?;
        let SharedCache {
            repository,
            trusted_keys,
        } = settings.clone();
        let key = (dialect, repository.clone());
        let facts = self
            .shared
            .facts
            .get_or_compute(&key, || Arc::new(SharedFacts::new(registries, repository)));
        Ok(TrustedFacts {
            facts,
            trusted_keys,
        })
    }
}
