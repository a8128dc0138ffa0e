//! What `verify` judges by: the change since `--base`, the settings of `--config`, and the baseline. Of a file that the
//! change may have edited, only the content in the base is used.

use std::path::Path;

use anyhow::Result;
use provlock::diagnostic::{self, Code, Diagnostic};
use provlock::project::{Baseline, Change, policy_changed, split, what_changed};
use provlock::settings::{self, Settings};
use provlock::system::{Environment, canonicalize};

use crate::cli::args::settings_of;
use crate::cli::git::{Before, Commit, Repository};
use crate::cli::ui::Ui;

/// What `verify` judges by.
pub(super) struct Rules {
    pub(super) change: Option<Change>,
    /// The commit before the change.
    pub(super) commit: Option<String>,
    pub(super) settings: Option<Settings>,
    pub(super) baseline: Option<Baseline>,
}

/// A commit, and the change since.
struct Base<'a> {
    repository: &'a Repository,
    commit: String,
    change: Change,
}

impl Rules {
    /// Reads what the flags name: the revision of the base, and the baseline. One that the run will write is not read.
    pub(super) fn read(
        revision: Option<&str>,
        baseline: Option<(&Path, bool)>,
        environment: &Environment,
        repository: Option<&Repository>,
        ui: &Ui,
    ) -> Result<Self> {
        let mut base = revision.map(|revision| Base::read(revision, repository, ui)).transpose()?;
        let settings = settings(environment, base.as_mut(), ui)?;
        let baseline = match baseline {
            Some((path, true)) => Some(Baseline::new(path, directory(path, environment)?)),
            Some((path, false)) => Some(known(path, environment, base.as_mut())?),
            None => None,
        };
        let (commit, change) = base.map(|base| (base.commit, base.change)).unzip();
        Ok(Self { change, commit, settings, baseline })
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
        let (Commit { name: commit, revision }, change) = repository.change_since(revision)?.ok_or_else(unknown)?;
        ui.verbose(&format!("The base is {revision}, commit {commit}"));
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

/// The baseline that a file holds; of a change only what both the base and the change list.
fn known(path: &Path, environment: &Environment, base: Option<&mut Base<'_>>) -> Result<Baseline> {
    let mut findings = Baseline::parse(path, &Baseline::read(path)?)?;
    if let Some(base) = base
        && let Before::Inside(before) = base.repository.before(&base.commit, path)?
    {
        let before = before.map_or_else(|| Ok(Vec::new()), |bytes| Baseline::parse(path, &bytes))?;
        let (known, new) = split(findings, &before);
        if !new.is_empty() {
            base.change.findings.push(policy_changed(path, "lists more findings"));
        }
        findings = known;
    }
    Ok(Baseline { findings: Some(findings), ..Baseline::new(path, directory(path, environment)?) })
}

/// The directory of a file that need not exist, absolute and without symlinks.
fn directory(path: &Path, environment: &Environment) -> diagnostic::Result<std::path::PathBuf> {
    let parent = environment.current_directory.join(path);
    let parent = parent.parent().unwrap_or(&parent);
    canonicalize(parent).map_err(|error| Diagnostic::io("open", parent, &error).into())
}
