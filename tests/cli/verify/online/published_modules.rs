//! `verify --online` compares locked modules with what is published.

use super::NOTHING;
use super::ignored_modules::sarif_results;
use super::modules::{LOCK, Project};
use crate::get::module_lock_file;
use provlock_test::{str, survived};

#[test]
fn modules_that_differ_are_not_called_published_whatever_is_allowed() {
    let project = Project::new();
    let all = "All hashes are published";
    let verify = |flags: &[&str]| {
        project
            .environment
            .provlock([&["verify", "--online", "--allow"], flags].concat())
    };
    verify(&["single-platform"])
        .assert_code(0)
        .assert_stderr_has(all);
    project.serve("site.zip", "# other\n");
    let output = verify(&["single-platform,module-replaced"]);
    output
        .assert_code(0)
        .assert_lacks(all)
        .assert_stderr_has("Not confirmed as published: hashes of 1 module\n");
    let output = verify(&["single-platform", "--no-fetch-modules"]);
    output.assert_lacks(all);
}

#[test]
fn published_modules_are_compared_with_locked_ones() {
    let project = Project::new();
    assert_eq!(project.found(&["--online"]), NOTHING);
    project.move_tag("# other\n");
    project.serve("site.zip", "# other\n");
    project.registry.serve(
        "/v1/modules/acme/vpc/aws/versions",
        r#"{"modules":[{"versions":[{"version":"1.3.0"}]}]}"#,
    );
    let expected = [
        "error module-moved",
        "error module-replaced",
        "error module-withdrawn",
    ];
    assert_eq!(project.found(&["--online"]), expected);
    assert_eq!(project.found(&[]), NOTHING, "not asked for");
    let output = project
        .environment
        .provlock(["verify", "--online", "--allow", "single-platform"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
error[module-moved]: the tag of git::file://[ROOT]/modules.git//network?ref=v1.0.0 resolves to a different commit than when it was locked
 --> .modules.lock.hcl:6:13
  |
6 |   package = "git::file://[ROOT]/modules.git?ref=[..]"
  |             ^^^[..] module "network"
  |
 ::: main.tf:2:12
  |
2 |   source = "git::file://[ROOT]/modules.git//network?ref=v1.0.0"
  |            ---[..] called here
  |
  = locked commit: [..]
  = commit now: [..]
help: find out why; provlock get installs the locked commit, and init the new one

error[module-replaced]: the package of https://registry.opentofu.org/site.zip has changed since it was locked
  --> .modules.lock.hcl:14:13
   |
14 |   package = "https://registry.opentofu.org/site.zip"
   |             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ module "site"
   |
  ::: main.tf:6:12
   |
 6 |   source = "https://registry.opentofu.org/site.zip"
   |            ---------------------------------------- called here
   |
   = locked hash: h1:C/4IoAw7zl/iQ3Yav/ouJn3mdsc9rSfJegrYggVThfk=
   = fetched hash: h1:qIAAsVQLnjzVjofjQzYO/Au7twRT2EpdkmpUSWVxap8=
help: find out why before you accept it: a version or address should never change its content

error[module-withdrawn]: registry.opentofu.org/acme/vpc/aws 1.2.0 is locked, and its package was removed
  --> .modules.lock.hcl:34:17
   |
34 |   package     = "registry::registry.opentofu.org/acme/vpc/aws@1.2.0"
   |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ module "vpc"
   |
  ::: main.tf:10:13
   |
10 |   source  = "acme/vpc/aws"
   |             -------------- called here
   |
   = registry.opentofu.org/acme/vpc/aws does not list the version 1.2.0
help: call a different version or address, and run: provlock lock --modules

----- stderr -----
3 errors in .modules.lock.hcl
"#]]);
    survived(
        "a moved tag, a replaced archive or a withdrawn version of a locked module",
        3,
    );
    let mut codes = Vec::new();
    for result in sarif_results(&project.environment, &["--online"]) {
        codes.push(result["ruleId"].as_str().unwrap().to_owned());
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], LOCK, "{result}");
        assert!(place["region"]["startLine"].as_u64() > Some(1), "{result}");
    }
    assert_eq!(
        codes,
        ["module-moved", "module-replaced", "module-withdrawn"]
    );
    let json = project
        .environment
        .provlock(["verify", "--online", "--json"]);
    let report = crate::json_output::validated(&json.stdout);
    let findings = report["roots"][0]["findings"].as_array().unwrap().iter();
    let findings = findings.filter(|finding| finding["code"] != "single-platform");
    assert!(
        findings
            .map(|finding| finding["file"] == LOCK)
            .eq([true; 3]),
        "{report}"
    );
}

/// `verify --online` has not fetched the module, so its help does not suggest the same command
/// again.
#[test]
fn a_module_with_a_rejected_entry_is_not_referred_to_the_same_command() {
    let project = Project::new();
    project.install("vpc");
    project.edit(LOCK, "vpc/aws@1.2.0", "vpc/aws@1.1.0");
    let output = project
        .environment
        .provlock(["verify", "--online", "--allow", "single-platform"]);
    output
        .assert_code(1)
        .assert_stdout_has("module-package-foreign")
        .assert_lacks("verify --online");
}

