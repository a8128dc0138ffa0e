//! Adding packages to the tag of a version, in the layout that OpenTofu reads.

use serde_json::{Map, Value, json};

use super::authorization::Access;
use super::client::{LONGEST_TAG, ManifestName, OciRegistries, RepositoryClient};
use super::manifest::{
    self, ACCEPT_INDEX, Digest, EMPTY_CONTENT, INDEX, MANIFEST, PROVIDER, PROVIDER_TARGET,
    Reference, Targets, ZIP,
};
use super::push::Content;
use super::tag_of_version;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use crate::net::{RequestError, RequestErrorKind};
use crate::packages::archive::PackageDigest;
use crate::provider::{Hash, OciRepository, Platform, Version};

/// The tag of a version in the repository of a provider, which need not exist.
#[derive(derive_more::Display)]
#[display("oci://{}:{tag}", client.repository)]
pub(crate) struct ProviderTag<'a> {
    client: RepositoryClient<'a>,
    tag: String,
    /// Targets that its index listed when it was read.
    targets: Targets,
}

/// A package that is in the repository, and that no tag leads to yet.
pub(crate) struct PushedPackage {
    platform: Platform,
    manifest: Reference,
}

impl<'a> ProviderTag<'a> {
    /// Reads the index.
    ///
    /// # Errors
    /// The registry cannot be asked, or something other than a provider has the tag.
    pub(crate) fn read(
        registries: &'a OciRegistries,
        repository: OciRepository,
        version: &Version,
        is_read_only: bool,
    ) -> Result<Self> {
        let access = if is_read_only {
            Access::Pull
        } else {
            Access::PullAndPush
        };
        let client = registries.client(access, repository)?;
        let mut tag = Self {
            client,
            tag: tag_of_version(version),
            targets: Targets::new(),
        };
        if tag.tag.len() > LONGEST_TAG {
            let message = format!("{version} cannot be mirrored: it is too long for a tag");
            return Err(Diagnostic::error(Code::InvalidArgument, message).into());
        }
        let (_, targets) = tag.read_index()?;
        tag.targets = targets;
        Ok(tag)
    }

    /// Whether the index lists a platform.
    pub(crate) fn lists(&self, platform: &Platform) -> bool {
        self.targets.iter().any(|(listed, _)| listed == platform)
    }

