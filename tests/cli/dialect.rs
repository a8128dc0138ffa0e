//! Which dialect a root module has when neither a flag, the settings nor its lock file says so.

use super::lock::requires;
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str, with_slashes};

/// A lock file that Terraform wrote.
const TERRAFORM_LOCK: &str = "# This file is maintained automatically by \"terraform init\".\n";
/// A lock file that OpenTofu wrote.
const TOFU_LOCK: &str = "# This file is maintained automatically by \"tofu init\".\n";

/// A repository with a root module in `live/a`, on a machine with neither program.
fn repository() -> TestEnvironment {
    let environment = TestEnvironment::new();
    std::fs::remove_file(environment.bin().join(format!("tofu{}", std::env::consts::EXE_SUFFIX))).unwrap();
    environment.write(".git/HEAD", "");
    environment.write("live/a/main.tf", "locals {}\n");
    environment
}

/// The dialect of `live/a`, and what it was decided by.
#[track_caller]
fn decided(environment: &TestEnvironment) -> String {
    let output = environment.provlock(["-C", "live/a", "verify", "-v"]);
    let line = output.stderr.lines().find_map(|line| line.strip_prefix(".: dialect "));
    line.unwrap_or_else(|| panic!("{output}")).split(';').next().unwrap().to_owned()
}

/// The same with these files beside the root module's own.
#[track_caller]
fn decided_with(files: &[(&str, &str)]) -> String {
    let environment = repository();
    for (path, text) in files {
        environment.write(path, text);
    }
    decided(&environment)
}

fn install(environment: &TestEnvironment, program: &str) {
    environment.write(environment.bin().join(format!("{program}{}", std::env::consts::EXE_SUFFIX)), "");
}

#[test]
fn without_any_sign_it_is_the_default() {
    assert_eq!(decided(&repository()), "tofu (default)");
}

#[test]
fn tofu_files_of_the_root_module_decide() {
    let siblings = ("live/b/.terraform.lock.hcl", TERRAFORM_LOCK);
    assert_eq!(decided_with(&[("live/a/b.tofu", ""), siblings]), "tofu (the .tofu files)");
    assert_eq!(decided_with(&[("live/b/b.tofu", "")]), "tofu (default)", "those elsewhere mislead");
}

#[test]
fn the_nearest_other_lock_files_decide() {
    let terraform = "terraform (the nearest other lock files)";
    let tofu = "tofu (the nearest other lock files)";
    let [up, beside, below, far] =
        ["", "live/b/", "live/a/b/", "stage/c/"].map(|path| format!("{path}.terraform.lock.hcl"));
    for path in [&up, &beside, &below, &far] {
        assert_eq!(decided_with(&[(path, TERRAFORM_LOCK)]), terraform, "{path}");
    }
    assert_eq!(decided_with(&[(&beside, TERRAFORM_LOCK), (&far, TOFU_LOCK), (&up, TOFU_LOCK)]), terraform);
    assert_eq!(decided_with(&[(&beside, TOFU_LOCK), (&below, TERRAFORM_LOCK)]), tofu);
    let parent = "live/.terraform.lock.hcl";
    assert_eq!(decided_with(&[(&beside, TERRAFORM_LOCK), (parent, TOFU_LOCK)]), "tofu (default)", "they differ");
    assert_eq!(
        decided_with(&[(&beside, "\n"), (&far, TERRAFORM_LOCK)]),
        terraform,
        "one that says nothing is passed over"
    );
    assert_eq!(
        decided_with(&[("../.terraform.lock.hcl", TERRAFORM_LOCK)]),
        "tofu (default)",
        "outside of the repository"
    );
    let installed = "live/b/.terraform/modules/m/.terraform.lock.hcl";
    assert_eq!(decided_with(&[(installed, TERRAFORM_LOCK)]), "tofu (default)");
}

#[test]
fn version_files_decide_the_nearest_first() {
    let (terraform, tofu) = ("terraform (a version file)", "tofu (a version file)");
    for (path, text, expected) in [
        (".terraform-version", "1.5.7\n", terraform),
        ("live/.opentofu-version", "1.8.0\n", tofu),
        ("live/a/.tool-versions", "# terraform 1.0\nopentofu 1.8.0\n", tofu),
        (".tool-versions", "nodejs 20\nterraform 1.5.7\n", terraform),
        ("mise.toml", "[tools]\nterraform = \"1.5\"\n", terraform),
        (".mise.toml", "[tools]\n\"aqua:opentofu/opentofu\" = { version = \"1.8\" }\n", tofu),
    ] {
        assert_eq!(decided_with(&[(path, text)]), expected, "{path}");
    }
    assert_eq!(decided_with(&[(".terraform-version", ""), ("live/.opentofu-version", "")]), tofu);
    assert_eq!(decided_with(&[(".tool-versions", "terraform 1.5\nopentofu 1.8\n")]), "tofu (default)", "it names both");
    for (path, text) in
        [("mise.toml", "[tools\n"), (".tool-versions", "nodejs 20\n"), ("../.terraform-version", "1.5\n")]
    {
        assert_eq!(decided_with(&[(path, text)]), "tofu (default)", "{path}");
    }
}

#[test]
fn the_only_program_in_path_decides() {
    let environment = repository();
    install(&environment, "terraform");
    assert_eq!(decided(&environment), "terraform (the program in PATH)");
    environment.write(".opentofu-version", "1.8.0\n");
    assert_eq!(decided(&environment), "tofu (a version file)");
    std::fs::remove_file(environment.project().join(".opentofu-version")).unwrap();
    install(&environment, "tofu");
    assert_eq!(decided(&environment), "tofu (default)", "both are there");
}

