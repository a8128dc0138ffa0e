//! Against git itself, with repositories in temporary directories.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tempfile::TempDir;

use super::*;

/// A repository to fetch from, and a git that knows no other settings than this test's and writes down how it is
/// called.
struct Fixture {
    directory: TempDir,
}

impl Fixture {
    /// A repository whose first commit is tagged `v1.0.0`, with a second one on `main`.
    fn new() -> Self {
        let fixture = Self { directory: tempfile::tempdir().unwrap() };
        let script = format!(
            "#!/bin/sh\necho \"$@\" >> '{0}/calls'\nHOME='{0}' GIT_CONFIG_NOSYSTEM=1 exec git \"$@\"\n",
            fixture.directory.path().display()
        );
        fs::write(fixture.program(), script).unwrap();
        fs::set_permissions(fixture.program(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(fixture.origin()).unwrap();
        fixture.git(&["init", "--quiet", "--initial-branch=main"]);
        fixture.git(&["config", "uploadpack.allowFilter", "true"]);
        fixture.commit(&[("main.tf", "one"), ("modules/a/main.tf", "a"), ("README.md", "read me")]);
        fixture.git(&["tag", "v1.0.0"]);
        fixture.commit(&[("main.tf", "two")]);
        fixture
    }

    fn program(&self) -> PathBuf {
        self.directory.path().join("git")
    }

    fn origin(&self) -> PathBuf {
        self.directory.path().join("origin")
    }

    fn git(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("git");
        command.current_dir(self.origin()).args(["-c", "user.name=t", "-c", "user.email=t@t.test"]).args(arguments);
        command.env("HOME", self.directory.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        for variable in FOREIGN_VARIABLES.split(' ') {
            command.env_remove(variable);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self, files: &[(&str, &str)]) -> String {
        for (name, content) in files {
            let path = self.origin().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        self.commit_all()
    }

    fn commit_all(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message=commit"]);
        self.git(&["rev-parse", "HEAD"])
    }

    fn url(&self, query: &str) -> String {
        format!("file://{}{query}", self.origin().display())
    }

    fn fetch(&self, url: &str) -> std::result::Result<(Option<String>, PathBuf), String> {
        self.fetch_within(url, Duration::from_mins(1))
    }

    fn fetch_whole(&self, url: &str) -> std::result::Result<PathBuf, String> {
        self.fetch_as(url, Duration::from_mins(1), Extent::Whole).map(|(_, package)| package)
    }

    fn fetch_within(&self, url: &str, time_limit: Duration) -> std::result::Result<(Option<String>, PathBuf), String> {
        self.fetch_as(url, time_limit, Extent::Configuration)
    }

    fn fetch_as(
        &self,
        url: &str,
        time_limit: Duration,
        extent: Extent,
    ) -> std::result::Result<(Option<String>, PathBuf), String> {
        let program = self.program();
        let git = Git { program: &program, time_limit, ssh_command: None };
        let place = tempfile::tempdir_in(self.directory.path()).unwrap().keep();
        let (workshop, package) = (place.join("workshop"), place.join("package"));
        fs::create_dir(&workshop).and_then(|()| fs::create_dir(&package)).unwrap();
        let fetched = GitAddress::parse(url).and_then(|address| git.fetch(&address, &workshop, &package, extent));
        fetched.map(|commit| (commit, package)).map_err(|error| format!("{}: {}", error.why, error.said.join("; ")))
    }

    /// What `main.tf` of a fetched package holds.
    fn main(&self, query: &str) -> String {
        let (_, package) = self.fetch(&self.url(query)).unwrap();
        fs::read_to_string(package.join("main.tf")).unwrap()
    }

    /// How git was called, without the settings.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.directory.path().join("calls")).unwrap_or_default();
        let name = |line: &str| line.split("--git-dir=. ").nth(1).unwrap().split(' ').next().unwrap().to_owned();
        calls.lines().map(name).collect()
    }
}

#[test]
fn a_branch_or_a_tag_that_is_called_like_a_commit_is_none() {
    let fixture = Fixture::new();
    let name = "0123456789abcdef0123456789abcdef01234567";
    for reference in ["heads", "tags"] {
        let reference = format!("refs/{reference}/{name}");
        fixture.git(&["update-ref", &reference, "HEAD"]);
        for fetch in [
            fixture.fetch(&fixture.url(&format!("?ref={name}"))).map(drop),
            fixture.fetch_whole(&fixture.url(&format!("?ref={name}"))).map(drop),
        ] {
            let error = fetch.unwrap_err();
            assert!(error.contains("has no commit"), "{reference}: {error}");
        }
        fixture.git(&["update-ref", "-d", &reference]);
    }
    let head = fixture.git(&["rev-parse", "HEAD"]);
    let first = fixture.git(&["rev-parse", "v1.0.0"]);
    fixture.git(&["update-ref", &format!("refs/tags/{head}"), "v1.0.0"]);
    fixture.git(&["update-ref", &format!("refs/heads/{first}"), "HEAD"]);
    assert_eq!(
        (fixture.main(&format!("?ref={head}")), fixture.main(&format!("?ref={first}"))),
        ("two".into(), "one".into())
    );
    assert_eq!(fixture.main(&format!("?ref={}", head.to_uppercase())), "two");
}

#[test]
fn a_name_of_64_digits_is_that_of_a_branch() {
    let fixture = Fixture::new();
    let name = "0123456789abcdef".repeat(4);
    fixture.git(&["update-ref", &format!("refs/heads/{name}"), "v1.0.0"]);
    assert!(!GitAddress::parse(&fixture.url(&format!("?ref={name}"))).unwrap().is_immutable());
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
        ("?ref=0123456789012345678901234567890123456789", "it has no commit"),
    ] {
        let error = fixture.fetch(&fixture.url(revision)).unwrap_err();
        assert!(error.contains(message), "{revision}: {error}");
    }
}

#[test]
fn only_the_default_branch_is_one_of_a_clone_s_own() {
    let fixture = Fixture::new();
    fixture.git(&["checkout", "--quiet", "-b", "later"]);
    fixture.commit(&[("main.tf", "three")]);
    for (revision, expected) in [("?ref=heads/later", "three"), ("?ref=origin/HEAD", "three"), ("?ref=main", "two")] {
        assert_eq!(fixture.main(revision), expected, "{revision}");
    }
    assert!(fixture.fetch(&fixture.url("?ref=heads/main")).is_err());
    fixture.git(&["checkout", "--quiet", "--detach"]);
    for revision in ["?ref=heads/later", "?ref=refs/heads/main"] {
        assert!(fixture.fetch(&fixture.url(revision)).is_err(), "{revision}");
    }
    assert_eq!(fixture.main("?ref=HEAD~1"), "two");
}

#[test]
fn a_package_is_fetched_with_two_calls_and_only_configuration_is_kept() {
    let fixture = Fixture::new();
    let (commit, package) = fixture.fetch(&fixture.url("?ref=v1.0.0")).unwrap();
    assert_eq!(commit.unwrap(), fixture.git(&["rev-parse", "v1.0.0"]));
    assert_eq!(fixture.calls(), ["fetch", "cat-file"]);
    assert_eq!(fs::read(package.join("modules/a/main.tf")).unwrap(), b"a");
    assert!(!package.join("README.md").exists());
}

/// A web server that knows nothing of git hands out the files of a repository.
#[test]
fn a_repository_may_be_mere_files() {
    let fixture = Fixture::new();
    let short = fixture.git(&["rev-parse", "--short", "v1.0.0"]);
    let full = fixture.git(&["rev-parse", "v1.0.0"]);
    fixture.git(&["repack", "-q"]);
    fixture.git(&["update-server-info"]);
    let files = fixture.origin().join(".git");
    let server = provlock_test::Server::http(move |request| {
        let path = request.path().trim_start_matches("/a.git/").to_owned();
        fs::read(files.join(path)).map_or_else(|_| provlock_test::Response::not_found(), provlock_test::Response::ok)
    });
    let url = server.url("127.0.0.1", "/a.git");
    for (query, expected) in
        [("", "two"), ("?ref=v1.0.0", "one"), (&format!("?ref={full}"), "one"), (&format!("?ref={short}"), "one")]
    {
        let (_, package) = fixture.fetch(&format!("{url}{query}")).unwrap();
        assert_eq!(fs::read_to_string(package.join("main.tf")).unwrap(), expected, "{query}");
    }
    let error = fixture.fetch(&format!("{url}?ref=v1.0.0&depth=1")).unwrap_err();
    assert!(error.contains("dumb http transport does not support shallow"), "{error}");
}

#[test]
fn a_large_configuration_file_is_fetched_all_the_same() {
    let fixture = Fixture::new();
    let large = format!("# {}\n", "x".repeat(100_000));
    fixture.commit(&[("main.tf", &large), ("image.png", &large)]);
    assert_eq!(fixture.main(""), large);
}

#[test]
fn a_repository_without_commits_is_an_empty_package() {
    let fixture = Fixture { directory: tempfile::tempdir().unwrap() };
    let program = Fixture::new();
    fs::create_dir(fixture.origin()).unwrap();
    fixture.git(&["init", "--quiet"]);
    let (commit, package) = program.fetch(&fixture.url("")).unwrap();
    assert_eq!((commit, fs::read_dir(package).unwrap().count()), (None, 0));
}

#[test]
fn git_is_not_led_to_another_repository_and_runs_no_hook() {
    let fixture = Fixture::new();
    let hooks = fixture.directory.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    for hook in ["reference-transaction", "post-checkout", "fsmonitor"] {
        let path = hooks.join(hook);
        fs::write(&path, format!("#!/bin/sh\ntouch '{}/hook-ran'\n", fixture.directory.path().display())).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let settings = format!("[core]\nhooksPath = {0}\nfsmonitor = {0}/fsmonitor\n", hooks.display());
    fs::write(fixture.directory.path().join(".gitconfig"), settings).unwrap();
    assert_eq!(fixture.main("?ref=v1.0.0"), "one");
    assert!(!fixture.directory.path().join("hook-ran").exists());
}

#[test]
fn nothing_is_run_that_an_address_or_a_ref_smuggles_in() {
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
        fixture.fetch(&fixture.url(&format!("?ref={revision}"))).unwrap_err();
    }
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
    let address = GitAddress::parse(&format!("ssh://git@h.test{}?sshkey={key}", fixture.origin().display()));
    let (program, ssh, place) = (fixture.program(), at("bin/ssh"), at("it's a $cache"));
    let git = Git { program: &program, time_limit: Duration::from_mins(1), ssh_command: Some(ssh.as_os_str()) };
    fs::create_dir_all(place.join("repository")).and_then(|()| fs::create_dir(place.join("package"))).unwrap();
    let fetched = address
        .and_then(|address| git.fetch(&address, &place.join("repository"), &place.join("package"), Extent::Whole));
    assert_eq!(fetched.map_err(|error| error.said).unwrap(), Some(fixture.git(&["rev-parse", "main"])));
    assert_eq!(fs::read_to_string(at("bin/ssh.key")).unwrap(), "a private key");
}

/// As ssh does with `ControlPersist`.
#[test]
fn a_program_that_git_leaves_behind_holds_nothing_up() {
    let fixture = Fixture::new();
    let leave = "case \"$*\" in *--git-dir=.*fetch*) sleep 30 >&- & sleep 30 2>&- & ;; esac\n";
    let script = fs::read_to_string(fixture.program()).unwrap();
    fs::write(fixture.program(), script.replace("HOME=", &format!("{leave}HOME="))).unwrap();
    assert_eq!(fixture.main("?ref=v1.0.0"), "one");
    let error = fixture.fetch_within(&fixture.url("?ref=v9"), Duration::from_secs(20)).unwrap_err();
    assert!(error.contains("couldn't find remote ref v9"), "{error}");
}

#[test]
fn links_and_submodules_of_a_repository_lead_nowhere_outside() {
    let fixture = Fixture::new();
    for (target, name) in [("modules/a", "alias"), ("/etc", "etc"), ("/etc/passwd", "passwd.tf"), ("../..", "up")] {
        std::os::unix::fs::symlink(target, fixture.origin().join(name)).unwrap();
    }
    fs::write(fixture.origin().join(".gitmodules"), "[submodule \"s\"]\npath = s\nurl = ext::sh\nupdate = none\n")
        .unwrap();
    fixture.git(&["update-index", "--add", "--cacheinfo", "160000,0123456789012345678901234567890123456789,s"]);
    fixture.commit_all();
    let (_, package) = fixture.fetch(&fixture.url("")).unwrap();
    assert_eq!(fs::read(package.join("alias/main.tf")).unwrap(), b"a");
    assert!(fs::read(package.join("passwd.tf")).is_err());
    for outside in ["etc", "up"] {
        assert!(!package.join(outside).is_symlink(), "{outside}");
    }
}

/// The tree of a commit with other entries than `git add` would make.
fn forged_tree(fixture: &Fixture, entries: &[(&str, &str)]) -> String {
    let [blob, tree] = ["main:main.tf", "main:modules/a"].map(|name| fixture.git(&["rev-parse", name]));
    let id = |mode: &str| if mode == "40000" { &tree } else { &blob };
    let entry = |(mode, name): &(&str, &str)| format!("printf '{mode} {name}\\0'; printf '{}' | xxd -r -p", id(mode));
    let script: Vec<_> = entries.iter().map(entry).collect();
    let command = format!("({}) | git hash-object -t tree -w --stdin --literally", script.join("; "));
    let output = Command::new("sh").args(["-c", &command]).current_dir(fixture.origin()).output().unwrap();
    let tree = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    let commit = fixture.git(&["commit-tree", "-m", "forged", &tree]);
    fixture.git(&["branch", "--force", "forged", &commit]);
    fixture.url("?ref=forged")
}

#[test]
fn what_git_does_not_check_out_is_refused() {
    let fixture = Fixture::new();
    let names = ["..", ".", ".git", ".GIT", ".Git", "a/b", ".git. .", "GIT~1", ".git:x", "x\\\\.git"];
    for (name, mode) in names.iter().flat_map(|name| [(name, "100644"), (name, "40000"), (name, "120000")]) {
        let error = fixture.fetch(&forged_tree(&fixture, &[(mode, name)])).unwrap_err();
        assert!(error.starts_with("git does not check out its entry"), "{mode} {name}: {error}");
    }
    let error = fixture.fetch(&forged_tree(&fixture, &[("120000", ".gitmodules")])).unwrap_err();
    assert!(error.starts_with("git does not check out its entry"), "{error}");
    let error = fixture.fetch(&forged_tree(&fixture, &[("160000", "libs")])).unwrap_err();
    assert_eq!(error, "its .gitmodules does not say where the submodule \"libs\" comes from: ");
    provlock_test::survived("a git repository that is read in another way than it is checked out", names.len() * 3 + 2);
}

/// Where only the configuration is read, `init` reads what git checks out: with each of these another file.
#[test]
fn configuration_that_git_changes_at_checkout_is_not_read() {
    let cases = [
        (".gitattributes", "*.tf working-tree-encoding=UTF-16LE", "working-tree-encoding"),
        (".gitattributes", "main.tf filter=evil", "attribute filter"),
        (".gitattributes", "*.tf ident", "attribute ident"),
        ("modules/.gitattributes", "*.tf filter=evil", "attribute filter"),
        ("modules/a/.gitattributes", "* filter=evil", "attribute filter"),
        (".gitattributes", "*.tf evil\n[attr]evil filter=evil", "attribute filter"),
        (".gitattributes", "*.tf -filter\n*.tf filter=evil", "attribute filter"),
        (".GitAttributes", "*.tf filter=evil", "attribute filter"),
        (".gitattributes", "*.tf filter=a\0*.tf -filter", "is not text"),
    ];
    for (name, attributes, expected) in &cases {
        let fixture = Fixture::new();
        // Past the working directory, since git would change the files there, too.
        let blob = fixture.object("blob", attributes);
        fixture.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},{name}")]);
        fixture.git(&["commit", "--quiet", "--message=attributes"]);
        let error = fixture.fetch(&fixture.url("")).unwrap_err();
        assert!(error.contains(expected), "{attributes}: {error}");
        // A whole package is installed as it is, and not by git.
        let package = fixture.fetch_whole(&fixture.url("")).unwrap();
        assert_eq!(fs::read(package.join("main.tf")).unwrap(), b"two", "{attributes}");
        assert_eq!(fs::read_to_string(package.join(name)).unwrap(), *attributes);
    }
    let fixture = Fixture::new();
    std::os::unix::fs::symlink("modules/a/main.tf", fixture.origin().join("modules/.gitattributes")).unwrap();
    fixture.commit_all();
    assert_eq!(fixture.fetch(&fixture.url("")).unwrap_err(), "its .gitattributes is a link: ");
    fixture.fetch_whole(&fixture.url("")).unwrap();
    provlock_test::survived("a git repository that is read in another way than it is checked out", cases.len() + 1);
}

#[test]
fn a_whole_package_has_the_blobs_of_the_commit_whatever_its_attributes() {
    let fixture = Fixture::new();
    let attributes = "* text=auto eol=crlf ident\n*.png filter=lfs diff=lfs merge=lfs -text\n";
    fixture.commit(&[(".gitattributes", attributes)]);
    let pointer = "version https://git-lfs.github.com/spec/v1\n";
    fixture.commit(&[("x.png", pointer), ("x.id", "$Id$\n"), ("modules/x.md", "$Format:%H$\n")]);
    fixture.git(&["config", "--global", "filter.lfs.smudge", "touch smudged; cat"]);
    std::os::unix::fs::symlink("x.id", fixture.origin().join("alias")).unwrap();
    std::os::unix::fs::symlink("../alias", fixture.origin().join("modules/x.tf")).unwrap();
    fixture.commit_all();
    let package = fixture.fetch_whole(&fixture.url("")).unwrap();
    let files = [("x.png", pointer), ("x.id", "$Id$\n"), ("modules/x.tf", "$Id$\n"), ("modules/x.md", "$Format:%H$\n")];
    for (name, expected) in files {
        assert_eq!(fs::read_to_string(package.join(name)).unwrap(), expected, "{name}");
    }
    let fixture = Fixture::new();
    fixture.commit(&[(".gitattributes", "* text=auto eol=crlf\n*.png filter=lfs -text\n"), ("x.png", pointer)]);
    assert_eq!(fixture.main(""), "two", "what is no configuration may be changed");
}

/// Both programs read such a file, and two of them look alike as text.
#[test]
fn names_that_are_not_text_are_refused() {
    let fixture = Fixture::new();
    for entries in
        [&[("100644", "\\377.tf")][..], &[("40000", "\\377")], &[("40000", "\\357\\277\\275"), ("40000", "\\377")]]
    {
        let url = forged_tree(&fixture, entries);
        for fetched in [fixture.fetch(&url).map(drop), fixture.fetch_whole(&url).map(drop)] {
            let error = fetched.unwrap_err();
            assert!(
                error.contains("does not have a name of one line of text") || error.contains("cannot be read"),
                "{error}"
            );
        }
    }
    provlock_test::survived("a git repository that is read in another way than it is checked out", 6);
}

#[test]
fn a_whole_package_has_every_file_as_it_is_in_the_repository() {
    let fixture = Fixture::new();
    fs::write(fixture.origin().join("run.sh"), "#!/bin/sh\n").unwrap();
    fs::set_permissions(fixture.origin().join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("modules/a", fixture.origin().join("alias")).unwrap();
    fixture.commit(&[(".gitattributes", "*.tf text eol=crlf\n*.png filter=lfs\nREADME.md export-ignore\n")]);
    let package = fixture.fetch_whole(&fixture.url("")).unwrap();
    assert_eq!(fs::read(package.join("README.md")).unwrap(), b"read me");
    assert_eq!(fs::read_link(package.join("alias")).unwrap(), Path::new("modules/a"));
    let is_executable = |name: &str| fs::metadata(package.join(name)).unwrap().permissions().mode() & 0o100 != 0;
    assert!(is_executable("run.sh") && !is_executable("main.tf"));
    assert_eq!(fixture.calls(), ["fetch", "cat-file"]);
}

#[test]
fn submodules_come_from_where_the_repository_says_but_from_no_other_protocol() {
    let (fixture, leaf) = (Fixture::new(), Fixture::new());
    let commit = leaf.git(&["rev-parse", "HEAD"]);
    leaf.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let path = leaf.origin().display().to_string();
    let with_url = |url: &str| {
        fs::write(fixture.origin().join(".gitmodules"), format!("[submodule \"s\"]\npath = s\nurl = {url}\n")).unwrap();
        fixture.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},s")]);
        fixture.git(&["add", ".gitmodules"]);
        fixture.git(&["commit", "--quiet", "--allow-empty", "--message=s"]);
        let read = fixture.fetch(&fixture.url("")).map(|(_, package)| package);
        [read, fixture.fetch_whole(&fixture.url(""))]
    };
    for package in with_url(&format!("file://{path}")) {
        assert_eq!(fs::read(package.unwrap().join("s/main.tf")).unwrap(), b"two");
    }
    for url in ["ext::sh", "http://h.test/s.git", "-u", "git://h.test/s.git", &path] {
        for fetched in with_url(url) {
            let error = fetched.unwrap_err();
            assert_eq!(error, "the URL of its submodule \"s\" is not one that git is asked for: ", "{url}");
        }
    }
}

#[test]
fn a_password_in_the_address_is_not_repeated() {
    let fixture = Fixture::new();
    for login in ["user:s3cr3t", "s3cr3t"] {
        let error = fixture.fetch(&format!("http://{login}@127.0.0.1:1/a.git?token=s3cr3t")).unwrap_err();
        assert!(error.contains("git could not fetch it") && !error.contains("s3cr3t"), "{error}");
    }
}

/// A server that lists refs without end keeps git busy only as long as it may take.
#[test]
fn an_endless_list_of_refs_ends_with_the_time_limit() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-git-upload-pack-advertisement\r\n\r\n";
        let start = "001e# service=git-upload-pack\n0000";
        let mut written = std::io::Write::write_all(&mut stream, format!("{head}{start}").as_bytes());
        for number in 0_u64.. {
            let line = format!("{:040x} refs/heads/{number:016}\n", 1);
            written = std::io::Write::write_all(&mut stream, format!("{:04x}{line}", line.len() + 4).as_bytes());
            std::thread::sleep(Duration::from_millis(5));
            if written.is_err() {
                break;
            }
        }
        drop(written);
    });
    let fixture = Fixture::new();
    let error = fixture.fetch_within(&format!("http://127.0.0.1:{port}/a.git"), Duration::from_secs(2)).unwrap_err();
    assert_eq!(error, "git took more than 2 seconds: ");
}

