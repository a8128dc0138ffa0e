//! Files outside of the repository are neither read by `verify` nor quoted in its output.

use std::fs;
use std::os::unix::fs::symlink;

use super::{H1, NULL, ZH, entry};
use crate::json_output::validated;
use crate::lock::{lock_file, requires};
use provlock_test::archive::{self, Packing};
use provlock_test::git::Repository;
use provlock_test::{TestEnvironment, survived};

/// Text that must not be shown.
const SECRET: &str = "pr1vate";
/// Text that is shown instead.
const NOT_QUOTED: &str = "so provlock does not quote it";

/// A repository with one root module, and files beside it that are not part of it.
fn project() -> Repository {
    let repository = Repository::new();
    let environment = &repository.environment;
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.write_lock_file(lock_file(&[entry(NULL, "3.2.4", "~> 3.0", &[H1, ZH])]));
    let outside = environment.root().join("outside");
    for (name, text) in [
        ("broken", format!("{SECRET} = {{\n")),
        ("main.tf", requires(&format!("{SECRET}/null"), SECRET)),
        (
            "lock.hcl",
            lock_file(&[entry(
                &format!("registry.opentofu.org/{SECRET}/null"),
                SECRET,
                "",
                &[H1],
            )]),
        ),
        ("provlock.toml", format!("{SECRET} = true\n")),
        ("modules.json", format!("{{\"Modules\": \"{SECRET}\"}}")),
        ("module/main.tf", format!("module \"{SECRET}\" {{}}\n")),
    ] {
        environment.write(outside.join(name), text);
    }
    repository
}

fn link(environment: &TestEnvironment, target: &str, path: &str) {
    let path = environment.project().join(path);
    let _ = fs::remove_file(&path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(environment.root().join("outside").join(target), path).unwrap();
}

fn calls(environment: &TestEnvironment, source: &str) {
    environment.write(
        "module.tf",
        format!("module \"m\" {{\n  source = \"{source}\"\n}}\n"),
    );
}

fn installed(environment: &TestEnvironment, directory: &str) {
    calls(environment, "acme/m/null");
    let modules = format!(
        r#"{{"Modules": [
            {{"Key": "m", "Source": "registry.opentofu.org/acme/m/null", "Version": "1.0.0", "Dir": "{directory}"}}]}}"#
    );
    environment.write(".terraform/modules/modules.json", modules);
}

/// A path out of the repository, and the name in the report.
type Way = (&'static str, fn(&TestEnvironment), &'static str);

const WAYS: [Way; 18] = [
    (
        "a configuration",
        |environment| link(environment, "main.tf", "link.tf"),
        "link.tf",
    ),
    (
        "a configuration that cannot be read",
        |environment| link(environment, "broken", "link.tf"),
        "link.tf",
    ),
    (
        "a configuration that git keeps, which may hold a password",
        |environment| {
            let path = environment.write(".git/broken", format!("{SECRET} = {{\n"));
            link(environment, path.to_str().unwrap(), "link.tf");
        },
        "link.tf",
    ),
    (
        "a test",
        |environment| link(environment, "broken", "tests/a.tftest.hcl"),
        "tests/a.tftest.hcl",
    ),
    (
        "the lock file",
        |environment| link(environment, "lock.hcl", ".terraform.lock.hcl"),
        ".terraform.lock.hcl",
    ),
    (
        "a lock file that cannot be read",
        |environment| link(environment, "broken", ".terraform.lock.hcl"),
        ".terraform.lock.hcl",
    ),
    (
        "the settings",
        |environment| link(environment, "provlock.toml", "provlock.toml"),
        "provlock.toml",
    ),
    (
        "the list of installed modules",
        |environment| {
            calls(environment, "acme/m/null");
            link(
                environment,
                "modules.json",
                ".terraform/modules/modules.json",
            );
        },
        "modules.json",
    ),
    (
        "an installed module",
        |environment| {
            installed(
                environment,
                environment.root().join("outside/module").to_str().unwrap(),
            );
        },
        "outside/module",
    ),
    (
        "a call",
        |environment| calls(environment, "./../outside/module"),
        "outside/module",
    ),
    (
        "a call through a link",
        |environment| {
            link(environment, "module", "modules/m");
            calls(environment, "./modules/m");
        },
        "modules/m",
    ),
    (
        "a call of a directory of this machine",
        |environment| {
            let module = environment.root().join("outside/module");
            calls(environment, &format!("file://{}", module.display()));
        },
        "outside/module",
    ),
    (
        "a call of a git repository of this machine, on a host that git does not look at",
        |environment| {
            let module = environment.root().join("outside/module");
            calls(
                environment,
                &format!("git::file://anyhost{}", module.display()),
            );
        },
        "outside/module",
    ),
    (
        "a call of a git repository by a file that contains its path",
        |environment| {
            let path = environment.write("git-file", format!("gitdir: {}\n", private(environment)));
            calls(environment, &format!("git::file://{}", path.display()));
        },
        "git-file",
    ),
    (
        "a call of a git repository by a link whose ending git adds",
        |environment| {
            link(environment, "private/.git", "link.git");
            private(environment);
            calls(
                environment,
                &format!(
                    "git::file://{}",
                    environment.project().join("link").display()
                ),
            );
        },
        "link, out of the repository",
    ),
    (
        "a directory of tests",
        |environment| {
            environment.write(
                environment.root().join("outside/tests/a.tftest.hcl"),
                format!("{SECRET} = {{\n"),
            );
            link(environment, "tests", "tests");
        },
        "tests/a.tftest.hcl",
    ),
    (
        "the archive of a unit",
        |environment| unit(environment, "file::", "module.zip"),
        "outside/module.zip",
    ),
    (
        "the repository of a unit",
        |environment| unit(environment, "git::file://", "module"),
        "outside/module",
    ),
];

