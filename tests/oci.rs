//! Providers and modules in a real OCI registry: Debian's `docker-registry`, on a loopback port.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Cursor, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use provlock::packages::archive::PackageId;
use provlock::packages::connections::{Connections, SourceChoice, SourceOptions};
use provlock::packages::{Source, SourceError};
use provlock::provider::{Dialect, Hash, HashScheme, ProviderAddress};
use provlock::system::Environment;
use provlock_test::Tool;
use provlock_test::archive::Packing;
use reqwest::blocking::{Client, RequestBuilder};
use serde_json::{Value, json};
use tempfile::TempDir;
use zip::write::SimpleFileOptions;

const PROGRAM: &str = "docker-registry";
const USER: &str = "provlock";
const PASSWORD: &str = "s3cr3t-password";
/// The password in bcrypt, the only form that the registry takes.
const HTPASSWD: &str = "provlock:$2b$05$abcdefghijklmnopqrstuuKISk7Vr/FHeikR4gMldR9QRNm112vdm\n";

/// Kind of access that a registry requires.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Anybody,
    Passwords,
    Encryption,
}

/// A running registry, ended when dropped.
struct Registry {
    child: Child,
    host: String,
    http: Client,
    mode: Mode,
    directory: TempDir,
}

impl Registry {
    /// `None` if the program is not installed, which skips the test.
    fn start(mode: Mode) -> Option<Self> {
        if !provlock_test::requires(Tool::DockerRegistry) {
            return None;
        }
        let directory = tempfile::tempdir().unwrap();
        let certificate = configure(directory.path(), mode);
        // Another program may take the port before the registry does; then the next is tried.
        for _ in 0..5 {
            let port = TcpListener::bind("127.0.0.1:0")
                .unwrap()
                .local_addr()
                .unwrap()
                .port();
            let host = format!("127.0.0.1:{port}");
            let mut child = serve(directory.path(), &host);
            if is_ready(&mut child, &host) {
                let _ = rustls::crypto::ring::default_provider().install_default();
                let trusted = [reqwest::Certificate::from_der(&certificate).unwrap()];
                let http = Client::builder()
                    .no_proxy()
                    .tls_certs_only(trusted)
                    .build()
                    .unwrap();
                return Some(Self {
                    child,
                    host,
                    http,
                    mode,
                    directory,
                });
            }
            end(&mut child);
        }
        panic!("{PROGRAM} does not start");
    }

    fn authorized(&self, request: RequestBuilder) -> RequestBuilder {
        if self.mode == Mode::Passwords {
            request.basic_auth(USER, Some(PASSWORD))
        } else {
            request
        }
    }

    fn url(&self, path: &str) -> String {
        let scheme = if self.mode == Mode::Encryption {
            "https"
        } else {
            "http"
        };
        format!("{scheme}://{}/v2/{path}", self.host)
    }

    /// Uploads a blob in one piece and returns its descriptor.
    fn push_blob(&self, repository: &str, media_type: &str, bytes: &[u8]) -> Value {
        let url = self.url(&format!("{repository}/blobs/uploads/"));
        let upload = self.authorized(self.http.post(url)).send().unwrap();
        assert_eq!(upload.status(), 202);
        let location = upload.headers()["location"].to_str().unwrap();
        let mut url = upload.url().join(location).unwrap();
        url.query_pairs_mut().append_pair("digest", &digest(bytes));
        let put = self
            .http
            .put(url)
            .header("content-type", "application/octet-stream")
            .body(bytes.to_vec());
        assert_eq!(self.authorized(put).send().unwrap().status(), 201);
        json!({"mediaType": media_type, "digest": digest(bytes), "size": bytes.len()})
    }

