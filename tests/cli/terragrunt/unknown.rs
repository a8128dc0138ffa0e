//! Unknown requirements of a unit: its lock file's content then stays, and is binding.

use super::super::lock::{lock_file, requires};
use super::generate;
use provlock_test::publish::Published;
use provlock_test::registry::Registry;
use provlock_test::{Output, TestEnvironment, str};

const LOCK: [&str; 3] = ["lock", "-p", "linux_amd64"];

/// A provider in four versions.
struct Gamma([Published; 4]);

impl Gamma {
    fn publish(registry: &Registry) -> Self {
        Self(["1.0.0", "1.1.0", "1.9.0", "2.0.0"].map(|version| {
            registry
                .publish("acme/gamma", version)
                .platforms(["linux_amd64"])
                .done()
        }))
    }

    /// A lock file with one of the versions, as a run for one platform writes it.
    fn locked(&self, version: usize, constraints: &str) -> String {
        self.0[version].lock_file(constraints, &["linux_amd64"])
    }
}

/// A unit that generates a program's output as a file, beside a configuration of its own.
fn with_unknown_unit(registry: &Registry, configuration: &str) -> TestEnvironment {
    let environment = TestEnvironment::with_registry(registry);
    environment.write("main.tf", configuration);
    environment.write(
        "terragrunt.hcl",
        generate(
            "more",
            &format!("{}{{run_cmd(\"vault\", \"read\")}}\n", "$"),
        ),
    );
    environment
}

fn run<const N: usize>(environment: &TestEnvironment, arguments: [&str; N]) -> Output {
    let output = environment.provlock(arguments);
    output.assert_stderr_has("the requirements of the unit in . are not completely known");
    output
}

#[test]
fn recorded_constraints_stay() {
    let registry = Registry::start();
    let gamma = Gamma::publish(&registry);
    let environment = with_unknown_unit(&registry, &requires("acme/gamma", ">= 1.0"));
    let recorded = gamma.locked(1, ">= 1.0.0, < 1.5.0");
    environment.write_lock_file(recorded.clone());

    run(&environment, LOCK).assert_code(0);

    assert_eq!(environment.lock_file(), recorded);
}

#[test]
fn recorded_constraints_stay_beside_new_ones() {
    let registry = Registry::start();
    let gamma = Gamma::publish(&registry);
    let environment = with_unknown_unit(&registry, &requires("acme/gamma", "!= 1.0.0"));
    environment.write_lock_file(gamma.locked(1, "< 1.5.0"));

    run(&environment, LOCK).assert_code(0);

    assert_eq!(
        environment.lock_file(),
        gamma.locked(1, "!= 1.0.0, < 1.5.0")
    );
}

#[test]
fn upgrade_stays_within_recorded_constraints() {
    let registry = Registry::start();
    let gamma = Gamma::publish(&registry);
    for arguments in [
        ["upgrade", "-p", "linux_amd64"],
        ["upgrade", "-p=linux_amd64", "--constraints"],
    ] {
        let environment = with_unknown_unit(&registry, &requires("acme/gamma", ""));
        environment.write_lock_file(gamma.locked(0, "~> 1.0"));

        run(&environment, arguments).assert_code(0);

        assert_eq!(environment.lock_file(), gamma.locked(2, "~> 1.0"));
    }
}

