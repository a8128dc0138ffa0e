//! `--use-cli-config`: packages from where the CLI configuration says.

use std::path::Path;

use super::lock::{lock_file, requires};
use provlock_test::publish::Published;
use provlock_test::registry::{Mirror, Registry};
use provlock_test::{Fault, TestEnvironment, Times, str, url};

const LOCK: [&str; 5] = [
    "lock",
    "-p",
    "linux_amd64",
    "--no-cache",
    "--use-cli-config",
];
const LINUX: &str = "linux_amd64";
const MIRROR: &str = "https://mirror.example.com/providers/";

/// A configuration that requires these providers.
fn requires_all(sources: &[&str]) -> String {
    let line = |source: &&str| {
        format!(
            "    {} = {{ source = \"{source}\" }}\n",
            source.rsplit('/').next().unwrap()
        )
    };
    let lines: String = sources.iter().map(line).collect();
    format!("terraform {{\n  required_providers {{\n{lines}  }}\n}}\n")
}

/// A project with this `provider_installation` block, next to a registry.
fn project(registry: &Registry, source: &str, installation: &str) -> TestEnvironment {
    let environment = TestEnvironment::with_registry(registry);
    environment.write("main.tf", requires(source, ""));
    configure(&environment, installation);
    environment
}

fn configure(environment: &TestEnvironment, installation: &str) {
    environment.write(
        environment.home().join(".tofurc"),
        format!("provider_installation {{\n{installation}\n}}\n"),
    );
}

fn network_mirror(more: &str) -> String {
    format!("network_mirror {{\n  url = \"{MIRROR}\"\n  {more}\n}}")
}

/// Puts a package into a filesystem mirror.
fn copy(environment: &TestEnvironment, directory: impl AsRef<Path>, published: &Published) {
    let package = &published.packages[LINUX];
    environment.write(
        directory
            .as_ref()
            .join(&published.address)
            .join(&package.filename),
        &*package.archive,
    );
}

fn assert_locked(environment: &TestEnvironment, published: &Published, hashes: &[String]) {
    assert_eq!(
        environment.lock_file(),
        lock_file(&[published.entry("", hashes)])
    );
}

/// Hashes that the registry yields.
fn all_hashes(published: &Published) -> Vec<String> {
    published.hashes(&[LINUX])
}

