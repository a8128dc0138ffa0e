//! The hosts of modules: registries, archives, and git repositories over dumb and smart HTTP.
//!
//! An answer that fails the case checks facts that no output shows: a host that must not get
//! credentials answers 400 to them, and an address with a `limit` answers 410 to the request after
//! it.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use provlock_test::{Request, Response};
use serde_json::{Value, json};

use crate::network::{Network, missing, text};

pub(crate) const HOSTS: [&str; 11] = [
    "archives.acme.test",
    "other.acme.test",
    "git.acme.test",
    "smart.acme.test",
    "github.com",
    "bitbucket.org",
    "api.bitbucket.org",
    "modules.acme.test",
    "nomod.acme.test",
    "moved.acme.test",
    "baddisco.acme.test",
];

impl Network {
    /// The answer of a host with modules; `None` if it has none at this path.
    pub(crate) fn modules(&self, request: &Request, host: &str, path: &str) -> Option<Response> {
        if path == "/.well-known/terraform.json" {
            return discovery(host);
        }
        let address = format!("{host}{path}");
        if let Some(entry) = self.data.modules["static"].get(&address) {
            return Some(self.archive(request, entry, &address));
        }
        let base = match host {
            "modules.acme.test" => "/api/modules/v1/",
            "archives.acme.test" => "/registry/v1/",
            "registry.terraform.io"
            | "registry.opentofu.org"
            | "registry.acme.test"
            | "noprov.acme.test"
            | "xn--bcher-kva.test" => "/v1/modules/",
            _ => return self.git(request, host, path),
        };
        match path.strip_prefix(base) {
            Some(rest) => Some(self.registry(request, host, &rest.split('/').collect::<Vec<_>>())),
            None => self.git(request, host, path),
        }
    }

    /// Credentials and limits, which entries of all kinds can have; `None` if nothing is wrong.
    fn refuse(&self, request: &Request, entry: &Value, key: &str) -> Option<Response> {
        let bearer = entry["token"]
            .as_str()
            .map(|token| format!("Bearer {token}"));
        let wanted =
            bearer.or_else(|| Some(format!("Basic {}", BASE64.encode(entry["basic"].as_str()?))));
        let is_get = request.method == "GET";
        if wanted.is_some() && request.authorization() != wanted.as_deref() {
            let response = text(401, "Unauthorized");
            let asks = entry["basic"].is_string();
            return Some(if asks {
                response.header("WWW-Authenticate", "Basic realm=\"kit\"")
            } else {
                response
            });
        }
        if wanted.is_none() && request.authorization().is_some() && entry["anyauth"] != true {
            return Some(text(
                400,
                "credentials were sent to a host that must not get them",
            ));
        }
        if is_get
            && entry["limit"]
                .as_u64()
                .is_some_and(|limit| self.count(&format!("limit {key}")) >= limit)
        {
            return Some(text(410, "requested too often: fetch a package once"));
        }
        let fails = is_get && self.fails(&format!("flaky {key}"), &entry["flaky"]);
        fails.then(|| text(503, "try again"))
    }

