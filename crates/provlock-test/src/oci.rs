//! The part of the tests' registry that is an OCI registry, on hosts of its own: it takes and gives
//! blobs and manifests (<https://github.com/opencontainers/distribution-spec/blob/v1.1.0/spec.md>).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::archive::sha256;
use crate::message::{Request, Response};

/// Pushed content. The name of a repository includes its host.
#[derive(Default)]
pub(crate) struct Oci {
    pub(crate) hosts: BTreeSet<String>,
    /// Blobs by repository and digest.
    blobs: BTreeMap<(String, String), Vec<u8>>,
    /// Manifests by repository and by tag or digest.
    pub(crate) manifests: BTreeMap<(String, String), String>,
    /// The user and the password, with a colon between them, that the token server wants.
    pub(crate) login: Option<String>,
}

/// Answers a request for a path below `/v2/`.
pub(crate) fn answer(oci: &mut Oci, request: &Request) -> Response {
    let path = request.path().trim_start_matches("/v2/");
    if path == "token" {
        return token(oci, request);
    }
    let parts = ["/manifests/", "/blobs/", "/tags/"]
        .into_iter()
        .find_map(|part| path.split_once(part).map(|rest| (part, rest)));
    let Some((part, (name, rest))) = parts else {
        return Response::ok("{}");
    };
    if let Some(challenge) = challenge(oci, request, name) {
        return challenge;
    }
    let repository = format!("{}/{name}", request.host);
    match (request.method.as_str(), part) {
        ("GET" | "HEAD", "/blobs/") => match oci.blobs.get(&(repository, rest.to_owned())) {
            Some(blob) => Response::ok(blob.clone()),
            None => error(404, "BLOB_UNKNOWN"),
        },
        ("GET", "/manifests/") => match oci.manifests.get(&(repository, rest.to_owned())) {
            Some(manifest) => {
                Response::ok(manifest.clone()).header("Content-Type", media_type(manifest))
            }
            None => error(404, "MANIFEST_UNKNOWN"),
        },
        ("GET", "/tags/") => {
            let names = oci
                .manifests
                .keys()
                .filter(|(of, name)| *of == repository && !name.contains(':'));
            let tags: Vec<_> = names.map(|(_, tag)| tag).collect();
            if tags.is_empty() {
                error(404, "NAME_UNKNOWN")
            } else {
                Response::json(200, &json!({ "tags": tags }))
            }
        }
        ("POST", "/blobs/") => {
            Response::new(202, "").header("Location", format!("/v2/{name}/blobs/uploads/1?state=x"))
        }
        ("PUT", "/blobs/") => {
            let digest = format!("sha256:{}", sha256(&request.bytes));
            if !request
                .target
                .ends_with(&format!("&digest={}", digest.replace(':', "%3A")))
            {
                return error(400, "DIGEST_INVALID");
            }
            oci.blobs
                .insert((repository, digest), request.bytes.clone());
            Response::new(201, "")
        }
        ("PUT", "/manifests/") => {
            if !is_complete(oci, &repository, &request.body) {
                return error(400, "MANIFEST_BLOB_UNKNOWN");
            }
            let digest = format!("sha256:{}", sha256(&request.bytes));
            if rest.starts_with("sha256:") && rest != digest {
                return error(400, "DIGEST_INVALID");
            }
            for name in [rest, &digest] {
                oci.manifests
                    .insert((repository.clone(), name.to_owned()), request.body.clone());
            }
            Response::new(201, "")
        }
        _ => error(405, "UNSUPPORTED"),
    }
}

/// Puts a module package under a tag, as OpenTofu's documentation lays it out, and returns its
/// digest. `created` is the annotation about its creation.
pub(crate) fn publish_module(
    oci: &mut Oci,
    repository: &str,
    tag: &str,
    archive: Vec<u8>,
    created: Option<&str>,
) -> String {
    let digest = |bytes: &[u8]| format!("sha256:{}", sha256(bytes));
    let descriptor = |media_type: &str, bytes: &[u8]| json!({ "mediaType": media_type, "digest": digest(bytes), "size": bytes.len() });
    let mut manifest = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "artifactType": "application/vnd.opentofu.modulepkg",
        "config": descriptor("application/vnd.oci.empty.v1+json", b"{}"),
        "layers": [descriptor("archive/zip", &archive)],
    });
    if let Some(created) = created {
        manifest["annotations"] = json!({ "org.opencontainers.image.created": created });
    }
    let manifest = manifest.to_string();
    let own_digest = digest(manifest.as_bytes());
    oci.blobs
        .insert((repository.to_owned(), digest(&archive)), archive);
    for name in [tag, &own_digest] {
        oci.manifests
            .insert((repository.to_owned(), name.to_owned()), manifest.clone());
    }
    own_digest
}

/// Whether all blobs and manifests that a manifest or an index names are there.
fn is_complete(oci: &Oci, repository: &str, manifest: &str) -> bool {
    let manifest: Value = serde_json::from_str(manifest).unwrap_or_default();
    let key = |descriptor: &Value| {
        (
            repository.to_owned(),
            descriptor["digest"].as_str().unwrap_or_default().to_owned(),
        )
    };
    if let Some(manifests) = manifest["manifests"].as_array() {
        return manifests
            .iter()
            .all(|descriptor| oci.manifests.contains_key(&key(descriptor)));
    }
    let layers = manifest["layers"].as_array().into_iter().flatten();
    layers
        .chain([&manifest["config"]])
        .all(|descriptor| oci.blobs.contains_key(&key(descriptor)))
}

fn media_type(manifest: &str) -> String {
    let manifest: Value = serde_json::from_str(manifest).unwrap_or_default();
    manifest["mediaType"]
        .as_str()
        .unwrap_or("application/octet-stream")
        .to_owned()
}

/// Returns the answer to a request without the right token.
fn challenge(oci: &Oci, request: &Request, name: &str) -> Option<Response> {
    oci.login.as_ref()?;
    let scope = |actions: &str| format!("repository:{name}:{actions}");
    let allowed: &[&str] = if matches!(request.method.as_str(), "GET" | "HEAD") {
        &["pull", "pull,push"]
    } else {
        &["pull,push"]
    };
    let is_allowed = |actions: &&str| {
        request.authorization() == Some(&format!("Bearer given-for-{}", scope(actions)))
    };
    if allowed.iter().any(is_allowed) {
        return None;
    }
    let challenge = format!(
        "Bearer realm=\"https://{}/v2/token\",scope=\"{}\"",
        request.host,
        scope("pull")
    );
    Some(error(401, "UNAUTHORIZED").header("WWW-Authenticate", challenge))
}

fn token(oci: &Oci, request: &Request) -> Response {
    if request.basic() != oci.login {
        return error(401, "UNAUTHORIZED");
    }
    let query = url::form_urlencoded::parse(
        request
            .target
            .split_once('?')
            .unwrap_or_default()
            .1
            .as_bytes(),
    );
    let scope = query
        .filter(|(name, _)| name == "scope")
        .map(|(_, scope)| scope.into_owned())
        .collect::<String>();
    Response::json(200, &json!({ "token": format!("given-for-{scope}") }))
}

fn error(status: u16, code: &str) -> Response {
    Response::json(
        status,
        &json!({ "errors": [{ "code": code, "message": "no" }] }),
    )
}
