//! Uploads of facts.

use super::*;
use crate::packages::archive::PackageDigest;
use crate::packages::oci::facts::ReleaseTag;
use crate::packages::shared_facts::{Envelope, ReleaseFacts, publish};
use crate::provider::{OciRepository, SigningKey};

/// Publishes facts about a release without packages.
fn push(registry: &Server) -> diagnostic::Result<bool> {
    let address = ProviderAddress::parse("acme/null", Dialect::Tofu).unwrap();
    let facts = ReleaseFacts {
        address,
        version: "1.0.0+x".parse().unwrap(),
        packages: BTreeMap::default(),
    };
    let repository: OciRepository = format!("{}/facts", registry.host()).parse().unwrap();
    let place = ReleaseTag {
        repository: &repository,
        address: &facts.address,
        version: &facts.version,
    };
    let registries = OciRegistries::new(network(), OciLogins::anonymous());
    let key = SigningKey::generate().unwrap();
    registries.push_facts(&place, |_| Ok(Some(Envelope::seal(&facts, &key))))
}

/// A registry that says this of where to upload blobs.
fn registry(location: impl Into<String>) -> Server {
    let location = location.into();
    let has_failed = Mutex::new(false);
    Server::http(move |request| match request.method.as_str() {
        "GET" if request.path() == "/v2/" => Response::ok("{}"),
        "GET" => Response::not_found(),
        "POST" => Response::new(202, "").header("Location", location.clone()),
        // The first upload fails for a moment.
        _ if !std::mem::replace(&mut *has_failed.lock().unwrap(), true) => Response::new(503, ""),
        _ => Response::new(201, ""),
    })
}

#[test]
fn blobs_come_before_the_manifest_that_names_them() {
    let registry = registry("/upload/7?state=a%20b");
    assert!(push(&registry).unwrap());
    let puts: Vec<_> = registry
        .requests()
        .into_iter()
        .filter(|request| request.method == "PUT")
        .collect();
    let targets: Vec<_> = puts.iter().map(|request| request.target.as_str()).collect();
    let [failed, empty, envelope, manifest] = targets[..] else {
        panic!("{targets:?}")
    };
    assert_eq!(failed, empty);
    assert!(
        [empty, envelope]
            .iter()
            .all(|target| target.starts_with("/upload/7?state=a%20b&digest=sha256%3A"))
    );
    assert_eq!(
        manifest,
        "/v2/facts/registry.opentofu.org_acme_null/manifests/1.0.0_x"
    );
    assert_eq!(puts[3].header("content-type"), Some(manifest::MANIFEST));
    let blobs = [&puts[1], &puts[2]].map(|request| digest_of(request.body.as_bytes()));
    assert!(blobs.iter().all(|digest| puts[3].body.contains(digest)));
}

#[test]
fn nothing_is_uploaded_to_another_host() {
    let elsewhere = Server::http(|_| Response::new(201, ""));
    let registry = registry(elsewhere.url("localhost", "/upload").to_string());
    let error = push(&registry).unwrap_err();
    assert!(
        error[0]
            .message
            .contains("the location of an upload is on a different host"),
        "{error}"
    );
    assert!(elsewhere.requests().is_empty());
}

/// A registry that keeps manifests, and replaces each pushed manifest by the next of `others`.
fn keeping(others: Vec<String>) -> Server {
    let state = Mutex::new((String::new(), others));
    Server::http(move |request| {
        let (manifest, others) = &mut *state.lock().unwrap();
        match (
            request.method.as_str(),
            request.path().contains("/manifests/"),
        ) {
            ("GET", true) if manifest.is_empty() => Response::not_found(),
            ("GET", true) => Response::ok(manifest.clone()),
            ("GET", false) => Response::ok("{}"),
            ("PUT", true) => {
                *manifest = others.pop().unwrap_or_else(|| request.body.clone());
                Response::new(201, "")
            }
            ("POST", _) => Response::new(202, "").header("Location", "/upload"),
            _ => Response::new(201, ""),
        }
    })
}

#[test]
fn facts_that_another_machine_replaces_are_published_again() {
    let (key, version) = (SigningKey::generate().unwrap(), "1.0.0".parse().unwrap());
    let address = ProviderAddress::parse("acme/null", Dialect::Tofu).unwrap();
    let repository = |registry: &Server| {
        format!("{}/facts", registry.host())
            .parse::<OciRepository>()
            .unwrap()
    };
    let push = |registry: &Server, platform: &str| {
        let (h1, zh) = (
            format!("h1:{}=", "A".repeat(43)),
            format!("zh:{}", "a".repeat(64)),
        );
        let h1: Hash = h1.parse().unwrap();
        let digest = PackageDigest {
            zh: zh.parse().unwrap(),
            h1_with_directories: h1.clone(),
            h1,
            size: 1,
        };
        let packages = BTreeMap::from([(platform.parse().unwrap(), digest)]);
        let facts = ReleaseFacts {
            address: address.clone(),
            version: "1.0.0".parse().unwrap(),
            packages,
        };
        let registries = OciRegistries::new(network(), OciLogins::anonymous());
        let published = publish(&registries, &repository(registry), &key, vec![facts]);
        assert!(matches!(published[0].outcome, Some(Ok(true))));
    };
    let of_other = |platform: &str| {
        let registry = keeping(Vec::new());
        push(&registry, platform);
        let mut puts = registry
            .requests()
            .into_iter()
            .filter(|request| request.method == "PUT");
        puts.next_back().unwrap().body
    };
    let registry = keeping(vec![of_other("windows_amd64"), of_other("darwin_arm64")]);
    push(&registry, "linux_amd64");
    let registries = OciRegistries::new(network(), OciLogins::anonymous());
    let place = ReleaseTag {
        repository: &repository(&registry),
        address: &address,
        version: &version,
    };
    let envelope = registries
        .published_facts(&place, std::time::Duration::MAX)
        .ok()
        .flatten()
        .unwrap();
    let facts = envelope
        .open(&[key.public_key()], &address, &version)
        .unwrap();
    let platforms: Vec<_> = facts.packages.keys().map(ToString::to_string).collect();
    assert_eq!(
        platforms,
        ["linux_amd64", "windows_amd64"],
        "and all of the last machine before it"
    );
}
