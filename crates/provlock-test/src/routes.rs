//! From a request to its answer: service discovery, the provider registry protocol, files, network mirrors.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::faults::{Effects, Fault};
use super::publish::{Address, Package, Release};
use super::registry::{Discovery, Host, Mirror, MirrorHashes, Provider, Request, State};

/// A response before it is sent.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: &'static str,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Arc<Vec<u8>>,
    pub(crate) delivery: Delivery,
}

/// How a response is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivery {
    Whole,
    /// Half of the body.
    Truncated,
    /// A pause before each piece of the body.
    Slow(Duration),
    /// Not at all: the connection is reset.
    Reset,
}

impl Answer {
    fn new(status: u16, content_type: &'static str, body: Arc<Vec<u8>>) -> Self {
        Self { status, content_type, headers: Vec::new(), body, delivery: Delivery::Whole }
    }

    fn json(document: &Value) -> Self {
        Self::new(200, "application/json", Arc::new(document.to_string().into_bytes()))
    }

    fn error(status: u16) -> Self {
        let document = json!({ "errors": [format!("status {status}")] });
        Self { status, ..Self::json(&document) }
    }

    /// The answer after the faults that were ordered for the request.
    pub(crate) fn spoil(mut self, request: &Request, effects: Effects) -> Self {
        if effects.pause > Duration::ZERO {
            self.delivery = Delivery::Slow(effects.pause);
        }
        match effects.instead {
            Some(Fault::Status(status)) => Self::error(status),
            Some(Fault::TooManyRequests { retry_after }) => {
                Self { headers: vec![("Retry-After", retry_after.to_string())], ..Self::error(429) }
            }
            Some(Fault::Reset) => Self { delivery: Delivery::Reset, ..self },
            Some(Fault::Truncated) => Self { delivery: Delivery::Truncated, ..self },
            Some(Fault::Body(body)) => Self { status: 200, body: Arc::new(body), ..self },
            // A request that was redirected already is answered, or it would go round for ever.
            Some(Fault::RedirectTo(host)) if !request.path.starts_with("/via/") => {
                let location = format!("https://{host}/via/{}{}", request.host, request.path);
                Self { headers: vec![("Location", location)], ..Self::error(302) }
            }
            Some(Fault::RedirectTo(_) | Fault::Delay(_) | Fault::SlowBody { .. }) | None => self,
        }
    }

    pub(crate) fn logged_status(&self) -> u16 {
        if self.delivery == Delivery::Reset { 0 } else { self.status }
    }
}

/// What a registry without faults answers.
pub(crate) fn answer(state: &State, request: &Request) -> Answer {
    let path = request.path.split('?').next().unwrap_or_default();
    if let Some(rest) = path.strip_prefix("/via/") {
        // Another host in the place of the first; tokens are the first host's, so none is asked for.
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        return service(state, host, path, "../v1/providers/");
    }
    let mirror = state.mirrors.iter().find_map(|mirror| {
        let rest = path.strip_prefix(mirror.prefix.as_str()).filter(|_| mirror.host == request.host)?;
        Some((rest, &mirror.options))
    });
    let for_members = path.starts_with("/v1/providers/") || (mirror.is_some() && path.strip_suffix(".json").is_some());
    if for_members && let Some(refusal) = refusal(state.hosts.get(&request.host), request) {
        return refusal;
    }
    match mirror {
        Some((rest, options)) => mirrored(state, rest, options),
        None => service(state, &request.host, path, "/v1/providers/"),
    }
}

fn refusal(host: Option<&Host>, request: &Request) -> Option<Answer> {
    let token = host?.token.as_ref()?;
    match &request.authorization {
        None => Some(Answer::error(401)),
        Some(authorization) if *authorization != format!("Bearer {token}") => Some(Answer::error(403)),
        Some(_) => None,
    }
}

