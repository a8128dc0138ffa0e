//! Revisions that `--base` accepts: a user who may push a tag or a branch cannot choose the base of
//! a comparison.

use provlock_test::survived;

use super::gate::{FORBIDDEN, Gate};

/// A change that the policy forbids, in a clone of a repository whose `main` is also there as
/// `origin/main`.
fn evil() -> Gate {
    let gate = Gate::with(|_| {});
    gate.git(&["config", "remote.origin.url", "https://example.com/a.git"]);
    gate.git(&["update-ref", "refs/remotes/origin/main", "main"]);
    gate.evil("live");
    gate.commit();
    gate
}

/// The exit code and stderr of `verify`.
fn verify(gate: &Gate, base: &str) -> (Option<i32>, String) {
    let output = gate.provlock(&["verify", "-r", "--base", base]);
    (output.code, output.stderr)
}

#[test]
fn a_tag_does_not_stand_for_a_branch() {
    // The reference that is made, a reference that is removed, and the name of the base.
    let attempts = [
        ("refs/tags/origin/main", "", "origin/main"),
        ("refs/tags/origin/main", "", "origin/main~0"),
        ("refs/tags/origin/main", "", "origin/main^0"),
        ("refs/tags/origin/main", "", "origin/main@{0}"),
        (
            "refs/tags/origin/main",
            "refs/remotes/origin/main",
            "origin/main",
        ),
        (
            "refs/tags/origin/main/HEAD",
            "refs/remotes/origin/main",
            "origin/main",
        ),
        ("refs/heads/origin/main", "", "origin/main"),
        ("refs/tags/main", "", "main"),
        ("refs/tags/main", "refs/heads/main", "main"),
        ("refs/tags/main", "refs/heads/main", "main~0"),
        ("refs/tags/origin", "", "origin"),
        (
            "refs/tags/remotes/origin/main",
            "refs/remotes/origin/main",
            "remotes/origin/main",
        ),
        (
            "refs/tags/refs/remotes/origin/main",
            "refs/remotes/origin/main",
            "refs/remotes/origin/main",
        ),
        (
            "refs/heads/refs/remotes/origin/main",
            "refs/remotes/origin/main",
            "refs/remotes/origin/main",
        ),
        ("refs/tags/heads/gone", "", "heads/gone"),
        ("refs/tags/HEAD", "", "HEAD"),
    ];
    for (made, removed, base) in attempts {
        let gate = evil();
        gate.git(&["update-ref", "refs/remotes/origin/HEAD", "main"]);
        gate.git(&["checkout", "-q", "--detach"]);
        gate.git(&["update-ref", made, "HEAD"]);
        if !removed.is_empty() {
            gate.git(&["update-ref", "-d", removed]);
        }
        let (code, stderr) = verify(&gate, base);
        assert_eq!(code, Some(2), "{made}, {base}: {stderr}");
        assert!(stderr.contains("--base"), "{made}, {base}: {stderr}");
    }
    survived(
        "a pull request adds a tag or a branch with the name of the base",
        attempts.len(),
    );
}

/// A clone of CI may have only a commit, and neither the branch nor a remote.
#[test]
fn a_tag_is_not_the_base_without_any_branch() {
    let bases = ["main", "main~0", "master", "develop", "release/next"];
    for base in bases {
        let gate = evil();
        gate.git(&["checkout", "-q", "--detach"]);
        gate.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
        gate.git(&["update-ref", "-d", "refs/heads/main"]);
        gate.git(&["config", "--remove-section", "remote.origin"]);
        gate.git(&[
            "update-ref",
            &format!("refs/tags/{}", base.trim_end_matches("~0")),
            "HEAD",
        ]);
        let (code, stderr) = verify(&gate, base);
        assert_eq!(code, Some(2), "{base}: {stderr}");
        assert!(
            stderr.contains("is a tag, and no local branch has this name"),
            "{base}: {stderr}"
        );
    }
    survived(
        "a pull request adds a tag or a branch with the name of the base",
        bases.len(),
    );
}

#[test]
fn an_id_of_a_commit_is_no_name() {
    let gate = evil();
    let id = gate.git(&["rev-parse", "main"]).trim().to_owned();
    for base in [&id[..], &id[..8]] {
        assert_eq!(verify(&gate, base).0, Some(1), "{base}");
        gate.git(&["update-ref", &format!("refs/tags/{base}"), "HEAD"]);
    }
    assert_eq!(verify(&gate, &id).0, Some(1));
    let (code, stderr) = verify(&gate, &id[..8]);
    assert!(
        code == Some(2) && stderr.contains("the name is ambiguous"),
        "{stderr}"
    );
}

#[test]
fn a_name_with_several_meanings_is_refused_and_each_can_be_named() {
    let gate = evil();
    gate.git(&["tag", "origin/main"]);
    gate.provlock(&["verify", "-r", "--base", "origin/main"]).matches(provlock_test::str![[r#"
exit code: 2
----- stderr -----
error[invalid-argument]: --base origin/main: the name is ambiguous: refs/remotes/origin/main, refs/tags/origin/main
help: write the full name, such as refs/remotes/origin/main
"#]]);
    gate.git(&["update-ref", "refs/remotes/origin/next", "main"]);
    gate.git(&["tag", "v1", "main"]);
    for base in [
        "refs/remotes/origin/main",
        "remotes/origin/main",
        "origin/next",
        "main",
        "v1",
        "tags/v1",
        "HEAD~1",
    ] {
        let output = gate.provlock(&["verify", "-r", "--base", base]);
        assert!(
            output.code == Some(1) && output.stdout.contains(FORBIDDEN),
            "{base}: {output}"
        );
    }
    let output = gate.provlock(&["verify", "-r", "-v", "--base", "origin/next"]);
    assert!(
        output
            .stderr
            .contains("The base is refs/remotes/origin/next, commit "),
        "{output}"
    );
}
