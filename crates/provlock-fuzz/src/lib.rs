//! Laws that hold for every input, however hostile: functions that take bytes, and panic if a law
//! is broken.
//!
//! `tests/smoke.rs` runs them on seeds and on seeds that were changed by chance, on any toolchain.
//! `fuzz/run` at the top of the repository runs them under libFuzzer.

mod change;
mod cli_configuration;
mod configuration;
mod ignore_file;
mod lock_file;
mod merge;
mod module_archive;
mod module_cache;
mod module_source;
mod mutate;
mod overlay;
mod package;
mod project;
mod registry;
mod settings;
mod sha256sums;
mod shared_facts;
mod signature;
mod terragrunt;

/// The laws of editing, and the generator of random numbers.
#[path = "../../../tests/lockfile/mod.rs"]
#[allow(
    dead_code,
    clippy::enum_glob_use,
    reason = "tests/corpus.rs uses all of it, with the lints of tests"
)]
mod lockfile;

use std::path::{Path, PathBuf};

pub use change::change;
pub use cli_configuration::cli_configuration;
pub use configuration::configuration;
pub use ignore_file::ignore_file;
pub use lock_file::lock_file;
pub use merge::merge;
pub use module_archive::module_archive;
pub use module_cache::module_cache;
pub use module_source::module_source;
pub use mutate::mutated;
pub use overlay::overlay;
pub use package::package;
pub use registry::registry;
pub use settings::settings;
pub use sha256sums::sha256sums;
pub use shared_facts::shared_facts;
pub use signature::signature;
pub use terragrunt::terragrunt;

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// Says whether the input is accepted; panics where a law is broken.
    pub run: fn(&[u8]) -> bool,
    /// Directories of inputs to begin with, below the top of the repository.
    pub seeds: &'static [&'static str],
    /// Time for one input, relative to a target that only reads a text. Targets with a project on
    /// disk are slow.
    pub cost: u64,
}

/// All fuzz targets.
pub const TARGETS: [Target; 17] = [
    Target {
        name: "lock_file",
        run: lock_file,
        seeds: &["testdata/locks", "testdata/module-locks"],
        cost: 1,
    },
    Target {
        name: "configuration",
        run: configuration,
        seeds: &["fuzz/seeds/configuration"],
        cost: 1,
    },
    Target {
        name: "cli_configuration",
        run: cli_configuration,
        seeds: &["fuzz/seeds/cli_configuration"],
        cost: 1,
    },
    Target {
        name: "settings",
        run: settings,
        seeds: &["fuzz/seeds/settings"],
        cost: 1,
    },
    Target {
        name: "package",
        run: package,
        seeds: &["testdata/packages/conformance", "testdata/packages/probes"],
        cost: 1,
    },
    Target {
        name: "sha256sums",
        run: sha256sums,
        seeds: &["fuzz/seeds/sha256sums"],
        cost: 1,
    },
    Target {
        name: "signature",
        run: signature,
        seeds: &["fuzz/seeds/signature"],
        cost: 1,
    },
    Target {
        name: "registry",
        run: registry,
        seeds: &["fuzz/seeds/registry"],
        cost: 1,
    },
    Target {
        name: "merge",
        run: merge,
        seeds: &["fuzz/seeds/merge"],
        cost: 1,
    },
    Target {
        name: "module_source",
        run: module_source,
        seeds: &["fuzz/seeds/module_source"],
        cost: 1,
    },
    Target {
        name: "module_archive",
        run: module_archive,
        seeds: &["fuzz/seeds/module_archive"],
        cost: 20,
    },
    Target {
        name: "module_cache",
        run: module_cache,
        seeds: &["fuzz/seeds/module_cache"],
        cost: 20,
    },
    Target {
        name: "shared_facts",
        run: shared_facts,
        seeds: &["fuzz/seeds/shared_facts"],
        cost: 1,
    },
    Target {
        name: "terragrunt",
        run: terragrunt,
        seeds: &["fuzz/seeds/terragrunt"],
        cost: 20,
    },
    Target {
        name: "ignore_file",
        run: ignore_file,
        seeds: &["fuzz/seeds/ignore_file"],
        cost: 20,
    },
    Target {
        name: "change",
        run: change,
        seeds: &["fuzz/seeds/configuration"],
        cost: 20,
    },
    Target {
        name: "overlay",
        run: overlay,
        seeds: &["fuzz/seeds/overlay"],
        cost: 20,
    },
];

/// The top of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
