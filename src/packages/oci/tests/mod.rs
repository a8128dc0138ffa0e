//! Mirrors against made-up registries on this machine. `tests/oci.rs` has a real one.

mod hostile;
mod login;
mod module_package;
mod push;

use std::collections::BTreeMap;
use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use provlock_test::{Request, Response, Server};
use serde_json::{Value, json};
use zip::write::SimpleFileOptions;

use super::*;
use crate::cli_config::NetSettings;
use crate::diagnostic::{self, Diagnostics, Location, SourceFile};
use crate::net::Client;
use crate::packages::Progress;
use crate::packages::archive::HashCache;
use crate::provider::Hash;

const NULL: &str = "/v2/m/acme/null";

/// Content of a repository, by path.
#[derive(Clone, Default)]
pub(super) struct Content(BTreeMap<String, Vec<u8>>);

impl Content {
    fn answer(&self, request: &Request) -> Response {
        match self.0.get(request.path()) {
            Some(body) => Response::new(200, body.clone()),
            None => Response::not_found(),
        }
    }

    fn put(&mut self, path: impl Into<String>, body: impl Into<Vec<u8>>) -> &mut Self {
        self.0.insert(path.into(), body.into());
        self
    }

    /// Stores a manifest by its digest and returns its descriptor.
    fn put_manifest(&mut self, document: &Value) -> Value {
        let body = document.to_string();
        let digest = digest_of(body.as_bytes());
        self.put(format!("{NULL}/manifests/{digest}"), body.clone());
        json!({"mediaType": document["mediaType"], "artifactType": document["artifactType"], "digest": digest,
            "size": body.len()})
    }

    fn put_index(&mut self, tag: &str, manifests: &[Value]) -> &mut Self {
        let index = json!({"schemaVersion": 2, "mediaType": manifest::INDEX,
            "artifactType": "application/vnd.opentofu.provider", "manifests": manifests});
        self.put(format!("{NULL}/manifests/{tag}"), index.to_string())
    }
}

fn digest_of(bytes: &[u8]) -> String {
    let zh = Hash::zh_of(bytes);
    format!("sha256:{}", zh.value())
}

fn archive() -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    writer
        .start_file(
            "terraform-provider-null_v1.0.0",
            SimpleFileOptions::default(),
        )
        .unwrap();
    writer.write_all(b"a program").unwrap();
    writer.finish().unwrap().into_inner()
}

fn target_manifest(layers: &Value) -> Value {
    json!({"schemaVersion": 2, "mediaType": manifest::MANIFEST,
        "artifactType": "application/vnd.opentofu.provider-target", "layers": layers})
}

fn with_platform(mut descriptor: Value, os: &str, architecture: &str) -> Value {
    descriptor["platform"] = json!({"os": os, "architecture": architecture});
    descriptor
}

fn zip_layer(bytes: &[u8]) -> Value {
    json!({"mediaType": "archive/zip", "digest": digest_of(bytes), "size": bytes.len()})
}

/// Version 1.0.0 of acme/null for two platforms, with the same package.
fn content() -> Content {
    let mut content = Content::default();
    let package = archive();
    let manifest = content.put_manifest(&target_manifest(&json!([
        zip_layer(&package),
        {"mediaType": "text/plain", "digest": digest_of(b""), "size": 0},
    ])));
    let foreign = json!({"mediaType": manifest::MANIFEST, "digest": digest_of(b"x"), "size": 1});
    let manifests = [
        with_platform(manifest.clone(), "linux", "amd64"),
        with_platform(manifest, "darwin", "arm64"),
        with_platform(foreign, "linux", "s390x"),
    ];
    content.put_index("1.0.0", &manifests);
    content.put(format!("{NULL}/blobs/{}", digest_of(&package)), package);
    content.put(
        format!("{NULL}/tags/list"),
        json!({"name": "m/acme/null", "tags": ["1.0.0"]}).to_string(),
    );
    content.put("/v2/", "{}");
    content
}

