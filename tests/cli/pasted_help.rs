//! Commands in help are pasted into a shell, and so is the command in the help of each of these
//! runs, until nothing is left to do.

use provlock_test::files::{entry, lock_file};
use provlock_test::{Output, Registry, TestEnvironment};

use super::lock::requires;

const LINUX: &str = "linux_amd64";
const BOTH: [&str; 2] = ["linux_amd64", "darwin_arm64"];
/// A well-formed hash that no package has.
const NO_H1: &str = "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

/// Commands in the help of a run, without the words around them.
fn proposed(output: &Output) -> Vec<String> {
    let lines = output.stdout.lines().chain(output.stderr.lines());
    let helps = lines.filter_map(|line| line.trim_start().strip_prefix("help: "));
    let mut commands = Vec::new();
    for help in helps {
        let starts = ["provlock ", "git "].map(|program| help.find(program));
        let Some(start) = starts.into_iter().flatten().min() else {
            continue;
        };
        let ends = ["; ", ", or ", ", and ", ", unless "].map(|words| help[start..].find(words));
        let end = ends.into_iter().flatten().min();
        commands.push(match end {
            Some(end) => help[start..start + end].to_owned(),
            None => help[start..].to_owned(),
        });
    }
    commands
}

/// Runs a command, pastes each command that its help proposes, and so on. Fails if a command is
/// proposed twice, or if the first command still fails at the end. Returns the pasted commands.
#[track_caller]
fn followed(environment: &TestEnvironment, arguments: &[&str]) -> Vec<String> {
    let mut pasted = Vec::new();
    let mut output = environment.provlock(arguments);
    assert_ne!(
        output.code,
        Some(0),
        "there is nothing to follow:\n{output}"
    );
    while output.code != Some(0) {
        let commands = proposed(&output);
        assert!(!commands.is_empty(), "no help after {pasted:?}:\n{output}");
        for command in commands {
            assert!(
                !pasted.contains(&command),
                "a circle, {pasted:?}:\n{output}"
            );
            output = environment.paste(&command);
            pasted.push(command);
        }
    }
    environment.provlock(arguments).assert_code(0);
    pasted
}

/// A root module with acme/gamma 1.0.0 locked, and both 1.0.0 and 2.0.0 published.
fn two_versions(constraint: &str, locked: &str) -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    for version in ["1.0.0", "2.0.0"] {
        let published = registry.publish("acme/gamma", version);
        let published = published.platforms(BOTH).done();
        if version == locked {
            environment.write_lock_file(published.lock_file(constraint, &BOTH));
        }
    }
    environment.write("main.tf", requires("acme/gamma", constraint));
    (registry, environment)
}

#[test]
fn an_upgrade_to_a_version_outside_of_the_constraints_ends() {
    let (_registry, environment) = two_versions("~> 1.0", "1.0.0");
    assert_eq!(
        followed(&environment, &["upgrade", "acme/gamma@2.0.0"]),
        ["provlock upgrade --constraints acme/gamma@2.0.0"]
    );
    assert_eq!(
        followed(&environment, &["upgrade", "acme/gamma@1.0.0"]),
        ["provlock upgrade --constraints --allow-downgrade acme/gamma@1.0.0"],
        "a lower version needs both flags"
    );
}

#[test]
fn a_refused_downgrade_keeps_the_flag_that_rewrites_constraints() {
    let (_registry, environment) = two_versions("~> 2.0", "2.0.0");
    assert_eq!(
        followed(
            &environment,
            &["upgrade", "--constraints", "acme/gamma@1.0.0"]
        ),
        ["provlock upgrade --constraints --allow-downgrade acme/gamma@1.0.0"]
    );
}

#[test]
fn given_flags_are_kept() {
    let (_registry, environment) = two_versions("~> 1.0", "1.0.0");
    let arguments = [
        "upgrade",
        "-p",
        "linux_amd64,darwin_arm64",
        "--cache-dir",
        "cache",
        "--var",
        "name=a b",
        "acme/gamma@2.0.0",
        "--prune",
    ];
    assert_eq!(
        followed(&environment, &arguments),
        [
            "provlock upgrade --constraints acme/gamma@2.0.0 --cache-dir cache \
            -p linux_amd64,darwin_arm64 --prune --var 'name=a b'"
        ]
    );

    // `lock` adds platforms, `verify` checks them, and an upgrade would replace the others.
    environment.write("main.tf", requires("acme/gamma", "~> 1.0"));
    assert_eq!(
        followed(
            &environment,
            &["lock", "--prune", "-p", LINUX, "--no-tests"]
        ),
        ["provlock upgrade acme/gamma --no-tests"]
    );
    environment.write("main.tf", requires("acme/gamma", "~> 2.0"));
    assert_eq!(
        followed(&environment, &["verify", "-p", LINUX, "--no-tests"]),
        ["provlock upgrade acme/gamma --no-tests"]
    );
}

