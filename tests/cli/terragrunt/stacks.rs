//! Lock files of the units of Terragrunt's stacks before the stacks are generated.

use super::super::lock::requires;
use super::{LOCK_ALL, Providers, found, generate, verify};
use provlock_test::git::Repository;
use provlock_test::{TestEnvironment, with_slashes};

/// A unit that runs the module that its values name.
const UNIT: &str = "terraform {\n  source = \"${get_repo_root()}/modules//${values.module}\"\n}\n";

/// A root configuration with shared state.
const ROOT: &str = "remote_state {\n  backend = \"s3\"\n  config  = {}\n}\n";

const INCLUDE: &str = "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n";

/// A repository with modules that require one provider each, and a unit in `units/app` that runs
/// one of them.
fn project(providers: &Providers) -> TestEnvironment {
    let environment = TestEnvironment::with_registry(&providers.registry);
    for (name, constraints) in [("null", "~> 3.0"), ("random", "~> 3.0"), ("tls", "~> 4.0")] {
        let module = requires(&format!("hashicorp/{name}"), constraints);
        environment.write(format!("modules/{name}/main.tf"), module);
    }
    environment.write("units/app/terragrunt.hcl", UNIT);
    environment
}

/// A `unit` block of `units/app`, with the module that it runs.
fn app(path: &str, module: &str) -> String {
    let values = format!("values = {{\n    module = {module}\n  }}");
    unit_block(path, "${get_repo_root()}/units/app", &values)
}

fn unit_block(path: &str, source: &str, more: &str) -> String {
    block("unit", path, source, more)
}

fn block(kind: &str, path: &str, source: &str, more: &str) -> String {
    format!("{kind} \"{path}\" {{\n  source = {source:?}\n  path   = \"{path}\"\n  {more}\n}}\n")
}

/// Finding that a provider is not locked.
fn not_locked(module: &str) -> String {
    format!(
        "modules/{module}/main.tf: provider-not-locked: hashicorp/{module} is required, but not locked"
    )
}

#[test]
fn the_lock_file_where_a_unit_is_generated_is_written_before_the_stack_is_generated() {
    let providers = Providers::publish();
    let Providers { null, random, .. } = &providers;
    let environment = project(&providers);
    let stack = app("a", "\"null\"") + &app("b/c", "\"random\"");
    environment.write("live/terragrunt.stack.hcl", stack);
    environment.write("live/.terragrunt-stack/a/.terraform.lock.hcl", "");
    environment.write("live/.terragrunt-stack/b/c/.terraform.lock.hcl", "");
    assert_eq!(
        verify(&environment),
        [not_locked("null"), not_locked("random")]
    );

    environment
        .provlock(LOCK_ALL)
        .assert_code(0)
        .assert_stderr_has("Locked 2 Terragrunt units: 2 changed, 0 up to date");
    assert_eq!(
        environment.read("live/.terragrunt-stack/a/.terraform.lock.hcl"),
        Providers::lock_file(&[(null, "~> 3.0")])
    );
    assert_eq!(
        environment.read("live/.terragrunt-stack/b/c/.terraform.lock.hcl"),
        Providers::lock_file(&[(random, "~> 3.0")])
    );
    assert_eq!(verify(&environment), [""; 0]);
    // The top of the repository tells where stacks may be.
    environment.git_init(".");
    environment
        .command(["lock", "-p", "linux_amd64"])
        .run_in("live/.terragrunt-stack/a")
        .run()
        .assert_code(0)
        .assert_stderr_has("Up to date");
}

