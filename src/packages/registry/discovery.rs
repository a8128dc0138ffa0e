//! Service discovery: where a host has its registries of providers and modules
//! (<https://opentofu.org/docs/internals/remote-service-discovery/>).

use std::collections::BTreeMap;
use std::sync::Arc;

use reqwest::header::{CONTENT_TYPE, HeaderMap};
use serde_json::value::RawValue;
use url::Url;

use super::cache::RegistryCache;
use super::cloud_hosts::{CloudHosts, HOST_OF_CLOUD, Unresolved};
use super::service::Service;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use crate::net::{Client, Purpose, RequestError, RequestErrorKind, decode_json, is_web_page};
use crate::provider::Hostname;
use crate::system::OnceMap;
use crate::system::bounded::Map;

/// A service discovery document is small.
const MAXIMUM_DOCUMENT_BYTES: u64 = 64 << 10;
/// Required media type of the document.
const MEDIA_TYPE: &str = "application/json";
/// Hosts name fewer than ten services.
const MOST_SERVICES: usize = 256;

/// The registries of hosts. Each host is contacted once per run.
pub(crate) struct Discovery {
    client: Client,
    cloud_hosts: CloudHosts,
    /// The services of the hosts that the CLI configuration names.
    hosts: BTreeMap<Hostname, BTreeMap<String, String>>,
    cache: Option<RegistryCache>,
    documents: OnceMap<Hostname, std::result::Result<Arc<DiscoveryDocument>, RequestError>>,
    discovered: OnceMap<(Hostname, Service), Result<Url>>,
    /// Registries found by earlier runs.
    remembered: OnceMap<(Hostname, Service), Option<Url>>,
}

/// The discovery document of a host.
struct DiscoveryDocument {
    /// The URL after all redirects: relative URLs in the document are relative to it.
    url: Url,
    services: Services,
}

/// JSON by the names of services. Not all of them are registries.
type Services = Map<Box<RawValue>, MOST_SERVICES>;

impl Discovery {
    /// Discovery through `client`, except for `hosts`, whose services are known by their names (the
    /// `host` blocks of the CLI configuration). What is found is kept in `cache`.
    pub(crate) fn new(
        client: Client,
        hosts: BTreeMap<Hostname, BTreeMap<String, String>>,
        cloud_hosts: CloudHosts,
        cache: Option<RegistryCache>,
    ) -> Self {
        Self {
            client,
            cloud_hosts,
            hosts,
            cache,
            documents: OnceMap::default(),
            discovered: OnceMap::default(),
            remembered: OnceMap::default(),
        }
    }

    /// The base URL of a host's registry: as an earlier run found it, or by discovery.
    ///
    /// # Errors
    /// When the host offers none, or cannot be asked.
    pub(crate) fn registry_url(&self, host: &Hostname, service: Service) -> Result<Url> {
        let host = &self.host_to_contact(host, service)?;
        // A host that was asked in this run may have moved since the earlier one.
        let earlier = self
            .discovered
            .get(&(host.clone(), service))
            .or_else(|| self.url_from_earlier_run(host, service).map(Ok));
        earlier.unwrap_or_else(|| self.discovered_url(host, service))
    }

    /// The host to contact for a host in an address. A `host` block for `localterraform.com`
    /// applies where the root modules do not determine it.
    pub(crate) fn host_to_contact(&self, host: &Hostname, service: Service) -> Result<Hostname> {
        match self.cloud_hosts.resolve(host) {
            Ok(contacted) => Ok(contacted),
            Err(_) if self.hosts.contains_key(host) => Ok(host.clone()),
            Err(why) => Err(Query::new(host, service)?.cloud_host_error(why).into()),
        }
    }

    /// Requests a document of a host's registry with `get`, which is given its URL and the host
    /// whose token is sent along. Returns the URL, too. If the registry is only known from an
    /// earlier run and the request fails, it is repeated where discovery finds the registry now.
    pub(crate) fn request_from_registry<T>(
        &self,
        host: &Hostname,
        service: Service,
        path: &str,
        get: impl Fn(&Url, Option<&Hostname>) -> std::result::Result<T, RequestError>,
    ) -> Result<(Url, std::result::Result<T, RequestError>)> {
        let host = &self.host_to_contact(host, service)?;
        let mut base = self.registry_url(host, service)?;
        let mut has_moved = false;
        loop {
            let url = service.endpoint(&base, host, path)?;
            let answer = get(&url, self.credentials_of(host, &url).as_ref());
            // The registry may have moved since an earlier run.
            if answer.is_err()
                && !has_moved
                && self.url_from_earlier_run(host, service).is_some()
                && let Ok(moved) = self.discovered_url(host, service)
                && moved != base
            {
                base = moved;
                has_moved = true;
                continue;
            }
            return Ok((url, answer));
        }
    }

