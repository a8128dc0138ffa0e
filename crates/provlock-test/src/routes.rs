//! From a request to its answer: service discovery, the provider registry protocol, files, network
//! mirrors.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::faults::{Effects, Fault};
use crate::message::{Delivery, Request, Response};
use crate::state::{
    Address, Discovery, Host, Mirror, MirrorHashes, Package, Provider, Release, State,
};

/// Bytes in each piece of a slow body.
const SLOW_PIECE: usize = 16 * 1024;

/// The header in which a registry names the location of a version of a module.
const LOCATION: &str = "X-Terraform-Get";

/// The response after the faults that were ordered for the request.
pub(crate) fn spoil(mut response: Response, request: &Request, effects: Effects) -> Response {
    if effects.pause > Duration::ZERO {
        response.delivery = Delivery::Slow {
            piece: SLOW_PIECE,
            pause: effects.pause,
        };
    }
    if effects.instead.is_some() {
        // A client that reads the header needs no body.
        response.headers.retain(|(name, _)| *name != LOCATION);
    }
    match effects.instead {
        Some(Fault::Status(status)) => error(status),
        Some(Fault::TooManyRequests { retry_after }) => {
            error(429).header("Retry-After", retry_after.to_string())
        }
        Some(Fault::Reset) => Response::reset(),
        Some(Fault::Truncated) => response.truncated(),
        Some(Fault::CutAt(percent)) => response.cut_at(percent),
        Some(Fault::WrongLength) => Response {
            delivery: Delivery::WrongLength,
            ..response
        },
        Some(Fault::Drip { pause }) => Response {
            delivery: Delivery::Slow { piece: 1, pause },
            ..response
        },
        Some(Fault::Body(body)) => Response {
            status: 200,
            body: Arc::new(body),
            ..response
        },
        Some(Fault::PaddedTo(size)) => Response {
            body: Arc::new(padded(&response.body, size)),
            ..response
        },
        // A redirected request is answered, to prevent an endless loop.
        Some(Fault::RedirectTo(host)) if !request.target.starts_with("/via/") => {
            Response::redirect(format!("https://{host}/via/{}", request.url()))
        }
        Some(Fault::RedirectLoop) => Response::redirect(format!("https://{}", request.url())),
        Some(Fault::RedirectTo(_) | Fault::Delay(_) | Fault::SlowBody { .. }) | None => response,
    }
}

/// The document with white space after it, which JSON, lists of checksums and HCL may have.
fn padded(document: &[u8], size: usize) -> Vec<u8> {
    assert!(
        document.len() <= size,
        "the document alone has {} bytes",
        document.len()
    );
    let padding = vec![b'\n'; size - document.len()];
    [document, &padding].concat()
}

fn error(status: u16) -> Response {
    Response::json(status, &json!({ "errors": [format!("status {status}")] }))
}

/// A file, which a download can go on with where it broke. A file's place never gets another
/// content.
fn served(request: &Request, content_type: &str, bytes: &Arc<Vec<u8>>) -> Response {
    let response = Response {
        body: Arc::clone(bytes),
        ..Response::ok("")
    }
    .header("Content-Type", content_type);
    response.resumable(request, &format!("\"{}\"", bytes.len()))
}

/// Answer of a registry without faults.
pub(crate) fn answer(state: &State, request: &Request) -> Response {
    let path = request.path();
    if let Some(rest) = path.strip_prefix("/via/") {
        // A second host that serves the first one's releases; tokens are for the first host, so
        // this host requires none.
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        return service(state, request, host, path, "../v1/providers/");
    }
    let mirror = state.mirrors.iter().find_map(|mirror| {
        let rest = path.strip_prefix(mirror.prefix.as_str())?;
        (mirror.host == request.host).then_some((rest, &mirror.options))
    });
    let for_members = path.starts_with("/v1/providers/")
        || (mirror.is_some() && path.strip_suffix(".json").is_some());
    if for_members && let Some(refusal) = refusal(state.hosts.get(&request.host), request) {
        return refusal;
    }
    match mirror {
        Some((rest, options)) => mirrored(state, request, rest, options),
        None => service(state, request, &request.host, path, "/v1/providers/"),
    }
}