#[test]
fn versions_outside_recorded_constraints_are_refused() {
    let registry = Registry::start();
    let gamma = Gamma::publish(&registry);
    let environment = with_unknown_unit(&registry, &requires("acme/gamma", "~> 2.0"));
    let recorded = gamma.locked(0, "~> 1.0");
    environment.write_lock_file(recorded.clone());

    environment
        .provlock(["upgrade", "-p", "linux_amd64"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[no-matching-version]: no version of acme/gamma meets all constraints: ~> 1.0, ~> 2.0
 --> main.tf:5:17
  |
5 |       version = "~> 2.0"
  |                 ^^^^^^^^ the newest version that ~> 2.0 allows is 2.0.0
  |
 ::: .terraform.lock.hcl:6:17
  |
6 |   constraints = "~> 1.0"
  |                 -------- the newest version that ~> 1.0 allows is 1.9.0
  |
  = the newest version is 2.0.0
help: relax one of the constraints, or delete the recorded ones if nothing has them any more
"#]]);

    assert_eq!(environment.lock_file(), recorded);
}

/// A module that `--allow-missing-modules` skips may require anything, too.
#[test]
fn recorded_constraints_bind_beside_missing_modules() {
    let (registry, environment) = Registry::with_project();
    let gamma = Gamma::publish(&registry);
    let missing = "module \"m\" {\n  source = \"git::https://modules.test/m.git\"\n}\n";
    environment.write("main.tf", requires("acme/gamma", "") + missing);
    environment.write("provlock.toml", "fetch-modules = false\n");
    environment.write_lock_file(gamma.locked(0, "~> 1.0"));

    let upgrade = ["upgrade", "-p", "linux_amd64", "--allow-missing-modules"];
    environment
        .provlock(upgrade)
        .assert_code(0)
        .assert_stderr_has("is not installed");

    assert_eq!(environment.lock_file(), gamma.locked(2, "~> 1.0"));
}

#[test]
fn a_merge_stays_within_the_recorded_constraints_of_both_sides() {
    let registry = Registry::start();
    let gamma = Gamma::publish(&registry);
    let environment = with_unknown_unit(&registry, &requires("acme/gamma", ""));
    environment.write("base", lock_file(&[]));
    environment.write("ours", gamma.locked(0, ">= 1.0.0, != 1.1.0"));
    environment.write("theirs", gamma.locked(1, "~> 1.1"));

    let merge = [
        "merge",
        "base",
        "ours",
        "theirs",
        "--path",
        ".terraform.lock.hcl",
        "--resolve",
        "-p",
        "linux_amd64",
    ];
    run(&environment, merge).assert_code(0);

    assert_eq!(
        environment.read("ours"),
        gamma.locked(2, ">= 1.0.0, ~> 1.1, != 1.1.0")
    );
}

/// The requirements of the unit are unknown, so no lock file says that it requires nothing.
#[test]
fn nothing_known_is_no_lock_file() {
    let registry = Registry::start();
    let environment = with_unknown_unit(&registry, "");

    run(&environment, LOCK).assert_code(0);

    assert!(!environment.has_lock_file());
}

#[test]
fn a_syntax_error_is_an_error() {
    let (_registry, environment) = Registry::with_project();
    let broken = [
        "terraform {\n  source = \"./m\n}\n",
        "terraform {\n  source = \"./m\"\n",
        "locals {\n  a = = 1\n}\n",
        "inputs = [1,\n",
        "locals {\n  a = \n}\n",
        "include \"root\" {\n  path \"x\"\n}\n",
    ];
    for text in broken {
        environment.write("terragrunt.hcl", text);
        for command in ["lock", "verify", "upgrade"] {
            let output = environment.provlock([command]);
            output.assert_code(2);
            output.assert_code(2);
            assert!(
                format!("{output}").contains("error[invalid-configuration]"),
                "{text}: {output}"
            );
            assert!(
                format!("{output}").contains("terragrunt.hcl:"),
                "{text}: {output}"
            );
        }
        assert!(!environment.has_lock_file(), "{text}");
    }
}

#[test]
fn a_syntax_error_in_an_included_file_is_an_error() {
    let (_registry, environment) = Registry::with_project();
    environment.write("root.hcl", "locals {\n");
    environment.write(
        "terragrunt.hcl",
        "include \"root\" {\n  path = \"./root.hcl\"\n}\n",
    );

    environment.provlock(LOCK).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-configuration]: the "{" after locals is never closed
 --> root.hcl:1:8
  |
1 | locals {
  |        ^
"#]]);

    assert!(!environment.has_lock_file());
}

/// Windows' editors write one; OpenTofu, Terraform and Terragrunt ignore it.
#[test]
fn a_byte_order_mark_is_no_syntax_error() {
    let (registry, environment) = Registry::with_project();
    let gamma = Gamma::publish(&registry);
    environment.write("m/main.tf", requires("acme/gamma", "1.0.0"));
    environment.write("root.hcl", "\u{feff}locals {}\n");
    let include = "include \"root\" {\n  path = \"./root.hcl\"\n}\n";
    environment.write(
        "terragrunt.hcl",
        format!("\u{feff}{include}terraform {{\n  source = \"./m\"\n}}\n"),
    );

    let output = environment.provlock(LOCK);

    assert_eq!(
        environment.lock_file(),
        gamma.locked(0, "1.0.0"),
        "{output}"
    );
}

/// A reason that many units share is reported once; JSON has the reason of each.
#[test]
fn units_with_the_same_reason_are_one_warning() {
    let environment = TestEnvironment::new();
    environment.write("modules/app/main.tf", requires("acme/gamma", ""));
    let unknown = generate("more", "${run_cmd(\"vault\", \"read\")}\n");
    let source = "terraform {\n  source = \"../modules/app\"\n}\n";
    let remote = "terraform {\n  source = \"git::https://example.com/a.git\"\n}\n";
    for (unit, text) in [
        ("a", format!("{source}{unknown}")),
        ("b", format!("{source}{unknown}")),
        (
            "c",
            format!(
                "{source}{}",
                unknown.replace("run_cmd(\"vault\", \"read\")", "dependency.x.outputs.y")
            ),
        ),
        ("d", remote.to_owned()),
        ("e", remote.to_owned()),
    ] {
        environment.write(format!("{unit}/terragrunt.hcl"), text);
        environment.write(format!("{unit}/.terraform.lock.hcl"), lock_file(&[]));
    }
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[provider-not-locked]: acme/gamma is required, but not locked, in 3 Terragrunt units
 --> modules/app/main.tf:4:16
  |
4 |       source = "acme/gamma"
  |                ^^^^^^^^^^^^ required here
  |
  = in a, b and c
help: provlock lock a b c

warning[requirements-not-known]: the requirements of the unit are not completely known: `run_cmd` is not evaluated, in 2 Terragrunt units
 --> a/terragrunt.hcl:8:3
  |
8 | ${run_cmd("vault", "read")}
  |   ^^^^^^^^^^^^^^^^^^^^^^^^ `run_cmd` is not evaluated
  |
  = the entries and constraints of the lock file are treated as required
  = also in b
help: terragrunt init -lockfile=readonly checks all of them

warning[requirements-not-known]: the requirements of the unit in c are not completely known
 --> c/terragrunt.hcl:4:1
  |
4 | generate "more" {
  | ^^^^^^^^ outputs of other units are not read
  |
  = the entries and constraints of the lock file are treated as required
help: terragrunt init -lockfile=readonly checks all of them

warning[module-not-installed]: the module of the unit is remote and was not fetched, in 2 Terragrunt units
 --> d/terragrunt.hcl:2:12
  |
2 |   source = "git::https://example.com/a.git"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ its source
  |
  = also in e
help: its requirements were not checked; terragrunt init -lockfile=readonly checks them

----- stderr -----
3 errors and 5 warnings in 6 files
5 Terragrunt units: 3 with errors, 2 with warnings
"#]]);
    let report =
        crate::json_output::validated(&environment.provlock(["verify", "-r", "--json"]).stdout);
    let reasons: Vec<_> = (0..3)
        .map(|root| {
            let findings = report["roots"][root]["findings"].as_array().unwrap().iter();
            let unknown = findings.filter(|finding| finding["code"] == "requirements-not-known");
            unknown
                .map(|finding| finding["places"][0]["text"].as_str().unwrap().to_owned())
                .collect::<String>()
        })
        .collect();
    let expected = [
        "`run_cmd` is not evaluated",
        "`run_cmd` is not evaluated",
        "outputs of other units are not read",
    ];
    assert_eq!(reasons, expected);
}

/// One repository generated the requirements of all its 101 units with such a branch.
#[test]
fn literal_parts_around_an_unknown_branch_are_locked_and_checked() {
    let (registry, environment) = Registry::with_project();
    let gamma = Gamma::publish(&registry);
    registry
        .publish("acme/delta", "1.0.0")
        .platforms(["linux_amd64"])
        .done();
    let provider = |name: &str, version: &str| {
        format!(
            "    {name} = {{\n      source  = \"acme/{name}\"\n      version = \"{version}\"\n    }}\n"
        )
    };
    let contents = format!(
        "terraform {{\n  required_providers {{\n{}%{{ if run_cmd(\"vault\") == \"x\" }}\n{}%{{ endif }}\n  }}\n}}\n",
        provider("gamma", "~> 1.0"),
        provider("delta", "~> 9.0"),
    );
    environment.write("terragrunt.hcl", generate("versions", &contents));

    // Only the literal requirement is certain: the branch makes no provider required, and
    // constrains none.
    let verify = [
        "verify",
        "--allow",
        "requirements-not-known,single-platform,lock-file-missing",
    ];
    environment.write_lock_file(lock_file(&[]));
    let output = environment.provlock(verify);
    output
        .assert_code(1)
        .assert_stdout_has("provider-not-locked")
        .assert_stdout_has("gamma")
        .assert_lacks("delta");
    run(&environment, LOCK).assert_code(0);
    assert_eq!(environment.lock_file(), gamma.locked(2, "~> 1.0"));
    environment
        .provlock(verify)
        .assert_code(0)
        .assert_lacks("delta");
    // A locked provider that only the branch has stays, whatever the branch asks for.
    let delta = registry
        .publish("acme/delta", "1.1.0")
        .platforms(["linux_amd64"])
        .done();
    let recorded = lock_file(
        &[&delta, &gamma.0[2]].map(|published| published.entry_for("~> 1.0", &["linux_amd64"])),
    );
    environment.write_lock_file(recorded.clone());
    environment
        .provlock(verify)
        .assert_code(0)
        .assert_lacks("delta");
    run(&environment, LOCK).assert_code(0);
    assert_eq!(environment.lock_file(), recorded);
}

#[test]
fn a_required_provider_whose_version_is_in_an_unknown_branch_does_not_hide_the_others() {
    let (registry, environment) = Registry::with_project();
    let gamma = Gamma::publish(&registry);
    let delta = registry
        .publish("acme/delta", "1.0.0")
        .platforms(["linux_amd64"])
        .done();
    let contents = "terraform {
  required_providers {
    gamma = {
      source  = \"acme/gamma\"
      version = \"~> 1.0\"
    }
    delta = {
      source  = \"acme/delta\",
      %{ if run_cmd(\"x\") == \"x\" }
      version = \"~> 9.0\",
      %{ else }
      version = \"~> 8.0\",
      %{ endif }
    }
  }
}
";
    environment.write("terragrunt.hcl", generate("versions", contents));
    let verify = [
        "verify",
        "--allow",
        "requirements-not-known,single-platform,lock-file-missing",
    ];
    environment.write_lock_file(lock_file(&[]));
    let output = environment.provlock(verify);
    output
        .assert_code(1)
        .assert_stdout_has("provider-not-locked")
        .assert_stdout_has("gamma")
        .assert_lacks("delta");
    run(&environment, LOCK)
        .assert_code(0)
        .assert_stderr_has("`run_cmd` is not evaluated");
    assert_eq!(environment.lock_file(), gamma.locked(2, "~> 1.0"));
    let recorded = lock_file(
        &[&delta, &gamma.0[2]].map(|published| published.entry_for("~> 1.0", &["linux_amd64"])),
    );
    environment.write_lock_file(recorded.clone());
    environment
        .provlock(verify)
        .assert_code(0)
        .assert_lacks("delta");
    run(&environment, LOCK).assert_code(0);
    assert_eq!(environment.lock_file(), recorded);
}
