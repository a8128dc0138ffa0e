//! Root modules that Terragrunt puts together, and lock files without a configuration beside them.

mod lock_files;
mod modules;
mod remote;
mod stacks;
mod unknown;
mod variables;

use super::json_output::validated;
use super::lock::{lock_file, requires};
use provlock_test::git::Repository;
use provlock_test::publish::Published;
use provlock_test::registry::Registry;
use provlock_test::{Output, TestEnvironment, str};

const LOCK_ALL: [&str; 4] = ["lock", "-p", "linux_amd64", "-r"];

/// A `terragrunt.hcl` that includes `root.hcl` and runs a module.
fn unit(source: &str) -> String {
    let include = "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n";
    format!("{include}terraform {{\n  source = {source:?}\n}}\n")
}

/// A block that generates a file.
fn generate(name: &str, contents: &str) -> String {
    format!(
        r#"generate "{name}" {{
  path      = "{name}.tf"
  if_exists = "overwrite"
  contents  = <<-EOT
{contents}EOT
}}
"#
    )
}

/// Findings in all root modules, each as `file: code: message`.
fn found(output: &Output) -> Vec<String> {
    let report = validated(&output.stdout);
    assert!(report["errors"].as_array().unwrap().is_empty(), "{output}");
    let text = |finding: &serde_json::Value, key: &str| {
        finding[key].as_str().unwrap_or("-").replace('\\', "/")
    };
    let findings = report["roots"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|root| root["findings"].as_array().unwrap());
    findings
        .map(|finding| {
            format!(
                "{}: {}: {}",
                text(finding, "file"),
                text(finding, "code"),
                text(finding, "message")
            )
        })
        .collect()
}

fn verify(environment: &TestEnvironment) -> Vec<String> {
    found(&environment.provlock(["verify", "--allow", "single-platform", "-r", "--json"]))
}

/// Providers that a registry has.
struct Providers {
    registry: Registry,
    null: Published,
    random: Published,
    tls: Published,
}

impl Providers {
    fn publish() -> Self {
        let registry = Registry::start();
        let publish = |name, version| {
            registry
                .publish(name, version)
                .platforms(["linux_amd64"])
                .done()
        };
        let null = publish("hashicorp/null", "3.2.4");
        let (random, tls) = (
            publish("hashicorp/random", "3.7.2"),
            publish("hashicorp/tls", "4.1.0"),
        );
        Self {
            registry,
            null,
            random,
            tls,
        }
    }

    fn lock_file(entries: &[(&Published, &str)]) -> String {
        let text = |(published, constraints): &(&Published, &str)| {
            published.entry_for(constraints, &["linux_amd64"])
        };
        lock_file(&entries.iter().map(text).collect::<Vec<_>>())
    }
}

