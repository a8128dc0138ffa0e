//! The hosts that may be requested while a change under review is checked. A change that chose
//! them could let the checking machine request anything in its network.

use std::collections::BTreeSet;

use super::fetched::ModuleRequest;
use super::locked;
use crate::net::PermittedHosts;

/// Hosts of registries and repositories that everybody uses, and of their archives.
const PUBLIC_HOSTS: [&str; 8] = [
    "registry.terraform.io",
    "registry.opentofu.org",
    "github.com",
    "codeload.github.com",
    "api.github.com",
    "raw.githubusercontent.com",
    "gitlab.com",
    "bitbucket.org",
];

/// Hosts that may be requested. What these hosts name in turn is requested, too, except in the
/// internal network.
pub(crate) struct RequestedHosts {
    known: BTreeSet<String>,
    /// Whether a host, with its port if it has one, may be requested.
    permits: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

impl RequestedHosts {
    /// The public hosts, the `known` ones, and others for which `permits` returns true.
    pub(crate) fn new(
        known: BTreeSet<String>,
        permits: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            known,
            permits: Box::new(permits),
        }
    }

    /// Whether a host, with its port if it has one, may be requested.
    pub(crate) fn contains(&self, host: &str) -> bool {
        self.permits_without_reading(host) || (self.permits)(host)
    }

    /// A host that a request for a module needs and that may not be requested.
    pub(crate) fn refused_host(&self, request: &ModuleRequest) -> Option<String> {
        let hosts = hosts_of(request);
        hosts.into_iter().find(|host| !self.contains(host))
    }
}

impl PermittedHosts for RequestedHosts {
    fn permits_without_reading(&self, host: &str) -> bool {
        PUBLIC_HOSTS.contains(&host) || self.known.contains(host)
    }

    fn permits(&self, host: &str) -> bool {
        self.contains(host)
    }
}

/// The hosts that a request for a module names: of its source, and of its locked package.
pub(crate) fn hosts_of(request: &ModuleRequest) -> BTreeSet<String> {
    let mut publishers = BTreeSet::new();
    match request {
        ModuleRequest::Unlocked { source, .. } => {
            publishers.extend(locked::publisher_of_source(source));
        }
        ModuleRequest::Locked { source, locked, .. } => {
            publishers.extend(locked::publisher_of_source(source));
            publishers.extend(locked::publishers(locked));
        }
    }
    publishers.iter().map(|one| host_of(one)).collect()
}

/// The host of a publisher, with its port if it has one: `example.com` for
/// `http://example.com/acme`.
pub(crate) fn host_of(publisher: &str) -> String {
    let (_, address) = publisher.split_once("://").unwrap_or(("", publisher));
    let (host, _) = address.split_once('/').unwrap_or((address, ""));
    host.to_owned()
}
