//! What became of root modules that were locked, collected batch by batch; of each no more than what is to be shown.

use std::path::Path;

use provlock::diagnostic::{Diagnostic, Diagnostics, Result};
use provlock::project::plan::UpgradePlan;
use provlock::project::{DialectReason, Locked, Member, Workspace, Workspaces};
use provlock::provider::Dialect;

use super::messages::no_root_module;
use crate::cli::render::causes::{Causes, Many};
use crate::cli::render::json::{CommandName, Roots};
use crate::cli::render::lock::{LinesOfMany, Report, Tally};
use crate::cli::render::style::enumerate;
use crate::cli::ui::Ui;

/// What became of root modules.
pub(super) struct Collected<'a> {
    ui: &'a Ui,
    many: Option<Many<'a>>,
    warnings: Causes<'a>,
    failures: Causes<'a>,
    /// Of one root module.
    lines: Vec<String>,
    lines_of_many: LinesOfMany,
    is_empty: bool,
    tally: Tally,
    /// Where Terragrunt would keep using an older lock file.
    stale_caches: Vec<String>,
    is_dialect_guessed: bool,
    json: Option<Roots>,
    /// Why the only root module failed.
    failure: Option<Diagnostics>,
}

impl<'a> Collected<'a> {
    pub(super) fn new(many: Option<Many<'a>>, ui: &'a Ui) -> Self {
        let causes = || Causes::new(many, ui.stderr_style.verbose);
        Self {
            ui,
            many,
            warnings: causes(),
            failures: causes(),
            lines: Vec::new(),
            lines_of_many: LinesOfMany::default(),
            is_empty: true,
            tally: Tally::default(),
            stale_caches: Vec::new(),
            is_dialect_guessed: false,
            json: ui.is_json().then(Roots::default),
            failure: None,
        }
    }

    /// Adds a root module that was locked, as `upgrade` had planned it if it was upgraded. Shows it if it is one of many, and all of
    /// them are to be shown.
    pub(super) fn add(&mut self, locked: &Locked<'_>, plan: Option<&UpgradePlan>) {
        self.is_empty = false;
        let Locked { member, outcome, .. } = locked;
        let root = Some(member.workspace.root.as_path());
        let planned = plan.into_iter().flat_map(|plan| &plan.warnings);
        for warning in member.warnings.iter().chain(planned).chain(&outcome.warnings) {
            self.warnings.add(root, warning);
            self.json.iter_mut().for_each(|json| json.add_warning(warning));
        }
        let style = self.ui.stderr_style;
        match self.many {
            Some(_) if style.verbose => self.ui.status_lines(&Report(locked).lines_with_heading(style)),
            Some(_) => self.lines_of_many.add(locked, style),
            None => self.lines.extend(Report(locked).lines(style)),
        }
        self.tally.add(locked);
        if locked.changed && locked.written {
            self.stale_caches.extend(member.workspace.stale_cache().map(|cache| cache.display().to_string()));
        }
        let Workspace { dialect_reason, lock_bytes, .. } = &member.workspace;
        self.is_dialect_guessed |= locked.written && lock_bytes.is_none() && *dialect_reason == DialectReason::Default;
        match (&mut self.json, plan) {
            (Some(json), Some(plan)) => json.add_upgraded(locked, plan),
            (Some(json), None) => json.add_locked(locked),
            (None, _) => {}
        }
    }

    /// Adds a root module for which nothing is to be written.
    pub(super) fn add_planned(&mut self, member: &Member, plan: &UpgradePlan) {
        self.is_empty = false;
        let root = Some(member.workspace.root.as_path());
        for warning in member.warnings.iter().chain(&plan.warnings).chain(&member.requirements.warnings) {
            self.warnings.add(root, warning);
            self.json.iter_mut().for_each(|json| json.add_warning(warning));
        }
        if let Some(json) = &mut self.json {
            json.add_planned(&member.workspace, plan);
        }
    }

    /// Adds the root modules of a batch that failed.
    pub(super) fn add_failures<T>(&mut self, batch: &Workspaces, results: &[Result<T>]) {
        for (path, errors) in batch.failures(results) {
            self.add_failure(path, errors);
        }
    }

    fn add_failure(&mut self, path: &Path, errors: &Diagnostics) {
        self.is_empty = false;
        self.tally.failed += 1;
        errors.iter().for_each(|error| self.failures.add(error.root(), error));
        if let Some(json) = &mut self.json {
            json.add_failed(path, errors, &self.ui.invocation);
        }
        if self.many.is_none() {
            self.failure = Some(errors.clone());
        }
    }

    /// Adds warnings that have been shown already, but for JSON.
    pub(super) fn add_shown(&mut self, warnings: &[Diagnostic]) {
        for warning in warnings {
            self.json.iter_mut().for_each(|json| json.add_warning(warning));
        }
    }

    /// How many root modules failed.
    pub(super) fn failed(&self) -> usize {
        self.tally.failed
    }

    /// Shows what the user should know.
    ///
    /// # Errors
    /// What is wrong with the root module if there is only one.
    pub(super) fn show_warnings(&mut self) -> Result<()> {
        if let Some(errors) = self.failure.take() {
            return Err(errors);
        }
        self.ui.warn(&self.warnings.shown());
        Ok(())
    }

    /// Shows what became of the root modules, `lines` of what else was written, and a summary.
    pub(super) fn show(&mut self, lines: &[String], summary: impl FnOnce(&Tally) -> Vec<String>) {
        let ui = self.ui;
        ui.status_lines(&std::mem::take(&mut self.lines_of_many).lines(ui.stderr_style));
        ui.status_lines(&self.lines);
        ui.status_lines(lines);
        ui.error(&self.failures.shown());
        match self.many.filter(|_| self.is_empty) {
            Some(many) => ui.status(&no_root_module(many.paths)),
            None => ui.status_lines(&summary(&self.tally)),
        }
    }

    /// Shows what else there is to know of what was written, and prints the result as JSON if it is to be that.
    pub(super) fn finish(self, command: CommandName) {
        let ui = self.ui;
        if self.is_dialect_guessed {
            let host = Dialect::default().default_host_name();
            ui.status(&format!(
                "Locked for OpenTofu ({host}), since nothing here says Terraform; --dialect terraform changes that"
            ));
        }
        if !self.stale_caches.is_empty() {
            let caches = enumerate(&self.stale_caches);
            ui.status(&format!(
                "Terragrunt would keep using the older lock file in {caches}: delete that directory, or run Terragrunt with --source-update"
            ));
        }
        if let Some(json) = self.json {
            ui.print(&json.text(command, &ui.invocation));
        }
    }
}
