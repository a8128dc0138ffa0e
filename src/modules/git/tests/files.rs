//! Files of a commit, and of its submodules.

use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[test]
fn a_package_has_every_file_as_it_is_in_the_repository() {
    let fixture = Fixture::new();
    fs::write(fixture.origin().join("run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(
        fixture.origin().join("run.sh"),
        fs::Permissions::from_mode(0o755),
    )
    .unwrap();
    std::os::unix::fs::symlink("modules/a", fixture.origin().join("alias")).unwrap();
    fixture.commit(&[(
        ".gitattributes",
        "*.tf text eol=crlf\n*.png filter=lfs\nREADME.md export-ignore\n",
    )]);
    let large = format!("# {}\n", "x".repeat(100_000));
    fixture.commit(&[("large.tf", &large)]);
    let (fetched, package) = fixture
        .fetch_within(&fixture.url(""), Duration::from_mins(1))
        .unwrap();
    assert_eq!(fetched.commit, Some(fixture.git(&["rev-parse", "main"])));
    assert!(fetched.why_not_lockable.is_none());
    assert_eq!(fs::read_to_string(package.join("large.tf")).unwrap(), large);
    assert_eq!(fs::read(package.join("modules/a/main.tf")).unwrap(), b"a");
    assert_eq!(fs::read(package.join("README.md")).unwrap(), b"read me");
    assert_eq!(
        fs::read_link(package.join("alias")).unwrap(),
        Path::new("modules/a")
    );
    let is_executable = |name: &str| {
        fs::metadata(package.join(name))
            .unwrap()
            .permissions()
            .mode()
            & 0o100
            != 0
    };
    assert!(is_executable("run.sh") && !is_executable("main.tf"));
    assert_eq!(fixture.calls(), ["fetch", "cat-file"]);
}

#[test]
fn links_and_submodules_do_not_lead_out_of_a_package() {
    let fixture = Fixture::new();
    for (target, name) in [
        ("modules/a", "alias"),
        ("/etc", "etc"),
        ("/etc/passwd", "passwd.tf"),
        ("../..", "up"),
    ] {
        std::os::unix::fs::symlink(target, fixture.origin().join(name)).unwrap();
    }
    fs::write(
        fixture.origin().join(".gitmodules"),
        "[submodule \"s\"]\npath = s\nurl = ext::sh\nupdate = none\n",
    )
    .unwrap();
    fixture.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        "160000,0123456789012345678901234567890123456789,s",
    ]);
    fixture.commit_all();
    let (fetched, package) = fixture
        .fetch_within(&fixture.url(""), Duration::from_mins(1))
        .unwrap();
    assert!(
        fetched
            .why_not_lockable
            .unwrap()
            .to_string()
            .contains("leads out of the package"),
        "it cannot be locked"
    );
    assert_eq!(fs::read(package.join("alias/main.tf")).unwrap(), b"a");
    assert!(fs::read(package.join("passwd.tf")).is_err());
    for outside in ["etc", "up"] {
        assert!(!package.join(outside).is_symlink(), "{outside}");
    }
}

/// A repository cannot have git change, replace or leave out a file by its attributes.
#[test]
fn files_are_the_blobs_of_the_commit_whatever_the_attributes() {
    let cases = [
        (".gitattributes", "*.tf working-tree-encoding=UTF-16LE"),
        (".gitattributes", "main.tf filter=evil"),
        (".gitattributes", "*.tf ident text eol=crlf"),
        (".gitattributes", "*.tf export-ignore export-subst"),
        ("modules/.gitattributes", "*.tf filter=evil"),
        ("modules/a/.gitattributes", "* filter=evil"),
        (".gitattributes", "*.tf evil\n[attr]evil filter=evil"),
        (".gitattributes", "*.tf -filter\n*.tf filter=evil"),
        (".GitAttributes", "*.tf filter=evil"),
        (".gitattributes", "*.tf filter=a\0*.tf -filter"),
    ];
    for (name, attributes) in &cases {
        let fixture = Fixture::new();
        let ran = fixture.directory.path().join("ran");
        let settings = format!(
            "[filter \"evil\"]\nsmudge = touch {0}\nprocess = touch {0}\n",
            ran.display()
        );
        // Past the working directory, since git would change the files there, too.
        let blob = fixture.object("blob", attributes);
        fixture.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("100644,{blob},{name}"),
        ]);
        fixture.git(&["commit", "--quiet", "--message=attributes"]);
        fs::write(
            fixture.directory.path().join(".gitconfig"),
            settings + "[core]\nautocrlf = true\n",
        )
        .unwrap();
        let package = fixture.fetch(&fixture.url("")).unwrap();
        assert_eq!(
            fs::read(package.join("main.tf")).unwrap(),
            b"two",
            "{attributes}"
        );
        assert_eq!(fs::read_to_string(package.join(name)).unwrap(), *attributes);
        assert!(!ran.exists(), "{attributes}: a filter ran");
    }
    let fixture = Fixture::new();
    std::os::unix::fs::symlink("a/main.tf", fixture.origin().join("modules/.gitattributes"))
        .unwrap();
    fixture.commit_all();
    fixture.fetch(&fixture.url("")).unwrap();
    provlock_test::survived(
        "a git repository whose attributes change its files",
        cases.len() + 1,
    );
}

