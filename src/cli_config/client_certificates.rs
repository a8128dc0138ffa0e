//! `client_certificate` blocks: the certificates that this machine shows to named hosts. Neither
//! OpenTofu nor Terraform has such a block, and both ignore it.

use std::path::{Path, PathBuf};

use super::document::{Body, Located, invalid};
use crate::diagnostic::{Location, Result};

/// A `client_certificate` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// PEM file with the certificate, and any intermediate certificates after it.
    pub certificate: PathBuf,
    /// PEM file with the private key, which may be the same file.
    pub key: PathBuf,
    /// Location of the block.
    pub location: Location,
}

/// Reads a block; its paths are relative to its file.
pub(super) fn read(block: &Located<Body<'_>>) -> Result<ClientCertificate> {
    let base = block.location.path().parent().unwrap_or(Path::new(""));
    let path = |name: &str| -> Result<PathBuf> {
        match block.value.string(name)? {
            Some(text) if !text.value.is_empty() => Ok(base.join(text.value)),
            _ => {
                let message = format!("the block needs \"{name}\", the path of a PEM file");
                Err(invalid(&message, block.location.clone()).into())
            }
        }
    };
    Ok(ClientCertificate {
        certificate: path("certificate")?,
        key: path("key")?,
        location: block.location.clone(),
    })
}
