//! `merge`: git's merge driver for lock files, and the repair of files with conflict markers.

mod arguments;
mod file_report;
mod read;
mod resolve;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use anyhow::Result;
use provlock::diagnostic::{self, Code, Diagnostic, Diagnostics, Help, LockRemedy, Remedy};
use provlock::lockfile::merge::{self, Conflict, Merged};
use provlock::lockfile::{self, EntryDiff, EntryKind, LockedModule, LockedProvider};
use provlock::lockfile::{LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME};
use provlock::project::{InConflict, Resolved, Selection, Session};
use provlock::provider::Dialect;
use provlock::system::Tree;
use provlock::system::files::{self, canonical_or_given};
use serde_json::json;

pub(crate) use self::arguments::MergeArgs;
use self::file_report::FileReport;
use self::read::{Merge, ReadFile, is_of_modules, parse_side};
use self::read::{read_conflicts, read_lock_file, read_versions};
use self::resolve::ResolveArgs;
use crate::cli::render::coverage::no_root_module;
use crate::cli::render::foreign::safe_line;
use crate::cli::render::style::count;
use crate::cli::run::outcome::{Outcome, diagnostics};
use crate::cli::run::session::start_session;
use crate::cli::ui::Ui;

/// A lock file whose sides are merged, before it is written.
struct MergedFile<T: EntryKind> {
    merge: Merge<T>,
    merged: Merged<T>,
    report: FileReport,
}

/// Merges three versions of a file, as a merge driver of git, or repairs conflicts in files.
pub(crate) fn run(arguments: &MergeArgs, ui: &Ui) -> Result<Outcome> {
    ui.invocation.set_paths(&arguments.files);
    let report = match arguments.files.as_slice() {
        directories if arguments.recursive => return repair_below(directories, arguments, ui),
        [] => return repair_in_directory(Path::new("."), arguments, ui),
        [directory] if Tree::Work.is_dir(directory) => {
            return repair_in_directory(directory, arguments, ui);
        }
        [file] => repair_file(file, arguments, ui)?,
        [base, ours, theirs] if arguments.path.is_some() => {
            let files = [base, ours, theirs];
            if is_of_modules(arguments, ours, &read_lock_file(ours, ui)?) {
                merge_modules(read_versions(files, arguments, ui)?, arguments)?
            } else {
                merge_providers(read_versions(files, arguments, ui)?, arguments, ui)?
            }
        }
        files => return Err(number_of_files_error(files.len())),
    };
    let summary = None;
    Ok(show_reports(vec![report], summary, ui))
}

/// The error for several files without `--path`: a user who names the lock files of three
/// directories must not lose the second.
fn number_of_files_error(files: usize) -> anyhow::Error {
    let message;
    let words;
    if files == 2 {
        message = "two files cannot be merged without their common ancestor";
        words = "the three versions of one file: ";
    } else {
        message = "pass --path PATH to merge three versions of one file";
        words = "as in: ";
    }
    let merge = ["merge", "--path", "PATH", "BASE", "OURS", "THEIRS"];
    let repair = ["merge", "FILE"];
    let help = Help::text(words)
        .and(Remedy::Run(merge.map(str::to_owned).into()))
        .and_text("; to repair files with conflict markers: ")
        .and(Remedy::Run(repair.map(str::to_owned).into()));
    Diagnostic::error(Code::InvalidArgument, message)
        .help(help)
        .into()
}

/// Shows the results of files, and then a summary.
fn show_reports(reports: Vec<FileReport>, summary: Option<String>, ui: &Ui) -> Outcome {
    let mut warnings = Vec::new();
    let mut errors = Diagnostics::default();
    let mut statuses = Vec::new();
    let worst = reports
        .iter()
        .map(|report| report.outcome)
        .max()
        .unwrap_or_default();
    for report in reports {
        warnings.extend(report.warnings);
        errors.extend(report.errors);
        statuses.extend(report.status);
    }
    ui.warn(&warnings);
    ui.error(&errors);
    ui.print_json(json!({}), &warnings, &errors);
    statuses.extend(summary);
    ui.status_lines(&statuses);
    worst
}

