//! Shell completion, as fish requests it: the words before the cursor, and the word under it.

use provlock_test::TestEnvironment;

use super::lock::requires;
use super::verify::entry;

/// The completions of the last word, without their descriptions.
fn completions(environment: &TestEnvironment, words: &[&str]) -> Vec<String> {
    let output = environment
        .command(["--", "provlock"].iter().chain(words))
        .env("PROVLOCK_COMPLETE", "fish")
        .run();
    output.assert_code(0);
    let value = |line: &str| line.split('\t').next().unwrap_or_default().to_owned();
    output.stdout.lines().map(value).collect()
}

#[test]
fn commands_are_in_the_order_of_their_use() {
    let commands = completions(&TestEnvironment::new(), &[""]);
    assert_eq!(
        commands[..6],
        ["init", "lock", "get", "verify", "upgrade", "pin"]
    );
}

#[test]
fn platforms_are_completed_after_a_comma_too() {
    let environment = TestEnvironment::new();
    assert_eq!(
        completions(&environment, &["lock", "-p", "darwin_"]),
        ["darwin_arm64", "darwin_amd64"]
    );
    let second = ["lock", "-p", "linux_amd64,darwin_ar"];
    assert_eq!(
        completions(&environment, &second),
        ["linux_amd64,darwin_arm64"]
    );
    assert_eq!(
        completions(&environment, &["lock", "--platform=al"]),
        ["--platform=all"]
    );
}

#[test]
fn dialects_and_codes_are_completed() {
    let environment = TestEnvironment::new();
    assert_eq!(
        completions(&environment, &["lock", "--dialect", ""]),
        ["tofu", "terraform"]
    );
    assert_eq!(
        completions(&environment, &["verify", "--deny", "unsorted"]),
        ["unsorted-hashes"]
    );
    assert_eq!(
        completions(&environment, &["explain", "too-"]),
        ["too-young"]
    );
    assert_eq!(
        completions(&environment, &["verify", "--format", "s"]),
        ["sarif"]
    );
}

#[test]
fn providers_of_configuration_and_lock_file_are_completed() {
    let environment = TestEnvironment::new();
    environment.write("live/main.tf", requires("hashicorp/aws", "~> 5.0"));
    environment.write(
        "live/.terraform.lock.hcl",
        entry("hashicorp/null", "3.2.4", "", &[]),
    );
    assert_eq!(
        completions(&environment, &["-C", "live", "upgrade", "hash"]),
        ["hashicorp/aws", "hashicorp/null"]
    );
    assert_eq!(
        completions(&environment, &["-C", "live", "tree", "hashicorp/n"]),
        ["hashicorp/null"]
    );
    assert!(completions(&environment, &["upgrade", "hash"]).is_empty());
}

#[test]
fn hidden_flags_are_not_proposed() {
    let flags = completions(&TestEnvironment::new(), &["upgrade", "--"]);
    assert!(flags.iter().any(|flag| flag == "--min-age"), "{flags:?}");
    assert!(
        !flags.iter().any(|flag| flag.ends_with("-api")),
        "{flags:?}"
    );
}

#[test]
fn scripts_ask_the_program() {
    let environment = TestEnvironment::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = environment.provlock(["completions", shell]);
        script.assert_code(0).assert_stdout_has("PROVLOCK_COMPLETE");
    }
}