fn network() -> Client {
    let settings = NetSettings {
        back_off: Duration::ZERO,
        use_proxies: false,
        ..NetSettings::default()
    };
    Client::new(settings, |_| Ok(None)).unwrap()
}

fn downloader(cache: Option<HashCache>) -> Downloader {
    Downloader::new(network(), 2, cache, None)
}

fn mirror_with(host: &str, logins: OciLogins) -> OciMirror {
    let registries = OciRegistries::new(network(), logins);
    let template =
        RepositoryTemplate::parse_flag(&format!("{host}/m/{{namespace}}/{{type}}")).unwrap();
    OciMirror::new(
        downloader(None),
        Arc::new(registries),
        template,
        Dialect::Tofu,
    )
}

fn mirror(server: &Server) -> OciMirror {
    mirror_with(&server.host(), OciLogins::anonymous())
}

fn null() -> ProviderAddress {
    ProviderAddress::parse("acme/null", Dialect::Tofu).unwrap()
}

fn package_on(platform: &str) -> PackageId {
    PackageId {
        address: null(),
        version: Version::new(1, 0, 0),
        platform: platform.parse().unwrap(),
    }
}

fn fetch(mirror: &OciMirror) -> diagnostic::Result<Fetched> {
    Ok(mirror.fetch(&Fetch {
        package: &package_on("linux_amd64"),
        archive_file: None,
        progress: &|_, _| (),
    })?)
}

/// The error, as the user sees it.
fn diagnosed<T: std::fmt::Debug>(outcome: Result<T>) -> Diagnostics {
    outcome.unwrap_err().into()
}

/// Everything that an error tells.
fn told(error: &Diagnostics) -> String {
    format!("{error:?}")
}

