//! The arguments that say what is to be locked, of `lock` and `upgrade`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use provlock::cli_config::Environment;
use provlock::diagnostic::{Diagnostic, Result};
use provlock::provider_spec::{ProviderSpec, ProviderSpecError};
use provlock::requirements::ModuleCache;
use provlock::workspace::{LockOptions, Repositories, RootSelection, Workspace, Workspaces};

use super::global::GlobalArgs;
use super::modules::ModuleArgs;
use super::platforms::PlatformArgs;
use super::source::SourceArgs;

/// What is to be locked.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
#[command(next_help_heading = "Selection")]
pub(crate) struct SelectionArgs {
    /// Every root module below the PATHs [default: .]; what `.gitignore` names is left out
    #[arg(short, long, value_name = "PATH", num_args(0..), value_hint = ValueHint::DirPath)]
    recursive: Option<Vec<PathBuf>>,
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
    pub(crate) fn is_recursive(&self) -> bool {
        self.recursive.is_some()
    }

    /// The directories below which all root modules are meant.
    pub(crate) fn directories(&self) -> &[PathBuf] {
        self.recursive.as_deref().unwrap_or_default()
    }

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

    /// Reads the root modules that the flags mean.
    pub(crate) fn open(
        &self,
        options: &LockOptions,
        global: &GlobalArgs,
        environment: &Environment,
        modules: &ModuleCache,
    ) -> Result<Workspaces> {
        let Some(paths) = &self.recursive else {
            return Workspaces::one(Workspace::open_as(Path::new("."), global.dialect, environment)?, options, modules);
        };
        let repositories = &Repositories::default();
        let selection = RootSelection {
            paths,
            recursive: true,
            dialect: global.dialect,
            environment,
            modules,
            repositories,
            change: None,
        };
        let directory = options.providers.iter().map(ToString::to_string).find(|name| Path::new(name).is_dir());
        let help = match directory {
            _ if paths.iter().any(|path| !path.exists()) => {
                Some("after -r come directories; a provider goes before it".to_owned())
            }
            Some(directory) => Some(format!("{directory} is a directory: put it right after -r")),
            None => None,
        };
        let helpful = |error: Diagnostic| match &help {
            Some(help) => error.help(help.as_str()),
            None => error,
        };
        Workspaces::open(&selection, options).map_err(|errors| errors.map(helpful))
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
