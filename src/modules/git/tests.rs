//! Against git itself, with repositories in temporary directories.

mod files;
mod hostile;
mod limits;
mod revisions;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::result::Result;
use std::time::Duration;

use tempfile::TempDir;

use super::repository::FOREIGN_VARIABLES;
use super::*;

/// A repository to fetch from, and a git with the settings of this test only that logs how it is
/// called.
struct Fixture {
    directory: TempDir,
}

impl Fixture {
    /// A repository whose first commit is tagged `v1.0.0`, with a second one on `main`.
    fn new() -> Self {
        let fixture = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        let script = format!(
            "#!/bin/sh\necho \"$@\" >> '{0}/calls'\nHOME='{0}' GIT_CONFIG_NOSYSTEM=1 exec git \"$@\"\n",
            fixture.directory.path().display()
        );
        fs::write(fixture.program(), script).unwrap();
        fs::set_permissions(fixture.program(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(fixture.origin()).unwrap();
        fixture.git(&["init", "--quiet", "--initial-branch=main"]);
        fixture.git(&["config", "uploadpack.allowFilter", "true"]);
        fixture.commit(&[
            ("main.tf", "one"),
            ("modules/a/main.tf", "a"),
            ("README.md", "read me"),
        ]);
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
        command
            .current_dir(self.origin())
            .args(["-c", "user.name=t", "-c", "user.email=t@t.test"])
            .args(arguments);
        command
            .env("HOME", self.directory.path())
            .env("GIT_CONFIG_NOSYSTEM", "1");
        for variable in FOREIGN_VARIABLES.split(' ') {
            command.env_remove(variable);
        }
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
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

    fn fetch(&self, url: &str) -> Result<PathBuf, String> {
        self.fetch_within(url, Duration::from_mins(1))
            .map(|(_, package)| package)
    }

    fn fetch_within(
        &self,
        url: &str,
        time_limit: Duration,
    ) -> Result<(GitPackage, PathBuf), String> {
        let program = self.program();
        let place = tempfile::tempdir_in(self.directory.path()).unwrap().keep();
        let (scratch, package) = (place.join("scratch"), place.join("package"));
        fs::create_dir(&scratch)
            .and_then(|()| fs::create_dir(&package))
            .unwrap();
        let git = Git::new(&program, None, &scratch, time_limit);
        let fetched = GitAddress::parse(url).and_then(|address| git.fetch(&address, &package));
        let fetched =
            fetched.map_err(|error| format!("{error}: {}", error.errors[0].notes.join("; ")))?;
        Ok((fetched, package))
    }

    /// The content of `main.tf` of a fetched package.
    fn main(&self, query: &str) -> String {
        let package = self.fetch(&self.url(query)).unwrap();
        fs::read_to_string(package.join("main.tf")).unwrap()
    }

    /// The commands of git that were run.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.directory.path().join("calls")).unwrap_or_default();
        let name = |line: &str| {
            line.split("--git-dir=. ")
                .nth(1)
                .unwrap()
                .split(' ')
                .next()
                .unwrap()
                .to_owned()
        };
        calls.lines().map(name).collect()
    }
}

impl Fixture {
    /// An object with this content; the entries of a tree are lines of `ls-tree`.
    fn object(&self, kind: &str, content: &str) -> String {
        let arguments: &[&str] = match kind {
            "tree" => &["mktree", "--missing"],
            kind => &["hash-object", "-w", "--stdin", "-t", kind],
        };
        let mut command = Command::new("git");
        command
            .current_dir(self.origin())
            .args(arguments)
            .stdin(std::process::Stdio::piped());
        let mut git = command
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut git.stdin.take().unwrap(), content.as_bytes()).unwrap();
        String::from_utf8(git.wait_with_output().unwrap().stdout)
            .unwrap()
            .trim()
            .to_owned()
    }

    /// A deep tree of directories. Each contains the next one under each of the names.
    fn tree(&self, names: &[String], depth: usize, leaf: &str) -> String {
        let wrap = |below: String, _| {
            let kind = if below == leaf {
                "100644 blob"
            } else {
                "040000 tree"
            };
            let lines: Vec<_> = names
                .iter()
                .map(|name| format!("{kind} {below}\t{name}\n"))
                .collect();
            self.object("tree", &lines.concat())
        };
        (0..depth).fold(leaf.to_owned(), wrap)
    }

    /// The error for the package of a commit with this tree.
    fn refused(&self, tree: &str) -> String {
        let commit = self.git(&["commit-tree", "-m", "m", tree]);
        self.git(&["update-ref", "refs/heads/hostile", &commit]);
        self.fetch(&self.url("?ref=hostile")).unwrap_err()
    }
}

/// The tree of a commit with other entries than `git add` would make.
fn forged_tree(fixture: &Fixture, entries: &[(&str, &str)]) -> String {
    let [blob, tree] =
        ["main:main.tf", "main:modules/a"].map(|name| fixture.git(&["rev-parse", name]));
    let id = |mode: &str| if mode == "40000" { &tree } else { &blob };
    let entry = |(mode, name): &(&str, &str)| {
        format!(
            "printf '{mode} {name}\\0'; printf '{}' | xxd -r -p",
            id(mode)
        )
    };
    let script: Vec<_> = entries.iter().map(entry).collect();
    let command = format!(
        "({}) | git hash-object -t tree -w --stdin --literally",
        script.join("; ")
    );
    let output = Command::new("sh")
        .args(["-c", &command])
        .current_dir(fixture.origin())
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    let commit = fixture.git(&["commit-tree", "-m", "forged", &tree]);
    fixture.git(&["branch", "--force", "forged", &commit]);
    fixture.url("?ref=forged")
}
