//! `allowed-modules`: the sources that modules may have.

use super::gate::Gate;
use super::{H1, NOTHING, NULL, ZH, found, good};
use provlock_test::archive::{self, Packing};
use provlock_test::{Registry, TestEnvironment, str, survived};

const NOT_ALLOWED: &str = "error module-not-allowed";
const ALLOWED: &str = "[policy]\nallowed-modules = [\"github.com/acme/*\", \"acme/*\", \"registry.example.com/acme/*\"]\n";
const FLAGS: [&str; 2] = ["--allow", "module-not-installed"];

/// A block that calls a module.
fn call(name: &str, source: &str) -> String {
    format!("module \"{name}\" {{\n  source = {source}\n}}\n")
}

/// A root module with a list of modules, which calls a module.
fn calling(settings: &str, source: &str) -> TestEnvironment {
    let environment = good();
    environment.write("provlock.toml", settings);
    environment.write("calls.tf", call("network", &format!("{source:?}")));
    environment
}

#[test]
fn a_module_of_a_different_publisher_is_an_error() {
    let environment = calling(ALLOWED, "git::https://github.com/evil/network.git?ref=v1");
    let flags = ["verify", "--allow", "module-not-installed,single-platform"];
    environment.provlock(flags).matches(str![[r#"
exit code: 1
----- stdout -----
error[module-not-allowed]: the policy does not allow module "network": its source is github.com/evil/network
 --> calls.tf:2:12
  |
2 |   source = "git::https://github.com/evil/network.git?ref=v1"
  |            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ called here
  |
help: use another module, or add "github.com/evil/*" to allowed-modules in provlock.toml

----- stderr -----
1 error in calls.tf
"#]]);
}

#[test]
fn all_spellings_of_an_allowed_source_are_allowed() {
    for source in [
        "github.com/acme/network",
        "github.com/ACME/network//modules/a?ref=v1",
        "git::https://github.com/acme/network.git?ref=v1&depth=1",
        "git::ssh://git@github.com/acme/network.git",
        "git@github.com:acme/network.git",
        "https://github.com/acme/network/archive/refs/tags/v1.zip",
        "https://codeload.github.com/acme/network/zip/v1?archive=zip",
        "acme/network/aws",
        "registry.opentofu.org/acme/network/aws//modules/a",
        "registry.example.com/acme/network/aws",
    ] {
        let environment = calling(ALLOWED, source);
        assert_eq!(found(&environment, &FLAGS), NOTHING, "{source}");
    }
    let environment = good();
    environment.write("provlock.toml", "[policy]\nallowed-modules = []\n");
    environment.write("calls.tf", call("local", "\"./local\""));
    environment.write("local/main.tf", "");
    assert_eq!(found(&environment, &FLAGS), NOTHING, "local modules");
}

#[test]
fn a_source_that_resembles_an_allowed_one_is_an_error() {
    let mut attempts = 0;
    for source in [
        "github.com/acme-evil/network",
        "git::https://github.com@evil.test/acme/network",
        "git::https://evil.test/github.com/acme/network",
        "git::https://github.com.evil.test/acme/network",
        "git::https://github.com:8443/acme/network",
        "git::ssh://git@github.com:443/acme/network",
        "git::http://github.com/acme/network",
        "git::git://github.com/acme/network",
        "git::https://github.com/acme/%2e%2e/evil/network",
        "git::https://github.com/acme%2f..%2fevil/network",
        "git::https://github%2ecom/acme/network",
        "git::https://g\u{456}thub.com/acme/network",
        "github.com/acme/network?ref=refs/pull/1/head",
        "https://github.com/acme/network/archive/refs/pull/1/head.zip",
        "https://gist.github.com/acme/network/archive/v1.zip",
        "registry.terraform.io/acme/network/aws",
        "registry.example.com:8443/acme/network/aws",
        "acme-evil/network/aws",
        "git::file:///srv/github.com/acme/network",
    ] {
        let environment = calling(ALLOWED, source);
        let output = environment.provlock(["verify", "--allow", "module-not-installed"]);
        // Some addresses are errors of their own.
        let is_refused = output.code == Some(2) && output.stderr.contains("calls.tf:2:12");
        let is_not_allowed = output.stdout.contains("error[module-not-allowed]");
        assert!(is_refused || is_not_allowed, "{source}: {output}");
        assert_ne!(output.code, Some(0), "{source}");
        attempts += 1;
    }
    survived("a module source that resembles an allowed one", attempts);
}

#[test]
fn calls_in_called_modules_are_checked() {
    let environment = good();
    environment.write("provlock.toml", ALLOWED);
    environment.write("calls.tf", call("local", "\"./local\""));
    environment.write(
        "local/main.tf",
        call("below", "\"github.com/evil/network\""),
    );
    assert_eq!(found(&environment, &FLAGS), [NOT_ALLOWED]);

    // Also in modules of other packages.
    let (registry, environment) = Registry::with_project();
    let files = call("below", "\"github.com/evil/network\"");
    let file = ("network/main.tf".to_owned(), files.into_bytes());
    registry.serve("/modules.zip", archive::pack(&[file], Packing::Deflated));
    environment.write(
        "main.tf",
        call(
            "network",
            "\"https://registry.opentofu.org/modules.zip//network\"",
        ),
    );
    environment.write(
        "provlock.toml",
        "[policy]\nallowed-modules = [\"registry.opentofu.org/modules.zip\"]\n",
    );
    let output = environment.provlock(["verify", "--online"]);
    output
        .assert_code(1)
        .assert_stdout_has("error[module-not-allowed]: the policy does not allow module \"network.below\": its source is github.com/evil/network")
        .assert_stdout_has("main.tf:2:12");
}

#[test]
fn a_call_whose_source_is_unknown_is_not_allowed_in_silence() {
    for (unknown, files) in [
        (
            "a variable",
            format!(
                "variable \"source\" {{}}\n{}",
                call("network", "var.source")
            ),
        ),
        (
            "a part",
            format!(
                "variable \"owner\" {{}}\n{}",
                call("network", "\"github.com/${var.owner}/network\"")
            ),
        ),
    ] {
        let environment = good();
        environment.write("provlock.toml", ALLOWED);
        environment.write("calls.tf", files);
        for flags in [
            &["verify"][..],
            &["verify", "--allow", "module-not-installed"],
        ] {
            let output = environment.provlock(flags);
            assert_ne!(output.code, Some(0), "{unknown}: {output}");
        }
    }
    let environment = good();
    environment.write("provlock.toml", ALLOWED);
    environment.write(
        "unit/terragrunt.hcl",
        "terraform {\n  source = run_cmd(\"x\")\n}\n",
    );
    let output = environment.provlock(["verify", "unit"]);
    assert_ne!(output.code, Some(0), "{output}");
    environment.write(
        "unit/terragrunt.hcl",
        "terraform {\n  source = \"github.com/evil/network\"\n}\n",
    );
    environment
        .provlock(["verify", "unit"])
        .assert_has("error[module-not-allowed]");
}

#[test]
fn the_list_of_the_base_applies_to_a_change() {
    let gate = Gate::with(|gate| {
        gate.write("provlock.toml", ALLOWED);
        gate.write(
            "other/calls.tf",
            call("network", "\"github.com/acme/network\""),
        );
    });
    let flags = ["-r", "--allow", "module-not-installed"];
    assert_eq!(gate.errors(&flags), [] as [&str; 0]);
    gate.write(
        "live/calls.tf",
        call("network", "\"github.com/acme/dns?ref=v1\""),
    );
    let errors = gate.errors(&flags);
    assert!(
        !errors.contains(&"module-not-allowed".to_owned()),
        "{errors:?}"
    );

    gate.write(
        "live/calls.tf",
        call("network", "\"github.com/evil/dns?ref=v1\""),
    );
    gate.write(
        "provlock.toml",
        ALLOWED.replace("github.com/acme", "github.com"),
    );
    let errors = gate.errors(&flags);
    for code in ["module-not-allowed", "policy-changed"] {
        assert!(errors.contains(&code.to_owned()), "{code}: {errors:?}");
    }
}

#[test]
fn a_pattern_that_is_none_is_an_error_at_its_position() {
    let environment = good();
    for (pattern, message) in [
        (
            "github.com/acme",
            "write github.com/acme/* for all of its modules",
        ),
        ("https://github.com/acme/*", "has a scheme or a login"),
        ("github.com/acme*", "has a * that is not its last part"),
        ("github.com/acme/../evil/*", "has a part that no path has"),
    ] {
        environment.write(
            "provlock.toml",
            format!("[policy]\nallowed-modules = [{pattern:?}]\n"),
        );
        environment
            .provlock(["verify"])
            .assert_code(2)
            .assert_stderr_has(message)
            .assert_stderr_has("provlock.toml:2:20");
    }
}

#[test]
fn init_allows_the_modules_of_today() {
    let environment = good();
    environment.write(
        "calls.tf",
        [
            call("a", "\"github.com/acme/network?ref=v1\""),
            call("b", "\"git@github.com:acme/dns.git?ref=v1\""),
            call(
                "c",
                "\"terraform-aws-modules/vpc/aws\"\n  version = \"1.0.0\"",
            ),
            call("d", "\"./local\""),
        ]
        .concat(),
    );
    environment.write("local/main.tf", "");
    super::lock(
        &environment,
        &[super::entry(NULL, "3.2.4", "~> 3.0", &[H1, ZH])],
    );
    let output = environment.provlock(["init", "--offline"]);
    output.assert_code(0);
    let settings = environment.read("provlock.toml");
    let line = "allowed-modules = [\"github.com/acme/*\", \"registry.opentofu.org/terraform-aws-modules/*\"]";
    assert!(settings.contains(line), "{settings}");
    assert_eq!(found(&environment, &FLAGS), NOTHING);
    environment.write("more.tf", call("e", "\"github.com/evil/network?ref=v1\""));
    assert_eq!(found(&environment, &FLAGS), [NOT_ALLOWED]);
}
