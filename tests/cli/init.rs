//! `init` writes the settings by which anything new is an error.

mod existing_file;
mod locked;

use super::json_output::{follows, validated};
use super::lock::requires;
use provlock_test::git::Repository;
use provlock_test::keys::{Key, OTHER, RSA, SUBKEY};
use provlock_test::publish::Flaw;
use provlock_test::{Fault, Registry, TestEnvironment, Times, str, survived};

const FILE: &str = "provlock.toml";
const ROOTS: [&str; 3] = ["live/a", "live/b", "live/c"];
const HONEST: [&str; 2] = ["acme/gamma", "acme/delta"];

fn publish(registry: &Registry, provider: &str, version: &str, key: &'static Key) {
    registry
        .publish(provider, version)
        .platforms(["linux_amd64", "darwin_arm64"])
        .signed_by(key)
        .done();
}

/// A registry whose honest publisher has a key, and in which others publish, too.
fn registry() -> Registry {
    let registry = Registry::start();
    for provider in HONEST {
        publish(&registry, provider, "1.0.0", &RSA);
    }
    publish(&registry, "hashicorp/null", "1.0.0", &OTHER);
    publish(&registry, "acme/gamma", "0.9.0", &RSA);
    publish(&registry, "acme/gamma", "1.0.1", &RSA);
    publish(&registry, "acme/gamma", "1.1.0", &SUBKEY);
    publish(&registry, "evil/gamma", "1.0.0", &RSA);
    publish(&registry, "hashicorp/random", "1.0.0", &RSA);
    let host = registry
        .publish("acme/gamma", "1.0.0")
        .on_host("modules.example.com");
    host.platforms(["linux_amd64", "darwin_arm64"])
        .signed_by(&RSA)
        .done();
    registry
}

/// Writes the root module in a directory, and locks it whatever the policy says.
fn lock(environment: &TestEnvironment, directory: &str, provider: &str, version: &str) {
    environment.write(format!("{directory}/main.tf"), requires(provider, version));
    environment.write("empty.toml", "");
    drop(std::fs::remove_file(
        environment
            .project()
            .join(directory)
            .join(".terraform.lock.hcl"),
    ));
    let lock = [
        "lock",
        "-p",
        "linux_amd64,darwin_arm64",
        "--config",
        "empty.toml",
        directory,
    ];
    environment.provlock(lock).assert_code(0);
    std::fs::remove_file(environment.project().join("empty.toml")).unwrap();
}

/// A repository of three root modules that lock packages with honest signatures.
fn project(registry: &Registry) -> Repository {
    let repository = Repository::around(TestEnvironment::with_registry(registry));
    for (directory, provider) in ROOTS
        .into_iter()
        .zip(HONEST.into_iter().chain(["hashicorp/null"]))
    {
        lock(&repository.environment, directory, provider, "1.0.0");
    }
    repository
}

fn expected() -> String {
    let (rsa, other) = (RSA.fingerprint(), OTHER.fingerprint());
    let repository = env!("CARGO_PKG_REPOSITORY");
    let schema = format!("#:schema {repository}/raw/main/docs/provlock.schema.json\n");
    let schema = if repository.is_empty() { "" } else { &schema };
    format!(
        "{schema}# Written by provlock init; docs/gate.md of provlock explains each line.\n\
         dialect = \"tofu\"\n\
         platforms = [\"darwin_arm64\", \"linux_amd64\"]\n\n\
         [policy]\n\
         allowed-hosts = [\"registry.opentofu.org\"]\n\
         allowed-namespaces = [\"registry.opentofu.org/acme\", \"registry.opentofu.org/hashicorp\"]\n\
         allowed-modules = []\n\
         require-signed = true\n\n\
         [verify]\n\
         deny = [\"downgrade\", \"signing-key-changed\"]\n\n\
         [trust]\n\
         \"registry.opentofu.org/acme/*\" = [\"{rsa}\"]\n\
         \"registry.opentofu.org/hashicorp/*\" = [\"{other}\"]\n"
    )
}

