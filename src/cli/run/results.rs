//! Results of root modules that were locked or upgraded.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use provlock::diagnostic::{Diagnostic, Diagnostics, Result, RootModules};
use provlock::project::plan::UnconfirmedHashes;
use provlock::project::{Report, RootOutcome, Roots, Selection};
use provlock::system::files::FileChange;
use serde_json::value::RawValue;

use crate::cli::render::causes::{SeveralRoots, distinct_diagnostics, with_roots};
use crate::cli::render::coverage::{self, no_root_module};
use crate::cli::render::hints::{self, Hint};
use crate::cli::render::json::{DoneOrFailed, FailedRoot, LockedRoot, Roots as JsonRoots, raw};
use crate::cli::render::lock::{
    KnownRows, LockedText, RootCounts, lines_of_several, rows_as_lines, words_about_downloads,
};
use crate::cli::render::style::{count, non_zero_counts};
use crate::cli::render::upgrade::PlanText;
use crate::cli::ui::Ui;

/// Selects the parts of an outcome that are kept.
pub(crate) struct Kept {
    /// Whether there may be several root modules.
    pub(crate) may_be_several: bool,
    /// Whether the files' content is kept, to print it as a diff.
    pub(crate) with_files: bool,
    pub(crate) is_offline: bool,
    /// Rows of the root modules so far: equal rows of later ones share their memory.
    pub(crate) rows: KnownRows,
}

/// Result of a root module.
pub(crate) struct RootResult {
    pub(crate) path: PathBuf,
    pub(crate) warnings: Vec<Diagnostic>,
    /// Numbers of recorded hashes that differ from the published release, or may do so.
    unconfirmed: UnconfirmedHashes,
    pub(crate) hints: Vec<Hint>,
    /// `None` if an upgrade was only planned.
    pub(crate) locked: Option<LockedText>,
    /// `None` if nothing was upgraded.
    pub(crate) plan: Option<PlanText>,
    /// Changes of lock files.
    pub(crate) files: Vec<FileChange>,
    json: Option<Box<RawValue>>,
}

/// Results of all root modules of a run.
pub(crate) struct Results<'a> {
    ui: &'a Ui,
    roots: &'a Roots,
    selection: &'a Selection,
    /// Selection and number of the root modules, if there may be several.
    pub(crate) several: Option<SeveralRoots<'a>>,
    pub(crate) done: Vec<RootResult>,
    failed: Vec<(PathBuf, Diagnostics)>,
    /// Warnings about no single root module.
    warnings: Vec<Diagnostic>,
}

impl RootResult {
    /// Result of a root module, with the parts that `kept` selects.
    pub(crate) fn new(outcome: &RootOutcome, kept: &mut Kept, ui: &Ui) -> Self {
        let prepared = outcome.prepared();
        let plan = outcome.plan();
        let shows_unmoved = !kept.may_be_several || ui.stdout_style.verbose;
        let mut result = Self {
            path: prepared.root.path().to_owned(),
            warnings: prepared.warnings.clone(),
            unconfirmed: UnconfirmedHashes::default(),
            hints: Vec::new(),
            locked: None,
            plan: plan.map(|plan| PlanText::new(&prepared.root, plan, shows_unmoved)),
            files: Vec::new(),
            json: None,
        };
        if let RootOutcome::Locked(locked) = outcome {
            // The warnings of the outcome include the warnings of the requirements.
            result
                .warnings
                .extend(locked.outcome.warnings.iter().cloned());
            result.unconfirmed = locked.outcome.counts;
            result.hints = hints::hints_about_root(locked, kept.is_offline);
            result.locked = Some(LockedText::new(
                locked,
                ui.stderr_style,
                kept.may_be_several,
                &mut kept.rows,
            ));
            if kept.with_files {
                result.files.clone_from(&locked.files);
            }
        } else if let Some(plan) = plan {
            result.warnings.extend(plan.warnings.iter().cloned());
            let warnings = &prepared.requirements.warnings;
            result.warnings.extend(warnings.iter().cloned());
            result.unconfirmed = plan.counts;
        }
        if ui.is_json() {
            result.json = Some(raw(&LockedRoot::new(outcome)));
        }
        result
    }
}