    /// Uploads a manifest, by its digest unless there is a tag, and returns its descriptor.
    fn push_manifest(&self, repository: &str, tag: Option<&str>, document: &Value) -> Value {
        let body = document.to_string();
        let reference = tag.map_or_else(|| digest(body.as_bytes()), str::to_owned);
        let url = self.url(&format!("{repository}/manifests/{reference}"));
        let media_type = document["mediaType"].as_str().unwrap();
        let put = self
            .http
            .put(url)
            .header("content-type", media_type)
            .body(body.clone());
        let response = self.authorized(put).send().unwrap();
        assert_eq!(response.status(), 201, "{}", response.text().unwrap());
        json!({"mediaType": media_type, "artifactType": document["artifactType"], "digest": digest(body.as_bytes()),
            "size": body.len()})
    }

    /// Uploads a version of a provider, as OpenTofu's documentation lays it out.
    fn push_provider(&self, repository: &str, tag: &str, packages: &[(&str, &str, Vec<u8>)]) {
        let empty = self.push_blob(repository, "application/vnd.oci.empty.v1+json", b"{}");
        let manifests = packages.iter().map(|(os, architecture, package)| {
            let layer = self.push_blob(repository, "archive/zip", package);
            let mut descriptor = self.push_manifest(
                repository,
                None,
                &json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
                    "artifactType": "application/vnd.opentofu.provider-target", "config": empty, "layers": [layer]}),
            );
            descriptor["platform"] = json!({"os": os, "architecture": architecture});
            descriptor
        });
        let manifests: Vec<_> = manifests.collect();
        let index = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
            "artifactType": "application/vnd.opentofu.provider", "manifests": manifests});
        self.push_manifest(repository, Some(tag), &index);
    }
}

impl Registry {
    /// Uploads a module with this `main.tf`, as OpenTofu's documentation lays it out, and returns
    /// the digest of its manifest.
    fn push_module(&self, repository: &str, tag: &str, content: &str) -> String {
        let files = [("main.tf".to_owned(), content.as_bytes().to_vec())];
        let archive = provlock_test::archive::pack(&files, Packing::Deflated);
        let empty = self.push_blob(repository, "application/vnd.oci.empty.v1+json", b"{}");
        let layer = self.push_blob(repository, "archive/zip", &archive);
        let manifest = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "artifactType": "application/vnd.opentofu.modulepkg", "config": empty, "layers": [layer]});
        let descriptor = self.push_manifest(repository, Some(tag), &manifest);
        descriptor["digest"].as_str().unwrap().to_owned()
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Writes the registry's files and returns its certificate.
fn configure(directory: &Path, mode: Mode) -> Vec<u8> {
    let at = |name| directory.join(name);
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    fs::write(at("certificate.pem"), certified.cert.pem()).unwrap();
    fs::write(at("key.pem"), certified.signing_key.serialize_pem()).unwrap();
    fs::write(at("htpasswd"), HTPASSWD).unwrap();
    let mut configuration = json!({
        "version": "0.1",
        "log": {"level": "error"},
        "storage": {"filesystem": {"rootdirectory": at("storage")}},
        "http": {},
    });
    match mode {
        Mode::Anybody => {}
        Mode::Passwords => {
            configuration["auth"] = json!({"htpasswd": {"realm": "tests", "path": at("htpasswd")}});
        }
        Mode::Encryption => {
            configuration["http"]["tls"] =
                json!({"certificate": at("certificate.pem"), "key": at("key.pem")});
        }
    }
    fs::write(at("config.yml"), configuration.to_string()).unwrap();
    certified.cert.der().to_vec()
}