/// Terragrunt copies it into each of them.
#[test]
fn the_lock_file_beside_the_source_is_that_of_all_units_that_stacks_generate_from_it() {
    let providers = Providers::publish();
    let Providers {
        null, random, tls, ..
    } = &providers;
    let environment = project(&providers);
    environment.write(".gitignore", ".terragrunt-stack\n");
    environment.write("units/app/.terraform.lock.hcl", "");
    environment.write(
        "live/terragrunt.stack.hcl",
        app("a", "\"null\"") + &app("b", "\"random\""),
    );
    environment.write("prod/terragrunt.stack.hcl", app("a", "\"null\""));
    assert_eq!(
        verify(&environment),
        [not_locked("null"), not_locked("random")]
    );
    // A copy of an earlier run does not count.
    environment.write("live/.terragrunt-stack/a/terragrunt.hcl", "");
    environment.write("live/.terragrunt-stack/a/.terraform.lock.hcl", "broken");
    environment
        .provlock(LOCK_ALL)
        .assert_code(0)
        .assert_stderr_has("Locked 1 Terragrunt unit: 1 changed, 0 up to date");
    let locked = Providers::lock_file(&[(null, "~> 3.0"), (random, "~> 3.0")]);
    assert_eq!(environment.read("units/app/.terraform.lock.hcl"), locked);
    assert_eq!(verify(&environment), [""; 0]);

    environment.write("prod/terragrunt.stack.hcl", app("a", "\"tls\""));
    assert_eq!(verify(&environment), [not_locked("tls")]);
    environment
        .provlock(["lock", "-p", "linux_amd64", "units/app"])
        .assert_code(0);
    let locked = Providers::lock_file(&[(null, "~> 3.0"), (random, "~> 3.0"), (tls, "~> 4.0")]);
    assert_eq!(environment.read("units/app/.terraform.lock.hcl"), locked);

    // Nothing generates a unit that runs it any more.
    environment.write("prod/terragrunt.stack.hcl", "");
    let output = environment.provlock(["verify", "--allow", "single-platform", "-r"]);
    output
        .assert_code(0)
        .assert_stdout_has("hashicorp/tls is locked, but the configuration does not require it");
}

/// Values that are not known make only these requirements unknown.
#[test]
fn values_of_stacks_are_computed_as_those_of_units() {
    let providers = Providers::publish();
    let environment = project(&providers);
    environment.write("live/.terragrunt-stack/a/.terraform.lock.hcl", "");
    environment.write("live/name.hcl", "locals {\n  name = \"null\"\n}\n");
    let locals =
        "locals {\n  name  = \"nu\"\n  names = read_terragrunt_config(\"name.hcl\").locals\n}\n";
    for value in [
        "\"null\"",
        "\"${local.name}ll\"",
        "local.names.name",
        "read_terragrunt_config(find_in_parent_folders(\"live/name.hcl\")).locals.name",
        "basename(\"${get_terragrunt_dir()}/null\")",
    ] {
        let stack = locals.to_owned() + &app("a", value);
        environment.write("live/terragrunt.stack.hcl", stack);
        assert_eq!(verify(&environment), [not_locked("null")], "{value}");
    }
    for (value, reason) in [
        ("run_cmd(\"x\")", "`run_cmd` is not evaluated"),
        ("get_env(\"NONE\")", "the environment variable is not set"),
        ("values.other", "values of stacks are not read"),
    ] {
        environment.write("live/terragrunt.stack.hcl", app("a", value));
        let output = environment.provlock(["verify", "-r"]);
        output
            .assert_code(0)
            .assert_stdout_has("warning[requirements-not-known]")
            .assert_stdout_has(reason);
    }
}

#[test]
fn a_stack_may_add_dependencies_to_a_unit_and_nothing_else() {
    let environment = project(&Providers::publish());
    environment.write("live/.terragrunt-stack/a/.terraform.lock.hcl", "");
    let stack = |added: &str| {
        let block = format!("\n}}\nautoinclude {{\n{added}\n}}\n}}\n");
        app("a", "\"null\"").replace("\n  }\n}\n", &block)
    };
    let dependency = "dependency \"b\" {\n  config_path = \"../b\"\n}\n\
                      inputs = {\n  b = dependency.b.outputs.b\n}";
    environment.write("live/terragrunt.stack.hcl", stack(dependency));
    assert_eq!(verify(&environment), [not_locked("null")]);
    let source = stack("terraform {\n  source = \"../x\"\n}");
    let reason = "blocks in units of stacks are not read";
    assert_not_known(&environment, "a", &source, reason);
}

