//! Credentials helpers: real programs on disk.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::private::private;
use provlock_test::{TestEnvironment, str};

const HOST: &str = "registry.example.com";
const TOKEN: &str = "s3cr3t-t0ken";
const LOCK: [&str; 5] = ["lock", "-p", "linux_amd64", "--no-cache", "-v"];
/// Keeps one credentials object per host, as a helper should.
const KEEPER: &str = "case $verb in
  get) cat \"$dir/$host\" 2>/dev/null || echo '{}' ;;
  store) cat >\"$dir/$host\" ;;
  forget) rm -f \"$dir/$host\" ;;
esac";

/// Installs a helper with the argument `--vault`; its script gets `$verb` and `$host`, and keeps
/// its files in `$dir`. Returns that directory, in which `calls` lists the calls.
fn install(environment: &TestEnvironment, script: &str) -> PathBuf {
    let directory = environment.root().join("kept");
    std::fs::create_dir_all(&directory).unwrap();
    environment.write(
        environment.home().join(".tofurc"),
        "credentials_helper \"test\" {\n  args = [\"--vault\"]\n}\n",
    );
    let program = environment
        .home()
        .join(".terraform.d/plugins/terraform-credentials-test");
    let script = format!(
        "#!/bin/sh\ndir='{}' verb=$2 host=$3\necho \"$@\" >>\"$dir/calls\"\n{script}\n",
        directory.display()
    );
    write_program(&program, &script);
    directory
}

pub(crate) fn write_program(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    // Written by another process: a program that this one has open for writing cannot be run by its
    // other threads.
    let write = "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"";
    let status = Command::new("/bin/sh")
        .args(["-c", write, "sh"])
        .arg(path)
        .arg(script)
        .status()
        .unwrap();
    assert!(status.success());
}

