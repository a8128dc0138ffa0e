//! `provider_installation` blocks: sources from which OpenTofu and Terraform install providers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use url::Url;

use super::document::{Body, Located, invalid};
use crate::diagnostic::{Location, Result};
use crate::provider::{Dialect, ProviderAddress, ProviderPattern, ProviderSelection};
use crate::system::SafeUrl;

/// A `provider_installation` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderInstallation {
    /// The methods in the order of the file. If several offer a version, the first provides it.
    pub methods: Vec<InstallationMethod>,
    /// Providers that are taken from a directory, with any version. They are never locked.
    pub dev_overrides: BTreeMap<ProviderAddress, PathBuf>,
    /// Location of the block.
    pub location: Location,
}

/// One installation method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallationMethod {
    /// Its kind.
    pub kind: MethodKind,
    /// The providers that it is for.
    pub providers: ProviderSelection,
    /// Number of repetitions of a failed download, if the block sets it.
    pub download_retries: Option<u32>,
    /// Location of the block.
    pub location: Location,
}

/// The kinds of installation methods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MethodKind {
    /// The registry that the provider's address names.
    Direct,
    /// A directory.
    FilesystemMirror(PathBuf),
    /// A server that speaks the provider mirror protocol.
    NetworkMirror {
        /// The base URL, which ends with a slash.
        url: SafeUrl,
        /// Whether the mirror's hashes are trusted for platforms that were not downloaded.
        trust_all_hashes: bool,
    },
    /// An OCI registry: the repository's address, with `${hostname}`, `${namespace}` and `${type}`.
    OciMirror(String),
    /// A method of a newer version, by its block's type. Using it is an error.
    Unknown(String),
}

/// Reads a `provider_installation` block: methods, and overrides of providers under development.
/// Paths are relative to `base`, the current directory.
pub(super) fn read_installation(
    block: &Located<Body<'_>>,
    base: &Path,
    dialect: Dialect,
) -> Result<ProviderInstallation> {
    let mut methods = Vec::new();
    let mut dev_overrides = BTreeMap::new();
    for (name, method) in block.value.inner_blocks()? {
        if name != "dev_overrides" {
            methods.push(read_method(name, &method, base, dialect)?);
            continue;
        }
        if !methods.is_empty() {
            return Err(invalid(
                "\"dev_overrides\" must come before all installation methods",
                method.location,
            )
            .into());
        }
        for (address, path) in method.value.texts() {
            let address = ProviderAddress::parse(address, dialect).map_err(|error| {
                invalid(
                    format!("{address:?} is not a provider address: {error}"),
                    path.location,
                )
            })?;
            dev_overrides.insert(address, base.join(path.value));
        }
    }
    Ok(ProviderInstallation {
        methods,
        dev_overrides,
        location: block.location.clone(),
    })
}

/// Reads an installation method, such as `network_mirror { … }`. Paths are relative to `base`.
fn read_method(
    name: &str,
    method: &Located<Body<'_>>,
    base: &Path,
    dialect: Dialect,
) -> Result<InstallationMethod> {
    let body = method.value;
    let kind = match name {
        "direct" => MethodKind::Direct,
        "filesystem_mirror" => MethodKind::FilesystemMirror(
            base.join(body.required_string("path", &method.location)?.value),
        ),
        "network_mirror" => {
            let url = body.required_string("url", &method.location)?;
            MethodKind::NetworkMirror {
                url: parse_mirror_url(url.value)
                    .map_err(|problem| invalid(problem, url.location))?,
                trust_all_hashes: body.boolean("trust_all_hashes")?.unwrap_or(false),
            }
        }
        "oci_mirror" => MethodKind::OciMirror(
            body.required_string("repository_template", &method.location)?
                .value
                .to_owned(),
        ),
        _ => MethodKind::Unknown(name.to_owned()),
    };
    Ok(InstallationMethod {
        kind,
        providers: ProviderSelection {
            include: read_patterns(body, "include", dialect)?,
            exclude: read_patterns(body, "exclude", dialect)?,
        },
        download_retries: body.count("download_retry_count")?,
        location: method.location.clone(),
    })
}

/// Parses the URL of a network mirror, and adds the slash at its end. An error is a sentence
/// without a password.
pub(crate) fn parse_mirror_url(text: &str) -> std::result::Result<SafeUrl, String> {
    // A text that is not a URL may contain a password anywhere, so it is not shown.
    let mut url =
        Url::parse(text).map_err(|error| format!("a network mirror must have a URL: {error}"))?;
    if url.scheme() != "https" {
        let shown = SafeUrl::from(url);
        return Err(format!(
            "{shown} is not the URL of a network mirror: it does not start with https"
        ));
    }
    if !url.path().ends_with('/') {
        url.set_path(&format!("{}/", url.path()));
    }
    Ok(url.into())
}

fn read_patterns(body: Body<'_>, name: &str, dialect: Dialect) -> Result<Vec<ProviderPattern>> {
    let texts = body.strings(name)?.unwrap_or_default();
    let parse = |text: Located<&str>| {
        ProviderPattern::parse(text.value, dialect).map_err(|error| {
            invalid(
                format!("{:?} is not a provider pattern: {error}", text.value),
                text.location,
            )
            .into()
        })
    };
    texts.into_iter().map(parse).collect()
}
