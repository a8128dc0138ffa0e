//! A locked package as bills of materials describe it.

use std::collections::BTreeSet;

use provlock::lockfile::{LockedModule, LockedProvider};
use provlock::modules::{Getter, ModuleSource, RegistryModule, RemoteSource, commit_of, digest_of};
use provlock::provider::{Dialect, Hash, HashScheme, ProviderAddress};
use provlock::system::Secrets;

use super::purl::{Purl, repository_qualifier};
use crate::cli::render::foreign::with_limited_length;

/// A package. All of its texts are safe to show.
pub(super) struct Package {
    pub(super) purl: String,
    /// Publisher in a registry.
    pub(super) group: Option<String>,
    pub(super) name: String,
    /// The version, or else the commit or the digest.
    pub(super) version: Option<String>,
    pub(super) origin: Origin,
    /// The SHA-256 of archives, in hexadecimal digits: of a module the only one, of a provider one
    /// for each platform.
    pub(super) archives: BTreeSet<String>,
    /// Other properties by their names.
    pub(super) properties: BTreeSet<(&'static str, String)>,
}

/// Origin of a package.
pub(super) enum Origin {
    /// A registry, with its URL.
    Registry(String),
    /// A git repository, with its URL and the location in it, as SPDX writes that.
    Git(String, String),
    /// An archive, with its URL.
    Archive(String),
    /// Something that is not an address.
    Unknown,
}

impl Package {
    /// The package of a provider. Its address is a property, beside `other_properties`.
    pub(super) fn provider(
        address: &ProviderAddress,
        locked: &LockedProvider,
        other_properties: Vec<(&'static str, String)>,
    ) -> Self {
        let version = locked.version.to_string();
        let purl = Purl {
            kind: "terraform",
            path: vec![&address.namespace, &address.name],
            version: Some(&version),
            qualifiers: vec![repository_qualifier(&address.hostname)],
            subpath: "",
        };
        let mut properties = BTreeSet::from([("provlock:address", address.to_string())]);
        properties.extend(other_properties);
        Self {
            purl: purl.to_string(),
            group: Some(address.namespace.clone()),
            name: address.name.clone(),
            version: Some(version),
            origin: Origin::Registry(format!("https://{}", address.hostname.as_ascii())),
            archives: BTreeSet::new(),
            properties,
        }
        .with_hashes(&locked.hashes)
    }

    /// The package of a module. Its purl is that of a registry of modules, of an OCI registry, or a
    /// generic one.
    pub(super) fn module(key: &str, locked: &LockedModule, secrets: &Secrets) -> Self {
        let remote = remote_without_secrets(&locked.package, secrets);
        let commit = commit_of(locked);
        let digest = digest_of(locked);
        let version = locked.version.as_ref().map(ToString::to_string);
        // A lock file contains the host of a registry, so the dialect does not matter.
        let registry = match ModuleSource::parse(&locked.source, Dialect::default()) {
            Ok(ModuleSource::Registry(source)) if version.is_some() => Some(source.module),
            _ => None,
        };
        let origin = Origin::of_module(registry.as_ref(), remote.as_ref(), commit.as_deref());
        let named = match (&registry, &digest, &remote) {
            (Some(module), _, _) => registry_purl(module, version.as_deref(), &origin),
            (None, Some(digest), Some(remote)) => oci_purl(remote, digest),
            _ => generic_purl(locked, remote.as_ref(), commit.as_deref(), &origin, secrets),
        };
        Self {
            purl: named.purl,
            group: registry.map(|module| module.namespace),
            name: named.name,
            version: version.or(commit).or(digest),
            origin,
            archives: BTreeSet::new(),
            properties: [
                ("provlock:module", safe(key, secrets)),
                ("provlock:source", safe(&locked.source, secrets)),
            ]
            .into(),
        }
        .with_hashes(&locked.hashes)
    }

    /// Adds the hashes of archives. Only these are the SHA-256 of a file that can be fetched.
    fn with_hashes(mut self, hashes: &BTreeSet<Hash>) -> Self {
        for hash in hashes {
            match hash.scheme() {
                HashScheme::Zh if hash.is_well_formed() => {
                    _ = self.archives.insert(hash.value().to_owned());
                }
                HashScheme::H1 | HashScheme::Zh | HashScheme::Unknown => {
                    self.properties
                        .insert(("provlock:hash", with_limited_length(hash.as_str())));
                }
            }
        }
        self
    }

    /// Adds the facts that another root module has about the package.
    pub(super) fn merge(&mut self, other: Self) {
        self.archives.extend(other.archives);
        self.properties.extend(other.properties);
    }

    /// The name with its publisher.
    pub(super) fn full_name(&self) -> String {
        self.group
            .iter()
            .chain([&self.name])
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("/")
    }
}

impl Origin {
    /// Returns where the package of a module comes from. A package of a registry has a `remote`
    /// location of its own unless the registry sends it itself.
    fn of_module(
        registry: Option<&RegistryModule>,
        remote: Option<&RemoteSource>,
        commit: Option<&str>,
    ) -> Self {
        match (remote, registry) {
            (Some(remote), _) if remote.getter() == Getter::Git => {
                let url = without_query(remote.url()).to_owned();
                let mut location = format!("git+{url}");
                if let Some(commit) = commit {
                    location = format!("{location}@{commit}");
                }
                if !remote.directory.is_empty() {
                    location = format!("{location}#{}", remote.directory);
                }
                Self::Git(url, location)
            }
            (Some(remote), _) => Self::Archive(remote.url().to_owned()),
            (None, Some(module)) => Self::Registry(format!("https://{}", module.host.as_ascii())),
            (None, None) => Self::Unknown,
        }
    }

