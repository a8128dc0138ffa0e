//! Rules of `verify`: the diff since `--base`, and the settings of `--config`. Of a file that the
//! change may have edited, only the content in the base is used.

use std::path::Path;

use anyhow::Result;
use provlock::diagnostic::words::count;
use provlock::diagnostic::{Code, Diagnostic};
use provlock::project::{ReviewedChange, SessionOptions, SettingsEdit, what_changed};
use provlock::provider::Dialect;
use provlock::settings::{self, Settings};
use provlock::system::Environment;

use crate::cli::args::settings_of;
use crate::cli::git::{Before, Repository};
use crate::cli::ui::Ui;

/// Sets the change since the revision of `--base`. `options` have the settings of `--config`
/// already; these are replaced by their content in the base if the change may have edited the file.
pub(crate) fn set_base(
    options: &mut SessionOptions,
    revision: &str,
    environment: &Environment,
    repository: Option<&Repository>,
    ui: &Ui,
) -> Result<()> {
    let Some(repository) = repository else {
        let message = format!("--base {revision}: this is not a git repository");
        return Err(Diagnostic::error(Code::InvalidArgument, message)
            .help("run it in a clone, or name the directory of one with -C")
            .into());
    };
    let Some((base, mut change)) = repository.change_since(revision)? else {
        let message = format!("--base {revision}: unknown git commit");
        return Err(Diagnostic::error(Code::InvalidArgument, message)
            .help("fetch it first; a shallow clone has only the last commit")
            .into());
    };
    ui.verbose(&format!(
        "The base is {}, commit {}",
        base.revision, base.name
    ));
    if change.missing_commits > 0 {
        let commits = count(change.missing_commits, "commit");
        ui.status(&format!(
            "HEAD lacks {commits} of {}, so it is compared with their common ancestor {}",
            base.revision,
            &change.commit[..change.commit.len().min(12)]
        ));
    }

    // A link that the change adds would move the whole check to a different directory.
    if let Some(directory) = &ui.global.chdir {
        let finding = change.link_added(&ui.global.started_in.join(directory));
        change.findings.extend(finding);
    }
    if let Some(path) = &ui.global.config
        && let Before::Inside(before) = repository.content_before(&base.name, path)?
    {
        let now = options.settings.take();
        let settings = settings_before(path, before, now, &mut change, environment)?;
        options.settings = Some(settings);
    }
    options.change = Some(change);
    Ok(())
}

/// The settings of a file before a change, which gets a finding if it edits the file. A file that
/// cannot be read now is an error already.
fn settings_before(
    path: &Path,
    before: Option<Vec<u8>>,
    settings_now: Option<Settings>,
    change: &mut ReviewedChange,
    environment: &Environment,
) -> Result<Settings> {
    let now = settings::read(path);
    if let (None, Err(error)) = (&before, &now) {
        return Err(Diagnostic::io("read", path, error).into());
    }
    let what = what_changed(before.as_deref(), &now.map(Some));
    let settings = settings_of(path, before.unwrap_or_default(), environment);
    if let Some(what) = what {
        let top = change.top.clone();
        let edit = SettingsEdit {
            shown: path,
            what,
            directory: &top,
            before: settings.as_ref().ok().cloned(),
            now: settings_now.clone(),
            above: Settings::default(),
            // For a file of this name the repository is not searched for mentions, so both count.
            mentioned_dialects: &[Dialect::Tofu, Dialect::Terraform],
        };
        let finding = change.finding_edited_settings(&edit);
        change.findings.extend(finding);
    }
    match (settings, settings_now) {
        (Ok(before), _) => Ok(before),
        // The change repairs the file.
        (Err(_), Some(now)) if what.is_some() => Ok(now),
        (Err(errors), _) => Err(errors.into()),
    }
}