    fn registry(&self, request: &Request, host: &str, parts: &[&str]) -> Response {
        let [namespace, name, system, rest @ ..] = parts else {
            return missing();
        };
        let module = format!("{namespace}/{name}/{system}");
        let entry = &self.data.modules["registry"][&module];
        let is_elsewhere = entry["hosts"]
            .as_array()
            .is_some_and(|hosts| !hosts.contains(&json!(host)));
        if entry.is_null() || is_elsewhere || rest.is_empty() {
            return missing();
        }
        let limit = &entry["limits"][rest[rest.len() - 1]];
        let anybody =
            json!({"anyauth": entry["noauth"] != true, "flaky": entry["flaky"], "limit": limit});
        let access = entry["auth"].get(host).unwrap_or(&anybody);
        if let Some(response) = self.refuse(request, access, &format!("{host}/{}", parts.join("/")))
        {
            return response;
        }
        if let Some(code) = entry["code"].as_u64() {
            return Response::json(u16::try_from(code).unwrap(), &json!({"errors": ["failed"]}));
        }
        let is_listed = |version: &str| {
            let lists = [&entry["versions"], &entry["extra"]];
            lists
                .into_iter()
                .filter_map(Value::as_array)
                .any(|list| list.contains(&json!(version)))
        };
        match rest {
            ["versions"] if entry["body"].is_string() => {
                Response::ok(entry["body"].as_str().unwrap())
                    .header("Content-Type", "application/json")
            }
            ["versions"] => {
                let versions = entry["versions"].as_array().unwrap().iter();
                let versions: Vec<_> = versions
                    .map(|version| json!({"version": version}))
                    .collect();
                Response::json(
                    200,
                    &json!({"modules": [{"source": module, "versions": versions}]}),
                )
            }
            [version, "download"] if is_listed(version) => {
                let downloads = &entry["download"];
                download(
                    downloads.get(version).unwrap_or(&downloads["*"]),
                    version,
                    host,
                )
            }
            _ => missing(),
        }
    }

    fn archive(&self, request: &Request, entry: &Value, address: &str) -> Response {
        if let Some(response) = self.refuse(request, entry, address) {
            return response;
        }
        if let Some(expected) = entry["query"].as_array() {
            let query = request
                .target
                .split_once('?')
                .map_or("", |(_, query)| query);
            let pairs = url::form_urlencoded::parse(query.as_bytes())
                .filter(|(name, _)| name != "terraform-get");
            let mut given: Vec<_> = pairs
                .map(|(name, value)| json!([name, value]).to_string())
                .collect();
            let mut expected: Vec<_> = expected.iter().map(Value::to_string).collect();
            given.sort();
            expected.sort();
            if given != expected {
                return text(400, &format!("unexpected query: {query}"));
            }
        }
        let status = |default| {
            entry["code"]
                .as_u64()
                .map_or(default, |code| u16::try_from(code).unwrap())
        };
        let mut response = if let Some(redirect) = entry["redirect"].as_str() {
            text(status(302), "").header("Location", redirect)
        } else {
            let body = match entry["file"].as_str() {
                Some(file) => self.data.bytes(&format!("modules/files/{file}")).unwrap(),
                None => entry["body"].as_str().unwrap_or_default().as_bytes(),
            };
            let kind = entry["type"].as_str().unwrap_or("application/octet-stream");
            Response::new(status(200), body).header("Content-Type", kind)
        };
        if let Some(location) = entry["headers"]["X-Terraform-Get"].as_str() {
            response = response.header("X-Terraform-Get", location);
        }
        if entry["cut"] == true {
            response.truncated()
        } else {
            response
        }
    }

    fn git(&self, request: &Request, host: &str, path: &str) -> Option<Response> {
        let (repository, tail) = repository_path(path)?;
        // As the forges do: with and without `.git`.
        let name = format!("{host}{repository}.git");
        let entry = self.data.modules["git"].get(&name)?;
        let mut access = entry.clone();
        access.as_object_mut().unwrap().remove("limit");
        if let Some(response) = self.refuse(request, &access, &name) {
            return Some(response);
        }
        if tail == "info/refs"
            && let Some(limit) = entry["limit"].as_u64()
            && self.count(&format!("limit {name}")) >= limit
        {
            return Some(text(410, "requested too often: fetch a repository once"));
        }
        let stored = entry["as"].as_str().unwrap_or(&name);
        let asks_for_smart =
            tail == "git-upload-pack" || request.target.ends_with("?service=git-upload-pack");
        if entry["smart"] == true && asks_for_smart {
            return Some(self.upload_pack(request, stored, tail == "info/refs"));
        }
        let body = self.data.bytes(&format!("modules/git/{stored}/{tail}"));
        Some(body.map_or_else(|| text(404, "not found"), Response::ok))
    }

