//! Recorded hashes that cannot match any package.

use provlock_test::files::{entry, h1, lock_file, requires, zh};
use provlock_test::publish::Published;
use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, str};

const LINUX: &str = "linux_amd64";
const LOCK: [&str; 3] = ["lock", "-p", LINUX];
/// Too short, too long, with letters of no digit, and base64 whose last bits are not zero.
const MALFORMED: [&str; 6] = [
    "h1:abc",
    "h1:",
    "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=",
    "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    "zh:xyz",
    "zh:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
];

/// A root module whose only entry has these hashes, some of them published.
fn project(hashes: impl Fn(&Published) -> Vec<String>) -> (Registry, TestEnvironment, Published) {
    let (registry, environment, gamma) =
        Registry::with_required("acme/gamma", "1.5.0", [LINUX], "");
    environment.write_lock_file(lock_file(&[gamma.entry("", &hashes(&gamma))]));
    (registry, environment, gamma)
}

fn with(hashes: Vec<String>, more: &str) -> Vec<String> {
    [hashes, vec![more.to_owned()]].concat()
}

#[test]
fn a_malformed_hash_is_the_hash_of_no_platform() {
    let (_registry, environment, gamma) = project(|gamma| with(gamma.all_zh(), "h1:abc"));
    for check in [
        &["lock", "--check"][..],
        &[&LOCK[..], &["--check"]].concat(),
    ] {
        environment.provlock(check).assert_code(1);
    }
    environment
        .provlock(["lock", "-p", LINUX])
        .matches(str![[r#"
exit code: 0
----- stderr -----
warning[malformed-hash]: the hash h1:abc cannot match any package: it is not h1: and the base64 of 32 bytes
 --> .terraform.lock.hcl:7:5
  |
7 |     "h1:abc",
  |     ^^^^^^^^
  |
help: remove the hash, then run: provlock lock -p linux_amd64
  ~ acme/gamma   1.5.0   signed, key 558D46FBE8647CB4   h1 for linux_amd64 added
Locked 1 provider for linux_amd64 (1 changed)
Never published: 1 recorded hash; lock --check and verify --online fail because of that
"#]]);
    let hashes = with(gamma.hashes(&[LINUX]), "h1:abc");
    assert_eq!(
        environment.lock_file(),
        lock_file(&[gamma.entry("", &hashes)])
    );
    // Nothing is missing any more, and the hash is still there.
    environment
        .provlock(["lock", "--check"])
        .matches(str![[r#"
exit code: 1
----- stderr -----
warning[malformed-hash]: the hash h1:abc cannot match any package: it is not h1: and the base64 of 32 bytes
 --> .terraform.lock.hcl:7:5
  |
7 |     "h1:abc",
  |     ^^^^^^^^
  |
help: remove the hash, then run: provlock lock
Up to date: 1 provider for linux_amd64
Checked now: linux_amd64 only; set platforms in provlock.toml, or, for all: provlock lock --check -p all
Never published: 1 recorded hash; lock --check and verify --online fail because of that
"#]]);
    environment.provlock(["verify"]).matches(str![[r#"
exit code: 1
----- stdout -----
note[single-platform]: only one h1 is recorded, so on any other platform init changes the lock file, or fails
 --> .terraform.lock.hcl:4:10
  |
4 | provider "registry.opentofu.org/acme/gamma" {
  |          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
help: provlock lock -p all, or set platforms in provlock.toml

error[malformed-hash]: the hash h1:abc cannot match any package: it is not h1: and the base64 of 32 bytes
 --> .terraform.lock.hcl:7:5
  |
7 |     "h1:abc",
  |     ^^^^^^^^
  |
help: remove the hash, then run: provlock lock

----- stderr -----
1 error and 1 note in .terraform.lock.hcl
"#]]);
    // The help works: the hash is removed.
    environment.write_lock_file(gamma.lock_file("", &[LINUX]));
    for arguments in [&["lock", "--check"][..], &["verify"]] {
        environment
            .provlock(arguments)
            .assert_code(0)
            .assert_lacks("malformed-hash");
    }
}

#[test]
fn every_command_that_keeps_a_malformed_hash_names_it() {
    for malformed in MALFORMED {
        let (_registry, environment, gamma) =
            project(|gamma| with(gamma.hashes(&[LINUX]), malformed));
        let before = environment.snapshot();
        let named = format!("malformed-hash]: the hash {malformed} cannot match any package");
        let commands: [(&[&str], i32); 7] = [
            (&["lock"], 0),
            (&LOCK, 0),
            (&["lock", "--check"], 1),
            (&["lock", "--offline", "--check"], 1),
            (&["upgrade"], 0),
            (&["upgrade", "--check"], 1),
            (&["verify"], 1),
        ];
        for (arguments, code) in commands {
            let output = environment.provlock(arguments);
            output.assert_code(code).assert_lacks("hash-not-published");
            let text = [output.stdout.as_str(), &output.stderr].concat();
            assert_eq!(text.matches(&named).count(), 1, "{output}");
            before.assert_same(&environment.snapshot());
        }
        // It is removed on request, like a hash that was never published.
        environment
            .provlock([&LOCK[..], &["--accept-changed-hashes"]].concat())
            .assert_code(0)
            .assert_lacks("malformed-hash");
        assert_eq!(environment.lock_file(), gamma.lock_file("", &[LINUX]));
    }
}

#[test]
fn hashes_of_unknown_schemes_are_not_malformed() {
    for unknown in ["h2:abc", "H1:abc", "h 1:x"] {
        let (_registry, environment, _) = project(|gamma| with(gamma.hashes(&[LINUX]), unknown));
        for arguments in [&["lock"][..], &["lock", "--check"], &["upgrade", "--check"]] {
            environment
                .provlock(arguments)
                .assert_code(0)
                .assert_lacks("malformed-hash");
        }
    }
}

/// A malformed `h1:` must not look like a second platform, for which the new entry is locked, too.
#[test]
fn a_malformed_hash_adds_no_platform_to_other_entries() {
    let (registry, environment, gamma) = project(|gamma| with(gamma.hashes(&[LINUX]), "h1:abc"));
    let delta = registry
        .publish("acme/delta", "1.0.0")
        .platforms([LINUX, "darwin_arm64"])
        .done();
    environment.write("delta/main.tf", requires("acme/delta", ""));
    environment.write(
        "delta.tf",
        "module \"delta\" {\n  source = \"./delta\"\n}\n",
    );
    environment.provlock(LOCK).assert_code(0);
    let hashes = with(gamma.hashes(&[LINUX]), "h1:abc");
    assert_eq!(
        environment.lock_file(),
        lock_file(&[delta.entry_for("", &[LINUX]), gamma.entry("", &hashes)])
    );
}

#[test]
fn an_upgrade_drops_malformed_hashes_of_the_old_version() {
    let (registry, environment, _) = project(|gamma| with(gamma.hashes(&[LINUX]), "h1:abc"));
    let new = registry
        .publish("acme/gamma", "2.0.0")
        .platforms([LINUX])
        .done();
    for arguments in [&["upgrade", "--check"][..], &["upgrade"]] {
        environment
            .provlock(arguments)
            .assert_lacks("malformed-hash");
    }
    assert_eq!(environment.lock_file(), new.lock_file("", &[LINUX]));
}

#[test]
fn entries_that_nothing_requires_are_checked_too() {
    let (_registry, environment, gamma) = project(|gamma| gamma.hashes(&[LINUX]));
    let other = entry("acme/other", "1.0.0", "", &["h1:abc"]);
    let gamma = gamma.entry_for("", &[LINUX]);
    environment.write_lock_file(lock_file(&[gamma.clone(), other]));
    for (arguments, code) in [
        (&["lock"][..], 0),
        (&["lock", "--check"], 1),
        (&["upgrade", "--check"], 1),
    ] {
        environment
            .provlock(arguments)
            .assert_code(code)
            .assert_stderr_has("warning[malformed-hash]: the hash h1:abc");
    }
    // An entry that the user did not name, and an entry that is removed, are not checked.
    for arguments in [&["lock", "--check", "acme/gamma"][..], &["lock", "--prune"]] {
        environment
            .provlock(arguments)
            .assert_code(0)
            .assert_lacks("malformed-hash");
    }
    assert_eq!(environment.lock_file(), lock_file(&[gamma]));
}

/// Neither OpenTofu nor Terraform would accept a package for such an entry.
#[test]
fn an_entry_with_malformed_hashes_only_is_refused() {
    for malformed in MALFORMED {
        let (_registry, environment, _) = project(|_| vec![malformed.to_owned()]);
        let before = environment.snapshot();
        environment
            .provlock(LOCK)
            .assert_code(2)
            .assert_stderr_has("error[hashes-changed]");
        before.assert_same(&environment.snapshot());
    }
}

#[test]
fn a_merge_with_a_malformed_hash_fails() {
    let environment = TestEnvironment::new();
    let of = |hashes: &[&str]| lock_file(&[entry("acme/gamma", "1.0.0", "", hashes)]);
    let (n, m, z) = (h1("n"), h1("m"), zh("0"));
    let write = |sides: [&[&str]; 3]| {
        for (name, hashes) in ["base", "ours", "theirs"].iter().zip(sides) {
            environment.write(name, of(hashes));
        }
    };
    let merge = [
        "merge",
        "base",
        "ours",
        "theirs",
        "--path",
        ".terraform.lock.hcl",
    ];
    for malformed in ["h1:abc", "zh:xyz"] {
        write([&[&n, &z], &[&m, &n, &z], &[&n, malformed, &z]]);
        let output = environment.provlock(merge);
        output.assert_code(1).assert_lacks("Merged");
        output.assert_stderr_has(&format!(
            "error[malformed-hash]: the hash {malformed} cannot match any package"
        ));
        output.assert_stderr_has(" --> .terraform.lock.hcl:");
        // The result is there to be corrected.
        let mut hashes = [m.as_str(), &n, malformed, &z];
        hashes.sort_unstable();
        assert_eq!(environment.read("ours"), of(&hashes));
    }
    // One side has removed it.
    write([&[&n, "h1:abc", &z], &[&m, &n, "h1:abc", &z], &[&n, &z]]);
    environment.provlock(merge).assert_code(0);
    assert_eq!(environment.read("ours"), of(&[&m, &n, &z]));
}
