//! Commits that an address names, and servers of every kind.

use std::os::unix::fs::PermissionsExt as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::*;

#[test]
fn a_branch_or_tag_named_like_a_commit_is_ignored() {
    let fixture = Fixture::new();
    let name = "0123456789abcdef0123456789abcdef01234567";
    for reference in ["heads", "tags"] {
        let reference = format!("refs/{reference}/{name}");
        fixture.git(&["update-ref", &reference, "HEAD"]);
        let error = fixture
            .fetch(&fixture.url(&format!("?ref={name}")))
            .unwrap_err();
        assert!(error.contains("has no commit"), "{reference}: {error}");
        fixture.git(&["update-ref", "-d", &reference]);
    }
    let head = fixture.git(&["rev-parse", "HEAD"]);
    let first = fixture.git(&["rev-parse", "v1.0.0"]);
    fixture.git(&["update-ref", &format!("refs/tags/{head}"), "v1.0.0"]);
    fixture.git(&["update-ref", &format!("refs/heads/{first}"), "HEAD"]);
    assert_eq!(
        (
            fixture.main(&format!("?ref={head}")),
            fixture.main(&format!("?ref={first}"))
        ),
        ("two".into(), "one".into())
    );
    assert_eq!(
        fixture.main(&format!("?ref={}", head.to_uppercase())),
        "two"
    );
}

#[test]
fn a_name_of_64_digits_is_that_of_a_branch() {
    let fixture = Fixture::new();
    let name = "0123456789abcdef".repeat(4);
    fixture.git(&["update-ref", &format!("refs/heads/{name}"), "v1.0.0"]);
    assert!(
        !GitAddress::parse(&fixture.url(&format!("?ref={name}")))
            .unwrap()
            .is_immutable()
    );
    assert_eq!(fixture.main(&format!("?ref={name}")), "one");
}

#[test]
fn a_revision_is_whatever_git_can_check_out() {
    let fixture = Fixture::new();
    let first = fixture.git(&["rev-parse", "v1.0.0"]);
    fixture.git(&["tag", "--annotate", "--message=m", "annotated", "v1.0.0"]);
    fixture.git(&["branch", "feature/x"]);
    fixture.git(&["branch", "both"]);
    fixture.git(&["tag", "both", "v1.0.0"]);
    for (revision, expected) in [
        ("", "two"),
        ("?ref=", "two"),
        ("?ref=v1.0.0", "one"),
        ("?ref=annotated", "one"),
        ("?ref=refs/tags/v1.0.0", "one"),
        ("?ref=main", "two"),
        ("?ref=feature/x", "two"),
        ("?ref=feature%2Fx&depth=1", "two"),
        ("?ref=both", "one"),
        ("?ref=main~1", "one"),
        ("?ref=origin/main", "two"),
        ("?ref=refs/heads/main", "two"),
        ("?ref=heads/main", "two"),
        ("?ref=heads/main~1", "one"),
        ("?ref=origin/HEAD", "two"),
        ("?ref=remotes/origin/HEAD", "two"),
        ("?ref=refs/remotes/origin/HEAD~1", "one"),
        ("?ref=origin", "two"),
        ("?ref=HEAD", "two"),
        ("?ref=HEAD~1", "one"),
        ("?ref=@", "two"),
        (&format!("?ref={first}"), "one"),
        (&format!("?ref={}", &first[..9]), "one"),
    ] {
        assert_eq!(fixture.main(revision), expected, "{revision}");
    }
    for (revision, message) in [
        ("?ref=v9", "couldn't find remote ref v9"),
        ("?ref=main~9", "it has no branch, tag or commit \"main~9\""),
        ("?ref=refs/heads/both", "it has no branch, tag or commit"),
        ("?ref=heads/feature/x", "it has no branch, tag or commit"),
        ("?ref=main~1&depth=1", "depth needs a branch or a tag"),
        (
            "?ref=0123456789012345678901234567890123456789",
            "it has no commit",
        ),
    ] {
        let error = fixture.fetch(&fixture.url(revision)).unwrap_err();
        assert!(error.contains(message), "{revision}: {error}");
    }
}

