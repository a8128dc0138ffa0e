//! `verify --online` with only a mirror to ask, which does not know what was published.

use serde_json::json;

use super::{H1, NULL, ZH, entry, found};
use crate::json_output::validated;
use crate::lock::{lock_file, requires};
use provlock_test::publish::Published;
use provlock_test::registry::{Mirror, Registry};
use provlock_test::{TestEnvironment, str};

const ZERO: &str = "zh:0000000000000000000000000000000000000000000000000000000000000000";
const MIRRORED: [&str; 3] = ["--online", "--fs-mirror", "mirror"];
const URL: &str = "https://mirror.example.com/providers/";

/// A project whose mirror has the package for `linux_amd64` of a provider that is published for
/// three platforms.
fn project() -> (Registry, TestEnvironment, Published) {
    let (registry, environment) = Registry::with_project();
    let platforms = ["darwin_arm64", "linux_amd64", "windows_amd64"];
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(platforms)
        .done();
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));
    let package = &null.packages["linux_amd64"];
    let path = format!("mirror/{NULL}/{}", package.filename);
    environment.write(path, &*package.archive);
    (registry, environment, null)
}

fn lock(environment: &TestEnvironment, hashes: &[&str]) {
    let mut hashes = hashes.to_vec();
    hashes.sort_unstable();
    environment.write_lock_file(lock_file(&[entry(NULL, "3.2.4", "~> 3.0", &hashes)]));
}

fn verify(environment: &TestEnvironment, arguments: &[&str]) -> provlock_test::Output {
    environment.provlock(
        ["verify", "--allow", "single-platform"]
            .iter()
            .chain(arguments),
    )
}

/// A program that reads JSON must not take a check against a mirror for one against the registry.
#[test]
fn json_contains_what_was_not_checked() {
    let (_registry, environment, null) = project();
    lock(
        &environment,
        &[null.h1("linux_amd64"), null.zh("linux_amd64")],
    );
    let not_checked = |flags: &[&str]| {
        let output = verify(
            &environment,
            &[&["--json", "-p", "linux_amd64"], flags].concat(),
        );
        validated(&output.assert_code(0).stdout)["roots"][0]["not_checked"].clone()
    };
    let mirrored =
        "Not checked: the registry's hashes of 1 provider, because the mirror mirror was used";
    assert_eq!(not_checked(&MIRRORED), json!([mirrored]));
    assert_eq!(
        not_checked(&[]),
        json!(["Not checked: hashes against the registry (--online does)"])
    );
    assert_eq!(
        not_checked(&["--online"]),
        json!(null),
        "everything was checked"
    );
    environment.write(
        "dynamic.tf",
        "module \"m\" {\n  source = \"https://example.com/m.zip\"\n}\n",
    );
    let incomplete = not_checked(&["--allow", "module-not-installed"]);
    assert_eq!(
        incomplete[1],
        "Not checked: unknown requirements of 1 root module"
    );
}