fn serve(directory: &Path, host: &str) -> Child {
    let mut command = Command::new(PROGRAM);
    command
        .arg("serve")
        .arg(directory.join("config.yml"))
        .env("REGISTRY_HTTP_ADDR", host);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

fn is_ready(child: &mut Child, host: &str) -> bool {
    let deadline = Instant::now() + Duration::from_secs(30);
    while Instant::now() < deadline {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        if answers(host) {
            return true;
        }
        thread::sleep(Duration::from_millis(50));
    }
    false
}

/// Whether a registry answers; a registry that requires encryption answers, too.
fn answers(host: &str) -> bool {
    let Ok(mut stream) = TcpStream::connect(host) else {
        return false;
    };
    let asked = write!(stream, "GET /v2/ HTTP/1.0\r\nHost: {host}\r\n\r\n");
    let mut answer = String::new();
    let read = stream.read_to_string(&mut answer).is_ok();
    let signs = [
        "Docker-Distribution-Api-Version",
        "HTTP request to an HTTPS server",
    ];
    asked.is_ok() && read && signs.iter().any(|sign| answer.contains(sign))
}

fn end(child: &mut Child) {
    // Both fail only if it has ended by itself.
    let _ = child.kill();
    let _ = child.wait();
}

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", Hash::zh_of(bytes).value())
}

