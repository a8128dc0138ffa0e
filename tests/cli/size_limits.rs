//! Documents that a server, a repository or another program writes have a largest size: one byte
//! more is refused, and the error names the document and its limit. All are valid, so that nothing
//! but their size is wrong.

use provlock_test::archive::{self, Packing};
use provlock_test::keys::{self, Form};
use provlock_test::registry::Mirror;
use provlock_test::{Fault, Output, Registry, TestEnvironment, Times, survived, url};
use serde_json::json;

use super::lock::{lock_file, requires};
use provlock_test::git::Repository;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const ATTACK: &str = "a document that is one byte too large";
const LINUX: [&str; 1] = ["linux_amd64"];
const LOCK: [&str; 3] = ["lock", "-p", "linux_amd64"];
const OCI_HOST: &str = "oci.example.com";
const MIRROR: &str = "https://mirror.example.com/providers/";
/// Address of SHA256SUMS of the release that [`gamma`] publishes.
const SUMS: &str =
    "/files/registry.opentofu.org/acme/gamma/1.5.0/terraform-provider-gamma_1.5.0_SHA256SUMS";

/// Makes a test for each document: its largest size, the words of the error, and a run that reads a
/// document of a size.
macro_rules! documents {
    ($($(#[$attribute:meta])* $name:ident: $limit:expr, $error:literal, $run:expr;)+) => { $(
        #[test]
        $(#[$attribute])*
        fn $name() {
            let run: fn(usize) -> Output = $run;
            run($limit).assert_code(0);
            run($limit + 1).assert_code(2).assert_stderr_has($error);
            survived(ATTACK, 1);
        }
    )+ };
}

documents! {
    discovery_document: 64 * KIB,
        "https://registry.opentofu.org/.well-known/terraform.json is larger than 65536 bytes",
        |size| lock_padded(url::DISCOVERY, size);
    versions_of_a_provider: 4 * MIB,
        "https://registry.opentofu.org/v1/providers/acme/gamma/versions is larger than 4194304 bytes",
        |size| lock_padded(url::VERSIONS, size);
    metadata_of_a_package: 512 * KIB,
        "https://registry.opentofu.org/v1/providers/acme/gamma/1.5.0/download/linux/amd64 is larger than 524288 bytes",
        |size| lock_padded(url::DOWNLOAD, size);
    sha256sums: 256 * KIB,
        "terraform-provider-gamma_1.5.0_SHA256SUMS is larger than 262144 bytes",
        lock_with_sums;
    signature: 64 * KIB,
        "terraform-provider-gamma_1.5.0_SHA256SUMS.sig is larger than 65536 bytes",
        |size| lock_padded(url::SIGNATURE, size);
    index_of_a_mirror: 4 * MIB,
        "https://mirror.example.com/providers/registry.opentofu.org/acme/gamma/index.json is larger than 4194304 bytes",
        |size| lock_from_mirror(url::MIRROR_INDEX, size);
    archives_of_a_mirror: 512 * KIB,
        "https://mirror.example.com/providers/registry.opentofu.org/acme/gamma/1.5.0.json is larger than 524288 bytes",
        |size| lock_from_mirror("mirror.example.com/*/1.5.0.json", size);
    manifest_of_an_oci_registry: 4 * MIB,
        "https://oci.example.com/v2/acme/gamma/manifests/1.5.0 is larger than 4194304 bytes",
        |size| lock_from_oci(|registry, _| pad(registry, "oci.example.com/*/manifests/1.5.0", size));
    tags_of_an_oci_registry: 4 * MIB,
        "https://oci.example.com/v2/acme/gamma/tags/list is larger than 4194304 bytes",
        |size| lock_from_oci(|registry, _| pad(registry, "oci.example.com/*/tags/list", size));
    token_of_an_oci_registry: MIB,
        "the answer of the token server https://oci.example.com/v2/token is larger than 1048576 bytes",
        |size| lock_from_oci(|registry, reader| {
            registry.require_oci_login("robot", "password");
            reader.docker_login(OCI_HOST, "robot", "password");
            pad(registry, "oci.example.com/v2/token*", size);
        });
    #[cfg(unix)]
    docker_configuration: MIB,
        "login.json: it is larger than 1 MiB",
        |size| lock_from_oci(|registry, reader| {
            registry.require_oci_login("robot", "password");
            reader.docker_login(OCI_HOST, "robot", "password");
            let path = reader.home().join("login.json");
            reader.write(&path, padded(&reader.read(reader.home().join(".docker/config.json")), size));
            let block = format!("oci_default_credentials {{\n  docker_style_config_files = [{path:?}]\n}}\n");
            reader.write(reader.home().join(".tofurc"), block);
        });
    versions_of_a_module: 8 * MIB,
        "https://registry.opentofu.org/v1/modules/acme/network/aws/versions is larger than 8388608 bytes",
        |size| lock_module(REGISTRY, |registry| pad(registry, "*/v1/modules/*/versions", size));
    location_of_a_module: 64 * KIB,
        "https://registry.opentofu.org/v1/modules/acme/network/aws/1.0.0/download is larger than 65536 bytes",
        |size| lock_module(REGISTRY, |registry| pad(registry, "*/v1/modules/*/download", size));
    page_that_leads_to_a_module: MIB,
        "https://registry.opentofu.org/network?terraform-get=1 is larger than 1048576 bytes",
        |size| lock_module("source = \"https://registry.opentofu.org/network\"", |registry| {
            let page = "<meta name=\"terraform-get\" content=\"https://registry.opentofu.org/network.zip\">";
            registry.serve("/network", padded(page, size));
        });
    checksums_of_a_module: MIB,
        "https://registry.opentofu.org/SHA256SUMS is larger than 1048576 bytes",
        |size| lock_module(LISTED, |registry| {
            let sums = format!("{}  network.zip\n", archive::sha256(&module()));
            registry.serve("/SHA256SUMS", padded(&sums, size));
        });
    login_in_netrc: MIB,
        ".netrc: it is larger than 1 MiB",
        lock_with_netrc;
    lock_file_of_providers: 4 * MIB,
        "cannot read .terraform.lock.hcl: it is larger than 4 MiB",
        |size| verify(|environment| pad_file(environment, ".terraform.lock.hcl", size));
    lock_file_of_modules: 4 * MIB,
        "cannot read .modules.lock.hcl: it is larger than 4 MiB",
        |size| verify(|environment| {
            environment.write(".modules.lock.hcl", padded("", size));
        });
    lock_file_of_the_base: 4 * MIB,
        "it is larger than 4 MiB",
        verify_against_base;
    configuration: 8 * MIB,
        "cannot read main.tf: it is larger than 8 MiB",
        |size| verify(|environment| pad_file(environment, "main.tf", size));
    list_of_installed_modules: 32 * MIB,
        "cannot read .terraform/modules/modules.json: it is larger than 32 MiB",
        |size| verify(|environment| {
            environment.write("calls.tf", format!("module \"network\" {{\n  {REGISTRY}\n}}\n"));
            environment.write(".terraform/modules/modules.json", padded("{\"Modules\": []}", size));
        });
    settings: MIB,
        "cannot read provlock.toml: it is larger than 1 MiB",
        |size| verify(|environment| {
            environment.write("provlock.toml", padded("dialect = \"tofu\"\n", size));
        });
    patterns_of_git: MIB,
        ".gitignore: it is larger than 1 MiB",
        |size| {
            let environment = locked();
            environment.write(".gitignore", padded("*.zip\n", size));
            environment.provlock(["verify", "-r"])
        };
    documents_of_a_mirror_that_is_written: 4 * MIB,
        "index.json: it is larger than 4 MiB",
        mirror_twice;
    #[cfg(unix)]
    cli_configuration: MIB,
        ".tofurc is too large for a CLI configuration file: it is larger than 1 MiB",
        |size| lock_gamma(|_, environment| {
            environment.write(environment.home().join(".tofurc"), padded("disable_checkpoint = true\n", size));
        });
    #[cfg(unix)]
    stored_tokens: MIB,
        "credentials.tfrc.json is too large for a CLI configuration file: it is larger than 1 MiB",
        |size| lock_gamma(|_, environment| {
            let path = environment.home().join(".terraform.d/credentials.tfrc.json");
            environment.write(path, padded("{\"credentials\": {}}", size));
        });
    certificates: 16 * MIB,
        "ca.pem: it is larger than 16 MiB",
        |size| lock_gamma(|registry, environment| {
            let certificate = std::fs::read_to_string(registry.certificate_file()).unwrap();
            let path = environment.write("ca.pem", padded(&certificate, size));
            environment.set("SSL_CERT_FILE", path);
        });
    token_on_stdin: MIB,
        "the token for registry.example.com on stdin is larger than 1 MiB",
        |size| TestEnvironment::new().command(["login", "registry.example.com"]).stdin("t".repeat(size)).run();
}

/// The text with line ends after it, until it has so many bytes.
fn padded(text: &str, size: usize) -> String {
    format!("{text}{}", "\n".repeat(size - text.len()))
}

fn pad_file(environment: &TestEnvironment, path: &str, size: usize) {
    environment.write(path, padded(&environment.read(path), size));
}

fn pad(registry: &Registry, pattern: &str, size: usize) {
    registry.fault(pattern, Times::Always, Fault::PaddedTo(size));
}

/// A registry with a provider, and a project that requires it.
fn gamma() -> (Registry, TestEnvironment) {
    let (registry, environment, _) = Registry::with_required("acme/gamma", "1.5.0", LINUX, "");
    (registry, environment)
}

fn lock_gamma(prepare: impl FnOnce(&Registry, &mut TestEnvironment)) -> Output {
    let (registry, mut environment) = gamma();
    prepare(&registry, &mut environment);
    environment.provlock(LOCK)
}

fn lock_padded(pattern: &str, size: usize) -> Output {
    lock_gamma(|registry, _| pad(registry, pattern, size))
}

/// Locks a release whose SHA256SUMS was padded before it was signed.
fn lock_with_sums(size: usize) -> Output {
    let (registry, environment) = Registry::with_project();
    let gamma = registry
        .publish("acme/gamma", "1.5.0")
        .platforms(LINUX)
        .done();
    let sums = padded(&gamma.shasums, size);
    registry.serve(
        &format!("{SUMS}.sig"),
        keys::ED25519.sign(sums.as_bytes(), Form::Binary),
    );
    registry.serve(SUMS, sums);
    environment.write("main.tf", requires("acme/gamma", ""));
    environment.provlock(LOCK)
}

fn lock_from_mirror(pattern: &str, size: usize) -> Output {
    let (registry, environment) = gamma();
    registry.mirror(MIRROR, Mirror::default());
    pad(&registry, pattern, size);
    environment.provlock(LOCK.iter().chain(&["--net-mirror", MIRROR]))
}

/// Locks on a new machine, from an OCI registry that a different machine has filled.
fn lock_from_oci(prepare: impl FnOnce(&Registry, &TestEnvironment)) -> Output {
    let (registry, writer) = gamma();
    registry.add_oci_host(OCI_HOST);
    writer.provlock(LOCK).assert_code(0);
    let target = format!("oci://{OCI_HOST}/${{namespace}}/${{type}}");
    writer
        .provlock(["mirror", &target, "-p", "linux_amd64"])
        .assert_code(0);
    let reader = TestEnvironment::with_registry(&registry);
    reader.write("main.tf", requires("acme/gamma", ""));
    prepare(&registry, &reader);
    let mirror = format!("{OCI_HOST}/{{namespace}}/{{type}}");
    reader.provlock(LOCK.iter().chain(&["--oci-mirror", &mirror]))
}

/// A module of a registry.
const REGISTRY: &str = "source = \"acme/network/aws\"\n  version = \"1.0.0\"";
/// A module in an archive, with a list of its checksum.
const LISTED: &str = "source = \"https://registry.opentofu.org/network.zip?checksum=file:https://registry.opentofu.org/SHA256SUMS\"";

fn module() -> Vec<u8> {
    let files = [(
        "main.tf".to_owned(),
        requires("acme/gamma", "~> 1.0").into_bytes(),
    )];
    archive::pack(&files, Packing::Deflated)
}

/// Locks a project that calls a module.
fn lock_module(call: &str, prepare: impl FnOnce(&Registry)) -> Output {
    let (registry, environment) = gamma();
    let versions = json!({ "modules": [{ "versions": [{ "version": "1.0.0" }] }] });
    registry.serve(
        "/v1/modules/acme/network/aws/versions",
        versions.to_string(),
    );
    let location = json!({ "location": "https://registry.opentofu.org/network.zip" });
    registry.serve(
        "/v1/modules/acme/network/aws/1.0.0/download",
        location.to_string(),
    );
    registry.serve("/network.zip", module());
    prepare(&registry);
    environment.write("main.tf", format!("module \"network\" {{\n  {call}\n}}\n"));
    environment.provlock(LOCK)
}

fn lock_with_netrc(size: usize) -> Output {
    let (registry, environment) = gamma();
    registry.serve("/network.zip", module());
    let login = "machine registry.opentofu.org login user password hunter22\n";
    environment.write(environment.home().join(".netrc"), padded(login, size));
    environment.write(
        "main.tf",
        "module \"m\" {\n  source = \"https://registry.opentofu.org/network.zip\"\n}\n",
    );
    let output = environment.provlock(LOCK);
    let asked = registry.requests_matching("registry.opentofu.org/network.zip");
    assert!(
        asked
            .iter()
            .all(|request| request.basic().as_deref() == Some("user:hunter22")),
        "{output}"
    );
    output
}

/// A project that is locked for one platform.
fn locked() -> TestEnvironment {
    let (_registry, environment) = gamma();
    environment.provlock(LOCK).assert_code(0);
    environment
}

fn verify(prepare: impl FnOnce(&TestEnvironment)) -> Output {
    let environment = locked();
    prepare(&environment);
    environment.provlock(["verify"])
}

fn verify_against_base(size: usize) -> Output {
    let repository = Repository::new();
    repository.environment.write("main.tf", "locals {}\n");
    repository.commit(&padded(&lock_file(&[]), size));
    repository.environment.write_lock_file(lock_file(&[]));
    repository
        .environment
        .provlock(["verify", "--base", "HEAD"])
}

/// Adds to a directory that is a network mirror with a padded document.
fn mirror_twice(size: usize) -> Output {
    let (_registry, environment) = gamma();
    environment.provlock(LOCK).assert_code(0);
    let mirror = ["mirror", "mirror", "-p", "linux_amd64"];
    environment.provlock(mirror).assert_code(0);
    pad_file(
        &environment,
        "mirror/registry.opentofu.org/acme/gamma/index.json",
        size,
    );
    environment.provlock(mirror)
}