#[test]
fn hashes_that_the_mirror_does_not_have_are_not_called_published() {
    let (registry, environment, null) = project();
    lock(
        &environment,
        &[null.h1("linux_amd64"), null.zh("linux_amd64"), ZERO],
    );
    verify(&environment, &MIRRORED).matches(str![[r#"
exit code: 0
----- stdout -----
warning[hash-not-checked]: the mirror mirror does not confirm all recorded hashes
 --> .terraform.lock.hcl:9:5
  |
9 |     "zh:0000000000000000000000000000000000000000000000000000000000000000",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = no package from it has them; only a registry knows the published hashes
help: provlock verify --online

----- stderr -----
Not checked: platforms (select with -p)
Not checked: the registry's hashes of 1 provider, because the mirror mirror was used
1 warning in .terraform.lock.hcl
"#]]);
    lock(&environment, &[H1, null.zh("linux_amd64")]);
    verify(&environment, &MIRRORED).matches(str![[r#"
exit code: 0
----- stdout -----
warning[hash-not-checked]: the mirror mirror does not confirm all recorded hashes
 --> .terraform.lock.hcl:8:5
  |
8 |     "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = no package from it has them; only a registry knows the published hashes
help: provlock verify --online

----- stderr -----
Not checked: platforms (select with -p)
Not checked: the registry's hashes of 1 provider, because the mirror mirror was used
1 warning in .terraform.lock.hcl
"#]]);
    assert_eq!(
        found(
            &environment,
            &[&MIRRORED[..], &["-p", "linux_amd64"]].concat()
        ),
        ["warning platform-not-known", "warning hash-not-checked"]
    );
    assert_eq!(registry.statistics().connections, 0);
}

#[test]
fn a_mirror_confirms_hashes_but_not_publication() {
    let (_registry, environment, null) = project();
    lock(
        &environment,
        &[null.h1("linux_amd64"), null.zh("linux_amd64")],
    );
    verify(
        &environment,
        &[&MIRRORED[..], &["-p", "linux_amd64"]].concat(),
    )
    .matches(str![[r#"
exit code: 0
----- stderr -----
OK: 1 provider locked as required, for linux_amd64
Not checked: the registry's hashes of 1 provider, because the mirror mirror was used
"#]]);
    lock(
        &environment,
        &[null.h1("linux_amd64"), null.h1("darwin_arm64")],
    );
    verify(&environment, &[&MIRRORED[..], &["-p", "linux_amd64,darwin_arm64"]].concat()).matches(str![[r#"
exit code: 0
----- stdout -----
warning[platform-not-known]: the platforms of the recorded h1 are unknown, because the mirror mirror does not list them
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = not confirmed: darwin_arm64
help: provlock verify --online -p darwin_arm64,linux_amd64

warning[hash-not-checked]: the mirror mirror does not confirm all recorded hashes
 --> .terraform.lock.hcl:9:5
  |
9 |     "h1:wEoAzXFODTJbb4MWBVs/IaleBOr1L9pQ9N/1Zqh4zGY=",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = no package from it has them; only a registry knows the published hashes
help: provlock verify --online -p linux_amd64,darwin_arm64

----- stderr -----
Not checked: which platforms the hashes are for
Not checked: the registry's hashes of 1 provider, because the mirror mirror was used
2 warnings in .terraform.lock.hcl
"#]]);
}

#[test]
fn a_mirror_does_not_show_that_a_version_was_withdrawn_or_a_platform_is_missing() {
    let (_registry, environment, _) = project();
    environment.write_lock_file(lock_file(&[entry(NULL, "3.2.3", "~> 3.0", &[H1, ZH])]));
    verify(&environment, &MIRRORED).matches(str![[r#"
exit code: 0
----- stdout -----
warning[hash-not-checked]: the mirror mirror does not confirm all recorded hashes
 --> .terraform.lock.hcl:5:17
  |
5 |   version     = "3.2.3"
  |                 ^^^^^^^
  |
  = no package from it has them; only a registry knows the published hashes
help: provlock verify --online

----- stderr -----
Not checked: platforms (select with -p)
Not checked: the registry's hashes of 1 provider, because the mirror mirror was used
1 warning in .terraform.lock.hcl
"#]]);
    std::fs::remove_dir_all(environment.project().join("mirror/registry.opentofu.org")).unwrap();
    assert_eq!(
        found(&environment, &MIRRORED),
        ["warning hash-not-checked"],
        "it has no such provider"
    );
}

#[test]
fn the_mirrors_of_the_cli_configuration_are_no_registry_either() {
    let (registry, mut environment, null) = project();
    let random = registry
        .publish("hashicorp/random", "3.6.3")
        .platforms(["linux_amd64"])
        .done();
    environment.write(
        "main.tf",
        format!(
            "{}provider \"random\" {{}}\n",
            requires("hashicorp/null", "~> 3.0")
        ),
    );
    let random_address = "registry.opentofu.org/hashicorp/random";
    let of_random = [random.h1("linux_amd64"), random.zh("linux_amd64")];
    environment.write_lock_file(lock_file(&[
        entry(NULL, "3.2.4", "~> 3.0", &[null.h1("linux_amd64"), ZERO]),
        entry(random_address, "3.6.3", "", &of_random),
    ]));
    let mirror = environment.project().join("mirror");
    let mirror = mirror.display();
    let rules = format!(
        r#"provider_installation {{
  filesystem_mirror {{
    path = "{mirror}"
    include = ["hashicorp/null"]
  }}
  direct {{
    exclude = ["hashicorp/null"]
  }}
}}
"#
    );
    let path = environment.write("config.tofurc", rules);
    environment.set("TF_CLI_CONFIG_FILE", path);
    let output = verify(&environment, &["--online", "--use-cli-config"]);
    output
        .assert_code(0)
        .assert_stdout_has("does not confirm all recorded hashes")
        .assert_lacks("random");
    output.assert_lacks("All hashes are published");
    output
        .assert_stderr_has("Not checked: the registry's hashes of 1 provider, because the mirror");
}

#[test]
fn a_network_mirror_is_no_registry_either() {
    let (registry, environment, null) = project();
    registry.mirror(URL, Mirror::default());
    lock(&environment, &[null.h1("linux_amd64"), ZERO]);
    verify(&environment, &["--online", "--net-mirror", URL, "-p", "linux_amd64"]).matches(str![[r#"
exit code: 0
----- stdout -----
warning[hash-not-checked]: the mirror https://mirror.example.com/providers/ does not confirm all recorded hashes
 --> .terraform.lock.hcl:9:5
  |
9 |     "zh:0000000000000000000000000000000000000000000000000000000000000000",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = no package from it has them; only a registry knows the published hashes
help: provlock verify --online -p linux_amd64

----- stderr -----
Not checked: the registry's hashes of 1 provider, because the mirror https://mirror.example.com/providers/ was used
1 warning in .terraform.lock.hcl
"#]]);
}

#[test]
fn a_source_that_could_not_be_asked_says_nothing_about_the_release() {
    let (_registry, environment, null) = project();
    lock(
        &environment,
        &[null.h1("linux_amd64"), null.zh("linux_amd64")],
    );
    let missing = verify(&environment, &["--online", "--fs-mirror", "nosuch"]);
    missing
        .assert_code(2)
        .assert_stderr_has("the mirror directory nosuch does not exist");
    assert!(
        !missing.stderr.contains("do not install this release"),
        "{missing}"
    );
    environment.write(
        "../home/.tofurc",
        "provider_installation {\n  direct {\n    exclude = [\"*/*\"]\n  }\n}\n",
    );
    let uncovered = verify(&environment, &["--online", "--use-cli-config"]);
    uncovered
        .assert_code(2)
        .assert_stderr_has("no installation method of the CLI configuration covers");
    assert!(
        !uncovered.stdout.contains("version-withdrawn"),
        "{uncovered}"
    );
}
