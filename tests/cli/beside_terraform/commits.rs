//! Commits of modules that Terraform gets, because a clone has them.

use provlock_test::TestEnvironment;

use super::project;
use crate::get::{fork_of_a_module, module_at};

/// A commit of a fork is only in a reference that a clone does not fetch.
#[test]
fn a_commit_of_a_module_is_taken_where_terraform_takes_it() {
    let project = project();
    let environment = &project.environment;
    let fork = fork_of_a_module(environment);
    let modules = environment.root().join("modules.git");
    let released = environment.git(&modules, ["rev-parse", "v1.0.0"]);
    for (reference, is_accepted) in [
        (fork.as_str(), false),
        (&fork[..12], false),
        ("refs/pull/1/head", false),
        ("pull/1/head", false),
        (released.as_str(), true),
        ("v1.0.0", true),
        ("main", true),
    ] {
        project.write(&[("main.tf", &module_at(environment, reference))]);
        if let Some(result) = project.init() {
            assert_eq!(result.0.is_some(), is_accepted, "Terraform: {reference}");
        }
        project.write(&[("main.tf", &module_at(environment, reference))]);
        let lock = environment.provlock(["lock", "--modules"]);
        let code = if is_accepted { 0 } else { 2 };
        assert_eq!(lock.code, Some(code), "{reference}: {lock}");
        assert_eq!(has_module_lock_file(environment), is_accepted);
    }

    // A branch contains the commit.
    let work = environment.root().join("work");
    environment.git(&work, ["push", "--quiet", "../modules.git", "topic"]);
    project.write(&[("main.tf", &module_at(environment, &fork))]);
    if let Some(result) = project.init() {
        assert!(result.0.is_some(), "Terraform: a branch");
    }
    environment.provlock(["lock", "--modules"]).assert_code(0);
}

fn has_module_lock_file(environment: &TestEnvironment) -> bool {
    environment.project().join(".modules.lock.hcl").exists()
}
