//! Facts about releases in repositories: a repository for each provider, a tag for each version,
//! and in its manifest the signed document itself (the field `data` of a descriptor, OCI image
//! specification 1.1), so that one request brings it.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::authorization::Access;
use super::client::{LONGEST_TAG, ManifestName, OciRegistries};
use super::manifest::{self, Digest, EMPTY_CONTENT, MANIFEST, OciManifest};
use super::push::Content;
use super::tag_of_version;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use crate::net::RequestErrorKind;
use crate::packages::shared_facts::envelope::Envelope;
use crate::packages::shared_facts::release::unusable_warning;
use crate::provider::{OciRepository, ProviderAddress, Version};

const ARTIFACT: &str = "application/vnd.provlock.release-facts.v1";
const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";

/// A release with packages for 50 platforms has about 25 KB.
const MAXIMUM_MANIFEST_BYTES: u64 = 128 << 10;

/// The reason why facts are not used.
pub(in crate::packages) enum FactsError {
    /// The registry refuses a login or sent an unusable response. It may have usable facts about
    /// another release.
    Unusable(Diagnostics),
    /// The registry did not answer as a registry.
    Unavailable(Diagnostics),
    /// The registry did not answer in time.
    Late,
}

/// The tag of a release's facts, in the repository of its provider below `repository`.
#[derive(derive_more::Display)]
#[display("the facts of {address} {version}")]
pub(in crate::packages) struct ReleaseTag<'a> {
    pub(in crate::packages) repository: &'a OciRepository,
    pub(in crate::packages) address: &'a ProviderAddress,
    pub(in crate::packages) version: &'a Version,
}

impl OciRegistries {
    /// The published facts about a release, if there are any. One request, which is not repeated.
    pub(in crate::packages) fn published_facts(
        &self,
        release: &ReleaseTag<'_>,
        time_limit: Duration,
    ) -> std::result::Result<Option<Envelope>, FactsError> {
        // A name or version that is too long for the registry cannot have been published.
        let Ok((repository, tag)) = release.repository_and_tag() else {
            return Ok(None);
        };
        let client = self
            .client(Access::Pull, repository)
            .map_err(FactsError::Unavailable)?;
        let answer =
            client.manifest_in_one_attempt(&tag, MANIFEST, MAXIMUM_MANIFEST_BYTES, time_limit);
        match answer {
            Ok(manifest) => match read_envelope(&manifest) {
                Ok(envelope) => Ok(Some(envelope)),
                Err(why) => Err(release.unusable_error(&why)),
            },
            Err(error) => match error.kind {
                RequestErrorKind::NotFound => Ok(None),
                RequestErrorKind::Timeout { .. } => Err(FactsError::Late),
                RequestErrorKind::TooLarge { .. } | RequestErrorKind::InvalidBody(_) => {
                    Err(release.unusable_error(&error.to_string()))
                }
                RequestErrorKind::Unauthorized { .. } | RequestErrorKind::Credentials(_) => Err(
                    FactsError::Unusable(client.source_error(error, release).into()),
                ),
                _ => Err(FactsError::Unavailable(
                    client.source_error(error, release).into(),
                )),
            },
        }
    }

    /// Replaces the published facts by the result of `make`, which is passed them if there are any.
    /// Returns false, and publishes nothing, if `make` returns `None`.
    ///
    /// # Errors
    /// The registry or `make` refuses it.
    pub(in crate::packages) fn push_facts(
        &self,
        release: &ReleaseTag<'_>,
        make: impl FnOnce(Option<Envelope>) -> Result<Option<Envelope>>,
    ) -> Result<bool> {
        let (repository, tag) = release.repository_and_tag()?;
        let client = self.client(Access::PullAndPush, repository)?;
        let published = match client.manifest(&tag, MANIFEST) {
            // A manifest that is not an envelope is useless, and is replaced.
            Ok(manifest) => read_envelope(&manifest).ok(),
            Err(error) if error.kind == RequestErrorKind::NotFound => None,
            Err(error) => return Err(client.push_error(error, release)),
        };
        let Some(envelope) = make(published)? else {
            return Ok(false);
        };
        let content = envelope.to_json();
        // The document is in the manifest itself, too, so that readers need one request.
        let mut layer =
            manifest::descriptor_json(ENVELOPE, &Digest::of(&content), content.len() as u64);
        layer["data"] = BASE64_STANDARD.encode(&content).into();
        let manifest = manifest::artifact_manifest(ARTIFACT, &layer);
        if manifest.len() as u64 > MAXIMUM_MANIFEST_BYTES {
            return Err(release.impossible_error("there are too many platforms for one document"));
        }
        for blob in [EMPTY_CONTENT, &content] {
            client
                .push_blob(&Digest::of(blob), Content::Bytes(blob))
                .map_err(|error| client.push_error(error, release))?;
        }
        client
            .push_manifest(&tag, MANIFEST, manifest.as_bytes())
            .map_err(|error| client.push_error(error, release))?;
        Ok(true)
    }
}

impl ReleaseTag<'_> {
    /// The provider's repository and the version's tag.
    fn repository_and_tag(&self) -> Result<(OciRepository, ManifestName)> {
        let repository = self.repository.of_provider(self.address);
        let repository = repository
            .map_err(|_| self.impossible_error("the name of the repository would be too long"))?;
        let tag = tag_of_version(self.version);
        if tag.len() > LONGEST_TAG {
            return Err(self.impossible_error("the version is too long for a tag"));
        }
        Ok((repository, ManifestName::Tag(tag)))
    }

    fn unusable_error(&self, why: &str) -> FactsError {
        FactsError::Unusable(unusable_warning(self.address, self.version, why).into())
    }

    fn impossible_error(&self, why: &str) -> Diagnostics {
        Diagnostic::error(
            Code::InvalidArgument,
            format!("cannot publish {self}: {why}"),
        )
        .into()
    }
}

/// The envelope in a manifest. The signature covers whatever the manifest's digest covers. An error
/// is a sentence about the published manifest.
fn read_envelope(manifest: &[u8]) -> std::result::Result<Envelope, String> {
    let OciManifest {
        artifact_type,
        layers,
        ..
    } = serde_json::from_slice(manifest).map_err(|_| "it is not an OCI manifest")?;
    if artifact_type != ARTIFACT {
        return Err("it is an OCI artifact of a different type".to_owned());
    }
    let layers = layers.unwrap_or_default().0;
    let layer = layers
        .iter()
        .find(|layer| layer.media_type == ENVELOPE && !layer.data.is_empty());
    let content = layer.and_then(|layer| BASE64_STANDARD.decode(&layer.data).ok());
    Envelope::parse(&content.ok_or("its manifest does not contain the document")?)
}
