//! Platforms: which ones an entry covers, with and without installed packages.
//!
//! Findings about platforms and installed packages, without a network.

mod known_platforms;

use super::gate::OTHER_H1;
use super::*;
use super::{H1, NOTHING, NULL, ZH, entry, found, good, lock, messages, verify};
use crate::json_output::validated;
use crate::lock::requires;
use provlock_test::publish::Published;
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str};

/// A project that was locked for `linux_amd64`, so that the cache knows that package and no other.
fn locked() -> (Registry, TestEnvironment, Published) {
    let (registry, environment, null) = Registry::with_required(
        "hashicorp/null",
        "3.2.4",
        ["linux_amd64", "darwin_arm64"],
        "~> 3.0",
    );
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    registry.reset_statistics();
    (registry, environment, null)
}

/// Installs a package of version 3.2.4 as `init` does, and returns its directory.
pub(super) fn install(
    environment: &TestEnvironment,
    null: &Published,
    platform: &str,
) -> std::path::PathBuf {
    let folder = format!(".terraform/providers/{}/3.2.4/{platform}", null.address);
    let directory = environment.project().join(folder);
    let archive = std::io::Cursor::new(&**null.packages[platform].archive);
    zip::ZipArchive::new(archive)
        .unwrap()
        .extract(&directory)
        .unwrap();
    directory
}

