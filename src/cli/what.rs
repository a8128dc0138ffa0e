//! The flags that say what is to be locked, of `lock` and `upgrade`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use provlock::address::ProviderAddress;
use provlock::cli_config::Environment;
use provlock::diagnostic::{Help, Result};
use provlock::dialect::Dialect;
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
    /// Reads `PROVIDER` arguments.
    pub(crate) fn providers(texts: &[String], dialect: Dialect) -> Result<Self> {
        if let Some(text) = texts.iter().find(|text| text.contains('@')) {
            let error = invalid_argument(format!("{text:?} names a version, and lock takes providers only"));
            return Err(error.help(Help::text("move to that version: ").and_command(["upgrade", text])).into());
        }
        Ok(Self { only: addresses(texts, dialect)?, versions: BTreeMap::new() })
    }

    /// Reads `PROVIDER[@VERSION]` arguments.
    pub(crate) fn providers_at_versions(texts: &[String], dialect: Dialect) -> Result<Self> {
        let split = |text: &String| match text.rsplit_once('@') {
            Some((name, version)) => (name.to_owned(), Some(version.to_owned())),
            None => (text.clone(), None),
        };
        let (names, texts): (Vec<_>, Vec<_>) = texts.iter().map(split).unzip();
        let only = addresses(&names, dialect)?;
        let mut versions = BTreeMap::new();
        for (address, version) in only.iter().zip(texts) {
            let Some(text) = version else { continue };
            let version =
                text.parse().map_err(|error| invalid_argument(format!("{text:?} is not a version: {error}")))?;
            if versions.insert(address.clone(), version).is_some_and(|other| other != versions[address]) {
                return Err(invalid_argument(format!("{address} is given two versions")).into());
            }
        }
        Ok(Self { only, versions })
    }
}

/// Reads the addresses of providers.
fn addresses(texts: &[String], dialect: Dialect) -> Result<Vec<ProviderAddress>> {
    let address = |text: &String| {
        ProviderAddress::parse(text, dialect).map_err(|error| invalid_argument(format!("{text:?}: {error}")).into())
    };
    texts.iter().map(address).collect()
}
