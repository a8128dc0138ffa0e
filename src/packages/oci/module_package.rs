//! Packages of modules in OCI registries
//! (<https://opentofu.org/docs/cli/oci_registries/module-package/>; OpenTofu's
//! `internal/getmodules/oci_getter.go`).

use std::fs::File;
use std::io::{self, Read, Seek as _};

use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use url::Url;

use super::authorization::Access;
use super::client::{ManifestName, OciRegistries, RepositoryClient};
use super::manifest::{self, Digest, MANIFEST, MODULE_PACKAGE};

use crate::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::net::RequestErrorKind;
use crate::packages::error::{Result, SourceError};
use crate::provider::OciRepository;

/// The tag of an address that names none.
const DEFAULT_TAG: &str = "latest";

/// The manifest of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ModuleManifest {
    /// Digest of the manifest, computed from its bytes: `sha256:` and 64 hexadecimal digits.
    pub(crate) digest: String,
    /// Time at which the package was created according to its publisher, or why that is not known.
    pub(crate) created: std::result::Result<Timestamp, String>,
}

/// Error of a request for a package.
#[derive(Clone, Debug)]
pub(crate) struct ModulePackageError {
    pub(crate) error: SourceError,
    /// Whether the registry answered that it has no such tag or digest.
    pub(crate) is_gone: bool,
}

impl From<SourceError> for ModulePackageError {
    fn from(error: SourceError) -> Self {
        Self {
            error,
            is_gone: false,
        }
    }
}

impl From<Diagnostics> for ModulePackageError {
    fn from(errors: Diagnostics) -> Self {
        SourceError::from(errors).into()
    }
}

/// A package in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModulePackage {
    repository: OciRepository,
    name: ManifestName,
}

impl ModulePackage {
    /// Reads `oci://REGISTRY/NAME[?tag=TAG|?digest=DIGEST]`.
    ///
    /// # Errors
    /// The problem with the address, as a continuation of its name.
    pub fn parse(url: &Url) -> std::result::Result<Self, String> {
        let text = url.as_str().split(['?', '#']).next().unwrap_or_default();
        let repository = text.strip_prefix("oci://").unwrap_or(text).parse();
        let repository = repository
            .map_err(|error| format!("it is not the address of a repository: {error}"))?;
        let mut selected = None;
        for (name, value) in url.query_pairs() {
            let manifest = match &*name {
                "tag" if is_tag(&value) => ManifestName::Tag(value.into_owned()),
                "digest" => ManifestName::Digest(
                    value
                        .parse()
                        .map_err(|()| format!("{value:?} is not a sha256 digest"))?,
                ),
                "tag" => return Err(format!("{value:?} is not a tag")),
                _ => {
                    return Err(format!(
                        "it has the argument {name:?}, but only tag and digest are allowed"
                    ));
                }
            };
            if selected.replace(manifest).is_some() {
                return Err("it has more than one tag or digest".to_owned());
            }
        }
        let name = selected.unwrap_or_else(|| ManifestName::Tag(DEFAULT_TAG.to_owned()));
        Ok(Self { repository, name })
    }

    /// Whether the address always names the same package.
    pub fn is_immutable(&self) -> bool {
        matches!(self.name, ManifestName::Digest(_))
    }

    /// The tag in the address, or the tag of an address that contains neither a tag nor a digest.
    pub(crate) fn tag(&self) -> Option<&str> {
        match &self.name {
            ManifestName::Tag(tag) => Some(tag),
            ManifestName::Digest(_) => None,
        }
    }

    /// Whether the address contains a tag other than `latest`, which every release moves.
    pub(crate) fn has_fixed_tag(&self) -> bool {
        self.tag().is_some_and(|tag| tag != DEFAULT_TAG)
    }

    /// The digest in the address.
    pub(crate) fn digest(&self) -> Option<String> {
        match &self.name {
            ManifestName::Tag(_) => None,
            ManifestName::Digest(digest) => Some(digest.to_string()),
        }
    }
}