fn service(state: &State, host: &str, path: &str, providers: &str) -> Answer {
    if path == "/.well-known/terraform.json" {
        let discovery = state.hosts.get(host).and_then(|host| host.discovery.as_ref());
        return Answer::json(&match discovery.unwrap_or(&Discovery::Standard) {
            Discovery::Standard => json!({ "modules.v1": "/v1/modules/", "providers.v1": providers }),
            Discovery::WithoutProviders => json!({ "modules.v1": "/v1/modules/" }),
            Discovery::Document(document) => document.clone(),
        });
    }
    if let Some(content) = state.files.get(path) {
        return Answer::new(200, "application/octet-stream", Arc::clone(content));
    }
    let parts: Vec<&str> = path.strip_prefix("/v1/providers/").unwrap_or_default().split('/').collect();
    let provider = |namespace, name| state.providers.get(&Address::new(host, namespace, name));
    let document = match parts[..] {
        [namespace, name, "versions"] => {
            provider(namespace, name).map(|provider| versions(provider, &format!("{namespace}/{name}")))
        }
        [namespace, name, version, "download", os, arch] => provider(namespace, name)
            .and_then(|provider| provider.releases.iter().find(|release| release.version == version))
            .and_then(|release| release.packages.get(&format!("{os}_{arch}")))
            .map(|package| package.metadata.clone()),
        _ => None,
    };
    document.map_or_else(|| Answer::error(404), |document| Answer::json(&document))
}

fn versions(provider: &Provider, id: &str) -> Value {
    let versions: Vec<Value> = provider.releases.iter().filter(|release| release.listed).map(listed).collect();
    let warnings = if provider.warnings.is_empty() { Value::Null } else { json!(provider.warnings) };
    json!({ "id": id, "versions": versions, "warnings": warnings })
}

fn listed(release: &Release) -> Value {
    let platforms: Vec<Value> = (release.packages.keys().chain(&release.claimed))
        .map(|platform| {
            let (os, arch) = platform.split_once('_').unwrap();
            json!({ "os": os, "arch": arch })
        })
        .collect();
    json!({ "version": release.version, "protocols": release.protocols, "platforms": platforms })
}

fn mirrored(state: &State, path: &str, options: &Mirror) -> Answer {
    let parts: Vec<&str> = path.split('/').collect();
    let [host, namespace, name, file] = parts[..] else { return Answer::error(404) };
    let Some(provider) = state.providers.get(&Address::new(host, namespace, name)) else { return Answer::error(404) };
    if file == "index.json" {
        let versions = provider.releases.iter().filter(|release| release.listed);
        let versions: serde_json::Map<_, _> = versions.map(|release| (release.version.clone(), json!({}))).collect();
        return Answer::json(&json!({ "versions": versions }));
    }
    if let Some(version) = file.strip_suffix(".json") {
        let Some(release) = provider.releases.iter().find(|release| release.version == version) else {
            return Answer::error(404);
        };
        let archives = release.packages.iter().map(|(platform, package)| (platform.clone(), archive(package, options)));
        return Answer::json(&json!({ "archives": archives.collect::<serde_json::Map<_, _>>() }));
    }
    let mut packages = provider.releases.iter().flat_map(|release| release.packages.values());
    match packages.find(|package| package.filename == file) {
        Some(package) => Answer::new(200, "application/zip", Arc::clone(&package.archive)),
        None => Answer::error(404),
    }
}

fn archive(package: &Package, options: &Mirror) -> Value {
    let hashes = match &options.hashes {
        MirrorHashes::Both => vec![package.h1.as_str(), &package.zh],
        MirrorHashes::H1 => vec![package.h1.as_str()],
        MirrorHashes::Zh => vec![package.zh.as_str()],
        MirrorHashes::H1WithDirectories => vec![package.h1_with_directories.as_str()],
        MirrorHashes::Fixed(hashes) => hashes.clone(),
        MirrorHashes::None => return json!({ "url": package.filename }),
    };
    json!({ "url": package.filename, "hashes": hashes })
}