#[test]
fn init_allows_locked_providers_and_denies_new_ones() {
    let registry = registry();
    let repository = project(&registry);
    let environment = &repository.environment;
    let output = environment.provlock(["init"]);
    output.assert_code(0).assert_stdout_has(&expected());
    follows(
        "provlock.schema.json",
        &toml::from_str(&output.stdout).unwrap(),
    );
    assert_eq!(
        output.stderr,
        "Found 3 root modules for tofu, 2 platforms, 1 host, 2 namespaces and 2 signing keys\n\
         Wrote provlock.toml. From now on a new host, namespace or key is an error of verify. Review the file and \
         commit it\nNext: provlock verify -r --online\n"
    );
    assert_eq!(environment.read(FILE), expected());
    repository.environment.commit_all(".");
    let verify = || environment.provlock(["verify", "-r", "--online", "--base", "main"]);
    verify().matches(str![[r#"
exit code: 0
----- stderr -----
OK: 3 providers of 3 root modules locked as required, for 2 platforms
All hashes are published
"#]]);

    lock(environment, "live/a", "acme/gamma", "1.0.1");
    verify()
        .assert_code(0)
        .assert_lacks("warning[")
        .assert_stdout_has("note[decision-changed]: acme/gamma 1.0.0 → 1.0.1");

    let attacks = [
        (
            "modules.example.com/acme/gamma",
            "1.0.0",
            "host-not-allowed",
        ),
        ("evil/gamma", "1.0.0", "namespace-not-allowed"),
        ("acme/gamma", "1.1.0", "key-not-trusted"),
        ("hashicorp/random", "1.0.0", "key-not-trusted"),
    ];
    for directory in ["live/a", "live/new"] {
        for (provider, version, code) in attacks {
            lock(environment, directory, provider, version);
            verify()
                .assert_code(1)
                .assert_stdout_has(&format!("error[{code}]"));
            repository.git(["checkout", "--quiet", "."]);
            repository.git(["clean", "--quiet", "-d", "--force"]);
        }
    }
    environment.write(FILE, expected().replace("require-signed = true\n", ""));
    verify()
        .assert_code(1)
        .assert_stdout_has("error[policy-changed]");
    survived(
        "a pull request adds a host, a namespace or a key after `provlock init`",
        2 * attacks.len() + 1,
    );
}

/// An attack in one of ten root modules, and the error.
type Attack = (&'static str, fn(&Repository), &'static str);

const EVIL_HOST: &str = r#"terraform {
  required_providers {
    aws = {
      source = "hashicorp-terraform.io/hashicorp/aws"
    }
  }
}
"#;

/// Attacks, from the registry to the settings. Facts that `cache push` publishes are not among
/// them, because no finding is about them (`shared_facts::push`).
const ATTACKS: [Attack; 21] = [
    (
        "a host with the name of a brand",
        |at| write(at, "live/0/main.tf", EVIL_HOST),
        "look-alike",
    ),
    (
        "a new host",
        |at| {
            lock(
                &at.environment,
                "live/0",
                "modules.example.com/acme/gamma",
                "1.0.0",
            );
        },
        "host-not-allowed",
    ),
    (
        "a new namespace",
        |at| lock(&at.environment, "live/0", "evil/gamma", "1.0.0"),
        "namespace-not-allowed",
    ),
    (
        "another key",
        |at| lock(&at.environment, "live/0", "acme/gamma", "1.1.0"),
        "key-not-trusted",
    ),
    (
        "a provider that is only required",
        |at| evil(at, "infra/evil"),
        "namespace-not-allowed",
    ),
    (
        "a unit that generates the old text over the new one",
        |at| {
            evil(at, "live/0");
            let old = "generate \"main\" {\n  path = \"main.tf\"\n  if_exists = \"overwrite\"\n  contents = \"\"\n}\n";
            write(at, "live/0/terragrunt.hcl", old);
        },
        "namespace-not-allowed",
    ),
    (
        "a unit",
        |at| write(at, "live/0/terragrunt.hcl", "locals {}\n"),
        "not-decided",
    ),
    (
        "the header of the other program",
        |at| {
            let lock_file = at
                .environment
                .read("live/0/.terraform.lock.hcl")
                .replace("\"tofu init\"", "\"terraform init\"");
            write(at, "live/0/.terraform.lock.hcl", &lock_file);
            write(at, "live/0/main.tofu", &requires("evil/gamma", ""));
        },
        "namespace-not-allowed",
    ),
    (
        "a caller in place of a lock file",
        |at| {
            remove(at, "live/0/.terraform.lock.hcl");
            write(
                at,
                "caller/main.tf",
                "module \"m\" {\n  source = \"../live/0\"\n}\n",
            );
        },
        "root-removed",
    ),
    (
        "no lock file",
        |at| remove(at, "live/0/.terraform.lock.hcl"),
        "root-removed",
    ),
    (
        "an ignored root module",
        |at| {
            evil(at, "new");
            write(at, ".ignore", "new\n");
        },
        "namespace-not-allowed",
    ),
    (
        "a path that leads out",
        |at| write(at, "live/0/m.tf", &call("../../..")),
        "outside-repository",
    ),
    (
        "what nobody can read",
        |at| {
            write(
                at,
                "live/0/m.tf",
                &call("s3::https://s3.amazonaws.com/b/m.zip"),
            );
        },
        "not-decided",
    ),
    (
        "looser settings nearby",
        |at| {
            lock(&at.environment, "live/0", "evil/gamma", "1.0.0");
            write(
                at,
                "live/0/provlock.toml",
                "[verify]\nallow = [\"warnings\"]\n",
            );
        },
        "policy-changed",
    ),
    (
        "hashes that nobody compares",
        |at| {
            let text = at.environment.read("live/0/.terraform.lock.hcl");
            let (before, hashes) = text.split_once("hashes = [").unwrap();
            let (_, after) = hashes.split_once(']').unwrap();
            write(
                at,
                "live/0/.terraform.lock.hcl",
                &format!("{before}hashes = [\n    \"h2:abc\",\n  ]{after}"),
            );
        },
        "no-hashes",
    ),
    (
        "a hash that was never published",
        |at| {
            let text = at.environment.read("live/0/.terraform.lock.hcl");
            let evil = "    \"zh:1111111111111111111111111111111111111111111111111111111111111111\",\n    \"zh:";
            write(
                at,
                "live/0/.terraform.lock.hcl",
                &text.replacen("    \"zh:", evil, 1),
            );
        },
        "hash-not-published",
    ),
    (
        "an older version, which has known holes",
        |at| {
            lock(&at.environment, "live/0", "acme/gamma", "0.9.0");
            write(at, "live/0/main.tf", &requires("acme/gamma", ""));
        },
        "downgrade",
    ),
    (
        "a renamed root module, and looser settings that move with it",
        |at| {
            at.git(["mv", "live/0", "live/renamed"]);
            write(
                at,
                "live/renamed/provlock.toml",
                "[policy]\nallowed-namespaces = [\"evil\"]\n",
            );
            lock(&at.environment, "live/renamed", "evil/gamma", "1.0.0");
        },
        "namespace-not-allowed",
    ),
    (
        "a ref of 40 digits, which is a branch and not a commit",
        |at| {
            let name = "a".repeat(40);
            branch(at, &name);
            write(
                at,
                "live/0/m.tf",
                &call(&format!("git::https://{GIT_HOST}/m.git?ref={name}")),
            );
        },
        "not-decided",
    ),
    (
        "a ref of 64 digits, which is a branch wherever git fetches from",
        |at| {
            write(
                at,
                "live/0/m.tf",
                &call(&format!(
                    "git::https://modules.example.com/m.git?ref={}",
                    "a".repeat(64)
                )),
            );
        },
        "module-ref-floating",
    ),
    (
        "a module that floats",
        |at| {
            write(
                at,
                "live/0/m.tf",
                &call("git::https://example.com/m.git?ref=main"),
            );
        },
        "module-ref-floating",
    ),
];

/// An attack that makes the whole run fail: where it is, the flags that meet it, and the message.
type Refused = (
    &'static str,
    fn(&Repository),
    &'static [&'static str],
    &'static str,
);

const BASE: &[&str] = &["--base", "refs/heads/main"];

const REFUSED: &[Refused] = &[
    (
        "a tag with the name of the base",
        |at| drop(at.git(["tag", "main"])),
        &["--base", "main"],
        "--base main",
    ),
    (
        "a cache in the repository",
        |at| write(at, ".cache/provlock-modules-v2", ""),
        &["--base", "refs/heads/main", "--cache-dir", ".cache"],
        "so the pull request may have forged it",
    ),
    #[cfg(unix)]
    (
        "a link where a report is written",
        |at| {
            std::os::unix::fs::symlink(
                ".git/config",
                at.environment.project().join("report.sarif"),
            )
            .unwrap();
        },
        &[
            "--base",
            "refs/heads/main",
            "--report",
            "sarif=report.sarif",
        ],
        "is a symbolic link in the repository",
    ),
];

fn write(repository: &Repository, path: &str, text: &str) {
    repository.environment.write(path, text);
}

/// A host whose repositories git finds in the test's own directory.
const GIT_HOST: &str = "git.example.com";

/// Publishes a branch of this name with a harmless module, and a tag of it.
fn branch(repository: &Repository, name: &str) {
    let environment = &repository.environment;
    let at = environment.root().join("m.git");
    environment.write(at.join("main.tf"), "");
    environment.git(
        &at,
        ["init", "--quiet", &format!("--initial-branch={name}")],
    );
    environment.commit_all(&at);
    environment.git(&at, ["tag", "v1.0.0"]);
}

fn remove(repository: &Repository, path: &str) {
    std::fs::remove_file(repository.environment.project().join(path)).unwrap();
}

/// Requires a provider that the policy does not allow.
fn evil(repository: &Repository, directory: &str) {
    write(
        repository,
        &format!("{directory}/main.tf"),
        &requires("evil/gamma", ""),
    );
}

fn call(source: &str) -> String {
    format!("module \"m\" {{\n  source = \"{source}\"\n}}\n")
}

#[test]
fn after_init_every_attack_on_ten_root_modules_is_an_error() {
    let registry = registry();
    let mut environment = TestEnvironment::with_registry(&registry);
    environment.set("GIT_CONFIG_COUNT", "1");
    environment.set(
        "GIT_CONFIG_KEY_0",
        format!("url.file://{}/.insteadOf", environment.root().display()),
    );
    environment.set("GIT_CONFIG_VALUE_0", format!("https://{GIT_HOST}/"));
    let repository = Repository::around(environment);
    let environment = &repository.environment;
    for (number, provider) in (0..10).zip(HONEST.into_iter().chain(["hashicorp/null"]).cycle()) {
        lock(environment, &format!("live/{number}"), provider, "1.0.0");
    }
    environment
        .provlock(["init"])
        .assert_code(0)
        .assert_stderr_has("Found 10 root modules");
    // No module is called, so `init` writes no rule for modules.
    let settings = environment.read(FILE);
    environment.write(
        FILE,
        settings.replace("[policy]\n", "[policy]\npin-modules = true\n"),
    );
    repository.environment.commit_all(".");
    repository.git(["checkout", "--quiet", "-b", "change"]);
    let verify =
        |flags: &[&str]| environment.provlock(["verify", "-r", "--online"].iter().chain(flags));
    verify(BASE)
        .assert_code(0)
        .assert_lacks("warning[")
        .assert_lacks("note[");
    let found =
        ATTACKS.map(|(name, attack, code)| (name, attack, BASE, 1, format!("error[{code}]")));
    let refused = REFUSED
        .iter()
        .map(|(name, attack, flags, text)| (*name, *attack, *flags, 2, (*text).to_owned()));
    for (name, attack, flags, code, text) in found.into_iter().chain(refused) {
        attack(&repository);
        repository.git(["add", "--all", "--force"]);
        repository.git(["commit", "--quiet", "--allow-empty", "--message=change"]);
        let output = verify(flags);
        assert_eq!(output.code, Some(code), "{name}: {output}");
        assert!(
            output.stdout.contains(&text) || output.stderr.contains(&text),
            "{name}: {output}"
        );
        let _ = repository.try_git(["tag", "-d", "main"]);
        repository.git(["reset", "--quiet", "--hard", "refs/heads/main"]);
        repository.git(["clean", "--quiet", "-ffdx"]);
    }
    write(
        &repository,
        "live/0/m.tf",
        &call(&format!("git::https://{GIT_HOST}/m.git?ref=v1.0.0")),
    );
    repository.git(["add", "--all"]);
    verify(BASE)
        .assert_code(1)
        .assert_has("error[module-not-allowed]");
    survived(
        "a pull request attacks one of ten root modules after `provlock init`",
        ATTACKS.len() + REFUSED.len(),
    );
}

#[test]
fn offline_no_keys_are_requested() {
    let registry = registry();
    let repository = project(&registry);
    registry.reset_statistics();
    let environment = &repository.environment;
    environment
        .provlock(["init", "--offline"])
        .assert_code(0)
        .assert_stderr_has("a new host or namespace");
    assert_eq!(registry.requests_to("*"), 0);
    let (with_keys, text) = (expected(), environment.read(FILE));
    assert_eq!(
        text,
        with_keys
            .split_once("\n[trust]")
            .unwrap()
            .0
            .replace("require-signed = true\n", "")
    );
    environment.provlock(["verify", "-r"]).assert_code(0);
}

#[test]
fn without_keys_init_says_what_is_missing_and_how_to_add_it() {
    let registry = registry();
    let repository = project(&registry);
    let environment = &repository.environment;
    let output = environment.provlock(["init", "--offline"]);
    output.assert_code(0).assert_stderr_has(
        "No registry was asked, so [trust] and require-signed are missing. To ask the registries: provlock init --force\n",
    );
    environment
        .paste("provlock init --force")
        .assert_code(0)
        .assert_lacks("are missing");
    assert_eq!(environment.read(FILE), expected());
}

#[test]
fn a_registry_that_does_not_answer_is_one_error_with_the_way_to_do_without() {
    let registry = registry();
    let repository = project(&registry);
    let environment = &repository.environment;
    lock(environment, "live/d", "acme/gamma", "1.0.1");
    // Which versions there are would be known from the cache.
    std::fs::remove_dir_all(environment.home().join(".cache")).unwrap();
    registry.fault("*", Times::Always, Fault::Status(403));
    let output = environment.provlock(["init"]);
    output.matches(str![[r#"
exit code: 2
----- stderr -----
error[unauthorized]: [..]
help: [..]; without the keys that sign what is locked: provlock init --offline
"#]]);
    assert!(!environment.project().join(FILE).exists());
    environment.paste("provlock init --offline").assert_code(0);
    let output = environment.provlock(["init", "--force"]);
    output
        .assert_code(2)
        .assert_stderr_has("provlock init --offline --force\n");
}

#[test]
fn the_first_lock_files_and_settings_pass_the_gate() {
    let registry = registry();
    let repository = Repository::around(TestEnvironment::with_registry(&registry));
    let environment = &repository.environment;
    for (directory, provider) in ROOTS.into_iter().zip(HONEST) {
        let text = "terraform {\n  backend \"s3\" {}\n}\n";
        environment.write(format!("{directory}/main.tf"), requires(provider, "1.0.0"));
        environment.write(format!("{directory}/backend.tf"), text);
    }
    environment.write("Makefile", "init:\n\ttofu init\n");
    environment.commit_all(".");
    environment.git(".", ["checkout", "--quiet", "-b", "change"]);
    let platforms = ["-p", "linux_amd64,darwin_arm64"];
    environment
        .provlock(["lock", "-r"].iter().chain(&platforms))
        .assert_code(0);
    environment
        .provlock(["init"].iter().chain(&platforms))
        .assert_code(0)
        .assert_stderr_has("Next: provlock verify -r --online\n");
    environment.commit_all(".");
    environment
        .provlock(["verify", "-r", "--online", "--base", "main", "--new"])
        .assert_code(0)
        .assert_stdout_has("note[policy-changed]")
        .assert_stdout_has("stricter: dialect, platforms");
}

#[test]
fn nothing_is_written_if_a_registry_does_not_answer_for_a_release() {
    let registry = registry();
    let repository = project(&registry);
    registry.withdraw("acme/gamma", "1.0.0");
    repository.environment.provlock(["init"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[version-withdrawn]: registry.opentofu.org/acme/gamma 1.0.0 is locked, but its source no longer lists it
help: lock a different version first
"#]]);
    assert!(!repository.environment.project().join(FILE).exists());
}

#[test]
fn json_has_the_file() {
    let registry = registry();
    let repository = project(&registry);
    let output = repository.environment.provlock(["init", "--json"]);
    let report = validated(&output.assert_code(0).stdout);
    assert_eq!(report["settings"]["path"], FILE);
    assert_eq!(report["settings"]["text"], expected());
    assert_eq!(report["settings"]["written"], true);
}

#[test]
fn only_what_everything_has_becomes_a_rule() {
    let registry = registry();
    registry
        .publish("acme/unsigned", "1.0.0")
        .platforms(["linux_amd64", "darwin_arm64"])
        .flaw(Flaw::NoKeys)
        .done();
    let repository = project(&registry);
    let environment = &repository.environment;
    lock(environment, "live/d", "acme/unsigned", "1.0.0");
    environment.write("live/e/main.tf", requires("hashicorp/null", "1.0.0"));
    environment
        .provlock(["lock", "-p", "linux_amd64", "live/e"])
        .assert_code(0);
    environment.write(
        "live/e/module.tf",
        "module \"m\" {\n  source = \"git::https://modules.example.com/m.git\"\n}\n",
    );
    environment
        .provlock(["init", "--no-fetch-modules"])
        .assert_code(0);
    let text = environment.read(FILE);
    for setting in ["require-signed", "pin-modules", "acme/*"] {
        assert!(!text.contains(setting), "{text}");
    }
    for setting in [
        "# platforms = [\"darwin_arm64\", \"linux_amd64\"]\n",
        "acme/gamma\" = ",
        "acme/delta\" = ",
        "hashicorp/*\" = ",
    ] {
        assert!(text.contains(setting), "{text}");
    }
    environment
        .provlock(["verify", "-r", "--online", "--no-fetch-modules"])
        .assert_code(0);
}

#[test]
fn without_anything_locked_there_is_nothing_to_write() {
    let environment = TestEnvironment::new();
    environment
        .provlock(["init"])
        .assert_code(2)
        .assert_stderr_has("No root module in .");
    environment.write(
        "main.tf",
        requires("acme/gamma", "") + "provider \"gamma\" {}\nterraform {\n  backend \"s3\" {}\n}\n",
    );
    environment
        .provlock(["init"])
        .assert_code(2)
        .assert_stderr_has("error[lock-file-missing]");
    assert!(!environment.project().join(FILE).exists());
}

#[test]
fn init_ends_with_the_next_step() {
    let (registry, environment, _) =
        Registry::with_required("acme/gamma", "1.0.0", ["linux_amd64"], "");
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    let dry_run = environment.provlock(["init", "--dry-run"]);
    dry_run.assert_code(0).assert_lacks("Next: ");
    assert!(
        !dry_run.stdout.contains("pin-modules"),
        "no module is called"
    );
    let output = environment.provlock(["init"]);
    let last = output.assert_code(0).stderr.lines().next_back();
    assert_eq!(last, Some("Next: provlock lock -r"));
    environment.paste("provlock lock -r").assert_code(0);
    drop(registry);
}
