//! A git repository in a test's project directory.

use std::path::Path;

use provlock_test::{Output, TestEnvironment, program};

/// A repository that git runs in without any configuration but its own.
pub struct Repository {
    pub environment: TestEnvironment,
}

impl Repository {
    /// An empty repository with a branch `main`; `provlock` is in the path.
    pub fn new() -> Self {
        Self::around(TestEnvironment::new())
    }

    /// An empty repository in the project directory.
    pub fn around(mut environment: TestEnvironment) -> Self {
        let nothing = if cfg!(windows) { "NUL" } else { "/dev/null" };
        for variable in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
            environment.set(variable, nothing);
        }
        for who in ["AUTHOR", "COMMITTER"] {
            environment.set(format!("GIT_{who}_NAME"), "Test");
            environment.set(format!("GIT_{who}_EMAIL"), "test@example.com");
            environment.set(format!("GIT_{who}_DATE"), "2026-01-01T00:00:00Z");
        }
        let path = program();
        let path = Path::new(&path);
        place(path, &environment.bin().join(path.file_name().unwrap()));
        let repository = Self { environment };
        repository.git(["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    /// Runs git, which must succeed, and returns its standard output.
    #[track_caller]
    pub fn git<const N: usize>(&self, arguments: [&str; N]) -> String {
        self.try_git(arguments).assert_code(0).stdout.clone()
    }

    pub fn try_git<const N: usize>(&self, arguments: [&str; N]) -> Output {
        self.environment.program("git", arguments).run()
    }

    /// Runs `provlock` in the project directory.
    pub fn provlock<const N: usize>(&self, arguments: [&str; N]) -> Output {
        self.environment.provlock(arguments)
    }

    /// Writes the lock file and commits everything.
    #[track_caller]
    pub fn commit(&self, lock_file: &str) {
        self.environment.write_lock_file(lock_file);
        self.git(["add", "--all"]);
        self.git(["commit", "--quiet", "--message=change"]);
    }

    /// Makes a branch of `main` with one commit, and stays there.
    #[track_caller]
    pub fn branch(&self, name: &str, lock_file: &str) {
        self.git(["checkout", "--quiet", "-b", name, "main"]);
        self.commit(lock_file);
    }
}

/// The text of a lock file with these entries.
pub fn lock_file(entries: &[String]) -> String {
    let header =
        "# This file is maintained automatically by \"tofu init\".\n# Manual edits may be lost in future updates.\n";
    entries.iter().fold(header.to_owned(), |text, entry| format!("{text}\n{entry}"))
}

/// An entry without constraints.
pub fn entry(name: &str, version: &str, hashes: &[&str]) -> String {
    let lines = hashes.iter().fold(String::new(), |lines, hash| format!("{lines}    \"{hash}\",\n"));
    format!("provider \"registry.opentofu.org/{name}\" {{\n  version = \"{version}\"\n  hashes = [\n{lines}  ]\n}}\n")
}

/// An entry with constraints.
pub fn constrained(name: &str, version: &str, constraints: &str, hashes: &[&str]) -> String {
    let attributes = format!("  version     = \"{version}\"\n  constraints = \"{constraints}\"\n");
    entry(name, version, hashes).replace(&format!("  version = \"{version}\"\n"), &attributes)
}

/// The text of a lock file of modules with these entries.
pub fn module_lock_file(entries: &[String]) -> String {
    let header = "# This file is maintained by provlock. It records the packages of the modules that this configuration \
                  calls.\n# OpenTofu and Terraform do not read it: \"provlock get\" installs what it records, \"provlock \
                  verify\" checks it.\n";
    entries.iter().fold(header.to_owned(), |text, entry| format!("{text}\n{entry}"))
}

/// The entry of a module from git, with a tag and the commit that it named.
pub fn module(name: &str, tag: &str, commit: &str) -> String {
    let address = format!("git::https://example.com/{name}.git?ref=");
    let hash = format!("h1:{name}{commit}");
    format!(
        "module \"{name}\" {{\n  source  = \"{address}{tag}\"\n  package = \"{address}{commit}\"\n  \
         hashes = [\n    \"{hash}\",\n  ]\n}}\n"
    )
}

#[cfg(unix)]
fn place(program: &Path, path: &Path) {
    std::os::unix::fs::symlink(program, path).unwrap();
}

/// Symlinks need a privilege there.
#[cfg(windows)]
fn place(program: &Path, path: &Path) {
    std::fs::copy(program, path).unwrap();
}
