//! Rules that users set by `provlock.toml`, comments and flags, and changes of these rules.
//!
//! Findings about the project's policy.

mod allowed_modules;
pub(super) mod policy_changed;
mod severity_overrides;
mod unreadable_settings;

use super::*;
use super::{H1, NOTHING, NULL, entry, found, good, lock, messages, verify};
use crate::lock::{lock_file, requires};
use provlock_test::git::Repository;
use provlock_test::{TestEnvironment, str, survived};

#[test]
fn host_not_allowed() {
    let environment = good();
    environment.write(
        "provlock.toml",
        "[policy]\nallowed-hosts = [\"registry.example.com\"]\n",
    );
    assert_eq!(found(&environment, &[]), ["error host-not-allowed"]);
    environment.write(
        "provlock.toml",
        "[policy]\nallowed-hosts = [\"registry.opentofu.org\"]\n",
    );
    assert_eq!(found(&environment, &[]), NOTHING);
}

#[test]
fn namespace_not_allowed() {
    let environment = good();
    environment.write(
        "provlock.toml",
        "[policy]\nallowed-namespaces = [\"registry.example.com/hashicorp\", \"acme\"]\n",
    );
    assert_eq!(found(&environment, &[]), ["error namespace-not-allowed"]);
    for allowed in ["hashicorp", "registry.opentofu.org/hashicorp"] {
        environment.write(
            "provlock.toml",
            format!("[policy]\nallowed-namespaces = [\"{allowed}\"]\n"),
        );
        assert_eq!(found(&environment, &[]), NOTHING);
    }
}

const PINNED: &str = "[policy]\npin-modules = true\n";

/// A block that calls a module.
fn call(name: &str, arguments: &str) -> String {
    format!("module \"{name}\" {{\n  source = {arguments}\n}}\n")
}