    /// The location of a git repository; empty for other origins.
    fn vcs_url(&self) -> String {
        if let Self::Git(_, location) = self {
            location.clone()
        } else {
            String::new()
        }
    }

    /// The URL of an archive; empty for other origins.
    fn download_url(&self) -> String {
        if let Self::Archive(url) = self {
            url.clone()
        } else {
            String::new()
        }
    }
}

/// Name and purl of the package of a module.
struct NamedPurl {
    name: String,
    purl: String,
}

/// `pkg:terraform/terraform-aws-modules/vpc/aws@5.14.0`
fn registry_purl(module: &RegistryModule, version: Option<&str>, origin: &Origin) -> NamedPurl {
    let purl = Purl {
        kind: "terraform",
        path: vec![&*module.namespace, &*module.name, &*module.system],
        version,
        qualifiers: vec![
            repository_qualifier(&module.host),
            ("vcs_url", origin.vcs_url()),
        ],
        subpath: "",
    };
    NamedPurl {
        name: format!("{}/{}", module.name, module.system),
        purl: purl.to_string(),
    }
}

/// `pkg:oci/network@sha256:…?repository_url=ghcr.io/acme/network`
fn oci_purl(remote: &RemoteSource, digest: &str) -> NamedPurl {
    let repository = remote.url().strip_prefix("oci://").unwrap_or_default();
    let repository = without_query(repository);
    let name = name_of_address(repository);
    let purl = Purl {
        kind: "oci",
        path: vec![name],
        version: Some(digest),
        qualifiers: vec![("repository_url", repository.to_owned())],
        subpath: &remote.directory,
    };
    NamedPurl {
        purl: purl.to_string(),
        name: name.to_owned(),
    }
}

/// `pkg:generic/network@COMMIT?vcs_url=git+https://…`: a purl with the digest and the location of
/// the package, as far as they are known.
fn generic_purl(
    locked: &LockedModule,
    remote: Option<&RemoteSource>,
    commit: Option<&str>,
    origin: &Origin,
    secrets: &Secrets,
) -> NamedPurl {
    let mut address = &locked.package;
    let mut directory = "";
    if let Some(remote) = remote {
        address = &remote.package;
        directory = &remote.directory;
    }
    let name = safe(name_of_address(address), secrets);
    let mut checksum = String::new();
    let mut hashes = locked.hashes.iter();
    if let Some(zh) = hashes.find(|hash| hash.is_well_formed_as(HashScheme::Zh)) {
        checksum = format!("sha256:{}", zh.value());
    }
    let purl = Purl {
        kind: "generic",
        path: vec![&name],
        version: commit,
        qualifiers: vec![
            ("checksum", checksum),
            ("download_url", origin.download_url()),
            ("vcs_url", origin.vcs_url()),
        ],
        subpath: directory,
    };
    NamedPurl {
        purl: purl.to_string(),
        name,
    }
}

/// Returns the source of a locked package, without secrets in its address; `None` if it is no
/// address.
fn remote_without_secrets(package: &str, secrets: &Secrets) -> Option<RemoteSource> {
    // A locked package has no directory beside the one in its address.
    let directory = "";
    let remote = RemoteSource::detect(package, directory).ok()?;
    Some(RemoteSource {
        // `[redacted]` would not be valid in a URL, where only an IPv6 address may have brackets.
        package: safe(&remote.package, secrets).replace("[redacted]", "redacted"),
        ..remote
    })
}

fn without_query(url: &str) -> &str {
    url.split('?').next().unwrap_or(url)
}

/// The name of a repository or an archive: the last part of its address.
fn name_of_address(address: &str) -> &str {
    let name = without_query(address)
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    let name = name.strip_suffix(".git").unwrap_or(name);
    if name.is_empty() { "module" } else { name }
}

/// Text that is safe to show.
pub(super) fn safe(text: &str, secrets: &Secrets) -> String {
    with_limited_length(&secrets.redact(text))
}
