//! Findings about differences between the lock file and the configuration.

use super::{H1, NOTHING, NULL, ZH, entry, found, good, lock, messages};
use crate::lock::requires;
use provlock_test::git::Repository;
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str};

const OTHER: &str = "registry.opentofu.org/hashicorp/other";

#[test]
fn provider_not_locked() {
    let environment = good();
    environment.write("other.tf", "resource \"random_pet\" \"a\" {}\n");
    assert_eq!(found(&environment, &[]), ["error provider-not-locked"]);
    assert!(messages(&environment, &[]).contains("hashicorp/random is required, but not locked"));
}

#[test]
fn requirements_of_tests_are_checked_without_no_tests() {
    let environment = good();
    environment.write("tests/a.tftest.hcl", "provider \"random\" {}\n");
    assert_eq!(found(&environment, &[]), ["error provider-not-locked"]);
    assert_eq!(found(&environment, &["--no-tests"]), NOTHING);
}

/// OpenTofu counts the `provider` blocks of test files, and Terraform has not since 1.9. Both count
/// modules of runs.
#[test]
fn provider_blocks_of_tests_count_for_opentofu_alone() {
    let registry = Registry::start();
    for name in ["null", "random", "tls"] {
        for host in ["registry.opentofu.org", "registry.terraform.io"] {
            registry
                .publish(&format!("{host}/hashicorp/{name}"), "1.0.0")
                .platforms(["linux_amd64"])
                .done();
        }
    }
    for (dialect, locked) in [
        ("tofu", ["null", "random", "tls"].as_slice()),
        ("terraform", &["null", "tls"]),
    ] {
        let environment = TestEnvironment::with_registry(&registry);
        environment.write("main.tf", "resource \"null_resource\" \"x\" {}\n");
        let run = "run \"a\" {\n  module {\n    source = \"./tests/setup\"\n  }\n}\n";
        environment.write("a.tftest.hcl", format!("provider \"random\" {{}}\n{run}"));
        environment.write(
            "tests/setup/main.tf",
            "resource \"tls_private_key\" \"x\" {}\n",
        );

        environment
            .provlock(["lock", "-p", "linux_amd64", "--dialect", dialect])
            .assert_code(0);

        let text = environment.lock_file();
        let found: Vec<_> = ["null", "random", "tls"]
            .into_iter()
            .filter(|name| text.contains(&format!("/{name}\"")))
            .collect();
        assert_eq!(found, locked, "{dialect}: {text}");
        environment
            .provlock(["verify", "--allow", "single-platform", "--dialect", dialect])
            .assert_code(0);
    }
}