#[test]
fn given_paths_are_those_of_the_directory_of_the_command() {
    let (_registry, environment) = two_versions("~> 1.0", "1.0.0");
    for file in ["main.tf", ".terraform.lock.hcl"] {
        environment.write(format!("live/{file}"), environment.read(file));
    }
    environment.write("values.tfvars", "");
    environment.write("live/main.tf", requires("acme/gamma", "~> 2.0"));
    let root = environment.project();
    let expected = format!(
        "provlock -C live upgrade acme/gamma --var-file {}",
        root.join("values.tfvars").display()
    );
    assert_eq!(
        followed(
            &environment,
            &["lock", "live", "--var-file", "values.tfvars"]
        ),
        [expected]
    );
}

#[test]
fn named_providers_are_kept() {
    let (registry, environment) = Registry::with_project();
    for provider in ["acme/gamma", "acme/other"] {
        let published = registry
            .publish(provider, "1.0.0")
            .platforms([LINUX])
            .done();
        assert!(!published.h1(LINUX).is_empty());
    }
    environment.write(
        "main.tf",
        requires("acme/gamma", "") + &requires("acme/other", ""),
    );
    environment.write(
        "main.tf",
        "terraform {\n  required_providers {\n    gamma = { source = \"acme/gamma\" }\n    \
            other = { source = \"acme/other\" }\n  }\n}\n",
    );
    let output = environment.provlock(["lock", "acme/gamma", "-p", "windows_amd64"]);
    assert_eq!(proposed(&output), ["provlock lock -p all acme/gamma"]);
    environment
        .paste("provlock lock -p all acme/gamma")
        .assert_code(0);
    assert!(!environment.lock_file().contains("acme/other"));
    let output = environment.provlock(["upgrade", "acme/gamma@1.0.0", "-p", "windows_amd64"]);
    assert_eq!(
        proposed(&output),
        ["provlock upgrade -p all acme/gamma@1.0.0"]
    );
}

#[test]
fn a_withdrawn_version_that_is_pinned_exactly_moves() {
    for (constraint, locked, published, expected) in [
        (
            "1.0.0",
            "1.0.0",
            "1.1.0",
            "upgrade --constraints acme/gamma",
        ),
        (
            "1.0.0",
            "1.0.0",
            "0.9.0",
            "upgrade --constraints --allow-downgrade acme/gamma@0.9.0",
        ),
        ("~> 1.0", "1.2.0", "1.3.0", "upgrade acme/gamma"),
        (
            "~> 1.0",
            "1.2.0",
            "1.1.0",
            "upgrade --allow-downgrade acme/gamma",
        ),
    ] {
        for command in [&["lock"][..], &["verify", "--online"]] {
            let (_registry, environment, _) =
                Registry::with_required("acme/gamma", published, [LINUX], constraint);
            let address = "registry.opentofu.org/acme/gamma";
            let entry = entry(address, locked, constraint, &[NO_H1]);
            environment.write_lock_file(lock_file(&[entry]));
            environment.write("provlock.toml", "platforms = [\"linux_amd64\"]\n");
            assert_eq!(
                followed(&environment, command),
                [format!("provlock {expected}")],
                "{constraint} {published}"
            );
        }
    }
}

#[test]
fn a_version_that_the_policy_forbids_and_that_is_pinned_exactly_moves() {
    let (_registry, environment) = two_versions("1.0.0", "1.0.0");
    environment.write(
        "provlock.toml",
        "[[policy.deny]]\nprovider = \"acme/gamma\"\nversions = \"< 2.0\"\n",
    );
    assert_eq!(
        followed(&environment, &["lock"]),
        ["provlock upgrade --constraints acme/gamma"]
    );
}

#[test]
fn a_platform_that_no_version_has_is_replaced_by_all_that_exist() {
    let (_registry, environment, _) =
        Registry::with_required("acme/gamma", "1.0.0", [LINUX, "windows_amd64"], "");
    let output = environment.provlock(["lock", "-p", "linux_amd64,darwin_arm64"]);
    assert_eq!(proposed(&output), ["provlock lock -p all"]);
    environment.paste("provlock lock -p all").assert_code(0);
    environment.provlock(["verify"]).assert_code(0);
}

