//! The flags that say what is to be locked, of `lock` and `upgrade`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use provlock::address::ProviderAddress;
use provlock::cli_config::Environment;
use provlock::diagnostic::Result;
use provlock::dialect::Dialect;
use provlock::provider_spec::{ProviderSpec, ProviderSpecError};
use provlock::requirements::{self, ModuleCache, Requirements};
use provlock::version::Version;

use super::invalid_argument;
use super::platforms::PlatformArgs;
use super::project::Project;

/// What is to be locked.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(next_help_heading = "What")]
pub(crate) struct WhatArgs {
    /// Every root module below the PATHs [default: .]; what `.gitignore` names is left out
    #[arg(short, long, value_name = "PATH", num_args(0..), value_hint = ValueHint::DirPath)]
    pub(crate) recursive: Option<Vec<PathBuf>>,
    #[command(flatten)]
    pub(crate) platforms: PlatformArgs,
    /// Remove entries that the configuration does not require
    #[arg(long)]
    pub(crate) prune: bool,
    /// Replace hashes that are not those of the published release
    #[arg(long)]
    pub(crate) accept_changed_hashes: bool,
    /// Go on without modules that are not installed
    #[arg(long)]
    allow_missing_modules: bool,
    /// Do not count what only test files require
    #[arg(long)]
    no_tests: bool,
}

/// The providers that are named; all when none is.
#[derive(Default)]
pub(crate) struct Targets {
    pub(crate) only: Vec<ProviderAddress>,
    /// The versions that some of them are to have.
    pub(crate) versions: BTreeMap<ProviderAddress, Version>,
}

impl WhatArgs {
    pub(crate) fn is_recursive(&self) -> bool {
        self.recursive.is_some()
    }

    /// What the configuration requires.
    pub(crate) fn requirements(
        &self,
        project: &Project,
        environment: &Environment,
        modules: &ModuleCache,
    ) -> Result<Requirements> {
        let options = project.requirements_options(environment, !self.no_tests, self.allow_missing_modules);
        requirements::read_with_cache(&project.root, &options, modules)
    }
}

impl Targets {
    /// The providers that the arguments mean in a root module.
    pub(crate) fn new(providers: &[ProviderSpec], dialect: Dialect) -> Result<Self> {
        let only: Vec<_> = providers.iter().map(|provider| provider.resolve(dialect)).collect();
        let mut versions = BTreeMap::new();
        for (address, provider) in only.iter().zip(providers) {
            let Some(version) = provider.version().cloned() else { continue };
            if versions.insert(address.clone(), version).is_some_and(|other| other != versions[address]) {
                return Err(invalid_argument(format!("two different versions of {address} are asked for")).into());
            }
        }
        Ok(Self { only, versions })
    }
}

/// Reads a `PROVIDER` argument.
pub(crate) fn provider(text: &str) -> std::result::Result<ProviderSpec, String> {
    let provider = provider_at_version(text)?;
    match provider.version() {
        Some(_) => Err("lock keeps locked versions; upgrade moves a provider to a version that is named".to_owned()),
        None => Ok(provider),
    }
}

/// Reads a `PROVIDER[@VERSION]` argument.
pub(crate) fn provider_at_version(text: &str) -> std::result::Result<ProviderSpec, String> {
    let is_path = text.starts_with(['.', '/']) || text.ends_with('/');
    let hint = if is_path { " (a directory goes right after -r)" } else { "" };
    text.parse().map_err(|error: ProviderSpecError| format!("{error}{hint}"))
}