#[test]
fn module_ref_floating() {
    let environment = good();
    let floating = [
        call("default", "\"git::https://example.com/a.git\""),
        call("branch", "\"github.com/acme/b//part?ref=main\""),
        call("newest", "\"acme/network/aws\""),
        call("local", "\"./local\""),
    ];
    environment.write("calls.tf", floating.concat());
    environment.write(
        "local/main.tf",
        call("below", "\"git@example.com:c.git?ref=release/1.2\""),
    );
    assert_eq!(
        found(&environment, &[]),
        ["warning module-not-installed"],
        "not requested"
    );

    environment.write("provlock.toml", PINNED);
    environment.provlock(["verify", "--allow", "module-not-installed,single-platform"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[module-ref-floating]: module "default" has no ref, so the newest commit of the default branch is used
 --> calls.tf:2:12
  |
2 |   source = "git::https://example.com/a.git"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ called here
  |
help: add ?ref= with a full commit ID or the tag of a version

error[module-ref-floating]: module "branch" has the ref "main", which is a branch or may be one
 --> calls.tf:5:12
  |
5 |   source = "github.com/acme/b//part?ref=main"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ called here
  |
help: use a full commit ID, or a tag: refs/tags/NAME unless it looks like a version

error[module-ref-floating]: module "newest" has no version, so the newest is used
 --> calls.tf:8:12
  |
8 |   source = "acme/network/aws"
  |            ^^^^^^^^^^^^^^^^^^ called here
  |
help: add a version such as "1.2.3" or "~> 1.2"

error[module-ref-floating]: module "local.below" has the ref "release/1.2", which is a branch or may be one
 --> local/main.tf:2:12
  |
2 |   source = "git@example.com:c.git?ref=release/1.2"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ called here
  |
help: use a full commit ID, or a tag: refs/tags/NAME unless it looks like a version

----- stderr -----
4 errors in calls.tf and local/main.tf
"#]]);
    let only = |option| {
        found(
            &environment,
            &[
                "--allow",
                "module-not-installed",
                option,
                "module-ref-floating",
            ],
        )
    };
    assert_eq!(only("--warn"), ["warning module-ref-floating"; 4]);
    assert_eq!(only("--allow"), NOTHING);
    std::fs::remove_file(environment.project().join(".terraform.lock.hcl")).unwrap();
    assert!(
        messages(&environment, &[]).contains("module \"newest\" has no version"),
        "no lock file is needed"
    );
}

#[test]
fn module_ref_pinned() {
    let environment = good();
    environment.write("provlock.toml", PINNED);
    let pinned = [
        call(
            "commit",
            "\"git::https://example.com/a.git?ref=0123456789abcdef0123456789abcdef01234567\"",
        ),
        call("tag", "\"github.com/acme/b?ref=v1.2.3\""),
        call("named", "\"github.com/acme/b?ref=refs/tags/stable\""),
        call("version", "\"acme/network/aws\"\n  version = \"~> 1.0\""),
        call(
            "archive",
            &format!(
                "\"https://example.com/a.zip?checksum=sha256:{}\"",
                "0".repeat(64)
            ),
        ),
        call(
            "oci",
            &format!("\"oci://example.com/a?digest=sha256:{}\"", "0".repeat(64)),
        ),
    ];
    environment.write("calls.tf", pinned.concat());
    assert_eq!(
        found(&environment, &["--allow", "module-not-installed"]),
        NOTHING
    );
}

#[test]
fn archives_and_packages_of_oci_registries_are_pinned_by_what_they_hold() {
    let environment = good();
    environment.write("provlock.toml", PINNED);
    for (source, words) in [
        ("https://example.com/a.zip", "an archive without a checksum"),
        (
            "https://example.com/a.zip?checksum=file:https://example.com/SHA256SUMS",
            "an archive without a checksum",
        ),
        (
            "s3::https://s3.amazonaws.com/b/a.zip",
            "an archive without a checksum",
        ),
        ("oci://example.com/a", "has no digest"),
        ("oci://example.com/a?tag=1.0.0", "has no digest"),
        (
            "git::https://example.com/a.git?ref=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "a branch",
        ),
    ] {
        environment.write("calls.tf", call("m", &format!("\"{source}\"")));
        let flags = ["--allow", "module-not-installed"];
        assert_eq!(
            found(&environment, &flags),
            ["error module-ref-floating"],
            "{source}"
        );
        assert!(messages(&environment, &flags).contains(words), "{source}");
    }
}

#[test]
fn calls_of_fetched_modules_need_not_be_pinned() {
    let environment = good();
    environment.write("provlock.toml", PINNED);
    environment.write(
        "calls.tf",
        "module \"m\" {\n  source  = \"acme/m/null\"\n  version = \"1.0.0\"\n}\n",
    );
    let source = "registry.opentofu.org/acme/m/null";
    let manifest = format!(
        r#"{{"Modules":[{{"Key":"","Source":"","Dir":"."}},
            {{"Key":"m","Source":"{source}","Version":"1.0.0","Dir":"theirs"}}]}}"#
    );
    environment.write(".terraform/modules/modules.json", manifest);
    environment.write(
        "theirs/main.tf",
        "module \"n\" {\n  source = \"acme/n/null\"\n}\n",
    );
    assert_eq!(found(&environment, &[]), ["warning module-not-installed"]);
}

#[test]
fn bundled_plugins() {
    let environment = good();
    std::fs::create_dir_all(environment.project().join("terraform.d/plugins")).unwrap();
    assert_eq!(found(&environment, &[]), NOTHING, "the directory is empty");
    environment.write(
        "terraform.d/plugins/linux_amd64/terraform-provider-null_v1.0.0",
        "program",
    );
    std::fs::create_dir_all(
        environment
            .project()
            .join("terraform.d/plugins")
            .join(NULL)
            .join("3.2.4"),
    )
    .unwrap();
    assert_eq!(
        found(&environment, &[]),
        NOTHING,
        "no program of today reads this layout"
    );
    environment.write(
        format!("terraform.d/plugins/{NULL}/3.2.4/linux_amd64/terraform-provider-null"),
        "program",
    );
    assert_eq!(found(&environment, &[]), ["error bundled-plugins"]);
}

