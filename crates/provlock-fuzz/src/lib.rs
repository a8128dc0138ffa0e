//! What holds for every input, however hostile: functions that take bytes, and panic where a law is broken.
//!
//! `tests/smoke.rs` runs them on seeds and on seeds that were changed by chance, on any toolchain. The programs in
//! `fuzz/` at the top of the repository run them under libFuzzer; its README says how.

mod cli_configuration;
mod configuration;
mod lock_file;
mod merge;
mod module_source;
mod mutate;
mod package;
mod registry;
mod settings;
mod sha256sums;
mod signature;

/// The laws of editing, and the generator of random numbers.
#[path = "../../../tests/lockfile/mod.rs"]
#[allow(dead_code, clippy::enum_glob_use, reason = "tests/corpus.rs uses all of it, with the lints of tests")]
mod lockfile;

use std::path::{Path, PathBuf};

pub use cli_configuration::cli_configuration;
pub use configuration::configuration;
pub use lock_file::lock_file;
pub use merge::merge;
pub use module_source::module_source;
pub use mutate::mutated;
pub use package::package;
pub use registry::registry;
pub use settings::settings;
pub use sha256sums::sha256sums;
pub use signature::signature;

/// What is fuzzed.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, also that of its program in `fuzz/`.
    pub name: &'static str,
    /// Says whether the input is accepted; panics where a law is broken.
    pub run: fn(&[u8]) -> bool,
    /// Directories of inputs to begin with, below the top of the repository.
    pub seeds: &'static [&'static str],
}

/// All of them.
pub const TARGETS: [Target; 10] = [
    Target { name: "lock_file", run: lock_file, seeds: &["testdata/locks", "testdata/module-locks"] },
    Target { name: "configuration", run: configuration, seeds: &["fuzz/seeds/configuration"] },
    Target { name: "cli_configuration", run: cli_configuration, seeds: &["fuzz/seeds/cli_configuration"] },
    Target { name: "settings", run: settings, seeds: &["fuzz/seeds/settings"] },
    Target { name: "package", run: package, seeds: &["testdata/packages/conformance", "testdata/packages/probes"] },
    Target { name: "sha256sums", run: sha256sums, seeds: &["fuzz/seeds/sha256sums"] },
    Target { name: "signature", run: signature, seeds: &["fuzz/seeds/signature"] },
    Target { name: "registry", run: registry, seeds: &["fuzz/seeds/registry"] },
    Target { name: "merge", run: merge, seeds: &["fuzz/seeds/merge"] },
    Target { name: "module_source", run: module_source, seeds: &["fuzz/seeds/module_source"] },
];

/// The top of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
