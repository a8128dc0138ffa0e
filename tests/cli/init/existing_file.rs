//! `init` where there is a settings file already.

use super::{FILE, expected, project, registry};
use provlock_test::str;

/// Settings that `init` does not write, and settings that it writes differently.
const OURS: &str = "# Ours.
fetch-modules = false
platforms = [\"linux_amd64\", \"windows_amd64\"]

# Not maintained.
[roots]
exclude = [
  \"legacy/**\", # since 2024
]

[policy]
allowed-hosts = [\"old.example.com\"]
min-age = \"7d\"

[[verify.paths]]
paths = [\"sandbox\"]
allow = [\"single-platform\"]

[modules]
lock = false
";

#[test]
fn init_replaces_a_file_only_with_force() {
    let registry = registry();
    let repository = project(&registry);
    let environment = &repository.environment;
    environment
        .provlock(["init", "--dry-run"])
        .assert_code(0)
        .assert_stdout_has(&expected())
        .assert_lacks("Wrote");
    assert!(!environment.project().join(FILE).exists());

    environment.write(FILE, "# ours\n");
    environment.provlock(["init"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: provlock.toml exists already
help: compare it with the output of --dry-run, or replace it with --force
"#]]);
    assert_eq!(environment.read(FILE), "# ours\n");
    environment
        .provlock(["init", "--dry-run"])
        .assert_code(0)
        .assert_stdout_has(&expected());
    assert_eq!(environment.read(FILE), "# ours\n");
    environment.provlock(["init", "--force"]).assert_code(0);
    assert_eq!(environment.read(FILE), expected());
}

#[test]
fn force_keeps_settings_that_init_does_not_write_and_names_what_it_drops() {
    let registry = registry();
    let repository = project(&registry);
    let environment = &repository.environment;
    environment.write(FILE, OURS);
    let output = environment.provlock(["init", "--force"]);
    output
        .assert_code(0)
        .assert_stderr_has("Kept from the old file: fetch-modules, modules and roots\n")
        .assert_stderr_has("Dropped from the old file: policy.min-age and verify.paths\n");
    let text = environment.read(FILE);
    for part in [
        "fetch-modules = false\n\n[policy]\n",
        "platforms = [\"linux_amd64\", \"windows_amd64\"]\n",
        "\n\n# Not maintained.\n[roots]\nexclude = [\n  \"legacy/**\", # since 2024\n]\n",
        "\n\n[modules]\nlock = false\n",
        "allowed-hosts = [\"registry.opentofu.org\"]\n",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    assert!(
        !text.contains("min-age") && !text.contains("sandbox"),
        "{text}"
    );

    // A second run changes nothing.
    environment.provlock(["init", "--force"]).assert_code(0);
    assert_eq!(environment.read(FILE), text);

    // A notation that lines do not show is dropped, and said so.
    environment.write(FILE, "roots.exclude = [\"legacy/**\"]\n");
    let output = environment.provlock(["init", "--force"]);
    output
        .assert_code(0)
        .assert_stderr_has("Dropped from the old file: roots\n");
    assert_eq!(environment.read(FILE), expected());
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_is_there_too() {
    let registry = registry();
    let repository = project(&registry);
    let project = repository.environment.project();
    std::os::unix::fs::symlink("../elsewhere.toml", project.join(FILE)).unwrap();
    for arguments in [&["init"][..], &["init", "--force"]] {
        repository.environment.provlock(arguments).assert_code(2);
        assert!(!project.join("../elsewhere.toml").exists());
    }
}
