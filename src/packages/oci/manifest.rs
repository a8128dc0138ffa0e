//! The documents by which OpenTofu lays a provider out in a repository: an index for each version,
//! which lists a manifest for each platform, which names one zip archive (OpenTofu's "Provider
//! Mirrors in OCI Registries").

use std::str::FromStr;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::provider::{Hash, Platform};
use crate::system::bounded::List;

/// The media type of an index.
pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
/// The media type of a manifest.
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media types that are accepted for an index: also that of a manifest, whose error differs
/// from that of a missing index.
pub(super) const ACCEPT_INDEX: &str =
    "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json";

pub(super) const PROVIDER: &str = "application/vnd.opentofu.provider";
pub(super) const PROVIDER_TARGET: &str = "application/vnd.opentofu.provider-target";
pub(super) const MODULE_PACKAGE: &str = "application/vnd.opentofu.modulepkg";
pub(super) const ZIP: &str = "archive/zip";

/// An empty configuration (OCI image specification 1.1, "Guidance for an empty descriptor").
const EMPTY: &str = "application/vnd.oci.empty.v1+json";
pub(super) const EMPTY_CONTENT: &[u8] = b"{}";

/// Of an index, which has one for each platform, or of a manifest, which has one.
const MOST_DESCRIPTORS: usize = 1_000;

/// A SHA-256 digest, `sha256:` and 64 lower-case hexadecimal digits; other algorithms are of no use
/// here.
#[derive(Clone, PartialEq, Eq, derive_more::Debug, derive_more::Display)]
#[debug("{self}")]
#[display("sha256:{}", self.0.value())]
pub(super) struct Digest(Hash);

/// A reference to a blob or manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) digest: Digest,
    /// Bytes.
    pub(super) size: u64,
}

/// The manifests of a version's platforms. A platform may have two, which is an error only if that
/// platform is fetched.
pub(super) type Targets = Vec<(Platform, Reference)>;

/// An index or a manifest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OciManifest {
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    pub(super) artifact_type: String,
    #[serde(default)]
    manifests: Option<List<Descriptor, MOST_DESCRIPTORS>>,
    #[serde(default)]
    pub(super) layers: Option<List<Descriptor, MOST_DESCRIPTORS>>,
    #[serde(default)]
    annotations: Option<Annotations>,
}

/// The annotations that are of use here.
#[derive(Deserialize)]
struct Annotations {
    /// Date and time of the creation (RFC 3339), according to the publisher.
    #[serde(default, rename = "org.opencontainers.image.created")]
    created: Value,
}

/// Description of a part in an index or a manifest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    #[serde(default)]
    pub(super) media_type: String,
    #[serde(default)]
    artifact_type: String,
    digest: String,
    size: u64,
    /// The content itself, in base64.
    #[serde(default)]
    pub(super) data: String,
    #[serde(default)]
    platform: Option<PlatformDescriptor>,
}

#[derive(Deserialize)]
struct PlatformDescriptor {
    os: String,
    architecture: String,
    #[serde(default, rename = "os.version")]
    os_version: String,
}

/// Reads the platforms of a version's index, at least one. Entries for something
/// other than a provider's platform are left out, and so are entries for certain versions of an
/// operating system.
///
/// An error continues the name of the index with the problem.
pub(super) fn read_index(bytes: &[u8]) -> Result<Targets, String> {
    let document = read_document(bytes)?;
    let wrong_type = match (document.media_type.as_str(), document.artifact_type.as_str()) {
        (INDEX, PROVIDER) => None,
        (_, MODULE_PACKAGE) => Some("is a module, not a provider".to_owned()),
        (MANIFEST, _) => {
            Some("is the manifest of one platform, but a provider's tag must be an index of all platforms".to_owned())
        }
        (INDEX, "") => Some(format!("is an index without the artifact type {PROVIDER}, maybe a container image")),
        (INDEX, other) => Some(format!("is an index of the artifact type {}, not {PROVIDER}", quoted(other))),
        (other, _) => Some(format!("has the media type {}, not {INDEX}", quoted(other))),
    };
    if let Some(problem) = wrong_type {
        return Err(problem);
    }
    let mut targets = Vec::new();
    let descriptors = document.manifests.unwrap_or_default().0;
    for descriptor in descriptors
        .into_iter()
        .filter(|descriptor| descriptor.artifact_type == PROVIDER_TARGET)
    {
        if descriptor.media_type != MANIFEST {
            let media_type = quoted(&descriptor.media_type);
            return Err(format!(
                "lists a platform of the media type {media_type}, not {MANIFEST}"
            ));
        }
        let Some(platform) = &descriptor.platform else {
            return Err("lists a manifest without a platform".to_owned());
        };
        // The platform of a provider has no version of an operating system.
        if !platform.os_version.is_empty() {
            continue;
        }
        // Other texts do not name a platform.
        if let Ok(platform) = format!("{}_{}", platform.os, platform.architecture).parse() {
            targets.push((platform, descriptor.checked_reference()?));
        }
    }
    if targets.is_empty() {
        Err("lists no platform".to_owned())
    } else {
        Ok(targets)
    }
}

