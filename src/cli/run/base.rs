//! Rules of `verify`: the diff since `--base`, and the settings of `--config`. Of a file that the change may
//! have edited, only the content in the base is used.

use anyhow::Result;
use provlock::diagnostic::{Code, Diagnostic};
use provlock::project::{Change, policy_changed, what_changed};
use provlock::settings::{self, Settings};
use provlock::system::Environment;

use crate::cli::args::settings_of;
use crate::cli::git::{Before, Commit, Repository};
use crate::cli::ui::Ui;

/// Rules of `verify`.
pub(crate) struct Rules {
    pub(crate) change: Option<Change>,
    /// The commit before the change.
    pub(crate) commit: Option<String>,
    pub(crate) settings: Option<Settings>,
}

/// A commit, and the change since.
struct Base<'a> {
    repository: &'a Repository,
    commit: String,
    change: Change,
}

impl Rules {
    /// Reads the revision of `--base` and the settings of `--config`.
    pub(crate) fn read(
        revision: Option<&str>,
        environment: &Environment,
        repository: Option<&Repository>,
        ui: &Ui,
    ) -> Result<Self> {
        let mut base = revision.map(|revision| Base::read(revision, repository, ui)).transpose()?;
        let settings = settings(environment, base.as_mut(), ui)?;
        let (commit, change) = base.map(|base| (base.commit, base.change)).unzip();
        Ok(Self { change, commit, settings })
    }
}

impl<'a> Base<'a> {
    fn read(revision: &str, repository: Option<&'a Repository>, ui: &Ui) -> Result<Self> {
        let unknown = || {
            let message = format!("--base {revision}: unknown git commit");
            let error = Diagnostic::error(Code::InvalidArgument, message);
            error.help("fetch it first; a shallow clone has only the last commit")
        };
        let no_repository = || {
            let message = format!("--base {revision}: this is not a git repository");
            Diagnostic::error(Code::InvalidArgument, message)
                .help("run it in a clone, or name the directory of one with -C")
        };
        let repository = repository.ok_or_else(no_repository)?;
        let (Commit { name: commit, revision }, mut change) = repository.change_since(revision)?.ok_or_else(unknown)?;
        ui.verbose(&format!("The base is {revision}, commit {commit}"));
        let entered = ui.global.chdir.as_ref().map(|directory| ui.global.started_in.join(directory));
        change.findings.extend(entered.and_then(|entered| change.link_added(&entered)));
        Ok(Self { repository, commit, change })
    }
}

/// The settings of `--config`.
fn settings(environment: &Environment, base: Option<&mut Base<'_>>, ui: &Ui) -> Result<Option<Settings>> {
    let (Some(path), Some(base)) = (&ui.global.config, base) else { return Ok(ui.global.settings(environment)?) };
    let Before::Inside(before) = base.repository.before(&base.commit, path)? else {
        return Ok(ui.global.settings(environment)?);
    };
    let now = settings::read(path);
    if let (None, Err(error)) = (&before, &now) {
        return Err(Diagnostic::io("read", path, error).into());
    }
    let what = what_changed(before.as_deref(), now.map(Some));
    base.change.findings.extend(what.map(|what| policy_changed(path, what)));
    Ok(Some(settings_of(path, before.unwrap_or_default(), environment)?))
}
