//! The hosts of the recorded cases: provider registries and a network mirror. `modules` has the
//! rest.

use std::collections::HashMap;
use std::io::{Cursor, Read as _};
use std::path::Path;
use std::sync::{Arc, Mutex};

use percent_encoding::percent_decode_str;
use provlock_test::archive::{self, File};
use provlock_test::{Request, Response};
use serde_json::{Value, json};

use crate::data::Data;

/// Hosts of providers. `down` answers 503, and `noprov` has no providers.
const HOSTS: [&str; 8] = [
    "registry.terraform.io",
    "registry.opentofu.org",
    "registry.acme.test",
    "releases.acme.test",
    "mirror.acme.test",
    "down.acme.test",
    "noprov.acme.test",
    "xn--bcher-kva.test",
];

/// The network of one case, which counts requests for answers that fail at first.
pub(crate) struct Network {
    pub(crate) data: Arc<Data>,
    counters: Mutex<HashMap<String, u64>>,
}

/// Whether there is such a host. Its name comes with the port unless it is 443.
pub(crate) fn is_known(host: &str) -> bool {
    let host = host
        .strip_suffix(":8443")
        .unwrap_or(host)
        .trim_end_matches('.');
    HOSTS.contains(&host) || crate::modules::HOSTS.contains(&host)
}

pub(crate) fn missing() -> Response {
    Response::json(404, &json!({"errors": ["Not Found"]}))
}

pub(crate) fn text(status: u16, body: &str) -> Response {
    Response::new(status, body).header("Content-Type", "text/plain")
}

fn binary(body: &[u8], kind: &str) -> Response {
    Response::ok(body).header("Content-Type", kind)
}

impl Network {
    pub(crate) fn new(data: Arc<Data>) -> Self {
        Self {
            data,
            counters: Mutex::default(),
        }
    }