impl Fixture {
    /// An object with this content; the entries of a tree are lines of `ls-tree`.
    fn object(&self, kind: &str, content: &str) -> String {
        let arguments: &[&str] = match kind {
            "tree" => &["mktree", "--missing"],
            kind => &["hash-object", "-w", "--stdin", "-t", kind],
        };
        let mut command = Command::new("git");
        command.current_dir(self.origin()).args(arguments).stdin(std::process::Stdio::piped());
        let mut git = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut git.stdin.take().unwrap(), content.as_bytes()).unwrap();
        String::from_utf8(git.wait_with_output().unwrap().stdout).unwrap().trim().to_owned()
    }

    /// A tree of directories so deep, each of which holds the next one under each of the names.
    fn tree(&self, names: &[String], depth: usize, leaf: &str) -> String {
        let wrap = |below: String, _| {
            let kind = if below == leaf { "100644 blob" } else { "040000 tree" };
            let lines: Vec<_> = names.iter().map(|name| format!("{kind} {below}\t{name}\n")).collect();
            self.object("tree", &lines.concat())
        };
        (0..depth).fold(leaf.to_owned(), wrap)
    }

    /// Why the package of a commit with this tree is refused.
    fn refused(&self, tree: &str) -> String {
        let commit = self.git(&["commit-tree", "-m", "m", tree]);
        self.git(&["update-ref", "refs/heads/hostile", &commit]);
        self.fetch(&self.url("?ref=hostile")).unwrap_err()
    }
}

