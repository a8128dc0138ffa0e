//! Facts about releases in repositories: a repository for each provider, a tag for each version, and in its manifest the signed
//! document itself (the field `data` of a descriptor, OCI image specification 1.1), so that one request brings it.

use std::fmt;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Serialize};

use super::authorization::Access;
use super::client::{LONGEST_TAG, OciRegistries, RepositoryClient};
use super::login::login_help;
use super::manifest::{Digest, MANIFEST};
use super::tag_of_version;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use crate::net::{RequestError, RequestErrorKind};
use crate::packages::shared_facts::Envelope;
use crate::provider::{OciRepository, ProviderAddress, Version};
use crate::system::bounded::List;

const ARTIFACT: &str = "application/vnd.provlock.release-facts.v1";
const ENVELOPE: &str = "application/vnd.dsse.envelope.v1+json";
/// A configuration that says nothing (OCI image specification 1.1, "Guidance for an empty descriptor").
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
const EMPTY_CONTENT: &[u8] = b"{}";

/// A release with packages for 50 platforms has about 25 KB.
const MAXIMUM_MANIFEST_BYTES: u64 = 128 << 10;
/// There is one.
const MOST_LAYERS: usize = 16;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    schema_version: u8,
    media_type: &'static str,
    artifact_type: &'static str,
    config: Descriptor,
    layers: [Descriptor; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: &'static str,
    digest: String,
    size: usize,
    data: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Received {
    #[serde(default)]
    artifact_type: String,
    layers: List<Layer, MOST_LAYERS>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Layer {
    media_type: String,
    #[serde(default)]
    data: String,
}

/// Why facts cannot be had.
#[derive(Clone, Debug)]
pub(in crate::packages) enum FactsError {
    /// The registry did not answer as one.
    Registry(Diagnostics),
    /// It refused the login, or wants one: for this repository at least.
    Login(Diagnostics),
    /// What it sent cannot be used.
    Invalid(String),
}

/// Which release, in which repository.
pub(in crate::packages) struct Place<'a> {
    pub(in crate::packages) repository: &'a OciRepository,
    pub(in crate::packages) address: &'a ProviderAddress,
    pub(in crate::packages) version: &'a Version,
}

impl OciRegistries {
    /// What is published of a release below a repository; none if nothing is. One request, which is not repeated.
    pub(in crate::packages) fn facts(&self, place: &Place<'_>) -> std::result::Result<Option<Envelope>, FactsError> {
        let Ok((repository, tag)) = place.resolve() else { return Ok(None) };
        let client = self.client(repository).map_err(FactsError::Registry)?;
        match client.manifest_in_one_attempt(&tag, MANIFEST, MAXIMUM_MANIFEST_BYTES) {
            Ok(manifest) => read(&manifest).map(Some),
            Err(error) if error.kind == RequestErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed(&client, error, place)),
        }
    }

    /// Publishes facts below a repository, in the place of what is there. `make` makes them of that; none if they are not to
    /// be changed. Whether they were.
    ///
    /// # Errors
    /// The registry refused it, or `make` did.
    pub(in crate::packages) fn push_facts(
        &self,
        place: &Place<'_>,
        make: impl FnOnce(Option<Envelope>) -> Result<Option<Envelope>>,
    ) -> Result<bool> {
        let (repository, tag) = place.resolve()?;
        let client = self.client_for(Access::PullAndPush, repository)?;
        let published = match client.manifest_by_tag(&tag, MANIFEST) {
            // What is no envelope is of no use to anybody, and replaced.
            Ok(manifest) => read(&manifest).ok(),
            Err(error) if error.kind == RequestErrorKind::NotFound => None,
            Err(error) => return Err(not_pushed(&client, error, place)),
        };
        let Some(envelope) = make(published)? else { return Ok(false) };
        let content = envelope.to_json();
        let manifest = manifest(&content);
        if manifest.len() as u64 > MAXIMUM_MANIFEST_BYTES {
            return Err(place.impossible("there are too many platforms for one document"));
        }
        let pushed = [EMPTY_CONTENT, &content].iter().try_for_each(|blob| client.push_blob(blob));
        let pushed = pushed.and_then(|()| client.push_manifest(&tag, MANIFEST, &manifest));
        pushed.map(|()| true).map_err(|error| not_pushed(&client, error, place))
    }
}

impl Place<'_> {
    /// The provider's repository and the version's tag.
    fn resolve(&self) -> Result<(OciRepository, String)> {
        let repository = self.repository.of_provider(self.address);
        let repository = repository.map_err(|_| self.impossible("the name of the repository would be too long"))?;
        let tag = tag_of_version(self.version);
        if tag.len() > LONGEST_TAG {
            return Err(self.impossible("the version is too long for a tag"));
        }
        Ok((repository, tag))
    }

    fn impossible(&self, why: &str) -> Diagnostics {
        Diagnostic::error(Code::InvalidArgument, format!("cannot publish {self}: {why}")).into()
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the facts of {} {}", self.address, self.version)
    }
}

fn failed(client: &RepositoryClient<'_>, error: RequestError, place: &Place<'_>) -> FactsError {
    let told = |error| Diagnostics::from(client.source_error(error, place));
    match error.kind {
        RequestErrorKind::TooLarge { .. } | RequestErrorKind::InvalidBody(_) => FactsError::Invalid(error.to_string()),
        RequestErrorKind::Unauthorized { .. } | RequestErrorKind::Credentials(_) => FactsError::Login(told(error)),
        _ => FactsError::Registry(told(error)),
    }
}

/// The error of an upload. Of a missing repository a registry may say that it is not found.
fn not_pushed(client: &RepositoryClient<'_>, error: RequestError, place: &Place<'_>) -> Diagnostics {
    if error.kind == RequestErrorKind::NotFound {
        let message = format!("cannot publish {place}: {} does not take it (status 404)", client.repository());
        let error = Diagnostic::error(Code::RequestFailed, message);
        return error.help(login_help(client.repository())).into();
    }
    let note = format!("needed to publish them in {}", client.repository());
    Diagnostics::from(client.source_error(error, place)).map(|error| error.note(note.clone()))
}

fn manifest(envelope: &[u8]) -> Vec<u8> {
    let descriptor = |media_type, content: &[u8]| Descriptor {
        media_type,
        digest: Digest::of(content).to_string(),
        size: content.len(),
        data: BASE64_STANDARD.encode(content),
    };
    let manifest = Manifest {
        schema_version: 2,
        media_type: MANIFEST,
        artifact_type: ARTIFACT,
        config: descriptor(EMPTY, EMPTY_CONTENT),
        layers: [descriptor(ENVELOPE, envelope)],
    };
    serde_json::to_vec(&manifest).unwrap_or_default()
}

/// The envelope in a manifest. Its digest says nothing that its signature does not say.
fn read(manifest: &[u8]) -> std::result::Result<Envelope, FactsError> {
    let invalid = |why: &str| FactsError::Invalid(why.to_owned());
    let Received { artifact_type, layers } =
        serde_json::from_slice(manifest).map_err(|_| invalid("it is not an OCI manifest"))?;
    if artifact_type != ARTIFACT {
        return Err(invalid("it is an OCI artifact of another type"));
    }
    let layer = layers.0.iter().find(|layer| layer.media_type == ENVELOPE && !layer.data.is_empty());
    let content = layer.and_then(|layer| BASE64_STANDARD.decode(&layer.data).ok());
    let content = content.ok_or_else(|| invalid("its manifest does not hold the document"))?;
    Envelope::parse(&content).map_err(|error| FactsError::Invalid(error.to_string()))
}