#[test]
fn a_unit_without_values_takes_its_defaults() {
    let providers = Providers::publish();
    let environment = project(&providers);
    environment.write("live/.terragrunt-stack/a/.terraform.lock.hcl", "");
    let unit = UNIT.replace("values.module", "try(values.module, \"null\")");
    environment.write("units/app/terragrunt.hcl", unit);
    let source = "${get_repo_root()}/units/app";
    environment.write("live/terragrunt.stack.hcl", unit_block("a", source, ""));
    assert_eq!(verify(&environment), [not_locked("null")]);
    // Terragrunt copies a file of values, too.
    environment.write("units/app/terragrunt.values.hcl", "module = \"tls\"\n");
    assert_eq!(verify(&environment), [not_locked("tls")]);
    environment.write("live/terragrunt.stack.hcl", app("a", "\"random\""));
    assert_eq!(verify(&environment), [not_locked("random")]);
}

#[test]
fn the_values_of_a_generated_unit_are_read_in_its_directory() {
    let providers = Providers::publish();
    let environment = project(&providers);
    let directory = "live/.terragrunt-stack/a";
    environment.write(format!("{directory}/terragrunt.hcl"), UNIT);
    let values = "# Auto-generated by the terragrunt.stack.hcl file by Terragrunt. Do not edit manually\n\
                  module = \"null\"\n";
    environment.write(format!("{directory}/terragrunt.values.hcl"), values);
    environment.write(format!("{directory}/.terraform.lock.hcl"), "");
    assert_eq!(verify(&environment), [not_locked("null")]);
}

#[test]
fn a_unit_is_read_as_if_its_files_had_been_copied() {
    let providers = Providers::publish();
    let environment = project(&providers);
    environment.write("live/.terragrunt-stack/a/.terraform.lock.hcl", "");
    environment.write(
        "live/terragrunt.stack.hcl",
        unit_block("a", "../units/app", ""),
    );
    environment.write("units/app/name.txt", "null");
    environment.write("live/name.hcl", "locals {\n  name = \"null\"\n}\n");
    for unit in [
        "terraform {\n  source = \"../../../modules//null\"\n}\n",
        "terraform {\n  source = \"../../../modules//${file(\"name.txt\")}\"\n}\n",
        "terraform {\n  source = \"${dirname(find_in_parent_folders(\"live\"))}/modules//null\"\n}\n",
        "locals {\n  n = read_terragrunt_config(find_in_parent_folders(\"name.hcl\")).locals.name\n}\n\
         terraform {\n  source = \"../../../modules//${local.n}\"\n}\n",
    ] {
        environment.write("units/app/terragrunt.hcl", unit);
        assert_eq!(verify(&environment), [not_locked("null")], "{unit}");
    }

    // Its own files are its module.
    environment.write("units/app/main.tf", requires("hashicorp/tls", ""));
    let own = "units/app/main.tf: provider-not-locked: hashicorp/tls is required, but not locked";
    for unit in ["", "terraform {\n  source = \".\"\n}\n"] {
        environment.write("units/app/terragrunt.hcl", unit);
        assert_eq!(verify(&environment), [own], "{unit}");
    }
    let include = INCLUDE.replace("root.hcl", "versions.hcl");
    environment.write("units/app/terragrunt.hcl", include);
    environment.write(
        "live/versions.hcl",
        generate("versions", "provider \"random\" {}\n"),
    );
    assert_eq!(
        verify(&environment),
        [
            "live/versions.hcl: provider-not-locked: hashicorp/random is required, but not locked",
            own
        ]
    );
}