#[test]
fn moved_branches_pass_and_removed_packages_are_found() {
    let project = Project::new();
    project.edit("main.tf", "?ref=v1.0.0", "?ref=main");
    project
        .environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    project.move_tag("# other\n");
    assert_eq!(project.found(&["--online"]), NOTHING);
    let repository = project.environment.root().join("modules.git");
    project
        .environment
        .git(&repository, ["update-ref", "-d", "refs/tags/v1.0.0"]);
    project
        .environment
        .git(&repository, ["update-ref", "-d", "refs/heads/main"]);
    project.registry.fault(
        "registry.opentofu.org/site.zip",
        provlock_test::Times::Always,
        provlock_test::Fault::Status(404),
    );
    assert_eq!(
        project.found(&["--online"]),
        ["error module-withdrawn", "error module-withdrawn"]
    );
}

/// A registry served other modules under unchanged versions for 14 hours (GHSA-vx42-ghc9-gw65).
#[test]
fn a_registry_that_serves_other_bytes_under_the_same_version_is_refused_by_all() {
    let project = Project::new();
    project.edit(
        "main.tf",
        "module \"vpc\"",
        "module \"again\" {\n  source = \"acme/vpc/aws\"\n}\n\nmodule \"vpc\"",
    );
    project
        .environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    let lock_file = module_lock_file(&project.environment);
    let hash_of = |text: &str| {
        let entry = text.split("module \"vpc\"").nth(1).unwrap();
        format!(
            "h1:{}",
            entry
                .split("h1:")
                .nth(1)
                .unwrap()
                .split('"')
                .next()
                .unwrap()
        )
    };
    project.serve("vpc.zip", "# evil\n");
    for command in [
        &["get", "--no-cache"][..],
        &["lock", "-p", "linux_amd64", "--no-cache"],
        &["lock", "-p", "linux_amd64", "--no-cache", "--check"],
        &["verify", "--online"],
    ] {
        let before = project.environment.snapshot();
        let output = project.environment.provlock(command);
        before.assert_same(&project.environment.snapshot());
        output.assert_code(if command[0] == "verify" { 1 } else { 2 });
        let said = format!("{}{}", output.stdout, output.stderr);
        let locked = hash_of(&lock_file);
        for part in [
            "module-replaced",
            "acme/vpc/aws 1.2.0",
            &locked,
            "module \"vpc\"",
            "module \"again\"",
            "main.tf",
        ] {
            assert!(
                said.contains(part),
                "{command:?} does not say {part}:\n{said}"
            );
        }
        assert_eq!(said.matches("h1:").count(), 2, "{said}");
    }
    let before = project.environment.snapshot();
    let lock = project.environment.provlock([
        "lock",
        "-p",
        "linux_amd64",
        "--no-cache",
        "--allow-missing-modules",
    ]);
    lock.assert_code(2)
        .assert_stderr_has("error[module-replaced]");
    before.assert_same(&project.environment.snapshot());
    let output = project.environment.provlock(["get", "--no-cache"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[module-replaced]: the package of registry.opentofu.org/acme/vpc/aws 1.2.0 has changed since it was locked
  --> main.tf:10:12
   |
10 |   source = "acme/vpc/aws"
   |            ^^^^^^^^^^^^^^ module "again"
...
14 |   source  = "acme/vpc/aws"
   |             -------------- module "vpc"
   |
   = locked hash: h1:rWNQPPvEZF65y3cgmR0o4Q/kuwDWP2Q7lTZXdWLCsbw=
   = fetched hash: h1:IKD8ZYOQnsu2a/qgDhoG4wGbBs7uLqULTk2s3ztrv38=
help: find out why before you accept it: a version or address should never change its content
"#]]);
    survived("other bytes under the version of a locked module", 5);
    project
        .environment
        .provlock([
            "lock",
            "-p",
            "linux_amd64",
            "--no-cache",
            "--accept-changed-hashes",
        ])
        .assert_code(0);
    assert!(
        output
            .stderr
            .contains(&hash_of(&module_lock_file(&project.environment))),
        "the new hash was named"
    );
}

#[test]
fn a_registry_that_names_another_place_is_refused_unless_the_files_are_the_same() {
    let project = Project::new();
    project.serve("elsewhere.zip", "# vpc\n");
    project.leads_to("https://registry.opentofu.org/elsewhere.zip");
    assert_eq!(project.found(&["--online"]), NOTHING);
    project.serve("elsewhere.zip", "# evil\n");
    assert_eq!(project.found(&["--online"]), ["error module-replaced"]);
    project
        .environment
        .provlock(["get", "--no-cache"])
        .assert_code(2)
        .assert_stderr_has("module-replaced");
    project
        .environment
        .provlock(["lock", "-p", "linux_amd64", "--no-cache"])
        .assert_code(2);
    survived(
        "a registry that returns a different location for a locked module",
        3,
    );
}
