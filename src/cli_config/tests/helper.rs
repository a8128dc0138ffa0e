//! Real programs on disk.

use std::process::Command;
use std::sync::Arc;
use std::thread;

use super::*;

/// Installs a helper of the given shell script, which keeps its files in `$dir`.
fn install(script: &str) -> Home {
    let home = Home::new();
    home.write(
        ".tofurc",
        "credentials_helper \"store\" {\n  args = [\"--flag\", \"a b\"]\n}\n",
    );
    let directory = home.path(".terraform.d/plugins");
    fs::create_dir_all(&directory).unwrap();
    let program = directory.join("terraform-credentials-store");
    let script = format!(
        "#!/bin/sh\ndir='{}'\necho \"$@\" >>\"$dir/calls\"\n{script}\n",
        home.path("").display()
    );
    // Written by another process: a program that this one has open for writing cannot be run by its
    // other threads.
    let write = "printf %s \"$2\" >\"$1\" && chmod 755 \"$1\"";
    let status = Command::new("/bin/sh")
        .args(["-c", write, "sh"])
        .arg(&program)
        .arg(script)
        .status()
        .unwrap();
    assert!(status.success());
    home
}

fn failure(script: &str) -> String {
    let mut home = install(script);
    home.set("PROVLOCK_HELPER_TIMEOUT", "2");
    let error = home.credentials().token(&host("h.test")).unwrap_err();
    assert_eq!(error[0].code, Code::CredentialsHelper);
    assert!(
        error[0].message.contains("terraform-credentials-store"),
        "{error}"
    );
    assert!(!format!("{error:?}").contains("s3cr3t"), "{error:?}");
    error[0].message.clone()
}

#[test]
fn get_prints_the_token_once_per_host_and_run() {
    let home = install(
        "[ \"$4\" = none.test ] && echo '{}' || echo '{\"token\": \"s3cr3t\", \"more\": 1}'",
    );
    let credentials = Arc::new(home.credentials());
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let credentials = Arc::clone(&credentials);
            thread::spawn(move || token_of(&credentials, "bücher.test"))
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().unwrap().as_deref(), Some("s3cr3t"));
    }
    assert_eq!(token_of(&credentials, "none.test"), None);
    assert_eq!(token_of(&credentials, "none.test"), None);
    let calls = fs::read_to_string(home.path("calls")).unwrap();
    assert_eq!(
        calls,
        "--flag a b get xn--bcher-kva.test\n--flag a b get none.test\n"
    );
    let origin = credentials.source(&host("bücher.test")).unwrap().unwrap();
    assert!(
        matches!(&origin, CredentialsOrigin::Helper(program) if program.ends_with("terraform-credentials-store"))
    );
    assert!(!format!("{credentials:?} {origin:?} {origin}").contains("s3cr3t"));
}

#[test]
fn the_longest_time_limit_is_accepted() {
    let mut home = install("echo '{\"token\": \"s3cr3t\"}'");
    home.set("PROVLOCK_HELPER_TIMEOUT", &u64::MAX.to_string());
    assert_eq!(
        token_of(&home.credentials(), "h.test").as_deref(),
        Some("s3cr3t")
    );
}

#[test]
fn blocks_and_variables_come_before_the_helper() {
    let mut home = install("echo '{\"token\": \"helper\"}'");
    home.write(".terraform.d/x.tfrc", &block("block.test", "block"));
    home.set("TF_TOKEN_variable_test", "variable");
    let credentials = home.credentials();
    assert_eq!(
        token_of(&credentials, "block.test").as_deref(),
        Some("block")
    );
    assert_eq!(
        token_of(&credentials, "variable.test").as_deref(),
        Some("variable")
    );
    assert!(!home.path("calls").exists());
    assert_eq!(
        token_of(&credentials, "helper.test").as_deref(),
        Some("helper")
    );
}

#[test]
fn store_gets_the_token_alone_and_forget_forgets() {
    let home = install(
        "case $3 in get) cat \"$dir/kept\" 2>/dev/null || echo '{}';; store) cat >\"$dir/kept\";; \
         forget) rm -f \"$dir/kept\";; esac",
    );
    home.write("kept", "{\"token\": \"old\", \"more\": [1.5, \"x\"]}");
    let h = host("h.test");
    let credentials = home.credentials();
    let origin = credentials.store(&h, &Token::new("new").unwrap()).unwrap();
    assert!(matches!(origin, CredentialsOrigin::Helper(_)));
    let kept: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(home.path("kept")).unwrap()).unwrap();
    assert_eq!(kept, serde_json::json!({"token": "new"}));
    assert_eq!(token_of(&credentials, "h.test").as_deref(), Some("new"));
    credentials.forget(&h).unwrap();
    assert!(!home.path("kept").exists());
    assert_eq!(token_of(&credentials, "h.test"), None);
    credentials.forget(&h).unwrap();
    assert!(!home.path(".terraform.d/credentials.tfrc.json").exists());
}

