//! `init`: writes the first `provlock.toml`.

use std::fmt::Write as _;
use std::mem::take;
use std::path::Path;

use anyhow::Result;
use clap::Args;
use clap_complete::ArgValueCandidates;
use provlock::diagnostic::words::first_few;
use provlock::diagnostic::{Code, Diagnostic, Help, LockRemedy, Remedy};
use provlock::project::{Inventory, Selection};
use provlock::settings::{self, FILE_NAME, PlatformSelection, Settings};
use provlock::system::{Tree, files, variables};
use serde_json::json;

use super::verify::TRUST_REGISTRY;
use crate::cli::args::{FormatArgs, ModuleArgs, SourceArgs, candidates};
use crate::cli::render::coverage::no_root_module;
use crate::cli::render::foreign::printable;
use crate::cli::render::json::SettingsFile;
use crate::cli::render::style::{count, joined_with_and};
use crate::cli::run::outcome::Outcome;
use crate::cli::run::session::{show_package_origin, start_session};
use crate::cli::ui::Ui;

const EXAMPLES: &str = "Examples:
  # In the directory above all root modules
  provlock init
  # With the platforms of your team and of CI
  provlock init -p linux_amd64,darwin_arm64
  # Print what it would write
  provlock init --dry-run
  # Without the keys that sign what is locked
  provlock init --offline";

/// Write provlock.toml from the locked providers
///
/// Reads every root module below, asks the registries for the keys that sign the locked releases,
/// and writes settings by which `verify` reports any other host, namespace or key as an error.
/// Review the file and commit it.
///
/// Only locked providers are allowed. Look-alikes of well-known providers are refused. Without -p,
/// the platforms are the ones that every lock file covers, if there are several. Settings without
/// a policy, such as `roots` alone, are kept and completed.
#[derive(Args)]
#[command(before_help = "Example: provlock init", before_long_help = EXAMPLES)]
#[command(after_help = "Exit codes: 0 done, 2 failed")]
#[command(mut_arg("trust_registry", |flag| flag.help(TRUST_REGISTRY)))]
pub(crate) struct InitArgs {
    /// Platforms such as `linux_amd64`, or `all` [default: the ones that every lock file covers, if
    /// several]
    #[arg(
        short,
        long = "platform",
        value_name = "OS_ARCH",
        value_delimiter = ',',
        help_heading = "Selection"
    )]
    #[arg(env = variables::PLATFORMS, hide_env_values = true)]
    #[arg(add = ArgValueCandidates::new(candidates::platforms))]
    platforms: Vec<PlatformSelection>,
    #[command(flatten)]
    modules: ModuleArgs,
    #[command(flatten)]
    source: SourceArgs,
    #[command(flatten)]
    format: FormatArgs,
    /// Replace an existing file, but for settings that `init` does not write, such as `roots`
    #[arg(long, help_heading = "Output")]
    force: bool,
    /// Write nothing; print the file
    #[arg(long, help_heading = "Output")]
    dry_run: bool,
}

