//! Locked modules of units: the module of the source, and the modules that it calls.

use super::generate;
use crate::get::module_lock_file;
use crate::lock::requires;
use crate::modules::{publish, push_tag};
use provlock_test::archive::{self, Packing};
use provlock_test::git::Repository;
use provlock_test::{Registry, TestEnvironment, str, survived};

const LOCK: &str = ".modules.lock.hcl";
const LOCK_MODULES: [&str; 4] = ["lock", "-p", "linux_amd64", "--modules"];

/// A unit that runs a module in git, which calls one in an archive.
struct Project {
    registry: Registry,
    environment: TestEnvironment,
}

impl Project {
    fn new() -> Self {
        let (registry, environment) = Registry::with_project();
        registry
            .publish("acme/gamma", "1.5.0")
            .platforms(["linux_amd64"])
            .done();
        let project = Self {
            registry,
            environment,
        };
        project.serve_leaf(&requires("acme/gamma", "~> 1.0"));
        publish(&project.environment, &leaf(), "v1.0.0");
        project.write_unit("ref=v1.0.0");
        project
    }

    fn serve_leaf(&self, configuration: &str) {
        let files = [("main.tf".to_owned(), configuration.as_bytes().to_vec())];
        self.registry
            .serve("/leaf.zip", archive::pack(&files, Packing::Deflated));
    }

    fn write_unit(&self, query: &str) {
        let repository = self.environment.root().join("modules.git");
        let source = format!("git::file://{}//network?{query}", repository.display());
        self.environment.write(
            "terragrunt.hcl",
            format!("terraform {{\n  source = \"{source}\"\n}}\n"),
        );
    }

    /// Moves the tag of the repository to another commit.
    fn move_tag(&self) {
        let work = self.environment.root().join("work");
        self.environment
            .write(work.join("network/evil.tf"), "# evil\n");
        self.environment.commit_all(&work);
        push_tag(&self.environment, "v1.0.0");
    }

    #[track_caller]
    fn found(&self, arguments: &[&str]) -> Vec<String> {
        found(&self.environment, arguments)
    }
}

#[track_caller]
fn found(environment: &TestEnvironment, arguments: &[&str]) -> Vec<String> {
    crate::verify::found(environment, arguments)
}

fn leaf() -> String {
    "module \"leaf\" {\n  source = \"https://registry.opentofu.org/leaf.zip\"\n}\n".to_owned()
}

/// An entry without its first line, up to the next one.
fn without_entry(text: &str, label: &str) -> String {
    let start = text.find(&format!("module \"{label}\"")).unwrap();
    let end = text[start..].find("\n}\n").unwrap() + start + 3;
    format!("{}{}", &text[..start], text[end..].trim_start())
}

#[test]
fn the_module_of_the_source_is_locked_with_those_that_it_calls() {
    let project = Project::new();
    let Project {
        registry,
        environment,
    } = &project;
    environment
        .provlock(LOCK_MODULES)
        .assert_code(0)
        .assert_lacks("not locked");
    let text = module_lock_file(environment);
    let labels: Vec<_> = text
        .lines()
        .filter(|line| line.starts_with("module "))
        .collect();
    assert_eq!(labels, ["module \".\" {", "module \"leaf\" {"], "{text}");
    assert!(
        text.contains("//network?ref=v1.0.0\"\n  package = \"git::file://"),
        "{text}"
    );
    assert_eq!(text.matches("\"h1:").count(), 2, "{text}");

    environment
        .provlock(["pin"])
        .assert_code(0)
        .assert_stderr_has("Nothing to pin");
    assert_eq!(module_lock_file(environment), text);

    // The locked module is kept, and read without a request.
    project.move_tag();
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    assert_eq!(module_lock_file(environment), text);
    std::fs::rename(
        environment.root().join("modules.git"),
        environment.root().join("gone.git"),
    )
    .unwrap();
    environment
        .provlock(["lock", "-p", "linux_amd64", "--check"])
        .assert_code(0);
    registry.reset_statistics();
    assert_eq!(project.found(&[]), [""; 0]);
    assert_eq!(project.found(&["-r"]), [""; 0]);
    assert_eq!(registry.statistics().requests, 0);
    environment
        .provlock(["verify", "--allow", "single-platform"])
        .assert_stderr_has("OK: 2 modules locked as called");

    // Terragrunt installs them among its generated files.
    environment
        .provlock(["get"])
        .assert_code(0)
        .assert_stderr_has("Nothing to install");
    assert!(!environment.project().join(".terraform").exists());
    assert_eq!(project.found(&["--installed"]), [""; 0]);
}

