//! The arguments that say what is to be locked, of `lock` and `upgrade`.

use std::time::Duration;

use clap::Args;
use provlock::project::LockOptions;
use provlock::provider::ProviderSpec;

use super::modules::ModuleArgs;
use super::platforms::PlatformArgs;

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
    pub(crate) fn lock_options(&self, providers: Vec<ProviderSpec>, min_age: Option<Duration>) -> LockOptions {
        let mut options = LockOptions::default();
        options.providers = providers;
        options.platforms = self.platforms.named();
        options.ignore_tests = self.no_tests;
        options.allow_missing_modules = self.allow_missing_modules;
        options.prune = self.prune;
        options.accept_changed_hashes = self.accept_changed_hashes;
        options.min_age = min_age;
        options
    }
}
