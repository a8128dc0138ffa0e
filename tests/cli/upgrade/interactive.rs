//! Interactive choice of upgrades, on a terminal.

use super::modules::publish_module;
use super::*;
use crate::terminal::pseudo_terminal::run_typing;

const COMMAND: &str = "exec \"$PROVLOCK\" upgrade --interactive -p linux_amd64";

/// Screen after the typed answer, without escape sequences; and the exit code.
fn answer(environment: &TestEnvironment, arguments: &str, typed: &str) -> (String, Option<i32>) {
    run_typing(environment, 80, &format!("{COMMAND} {arguments}"), typed)
}

#[test]
fn only_what_is_chosen_moves() {
    let (registry, environment, gamma, null) = two_providers();
    let old = environment.lock_file();
    for (typed, versions) in [
        ("1\n", [1, 0]),
        ("2\n", [0, 1]),
        ("1-2\n", [1, 1]),
        ("all\n", [1, 1]),
    ] {
        environment.write_lock_file(&old);
        let (shown, code) = answer(&environment, "", typed);
        assert_eq!(code, Some(0), "{shown}");
        let expected = [
            locked(&gamma[versions[0]], "~> 1.0"),
            locked(&null[versions[1]], "~> 3.0"),
        ];
        assert_eq!(
            environment.lock_file(),
            lock_file(&expected),
            "{typed}: {shown}"
        );
    }
    environment.write_lock_file(&old);
    registry.reset_statistics();
    let (shown, _) = answer(&environment, "", "3\nx\n1\n");
    for text in [
        "1   acme/gamma       1.0.0    1.1.0     minor    2.0.0",
        "2   hashicorp/null   3.1.0    3.2.4     minor    3.2.4",
        "https://github.com/acme/terraform-provider-gamma/compare/v1.0.0...v1.1.0",
        "\"3\" is not a choice between 1 and 2.",
        "\"x\" is not a choice",
        "~\u{1b}[0m acme/gamma   1.0.0 → 1.1.0",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&gamma[1], "~> 1.0"), locked(&null[0], "~> 3.0")])
    );
    assert_eq!(
        registry.requests_to(url::VERSIONS),
        2,
        "each list is asked for once"
    );
}

#[test]
fn nothing_is_written_where_nothing_is_chosen() {
    let (_registry, environment, ..) = two_providers();
    let before = environment.snapshot();
    // Also an end of input on the terminal.
    for typed in ["\n", "\u{4}", "x\n\u{4}", ""] {
        let (shown, code) = answer(&environment, "", typed);
        assert_eq!(code, Some(0), "{shown}");
        assert!(
            shown.contains("Nothing was chosen: no file was changed"),
            "{typed:?}: {shown}"
        );
        before.assert_same(&environment.snapshot());
    }
    let (shown, _) = answer(&environment, "--dry-run", "1\n");
    assert!(
        shown.contains("+++ b/.terraform.lock.hcl") && shown.contains("Would upgrade"),
        "{shown}"
    );
    before.assert_same(&environment.snapshot());
}

#[test]
fn the_choices_have_a_header_and_name_the_root_module() {
    let (_registry, environment, gamma, null) = two_providers();
    let (shown, code) = answer(&environment, "", "1 2\n");
    assert_eq!(code, Some(0), "{shown}");
    for text in [
        "#   provider         locked   allowed   change   newest   root modules",
        "1   acme/gamma       1.0.0    1.1.0     minor    2.0.0    .",
        "Numbers as in 1 2 or 1,3-5, or all; Enter or q for none:",
    ] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&gamma[1], "~> 1.0"), locked(&null[1], "~> 3.0")])
    );

    for file in ["main.tf", ".terraform.lock.hcl"] {
        environment.write(format!("live/{file}"), environment.read(file));
    }
    environment.write(
        "live/.terraform.lock.hcl",
        lock_file(&[locked(&gamma[0], "~> 1.0"), locked(&null[1], "~> 3.0")]),
    );
    let before = environment.snapshot();
    let (shown, code) = answer(&environment, "live", "q\n");
    assert_eq!(code, Some(0), "{shown}");
    for text in ["2.0.0    live", "Nothing was chosen: no file was changed"] {
        assert!(shown.contains(text), "{text}: {shown}");
    }
    before.assert_same(&environment.snapshot());
}

#[test]
fn upgrade_i_asks_nothing_if_nothing_can_move() {
    let (_registry, environment, ..) = two_providers();
    environment.provlock(UPGRADE).assert_code(0);
    let (shown, code) = answer(&environment, "", "");
    assert!(
        code == Some(0) && !shown.contains("Which ones to upgrade?"),
        "{shown}"
    );
    assert!(
        shown.contains("No newer version within the constraints: 2 providers"),
        "{shown}"
    );
}

