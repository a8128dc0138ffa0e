//! State also decides which providers are needed: `init` installs the providers of its resources.

use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str};

use super::lock::requires;
use super::verify::found;
use provlock_test::git::Repository;

const LOCK: [&str; 3] = ["lock", "-p", "linux_amd64"];
const VERIFY: [&str; 3] = ["verify", "--allow", "single-platform"];
const SECRET: &str = "hunter2";

/// A state whose resources have these providers, in one line as programs may write it, with a
/// secret.
fn state(providers: &[&str]) -> String {
    let resource = |provider: &&str| {
        format!(
            r#"{{"mode": "managed", "type": "a", "name": "b", "provider": "provider[\"{provider}\"].east",
               "instances": [{{"attributes": {{"password": "{SECRET}"}}}}]}}"#
        )
    };
    let resources: Vec<_> = providers.iter().map(resource).collect();
    format!(
        r#"{{"version": 4, "outputs": {{"{SECRET}": 1}}, "resources": [{}]}}"#,
        resources.join(",")
    )
}

fn publish(registry: &Registry) {
    for provider in ["acme/one", "acme/two"] {
        registry
            .publish(provider, "1.0.0")
            .platforms(["linux_amd64"])
            .done();
    }
}

/// A project that requires acme/one. Its lock file has an entry for acme/two, which it no longer
/// requires.
fn project() -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    publish(&registry);
    environment.write("main.tf", requires("acme/one", ""));
    environment.write("old.tf", "provider \"two\" {}\n");
    environment.write("override.tf", requires("acme/two", ""));
    environment.provlock(LOCK).assert_code(0);
    std::fs::remove_file(environment.project().join("override.tf")).unwrap();
    std::fs::remove_file(environment.project().join("old.tf")).unwrap();
    (registry, environment)
}

/// Fails unless the only finding is that acme/two is not required, with this reason and help.
#[track_caller]
fn assert_not_required(environment: &TestEnvironment, reason: &str, help: &str) {
    let unread = match reason.split_once("which is unknown: ") {
        Some((_, why)) => format!("Not checked: the state ({why})\n"),
        None => String::new(),
    };
    environment.provlock(VERIFY).matches(format!(
        "exit code: 0
----- stdout -----
warning[provider-not-required]: acme/two is locked, but the configuration does not require it
  --> .terraform.lock.hcl:13:10
   |
13 | provider \"registry.opentofu.org/acme/two\" {{
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
   = {reason}
help: {help}

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
{unread}1 warning in .terraform.lock.hcl"
    ));
}

/// Whether `lock --prune` keeps the entry of acme/two.
fn keeps(environment: &TestEnvironment) -> bool {
    let lock_file = environment.lock_file();
    let output = environment.provlock([&LOCK[..], &["--prune"]].concat());
    output.assert_code(0).assert_lacks(SECRET);
    let is_kept = environment.lock_file().contains("acme/two");
    environment.write_lock_file(lock_file);
    is_kept
}

#[test]
fn an_entry_that_the_state_needs_is_kept_by_prune_and_no_finding() {
    let (_registry, environment) = project();
    environment.write(
        "terraform.tfstate",
        state(&["registry.opentofu.org/acme/two"]),
    );
    assert_eq!(found(&environment, &[]), [""; 0]);
    assert!(keeps(&environment));
    environment.write(
        "terraform.tfstate",
        state(&["registry.opentofu.org/acme/one"]),
    );
    assert_eq!(found(&environment, &[]), ["warning provider-not-required"]);
    assert!(!keeps(&environment));
    environment.write("terraform.tfstate", "");
    assert!(
        !keeps(&environment),
        "an interrupted program leaves an empty file"
    );
}