/// A package large enough to come in several pieces.
fn package(kind: &str, content: &str) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    writer
        .start_file(
            format!("terraform-provider-{kind}_v1"),
            SimpleFileOptions::default(),
        )
        .unwrap();
    for line in 0..20_000_u32 {
        writeln!(writer, "{content} {}", line.wrapping_mul(2_654_435_761)).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A block of the CLI configuration with a login for the registry.
fn login(registry: &Registry, password: &str) -> String {
    let host = &registry.host;
    format!(
        "oci_credentials \"{host}\" {{\n  username = \"{USER}\"\n  password = \"{password}\"\n}}\n"
    )
}

/// The registry as a mirror, with these blocks in the CLI configuration.
fn mirror(registry: &Registry, blocks: &str) -> Source {
    let at = |name: &str| registry.directory.path().join(name);
    let defaults = "oci_default_credentials {\n  discover_ambient_credentials = false\n}\n";
    fs::write(at("tofurc"), format!("{blocks}{defaults}")).unwrap();
    let variable =
        |name: &str, file: &str| (name.to_owned(), at(file).to_str().unwrap().to_owned());
    let variables = [
        variable("TF_CLI_CONFIG_FILE", "tofurc"),
        variable("SSL_CERT_FILE", "certificate.pem"),
    ]
    .into();
    let options = SourceOptions {
        choice: SourceChoice::OciMirror(format!("{}/mirror/{{namespace}}/{{type}}", registry.host)),
        jobs: 2,
        ..SourceOptions::default()
    };
    let connections = Connections::new(
        options,
        &Environment {
            variables,
            ..Environment::default()
        },
    )
    .unwrap();
    connections.source(Dialect::Tofu, None).unwrap()
}

fn address(text: &str) -> ProviderAddress {
    ProviderAddress::parse(text, Dialect::Tofu).unwrap()
}

/// Lists and fetches the content, and compares it with the pushed content.
fn check(registry: &Registry, blocks: &str) {
    let packages = [package("null", "linux"), package("null", "darwin")];
    let [linux, darwin] = packages.clone();
    registry.push_provider(
        "mirror/acme/null",
        "1.0.0",
        &[("linux", "amd64", linux.clone())],
    );
    let both = [("linux", "amd64", linux), ("darwin", "arm64", darwin)];
    registry.push_provider("mirror/acme/null", "1.1.0-rc.1_build.7", &both);
    registry.push_provider("mirror/acme/null", "latest", &both);

    let (mirror, null) = (mirror(registry, blocks), address("acme/null"));
    let versions: Vec<_> = mirror
        .versions(&null)
        .unwrap()
        .versions
        .keys()
        .cloned()
        .collect();
    assert_eq!(
        versions.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["1.0.0", "1.1.0-rc.1+build.7"]
    );
    let platforms = mirror.platforms(&null, &versions[1]).unwrap();
    assert_eq!(
        platforms
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>(),
        ["darwin_arm64", "linux_amd64"]
    );

    let mut h1 = BTreeSet::new();
    for (platform, package) in ["linux_amd64", "darwin_arm64"].into_iter().zip(&packages) {
        let platform = platform.parse().unwrap();
        let wanted = PackageId {
            address: null.clone(),
            version: versions[1].clone(),
            platform,
        };
        let fetched = mirror.fetch_once(&wanted, &|_, _| ()).unwrap();
        assert_eq!(fetched.downloaded, package.len() as u64);
        let zh: Vec<_> = fetched
            .hashes
            .recordable()
            .filter(|hash| hash.scheme() == HashScheme::Zh)
            .collect();
        assert_eq!(
            zh.iter().map(|hash| hash.value()).collect::<Vec<_>>(),
            [&digest(package)["sha256:".len()..]]
        );
        assert!(fetched.hashes.recordable().any(|hash| *hash == fetched.h1));
        h1.insert(fetched.h1.clone());
    }
    assert_eq!(h1.len(), 2);
    let wanted = PackageId {
        address: null,
        version: versions[0].clone(),
        platform: "darwin_arm64".parse().unwrap(),
    };
    let error = mirror.fetch_once(&wanted, &|_, _| ()).unwrap_err();
    assert!(matches!(error, SourceError::PlatformMissing(_)), "{error}");

    let missing = mirror.versions(&address("acme/missing")).unwrap_err();
    assert!(
        matches!(missing, SourceError::ProviderNotFound { .. }),
        "{missing}"
    );
}

#[test]
fn a_registry_for_anybody() {
    let Some(registry) = Registry::start(Mode::Anybody) else {
        return;
    };
    check(&registry, "");
}

#[test]
fn a_registry_with_passwords() {
    let Some(registry) = Registry::start(Mode::Passwords) else {
        return;
    };
    check(&registry, &login(&registry, PASSWORD));
    for (blocks, expected) in [
        (String::new(), "no credentials were sent"),
        (
            login(&registry, "s3cr3t-but-wrong"),
            "the login comes from the oci_credentials block",
        ),
    ] {
        let error = mirror(&registry, &blocks)
            .versions(&address("acme/null"))
            .unwrap_err();
        let told = format!("{error:?}");
        assert!(
            told.contains(expected) && !told.contains("s3cr3t"),
            "{told}"
        );
        assert!(told.contains(&format!("docker login {}", registry.host)));
    }
}

#[test]
fn a_registry_with_encryption() {
    let Some(registry) = Registry::start(Mode::Encryption) else {
        return;
    };
    let package = package("null", "linux");
    registry.push_provider(
        "mirror/acme/null",
        "1.0.0",
        &[("linux", "amd64", package.clone())],
    );
    let project = tempfile::tempdir().unwrap();
    let at = |name: &str| project.path().join(name);
    let requirement =
        "terraform {\n  required_providers {\n    null = { source = \"acme/null\" }\n  }\n}\n";
    fs::write(at("main.tf"), requirement).unwrap();
    let template = format!("{}/mirror/{{namespace}}/{{type}}", registry.host);
    let lock = |certificates: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_provlock"));
        command.args([
            "lock",
            "--platform",
            "linux_amd64",
            "--no-cache",
            "--oci-mirror",
            &template,
        ]);
        command
            .current_dir(project.path())
            .env_clear()
            .env("HOME", at("home"))
            .env("SSL_CERT_FILE", certificates);
        command.output().unwrap()
    };

    let output = lock(&registry.directory.path().join("certificate.pem"));
    assert!(output.status.success(), "{output:?}");
    let locked = fs::read_to_string(at(".terraform.lock.hcl")).unwrap();
    assert!(
        locked.contains("\"h1:") && locked.contains(&digest(&package).replace("sha256:", "\"zh:")),
        "{locked}"
    );

    fs::remove_file(at(".terraform.lock.hcl")).unwrap();
    let output = lock(&at("main.tf"));
    assert!(
        !output.status.success() && !at(".terraform.lock.hcl").exists(),
        "{output:?}"
    );
}

