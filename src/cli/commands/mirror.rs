//! `mirror`: puts the packages that lock files name into a directory, for machines without a
//! network, or into an OCI registry.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use provlock::diagnostic::{Code, Diagnostic};
use provlock::project::{MirrorModulesOptions, MirrorOptions, MirrorTarget, ModuleFetching};
use serde_json::json;

use crate::cli::args::{FormatArgs, ModuleArgs, OnlineArgs, PlatformArgs, RootArgs};
use crate::cli::render::causes::{SeveralRoots, distinct_diagnostics, with_roots};
use crate::cli::render::coverage::no_root_module;
use crate::cli::render::json::Mirror;
use crate::cli::render::mirror as text;
use crate::cli::render::mirrored_modules as module_text;
use crate::cli::run::outcome::Outcome;
use crate::cli::run::session::{show_package_origin, start_session};
use crate::cli::ui::Ui;

const EXAMPLES: &str = "Examples:
  # The packages in the lock file here
  provlock mirror ./mirror
  # All root modules below, for two platforms
  provlock mirror ./mirror -r -p linux_amd64,darwin_arm64
  # And remove packages that no lock file has
  provlock mirror /srv/mirror -r live --prune
  # In an OCI registry
  provlock mirror 'oci://ghcr.io/acme/${namespace}/${type}'
  # The locked modules, for get --modules-mirror
  provlock mirror --modules ./modules -r";

/// Fill a mirror with the locked packages
///
/// Downloads each package once, verifies its signature and checksums, compares it with the hashes
/// in the lock files, and only then puts it into DIR, in the layout that `filesystem_mirror` of
/// `provider_installation` and --fs-mirror read. With the JSON documents beside the packages, a web
/// server can serve DIR as a network mirror.
///
/// An existing package is hashed and stays if a lock file records it, so the command can be run
/// again at any time. Copy DIR to machines without a network, or serve it.
///
/// With `oci://HOST/PATH/${namespace}/${type}`, packages are pushed to an OCI registry, as
/// `oci_mirror` and --oci-mirror read them: a repository for each provider, with a tag for each
/// version. Add `${hostname}` for providers of several registries. The login comes from `docker
/// login` or an `oci_credentials` block.
///
/// With --modules, DIR gets the packages of the modules that `.modules.lock.hcl` records instead,
/// each in a directory that is named after its hash. `provlock get --modules-mirror DIR` installs
/// from it without a network.
#[derive(Args)]
#[command(before_help = "Example: provlock mirror ./mirror -r -p linux_amd64", before_long_help = EXAMPLES)]
#[command(after_help = "Exit codes: 0 done or up to date, 2 failed")]
#[command(mut_arg("no_fetch_modules", |flag| flag.hide(true)))]
#[command(mut_arg("modules_mirror", |flag| flag.requires("with_modules")))]
#[command(mut_arg("trust_registry", |flag| flag.hide(true).conflicts_with("target")))]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct MirrorArgs {
    /// Directory of the mirror, created if it does not exist; or repositories of an OCI registry
    #[arg(value_name = "DIR|oci://TEMPLATE", value_hint = ValueHint::DirPath)]
    target: PathBuf,
    #[command(flatten)]
    roots: RootArgs,
    #[command(flatten, next_help_heading = "Selection")]
    platforms: PlatformArgs,
    /// Remove packages that are in no lock file; other files stay. Not for OCI registries
    #[arg(long, help_heading = "Selection")]
    prune: bool,
    /// Skip the modules of test files
    #[arg(long, help_heading = "Selection", hide_short_help = true)]
    no_tests: bool,
    /// Mirror the locked modules instead of the providers
    #[arg(
        long = "modules",
        help_heading = "Selection",
        conflicts_with = "instead"
    )]
    with_modules: bool,
    #[command(flatten)]
    modules: ModuleArgs,
    #[command(flatten)]
    source: OnlineArgs,
    #[command(flatten)]
    format: FormatArgs,
    /// Write and push nothing; show what would be downloaded and removed
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