    /// The hash and the size of the archive that the index leads to for a platform; none if it
    /// leads to no archive that is there, or to several.
    pub(crate) fn listed_archive(&self, platform: &Platform) -> Result<Option<(Hash, u64)>> {
        let mut fitting = self.targets.iter().filter(|(listed, _)| listed == platform);
        let (Some((_, target)), None) = (fitting.next(), fitting.next()) else {
            return Ok(None);
        };
        let manifest = match self
            .client
            .manifest(&ManifestName::Digest(target.digest.clone()), MANIFEST)
        {
            Ok(manifest) => manifest,
            Err(error) if error.kind == RequestErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.read_error(error)),
        };
        let Ok(layer) = manifest::read_manifest(&manifest, PROVIDER_TARGET) else {
            return Ok(None);
        };
        let is_there = self
            .client
            .has_blob(&layer.digest)
            .map_err(|error| self.read_error(error))?;
        Ok(is_there.then(|| (layer.digest.as_zh().clone(), layer.size)))
    }

    /// Uploads a package, as far as it is not there, and its manifest.
    pub(crate) fn push(
        &self,
        platform: &Platform,
        package: Content<'_>,
        digest: &PackageDigest,
    ) -> Result<PushedPackage> {
        let archive = Digest::of_archive(&digest.zh);
        let layer = manifest::descriptor_json(ZIP, &archive, digest.size);
        let manifest = manifest::artifact_manifest(PROVIDER_TARGET, &layer);
        let reference = Reference {
            digest: Digest::of(manifest.as_bytes()),
            size: manifest.len() as u64,
        };

        // Registries refuse a manifest whose blobs they do not have.
        self.push_blob(&archive, package)?;
        self.push_blob(&Digest::of(EMPTY_CONTENT), Content::Bytes(EMPTY_CONTENT))?;
        self.client
            .push_manifest(
                &ManifestName::Digest(reference.digest.clone()),
                MANIFEST,
                manifest.as_bytes(),
            )
            .map_err(|error| self.client.push_error(error, self))?;
        Ok(PushedPackage {
            platform: platform.clone(),
            manifest: reference,
        })
    }

    /// Uploads a blob, unless it is there.
    fn push_blob(&self, digest: &Digest, content: Content<'_>) -> Result<()> {
        let has_blob = self
            .client
            .has_blob(digest)
            .map_err(|error| self.client.push_error(error, self))?;
        if !has_blob {
            self.client
                .push_blob(digest, content)
                .map_err(|error| self.client.push_error(error, self))?;
        }
        Ok(())
    }

    /// Lists packages in the index, in place of others for the same platforms. Other entries stay.
    ///
    /// The index is read again, because another machine may have added something meanwhile;
    /// registries have no way to replace it on a condition.
    pub(crate) fn list_in_index(&self, packages: &[PushedPackage]) -> Result<()> {
        let (mut index, _) = self.read_index()?;
        let mut manifests = match index.remove("manifests") {
            Some(Value::Array(manifests)) => manifests,
            _ => Vec::new(),
        };
        manifests.retain(|descriptor| !packages.iter().any(|package| package.replaces(descriptor)));
        manifests.extend(packages.iter().map(PushedPackage::descriptor));
        index.extend([
            ("schemaVersion".to_owned(), 2.into()),
            ("mediaType".to_owned(), INDEX.into()),
            ("artifactType".to_owned(), PROVIDER.into()),
            ("manifests".to_owned(), manifests.into()),
        ]);
        let index = Value::from(index).to_string();
        let pushed = self.client.push_manifest(
            &ManifestName::Tag(self.tag.clone()),
            INDEX,
            index.as_bytes(),
        );
        pushed.map_err(|error| self.client.push_error(error, self))
    }

    /// Reads the published index, as JSON and as its list of packages; both empty if there is no
    /// tag. The list lacks the entries that are no packages, which [`Self::list_in_index`] keeps.
    fn read_index(&self) -> Result<(Map<String, Value>, Targets)> {
        let bytes = match self
            .client
            .manifest(&ManifestName::Tag(self.tag.clone()), ACCEPT_INDEX)
        {
            Ok(bytes) => bytes,
            Err(error) if error.kind == RequestErrorKind::NotFound => {
                return Ok((Map::new(), Targets::new()));
            }
            Err(error) => return Err(self.read_error(error)),
        };
        parse_index(&bytes).map_err(|problem| {
            let error = Diagnostic::error(
                Code::InvalidPackage,
                format!("{self} {problem}, so nothing is added to it"),
            );
            error
                .help("find out who put it there, remove the tag, and run the command again")
                .into()
        })
    }

    fn read_error(&self, error: RequestError) -> Diagnostics {
        self.client.source_error(error, self).into()
    }
}

/// Parses an index, as JSON and as its list of packages.
fn parse_index(bytes: &[u8]) -> std::result::Result<(Map<String, Value>, Targets), String> {
    let targets = manifest::read_index(bytes)?;
    let json = serde_json::from_slice(bytes).map_err(|_| "is not a JSON object")?;
    Ok((json, targets))
}

impl PushedPackage {
    fn descriptor(&self) -> Value {
        let Self {
            platform: Platform { os, arch },
            manifest: Reference { digest, size },
        } = self;
        let mut descriptor = manifest::descriptor_json(MANIFEST, digest, *size);
        descriptor["artifactType"] = PROVIDER_TARGET.into();
        descriptor["platform"] = json!({ "os": os, "architecture": arch });
        descriptor
    }

    /// Whether a descriptor is one of the same platform, as OpenTofu looks for it.
    fn replaces(&self, descriptor: &Value) -> bool {
        let platform = &descriptor["platform"];
        let has_version = platform["os.version"]
            .as_str()
            .is_some_and(|version| !version.is_empty());
        descriptor["artifactType"] == PROVIDER_TARGET
            && !has_version
            && platform["os"] == self.platform.os.as_str()
            && platform["architecture"] == self.platform.arch.as_str()
    }
}
