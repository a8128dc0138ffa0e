//! Units of modules in commits of the user's own repository: `git::../..//modules/app?ref=…`.

use provlock_test::survived;

use super::gate::{COMMIT, Gate};
use super::{H1, NULL, ZH, entry, lock_file, requires};

fn module(gate: &Gate) {
    gate.write("modules/app/main.tf", requires("hashicorp/null", ""));
}

/// Adds a unit whose module is at a commit, after the path to the repository.
fn unit(gate: &Gate, repository: &str, query: &str) {
    gate.write(
        "prod/app/.terraform.lock.hcl",
        lock_file(&[entry(NULL, "3.2.4", "", &[H1, ZH])]),
    );
    gate.write("prod/app/deployed-ref", format!("{query}\n"));
    gate.write(
        "prod/app/terragrunt.hcl",
        format!(
            "terraform {{\n  source = \"git::{repository}//modules/app?${{trimspace(file(\"deployed-ref\"))}}\"\n}}\n"
        ),
    );
}

fn commit_of(gate: &Gate, revision: &str) -> String {
    gate.git(&["rev-parse", revision]).trim().to_owned()
}

#[test]
fn a_new_unit_runs_a_module_in_a_commit_of_the_base() {
    let gate = Gate::with(module);
    gate.write("README.md", "Hello.\n");
    gate.commit();
    gate.git(&["branch", "--force", "main", "change"]);
    let first = commit_of(&gate, "main~1");
    for commit in [commit_of(&gate, "main"), first.clone()] {
        unit(&gate, "../..", &format!("ref={commit}"));
        assert_eq!(gate.errors(&["-r"]), [] as [&str; 0], "{commit}");
        let output = gate.run(&["-r"]);
        output.assert_code(0);
        assert!(
            output.stdout.contains("is remote and was not fetched"),
            "{output}"
        );
        gate.reset();
    }
    // The branch lacks the newest commit of the base.
    gate.git(&["reset", "--quiet", "--hard", &first]);
    unit(&gate, "../..", &format!("ref={first}"));
    assert_eq!(gate.errors(&["-r"]), [] as [&str; 0]);
}

#[test]
fn a_new_unit_cannot_run_a_module_that_nobody_approved() {
    let gate = Gate::with(module);
    // A merged branch with a commit that a later one hides.
    gate.write("modules/app/evil.tf", requires("evil/null", ""));
    gate.commit();
    let merged = format!("ref={}", commit_of(&gate, "HEAD"));
    gate.remove("modules/app/evil.tf");
    gate.write("README.md", "Hello.\n");
    gate.commit();
    gate.git(&["checkout", "--quiet", "main"]);
    gate.git(&["merge", "--quiet", "--no-ff", "--message=merge", "change"]);
    gate.git(&["checkout", "--quiet", "-B", "change"]);
    // A commit of the pull request, which a later one hides.
    gate.write("modules/app/evil.tf", requires("evil/null", ""));
    gate.commit();
    let hidden = format!("ref={}", commit_of(&gate, "HEAD"));
    gate.remove("modules/app/evil.tf");
    gate.commit();
    gate.git(&["tag", "v1"]);
    let approved = commit_of(&gate, "main");
    let attempts = [
        ("../..", merged),
        ("../..", hidden),
        ("../..", format!("ref={}", commit_of(&gate, "HEAD"))),
        ("../..", format!("ref={COMMIT}")),
        ("../..", "ref=main".to_owned()),
        ("../..", "ref=v1".to_owned()),
        ("../..", format!("ref={}", &approved[..12])),
        ("../..", format!("ref=v1&ref={approved}")),
        ("../..", format!("ref={approved}&ref=v1")),
        ("../../../other", format!("ref={approved}")),
        ("../../vendor", format!("ref={approved}")),
        ("./", format!("ref={approved}")),
    ];
    let tip = commit_of(&gate, "HEAD");
    for (repository, query) in &attempts {
        unit(&gate, repository, query);
        let errors = gate.errors(&["-r"]);
        assert!(
            errors.iter().any(|code| code == "not-decided"),
            "{repository} {query}: {errors:?}"
        );
        gate.git(&["reset", "--quiet", "--hard", &tip]);
    }
    survived(
        "a pull request runs a module in a commit of its own",
        attempts.len(),
    );
}