fn refusal(host: Option<&Host>, request: &Request) -> Option<Response> {
    let token = host?.token.as_ref()?;
    match request.authorization() {
        None => Some(error(401)),
        Some(authorization) if authorization != format!("Bearer {token}") => Some(error(403)),
        Some(_) => None,
    }
}

fn service(state: &State, request: &Request, host: &str, path: &str, providers: &str) -> Response {
    if path == "/.well-known/terraform.json" {
        let discovery = state
            .hosts
            .get(host)
            .and_then(|host| host.discovery.as_ref());
        return Response::json(
            200,
            &match discovery.unwrap_or(&Discovery::Standard) {
                Discovery::Standard => {
                    json!({ "modules.v1": "/v1/modules/", "providers.v1": providers })
                }
                Discovery::WithoutProviders => json!({ "modules.v1": "/v1/modules/" }),
                Discovery::Document(document) => document.clone(),
            },
        );
    }
    if let Some(content) = state.files.get(path) {
        let response = served(request, "application/octet-stream", content);
        return match location(path, content) {
            Some(location) => response.header(LOCATION, location),
            None => response,
        };
    }
    let parts: Vec<&str> = path
        .strip_prefix("/v1/providers/")
        .unwrap_or_default()
        .split('/')
        .collect();
    let provider = |namespace, name| state.providers.get(&Address::new(host, namespace, name));
    let document = match parts[..] {
        [namespace, name, "versions"] => provider(namespace, name)
            .map(|provider| versions(provider, &format!("{namespace}/{name}"))),
        [namespace, name, version, "download", os, arch] => provider(namespace, name)
            .and_then(|provider| {
                provider
                    .releases
                    .iter()
                    .find(|release| release.version == version)
            })
            .and_then(|release| release.packages.get(&format!("{os}_{arch}")))
            .map(|package| package.metadata.clone()),
        _ => None,
    };
    document.map_or_else(|| error(404), |document| Response::json(200, &document))
}

/// The location of a module in a document. Terraform reads only a header.
fn location(path: &str, document: &[u8]) -> Option<String> {
    path.strip_prefix("/v1/modules/")?
        .strip_suffix("/download")?;
    Some(
        serde_json::from_slice::<Value>(document).ok()?["location"]
            .as_str()?
            .to_owned(),
    )
}

fn versions(provider: &Provider, id: &str) -> Value {
    let versions: Vec<Value> = provider
        .releases
        .iter()
        .filter(|release| release.listed)
        .map(listed)
        .collect();
    let warnings = if provider.warnings.is_empty() {
        Value::Null
    } else {
        json!(provider.warnings)
    };
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

fn mirrored(state: &State, request: &Request, path: &str, options: &Mirror) -> Response {
    let parts: Vec<&str> = path.split('/').collect();
    let [host, namespace, name, file] = parts[..] else {
        return error(404);
    };
    let Some(provider) = state.providers.get(&Address::new(host, namespace, name)) else {
        return error(404);
    };
    if file == "index.json" {
        let versions = provider.releases.iter().filter(|release| release.listed);
        let versions: serde_json::Map<_, _> = versions
            .map(|release| (release.version.clone(), json!({})))
            .collect();
        return Response::json(200, &json!({ "versions": versions }));
    }
    if let Some(version) = file.strip_suffix(".json") {
        let Some(release) = provider
            .releases
            .iter()
            .find(|release| release.version == version)
        else {
            return error(404);
        };
        let archives = release
            .packages
            .iter()
            .map(|(platform, package)| (platform.clone(), archive(package, options)));
        return Response::json(
            200,
            &json!({ "archives": archives.collect::<serde_json::Map<_, _>>() }),
        );
    }
    let mut packages = provider
        .releases
        .iter()
        .flat_map(|release| release.packages.values());
    match packages.find(|package| package.filename == file) {
        Some(package) => served(request, "application/zip", &package.archive),
        None => error(404),
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
