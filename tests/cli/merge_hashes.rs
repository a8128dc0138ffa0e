//! Merges of entries whose hashes cannot all be of one release.

use provlock_test::files::{entry, h1, lock_file, zh};
use provlock_test::{TestEnvironment, str};

#[test]
fn hashes_that_cannot_be_of_one_release_are_pointed_out() {
    let environment = TestEnvironment::new();
    let (a, b) = (zh("a"), zh("b"));
    let hashes = format!("<<<<<<< HEAD\n    \"{a}\",\n=======\n    \"{b}\",\n>>>>>>> topic\n");
    let text = lock_file(&[entry("hashicorp/null", "3.2.4", "", &["zh:x"])])
        .replace("    \"zh:x\",\n", &hashes);
    environment.write_lock_file(&text);
    let output = environment.provlock(["merge", ".terraform.lock.hcl"]);
    output.matches(str![[r#"
exit code: 0
----- stderr -----
warning[hashes-replaced]: the two sides have different zh hashes of hashicorp/null 3.2.4
 |
 = both were kept, but a release has one list of zh hashes: some may belong to another version
help: provlock verify --online
Merged .terraform.lock.hcl
"#]]);
    assert_eq!(
        environment.lock_file(),
        lock_file(&[entry("hashicorp/null", "3.2.4", "", &[&a, &b])])
    );
}

#[test]
fn zh_of_one_side_only_are_pointed_out() {
    let environment = TestEnvironment::new();
    let of = |hashes: &[&str]| lock_file(&[entry("hashicorp/null", "3.2.4", "", hashes)]);
    let (h1_a, h1_b) = (h1("a"), h1("b"));
    let (zh_a, zh_b) = (zh("a"), zh("b"));
    let sides = format!(
        "<<<<<<< HEAD\n    \"{h1_a}\",\n=======\n    \"{h1_b}\",\n    \"{zh_b}\",\n>>>>>>> topic\n"
    );
    environment.write_lock_file(of(&["h1:x", &zh_a]).replace("    \"h1:x\",\n", &sides));
    let warning = "the two sides have different zh hashes of hashicorp/null 3.2.4";
    environment
        .provlock(["merge"])
        .assert_code(0)
        .assert_stderr_has(warning);
    assert_eq!(environment.lock_file(), of(&[&h1_a, &h1_b, &zh_a, &zh_b]));

    // Three versions of a file. If only one side differs from the base, its entry is the result.
    let one = [zh_a.as_str()];
    let more = [h1_a.as_str(), &zh_a];
    let others = [zh_a.as_str(), &zh_b];
    for (base, ours, theirs, is_mixed) in [
        (one, &one[..], &others[..], false),
        (one, &others, &one, false),
        (one, &more, &others, true),
    ] {
        environment.write("base", of(&base));
        environment.write("ours", of(ours));
        environment.write("theirs", of(theirs));
        let output = environment.provlock(["merge", "base", "ours", "theirs", "--path", "ours"]);
        output.assert_code(0);
        assert_eq!(
            output.stderr.contains(warning),
            is_mixed,
            "{ours:?} {theirs:?} {output}"
        );
    }
}