/// Fills a mirror of providers, or of modules, with the locked packages of the selected root
/// modules.
pub(crate) fn run(arguments: &MirrorArgs, ui: &Ui) -> anyhow::Result<Outcome> {
    let target = MirrorTarget::parse(&arguments.target)?;
    if arguments.with_modules {
        return run_for_modules(arguments, &target, ui);
    }
    let selection = arguments.roots.selection();
    let session = start_session(ui, &selection.paths, |environment, options| {
        arguments.source.add_to(environment, options);
        // The lock files name all packages, so that no module need be read.
        options.modules = ModuleFetching::Never;
        show_package_origin(ui, environment, options);
        Ok(())
    })?;
    let roots = session.roots(&selection)?;
    let mut options = MirrorOptions::new(target.clone());
    options.platforms = arguments.platforms.named();
    options.prune = arguments.prune;
    options.dry_run = arguments.dry_run;
    let mirrored = session.mirror(&roots, &options)?;
    // This clears the progress from the terminal.
    drop(session);

    let several = SeveralRoots::unless_single(&roots, &selection, &ui.invocation);
    ui.warn_by_cause(with_roots(&mirrored.warnings), several);
    ui.status_lines(&text::lines_of_releases(&mirrored, ui.stderr_style));
    ui.error_by_cause(with_roots(&mirrored.errors), several);
    if roots.is_empty() {
        ui.status(&no_root_module(&roots, &ui.invocation));
    } else {
        ui.status_lines(text::summary_line(&mirrored, &target, arguments.dry_run).as_slice());
        if let Some(line) = text::line_about_not_checked(&mirrored, arguments.dry_run) {
            ui.status(line);
        }
    }
    let mirror = Mirror::new(&target, &mirrored, arguments.dry_run);
    ui.print_json(
        json!({ "mirror": mirror }),
        &distinct_diagnostics(mirrored.warnings.iter()),
        &distinct_diagnostics(mirrored.errors.iter()),
    );
    Ok(Outcome::failed_if(!mirrored.errors.is_empty()))
}

/// Fills a mirror of modules.
fn run_for_modules(
    arguments: &MirrorArgs,
    target: &MirrorTarget,
    ui: &Ui,
) -> anyhow::Result<Outcome> {
    let MirrorTarget::Directory(directory) = target else {
        let message = "modules can be mirrored in a directory only, not in an OCI registry";
        let error = Diagnostic::error(Code::InvalidArgument, message);
        return Err(error.help("name a directory, and copy or serve it").into());
    };
    let selection = arguments.roots.selection();
    let session = start_session(ui, &selection.paths, |environment, options| {
        arguments.source.add_to(environment, options);
        let is_offline = false;
        arguments.modules.add_to(environment, options, is_offline);
        Ok(())
    })?;
    let roots = session.roots(&selection)?;
    let mut options = MirrorModulesOptions::new(directory.clone());
    options.prune = arguments.prune;
    options.dry_run = arguments.dry_run;
    options.ignore_tests = arguments.no_tests;
    let mirrored = session.mirror_modules(&roots, &options)?;
    // This clears the progress from the terminal.
    drop(session);

    let several = SeveralRoots::unless_single(&roots, &selection, &ui.invocation);
    ui.warn_by_cause(with_roots(&mirrored.warnings), several);
    ui.status_lines(&module_text::lines_of_packages(&mirrored, ui.stderr_style));
    ui.error_by_cause(with_roots(&mirrored.errors), several);
    if roots.is_empty() {
        ui.status(&no_root_module(&roots, &ui.invocation));
    } else {
        let summary = module_text::summary_line(&mirrored, target, arguments.dry_run);
        ui.status_lines(summary.as_slice());
        if let Some(line) = module_text::line_about_not_checked(&mirrored, arguments.dry_run) {
            ui.status(line);
        }
    }
    let mirror = Mirror::of_modules(target, &mirrored, arguments.dry_run);
    ui.print_json(
        json!({ "mirror": mirror }),
        &distinct_diagnostics(mirrored.warnings.iter()),
        &distinct_diagnostics(mirrored.errors.iter()),
    );
    Ok(Outcome::failed_if(!mirrored.errors.is_empty()))
}
