//! Attempts to bypass the gate: files in a pull request that make `verify -r --base` check
//! something else than what runs.

use provlock_test::survived;

use super::gate::{Attempt, Gate};
use crate::lock::requires;

pub(in crate::verify) const BACKEND: &str = "terraform {\n  backend \"s3\" {}\n}\n";

/// Makes each attempt in a repository of its own.
#[track_caller]
pub(in crate::verify) fn all_are_errors(attack: &str, prepare: fn(&Gate), attempts: &[Attempt]) {
    let gate = Gate::with(prepare);
    assert_eq!(
        gate.judge(&["-r", "--allow", "module-not-installed"]),
        [] as [&str; 0],
        "nothing has changed"
    );
    for (name, attempt, code) in attempts {
        attempt(&gate);
        gate.commit();
        let output = gate.provlock(&["verify", "-r", "--base", "main"]);
        assert_eq!(output.code, Some(1), "{name}: {output}");
        assert!(
            output.stdout.contains(&format!("error[{code}]")),
            "{name}: {output}"
        );
        gate.reset();
    }
    survived(attack, attempts.len());
}

/// An evil configuration beside the lock file of the base.
pub(in crate::verify) fn evil_configuration(gate: &Gate, directory: &str) {
    gate.write(&format!("{directory}/main.tf"), requires("evil/null", ""));
}

