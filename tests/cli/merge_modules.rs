//! Merges of lock files of modules.

use provlock_test::files::{module_entry, module_lock_file};
use provlock_test::git::Repository;

/// Makes a branch of `main` with this lock file of modules, and stays there.
fn module_branch(repository: &Repository, name: &str, lock_file: &str) {
    repository.git(["checkout", "--quiet", "-b", name, "main"]);
    repository.environment.write(".modules.lock.hcl", lock_file);
    repository.git(["commit", "--quiet", "--all", "--message=modules"]);
}

/// A repository with a lock file of modules on `main`.
fn with_modules(lock_file: &str) -> Repository {
    let repository = Repository::new();
    repository
        .provlock(["setup", "git", "--write"])
        .assert_code(0);
    repository.environment.write(".modules.lock.hcl", lock_file);
    repository.commit("");
    repository
}

#[test]
fn branches_that_each_lock_a_module_merge_clean() {
    let [a, b, c] = ["a", "b", "c"].map(|name| module_entry(name, "v1.0.0", name));
    let repository = with_modules(&module_lock_file(std::slice::from_ref(&a)));
    // Git alone would see two changes of the same lines.
    module_branch(
        &repository,
        "one",
        &module_lock_file(&[a.clone(), b.clone()]),
    );
    module_branch(
        &repository,
        "two",
        &module_lock_file(&[a.clone(), c.clone()]),
    );
    repository.git(["merge", "--quiet", "--no-edit", "one"]);
    assert_eq!(
        repository.environment.read(".modules.lock.hcl"),
        module_lock_file(&[a, b, c])
    );
}

#[test]
fn two_packages_of_a_module_are_a_conflict_around_its_entry() {
    let locks = |tag: &str, commit: &str| {
        module_lock_file(&[
            module_entry("a", tag, commit),
            module_entry("b", "v1.0.0", "b"),
        ])
    };
    let repository = with_modules(&locks("v1.0.0", "1"));
    module_branch(&repository, "one", &locks("v1.1.0", "2"));
    module_branch(&repository, "two", &locks("v1.2.0", "3"));
    let output = repository.try_git(["merge", "--no-edit", "one"]);
    output.assert_code(1);
    output.assert_stderr_has(
        "conflict: ours has module.a git::https://example.com/a.git?ref=3, theirs git::https://example.com/a.git?ref=2",
    );
    output.assert_stderr_has(
        "choose a side of each conflict in .modules.lock.hcl, then run: provlock lock --modules",
    );
    let marked = repository.environment.read(".modules.lock.hcl");
    let [ours, theirs] = [("v1.2.0", "3"), ("v1.1.0", "2")]
        .map(|(tag, commit)| module_entry("a", tag, commit).trim_start().to_owned());
    let base = module_entry("a", "v1.0.0", "1");
    let conflict = format!("\n<<<<<<< ours\n{ours}=======\n{theirs}>>>>>>> theirs\n");
    assert_eq!(
        marked,
        module_lock_file(&[conflict, module_entry("b", "v1.0.0", "b")]),
        "{base}"
    );
    // The file can be repaired after one side was corrected by hand.
    let equal = marked.replace(&theirs, &ours);
    repository.environment.write(".modules.lock.hcl", &equal);
    repository
        .provlock(["merge", ".modules.lock.hcl"])
        .assert_code(0);
    assert_eq!(
        repository.environment.read(".modules.lock.hcl"),
        locks("v1.2.0", "3")
    );
    repository.environment.write(".modules.lock.hcl", &marked);
    let resolve = repository.provlock(["merge", "--resolve", ".modules.lock.hcl"]);
    resolve
        .assert_code(1)
        .assert_stderr_has("--resolve locks providers again, not modules");
    assert_eq!(repository.environment.read(".modules.lock.hcl"), marked);
}
