//! Files of a repository that would take too much memory or time without limits.

use std::fs;
use std::os::unix::fs::symlink;

use provlock_test::archive::{self, Packing};
use provlock_test::{Output, Registry, TestEnvironment, survived};

use crate::lock::requires;
use provlock_test::files::entry;
use provlock_test::git::Repository;

const ATTACK: &str = "a file of the repository that takes too much memory or time";
/// Address space of a run, in KiB. A run that reads a device to its end takes as much as there is.
const MOST_MEMORY: u64 = 1 << 20;

fn project() -> TestEnvironment {
    let mut environment = TestEnvironment::new();
    environment.set("PROVLOCK_CACHE_DIR", environment.root().join("cache"));
    environment.set("MALLOC_ARENA_MAX", "2");
    environment.write("main.tf", requires("acme/a", ""));
    environment
}

/// Runs with little memory.
fn run(environment: &TestEnvironment, arguments: &[&str]) -> Output {
    run_within(MOST_MEMORY, environment, arguments)
}

fn run_within(memory: u64, environment: &TestEnvironment, arguments: &[&str]) -> Output {
    let limited = format!("ulimit -v {memory} && exec \"$@\"");
    let program = &provlock_test::program();
    let arguments = ["-c", &limited, "sh", program]
        .into_iter()
        .chain(arguments.iter().copied());
    environment
        .program("sh", arguments)
        .run_in(environment.project())
        .run()
}

const COMMANDS: [&[&str]; 2] = [
    &["verify", "-r"],
    &["lock", "-r", "--check", "-p", "linux_amd64", "--offline"],
];

#[test]
fn a_directory_has_a_limit_of_configuration_files() {
    let (registry, environment) = Registry::with_project();
    let files: Vec<_> = (0..10_001)
        .map(|number| (format!("{number}.tf"), Vec::new()))
        .collect();
    let expected = "it contains more than 10000 configuration files";
    registry.serve("/m.zip", archive::pack(&files, Packing::Deflated));
    for (name, _) in &files {
        environment.write(format!("local/{name}"), "");
    }
    for source in ["https://registry.opentofu.org/m.zip", "./local"] {
        environment.write(
            "main.tf",
            format!("module \"m\" {{\n  source = \"{source}\"\n}}\n"),
        );
        for command in [
            &["lock"][..],
            &["lock", "--modules"],
            &["verify", "--online"],
        ] {
            let output = environment.provlock(command);
            output.assert_code(2).assert_stderr_has(expected);
        }
    }
    survived(ATTACK, 6);
}

#[test]
fn many_values_in_json_are_refused() {
    const SIZE: usize = 8_300_000;
    let list = |start: &str, item: &str, end: &str| {
        let items = vec![item; (SIZE - start.len()) / (item.len() + 1)].join(",");
        format!("{start}{items}{end}")
    };
    let nested = format!("{}1{}", "[".repeat(60), "]".repeat(60));
    let shapes = [
        list("{", "\"abc\":1", "}"),
        list("{", "\"locals\":{}", "}"),
        list("{\"locals\":{\"a\":[", "1234567", "]}}"),
        list("{\"locals\":{\"a\":[", "\"123456\"", "]}}"),
        list("{\"locals\":{\"a\":[", "{\"abcdef\":1}", "]}}"),
        list("{\"variable\":{", "\"abcdef\":{}", "}}"),
        list(
            "{\"resource\":{\"null_resource\":{",
            "\"abcdefghijk\":{}",
            "}}}",
        ),
        list("{\"locals\":{\"a\":[", &nested, "]}}"),
    ];
    for shape in &shapes {
        let environment = TestEnvironment::new();
        environment.write("main.tf.json", shape);
        environment.write_lock_file("");
        let output = environment.provlock(["verify"]);
        output.assert_code(2).assert_stderr_has("too many values");
    }
    survived(ATTACK, shapes.len());
}

#[test]
fn files_of_patterns_that_are_devices_are_as_none() {
    for name in [".gitignore", ".ignore", "d/.gitignore"] {
        let environment = project();
        environment.write("d/main.tf", requires("acme/a", ""));
        symlink("/dev/zero", environment.project().join(name)).unwrap();
        for command in COMMANDS {
            run(&environment, command).assert_lacks("zero");
        }
    }
    survived(ATTACK, 3 * COMMANDS.len());
}

