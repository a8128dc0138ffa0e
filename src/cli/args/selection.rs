//! Flags that select providers and platforms: platforms, ages, modules, and other flags that `lock`
//! and `upgrade` share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueHint};
use clap_complete::ArgValueCandidates;
use provlock::configuration::{InputVariables, VariableFlag};
use provlock::packages::DateServices;
use provlock::project::{LockOptions, ModuleFetching, SessionOptions};
use provlock::provider::ProviderSpec;
use provlock::settings::{PlatformSelection, parse_duration};
use provlock::system::{Environment, variables};
use url::Url;

use super::severity::positions_on_command_line;
use super::{CacheArgs, candidates};

/// Entries to lock.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(next_help_heading = "Selection")]
pub(crate) struct SelectionArgs {
    #[command(flatten)]
    platforms: PlatformArgs,
    /// Remove entries that nothing requires
    #[arg(long)]
    prune: bool,
    /// Replace hashes that do not belong to the release
    #[arg(long)]
    accept_changed_hashes: bool,
    /// Skip modules that are not installed
    #[arg(long, hide_short_help = true)]
    allow_missing_modules: bool,
    /// Ignore requirements of test files
    #[arg(long, hide_short_help = true)]
    no_tests: bool,
    #[command(flatten)]
    pub(crate) modules: ModuleArgs,
}

impl SelectionArgs {
    /// Returns the options for the library.
    pub(crate) fn lock_options(
        &self,
        providers: Vec<ProviderSpec>,
        min_age: Option<Duration>,
    ) -> LockOptions {
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

/// Minimum age of versions.
#[derive(Args)]
pub(crate) struct AgeArgs {
    /// Select no version younger than this, such as 7d [default: min-age of provlock.toml]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration, help_heading = "Selection")]
    pub(crate) min_age: Option<Duration>,
    #[command(flatten)]
    pub(crate) dates: DateArgs,
}

/// Services that know when versions were published.
#[derive(Args)]
pub(crate) struct DateArgs {
    /// Address of the service with the dates of versions on registry.opentofu.org
    #[arg(long, hide = true, env = variables::OPENTOFU_API, default_value = "https://api.opentofu.org/")]
    opentofu_api: Url,
    /// Address of the service with the dates of versions on registry.terraform.io
    #[arg(long, hide = true, env = variables::TERRAFORM_API, default_value = "https://registry.terraform.io/")]
    terraform_api: Url,
}

impl DateArgs {
    pub(crate) fn add_to(&self, options: &mut SessionOptions) {
        let services = DateServices {
            opentofu: self.opentofu_api.clone(),
            terraform: self.terraform_api.clone(),
        };
        options.sources.date_services = Some(services);
    }
}

#[derive(Args)]
pub(crate) struct PlatformArgs {
    /// Platforms such as `linux_amd64`, or `all` [default: provlock.toml's, else the lock file's,
    /// else this machine's]
    #[arg(
        short,
        long = "platform",
        value_name = "OS_ARCH",
        value_delimiter = ',',
        env = variables::PLATFORMS,
        hide_env_values = true,
        add = ArgValueCandidates::new(candidates::platforms)
    )]
    platforms: Vec<PlatformSelection>,
}

impl PlatformArgs {
    /// The platforms of the flag.
    pub(crate) fn named(&self) -> Option<PlatformSelection> {
        (!self.platforms.is_empty()).then(|| self.platforms.iter().cloned().collect())
    }
}

/// Source of called modules.
#[derive(Args)]
#[command(next_help_heading = "Modules")]
pub(crate) struct ModuleArgs {
    /// Don't fetch modules; read installed ones only
    #[arg(long, hide_short_help = true)]
    no_fetch_modules: bool,
    /// Read modules from DIR only, which `provlock mirror --modules` has filled
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, hide_short_help = true)]
    #[arg(conflicts_with = "no_fetch_modules")]
    modules_mirror: Option<PathBuf>,
    #[command(flatten)]
    variables: VariableArgs,
}

impl ModuleArgs {
    /// Sets the source of modules that are not installed, and the values of variables. If
    /// `is_offline`, modules come from the cache only.
    pub(crate) fn add_to(
        &self,
        environment: &Environment,
        options: &mut SessionOptions,
        is_offline: bool,
    ) {
        let variables = &environment.variables;
        options.variables =
            InputVariables::new(variables, self.variables.flags.clone()).with_arguments(variables);
        options.modules_mirror.clone_from(&self.modules_mirror);
        // A mirror is read without requests, as the cache is.
        options.modules = if self.no_fetch_modules {
            ModuleFetching::Never
        } else if is_offline || self.modules_mirror.is_some() {
            ModuleFetching::FromCache
        } else {
            ModuleFetching::Fetch
        };
    }
}

/// Modules that may come from the cache only, without packages of providers.
#[derive(Args)]
pub(crate) struct OfflineArgs {
    #[command(flatten)]
    modules: ModuleArgs,
    #[command(flatten)]
    cache: CacheArgs,
    /// Make no network requests; use the lock file and the cache
    #[arg(long, help_heading = "Network")]
    offline: bool,
}

impl OfflineArgs {
    pub(crate) fn add_to(&self, environment: &Environment, options: &mut SessionOptions) {
        options.offline = self.offline;
        self.cache.add_to(environment, options);
        self.modules.add_to(environment, options, self.offline);
    }
}

/// `--var` and `--var-file`.
struct VariableArgs {
    /// The flags in the order of the command line.
    flags: Vec<VariableFlag>,
}

/// The same as clap parses them: each flag by itself.
#[derive(Args)]
struct SeparateArgs {
    /// Set a variable, for the sources and versions of modules
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = assignment, hide_short_help = true)]
    variables: Vec<(String, String)>,
    /// Read variables from FILE, like terraform.tfvars; the later of --var and --var-file wins
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    var_file: Vec<PathBuf>,
}

impl Args for VariableArgs {
    fn augment_args(command: Command) -> Command {
        SeparateArgs::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        SeparateArgs::augment_args_for_update(command)
    }
}

impl FromArgMatches for VariableArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let SeparateArgs {
            variables,
            var_file,
        } = SeparateArgs::from_arg_matches(matches)?;
        // By position on the command line, because a later flag replaces an earlier one.
        let mut flags = BTreeMap::new();
        for (position, (name, text)) in
            positions_on_command_line(matches, "variables").zip(variables)
        {
            flags.insert(position, VariableFlag::Value(name, text));
        }
        for (position, file) in positions_on_command_line(matches, "var_file").zip(var_file) {
            flags.insert(position, VariableFlag::File(file));
        }
        Ok(Self {
            flags: flags.into_values().collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Reads `NAME=VALUE`.
fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}