#[test]
fn all_tags_are_listed() {
    let Some(registry) = Registry::start(Mode::Anybody) else {
        return;
    };
    let repository = "mirror/acme/many";
    let config = registry.push_blob(repository, "application/vnd.oci.empty.v1+json", b"{}");
    let manifest = json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "artifactType": "application/vnd.opentofu.provider-target", "config": config, "layers": []});
    for patch in 0..120 {
        registry.push_manifest(repository, Some(&format!("1.0.{patch}")), &manifest);
    }
    let many = address("acme/many");
    let mirror = mirror(&registry, "");
    let available = mirror.versions(&many).unwrap();
    assert_eq!(available.versions.len(), 120);
    let error = mirror
        .platforms(&many, available.versions.keys().next().unwrap())
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("is the manifest of one platform"),
        "{error}"
    );
}

#[test]
fn lock_from_a_registry_with_passwords() {
    let Some(registry) = Registry::start(Mode::Passwords) else {
        return;
    };
    let package = package("null", "linux");
    registry.push_provider(
        "mirror/acme/null",
        "1.0.0",
        &[("linux", "amd64", package.clone())],
    );
    let (host, project) = (&registry.host, tempfile::tempdir().unwrap());
    let at = |name: &str| project.path().join(name);
    let requirement =
        "terraform {\n  required_providers {\n    null = { source = \"acme/null\" }\n  }\n}\n";
    fs::write(at("main.tf"), requirement).unwrap();
    let lock = |login: &str, flags: &[&str]| {
        let include = "registry.opentofu.org/*/*";
        let block = format!(
            r#"provider_installation {{
  oci_mirror {{
    repository_template = "{host}/mirror/${{namespace}}/${{type}}"
    include = ["{include}"]
  }}
}}
"#
        );
        fs::write(at("tofurc"), format!("{login}{block}")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_provlock"));
        command
            .args(["lock", "--platform", "linux_amd64", "--no-cache", "-vvv"])
            .args(flags);
        command
            .current_dir(project.path())
            .env_clear()
            .env("HOME", at("home"));
        // No server listens there; requests to this machine do not use the proxy.
        command
            .env("HTTP_PROXY", "http://127.0.0.1:1")
            .env("HTTPS_PROXY", "http://127.0.0.1:1");
        let output = command
            .env("TF_CLI_CONFIG_FILE", at("tofurc"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!said.contains("s3cr3t"), "{said}");
        (output.status.code(), said)
    };
    let template = format!("{host}/mirror/{{namespace}}/{{type}}");
    let login = login(&registry, PASSWORD);
    for flags in [
        &["--oci-mirror", template.as_str()][..],
        &["--use-cli-config"],
    ] {
        let (code, said) = lock("", flags);
        assert_eq!(code, Some(2), "{said}");
        assert!(
            said.contains("no credentials were sent") && said.contains("docker login"),
            "{said}"
        );
        let (code, said) = lock(&login, flags);
        assert_eq!(code, Some(0), "{said}");
        let locked = fs::read_to_string(at(".terraform.lock.hcl")).unwrap();
        let zh = digest(&package).replace("sha256:", "\"zh:");
        assert!(
            locked.contains(&zh) && locked.matches("\"h1:").count() == 1,
            "{locked}"
        );
        fs::remove_file(at(".terraform.lock.hcl")).unwrap();
    }
}

