//! `tree`: which modules require which providers, and which root modules lock which versions.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use provlock::diagnostic::{Code, Diagnostic, Help, Remedy, Result};
use provlock::project::{LockedVersions, RootModule, Roots, Session};
use provlock::provider::{Dialect, NamedProvider, ProviderAddress, ProviderSpec};
use provlock::system::Tree;
use serde_json::json;
use serde_json::value::RawValue;

use crate::cli::args::{
    CacheArgs, FormatArgs, ModuleArgs, OutputFormat, TargetArgs, Targets, is_surely_path,
};
use crate::cli::render::coverage::no_root_module;
use crate::cli::render::foreign::printable;
use crate::cli::render::html;
use crate::cli::render::json::{
    AsText, ProviderUse, RequiredProvider, Roots as JsonRoots, TreeRoot, raw,
};
use crate::cli::render::tree::draw_trees;
use crate::cli::render::versions::{self as usage, group_by_provider};
use crate::cli::run::outcome::Outcome;
use crate::cli::run::session::start_session;
use crate::cli::ui::Ui;

const FORMATS: &[OutputFormat] = &[OutputFormat::Text, OutputFormat::Json, OutputFormat::Html];

const EXAMPLES: &str = "Examples:
  # Who requires this provider?
  provlock tree hashicorp/aws
  # Every provider that is required or locked
  provlock tree
  # The providers of the root module in a directory
  provlock tree infra/dns
  # Locked versions, and their root modules
  provlock tree -r
  # The root modules that lock each version
  provlock tree -r hashicorp/aws
  # Also read modules that are not installed
  provlock tree --online";

/// Show which modules require a provider, and where
///
/// For each provider, shows the root module and all called modules that require it, with the file,
/// the line and the version constraint. (*) marks a repeated call, whose own calls are not
/// repeated. If modules are locked, each call has its locked version, commit or digest.
///
/// With --recursive, shows the versions in the lock files of all root modules below, with the
/// number of root modules that lock each; for a named provider, it lists them. Only lock files are
/// read.
///
/// With -v, also shows the key that signed the locked version, if an earlier run has verified it.
///
/// Modules that are neither local nor installed nor in the cache are fetched only with --online.
#[derive(Args)]
#[command(before_help = "Example: provlock tree hashicorp/aws", before_long_help = EXAMPLES)]
#[command(mut_arg("format", |format| format.value_parser(OutputFormat::one_of(FORMATS))))]
pub(crate) struct TreeArgs {
    #[command(flatten)]
    targets: TargetArgs,
    /// Ignore requirements of test files
    #[arg(long, help_heading = "Selection")]
    no_tests: bool,
    #[command(flatten)]
    modules: ModuleArgs,
    #[command(flatten)]
    cache: CacheArgs,
    /// Fetch modules that are not installed
    #[arg(long, help_heading = "Network")]
    online: bool,
    /// Make no network requests; the default
    #[arg(long = "offline", conflicts_with = "online", help_heading = "Network")]
    #[arg(hide_short_help = true)]
    _offline: bool,
    #[command(flatten)]
    format: FormatArgs,
}

/// Refuses providers with a version, because all versions are shown.
fn refuse_providers_with_version(arguments: &[OsString]) -> Result<()> {
    for argument in arguments {
        let text = argument.to_string_lossy();
        let path = Path::new(argument);
        if let Some((provider, _)) = text.split_once('@')
            && !Tree::Work.exists(path)
            && !is_surely_path(path)
        {
            let message = format!("tree takes providers without a version, and not {text}");
            let help = Help::text("for the root modules of each version: ");
            let remedy = Remedy::Run(["tree", "-r", provider].map(str::to_owned).into());
            return Err(Diagnostic::error(Code::InvalidArgument, message)
                .help(help.and(remedy))
                .into());
        }
    }
    Ok(())
}

/// Prints the tree of each named root module, or with `-r` a table of the locked versions of all.
pub(crate) fn run(arguments: &TreeArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    refuse_providers_with_version(&arguments.targets.targets)?;
    let (selection, Targets { providers, .. }) = arguments.targets.selection_and_names()?;
    if ui.format == OutputFormat::Html && !selection.recursive {
        let error = Diagnostic::error(
            Code::InvalidArgument,
            "only the table of all root modules is a page of HTML",
        );
        return Err(error.help("add --recursive").into());
    }
    let session = start_session(ui, &selection.paths, |environment, options| {
        arguments.cache.add_to(environment, options);
        let is_offline = !arguments.online;
        arguments.modules.add_to(environment, options, is_offline);
        Ok(())
    })?;
    if selection.recursive {
        let roots = session.roots(&selection)?;
        let versions = session.locked_versions(&roots);
        drop(session);
        return Ok(show_locked_versions(&versions, &providers, &roots, ui)?);
    }
    let paths = if selection.paths.is_empty() {
        vec![PathBuf::from(".")]
    } else {
        selection.paths
    };
    let with_signers = ui.stdout_style.verbose || ui.is_json();
    let mut shown = Vec::new();
    let mut warnings = Vec::new();
    for path in &paths {
        let mut directory = path.as_path();
        if Tree::Work.is_file(path) {
            directory = match path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent,
                _ => Path::new("."),
            };
        }
        let root = session.open(directory)?;
        shown.push(draw_root_module(
            &session,
            &root,
            &providers,
            arguments.no_tests,
            with_signers,
            &mut warnings,
        )?);
    }
    // This clears the progress from the terminal.
    drop(session);
    ui.warn(&warnings);
    if ui.is_json() {
        let roots = shown.iter().map(|root| &root.json).collect();
        ui.print_json(JsonRoots { roots }, &warnings, &[]);
        return Ok(Outcome::Done);
    }
    for (index, (path, root)) in paths.iter().zip(&shown).enumerate() {
        if paths.len() > 1 {
            let distance = if index == 0 { "" } else { "\n" };
            ui.print(&format!(
                "{distance}{}:\n",
                printable(&path.display().to_string())
            ));
        }
        ui.print(&root.text);
    }
    Ok(Outcome::Done)
}

