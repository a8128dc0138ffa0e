//! `provlock merge --resolve` locks as `provlock lock` does.

use super::lock::{BOTH, lock_file, requires};
use super::upgrade::age::document;
use provlock_test::files::{module_entry, module_lock_file};
use provlock_test::publish::Published;
use provlock_test::registry::Registry;
use provlock_test::{Output, TestEnvironment, str, url};

const PATH: &str = ".terraform.lock.hcl";

/// acme/gamma in three versions, the last two days old, for two platforms.
fn project() -> (Registry, TestEnvironment, [Published; 3]) {
    let (registry, environment) = Registry::with_project();
    let gamma = ["1.0.0", "1.1.0", "1.2.0"].map(|version| {
        registry
            .publish("acme/gamma", version)
            .platforms(BOTH)
            .done()
    });
    registry.add_host("api.opentofu.org");
    document(
        &registry,
        "acme/gamma",
        &[("1.2.0", 2), ("1.1.0", 50), ("1.0.0", 100)],
    );
    environment.write("main.tf", requires("acme/gamma", ""));
    (registry, environment, gamma)
}

/// Merges two branches that have moved the provider to different versions.
fn merge(environment: &TestEnvironment, gamma: &[Published; 3], platforms: &[&str]) -> Output {
    let side = |published: &Published| published.lock_file("", platforms);
    environment.write("base", lock_file(&[]));
    environment.write("ours", side(&gamma[0]));
    environment.write("theirs", side(&gamma[1]));
    environment.provlock([
        "merge",
        "base",
        "ours",
        "theirs",
        "--path",
        PATH,
        "--resolve",
    ])
}

#[test]
fn the_platforms_that_both_sides_cover_stay() {
    let (_registry, environment, gamma) = project();

    merge(&environment, &gamma, &BOTH).assert_code(0);

    assert_eq!(environment.read("ours"), gamma[1].lock_file("", &BOTH));
}