#[test]
fn a_clone_creates_only_the_default_branch() {
    let fixture = Fixture::new();
    fixture.git(&["checkout", "--quiet", "-b", "later"]);
    fixture.commit(&[("main.tf", "three")]);
    for (revision, expected) in [
        ("?ref=heads/later", "three"),
        ("?ref=origin/HEAD", "three"),
        ("?ref=main", "two"),
    ] {
        assert_eq!(fixture.main(revision), expected, "{revision}");
    }
    assert!(fixture.fetch(&fixture.url("?ref=heads/main")).is_err());
    fixture.git(&["checkout", "--quiet", "--detach"]);
    for revision in ["?ref=heads/later", "?ref=refs/heads/main"] {
        assert!(fixture.fetch(&fixture.url(revision)).is_err(), "{revision}");
    }
    assert_eq!(fixture.main("?ref=HEAD~1"), "two");
}

/// A web server that knows nothing of git hands out the files of a repository.
#[test]
fn a_repository_on_a_plain_web_server_is_fetched() {
    let fixture = Fixture::new();
    let short = fixture.git(&["rev-parse", "--short", "v1.0.0"]);
    let full = fixture.git(&["rev-parse", "v1.0.0"]);
    fixture.git(&["repack", "-q"]);
    fixture.git(&["update-server-info"]);
    let files = fixture.origin().join(".git");
    let server = provlock_test::Server::http(move |request| {
        let path = request.path().trim_start_matches("/a.git/").to_owned();
        fs::read(files.join(path)).map_or_else(
            |_| provlock_test::Response::not_found(),
            provlock_test::Response::ok,
        )
    });
    let url = server.url("127.0.0.1", "/a.git");
    for (query, expected) in [
        ("", "two"),
        ("?ref=v1.0.0", "one"),
        (&format!("?ref={full}"), "one"),
        (&format!("?ref={short}"), "one"),
    ] {
        let package = fixture.fetch(&format!("{url}{query}")).unwrap();
        assert_eq!(
            fs::read_to_string(package.join("main.tf")).unwrap(),
            expected,
            "{query}"
        );
    }
    let error = fixture
        .fetch(&format!("{url}?ref=v1.0.0&depth=1"))
        .unwrap_err();
    assert!(
        error.contains("dumb http transport does not support shallow"),
        "{error}"
    );
}

#[test]
fn a_repository_without_commits_is_an_empty_package() {
    let fixture = Fixture {
        directory: tempfile::tempdir().unwrap(),
    };
    let program = Fixture::new();
    fs::create_dir(fixture.origin()).unwrap();
    fixture.git(&["init", "--quiet"]);
    let (fetched, package) = program
        .fetch_within(&fixture.url(""), Duration::from_mins(1))
        .unwrap();
    assert_eq!(
        (fetched.commit, fs::read_dir(package).unwrap().count()),
        (None, 0)
    );
}