/// A few KB of objects that stand for 10,000,000,000 files, names of 150 KB, or links of 180 MB.
#[test]
fn small_repositories_do_not_become_large_packages() {
    let fixture = Fixture::new();
    let file = fixture.object("blob", "locals {}\n");
    let link = fixture.object("blob", &"a/".repeat(30_000));
    let ten: Vec<_> = (0..10).map(|number| format!("{number}.tf")).collect();
    let links: Vec<_> = (0..3000).map(|number| format!("120000 blob {link}\t{number:04}\n")).collect();
    let too_long = "it contains a name that is longer than 4096 bytes or has more than 100 parts: ";
    let cases = [
        (fixture.tree(&ten, 10, &file), "it contains more than 100000 entries: "),
        (fixture.tree(&ten, 5, &file), "it contains more than 100000 entries: "),
        (fixture.tree(&["d".repeat(250)], 600, &file), too_long),
        (fixture.tree(&["d".to_owned()], 200, &file), too_long),
        (fixture.object("tree", &links.concat()), "an object in it is larger than 4095 bytes: "),
    ];
    for (tree, expected) in &cases {
        assert_eq!(fixture.refused(tree), *expected);
    }
    provlock_test::survived("a module package that takes more memory or time than it may", cases.len());
}

#[test]
fn no_more_branches_are_fetched_than_git_can_keep() {
    let fixture = Fixture::new();
    let head = fixture.git(&["rev-parse", "HEAD"]);
    let refs: Vec<_> = (0..40_000).map(|number| format!("{head} refs/heads/b{number}\n")).collect();
    let packed = format!("# pack-refs with: peeled fully-peeled \n{}", refs.concat());
    fs::write(fixture.origin().join(".git/packed-refs"), packed).unwrap();
    let error = fixture.fetch(&fixture.url("?ref=main~0")).unwrap_err();
    assert_eq!(error, "it has so many branches and tags that \"main~0\" is not looked for in them: ");
    assert_eq!(fixture.main("?ref=b7"), "two");
    provlock_test::survived("a module package that takes more memory or time than it may", 1);
}

