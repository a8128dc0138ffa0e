//! Hosts of the internal network. A change under review chooses what the checking machine requests,
//! so it must not reach them through a host that may be requested: by a redirect, or by an address
//! in an answer.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, OnceLock};

use reqwest::blocking::Client;
use url::{Host, Url};

use super::error::RequestErrorKind;
use crate::system::lock;

/// The hosts of the internal network that may be requested, with their ports if they have one.
pub(crate) trait PermittedHosts: Send + Sync {
    /// Whether a host may be requested, as far as that is known without reading anything.
    fn permits_without_reading(&self, host: &str) -> bool;

    /// Whether a host may be requested. Configurations may be read to find out.
    fn permits(&self, host: &str) -> bool;
}

/// Limit of requests to the internal network. Without one, every host may be requested. Cheap to
/// clone; clones share the limit.
#[derive(Clone, Default)]
pub(crate) struct InternalHosts {
    permitted: Arc<OnceLock<Box<dyn PermittedHosts>>>,
    /// Hosts in the user's own settings, whose answers may name any host.
    configured: Arc<BTreeSet<String>>,
    /// Clients that connect only to the addresses that were checked, by host.
    pinned: Arc<Mutex<BTreeMap<String, Client>>>,
}

/// Way in which a host is requested.
pub(super) enum Connection {
    ToAnyAddress,
    /// To the addresses that were checked. The name may have others a moment later.
    ToAddresses(Vec<SocketAddr>),
}

impl InternalHosts {
    /// The same limit for a client of a user whose settings name these hosts.
    pub(crate) fn with_configured(&self, hosts: BTreeSet<String>) -> Self {
        Self {
            configured: Arc::new(hosts),
            pinned: Arc::default(),
            ..self.clone()
        }
    }

    /// Limits requests to hosts with public addresses, and to these. Only the first call counts.
    pub(crate) fn limit_to(&self, permitted: impl PermittedHosts + 'static) {
        let _ = self.permitted.set(Box::new(permitted));
    }

    /// Whether requests are limited.
    pub(crate) fn is_limited(&self) -> bool {
        self.permitted.get().is_some()
    }

    /// Decides how `url`, to which a request for `first` has led, is requested. `is_proxied`
    /// returns whether a proxy resolves the name.
    ///
    /// # Errors
    /// The host is in the internal network and may not be requested.
    pub(super) fn permitted_connection(
        &self,
        first: &Url,
        url: &Url,
        is_proxied: impl FnOnce() -> bool,
    ) -> Result<Connection, RequestErrorKind> {
        let Some(permitted) = self.permitted.get() else {
            return Ok(Connection::ToAnyAddress);
        };
        let host = authority(url);
        // The user's own settings, or the policy of the base, name the host.
        if self.configured.contains(&authority(first)) || permitted.permits_without_reading(&host) {
            return Ok(Connection::ToAnyAddress);
        }
        let addresses = match url.host() {
            Some(Host::Ipv4(address)) => vec![SocketAddr::from((address, 0))],
            Some(Host::Ipv6(address)) => vec![SocketAddr::from((address, 0))],
            // The proxy resolves the name and decides where it connects to.
            Some(Host::Domain(_)) if is_proxied() => return Ok(Connection::ToAnyAddress),
            Some(Host::Domain(name)) => addresses_of(name),
            None => Vec::new(),
        };
        let is_internal = addresses.iter().any(|address| !is_public(address.ip()));
        if !is_internal {
            // A second lookup might return an internal address, so the connection uses these.
            return Ok(Connection::ToAddresses(addresses));
        }
        if permitted.permits(&host) {
            return Ok(Connection::ToAnyAddress);
        }
        Err(RequestErrorKind::Internal { host })
    }

    /// The client that connects to a host at these addresses only.
    pub(super) fn pinned_client(
        &self,
        url: &Url,
        build: impl FnOnce(&str) -> Result<Client, RequestErrorKind>,
    ) -> Result<Client, RequestErrorKind> {
        let host = url.host_str().unwrap_or_default();
        let mut pinned = lock(&self.pinned);
        if let Some(client) = pinned.get(host) {
            return Ok(client.clone());
        }
        let client = build(host)?;
        pinned.insert(host.to_owned(), client.clone());
        Ok(client)
    }
}