#[test]
fn bundled_plugins_of_many_root_modules_are_one_finding() {
    let environment = TestEnvironment::new();
    for root in ["a", "b"] {
        environment.write(
            format!("{root}/main.tf"),
            "terraform {\n  backend \"local\" {}\n}\n",
        );
        let directory = format!("{root}/terraform.d/plugins/{NULL}/3.2.4/linux_amd64");
        environment.write(format!("{directory}/terraform-provider-null"), "program");
    }
    environment.provlock(["verify", "a"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[bundled-plugins]: a/terraform.d/plugins contains packages of hashicorp/null, which are installed instead of the registry's
help: remove this directory, or name a mirror in the CLI configuration

----- stderr -----
1 error in a/.terraform.lock.hcl
"#]]);
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[bundled-plugins]: terraform.d/plugins contains packages of hashicorp/null, which are installed instead of the registry's, in 2 root modules
 |
 = in a and b
help: remove this directory, or name a mirror in the CLI configuration

----- stderr -----
2 errors in a/.terraform.lock.hcl and b/.terraform.lock.hcl
2 root modules: 2 with errors
"#]]);
}

#[test]
fn tracked_data_of_many_root_modules_has_one_command() {
    let Repository { environment, .. } = Repository::new();
    let track = |root: &str| {
        environment.write(
            format!("{root}/main.tf"),
            "terraform {\n  backend \"local\" {}\n}\n",
        );
        environment.write(format!("{root}/.terraform/terraform.tfstate"), "");
        environment.git(".", ["add", "--all"]);
    };
    track("live/a b");
    environment.provlock(["verify", "live/a b"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[tracked-data-directory]: git tracks live/a b/.terraform/terraform.tfstate, which init would trust as installed by itself
help: git rm -r --cached 'live/a b/.terraform', and add .terraform/ to .gitignore

----- stderr -----
1 error in live/a b/.terraform.lock.hcl
"#]]);
    track("live/c");
    environment.provlock(["verify", "-r"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[tracked-data-directory]: git tracks .terraform/terraform.tfstate, which init would trust as installed by itself, in 2 root modules
 |
 = in live/a b and live/c
help: git rm -r --cached 'live/a b/.terraform' live/c/.terraform, and add .terraform/ to .gitignore

----- stderr -----
2 errors in live/a b/.terraform.lock.hcl and live/c/.terraform.lock.hcl
2 root modules: 2 with errors
"#]]);
    let removed = |found: &str| {
        let command = found
            .lines()
            .find_map(|line| line.strip_prefix("help: "))
            .unwrap();
        let words = command
            .strip_suffix(", and add .terraform/ to .gitignore")
            .unwrap()
            .replace('\'', "");
        let (command, paths) = words.split_at("git rm -r --cached".len());
        assert_eq!(command, "git rm -r --cached");
        paths.trim().to_owned()
    };
    let from_above = environment.provlock(["-C", "live", "verify", "-r"]);
    assert_eq!(
        removed(&from_above.stdout),
        "live/a b/.terraform live/c/.terraform"
    );
    (1..=19).for_each(|number| track(&format!("live/{number}")));
    let pattern = removed(&environment.provlock(["verify", "-r"]).stdout);
    environment.git(".", ["rm", "-r", "--quiet", "--cached", &pattern]);
    assert_eq!(
        environment.provlock(["verify", "-r"]).assert_code(0).stdout,
        ""
    );
}

#[test]
fn lookalike() {
    let environment = good();
    environment.write("main.tf", requires("hashlcorp/null", ""));
    lock(
        &environment,
        &[entry(
            "registry.opentofu.org/hashlcorp/null",
            "3.2.4",
            "",
            &[H1],
        )],
    );
    assert_eq!(found(&environment, &[]), ["error look-alike"]);
    environment.write(
        "provlock.toml",
        "[policy]\nallowed-namespaces = [\"hashlcorp\"]\n",
    );
    assert_eq!(
        found(&environment, &[]),
        NOTHING,
        "it is meant as it is written"
    );
}

#[test]
fn a_policy_that_cannot_be_understood_checks_nothing() {
    for line in [
        "[policy]\nallowed-hosts = [\"a b\"]",
        "[policy]\nallowed-namespaces = [\"a/b/c\"]",
        "[trust]\n\"x\" = []",
    ] {
        let environment = good();
        environment.write("provlock.toml", line);
        verify(&environment, &[])
            .assert_code(2)
            .assert_stderr_has("provlock.toml");
    }
}

#[test]
fn providers_are_allowed_denied_and_required_at_versions() {
    let rule = |list: &str, provider: &str, versions: &str| {
        let versions = if versions.is_empty() {
            String::new()
        } else {
            format!("versions = \"{versions}\"\n")
        };
        format!("[[policy.{list}]]\nprovider = \"{provider}\"\n{versions}")
    };
    let (provider, version) = (Some("provider-not-allowed"), Some("version-not-allowed"));
    let cases = [
        (rule("deny", "acme/*", ""), "1.5.0", provider),
        (
            rule("deny", "registry.opentofu.org/acme/gamma", ""),
            "1.5.0",
            provider,
        ),
        (rule("deny", "acme/delta", ""), "1.5.0", None),
        (
            rule("deny", "registry.terraform.io/acme/*", ""),
            "1.5.0",
            None,
        ),
        (rule("deny", "*/*/*", "< 2.1"), "2.0.9", version),
        (rule("deny", "acme/*", "< 2.1"), "2.1.0", None),
        // A prerelease of a denied version is denied, although no constraint would choose it.
        (rule("deny", "acme/*", "< 2.1"), "2.1.0-beta", version),
        (rule("deny", "acme/*", "~> 2.0"), "2.2.0-rc.1", version),
        (
            rule("deny", "acme/*", "1.5.0") + &rule("deny", "acme/gamma", "1.6.0"),
            "1.6.0",
            version,
        ),
        (rule("allow", "acme/gamma", ""), "1.5.0-beta", None),
        (rule("allow", "hashicorp/*", ""), "1.5.0", provider),
        (rule("allow", "acme/gamma", "~> 2.0"), "2.3.0", None),
        (rule("allow", "acme/gamma", "~> 2.0"), "1.5.0", version),
        (rule("allow", "acme/gamma", "~> 2.0"), "2.3.0-beta", version),
        (
            rule("allow", "acme/gamma", "~> 2.0") + &rule("allow", "acme/*", "~> 1.5"),
            "1.5.0",
            None,
        ),
        (
            rule("allow", "acme/*", "") + &rule("deny", "acme/gamma", "1.5.0"),
            "1.5.0",
            version,
        ),
        ("[policy]\nallow = []\n".to_owned(), "1.5.0", provider),
        (rule("require", "acme/gamma", ">= 2"), "2.1.0", None),
        (rule("require", "acme/gamma", ">= 2"), "1.5.0", version),
        (rule("require", "acme/gamma", ">= 2"), "2.2.0-beta", version),
        (rule("require", "acme/delta", ">= 2"), "1.5.0", None),
    ];
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires("acme/gamma", ""));
    let refused = cases.iter().filter(|(_, _, code)| code.is_some()).count();
    for (settings, version, code) in cases {
        environment.write("provlock.toml", &settings);
        let locked = entry("registry.opentofu.org/acme/gamma", version, "", &[H1]);
        environment.write_lock_file(lock_file(&[locked]));
        let expected: Vec<_> = code.iter().map(|code| format!("error {code}")).collect();
        assert_eq!(
            found(
                &environment,
                &["--allow", "single-platform,version-outside-constraints"]
            ),
            expected,
            "{settings}\n{version}"
        );
    }
    survived(
        "a version that the policy does not allow is locked",
        refused,
    );
}

#[test]
fn unlocked_requirements_are_checked_by_their_possible_versions() {
    let rule = |list: &str, versions: &str| {
        format!("[[policy.{list}]]\nprovider = \"acme/gamma\"\nversions = \"{versions}\"\n")
    };
    let (no, some) = (
        Some("error version-not-allowed"),
        Some("warning version-not-allowed"),
    );
    let cases = [
        (rule("deny", "< 2.1"), "1.5.0", no),
        (rule("deny", "< 2.1"), "~> 1.0", no),
        (rule("deny", "< 2.1"), "2.0.0, != 2.1.0", no),
        (rule("deny", "< 2.1"), "2.0.0-beta", no),
        (rule("deny", "< 2.1"), "< 2.1", no),
        (rule("deny", "< 2.1"), "<= 2.1", some),
        (rule("deny", "< 2.1"), "~> 2.0", some),
        (rule("deny", "< 2.1"), "", some),
        (rule("deny", "< 2.1"), "~> 2.1", None),
        (rule("deny", "< 2.1"), ">= 2.1, < 2.1", None),
        (rule("deny", "2.0.0"), "> 1.9, < 2.0.1", some),
        (rule("deny", "< 2.0") + &rule("deny", ">= 2.0"), "", no),
        (
            rule("deny", "< 2.0") + &rule("deny", "> 2.0"),
            "!= 2.0.0",
            no,
        ),
        (rule("deny", "< 2.0") + &rule("deny", "> 2.0"), "", some),
        (rule("require", "~> 2.0"), "~> 1.0", no),
        (rule("require", "~> 2.0"), ">= 1.0", some),
        (rule("require", "~> 2.0"), "~> 2.1", None),
        (
            rule("allow", "~> 2.0") + &rule("allow", "~> 3.0"),
            "~> 1.0",
            no,
        ),
        (
            rule("allow", "~> 2.0") + &rule("allow", "~> 3.0"),
            ">= 2.0, < 4.0",
            None,
        ),
    ];
    let environment = TestEnvironment::new();
    let refused = cases.iter().filter(|(.., code)| *code == no).count();
    for (settings, versions, code) in cases {
        environment.write("provlock.toml", &settings);
        environment.write("main.tf", requires("acme/gamma", versions));
        let found = found(&environment, &["--allow", "lock-file-missing"]);
        assert_eq!(
            found,
            code.into_iter().collect::<Vec<_>>(),
            "{settings}\n{versions}"
        );
    }
    survived(
        "only forbidden versions are required, and none is locked",
        refused,
    );

    environment.write(
        "provlock.toml",
        rule("deny", "< 2.1") + "reason = \"it writes the password to the state\"\n",
    );
    environment.write("main.tf", requires("acme/gamma", "~> 1.2"));
    environment.provlock(["verify", "--allow", "lock-file-missing"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[version-not-allowed]: the policy does not allow any version of acme/gamma that is required (~> 1.2)
 --> main.tf:5:17
  |
5 |       version = "~> 1.2"
  |                 ^^^^^^^^ required here
  |
 ::: provlock.toml:2:12
  |
2 | provider = "acme/gamma"
  |            ------------ this rule is for it
  |
  = the policy denies acme/gamma 1.2.1 (< 2.1.0): it writes the password to the state
help: require versions that the rule allows

----- stderr -----
1 error in main.tf
"#]]);
}

#[test]
fn a_nearer_file_does_not_loosen_the_rules_above() {
    let environment = TestEnvironment::new();
    environment.write(".git/HEAD", "");
    environment.write(
        "provlock.toml",
        "[[policy.deny]]\nprovider = \"acme/*\"\nversions = \">= 2.0\"\n",
    );
    environment.write("a/main.tf", requires("acme/gamma", ""));
    let locked = entry("registry.opentofu.org/acme/gamma", "2.1.0", "", &[H1]);
    environment.write("a/.terraform.lock.hcl", lock_file(&[locked]));
    let attempts = [
        "[[policy.allow]]\nprovider = \"acme/*\"\n",
        "[[policy.require]]\nprovider = \"acme/*\"\nversions = \"2.1.0\"\n",
        "[policy]\ndeny = []\n",
        "[verify]\nallow = [\"version-not-allowed\"]\n",
    ];
    for settings in attempts {
        environment.write("a/provlock.toml", settings);
        let output = environment.provlock(["verify", "a"]);
        assert!(matches!(output.code, Some(1 | 2)), "{settings}\n{output}");
        assert!(
            !output.stdout.is_empty() || !output.stderr.is_empty(),
            "no reason is given: {settings}"
        );
    }
    survived(
        "a nearer settings file loosens the rules for versions",
        attempts.len(),
    );
}

#[test]
fn a_denied_version_is_denied_with_any_build_metadata() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires("acme/gamma", ""));
    let attempts = [
        ("1.0.0", "1.0.0+x"),
        ("= 1.0.0", "1.0.0+1.y"),
        ("<= 1.0.0", "1.0.0+x"),
        ("1.0.0+x", "1.0.0+x"),
    ];
    for (denied, version) in attempts {
        environment.write(
            "provlock.toml",
            format!("[[policy.deny]]\nprovider = \"acme/*\"\nversions = \"{denied}\"\n"),
        );
        environment.write_lock_file(lock_file(&[entry(
            "registry.opentofu.org/acme/gamma",
            version,
            "",
            &[H1],
        )]));
        environment
            .provlock(["verify"])
            .assert_code(1)
            .assert_stdout_has("error[version-not-allowed]: the policy denies");
    }
    survived(
        "a version is denied, and locked with build metadata",
        attempts.len(),
    );
    environment.write(
        "provlock.toml",
        "[[policy.deny]]\nprovider = \"acme/*\"\nversions = \"1.0.0+x\"\n",
    );
    environment.write_lock_file(lock_file(&[entry(
        "registry.opentofu.org/acme/gamma",
        "1.0.0+y",
        "",
        &[H1],
    )]));
    environment
        .provlock(["verify"])
        .assert_code(0)
        .assert_stdout_has("single-platform")
        .assert_lacks("version-not-allowed");
}

#[test]
fn constraints_without_end_are_refused() {
    let environment = TestEnvironment::new();
    environment.write_lock_file(lock_file(&[]));
    let constraints = |first: usize, number: usize| {
        let terms = (first..first + number).map(|patch| format!("!= 1.0.{patch}"));
        terms.collect::<Vec<_>>().join(", ")
    };
    environment.write("main.tf", requires("acme/gamma", &constraints(0, 1_001)));
    environment
        .provlock(["verify"])
        .assert_code(2)
        .assert_stderr_has("there are more than 1000 constraints");
    // Two of them together have more than one may.
    environment.write("main.tf", requires("acme/gamma", &constraints(0, 900)));
    environment.write(
        "more.tf",
        format!(
            "provider \"gamma\" {{\n  version = \"{}\"\n}}\n",
            constraints(1_000, 900)
        ),
    );
    environment
        .provlock(["verify"])
        .assert_lacks("version-not-allowed")
        .assert_stdout_has("gamma");
    environment.write(
        "provlock.toml",
        "[[policy.deny]]\nprovider = \"acme/*\"\nversions = \"4.0.0\"\n",
    );
    environment
        .provlock(["verify"])
        .assert_code(1)
        .assert_stdout_has("has more than 1000 version constraints");
}
