//! Faults between provlock and a registry, and between two runs: the lock file is the old file or
//! the right one.

#[cfg(unix)]
mod concurrency;
#[cfg(unix)]
mod get;
#[cfg(unix)]
mod interrupts;
#[cfg(unix)]
mod kills;
#[cfg(target_os = "linux")]
mod limits;
mod stages;

use crate::lock::{BOTH, lock_file, requires};
use provlock_test::archive::{self, Packing};
use provlock_test::{Registry, TestEnvironment};
use serde_json::json;

/// A project that requires a provider and calls a module of a registry, which requires it too.
struct Project {
    registry: Registry,
    environment: TestEnvironment,
    /// The lock file at the start: it lacks a platform.
    old: String,
    /// The lock file as it has to be.
    new: String,
}

impl Project {
    fn new() -> Self {
        let (registry, mut environment) = Registry::with_project();
        let gamma = registry
            .publish("acme/gamma", "1.5.0")
            .platforms(BOTH)
            .done();
        let module = [(
            "main.tf".to_owned(),
            requires("acme/gamma", "~> 1.0").into_bytes(),
        )];
        let versions = json!({ "modules": [{ "versions": [{ "version": "1.0.0" }] }] });
        let location = json!({ "location": "https://registry.opentofu.org/modules/network.zip" });
        registry.serve(
            "/v1/modules/acme/network/aws/versions",
            versions.to_string(),
        );
        registry.serve(
            "/v1/modules/acme/network/aws/1.0.0/download",
            location.to_string(),
        );
        registry.serve(
            "/modules/network.zip",
            archive::pack(&module, Packing::Deflated),
        );
        environment.set("PROVLOCK_CACHE_DIR", environment.root().join("cache"));
        let call =
            "module \"network\" {\n  source  = \"acme/network/aws\"\n  version = \"~> 1.0\"\n}\n";
        environment.write("main.tf", format!("{call}{}", requires("acme/gamma", "")));
        let locked = |hashes: &[String]| lock_file(&[gamma.entry("~> 1.0", hashes)]);
        let (old, new) = (
            locked(&gamma.hashes(&["linux_amd64"])),
            locked(&gamma.hashes(&BOTH)),
        );
        environment.write_lock_file(&old);
        Self {
            registry,
            environment,
            old,
            new,
        }
    }

    /// Fails if there is a file that the test has not made, beside the lock file.
    #[track_caller]
    fn assert_nothing_is_left(&self) {
        let environment = &self.environment;
        let mut names: Vec<_> = [environment.project(), environment.root().join("temporary")]
            .iter()
            .flat_map(|directory| std::fs::read_dir(directory).unwrap())
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        assert_eq!(names, [".terraform.lock.hcl", "main.tf"]);
    }
}
