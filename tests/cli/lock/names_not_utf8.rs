//! Files whose names are not UTF-8, which OpenTofu and Terraform read.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;

use crate::lock::requires;
use provlock_test::{Registry, TestEnvironment, survived};

#[test]
fn no_name_hides_a_file_from_a_check() {
    let plain = requires("acme/gamma", "");
    let evil = requires("evil/null", "");
    let call = "module \"m\" {\n  source = \"./called\"\n}\n";
    let test = "run \"t\" {\n  module {\n    source = \"./called\"\n  }\n}\n";
    let cases = [
        ("main.tf", "", &b"\xff.tf"[..], &evil, "."),
        ("main.tf", "", b"\xff.tf.json", &evil, "."),
        ("main.tf", "", b"\xff.tofu", &evil, "."),
        ("main.tf", "", b"\xff_override.tf", &evil, "."),
        ("main.tf", "", b"a\xc3.tf", &evil, "."),
        ("main.tf", "", b"\xff.tftest.hcl", &test.to_owned(), "."),
        (
            "main.tf",
            "",
            b"tests/\xff.tofutest.hcl",
            &test.to_owned(),
            ".",
        ),
        ("main.tf", call, b"called/\xff.tf", &evil, "called"),
        ("called/main.tf", call, b"called/\xff.tf", &evil, "called"),
    ];
    for (name, text, hidden, content, directory) in &cases {
        let (registry, environment) = Registry::with_project();
        for published in ["acme/gamma", "evil/null"] {
            registry
                .publish(published, "1.0.0")
                .platforms(["linux_amd64"])
                .done();
        }
        environment.write(name, "");
        environment.write("main.tf", format!("{plain}{text}"));
        let _ = environment.provlock(["lock", "-p", "linux_amd64", "--allow-missing-modules"]);
        environment.write("called/README", "");
        environment
            .provlock(["lock", "-p", "linux_amd64"])
            .assert_code(0);
        environment.write(
            environment.project().join(OsStr::from_bytes(hidden)),
            content,
        );
        let before = environment.lock_file();
        for command in [
            &["lock", "-p", "linux_amd64"][..],
            &["lock", "-r", "-p", "linux_amd64"],
            &["lock", "--check"],
            &["upgrade"],
            &["verify"],
            &["verify", "-r"],
            &["tree"],
        ] {
            let output = environment.provlock(command);
            assert_eq!(output.code, Some(2), "{hidden:?} {output}");
            let shown = output.stdout.clone() + &output.stderr;
            assert!(
                shown.contains("is not UTF-8") && shown.contains(directory),
                "{hidden:?} {output}"
            );
        }
        assert_eq!(environment.lock_file(), before);
    }
    survived(
        "a file whose name is not text hides a provider",
        cases.len() * 7,
    );
}

#[test]
fn a_root_module_is_found_by_such_a_file_alone() {
    let environment = TestEnvironment::new();
    environment.write(
        environment
            .project()
            .join("root")
            .join(OsStr::from_bytes(b"\xff.tf")),
        "terraform {}\n",
    );
    for command in [&["lock", "-r"][..], &["verify", "-r"], &["verify", "root"]] {
        let output = environment.provlock(command).assert_code(2).clone();
        let shown = output.stdout.clone() + &output.stderr;
        assert!(
            shown.contains("root: the name of its file \u{fffd}.tf is not UTF-8"),
            "{output}"
        );
    }
    survived("a file whose name is not text hides a provider", 3);
}

#[test]
fn values_are_read_whatever_the_name_of_their_file() {
    let environment = TestEnvironment::new();
    environment.write(
        "main.tf",
        "variable \"s\" {\n  default = \"one\"\n}\nmodule \"m\" {\n  source = \"./${var.s}\"\n}\n",
    );
    environment.write("one/main.tf", "");
    environment.write("two/main.tf", requires("evil/null", ""));
    environment.provlock(["verify"]).assert_lacks("evil/null");
    environment.write(
        environment
            .project()
            .join(OsStr::from_bytes(b"\xff.auto.tfvars")),
        "s = \"two\"\n",
    );
    environment
        .provlock(["verify"])
        .assert_code(1)
        .assert_stdout_has("evil/null");
    survived("a file whose name is not text hides a provider", 1);
}