#[test]
fn each_root_module_is_locked_in_its_own_dialect() {
    let (registry, environment) = Registry::with_project();
    for host in ["registry.opentofu.org", "registry.terraform.io"] {
        let null = registry.publish("hashicorp/null", "3.0.0").on_host(host);
        assert!(!null.platforms([LINUX]).done().h1(LINUX).is_empty());
    }
    let backend = "terraform {\n  backend \"s3\" {}\n}\n";
    for root in ["a", "b", "d"] {
        environment.write(format!("{root}/main.tf"), backend);
    }
    for root in ["a", "b"] {
        environment.write(
            format!("{root}/versions.tf"),
            requires("hashicorp/null", ""),
        );
    }
    // A root module that needs no lock file is not in the way.
    environment.write("e/main.tf", backend);
    environment.git_init(".");
    environment.commit_all(".");
    // No tracked file mentions OpenTofu.
    environment.write("d/versions.tofu", requires("hashicorp/null", ""));
    assert_eq!(
        followed(&environment, &["verify", "-r"]),
        [
            "provlock lock a b -p all --dialect terraform",
            "provlock -C d lock -p all"
        ]
    );
    let tofu = environment.read("d/.terraform.lock.hcl");
    assert!(
        tofu.contains("registry.opentofu.org/hashicorp/null"),
        "{tofu}"
    );
}

#[test]
fn one_command_locks_all_root_modules_that_need_a_lock_file() {
    let (_registry, environment, _) = Registry::with_required("acme/gamma", "1.0.0", [LINUX], "");
    std::fs::remove_file(environment.project().join("main.tf")).unwrap();
    let backend = "terraform {\n  backend \"s3\" {}\n}\n";
    for number in 0..25 {
        let text = requires("acme/gamma", "") + backend;
        environment.write(format!("live/{number}/main.tf"), text);
    }
    environment.write("live/none/main.tf", backend);
    assert_eq!(
        followed(&environment, &["verify", "-r"]),
        ["provlock lock -r -p all"]
    );
}

#[test]
fn git_adds_the_lock_file_that_exists() {
    let (_registry, environment, gamma) = Registry::with_required("acme/gamma", "1.0.0", BOTH, "");
    environment.write("module/main.tf", environment.read("main.tf"));
    std::fs::remove_file(environment.project().join("main.tf")).unwrap();
    let lock_file = gamma.lock_file("", &BOTH);
    environment.write("module/.terraform.lock.hcl", &lock_file);
    environment.write(
        "unit/terragrunt.hcl",
        "terraform {\n  source = \"../module\"\n}\n",
    );
    environment.write(
        "root/main.tf",
        requires("acme/gamma", "") + "terraform {\n  backend \"s3\" {}\n}\n",
    );
    environment.git_init(".");
    environment.commit_all(".");
    environment.git(".", ["rm", "-q", "--cached", "module/.terraform.lock.hcl"]);
    environment.write("root/.terraform.lock.hcl", &lock_file);
    assert_eq!(
        followed(
            &environment,
            &["verify", "-r", "--deny", "untracked-lock-file"]
        ),
        ["git add root/.terraform.lock.hcl module/.terraform.lock.hcl"]
    );
    environment.git(".", ["rm", "-q", "--cached", "module/.terraform.lock.hcl"]);
    assert_eq!(
        followed(
            &environment,
            &["verify", "unit", "--deny", "untracked-lock-file"]
        ),
        ["git add module/.terraform.lock.hcl"]
    );
}

#[test]
fn variables_are_kept_between_verify_and_lock() {
    let (_registry, environment, _) = Registry::with_required("acme/gamma", "1.0.0", [LINUX], "");
    environment.write(
        "main.tf",
        "variable \"which\" {}\nmodule \"m\" {\n  source = \"./${var.which}\"\n}\n",
    );
    environment.write("one/main.tf", requires("acme/gamma", ""));
    assert_eq!(
        followed(&environment, &["verify", "--var", "which=one"]),
        ["provlock lock -p all --var which=one"]
    );
}

#[test]
fn a_unit_gets_no_advice_to_install_modules() {
    let environment = TestEnvironment::new();
    environment.write(
        "unit/terragrunt.hcl",
        "terraform {\n  source = \"../module\"\n}\n",
    );
    environment.write(
        "module/main.tf",
        "module \"m\" {\n  source  = \"acme/m/null\"\n  version = \"1.0.0\"\n}\n",
    );
    environment.write("unit/.terraform.lock.hcl", "");
    let unsupported = "module \"m\" {\n  source = \"hg::https://example.com/m\"\n}\n";
    environment.write("other/module/main.tf", unsupported);
    environment.write(
        "other/unit/terragrunt.hcl",
        "terraform {\n  source = \"../module\"\n}\n",
    );
    for arguments in [
        &["verify", "unit"][..],
        &["lock", "unit", "--no-fetch-modules"],
        &["lock", "unit", "--offline"],
        &["upgrade", "--check", "unit", "--no-fetch-modules"],
        &["lock", "other/unit"],
    ] {
        let output = environment.provlock(arguments);
        let shown = output.stdout.clone() + &output.stderr;
        for advice in ["tofu get", "tofu init", "terraform get"] {
            output.assert_lacks(advice);
        }
        assert!(shown.contains("help: "), "{output}");
    }
}
