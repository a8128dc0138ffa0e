//! Hints of `lock` for users who request less, or something else, than they may want.

use super::lock::requires;
use provlock_test::{Registry, TestEnvironment, str};

#[test]
fn lock_without_platforms_hints_at_others() {
    let (registry, environment) = Registry::with_project();
    let current = provlock::provider::Platform::current().to_string();
    registry.publish("acme/gamma", "1.5.0").platforms([current.as_str(), "plan9_386"]).done();
    let hint = "Other platforms: in provlock.toml, platforms = [\"linux_amd64\", \"darwin_arm64\"]\n";
    let says = |arguments: &[&str]| {
        let output = environment.provlock(arguments);
        output.assert_code(0).stderr.matches(hint).count()
    };
    for root in ["a", "b"] {
        let configuration =
            format!("provider \"gamma\" {{}}\nresource \"gamma_thing\" \"a\" {{}}\n{}", requires("acme/gamma", ""));
        environment.write(format!("{root}/main.tf"), configuration);
    }
    assert_eq!(says(&["-C", "a", "lock", "--dry-run"]), 0, "nothing was written");
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
error[invalid-argument]: lock keeps locked versions, but acme/gamma@1.0.0 names one
help: to move it to that version: provlock upgrade acme/gamma@1.0.0
"#]]);
    environment.provlock(["lock", "--jobs", "0"]).matches(str![[r#"
exit code: 2
----- stderr -----
error: invalid value '0' for '--jobs <N>': must be at least 1

For more information, try '--help'.
"#]]);
    environment.provlock(["lock", "--jobs", "x"]).matches(str![[r#"
exit code: 2
----- stderr -----
error: invalid value 'x' for '--jobs <N>': must be a number

For more information, try '--help'.
"#]]);
}
