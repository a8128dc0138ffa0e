//! The dialect of a root module if neither a flag, the settings nor its lock file determines it.

use super::lock::requires;
use provlock_test::git::Repository;
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str, with_slashes};

/// A lock file that Terraform wrote.
const TERRAFORM_LOCK: &str = "# This file is maintained automatically by \"terraform init\".\n";
/// A lock file that OpenTofu wrote.
const TOFU_LOCK: &str = "# This file is maintained automatically by \"tofu init\".\n";

/// The rule that decides in a repository without any sign of OpenTofu.
const NOT_MENTIONED: &str = "terraform (no tracked file mentions OpenTofu)";
const MENTIONED: &str = "tofu (a tracked file mentions OpenTofu)";

/// A root module in `live/a`, on a machine without `tofu` and `terraform`.
fn project() -> TestEnvironment {
    let environment = TestEnvironment::new();
    std::fs::remove_file(
        environment
            .bin()
            .join(format!("tofu{}", std::env::consts::EXE_SUFFIX)),
    )
    .unwrap();
    environment.write("live/a/main.tf", "locals {}\n");
    environment
}

/// The same in a repository that tracks nothing yet.
fn repository() -> Repository {
    Repository::around(project())
}

/// The dialect of `live/a`, and the reason for it.
#[track_caller]
fn decided(environment: &TestEnvironment) -> String {
    let output = environment.provlock(["-C", "live/a", "verify", "-v"]);
    let line = output
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix(".: dialect "));
    line.unwrap_or_else(|| panic!("{output}"))
        .split(';')
        .next()
        .unwrap()
        .to_owned()
}

/// The same in a repository that tracks the root module and these files, ignored ones too.
#[track_caller]
fn decided_with(files: &[(&str, &str)]) -> String {
    let repository = repository();
    for (path, text) in files {
        repository.environment.write(path, text);
    }
    repository.git(["add", "--all", "--force"]);
    decided(&repository.environment)
}

fn install(environment: &TestEnvironment, program: &str) {
    environment.write(
        environment
            .bin()
            .join(format!("{program}{}", std::env::consts::EXE_SUFFIX)),
        "",
    );
}

#[test]
fn tofu_files_of_the_root_module_decide() {
    let siblings = ("live/b/.terraform.lock.hcl", TERRAFORM_LOCK);
    assert_eq!(
        decided_with(&[("live/a/b.tofu", ""), siblings]),
        "tofu (the .tofu files)"
    );
    assert_eq!(decided_with(&[("live/b/b.tofu", "")]), MENTIONED);
    assert_eq!(decided_with(&[("live/b/b.tofu.json", "{}")]), MENTIONED);
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
    assert_eq!(
        decided_with(&[
            (&beside, TERRAFORM_LOCK),
            (&far, TOFU_LOCK),
            (&up, TOFU_LOCK)
        ]),
        terraform
    );
    assert_eq!(
        decided_with(&[(&beside, TOFU_LOCK), (&below, TERRAFORM_LOCK)]),
        tofu
    );
    let parent = "live/.terraform.lock.hcl";
    assert_eq!(
        decided_with(&[(&beside, TERRAFORM_LOCK), (parent, TOFU_LOCK)]),
        MENTIONED,
        "they differ"
    );
    let empty = [(beside.as_str(), "\n"), (&far, TERRAFORM_LOCK)];
    assert_eq!(
        decided_with(&empty),
        terraform,
        "one that says nothing is passed over"
    );
    assert_eq!(
        decided_with(&[("../.terraform.lock.hcl", TOFU_LOCK)]),
        NOT_MENTIONED,
        "outside of the repository"
    );
    let ignored = [
        (".gitignore", ".terraform.lock.hcl\n"),
        (&beside, TOFU_LOCK),
    ];
    assert_eq!(decided_with(&ignored), tofu, "it is tracked all the same");
}

#[test]
fn untracked_files_do_not_determine_the_dialect() {
    let repository = repository();
    repository.git(["add", "--all"]);
    repository
        .environment
        .write("live/b/.terraform.lock.hcl", TOFU_LOCK);
    repository.environment.write("notes.md", "tofu\n");
    assert_eq!(decided(&repository.environment), NOT_MENTIONED);
    repository.git(["add", "--all"]);
    assert_eq!(
        decided(&repository.environment),
        "tofu (the nearest other lock files)"
    );
    std::fs::remove_file(
        repository
            .environment
            .project()
            .join("live/b/.terraform.lock.hcl"),
    )
    .unwrap();
    assert_eq!(
        decided(&repository.environment),
        MENTIONED,
        "a tracked file that is gone is passed over"
    );
}

