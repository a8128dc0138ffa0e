//! Addresses that attackers have used in reality.

use super::gate::Gate;
use super::{H1, NOTHING, ZH, entry, found, good, lock, messages};
use crate::lock::requires;
use provlock_test::archive::{self, Packing};
use provlock_test::git::Repository;
use provlock_test::{Registry, TestEnvironment, str, survived};

/// The first two stood in poisoned lock files, the third was malware in Terraform's registry. So
/// was `gocommunity-io/dockerd`, which looks like no other provider.
const INCIDENTS: [&str; 3] = [
    "registry.hashicorp-aws.com/hashicorp/awsbeta",
    "hashicorp-terraform.io/hashicorp/aws",
    "registry.terraform.io/kreuzwenker/docker",
];

/// A project that requires and locks just this provider.
fn locking(address: &str) -> TestEnvironment {
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires(address, ""));
    lock(&environment, &[entry(address, "1.0.0", "", &[H1, ZH])]);
    environment
}

#[test]
fn the_impostors_of_2026_are_found() {
    for address in INCIDENTS {
        assert_eq!(
            found(&locking(address), &["--dialect", "terraform"]),
            ["error look-alike"],
            "{address}"
        );
    }
    survived(
        "an address that imitates a well-known provider",
        INCIDENTS.len(),
    );
}

#[test]
fn the_incidents_of_2026_are_stopped_where_they_are_new() {
    let attempts: [(&str, &[&str]); 4] = [
        (INCIDENTS[0], &["look-alike"]),
        (INCIDENTS[1], &["look-alike"]),
        (INCIDENTS[2], &["look-alike"]),
        (
            "registry.terraform.io/gocommunity-io/dockerd",
            &["namespace-not-allowed"],
        ),
    ];
    let gate = Gate::with(|gate| {
        let settings = "dialect = \"terraform\"\n[policy]\nallowed-hosts = [\"registry.terraform.io\"]\n\
            allowed-namespaces = [\"registry.terraform.io/hashicorp\"]\n";
        gate.write("provlock.toml", settings);
        gate.remove("examples/a/.terraform.lock.hcl");
        for directory in ["live", "other"] {
            gate.root(directory, "registry.terraform.io/hashicorp/null", &[H1, ZH]);
        }
    });
    for (address, codes) in attempts {
        gate.root("live", address, &[H1, ZH]);
        gate.write("live/main.tf", requires(address, ""));
        assert_eq!(gate.errors(&["-r"]), codes, "{address}");
        gate.reset();
    }
    survived(
        "the addresses of the incidents of 2026 in a pull request",
        attempts.len(),
    );
}

#[test]
fn one_impostor_is_one_finding() {
    let settings = "dialect = \"terraform\"\n[policy]\nallowed-hosts = [\"registry.terraform.io\"]\n\
        allowed-namespaces = [\"registry.terraform.io/hashicorp\"]\n";
    let gate = Gate::with(|gate| {
        gate.write("provlock.toml", settings);
        gate.remove("examples/a/.terraform.lock.hcl");
        for directory in ["live", "other"] {
            gate.root(directory, "registry.terraform.io/hashicorp/null", &[H1, ZH]);
        }
    });
    let judged = |address: &str, flags: &[&str]| {
        gate.root("live", address, &[H1, ZH]);
        gate.write("live/main.tf", requires(address, ""));
        gate.judge(&[&["-r", "--allow", "hash-not-checked"], flags].concat())
    };
    assert_eq!(judged(INCIDENTS[1], &[]), ["look-alike"]);
    let output = gate.run(&["-r", "--allow", "hash-not-checked"]);
    output
        .assert_code(1)
        .assert_stdout_has("its host is hashicorp-terraform.io");
    output.assert_stdout_has("its namespace is hashicorp-terraform.io/hashicorp");
    let [denied, forbidden] = ["example.test/acme/x", "registry.terraform.io/acme/x"];
    assert_eq!(judged(denied, &[]), ["host-not-allowed"]);
    assert_eq!(judged(forbidden, &[]), ["namespace-not-allowed"]);
    // A finding that is more severe than its cause stays, and an unreported finding hides none.
    let flags = ["--warn", "look-alike"];
    assert_eq!(
        judged(INCIDENTS[1], &flags),
        ["host-not-allowed", "look-alike"]
    );
    assert_eq!(
        judged(INCIDENTS[1], &["--allow", "look-alike"]),
        ["host-not-allowed"]
    );
    assert_eq!(
        judged(
            forbidden,
            &[
                "--warn",
                "namespace-not-allowed",
                "--deny",
                "provider-added"
            ]
        )
        .len(),
        2
    );
    assert_eq!(
        judged(forbidden, &["--allow", "namespace-not-allowed"]),
        ["publisher-added", "publisher-added"]
    );
}