#[test]
fn a_stack_in_a_stack_is_read_where_it_would_be_generated() {
    let providers = Providers::publish();
    let Providers { null, .. } = &providers;
    let environment = project(&providers);
    environment.write(
        "live/terragrunt.stack.hcl",
        block(
            "stack",
            "dev",
            "../stacks/env",
            "values = {\n    name = \"null\"\n  }",
        ),
    );
    let inner = app("a", "values.name")
        + &unit_block("own", "./units/own", "")
        + &unit_block("relative", "../../../units/fixed", "");
    environment.write("stacks/env/terragrunt.stack.hcl", inner);
    let fixed = UNIT.replace("${values.module}", "random");
    environment.write("stacks/env/units/own/terragrunt.hcl", &fixed);
    environment.write("units/fixed/terragrunt.hcl", fixed.replace("random", "tls"));
    let generated = "live/.terragrunt-stack/dev/.terragrunt-stack";
    for unit in ["a", "own", "relative"] {
        environment.write(format!("{generated}/{unit}/.terraform.lock.hcl"), "");
    }
    let expected = [not_locked("null"), not_locked("random"), not_locked("tls")];
    assert_eq!(verify(&environment), expected);
    environment.provlock(LOCK_ALL).assert_code(0);
    assert_eq!(
        environment.read(format!("{generated}/a/.terraform.lock.hcl")),
        Providers::lock_file(&[(null, "~> 3.0")])
    );
    assert_eq!(verify(&environment), [""; 0]);

    // The lock file beside the source of a unit in it.
    std::fs::remove_dir_all(environment.project().join("live/.terragrunt-stack")).unwrap();
    environment.write("units/app/.terraform.lock.hcl", "");
    assert_eq!(verify(&environment), [not_locked("null")]);
    let output = environment.provlock(["verify", "-r"]);
    output.assert_code(1).assert_lacks("more places");
}

#[test]
fn a_unit_may_be_generated_beside_its_stack() {
    let providers = Providers::publish();
    let Providers { null, .. } = &providers;
    let environment = project(&providers);
    let beside = "values = {\n    module = \"null\"\n  }\n  no_dot_terragrunt_stack = true";
    environment.write(
        "live/terragrunt.stack.hcl",
        unit_block("net/a", "../units/app", beside),
    );
    environment.write("live/net/a/.terraform.lock.hcl", "");
    environment.write("live/net/a/.gitignore", "*\n!.terraform.lock.hcl\n");
    assert_eq!(verify(&environment), [not_locked("null")]);
    environment.provlock(LOCK_ALL).assert_code(0);
    assert_eq!(
        environment.read("live/net/a/.terraform.lock.hcl"),
        Providers::lock_file(&[(null, "~> 3.0")])
    );
    assert_eq!(verify(&environment), [""; 0]);
}

/// A project with stacks whose units have shared state.
fn with_shared_state(providers: &Providers) -> TestEnvironment {
    let environment = project(providers);
    environment.write("live/root.hcl", ROOT);
    environment.write("units/app/terragrunt.hcl", format!("{INCLUDE}{UNIT}"));
    environment.write(
        "live/terragrunt.stack.hcl",
        app("a", "\"null\"") + &app("b", "\"random\""),
    );
    environment
}

#[test]
fn units_without_a_lock_file_are_locked_beside_their_source() {
    let providers = Providers::publish();
    let Providers { null, random, .. } = &providers;
    let environment = with_shared_state(&providers);
    environment.write(".gitignore", ".terragrunt-stack\n");
    environment
        .provlock(["verify", "-r"])
        .assert_code(1)
        .assert_stdout_has("error[lock-file-missing]: units/app/.terraform.lock.hcl is missing")
        .assert_stdout_has("help: provlock -C units/app lock");
    environment.provlock(LOCK_ALL).assert_code(0);
    let locked = Providers::lock_file(&[(null, "~> 3.0"), (random, "~> 3.0")]);
    assert_eq!(environment.read("units/app/.terraform.lock.hcl"), locked);
    assert_eq!(verify(&environment), [""; 0]);
    assert!(
        !environment
            .project()
            .join("live/.terragrunt-stack")
            .exists()
    );
}