#[test]
fn a_mention_of_opentofu_decides_and_else_it_is_terraform() {
    assert_eq!(decided_with(&[]), NOT_MENTIONED);
    for (path, text) in [
        (
            ".github/workflows/plan.yml",
            "steps:\n  - uses: opentofu/setup-opentofu@v1\n",
        ),
        ("Makefile", "init:\n\ttofu -chdir=live init\n"),
        ("docs/deep/down/in/it.md", "Run `tofu plan`.\n"),
        (".opentofu-version", "1.8.0\n"),
        (
            "mise.toml",
            "[tools]\n\"aqua:opentofu/opentofu\" = \"1.8\"\n",
        ),
        (
            "live/a/language.tf",
            "language {\n  compatible_with {\n    opentofu = \">= 1.12\"\n  }\n}\n",
        ),
    ] {
        assert_eq!(decided_with(&[(path, text)]), MENTIONED, "{path}");
    }
    for (path, text) in [
        ("Makefile", "init:\n\tterraform init\n"),
        (".terraform-version", "1.5.7\n"),
        ("README.md", "Nothing about tofurkey, and no x_tofu.\n"),
        ("live/a/b.tf", "terraform {\n  cloud {\n  }\n}\n"),
    ] {
        assert_eq!(decided_with(&[(path, text)]), NOT_MENTIONED, "{path}");
    }
}