/// Reads the manifest of an artifact of this type: the zip archive that it names, which must be
/// one.
pub(super) fn read_manifest(bytes: &[u8], artifact_type: &str) -> Result<Reference, String> {
    let document = read_document(bytes)?;
    if document.media_type != MANIFEST {
        return Err(format!(
            "has the media type {}, not {MANIFEST}",
            quoted(&document.media_type)
        ));
    }
    if document.artifact_type != artifact_type {
        return Err(format!(
            "has the artifact type {}, not {artifact_type}",
            quoted(&document.artifact_type)
        ));
    }
    let mut archives = document
        .layers
        .unwrap_or_default()
        .0
        .into_iter()
        .filter(|layer| layer.media_type == ZIP);
    match (archives.next(), archives.next()) {
        (Some(archive), None) => archive.checked_reference(),
        (None, _) => Err(format!("has no layer of the media type {ZIP}")),
        (Some(_), Some(_)) => Err(format!("has several layers of the media type {ZIP}")),
    }
}

/// Returns the time at which an artifact was created according to its manifest.
///
/// An error continues the name of the manifest with the problem.
pub(super) fn created(bytes: &[u8]) -> Result<Timestamp, String> {
    const NONE: &str = "has no annotation org.opencontainers.image.created";
    let Some(annotations) = read_document(bytes)?.annotations else {
        return Err(NONE.to_owned());
    };
    match annotations.created {
        Value::Null => Err(NONE.to_owned()),
        Value::String(text) => text.parse().map_err(|_| {
            let text = quoted(&text);
            format!("has {text} as org.opencontainers.image.created, which is not a date and time")
        }),
        _ => Err("has an annotation org.opencontainers.image.created that is no text".to_owned()),
    }
}

/// The manifest of an artifact with one layer.
pub(super) fn artifact_manifest(artifact_type: &str, layer: &Value) -> String {
    json!({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "artifactType": artifact_type,
        "config": descriptor_json(EMPTY, &Digest::of(EMPTY_CONTENT), EMPTY_CONTENT.len() as u64),
        "layers": [layer],
    })
    .to_string()
}

/// The descriptor of a part in a manifest.
pub(super) fn descriptor_json(media_type: &str, digest: &Digest, size: u64) -> Value {
    json!({ "mediaType": media_type, "digest": digest.to_string(), "size": size })
}

fn read_document(bytes: &[u8]) -> Result<OciManifest, String> {
    serde_json::from_slice(bytes).map_err(|error| {
        format!(
            "is not an OCI manifest (line {}, column {})",
            error.line(),
            error.column()
        )
    })
}

/// The start of a text that a registry sent, without control characters.
fn quoted(text: &str) -> String {
    let start: String = text.chars().filter(|c| !c.is_control()).take(100).collect();
    format!("{start:?}")
}

impl Descriptor {
    fn checked_reference(&self) -> Result<Reference, String> {
        match self.digest.parse() {
            Ok(digest) => Ok(Reference {
                digest,
                size: self.size,
            }),
            Err(()) => Err(format!(
                "contains the digest {}, which is not a sha256 digest",
                quoted(&self.digest)
            )),
        }
    }
}

impl Digest {
    /// The digest of these bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(Hash::zh_of(bytes))
    }

    /// The digest of an archive with this hash.
    pub(super) fn of_archive(zh: &Hash) -> Self {
        Self(zh.clone())
    }

    /// The digest as the hash of a zip archive, which is what the digest of a layer is.
    pub(super) fn as_zh(&self) -> &Hash {
        &self.0
    }
}

impl FromStr for Digest {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let hexadecimal = text.strip_prefix("sha256:").ok_or(())?;
        let hash: Hash = format!("zh:{hexadecimal}").parse().map_err(|_| ())?;
        if hash.is_well_formed() {
            Ok(Self(hash))
        } else {
            Err(())
        }
    }
}
