//! Tests of the parts on which all other tests rely.

mod terraform;

use std::io::Read as _;
use std::time::Duration;

use pgp::composed::{Deserializable, DetachedSignature, SignedPublicKey};
use reqwest::blocking::{Client, Response};
use reqwest::{Certificate, Proxy};
use serde_json::{Value, json};

use super::{
    Discovery, Fault, Flaw, Mirror, MirrorHashes, PackagesMap, Registry, TestEnvironment, Times,
    UNTRUSTED_HOST, archive, keys, url,
};

const VERSIONS: &str = "https://registry.opentofu.org/v1/providers/hashicorp/null/versions";
const DOWNLOAD: &str =
    "https://registry.opentofu.org/v1/providers/hashicorp/null/3.2.4/download/linux/amd64";

fn client(registry: &Registry) -> Client {
    let authority = std::fs::read(registry.certificate_file()).unwrap();
    Client::builder()
        .proxy(Proxy::all(registry.proxy_url()).unwrap())
        .tls_certs_only([Certificate::from_pem(&authority).unwrap()])
        .user_agent("support/1")
        .timeout(Duration::from_secs(30))
        .build()
        .unwrap()
}

fn get(client: &Client, url: &str) -> Response {
    client
        .get(url)
        .send()
        .unwrap_or_else(|error| panic!("{url}: {error:?}"))
}

fn document(client: &Client, url: &str) -> Value {
    let response = get(client, url);
    assert_eq!(response.status(), 200, "{url}");
    response.json().unwrap()
}

fn bytes(client: &Client, url: &Value) -> Vec<u8> {
    let response = get(client, url.as_str().unwrap());
    assert_eq!(response.status(), 200, "{url}");
    response.bytes().unwrap().to_vec()
}

fn status(client: &Client, url: &str) -> u16 {
    get(client, url).status().as_u16()
}

/// Whether the listed key has made the signature over the sums.
fn is_signed(metadata: &Value, sums: &[u8], signature: &[u8]) -> bool {
    let armor = metadata["signing_keys"]["gpg_public_keys"][0]["ascii_armor"]
        .as_str()
        .unwrap();
    let key = SignedPublicKey::from_string(armor).unwrap().0;
    let signature = DetachedSignature::from_bytes(signature).unwrap();
    match key.public_subkeys.first() {
        Some(subkey) => signature.verify(subkey, sums).is_ok(),
        None => signature.verify(&key, sums).is_ok(),
    }
}

/// Metadata, SHA256SUMS, signature.
fn release(client: &Client) -> (Value, Vec<u8>, Vec<u8>) {
    let metadata = document(client, DOWNLOAD);
    let sums = bytes(client, &metadata["shasums_url"]);
    let signature = bytes(client, &metadata["shasums_signature_url"]);
    (metadata, sums, signature)
}

#[test]
fn a_release_can_be_followed_from_discovery_to_its_package() {
    let registry = Registry::start();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .package_file("docs/", [])
        .package_file("docs/a", "a")
        .done();
    let client = client(&registry);
    let discovery = document(
        &client,
        "https://registry.opentofu.org/.well-known/terraform.json",
    );
    assert_eq!(discovery["providers.v1"], "/v1/providers/");
    let versions = document(&client, VERSIONS);
    assert_eq!(versions["versions"][0]["version"], "3.2.4");
    assert_eq!(
        versions["versions"][0]["platforms"]
            .as_array()
            .unwrap()
            .len(),
        4
    );

    let (metadata, sums, signature) = release(&client);
    assert!(is_signed(&metadata, &sums, &signature));
    let package = bytes(&client, &metadata["download_url"]);
    let sum = archive::sha256(&package);
    let line = format!("{sum}  {}\n", metadata["filename"].as_str().unwrap());
    assert!(String::from_utf8(sums).unwrap().contains(&line));
    assert_eq!(metadata["shasum"], sum);
    assert_eq!(null.zh("linux_amd64"), format!("zh:{sum}"));
    assert_eq!(null.all_zh().len(), 5);

    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(package)).unwrap();
    let mut program = zip.by_name("terraform-provider-null_v3.2.4").unwrap();
    assert_eq!(program.size(), 200);
    assert!(program.read_to_end(&mut Vec::new()).is_ok());
}

