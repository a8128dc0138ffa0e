//! One root module that cannot be read among others: every command goes on with the others, names
//! the error, and fails.

use provlock_test::TestEnvironment;
use provlock_test::registry::Registry;

use crate::lock::requires;

/// A locked root module, and one with a broken configuration.
fn project() -> (Registry, TestEnvironment) {
    let (registry, environment) = Registry::with_project();
    registry
        .publish("acme/one", "1.0.0")
        .platforms(["linux_amd64"])
        .done();
    environment.write("good/main.tf", requires("acme/one", ""));
    environment
        .provlock(["lock", "good", "-p", "linux_amd64"])
        .assert_code(0);
    environment.write("broken/main.tf", "provider \"null\" {\n");
    (registry, environment)
}

#[test]
fn a_broken_root_module_does_not_stop_the_others() {
    let (_registry, environment) = project();
    let cases: [(&[&str], &str); 7] = [
        (&["sbom", "-r"], "acme/one"),
        (&["sbom", "-r", "--format", "spdx"], "acme/one"),
        (&["init", "--dry-run"], "registry.opentofu.org/acme"),
        (&["tree", "-r"], "acme/one"),
        (&["mirror", "-r", "--dry-run", "mirror"], ""),
        (&["lock", "-r", "-p", "linux_amd64"], ""),
        (&["verify", "-r"], ""),
    ];
    for (command, stdout) in cases {
        let output = environment.provlock(command);
        output.assert_code(2).assert_stdout_has(stdout);
        let text = format!("{}{}", output.stdout, output.stderr);
        assert!(
            text.contains("broken/main.tf:1:17"),
            "{command:?}: {output}"
        );
    }
    environment.provlock(["init"]).assert_code(2);
    let settings = environment.read("provlock.toml");
    assert!(
        settings.contains("registry.opentofu.org/acme"),
        "{settings}"
    );

    // Also a lock file, and if it is the only root module.
    environment.write("broken/main.tf", "provider \"null\" {}\n");
    environment.write("broken/.terraform.lock.hcl", "other {}\n");
    for command in [&["sbom", "-r"][..], &["init", "--dry-run"], &["tree", "-r"]] {
        let output = environment.provlock(command);
        output
            .assert_code(2)
            .assert_stderr_has("broken/.terraform.lock.hcl:1:1");
    }
    // An incomplete document says so, and a snapshot of GitHub would remove what is missing.
    environment
        .provlock(["sbom", "-r", "--format", "spdx"])
        .assert_stdout_has("\"relatedSpdxElement\": \"NOASSERTION\"");
    let output = environment.provlock(["sbom", "-r", "--format", "github-snapshot"]);
    output.assert_code(2).assert_lacks("manifests");
    let output = environment.provlock(["sbom", "broken"]);
    output.assert_code(2).assert_lacks("bomFormat");
}

/// `[roots]` comes first in a large repository, because it decides which root modules `init` reads.
#[test]
fn init_completes_settings_that_have_only_roots() {
    let (_registry, environment) = project();
    let roots = "# ours\n[roots]\nexclude = [\"broken\"] # later\n";
    environment.write("provlock.toml", roots);
    environment.provlock(["init"]).assert_code(0);
    let settings = environment.read("provlock.toml");
    assert!(settings.contains(roots), "{settings}");
    for line in ["dialect = \"tofu\"\n", "\n[policy]\n", "\n[verify]\n"] {
        assert_eq!(settings.matches(line).count(), 1, "{settings}");
    }
    environment
        .provlock(["verify", "-r", "--allow", "single-platform"])
        .assert_code(0);
    environment
        .provlock(["init"])
        .assert_code(2)
        .assert_stderr_has("provlock.toml exists already");

    let own = "dialect = \"tofu\"\nplatforms = [\"linux_amd64\"]\n\n[roots]\nexclude = [\"broken\"]\n\n[verify]\ndeny = []\n";
    environment.write("provlock.toml", own);
    environment.provlock(["init"]).assert_code(0);
    let settings = environment.read("provlock.toml");
    assert!(settings.contains(own), "{settings}");
    assert_eq!(settings.matches("dialect").count(), 1, "{settings}");
    assert_eq!(settings.matches("[verify]").count(), 1, "{settings}");
    assert!(settings.contains("allowed-hosts"), "{settings}");
}

#[test]
fn a_provider_of_an_allowed_namespace_is_not_reported_as_not_allowed() {
    let (_registry, environment) = project();
    environment.write("broken/main.tf", requires("acme/two", ""));
    environment.write("broken/more.tf", "provider \"other\" {}\n");
    environment.write("broken/backend.tf", "terraform {\n  backend \"s3\" {}\n}\n");
    let output = environment.provlock(["init", "--dry-run"]);
    output
        .assert_code(0)
        .assert_stderr_has("does not allow: registry.opentofu.org/hashicorp/other\n")
        .assert_lacks("acme/two");
}