/// Repairs the lock files in a directory.
fn repair_in_directory(directory: &Path, arguments: &MergeArgs, ui: &Ui) -> Result<Outcome> {
    let mut reports = Vec::new();
    // Providers are locked again for the modules that are locked.
    for name in [MODULE_LOCK_FILE_NAME, LOCK_FILE_NAME] {
        let mut file = directory.join(name);
        // Messages show the names of files here without `./`.
        if directory == Path::new(".") {
            file = PathBuf::from(name);
        }
        if Tree::Work.exists(&file) {
            // A failure does not stop the others.
            let report = repair_file(&file, arguments, ui);
            reports.push(report.unwrap_or_else(FileReport::from));
        }
    }
    if reports.is_empty() {
        let message = format!("there is no lock file in {}", directory.display());
        let help = Help::text("to repair the lock files of all root modules below: ");
        let below = Remedy::Run(vec!["merge".to_owned(), "-r".to_owned()]);
        return Err(Diagnostic::error(Code::LockFileMissing, message)
            .help(help.and(below))
            .into());
    }
    let summary = None;
    Ok(show_reports(reports, summary, ui))
}

/// Repairs the lock files of all root modules below directories. A failure does not stop the
/// others.
fn repair_below(directories: &[PathBuf], arguments: &MergeArgs, ui: &Ui) -> Result<Outcome> {
    let session = if arguments.resolve.resolve {
        arguments.resolve.start_session(directories, ui)?
    } else {
        start_session(ui, directories, |_, _| Ok(()))?
    };
    let roots = session.roots(&Selection {
        paths: directories.to_vec(),
        recursive: true,
        with_modules: true,
    })?;

    // 1. Find the lock files.
    let mut reports = Vec::new();
    let mut files_of_modules = Vec::new();
    let mut files_of_providers = Vec::new();
    // Root modules may share a file through links.
    let mut seen = BTreeSet::new();
    for root in roots.paths() {
        let opened = match session.open(root) {
            Ok(opened) => opened,
            Err(errors) => {
                let report = FileReport::from(anyhow::Error::from(errors));
                // A root module that cannot be opened is not counted as a file with conflicts.
                reports.push(FileReport {
                    had_conflict: false,
                    ..report
                });
                continue;
            }
        };
        for (path, files) in [
            (opened.lock_path, &mut files_of_providers),
            (opened.module_lock_path, &mut files_of_modules),
        ] {
            if Tree::Work.exists(&path) && seen.insert(canonical_or_given(&path)) {
                files.push((root, path));
            }
        }
    }

    // 2. Merge lock files of modules, on which the requirements of providers depend.
    for (root, path) in files_of_modules {
        let report = read_conflicts(&path, arguments, ui)
            .and_then(|file| merge_modules(file, arguments))
            .unwrap_or_else(FileReport::from);
        reports.push(report.in_root(root));
    }
    let mut files = Vec::new();
    let mut roots_of_files = Vec::new();
    for (root, path) in files_of_providers {
        match read_conflicts(&path, arguments, ui) {
            Ok(ReadFile::Conflicts(merge)) => {
                files.push(MergedFile::new(*merge));
                roots_of_files.push(root);
            }
            Ok(ReadFile::Done(report)) => reports.push(report),
            Err(error) => reports.push(FileReport::from(error)),
        }
    }
    if arguments.resolve.resolve {
        lock_again(&mut files, &arguments.resolve, Some(&session), ui);
    }
    for (file, root) in files.into_iter().zip(roots_of_files) {
        let report = file.write().unwrap_or_else(FileReport::from);
        reports.push(report.in_root(root));
    }
    // This clears the progress from the terminal.
    drop(session);

    // 3. Count them.
    // Files without conflicts need no line of their own.
    reports.retain(|report| report.had_conflict || report.outcome == Outcome::Failed);

    let mut with_conflicts = 0;
    let mut merged = 0;
    for report in &reports {
        if report.had_conflict {
            with_conflicts += 1;
            merged += usize::from(report.outcome == Outcome::Done);
        }
    }
    let summary = if roots.is_empty() {
        no_root_module(&roots, &ui.invocation)
    } else if with_conflicts == 0 {
        format!("No conflict in {}", count(seen.len(), "lock file"))
    } else {
        format!(
            "Merged {merged} of {} with conflicts",
            count(with_conflicts, "lock file")
        )
    };
    Ok(show_reports(reports, Some(summary), ui))
}

/// Merges the conflicts in a lock file of providers or of modules.
fn repair_file(file: &Path, arguments: &MergeArgs, ui: &Ui) -> Result<FileReport> {
    if is_of_modules(arguments, file, &read_lock_file(file, ui)?) {
        merge_modules(read_conflicts(file, arguments, ui)?, arguments)
    } else {
        merge_providers(read_conflicts(file, arguments, ui)?, arguments, ui)
    }
}