fn calls(directory: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(directory.join("calls")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_helper_gives_stores_and_forgets() {
    let (_registry, environment) = private();
    let directory = install(&environment, KEEPER);
    std::fs::write(
        directory.join(HOST),
        "{\"token\": \"0ld\", \"vault\": {\"path\": \"a\"}}",
    )
    .unwrap();

    let login = environment.command(["login", HOST]).stdin(TOKEN).run();
    login.matches(str![[r#"
exit code: 0
----- stderr -----
Stored the token for registry.example.com in the credentials helper [ROOT]/home/.terraform.d/plugins/terraform-credentials-test, for tofu
"#]]).assert_lacks(TOKEN);
    let kept: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(directory.join(HOST)).unwrap()).unwrap();
    assert_eq!(kept, serde_json::json!({ "token": TOKEN }));
    environment
        .provlock(LOCK)
        .assert_code(0)
        .assert_lacks(TOKEN);
    let check = environment.provlock(["login", "--check", HOST]);
    check.matches(str![[r#"
exit code: 0
----- stdout -----
The token for registry.example.com comes from the credentials helper [ROOT]/home/.terraform.d/plugins/terraform-credentials-test
"#]]).assert_lacks(TOKEN);

    for said in [
        "Removed the token for registry.example.com from",
        "There was no token for registry.example.com in",
    ] {
        let logout = environment.provlock(["logout", HOST]);
        logout
            .assert_code(0)
            .assert_stderr_has(said)
            .assert_stderr_has("the credentials helper")
            .assert_lacks(TOKEN);
    }
    environment.provlock(LOCK).matches(str![[r#"
exit code: 2
----- stderr -----
packages from the registries of the providers
HTTPS_PROXY is http://127.0.0.1:[PORT]/
.: dialect tofu (the lock file); linux_amd64 (the flag or PROVLOCK_PLATFORMS)
reading the CLI configuration [ROOT]/home/.tofurc
error[unauthorized]: cannot get registry.example.com/acme/gamma: https://registry.example.com/v1/providers/acme/gamma/versions was refused (401); no credentials were sent
 --> main.tf:4:16
  |
4 |       source = "registry.example.com/acme/gamma"
  |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ required here
  |
help: add credentials: provlock login registry.example.com, or set TF_TOKEN_registry_example_com
"#]]);
    let asked = calls(&directory);
    for verb in ["get", "store", "forget"] {
        assert!(
            asked.contains(&format!("--vault {verb} {HOST}")),
            "{asked:?}"
        );
    }
    assert!(
        !environment
            .home()
            .join(".terraform.d/credentials.tfrc.json")
            .exists()
    );
}

#[test]
fn a_helper_runs_once_per_run() {
    let (_registry, environment) = private();
    let directory = install(&environment, &format!("echo '{{\"token\": \"{TOKEN}\"}}'"));
    environment.provlock(LOCK).assert_code(0);
    assert_eq!(calls(&directory), [format!("--vault get {HOST}")]);
}

#[test]
fn a_token_of_a_helper_that_is_null_or_not_a_string_is_no_token() {
    for token in ["null", "5", "[\"s3cr3t-t0ken\"]"] {
        let (_registry, environment) = private();
        install(&environment, &format!("echo '{{\"token\": {token}}}'"));
        let check = environment.provlock(["login", "--check", HOST]);
        check.assert_code(1).assert_lacks(TOKEN);
        assert!(
            check
                .stdout
                .contains("There is no token for registry.example.com"),
            "{check}"
        );
        let lock = environment.provlock(LOCK);
        lock.assert_code(2)
            .assert_stderr_has("no credentials were sent")
            .assert_lacks(TOKEN);
    }
}

#[test]
fn an_empty_credentials_block_is_no_token_and_keeps_the_helper_from_being_asked() {
    let (_registry, environment) = private();
    let directory = install(&environment, &format!("echo '{{\"token\": \"{TOKEN}\"}}'"));
    environment.write(
        environment.home().join(".terraform.d/x.tfrc"),
        format!("credentials \"{HOST}\" {{}}\n"),
    );
    environment
        .provlock(LOCK)
        .assert_code(2)
        .assert_stderr_has("no credentials were sent");
    environment
        .provlock(["login", "--check", HOST])
        .assert_code(1);
    assert_eq!(calls(&directory), <[String; 0]>::default());
}

#[test]
fn a_helper_that_fails_is_named_with_its_own_words() {
    for (script, expected) in [
        (
            "echo 'the vault is sealed' >&2; exit 3",
            "says: the vault is sealed",
        ),
        (
            "echo '{\"token\": \"s3cr3t-t0ken\"}'; echo 'no room for s3cr3t-t0ken' >&2; exit 3",
            "says: no room for [redacted]",
        ),
        (
            "echo '{\"token\": \"s3cr3t-t0ken\"}'; echo 'the vault is sealed' >&2; exit 3",
            "says: the vault is sealed",
        ),
        (
            "printf '{\"token\": \"s3cr3t-t0ken'; echo 'token=s3cr3t-t0ken: cut off' >&2; exit 3",
            "[redacted]: cut off",
        ),
        (
            "echo s3cr3t-t0ken; echo 'Bearer s3cr3t-t0ken is refused' >&2; exit 3",
            "says: Bearer [redacted] is refused",
        ),
        (
            "echo '[{\"a\": [\"s3cr3t-t0ken\"]}]'; printf 'not stored\\n s3cr3t-t0ken' >&2; exit 3",
            "says: not stored; [redacted]",
        ),
        ("exit 3", "gave no error message (exit status: 3)"),
        ("kill -9 $$", "gave no error message (signal: 9"),
        (
            "echo s3cr3t-t0ken",
            "printed something that is not a JSON object",
        ),
        ("true", "printed something that is not a JSON object"),
        (
            "echo '[\"s3cr3t-t0ken\"]'",
            "printed JSON that is not an object",
        ),
        ("yes s3cr3t-t0ken", "printed too much"),
        ("echo s3cr3t-t0ken; sleep 60", "took more than 1 seconds"),
        (
            "printf '{\"token\": \"s3cr3t-t0ken\\\\nx\"}'",
            "contains characters that cannot be sent",
        ),
    ] {
        let (_registry, mut environment) = private();
        install(&environment, script);
        environment.set(
            "PROVLOCK_HELPER_TIMEOUT",
            if script.contains("sleep") { "1" } else { "20" },
        );
        for arguments in [&LOCK[..], &["lock", "--json"], &["login", "--check", HOST]] {
            let output = environment.provlock(arguments);
            output
                .assert_code(2)
                .assert_stderr_has(expected)
                .assert_lacks(TOKEN);
            output.assert_stderr_has("terraform-credentials-test");
        }
        assert!(!environment.has_lock_file());
    }
}

#[test]
fn a_helper_that_cannot_store_or_forget_is_an_error() {
    let (_registry, environment) = private();
    install(
        &environment,
        "case $verb in get) echo '{}' ;; *) echo \"no room: $(cat)\" >&2; exit 1 ;; esac",
    );
    let login = environment.command(["login", HOST]).stdin(TOKEN).run();
    login.matches(str![[r#"
exit code: 2
----- stderr -----
error[credentials-helper]: cannot store the credentials for registry.example.com: the credentials helper [ROOT]/home/.terraform.d/plugins/terraform-credentials-test says: [redacted]
help: to bypass the helper, set TF_TOKEN_registry_example_com
"#]]).assert_lacks(TOKEN);
    let logout = environment.provlock(["logout", HOST]);
    logout.matches(str![[r#"
exit code: 2
----- stderr -----
error[credentials-helper]: cannot forget the credentials for registry.example.com: the credentials helper [ROOT]/home/.terraform.d/plugins/terraform-credentials-test says: no room:
help: to bypass the helper, set TF_TOKEN_registry_example_com
"#]]);
}

#[test]
fn a_helper_that_is_not_installed_is_a_warning_until_it_is_needed() {
    let (_registry, mut environment) = private();
    install(&environment, "true");
    std::fs::remove_file(
        environment
            .home()
            .join(".terraform.d/plugins/terraform-credentials-test"),
    )
    .unwrap();
    let login = environment.command(["login", HOST]).stdin(TOKEN).run();
    login.matches(str![[r#"
exit code: 2
----- stderr -----
warning[credentials-helper]: the credentials helper terraform-credentials-test is not installed
--> [ROOT]/home/.tofurc:1:20
 = searched [ROOT]/home/.terraform.d/plugins, [ROOT]/home/.terraform.d/plugins/linux_amd64, [ROOT]/home/.local/share/opentofu/plugins, [ROOT]/home/.local/share/opentofu/plugins/linux_amd64
error[credentials-helper]: the credentials helper terraform-credentials-test is not installed
--> [ROOT]/home/.tofurc:1:20
"#]]).assert_lacks(TOKEN);
    environment.set("TF_TOKEN_registry_example_com", TOKEN);
    let lock = environment.provlock(LOCK);
    lock.matches(str![[r#"
exit code: 0
----- stderr -----
packages from the registries of the providers
HTTPS_PROXY is http://127.0.0.1:[PORT]/
.: dialect tofu (the program in PATH); linux_amd64 (the flag or PROVLOCK_PLATFORMS)
warning[credentials-helper]: the credentials helper terraform-credentials-test is not installed
--> [ROOT]/home/.tofurc:1:20
 = searched [ROOT]/home/.terraform.d/plugins, [ROOT]/home/.terraform.d/plugins/linux_amd64, [ROOT]/home/.local/share/opentofu/plugins, [ROOT]/home/.local/share/opentofu/plugins/linux_amd64
reading the CLI configuration [ROOT]/home/.tofurc
  + registry.example.com/acme/gamma   1.5.0   signed by 5BF65C5D80ADF90F6B9377AC558D46FBE8647CB4   1 h1, 2 zh
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
}

#[test]
fn the_environment_and_blocks_come_before_the_helper() {
    let (_registry, mut environment) = private();
    let directory = install(&environment, "exit 1");
    environment.set("TF_TOKEN_registry_example_com", TOKEN);
    environment.provlock(LOCK).assert_code(0);
    assert!(environment.has_lock_file() && calls(&directory).is_empty());
}

#[test]
fn the_helper_of_the_documentation_works() {
    let page = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/docs/private-registries.md"
    ))
    .unwrap();
    let (_, after) = page
        .split_once("<!-- The tests run this script. -->\n```sh\n")
        .unwrap();
    let (script, _) = after.split_once("```").unwrap();
    assert_eq!(script.lines().count(), 10);
    let (_registry, environment) = private();
    environment.write(
        environment.home().join(".tofurc"),
        "credentials_helper \"pass\" {\n  args = []\n}\n",
    );
    write_program(
        &environment
            .home()
            .join(".terraform.d/plugins/terraform-credentials-pass"),
        script,
    );
    // The program pass, without encryption: the entry is its last argument.
    let pass = r#"#!/bin/sh
verb=$1
for entry; do :; done
file="$HOME/.password-store/$entry.gpg"
mkdir -p "$(dirname "$file")"
case $verb in show) cat "$file";; insert) cat >"$file";; rm) rm "$file";; esac
"#;
    write_program(&environment.bin().join("pass"), pass);

    let refused = environment.provlock(LOCK);
    refused.matches(str![[r#"
exit code: 2
----- stderr -----
packages from the registries of the providers
HTTPS_PROXY is http://127.0.0.1:[PORT]/
.: dialect tofu (the program in PATH); linux_amd64 (the flag or PROVLOCK_PLATFORMS)
reading the CLI configuration [ROOT]/home/.tofurc
error[unauthorized]: cannot get registry.example.com/acme/gamma: https://registry.example.com/v1/providers/acme/gamma/versions was refused (401); no credentials were sent
 --> main.tf:4:16
  |
4 |       source = "registry.example.com/acme/gamma"
  |                ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ required here
  |
help: add credentials: provlock login registry.example.com, or set TF_TOKEN_registry_example_com
"#]]);
    environment
        .command(["login", HOST])
        .stdin(TOKEN)
        .run()
        .assert_code(0)
        .assert_lacks(TOKEN);
    assert!(
        environment
            .home()
            .join(".password-store/tokens/registry.example.com.gpg")
            .exists()
    );
    environment
        .provlock(LOCK)
        .assert_code(0)
        .assert_lacks(TOKEN);
    environment.provlock(["logout", HOST]).assert_code(0);
    environment.provlock(["logout", HOST]).assert_code(0);
    // By now the lock file tells the dialect.
    let again = environment.provlock(LOCK);
    again.assert_code(2);
    assert_eq!(
        again.stderr,
        refused
            .stderr
            .replace("the program in PATH", "the lock file")
    );
}
