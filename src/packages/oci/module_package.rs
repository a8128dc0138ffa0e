//! Packages of modules in OCI registries
//! (<https://opentofu.org/docs/cli/oci_registries/module-package/>; OpenTofu's `internal/getmodules/oci_getter.go`).

use std::fs::File;
use std::io::{self, Read, Seek as _};

use sha2::{Digest as _, Sha256};
use url::Url;

use super::authorization::Access;
use super::client::{ManifestName, OciRegistries};
use super::manifest::{self, MANIFEST, MODULE_PACKAGE};

use crate::packages::error::{Result, SourceError};
use crate::provider::OciRepository;

/// The tag of an address that names none.
const DEFAULT_TAG: &str = "latest";

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
        let mut found = None;
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
            if found.replace(manifest).is_some() {
                return Err("it has more than one tag or digest".to_owned());
            }
        }
        let name = found.unwrap_or_else(|| ManifestName::Tag(DEFAULT_TAG.to_owned()));
        Ok(Self { repository, name })
    }

    /// Whether the address always names the same package.
    pub fn is_immutable(&self) -> bool {
        matches!(self.name, ManifestName::Digest(_))
    }
}

impl OciRegistries {
    /// Downloads the zip archive of a package, at most `limit` bytes of it, to a file, and checks
    /// its digest. `subject` describes the package.
    ///
    /// # Errors
    /// Fails if the registry does not have the archive, or the archive differs from its manifest.
    pub fn download_module(
        &self,
        package: &ModulePackage,
        subject: &str,
        limit: u64,
        file: &mut File,
    ) -> Result<()> {
        let client = self.client(Access::Pull, package.repository.clone())?;
        let manifest = client
            .manifest(&package.name, MANIFEST)
            .map_err(|error| client.source_error(error, subject))?;
        let layer = manifest::read_manifest(&manifest, MODULE_PACKAGE)
            .map_err(|problem| invalid_manifest(subject, &problem))?;

        let copied = client
            .blob(&layer.digest, limit, |body, _| copy(body, file))
            .map_err(|error| client.source_error(error, subject))?;
        let (digest, size) = copied.map_err(|error| {
            SourceError::invalid_response(subject, format!("it cannot be written: {error}"))
        })?;
        if digest != layer.digest.to_string() {
            let problem = "contains a different digest than the archive that the registry sent";
            return Err(invalid_manifest(subject, problem));
        }
        if size != layer.size {
            let problem = format!(
                "says that the archive has {} bytes, but it has {size}",
                layer.size
            );
            return Err(invalid_manifest(subject, &problem));
        }
        Ok(())
    }
}

/// Replaces the content of a file, and returns the digest and the size of the new content.
fn copy(body: &mut dyn Read, file: &mut File) -> io::Result<(String, u64)> {
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

fn invalid_manifest(subject: &str, problem: &str) -> SourceError {
    SourceError::invalid_response(subject, format!("its manifest {problem}"))
}
