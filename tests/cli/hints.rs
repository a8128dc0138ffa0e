//! Hints of `lock` for users who request less, or something else, than they may want.

use super::lock::requires;
use provlock::provider::Platform;
use provlock_test::{Registry, TestEnvironment, str};

#[test]
fn lock_without_platforms_hints_at_others() {
    let (registry, environment) = Registry::with_project();
    let current = provlock::provider::Platform::current().to_string();
    registry
        .publish("acme/gamma", "1.5.0")
        .platforms([current.as_str(), "plan9_386"])
        .done();
    let hint =
        "Other platforms: in provlock.toml, platforms = [\"linux_amd64\", \"darwin_arm64\"]\n";
    let says = |arguments: &[&str]| {
        let output = environment.provlock(arguments);
        output.assert_code(0).stderr.matches(hint).count()
    };
    for root in ["a", "b"] {
        let configuration = format!(
            "provider \"gamma\" {{}}\nresource \"gamma_thing\" \"a\" {{}}\n{}",
            requires("acme/gamma", "")
        );
        environment.write(format!("{root}/main.tf"), configuration);
    }
    assert_eq!(
        says(&["-C", "a", "lock", "--dry-run"]),
        0,
        "nothing was written"
    );
    assert_eq!(says(&["lock", "-r"]), 1, "once for all root modules");
    assert_eq!(says(&["lock", "-r"]), 0, "nothing was written");
    let again = |arguments: &[&str]| {
        std::fs::remove_file(environment.project().join("a/.terraform.lock.hcl")).unwrap();
        says(arguments)
    };
    assert_eq!(again(&["-C", "a", "lock", "--quiet"]), 0);
    assert_eq!(again(&["-C", "a", "lock", "-p", &current]), 0);
    assert_eq!(again(&["-C", "a", "lock"]), 1);
    environment.write("provlock.toml", format!("platforms = [\"{current}\"]\n"));
    assert_eq!(again(&["-C", "a", "lock"]), 0);
}

#[test]
fn arguments_for_other_commands_get_a_hint() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires("acme/gamma", ""));
    let versioned = environment.provlock(["lock", "acme/gamma@1.0.0"]);
    versioned.matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: lock keeps locked versions, so acme/gamma@1.0.0 must not contain a version
help: to upgrade it to that version: provlock upgrade acme/gamma@1.0.0
"#]]);
    environment
        .provlock(["lock", "--jobs", "0"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error: invalid value '0' for '--jobs <N>': must be at least 1

help: for more information, try '--help'.
"#]]);
    environment
        .provlock(["lock", "--jobs", "x"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error: invalid value 'x' for '--jobs <N>': must be a number

help: for more information, try '--help'.
"#]]);
}

#[test]
fn suggested_commands_are_right_wherever_the_program_was_started() {
    let registry = Registry::start();
    let current = Platform::current().to_string();
    let other = if current == "darwin_arm64" {
        "linux_amd64"
    } else {
        "darwin_arm64"
    };
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms([other, current.as_str()])
        .done();
    let environment = TestEnvironment::with_registry(&registry);
    environment.write("live/my app/main.tf", requires("hashicorp/null", ""));
    environment
        .provlock(["-C", "live/my app", "lock", "-p", other])
        .assert_code(0);
    for (arguments, command) in [
        (
            &["lock", "live/my app"][..],
            format!("provlock lock 'live/my app' -p {current}"),
        ),
        (
            &["lock", "-r", "live"],
            format!("provlock lock -r live -p {current}"),
        ),
        (
            &["-C", "live", "lock", "my app"],
            format!("provlock -C live lock 'my app' -p {current}"),
        ),
        (
            &["-C", "live/my app", "lock"],
            format!("provlock -C 'live/my app' lock -p {current}"),
        ),
        (
            &["lock", "live/my app", "--dialect", "tofu"],
            format!("provlock lock 'live/my app' -p {current} --dialect tofu"),
        ),
    ] {
        let output = environment.provlock(arguments);
        output
            .assert_code(0)
            .assert_stderr_has(&format!("to add it: {command}\n"));
    }
    environment
        .provlock(["-C", "live", "tree", "my app", "acme/none"])
        .assert_stderr_has("provlock -C 'live/my app' tree\n");
    environment.write("none here/main.tf", requires("hashicorp/null", ""));
    let none = environment.provlock(["-C", "none here", "verify", "-r"]);
    none.assert_stderr_has("provlock -C 'none here' lock\n");
    let suggested = format!("\"$PROVLOCK\" -C 'live/my app' lock -p {current}");
    environment
        .program("sh", ["-c", &suggested])
        .env("PROVLOCK", provlock_test::program())
        .run()
        .assert_code(0);
    environment
        .provlock(["lock", "live/my app"])
        .assert_code(0)
        .assert_lacks("does not cover");
}

#[test]
fn commands_in_help_repeat_the_flags_that_they_depend_on() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("acme/gamma", "1.0.0")
        .platforms(["linux_amd64"])
        .done();
    environment.write("main.tf", requires("acme/gamma", ""));
    environment.write("cfg/x.toml", "platforms = [\"linux_amd64\"]\n");
    let help = |arguments: &[&str]| {
        let output = environment.provlock(arguments);
        let text = format!("{}{}", output.stdout, output.stderr);
        text.lines()
            .filter_map(|line| line.find("provlock ").map(|at| line[at..].to_owned()))
            .next_back()
            .unwrap()
    };
    let flags = ["--dialect", "terraform", "--config", "cfg/x.toml"];
    assert_eq!(
        help(&[&["verify"], &flags[..]].concat()),
        "provlock lock -p linux_amd64 --config cfg/x.toml --dialect terraform"
    );
    assert_eq!(
        help(&["verify", "--config", "cfg/x.toml"]),
        "provlock lock -p linux_amd64 --config cfg/x.toml"
    );
    assert_eq!(
        help(&["-C", "cfg", "verify", "--dialect", "tofu", "../"]),
        "provlock -C cfg/.. lock -p all --dialect tofu"
    );
    // In another directory the path is a different one.
    let absolute = environment
        .project()
        .join("cfg/x.toml")
        .display()
        .to_string();
    environment.write("a/main.tf", "terraform {\n  backend \"s3\" {}\n}\n");
    environment.write("a/null.tf", requires("acme/gamma", ""));
    let command = format!("provlock -C a lock -p linux_amd64 --config {absolute}");
    assert_eq!(help(&["verify", "a", "--config", "cfg/x.toml"]), command);

    environment
        .provlock(["lock", "--config", "cfg/x.toml"])
        .assert_code(0);
    registry
        .publish("acme/gamma", "1.1.0")
        .platforms(["linux_amd64"])
        .done();
    let age = ["upgrade", "-p", "linux_amd64", "--min-age", "7d"];
    assert_eq!(
        help(&age),
        "provlock upgrade --check --min-age 7d -p linux_amd64"
    );
}
