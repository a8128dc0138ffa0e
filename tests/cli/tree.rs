//! `provlock tree`: which modules require a provider, and where.

use provlock_test::{TestEnvironment, str};
use serde_json::{Value, json};

use super::json_output::validated;
use super::lock::requires;
use super::verify::{H1, entry};

/// The lock file with this version of hashicorp/null.
fn locked(version: &str) -> String {
    entry("hashicorp/null", version, ">= 3.0.0, ~> 3.2", &[H1])
}

/// A root module that calls `network` and `storage`; both call `tags`, which also requires the
/// provider with a constraint.
fn project() -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.write("versions.tf", requires("hashicorp/null", "~> 3.2"));
    let call =
        |name: &str, source: &str| format!("module \"{name}\" {{\n  source = \"{source}\"\n}}\n");
    environment.write(
        "main.tf",
        call("network", "./modules/network") + &call("storage", "./modules/storage"),
    );
    environment.write(
        "modules/network/main.tf",
        call("tags", "../tags") + "resource \"null_resource\" \"this\" {}\n",
    );
    environment.write("modules/storage/main.tf", call("tags", "../tags"));
    environment.write(
        "modules/tags/main.tf",
        call("names", "../names") + &requires("hashicorp/null", ">= 3.0"),
    );
    environment.write(
        "modules/names/main.tf",
        "resource \"null_resource\" \"name\" {}\n",
    );
    environment.write_lock_file(locked("3.2.4"));
    environment
}

#[test]
fn a_provider_is_found_in_root_modules_of_both_dialects() {
    let environment = TestEnvironment::new();
    for (root, host) in [
        ("a", "registry.opentofu.org"),
        ("b", "registry.terraform.io"),
    ] {
        environment.write(format!("{root}/main.tf"), requires("hashicorp/null", ""));
        let lock_file = locked("3.2.4").replace("registry.opentofu.org", host);
        environment.write(format!("{root}/.terraform.lock.hcl"), lock_file);
    }
    for dialect in ["tofu", "terraform"] {
        let output = environment.provlock(["tree", "-r", "hashicorp/null", "--dialect", dialect]);
        output
            .assert_code(0)
            .assert_stdout_has("\n  a\n")
            .assert_stdout_has("\n  b\n");
    }
}