#[test]
fn units_without_a_lock_file_are_locked_where_the_others_are_generated() {
    let providers = Providers::publish();
    let Providers { null, random, .. } = &providers;
    let environment = with_shared_state(&providers);
    // The source finds it, too, and is not run.
    environment.write("root.hcl", ROOT);
    let locked = Providers::lock_file(&[(null, "~> 3.0")]);
    environment.write("live/.terragrunt-stack/a/.terraform.lock.hcl", &locked);
    let missing = environment.provlock(["verify", "-r", "--allow", "single-platform"]);
    missing
        .assert_code(1)
        .assert_stdout_has(
            "error[lock-file-missing]: live/.terragrunt-stack/b/.terraform.lock.hcl is missing",
        )
        .assert_stdout_has("help: provlock lock -r live/.terragrunt-stack -p all")
        .assert_lacks("units/app/.terraform.lock.hcl");
    environment.provlock(LOCK_ALL).assert_code(0);
    assert_eq!(
        environment.read("live/.terragrunt-stack/b/.terraform.lock.hcl"),
        Providers::lock_file(&[(random, "~> 3.0")])
    );
    assert!(
        !environment
            .project()
            .join("units/app/.terraform.lock.hcl")
            .exists()
    );
    assert_eq!(verify(&environment), [""; 0]);
}

#[test]
fn the_modules_of_units_of_stacks_are_no_root_modules() {
    let providers = Providers::publish();
    let environment = project(&providers);
    let module = requires("hashicorp/null", "")
        + "provider \"null\" {}\nresource \"null_resource\" \"a\" {}\n";
    environment.write("components/a/main.tf", module);
    environment
        .provlock(["verify", "-r"])
        .assert_stderr_has("1 root module");
    let unit = UNIT.replace("modules//${values.module}", "components/${values.module}");
    environment.write("units/app/terragrunt.hcl", unit);
    environment.write("live/terragrunt.stack.hcl", app("x", "\"a\""));
    let output = environment.provlock(["verify", "-r"]);
    output.assert_code(0).assert_lacks("root module");
}