/// The same provider can move in two ways: each is a choice of its own.
#[test]
fn root_modules_that_move_alike_are_one_choice() {
    let (registry, environment, gamma, _) = two_providers();
    let last = publish(&registry, "acme/gamma", "1.2.0");
    let roots = [("a", "< 1.2"), ("b", "< 1.2"), ("c", "~> 1.0")];
    for (root, constraint) in roots {
        environment.write(
            format!("{root}/main.tf"),
            requires("acme/gamma", constraint),
        );
        let entry = lock_file(&[locked(&gamma[0], &constraint.replace("1.2", "1.2.0"))]);
        environment.write(format!("{root}/.terraform.lock.hcl"), entry);
    }
    let (shown, code) = answer(&environment, "-r a b c", "1\n");
    assert_eq!(code, Some(0), "{shown}");
    assert!(
        shown.contains("1   acme/gamma   1.0.0    1.1.0     minor    2.0.0    2"),
        "{shown}"
    );
    assert!(
        shown.contains("2   acme/gamma   1.0.0    1.2.0     minor    2.0.0    c"),
        "{shown}"
    );
    for (root, constraint) in roots {
        let moved = if root == "c" { &gamma[0] } else { &gamma[1] };
        let expected = lock_file(&[locked(moved, &constraint.replace("1.2", "1.2.0"))]);
        assert_eq!(
            environment.read(format!("{root}/.terraform.lock.hcl")),
            expected,
            "{root}: {shown}"
        );
    }
    answer(&environment, "-r a b c", "1\n");
    assert_eq!(
        environment.read("c/.terraform.lock.hcl"),
        lock_file(&[locked(&last, "~> 1.0")])
    );
}

#[test]
fn a_version_that_is_named_can_be_chosen() {
    let (registry, environment, gamma, null) = two_providers();
    publish(&registry, "acme/gamma", "1.2.0");
    let (shown, code) = answer(&environment, "acme/gamma@1.1.0 hashicorp/null", "1\n");
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(
        environment.lock_file(),
        lock_file(&[locked(&gamma[1], "~> 1.0"), locked(&null[0], "~> 3.0")])
    );
}

#[test]
fn modules_can_be_chosen_and_providers_left() {
    let (registry, environment, ..) = two_providers();
    publish_module(&registry, &["1.0.0"]);
    environment.write(
        "net.tf",
        "module \"net\" {\n  source = \"acme/net/aws\"\n}\n",
    );
    environment
        .provlock(["lock", "--modules", "-p", "linux_amd64"])
        .assert_code(0);
    publish_module(&registry, &["1.0.0", "1.1.0"]);
    let (providers, modules) = (environment.lock_file(), || {
        environment.read(".modules.lock.hcl")
    });
    let (shown, code) = answer(&environment, "--modules", "3\n");
    assert_eq!(code, Some(0), "{shown}");
    assert!(
        shown.contains("3   module.net       1.0.0    1.1.0     minor    1.1.0"),
        "{shown}"
    );
    assert_eq!(environment.lock_file(), providers, "{shown}");
    assert!(modules().contains("version = \"1.1.0\""), "{}", modules());
    let locked_modules = modules();
    publish_module(&registry, &["1.0.0", "1.1.0", "1.2.0"]);
    let (shown, _) = answer(&environment, "--modules", "1-2\n");
    assert_ne!(environment.lock_file(), providers, "{shown}");
    assert_eq!(modules(), locked_modules);
}

/// Also with `--constraints`: only the constraints of the chosen providers are rewritten.
#[test]
fn constraints_of_what_is_not_chosen_stay() {
    let (_registry, environment, gamma, null) = two_providers();
    environment.write("main.tf", requires_both("~> 1.0", "~> 3.1.0"));
    let (shown, code) = answer(&environment, "--constraints", "1\n");
    assert_eq!(code, Some(0), "{shown}");
    assert_eq!(
        environment.read("main.tf"),
        requires_both("~> 2.0", "~> 3.1.0")
    );
    let written = environment.lock_file();
    assert!(
        written.contains(gamma[2].h1("linux_amd64")) && written.contains(null[0].h1("linux_amd64")),
        "{written}"
    );
}

#[test]
fn without_a_terminal_there_is_no_question() {
    let (registry, environment, ..) = two_providers();
    let before = environment.snapshot();
    environment
        .command(["upgrade", "-i"])
        .stdin("all\n")
        .run()
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: upgrade -i needs a terminal, and stdin or stderr is not one
help: name what is to move, as in: provlock upgrade hashicorp/aws; --check lists what can
"#]]);
    assert_eq!(registry.requests_to("*"), 0);
    environment
        .provlock(["upgrade", "-i", "--check"])
        .assert_code(2)
        .assert_stderr_has("cannot be used with");
    before.assert_same(&environment.snapshot());
}