#[test]
fn an_impostor_is_found_where_it_is_only_required() {
    for address in INCIDENTS {
        let environment = TestEnvironment::new();
        environment.write("main.tf", "module \"m\" {\n  source = \"./m\"\n}\n");
        environment.write("m/main.tf", requires(address, ""));
        let found = found(&environment, &["--dialect", "terraform"]);
        assert_eq!(
            found,
            ["error lock-file-missing", "error look-alike"],
            "{address}"
        );
    }
}

#[test]
fn the_host_of_a_company_is_not_an_impostor() {
    let environment = good();
    let address = "registry.example.com/acme/gamma";
    environment.write("main.tf", requires(address, ""));
    lock(&environment, &[entry(address, "1.0.0", "", &[H1, ZH])]);
    assert_eq!(found(&environment, &[]), NOTHING);

    let address = "terraform-example.com/acme/gamma";
    environment.write("main.tf", requires(address, ""));
    lock(&environment, &[entry(address, "1.0.0", "", &[H1, ZH])]);
    assert_eq!(found(&environment, &[]), ["error look-alike"]);
    environment.write(
        "provlock.toml",
        "[policy]\nallowed-hosts = [\"terraform-example.com\"]\n",
    );
    assert_eq!(found(&environment, &[]), NOTHING);
}

/// Two letters that together look like one are more than the one different letter of other
/// imitations.
#[test]
fn two_letters_that_look_like_one_are_an_imitation() {
    let addresses = [
        ("registry.terraforrn.io/acme/gamma", "registry.terraform.io"),
        (
            "registry.opentofu.org/rnongodb/mongodbatlas",
            "mongodb/mongodbatlas",
        ),
        (
            "registry.opentofu.org/kreuzvverker/docker",
            "kreuzwerker/docker",
        ),
    ];
    for (address, like) in addresses {
        let environment = locking(address);
        assert_eq!(found(&environment, &[]), ["error look-alike"], "{address}");
        assert!(
            messages(&environment, &[]).contains(&format!("looks like {like}")),
            "{address}"
        );
    }
    assert_eq!(
        found(&locking("registry.opentofu.org/rnother/gamma"), &[]),
        NOTHING
    );
    survived(
        "an address that imitates a well-known provider",
        addresses.len(),
    );
}

#[test]
fn hosts_of_the_base_are_no_look_alikes() {
    let gate = Gate::with(|gate| {
        gate.write("provlock.toml", "");
        gate.root("old", "registry.example.com/acme/gamma", &[H1, ZH]);
    });
    let is_found = || gate.judge(&["-r"]).contains(&"look-alike".to_owned());
    gate.root("new", "registry.example.com/acme/delta", &[H1, ZH]);
    assert!(!is_found());
    gate.root("new", "registry.example.net/acme/delta", &[H1, ZH]);
    assert!(is_found(), "the change brings the host");
}

/// Asserts that docs/gate.md has a block of the first lines of these findings.
fn assert_documented(findings: &str) {
    let is_first = |line: &&str| {
        ["error[", "warning[", "note["]
            .iter()
            .any(|severity| line.starts_with(severity))
    };
    let lines: Vec<_> = findings.lines().filter(is_first).collect();
    let block = format!("```text\n{}\n```\n", lines.join("\n"));
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/gate.md")).unwrap();
    assert!(
        page.replace('\r', "").contains(&block),
        "docs/gate.md does not have\n{block}"
    );
}

#[test]
fn the_page_of_the_gate_shows_what_it_prints() {
    let gate = Gate::with(|gate| {
        gate.write("provlock.toml", "dialect = \"terraform\"\n");
        gate.remove("examples/a/.terraform.lock.hcl");
        for directory in ["live", "other"] {
            gate.root(directory, "registry.terraform.io/hashicorp/aws", &[H1, ZH]);
        }
    });
    for address in INCIDENTS
        .into_iter()
        .chain(["registry.terraform.io/gocommunity-io/dockerd"])
    {
        gate.root("live", address, &[H1, ZH]);
        gate.write("live/main.tf", requires(address, ""));
        gate.commit();
        assert_documented(&gate.run(&["-r", "--allow", "hash-not-checked"]).stdout);
        gate.reset();
    }
}