/// Whether an error is about several root modules, which all fail because of it.
fn is_shared(error: &Diagnostic) -> bool {
    matches!(
        error.root_modules.as_deref(),
        Some(RootModules::Selected { .. })
    )
}

impl<'a> Results<'a> {
    /// Results of a report.
    ///
    /// # Errors
    /// The errors of the root module, if there is only one.
    pub(crate) fn new(
        ui: &'a Ui,
        roots: &'a Roots,
        selection: &'a Selection,
        report: Report<RootResult>,
    ) -> Result<Self> {
        let several = SeveralRoots::unless_single(roots, selection, &ui.invocation);
        let mut done = Vec::new();
        let mut failed = Vec::new();
        for (path, result) in report.roots {
            match result {
                Ok(result) => done.push(result),
                Err(errors) if several.is_none() => return Err(errors),
                Err(errors) => failed.push((path, errors)),
            }
        }
        Ok(Self {
            ui,
            roots,
            selection,
            several,
            done,
            failed,
            warnings: report.findings,
        })
    }

    pub(crate) fn has_failures(&self) -> bool {
        !self.failed.is_empty()
    }

    /// Whether a lock file contains a hash that was never published.
    pub(crate) fn has_unpublished(&self) -> bool {
        self.done
            .iter()
            .any(|root| root.unconfirmed.unpublished > 0)
    }

    /// Results of root modules that were locked.
    pub(crate) fn locked(&self) -> impl Iterator<Item = (&Path, &LockedText)> {
        self.done
            .iter()
            .filter_map(|root| Some((root.path.as_path(), root.locked.as_ref()?)))
    }

    /// Results of root modules with an upgrade plan.
    pub(crate) fn plans(&self) -> impl Iterator<Item = (&Path, &PlanText)> {
        self.done
            .iter()
            .filter_map(|root| Some((root.path.as_path(), root.plan.as_ref()?)))
    }

    /// Numbers of root modules that changed, or would, and that did not.
    pub(crate) fn counts(&self) -> RootCounts {
        let mut counts = RootCounts {
            failed: self.failed.len(),
            ..RootCounts::default()
        };
        for root in &self.done {
            *match (&root.locked, &root.plan) {
                (Some(locked), _) if locked.is_changed => &mut counts.changed,
                (None, Some(plan)) if plan.moves_any() => &mut counts.changed,
                (None, Some(plan)) if plan.has_changes => &mut counts.changed_otherwise,
                (_, Some(plan)) if plan.is_held_back() => &mut counts.held_back,
                _ => &mut counts.unchanged,
            } += 1;
        }
        counts
    }

    /// `Locked 998 of 1000 root modules: 3 changed, 995 up to date; 2 failed; 118.40 MiB
    /// downloaded`; `None` if there can be only one. The verbs are for changes that were written
    /// and for changes that would be.
    pub(crate) fn summary(&self, verb: &str) -> Option<String> {
        let texts = || self.locked().map(|(_, text)| text);
        let stale = match texts().map(|text| text.stale).sum() {
            0 => String::new(),
            number => format!("; not required: {}", count(number, "entry")),
        };
        let root_modules = self.counts().in_words("changed", self.several?.noun());
        Some(format!(
            "{verb} {root_modules}{stale}{}",
            words_about_downloads(texts())
        ))
    }

    /// Returns a command for the selected root modules.
    pub(crate) fn suggest(&self, words: &[&str]) -> String {
        self.ui.suggest(words, self.selection)
    }

    /// Shows the warnings by cause.
    pub(crate) fn show_warnings(&self) {
        let warnings = self
            .done
            .iter()
            .flat_map(|root| root.warnings.iter().map(|one| (Some(&*root.path), one)));
        self.ui.warn_by_cause(warnings, self.several);
    }