#[test]
fn a_unit_beside_a_root_module_is_seen() {
    let gate = Gate::with(|_| {});
    gate.write("live/terragrunt.hcl", "locals {}\n");
    assert_eq!(gate.judge(&["-r"]), ["not-decided"]);
    gate.write(
        "units/a/terragrunt.hcl",
        "terraform {\n  source = \"../../modules/m\"\n}\n",
    );
    gate.write("modules/m/main.tf", requires("hashicorp/null", ""));
    assert_eq!(
        gate.judge(&["-r"]),
        ["not-decided"],
        "a new unit of a new module hides nothing"
    );
    let output = gate.provlock(&[
        "verify",
        "-r",
        "--base",
        "main",
        "--allow",
        "single-platform",
    ]);
    output.matches(provlock_test::str![[r#"
exit code: 1
----- stdout -----
error[not-decided]: the change lets Terragrunt run the root module in live, which is checked with and without it
help: make sure that Terragrunt should run it from now on; if this is intended, an owner allows it with --warn not-decided

----- stderr -----
1 error in live/.terraform.lock.hcl
2 root modules: 1 OK, 1 excluded by provlock.toml
1 Terragrunt unit: with errors
2 changed modules: 2 need no lock file
"#]]);
}

/// Requirements that name a provider `extra`.
const NAMES_EXTRA: &str =
    "terraform {\n  required_providers {\n    extra = { source = \"hashicorp/null\" }\n  }\n}\n";

/// A unit with a lock file, a file of its own that uses a provider of the module, and the module
/// that it runs.
fn new_unit(gate: &Gate, configuration: &str) {
    gate.write("modules/m/main.tf", NAMES_EXTRA);
    gate.write("new/more.tf", "resource \"extra_thing\" \"more\" {}\n");
    gate.write(
        "new/.terraform.lock.hcl",
        gate.read("live/.terraform.lock.hcl"),
    );
    gate.write("new/terragrunt.hcl", configuration);
}

const RUNS_M: &str = "terraform {\n  source = \"../modules/m\"\n}\n";

#[test]
fn a_new_unit_with_a_file_of_its_own_is_checked_as_terragrunt_runs_it() {
    let gate = Gate::with(|gate| gate.write("units/u/terragrunt.hcl", RUNS_M));
    new_unit(&gate, RUNS_M);
    assert_eq!(
        gate.judge(&["-r"]),
        [] as [&str; 0],
        "its own directory needs hashicorp/extra without the module"
    );
    let generate = "generate \"more\" {\n  path = \"settings.tf\"\n  if_exists = \"overwrite\"\n  contents = \"\"\n}\n";
    gate.write("new/terragrunt.hcl", format!("{RUNS_M}{generate}"));
    assert_eq!(
        gate.judge(&["-r"]),
        [] as [&str; 0],
        "a generated file beside it hides nothing"
    );
    gate.write(
        "new/terragrunt.hcl",
        "terraform {\n  source = \"s3::https://s3.amazonaws.com/b/m.zip\"\n}\n",
    );
    let remote = gate.judge(&["-r"]);
    let is_found = |code: &&str| remote.iter().any(|found| found == code);
    assert!(
        ["not-decided", "provider-not-locked"].iter().all(is_found),
        "a remote module may override it: {remote:?}"
    );
}

#[test]
fn a_cache_in_the_repository_is_refused() {
    let gate = Gate::with(|_| {});
    for cache in [".cache", "live/none/yet", "../project/a"] {
        let output = gate.provlock(&["verify", "-r", "--base", "main", "--cache-dir", cache]);
        assert!(
            output.code == Some(2)
                && output
                    .stderr
                    .contains("so the pull request may have forged it"),
            "{output}"
        );
    }
    gate.provlock(&["verify", "-r", "--base", "main", "--cache-dir", "../cache"])
        .assert_code(0);
    gate.provlock(&[
        "verify",
        "-r",
        "--base",
        "main",
        "--cache-dir",
        ".cache",
        "--no-cache",
    ])
    .assert_code(0);
    gate.provlock(&["verify", "-r", "--cache-dir", ".cache"])
        .assert_code(0);
    survived("a pull request adds a cache", 3);
}

/// An attempt, flags, and whether the run is refused.
type SourceCase<'a> = (fn(&Gate), &'a [&'a str], bool);

/// They decide which registry or directory confirms the recorded hashes.
#[test]
fn a_cli_configuration_or_a_mirror_that_the_change_alters_is_refused() {
    let mirror = "provider_installation {\n  filesystem_mirror {\n    path = \"m\"\n  }\n}\n";
    let mut gate = Gate::with(|gate| {
        gate.write("ci.tfrc", mirror);
        gate.write("m/README", "");
    });
    let configuration = gate.project().join("ci.tfrc");
    gate.0.environment.set("TF_CLI_CONFIG_FILE", configuration);
    let own: &[&str] = &["-r"];
    let cases: [SourceCase; 9] = [
        (|_| {}, &["-r", "--use-cli-config"], false),
        (
            |gate| gate.write("ci.tfrc", "host \"evil.test\" {\n  services = {}\n}\n"),
            own,
            true,
        ),
        (|gate| gate.write("ci.tfrc", "{{"), own, true),
        (|gate| gate.remove("ci.tfrc"), own, true),
        (|gate| gate.write("m/evil.zip", ""), own, false),
        (
            |gate| gate.write("m/evil.zip", ""),
            &["-r", "--use-cli-config"],
            true,
        ),
        (
            |gate| gate.write("m/evil.zip", ""),
            &["-r", "--fs-mirror", "m"],
            true,
        ),
        (
            |gate| gate.write("n/evil.zip", ""),
            &["-r", "--fs-mirror", "live/../n"],
            true,
        ),
        (
            |gate| gate.write("n/evil.zip", ""),
            &["-r", "--fs-mirror", "m"],
            false,
        ),
    ];
    for (attempt, flags, is_refused) in cases {
        attempt(&gate);
        gate.commit();
        let output = gate.run(flags);
        let message = "differs from the base, so the pull request would choose the packages";
        assert_eq!(
            (output.code == Some(2), output.stderr.contains(message)),
            (is_refused, is_refused),
            "{output}"
        );
        gate.reset();
    }
    gate.write("ci.tfrc", "");
    gate.provlock(&["verify", "-r"]).assert_code(0);
}

#[test]
#[cfg(unix)]
fn nothing_is_written_through_links() {
    let gate = Gate::with(|_| {});
    gate.link(".git", "reports");
    gate.link(".git/config", "report.sarif");
    gate.link("../outside", "outside.json");
    gate.link("new", "none.json");
    gate.commit();
    let before = gate.read(".git/config");
    let mut attempts = 0;
    for path in [
        "report.sarif",
        "reports/config",
        "reports/new",
        "outside.json",
        "none.json",
    ] {
        let output = gate.provlock(&["verify", "-r", "--report", &format!("sarif={path}")]);
        assert!(
            output.code == Some(2)
                && output
                    .stderr
                    .contains("is a symbolic link in the repository"),
            "{output}"
        );
        assert_eq!(gate.read(".git/config"), before, "{output}");
        attempts += 1;
    }
    for path in [".git/new", "outside", "new", "../outside"] {
        assert!(!gate.project().join(path).exists(), "{path}");
    }
    gate.provlock(&["verify", "-r", "--report", "sarif=/dev/stdout"])
        .assert_code(0);
    survived(
        "a pull request puts a link where a report is written",
        attempts,
    );
}

#[test]
fn no_report_replaces_a_file_that_a_program_reads() {
    let gate = Gate::with(|gate| {
        gate.write("live/terraform.tfvars", "");
        gate.write(".github/workflows/ci.yml", "");
    });
    let before = gate.0.environment.snapshot();
    let configuration = gate.read(".git/config");
    let paths = [
        "main.tf",
        "live/main.tf",
        "live/new.tf",
        "live/MAIN.TF",
        "live/a.tofu",
        "live/a.tf.json",
        "live/terraform.tfvars",
        "live/terraform.tfvars.json",
        "live/a.auto.tfvars",
        "live/a.tftest.hcl",
        "live/terragrunt.hcl",
        "live/.terraform.lock.hcl",
        "live/.modules.lock.hcl",
        "live/terraform.tfstate",
        "live/.terraform/modules/modules.json",
        "provlock.toml",
        "live/ProvLock.toml",
        ".git/config",
        ".git/HEAD",
        ".GIT/config",
        "live/../.git/HEAD",
        ".git/hooks/pre-commit",
        ".gitattributes",
        ".gitignore",
        ".gitmodules",
        ".terraformignore",
        ".terraform-version",
        ".tofurc",
        "ci.tfrc",
        "ci.tfbackend",
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        ".pre-commit-config.yaml",
    ];
    for path in paths {
        for format in ["json", "text"] {
            let report = format!("{format}={path}");
            let output = gate.provlock(&["verify", "-r", "--report", &report]);
            output
                .assert_code(2)
                .assert_stderr_has("reads, so no report is written to it");
        }
    }
    before.assert_same(&gate.0.environment.snapshot());
    assert_eq!(gate.read(".git/config"), configuration);
    survived(
        "a report at the path of a file that a program reads",
        paths.len(),
    );

    for path in [
        "report.json",
        "reports.d/a.sarif",
        "git/HEAD",
        "terraform.json",
        "/dev/null",
    ] {
        gate.write("reports.d/b", "");
        gate.write("git/b", "");
        let report = format!("json={path}");
        gate.provlock(&["verify", "-r", "--report", &report])
            .assert_code(0);
    }
}