#[test]
fn large_files_and_what_is_no_file_are_passed_over() {
    let large = "x".repeat(1 << 20) + " tofu\n";
    assert_eq!(decided_with(&[("large.txt", &large)]), NOT_MENTIONED);
    let repository = repository();
    let project = repository.environment.project();
    repository.environment.write("gone/file", "");
    repository.git(["add", "--all"]);
    std::fs::remove_dir_all(project.join("gone")).unwrap();
    std::fs::create_dir(project.join("gone")).unwrap();
    #[cfg(unix)]
    {
        repository.environment.write("../elsewhere", "tofu\n");
        std::os::unix::fs::symlink("../elsewhere", project.join("link")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", project.join("endless")).unwrap();
        repository.git(["add", "--all"]);
    }
    assert_eq!(decided(&repository.environment), NOT_MENTIONED);
}

#[test]
fn the_only_program_in_path_decides_where_git_tracks_nothing() {
    for environment in [project(), repository().environment] {
        assert_eq!(decided(&environment), "tofu (default)");
        install(&environment, "terraform");
        environment.write("Makefile", "tofu init\n");
        assert_eq!(decided(&environment), "terraform (the program in PATH)");
        install(&environment, "tofu");
        assert_eq!(decided(&environment), "tofu (default)", "both are there");
    }
    let repository = repository();
    repository.git(["add", "--all"]);
    install(&repository.environment, "tofu");
    assert_eq!(decided(&repository.environment), NOT_MENTIONED);
}

#[test]
fn without_git_the_lock_files_on_disk_decide() {
    let terraform = "terraform (the nearest other lock files)";
    let environment = project();
    environment.write("live/b/.terraform.lock.hcl", TERRAFORM_LOCK);
    // Outside of a repository, the current directory is searched.
    let output = environment.provlock(["verify", "-v", "live/a"]);
    output.assert_stderr_has(&format!("live/a: dialect {terraform}"));

    let mut environment = repository().environment;
    environment.write("live/b/.terraform.lock.hcl", TERRAFORM_LOCK);
    assert_eq!(decided(&environment), "tofu (default)", "it is not tracked");
    environment.set("PATH", environment.bin());
    assert_eq!(decided(&environment), terraform, "no git in PATH");
    environment.write("live/b/.terraform.lock.hcl", TOFU_LOCK);
    assert_eq!(decided(&environment), "tofu (the nearest other lock files)");
    environment.write("stage/.terraform.lock.hcl", TERRAFORM_LOCK);
    assert_eq!(decided(&environment), "tofu (the nearest other lock files)");
    environment.write(".gitignore", "live/b/\n");
    assert_eq!(decided(&environment), terraform, "it is ignored");
    std::fs::remove_dir_all(environment.project().join("stage")).unwrap();
    assert_eq!(
        decided(&environment),
        "tofu (default, because git cannot list the tracked files)"
    );
}

#[test]
fn without_git_a_new_root_module_is_locked_for_the_tool_of_its_neighbours() {
    let (registry, mut environment) = Registry::with_project();
    for host in ["registry.opentofu.org", "registry.terraform.io"] {
        registry
            .publish(&format!("{host}/hashicorp/null"), "3.2.4")
            .platforms(["linux_amd64"])
            .done();
    }
    std::fs::remove_file(environment.bin().join("tofu")).unwrap();
    environment.write("live/a/main.tf", requires("hashicorp/null", ""));
    let lock = ["lock", "-p", "linux_amd64", "live/a"];
    let again = |environment: &TestEnvironment| {
        let _ = std::fs::remove_file(environment.project().join("live/a/.terraform.lock.hcl"));
        environment.provlock(lock)
    };
    environment.git_init(".");
    environment.set("PATH", environment.bin());
    again(&environment).assert_stderr_has(
        "Locked for OpenTofu (registry.opentofu.org), because git cannot list the files that may mention Terraform",
    );
    environment.write("live/b/.terraform.lock.hcl", TERRAFORM_LOCK);
    again(&environment).assert_code(0).assert_stderr_has(
        "Locked for Terraform (registry.terraform.io), like the nearest other lock files",
    );
    let lock_file = environment.read("live/a/.terraform.lock.hcl");
    assert!(
        lock_file.contains("registry.terraform.io/hashicorp/null"),
        "{lock_file}"
    );
}

#[test]
fn commands_name_a_dialect_that_another_machine_might_not_detect() {
    let repository = repository();
    let environment = &repository.environment;
    environment.write("live/a/main.tf", requires("hashicorp/null", ""));
    let help = |arguments: &[&str]| {
        let output = environment.provlock(["verify", "live/a"].iter().chain(arguments));
        output
            .stdout
            .lines()
            .find_map(|line| line.strip_prefix("help: "))
            .map(with_slashes)
            .unwrap()
    };
    assert_eq!(help(&[]), "provlock -C live/a lock -p all");
    repository.git(["add", "--all"]);
    assert_eq!(
        help(&[]),
        "provlock -C live/a lock -p all --dialect terraform"
    );
    assert_eq!(
        help(&["--dialect", "terraform"]),
        "provlock -C live/a lock -p all --dialect terraform"
    );
    environment.write("provlock.toml", "dialect = \"terraform\"\n");
    assert_eq!(help(&[]), "provlock -C live/a lock -p all");
}

#[test]
fn a_new_lock_file_says_how_its_dialect_was_chosen() {
    let (_registry, environment, _) =
        Registry::with_required("hashicorp/null", "3.2.4", ["linux_amd64"], "");
    environment.provlock(["lock", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    let again = environment.provlock(["lock", "-p", "linux_amd64"]);
    again.assert_code(0);
    assert!(!again.stderr.contains("Locked for"), "{again}");
    let renew = |arguments: &[&str]| {
        let _ = std::fs::remove_file(environment.project().join(".terraform.lock.hcl"));
        environment.provlock([&["lock", "-p", "linux_amd64"], arguments].concat())
    };
    for arguments in [&["--dialect", "tofu"][..], &["--dry-run"], &["--quiet"]] {
        let output = renew(arguments);
        assert!(
            output.code == Some(0) && !output.stderr.contains("Locked for"),
            "{output}"
        );
    }
    std::fs::remove_file(
        environment
            .bin()
            .join(format!("tofu{}", std::env::consts::EXE_SUFFIX)),
    )
    .unwrap();
    renew(&[])
        .assert_code(0)
        .assert_stderr_has("because nothing here mentions Terraform; --dialect terraform");
    let _ = std::fs::remove_file(environment.project().join(".terraform.lock.hcl"));
    let upgraded = environment.provlock(["upgrade", "-p", "linux_amd64"]);
    upgraded
        .assert_code(0)
        .assert_stderr_has("because nothing here mentions Terraform");
    environment.write("live/b/.terraform.lock.hcl", TOFU_LOCK);
    environment.write("tofu.md", "");
    let repository = Repository::around(environment);
    let environment = &repository.environment;
    let renew = || {
        let _ = std::fs::remove_file(environment.project().join(".terraform.lock.hcl"));
        environment.provlock(["lock", "-p", "linux_amd64"])
    };
    repository.git(["add", "live"]);
    renew()
        .assert_code(0)
        .assert_stderr_has("like the nearest other lock files; --dialect terraform changes that");
    repository.git(["rm", "--quiet", "--cached", "-r", "live"]);
    repository.git(["add", "tofu.md"]);
    renew()
        .assert_code(0)
        .assert_stderr_has("because a tracked file mentions OpenTofu; --dialect terraform");
    repository.git(["rm", "--quiet", "--cached", "tofu.md"]);
    repository.git(["add", "main.tf"]);
    renew().assert_code(2);
    let dialect = environment.provlock(["verify", "-v"]);
    dialect.assert_stderr_has("terraform (no tracked file mentions OpenTofu)");
}

#[test]
fn a_flag_as_help_is_no_command() {
    let environment = project();
    environment.write("live/b/main.tofu", "locals {}\n");
    let output = environment.provlock([
        "-C",
        "live/b",
        "lock",
        "--dry-run",
        "--dialect",
        "terraform",
    ]);
    output.assert_lacks("--dialect tofu --dialect");
    output
        .assert_stderr_has("Terraform reads none of them")
        .assert_stderr_has("help: to use them: --dialect tofu\n");
}