    fn upload_pack(&self, request: &Request, stored: &str, is_advertisement: bool) -> Response {
        let mut command = Command::new("git");
        command
            .args(["upload-pack", "--stateless-rpc"])
            .args(is_advertisement.then_some("--advertise-refs"));
        command
            .arg(self.data.repository(stored))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap());
        command.envs([
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("HOME", "/nonexistent"),
        ]);
        command.envs([
            ("GIT_CONFIG_KEY_0", "safe.directory"),
            ("GIT_CONFIG_VALUE_0", "*"),
            ("GIT_CONFIG_COUNT", "2"),
        ]);
        command.envs([
            ("GIT_CONFIG_KEY_1", "uploadpack.allowAnySHA1InWant"),
            ("GIT_CONFIG_VALUE_1", "true"),
        ]);
        command.envs(
            request
                .header("git-protocol")
                .map(|version| ("GIT_PROTOCOL", version)),
        );
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut given = request.bytes.clone();
        if request.header("content-encoding") == Some("gzip") {
            given.clear();
            flate2::read::GzDecoder::new(request.bytes.as_slice())
                .read_to_end(&mut given)
                .unwrap();
        }
        child.stdin.take().unwrap().write_all(&given).unwrap();
        let mut body = child.wait_with_output().unwrap().stdout;
        if is_advertisement {
            body.splice(..0, *b"001e# service=git-upload-pack\n0000");
        }
        let kind = if is_advertisement {
            "advertisement"
        } else {
            "result"
        };
        let response = Response::ok(body).header(
            "Content-Type",
            format!("application/x-git-upload-pack-{kind}"),
        );
        response.header("Cache-Control", "no-cache")
    }
}

fn discovery(host: &str) -> Option<Response> {
    let services = match host {
        "modules.acme.test" => json!({"modules.v1": "/api/modules/v1"}),
        "moved.acme.test" => json!({"modules.v1": "https://archives.acme.test/registry/v1/"}),
        "nomod.acme.test" => json!({"providers.v1": "/v1/providers/"}),
        "baddisco.acme.test" => {
            return Some(Response::ok("<html>").header("Content-Type", "text/html"));
        }
        _ => return None,
    };
    Some(Response::json(200, &services))
}

/// Address of a package, in one of the forms that registries use.
fn download(entry: &Value, version: &str, host: &str) -> Response {
    let encoded = utf8_percent_encode(host, NON_ALPHANUMERIC)
        .to_string()
        .replace("%2E", ".")
        .replace("%2D", "-");
    let template = entry["location"].as_str().unwrap_or_default();
    let location = template
        .replace("{v}", version)
        .replace("{host}", host)
        .replace("{hosturl}", &encoded);
    if let Some(code) = entry["code"].as_u64() {
        return text(u16::try_from(code).unwrap(), "no");
    }
    match entry["kind"].as_str().unwrap_or("header") {
        "header" if location.is_empty() => Response::new(204, ""),
        "header" => Response::new(204, "").header("X-Terraform-Get", location),
        "header200" => {
            let response = Response::ok(entry["body"].as_str().unwrap_or("{}"))
                .header("X-Terraform-Get", location);
            response.header("Content-Type", "application/json")
        }
        _ => {
            let mut document = json!({"location": location});
            if let Some(flag) = entry.get("creds") {
                document["use_registry_credentials"] = flag.clone();
            }
            Response::json(200, &document)
        }
    }
}

/// Splits `/acme/net.git/info/refs` into `/acme/net` and `info/refs`.
fn repository_path(path: &str) -> Option<(&str, &str)> {
    let (repository, tail) = path
        .match_indices('/')
        .map(|(at, _)| (&path[..at], &path[at + 1..]))
        .find(|(_, tail)| {
            ["info/refs", "git-upload-pack", "HEAD"].contains(tail) || tail.starts_with("objects/")
        })?;
    Some((repository.strip_suffix(".git").unwrap_or(repository), tail))
}