pub(crate) fn run(arguments: &InitArgs, ui: &Ui) -> Result<Outcome> {
    let InitArgs {
        platforms,
        modules,
        source,
        force,
        dry_run,
        ..
    } = arguments;
    let path = Path::new(FILE_NAME);
    let mut old = None;
    if Tree::Work.has(path) {
        old = Some(settings::read(path).map_err(|error| Diagnostic::io("read", path, &error))?);
    }
    // Settings without a policy, such as [roots] alone, are completed.
    let mut kept = None;
    let mut replaced = None;
    if let Some(old) = &old {
        if *force {
            replaced = ReplacedSettings::read(old);
        } else {
            kept = SettingsWithoutPolicy::read(old);
        }
    }
    if old.is_some() && kept.is_none() && !force && !dry_run {
        let error = Diagnostic::error(Code::InvalidArgument, format!("{FILE_NAME} exists already"));
        return Err(error
            .help("compare it with the output of --dry-run, or replace it with --force")
            .into());
    }
    let session = start_session(ui, &[], |environment, options| {
        source.add_to(environment, options);
        modules.add_to(environment, options, source.offline);
        show_package_origin(ui, environment, options);
        Ok(())
    })?;
    let roots = session.roots(&Selection::recursive("."))?;
    if roots.is_empty() {
        return Err(Diagnostic::error(
            Code::NoConfiguration,
            no_root_module(&roots, &ui.invocation),
        )
        .into());
    }
    let mut inventory = session
        .inventory(&roots)
        .map_err(|errors| errors.map(|error| arguments.suggest_offline(error)))?;
    drop(session);
    if !platforms.is_empty() {
        inventory.named_platforms = Some(platforms.iter().cloned().collect());
    } else if let Some(replaced) = &replaced {
        inventory.named_platforms.clone_from(&replaced.platforms);
    }
    inventory
        .warnings
        .extend(warning_about_one_platform(&inventory));
    ui.warn(&inventory.warnings);
    ui.error(&inventory.errors);
    let new = inventory.settings();
    let mut completed = CompletedText::default();
    match (&kept, &replaced) {
        (Some(kept), _) => completed.text = kept.with_missing_settings(&new),
        (None, Some(replaced)) => completed = replaced.carry_over_to(&new)?,
        (None, None) => completed.text = new,
    }
    let text = completed.text;
    if !ui.is_json() {
        ui.print(&text);
    }
    ui.status(&summary_line(&inventory));
    for (verb, names) in [("Kept", completed.kept), ("Dropped", completed.dropped)] {
        if !names.is_empty() {
            ui.status(&format!(
                "{verb} from the old file: {}",
                joined_with_and(names)
            ));
        }
    }
    let not_allowed = inventory.not_allowed();
    if !not_allowed.is_empty() {
        let names = first_few(
            not_allowed
                .iter()
                .map(|address| printable(&address.to_string())),
        );
        ui.status(&format!("Not locked, so the file does not allow: {names}"));
    }
    if !dry_run {
        files::write(path, old.as_deref(), text.as_bytes())?;
        show_next_steps(&inventory, ui);
    }
    let settings = SettingsFile {
        path: FILE_NAME,
        text: &text,
        written: !dry_run,
    };
    ui.print_json(
        json!({ "settings": settings }),
        &inventory.warnings,
        &inventory.errors,
    );
    Ok(Outcome::failed_if(!inventory.errors.is_empty()))
}

/// Says what the written file does, what is missing in it, and which command follows.
fn show_next_steps(inventory: &Inventory, ui: &Ui) {
    let has_keys = !inventory.keys().is_empty();
    let restricted = if has_keys {
        "host, namespace or key"
    } else {
        "host or namespace"
    };
    ui.status(&format!(
        "Wrote {FILE_NAME}. From now on a new {restricted} is an error of verify. Review the file and commit it"
    ));
    if !has_keys {
        ui.status(&line_about_missing_keys(inventory, ui));
    }

    let below = Selection {
        recursive: true,
        ..Selection::default()
    };
    let next = if inventory.is_locked_for_settings() {
        ui.suggest(&["verify", "--online"], &below)
    } else {
        ui.suggest(&["lock"], &below)
    };
    ui.status(&format!("Next: {next}"));
}

impl InitArgs {
    /// Names the same command without requests in the help of a request that failed.
    fn suggest_offline(&self, error: Diagnostic) -> Diagnostic {
        if !matches!(error.code, Code::RequestFailed | Code::Unauthorized) {
            return error;
        }
        let mut init = vec!["init".to_owned(), "--offline".to_owned()];
        for (flag, is_set) in [("--force", self.force), ("--dry-run", self.dry_run)] {
            if is_set {
                init.push(flag.to_owned());
            }
        }
        let mut help = error.help.clone().unwrap_or_default();
        if !help.parts().is_empty() {
            help = help.and_text("; ");
        }
        let help = help
            .and_text("without the keys that sign what is locked: ")
            .and(Remedy::Run(init));
        error.help(help)
    }
}