    /// Shows the entries of the root modules, then rewritten constraints, errors and the summary.
    /// If there may be several root modules, also the number of errors and warnings, and skipped
    /// directories.
    pub(crate) fn show_entries_and_summary(&self, edits: &[String], summary: &[String]) {
        let ui = self.ui;
        match self.several {
            None => self.show_single(edits),
            Some(several) => {
                self.show_several(several);
                ui.statuses(edits);
            }
        }
        let errors: Vec<_> = self.failed.iter().flat_map(|(_, errors)| errors).collect();
        ui.error_by_cause(with_roots(errors.iter().copied()), self.several);
        if self.several.is_none() {
            ui.statuses(summary);
            return;
        }

        let passed_over = self.roots.passed_over();
        if self.done.is_empty() && self.failed.is_empty() {
            if self.roots.is_empty() && passed_over.is_empty() {
                ui.status(&no_root_module(self.roots, &ui.invocation));
            }
            ui.statuses(coverage::lines_by_kind(passed_over));
            return;
        }
        ui.statuses(summary);
        let warnings = self.done.iter().map(|root| root.warnings.len()).sum();
        // A cause that several root modules share is shown once, and so it is counted once.
        let (shared, own): (Vec<_>, Vec<_>) =
            errors.into_iter().partition(|error| is_shared(error));
        let shown_errors = own.len() + distinct_diagnostics(shared.into_iter()).len();
        let total = non_zero_counts([(shown_errors, "error"), (warnings, "warning")]);
        if !total.is_empty() {
            ui.status(&total);
        }
        ui.statuses(coverage::line_about_skipped(passed_over));
    }

    /// Shows the entries and the summary of the only root module.
    fn show_single(&self, edits: &[String]) {
        for (_, text) in self.locked() {
            self.ui
                .status_lines(&rows_as_lines(&text.rows, self.ui.stderr_style));
            self.ui.statuses(edits);
            let mut summary = text.summary.clone();
            if text.is_changed {
                summary += &words_about_downloads([text].into_iter());
            }
            self.ui.status(&summary);
        }
    }

    /// Shows the entries of several root modules: equal ones once or, with `-v`, by root
    /// module.
    fn show_several(&self, several: SeveralRoots<'_>) {
        let style = self.ui.stderr_style;
        if !style.verbose {
            self.ui
                .status_lines(&lines_of_several(self.locked(), several, style));
            return;
        }
        for (path, text) in self.locked() {
            self.ui.status(&format!("{}:", path.display()));
            self.ui.status_lines(&rows_as_lines(&text.rows, style));
            self.ui.status(&text.summary);
        }
    }

    /// Shows hints, and numbers of hashes that were never published or, after a check, not
    /// compared. Prints the result if it is JSON.
    pub(crate) fn show_hints_and_json(&self, is_check: bool) {
        let ui = self.ui;
        let mut hints = BTreeSet::new();
        let mut unconfirmed = UnconfirmedHashes::default();
        let mut roots = Vec::new();
        let mut warnings = Vec::new();
        for root in &self.done {
            hints.extend(root.hints.iter().cloned());
            unconfirmed += root.unconfirmed;
            roots.extend(root.json.as_ref().map(DoneOrFailed::Done));
            warnings.extend(&root.warnings);
        }
        warnings.extend(&self.warnings);
        let mut errors = Vec::new();
        for (path, root_errors) in &self.failed {
            let root = FailedRoot::new(path, root_errors, &ui.invocation);
            roots.push(DoneOrFailed::Failed(root));
            errors.extend(root_errors);
        }

        ui.statuses(hints::lines_of_hints(&hints, |words| self.suggest(words)));
        if unconfirmed.unpublished > 0 {
            let hashes = count(unconfirmed.unpublished, "recorded hash");
            ui.status(&format!(
                "Never published: {hashes}; lock --check and verify --online fail because of that"
            ));
        }
        if is_check && unconfirmed.uncompared > 0 {
            let hashes = count(unconfirmed.uncompared, "recorded hash");
            let verify = self.suggest(&["verify", "--online"]);
            ui.status(&format!(
                "Not compared with the published release: {hashes}; to compare all: {verify}"
            ));
        }
        ui.print_json(
            JsonRoots { roots },
            &distinct_diagnostics(warnings.into_iter()),
            &distinct_diagnostics(errors.into_iter()),
        );
    }
}
