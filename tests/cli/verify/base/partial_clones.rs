//! Partial clones: provlock requests nothing from their remotes, and says how to fetch what they
//! lack.

use provlock_test::{Output, str};

use super::gate::{Gate, OTHER_H1, OTHER_ZH};
use super::{H1, NULL, ZH};

/// A pull request in a partial clone that git makes with a filter.
fn partial_clone(filter: &str) -> Gate {
    let gate = Gate::with(|gate| gate.root("live", NULL, &[OTHER_H1, OTHER_ZH]));
    gate.root("live", NULL, &[H1, ZH]);
    gate.commit();
    let project = gate.project();
    let source = gate.0.environment.root().join("source");
    std::fs::rename(&project, &source).unwrap();
    let source = source.to_str().unwrap();
    for name in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
        gate.0.environment.git(source, ["config", name, "true"]);
    }
    let url = format!("file://{source}");
    let clone = ["clone", "--quiet", filter, "--branch=change", &url];
    let target = project.to_str().unwrap();
    gate.0
        .environment
        .git(source, clone.iter().chain([&target]));
    gate
}

fn verify(gate: &Gate) -> Output {
    gate.provlock(&["verify", "-r", "--base", "origin/main"])
}

#[test]
fn a_file_that_a_partial_clone_lacks_is_not_requested() {
    let gate = partial_clone("--filter=blob:none");
    verify(&gate).matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: this partial clone lacks live/.terraform.lock.hcl of a commit that is compared, and provlock fetches nothing
help: fetch all files of the repository: git fetch --refetch --no-filter origin
"#]]);
    gate.provlock(&["diff", "-r", "origin/main"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: this partial clone lacks live/.terraform.lock.hcl of a commit that is compared, and provlock fetches nothing
help: fetch all files of the repository: git fetch --refetch --no-filter origin
"#]]);
    let below = gate
        .0
        .environment
        .command(["-C", "live", "diff", "origin/main"])
        .run();
    below.matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: this partial clone lacks .terraform.lock.hcl of a commit that is compared, and provlock fetches nothing
 |
 = in live
help: fetch all files of the repository: git -C live fetch --refetch --no-filter origin
"#]]);

    gate.git(&["fetch", "--quiet", "--refetch", "--no-filter", "origin"]);
    verify(&gate)
        .assert_code(1)
        .assert_stdout_has("error[hashes-replaced]");
    gate.provlock(&["diff", "-r", "origin/main"]).assert_code(0);
}

#[test]
fn a_directory_that_a_partial_clone_lacks_is_not_requested() {
    let gate = partial_clone("--filter=tree:0");
    verify(&gate).matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: this partial clone lacks a directory of a commit that is compared, and provlock fetches nothing
help: fetch all files of the repository: git fetch --refetch --no-filter origin
"#]]);
    gate.provlock(&["diff", "-r", "origin/main"])
        .matches(str![[r#"
exit code: 2
----- stderr -----
error[io]: this partial clone lacks a directory of a commit that is compared, and provlock fetches nothing
help: fetch all files of the repository: git fetch --refetch --no-filter origin
"#]]);
    gate.git(&["fetch", "--quiet", "--refetch", "--no-filter", "origin"]);
    verify(&gate)
        .assert_code(1)
        .assert_stdout_has("error[hashes-replaced]");
}

#[test]
fn a_partial_clone_that_lacks_nothing_is_checked() {
    let gate = partial_clone("--filter=blob:none");
    gate.git(&["diff", "origin/main"]);
    verify(&gate)
        .assert_code(1)
        .assert_stdout_has("error[hashes-replaced]");
}