#[test]
fn a_change_of_a_stack_is_checked_against_the_lock_files_of_its_units() {
    let providers = Providers::publish();
    let Providers { null, .. } = &providers;
    let repository = Repository::around(project(&providers));
    let environment = &repository.environment;
    environment.write("live/terragrunt.stack.hcl", app("a", "\"null\""));
    environment.write("prod/terragrunt.stack.hcl", app("a", "\"null\""));
    let locked = Providers::lock_file(&[(null, "~> 3.0")]);
    environment.write("live/.terragrunt-stack/a/.terraform.lock.hcl", &locked);
    repository.environment.commit_all(".");
    let checked = || {
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
    assert_eq!(checked(), [""; 0]);
    environment.write("live/terragrunt.stack.hcl", app("a", "\"random\""));
    assert_eq!(
        checked(),
        [
            "live/.terragrunt-stack/a/.terraform.lock.hcl: provider-not-required: \
             hashicorp/null is locked, but the configuration does not require it"
                .to_owned(),
            "modules/random/main.tf: publisher-added: hashicorp/random is new: \
             no lock file of the base contains it"
                .to_owned(),
            not_locked("random"),
        ]
    );
}

/// A change must not hide a root module by a unit that runs it.
#[test]
fn a_stack_of_a_change_hides_no_root_module() {
    let providers = Providers::publish();
    let repository = Repository::around(project(&providers));
    let environment = &repository.environment;
    let root = "terraform {\n  backend \"s3\" {}\n}\n";
    environment.write(
        "components/a/main.tf",
        root.to_owned() + &requires("hashicorp/null", ""),
    );
    let unit = UNIT.replace("modules//${values.module}", "components/${values.module}");
    environment.write("units/app/terragrunt.hcl", unit);
    environment.write(
        "components/a/.terraform.lock.hcl",
        Providers::lock_file(&[(&providers.null, "")]),
    );
    repository.environment.commit_all(".");
    environment.write("live/terragrunt.stack.hcl", app("x", "\"a\""));
    environment.write("components/a/.terraform.lock.hcl", "");
    let output = environment.provlock(["verify", "-r", "--base", "HEAD"]);
    output
        .assert_code(1)
        .assert_stdout_has("hashicorp/null is required, but not locked");
}

/// A git repository with units, and the source of a unit in it.
fn catalog(environment: &TestEnvironment, unit: &str) -> String {
    let catalog = environment.root().join("catalog");
    environment.write(catalog.join("units/app/terragrunt.hcl"), UNIT);
    environment.write(catalog.join("units/own/terragrunt.hcl"), "");
    environment.write(
        catalog.join("units/own/main.tf"),
        "module \"name\" {\n  source = \"./name\"\n}\n",
    );
    environment.write(
        catalog.join("units/own/name/main.tf"),
        requires("hashicorp/tls", "~> 4.0"),
    );
    if !catalog.join(".git").exists() {
        environment.git_init(&catalog);
        environment.commit_all(&catalog);
        environment.git(&catalog, ["tag", "v1.0.0"]);
    }
    let directory = with_slashes(catalog.to_str().unwrap());
    format!(
        "git::file:///{}//units/{unit}",
        directory.trim_start_matches('/')
    )
}

#[test]
fn units_of_a_pinned_repository_are_fetched() {
    let providers = Providers::publish();
    let Providers { null, tls, .. } = &providers;
    let environment = project(&providers);
    let pinned = format!("{}?ref=v1.0.0", catalog(&environment, "app"));
    let own = format!("{}?ref=v1.0.0", catalog(&environment, "own"));
    let values = "values = {\n    module = \"null\"\n  }";
    environment.write(
        "live/terragrunt.stack.hcl",
        unit_block("a", &pinned, values) + &unit_block("own", &own, ""),
    );
    for unit in ["a", "own"] {
        environment.write(
            format!("live/.terragrunt-stack/{unit}/.terraform.lock.hcl"),
            "",
        );
    }
    environment.provlock(LOCK_ALL).assert_code(0);
    assert_eq!(
        environment.read("live/.terragrunt-stack/a/.terraform.lock.hcl"),
        Providers::lock_file(&[(null, "~> 3.0")])
    );
    assert_eq!(
        environment.read("live/.terragrunt-stack/own/.terraform.lock.hcl"),
        Providers::lock_file(&[(tls, "~> 4.0")])
    );
    assert_eq!(verify(&environment), [""; 0]);
    environment.write(
        "live/terragrunt.stack.hcl",
        unit_block("a", &pinned, &values.replace("null", "random")),
    );
    let output = environment.provlock(["verify", "-r"]);
    output
        .assert_code(1)
        .assert_stdout_has("hashicorp/random is required, but not locked");

    let branch = pinned.replace("v1.0.0", "main");
    let none = pinned.replace("v1.0.0", "v2.0.0");
    for (source, reason) in [
        (
            branch,
            "the source of the unit is not in the repository, and not pinned",
        ),
        (none, "the source of the unit is not in the repository"),
    ] {
        let stack = unit_block("a", &source, values);
        assert_not_known(&environment, "a", &stack, reason);
    }
}

/// Terragrunt regenerates a unit from its source, and does not change other files.
#[test]
fn git_may_keep_only_the_lock_files_of_generated_units() {
    let providers = Providers::publish();
    let repository = Repository::around(with_shared_state(&providers));
    let environment = &repository.environment;
    environment.write(
        ".gitignore",
        "**/.terragrunt-stack/**\n!**/.terragrunt-stack/**/\n!**/.terragrunt-stack/**/.terraform.lock.hcl\n",
    );
    environment.write("live/.terragrunt-stack/a/.terraform.lock.hcl", "");
    environment.provlock(LOCK_ALL).assert_code(0);
    for unit in ["a", "b"] {
        let lock_file =
            environment.read(format!("live/.terragrunt-stack/{unit}/.terraform.lock.hcl"));
        assert!(lock_file.contains("provider"), "{unit}");
    }
    environment.commit_all(".");
    let output = environment.provlock(["verify", "-r", "--allow", "single-platform"]);
    output.assert_code(0).assert_lacks("warning");
}

/// Fails unless the lock file of a unit that is not generated is checked on its own for a reason,
/// and is not locked.
fn assert_not_known(environment: &TestEnvironment, unit: &str, stack: &str, reason: &str) {
    environment.write("live/terragrunt.stack.hcl", stack);
    let path = format!("live/.terragrunt-stack/{unit}/.terraform.lock.hcl");
    environment.write(&path, "");
    let output = environment.provlock(["verify", "-r"]);
    output
        .assert_code(0)
        .assert_stdout_has("so it was checked on its own")
        .assert_stdout_has(reason);
    let output = environment.provlock(["lock", "-r", "--offline"]);
    output
        .assert_code(0)
        .assert_stderr_has("so it was left as it is");
    assert_eq!(environment.read(path), "", "{reason}");
}

#[test]
fn stacks_that_terragrunt_refuses_generate_nothing() {
    let environment = project(&Providers::publish());
    environment.write(
        "stacks/one/terragrunt.stack.hcl",
        block("stack", "x", "${get_repo_root()}/stacks/two", ""),
    );
    environment.write(
        "stacks/two/terragrunt.stack.hcl",
        block("stack", "x", "${get_repo_root()}/stacks/one", "").repeat(2),
    );
    for (source, reason) in [
        ("../live", "the stack generates itself"),
        (
            "../stacks/one",
            "no unit in stacks/one/terragrunt.stack.hcl has the path a",
        ),
        (
            "../../elsewhere",
            "the source of the stack is not in the repository",
        ),
        (
            "../units/app",
            "the source of the stack has no terragrunt.stack.hcl",
        ),
        (
            "git::https://example.com/s.git?ref=v1",
            "the source of the stack is not in the repository",
        ),
    ] {
        let stack = block("stack", "x", source, "");
        assert_not_known(&environment, "x/.terragrunt-stack/a", &stack, reason);
    }
}

#[test]
fn units_that_terragrunt_refuses_are_not_locked() {
    let environment = project(&Providers::publish());
    let unknown_path = "live/terragrunt.stack.hcl generates units whose paths are not known";
    for (path, source, reason) in [
        (
            "a",
            "../../elsewhere",
            "the source of the unit is not in the repository",
        ),
        ("../../a", "../units/app", unknown_path),
        (".", "../units/app", unknown_path),
        ("/a", "../units/app", unknown_path),
    ] {
        assert_not_known(&environment, "a", &unit_block(path, source, ""), reason);
    }
}

#[test]
fn thousands_of_units_are_read_once() {
    let providers = Providers::publish();
    let environment = project(&providers);
    let mut stack = String::new();
    for number in 0..2_000 {
        stack += &app(&format!("u{number}"), "\"null\"");
    }
    environment.write("live/terragrunt.stack.hcl", &stack);
    environment.write("units/app/.terraform.lock.hcl", "");
    assert_eq!(verify(&environment), [not_locked("null")]);
}

#[cfg(unix)]
fn link(environment: &TestEnvironment, target: &str, path: &str) {
    std::os::unix::fs::symlink(target, environment.project().join(path)).unwrap();
}

#[cfg(unix)]
#[test]
fn links_in_stacks_lead_nowhere() {
    let providers = Providers::publish();
    let environment = with_shared_state(&providers);
    let locked = Providers::lock_file(&[(&providers.null, "~> 3.0")]);
    environment.write("live/.terragrunt-stack/a/.terraform.lock.hcl", &locked);
    environment.write("elsewhere/x", "");
    // The unit `b` would be written outside of the stack.
    link(&environment, "../../elsewhere", "live/.terragrunt-stack/b");
    environment.provlock(LOCK_ALL).assert_code(0);
    assert!(
        !environment
            .project()
            .join("elsewhere/.terraform.lock.hcl")
            .exists()
    );
    // A source is a link out of the repository.
    link(&environment, "/etc", "units/etc");
    environment.write(
        "live/terragrunt.stack.hcl",
        unit_block("a", "../units/etc", ""),
    );
    environment
        .provlock(["verify", "-r", "--allow", "single-platform"])
        .assert_code(0)
        .assert_stdout_has("the source of the unit is not in the repository");
}