#[test]
fn a_change_that_turns_ignore_files_into_devices_is_checked() {
    let names = [".gitignore", ".ignore", "d/.gitignore"];
    for name in names {
        let repository = Repository::around(project());
        repository.environment.write("d/main.tf", "");
        repository.commit("");
        repository.git(["checkout", "--quiet", "-b", "change"]);
        symlink("/dev/zero", repository.environment.project().join(name)).unwrap();
        repository.environment.commit_all(".");
        let verify = ["verify", "-r", "--base", "main"];
        run(&repository.environment, &verify)
            .assert_code(1)
            .assert_stdout_has("provider-not-locked");
        // The base has the same finding.
        let new = [&verify[..], &["--new"]].concat();
        run(&repository.environment, &new).assert_code(0);
    }
    survived(ATTACK, 2 * names.len());
}

#[test]
fn there_is_an_end_to_patterns() {
    let one = |count: usize| {
        (0..count)
            .map(|number| format!("a{number}*\n"))
            .collect::<Vec<_>>()
            .concat()
    };
    let cases = [
        (one(500_000), "is larger than 1 MiB"),
        (one(60_000), "more than 256 KiB of patterns"),
    ];
    for (patterns, message) in &cases {
        let environment = project();
        environment.write(".gitignore", patterns);
        run(&environment, &["verify", "-r"])
            .assert_code(2)
            .assert_stderr_has(message);
    }
    survived(ATTACK, cases.len());
}

#[test]
fn globs_and_certificates_have_an_end() {
    let environment = project();
    let nested = format!("{}{}", "{".repeat(50_000), "}".repeat(50_000));
    environment.write(
        "provlock.toml",
        format!("[roots]\nexclude = [\"{nested}\"]\n"),
    );
    run(&environment, &["verify", "-r"])
        .assert_code(2)
        .assert_stderr_has("a glob has at most 4096 bytes");
    fs::remove_file(environment.project().join("provlock.toml")).unwrap();
    let mut environment = environment;
    environment.set("SSL_CERT_FILE", "/dev/zero");
    run(&environment, &["lock", "-p", "linux_amd64"])
        .assert_code(2)
        .assert_stderr_has("it is not a regular file");
    survived(ATTACK, 2);
}

/// All of these are of one kind, and equal but for their places or a word.
#[test]
fn a_thousand_findings_of_a_kind_are_shown() {
    let entry = |address: &str, hashes: &str| {
        format!("provider \"{address}\" {{\n  version = \"1.0.0\"\n  hashes = [\n{hashes}  ]\n}}\n")
    };
    let unknown = (0..10_000)
        .map(|number| format!("    \"x{number}:abc\",\n"))
        .collect::<Vec<_>>()
        .concat();
    let hash = format!("    \"h1:{}=\",\n", "A".repeat(43));
    let elsewhere = |number| entry(&format!("evil.test/a/p{number}"), &hash);
    let cases = [
        (1, entry("registry.opentofu.org/acme/a", &unknown)),
        (
            1,
            entry(
                "registry.opentofu.org/acme/a",
                &"    \"h1:x\",\n".repeat(20_000),
            ),
        ),
        (1, (0..3_000).map(elsewhere).collect()),
    ];
    for (code, lock_file) in &cases {
        let environment = project();
        environment.write(
            "provlock.toml",
            "[policy]\nallowed-hosts = [\"registry.opentofu.org\"]\n",
        );
        environment.write_lock_file(lock_file);
        let verified = run(&environment, &["verify", "--format", "json"]);
        verified.assert_code(*code).assert_stdout_has(" omitted");
    }
    survived(ATTACK, cases.len());
}

/// Repeated content, equal or with other names, stops at a limit: the content of a file, and the
/// resulting message.
#[test]
fn a_configuration_has_an_end() {
    /// In KiB.
    const MEMORY: u64 = 400 << 10;
    let many = |count: usize, one: fn(usize) -> String| (0..count).map(one).collect::<String>();
    let required = |count: usize| {
        let lines = many(count, |number| {
            format!("    a{number} = {{\n      source = \"a/b{number}\"\n    }}\n")
        });
        format!("terraform {{\n  required_providers {{\n{lines}  }}\n}}\n")
    };
    let json = format!(
        "{{\"provider\": {{\"a\": [{}]}}}}",
        vec!["{}"; 10_000].join(", ")
    );
    let block = |kind: &str| {
        (
            format!("{kind} {{}}\n").repeat(10_000),
            "8999 more of this kind are omitted",
        )
    };
    let same = ["resource \"a\" \"b\"", "data \"a\" \"b\"", "provider \"a\""].map(block);
    let other = [
        (
            "module \"a\" {}\n".repeat(49_000),
            "48000 more of this kind are omitted",
        ),
        (
            "a {}\n".repeat(50_001),
            "more than 50000 arguments and blocks",
        ),
        (
            many(1_001, |number| format!("provider \"a{number}\" {{}}\n")),
            "more than 1000 providers are required",
        ),
        (required(49_000), "more than 1000 providers are required"),
        (required(140_000), "more than 50000 arguments and blocks"),
        (
            many(49_000, |number| {
                format!("module \"a{number}\" {{\n  source = \"./m{number}\"\n}}\n")
            }),
            "are omitted",
        ),
    ];
    let natives = same
        .into_iter()
        .chain(other)
        .map(|(text, message)| ("main.tf", text, message));
    let cases: Vec<_> = natives
        .chain([("main.tf.json", json, "8999 more of this kind are omitted")])
        .collect();
    for (name, text, message) in &cases {
        let environment = project();
        fs::remove_file(environment.project().join("main.tf")).unwrap();
        environment.write(name, text);
        environment.write_lock_file("");
        let verified = run_within(MEMORY, &environment, &["verify", "--format", "json"]);
        verified.assert_code(2).assert_stdout_has(message);
    }
    let environment = project();
    for name in ["one.tf", "two.tf"] {
        let text = many(26_000, |number| {
            format!("resource \"a\" \"b{number}\" {{}}\n")
        });
        environment.write(name, text.replace("\"b", &format!("\"{name}")));
    }
    environment.write_lock_file("");
    let verified = run_within(MEMORY, &environment, &["verify", "--format", "json"]);
    verified
        .assert_code(2)
        .assert_stdout_has("a module has more than 50000 blocks and required providers");
    survived(ATTACK, cases.len() + 1);
}