#[test]
fn the_newer_of_the_two_versions_stays_and_the_choice_is_shown() {
    let (_registry, environment, gamma) = project();
    merge(&environment, &gamma, &["linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
  acme/gamma   1.1.0 (ours 1.0.0, theirs 1.1.0)
Merged .terraform.lock.hcl
"#]]);
    assert_eq!(
        environment.read("ours"),
        gamma[1].lock_file("", &["linux_amd64"])
    );
    environment.write("main.tf", requires("acme/gamma", "< 1.1.0"));
    merge(&environment, &gamma, &["linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
  acme/gamma   1.0.0 (ours 1.0.0, theirs 1.1.0)
Merged .terraform.lock.hcl
"#]]);
    environment.write("main.tf", requires("acme/gamma", "> 1.1.0"));
    merge(&environment, &gamma, &["linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
  acme/gamma   1.2.0 (ours 1.0.0, theirs 1.1.0)
Merged .terraform.lock.hcl
"#]]);
}

/// The hashes of the side whose version stays protect it, as the hashes of a lock file do.
#[test]
fn a_replaced_release_of_the_newer_side_is_refused() {
    let (_registry, environment, gamma) = project();
    let side = |published: &Published, hashes: &[String]| lock_file(&[published.entry("", hashes)]);
    environment.write("base", lock_file(&[]));
    environment.write("ours", side(&gamma[0], &gamma[0].hashes(&["linux_amd64"])));
    let zh = format!("zh:{}", "0".repeat(64));
    environment.write("theirs", side(&gamma[1], &[zh]));
    let output = environment.provlock([
        "merge",
        "base",
        "ours",
        "theirs",
        "--path",
        PATH,
        "--resolve",
    ]);
    output.assert_stderr_has("error[hashes-changed]");
    assert!(
        environment.read("ours").contains("<<<<<<< ours"),
        "{output}"
    );
}

#[test]
fn a_version_must_be_old_enough() {
    let (registry, environment, gamma) = project();
    environment.write("provlock.toml", "[policy]\nmin-age = \"7d\"\n");
    registry
        .publish("acme/gamma", "1.1.5")
        .platforms(BOTH)
        .done();
    document(
        &registry,
        "acme/gamma",
        &[("1.2.0", 2), ("1.1.5", 20), ("1.1.0", 50), ("1.0.0", 100)],
    );
    environment.write("main.tf", requires("acme/gamma", "> 1.1.0"));

    merge(&environment, &gamma, &["linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
warning[too-young]: acme/gamma 1.2.0 is not chosen: published [TIME], and it must be 7 days old
  acme/gamma   1.1.5 (ours 1.0.0, theirs 1.1.0)
Merged .terraform.lock.hcl
"#]]);
    assert!(environment.read("ours").contains("\"1.1.5\""));
}

#[test]
fn providers_that_may_be_required_stay_in_conflict() {
    let (_registry, environment, gamma) = project();
    // A module that is not installed may require anything.
    environment.write(
        "main.tf",
        "module \"m\" {\n  source = \"git::https://modules.test/m.git\"\n}\n",
    );
    environment.write("provlock.toml", "fetch-modules = false\n");

    let output = merge(&environment, &gamma, &["linux_amd64"]);

    assert_ne!(output.code, Some(0), "{output}");
    let left = environment.read("ours");
    assert!(
        left.contains("<<<<<<< ours") && left.contains("\"1.0.0\"") && left.contains("\"1.1.0\""),
        "{left}"
    );
}

#[test]
fn beside_an_unknown_unit_a_conflict_is_left_to_people() {
    let (_registry, environment, gamma) = project();
    let run = format!("{}{{run_cmd(\"vault\", \"read\")}}", "$");
    let text = format!(
        "generate \"x\" {{\n  path = \"x.tf\"\n  if_exists = \"overwrite\"\n  contents = \"{run}\"\n}}\n"
    );
    environment.write("main.tf", "");
    environment.write("terragrunt.hcl", text);

    let output = merge(&environment, &gamma, &["linux_amd64"]);

    output
        .assert_code(1)
        .assert_stderr_has("conflict: ours has acme/gamma 1.0.0, theirs 1.1.0");
    assert!(environment.read("ours").contains("<<<<<<< ours"));
}

/// A lock file in which git left the conflict of two versions, with hashes for the platforms.
fn in_conflict(gamma: &[Published; 3], platforms: &[&str]) -> String {
    let [ours, theirs] = [&gamma[0], &gamma[1]].map(|published| published.entry_for("", platforms));
    let conflict = format!("<<<<<<< ours\n{ours}=======\n{theirs}>>>>>>> theirs\n");
    lock_file(&[conflict])
}

#[test]
fn root_modules_share_the_answers_of_the_registry() {
    let (registry, environment, gamma) = project();
    let roots = ["a", "b", "c"];
    for root in roots {
        environment.write(
            format!("{root}/main.tf"),
            requires("acme/gamma", "") + "terraform {\n  backend \"local\" {}\n}\n",
        );
        environment.write(
            format!("{root}/.terraform.lock.hcl"),
            in_conflict(&gamma, &["linux_amd64"]),
        );
    }

    environment
        .provlock(["merge", "-r", "--resolve"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
  acme/gamma   1.1.0 (ours 1.0.0, theirs 1.1.0)
Merged a/.terraform.lock.hcl
  acme/gamma   1.1.0 (ours 1.0.0, theirs 1.1.0)
Merged b/.terraform.lock.hcl
  acme/gamma   1.1.0 (ours 1.0.0, theirs 1.1.0)
Merged c/.terraform.lock.hcl
Merged 3 of 3 lock files with conflicts
"#]]);

    for root in roots {
        let file = format!("{root}/.terraform.lock.hcl");
        assert_eq!(
            environment.read(file),
            gamma[1].lock_file("", &["linux_amd64"])
        );
    }
    assert_eq!(registry.requests_to(url::VERSIONS), 1);
    assert_eq!(registry.requests_to(url::PACKAGE), 1);
}

/// Hashes of a side are kept, but only in its own lock file.
#[test]
fn hashes_of_a_side_stay_in_its_lock_file() {
    let (_registry, environment, gamma) = project();
    let sides = [("a", &["linux_amd64"][..]), ("b", &BOTH)];
    for (root, platforms) in sides {
        environment.write(
            format!("{root}/main.tf"),
            requires("acme/gamma", "") + "terraform {\n  backend \"local\" {}\n}\n",
        );
        environment.write(
            format!("{root}/.terraform.lock.hcl"),
            in_conflict(&gamma, platforms),
        );
    }

    environment
        .provlock(["merge", "-r", "--resolve", "-p", "linux_amd64"])
        .assert_code(0);

    for (root, platforms) in sides {
        assert_eq!(
            environment.read(format!("{root}/.terraform.lock.hcl")),
            gamma[1].lock_file("", platforms)
        );
    }
}

/// The requirements depend on the locked modules, whose lock file may be in conflict, too.
#[test]
fn modules_are_merged_before_providers_are_locked_again() {
    for arguments in [&["merge", "--resolve"][..], &["merge", "-r", "--resolve"]] {
        let (_registry, environment, gamma) = project();
        environment.write(PATH, in_conflict(&gamma, &["linux_amd64"]));
        let [a, b] = ["a", "b"].map(|name| module_entry(name, "v1.0.0", name));
        environment.write(
            ".modules.lock.hcl",
            module_lock_file(&[format!("<<<<<<< ours\n{a}=======\n{b}>>>>>>> theirs\n")]),
        );

        environment.provlock(arguments).assert_code(0);

        assert_eq!(
            environment.read(PATH),
            gamma[1].lock_file("", &["linux_amd64"])
        );
        assert_eq!(
            environment.read(".modules.lock.hcl"),
            module_lock_file(&[a, b])
        );
    }
}