/// A unit that executes a module outside of the repository.
fn unit(environment: &TestEnvironment, scheme: &str, path: &str) {
    let path = environment.root().join("outside").join(path);
    environment.write(
        "terragrunt.hcl",
        format!(
            "terraform {{\n  source = \"{scheme}{}\"\n}}\n",
            path.display()
        ),
    );
}

/// Makes a git repository outside, and returns the path of its files of git's.
fn private(environment: &TestEnvironment) -> String {
    let directory = environment.root().join("outside/private");
    environment.write(directory.join("main.tf"), format!("{SECRET} = {{\n"));
    environment.git_init(&directory);
    environment.commit_all(&directory);
    directory.join(".git").display().to_string()
}

/// Findings, each as its code.
fn codes(output: &str) -> Vec<String> {
    let report = validated(output);
    let findings = report["roots"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|root| root["findings"].as_array().unwrap());
    let all = findings.chain(report["errors"].as_array().unwrap());
    all.map(|finding| finding["code"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn paths_out_of_the_repository_are_reported_and_not_read() {
    for (name, way, named) in WAYS {
        let repository = project();
        let environment = &repository.environment;
        way(environment);
        for arguments in [
            &["verify"][..],
            &["verify", "-r"],
            &["verify", "-r", "--online"],
            &["verify", "--format", "github"],
        ] {
            let output = environment.provlock(arguments);
            assert!(output.code.is_some_and(|code| code > 0), "{name}: {output}");
            output.assert_lacks(SECRET);
            assert!(
                (output.stdout.clone() + &output.stderr).contains(named),
                "{name}: {output}"
            );
        }
        let output = environment.provlock(["verify", "--json"]);
        output.assert_lacks(SECRET);
        let found = codes(&output.stdout);
        assert!(
            found.iter().any(|code| code == "outside-repository"),
            "{name}: {found:?}"
        );
    }
    survived("a path that leads out of the repository", WAYS.len());
}

#[test]
fn no_command_quotes_what_leads_out() {
    for (name, way, _) in WAYS {
        let repository = project();
        let environment = &repository.environment;
        way(environment);
        for arguments in [
            &["verify", "--allow-outside"][..],
            &["lock", "--offline", "--check"],
            &["lock", "--offline", "--dry-run"],
            &["diff"],
            &["diff", "--format", "unified"],
            &["diff", "--textconv", ".terraform.lock.hcl"],
        ] {
            let output = environment.provlock(arguments);
            // The names of providers and their versions are no quotation.
            let is_named = name == "a configuration" || name == "the lock file";
            if !is_named || arguments[0] == "diff" {
                output.assert_lacks(SECRET);
            }
        }
    }
}

/// Archives and git repositories of this machine are outside, wherever their address leads.
#[test]
fn no_command_quotes_a_package_of_this_machine() {
    let repository = Repository::new();
    let environment = &repository.environment;
    let outside = environment.root().join("outside");
    let broken = (
        "main.tf".to_owned(),
        format!("{SECRET} = {{\n").into_bytes(),
    );
    let deep = ("deep/main.tf".to_owned(), broken.1.clone());
    environment.write(
        outside.join("module.zip"),
        archive::pack(&[broken, deep], Packing::Deflated),
    );
    environment.write(outside.join("git-file"), format!("gitdir: {SECRET}\n"));
    private(environment);
    link(environment, "module.zip", "linked.zip");
    let (outside, inside) = (outside.display(), environment.project());
    let inside = inside.display();
    let attempts = [
        (format!("{outside}/module.zip"), NOT_QUOTED),
        (format!("file://{outside}/module.zip"), NOT_QUOTED),
        (
            format!("file::{outside}/module.zip?archive=zip"),
            NOT_QUOTED,
        ),
        (format!("{outside}/module.zip//deep"), NOT_QUOTED),
        (format!("{inside}/linked.zip?archive=zip"), NOT_QUOTED),
        (format!("git::file://{outside}/private"), NOT_QUOTED),
        (format!("git::{outside}/private?ref=main"), NOT_QUOTED),
        (
            format!("git::file://{outside}/git-file"),
            "git could not fetch it",
        ),
        (format!("git::{outside}/git-file"), "git could not fetch it"),
    ];
    let commands = [
        &["lock", "-p", "linux_amd64"][..],
        &["lock", "--modules", "-p", "linux_amd64", "--json"],
        &["lock", "-p", "linux_amd64", "-vv"],
        &["verify", "--online", "--allow-outside"],
        &["verify", "--online", "--allow-outside", "--format", "sarif"],
        &["upgrade", "--dry-run", "-p", "linux_amd64"],
        &["tree", "--online"],
    ];
    let mut runs = 0;
    for (source, shown) in &attempts {
        let call = format!("module \"m\" {{\n  source = \"{source}\"\n}}\n");
        let unit = format!("terraform {{\n  source = \"{source}\"\n}}\n");
        // Terragrunt takes a plain path for a directory.
        let is_plain = !source.contains("::");
        for (file, text) in [("main.tf", call), ("terragrunt.hcl", unit)]
            .into_iter()
            .take(2 - usize::from(is_plain))
        {
            environment.write(file, text);
            for command in commands {
                let output = environment.provlock(command);
                output.assert_lacks(SECRET);
                assert!(
                    (output.stdout.clone() + &output.stderr).contains(shown),
                    "{source}: {command:?}: {output}"
                );
                runs += 1;
            }
            fs::remove_file(environment.project().join(file)).unwrap();
        }
    }
    survived(
        "an address of a module that leads to files of the machine",
        runs,
    );
}

#[test]
fn it_is_read_if_that_is_allowed() {
    let repository = project();
    let environment = &repository.environment;
    environment.write(
        environment.root().join("outside/main.tf"),
        requires("hashicorp/null", "~> 2.0"),
    );
    link(environment, "main.tf", "main.tf");
    let found = codes(&environment.provlock(["verify", "--json"]).stdout);
    assert!(
        found.iter().any(|code| code == "outside-repository"),
        "{found:?}"
    );
    let allowed = environment.provlock(["verify", "--allow-outside"]);
    allowed
        .assert_code(1)
        .assert_stdout_has("version-outside-constraints")
        .assert_stdout_has("main.tf");
    assert!(!allowed.stdout.contains("source ="), "{allowed}");
}

#[test]
fn without_a_repository_there_is_no_limit() {
    let environment = TestEnvironment::new();
    environment.write(
        "live/main.tf",
        requires("hashicorp/null", "~> 3.0") + "module \"m\" {\n  source = \"../modules/m\"\n}\n",
    );
    environment.write("modules/m/main.tf", requires("hashicorp/null", ">= 3.0"));
    environment.write(
        "live/.terraform.lock.hcl",
        lock_file(&[entry(NULL, "3.2.4", ">= 3.0.0, ~> 3.0", &[H1, ZH])]),
    );
    environment
        .command(["verify"])
        .run_in("live")
        .run()
        .assert_code(0)
        .assert_stderr_has("1 note in .terraform.lock.hcl");
}

#[test]
fn a_root_module_that_is_a_link_does_not_choose_its_repository() {
    let repository = project();
    let environment = &repository.environment;
    fs::create_dir_all(environment.root().join("outside/.git")).unwrap();
    link(environment, "", "live");
    for arguments in [
        &["verify", "live"][..],
        &["verify", "-r", "live"],
        &["-C", "live", "verify"],
    ] {
        let output = environment.provlock(arguments);
        output.assert_lacks(SECRET);
        assert!(output.code.is_some_and(|code| code > 0), "{output}");
        assert!(
            (output.stdout.clone() + &output.stderr).contains("outside-repository"),
            "{output}"
        );
    }
}

#[test]
fn a_root_module_without_a_lock_file_is_no_exception() {
    let repository = Repository::new();
    let environment = &repository.environment;
    environment.write("live/main.tf", "terraform {\n  backend \"s3\" {}\n}\n");
    environment.write(
        environment.root().join("outside/main.tf"),
        requires(&format!("{SECRET}/null"), SECRET),
    );
    link(environment, "main.tf", "tools/main.tf");
    for ignored in ["", ".terraform.lock.hcl\n"] {
        environment.write(".gitignore", ignored);
        for arguments in [
            &["verify", "-r"][..],
            &["verify", "tools"],
            &["verify", "-r", "tools"],
        ] {
            let output = environment.provlock(arguments);
            output
                .assert_code(1)
                .assert_stdout_has("error[outside-repository]: tools/main.tf")
                .assert_lacks(SECRET);
        }
    }
    environment
        .provlock(["verify", "-r", "--allow-outside"])
        .assert_lacks("outside-repository");
}