impl OciRegistries {
    /// Returns the names of the tags in the repository of a package. `subject` describes the
    /// package.
    ///
    /// # Errors
    /// Fails if the registry has no such repository, or does not list its tags.
    pub(crate) fn module_tags(
        &self,
        package: &ModulePackage,
        subject: &str,
    ) -> Result<Vec<String>> {
        let client = self.client(Access::Pull, package.repository.clone())?;
        let tags = client
            .tags()
            .map_err(|error| client.source_error(error, subject))?;
        tags.ok_or_else(|| {
            let message = format!(
                "cannot get {subject}: the OCI registry has no repository {}",
                client.repository
            );
            Diagnostic::error(Code::RequestFailed, message).into()
        })
    }

    /// Fetches the manifest of a package, without its archive. `subject` describes the package.
    ///
    /// # Errors
    /// Fails if the registry does not have it, or it is not the manifest of a module.
    pub(crate) fn module_manifest(
        &self,
        package: &ModulePackage,
        subject: &str,
    ) -> std::result::Result<ModuleManifest, ModulePackageError> {
        let client = self.client(Access::Pull, package.repository.clone())?;
        let manifest = fetch_manifest(&client, package, subject)?;
        manifest::read_manifest(&manifest, MODULE_PACKAGE).map_err(|problem| {
            SourceError::invalid_response(subject, format!("its manifest {problem}"))
        })?;
        Ok(ModuleManifest {
            digest: Digest::of(&manifest).to_string(),
            created: manifest::created(&manifest).map_err(|why| format!("its manifest {why}")),
        })
    }

    /// Downloads the zip archive of a package, at most `limit` bytes of it, to a file, and checks
    /// its digest. `subject` describes the package. Returns the digest of the manifest.
    ///
    /// # Errors
    /// Fails if the registry does not have the archive, or the archive differs from its manifest.
    pub fn download_module(
        &self,
        package: &ModulePackage,
        subject: &str,
        limit: u64,
        file: &mut File,
    ) -> std::result::Result<String, ModulePackageError> {
        let client = self.client(Access::Pull, package.repository.clone())?;
        let manifest = fetch_manifest(&client, package, subject)?;
        let layer = manifest::read_manifest(&manifest, MODULE_PACKAGE)
            .map_err(|problem| invalid_manifest_error(subject, &problem))?;

        let copied = client
            .download_blob(&layer.digest, limit, |body, _| copy_with_digest(body, file))
            .map_err(|error| client.source_error(error, subject))?;
        let (digest, size) = copied.map_err(|error| {
            SourceError::invalid_response(subject, format!("it cannot be written: {error}"))
        })?;
        // Without this check the registry could send a different archive under the manifest's name.
        if digest != layer.digest.to_string() {
            let problem = "contains a different digest than the archive that the registry sent";
            return Err(invalid_manifest_error(subject, problem).into());
        }
        if size != layer.size {
            let problem = format!(
                "says that the archive has {} bytes, but it has {size}",
                layer.size
            );
            return Err(invalid_manifest_error(subject, &problem).into());
        }
        Ok(Digest::of(&manifest).to_string())
    }
}

/// Fetches the manifest of a package.
fn fetch_manifest(
    client: &RepositoryClient<'_>,
    package: &ModulePackage,
    subject: &str,
) -> std::result::Result<Vec<u8>, ModulePackageError> {
    client
        .manifest(&package.name, MANIFEST)
        .map_err(|error| ModulePackageError {
            is_gone: error.kind == RequestErrorKind::NotFound,
            error: client.source_error(error, subject),
        })
}

/// Replaces the content of a file, and returns the digest and the size of the new content.
fn copy_with_digest(body: &mut dyn Read, file: &mut File) -> io::Result<(String, u64)> {
    file.rewind()?;
    file.set_len(0)?;
    let size = io::copy(body, file)?;
    file.rewind()?;
    let mut sha256 = Sha256::new();
    io::copy(file, &mut sha256)?;
    file.rewind()?;
    Ok((format!("sha256:{:x}", sha256.finalize()), size))
}

/// Whether a text is a tag (OCI distribution specification 1.1, "Pulling manifests").
fn is_tag(text: &str) -> bool {
    let Some(first) = text.bytes().next() else {
        return false;
    };
    text.len() <= 128
        && is_word(first)
        && text
            .bytes()
            .all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn invalid_manifest_error(subject: &str, problem: &str) -> SourceError {
    SourceError::invalid_response(subject, format!("its manifest {problem}"))
}