#[test]
fn the_h1_is_the_one_of_the_specification() {
    // `sha256sum` over the two files gives these lines, `sha256sum` of them in base64 the hash.
    let files = [
        ("b/c".to_owned(), b"two".to_vec()),
        ("a".to_owned(), b"one".to_vec()),
        ("b/".to_owned(), vec![]),
    ];
    assert_eq!(
        archive::h1(&files),
        "h1:KXgGMUKo/6VCqEzeXvAmGo7Nmd490RhuXS0CDJIvmXg="
    );
    assert_ne!(archive::h1(&files), archive::h1_with_directories(&files));
}

#[test]
fn every_key_signs() {
    for key in [
        &keys::RSA,
        &keys::ED25519,
        &keys::OTHER,
        &keys::SUBKEY,
        &keys::EXPIRED,
    ] {
        let registry = Registry::start();
        registry
            .publish("hashicorp/null", "3.2.4")
            .signed_by(key)
            .done();
        let (metadata, sums, signature) = release(&client(&registry));
        assert!(is_signed(&metadata, &sums, &signature), "{key:?}");
        assert_eq!((key.key_id().len(), key.fingerprint().len()), (16, 40));
        assert!(key.fingerprint().ends_with(&key.key_id()));
        assert_eq!(
            key.signing_key_id() == key.key_id(),
            key.key_id() != keys::SUBKEY.key_id()
        );
    }
}

#[test]
fn gpg_accepts_the_signatures() {
    let environment = TestEnvironment::new();
    let gpg = |arguments: &[&str]| {
        environment
            .program("gpg", arguments)
            .env("GNUPGHOME", environment.home())
            .run()
    };
    if std::process::Command::new("gpg")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("gpg is not installed: nothing to compare with");
        return;
    }
    for (key, expected) in [
        (&keys::RSA, 0),
        (&keys::ED25519, 0),
        (&keys::SUBKEY, 0),
        (&keys::EXPIRED, 0),
    ] {
        environment.write("key", key.public);
        gpg(&["--batch", "--import", "key"]).assert_code(0);
        for form in [keys::Form::Binary, keys::Form::Armored] {
            environment.write("data", "data");
            environment.write("data.sig", key.sign(b"data", form));
            gpg(&["--batch", "--verify", "data.sig", "data"]).assert_code(expected);
        }
        environment.write("data", "other data");
        gpg(&["--batch", "--verify", "data.sig", "data"]).assert_code(1);
    }
}

