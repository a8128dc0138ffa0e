//! The results of root modules that were locked, collected one by one. Only what is shown is kept.

use std::collections::BTreeSet;
use std::path::Path;

use provlock::diagnostic::words::{count, enumerate, few};
use provlock::diagnostic::{Diagnostic, Diagnostics, Result};
use provlock::project::{Coverage, DialectReason, Event, Locked, Prepared, RootModule, Roots, Selection, UpgradePlan};
use provlock::provider::Dialect;

use crate::cli::render::causes::{Causes, Many};
use crate::cli::render::coverage::{self, no_root_module};
use crate::cli::render::json::{FailedRoot, LockedRoot, Output, Root, Roots as JsonRoots};
use crate::cli::render::lock::{LinesOfMany, Report, Tally};
use crate::cli::ui::Ui;

pub(crate) struct Collected<'a> {
    ui: &'a Ui,
    /// What was named.
    selection: &'a Selection,
    /// How the root modules were selected, if there may be several.
    pub(crate) many: Option<Many<'a>>,
    warnings: Causes<'a>,
    failures: Causes<'a>,
    /// Of one root module.
    lines: Vec<String>,
    lines_of_many: LinesOfMany,
    is_empty: bool,
    /// Whether an entry was added or changed.
    has_new_entry: bool,
    /// How many errors and warnings there are.
    totals: [usize; 2],
    /// What was found besides the root modules.
    passed_over: Coverage,
    /// The text for the user if there is no root module.
    no_root_module: Option<String>,
    /// How many recorded hashes were never published.
    pub(crate) unpublished: usize,
    /// How many recorded hashes could not be compared with what is published.
    uncompared: usize,
    tally: Tally,
    /// Where Terragrunt would keep using an older lock file.
    stale_caches: Vec<String>,
    /// The dialects that were detected for new lock files, and by what.
    guessed_dialects: BTreeSet<(Dialect, DialectReason)>,
    json: Option<JsonRoots>,
    /// Why the only root module failed.
    failure: Option<Diagnostics>,
}

impl<'a> Collected<'a> {
    pub(crate) fn new(selection: &'a Selection, ui: &'a Ui) -> Self {
        let causes = || Causes::new(None, ui.stderr_style.verbose);
        Self {
            ui,
            selection,
            many: None,
            warnings: causes(),
            failures: causes(),
            lines: Vec::new(),
            lines_of_many: LinesOfMany::default(),
            is_empty: true,
            has_new_entry: false,
            totals: [0, 0],
            passed_over: Coverage::default(),
            no_root_module: None,
            unpublished: 0,
            uncompared: 0,
            tally: Tally::default(),
            stale_caches: Vec::new(),
            guessed_dialects: BTreeSet::new(),
            json: ui.is_json().then(JsonRoots::default),
            failure: None,
        }
    }

    /// Adds what became of a root module.
    pub(crate) fn add(&mut self, event: Event<'_>) {
        match event {
            Event::Selected(roots) if roots.may_be_several() => self.are_many(roots),
            Event::Locked(locked) => self.add_locked(locked),
            Event::Planned(prepared, plan) => self.add_planned(prepared, plan),
            Event::Failed(path, errors) => self.add_failed(path, errors),
            Event::SharedFacts(facts) => {
                let warning = facts.warning();
                self.json.iter_mut().zip(warning).for_each(|(json, warning)| json.warnings.add(&warning));
            }
            _ => {}
        }
    }

    /// Prepares for several root modules: messages then name the one that they are about.
    fn are_many(&mut self, roots: &Roots) {
        self.passed_over = roots.passed_over().clone();
        self.no_root_module = roots.is_empty().then(|| no_root_module(roots));
        self.many = Many::of(roots, self.selection);
        let noun = self.many.map(Many::noun);
        (self.tally.noun, self.lines_of_many.noun) = (noun, noun);
        self.warnings = Causes::new(self.many, self.ui.stderr_style.verbose);
        self.failures = Causes::new(self.many, self.ui.stderr_style.verbose);
    }

    /// Adds a root module that was locked. Shows it now if it is one of many, and all of them are to be shown.
    fn add_locked(&mut self, locked: &Locked) {
        let Locked { prepared, outcome, .. } = locked;
        let warnings = prepared.warnings.iter().chain(&outcome.warnings);
        self.note(prepared, warnings, [outcome.unpublished_hashes, outcome.uncompared_hashes]);
        let style = self.ui.stderr_style;
        match self.many {
            Some(_) if style.verbose => self.ui.status_lines(&Report(locked).lines_with_heading(style)),
            Some(_) => self.lines_of_many.add(locked, style),
            None => self.lines.extend(Report(locked).lines(style)),
        }
        self.has_new_entry |= Report(locked).has_new_entry();
        self.tally.add(locked);
        if locked.changed && locked.written {
            self.stale_caches.extend(prepared.root.stale_cache().map(|cache| cache.display().to_string()));
        }
        let RootModule { dialect, dialect_reason, lock_bytes, .. } = &prepared.root;
        if locked.written && lock_bytes.is_none() && dialect_reason.is_guess() {
            self.guessed_dialects.insert((*dialect, *dialect_reason));
        }
        if let Some(json) = &mut self.json {
            json.done.push(Root::Locked(LockedRoot::new(locked)));
        }
    }

    /// Adds a root module for which nothing is to be written.
    fn add_planned(&mut self, prepared: &Prepared, plan: &UpgradePlan) {
        let warnings = prepared.warnings.iter().chain(&plan.warnings).chain(&prepared.requirements.warnings);
        self.note(prepared, warnings, [plan.unpublished_hashes, plan.uncompared_hashes]);
        if let Some(json) = &mut self.json {
            json.done.push(Root::Locked(LockedRoot::planned(&prepared.root, plan)));
        }
    }