/// Returns the line that says which settings are missing because no key is known.
fn line_about_missing_keys(inventory: &Inventory, ui: &Ui) -> String {
    let reason = if inventory.signers.is_empty() {
        "No registry was asked"
    } else {
        "No release is signed here"
    };
    let add = ui.suggest(&["init", "--force"], &Selection::default());
    format!("{reason}, so [trust] and require-signed are missing. To ask the registries: {add}")
}

/// Text of the settings, and names of settings of a replaced file.
#[derive(Default)]
struct CompletedText {
    text: String,
    /// Settings and tables that `init` does not write.
    kept: Vec<String>,
    /// Settings that the new file lacks.
    dropped: Vec<String>,
}

/// A settings file that is replaced.
struct ReplacedSettings {
    text: String,
    table: toml::Table,
    platforms: Option<PlatformSelection>,
}

impl ReplacedSettings {
    /// `None` if the file cannot be read.
    fn read(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let table = text.parse().ok()?;
        let settings = Settings::named(Path::new(FILE_NAME), bytes.to_vec(), Path::new("")).ok()?;
        Some(Self {
            text: text.to_owned(),
            table,
            platforms: settings.platforms,
        })
    }

    /// Adds settings and tables that only the old text has, such as `[roots]`, to a new text. If
    /// they cannot be copied line by line, all of them are dropped.
    ///
    /// # Errors
    /// The new text cannot be read.
    fn carry_over_to(&self, new: &str) -> Result<CompletedText> {
        let new_table: toml::Table = new.parse()?;
        let mut kept = Vec::new();
        let mut dropped = Vec::new();
        for (name, old_value) in &self.table {
            let Some(new_value) = new_table.get(name) else {
                kept.push(name.clone());
                continue;
            };
            if let (Some(old_values), Some(new_values)) =
                (old_value.as_table(), new_value.as_table())
            {
                for key in old_values.keys() {
                    if !new_values.contains_key(key) {
                        dropped.push(format!("{name}.{key}"));
                    }
                }
            }
        }

        let text = self.copy_lines_to(new, &kept);
        let completed: toml::Table = text.parse().unwrap_or_default();
        let is_complete = kept
            .iter()
            .all(|name| completed.get(name) == self.table.get(name));
        // The old text may have a notation that cannot be copied by lines.
        if !is_complete {
            kept.append(&mut dropped);
            return Ok(CompletedText {
                text: new.to_owned(),
                kept: Vec::new(),
                dropped: kept,
            });
        }
        Ok(CompletedText {
            text,
            kept,
            dropped,
        })
    }

    /// Adds the lines of the named settings and tables, with the comments above them, to a new
    /// text.
    fn copy_lines_to(&self, new: &str, names: &[String]) -> String {
        let is_named = |name: &str| names.iter().any(|kept| kept == name);
        let mut settings = String::new();
        let mut tables = String::new();
        let mut comments = String::new();
        // Whether the current table is named; `None` before the first table.
        let mut is_in_named_table = None;
        for line in self.text.lines() {
            if line.starts_with('#') {
                comments += line;
                comments.push('\n');
                continue;
            }
            let above = take(&mut comments);
            if line.starts_with('[') {
                let name = line.trim_start_matches('[').split(['.', ']']).next();
                let name = name.unwrap_or_default().trim();
                is_in_named_table = Some(is_named(name));
                if is_named(name) {
                    tables = format!("{}\n\n", tables.trim_end());
                }
            }
            let target = match is_in_named_table {
                None if is_named(line.split('=').next().unwrap_or_default().trim()) => {
                    &mut settings
                }
                Some(true) => &mut tables,
                _ => continue,
            };
            *target += &above;
            *target += line;
            target.push('\n');
        }

        // Settings are only possible before the first table.
        let (head, rest) = new.split_once("\n\n").unwrap_or((new, ""));
        let tables = tables.trim();
        format!("{head}\n{settings}\n{}\n\n{tables}", rest.trim_end())
            .trim_end()
            .to_owned()
            + "\n"
    }
}