#[test]
fn publishing_again_replaces_the_release() {
    let registry = Registry::start();
    let first = registry.publish("hashicorp/null", "3.2.4").done();
    let second = registry
        .publish("hashicorp/null", "3.2.4")
        .package_file("NEWS", "changed")
        .done();
    assert_ne!(first.h1("linux_amd64"), second.h1("linux_amd64"));
    let client = client(&registry);
    assert_eq!(
        document(&client, VERSIONS)["versions"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let (metadata, sums, _) = release(&client);
    assert_eq!(
        archive::zh(&bytes(&client, &metadata["download_url"])),
        second.zh("linux_amd64")
    );
    assert_eq!(sums, second.shasums.as_bytes());
    registry.withdraw("hashicorp/null", "3.2.4");
    assert_eq!(document(&client, VERSIONS)["versions"], json!([]));
    assert_eq!(status(&client, DOWNLOAD), 404);
}

#[test]
fn flaws_show_in_what_is_served() {
    let with = |flaw: Flaw| {
        let registry = Registry::start();
        let published = registry
            .publish("hashicorp/null", "3.2.4")
            .flaw(flaw)
            .done();
        (client(&registry), published, registry)
    };
    let (client, null, _registry) = with(Flaw::ShasumDiffers);
    assert_ne!(
        document(&client, DOWNLOAD)["shasum"],
        null.zh("linux_amd64")[3..]
    );
    let (client, null, _registry) = with(Flaw::PackageDiffers);
    let (metadata, sums, signature) = release(&client);
    assert!(is_signed(&metadata, &sums, &signature));
    assert_ne!(
        archive::zh(&bytes(&client, &metadata["download_url"])),
        null.zh("linux_amd64")
    );
    for flaw in [Flaw::BadSignature, Flaw::WrongKey] {
        let (client, _, _registry) = with(flaw);
        let (metadata, sums, signature) = release(&client);
        assert!(!is_signed(&metadata, &sums, &signature));
    }
    for (flaw, member) in [
        (Flaw::MissingSums, "shasums_url"),
        (Flaw::MissingSignature, "shasums_signature_url"),
        (Flaw::MissingPackages, "download_url"),
    ] {
        let (client, _, _registry) = with(flaw);
        assert_eq!(
            status(
                &client,
                document(&client, DOWNLOAD)[member].as_str().unwrap()
            ),
            404
        );
    }
    let (client, _, _registry) = with(Flaw::NoKeys);
    assert_eq!(
        document(&client, DOWNLOAD)["signing_keys"]["gpg_public_keys"],
        json!([])
    );
    let (client, _, _registry) = with(Flaw::Unlisted);
    assert_eq!(document(&client, VERSIONS)["versions"], json!([]));
    assert_eq!(status(&client, DOWNLOAD), 200);
    let (client, _, _registry) = with(Flaw::ClaimsPlatform("plan9_386"));
    assert_eq!(
        document(&client, VERSIONS)["versions"][0]["platforms"][4],
        json!({ "os": "plan9", "arch": "386" })
    );
    let (client, _, _registry) = with(Flaw::RelativeUrls);
    assert!(
        document(&client, DOWNLOAD)["download_url"]
            .as_str()
            .unwrap()
            .starts_with("/files/")
    );
    let (client, null, _registry) = with(Flaw::SumsWithoutPackages);
    assert_eq!(
        (null.shasums.lines().count(), release(&client).1),
        (1, null.shasums.into_bytes())
    );
    let (_, null, _registry) = with(Flaw::MalformedSumsLine);
    assert_eq!((null.shasums.lines().count(), null.all_zh().len()), (6, 5));
    let (client, _, _registry) = with(Flaw::ArmoredSignature);
    assert!(release(&client).2.starts_with(b"-----BEGIN PGP SIGNATURE"));
}

#[test]
fn the_packages_map_and_other_members_are_as_asked() {
    let registry = Registry::start();
    let client = client(&registry);
    let map = |map| {
        let null = registry
            .publish("hashicorp/null", "3.2.4")
            .packages(map)
            .done();
        (document(&client, DOWNLOAD)["packages"].clone(), null)
    };
    let (right, null) = map(PackagesMap::Right);
    let package = &null.packages["linux_amd64"];
    let expected =
        json!({ "hashes": [package.zh, package.h1], "package_size": package.archive.len() });
    assert_eq!(right["linux_amd64"], expected);
    assert_eq!(right.as_object().unwrap().len(), 4);
    for wrong in [
        PackagesMap::WrongZh,
        PackagesMap::WrongH1,
        PackagesMap::WrongSize,
    ] {
        assert_ne!(map(wrong).0["linux_amd64"], expected, "{wrong:?}");
    }
    assert_eq!(map(PackagesMap::Empty).0, json!({}));
    assert_eq!(
        map(PackagesMap::WithoutPlatform)
            .0
            .as_object()
            .unwrap()
            .len(),
        3
    );

    registry
        .publish("hashicorp/null", "3.2.4")
        .patch_metadata(json!({ "arch": "riscv64" }))
        .done();
    registry.warn("hashicorp/null", &["use another"]);
    assert_eq!(document(&client, DOWNLOAD)["arch"], "riscv64");
    assert_eq!(
        document(&client, VERSIONS)["warnings"],
        json!(["use another"])
    );
}

#[test]
fn faults_strike_as_often_as_ordered() {
    let registry = Registry::start();
    registry.publish("hashicorp/null", "3.2.4").done();
    let client = client(&registry);
    registry.fault(url::VERSIONS, Times::First(2), Fault::Status(503));
    registry.fault("*/nothing/*", Times::Always, Fault::Status(500));
    assert_eq!(
        [(); 4].map(|()| status(&client, VERSIONS)),
        [503, 503, 200, 200]
    );
    registry.fault(
        url::DOWNLOAD,
        Times::Always,
        Fault::TooManyRequests { retry_after: 7 },
    );
    let refused = get(&client, DOWNLOAD);
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (429, &"7".parse().unwrap())
    );
    registry.clear_faults();
    registry.fault(url::ANY, Times::First(1), Fault::Body(b"<html>".to_vec()));
    assert!(get(&client, VERSIONS).json::<Value>().is_err());
    assert!(get(&client, DOWNLOAD).json::<Value>().is_err());
    assert_eq!(status(&client, DOWNLOAD), 200);
}

#[test]
fn connections_break_as_ordered() {
    let registry = Registry::start();
    registry
        .publish("hashicorp/null", "3.2.4")
        .size(100_000)
        .done();
    let client = client(&registry);
    let package = document(&client, DOWNLOAD)["download_url"]
        .as_str()
        .unwrap()
        .to_owned();
    registry.fault(url::PACKAGE, Times::First(1), Fault::Reset);
    let error = format!("{:?}", client.get(&package).send().unwrap_err());
    assert!(error.contains("ConnectionReset"), "{error}");
    assert_eq!(registry.requests().last().unwrap().status, 0);

    registry.clear_faults();
    registry.fault(url::PACKAGE, Times::First(1), Fault::Truncated);
    let cut = get(&client, &package);
    let length = cut.content_length().unwrap();
    assert!(cut.bytes().is_err());
    registry.fault(
        url::PACKAGE,
        Times::Always,
        Fault::SlowBody {
            pause: Duration::from_millis(1),
        },
    );
    registry.fault(
        url::PACKAGE,
        Times::Always,
        Fault::Delay(Duration::from_millis(1)),
    );
    assert_eq!(get(&client, &package).bytes().unwrap().len() as u64, length);
}

#[test]
fn a_redirect_leads_to_another_host_that_answers() {
    let registry = Registry::start();
    registry.publish("hashicorp/null", "3.2.4").done();
    let client = client(&registry);
    registry.require_token("registry.opentofu.org", "secret");
    registry.fault(
        url::VERSIONS,
        Times::Always,
        Fault::RedirectTo("other.example.com"),
    );
    let response = get(&client, VERSIONS);
    assert_eq!(response.url().host_str(), Some("other.example.com"));
    assert_eq!(
        response.json::<Value>().unwrap()["versions"][0]["version"],
        "3.2.4"
    );
    assert_eq!(registry.requests_to("registry.opentofu.org/*"), 1);
    assert_eq!(registry.requests_to("other.example.com/*/null/versions"), 1);

    registry.fault(
        url::DISCOVERY,
        Times::Always,
        Fault::RedirectTo("other.example.com"),
    );
    let discovery = get(
        &client,
        "https://registry.opentofu.org/.well-known/terraform.json",
    );
    let base = discovery.url().clone();
    let providers = base
        .join(
            discovery.json::<Value>().unwrap()["providers.v1"]
                .as_str()
                .unwrap(),
        )
        .unwrap();
    assert_eq!(
        status(
            &client,
            providers.join("hashicorp/null/versions").unwrap().as_str()
        ),
        200
    );
}

#[test]
fn answers_are_spoiled_as_ordered() {
    let registry = Registry::start();
    registry.publish("hashicorp/null", "3.2.4").done();
    let client = client(&registry);
    let length = get(&client, VERSIONS).content_length().unwrap();
    let with = |fault| {
        registry.clear_faults();
        registry.fault(url::VERSIONS, Times::Always, fault);
        client.get(VERSIONS).send()
    };
    let pause = Duration::from_millis(1);
    assert_eq!(
        with(Fault::Drip { pause }).unwrap().bytes().unwrap().len() as u64,
        length
    );
    assert_eq!(
        with(Fault::WrongLength).unwrap().bytes().unwrap().len() as u64,
        length / 2
    );
    assert!(with(Fault::RedirectLoop).unwrap_err().is_redirect());
    let untrusted = format!("{:?}", with(Fault::RedirectTo(UNTRUSTED_HOST)).unwrap_err());
    assert!(untrusted.contains("UnknownIssuer"), "{untrusted}");
}

#[test]
fn discovery_documents_can_be_changed() {
    let registry = Registry::start();
    let client = client(&registry);
    let discovery = "https://registry.example.com/.well-known/terraform.json";
    registry.discovery("registry.example.com", Discovery::WithoutProviders);
    assert!(document(&client, discovery).get("providers.v1").is_none());
    registry.discovery(
        "registry.example.com",
        Discovery::Document(json!({ "providers.v1": 7 })),
    );
    assert_eq!(document(&client, discovery)["providers.v1"], 7);
}

#[test]
fn members_need_their_token() {
    let registry = Registry::start();
    registry
        .publish("registry.example.com/acme/alpha", "1.0.0")
        .files_on("releases.example.com")
        .done();
    registry.require_token("registry.example.com", "secret");
    let client = client(&registry);
    let versions = "https://registry.example.com/v1/providers/acme/alpha/versions";
    let with = |token| {
        client
            .get(versions)
            .bearer_auth(token)
            .send()
            .unwrap()
            .status()
            .as_u16()
    };
    assert_eq!(
        (status(&client, versions), with("wrong"), with("secret")),
        (401, 403, 200)
    );
    assert_eq!(
        status(
            &client,
            "https://registry.example.com/.well-known/terraform.json"
        ),
        200
    );
    let log = registry.requests();
    assert_eq!(log[2].authorization(), Some("Bearer secret"));
    let first = &log[0];
    assert_eq!(
        (first.method.as_str(), first.host.as_str(), first.status),
        ("GET", "registry.example.com", 401)
    );
    assert_eq!(
        (first.path(), first.header("user-agent")),
        ("/v1/providers/acme/alpha/versions", Some("support/1"))
    );
    assert_eq!(first.authorization(), None);
}

#[test]
fn a_mirror_serves_what_is_published() {
    let registry = Registry::start();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .package_file("docs/", [])
        .done();
    let client = client(&registry);
    let base = "https://mirror.example.com/providers/";
    let folder = format!("{base}registry.opentofu.org/hashicorp/null/");
    assert_eq!(status(&client, &format!("{folder}index.json")), 404);
    let linux = &null.packages["linux_amd64"];
    for (hashes, expected) in [
        (MirrorHashes::Both, json!([linux.h1, linux.zh])),
        (MirrorHashes::H1, json!([linux.h1])),
        (MirrorHashes::Zh, json!([linux.zh])),
        (MirrorHashes::None, Value::Null),
        (
            MirrorHashes::H1WithDirectories,
            json!([linux.h1_with_directories]),
        ),
        (MirrorHashes::Fixed(vec!["h9:x"]), json!(["h9:x"])),
    ] {
        registry.mirror(base, Mirror { hashes });
        let archives = document(&client, &format!("{folder}3.2.4.json"));
        assert_eq!(archives["archives"]["linux_amd64"]["hashes"], expected);
    }
    assert_eq!(
        document(&client, &format!("{folder}index.json")),
        json!({ "versions": { "3.2.4": {} } })
    );
    registry.require_token("mirror.example.com", "secret");
    assert_eq!(status(&client, &format!("{folder}index.json")), 401);
    let package = bytes(&client, &json!(format!("{folder}{}", linux.filename)));
    assert_eq!(archive::zh(&package), linux.zh);
}

#[test]
fn unknown_hosts_are_unreachable_and_recorded() {
    let registry = Registry::start();
    assert!(
        client(&registry)
            .get("https://unknown.example.org/")
            .send()
            .is_err()
    );
    let log = registry.requests();
    assert_eq!(
        (
            log[0].target.as_str(),
            log[0].method.as_str(),
            log[0].status
        ),
        ("unknown.example.org:443", "CONNECT", 502)
    );
}

#[test]
fn the_same_port_speaks_tls_without_a_proxy() {
    let registry = Registry::start();
    let authority = std::fs::read(registry.certificate_file()).unwrap();
    let authority = Certificate::from_pem(&authority).unwrap();
    let client = Client::builder()
        .no_proxy()
        .tls_certs_only([authority])
        .build()
        .unwrap();
    for host in ["localhost", "127.0.0.1"] {
        let origin = format!("{host}:{}", registry.address().port());
        registry
            .publish(&format!("{origin}/acme/alpha"), "1.0.0")
            .done();
        let versions = format!("https://{origin}/v1/providers/acme/alpha/versions");
        assert_eq!(
            document(&client, &versions)["versions"][0]["version"],
            "1.0.0"
        );
    }
}

#[test]
fn connections_are_kept_and_counted() {
    let registry = Registry::start();
    registry.publish("hashicorp/null", "3.2.4").done();
    let client = client(&registry);
    for _ in 0..3 {
        assert!(get(&client, VERSIONS).bytes().is_ok());
    }
    let statistics = registry.statistics();
    assert_eq!(
        (
            statistics.requests,
            statistics.connections,
            statistics.peak_concurrency
        ),
        (3, 1, 1)
    );
    assert!(statistics.bytes_sent > 0);
    registry.reset_statistics();
    registry.fault(
        url::VERSIONS,
        Times::Always,
        Fault::Delay(Duration::from_millis(300)),
    );
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| get(&client, VERSIONS).bytes());
        }
    });
    assert_eq!(registry.statistics().requests, 4);
    assert!(registry.statistics().peak_concurrency >= 2);
}