#[test]
fn versions_are_the_tags_of_all_pages_that_are_versions() {
    let server = Server::http(|request| match request.target.as_str() {
        "/v2/m/acme/null/tags/list" => {
            Response::new(200, r#"{"tags": ["1.0.0", "latest", "v1.1.0", "1.2"]}"#).header(
                "Link",
                "</v2/m/acme/null/tags/list?n=4&last=1.2>; rel=\"next\"",
            )
        }
        "/v2/m/acme/null/tags/list?n=4&last=1.2" => {
            Response::new(200, r#"{"tags": ["2.0.0-rc.1_build.5", "1.1.0"]}"#)
                .header("Link", "<list?last=5>; title=x; rel=next")
        }
        "/v2/m/acme/null/tags/list?last=5" => {
            Response::new(200, r#"{"name": "m/acme/null", "tags": null}"#)
        }
        _ => Response::not_found(),
    });
    let available = mirror(&server).versions(&null()).unwrap();
    let versions: Vec<_> = available.versions.keys().map(ToString::to_string).collect();
    assert_eq!(versions, ["1.0.0", "1.1.0", "2.0.0-rc.1+build.5"]);
}

#[test]
fn a_missing_repository_differs_from_a_host_that_is_not_a_registry() {
    let registry = Server::http(|request| match request.path() {
        "/v2/" => Response::new(401, "").header("WWW-Authenticate", "Basic"),
        _ => Response::new(404, r#"{"errors": [{"code": "NAME_UNKNOWN"}]}"#),
    });
    let outcome = mirror(&registry).versions(&null());
    assert!(matches!(
        outcome.unwrap_err(),
        SourceError::ProviderNotFound { .. }
    ));
    let refusing = Server::http(|request| match request.path() {
        "/v2/" => Response::new(200, ""),
        _ => Response::new(
            400,
            r#"{"errors": [{"code": "NAME_INVALID", "message": "no"}]}"#,
        ),
    });
    assert!(matches!(
        mirror(&refusing).versions(&null()).unwrap_err(),
        SourceError::ProviderNotFound { .. }
    ));
    let other = Server::http(|_| Response::not_found());
    assert!(matches!(
        mirror(&other).versions(&null()).unwrap_err(),
        SourceError::Other(_)
    ));
    let broken = Server::http(|_| {
        Response::new(
            500,
            r#"{"errors": [{"code": "UNKNOWN", "message": "secret"}]}"#,
        )
    });
    let error = diagnosed(mirror(&broken).versions(&null()));
    assert!(
        error[0].message.contains("500: UNKNOWN") && !told(&error).contains("secret"),
        "{error}"
    );
    assert_eq!(broken.requests_for("/v2/m/acme/null/tags/list").len(), 3);
}

#[test]
fn a_package_yields_its_hashes() {
    let server = Server::http({
        let content = content();
        move |request| content.answer(request)
    });
    let tofu = mirror(&server);
    let platforms = tofu.platforms(&null(), &Version::new(1, 0, 0)).unwrap();
    assert_eq!(
        platforms
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        ["darwin_arm64", "linux_amd64"]
    );
    let received = Mutex::new(0);
    let package = archive();
    let progress = |_: &_, progress| match progress {
        Progress::Started(length) => assert_eq!(length, Some(package.len() as u64)),
        Progress::Received(count) => *received.lock().unwrap() += count,
        Progress::Finished => {}
    };
    let into_nothing = Fetch {
        package: &package_on("linux_amd64"),
        archive_file: None,
        progress: &progress,
    };
    let fetched = tofu.fetch(&into_nothing).unwrap();
    let zh: Hash = digest_of(&package)
        .replace("sha256:", "zh:")
        .parse()
        .unwrap();
    // sha256sum of "a program" and two spaces and the name in front of a newline, hashed and in
    // base64.
    let h1: Hash = "h1:Kl9S3mrANLzPunb4yVAHwAcxr1AF2w313XuV0qAudnA="
        .parse()
        .unwrap();
    assert_eq!(
        (fetched.h1.clone(), fetched.downloaded),
        (h1.clone(), package.len() as u64)
    );
    assert!(fetched.hashes.recordable().eq([&h1, &zh]));
    assert!(fetched.hashes.confirms(&h1) && fetched.hashes.confirms(&zh));
    assert_eq!(*received.lock().unwrap(), package.len() as u64);

    let terraform = OciMirror {
        dialect: Dialect::Terraform,
        ..mirror(&server)
    };
    assert!(fetch(&terraform).unwrap().hashes.recordable().eq([&h1]));
    let error = diagnosed(tofu.fetch(&Fetch {
        package: &package_on("linux_s390x"),
        archive_file: None,
        progress: &|_, _| (),
    }));
    assert_eq!(error[0].code, Code::PlatformNotAvailable);
    assert_eq!(
        error[0].notes,
        ["there are packages for darwin_arm64, linux_amd64"]
    );
    assert_eq!(
        server.requests_for("/v2/m/acme/null/manifests/1.0.0").len(),
        2,
        "once for each mirror"
    );
}

#[test]
fn packages_of_a_mirror_do_not_enter_the_cache_as_published() {
    let server = Server::http({
        let content = content();
        move |request| content.answer(request)
    });
    let directory = tempfile::tempdir().unwrap();
    let cache = HashCache::open(directory.path());
    let mirror = OciMirror {
        downloader: downloader(Some(cache.clone())),
        ..mirror(&server)
    };
    let fetched = fetch(&mirror).unwrap();
    let zh: Hash = digest_of(&archive())
        .replace("sha256:", "zh:")
        .parse()
        .unwrap();
    assert_eq!(cache.digest_by_zh(&zh, "null").unwrap().h1, fetched.h1);
    assert_eq!(cache.packages(&null()), []);
}

#[test]
fn two_providers_cannot_share_a_repository() {
    let server = Server::http(|_| Response::new(200, r#"{"tags": []}"#));
    let registries = Arc::new(OciRegistries::new(network(), OciLogins::anonymous()));
    let template =
        RepositoryTemplate::parse_flag(&format!("{}/m/{{type}}", server.host())).unwrap();
    let mirror = OciMirror::new(downloader(None), registries, template, Dialect::Tofu);
    assert!(mirror.versions(&null()).is_ok());
    assert!(mirror.versions(&null()).is_ok());
    let other = ProviderAddress::parse("emca/null", Dialect::Tofu).unwrap();
    let error = diagnosed(mirror.versions(&other));
    assert!(
        error[0].message.contains("acme/null") && error[0].message.contains("emca/null"),
        "{error}"
    );
}

#[test]
fn an_index_of_a_different_kind_is_described() {
    let target = |artifact: &str, media: &str| {
        json!({
            "mediaType": media, "artifactType": artifact, "digest": digest_of(b"x"), "size": 1,
        })
    };
    let index = |artifact: &str, manifests: Value| {
        json!({"mediaType": manifest::INDEX, "artifactType": artifact, "manifests": manifests})
            .to_string()
    };
    let provider = "application/vnd.opentofu.provider";
    let provider_target = "application/vnd.opentofu.provider-target";
    for (document, expected) in [
        ("[]".to_owned(), "media type \"\""),
        (String::new(), "is not an OCI manifest"),
        (
            json!({"mediaType": manifest::INDEX, "manifests": []}).to_string(),
            "maybe a container image",
        ),
        (index("x/y", json!([])), "of the artifact type \"x/y\""),
        (
            json!({"mediaType": manifest::MANIFEST, "artifactType": provider_target}).to_string(),
            "manifest of one platform",
        ),
        (
            target("application/vnd.opentofu.modulepkg", manifest::MANIFEST).to_string(),
            "is a module",
        ),
        (
            json!({"mediaType": "a/b", "artifactType": provider}).to_string(),
            "media type \"a/b\"",
        ),
        (
            json!({"mediaType": "a".repeat(1 << 20), "artifactType": provider}).to_string(),
            "media type \"aaa",
        ),
        (index(provider, json!([])), "lists no platform"),
        (
            index(provider, json!([target("other", manifest::MANIFEST)])),
            "lists no platform",
        ),
        (
            index(provider, json!([target(provider_target, "a/b")])),
            "platform of the media type \"a/b\"",
        ),
        (
            index(
                provider,
                json!([target(provider_target, manifest::MANIFEST)]),
            ),
            "lists a manifest without a platform",
        ),
    ] {
        let error = manifest::read_index(document.as_bytes()).unwrap_err();
        assert!(
            error.contains(expected) && error.len() < 300,
            "{expected}: {error}"
        );
    }
    for (layers, expected) in [
        (json!([]), "no layer"),
        (
            json!([{"mediaType": "application/zip", "digest": "x", "size": 1}]),
            "no layer",
        ),
        (json!([zip_layer(b"a"), zip_layer(b"b")]), "several layers"),
        (
            json!([{"mediaType": "archive/zip", "digest": "sha512:00", "size": 1}]),
            "not a sha256 digest",
        ),
        (
            json!([{"mediaType": "archive/zip", "digest": "sha256:../../x", "size": 1}]),
            "not a sha256 digest",
        ),
        (
            json!([{"mediaType": "archive/zip", "digest": digest_of(b""), "size": -1}]),
            "is not an OCI manifest",
        ),
    ] {
        let error = manifest::read_manifest(
            target_manifest(&layers).to_string().as_bytes(),
            PROVIDER_TARGET,
        )
        .unwrap_err();
        assert!(error.contains(expected), "{layers}: {error}");
    }
}

#[test]
fn tags_are_versions_with_underscores() {
    for (tag, version) in [
        ("1.0.0", "1.0.0"),
        ("1.0.0-a_b", "1.0.0-a+b"),
        ("1.0.0_b.1", "1.0.0+b.1"),
    ] {
        let parsed = version_of_tag(tag).unwrap();
        assert_eq!(
            (
                parsed.to_string().as_str(),
                tag_of_version(&parsed).as_str()
            ),
            (version, tag)
        );
    }
    for tag in [
        "",
        "1",
        "1.0",
        "v1.0.0",
        "1.0.0_a_b",
        "latest",
        "01.0.0",
        "sha256-abc",
    ] {
        assert_eq!(version_of_tag(tag), None, "{tag}");
    }
}

fn location() -> Location {
    Location::new(&SourceFile::new(".tofurc", "oci_credentials"), 0..1)
}