    fn note<'b>(
        &mut self,
        prepared: &Prepared,
        warnings: impl Iterator<Item = &'b Diagnostic>,
        [unpublished, uncompared]: [usize; 2],
    ) {
        self.is_empty = false;
        self.unpublished += unpublished;
        self.uncompared += uncompared;
        for warning in warnings {
            self.totals[1] += 1;
            self.warnings.add(Some(prepared.root.path()), warning);
            self.json.iter_mut().for_each(|json| json.warnings.add(warning));
        }
    }

    fn add_failed(&mut self, path: &Path, errors: &Diagnostics) {
        self.is_empty = false;
        self.tally.failed += 1;
        self.totals[0] += errors.len();
        errors.iter().for_each(|error| self.failures.add(error.root(), error));
        if let Some(json) = &mut self.json {
            json.failed.push(Root::Failed(FailedRoot::new(path, errors, &self.ui.invocation)));
            errors.iter().for_each(|error| json.errors.add(error));
        }
        if self.many.is_none() {
            self.failure = Some(errors.clone());
        }
    }

    pub(crate) fn failed(&self) -> usize {
        self.tally.failed
    }

    /// Shows what the user should know.
    ///
    /// # Errors
    /// What is wrong with the root module if there is only one.
    pub(crate) fn show_warnings(&mut self) -> Result<()> {
        if let Some(errors) = self.failure.take() {
            return Err(errors);
        }
        self.ui.warn(&self.warnings.shown());
        Ok(())
    }

    /// Says that new entries are incomplete, if they were made without the network.
    pub(crate) fn show_incomplete(&self, is_offline: bool) {
        if is_offline && self.has_new_entry {
            let line = "The new entries have only hashes of packages in the cache";
            self.ui.status(&format!("{line}; to complete them: provlock lock, without --offline"));
        }
    }

    /// Shows what became of the root modules, `lines` of what else was written, and a summary.
    pub(crate) fn show(&mut self, lines: &[String], summary: impl FnOnce(&Tally) -> Vec<String>) {
        let ui = self.ui;
        ui.status_lines(&std::mem::take(&mut self.lines_of_many).lines(ui.stderr_style));
        ui.status_lines(&self.lines);
        ui.status_lines(lines);
        ui.error(&self.failures.shown());
        match self.many.filter(|_| self.is_empty) {
            Some(_) if self.passed_over.is_empty() => ui.status_lines(self.no_root_module.as_slice()),
            Some(_) => coverage::lines(&self.passed_over).iter().for_each(|line| ui.status(line)),
            None => {
                ui.status_lines(&summary(&self.tally));
                ui.status_lines(self.many.and_then(|_| self.total()).as_slice());
                if let Some(line) = coverage::passed_over(&self.passed_over) {
                    ui.status(&line);
                }
            }
        }
    }

    /// `2 errors and 1 warning`; nothing where there is none.
    fn total(&self) -> Option<String> {
        let [errors, warnings] = self.totals;
        let parts = [(errors, "error"), (warnings, "warning")].into_iter().filter(|(number, _)| *number > 0);
        let parts: Vec<_> = parts.map(|(number, noun)| count(number, noun)).collect();
        (!parts.is_empty()).then(|| enumerate(parts))
    }

    /// Shows hints about what was written or, with `--check`, compared, and prints the result if it is JSON.
    pub(crate) fn finish(self, is_check: bool) {
        let ui = self.ui;
        ui.status_lines(&self.guessed_dialects.into_iter().map(guessed).collect::<Vec<_>>());
        if !self.stale_caches.is_empty() {
            let caches = few(&self.stale_caches);
            ui.status(&format!(
                "Terragrunt would keep using the older lock file in {caches}: delete that directory, or run Terragrunt \
                with --source-update"
            ));
        }
        if self.unpublished > 0 {
            let hashes = count(self.unpublished, "recorded hash");
            let (were, them) = if self.unpublished == 1 { ("was", "it") } else { ("were", "them") };
            ui.status(&format!(
                "{hashes} {were} never published: lock --check and verify --online fail while the lock file has {them}"
            ));
        }
        if is_check && self.uncompared > 0 {
            let (hashes, were) =
                (count(self.uncompared, "recorded hash"), if self.uncompared == 1 { "was" } else { "were" });
            ui.status(&format!(
                "{hashes} {were} not compared with what is published; to compare all: provlock verify --online"
            ));
        }
        if let Some(JsonRoots { done, failed, warnings, errors }) = self.json {
            let roots = done.into_iter().chain(failed).collect();
            ui.print_json(&Output { roots, ..ui.output(warnings.as_slice(), errors.as_slice()) });
        }
    }
}

/// For which program a new lock file is, why, and how to get one for the other.
fn guessed((dialect, reason): (Dialect, DialectReason)) -> String {
    let (program, other) = match dialect {
        Dialect::Tofu => ("OpenTofu", Dialect::Terraform),
        Dialect::Terraform => ("Terraform", Dialect::Tofu),
    };
    let host = dialect.default_host_name();
    let why = match reason {
        DialectReason::OtherLockFiles => "as the nearest other lock files are",
        DialectReason::Mentioned => "since a tracked file mentions OpenTofu",
        DialectReason::NotMentioned => "since no tracked file mentions OpenTofu",
        DialectReason::Program => "the only program in PATH",
        _ => "since nothing here says Terraform",
    };
    format!("Locked for {program} ({host}), {why}; --dialect {other} changes that")
}