#[test]
fn a_snapshot_tells_a_replaced_file_from_one_that_stayed() {
    let environment = TestEnvironment::new();
    let path = environment.write("modules/a/main.tf", "text");
    let before = environment.snapshot();
    assert_eq!(environment.read("modules/a/main.tf"), "text");
    before.assert_same(&environment.snapshot());
    std::fs::rename(&path, environment.project().join("b")).unwrap();
    assert!(before != environment.snapshot());
    environment.write("modules/a/main.tf", "text");
    std::fs::remove_file(environment.project().join("b")).unwrap();
    assert!(before != environment.snapshot());
}

#[cfg(unix)]
#[test]
fn programs_see_the_environment_and_nothing_else() {
    let environment = TestEnvironment::new();
    let output = environment
        .program("sh", ["-c", "env; pwd; cat"])
        .env("K", "V")
        .stdin("input")
        .run();
    output
        .assert_code(0)
        .assert_stdout_has("K=V\n")
        .assert_stdout_has("input")
        .assert_lacks("CARGO");
    output.assert_stdout_has(&format!("HOME={}\n", environment.home().display()));
    output.assert_stdout_has(&format!("{}\n", environment.project().display()));
    assert_eq!(
        environment.program("sh", ["-c", "exit 3"]).run().code,
        Some(3)
    );
}