    pub(crate) fn answer(&self, request: &Request) -> Response {
        let (host, path) = (request.host.split(':').next().unwrap(), request.path());
        if let Some(response) = self.modules(request, host, path) {
            return response;
        }
        let decoded: Vec<String> = path
            .split('/')
            .skip(1)
            .map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned())
            .collect();
        let parts: Vec<&str> = decoded.iter().map(String::as_str).collect();
        match parts.as_slice() {
            [".well-known", "terraform.json"] => discovery(host),
            ["v1", "providers", namespace, kind, rest @ ..] if !rest.is_empty() => {
                self.api(request, namespace, kind, rest)
            }
            ["redirect", rest @ ..] => {
                text(302, "").header("Location", format!("/files/{}", rest.join("/")))
            }
            ["files", rest @ ..] => self.package(rest),
            [mirror, _, namespace, kind, document] if mirror.starts_with("mirror") => {
                let variant = mirror.trim_start_matches("mirror").trim_start_matches('-');
                self.mirror(request, variant, &format!("{namespace}/{kind}"), document)
            }
            _ => missing(),
        }
    }

    /// Number of earlier requests with this key.
    pub(crate) fn count(&self, key: &str) -> u64 {
        let mut counters = self.counters.lock().unwrap();
        let counter = counters.entry(key.to_owned()).or_default();
        *counter += 1;
        *counter - 1
    }

    /// Whether a request is among the first, which fail.
    pub(crate) fn fails(&self, key: &str, first: &Value) -> bool {
        first.as_u64().is_some_and(|first| self.count(key) < first)
    }

    fn api(&self, request: &Request, namespace: &str, kind: &str, rest: &[&str]) -> Response {
        let name = format!("{namespace}/{kind}");
        let find = |name: &str| {
            let mut providers = self.data.providers.as_object().unwrap().iter();
            providers
                .find_map(|(other, provider)| other.eq_ignore_ascii_case(name).then_some(provider))
        };
        if namespace == "-" {
            // The name of a provider from before there were namespaces.
            let moved =
                json!({"id": format!("hashicorp/{kind}"), "moved_to": null, "versions": []});
            return find(&format!("hashicorp/{kind}"))
                .map_or_else(missing, |_| Response::json(200, &moved));
        }
        let Some(provider) = find(&name) else {
            return missing();
        };
        let faults = &provider["opts"];
        if let Some(token) = faults["token"].as_str()
            && request.authorization() != Some(&format!("Bearer {token}"))
        {
            return Response::json(401, &json!({"errors": ["Unauthorized"]}));
        }
        let key = format!("api/{}", rest.join("/"));
        if self.fails(&key, &faults["flaky"]) {
            return try_again(&faults["flakycode"]);
        }
        if self.fails(&key, &faults["resetflaky"]) {
            return Response::reset();
        }
        match rest {
            ["versions"] => versions(&name, provider),
            [version, "download", os, architecture] => {
                let release = Release {
                    namespace,
                    kind,
                    version,
                    os,
                    architecture,
                };
                release
                    .document(provider, request.header("host").unwrap())
                    .map_or_else(missing, |it| Response::json(200, &it))
            }
            _ => missing(),
        }
    }

    fn package(&self, parts: &[&str]) -> Response {
        let faults = &self.data.providers[parts[..2.min(parts.len())].join("/")]["opts"];
        let path = parts.join("/");
        let is_zip = Path::new(&path)
            .extension()
            .is_some_and(|extension| extension == "zip");
        let is_removed = !faults[if is_zip { "zip404" } else { "sums404" }].is_null();
        let (Some(body), false) = (self.data.bytes(&format!("registry/{path}")), is_removed) else {
            return text(404, "not found");
        };
        if !is_zip {
            let fails = self.fails(&path, &faults["sumsflaky"]);
            return if fails {
                text(503, "try again")
            } else {
                binary(body, "application/octet-stream")
            };
        }
        if self.fails(&path, &faults["zipflaky"]) {
            return try_again(&faults["zipcode"]);
        }
        if self.fails(&path, &faults["resetflaky"]) {
            return Response::reset();
        }
        let response = binary(body, "application/zip");
        if self.fails(&path, &faults["truncflaky"]) {
            response.truncated()
        } else {
            response
        }
    }

    fn mirror(&self, request: &Request, variant: &str, name: &str, document: &str) -> Response {
        let versions = &self.data.providers[name]["versions"];
        if versions.is_null() {
            return missing();
        }
        if variant == "auth" && request.authorization().is_none() {
            return text(401, "no");
        }
        if document == "index.json" {
            let listed = versions
                .as_object()
                .unwrap()
                .keys()
                .map(|version| (version.clone(), json!({})));
            return Response::json(
                200,
                &json!({"versions": listed.collect::<serde_json::Map<_, _>>()}),
            );
        }
        let version = document.strip_suffix(".json").unwrap_or_default();
        let Some(platforms) = versions[version]["platforms"].as_object() else {
            return missing();
        };
        let archives = platforms.iter().map(|(platform, package)| {
            let tail = format!("{name}/{version}/{}", package["filename"].as_str().unwrap());
            let zh = format!("zh:{}", package["shasum"].as_str().unwrap());
            let h1 = h1_of_zip(self.data.bytes(&format!("registry/{tail}")).unwrap());
            let mut archive = json!({"url": format!("../../../../files/{tail}")});
            match variant {
                "" => archive["hashes"] = json!([h1, zh]),
                "h1" => archive["hashes"] = json!([h1]),
                "zh" => archive["hashes"] = json!([zh]),
                "bad" => archive["hashes"] = json!([format!("h1:{}=", "A".repeat(43))]),
                "future" => archive["hashes"] = json!(["h9:abcdef"]),
                "junk" => archive["hashes"] = json!(["nocolon"]),
                _ => {}
            }
            (platform.clone(), archive)
        });
        Response::json(
            200,
            &json!({"archives": archives.collect::<serde_json::Map<_, _>>()}),
        )
    }
}

fn discovery(host: &str) -> Response {
    match host {
        "down.acme.test" => text(503, "down"),
        "noprov.acme.test" => Response::json(200, &json!({"modules.v1": "/v1/modules/"})),
        _ => Response::json(
            200,
            &json!({"modules.v1": "/v1/modules/", "providers.v1": "/v1/providers/"}),
        ),
    }
}

fn try_again(status: &Value) -> Response {
    let status = status
        .as_u64()
        .map_or(503, |status| u16::try_from(status).unwrap());
    let response = text(status, "try again");
    if status == 429 {
        response.header("Retry-After", "1")
    } else {
        response
    }
}