#[test]
fn the_block_is_used_only_with_the_flag() {
    let registry = Registry::start();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms([LINUX])
        .done();
    let environment = project(
        &registry,
        "hashicorp/null",
        "filesystem_mirror {\n  path = \"mirror\"\n}",
    );
    environment.provlock(LOCK).matches(str![[r#"
exit code: 2
----- stderr -----
error[provider-not-found]: the mirror directory [ROOT]/project/mirror does not exist, so it has no package of registry.opentofu.org/hashicorp/null
 --> main.tf:4:16
  |
4 |       source = "hashicorp/null"
  |                ^^^^^^^^^^^^^^^^ required here
"#]]);
    assert!(registry.requests().is_empty());
    environment.provlock(&LOCK[..4]).assert_code(0);
    assert_locked(&environment, &null, &all_hashes(&null));
}

#[test]
fn patterns_say_which_method_is_for_which_provider() {
    let registry = Registry::start();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms([LINUX])
        .done();
    let gamma = registry
        .publish("acme/gamma", "1.5.0")
        .platforms([LINUX])
        .done();
    let block = "filesystem_mirror {\n  path = \"mirror\"\n  include = [\"acme/*\"]\n}\ndirect {\n  exclude = [\"acme/*\"]\n}";
    let environment = project(&registry, "hashicorp/null", block);
    environment.write("main.tf", requires_all(&["hashicorp/null", "acme/gamma"]));
    copy(&environment, "mirror", &gamma);
    environment.provlock(LOCK).assert_code(0);
    let gamma = gamma.entry("", &[gamma.h1(LINUX).to_owned()]);
    assert_eq!(
        environment.lock_file(),
        lock_file(&[gamma, null.entry("", &all_hashes(&null))])
    );
    assert_eq!(registry.requests_to("*/acme/*"), 0);

    configure(&environment, "direct {\n  include = [\"hashicorp/*\"]\n}");
    let refused = environment.provlock(LOCK);
    refused.matches(str![[r#"
exit code: 2
----- stderr -----
error[provider-not-found]: no installation method of the CLI configuration covers registry.opentofu.org/acme/gamma
 --> main.tf:4:24
  |
4 |     gamma = { source = "acme/gamma" }
  |                        ^^^^^^^^^^^^ required here
  |
help: add it to the include list of a method in the provider_installation block
"#]]);
}

#[test]
fn the_newest_version_of_all_methods_is_locked() {
    let registry = Registry::start();
    let old = registry
        .publish("hashicorp/null", "3.2.3")
        .platforms([LINUX])
        .done();
    let environment = project(
        &registry,
        "hashicorp/null",
        "filesystem_mirror {\n  path = \"mirror\"\n}\ndirect {}",
    );
    copy(&environment, "mirror", &old);
    environment.provlock(LOCK).assert_code(0);
    assert_locked(&environment, &old, &[old.h1(LINUX).to_owned()]);

    std::fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
    configure(
        &environment,
        "direct {}\nfilesystem_mirror {\n  path = \"mirror\"\n}",
    );
    environment.provlock(LOCK).assert_code(0);
    assert_locked(&environment, &old, &all_hashes(&old));

    std::fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
    configure(
        &environment,
        "filesystem_mirror {\n  path = \"mirror\"\n}\ndirect {}",
    );
    let new = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms([LINUX])
        .done();
    environment.provlock(LOCK).assert_code(0);
    assert_locked(&environment, &new, &all_hashes(&new));
}

#[test]
fn a_method_without_the_provider_or_platform_gives_way_to_the_next() {
    let registry = Registry::start();
    let both = [LINUX, "darwin_arm64"];
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(both)
        .done();
    registry.fault("mirror.example.com/*", Times::Always, Fault::Status(404));
    let block = format!(
        "{}\nfilesystem_mirror {{\n  path = \"mirror\"\n}}\ndirect {{}}",
        network_mirror("")
    );
    let environment = project(&registry, "hashicorp/null", &block);
    copy(&environment, "mirror", &null);
    environment
        .provlock([&LOCK[..], &["-p", "darwin_arm64"]].concat())
        .assert_code(0);
    assert_locked(&environment, &null, &null.hashes(&both));
    assert_eq!(registry.requests_to(url::PACKAGE), 1);

    let missing = project(&registry, "hashicorp/missing", &block);
    let refused = missing.provlock(LOCK);
    refused.matches(str![[r#"
exit code: 2
----- stderr -----
error[provider-not-found]: the mirror directory [ROOT]/project/mirror does not exist, so it has no package of registry.opentofu.org/hashicorp/missing
 --> main.tf:4:16
  |
4 |       source = "hashicorp/missing"
  |                ^^^^^^^^^^^^^^^^^^^ required here
"#]]);
}

#[test]
fn any_other_failure_of_a_method_stops() {
    for fault in [
        Fault::Status(500),
        Fault::Status(401),
        Fault::Body(b"no JSON".to_vec()),
    ] {
        let registry = Registry::start();
        registry
            .publish("hashicorp/null", "3.2.4")
            .platforms([LINUX])
            .done();
        registry.fault("mirror.example.com/*", Times::Always, fault);
        let mut environment = project(
            &registry,
            "hashicorp/null",
            &format!("{}\ndirect {{}}", network_mirror("")),
        );
        environment.set("TF_REGISTRY_DISCOVERY_RETRY", "0");
        environment
            .provlock(LOCK)
            .assert_code(2)
            .assert_stderr_has("https://mirror.example.com/providers/");
        assert_eq!(registry.requests_to("registry.opentofu.org/*"), 0);
    }
}

#[test]
fn hashes_of_a_trusted_mirror_are_recorded() {
    let registry = Registry::start();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms([LINUX, "darwin_arm64"])
        .done();
    registry.mirror(MIRROR, Mirror::default());
    let own = [null.h1(LINUX).to_owned(), null.zh(LINUX).to_owned()];
    let others = [
        null.h1("darwin_arm64").to_owned(),
        null.zh("darwin_arm64").to_owned(),
    ];
    for (more, hashes) in [
        ("", own.to_vec()),
        ("trust_all_hashes = false", own.to_vec()),
        ("trust_all_hashes = true", [own.clone(), others].concat()),
    ] {
        let environment = project(&registry, "hashicorp/null", &network_mirror(more));
        environment.provlock(LOCK).assert_code(0);
        assert_locked(&environment, &null, &hashes);
    }
}

#[test]
fn a_mirror_has_its_own_token_and_number_of_retries() {
    let registry = Registry::start();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms([LINUX])
        .done();
    registry.mirror(MIRROR, Mirror::default());
    registry.require_token("mirror.example.com", "s3cr3t-t0ken");
    registry.fault(url::PACKAGE, Times::Always, Fault::Status(500));
    let mut environment = project(
        &registry,
        "hashicorp/null",
        &network_mirror("download_retry_count = 0"),
    );
    environment.provlock(LOCK).matches(str![[r#"
exit code: 2
----- stderr -----
error[unauthorized]: cannot get registry.opentofu.org/hashicorp/null: https://mirror.example.com/providers/registry.opentofu.org/hashicorp/null/index.json was refused (401); no credentials were sent
 --> main.tf:4:16
  |
4 |       source = "hashicorp/null"
  |                ^^^^^^^^^^^^^^^^ required here
  |
help: add credentials: provlock login mirror.example.com, or set TF_TOKEN_mirror_example_com
"#]]);
    environment.set("TF_TOKEN_mirror_example_com", "s3cr3t-t0ken");
    environment.provlock(LOCK).matches(str![[r#"
exit code: 2
----- stderr -----
error[request-failed]: cannot get registry.opentofu.org/hashicorp/null 3.2.4 for linux_amd64: https://mirror.example.com/providers/registry.opentofu.org/hashicorp/null/terraform-provider-null_3.2.4_linux_amd64.zip answered with status 500: {"errors":["status 500"]}
"#]]).assert_lacks("s3cr3t");
    assert_eq!(registry.requests_to(url::PACKAGE), 1);
    configure(&environment, &network_mirror("download_retry_count = 1"));
    environment
        .provlock(LOCK)
        .assert_code(2)
        .assert_lacks("s3cr3t");
    assert_eq!(registry.requests_to(url::PACKAGE), 3);
    assert!(
        registry
            .requests_matching(url::PACKAGE)
            .iter()
            .all(|request| request.authorization().is_none())
    );
}

/// `tofu init` locks it; newer versions of `terraform init` do not.
#[test]
fn a_provider_under_development_is_locked_for_opentofu_alone() {
    let registry = Registry::start();
    let block = "dev_overrides {\n  \"acme/gamma\" = \"/work/gamma\"\n}\ndirect {}";
    let environment = project(&registry, "acme/gamma", block);
    environment
        .provlock(LOCK)
        .assert_code(2)
        .assert_stderr_has("has no provider registry.opentofu.org/acme/gamma");
    let gamma = registry
        .publish("acme/gamma", "1.5.0")
        .platforms([LINUX])
        .done();
    environment.provlock(LOCK).matches(str![[r#"
exit code: 0
----- stderr -----
warning[dev-override]: acme/gamma is locked, although dev_overrides takes it from /work/gamma
 |
 = tofu init does the same; the directory is not checked
  + acme/gamma   1.5.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    assert_locked(&environment, &gamma, &all_hashes(&gamma));
}

#[test]
fn a_provider_under_development_is_not_locked_for_terraform() {
    let (registry, environment) = Registry::with_project();
    let publish = |address: &str, version: &str| {
        registry
            .publish(&format!("registry.terraform.io/{address}"), version)
            .platforms([LINUX])
            .done()
    };
    let null = publish("hashicorp/null", "3.2.4");
    let block = "provider_installation {\n  dev_overrides {\n    \"acme/gamma\" = \"/work/gamma\"\n  }\n  direct {}\n}\n";
    environment.write(environment.home().join(".terraformrc"), block);
    environment.write("main.tf", requires_all(&["hashicorp/null", "acme/gamma"]));
    let terraform = [&LOCK[..], &["--dialect", "terraform"]].concat();
    let said_once = |output: &provlock_test::Output| {
        assert_eq!(output.stderr.matches("acme/gamma is not").count(), 1);
    };
    said_once(&environment.provlock([&["upgrade"], &terraform[1..]].concat()));
    environment.provlock(&terraform).matches(str![[r#"
exit code: 0
----- stderr -----
warning[dev-override]: acme/gamma is not locked: dev_overrides takes it from /work/gamma
 |
 = its entry in the lock file, if any, is unchanged
help: to lock it, run without --use-cli-config
Up to date: 1 provider for linux_amd64
"#]]);
    let locked = |entries: &[String]| lock_file(entries).replace("tofu init", "terraform init");
    assert_eq!(
        environment.lock_file(),
        locked(&[null.entry("", &all_hashes(&null))])
    );
    assert_eq!(registry.requests_to("*/acme/*"), 0);

    // The entry is for users who do not develop the provider.
    let gamma = publish("acme/gamma", "1.5.0");
    environment
        .provlock(["lock", "-p", LINUX, "--no-cache", "--dialect", "terraform"])
        .assert_code(0);
    publish("acme/gamma", "1.6.0");
    environment
        .provlock([&terraform[..], &["--prune"]].concat())
        .assert_code(0);
    let entries = [
        gamma.entry("", &all_hashes(&gamma)),
        null.entry("", &all_hashes(&null)),
    ];
    assert_eq!(environment.lock_file(), locked(&entries));
}

/// A directory that is not mounted must not lead to a registry, as in OpenTofu and Terraform.
#[test]
fn a_missing_directory_of_a_mirror_is_an_error_unless_it_is_implied() {
    let registry = Registry::start();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms([LINUX])
        .done();
    let mirror = "filesystem_mirror {\n  path = \"mirror\"\n";
    for block in [
        format!("{mirror}}}\ndirect {{}}"),
        format!("direct {{}}\n{mirror}}}"),
        format!("{mirror}  include = [\"hashicorp/*\"]\n}}\ndirect {{}}"),
    ] {
        let environment = project(&registry, "hashicorp/null", &block);
        let output = environment.provlock(LOCK);
        output
            .assert_code(2)
            .assert_stderr_has("project/mirror does not exist, so it has no package of");
        assert!(!environment.has_lock_file());
        std::os::unix::fs::symlink("not-mounted", environment.project().join("mirror")).unwrap();
        environment.provlock(LOCK).assert_code(2);
        environment.write("not-mounted/a.txt", "a mirror without packages");
        environment.provlock(LOCK).assert_code(0);
        assert_locked(&environment, &null, &all_hashes(&null));
    }
    let environment = project(
        &registry,
        "hashicorp/null",
        &format!("{mirror}  include = [\"acme/*\"]\n}}\ndirect {{}}"),
    );
    environment.provlock(LOCK).assert_code(0);
    std::fs::remove_file(environment.home().join(".tofurc")).unwrap();
    environment.provlock(LOCK).assert_code(0);
}

#[test]
fn invalid_blocks_are_errors_at_their_position() {
    for (block, place, expected) in [
        (
            "direct {}\ngit_mirror {\n  url = \"x\"\n}",
            ".tofurc:3:1",
            "unknown installation method \"git_mirror\"",
        ),
        (
            "oci_mirror {\n  repository_template = \"r.test/x\"\n}",
            ".tofurc:2:1",
            "must use ${hostname}",
        ),
        (
            "network_mirror {\n  url = \"http://m.test/\"\n}",
            ".tofurc:3:9",
            "it does not start with https",
        ),
        (
            "direct {}\ndev_overrides {}",
            ".tofurc:3:1",
            "must come before all installation methods",
        ),
    ] {
        let registry = Registry::start();
        let environment = project(&registry, "hashicorp/null", block);
        environment
            .provlock(LOCK)
            .assert_code(2)
            .assert_stderr_has(place)
            .assert_stderr_has(expected);
        assert!(registry.requests().is_empty());
    }
}

#[test]
fn without_a_block_the_usual_directories_come_before_registries() {
    let (registry, environment) = Registry::with_project();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms([LINUX])
        .done();
    let random = registry
        .publish("hashicorp/random", "3.7.2")
        .platforms([LINUX])
        .done();
    environment.write(
        "main.tf",
        requires_all(&["hashicorp/null", "hashicorp/random"]),
    );
    copy(
        &environment,
        environment.home().join(".terraform.d/plugins"),
        &null,
    );
    registry
        .publish("hashicorp/null", "3.3.0")
        .platforms([LINUX])
        .done();
    environment.provlock(LOCK).assert_code(0);
    let entries = [
        null.entry("", &[null.h1(LINUX).to_owned()]),
        random.entry("", &all_hashes(&random)),
    ];
    assert_eq!(environment.lock_file(), lock_file(&entries));
    assert_eq!(registry.requests_to("*/hashicorp/null/*"), 0);
}

#[test]
fn there_is_one_source_at_a_time() {
    let environment = TestEnvironment::new();
    let flags = [
        &["--fs-mirror", "m"][..],
        &["--net-mirror", MIRROR],
        &["--oci-mirror", "r.test/{type}"],
        &["--use-cli-config"],
    ];
    for (index, first) in flags.iter().enumerate() {
        for second in &flags[index + 1..] {
            let output = environment.provlock([&["lock"], *first, *second].concat());
            output
                .assert_code(2)
                .assert_stderr_has("cannot be used with");
        }
    }
    environment.write("main.tf", "");
    let output = environment.provlock(["lock", "--oci-mirror", "r.test/{name}"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: "r.test/{name}" is not the template of an OCI mirror: {name} is unknown; write {hostname}, {namespace} or {type}
help: write it as in --oci-mirror "registry.example.com/mirror/{namespace}/{type}"
"#]]);
}

#[test]
fn upgrade_takes_packages_from_the_same_places() {
    let registry = Registry::start();
    let old = registry
        .publish("hashicorp/null", "3.2.3")
        .platforms([LINUX])
        .done();
    let environment = project(
        &registry,
        "hashicorp/null",
        "filesystem_mirror {\n  path = \"mirror\"\n}",
    );
    copy(&environment, "mirror", &old);
    environment.provlock(LOCK).assert_code(0);
    let new = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms([LINUX])
        .done();
    copy(&environment, "mirror", &new);

    environment
        .provlock([&["upgrade"], &LOCK[1..]].concat())
        .assert_code(0);
    assert_locked(&environment, &new, &[new.h1(LINUX).to_owned()]);
    assert!(registry.requests().is_empty());
}

/// `terraform init` neither locks such a provider nor misses its entry.
#[test]
fn verify_does_not_miss_a_provider_under_development() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("registry.terraform.io/hashicorp/null", "3.2.4")
        .platforms([LINUX])
        .done();
    let block = "provider_installation {\n  dev_overrides {\n    \"acme/gamma\" = \"/work/gamma\"\n  }\n  direct {}\n}\n";
    environment.write(environment.home().join(".terraformrc"), block);
    environment.write("main.tf", requires_all(&["hashicorp/null", "acme/gamma"]));
    environment
        .provlock([&LOCK[..], &["--dialect", "terraform"]].concat())
        .assert_code(0);
    let verify = ["verify", "--dialect", "terraform", "-p", LINUX];
    environment
        .provlock(verify)
        .assert_code(1)
        .assert_stdout_has("[provider-not-locked]");
    environment
        .provlock(verify.iter().chain(&["--use-cli-config"]))
        .matches(str![[r#"
exit code: 0
----- stdout -----
warning[platform-not-known]: the platforms of the recorded h1 are unknown offline
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.terraform.io/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = not confirmed: linux_amd64
help: provlock verify --online -p linux_amd64 --dialect terraform

----- stderr -----
Not checked: which platforms the hashes are for (--online checks that)
Not checked: hashes against the registry (--online does)
Not checked: registry.terraform.io/acme/gamma, under development (dev_overrides)
1 warning in .terraform.lock.hcl
"#]]);
    std::fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
    environment.write("main.tf", requires_all(&["acme/gamma"]));
    environment
        .provlock(verify.iter().chain(&["--use-cli-config"]))
        .assert_lacks("acme/gamma");
}

/// `init` of Terraform 1.15.5 lists the versions of all methods, and then requests the selected one
/// at the mirror, which has no document for it.
#[test]
fn a_network_mirror_at_which_init_stops_is_a_warning() {
    let registry = Registry::start();
    let gamma = registry
        .publish("registry.example.com/acme/gamma", "1.0.0")
        .platforms(["linux_amd64"])
        .done();
    let direct = format!("{}\n  direct {{}}", network_mirror(""));
    let environment = project(&registry, "registry.example.com/acme/gamma", &direct);
    let index = "/providers/registry.example.com/acme/gamma/index.json";
    for versions in [None, Some("{}"), Some(r#"{"0.9.0": {}}"#)] {
        if let Some(versions) = versions {
            registry.serve(index, format!(r#"{{"versions": {versions}}}"#));
        }
        let output = environment.provlock(LOCK);
        output.assert_code(0);
        output.assert_stderr_has("warning[provider-not-found]: the mirror https://mirror.example.com/providers/ has no registry.example.com/acme/gamma 1.0.0, so tofu init fails");
        assert_locked(&environment, &gamma, &all_hashes(&gamma));
    }
    // The help works.
    let excluded = network_mirror("exclude = [\"registry.example.com/acme/gamma\"]");
    configure(&environment, &format!("{excluded}\n  direct {{}}"));
    environment
        .provlock(LOCK)
        .assert_code(0)
        .assert_lacks("warning");
    // A mirror with the version, and a mirror after the method with the version, are no reason.
    registry.mirror("https://mirror.example.com/providers/", Mirror::default());
    for methods in [&direct, &format!("direct {{}}\n{}", network_mirror(""))] {
        configure(&environment, methods);
        environment
            .provlock(LOCK)
            .assert_code(0)
            .assert_lacks("init fails");
    }
}

#[test]
fn a_mirror_that_lists_a_version_without_a_document_is_no_reason_to_ask_the_registry() {
    let registry = Registry::start();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms([LINUX])
        .done();
    registry.mirror(MIRROR, Mirror::default());
    registry.fault(
        "mirror.example.com/*3.2.4.json",
        Times::Always,
        Fault::Status(404),
    );
    let block = format!("network_mirror {{\n  url = \"{MIRROR}\"\n}}\ndirect {{}}");
    let environment = project(&registry, "hashicorp/null", &block);
    environment.provlock(LOCK).matches(str![[r#"
exit code: 2
----- stderr -----
error[request-failed]: cannot get registry.opentofu.org/hashicorp/null 3.2.4: https://mirror.example.com/providers/registry.opentofu.org/hashicorp/null/3.2.4.json was not found (404)
"#]]);
    environment
        .provlock([&LOCK[..], &["-p", "all"]].concat())
        .assert_code(2);
}