#[test]
fn what_ci_and_makefiles_call_decides_if_they_agree() {
    let terraform = "terraform (what CI files and makefiles call)";
    for (path, text) in [
        (".github/workflows/plan.yml", "steps:\n  - uses: hashicorp/setup-terraform@v3\n"),
        (".github/workflows/plan.yaml", "      run: cd live && terraform init\n"),
        (".gitlab-ci.yml", "script:\n  - terraform -chdir=live init -input=false\n"),
        ("Makefile", "init:\n\t/usr/bin/terraform init\n"),
        ("live/Taskfile.yml", "cmds: [\"terraform init\"]\n"),
        ("justfile", "init:\n  @(terraform init)\n"),
    ] {
        assert_eq!(decided_with(&[(path, text)]), terraform, "{path}");
    }
    let tofu = (".github/workflows/tofu.yml", "uses: opentofu/setup-opentofu@v1\nrun: tofu init\n");
    assert_eq!(decided_with(&[tofu]), "tofu (what CI files and makefiles call)");
    assert_eq!(decided_with(&[tofu, ("Makefile", "init:\n\tterraform init\n")]), "tofu (default)", "they differ");
    for (path, text) in [
        ("Makefile", "# terraform init\nfmt:\n\tterraform fmt\n\topenterraform init\n\tterraform initialise\n"),
        ("README.md", "terraform init\n"),
        (".github/dependabot.yml", "terraform init\n"),
    ] {
        assert_eq!(decided_with(&[(path, text)]), "tofu (default)", "{path}");
    }
}

#[test]
fn what_only_terraform_accepts_decides() {
    let decided_by = |text: &str| decided_with(&[("live/a/terraform.tf", &format!("terraform {{\n{text}\n}}\n"))]);
    for text in [
        "cloud {\n}",
        "state_store \"a_b\" {\n}",
        "required_version = \"~> 1.5.0\"",
        "required_version = \">= 1.3, < 1.6\"",
    ] {
        assert_eq!(decided_by(text), "terraform (the configuration)", "{text}");
    }
    for text in
        ["cloud {\n  hostname = \"a.example\"\n}", "required_version = \">= 1.5\"", "required_version = \"< 2.0\""]
    {
        assert_eq!(decided_by(text), "tofu (default)", "{text}");
    }
}

#[test]
fn what_only_opentofu_accepts_decides() {
    let language = "language {\n  compatible_with {\n    opentofu = \">= 1.12\"\n  }\n}\n";
    let both = format!("{language}terraform {{\n  required_version = \"~> 1.5.0\"\n}}\n");
    for text in [language, &both] {
        assert_eq!(decided_with(&[("live/a/language.tf", text)]), "tofu (the configuration)", "{text}");
    }
}

#[test]
fn outside_of_a_repository_what_is_below_the_current_directory_counts() {
    let environment = repository();
    std::fs::remove_dir_all(environment.project().join(".git")).unwrap();
    environment.write("live/b/.terraform.lock.hcl", TERRAFORM_LOCK);
    assert_eq!(decided(&environment), "tofu (default)");
    let output = environment.provlock(["verify", "-v", "live/a"]);
    output.matches(str![[r#"
exit code: 0
----- stderr -----
live/a: dialect terraform (the nearest other lock files); checked 0 providers for no platform, as none is named
1 root module: needs no lock file
"#]]);
}

#[test]
fn commands_name_a_dialect_that_another_machine_might_not_detect() {
    let environment = repository();
    environment.write("live/a/main.tf", requires("hashicorp/null", ""));
    let help = |arguments: &[&str]| {
        let output = environment.provlock(["verify", "live/a"].iter().chain(arguments));
        output.stdout.lines().find_map(|line| line.strip_prefix("help: ")).map(with_slashes).unwrap()
    };
    assert_eq!(help(&[]), "provlock -C live/a lock -p all");
    environment.write(".terraform-version", "1.5.7\n");
    assert_eq!(help(&[]), "provlock -C live/a lock -p all --dialect terraform");
    assert_eq!(help(&["--dialect", "terraform"]), "provlock -C live/a lock -p all");
    environment.write("provlock.toml", "dialect = \"terraform\"\n");
    assert_eq!(help(&[]), "provlock -C live/a lock -p all");
}

#[test]
fn a_new_lock_file_of_the_default_dialect_says_so() {
    let registry = Registry::start();
    registry.publish("hashicorp/null", "3.2.4").platforms(["linux_amd64"]).done();
    let environment = TestEnvironment::with_registry(&registry);
    std::fs::remove_file(environment.bin().join(format!("tofu{}", std::env::consts::EXE_SUFFIX))).unwrap();
    environment.write("main.tf", requires("hashicorp/null", ""));
    environment.provlock(["lock", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.4   signed, key ID 558D46FBE8647CB4   1 h1, 2 zh
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), since nothing here says Terraform; --dialect terraform changes that
"#]]);
    let again = environment.provlock(["lock", "-p", "linux_amd64"]);
    again.assert_code(0).assert_lacks("since nothing here says Terraform");
    std::fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
    for arguments in [&["--dialect", "tofu"][..], &["--dry-run"], &["--quiet"]] {
        let output = environment.provlock([&["lock", "-p", "linux_amd64"], arguments].concat());
        output.assert_code(0).assert_lacks("since nothing here says Terraform");
        let _ = std::fs::remove_file(environment.project().join(".terraform.lock.hcl"));
    }
    let upgraded = environment.provlock(["upgrade", "-p", "linux_amd64"]);
    upgraded.assert_code(0).assert_stderr_has("since nothing here says Terraform");
}
