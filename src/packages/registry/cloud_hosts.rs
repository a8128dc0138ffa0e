//! The name `localterraform.com`, which stands for the host of the backend of a root module.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::provider::Hostname;
use crate::system::lock;

/// Name that stands for the hostname in the `cloud` block of a root module, also in the addresses
/// of providers and modules (Terraform's `internal/cloud/backend.go`, `ServiceDiscoveryAliases`).
pub(super) const HOST_OF_CLOUD: &str = "localterraform.com";

/// Hosts for which `localterraform.com` stands in the root modules of a run. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct CloudHosts(Arc<Mutex<BTreeSet<CloudHost>>>);

/// Host of the backend of a root module.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CloudHost {
    Known(Hostname),
    /// Its `hostname` is no literal.
    Unknown,
}

impl CloudHosts {
    /// Adds the host of a root module; `None` if it is not known.
    pub(crate) fn add(&self, host: Option<Hostname>) {
        let host = host.map_or(CloudHost::Unknown, CloudHost::Known);
        lock(&self.0).insert(host);
    }

    /// The host for which a host stands: itself, unless it is `localterraform.com`.
    ///
    /// # Errors
    /// The host is not known, or differs between root modules.
    pub(super) fn resolve(&self, host: &Hostname) -> std::result::Result<Hostname, Unresolved> {
        if host.as_ascii() != HOST_OF_CLOUD {
            return Ok(host.clone());
        }
        let hosts: Vec<_> = lock(&self.0).iter().cloned().collect();
        match &hosts[..] {
            [] => Err(Unresolved::NoCloud),
            [CloudHost::Known(host)] => Ok(host.clone()),
            _ if hosts.contains(&CloudHost::Unknown) => Err(Unresolved::NotLiteral),
            _ => Err(Unresolved::Several),
        }
    }
}

/// Reason why the host for which `localterraform.com` stands is not known.
#[derive(Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub(super) enum Unresolved {
    #[display("it stands for the hostname in the cloud block, and there is none")]
    NoCloud,
    #[display("it stands for the hostname in the cloud block, which is not a literal")]
    NotLiteral,
    #[display("it stands for the hostname in the cloud block, which differs between root modules")]
    Several,
}
