//! `lock --repair`: what bots leave in a lock file.

use serde_json::json;

use super::json_output::validated;
use super::lock::requires;
use provlock_test::{Registry, TestEnvironment, str};

/// A project with a locked provider, and its canonical lock file.
fn project() -> (TestEnvironment, String) {
    let (registry, environment) = Registry::with_project();
    let gamma = registry
        .publish("acme/gamma", "1.5.0")
        .platforms(["linux_amd64", "darwin_arm64"])
        .done();
    environment.write("main.tf", requires("acme/gamma", ">= 1.0.0, < 2.0.0"));
    let lock_file = gamma.lock_file(">= 1.0.0, < 2.0.0", &["linux_amd64", "darwin_arm64"]);
    environment.write_lock_file(&lock_file);
    (environment, lock_file)
}

/// Reverses the lines of the list of hashes, and doubles the first.
fn unsorted(lock_file: &str) -> String {
    let (start, rest) = lock_file.split_once("hashes = [\n").unwrap();
    let (list, end) = rest.split_once("  ]\n").unwrap();
    let mut lines: Vec<_> = list.lines().collect();
    lines.reverse();
    lines.push(lines[0]);
    format!("{start}hashes = [\n{}\n  ]\n{end}", lines.join("\n"))
}

#[test]
fn a_lock_file_that_a_bot_has_written_is_repaired_offline() {
    let (environment, lock_file) = project();
    let bad = unsorted(&lock_file).replace("\">= 1.0.0, < 2.0.0\"", "\"<2.0,>=1.0\"");
    environment.write_lock_file(&bad);
    let refused = environment.provlock(["lock"]);
    refused
        .assert_code(2)
        .assert_stderr_has("provlock lock --repair");
    environment
        .provlock(["verify"])
        .assert_has("provlock lock --repair");
    environment
        .provlock(["lock", "--repair", "--check"])
        .assert_code(1);
    environment
        .provlock(["lock", "--repair", "--dry-run"])
        .assert_code(0)
        .assert_stdout_has(">= 1.0.0, < 2.0.0");
    assert_eq!(environment.lock_file(), bad);

    environment
        .provlock(["lock", "--repair"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
  ~ .terraform.lock.hcl:6   the constraints of registry.opentofu.org/acme/gamma: "<2.0,>=1.0" → ">= 1.0.0, < 2.0.0"
  ~ .terraform.lock.hcl:9   the hashes of acme/gamma: sorted, 1 duplicate removed
Repaired 2 values
"#]]);
    assert_eq!(environment.lock_file(), lock_file);
    environment.provlock(["lock", "--repair"]).matches(str![[r#"
exit code: 0
----- stderr -----
Nothing to repair
"#]]);
    environment
        .provlock(["lock", "--repair", "--check"])
        .assert_code(0);
}

#[test]
fn every_form_that_init_refuses_or_rewrites_is_repaired_and_nothing_else() {
    let (environment, lock_file) = project();
    let address = "\"registry.opentofu.org/acme/gamma\"";
    let canonical = [
        lock_file.replace("\">= 1.0.0, < 2.0.0\"", "\">= 1.0.0,< 2.0.0\""),
        lock_file.replace("\">= 1.0.0, < 2.0.0\"", "\"< 2, >= 1.0.0, >= 1.0.0\""),
        lock_file.replace("\"1.5.0\"", "\"1.5\""),
        lock_file.replace(address, "\"registry.opentofu.org/Acme/gamma\""),
        lock_file.replace(address, "\"acme/gamma\""),
        unsorted(&lock_file),
    ];
    for bad in canonical {
        for text in [
            bad.clone(),
            bad.replace('\n', "\r\n"),
            format!("\u{feff}{bad}"),
        ] {
            assert_ne!(bad, lock_file);
            environment.write_lock_file(&text);
            let output = environment.provlock(["lock", "--repair", "--json", "--dialect", "tofu"]);
            output.assert_code(0);
            let expected = if text.contains('\r') {
                lock_file.replace('\n', "\r\n")
            } else if text.starts_with('\u{feff}') {
                format!("\u{feff}{lock_file}")
            } else {
                lock_file.clone()
            };
            assert_eq!(environment.lock_file(), expected, "{bad}");
            let root = validated(&output.stdout)["roots"][0].clone();
            assert_eq!(root["changed"], json!(true));
            assert_eq!(root["written"], json!(true));
            assert_eq!(root["repairs"].as_array().map(Vec::len), Some(1), "{root}");
        }
    }

    // Comments, own alignment, and entries without such values stay.
    let own =
        "# ours\nprovider \"registry.opentofu.org/acme/beta\" {\n    version=\"1.0.0\" # why\n}\n";
    environment.write_lock_file(format!("{own}\n{}", unsorted(&lock_file)));
    environment.provlock(["lock", "--repair"]).assert_code(0);
    assert_eq!(environment.lock_file(), format!("{own}\n{lock_file}"));
}

#[test]
fn other_faults_are_reported_and_nothing_is_written() {
    let (environment, lock_file) = project();
    let bad = lock_file.replace("\">= 1.0.0, < 2.0.0\"", "\"<2.0,>=1.0\"");
    for text in [
        bad.replace("\"1.5.0\"", "\"new\""),
        bad.replace("version ", "vision "),
        format!("<<<<<<< a\n{bad}=======\n{bad}>>>>>>> b\n"),
        format!("{bad}{bad}"),
        bad.replace("\"zh:", "\"zh\u{e9}"),
    ] {
        environment.write_lock_file(&text);
        let output = environment.provlock(["lock", "--repair"]);
        assert_eq!(output.code, Some(2), "{text}");
        output.assert_stderr_has("error");
        assert_eq!(environment.lock_file(), text);
    }
    environment.write_lock_file(&bad);
    for arguments in [&["acme/gamma"][..], &["-p", "all"], &["--modules"]] {
        let output = environment.provlock([&["lock", "--repair"], arguments].concat());
        assert_eq!(output.code, Some(2), "{arguments:?}");
        output.assert_stderr_has("--repair");
        assert_eq!(environment.lock_file(), bad);
    }
}

#[test]
fn lock_files_of_modules_and_of_many_root_modules_are_repaired() {
    let (environment, lock_file) = project();
    let modules = "module \"net\" {\n  source      = \"registry.opentofu.org/acme/net/aws\"\n  \
         version     = \"1.0.0\"\n  constraints = \"~> 1.0\"\n  \
         package     = \"registry::registry.opentofu.org/acme/net/aws@1.0.0\"\n  hashes = [\n    \
         \"h1:C/4IoAw7zl/iQ3Yav/ouJn3mdsc9rSfJegrYggVThfk=\",\n    \
         \"zh:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\",\n  ]\n}\n";
    for root in ["a", "b"] {
        environment.write(format!("{root}/main.tf"), "terraform {}\n");
        environment.write(format!("{root}/.terraform.lock.hcl"), unsorted(&lock_file));
    }
    environment.write(
        "a/.modules.lock.hcl",
        unsorted(&modules.replace("~> 1.0\"", "~>1.0\"")),
    );
    let output = environment.provlock(["lock", "--repair", "-r"]);
    output.assert_code(0).assert_stderr_has("Repaired 4 values");
    for root in ["a", "b"] {
        let path = environment.project().join(root).join(".terraform.lock.hcl");
        assert_eq!(environment.read(path), lock_file);
    }
    let path = environment.project().join("a/.modules.lock.hcl");
    assert_eq!(environment.read(path), modules);
}

#[test]
fn names_of_providers_and_modules_are_refused() {
    let (environment, lock_file) = project();
    let named = [
        (vec!["acme/gamma"], "acme/gamma is a provider"),
        (vec!["acme/gamma@1.5.0"], "acme/gamma@1.5.0 is a provider"),
        (vec!["module.net"], "module.net is a module"),
        (vec!["module.net", "acme/gamma"], "acme/gamma is a provider"),
    ];
    for (names, expected) in named {
        let arguments = ["lock", "--repair"].into_iter().chain(names);
        environment
            .provlock(arguments)
            .assert_code(2)
            .assert_stderr_has(expected)
            .assert_stderr_has("omit it: a repair changes no version and no hash");
    }
    assert_eq!(environment.lock_file(), lock_file);
}