#[test]
fn one_platform_is_a_note_without_required_platforms() {
    let environment = good();
    let looked_at = ["--warn", "single-platform"];
    assert_eq!(found(&environment, &looked_at), ["warning single-platform"]);
    let aws = "registry.opentofu.org/hashicorp/aws";
    environment.write(
        "main.tf",
        format!("{}provider \"aws\" {{}}\n", environment.read("main.tf")),
    );
    lock(
        &environment,
        &[
            entry(aws, "5.0.0", "", &[H1, ZH]),
            entry(NULL, "3.2.4", "~> 3.0", &[H1, ZH]),
        ],
    );
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 0
----- stdout -----
note[single-platform]: only one h1 is recorded, so on any other platform init changes the lock file, or fails
  --> .terraform.lock.hcl:4:10
   |
 4 | provider "registry.opentofu.org/hashicorp/aws" {
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
...
12 | provider "registry.opentofu.org/hashicorp/null" {
   |          --------------------------------------
   |
help: provlock lock -p all, or set platforms in provlock.toml

----- stderr -----
OK: 2 providers locked as required
Not checked: platforms (select with -p), hashes against the registry (--online)
1 note in .terraform.lock.hcl
"#]]);
    lock(
        &environment,
        &[
            entry(aws, "5.0.0", "", &[H1, OTHER_H1, ZH]),
            entry(NULL, "3.2.4", "~> 3.0", &[ZH]),
        ],
    );
    assert_eq!(
        found(&environment, &looked_at),
        NOTHING,
        "several, and none"
    );
}

#[test]
fn a_provider_for_one_platform_is_locked_for_all_of_them() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    registry
        .publish("hashicorp/aws", "5.0.0")
        .platforms(["linux_amd64", "darwin_arm64"])
        .done();
    environment.write(
        "main.tf",
        format!(
            "{}provider \"aws\" {{}}\n",
            requires("hashicorp/null", "~> 3.0")
        ),
    );
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    let report =
        validated(&verify(&environment, &["--warn", "single-platform", "--online"]).stdout);
    let findings = &report["roots"][0]["findings"];
    assert_eq!(findings.as_array().unwrap().len(), 1, "{findings}");
    assert_eq!(
        findings[0]["providers"],
        serde_json::json!(["registry.opentofu.org/hashicorp/aws"])
    );
}

#[test]
fn platform_not_known() {
    let environment = good();
    assert_eq!(
        found(&environment, &["-p", "all"]),
        ["warning platform-not-known"]
    );
    let expected = "the platforms of the recorded h1 are unknown offline\n";
    assert_eq!(messages(&environment, &["-p", "all"]), expected);
    environment.write("provlock.toml", "platforms = \"all\"\n");
    assert_eq!(
        found(&environment, &[]),
        ["warning platform-not-known"],
        "few providers have one platform only"
    );
    lock(
        &environment,
        &[entry(NULL, "3.2.4", "~> 3.0", &[H1, OTHER_H1])],
    );
    assert_eq!(
        found(&environment, &["-p", "all"]),
        ["warning platform-not-known"]
    );
    assert_eq!(found(&environment, &[]), NOTHING, "the summary says so");
    lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", &[ZH])]);
    for flags in [&["-p", "all"][..], &[]] {
        assert_eq!(
            found(&environment, flags),
            ["error platform-not-covered"],
            "no platform has its h1"
        );
    }
}

/// Each h1 is of one platform, so to count them needs neither the network nor a cache.
#[test]
fn platform_not_covered() {
    let environment = good();
    let two = ["-p", "linux_amd64,darwin_arm64"];
    assert_eq!(found(&environment, &two), ["error platform-not-covered"]);
    let not_known = ["warning platform-not-known"];
    assert_eq!(
        found(&environment, &["-p", "darwin_arm64"]),
        not_known,
        "one for one, perhaps of another platform"
    );
    lock(
        &environment,
        &[entry(NULL, "3.2.4", "~> 3.0", &[H1, OTHER_H1])],
    );
    assert_eq!(found(&environment, &two), not_known);
    assert_eq!(
        found(
            &environment,
            &["-p", "linux_amd64,darwin_arm64,windows_amd64"]
        ),
        ["error platform-not-covered"]
    );
    environment.write(
        "provlock.toml",
        "platforms = [\"linux_amd64\", \"darwin_arm64\"]\n",
    );
    environment
        .provlock(["verify", "--deny", "warnings"])
        .assert_code(0);
}

#[test]
fn too_few_h1_of_many_root_modules_are_one_finding() {
    let environment = TestEnvironment::new();
    environment.write(
        "provlock.toml",
        "platforms = [\"linux_amd64\", \"darwin_arm64\"]\n",
    );
    let aws = "registry.opentofu.org/hashicorp/aws";
    for root in ["a", "b", "c"] {
        environment.write(
            format!("{root}/main.tf"),
            "provider \"aws\" {}\nprovider \"null\" {}\n",
        );
        let entries = [
            entry(aws, "5.0.0", "", &[H1]),
            entry(NULL, "3.2.4", "", &[H1]),
        ];
        environment.write(
            format!("{root}/.terraform.lock.hcl"),
            crate::lock::lock_file(&entries),
        );
    }
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[platform-not-covered]: only 1 h1 is recorded, but 2 platforms are required, in 3 root modules
  --> a/.terraform.lock.hcl:4:10
   |
 4 | provider "registry.opentofu.org/hashicorp/aws" {
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
...
11 | provider "registry.opentofu.org/hashicorp/null" {
   |          --------------------------------------
   |
   = required: darwin_arm64 and linux_amd64
   = also in b and c
help: provlock lock -r -p darwin_arm64,linux_amd64

----- stderr -----
3 errors in 3 files
3 root modules: 3 with errors
"#]]);
}

/// PowerShell wants quotes around commas.
#[cfg(unix)]
#[test]
fn help_can_be_run_as_it_is_printed() {
    let environment = good();
    let platforms = ["verify", "-p", "linux_amd64,darwin_arm64"];
    environment.provlock(platforms).matches(str![[r#"
exit code: 1
----- stdout -----
error[platform-not-covered]: only 1 h1 is recorded, but 2 platforms are required
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/hashicorp/null" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = required: darwin_arm64 and linux_amd64
help: provlock lock -p darwin_arm64,linux_amd64

----- stderr -----
1 error in .terraform.lock.hcl
"#]]);
    environment.write("live/a/main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.write("live/a/.terraform.lock.hcl", environment.lock_file());
    let help = "help: provlock -C live/a lock -p darwin_arm64,linux_amd64\n";
    for arguments in [&["live/a"][..], &["-C", "live/a"], &["-C", "live", "a"]] {
        let verify = ["verify", "-p", "linux_amd64,darwin_arm64"];
        environment
            .provlock(verify.iter().chain(arguments))
            .assert_stdout_has(help);
    }
}

#[test]
fn platform_missing() {
    let (_registry, environment, null) = locked();
    assert_eq!(
        found(&environment, &["-p", "linux_amd64"]),
        NOTHING,
        "the cache knows the package"
    );
    assert_eq!(
        found(&environment, &["-p", "darwin_arm64"]),
        ["error platform-missing"],
        "the h1 is of linux_amd64"
    );
    let only_zh: Vec<&str> = null
        .packages
        .values()
        .map(|package| package.zh.as_str())
        .collect();
    lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", &[H1])]);
    assert_eq!(
        found(&environment, &["-p", "linux_amd64"]),
        ["error platform-missing"],
        "the cache knows another h1"
    );
    let mut only_zh = only_zh;
    only_zh.sort_unstable();
    lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", &only_zh)]);
    assert_eq!(
        found(&environment, &["-p", "darwin_arm64"]),
        ["error platform-missing"],
        "there is no h1 at all"
    );
}

#[test]
fn platforms_of_the_settings_are_wanted() {
    let environment = good();
    environment.write(
        "provlock.toml",
        "platforms = [\"linux_amd64\", \"darwin_arm64\"]\n",
    );
    assert_eq!(found(&environment, &[]), ["error platform-not-covered"]);
}

#[test]
fn installed_package_differs() {
    let (_registry, environment, null) = locked();
    let directory = install(&environment, &null, "linux_amd64");
    assert_eq!(found(&environment, &["--installed"]), NOTHING);
    std::fs::write(directory.join("terraform-provider-null_v3.2.4"), "other").unwrap();
    assert_eq!(
        found(&environment, &["--installed"]),
        ["error installed-package-differs"]
    );
    assert_eq!(found(&environment, &[]), NOTHING, "not asked for");
}

#[test]
fn without_an_installation_there_is_nothing_to_compare() {
    let (_registry, environment, null) = locked();
    environment
        .provlock(["verify", "--installed", "--allow", "single-platform"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[nothing-installed]: nothing is installed that could be compared
 |
 = the data directory has no package of a locked version whose entry has an h1
help: install what is locked first: tofu init
"#]]);
    environment.write("other/main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.write("other/.terraform.lock.hcl", environment.lock_file());
    let recursive = [
        "verify",
        "--installed",
        "--allow",
        "single-platform",
        "-r",
        "-p",
        "linux_amd64",
    ];
    environment.provlock(recursive).matches(str![[r#"
exit code: 2
----- stderr -----
error[nothing-installed]: nothing is installed that could be compared, in 2 root modules
 |
 = the data directory has no package of a locked version whose entry has an h1
 = in . and other
help: install what is locked first: tofu init
2 root modules: 2 partly checked
"#]]);
    install(&environment, &null, "linux_amd64");
    environment.provlock(recursive).matches(str![[r#"
exit code: 0
----- stderr -----
OK: 2 providers of 2 root modules locked as required, for linux_amd64
Not checked: hashes against the registry (--online does)
Not checked: installed packages of 1 provider (not installed, or no h1 is locked)
"#]]);
}

/// Runs like `tofu init`, which installs what is in the directory `installed`.
#[cfg(unix)]
const INIT: &str = "#!/bin/sh\ncase $1 in -chdir=*) cd \"${1#-chdir=}\"; shift ;; esac\n\
                    test \"$1\" = init && cp -r \"$INSTALLED\" .terraform\n";

#[cfg(unix)]
#[test]
fn help_to_install_providers_works_where_the_root_module_is() {
    let (_registry, mut environment, null) = locked();
    let installed = install(&environment, &null, "linux_amd64");
    let project = environment.project();
    std::fs::rename(project.join(".terraform"), project.join("installed")).unwrap();
    environment.set("INSTALLED", project.join("installed"));
    crate::credentials_helper::write_program(&environment.bin().join("tofu"), INIT);
    environment.write("a b/main.tf", environment.read("main.tf"));
    environment.write("a b/.terraform.lock.hcl", environment.lock_file());

    let allow = ["--installed", "--allow", "single-platform"];
    let below = [&["verify"], &allow[..], &["a b"]].concat();
    let inside = [&["-C", "a b", "verify"], &allow[..]].concat();
    for arguments in [below, inside] {
        let output = environment.provlock(&arguments);
        let help = "help: install what is locked first: ";
        let command = output
            .assert_code(2)
            .stderr
            .lines()
            .find_map(|line| line.strip_prefix(help));
        assert_eq!(command, Some("tofu '-chdir=a b' init"));
        environment.paste(command.unwrap()).assert_code(0);
        environment.provlock(&arguments).assert_code(0);

        let below = installed.strip_prefix(&project).unwrap();
        let file = below.join("terraform-provider-null_v3.2.4");
        environment.write(std::path::Path::new("a b").join(file), "other");
        environment
            .provlock(&arguments)
            .assert_code(1)
            .assert_stdout_has(", then run: tofu '-chdir=a b' init");
        std::fs::remove_dir_all(project.join("a b/.terraform")).unwrap();
    }
}

/// Terragrunt runs the tool in a directory of its own.
#[test]
fn help_about_packages_of_a_unit_does_not_run_the_tool_there() {
    let (_registry, environment, null) = locked();
    let installed = install(&environment, &null, "linux_amd64");
    std::fs::write(installed.join("terraform-provider-null_v3.2.4"), "other").unwrap();
    environment.write("terragrunt.hcl", "inputs = {}\n");
    environment
        .provlock(["verify", "--installed", "--allow", "single-platform"])
        .assert_code(1)
        .assert_stdout_has("error[installed-package-differs]")
        .assert_stdout_has("then run terragrunt init in the directory of the unit")
        .assert_lacks("tofu init");
}

#[test]
fn offline_means_offline() {
    let (registry, environment, null) = locked();
    install(&environment, &null, "linux_amd64");
    found(
        &environment,
        &[
            "-p",
            "linux_amd64,darwin_arm64",
            "--installed",
            "--recursive",
        ],
    );
    assert_eq!(registry.requests(), []);
    assert_eq!(registry.statistics().connections, 0);
    found(&environment, &["--online"]);
    assert!(
        registry.statistics().connections > 0,
        "the proxy does see connections"
    );
}
