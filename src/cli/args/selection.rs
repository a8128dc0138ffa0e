//! The arguments that say what is to be locked, of `lock` and `upgrade`.

use std::path::PathBuf;

use clap::Args;
use provlock::cli_config::Environment;
use provlock::diagnostic::Result;
use provlock::provider_spec::ProviderSpec;
use provlock::requirements::ModuleCache;
use provlock::workspace::{LockOptions, Repositories, RootSelection, Workspaces};

use super::global::GlobalArgs;
use super::modules::ModuleArgs;
use super::platforms::PlatformArgs;
use super::source::SourceArgs;

/// What is to be locked.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(next_help_heading = "Selection")]
pub(crate) struct SelectionArgs {
    /// Every root module below the paths [default: .]; what `.gitignore` names is left out
    #[arg(short, long)]
    pub(crate) recursive: bool,
    #[command(flatten)]
    platforms: PlatformArgs,
    /// Remove entries that the configuration does not require
    #[arg(long)]
    prune: bool,
    /// Replace hashes that do not match the published release
    #[arg(long, hide_short_help = true)]
    accept_changed_hashes: bool,
    /// Skip modules that are not installed
    #[arg(long, hide_short_help = true)]
    allow_missing_modules: bool,
    /// Ignore what only test files require
    #[arg(long, hide_short_help = true)]
    no_tests: bool,
    #[command(flatten)]
    pub(crate) modules: ModuleArgs,
}

impl SelectionArgs {
    /// What the library is asked for.
    pub(crate) fn lock_options(
        &self,
        providers: &[ProviderSpec],
        source: &SourceArgs,
        environment: &Environment,
    ) -> LockOptions {
        LockOptions {
            providers: providers.to_vec(),
            platforms: self.platforms.named(),
            ignore_tests: self.no_tests,
            allow_missing_modules: self.allow_missing_modules,
            prune: self.prune,
            accept_changed_hashes: self.accept_changed_hashes,
            offline: source.offline,
            cache: source.cache(environment),
            ..LockOptions::default()
        }
    }

    /// Reads the root modules that the paths mean.
    pub(crate) fn open(
        &self,
        paths: &[PathBuf],
        options: &LockOptions,
        global: &GlobalArgs,
        environment: &Environment,
        modules: &ModuleCache,
    ) -> Result<Workspaces> {
        let settings = global.settings(environment)?;
        let selection = RootSelection {
            paths,
            recursive: self.recursive,
            dialect: global.dialect,
            environment,
            modules,
            repositories: &Repositories::default(),
            change: None,
            settings: settings.as_ref(),
        };
        Workspaces::open(&selection, options)
    }
}
