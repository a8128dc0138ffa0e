//! Repositories, addresses and settings that attack users who fetch them.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[test]
fn git_is_not_led_to_another_repository_and_runs_no_hook() {
    let fixture = Fixture::new();
    let hooks = fixture.directory.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    for hook in ["reference-transaction", "post-checkout", "fsmonitor"] {
        let path = hooks.join(hook);
        fs::write(
            &path,
            format!(
                "#!/bin/sh\ntouch '{}/hook-ran'\n",
                fixture.directory.path().display()
            ),
        )
        .unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let settings = format!(
        "[core]\nhooksPath = {0}\nfsmonitor = {0}/fsmonitor\n",
        hooks.display()
    );
    fs::write(fixture.directory.path().join(".gitconfig"), settings).unwrap();
    assert_eq!(fixture.main("?ref=v1.0.0"), "one");
    assert!(!fixture.directory.path().join("hook-ran").exists());
}

#[test]
fn commands_in_an_address_or_a_ref_do_not_run() {
    let fixture = Fixture::new();
    let mark = fixture.directory.path().join("escape");
    let touch = format!("touch%20{}", mark.display());
    for url in [
        format!("ext::sh -c touch% {}", mark.display()),
        format!("--upload-pack={touch}"),
        format!("{}--upload-pack={touch}", fixture.url("?ref=")),
        fixture.url(&format!("?ref=-u{touch}")),
        format!("ssh://-oProxyCommand={touch}/a.git"),
        format!("fd::{touch}"),
        format!("transport::{touch}"),
        "git@h.test:a.git".to_owned(),
    ] {
        fixture.fetch(&url).unwrap_err();
        assert!(!mark.exists(), "{url}");
    }
    // A colon would make it two refs, a star many.
    for revision in ["v1.0.0:refs/heads/evil", "refs/*", "+main", "^main"] {
        fixture
            .fetch(&fixture.url(&format!("?ref={revision}")))
            .unwrap_err();
    }
}

#[test]
fn what_git_does_not_check_out_is_refused() {
    let fixture = Fixture::new();
    let names = [
        "..",
        ".",
        ".git",
        ".GIT",
        ".Git",
        "a/b",
        ".git. .",
        "GIT~1",
        ".git:x",
        "x\\\\.git",
    ];
    for (name, mode) in names
        .iter()
        .flat_map(|name| [(name, "100644"), (name, "40000"), (name, "120000")])
    {
        let error = fixture
            .fetch(&forged_tree(&fixture, &[(mode, name)]))
            .unwrap_err();
        assert!(
            error.starts_with("git does not check out its entry"),
            "{mode} {name}: {error}"
        );
    }
    let error = fixture
        .fetch(&forged_tree(&fixture, &[("120000", ".gitmodules")]))
        .unwrap_err();
    assert!(
        error.starts_with("git does not check out its entry"),
        "{error}"
    );
    let error = fixture
        .fetch(&forged_tree(&fixture, &[("160000", "libs")]))
        .unwrap_err();
    assert_eq!(
        error,
        "its .gitmodules does not specify where the submodule \"libs\" comes from: "
    );
    provlock_test::survived(
        "a git repository that differs from its checkout",
        names.len() * 3 + 2,
    );
}

/// Both programs read such a file, and two of them look alike as text.
#[test]
fn names_that_are_not_text_are_refused() {
    let fixture = Fixture::new();
    let cases = [
        &[("100644", "\\377.tf")][..],
        &[("120000", "\\377.tf")],
        &[("40000", "\\377")],
        &[("40000", "\\357\\277\\275"), ("40000", "\\377")],
        &[("100644", "a\\nb.tf")],
        &[("40000", "a\\nb")],
    ];
    for entries in cases {
        let error = fixture.fetch(&forged_tree(&fixture, entries)).unwrap_err();
        assert!(
            error.contains("does not have a name of one line of text"),
            "{entries:?}: {error}"
        );
    }
    for name in ["\\377.txt", "a\\nb.txt"] {
        let url = forged_tree(&fixture, &[("100644", name)]);
        let (fetched, _) = fixture.fetch_within(&url, Duration::from_mins(1)).unwrap();
        assert!(
            fetched
                .why_not_lockable
                .unwrap()
                .to_string()
                .contains("does not have a name of one line of text"),
            "it can be read, and not locked"
        );
    }
    provlock_test::survived(
        "a git repository that differs from its checkout",
        cases.len(),
    );
}

/// The file that says where submodules are is the repository's, and git follows what other such
/// files include.
#[test]
fn a_hostile_gitmodules_reads_no_other_file_and_runs_no_program() {
    let fixture = Fixture::new();
    let secret = fixture.directory.path().join("secret");
    fs::write(
        &secret,
        "[submodule \"s\"]\npath = s\nurl = https://s3cr3t.test/a.git\n",
    )
    .unwrap();
    fixture.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        "160000,0123456789012345678901234567890123456789,s",
    ]);
    let error = |text: &str| {
        fs::write(fixture.origin().join(".gitmodules"), text).unwrap();
        fixture.git(&["add", ".gitmodules"]);
        fixture.git(&["commit", "--quiet", "--message=s"]);
        fixture.fetch(&fixture.url("")).map(drop)
    };
    let (section, update) = (
        "[submodule \"s\"]\npath = s\nurl = ../s.git\n",
        "update = !touch /tmp/ran\n",
    );
    for (text, expected) in [
        (
            format!("[include]\npath = {}\n", secret.display()),
            "does not specify where the submodule \"s\" comes from",
        ),
        (
            format!("{section}{update}"),
            "has git run a program to update a submodule",
        ),
        (
            format!("{section}[submodule \"s\"]\n{update}"),
            "has git run a program to update a submodule",
        ),
        (
            "[submodule \"s\"\npath = s\n".to_owned(),
            "git could not fetch it: error: bad config",
        ),
        (
            format!("{section}# {}\n", "x".repeat(1 << 20)),
            "does not specify where the submodule \"s\" comes from",
        ),
    ] {
        let error = error(&text).unwrap_err();
        assert!(
            error.contains(expected) && !error.contains("s3cr3t"),
            "{error}"
        );
    }
    assert_eq!(
        error("[submodule \"s\"]\npath = \"s\" ; here\nurl = ext::sh\nupdate = none\n"),
        Ok(())
    );
    provlock_test::survived("a git repository that differs from its checkout", 5);
}

#[test]
fn a_password_in_the_address_is_not_repeated() {
    let fixture = Fixture::new();
    for login in ["user:s3cr3t", "s3cr3t"] {
        let error = fixture
            .fetch(&format!("http://{login}@127.0.0.1:1/a.git?token=s3cr3t"))
            .unwrap_err();
        assert!(
            error.contains("git could not fetch it") && !error.contains("s3cr3t"),
            "{error}"
        );
    }
}