/// Many root modules, each with many errors of its own, or of a module that they share.
#[test]
fn errors_of_many_root_modules_have_an_end() {
    let errors = |name: &str| {
        (0..4_000)
            .map(|n| format!("resource \"{name}\" \"b{n}\" {{}}\n").repeat(2))
            .collect::<String>()
    };
    let cases = [true, false];
    for is_shared in cases {
        let environment = project();
        environment.write("shared/main.tf", errors("a"));
        for number in 0..20 {
            let call = if is_shared {
                "module \"m\" {\n  source = \"../shared\"\n}\n".to_owned()
            } else {
                errors(&format!("a{number}"))
            };
            environment.write(
                format!("root{number}/main.tf"),
                format!("terraform {{\n  backend \"local\" {{}}\n}}\n{call}"),
            );
        }
        run(&environment, &["verify", "-r"])
            .assert_code(2)
            .assert_stderr_has("is declared twice in this module");
    }
    survived(ATTACK, cases.len());
}

/// Number of messages in JSON that contain a text.
fn messages(value: &serde_json::Value, text: &str) -> usize {
    match value {
        serde_json::Value::Array(items) => items.iter().map(|item| messages(item, text)).sum(),
        serde_json::Value::Object(fields) => {
            let own = fields.get("message").and_then(serde_json::Value::as_str);
            let is_own = own.is_some_and(|message| message.contains(text));
            let below: usize = fields.values().map(|field| messages(field, text)).sum();
            below + usize::from(is_own)
        }
        _ => 0,
    }
}

/// The more root modules there are, the fewer findings and errors of each are kept: of all of them
/// 5,000 of a kind.
#[test]
fn output_about_many_root_modules_is_limited() {
    const ROOTS: usize = 25;
    let backend = "terraform {\n  backend \"local\" {}\n}\n";
    let errors = |root: usize| {
        let block = |number| format!("resource \"a{root}\" \"b{number}\" {{}}\n").repeat(2);
        backend.to_owned() + &(0..300).map(block).collect::<String>()
    };
    let hashes: Vec<_> = (0..300).map(|number| format!("h1:x{number}")).collect();
    let entry = entry(
        "a/b",
        "1.0.0",
        "",
        &hashes.iter().map(String::as_str).collect::<Vec<_>>(),
    );
    let (broken, malformed) = (project(), project());
    for root in 0..ROOTS {
        broken.write(format!("root{root}/main.tf"), errors(root));
        malformed.write(format!("root{root}/main.tf"), backend);
        malformed.write(format!("root{root}/.terraform.lock.hcl"), &entry);
    }
    let [verify, lock] = [
        &["verify", "-r", "--json"][..],
        &["lock", "-r", "--check", "--offline", "--json"],
    ];
    let cases = [
        // Each is shown where its root module is, and in the list of all.
        (&broken, verify, 2, "is declared twice"),
        (&broken, lock, 2, "is declared twice"),
        (&malformed, verify, 1, "cannot match any package"),
    ];
    for (environment, command, code, message) in cases {
        let places = 2;
        let output = run(environment, command);
        output.assert_code(code);
        let count = |text: &str| output.stdout.matches(text).count();
        let report: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(messages(&report, message), places * 5_000, "{command:?}");
        assert_eq!(
            count("100 more of this kind are omitted"),
            places * ROOTS,
            "{command:?}"
        );
    }
    survived(ATTACK, cases.len());
}
