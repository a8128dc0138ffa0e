//! A locked package as bills of materials describe it.

use std::collections::BTreeSet;

use provlock::lockfile::{LockedModule, LockedProvider};
use provlock::modules::{Getter, ModuleSource, RegistryModule, RemoteSource, commit_of, digest_of};
use provlock::provider::{Dialect, Hash, HashScheme, ProviderAddress};
use provlock::system::Secrets;

use super::purl::{Purl, repository};
use crate::cli::render::foreign::capped;

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
    /// A provider. `keys` become properties, too.
    pub(super) fn provider(
        address: &ProviderAddress,
        locked: &LockedProvider,
        keys: impl Iterator<Item = (&'static str, String)>,
    ) -> Self {
        let version = locked.version.to_string();
        let purl = Purl {
            kind: "terraform",
            path: vec![&address.namespace, &address.name],
            version: Some(&version),
            qualifiers: vec![repository(&address.hostname)],
            subpath: "",
        };
        let properties = std::iter::once(("provlock:address", address.to_string()))
            .chain(keys)
            .collect();
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

    /// The package of a module. Its purl depends on where it comes from: a registry of modules, an
    /// OCI registry, or anything else.
    pub(super) fn module(key: &str, locked: &LockedModule, secrets: &Secrets) -> Self {
        let mut package = RemoteSource::detect(&locked.package, "").ok();
        if let Some(package) = &mut package {
            // In a URL, only the address of a host may have brackets.
            package.package = safe(&package.package, secrets).replace("[redacted]", "redacted");
        }
        let commit = commit_of(locked);
        let digest = digest_of(locked);
        let version = locked.version.as_ref().map(ToString::to_string);
        // A lock file contains the host of a registry, so the dialect does not matter.
        let registry = match ModuleSource::parse(&locked.source, Dialect::default()) {
            Ok(ModuleSource::Registry(source)) if version.is_some() => Some(source.module),
            _ => None,
        };
        let origin = Origin::of(registry.as_ref(), package.as_ref(), commit.as_deref());
        let (name, purl) = if let Some(module) = &registry {
            let path = vec![&*module.namespace, &*module.name, &*module.system];
            let qualifiers = vec![repository(&module.host), ("vcs_url", origin.vcs_url())];
            let purl = Purl {
                kind: "terraform",
                path,
                version: version.as_deref(),
                qualifiers,
                subpath: "",
            };
            (
                format!("{}/{}", module.name, module.system),
                purl.to_string(),
            )
        } else if let (Some(digest), Some(package)) = (&digest, &package) {
            let repository = package.url().strip_prefix("oci://").unwrap_or_default();
            let repository = without_query(repository).to_owned();
            let name = name_of(&repository).to_owned();
            let purl = Purl {
                kind: "oci",
                path: vec![&name],
                version: Some(digest),
                qualifiers: vec![("repository_url", repository)],
                subpath: &package.directory,
            };
            let purl = purl.to_string();
            (name, purl)
        } else {
            let mut address = &locked.package;
            let mut subpath = "";
            if let Some(package) = &package {
                address = &package.package;
                subpath = &package.directory;
            }
            let name = safe(name_of(address), secrets);
            let mut checksum = String::new();
            let mut hashes = locked.hashes.iter();
            if let Some(zh) = hashes.find(|hash| hash.is_well_formed_as(HashScheme::Zh)) {
                checksum = format!("sha256:{}", zh.value());
            }
            let qualifiers = vec![
                ("checksum", checksum),
                ("download_url", origin.download_url()),
                ("vcs_url", origin.vcs_url()),
            ];
            let purl = Purl {
                kind: "generic",
                path: vec![&name],
                version: commit.as_deref(),
                qualifiers,
                subpath,
            };
            let purl = purl.to_string();
            (name, purl)
        };
        Self {
            purl,
            group: registry.map(|module| module.namespace),
            name,
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
                        .insert(("provlock:hash", capped(hash.as_str())));
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
    /// Returns where a package comes from. A package of a registry has a location of its own unless
    /// the registry sends it itself.
    fn of(
        registry: Option<&RegistryModule>,
        package: Option<&RemoteSource>,
        commit: Option<&str>,
    ) -> Self {
        match (package, registry) {
            (Some(package), _) if package.getter() == Getter::Git => {
                let url = without_query(package.url()).to_owned();
                let commit = commit
                    .map(|commit| format!("@{commit}"))
                    .unwrap_or_default();
                let directory = if package.directory.is_empty() {
                    ""
                } else {
                    "#"
                }
                .to_owned()
                    + &package.directory;
                let location = format!("git+{url}{commit}{directory}");
                Self::Git(url, location)
            }
            (Some(package), _) => Self::Archive(package.url().to_owned()),
            (None, Some(module)) => Self::Registry(format!("https://{}", module.host.as_ascii())),
            (None, None) => Self::Unknown,
        }
    }

    fn vcs_url(&self) -> String {
        if let Self::Git(_, location) = self {
            location.clone()
        } else {
            String::new()
        }
    }

    fn download_url(&self) -> String {
        if let Self::Archive(url) = self {
            url.clone()
        } else {
            String::new()
        }
    }
}

fn without_query(url: &str) -> &str {
    url.split('?').next().unwrap_or(url)
}

/// The name of a repository or an archive: the last part of its address.
fn name_of(address: &str) -> &str {
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
    capped(&secrets.redact(text))
}