#[test]
fn pointers_ids_and_links_to_them_stay_as_they_are() {
    let fixture = Fixture::new();
    let attributes = "* text=auto eol=crlf ident\n*.png filter=lfs diff=lfs merge=lfs -text\n";
    fixture.commit(&[(".gitattributes", attributes)]);
    let pointer = "version https://git-lfs.github.com/spec/v1\n";
    fixture.commit(&[
        ("x.png", pointer),
        ("x.id", "$Id$\n"),
        ("modules/x.md", "$Format:%H$\n"),
    ]);
    fixture.git(&[
        "config",
        "--global",
        "filter.lfs.smudge",
        "touch smudged; cat",
    ]);
    std::os::unix::fs::symlink("x.id", fixture.origin().join("alias")).unwrap();
    std::os::unix::fs::symlink("../alias", fixture.origin().join("modules/x.tf")).unwrap();
    fixture.commit_all();
    let package = fixture.fetch(&fixture.url("")).unwrap();
    let files = [
        ("x.png", pointer),
        ("x.id", "$Id$\n"),
        ("modules/x.tf", "$Id$\n"),
        ("modules/x.md", "$Format:%H$\n"),
    ];
    for (name, expected) in files {
        assert_eq!(
            fs::read_to_string(package.join(name)).unwrap(),
            expected,
            "{name}"
        );
    }
}

#[test]
fn files_that_git_may_change_at_checkout_are_found() {
    let name = "a/x.bin";
    for (top, nested, is_changed) in [
        ("*.bin working-tree-encoding=UTF-16LE", "", true),
        ("*.bin filter=lfs diff=lfs merge=lfs -text", "", true),
        ("/a/x.bin filter=x", "", true),
        ("a/** filter=x", "", true),
        ("", "x.bin filter=x", true),
        ("* -filter\r\n*.bin filter=x\r\n", "", true),
        ("\"*.b\\151n\" filter=x", "", true),
        ("[wx].bin filter=x", "", true),
        ("[attr]big filter=x\n*.bin big", "", true),
        ("*.bin filter=x", "*.bin -filter", false),
        ("*.bin filter=x\na/*.bin !filter", "", false),
        (
            "*.bin working-tree-encoding=utf-8 text eol=crlf ident",
            "",
            false,
        ),
        (
            "*.png filter=lfs\n# *.bin filter=x",
            "b/*.bin filter=x",
            false,
        ),
        ("*.bin -filter diff=hcl binary export-subst", "", false),
    ] {
        let package = tempfile::tempdir().unwrap();
        fs::create_dir(package.path().join("a")).unwrap();
        fs::write(package.path().join(".gitattributes"), top).unwrap();
        fs::write(package.path().join("a/.gitattributes"), nested).unwrap();
        let scratch = tempfile::tempdir().unwrap();
        let git = Git::new(
            Path::new("git"),
            None,
            scratch.path(),
            Duration::from_mins(1),
        );
        let changed = git
            .changed_at_checkout(package.path(), &["main.tf", name])
            .unwrap();
        assert_eq!(
            changed.into_iter().collect::<Vec<_>>(),
            if is_changed { vec![name] } else { vec![] },
            "{top}"
        );
    }
}

#[test]
fn submodules_come_from_the_configured_address_and_protocol_only() {
    let (fixture, leaf) = (Fixture::new(), Fixture::new());
    let commit = leaf.git(&["rev-parse", "HEAD"]);
    leaf.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let path = leaf.origin().display().to_string();
    let with_url = |url: &str| {
        fs::write(
            fixture.origin().join(".gitmodules"),
            format!("[submodule \"s\"]\npath = s\nurl = {url}\n"),
        )
        .unwrap();
        fixture.git(&[
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{commit},s"),
        ]);
        fixture.git(&["add", ".gitmodules"]);
        fixture.git(&["commit", "--quiet", "--allow-empty", "--message=s"]);
        fixture.fetch(&fixture.url(""))
    };
    let package = with_url(&format!("file://{path}")).unwrap();
    assert_eq!(fs::read(package.join("s/main.tf")).unwrap(), b"two");
    for url in [
        "ext::sh",
        "http://h.test/s.git",
        "-u",
        "git://h.test/s.git",
        &path,
    ] {
        let error = with_url(url).unwrap_err();
        assert_eq!(
            error, "provlock does not pass the URL of its submodule \"s\" to git: ",
            "{url}"
        );
    }
}
