//! Git repositories in a test's directories, independent of the configuration of the machine.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::environment::{Invocation, TestEnvironment, program};
use crate::output::Output;

/// The author of all commits.
const IDENTITY: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Test"),
    ("GIT_AUTHOR_EMAIL", "test@example.com"),
    ("GIT_COMMITTER_NAME", "Test"),
    ("GIT_COMMITTER_EMAIL", "test@example.com"),
];
const DATE: &str = "2026-01-01T00:00:00Z";
const NO_FILE: &str = if cfg!(windows) { "NUL" } else { "/dev/null" };
const COMMIT: [&str; 4] = ["commit", "--quiet", "--allow-empty", "--message=change"];

impl TestEnvironment {
    /// Runs git in a directory, which must succeed, and returns its output without the last line
    /// break. A relative directory is one below the project directory.
    #[track_caller]
    pub fn git<A: AsRef<OsStr>>(
        &self,
        directory: impl AsRef<Path>,
        arguments: impl IntoIterator<Item = A>,
    ) -> String {
        let output = self.git_command(arguments).run_in(directory).run();
        output.assert_code(0).stdout.trim_end().to_owned()
    }

    /// Prepares a run of git in the project directory. A commit starts no maintenance.
    pub fn git_command<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Invocation {
        let configuration = ["-c", "maintenance.auto=false"]
            .map(OsString::from)
            .into_iter();
        let arguments = arguments
            .into_iter()
            .map(|argument| argument.as_ref().to_owned());
        let command = self.program("git", configuration.chain(arguments));
        IDENTITY.iter().fold(command, |command, (variable, value)| {
            command.env(variable, value)
        })
    }

    /// Makes an empty repository with a branch `main`, without the hooks that git has as examples.
    #[track_caller]
    pub fn git_init(&self, directory: impl AsRef<Path>) {
        self.git(
            directory,
            ["init", "--quiet", "--template=", "--initial-branch=main"],
        );
    }

    /// Commits everything in a directory that git does not ignore.
    #[track_caller]
    pub fn commit_all(&self, directory: impl AsRef<Path>) {
        self.git(&directory, ["add", "--all"]);
        self.git(&directory, COMMIT);
    }
}

/// A repository in the project directory. Programs that tests start there use no other
/// configuration of git, and commit at a fixed date.
pub struct Repository {
    pub environment: TestEnvironment,
}

impl Repository {
    /// An empty repository with a branch `main`; `provlock` is in the path.
    pub fn new() -> Self {
        Self::around(TestEnvironment::new())
    }

    /// An empty repository in the project directory of an environment.
    pub fn around(mut environment: TestEnvironment) -> Self {
        let files = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].map(|variable| (variable, NO_FILE));
        let dates = ["GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"].map(|variable| (variable, DATE));
        for (variable, value) in IDENTITY.into_iter().chain(files).chain(dates) {
            environment.set(variable, value);
        }
        let path = program();
        let path = Path::new(&path);
        link_or_copy(path, &environment.bin().join(path.file_name().unwrap()));
        environment.git_init(".");
        Self { environment }
    }

    /// Runs git, which must succeed, and returns its standard output.
    #[track_caller]
    pub fn git<const N: usize>(&self, arguments: [&str; N]) -> String {
        self.try_git(arguments).assert_code(0).stdout.clone()
    }

    pub fn try_git<const N: usize>(&self, arguments: [&str; N]) -> Output {
        self.environment.git_command(arguments).run()
    }

    /// Runs `provlock` in the project directory.
    pub fn provlock<const N: usize>(&self, arguments: [&str; N]) -> Output {
        self.environment.provlock(arguments)
    }

    /// Writes the lock file and commits everything.
    #[track_caller]
    pub fn commit(&self, lock_file: &str) {
        self.environment.write_lock_file(lock_file);
        self.environment.commit_all(".");
    }

    /// Makes a branch of `main` with one commit, and stays there.
    #[track_caller]
    pub fn branch(&self, name: &str, lock_file: &str) {
        self.git(["checkout", "--quiet", "-b", name, "main"]);
        self.commit(lock_file);
    }
}

#[cfg(unix)]
fn link_or_copy(program: &Path, path: &Path) {
    std::os::unix::fs::symlink(program, path).unwrap();
}

/// Symlinks need a privilege there.
#[cfg(windows)]
fn link_or_copy(program: &Path, path: &Path) {
    std::fs::copy(program, path).unwrap();
}