/// provlock against the registry that many teams run: one machine pushes, another machine uses the
/// result.
#[test]
fn facts_are_published_and_used() {
    let Some(oci) = Registry::start(Mode::Anybody) else {
        return;
    };
    let providers = provlock_test::Registry::start();
    providers
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    let configuration = r#"terraform {
  required_providers {
    null = { source = "hashicorp/null" }
  }
}
"#;
    let [publisher, reader] = [(); 2].map(|()| {
        let machine = provlock_test::TestEnvironment::with_registry(&providers);
        machine.write("main.tf", configuration);
        machine
    });
    let lock = ["lock", "-p", "linux_amd64"];
    publisher.provlock(lock).assert_code(0);
    let place = format!("oci://{}/facts", oci.host);
    let key = publisher
        .provlock(["cache", "keygen", "key"])
        .assert_code(0)
        .stdout
        .trim_end()
        .to_owned();
    let push = || publisher.provlock(["cache", "push", "--to", &place, "--signing-key", "key"]);
    push()
        .assert_code(0)
        .assert_stderr_has("Published 1 release");
    push().assert_code(0).assert_stderr_has("Up to date");
    providers.reset_statistics();

    reader.write(
        "provlock.toml",
        format!("[cache]\nshared = \"{place}\"\ntrusted-keys = [\"{key}\"]\n"),
    );
    reader.provlock(lock).assert_code(0).assert_lacks("warning");
    assert_eq!(reader.lock_file(), publisher.lock_file());
    assert_eq!(providers.requests_to(provlock_test::url::PACKAGE), 0);
}

/// Registries cannot replace a manifest on a condition.
#[test]
fn pushes_at_the_same_time_lose_nothing() {
    const PLATFORMS: [&str; 4] = [
        "darwin_arm64",
        "linux_amd64",
        "linux_arm64",
        "windows_amd64",
    ];
    let Some(oci) = Registry::start(Mode::Anybody) else {
        return;
    };
    let registry = provlock_test::Registry::start();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(PLATFORMS)
        .done();
    let (place, requirement) = (
        format!("oci://{}/facts", oci.host),
        "terraform {\n  required_providers {\n    null = {}\n  }\n}\n",
    );
    let machine = || {
        let mut machine = provlock_test::TestEnvironment::with_registry(&registry);
        machine.set("NO_PROXY", "127.0.0.1");
        machine.write("main.tf", requirement);
        machine
    };
    let first = machine();
    let public = first
        .provlock(["cache", "keygen", "key"])
        .assert_code(0)
        .stdout
        .clone();
    let machines = PLATFORMS.map(|platform| {
        let machine = machine();
        machine.provlock(["lock", "-p", platform]).assert_code(0);
        machine.write("key", first.read("key"));
        machine
    });
    thread::scope(|scope| {
        for machine in &machines {
            let push = machine.command(["cache", "push", "--signing-key", "key", "--to", &place]);
            // The pause of users, because machines that are busy with tests need long for each
            // step.
            let push = push.without_env("PROVLOCK_RETRY_PAUSE");
            scope.spawn(move || push.run().assert_code(0).clone());
        }
    });
    registry.reset_statistics();
    let settings = format!(
        "[cache]\nshared = \"{place}\"\ntrusted-keys = [\"{}\"]\n",
        public.trim()
    );
    first.write("provlock.toml", settings);
    first
        .provlock(["lock", "-p", &PLATFORMS.join(",")])
        .assert_code(0);
    assert_eq!(registry.requests_to(provlock_test::url::PACKAGE), 0);
}