#[test]
fn every_call_that_leads_to_a_provider_is_shown() {
    let environment = project();
    let before = environment.snapshot();
    environment
        .provlock(["tree", "hashicorp/null"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
hashicorp/null 3.2.4 (locked), required as >= 3.0.0, ~> 3.2
├── .                                                 versions.tf:5               ~> 3.2
├── module.network                                    modules/network/main.tf:4   (no constraint)
│   └── module.network.module.tags                    modules/tags/main.tf:8      >= 3.0.0
│       └── module.network.module.tags.module.names   modules/names/main.tf:1     (no constraint)
└── module.storage.module.tags (*)                    modules/tags/main.tf:8      >= 3.0.0
"#]]);
    before.assert_same(&environment.snapshot());
}

#[test]
fn without_a_name_every_provider_is_shown() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", "provider \"random\" {}\n");
    environment.write_lock_file(locked("3.2.4"));
    environment.provlock(["tree"]).matches(str![[r#"
exit code: 0
----- stdout -----
hashicorp/null 3.2.4 (locked), not required

hashicorp/random (not locked), required in any version
└── .   main.tf:1   (no constraint)
"#]]);
}

#[test]
fn json_has_the_places() {
    let output = project().provlock(["tree", "hashicorp/null", "--json"]);
    output.assert_code(0);
    let root = &validated(&output.stdout)["roots"][0];
    let provider = &root["requirements"][0];
    assert_eq!(provider["address"], "registry.opentofu.org/hashicorp/null");
    assert_eq!(
        (&provider["locked"], &provider["constraints"]),
        (&json!("3.2.4"), &json!(">= 3.0.0, ~> 3.2"))
    );
    let modules: Vec<_> = provider["required_by"]
        .as_array()
        .unwrap()
        .iter()
        .map(|by| &by["module"])
        .collect();
    assert_eq!(modules[..2], [&Value::Null, &json!("module.network")]);
    let tags = &provider["required_by"][2];
    assert_eq!(tags["module"], "module.network.module.tags");
    assert_eq!(
        tags["called_at"],
        json!({ "file": "modules/network/main.tf", "line": 2, "column": 12 })
    );
    assert_eq!(tags["required_at"]["file"], "modules/tags/main.tf");
    assert_eq!(
        (&tags["constraints"], &tags["repeated"]),
        (&json!(">= 3.0.0"), &json!(false))
    );
    assert!(
        provider["required_by"]
            .as_array()
            .unwrap()
            .iter()
            .any(|by| by["repeated"] == true)
    );
}

#[test]
fn json_has_the_commit_of_a_locked_module() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", "module \"tags\" {\n  source = \"./tags\"\n}\n");
    environment.write("tags/main.tf", requires("hashicorp/null", ""));
    let commit = "0123456789012345678901234567890123456789";
    for (reference, locked) in [
        (commit, json!(commit)),
        ("main", Value::Null),
        (&commit[..12], Value::Null),
    ] {
        let package = format!("git::https://h.test/tags.git?ref={reference}");
        let entry =
            format!("module \"tags\" {{\n  source = \"./tags\"\n  package = \"{package}\"\n}}\n");
        environment.write(".modules.lock.hcl", entry);
        let output = environment.provlock(["tree", "--json"]);
        output.assert_code(0);
        let provider = &validated(&output.stdout)["roots"][0]["requirements"][0];
        assert_eq!(provider["required_by"][0]["module"], "module.tags");
        assert_eq!(provider["required_by"][0]["locked"], locked);
    }
}

#[test]
fn a_provider_that_nothing_requires_is_an_error() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment
        .provlock(["tree", "hashicorp/random"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: hashicorp/random is neither required nor locked
help: to list all providers: provlock tree
"#]]);
}

#[test]
fn modules_that_are_not_installed_are_named_and_not_fetched() {
    let environment = TestEnvironment::new();
    environment.write(
        "main.tf",
        "module \"vpc\" {\n  source = \"terraform-aws-modules/vpc/aws\"\n}\nprovider \"aws\" {}\n",
    );
    environment.provlock(["tree"]).matches(str![[r#"
exit code: 0
----- stdout -----
hashicorp/aws (not locked), required in any version
└── .   main.tf:4   (no constraint)
----- stderr -----
warning[module-not-installed]: module "vpc" from "terraform-aws-modules/vpc/aws" is not installed
 --> main.tf:2:12
  |
2 |   source = "terraform-aws-modules/vpc/aws"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ called here
  |
help: install it with tofu get or tofu init; to fetch it for the check only: provlock verify --online
"#]]);
}

#[test]
fn a_unit_is_listed_once() {
    let environment = TestEnvironment::new();
    std::fs::create_dir(environment.project().join(".git")).unwrap();
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.write("terragrunt.hcl", "");
    environment.provlock(["tree"]).matches(str![[r#"
exit code: 0
----- stdout -----
hashicorp/null (not locked), required as ~> 3.0
└── .   main.tf:5   ~> 3.0
"#]]);
    environment.write("modules/a/main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.write(
        "live/terragrunt.hcl",
        "terraform {\n  source = \"../modules/a\"\n}\n",
    );
    environment
        .provlock(["-C", "live", "tree"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
hashicorp/null (not locked), required as ~> 3.0
└── .   ../modules/a/main.tf:5   ~> 3.0
"#]]);
}

/// Three root modules that lock two versions of a provider, and a fourth without a lock file.
fn many() -> TestEnvironment {
    let environment = TestEnvironment::new();
    for (root, version) in [
        ("live/a", "3.2.4"),
        ("live/b", "3.2.4"),
        ("legacy", "2.1.0"),
        ("new", ""),
    ] {
        environment.write(
            format!("{root}/main.tf"),
            "terraform {\n  backend \"local\" {}\n}\n".to_owned() + &requires("hashicorp/null", ""),
        );
        if !version.is_empty() {
            environment.write(format!("{root}/.terraform.lock.hcl"), locked(version));
        }
    }
    environment
}

#[test]
fn many_root_modules_are_counted_by_version() {
    many().provlock(["tree", "-r"]).matches(str![[r#"
exit code: 0
----- stdout -----
provider         version   root modules
hashicorp/null   3.2.4     2
                 2.1.0     1
----- stderr -----
1 provider (1 in several versions) in 3 root modules; 1 root module has no lock file
"#]]);
    many().provlock(["tree", "-r", "live"]).matches(str![[r#"
exit code: 0
----- stdout -----
provider         version   root modules
hashicorp/null   3.2.4     2
----- stderr -----
1 provider in 2 root modules
"#]]);
}

#[test]
fn tree_lists_root_modules_with_an_old_version() {
    let environment = many();
    environment
        .provlock(["tree", "-r", "hashicorp/null"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
hashicorp/null 3.2.4 in 2 root modules
  live/a
  live/b
hashicorp/null 2.1.0 in 1 root module
  legacy
----- stderr -----
3 of 3 root modules; 1 root module has no lock file
"#]]);
    environment
        .provlock(["tree", "-r", "hashicorp/random"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: no root module here has locked hashicorp/random
help: provlock tree -r
"#]]);
    environment
        .provlock(["tree", "-r", "hashicorp/null@2"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: tree takes providers without a version, and not hashicorp/null@2
help: for the root modules of each version: provlock tree -r hashicorp/null
"#]]);
}

#[test]
fn versions_of_many_are_json() {
    let environment = many();
    let output = environment.provlock(["tree", "-r", "hashicorp/null", "--json"]);
    let expected = json!([{
        "address": "registry.opentofu.org/hashicorp/null",
        "versions": [
            { "version": "3.2.4", "root_modules": ["live/a", "live/b"] },
            { "version": "2.1.0", "root_modules": ["legacy"] },
        ],
    }]);
    assert_eq!(validated(&output.stdout)["providers"], expected);
    environment.write("live/b/.terraform.lock.hcl", "provider {");
    let output = environment.provlock(["tree", "-r", "--json"]);
    output.assert_code(2);
    let report = validated(&output.stdout);
    assert_eq!(
        report["providers"][0]["versions"][0]["root_modules"],
        json!(["live/a"]),
        "the others are shown"
    );
    assert_eq!(report["errors"].as_array().unwrap().len(), 1);
}

#[test]
fn directories_name_the_root_modules() {
    let environment = many();
    environment.provlock(["tree", "legacy"]).matches(str![[r#"
exit code: 0
----- stdout -----
hashicorp/null 2.1.0 (locked), required in any version
└── .   legacy/main.tf:7   (no constraint)
"#]]);
    environment
        .provlock(["tree", "legacy/main.tf", "live/a"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
legacy/main.tf:
hashicorp/null 2.1.0 (locked), required in any version
└── .   legacy/main.tf:7   (no constraint)

live/a:
hashicorp/null 3.2.4 (locked), required in any version
└── .   live/a/main.tf:7   (no constraint)
"#]]);
    let roots = validated(
        &environment
            .provlock(["tree", "legacy", "live/a", "--json"])
            .stdout,
    );
    assert_eq!(roots["roots"].as_array().unwrap().len(), 2);
}