#[test]
fn a_host_in_the_credentials_file_stays_there() {
    let home = install("echo '{}'");
    home.write(
        ".terraform.d/credentials.tfrc.json",
        r#"{"credentials": {"h.test": {"token": "old"}}}"#,
    );
    home.credentials()
        .store(&host("h.test"), &Token::new("new").unwrap())
        .unwrap();
    assert_eq!(
        token_of(&home.credentials(), "h.test").as_deref(),
        Some("new")
    );
    assert!(!home.path("calls").exists());
}

#[test]
fn its_own_message_is_the_error() {
    assert!(failure("echo 'vault is\nsealed' >&2; exit 3").ends_with("says: vault is; sealed"));
    assert!(failure("exit 3").contains("gave no error message (exit status: 3)"));
    assert!(failure("kill -9 $$").contains("gave no error message (signal: 9"));
}

#[test]
fn what_is_no_credentials_object_is_refused() {
    assert!(failure("echo 's3cr3t'").contains("not a JSON object"));
    assert!(failure("true").contains("not a JSON object"));
    assert!(failure("echo '[\"s3cr3t\"]'").contains("JSON that is not an object"));
    assert!(failure("echo '{\"token\": \"s3cr3t\"} x'").contains("not a JSON object"));
}

#[test]
fn a_token_that_is_null_or_not_a_string_means_no_token() {
    for token in ["null", "5", "[\"s3cr3t\"]", "{}", "\"\""] {
        let home = install(&format!("echo '{{\"token\": {token}}}'"));
        let credentials = home.credentials();
        assert_eq!(token_of(&credentials, "h.test"), None, "{token}");
        assert_eq!(
            credentials.source(&host("h.test")).unwrap(),
            None,
            "{token}"
        );
        assert!(!credentials.forget(&host("h.test")).unwrap().1, "{token}");
    }
}

#[test]
fn an_empty_block_means_no_token_and_the_helper_does_not_run() {
    let home = install("echo '{\"token\": \"helper\"}'");
    home.write(".terraform.d/x.tfrc", "credentials \"h.test\" {}\n");
    let credentials = home.credentials();
    assert_eq!(token_of(&credentials, "h.test"), None);
    assert_eq!(credentials.source(&host("h.test")).unwrap(), None);
    assert!(!home.path("calls").exists());
}

#[test]
fn a_helper_that_hangs_is_stopped_with_its_children() {
    let mut home = install("sleep 60 & echo $! >\"$dir/child\"; wait");
    home.set("PROVLOCK_HELPER_TIMEOUT", "1");
    let error = home.credentials().token(&host("h.test")).unwrap_err();
    assert!(
        error[0].message.contains("took more than 1 second"),
        "{error}"
    );
    let child = fs::read_to_string(home.path("child")).unwrap();
    let alive = || {
        Command::new("kill")
            .args(["-0", child.trim()])
            .output()
            .unwrap()
            .status
            .success()
    };
    // A killed process disappears once its new parent has noticed.
    for _ in 0..200 {
        if !alive() || is_zombie(child.trim()) {
            return;
        }
        thread::sleep(Duration::from_millis(25));
    }
    panic!("the helper's child {child} still runs");
}

fn is_zombie(pid: &str) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") Z "))
}

#[test]
fn a_helper_that_closes_its_output_and_hangs_is_stopped() {
    assert!(failure("exec >&- 2>&-; sleep 60").contains("took more than"));
}

#[test]
fn endless_output_is_cut_off() {
    assert!(failure("yes s3cr3t").contains("printed too much"));
    assert!(failure("yes broken | head -c 300000 >&2; exit 1").len() < 6000);
}

#[test]
fn the_error_of_a_helper_that_cannot_store_lacks_the_token() {
    let full = install(
        "case $3 in get) echo '{}';; *) cat >/dev/null; echo \"no room for it\" >&2; exit 1;; esac",
    );
    let error = full
        .credentials()
        .store(&host("h.test"), &Token::new("s3cr3t").unwrap())
        .unwrap_err();
    assert!(
        error[0]
            .message
            .contains("cannot store the credentials for h.test")
            && error[0].message.ends_with("no room for it")
    );
    assert!(
        full.credentials().forget(&host("h.test")).unwrap_err()[0]
            .message
            .contains("cannot forget")
    );
    let echoing = install("case $3 in get) echo '{}';; *) echo bad: $(cat) >&2; exit 1;; esac");
    let error = echoing
        .credentials()
        .store(&host("h.test"), &Token::new("s3cr3t").unwrap())
        .unwrap_err();
    assert!(error[0].message.ends_with("says: [redacted]"), "{error}");
    let deaf = install("case $3 in get) echo '{}';; *) exit 0;; esac");
    deaf.credentials()
        .store(&host("h.test"), &Token::new(&"x".repeat(300_000)).unwrap())
        .unwrap();
}

#[test]
fn a_helper_that_cannot_be_started_is_an_error() {
    let home = install("");
    let program = home.path(".terraform.d/plugins/terraform-credentials-store");
    fs::set_permissions(program, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    assert!(
        home.credentials().token(&host("h.test")).unwrap_err()[0]
            .message
            .contains("cannot be started")
    );
}
