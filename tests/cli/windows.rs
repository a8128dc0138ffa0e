//! Differences on Windows: where configuration is, how paths are written, and Ctrl-Break.

use std::path::Path;
use std::process::Command;

use super::json_output::validated;
use super::lock::requires;
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str};

const HOST: &str = "registry.example.com";

#[test]
fn the_cli_configuration_and_tokens_are_in_appdata() {
    let environment = TestEnvironment::new();
    let configuration = environment.home().join("AppData/Roaming/tofu.rc");
    environment.write(
        &configuration,
        "credentials \"block.test\" {\r\n  token = \"t0ken\"\r\n}\r\n",
    );
    environment
        .provlock(["login", "--check", "block.test"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
The token for block.test comes from [ROOT]/home/AppData/Roaming/tofu.rc
"#]]);
    environment.command(["login", HOST]).stdin("s3cr3t\r\n").run().matches(str![[r#"
exit code: 0
----- stderr -----
Stored the token for registry.example.com in [ROOT]/home/AppData/Roaming/terraform.d/credentials.tfrc.json
"#]]);
    let stored = environment.read(
        environment
            .home()
            .join("AppData/Roaming/terraform.d/credentials.tfrc.json"),
    );
    assert!(stored.contains("\"s3cr3t\""), "{stored}");
}

#[test]
fn variables_may_be_written_in_any_case() {
    let environment = TestEnvironment::new();
    let other = environment.root().join("other");
    environment.write(
        other.join("tofu.rc"),
        "credentials \"block.test\" {\n  token = \"t0ken\"\n}\n",
    );
    let check = environment
        .command(["login", "--check", "block.test"])
        .without_env("APPDATA")
        .env("AppData", &other);
    check.run().assert_code(0).assert_stdout_has("tofu.rc");
}

#[test]
fn paths_are_written_as_people_write_them() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    environment.write("live\\a\\main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.write("live\\a\\.terraform.lock.hcl", "");
    environment.write(
        "live\\b\\main.tf",
        "module \"a\" {\n  source = \"..\\\\a\"\n}\n",
    );
    environment.write("live\\b\\.terraform.lock.hcl", "");
    let project = environment.project().display().to_string();
    assert!(!project.starts_with(r"\\"), "{project}");
    for directory in [r"live\a", "live/a", &format!(r"{project}\live\b"), "."] {
        let lock = ["-C", directory, "lock", "-r", "-p", "linux_amd64", "--json"];
        let output = environment.provlock(lock);
        output
            .assert_code(0)
            .assert_lacks(r"\\?\")
            .assert_lacks(r"\\\\?\\");
        validated(&output.stdout);
    }
    for root in ["a", "b"] {
        let lock_file = environment.read(format!("live/{root}/.terraform.lock.hcl"));
        assert!(
            lock_file.contains("hashicorp/null") && !lock_file.contains('\r'),
            "{lock_file}"
        );
    }
    environment.write("live\\a\\main.tf", "terraform {\n");
    let broken = environment.provlock(["-C", &format!(r"{project}\live\b"), "verify"]);
    broken
        .assert_code(2)
        .assert_stderr_has(r"..\a\main.tf:")
        .assert_lacks(r"\\?\");
}

/// Python can send it, which is on the machines of CI; without it there is nothing to test.
#[test]
fn an_interrupt_leaves_no_temporary_file() {
    const SEND: &str = "import os, signal, sys; os.kill(int(sys.argv[1]), signal.CTRL_BREAK_EVENT)";
    if Command::new("python").arg("--version").output().is_err() {
        eprintln!("python is not installed: nothing to send Ctrl-Break with");
        return;
    }
    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    let roots: Vec<_> = (0..400)
        .map(|number| environment.project().join(format!("r{number}")))
        .collect();
    for root in &roots {
        let provider = "provider \"null\" {}\nterraform {\n  backend \"local\" {}\n}\n";
        environment.write(
            root.join("main.tf"),
            format!("{provider}{}", requires("hashicorp/null", "")),
        );
    }
    let mut child = environment
        .command(["lock", "-r", "-p", "linux_amd64"])
        .spawn();
    provlock_test::run_until(&mut child, || roots[0].join(".terraform.lock.hcl").exists());
    let sent = Command::new("python")
        .args(["-c", SEND, &child.id().to_string()])
        .status()
        .unwrap();
    let code = provlock_test::wait(&mut child)
        .code()
        .unwrap()
        .cast_unsigned();
    assert!(
        sent.success() && matches!(code, 0 | 0xC000_013A),
        "{code:x}"
    );
    for root in &roots {
        assert!(
            names(root)
                .iter()
                .all(|name| ["main.tf", ".terraform.lock.hcl"].contains(&&**name)),
            "{root:?}"
        );
    }
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}