#[test]
fn provider_not_required() {
    let environment = good();
    lock(
        &environment,
        &[
            entry(NULL, "3.2.4", "~> 3.0", &[H1]),
            entry(OTHER, "1.0.0", "", &[H1]),
        ],
    );
    assert_eq!(found(&environment, &[]), ["warning provider-not-required"]);
    environment
        .provlock(["verify", "--allow", "single-platform"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
warning[provider-not-required]: hashicorp/other is locked, but the configuration does not require it
  --> .terraform.lock.hcl:12:10
   |
12 | provider "registry.opentofu.org/hashicorp/other" {
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
   = tofu init -lockfile=readonly fails because of the entry
help: provlock lock --prune, unless a state elsewhere still has resources of it

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning in .terraform.lock.hcl
"#]]);
}

#[test]
fn version_outside_constraints() {
    let environment = good();
    environment.write("main.tf", requires("hashicorp/null", "~> 2.0"));
    assert_eq!(
        found(&environment, &[]),
        ["error version-outside-constraints"]
    );
    environment.provlock(["verify", "--allow", "single-platform"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[version-outside-constraints]: hashicorp/null is locked at 3.2.4, but the configuration requires ~> 2.0
 --> .terraform.lock.hcl:5:17
  |
5 |   version     = "3.2.4"
  |                 ^^^^^^^
  |
 ::: main.tf:5:17
  |
5 |       version = "~> 2.0"
  |                 -------- asked for here
  |
help: provlock upgrade hashicorp/null

----- stderr -----
1 error in .terraform.lock.hcl
"#]]);
}

#[test]
fn modules_that_were_not_read_are_not_checked_whatever_is_allowed() {
    let environment = good();
    environment.write(
        "more.tf",
        "module \"a\" {\n  source = \"example.com/a/b/c\"\n}\n",
    );
    environment
        .provlock(["verify", "--allow", "single-platform,module-not-installed"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
OK: 1 provider locked as required
Not checked: platforms (select with -p), hashes against the registry (--online)
Not checked: unknown requirements of 1 root module
1 root module: partly checked
"#]]);
}

#[test]
fn findings_in_the_configuration_are_counted_there() {
    let environment = good();
    environment.write(
        "more.tf",
        "module \"a\" {\n  source = \"example.com/a/b/c\"\n}\n",
    );
    let output = environment.provlock(["verify", "--allow", "single-platform"]);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
warning[module-not-installed]: module "a" from "example.com/a/b/c" is not installed
 --> more.tf:2:12
  |
2 |   source = "example.com/a/b/c"
  |            ^^^^^^^^^^^^^^^^^^^ called here
  |
help: install it with tofu get or tofu init; to fetch it for the check only: provlock verify --online

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning in more.tf
"#]]);
    output.assert_stderr_has("\n1 warning in more.tf\n");
    // provlock cannot fetch from Amazon S3.
    environment.write(
        "more.tf",
        "module \"a\" {\n  source = \"s3::https://s3.amazonaws.com/b/a.zip\"\n}\n",
    );
    let output = environment.provlock(["verify", "--allow", "single-platform"]);
    output
        .assert_code(0)
        .assert_stdout_has("help: install it with tofu get or tofu init\n");
}

#[test]
fn a_directory_without_a_configuration_is_not_the_one() {
    let output = TestEnvironment::new().provlock(["verify"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[no-configuration]: . has no configuration (.tf, .tofu, .tf.json or .tofu.json file)
help: name the root module's directory, or find all root modules below with --recursive (-r)
"#]]);
}

#[test]
fn constraints_differ() {
    let environment = good();
    environment.write("main.tf", requires("hashicorp/null", ">= 3.1"));
    assert_eq!(
        found(&environment, &[]),
        ["warning constraints-differ"],
        "harmless, because the version is right"
    );
    environment.write("main.tf", requires("hashicorp/null", "~>3.0"));
    assert_eq!(
        found(&environment, &[]),
        NOTHING,
        "the notation does not count"
    );
}

#[test]
fn no_hashes() {
    let environment = good();
    lock(&environment, &[entry(NULL, "3.2.4", "~> 3.0", &[])]);
    assert_eq!(
        found(&environment, &["-p", "linux_amd64"]),
        ["error no-hashes"]
    );
}

#[test]
fn requirements_of_missing_modules_are_not_guessed() {
    let environment = good();
    let call = "module \"m\" {\n  source = \"example/m/null\"\n}\n";
    environment.write("call.tf", call);
    for constraints in ["~> 3.0", "~> 3.0, >= 3.1.0", ">= 3.1.0"] {
        lock(
            &environment,
            &[
                entry(NULL, "3.2.4", constraints, &[H1, ZH]),
                entry(OTHER, "1.0.0", "", &[H1, ZH]),
            ],
        );
        assert_eq!(
            found(&environment, &[]),
            ["warning module-not-installed"],
            "the module may ask for {constraints}"
        );
    }
    environment.write("main.tf", requires("hashicorp/null", "~> 2.0"));
    let found = found(&environment, &[]);
    assert_eq!(
        found,
        [
            "error version-outside-constraints",
            "warning module-not-installed"
        ]
    );
}

#[test]
fn modules_that_are_not_installed_are_one_finding() {
    let environment = good();
    let call = |name| format!("module \"{name}\" {{\n  source = \"example/{name}/null\"\n}}\n");
    environment.write("calls.tf", ["a", "b", "c", "d", "e"].map(call).concat());
    environment.provlock(["verify", "--allow", "single-platform"]).matches(str![[r#"
exit code: 0
----- stdout -----
warning[module-not-installed]: 5 modules are not installed, so what they require is not known
 --> calls.tf:2:12
  |
2 |   source = "example/a/null"
  |            ^^^^^^^^^^^^^^^^ module "a"
...
5 |   source = "example/b/null"
  |            ---------------- module "b"
...
8 |   source = "example/c/null"
  |            ---------------- module "c"
  |
  = and 2 more
help: install them with tofu get or tofu init; to fetch them for the check only: provlock verify --online

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning in calls.tf
"#]]);
    environment
        .provlock(["lock", "--no-fetch-modules"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[module-not-installed]: 5 modules are not installed, so what they require is not known
 --> calls.tf:2:12
  |
2 |   source = "example/a/null"
  |            ^^^^^^^^^^^^^^^^ module "a"
...
5 |   source = "example/b/null"
  |            ---------------- module "b"
...
8 |   source = "example/c/null"
  |            ---------------- module "c"
  |
  = and 2 more
help: install them with tofu get or tofu init, or skip them with --allow-missing-modules
"#]]);
}

#[test]
fn a_local_source_below_the_data_directory_is_a_module_to_install() {
    let environment = good();
    let call = "module \"m\" {\n  source = \"./.terraform/modules/whole/modules/part\"\n}\n";
    environment.write("call.tf", call);
    environment.provlock(["verify", "--allow", "single-platform"]).matches(str![[r#"
exit code: 0
----- stdout -----
warning[module-not-installed]: module "m" from "./.terraform/modules/whole/modules/part" is not installed
 --> call.tf:2:12
  |
2 |   source = "./.terraform/modules/whole/modules/part"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ called here
  |
help: install it with tofu get or tofu init; to fetch it for the check only: provlock verify --online

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning in call.tf
"#]]);
    environment.write("call.tf", call.replace(".terraform", "elsewhere"));
    let set = environment
        .command(["verify", "--json"])
        .env("TF_DATA_DIR", "elsewhere")
        .run();
    set.assert_code(0);
    assert!(set.stdout.contains("module-not-installed"), "{set}");
    environment.provlock(["verify"]).assert_code(2);
}

#[test]
fn a_module_in_a_submodule_that_is_not_checked_out_says_so() {
    let environment = good();
    environment.write(
        ".gitmodules",
        "[submodule \"shared\"]\n\tpath = vendor/shared\n\turl = ../shared\n",
    );
    std::fs::create_dir_all(environment.project().join("vendor/shared")).unwrap();
    std::fs::create_dir_all(environment.project().join("vendor/other")).unwrap();
    environment.write(
        "call.tf",
        "module \"m\" {\n  source = \"./vendor/shared/network\"\n}\n",
    );
    environment.provlock(["verify", "--allow", "single-platform"]).matches(str![[r#"
exit code: 0
----- stdout -----
warning[module-not-installed]: module "m" is in the git submodule vendor/shared, which is not checked out
 --> call.tf:2:12
  |
2 |   source = "./vendor/shared/network"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^ called here
  |
help: git submodule update --init

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning in call.tf
"#]]);
    environment.write(
        "call.tf",
        "module \"m\" {\n  source = \"./vendor/shared\"\n}\n",
    );
    assert_eq!(found(&environment, &[]), ["warning module-not-installed"]);
    environment.write(
        "call.tf",
        "module \"m\" {\n  source = \"./vendor/other\"\n}\n",
    );
    assert_eq!(found(&environment, &[]), NOTHING);
}

#[test]
fn modules_in_a_directory_that_git_ignores_are_not_installed() {
    let repository = Repository::around(good());
    let environment = &repository.environment;
    environment.write(".gitignore", "/vendor/\n*.fetched\n");
    let call =
        |name: &str, source: &str| format!("module \"{name}\" {{\n  source = \"{source}\"\n}}\n");
    environment.write(
        "call.tf",
        call("m", "./vendor/network") + &call("n", "./vendor/dns/zone"),
    );
    environment.provlock(["verify", "--allow", "single-platform,untracked-lock-file"]).matches(str![[r#"
exit code: 0
----- stdout -----
warning[module-not-installed]: 2 modules are not there, and git ignores them, so what they require is not known
 --> call.tf:2:12
  |
2 |   source = "./vendor/network"
  |            ^^^^^^^^^^^^^^^^^^ module "m"
...
5 |   source = "./vendor/dns/zone"
  |            ------------------- module "n"
  |
help: run the tool that creates them

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning in call.tf
"#]]);
    for source in ["./a.fetched", "./deep/b.fetched/c", "./vendor"] {
        environment.write("call.tf", call("m", source));
        assert_eq!(
            found(environment, &["--allow", "untracked-lock-file"]),
            ["warning module-not-installed"],
            "{source}"
        );
        environment
            .provlock(["lock"])
            .assert_code(2)
            .assert_stderr_has("is ignored by git");
    }
    for source in ["./fetched", "../vendor/network"] {
        environment.write("call.tf", call("m", source));
        environment
            .provlock(["verify"])
            .assert_code(2)
            .assert_stderr_has("which does not exist");
    }
    environment.write("vendor/network/main.tf", "locals {}\n");
    environment.write("call.tf", call("m", "./vendor/network"));
    assert_eq!(
        found(environment, &["--allow", "untracked-lock-file"]),
        NOTHING,
        "it is there"
    );
}

#[test]
fn a_provider_without_a_source_is_required_beside_missing_modules() {
    let environment = good();
    environment.write(
        "call.tf",
        "provider \"yandex\" {}\nresource \"other_thing\" \"a\" {}\n",
    );
    let not_locked = "error provider-not-locked";
    assert_eq!(found(&environment, &[]), [not_locked, not_locked]);
    let missing = "module \"m\" {\n  source = \"git::https://git.test/m.git\"\n}\n";
    environment.write("missing.tf", missing);
    let expected = [not_locked, not_locked, "warning module-not-installed"];
    assert_eq!(
        found(&environment, &[]),
        expected,
        "no module changes what the names of another one mean"
    );
    environment.write("called/main.tf", "resource \"third_thing\" \"a\" {}\n");
    environment.write("call.tf", "module \"n\" {\n  source = \"./called\"\n}\n");
    let expected = [not_locked, "warning module-not-installed"];
    assert_eq!(
        found(&environment, &[]),
        expected,
        "all files of the called module are known"
    );
}

#[test]
fn files_for_the_other_dialect_are_named() {
    let environment = good();
    std::fs::rename(
        environment.project().join("main.tf"),
        environment.project().join("main.tofu"),
    )
    .unwrap();
    assert_eq!(found(&environment, &[]), NOTHING);
    let found = found(&environment, &["--dialect", "terraform"]);
    assert_eq!(
        found,
        ["warning no-configuration", "warning provider-not-required"]
    );
}