/// Merges a lock file of modules, and writes it. Conflicts stay: `lock --modules` chooses packages,
/// after a side was chosen for each conflict.
fn merge_modules(file: ReadFile<LockedModule>, arguments: &MergeArgs) -> Result<FileReport> {
    let mut file = match file {
        ReadFile::Conflicts(merge) => MergedFile::new(*merge),
        ReadFile::Done(report) => return Ok(report),
    };
    if arguments.resolve.resolve && !file.merged.conflicts.is_empty() {
        file.report.errors.push(Diagnostic::error(
            Code::InvalidArgument,
            "--resolve locks providers again, not modules",
        ));
    }
    file.write()
}

/// Merges a lock file of providers, and writes it. If that was requested, the entries in conflict
/// are locked again.
fn merge_providers(
    file: ReadFile<LockedProvider>,
    arguments: &MergeArgs,
    ui: &Ui,
) -> Result<FileReport> {
    let mut file = match file {
        ReadFile::Conflicts(merge) => MergedFile::new(*merge),
        ReadFile::Done(report) => return Ok(report),
    };
    if arguments.resolve.resolve {
        // A session is started only if there is something to lock.
        let session = None;
        lock_again(slice::from_mut(&mut file), &arguments.resolve, session, ui);
    }
    file.write()
}

/// Locks the entries in conflict of all files again: together, so that each request is sent once.
/// After a failure the conflicts of a file stay, because a merge driver must not leave it as if it
/// had been merged.
fn lock_again(
    files: &mut [MergedFile<LockedProvider>],
    resolve: &ResolveArgs,
    session: Option<&Session>,
    ui: &Ui,
) {
    let mut with_conflicts = Vec::new();
    let mut in_conflict = Vec::new();
    for file in files {
        if file.merged.conflicts.is_empty() {
            continue;
        }
        match file.in_conflict() {
            Ok(conflicts) => {
                with_conflicts.push(file);
                in_conflict.push(conflicts);
            }
            Err(failure) => file.report.errors.extend(diagnostics(failure)),
        }
    }
    let Some(first) = with_conflicts.first_mut() else {
        return;
    };
    match resolve.lock_again(in_conflict, session, ui) {
        Ok(results) => {
            for (file, result) in with_conflicts.into_iter().zip(results) {
                file.take_resolved(result);
            }
        }
        Err(failure) => first.report.errors.extend(diagnostics(failure)),
    }
}

impl<T: EntryKind> Merge<T> {
    /// Returns warnings about entries that may be wrong although they merge.
    fn doubts(&self) -> Vec<Diagnostic> {
        let mut one_sided = Vec::new();
        let mut mixed = Vec::new();
        for entry in lockfile::diff::<T>(self.ours.locks(), self.theirs.locks()).entries {
            let name = T::name(&entry.address, self.dialect);
            let base = self.base.get(&entry.address);
            // Without a common ancestor, it is unknown whether one side added an entry or the other
            // removed it.
            if base.is_none()
                && !self.is_base_complete
                && let Some(side) = only_side(&entry)
            {
                let message = format!("only {side} has {name}; it was kept");
                let help = Help::text("if the configuration no longer requires it: ")
                    .and(remedy_for_unused_entries::<T>());
                one_sided.push(
                    Diagnostic::warning(Code::MergeConflict, message)
                        .note("the conflict does not show whether one side added it or the other removed it")
                        .help(help),
                );
            }

            // A release has one list of `zh:` hashes, so sides with different lists are from
            // different releases, whatever versions they contain: git, for example, merges the line
            // of the version alone.
            if entry.zh_differ() && entry.old.as_ref() != base && entry.new.as_ref() != base {
                let mut release = Cow::default();
                if let Some(new) = &entry.new {
                    release = new.release();
                }
                let message = format!("the two sides have different zh hashes of {name} {release}");
                mixed.push(
                    Diagnostic::warning(Code::HashesReplaced, message)
                        .note("both were kept, but a release has one list of zh hashes: some may belong to another version")
                        .help(Remedy::verify_online()),
                );
            }
        }
        one_sided.extend(mixed);
        one_sided
    }
}

impl<T: EntryKind> MergedFile<T> {
    /// Merges both sides.
    fn new(merge: Merge<T>) -> Self {
        let merged = merge::merge::<T>(&merge.base, merge.ours.locks(), merge.theirs.locks());
        let report = FileReport {
            warnings: merge.doubts(),
            had_conflict: true,
            ..FileReport::default()
        };
        Self {
            merge,
            merged,
            report,
        }
    }