#[test]
fn a_lock_file_without_a_configuration_is_checked_by_itself() {
    let providers = Providers::publish();
    let environment = TestEnvironment::with_registry(&providers.registry);
    let good = Providers::lock_file(&[(&providers.null, "~> 3.0")]);
    environment.write_lock_file(good.replace("zh:", "zh:0"));
    environment.provlock(["verify", "--allow", "single-platform"]).matches(str![[r#"
exit code: 1
----- stdout -----
warning[no-configuration]: there is no configuration beside .terraform.lock.hcl, so it was checked on its own
--> .terraform.lock.hcl:1:1
 |
help: remove the lock file, unless a configuration is put beside it later

error[malformed-hash]: the hash zh:[HASH] cannot match any package: it is not zh: and 64 lower-case hexadecimal digits
 --> .terraform.lock.hcl:9:5
  |
9 |     "zh:[HASH]",
  |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: remove the lock file, or put its configuration beside it and lock that

error[malformed-hash]: the hash zh:[HASH] cannot match any package: it is not zh: and 64 lower-case hexadecimal digits
  --> .terraform.lock.hcl:10:5
   |
10 |     "zh:[HASH]",
   |     ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
help: remove the lock file, or put its configuration beside it and lock that

----- stderr -----
2 errors and 1 warning in .terraform.lock.hcl
"#]]);
    environment.write_lock_file(good);
    environment.provlock(["verify", "--online"]).assert_code(0);
    environment
        .provlock(["lock"])
        .assert_code(2)
        .assert_stderr_has("has no configuration");
}

/// Units with local sources and a root include: each is the module, and what the included file
/// generates.
fn local_layout(environment: &TestEnvironment) {
    let versions = generate("versions", &requires("hashicorp/random", "~> 3.0"));
    environment.write(
        "root.hcl",
        versions + &generate("provider", "provider \"random\" {}\n"),
    );
    environment.write(
        "live/prod/app/terragrunt.hcl",
        unit("../../../modules//app"),
    );
    environment.write(
        "live/prod/dns/terragrunt.hcl",
        unit("../../../modules//dns"),
    );
    environment.write(
        "live/prod/dns/extra.tf",
        "resource \"tls_private_key\" \"a\" {}\n",
    );
    environment.write(
        "modules/app/main.tf",
        "module \"name\" {\n  source = \"../name\"\n}\n",
    );
    environment.write(
        "modules/name/main.tf",
        "resource \"null_resource\" \"a\" {}\n",
    );
    environment.write(
        "modules/dns/main.tf",
        "resource \"null_resource\" \"a\" {}\n",
    );
}

#[test]
fn units_with_local_sources_are_locked_as_terragrunt_would_run_them() {
    let providers = Providers::publish();
    let Providers {
        null, random, tls, ..
    } = &providers;
    let environment = TestEnvironment::with_registry(&providers.registry);
    local_layout(&environment);
    for unit in ["app", "dns"] {
        environment.write(format!("live/prod/{unit}/.terraform.lock.hcl"), "");
    }

    environment.provlock(LOCK_ALL).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null     3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in live/prod/app and live/prod/dns
  + hashicorp/random   3.7.2   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in live/prod/app and live/prod/dns
  + hashicorp/tls      4.1.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in live/prod/dns
Locked 2 Terragrunt units: 2 changed, 0 up to date; [SIZE] downloaded
"#]]);

    let app = Providers::lock_file(&[(null, ""), (random, "~> 3.0")]);
    let dns = Providers::lock_file(&[(null, ""), (random, "~> 3.0"), (tls, "")]);
    assert_eq!(environment.read("live/prod/app/.terraform.lock.hcl"), app);
    assert_eq!(environment.read("live/prod/dns/.terraform.lock.hcl"), dns);
    assert_eq!(verify(&environment), Vec::<String>::new());
}

/// Two units whose lock files differ from what they require.
fn drifted() -> Repository {
    let Providers {
        null, random, tls, ..
    } = &Providers::publish();
    let repository = Repository::new();
    let environment = &repository.environment;
    local_layout(environment);
    let app = Providers::lock_file(&[(null, ""), (random, "~> 2.0"), (tls, "")]);
    environment.write("live/prod/app/.terraform.lock.hcl", app);
    environment.write(
        "live/prod/dns/.terraform.lock.hcl",
        Providers::lock_file(&[(null, ""), (tls, "")]),
    );
    repository.git(["add", "."]);
    repository
}

#[test]
fn drift_of_units_is_found_where_it_can_be_fixed() {
    drifted().environment.provlock(["verify", "--allow", "single-platform", "-r"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[provider-not-locked]: hashicorp/random is required, but not locked
  --> root.hcl:1:1
   |
 1 | generate "versions" {
   | ^^^^^^^^ required here
...
15 | generate "provider" {
   | -------- required here
   |
help: provlock -C live/prod/dns lock

warning[constraints-differ]: the lock file records the constraints "~> 2.0" for hashicorp/random, but the configuration has "~> 3.0"
  --> live/prod/app/.terraform.lock.hcl:15:17
   |
15 |   constraints = "~> 2.0"
   |                 ^^^^^^^^
   |
   = the locked version 3.7.2 meets the constraints of the configuration
help: provlock -C live/prod/app lock

warning[provider-not-required]: hashicorp/tls is locked, but the configuration does not require it
  --> live/prod/app/.terraform.lock.hcl:23:10
   |
23 | provider "registry.opentofu.org/hashicorp/tls" {
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
   = tofu init -lockfile=readonly fails because of the entry, unless the state needs it, which is unknown: Terragrunt decides where the state is
help: provlock -C live/prod/app lock --prune, unless the state still has resources of it

----- stderr -----
1 error and 2 warnings in live/prod/app/.terraform.lock.hcl and root.hcl
2 Terragrunt units: 1 with errors, 1 with warnings
"#]]);
}

#[test]
fn drift_of_the_unit_in_the_current_directory_is_found() {
    let repository = drifted();
    repository
        .environment
        .command(["verify", "--allow", "provider-not-required,single-platform"])
        .run_in("live/prod/dns")
        .run()
        .matches(str![[r#"
exit code: 1
----- stdout -----
error[provider-not-locked]: hashicorp/random is required, but not locked
  --> ../../../root.hcl:1:1
   |
 1 | generate "versions" {
   | ^^^^^^^^ required here
...
15 | generate "provider" {
   | -------- required here
   |
help: provlock lock

----- stderr -----
1 error in ../../../root.hcl
"#]]);
}

#[test]
fn unknown_requirements_are_reported_once_and_not_checked() {
    let providers = Providers::publish();
    let Providers { null, random, .. } = &providers;
    let environment = TestEnvironment::with_registry(&providers.registry);
    local_layout(&environment);
    let secret = format!("{}{}", "$", "{run_cmd(\"vault\", \"read\")}\n");
    environment.write(
        "root.hcl",
        generate("versions", &secret) + &generate("more", &secret),
    );
    let lock = Providers::lock_file(&[(random, "~> 3.0")]);
    environment.write("live/prod/app/.terraform.lock.hcl", &lock);

    environment.provlock(["verify", "--allow", "single-platform", "-r"]).matches(str![[r#"
exit code: 1
----- stdout -----
error[provider-not-locked]: hashicorp/null is required, but not locked
 --> modules/name/main.tf:1:10
  |
1 | resource "null_resource" "a" {}
  |          ^^^^^^^^^^^^^^^ required here
  |
help: provlock -C live/prod/app lock

warning[requirements-not-known]: the requirements of the unit in live/prod/app are not completely known
  --> root.hcl:5:3
   |
 5 | ${run_cmd("vault", "read")}
   |   ^^^^^^^^^^^^^^^^^^^^^^^^ `run_cmd` is not evaluated
...
12 | ${run_cmd("vault", "read")}
   |   ------------------------ `run_cmd` is not evaluated
   |
   = the entries and constraints of the lock file are treated as required
help: terragrunt init -lockfile=readonly checks all of them

----- stderr -----
1 error and 1 warning in modules/name/main.tf and root.hcl
2 Terragrunt units: 1 with errors, 1 without a lock file
"#]]);

    environment.provlock(LOCK_ALL.into_iter().chain(["--prune"])).matches(str![[r#"
exit code: 0
----- stderr -----
warning[requirements-not-known]: the requirements of the unit in live/prod/app are not completely known
  --> root.hcl:5:3
   |
 5 | ${run_cmd("vault", "read")}
   |   ^^^^^^^^^^^^^^^^^^^^^^^^ `run_cmd` is not evaluated
...
12 | ${run_cmd("vault", "read")}
   |   ------------------------ `run_cmd` is not evaluated
   |
   = the entries and constraints of the lock file are treated as required
help: terragrunt init -lockfile=readonly checks all of them

warning[provider-not-required]: no entry is removed, because the requirements of the configuration are not completely known
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in live/prod/app
Locked 1 Terragrunt unit: 1 changed, 0 up to date; [SIZE] downloaded
2 warnings
Skipped: 1 Terragrunt unit without a lock file
"#]]);
    let locked = Providers::lock_file(&[(null, ""), (random, "~> 3.0")]);
    assert_eq!(
        environment.read("live/prod/app/.terraform.lock.hcl"),
        locked
    );
}

#[test]
fn a_remote_module_is_not_installed() {
    let providers = Providers::publish();
    let Providers { null, random, .. } = &providers;
    let environment = TestEnvironment::with_registry(&providers.registry);
    environment.write(
        "root.hcl",
        generate("versions", &requires("hashicorp/random", "~> 3.0")),
    );
    environment.write(
        "live/app/terragrunt.hcl",
        unit("git::https://example.com/modules.git//app?ref=v1"),
    );
    environment.write(
        "live/app/.terraform.lock.hcl",
        Providers::lock_file(&[(null, "")]),
    );

    environment
        .provlock(["verify", "--allow", "single-platform", "-r"])
        .matches(str![[r#"
exit code: 1
----- stdout -----
error[provider-not-locked]: hashicorp/random is required, but not locked
 --> root.hcl:1:1
  |
1 | generate "versions" {
  | ^^^^^^^^ required here
  |
help: provlock -C live/app lock

warning[module-not-installed]: the module of the unit in live/app is remote and was not fetched
 --> live/app/terragrunt.hcl:5:12
  |
5 |   source = "git::https://example.com/modules.git//app?ref=v1"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ its source
  |
help: its requirements were not checked; terragrunt init -lockfile=readonly checks them

----- stderr -----
1 error and 1 warning in live/app/terragrunt.hcl and root.hcl
"#]]);
    environment.write("provlock.toml", "[policy]\npin-modules = true\n");
    let floating = "error[module-ref-floating]: the unit's module has the ref \"v1\"";
    environment
        .provlock(["verify", "-r"])
        .assert_stdout_has(floating);
    environment
        .provlock(LOCK_ALL)
        .assert_code(2)
        .assert_stderr_has("cannot get the module package git::https://example.com");
    environment
        .provlock(LOCK_ALL.into_iter().chain(["--allow-missing-modules"]))
        .assert_code(0);
    let locked = Providers::lock_file(&[(null, ""), (random, "~> 3.0")]);
    assert_eq!(environment.read("live/app/.terraform.lock.hcl"), locked);
}

#[test]
fn a_stack_has_its_units_where_they_are_generated() {
    let providers = Providers::publish();
    let Providers { null, tls, .. } = &providers;
    let environment = TestEnvironment::with_registry(&providers.registry);
    let stack = "unit \"app\" {\n  source = \"../units/app\"\n  path   = \"app\"\n  values = {\n    module = \"app\"\n  }\n}\n";
    environment.write("live/terragrunt.stack.hcl", stack);
    environment.write("modules/app/main.tf", requires("hashicorp/null", "~> 3.0"));
    let source = "terraform {\n  source = \"../../../modules//${values.module}\"\n}\n";
    environment.write("units/app/terragrunt.hcl", source);
    environment.write(
        "live/.terragrunt-stack/app/terragrunt.hcl",
        source.replace("${values.module}", "app"),
    );
    environment.write(
        "live/.terragrunt-stack/app/terragrunt.values.hcl",
        "module = \"app\"\n",
    );
    let lock = Providers::lock_file(&[(null, "~> 3.0"), (tls, "")]);
    environment.write("live/.terragrunt-stack/app/.terraform.lock.hcl", &lock);
    environment.write("units/app/.terraform.lock.hcl", &lock);

    environment.provlock(["verify", "--allow", "single-platform", "-r"]).matches(str![[r#"
exit code: 0
----- stdout -----
warning[provider-not-required]: hashicorp/tls is locked, but the configuration does not require it, in 2 Terragrunt units
  --> live/.terragrunt-stack/app/.terraform.lock.hcl:14:10
   |
14 | provider "registry.opentofu.org/hashicorp/tls" {
   |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   |
   = tofu init -lockfile=readonly fails because of the entry, unless the state needs it, which is unknown: Terragrunt decides where the state is
   = also in units/app
help: provlock lock -r --prune, unless the state still has resources of it

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
Not checked: the state of 2 Terragrunt units (Terragrunt decides where the state is)
2 warnings in live/.terragrunt-stack/app/.terraform.lock.hcl and units/app/.terraform.lock.hcl
2 Terragrunt units: 2 with warnings
"#]]);

    let lock = ["lock", "-r", "live", "--prune", "-p", "linux_amd64"];
    environment.provlock(lock).assert_code(0);
    let app = Providers::lock_file(&[(null, "~> 3.0")]);
    assert_eq!(
        environment.read("live/.terragrunt-stack/app/.terraform.lock.hcl"),
        app
    );
}

#[test]
fn a_generated_constraint_is_shown_and_not_rewritten() {
    let providers = Providers::publish();
    providers
        .registry
        .publish("hashicorp/random", "4.0.0")
        .platforms(["linux_amd64"])
        .done();
    let environment = TestEnvironment::with_registry(&providers.registry);
    environment.write(
        "terragrunt.hcl",
        generate("versions", &requires("hashicorp/random", "~> 3.0")),
    );
    environment.write_lock_file(Providers::lock_file(&[(&providers.random, "~> 3.0")]));
    let before = environment.snapshot();
    environment
        .provlock(["upgrade", "--check"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
provider           locked   allowed   newest   held back by
hashicorp/random   3.7.2              4.0.0    terragrunt.hcl:1  ~> 3.0
----- stderr -----
0 providers can move within the constraints; 1 held back
Constraints hold back 1 provider; to change them, too: provlock upgrade --constraints
Not compared with the published release: 1 recorded hash; to compare all: provlock verify --online
"#]]);
    environment.provlock(["upgrade", "--constraints", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
warning[version-outside-constraints]: the constraint ~> 3.0 cannot be made to allow 4.0.0: it is not a plain string
 --> terragrunt.hcl:1:1
  |
1 | generate "versions" {
  | ^^^^^^^^
No newer version within the constraints: 1 provider for linux_amd64
1 provider held back from the newest version; see: provlock upgrade --check -p linux_amd64 --constraints
"#]]);
    before.assert_same(&environment.snapshot());
}

#[test]
fn a_cache_that_hides_the_new_lock_file_is_named() {
    let providers = Providers::publish();
    let environment = TestEnvironment::with_registry(&providers.registry);
    environment.write("terragrunt.hcl", "");
    environment.write("main.tf", requires("hashicorp/null", "~> 3.0"));
    environment.write(".terragrunt-cache/a/b/main.tf", "");
    environment.write_lock_file("");
    environment.provlock(["lock", "-p", "linux_amd64"]).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/null   3.2.4   signed, key 558D46FBE8647CB4   1 h1, 2 zh
Locked 1 provider for linux_amd64 (1 added); [SIZE] downloaded
Terragrunt would keep using the older lock file in .terragrunt-cache: delete that directory, or run Terragrunt with --source-update
"#]]);
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .matches(str![[r#"
exit code: 0
----- stderr -----
Up to date: 1 provider for linux_amd64
"#]]);
}