    /// The host, if a registry at `url`, which discovery has found for it, gets the token for the
    /// host. It does not where a redirect had led to another host, which then named the registry:
    /// only the host itself decides which URL gets its token.
    pub(crate) fn credentials_of(&self, host: &Hostname, url: &Url) -> Option<Hostname> {
        let host = match self.cloud_hosts.resolve(host) {
            Ok(contacted) => contacted,
            Err(_) => host.clone(),
        };
        let own = well_known(&host).ok()?.origin();
        let said_elsewhere =
            matches!(self.documents.get(&host), Some(Ok(document)) if document.url.origin() != own);
        (!said_elsewhere || url.origin() == own).then_some(host)
    }

    /// The base URL of a host's registry as an earlier run found it, if it is known.
    fn url_from_earlier_run(&self, host: &Hostname, service: Service) -> Option<Url> {
        let cache = self.cache_for(host)?;
        self.remembered
            .get_or_compute(&(host.clone(), service), || {
                let url = cache.service(host, service)?;
                if let Ok(url) = well_known(host) {
                    self.client.observer().report_cached(url);
                }
                Some(url)
            })
    }

    /// The base URL of a host's registry by discovery, once in a run.
    fn discovered_url(&self, host: &Hostname, service: Service) -> Result<Url> {
        self.discovered
            .get_or_compute(&(host.clone(), service), || {
                let found = self.discover_url(host, service)?;
                if let Some(cache) = self.cache_for(host) {
                    cache.store_service(host, service, &found);
                }
                Ok(found)
            })
    }

    /// The cache, for a host that discovery decides about.
    fn cache_for(&self, host: &Hostname) -> Option<&RegistryCache> {
        if self.hosts.contains_key(host) {
            None
        } else {
            self.cache.as_ref()
        }
    }

    fn discover_url(&self, host: &Hostname, service: Service) -> Result<Url> {
        let query = Query::new(host, service)?;
        let Some(Offer { url, base }) = self.find_offer(&query)? else {
            let why = format!("{} offers no {} registry", query.url, service.content());
            return Err(query.error(&why).into());
        };
        let mut registry = match base.join(&url) {
            Ok(registry) => registry,
            Err(error) => return Err(query.invalid_document_error(&error.to_string())),
        };
        if !registry.username().is_empty() || registry.password().is_some() {
            return Err(query.invalid_document_error("the URL must not contain a user name"));
        }
        registry.set_fragment(None);
        Ok(registry)
    }

    /// Returns where a host has a registry according to the CLI configuration, or else to its
    /// document; `None` if it offers none, or has no document.
    fn find_offer(&self, query: &Query<'_>) -> Result<Option<Offer>> {
        let name = query.service.name();
        // A `host` block replaces discovery, even if it does not list the service.
        if let Some(services) = self.hosts.get(query.host) {
            return Ok(services.get(name).map(|url| Offer {
                url: url.clone(),
                base: query.url.clone(),
            }));
        }

        let document = match self.request_document(query.host, &query.url) {
            Ok(document) => document,
            Err(error) if error.kind == RequestErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into_diagnostic(&query.wanted())),
        };
        let DiscoveryDocument { url, services } = &*document;
        let Some(json) = services.0.get(name) else {
            return Ok(None);
        };
        match serde_json::from_str::<Option<String>>(json.get()) {
            Ok(Some(offered)) => Ok(Some(Offer {
                url: offered,
                base: url.clone(),
            })),
            Ok(None) => Ok(None),
            Err(_) => Err(query.invalid_document_error("it is not a string")),
        }
    }

    /// Requests the service discovery document of a host, once in a run.
    fn request_document(
        &self,
        host: &Hostname,
        url: &Url,
    ) -> std::result::Result<Arc<DiscoveryDocument>, RequestError> {
        self.documents.get_or_compute(host, || {
            /// Of a member, without its texts.
            const MEMBER: usize = 64;
            self.client.get_decoded(
                url,
                Some(host),
                MAXIMUM_DOCUMENT_BYTES,
                Purpose::Metadata,
                |document| {
                    // Proxies and logins of sites answer with pages.
                    if is_web_page(&document.bytes) {
                        return Err(RequestErrorKind::WebPage {
                            instead_of: "a service discovery document",
                        });
                    }
                    check_media_type(&document.headers)?;
                    let services: Services = decode_json(&document)?;
                    let mut memory = 0;
                    for (name, value) in &services.0 {
                        memory += MEMBER + name.len() + value.get().len();
                    }
                    let discovered = DiscoveryDocument {
                        url: document.url,
                        services,
                    };
                    Ok((Arc::new(discovered), memory))
                },
            )
        })
    }
}