fn versions(name: &str, provider: &Value) -> Response {
    let faults = &provider["opts"];
    if !faults["notjson"].is_null() {
        return Response::ok("<html>sign in</html>").header("Content-Type", "text/html");
    }
    let list = |value: &Value| -> Vec<String> {
        let items = value.as_array().into_iter().flatten();
        items
            .map(|item| item.as_str().unwrap().to_owned())
            .collect()
    };
    let described = |version: &str, protocols: &Value, platforms: &[String]| {
        let platforms = platforms.iter().map(|platform| {
            let (os, architecture) = platform.split_once('_').unwrap();
            json!({"os": os, "arch": architecture})
        });
        json!({"version": version, "protocols": protocols, "platforms": platforms.collect::<Vec<_>>()})
    };
    let mut found = Vec::new();
    for (version, release) in provider["versions"].as_object().unwrap() {
        let mut platforms: Vec<String> = release["platforms"]
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        platforms.extend(list(&faults["liar"]));
        if list(&faults["noplatforms"]).contains(version) {
            platforms.clear();
        }
        found.push(described(version, &release["protocols"], &platforms));
    }
    for version in list(&faults["extraversions"]) {
        found.push(described(
            &version,
            &json!(["5.0"]),
            &["linux_amd64".to_owned()],
        ));
    }
    Response::json(
        200,
        &json!({"id": name, "versions": found, "warnings": faults["warnings"]}),
    )
}

struct Release<'a> {
    namespace: &'a str,
    kind: &'a str,
    version: &'a str,
    os: &'a str,
    architecture: &'a str,
}

impl Release<'_> {
    /// The answer about the package for the platform, by a registry at this host and port.
    fn document(&self, provider: &Value, authority: &str) -> Option<Value> {
        let Self {
            namespace,
            kind,
            version,
            os,
            architecture,
        } = self;
        let (release, faults) = (&provider["versions"][version], &provider["opts"]);
        let package = release["platforms"].get(format!("{os}_{architecture}"))?;
        let registry = format!("https://{authority}");
        let port = authority
            .split_once(':')
            .map_or_else(String::new, |(_, port)| format!(":{port}"));
        // The packages of one provider are on another host.
        let is_alpha = (*namespace, *kind) == ("acme", "alpha");
        let packages = if is_alpha {
            format!("https://releases.acme.test{port}")
        } else {
            registry.clone()
        };
        let tail = format!(
            "{namespace}/{kind}/{version}/{}",
            package["filename"].as_str().unwrap()
        );
        let sums = format!(
            "/files/{namespace}/{kind}/{version}/terraform-provider-{kind}_{version}_SHA256SUMS"
        );
        let is_set = |fault: &str| !faults[fault].is_null();
        let [download_url, shasums_url] = if is_set("relurl") {
            [format!("../../../../../../../../files/{tail}"), sums]
        } else if is_set("redirect") {
            [
                format!("{registry}/redirect/{tail}"),
                format!("{registry}{sums}"),
            ]
        } else {
            [
                format!("{packages}/files/{tail}"),
                format!("{registry}{sums}"),
            ]
        };
        let shasum = package["shasum"].as_str().unwrap();
        let mut document = json!({
            "protocols": release["protocols"],
            "os": os,
            "arch": if is_set("wrongtarget") { "riscv64" } else { architecture },
            "filename": package["filename"],
            "download_url": download_url,
            "shasums_url": shasums_url,
            "shasums_signature_url": format!("{shasums_url}.sig"),
            "shasum": if is_set("uppershasum") { shasum.to_uppercase() } else { shasum.to_owned() },
            "signing_keys": {"gpg_public_keys": provider["keys"]},
        });
        if let Some(packages) = release.get("packages") {
            document["packages"] = packages.clone();
        }
        for (field, value) in faults["patch"].as_object().into_iter().flatten() {
            document[field] = value.clone();
        }
        Some(document)
    }
}

fn h1_of_zip(bytes: &[u8]) -> String {
    let mut zip = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let files = (0..zip.len()).map(|index| {
        let mut entry = zip.by_index(index).unwrap();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        (entry.name().unwrap().to_string(), content)
    });
    archive::h1(&files.collect::<Vec<File>>())
}