#[test]
fn a_key_is_found_wherever_the_cache_is() {
    let fixture = Fixture::new();
    let at = |name: &str| fixture.directory.path().join(name);
    fs::create_dir(at("bin")).unwrap();
    // Shows the key that it gets, and does at once what it should do on the other machine.
    let script = "#!/bin/sh\nfor last; do :; done\nwhile [ \"$1\" != -i ]; do shift; done\n\
                  cat \"$2\" > \"$0.key\" && eval \"git ${last#git-}\"\n";
    fs::write(at("bin/ssh"), script).unwrap();
    fs::set_permissions(at("bin/ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    let key = BASE64_STANDARD.encode("a private key");
    let address = GitAddress::parse(&format!(
        "ssh://git@h.test{}?sshkey={key}",
        fixture.origin().display()
    ));
    let (program, ssh, place) = (fixture.program(), at("bin/ssh"), at("it's a $cache"));
    fs::create_dir_all(place.join("repository"))
        .and_then(|()| fs::create_dir(place.join("package")))
        .unwrap();
    let repository = place.join("repository");
    let git = Git::new(
        &program,
        Some(ssh.as_os_str()),
        &repository,
        Duration::from_mins(1),
    );
    let fetched = address.and_then(|address| git.fetch(&address, &place.join("package")));
    assert_eq!(
        fetched.unwrap().commit,
        Some(fixture.git(&["rev-parse", "main"]))
    );
    assert_eq!(
        fs::read_to_string(at("bin/ssh.key")).unwrap(),
        "a private key"
    );
}

/// As ssh does with `ControlPersist`.
#[test]
fn a_program_that_git_leaves_behind_does_not_block_the_run() {
    let fixture = Fixture::new();
    let leave = "case \"$*\" in *--git-dir=.*fetch*) sleep 30 >&- & sleep 30 2>&- & ;; esac\n";
    let script = fs::read_to_string(fixture.program()).unwrap();
    fs::write(
        fixture.program(),
        script.replace("HOME=", &format!("{leave}HOME=")),
    )
    .unwrap();
    assert_eq!(fixture.main("?ref=v1.0.0"), "one");
    let error = fixture
        .fetch_within(&fixture.url("?ref=v9"), Duration::from_secs(20))
        .map(drop)
        .unwrap_err();
    assert!(error.contains("couldn't find remote ref v9"), "{error}");
}

#[test]
fn a_commit_that_no_branch_or_tag_contains_is_refused() {
    let fixture = Fixture::new();
    let first = fixture.git(&["rev-parse", "v1.0.0"]);
    fixture.git(&["checkout", "--quiet", "--detach"]);
    let fork = fixture.commit(&[("main.tf", "evil")]);
    fixture.git(&["checkout", "--quiet", "main"]);
    for reference in ["refs/pull/1/head", "refs/merge-requests/1/head", "refs/x"] {
        fixture.git(&["update-ref", reference, &fork]);
    }
    fixture.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let refused = |query: &str, why: &str| {
        let error = fixture.fetch(&fixture.url(query)).unwrap_err();
        assert!(error.contains(why), "{query}: {error}");
    };
    for is_filtered in ["true", "false"] {
        fixture.git(&["config", "uploadpack.allowFilter", is_filtered]);
        let why = format!("no branch or tag of it contains the commit {fork}");
        refused(&format!("?ref={fork}"), &why);
        refused(&format!("?ref={}", fork.to_uppercase()), &why);
        refused(&format!("?ref={}", &fork[..10]), "no branch, tag or commit");
        assert_eq!(fixture.main(&format!("?ref={first}")), "one");
    }
    for name in [
        "refs/pull/1/head",
        "pull/1/head",
        "refs/merge-requests/1/head",
        "merge-requests/1/head",
        "refs/x",
        "x",
        "pull/1/head~0",
    ] {
        refused(&format!("?ref={name}"), "no branch");
    }
    let address = GitAddress::parse(&fixture.url("")).unwrap();
    let locked = address.at_commit(&fork);
    let scratch = fixture.directory.path().join("locked");
    let package = fixture.directory.path().join("package");
    fs::create_dir(&scratch)
        .and_then(|()| fs::create_dir(&package))
        .unwrap();
    let program = fixture.program();
    let git = Git::new(&program, None, &scratch, Duration::from_mins(1));
    git.fetch(&locked, &package).unwrap();
    assert_eq!(fs::read_to_string(package.join("main.tf")).unwrap(), "evil");

    // Branches and tags with these names, and a tag of the commit.
    fixture.git(&["branch", "pull/1/head", "v1.0.0"]);
    fixture.git(&["tag", "merge-requests/1/head", "v1.0.0"]);
    assert_eq!(fixture.main("?ref=pull/1/head"), "one");
    assert_eq!(fixture.main("?ref=merge-requests/1/head"), "one");
    let merged = fixture.git(&["rev-parse", &format!("{fork}~1")]);
    assert_eq!(fixture.main(&format!("?ref={merged}")), "two");
    fixture.git(&["tag", "--annotate", "--message=m", "v9.0.0", &fork]);
    assert_eq!(fixture.main(&format!("?ref={fork}")), "evil");
    assert_eq!(fixture.main(&format!("?ref={}", &fork[..10])), "evil");
}

#[test]
fn depth_takes_the_names_that_a_clone_takes() {
    let fixture = Fixture::new();
    let first = fixture.git(&["rev-parse", "v1.0.0"]);
    fixture.git(&["tag", "both", "v1.0.0"]);
    fixture.git(&["branch", "both"]);
    for (query, expected) in [
        ("?depth=1", "two"),
        ("?depth=1&ref=main", "two"),
        ("?depth=1&ref=v1.0.0", "one"),
        ("?depth=1&ref=both", "two"),
    ] {
        assert_eq!(fixture.main(query), expected, "{query}");
    }
    for (reference, why) in [
        ("refs/tags/v1.0.0", "has no branch or tag"),
        ("tags/v1.0.0", "has no branch or tag"),
        (first.as_str(), "depth needs a branch or a tag"),
        (&first[..9], "depth needs a branch or a tag"),
        ("absent", "has no branch or tag"),
    ] {
        let query = format!("?depth=1&ref={reference}");
        let error = fixture.fetch(&fixture.url(&query)).unwrap_err();
        assert!(error.contains(why), "{query}: {error}");
    }
}