#[test]
fn the_source_and_its_entry_are_compared() {
    let project = Project::new();
    project.environment.provlock(LOCK_MODULES).assert_code(0);
    let good = module_lock_file(&project.environment);
    project.write_unit("ref=v1.0.1");
    assert_eq!(
        project.found(&["--allow", "module-not-installed"]),
        ["error module-lock-stale"]
    );
    project.write_unit("ref=v1.0.0");

    project
        .environment
        .write(LOCK, without_entry(&good, "leaf"));
    assert_eq!(
        project.found(&["--allow", "module-not-installed"]),
        ["error module-not-locked"]
    );
    project.environment.write(LOCK, without_entry(&good, "."));
    assert_eq!(
        project.found(&["--allow", "module-not-installed"]),
        ["error module-not-locked"]
    );
    let output =
        project
            .environment
            .provlock(["verify", "--allow", "single-platform,module-not-installed"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
error[module-not-locked]: the unit's module is not locked
 --> terragrunt.hcl:2:12
  |
2 |   source = "git::file://[ROOT]/modules.git//network?ref=v1.0.0"
  |            [..]^ called here
  |
help: provlock lock --modules

----- stderr -----
1 error in terragrunt.hcl
"#]]);
    project
        .environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    assert_eq!(module_lock_file(&project.environment), good);

    std::fs::remove_file(project.environment.project().join(LOCK)).unwrap();
    assert_eq!(project.found(&["--allow", "module-not-installed"]), [""; 0]);
    project
        .environment
        .write("provlock.toml", "[modules]\nlock = true\n");
    assert_eq!(
        project.found(&["--allow", "module-not-installed"]),
        ["error module-not-locked"]
    );

    project.environment.write(LOCK, &good);
    project.environment.write("terragrunt.hcl", "");
    project.environment.write("main.tf", leaf());
    assert_eq!(
        project.found(&["--allow", "module-not-installed"]),
        ["warning module-lock-stale"],
        "no source"
    );
}

#[test]
fn the_source_of_a_unit_is_compared_online() {
    let project = Project::new();
    let Project { environment, .. } = &project;
    environment.provlock(LOCK_MODULES).assert_code(0);
    assert_eq!(project.found(&["--online"]), [""; 0]);
    project.move_tag();
    assert_eq!(project.found(&["--online"]), ["error module-moved"]);
    let output = environment.provlock(["verify", "--online"]);
    output
        .assert_stdout_has("the unit's module")
        .assert_stdout_has("to keep Terragrunt at the locked commit");
    output
        .assert_stdout_has(" --> .modules.lock.hcl:6:13")
        .assert_stdout_has("terragrunt.hcl:2:12");

    project.serve_leaf("# evil\n");
    assert_eq!(
        project.found(&["--online"]),
        ["error module-moved", "error module-replaced"]
    );
    let text = module_lock_file(environment);
    let hash = text
        .split("\"h1:")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    environment.write(LOCK, text.replace(hash, &format!("{}=", "A".repeat(43))));
    for arguments in [
        &["lock", "-p", "linux_amd64"][..],
        &["lock", "-p", "linux_amd64", "--allow-missing-modules"],
    ] {
        let before = environment.snapshot();
        environment
            .provlock(arguments)
            .assert_code(2)
            .assert_stderr_has("error[module-replaced]");
        before.assert_same(&environment.snapshot());
    }
    survived("a moved tag or other bytes of the module of a unit", 4);
    environment
        .provlock(["lock", "-p", "linux_amd64", "--accept-changed-hashes"])
        .assert_code(0);
    assert!(module_lock_file(environment).contains(hash));
}

#[test]
fn a_source_of_a_registry_is_locked_with_its_version() {
    let project = Project::new();
    let Project {
        registry,
        environment,
    } = &project;
    let versions = serde_json::json!({ "modules": [{ "versions": [{ "version": "1.2.0" }, { "version": "1.1.0" }] }] });
    registry.serve("/v1/modules/acme/vpc/aws/versions", versions.to_string());
    for version in ["1.1.0", "1.2.0"] {
        let location = serde_json::json!({ "location": "https://registry.opentofu.org/leaf.zip" });
        registry.serve(
            &format!("/v1/modules/acme/vpc/aws/{version}/download"),
            location.to_string(),
        );
    }
    let unit = |query: &str| {
        let source = format!("tfr:///acme/vpc/aws{query}");
        environment.write(
            "terragrunt.hcl",
            format!("terraform {{\n  source = \"{source}\"\n}}\n"),
        );
    };
    unit("?version=1.1.0");
    environment.provlock(LOCK_MODULES).assert_code(0);
    let text = module_lock_file(environment);
    let expected = r#"module "." {
  source      = "registry.opentofu.org/acme/vpc/aws"
  version     = "1.1.0"
  constraints = "1.1.0"
  package     = "registry::registry.opentofu.org/acme/vpc/aws@1.1.0"
"#;
    assert!(text.contains(expected), "{text}");
    assert_eq!(project.found(&["--online"]), [""; 0]);
    unit("?version=1.2.0");
    let changed = ["error module-version-outside-constraints"];
    assert_eq!(project.found(&["--allow", "module-not-installed"]), changed);
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    assert!(module_lock_file(environment).contains("aws@1.2.0"));

    environment.write(
        "terragrunt.hcl",
        "terraform {\n  source = \"https://registry.opentofu.org/leaf.zip?key=abcdefgh\"\n}\n",
    );
    let before = environment.snapshot();
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(2)
        .assert_stderr_has("the unit's module cannot be locked");
    before.assert_same(&environment.snapshot());
}

#[test]
fn a_change_of_the_entry_of_a_unit_is_checked() {
    let project = Project::new();
    project.environment.provlock(LOCK_MODULES).assert_code(0);
    let Project {
        registry: _registry,
        environment,
    } = project;
    let repository = Repository::around(environment);
    let environment = &repository.environment;
    let lock_file = environment.lock_file();
    repository.commit(&lock_file);
    let base = || {
        found(
            environment,
            &[
                "--base",
                "HEAD",
                "--allow-outside",
                "--allow",
                "module-not-installed",
            ],
        )
    };
    assert_eq!(base(), [""; 0]);
    let good = module_lock_file(environment);
    let commit = good
        .rsplit("?ref=")
        .next()
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    environment.write(LOCK, good.replace(commit, &"a".repeat(40)));
    assert_eq!(base(), ["error hashes-replaced"]);
    std::fs::remove_file(environment.project().join(LOCK)).unwrap();
    assert_eq!(base(), ["error root-removed"], "the file is gone");
    survived(
        "a change that gives a unit a different module, or unlocks it",
        2,
    );
}

#[test]
fn units_that_share_a_lock_file_share_that_of_modules() {
    let project = Project::new();
    let Project { environment, .. } = &project;
    std::fs::remove_file(environment.project().join("terragrunt.hcl")).unwrap();
    environment.write("modules/app/main.tf", leaf());
    environment.write("modules/app/.terraform.lock.hcl", "");
    let unit = |name: &str, extra: &str| {
        let module = extra.replace("leaf", "other");
        let text = format!(
            "terraform {{\n  source = \"../../modules//app\"\n}}\n{}",
            generate("extra", &module)
        );
        environment.write(format!("live/{name}/terragrunt.hcl"), text);
    };
    unit("a", "");
    unit(
        "b",
        &leaf()
            .replace("\"leaf\"", "\"extra\"")
            .replace("leaf.zip", "leaf.zip?a=1"),
    );
    project.registry.serve(
        "/other.zip?a=1",
        archive::pack(&[("main.tf".to_owned(), Vec::new())], Packing::Deflated),
    );
    project.registry.serve(
        "/other.zip",
        archive::pack(&[("main.tf".to_owned(), Vec::new())], Packing::Deflated),
    );
    environment
        .provlock(["lock", "-p", "linux_amd64", "--modules", "-r"])
        .assert_code(0);
    let text = environment.read(environment.project().join("modules/app").join(LOCK));
    assert_eq!(text.matches("module \"").count(), 2, "{text}");
    assert_eq!(found(environment, &["-r"]), [""; 0]);
    assert!(!environment.project().join("live/a").join(LOCK).exists());

    unit(
        "a",
        &leaf()
            .replace("\"leaf\"", "\"extra\"")
            .replace("leaf.zip", "leaf.zip?a=2"),
    );
    assert_eq!(
        found(environment, &["-r", "--allow", "module-not-installed"]),
        ["error module-lock-stale"]
    );
    let before = environment.snapshot();
    let lock = environment.provlock(["lock", "-p", "linux_amd64", "-r"]);
    lock.assert_code(2).assert_stderr_has(
        "module \"extra\" cannot be locked for all units that share the lock file",
    );
    before.assert_same(&environment.snapshot());
}