/// On 31 August 2026 this registry served other modules under unchanged versions, for 14 hours
/// (GHSA-vx42-ghc9-gw65).
#[test]
fn a_module_that_the_registry_of_coder_replaced_is_found() {
    const PATH: &str = "/v1/modules/coder/code-server/coder";
    let registry = Registry::start();
    registry.add_host("registry.coder.com");
    let serve = |text: &str| {
        let files = [("main.tf".to_owned(), text.as_bytes().to_vec())];
        registry.serve("/code-server.zip", archive::pack(&files, Packing::Deflated));
    };
    registry.serve(
        &format!("{PATH}/versions"),
        r#"{"modules":[{"versions":[{"version":"1.3.1"}]}]}"#,
    );
    let location = r#"{"location":"https://registry.coder.com/code-server.zip"}"#;
    registry.serve(&format!("{PATH}/1.3.1/download"), location);
    serve("# code-server\n");
    let repository = Repository::around(TestEnvironment::with_registry(&registry));
    let environment = &repository.environment;
    let call = "module \"code-server\" {\n  source  = \"registry.coder.com/coder/code-server/coder\"\n  \
        version = \"1.3.1\"\n}\n";
    environment.write("main.tf", call);
    environment.provlock(["lock", "--modules"]).assert_code(0);
    repository.environment.commit_all(".");
    environment
        .provlock(["verify", "-r", "--online", "--base", "main"])
        .assert_code(0);

    serve("# evil\n");
    let output = environment.provlock(["verify", "-r", "--online", "--base", "main"]);
    output.matches(str![[r#"
exit code: 1
----- stdout -----
error[module-replaced]: the package of registry.coder.com/coder/code-server/coder 1.3.1 has changed since it was locked
 --> .modules.lock.hcl:8:17
  |
8 |   package     = "registry::registry.coder.com/coder/code-server/coder@1.3.1"
  |                 ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ module "code-server"
  |
 ::: main.tf:2:13
  |
2 |   source  = "registry.coder.com/coder/code-server/coder"
  |             -------------------------------------------- called here
  |
  = locked hash: h1:IM3t6qVOKK/gGlYEQ+aCeo3WY1lyXoDRTp4Wf9+zY6s=
  = fetched hash: h1:rzUPuVMGDnpoQ329qxhba4DAk4D3KitIjYDYpv4v9nE=
help: find out why before you accept it: a version or address should never change its content; if this is intended, an owner allows it with --warn module-replaced

----- stderr -----
1 error in .modules.lock.hcl
"#]]);
    assert_documented(&output.stdout);
    for arguments in [&["get", "--no-cache"][..], &["lock", "--no-cache"]] {
        environment
            .provlock(arguments)
            .assert_code(2)
            .assert_stderr_has("error[module-replaced]");
    }
    survived("the modules that Coder's registry replaced", 3);
}

#[test]
fn an_impostor_that_is_required_is_shown_at_its_source() {
    let environment = TestEnvironment::new();
    environment.write("main.tf", requires("hashlcorp/null", "~> 3.0"));
    let output = environment.provlock(["verify"]);
    let shown = "look-alike]: registry.opentofu.org/hashlcorp/null looks like hashicorp/null, but is not\n --> main.tf:4:";
    output.assert_stdout_has(shown);
    let output = environment.provlock(["verify", "--format", "github"]);
    output.assert_stdout_has("line=4");
}

#[test]
fn a_new_provider_and_a_forbidden_one_are_shown_at_their_source() {
    for (source, code) in [
        ("hashicorp/more", "publisher-added"),
        ("acme/more", "namespace-not-allowed"),
    ] {
        let gate = Gate::with(|_| {});
        gate.write("new/main.tf", requires(source, "~> 3.0"));
        gate.write("new/.terraform.lock.hcl", "");
        gate.commit();
        let output = gate.run(&["-r"]);
        let start = output
            .stdout
            .find(&format!("[{code}]"))
            .unwrap_or_else(|| panic!("no {code}: {output}"));
        assert!(
            output.stdout[start..]
                .lines()
                .nth(1)
                .unwrap()
                .starts_with(" --> new/main.tf:4:"),
            "{output}"
        );
    }
}
