//! `tree`: which modules require which providers.

use std::path::Path;

use clap::Args;
use clap_complete::ArgValueCandidates;
use provlock::diagnostic::{Code, Diagnostic};
use provlock::provider::{ProviderAddress, ProviderSpec, ProviderSpecError};

use super::outcome::Outcome;
use super::watch::{Watch, start};
use crate::cli::args::{CacheArgs, FormatArgs, GlobalArgs, ModuleArgs, candidates};
use crate::cli::render::json::{Output, Root, TreeRoot};
use crate::cli::render::tree::{ProviderTree, text};
use crate::cli::ui::Ui;

const EXAMPLES: &str = "Examples:
  provlock tree hashicorp/aws   # who requires this provider, and in which versions?
  provlock tree                 # every provider that is required or locked
  provlock tree --online        # also read modules that are not installed";

/// Show which modules require a provider, and where
///
/// For each provider, the root module and the modules that it calls, directly or through others, with the file, the
/// line and the version constraint. A module that is called again is marked with (*) where the modules that it calls
/// are not repeated. Where modules are locked, the locked version or commit stands behind each call.
///
/// Modules that are neither local nor installed nor in the cache are fetched with --online only.
#[derive(Args)]
#[command(before_help = "Example: provlock tree hashicorp/aws", before_long_help = EXAMPLES)]
pub(crate) struct TreeArgs {
    /// Only these providers [default: all]
    #[arg(value_name = "PROVIDER", value_parser = provider)]
    #[arg(add = ArgValueCandidates::new(candidates::providers))]
    providers: Vec<ProviderSpec>,
    /// Ignore what only test files require
    #[arg(long, help_heading = "Selection")]
    no_tests: bool,
    #[command(flatten)]
    modules: ModuleArgs,
    /// Fetch modules that are not installed
    #[arg(long, help_heading = "Network")]
    online: bool,
    #[command(flatten)]
    cache: CacheArgs,
    #[command(flatten)]
    format: FormatArgs,
}

fn provider(text: &str) -> std::result::Result<ProviderSpec, String> {
    let provider: ProviderSpec = text.parse().map_err(|error: ProviderSpecError| error.to_string())?;
    if provider.version().is_some() { Err("write it without a version".to_owned()) } else { Ok(provider) }
}

pub(crate) fn run(arguments: &TreeArgs, global: &GlobalArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let mut watch = Watch::new(ui, None);
    let session = start(global, ui, |environment, options| {
        options.sources.cache_directory = arguments.cache.used(environment);
        arguments.modules.add_to(options, environment, !arguments.online);
        Ok(())
    })?;
    let session = session.observed_by(|event| watch.show(&event));
    let root = session.open(Path::new("."))?;
    let requirements = session.requirements(&root, arguments.no_tests);
    drop(session);
    drop(watch);
    let requirements = requirements?;
    let (lock_file, mut warnings) = root.lock_file()?;
    let (module_lock_file, more) = root.module_lock_file()?;
    warnings.extend(more);
    warnings.extend(requirements.warnings.iter().cloned());
    let locks = lock_file.locks();
    let is_known =
        |address: &ProviderAddress| requirements.providers.contains_key(address) || locks.contains_key(address);
    let mut wanted: Vec<_> = arguments.providers.iter().map(|provider| provider.resolve(root.dialect)).collect();
    if let Some(unknown) = wanted.iter().find(|address| !is_known(address)) {
        let name = unknown.short(root.dialect);
        let error = Diagnostic::error(Code::InvalidArgument, format!("{name} is neither required nor locked"));
        return Err(error.help("provlock tree lists all providers").into());
    }
    if wanted.is_empty() {
        wanted = requirements.providers.keys().chain(locks.keys()).cloned().collect();
    }
    wanted.sort();
    wanted.dedup();
    let trees = wanted.iter().map(|address| ProviderTree::new(address, &requirements, locks, module_lock_file.locks()));
    let trees: Vec<_> = trees.collect();
    ui.warn(&warnings);
    if ui.is_json() {
        let roots = vec![Root::Tree(TreeRoot::new(&root, &trees))];
        ui.print_json(&Output { roots, ..ui.output(&warnings, &[]) });
    } else {
        ui.print(&text(&trees, root.dialect));
    }
    Ok(Outcome::Done)
}
