//! Content of the tests' registry: hosts, releases, files and mirrors.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use globset::GlobMatcher;
use serde_json::Value;

use crate::faults::Rule;
use crate::keys::Key;
use crate::message::without_default_port;
use crate::oci::Oci;

/// The service discovery document of a host.
#[derive(Clone, Debug, PartialEq)]
pub enum Discovery {
    /// Names the providers service of this host.
    Standard,
    /// Names services, but not that of providers.
    WithoutProviders,
    /// This document. A providers service anywhere is `https://HOST/via/REGISTRY/v1/providers/`: what REGISTRY would
    /// answer, from HOST.
    Document(Value),
}

/// A network mirror of everything that is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MountedMirror {
    pub(crate) host: String,
    /// Starts and ends with a slash.
    pub(crate) prefix: String,
    pub(crate) options: Mirror,
}

/// Options of a network mirror.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mirror {
    pub hashes: MirrorHashes,
}

/// The hashes in a mirror's `VERSION.json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum MirrorHashes {
    #[default]
    Both,
    H1,
    Zh,
    None,
    /// `h1:` over the directory entries too, as `providers mirror` writes it.
    H1WithDirectories,
    /// These texts for every package.
    Fixed(Vec<&'static str>),
}

#[derive(Default)]
pub(crate) struct Host {
    pub(crate) discovery: Option<Discovery>,
    pub(crate) token: Option<String>,
}

#[derive(Default)]
pub(crate) struct Provider {
    pub(crate) releases: Vec<Release>,
    pub(crate) warnings: Vec<String>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) hosts: BTreeMap<String, Host>,
    /// Hosts that refuse clients without a certificate.
    pub(crate) identified_hosts: BTreeSet<String>,
    pub(crate) providers: BTreeMap<Address, Provider>,
    /// Path to content; every host serves all of them.
    pub(crate) files: HashMap<String, Arc<Vec<u8>>>,
    /// Path of a signature that is made when it is requested, to its key and what it signs.
    pub(crate) signed_on_request: HashMap<String, (&'static Key, String)>,
    /// Second of the first request.
    pub(crate) first_second: Option<u64>,
    pub(crate) mirrors: Vec<MountedMirror>,
    pub(crate) oci: Oci,
    /// `Last-Modified` of the paths that the patterns match.
    pub(crate) last_modified: Vec<(GlobMatcher, String)>,
    pub(crate) rules: Vec<Rule>,
}

/// Address of a provider, with its host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(crate) host: String,
    namespace: String,
    pub(crate) name: String,
}

/// A release as the registry keeps it.
pub(crate) struct Release {
    pub(crate) version: String,
    pub(crate) protocols: Vec<String>,
    pub(crate) listed: bool,
    /// The packages by platform.
    pub(crate) packages: BTreeMap<String, Package>,
    /// Platforms that are listed although they have no package.
    pub(crate) claimed: Vec<String>,
}

/// A package and its hashes.
#[derive(Clone, Debug)]
pub struct Package {
    pub filename: String,
    pub h1: String,
    pub zh: String,
    pub h1_with_directories: String,
    pub archive: Arc<Vec<u8>>,
    pub(crate) metadata: Value,
}

impl Address {
    pub(crate) fn new(host: &str, namespace: &str, name: &str) -> Self {
        Self {
            host: host.to_lowercase(),
            namespace: namespace.to_lowercase(),
            name: name.to_lowercase(),
        }
    }

    /// `[HOST/]NAMESPACE/TYPE`.
    pub(crate) fn parse(text: &str) -> Self {
        match text.split('/').collect::<Vec<_>>()[..] {
            [host, namespace, name] => Self::new(host, namespace, name),
            [namespace, name] => Self::new("registry.opentofu.org", namespace, name),
            _ => panic!("{text} is not [HOST/]NAMESPACE/TYPE"),
        }
    }

    /// `HOST/NAMESPACE/TYPE`.
    pub(crate) fn path(&self) -> String {
        format!("{}/{}/{}", self.host, self.namespace, self.name)
    }
}

impl State {
    pub(crate) fn host(&mut self, host: &str) -> &mut Host {
        self.hosts
            .entry(without_default_port(host).to_lowercase())
            .or_default()
    }
}