/// The trees of the providers of one root module.
struct DrawnRoot {
    text: String,
    json: Box<RawValue>,
}

/// Draws the trees of the providers that `specs` name, or, without any, of all that the root module
/// requires or has locked. Adds the warnings about its files.
fn draw_root_module(
    session: &Session<'_>,
    root: &RootModule,
    specs: &[ProviderSpec],
    no_tests: bool,
    with_signers: bool,
    warnings: &mut Vec<Diagnostic>,
) -> Result<DrawnRoot> {
    let requirements = session.requirements(root, no_tests)?;
    let (lock_file, lock_warnings) = root.lock_file()?;
    warnings.extend(lock_warnings);
    let (module_lock_file, module_lock_warnings) = root.module_lock_file()?;
    warnings.extend(module_lock_warnings);
    warnings.extend(requirements.warnings.iter().cloned());
    let locks = lock_file.locks();
    let addresses: BTreeSet<&ProviderAddress> =
        requirements.providers.keys().chain(locks.keys()).collect();
    let mut named = BTreeSet::new();
    for spec in specs {
        match spec.find(root.dialect, addresses.iter().copied()) {
            NamedProvider::One(address) => _ = named.insert(address),
            NamedProvider::Ambiguous(several) => named.extend(several),
            NamedProvider::Unknown => {
                let name = spec.resolve(root.dialect).short(root.dialect);
                let error = Diagnostic::error(
                    Code::InvalidArgument,
                    format!("{name} is neither required nor locked"),
                );
                let tree = Remedy::Run(vec!["tree".to_owned()]);
                return Err(error
                    .help(Help::text("to list all providers: ").and(tree))
                    .in_root(root.path(), false)
                    .into());
            }
        }
    }
    if named.is_empty() {
        named = addresses;
    }
    let mut trees = Vec::new();
    for address in named {
        let mut tree =
            RequiredProvider::new(address, &requirements, locks, module_lock_file.locks());
        if with_signers && let Some(AsText(version)) = tree.locked {
            tree.signed_by = session.remembered_signer(address, version);
        }
        trees.push(tree);
    }
    Ok(DrawnRoot {
        text: draw_trees(&trees, root.dialect),
        json: raw(&TreeRoot::new(root, &trees)),
    })
}

/// Whether a name stands for a locked provider by the rules of one of the dialects.
fn is_address_of(named: &ProviderSpec, found: &ProviderUse<'_>) -> bool {
    let dialects = [Dialect::Tofu, Dialect::Terraform];
    dialects
        .iter()
        .any(|dialect| named.resolve(*dialect) == *found.address.0)
}

/// Returns the names that are addresses of a locked provider in neither dialect. They are parts
/// of addresses.
fn names_that_are_parts<'a>(
    named: &'a [ProviderSpec],
    uses: &[ProviderUse<'_>],
) -> Vec<&'a ProviderSpec> {
    named
        .iter()
        .filter(|named| !uses.iter().any(|found| is_address_of(named, found)))
        .collect()
}

/// Shows the locked versions of the named providers, or of all, with their root modules. A provider
/// that no root module has locked is an error.
fn show_locked_versions(
    versions: &LockedVersions,
    named: &[ProviderSpec],
    roots: &Roots,
    ui: &Ui,
) -> Result<Outcome> {
    let mut uses = group_by_provider(versions);
    if !named.is_empty() {
        if let Some(unknown) = named
            .iter()
            .find(|name| !uses.iter().any(|found| name.is_short_for(found.address.0)))
        {
            let message = format!("no root module here has locked {unknown}");
            let error = Diagnostic::error(Code::InvalidArgument, message);
            return Err(error
                .help(Remedy::Run(["tree", "-r"].map(str::to_owned).into()))
                .into());
        }
        let parts = names_that_are_parts(named, &uses);
        uses.retain(|found| {
            named.iter().any(|name| is_address_of(name, found))
                || parts.iter().any(|part| part.is_short_for(found.address.0))
        });
    }
    match ui.format {
        // The JSON is printed last, with the errors.
        OutputFormat::Json => {}
        OutputFormat::Html => ui.print(&html::tree_page(&uses, &ui.invocation)),
        OutputFormat::Text if uses.is_empty() => {}
        _ if named.is_empty() => ui.print(&usage::table(&uses).text(&[], usize::MAX)),
        _ => ui.print(&usage::places(&uses)),
    }
    ui.error(&versions.errors);
    if versions.locked + versions.not_locked.len() == 0 && versions.errors.is_empty() {
        ui.status(&no_root_module(roots, &ui.invocation));
    } else {
        ui.status(&usage::summary(versions, &uses, !named.is_empty()));
    }
    let result = if uses.is_empty() {
        json!({})
    } else {
        json!({ "providers": uses })
    };
    ui.print_json(result, &[], &versions.errors);
    Ok(Outcome::failed_if(!versions.errors.is_empty()))
}
