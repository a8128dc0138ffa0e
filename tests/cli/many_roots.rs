//! `provlock lock --recursive`: many root modules at once.

use std::fs;

use super::json_output::validated;
use super::lock::{lock_file, requires};
use provlock_test::git::Repository;
use provlock_test::publish::Published;
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str, url};

pub const PROVIDER: &str = "provider \"null\" {}\nresource \"null_resource\" \"a\" {}\n";
pub const LOCK_ALL: [&str; 4] = ["lock", "-p", "linux_amd64", "--recursive"];

/// Three root modules that require the same provider, one with another beside it, and a module that
/// one calls.
fn roots() -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    registry
        .publish("hashicorp/random", "3.7.2")
        .platforms(["linux_amd64"])
        .done();
    let null = format!("{PROVIDER}{}", requires("hashicorp/null", ""));
    environment.write("a/main.tf", &null);
    environment.write(
        "b/main.tf",
        format!("{null}module \"m\" {{\n  source = \"../modules/m\"\n}}\n"),
    );
    environment.write("deep/c/main.tf", &null);
    environment.write("modules/m/main.tf", requires("hashicorp/random", ""));
    (registry, environment)
}

#[test]
fn all_roots_share_every_request() {
    let (registry, environment) = roots();

    let output = environment.provlock(LOCK_ALL);

    output.matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null     3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in a, b and deep/c
  + hashicorp/random   3.7.2   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in b
Locked 3 root modules: 3 changed, 0 up to date; [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    assert_eq!(
        environment.read("a/.terraform.lock.hcl"),
        environment.read("deep/c/.terraform.lock.hcl")
    );
    assert!(
        environment
            .read("b/.terraform.lock.hcl")
            .contains("hashicorp/random")
    );
    assert!(
        !environment
            .project()
            .join("modules/m/.terraform.lock.hcl")
            .exists()
    );
    for (asked, times) in [
        (url::DISCOVERY, 1),
        (url::VERSIONS, 2),
        (url::DOWNLOAD, 2),
        (url::SHASUMS, 2),
        (url::PACKAGE, 2),
    ] {
        assert_eq!(registry.requests_to(asked), times, "{asked}");
    }
    environment.provlock(LOCK_ALL).matches(str![[r#"
exit code: 0
----- stderr -----
Locked 3 root modules: 0 changed, 3 up to date
"#]]);
    environment
        .provlock(LOCK_ALL.into_iter().chain(["--check"]))
        .assert_code(0);
}

#[test]
fn a_failing_root_does_not_stop_the_others() {
    let (_registry, environment) = roots();
    environment.write(
        "a/main.tf",
        format!("{PROVIDER}{}", requires("hashicorp/null", "> 9.0")),
    );
    environment.write("broken/main.tf", PROVIDER);
    environment.write("broken/other.tf", "locals {\n");

    let output = environment.provlock(LOCK_ALL.into_iter().chain(["--json"]));

    output.matches(str![[r#"
exit code: 2
----- stdout -----
(JSON)
----- stderr -----
  + hashicorp/null     3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in b and deep/c
  + hashicorp/random   3.7.2   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in b
error[no-matching-version]: no version of hashicorp/null meets all constraints: > 9.0.0
 --> a/main.tf:7:17
  |
7 |       version = "> 9.0"
  |                 ^^^^^^^ no version meets > 9.0.0
  |
  = the newest version is 3.2.4
  = root module: a
help: relax one of the constraints

error[invalid-configuration]: the "{" after locals is never closed
 --> broken/other.tf:1:8
  |
1 | locals {
  |        ^
  |
  = root module: broken
Locked 2 of 4 root modules: 2 changed, 0 up to date; 2 failed; [SIZE] downloaded
2 errors
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    let document = validated(&output.stdout);
    let paths: Vec<_> = document["roots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|root| root["path"].as_str().unwrap())
        .collect();
    assert_eq!(
        paths
            .iter()
            .map(|path| path.replace('\\', "/"))
            .collect::<Vec<_>>(),
        ["b", "deep/c", "a", "broken"]
    );
    assert_eq!(document["errors"].as_array().unwrap().len(), 2);
    assert!(!environment.project().join("a/.terraform.lock.hcl").exists());
    assert!(
        environment
            .project()
            .join("deep/c/.terraform.lock.hcl")
            .exists()
    );
}

#[test]
fn a_package_that_fails_stops_the_roots_that_need_it_only() {
    let (registry, environment) = roots();
    registry.fault(
        "*/random/*.zip",
        provlock_test::Times::Always,
        provlock_test::Fault::Status(404),
    );
    let output = environment.provlock(LOCK_ALL);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in a and deep/c
error[request-failed]: cannot get registry.opentofu.org/hashicorp/random 3.7.2 for linux_amd64: https://registry.opentofu.org/files/registry.opentofu.org/hashicorp/random/3.7.2/terraform-provider-random_3.7.2_linux_amd64.zip was not found (404)
 |
 = root module: b
Locked 2 of 3 root modules: 2 changed, 0 up to date; 1 failed; [SIZE] downloaded
1 error
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    assert!(!environment.project().join("b/.terraform.lock.hcl").exists());
}

#[test]
fn paths_and_providers_narrow_what_is_locked() {
    let (_registry, environment) = roots();
    environment
        .provlock(["lock", "-p", "linux_amd64", "-r", "deep", "a"])
        .assert_code(0);
    assert!(!environment.project().join("b/.terraform.lock.hcl").exists());
    environment
        .provlock(["lock", "-rp", "linux_amd64", "hashicorp/random"])
        .assert_code(0);
    let text = environment.read("b/.terraform.lock.hcl");
    assert!(
        text.contains("hashicorp/random") && !text.contains("hashicorp/null"),
        "{text}"
    );
    let unknown = environment.provlock(["lock", "-p", "linux_amd64", "hashicorp/nil", "-r"]);
    unknown.matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: no root module requires hashicorp/nil, and there is no directory of that name
help: correct its name, or require it in a configuration first
"#]]);
    environment.write("none/readme.md", "");
    environment.provlock(["lock", "-r", "none"]).matches(str![[r#"
exit code: 0
----- stderr -----
No root module in none or below: none has a backend, a lock file, or providers that it configures and uses; to use one anyway, name its directory here or in [roots] of provlock.toml
"#]]);
}

#[test]
fn check_finds_the_roots_that_would_change() {
    let (_registry, environment) = roots();
    environment
        .provlock(["lock", "-p", "linux_amd64", "-r", "a"])
        .assert_code(0);
    let before = environment.snapshot();
    let output = environment.provlock(LOCK_ALL.into_iter().chain(["--check"]));
    output.matches(str![[r#"
exit code: 1
----- stderr -----
  + hashicorp/null     3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in b and deep/c
  + hashicorp/random   3.7.2   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in b
Would lock 3 root modules: 2 changed, 1 up to date; [SIZE] downloaded
"#]]);
    before.assert_same(&environment.snapshot());
}

#[test]
fn an_invalid_platform_is_one_error_in_every_command() {
    let (_registry, environment) = roots();
    let before = environment.snapshot();
    for command in [
        &["lock", "-r"][..],
        &["upgrade", "-r"],
        &["verify", "-r"],
        &["merge", "a/main.tf"],
    ] {
        let output = environment.provlock([command, &["-p", "linux_amd64,linux-arm64"]].concat());
        output.assert_code(2);
        assert_eq!(
            output
                .stderr
                .matches("\"linux-arm64\" is not a platform")
                .count(),
            1,
            "{output}"
        );
    }
    before.assert_same(&environment.snapshot());
}

#[test]
fn root_modules_of_both_dialects_share_a_module() {
    let (registry, environment) = Registry::with_project();
    let mut published = Vec::new();
    for (host, size) in [
        ("registry.opentofu.org", 300),
        ("registry.terraform.io", 400),
    ] {
        for version in ["3.1.0", "3.2.4"] {
            let null = registry.publish(&format!("{host}/hashicorp/null"), version);
            published.push(null.platforms(["linux_amd64"]).size(size).done());
        }
    }
    for root in ["open", "terra"] {
        environment.write(
            format!("{root}/main.tf"),
            "module \"m\" {\n  source = \"../modules/m\"\n}\n",
        );
        environment.write(
            format!("{root}/backend.tf"),
            "terraform {\n  backend \"local\" {}\n}\n",
        );
    }
    environment.write("terra/provlock.toml", "dialect = \"terraform\"\n");
    // OpenTofu reads versions.tofu in the place of versions.tf.
    environment.write(
        "modules/m/versions.tf",
        requires("hashicorp/null", "~> 3.1.0"),
    );
    environment.write(
        "modules/m/versions.tofu",
        requires("hashicorp/null", "~> 3.2"),
    );

    let output = environment.provlock(LOCK_ALL.into_iter().chain(["--json"]));

    output.matches(str![[r#"
exit code: 0
----- stdout -----
(JSON)
----- stderr -----
  + hashicorp/null   3.1.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in terra
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in open
Locked 2 root modules: 2 changed, 0 up to date; [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    let entries =
        |published: &Published, constraints| published.lock_file(constraints, &["linux_amd64"]);
    assert_eq!(
        environment.read("open/.terraform.lock.hcl"),
        entries(&published[1], "~> 3.2")
    );
    let terra = entries(&published[2], "~> 3.1.0").replace("\"tofu init\"", "\"terraform init\"");
    assert_eq!(environment.read("terra/.terraform.lock.hcl"), terra);
    let document = validated(&output.stdout);
    let dialects: Vec<_> = document["roots"]
        .as_array()
        .unwrap()
        .iter()
        .map(|root| &root["dialect"])
        .collect();
    assert_eq!(dialects, ["tofu", "terraform"]);
    for asked in [url::DISCOVERY, url::VERSIONS, url::PACKAGE] {
        assert_eq!(
            registry.requests_to(asked),
            2,
            "each registry is asked once: {asked}"
        );
    }
    environment
        .provlock(LOCK_ALL.into_iter().chain(["--check"]))
        .assert_code(0);
    environment
        .provlock(LOCK_ALL.into_iter().chain(["--offline", "--check"]))
        .assert_code(0);
    environment
        .provlock(["verify", "-r", "-p", "linux_amd64"])
        .assert_code(0);
    // Both have a name for it, whatever the registry.
    let named = environment.provlock(["upgrade", "-p", "linux_amd64", "hashicorp/null", "-r"]);
    named.matches(str![[r#"
exit code: 0
----- stderr -----
Upgraded 2 root modules: 0 changed, 1 up to date, 1 held back
hashicorp/null is held back from 3.2.4 by modules/m/versions.tf:5  ~> 3.1.0
1 provider held back from the newest version; see: provlock upgrade -r --check hashicorp/null -p linux_amd64
"#]]);
}

/// Files are being written when the signal comes, if it does not come too late.
#[test]
#[cfg(unix)]
fn an_interrupt_leaves_no_temporary_file() {
    use std::os::unix::process::ExitStatusExt as _;

    use rustix::process::{Pid, Signal, kill_process};

    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    let roots: Vec<_> = (0..400)
        .map(|number| environment.project().join(format!("r{number}")))
        .collect();
    for root in &roots {
        environment.write(
            root.join("main.tf"),
            format!("{PROVIDER}{}", requires("hashicorp/null", "")),
        );
    }
    for signal in [
        Signal::INT,
        Signal::TERM,
        Signal::HUP,
        Signal::QUIT,
        Signal::INT,
        Signal::HUP,
    ] {
        let mut child = environment.command(LOCK_ALL).spawn();
        provlock_test::run_until(&mut child, || roots[0].join(".terraform.lock.hcl").exists());
        let _ = kill_process(Pid::from_child(&child), signal);
        let status = provlock_test::wait(&mut child);
        assert!(
            status.success() || status.signal() == Some(signal.as_raw()),
            "{status}"
        );
        assert!(
            roots[0].join(".terraform.lock.hcl").exists(),
            "nothing was locked before {signal:?}"
        );
        for file in roots
            .iter()
            .flat_map(|root| std::fs::read_dir(root).unwrap())
            .map(|file| file.unwrap().path())
        {
            match file.file_name().unwrap().to_str().unwrap() {
                "main.tf" => {}
                ".terraform.lock.hcl" => std::fs::remove_file(file).unwrap(),
                _ => panic!("{} was left by {signal:?}", file.display()),
            }
        }
    }
}

#[test]
fn the_settings_select_among_root_modules_and_make_those_that_they_name() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    environment.write("live/none/main.tf", requires("hashicorp/null", ""));
    environment.write("modules/m/main.tf", requires("hashicorp/null", ""));
    environment.write("provlock.toml", "[roots]\nexclude = [\"other/*\"]\n");
    for command in [
        &["lock", "-r"][..],
        &["upgrade", "-r"],
        &["verify", "--recursive"],
    ] {
        let output = environment.provlock(command);
        output.assert_code(0).assert_stderr_has(
            "No root module in . or below: none has a backend, a lock file, or ",
        );
        output.assert_stderr_has("name its directory here or in [roots] of provlock.toml");
    }
    environment.write(
        "provlock.toml",
        "[roots]\ninclude = [\"live/none\", \"./modules/m/\"]\nexclude = [\"modules/m\"]\n",
    );
    environment.provlock(LOCK_ALL).assert_code(0);
    assert!(
        environment
            .project()
            .join("live/none/.terraform.lock.hcl")
            .exists()
    );
    assert!(
        !environment
            .project()
            .join("modules/m/.terraform.lock.hcl")
            .exists(),
        "left out, so not meant"
    );
}

#[test]
fn a_pattern_of_the_settings_makes_root_modules_of_what_it_matches() {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    let calls = "module \"m\" {\n  source = \"../called\"\n}\n";
    for (path, text) in [
        ("live/a/main.tf", calls),
        ("live/b/main.tf", &requires("hashicorp/null", "")),
        ("live/called/main.tf", &requires("hashicorp/null", "")),
        ("live/examples/x/main.tf", "locals {}\n"),
        ("live/left/main.tf", "locals {}\n"),
        ("live/readme/README.md", ""),
        (
            "live/unit/terragrunt.hcl",
            "terraform {\n  source = \"../../modules/m\"\n}\n",
        ),
        ("modules/m/main.tf", &requires("hashicorp/null", "")),
        (
            "provlock.toml",
            "[roots]\ninclude = [\"live/**\"]\nexclude = [\"**/left\"]\n",
        ),
    ] {
        environment.write(path, text);
    }
    environment.provlock(LOCK_ALL).assert_code(0);
    let mut locked: Vec<_> = ["a", "b", "called", "examples/x", "left", "readme", "unit"].into();
    locked.retain(|name| {
        environment
            .project()
            .join("live")
            .join(name)
            .join(".terraform.lock.hcl")
            .exists()
    });
    assert_eq!(
        locked,
        ["a", "b", "examples/x", "unit"],
        "what another module calls is a module"
    );
    assert!(
        !environment
            .project()
            .join("modules/m/.terraform.lock.hcl")
            .exists()
    );
}

#[test]
fn a_directory_that_is_named_is_a_root_module_whatever_is_in_it() {
    let (_registry, environment) = roots();
    environment.provlock(["lock", "-p", "linux_amd64", "modules/m"]).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/random   3.7.2   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    assert!(
        environment
            .project()
            .join("modules/m/.terraform.lock.hcl")
            .exists()
    );
    assert!(!environment.project().join("a/.terraform.lock.hcl").exists());
    environment
        .provlock([
            "lock",
            "-p",
            "linux_amd64",
            "hashicorp/null",
            "deep/c",
            "./a",
            "-q",
        ])
        .assert_code(0);
    assert_eq!(
        environment.read("a/.terraform.lock.hcl"),
        environment.read("deep/c/.terraform.lock.hcl")
    );
    assert!(!environment.project().join("b/.terraform.lock.hcl").exists());
    // A directory of the name of a provider is one.
    environment.write("hashicorp/random/main.tf", requires("hashicorp/null", ""));
    environment
        .provlock(["lock", "-p", "linux_amd64", "hashicorp/random"])
        .assert_code(0);
    assert!(
        environment
            .read("hashicorp/random/.terraform.lock.hcl")
            .contains("hashicorp/null")
    );
    let missing = environment.provlock(["lock", "./gone"]);
    missing
        .assert_code(2)
        .assert_stderr_has("cannot open ./gone: ");
}

#[test]
fn an_error_about_a_directory_that_is_named_has_commands_for_it() {
    let (_registry, environment) = roots();
    environment.write("a/main.tf", requires("hashicorp/null", "> 9.0"));
    environment
        .provlock(["lock", "a"])
        .assert_code(2)
        .assert_lacks("root module:");
    environment.provlock(["upgrade", "hashicorp/null@3.2.4", "a"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[version-outside-constraints]: hashicorp/null cannot be 3.2.4, because the configuration requires > 9.0.0
 --> a/main.tf:5:17
  |
5 |       version = "> 9.0"
  |                 ^^^^^^^ asked for here
  |
help: change the constraints: provlock -C a upgrade --constraints hashicorp/null@3.2.4
"#]]);
}

#[test]
fn where_there_is_no_configuration_root_modules_below_are_proposed() {
    let environment = TestEnvironment::new();
    environment
        .provlock(["lock"])
        .assert_code(2)
        .assert_stderr_has("find all root modules below with --recursive");
    for root in ["a", "b"] {
        environment.write(
            format!("live/{root}/main.tf"),
            format!("{PROVIDER}{}", requires("hashicorp/null", "")),
        );
    }
    environment.provlock(["lock"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[no-configuration]: . contains no configuration, but there are 2 root modules below
help: select all of them with --recursive (-r), or one of them, such as live/a
"#]]);
    environment
        .provlock(["upgrade", "live", "--check"])
        .assert_code(2)
        .assert_stderr_has("such as live/a");

    // A directory with a lock file and no configuration is no root module, neither here nor below.
    environment.write("live/.terraform.lock.hcl", "");
    environment.write("live/A/.terraform.lock.hcl", "");
    for arguments in [["lock", "live"], ["get", "live"]] {
        environment
            .provlock(arguments)
            .assert_code(2)
            .assert_stderr_has("there are 2 root modules below")
            .assert_stderr_has("such as live/a");
    }
    fs::remove_dir_all(environment.project().join("live/b")).unwrap();
    environment
        .provlock(["lock", "live"])
        .assert_code(2)
        .assert_stderr_has("there is 1 root module below");
}

#[test]
fn shared_downloads_are_counted_once() {
    let (_registry, environment) = roots();
    let alone = environment.provlock([
        "-C",
        "a",
        "lock",
        "-p",
        "linux_amd64",
        "--no-cache",
        "--dry-run",
    ]);
    let size = alone
        .assert_code(0)
        .stderr
        .split("; ")
        .last()
        .unwrap()
        .trim_end();
    assert!(size.ends_with(" downloaded"), "{alone}");
    std::fs::remove_dir_all(environment.project().join("b")).unwrap();

    let many = environment.provlock([&LOCK_ALL[..], &["--no-cache"]].concat());

    many.matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in a and deep/c
Locked 2 root modules: 2 changed, 0 up to date; [SIZE] downloaded
Locked for OpenTofu (registry.opentofu.org), the only program in PATH; --dialect terraform changes that
"#]]);
    assert_eq!(many.stderr.matches("downloaded").count(), 1, "{many}");
}

/// Commands in help are for all root modules that a finding is about.
#[test]
fn help_names_all_root_modules() {
    let repository = Repository::new();
    let environment = &repository.environment;
    for (root, more) in [
        ("a", ""),
        ("b", "provider \"random\" {}\n"),
        ("c", "provider \"tls\" {}\n"),
    ] {
        environment.write(
            format!("{root}/main.tf"),
            format!("terraform {{\n  backend \"s3\" {{}}\n}}\n{more}"),
        );
        environment.write(
            format!("{root}/versions.tf"),
            requires("hashicorp/null", ""),
        );
    }
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[lock-file-missing]: .terraform.lock.hcl is missing, and the configuration requires providers, in 3 root modules
 --> a/versions.tf:4:16
  |
4 |       source = "hashicorp/null"
  |                ^^^^^^^^^^^^^^^^ required here
  |
  = also in b and c
help: provlock lock -r -p all

----- stderr -----
3 errors in 3 files
3 root modules: 3 with errors
"#]]);
    for root in ["a", "b", "c"] {
        environment.write(format!("{root}/main.tf"), "");
        environment.write(format!("{root}/versions.tf"), "");
        environment.write(format!("{root}/.terraform.lock.hcl"), lock_file(&[]));
    }
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 0
----- stdout -----
warning[untracked-lock-file]: git does not track .terraform.lock.hcl, in 3 root modules
--> a/.terraform.lock.hcl:1:1
 = also in b and c
help: git add a/.terraform.lock.hcl b/.terraform.lock.hcl c/.terraform.lock.hcl

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
3 warnings in 3 files
3 root modules: 3 with warnings
"#]]);
    let add = "help: git add live/a/.terraform.lock.hcl live/b/.terraform.lock.hcl live/c/.terraform.lock.hcl\n";
    let live = environment.project().join("live");
    std::fs::create_dir(&live).unwrap();
    for root in ["a", "b", "c"] {
        std::fs::rename(environment.project().join(root), live.join(root)).unwrap();
    }
    environment
        .provlock(["-C", "live", "verify", "-r"])
        .assert_stdout_has(add);
    for root in 1..=20 {
        environment.write(format!("live/{root}/main.tf"), "");
        environment.write(format!("live/{root}/.terraform.lock.hcl"), lock_file(&[]));
    }
    environment
        .provlock(["verify", "-r"])
        .assert_stdout_has("help: git add '*.terraform.lock.hcl'\n");
}

/// A lock file without configuration is a warning, as in `verify`, and does not stop the others.
#[test]
fn a_lock_file_without_a_configuration_stays_as_it_is() {
    let (registry, environment) = Registry::with_project();
    let null = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    environment.write(
        "a/main.tf",
        requires("hashicorp/null", "") + "terraform {\n  backend \"s3\" {}\n}\n",
    );
    let stale = null.lock_file("", &["linux_amd64"]);
    environment.write("stale/.terraform.lock.hcl", &stale);
    for command in ["lock", "upgrade"] {
        let output = environment.provlock([command, "-r", "-p", "linux_amd64"]);
        output.assert_code(0).assert_stderr_has(
            "warning[no-configuration]: there is no configuration beside stale/",
        );
        assert_eq!(environment.read("stale/.terraform.lock.hcl"), stale);
        assert!(environment.read("a/.terraform.lock.hcl").contains("3.2.4"));
        environment
            .provlock([command, "-p", "linux_amd64", "stale"])
            .assert_code(2);
    }
    // Nothing tells the user to lock it, either.
    let verify = environment.provlock(["verify", "stale"]);
    verify
        .assert_code(0)
        .assert_stdout_has("note[single-platform]")
        .assert_lacks("provlock -C stale lock");
    environment.provlock(["lock", "-r", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
warning[no-configuration]: there is no configuration beside stale/.terraform.lock.hcl, so it was left as it is
--> stale/.terraform.lock.hcl:1:1
 |
help: remove the lock file, unless a configuration is put beside it later
Locked 2 root modules: 0 changed, 2 up to date
1 warning
"#]]);
    environment.provlock(["upgrade", "-r", "-p", "linux_amd64", "--check"]).matches(str![[r#"
exit code: 0
----- stderr -----
warning[no-configuration]: there is no configuration beside stale/.terraform.lock.hcl, so it was left as it is
--> stale/.terraform.lock.hcl:1:1
 |
help: remove the lock file, unless a configuration is put beside it later
2 root modules: 0 can move, 2 up to date
1 warning
Not compared with the published release: 3 recorded hashes; to compare all: provlock verify -r --online
"#]]);
}