/// Settings that a user wrote, without the table of the policy.
struct SettingsWithoutPolicy {
    text: String,
    /// Names of its settings and tables.
    names: Vec<String>,
}

impl SettingsWithoutPolicy {
    /// `None` if there is a policy, or the file cannot be read.
    fn read(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        let table: toml::Table = text.parse().ok()?;
        if table.is_empty() || table.contains_key("policy") {
            return None;
        }
        Some(Self {
            text: text.to_owned(),
            names: table.keys().cloned().collect(),
        })
    }

    /// Returns the text with the generated settings that it lacks: settings before its first table,
    /// and whole tables at its end.
    fn with_missing_settings(&self, generated: &str) -> String {
        let mut settings = String::new();
        let mut tables = String::new();
        // Blank lines separate the parts of the settings that `init` generates.
        for (index, part) in generated.split("\n\n").enumerate() {
            let name = part
                .strip_prefix('[')
                .and_then(|part| part.split(']').next());
            match name {
                Some(name) if self.has(name) => {}
                Some(_) => {
                    tables.push('\n');
                    tables.push_str(part.trim_end());
                    tables.push('\n');
                }
                // Only the first part may have settings outside of a table.
                None if index == 0 => settings = self.missing_lines(part),
                None => {}
            }
        }
        let text = self.text.trim_end_matches('\n');
        format!("{settings}{text}\n{tables}")
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }

    /// Returns the lines with settings that it lacks.
    fn missing_lines(&self, lines: &str) -> String {
        let mut missing = String::new();
        for line in lines.lines() {
            let name = line.split(" = ").next().unwrap_or_default();
            let is_comment = line.starts_with('#');
            if !is_comment && !self.has(name) {
                missing.push_str(line);
                missing.push('\n');
            }
        }
        missing
    }
}

/// Returns a warning if all lock files cover the same single platform, which is usually that of one
/// laptop; otherwise `None`.
fn warning_about_one_platform(inventory: &Inventory) -> Option<Diagnostic> {
    let only = inventory.only_platform()?;
    let message =
        format!("every lock file covers {only}, and no other platform is covered by all of them");
    let names: Vec<_> = inventory
        .suggested_platforms()
        .iter()
        .map(ToString::to_string)
        .collect();
    let init = vec![
        "init".to_owned(),
        "--force".to_owned(),
        "-p".to_owned(),
        names.join(","),
    ];
    let lock = LockRemedy {
        recursive: true,
        ..LockRemedy::default()
    };
    let help = Help::text("name the platforms of your team and of CI, as in: ")
        .and(Remedy::Run(init))
        .and_text("; then lock them: ")
        .and(lock);
    Some(Diagnostic::warning(Code::PlatformMissing, message).help(help))
}

/// `Found 300 root modules for terraform, 2 platforms, 3 hosts, 5 namespaces and 7 signing keys`
fn summary_line(inventory: &Inventory) -> String {
    let mut first = count(inventory.root_modules, "root module");
    if let Some(dialect) = inventory.dialect {
        let _ = write!(first, " for {dialect}");
    }
    let mut parts = vec![first];
    for (number, noun) in [
        (inventory.platforms.len(), "platform"),
        (inventory.hosts().len(), "host"),
        (inventory.namespaces().len(), "namespace"),
        (inventory.keys().len(), "signing key"),
    ] {
        if number > 0 {
            parts.push(count(number, noun));
        }
    }
    format!("Found {}", joined_with_and(parts))
}