/// Another machine locks from the mirror that one machine has filled.
#[test]
fn packages_are_mirrored_and_locked() {
    const PLATFORMS: &str = "darwin_arm64,linux_amd64";
    for mode in [Mode::Anybody, Mode::Passwords] {
        let Some(oci) = Registry::start(mode) else {
            return;
        };
        let providers = provlock_test::Registry::start();
        // More than a connection takes at once.
        let platforms = ["darwin_arm64", "linux_amd64"];
        let null = providers
            .publish("hashicorp/null", "3.2.4")
            .platforms(platforms)
            .size(3 << 20)
            .done();
        let requirement = "terraform {\n  required_providers {\n    null = {}\n  }\n}\n";
        let [publisher, reader] = [(); 2].map(|()| {
            let mut machine = provlock_test::TestEnvironment::with_registry(&providers);
            machine.write("main.tf", requirement);
            machine.write(
                "tofurc",
                if mode == Mode::Passwords {
                    login(&oci, PASSWORD)
                } else {
                    String::new()
                },
            );
            machine.set("NO_PROXY", "127.0.0.1");
            machine.set(
                "TF_CLI_CONFIG_FILE",
                machine.project().join("tofurc").to_str().unwrap(),
            );
            machine
        });
        publisher.provlock(["lock", "-p", PLATFORMS]).assert_code(0);
        let target = format!("oci://{}/mirror/${{namespace}}/${{type}}", oci.host);
        for (platforms, said) in [
            ("linux_amd64", "Mirrored 1 package of 1 provider"),
            (PLATFORMS, "1 already there"),
            (PLATFORMS, "Up to date: 2 packages"),
        ] {
            let mirrored = publisher.provlock(["mirror", &target, "-p", platforms, "-vv"]);
            mirrored
                .assert_code(0)
                .assert_stderr_has(said)
                .assert_lacks(PASSWORD);
        }
        providers.reset_statistics();
        let template = format!("{}/mirror/{{namespace}}/{{type}}", oci.host);
        reader
            .provlock(["lock", "-p", PLATFORMS, "--oci-mirror", &template])
            .assert_code(0);
        let locked = reader.lock_file();
        let has = |platform: &str| {
            locked.contains(null.h1(platform)) && locked.contains(null.zh(platform))
        };
        assert!(platforms.into_iter().all(has), "{locked}");
        assert_eq!(providers.statistics().requests, 0);
    }
}

#[test]
fn modules_are_locked_by_digest_and_moved_by_tag() {
    let Some(registry) = Registry::start(Mode::Anybody) else {
        return;
    };
    let project = tempfile::tempdir().unwrap();
    let at = |name: &str| project.path().join(name);
    let source = format!("oci://{}/acme/net", registry.host);
    let run = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_provlock"))
            .args(arguments)
            .args(["--dialect", "tofu"])
            .current_dir(project.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", at("home"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (output.status.code(), said)
    };
    let call = |query: &str| format!("module \"net\" {{\n  source = \"{source}{query}\n}}\n");
    let installed = || fs::read_to_string(at(".terraform/modules/net/main.tf")).unwrap();

    let digest = registry.push_module("acme/net", "v1.0.0", "# one\n");
    fs::write(at("main.tf"), call("?tag=v1.0.0\"")).unwrap();
    let (code, said) = run(&["lock", "--modules"]);
    assert_eq!(code, Some(0), "{said}");
    let locked = fs::read_to_string(at(".modules.lock.hcl")).unwrap();
    assert!(
        locked.contains(&format!("{source}?digest={digest}")),
        "{locked}"
    );

    // The tag moves, and a newer one is pushed.
    registry.push_module("acme/net", "v1.0.0", "# moved\n");
    let new = registry.push_module("acme/net", "v1.1.0", "# two\n");
    let (_, said) = run(&["verify", "--online"]);
    assert!(said.contains("module-moved"), "{said}");
    let (code, said) = run(&["get", "--no-cache"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(installed(), "# one\n");
    let (code, said) = run(&["pin"]);
    assert_eq!(code, Some(0), "{said}");
    let pinned = fs::read_to_string(at("main.tf")).unwrap();
    assert_eq!(pinned, call(&format!("?digest={digest}\" # v1.0.0")));
    let (code, said) = run(&["upgrade", "--modules", "--constraints"]);
    assert_eq!(code, Some(0), "{said}");
    let moved = fs::read_to_string(at("main.tf")).unwrap();
    assert_eq!(moved, call(&format!("?digest={new}\" # v1.1.0")));
    let (code, said) = run(&["get"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(installed(), "# two\n");
}
