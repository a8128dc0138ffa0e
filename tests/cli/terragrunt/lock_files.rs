//! Lock files of units, and directories that are units.

use super::super::lock::requires;
use super::{LOCK_ALL, Providers, found, generate, unit, verify};
use provlock_test::git::Repository;
use provlock_test::{TestEnvironment, str};

/// Two units without a lock file that run a module with one; each generates a requirement of its
/// own.
fn sharing(providers: &Providers, locked: &str) -> TestEnvironment {
    let environment = TestEnvironment::with_registry(&providers.registry);
    for (path, text) in [
        ("root.hcl", ""),
        (
            "live/a/terragrunt.hcl",
            &(unit("../../modules//app") + &generate("a", &requires("hashicorp/random", "~> 3.0"))),
        ),
        (
            "live/b/terragrunt.hcl",
            &(unit("../../modules//app") + &generate("b", &requires("hashicorp/tls", "~> 4.0"))),
        ),
        (
            "modules/app/main.tf",
            "resource \"null_resource\" \"a\" {}\n",
        ),
        ("modules/app/.terraform.lock.hcl", locked),
    ] {
        environment.write(path, text);
    }
    environment
}

#[test]
fn the_lock_file_of_the_module_is_that_of_units_without_one() {
    let providers = Providers::publish();
    let Providers {
        null, random, tls, ..
    } = &providers;
    let environment = sharing(&providers, &Providers::lock_file(&[(null, "")]));
    let not_locked = |path: &str, name: &str| {
        format!("{path}: provider-not-locked: hashicorp/{name} is required, but not locked")
    };
    let expected = [
        not_locked("live/a/terragrunt.hcl", "random"),
        not_locked("live/b/terragrunt.hcl", "tls"),
    ];
    assert_eq!(verify(&environment), expected);

    environment.provlock(LOCK_ALL).matches(str![[r#"
exit code: 0
----- stderr -----
  + hashicorp/random   3.7.2   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in live/a
  + hashicorp/tls      4.1.0   signed, key 558D46FBE8647CB4   1 h1, 2 zh   in live/a
Locked 1 Terragrunt unit: 1 changed, 0 up to date; [SIZE] downloaded
"#]]);

    let locked = Providers::lock_file(&[(null, ""), (random, "~> 3.0"), (tls, "~> 4.0")]);
    assert_eq!(environment.read("modules/app/.terraform.lock.hcl"), locked);
    for unit in ["live/a", "live/b"] {
        assert!(
            !environment
                .project()
                .join(unit)
                .join(".terraform.lock.hcl")
                .exists(),
            "only one is proposed"
        );
    }
    assert_eq!(verify(&environment), [""; 0]);
    environment
        .provlock(LOCK_ALL)
        .assert_code(0)
        .assert_stderr_has("1 up to date");
    environment.write(
        "modules/app/.terraform.lock.hcl",
        format!("<<<<<<< ours\n{locked}=======\n>>>>>>> theirs\n"),
    );
    environment
        .provlock(["verify", "-r"])
        .assert_code(1)
        .assert_lacks("2 errors");
}

#[test]
fn a_unit_that_is_named_has_the_lock_file_of_its_module_too() {
    let providers = Providers::publish();
    let Providers { null, random, .. } = &providers;
    let environment = sharing(&providers, &Providers::lock_file(&[(null, "")]));
    environment
        .provlock(["lock", "-p", "linux_amd64", "live/a"])
        .assert_code(0);
    let locked = Providers::lock_file(&[(null, ""), (random, "~> 3.0")]);
    assert_eq!(environment.read("modules/app/.terraform.lock.hcl"), locked);
    environment
        .provlock(["lock", "-p", "linux_amd64", "live/b", "live/a"])
        .assert_code(0);
    environment
        .provlock(["verify", "--allow", "single-platform", "live/a", "live/b"])
        .assert_code(0);
}

#[test]
fn a_lock_file_beside_the_unit_wins() {
    let providers = Providers::publish();
    let Providers { null, random, .. } = &providers;
    let environment = sharing(&providers, "broken");
    let own = Providers::lock_file(&[(null, ""), (random, "~> 3.0")]);
    environment.write("live/a/.terraform.lock.hcl", &own);
    std::fs::remove_dir_all(environment.project().join("live/b")).unwrap();
    assert_eq!(
        verify(&environment),
        [""; 0],
        "nothing uses the lock file of the module"
    );
    environment.provlock(LOCK_ALL).assert_code(0);
    assert_eq!(
        environment.read("modules/app/.terraform.lock.hcl"),
        "broken"
    );
}

#[test]
fn a_change_of_a_shared_lock_file_is_checked_once() {
    let providers = Providers::publish();
    let Providers {
        null, random, tls, ..
    } = &providers;
    let locked = Providers::lock_file(&[(null, ""), (random, "~> 3.0"), (tls, "~> 4.0")]);
    let repository = Repository::around(sharing(&providers, &locked));
    repository.environment.commit_all(".");
    let environment = &repository.environment;
    let judged = || {
        found(&environment.provlock([
            "verify",
            "--allow",
            "single-platform",
            "-r",
            "--base",
            "HEAD",
            "--json",
        ]))
    };
    assert_eq!(judged(), [""; 0]);
    let forged = locked.replacen(
        "    \"zh:",
        "    \"zh:0000000000000000000000000000000000000000000000000000000000000000\",\n    \"zh:",
        1,
    );
    environment.write("modules/app/.terraform.lock.hcl", forged);
    let judged = judged();
    assert_eq!(judged.len(), 1, "{judged:?}");
    assert!(
        judged[0].starts_with("modules/app/.terraform.lock.hcl: hashes-replaced"),
        "{judged:?}"
    );
}

#[test]
fn an_included_file_is_no_unit() {
    let providers = Providers::publish();
    let environment = TestEnvironment::with_registry(&providers.registry);
    let include = "include {\n  path = find_in_parent_folders()\n}\nterraform {\n  source = \"../../modules//app\"\n}\n";
    let locked = Providers::lock_file(&[(&providers.null, "")]);
    for (path, text) in [
        (
            "live/terragrunt.hcl",
            generate("provider", &requires("hashicorp/random", "~> 3.0")).as_str(),
        ),
        ("live/.terraform.lock.hcl", &locked),
        ("live/a/terragrunt.hcl", include),
        ("modules/app/main.tf", "locals {}\n"),
        ("provlock.toml", "[roots]\ninclude = [\"live/**\"]\n"),
    ] {
        environment.write(path, text);
    }
    let stale = "live/.terraform.lock.hcl: no-configuration: there is no configuration beside \
                 live/.terraform.lock.hcl, so it was checked on its own";
    assert_eq!(verify(&environment), [stale]);
    std::fs::remove_file(environment.project().join("live/.terraform.lock.hcl")).unwrap();
    environment.provlock(LOCK_ALL).assert_code(0);
    assert!(
        environment
            .project()
            .join("live/a/.terraform.lock.hcl")
            .exists()
    );
    assert!(
        !environment
            .project()
            .join("live/.terraform.lock.hcl")
            .exists()
    );
}

#[test]
fn an_error_in_a_generated_file_shows_its_line() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", "");
    environment.write_lock_file("");
    environment.write(
        "terragrunt.hcl",
        generate(
            "versions",
            "terraform {\n  required_providers {\n    null = {\n      sorce = \"a/b\"\n    }\n  }\n}\n",
        ),
    );
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 2
----- stderr -----
error[invalid-configuration]: the required_providers entry of null has an unknown argument "sorce"
 --> terragrunt.hcl:1:1
  |
1 | generate "versions" {
  | ^^^^^^^^ generated here
  |
 ::: (generated)/versions.tf:4:7
  |
4 |       sorce = "a/b"
  |       ----- only source, version and configuration_aliases
"#]]);
}

#[test]
fn files_that_terragrunt_reads_are_read() {
    let providers = Providers::publish();
    let environment = TestEnvironment::with_registry(&providers.registry);
    let text = r#"
locals {
  tags = {
    owner = "a"
    name  = "b"
    owner = "c"
  }
  home  = pathexpand("./x")
  files = fileset("config", "*.json")
  names = join(",", local.files)
}
generate "provider" {
  path      = "provider.tf"
  if_exists = "overwrite"
  contents  = <<-EOF
    provider "null" {
${local.tags.owner} = "${local.names}"
    }
    locals {
      text = <<EOT
in it
EOT
    }
  EOF
}
generate "elsewhere" {
  path      = "../elsewhere/provider.tf"
  if_exists = "overwrite"
  contents  = "provider \"random\" {}"
}
"#;
    environment.write("config/a.json", "");
    environment.write("config/b.txt", "");
    environment.write("main.tf", "");
    environment.write("terragrunt.hcl", text);
    environment.write_lock_file(Providers::lock_file(&[(&providers.null, "")]));
    assert_eq!(verify(&environment), [""; 0]);
    environment.write(
        "terragrunt.hcl",
        r#"locals {
  a = read_terragrunt_config("b.hcl")
}
inputs = local.a.inputs
terraform {
  source = local.a.locals.b
}
"#,
    );
    environment.write("b.hcl", "locals {\n  a = {\n    b = 1 2\n  }\n}\n");
    environment
        .provlock(["verify", "--allow", "single-platform"])
        .matches(str![[r#"
exit code: 0
----- stdout -----
warning[requirements-not-known]: the requirements of the unit in . are not completely known
 --> b.hcl:3:11
  |
3 |     b = 1 2
  |           ^ the file cannot be parsed: invalid object item; expected `}`, `,` or newline
  |
  = the entries and constraints of the lock file are treated as required
help: terragrunt init -lockfile=readonly checks all of them

----- stderr -----
Not checked: platforms (select with -p), hashes against the registry (--online)
Not checked: the state (Terragrunt decides where the state is)
1 warning in b.hcl
"#]]);
}