    /// Writes the file, with the conflicts that are left in markers, and reports it.
    fn write(self) -> Result<FileReport> {
        let Self {
            merge,
            merged,
            mut report,
        } = self;
        let result = merge::with_markers(&merge.ours, &merge.theirs, &merged, &merge.style)?;
        if result != merge.target_bytes {
            files::write(&merge.target, Some(&merge.target_bytes), &result)?;
        }
        let mut findings: Vec<_> = merged
            .conflicts
            .iter()
            .map(|conflict| conflict.diagnostic(merge.dialect))
            .collect();
        if let Some(last) = findings.last_mut() {
            last.help = Some(help_for_conflicts::<T>(&merge.shown));
        }
        // A file with markers has to be checked again anyway.
        if findings.is_empty() {
            let written = parse_side::<T>(&merge.shown, &result, merge.dialect)?;
            findings = written.malformed_hashes();
        }
        report.outcome = Outcome::Found;
        if findings.is_empty() {
            report.outcome = Outcome::Done;
            report
                .status
                .push(format!("Merged {}", merge.shown.display()));
        }
        report.errors.extend(findings);
        Ok(report)
    }
}

impl MergedFile<LockedProvider> {
    /// The conflicts, and the lock file without them.
    fn in_conflict(&self) -> Result<InConflict> {
        let Merge {
            ours,
            shown,
            dialect,
            ..
        } = &self.merge;
        let without_conflicts = ours.edit(&self.merged.locks)?;
        Ok(InConflict {
            path: shown.clone(),
            dialect: *dialect,
            lock_file: parse_side(shown, &without_conflicts, *dialect)?,
            conflicts: self.merged.conflicts.clone(),
        })
    }

    /// Takes the entries that were locked again in place of the conflicts. After a failure the
    /// conflicts stay.
    fn take_resolved(&mut self, result: diagnostic::Result<Resolved>) {
        let resolved = match result {
            Ok(resolved) => resolved,
            Err(errors) => {
                self.report.errors.extend(errors);
                return;
            }
        };
        let without_conflicts = Merged {
            locks: resolved.outcome.locks,
            conflicts: resolved.unresolved,
        };
        let before = std::mem::take(&mut self.merged.conflicts);
        self.report.status = lines_about_resolved(&before, &without_conflicts, self.merge.dialect);
        self.report.warnings.extend(resolved.outcome.warnings);
        self.merged = without_conflicts;
    }
}

/// Returns the command that removes entries that nothing requires.
fn remedy_for_unused_entries<T: EntryKind>() -> Remedy {
    if T::FILE_NAME == MODULE_LOCK_FILE_NAME {
        Remedy::LockModules
    } else {
        LockRemedy {
            prune: true,
            ..LockRemedy::default()
        }
        .into()
    }
}

/// Returns the next step if conflicts remain in a file.
fn help_for_conflicts<T: EntryKind>(file: &Path) -> Help {
    let choose = format!("choose a side of each conflict in {}, ", file.display());
    if T::FILE_NAME == MODULE_LOCK_FILE_NAME {
        Help::text(choose + "then run: ").and(remedy_for_unused_entries::<T>())
    } else {
        Help::text(choose + "or run: ").and(Remedy::Merge {
            file: file.to_owned(),
            resolve: true,
        })
    }
}

/// Returns a line for each conflict that the merge resolved:
/// `  hashicorp/null   5.0.0 (ours 5.0.0, theirs 4.0.0)`.
fn lines_about_resolved<T: EntryKind>(
    conflicts: &[Conflict<T>],
    merged: &Merged<T>,
    dialect: Dialect,
) -> Vec<String> {
    let unresolved: BTreeSet<_> = merged
        .conflicts
        .iter()
        .map(|conflict| &conflict.address)
        .collect();
    let mut lines = Vec::new();
    for conflict in conflicts {
        if unresolved.contains(&conflict.address) {
            continue;
        }
        let name = T::name(&conflict.address, dialect);
        let chosen = release_in_words(merged.locks.get(&conflict.address));
        let ours = release_in_words(conflict.ours.as_ref());
        let theirs = release_in_words(conflict.theirs.as_ref());
        lines.push(safe_line(&format!(
            "  {name}   {chosen} (ours {ours}, theirs {theirs})"
        )));
    }
    lines
}

fn release_in_words<T: EntryKind>(entry: Option<&Arc<T>>) -> String {
    match entry {
        Some(entry) => entry.release().into_owned(),
        None => "no entry".to_owned(),
    }
}

/// The name of the side that has an entry alone.
fn only_side<T: EntryKind>(entry: &EntryDiff<T>) -> Option<&'static str> {
    match (&entry.old, &entry.new) {
        (_, None) => Some("ours"),
        (None, Some(_)) => Some("theirs"),
        (Some(_), Some(_)) => None,
    }
}