/// The host of a URL, with its port unless that is the default one.
pub(crate) fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// The addresses of a name; none if it cannot be resolved, so that the request fails by itself.
fn addresses_of(name: &str) -> Vec<SocketAddr> {
    match (name, 0).to_socket_addrs() {
        Ok(addresses) => addresses.collect(),
        Err(_) => Vec::new(),
    }
}

/// Whether an address belongs to the internet, by the special-purpose registries of IANA
/// (RFC 6890).
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let is_shared = first == 100 && (64..128).contains(&second);
    let is_of_protocols = (first, second, third) == (192, 0, 0);
    let is_of_benchmarks = first == 198 && (18..20).contains(&second);
    // Multicast and reserved addresses are above 223.
    let is_special = first == 0 || first > 223;
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || is_shared
        || is_of_protocols
        || is_of_benchmarks
        || is_special)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    if let Some(embedded) = embedded_v4(address) {
        return is_public_v4(embedded);
    }
    // Only 2000::/3 is assigned to the internet.
    address.segments()[0] & 0xe000 == 0x2000
}

/// The IPv4 address that a translator or a tunnel takes from an IPv6 address.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    if let Some(mapped) = address.to_ipv4_mapped() {
        return Some(mapped);
    }
    // NAT64, and 6to4.
    let ([0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..]) = address.segments()
    else {
        return None;
    };
    Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Only(&'static str);

    impl PermittedHosts for Only {
        fn permits_without_reading(&self, _: &str) -> bool {
            false
        }

        fn permits(&self, host: &str) -> bool {
            host == self.0
        }
    }

    fn is_refused(hosts: &InternalHosts, url: &str) -> bool {
        let first = Url::parse("https://first.example.com/").unwrap();
        let url = Url::parse(url).unwrap();
        hosts.permitted_connection(&first, &url, || false).is_err()
    }

    #[test]
    fn addresses_of_the_internal_network_are_refused() {
        let hosts = InternalHosts::default();
        let internal = [
            "https://127.0.0.1/",
            "https://127.9.9.9:8443/",
            "https://localhost/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://10.1.2.3/",
            "https://172.16.0.1/",
            "https://172.31.255.255/",
            "https://192.168.1.1/",
            "https://169.254.169.254/latest/",
            "https://100.64.0.1/",
            "https://192.0.0.1/",
            "https://198.18.0.1/",
            "https://0.0.0.0/",
            "https://255.255.255.255/",
            "https://[::1]/",
            "https://[::]/",
            "https://[fd00::1]/",
            "https://[fe80::1]/",
            "https://[::ffff:10.0.0.1]/",
            "https://[64:ff9b::10.0.0.1]/",
            "https://[2002:a00:1::]/",
        ];
        for url in internal {
            assert!(!is_refused(&hosts, url), "without a limit: {url}");
        }
        hosts.limit_to(Only("10.0.0.9"));
        for url in internal {
            assert!(is_refused(&hosts, url), "{url}");
        }
        for url in [
            "https://1.1.1.1/",
            "https://172.32.0.1/",
            "https://100.128.0.1/",
            "https://[2606:4700:4700::1111]/",
            "https://[64:ff9b::1.1.1.1]/",
            "https://10.0.0.9/",
        ] {
            assert!(!is_refused(&hosts, url), "{url}");
        }
        assert!(is_refused(&hosts, "https://10.0.0.9:8443/"));
        // A mirror of the user may be anywhere, and so may its packages.
        let configured = BTreeSet::from(["first.example.com".to_owned()]);
        assert!(!is_refused(
            &hosts.with_configured(configured),
            "https://10.1.2.3/"
        ));
    }

    #[test]
    fn a_proxy_resolves_names_and_no_addresses() {
        let hosts = InternalHosts::default();
        hosts.limit_to(Only(""));
        let first = Url::parse("https://first.example.com/").unwrap();
        let is_refused = |url: &str| {
            let url = Url::parse(url).unwrap();
            hosts.permitted_connection(&first, &url, || true).is_err()
        };
        assert!(!is_refused("https://internal.example.com/"));
        assert!(is_refused("https://10.0.0.1/"));
    }
}