/// A question about a registry of a host.
struct Query<'a> {
    host: &'a Hostname,
    service: Service,
    /// URL of the host's document.
    url: Url,
}

/// Location of a registry.
struct Offer {
    /// URL as it is written, which may be relative to `base`.
    url: String,
    base: Url,
}

impl<'a> Query<'a> {
    fn new(host: &'a Hostname, service: Service) -> Result<Self> {
        match well_known(host) {
            Ok(url) => Ok(Self { host, service, url }),
            Err(why) => Err(discovery_error(host, service, &why).into()),
        }
    }

    fn wanted(&self) -> String {
        wanted_content(self.host, self.service)
    }

    fn error(&self, why: &str) -> Diagnostic {
        discovery_error(self.host, self.service, why)
    }

    /// The error for the name that stands for a host that is not known here.
    fn cloud_host_error(&self, why: Unresolved) -> Diagnostic {
        let error = self.error(&why.to_string());
        if why == Unresolved::Several {
            return error.help("run the command for each of these root modules alone");
        }
        let registry = "https://app.terraform.io/api/registry/v1";
        let services = format!(
            "\"modules.v1\" = \"{registry}/modules/\", \"providers.v1\" = \"{registry}/providers/\""
        );
        error.help(format!(
                "add to the CLI configuration, with that hostname: host \"{HOST_OF_CLOUD}\" {{ services = {{ {services} }} }}; and put its token into TF_TOKEN_localterraform_com"
        ))
    }

    /// The error for a document that is not as it must be.
    fn invalid_document_error(&self, why: &str) -> Diagnostics {
        let error = RequestError {
            url: (&self.url).into(),
            kind: RequestErrorKind::InvalidBody(format!("{}: {why}", self.service.name())),
            credentials_of: Some(self.host.clone()),
        };
        error.into_diagnostic(&self.wanted())
    }
}

fn wanted_content(host: &Hostname, service: Service) -> String {
    format!("{}s from {host}", service.content())
}

fn discovery_error(host: &Hostname, service: Service, why: &str) -> Diagnostic {
    let message = format!("cannot get {}: {why}", wanted_content(host, service));
    Diagnostic::error(Code::RequestFailed, message)
}

/// Refuses a document that the server does not call JSON, as OpenTofu and Terraform do (`disco.go`
/// of `svchost`): a site that answers every path with a page is no registry.
fn check_media_type(headers: &HeaderMap) -> std::result::Result<(), RequestErrorKind> {
    let media_type = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case(MEDIA_TYPE) {
        return Ok(());
    }
    // The server's answer is not quoted, since it may echo a token.
    let shown = if media_type.is_empty() {
        "no Content-Type"
    } else {
        "a different Content-Type"
    };
    Err(RequestErrorKind::InvalidBody(format!(
        "it has {shown} instead of {MEDIA_TYPE}"
    )))
}