#[test]
fn a_provider_that_only_the_state_needs_is_required() {
    let (registry, environment) = Registry::with_project();
    publish(&registry);
    environment.write("main.tf", requires("acme/one", ""));
    environment.provlock(LOCK).assert_code(0);
    environment.write(
        "terraform.tfstate",
        state(&["registry.opentofu.org/acme/two"]),
    );
    environment.provlock(VERIFY).matches(str![[r#"
exit code: 1
----- stdout -----
error[provider-not-locked]: acme/two is required, but not locked
--> terraform.tfstate:1:1
 = required here
help: provlock lock

----- stderr -----
1 error in terraform.tfstate
"#]]);
    environment.provlock(LOCK).assert_code(0);
    environment.provlock(VERIFY).assert_code(0);
    environment.provlock(["tree"]).matches(str![[r#"
exit code: 0
----- stdout -----
acme/one 1.0.0 (locked), required in any version
└── .   main.tf:4   (no constraint)

acme/two 1.0.0 (locked), required in any version
└── .   terraform.tfstate:1   (no constraint)
"#]]);
}

#[test]
fn the_state_of_other_workspaces_and_paths_is_read() {
    let (_registry, environment) = project();
    let two = state(&["registry.opentofu.org/acme/two"]);
    let backend = |arguments: &str| {
        let text = format!("terraform {{\n  backend \"local\" {{\n{arguments}\n  }}\n}}\n");
        environment.write("backend.tf", text);
    };
    environment.write("terraform.tfstate.d/prod/terraform.tfstate", &two);
    assert!(keeps(&environment), "no backend");
    backend("");
    assert!(keeps(&environment), "a local backend");
    backend("workspace_dir = \"elsewhere\"");
    assert!(!keeps(&environment), "another directory of workspaces");
    environment.write("elsewhere/prod/terraform.tfstate", &two);
    assert!(keeps(&environment), "workspaces in that directory");
    backend("path = \"state/live.tfstate\"\n    workspace_dir = \"none\"");
    assert!(!keeps(&environment), "another path");
    environment.write("state/live.tfstate", &two);
    assert!(keeps(&environment), "state at that path");
    environment.write(".terraform/terraform.tfstate", &two);
    backend("path = \"none.tfstate\"\n    workspace_dir = \"none\"");
    assert!(
        !keeps(&environment),
        "the record of the backend is not state"
    );
}

#[test]
fn a_state_that_is_kept_elsewhere_may_need_the_entry() {
    let (_registry, environment) = project();
    environment.write("backend.tf", "terraform {\n  backend \"s3\" {}\n}\n");
    environment.write(
        "terraform.tfstate",
        state(&["registry.opentofu.org/acme/two"]),
    );
    assert_not_required(
        &environment,
        "tofu init -lockfile=readonly fails because of the entry, unless the state needs it, which is unknown: \
         backend \"s3\" keeps the state elsewhere",
        "provlock lock --prune, unless the state still has resources of it",
    );
    environment.provlock([&LOCK[..], &["--check"]].concat()).matches(str![[r#"
exit code: 0
----- stderr -----
  = acme/two   1.0.0   not required by the configuration; --prune removes it, also if a state still needs it
Up to date: 1 provider for linux_amd64; not required: 1 entry, so tofu init -lockfile=readonly fails, unless a state needs them
Not compared with the published release: 3 recorded hashes; to compare all: provlock verify --online
"#]]);
    environment.provlock([&LOCK[..], &["--prune"]].concat()).matches(str![[r#"
exit code: 0
----- stderr -----
warning[provider-not-required]: pruning removes acme/two, which the state may still need: backend "s3" keeps the state elsewhere
help: tofu init adds the entry again, with the newest version, if the state needs it
  - acme/two   1.0.0
Locked 1 provider for linux_amd64 (1 removed, 1 unchanged)
"#]]);
    assert!(!environment.lock_file().contains("acme/two"));
}

#[test]
fn an_entry_that_nothing_needs_makes_init_fail_with_a_read_only_lock_file() {
    let (_registry, environment) = project();
    assert_not_required(
        &environment,
        "tofu init -lockfile=readonly fails because of the entry",
        "provlock lock --prune, unless a state elsewhere still has resources of it",
    );
    environment.provlock([&LOCK[..], &["--check"]].concat()).matches(str![[r#"
exit code: 0
----- stderr -----
  = acme/two   1.0.0   not required by the configuration; --prune removes it, also if a state still needs it
Up to date: 1 provider for linux_amd64; not required: 1 entry, so tofu init -lockfile=readonly fails, unless a state needs them
Not compared with the published release: 3 recorded hashes; to compare all: provlock verify --online
"#]]);
    environment.provlock([&LOCK[..], &["--check", "-r"]].concat()).matches(str![[r#"
exit code: 0
----- stderr -----
Would lock 1 root module: 0 changed, 1 up to date; not required: 1 entry
Not compared with the published release: 3 recorded hashes; to compare all: provlock verify -r --online
"#]]);
    environment.write("terraform.tfstate", state(&[]));
    assert_not_required(
        &environment,
        "no state file beside it needs the provider: tofu init -lockfile=readonly fails because of the entry",
        "provlock lock --prune",
    );
    environment
        .provlock([&LOCK[..], &["--check"]].concat())
        .matches(str![[r#"
exit code: 0
----- stderr -----
  = acme/two   1.0.0   required neither by the configuration nor by its state; --prune removes it
Up to date: 1 provider for linux_amd64; not required: 1 entry, so tofu init -lockfile=readonly fails
Not compared with the published release: 3 recorded hashes; to compare all: provlock verify --online
"#]]);
}

#[test]
fn a_state_that_cannot_be_read_is_a_warning_without_its_content() {
    let (_registry, environment) = project();
    let broken = state(&["registry.opentofu.org/acme/two"]).replace("\"outputs\"", SECRET);
    environment.write("terraform.tfstate", broken);
    let output = environment.provlock(VERIFY);
    output.assert_lacks(SECRET);
    output.matches(str![[r#"
exit code: 0
----- stdout -----
warning[provider-not-required]: acme/two is locked, but the configuration does not require it
  --> .terraform.lock.hcl:13:10
   |
13 | provider "registry.opentofu.org/acme/two" {
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
   = tofu init -lockfile=readonly fails because of the entry, unless the state needs it, which is unknown: terraform.tfstate was not read
help: provlock lock --prune, unless the state still has resources of it

warning[state-not-read]: the state in terraform.tfstate was not read: it is not a state, at line 1, column 16
--> terraform.tfstate:1:1
 |
help: init installs the providers that it needs; check that the lock file has them

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
2 warnings in .terraform.lock.hcl and terraform.tfstate
"#]]);
    for text in [
        r#"{"version": 4, "resources": "hunter2"}"#,
        r#"{"version": "hunter2"}"#,
        "{}",
    ] {
        environment.write("terraform.tfstate", text);
        let output = environment.provlock(VERIFY);
        output
            .assert_code(0)
            .assert_stdout_has("warning[state-not-read]")
            .assert_lacks(SECRET);
    }
    let file = std::fs::File::create(environment.project().join("terraform.tfstate")).unwrap();
    file.set_len((64 << 20) + 1).unwrap();
    environment
        .provlock(VERIFY)
        .assert_stdout_has("was not read: it is larger than 64 MiB");
}

#[test]
fn a_state_that_is_encrypted_or_old_is_not_known() {
    let (_registry, environment) = project();
    for (text, reason) in [
        (
            r#"{"serial": 1, "encrypted_data": "aGVsbG8="}"#,
            "terraform.tfstate is encrypted",
        ),
        (
            r#"{"version": 3, "modules": []}"#,
            "terraform.tfstate has version 3 of the format",
        ),
        (
            r#"{"version": 4, "resources": [{"provider": "provider.two"}]}"#,
            "terraform.tfstate refers to providers in an older form",
        ),
    ] {
        environment.write("terraform.tfstate", text);
        let needed = "unless the state needs it, which is unknown: ";
        environment
            .provlock(VERIFY)
            .assert_code(0)
            .assert_stdout_has(&format!("{needed}{reason}"));
    }
}

#[test]
fn opentofu_takes_the_providers_of_a_state_from_its_own_registry() {
    let (_registry, environment) = project();
    environment.write(
        "terraform.tfstate",
        state(&["registry.terraform.io/acme/two"]),
    );
    assert_eq!(found(&environment, &[]), [""; 0]);
    environment.write("more.tf", "terraform {\n  backend \"local\" {}\n}\n");
    let terraform = environment.provlock([&VERIFY[..], &["--dialect", "terraform"]].concat());
    terraform.assert_stdout_has("acme/two is required, but not locked");
}

/// A state file under review does not explain an entry.
#[test]
fn a_state_in_a_change_hides_no_finding() {
    let registry = Registry::start();
    publish(&registry);
    let repository = Repository::new();
    let environment = &repository.environment;
    environment.write("main.tf", requires("acme/one", ""));
    environment.write("terraform.tfstate", state(&[]));
    let entry = |name: &str| {
        let address = format!("registry.opentofu.org/acme/{name}");
        provlock_test::files::entry(
            &address,
            "1.0.0",
            "",
            &[super::verify::H1, super::verify::ZH],
        )
    };
    environment.write_lock_file(super::lock::lock_file(&[entry("one")]));
    repository.environment.commit_all(".");
    environment.write_lock_file(super::lock::lock_file(&[entry("one"), entry("two")]));
    environment.write(
        "terraform.tfstate",
        state(&["registry.opentofu.org/acme/two"]),
    );
    repository.git(["add", "--all"]);
    let verify =
        |flags: &[&str]| environment.provlock([&VERIFY[..], &["--base", "HEAD"], flags].concat());
    verify(&[]).assert_lacks(SECRET).matches(str![[r#"
exit code: 0
----- stdout -----
note[publisher-added]: acme/two is new: no lock file of the base contains it
  --> .terraform.lock.hcl:12:10
   |
12 | provider "registry.opentofu.org/acme/two" {
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
help: make sure that this provider and its publisher are intended

warning[provider-not-required]: acme/two is locked, but the configuration does not require it
  --> .terraform.lock.hcl:12:10
   |
12 | provider "registry.opentofu.org/acme/two" {
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  ::: terraform.tfstate:1:1
   = this state needs it
   = a state file under review does not explain an entry, because the change may have added it
help: make sure that the entry is intended; init keeps it while the state needs it

warning[hash-not-checked]: 2 hashes of acme/two 1.0.0 were added, and nothing on this machine confirms them
  --> .terraform.lock.hcl:15:5
   |
15 |     "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
help: provlock verify --online

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
2 warnings and 1 note in .terraform.lock.hcl
"#]]);
    verify(&["--deny", "provider-not-required"]).assert_code(1);
    assert_eq!(found(environment, &[]), [""; 0], "without a base it is");
}

#[cfg(unix)]
#[test]
fn a_state_outside_of_the_repository_is_not_read() {
    let repository = Repository::new();
    let environment = &repository.environment;
    environment.write("main.tf", requires("acme/one", ""));
    let one = provlock_test::files::entry(
        "registry.opentofu.org/acme/one",
        "1.0.0",
        "",
        &[super::verify::H1],
    );
    environment.write_lock_file(super::lock::lock_file(&[one]));
    environment.write(
        "../elsewhere/terraform.tfstate",
        state(&["registry.opentofu.org/acme/two"]),
    );
    environment.write(
        "backend.tf",
        "terraform {\n  backend \"local\" {\n    path = \"../elsewhere/terraform.tfstate\"\n  }\n}\n",
    );
    let flags = ["--allow", "untracked-lock-file,single-platform"];
    let output = environment.provlock([&["verify"][..], &flags].concat());
    output.assert_code(0).assert_lacks("acme/two");
    let output = environment.provlock([&["verify", "--allow-outside"][..], &flags].concat());
    output
        .assert_code(1)
        .assert_stdout_has("acme/two is required, but not locked");
}

#[test]
fn a_state_whose_path_is_an_expression_is_not_read() {
    let environment = TestEnvironment::new();
    let backend = "terraform {\n  backend \"local\" {\n    path = var.p\n  }\n}\nvariable \"p\" {\n  default = \"x.state\"\n}\n";
    environment.write("main.tf", backend);
    environment.write_lock_file("");
    let output = environment.provlock(["verify"]);
    let warning = "warning[state-not-read]: the state was not read: the path of the local backend is an expression\n";
    output.assert_code(0).assert_stdout_has(warning);
}

/// A configuration that requires nothing, with a state that needs acme/one, and a lock file with
/// its version 1.0.0 although there is a newer one.
fn project_of_state(registry: &Registry, environment: &TestEnvironment) {
    let linux = ["linux_amd64"];
    let old = registry
        .publish("acme/one", "1.0.0")
        .platforms(linux)
        .done();
    registry
        .publish("acme/one", "2.1.1")
        .platforms(linux)
        .done();
    environment.write("main.tf", "locals {}\n");
    environment.write(
        "terraform.tfstate",
        state(&["registry.opentofu.org/acme/one"]),
    );
    environment.write_lock_file(super::lock::lock_file(&[old.entry_for("", &linux)]));
}

/// A state has no constraints, and a new major version may be unable to read it.
#[test]
fn an_upgrade_does_not_move_a_provider_that_only_the_state_needs() {
    let (registry, environment) = Registry::with_project();
    project_of_state(&registry, &environment);
    let before = environment.snapshot();
    environment
        .provlock(["upgrade", "--check"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
provider   locked   allowed   newest   held back by
acme/one   1.0.0              2.1.1    the state, which alone needs it
----- stderr -----
0 providers can move within the constraints; 1 held back
Not compared with the published release: 1 recorded hash; to compare all: provlock verify --online
"#]]);
    for flags in [&[][..], &["-r"], &["--constraints"], &["--prune"]] {
        let upgrade = [&["upgrade", "-p", "linux_amd64"], flags].concat();
        environment.provlock(upgrade).assert_code(0);
        environment.snapshot().assert_same(&before);
    }

    // The user may ask for the move.
    let named = ["upgrade", "acme/one", "-p", "linux_amd64"];
    environment.provlock(named).assert_code(0);
    assert!(environment.lock_file().contains("version = \"2.1.1\""));
    let lower = ["upgrade", "acme/one@1.0.0", "--allow-downgrade"];
    environment.provlock(lower).assert_code(0);
    assert!(environment.lock_file().contains("version = \"1.0.0\""));

    // A provider that the configuration requires, too, moves.
    environment.write("main.tf", requires("acme/one", ""));
    let all = ["upgrade", "-p", "linux_amd64"];
    environment.provlock(all).assert_code(0);
    assert!(environment.lock_file().contains("version = \"2.1.1\""));
}

#[test]
fn an_upgrade_replaces_a_version_of_the_state_that_cannot_stay() {
    let (registry, environment) = Registry::with_project();
    project_of_state(&registry, &environment);
    environment.write_lock_file("");
    let upgrade = ["upgrade", "-p", "linux_amd64"];
    environment.provlock(upgrade).assert_code(0);
    assert!(
        environment.lock_file().contains("version = \"2.1.1\""),
        "nothing was locked"
    );

    project_of_state(&registry, &environment);
    environment.write(
        "provlock.toml",
        "[[policy.deny]]\nprovider = \"acme/one\"\nversions = \"< 2.0\"\nreason = \"old\"\n",
    );
    environment.provlock(upgrade).assert_code(0);
    assert!(
        environment.lock_file().contains("version = \"2.1.1\""),
        "the policy does not allow the locked version"
    );
}

/// Every hash may be published, and still a provider that the state needs may be missing.
#[test]
fn a_state_that_was_not_read_is_reported_as_not_checked() {
    let environment = TestEnvironment::new();
    environment.write_lock_file("");
    let s3 = "terraform {\n  backend \"s3\" {}\n}\n";
    let cloud = "terraform {\n  cloud {}\n}\n";
    let encrypted = r#"{"serial": 1, "encrypted_data": "aGVsbG8="}"#;
    let old_form = r#"{"version": 4, "resources": [{"provider": "provider.null"}]}"#;
    let cases = [
        ("", encrypted, "terraform.tfstate is encrypted"),
        (
            "",
            r#"{"version": 3, "modules": []}"#,
            "terraform.tfstate has version 3 of the format",
        ),
        (
            "",
            r#"{"version": 5, "resources": []}"#,
            "terraform.tfstate has version 5 of the format",
        ),
        (
            "",
            old_form,
            "terraform.tfstate refers to providers in an older form",
        ),
        (s3, "", "backend \"s3\" keeps the state elsewhere"),
        (cloud, "", "cloud keeps the state elsewhere"),
    ];
    for (configuration, text, reason) in cases {
        environment.write("main.tf", configuration);
        environment.write("terraform.tfstate", text);
        let line = format!("Not checked: the state ({reason})\n");
        let output = environment.provlock(["verify"]);
        output.assert_code(0).assert_stderr_has(&line);
        let output = environment.provlock(["verify", "--json"]);
        output.assert_stdout_has("Not checked: the state (");
    }

    environment.write("main.tf", "locals {}\n");
    for text in ["", &*state(&[])] {
        environment.write("terraform.tfstate", text);
        let output = environment.provlock(["verify"]);
        output.assert_code(0).assert_lacks("the state");
    }
    environment.write("terraform.tfstate", "{}");
    let output = environment.provlock(["verify"]);
    output
        .assert_stdout_has("warning[state-not-read]")
        .assert_lacks("Not checked: the state");
    let output = environment.provlock(["verify", "--allow", "state-not-read"]);
    output.assert_stderr_has("Not checked: the state (terraform.tfstate was not read)\n");
}

#[test]
fn states_of_several_root_modules_that_were_not_read_are_one_line() {
    let environment = TestEnvironment::new();
    for root in ["a", "b", "c"] {
        environment.write(
            format!("{root}/main.tf"),
            "terraform {\n  backend \"s3\" {}\n}\n",
        );
        environment.write(format!("{root}/.terraform.lock.hcl"), "");
    }
    let verify = || environment.provlock(["verify", "-r"]);
    verify().assert_stderr_has(
        "Not checked: the state of 3 root modules (backend \"s3\" keeps the state elsewhere)\n",
    );
    environment.write("c/main.tf", "terraform {\n  cloud {}\n}\n");
    verify().assert_stderr_has("Not checked: the state of 3 root modules\n");
}

/// `init` offers to copy such a state to the new path.
#[test]
fn pruning_warns_of_a_state_that_the_backend_no_longer_uses() {
    let (_registry, environment) = project();
    let two = state(&["registry.opentofu.org/acme/two"]);
    let backend = "terraform {\n  backend \"local\" {\n    path = \"new/live.tfstate\"\n  }\n}\n";
    environment.write("backend.tf", backend);
    environment.write("terraform.tfstate", &two);
    let prune = [&LOCK[..], &["--prune"]].concat();
    let before = environment.lock_file();
    environment.provlock(&prune).matches(str![[r#"
exit code: 0
----- stderr -----
warning[provider-not-required]: pruning removes acme/two, which the state in terraform.tfstate still needs; the backend does not use that file
help: if tofu init is yet to copy that state to the backend, restore the entry, because init would add it again with the newest version
  - acme/two   1.0.0
Locked 1 provider for linux_amd64 (1 removed, 1 unchanged)
"#]]);
    environment.write_lock_file(&before);
    environment.provlock(VERIFY).assert_stdout_has(
        "the state in terraform.tfstate needs it, but the backend does not use that file",
    );

    // Beside the new path, and where `init` recorded that the state was.
    let record =
        r#"{"version": 3, "backend": {"type": "local", "config": {"path": "old/x.state"}}}"#;
    environment.write(".terraform/terraform.tfstate", record);
    std::fs::remove_file(environment.project().join("terraform.tfstate")).unwrap();
    for path in ["new/before.tfstate", "old/x.state"] {
        let file = environment.write(path, &two);
        environment.write_lock_file(&before);
        let warning = format!(
            "pruning removes acme/two, which the state in {path} still needs; the backend does not use that file"
        );
        environment.provlock(&prune).assert_stderr_has(&warning);
        std::fs::remove_file(file).unwrap();
    }

    environment.write_lock_file(&before);
    environment.write("new/live.tfstate", state(&[]));
    environment.provlock(&prune).assert_lacks("warning");
}