/// What a server sends is small, and takes long to read.
#[test]
fn what_keeps_a_processor_busy_ends() {
    let fixture = Fixture::new();
    let script = fs::read_to_string(fixture.program()).unwrap();
    let busy = "case \"$*\" in *cat-file*) while :; do :; done ;; esac\nHOME=";
    fs::write(fixture.program(), script.replace("HOME=", busy)).unwrap();
    let error = fixture.fetch_within(&fixture.url(""), Duration::from_secs(30)).unwrap_err();
    assert_eq!(error, "git was ended because there is too much in it to read: ");
    provlock_test::survived("a module package that takes more memory or time than it may", 1);
}

/// A server need not leave out what is not wanted. What it says meanwhile holds up no limit.
#[test]
fn there_is_an_end_to_what_a_server_sends() {
    let fixture = Fixture::new();
    let script = fs::read_to_string(fixture.program()).unwrap();
    let sends = |size: &str, then: &str| {
        let endless =
            format!("case \"$*\" in *' fetch '*) truncate -s {size} objects/pack/sent; {then} ;; esac\nHOME=");
        fs::write(fixture.program(), script.replace("HOME=", &endless)).unwrap();
    };
    let cases = [
        ("", "600M", "sleep 300", 512),
        ("", "600M", "while :; do echo . >&2; sleep 0.02; done", 512),
        ("?ref=main~0", "1100M", "sleep 300", 1024),
        // The fetch is over before anybody has looked.
        ("", "600M", "", 512),
    ];
    for (query, size, then, limit) in cases {
        sends(size, then);
        let error = fixture.fetch(&fixture.url(query)).unwrap_err();
        assert_eq!(error, format!("git was ended because what it fetches is larger than {limit} MiB: "));
    }
    // Each repository of a package is within its limit.
    sends("400M", "");
    let leaf = Fixture::new();
    leaf.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let (commit, url) = (leaf.git(&["rev-parse", "HEAD"]), leaf.url(""));
    for name in ["a", "b", "c"] {
        fixture.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},{name}")]);
    }
    let mappings = ["a", "b", "c"].map(|name| format!("[submodule \"{name}\"]\npath = {name}\nurl = {url}\n"));
    fs::write(fixture.origin().join(".gitmodules"), mappings.concat()).unwrap();
    fixture.git(&["add", ".gitmodules"]);
    fixture.git(&["commit", "--quiet", "--message=submodules"]);
    let error = fixture.fetch_whole(&fixture.url("")).unwrap_err();
    assert!(error.starts_with("its submodule \""), "{error}");
    assert!(error.ends_with(": git was ended because what it fetches is larger than 1024 MiB: "), "{error}");
    provlock_test::survived("a module package that takes more memory or time than it may", cases.len() + 1);
}