/// The URL of a host's service discovery document. The URL standard refuses some names that IDNA
/// allows, such as 1.2.3.4.5.
fn well_known(host: &Hostname) -> std::result::Result<Url, String> {
    let url = format!("https://{}/.well-known/terraform.json", host.as_ascii());
    Url::parse(&url).map_err(|error| format!("{url} is not a URL: {error}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread;
    use std::time::Duration;

    use provlock_test::{Authority, Request, Response, Server};

    use super::*;
    use crate::cli_config::NetSettings;

    fn json(body: impl Into<Vec<u8>>) -> Response {
        Response::ok(body).header("Content-Type", "application/json; charset=utf-8")
    }

    fn host(text: &str) -> Hostname {
        Hostname::parse(text).unwrap()
    }

    /// A server, discovery that trusts it, and the server's name.
    fn start(
        handler: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> (Server, Discovery, Hostname) {
        let authority = Authority::new();
        let server = Server::https(&authority, handler);
        let settings = NetSettings {
            back_off: Duration::from_millis(1),
            use_proxies: false,
            extra_root_certificates: vec![authority.der()],
            ..NetSettings::default()
        };
        let client = Client::new(settings, |_| Ok(None)).unwrap();
        let name = host(&format!("localhost:{}", server.address().port()));
        (
            server,
            Discovery::new(client, BTreeMap::new(), CloudHosts::default(), None),
            name,
        )
    }

    fn error_for(handler: impl Fn(&Request) -> Response + Send + Sync + 'static) -> String {
        let (_server, discovery, name) = start(handler);
        discovery
            .registry_url(&name, Service::Providers)
            .unwrap_err()[0]
            .message
            .clone()
    }

    #[test]
    fn a_relative_url_is_relative_to_where_the_document_was() {
        let (server, discovery, name) = start(|request| match request.target.as_str() {
            "/.well-known/terraform.json" => Response::redirect("/moved/here/doc.json"),
            "/moved/here/doc.json" => {
                json(r#"{"modules.v1": "/m/", "providers.v1": "../providers/#x"}"#)
            }
            _ => Response::new(500, ""),
        });
        assert_eq!(
            discovery.registry_url(&name, Service::Providers).unwrap(),
            server.url("localhost", "/moved/providers/")
        );
    }

    /// The target of a redirect must not be able to collect the host's token.
    #[test]
    fn a_document_of_another_host_does_not_decide_who_gets_the_token() {
        let authority = Authority::new();
        let elsewhere = Server::https(&authority, |_| json(r#"{"providers.v1": "/v1/"}"#));
        let target = elsewhere.url("localhost", "/doc.json");
        let own = Server::https(&authority, move |_| Response::redirect(target.clone()));
        let settings = NetSettings {
            use_proxies: false,
            extra_root_certificates: vec![authority.der()],
            ..NetSettings::default()
        };
        let client = Client::new(settings, |_| Ok(None)).unwrap();
        let discovery = Discovery::new(client, BTreeMap::new(), CloudHosts::default(), None);
        let name = host(&format!("localhost:{}", own.address().port()));
        let service = discovery.registry_url(&name, Service::Providers).unwrap();
        assert_eq!(service, elsewhere.url("localhost", "/v1/"));
        assert_eq!(discovery.credentials_of(&name, &service), None);
        assert_eq!(
            discovery.credentials_of(&name, &own.url("localhost", "/v1/")),
            Some(name.clone())
        );

        // A document of the host itself may name another host.
        let artifacts = elsewhere.url("localhost", "/v1/");
        let document = format!(r#"{{"providers.v1": "{artifacts}"}}"#);
        let (_server, discovery, name) = start(move |_| json(document.clone()));
        assert_eq!(
            discovery.registry_url(&name, Service::Providers).unwrap(),
            artifacts
        );
        assert_eq!(discovery.credentials_of(&name, &artifacts), Some(name));
    }

    #[test]
    fn a_host_without_the_service_differs_from_a_failing_host() {
        for body in [
            r#"{"modules.v1": "/m/"}"#,
            "{}",
            r#"{"providers.v1": null}"#,
        ] {
            let error = error_for(move |_| json(body));
            assert!(
                error.ends_with("/.well-known/terraform.json offers no provider registry"),
                "{body}: {error}"
            );
        }
        assert!(error_for(|_| Response::new(404, "")).ends_with("offers no provider registry"));
        let of_type = |content_type: &str| Response::ok("{}").header("Content-Type", content_type);
        for (response, expected) in [
            (json("no"), "it is not JSON"),
            (json("[]"), "its JSON does not have the expected form"),
            (
                json(r#"{"providers.v1": 3}"#),
                "providers.v1: it is not a string",
            ),
            (
                json(r#"{"providers.v1": "https://"}"#),
                "providers.v1: empty host",
            ),
            (
                json(r#"{"providers.v1": "https://u:p@h.test/"}"#),
                "providers.v1: the URL must not contain a user name",
            ),
            (
                Response::ok("{}"),
                "it has no Content-Type instead of application/json",
            ),
            (
                of_type("text/html"),
                "it has a different Content-Type instead of application/json",
            ),
            (
                of_type("application/jsonx"),
                "it has a different Content-Type instead of application/json",
            ),
        ] {
            let error = error_for(move |_| response.clone());
            assert!(
                error.contains(&format!(" sent an unusable response: {expected}")),
                "{error}"
            );
        }
        let page = "<!DOCTYPE html>\n<title>Login</title>";
        for response in [
            json("<html>"),
            Response::ok(page),
            Response::ok(page).header("Content-Type", "text/html"),
        ] {
            let error = error_for(move |_| response.clone());
            assert!(
                error.ends_with(" returned a web page instead of a service discovery document"),
                "{error}"
            );
        }
        let (server, discovery, name) = start(|_| Response::new(503, "no"));
        let error = discovery
            .registry_url(&name, Service::Providers)
            .unwrap_err();
        assert!(
            error[0].message.ends_with("answered with status 503: no"),
            "{error}"
        );
        assert_eq!(server.requests().len(), 3);
    }

    #[test]
    fn a_service_without_encryption_is_not_asked() {
        let (_server, discovery, name) =
            start(|_| json(r#"{"providers.v1": "http://127.0.0.1:1/"}"#));
        let service = discovery.registry_url(&name, Service::Providers).unwrap();
        let error = discovery
            .client
            .get(&service, Some(&name), 10, Purpose::Metadata)
            .unwrap_err();
        assert_eq!(error.kind, RequestErrorKind::Insecure);
    }

    #[test]
    fn threads_that_ask_for_the_same_host_share_one_request() {
        let (server, discovery, name) = start(|_| json(r#"{"providers.v1": "/v1/"}"#));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    assert_eq!(
                        discovery.registry_url(&name, Service::Providers).unwrap(),
                        server.url("localhost", "/v1/")
                    );
                });
            }
        });
        assert_eq!(server.requests().len(), 1);
    }

    #[test]
    fn both_registries_of_a_host_are_found_by_one_request() {
        let (server, discovery, name) =
            start(|_| json(r#"{"providers.v1": "/p/", "modules.v1": "/m/"}"#));
        assert_eq!(
            discovery.registry_url(&name, Service::Modules).unwrap(),
            server.url("localhost", "/m/")
        );
        assert_eq!(
            discovery.registry_url(&name, Service::Providers).unwrap(),
            server.url("localhost", "/p/")
        );
        assert_eq!(server.requests().len(), 1);
    }

    #[test]
    fn a_known_service_is_requested_again_only_if_it_fails() {
        let directory = tempfile::tempdir().unwrap();
        let cache = RegistryCache::open(directory.path());
        let (server, discovery, name) = start(|_| json(r#"{"providers.v1": "/v2/"}"#));
        let (old, new) = (
            server.url("localhost", "/v1/"),
            server.url("localhost", "/v2/"),
        );
        cache.store_service(&name, Service::Providers, &old);
        let discovery = Discovery {
            cache: Some(cache.clone()),
            ..discovery
        };
        assert_eq!(
            discovery.registry_url(&name, Service::Providers).unwrap(),
            old
        );
        assert!(server.requests().is_empty());
        let ask = || {
            let asked = Mutex::new(Vec::new());
            let get = |url: &Url, _: Option<&Hostname>| {
                asked.lock().unwrap().push(url.clone());
                let failure = RequestError {
                    url: url.into(),
                    kind: RequestErrorKind::NotFound,
                    credentials_of: None,
                };
                if url.path() == "/v2/a" {
                    Ok(())
                } else {
                    Err(failure)
                }
            };
            let (url, answer) = discovery
                .request_from_registry(&name, Service::Providers, "a", get)
                .unwrap();
            assert_eq!((url, answer), (new.join("a").unwrap(), Ok(())));
            asked.into_inner().unwrap()
        };
        assert_eq!(ask(), [old.join("a").unwrap(), new.join("a").unwrap()]);
        assert_eq!(cache.service(&name, Service::Providers).unwrap(), new);
        assert_eq!(ask(), [new.join("a").unwrap()]);
        assert_eq!(server.requests().len(), 1);
    }

    #[test]
    fn a_host_with_configured_services_is_not_asked() {
        let (server, discovery, _) = start(|_| json(""));
        let with = |services: &[(&str, &str)]| {
            let services = services
                .iter()
                .map(|(name, url)| ((*name).to_owned(), (*url).to_owned()))
                .collect();
            let hosts = BTreeMap::from([(host("h.test"), services)]);
            Discovery::new(discovery.client.clone(), hosts, CloudHosts::default(), None)
                .registry_url(&host("h.test"), Service::Providers)
        };
        assert_eq!(
            with(&[("providers.v1", "http://127.0.0.1:1/p/")])
                .unwrap()
                .as_str(),
            "http://127.0.0.1:1/p/"
        );
        assert_eq!(
            with(&[("providers.v1", "/p/")]).unwrap().as_str(),
            "https://h.test/p/"
        );
        let error = with(&[("modules.v1", "/m/")]).unwrap_err();
        assert!(
            error[0].message.ends_with("offers no provider registry"),
            "{error}"
        );
        assert!(server.requests().is_empty());
    }

    #[test]
    fn a_name_that_cannot_be_in_a_url_is_an_error() {
        let (_server, discovery, _) = start(|_| json(""));
        let error = discovery
            .registry_url(&host("1.2.3.4.5"), Service::Providers)
            .unwrap_err();
        assert!(
            error[0]
                .message
                .contains("https://1.2.3.4.5/.well-known/terraform.json is not a URL"),
            "{error}"
        );
    }
}
