//! `merge`: git's merge driver for lock files, and the repair of files with conflict markers.

mod resolve;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use clap::{Args, ValueHint};
use provlock::diagnostic::{
    self, Code, Diagnostic, Diagnostics, Help, LockRemedy, Remedy, Severity,
};
use provlock::lockfile::merge::{
    self, Conflict, MARKER_SIZE, MarkerStyle, Merged, Sides, TAKE_ONE_SIDE,
};
use provlock::lockfile::{
    self, EntryDiff, EntryKind, LockFile, LockFileOf, LockedModule, LockedProvider, LocksOf,
};
use provlock::lockfile::{LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME};
use provlock::project::Selection;
use provlock::provider::Dialect;
use provlock::system::files::{self, canonical_or_given};
use provlock::system::{Tree, boundary};
use serde_json::json;

use self::resolve::ResolveArgs;
use crate::cli::args::{ARGUMENTS, FormatArgs, OWN};
use crate::cli::git;
use crate::cli::render::coverage::no_root_module;
use crate::cli::render::foreign::safe_line;
use crate::cli::render::style::count;
use crate::cli::run::outcome::{Outcome, diagnostics};
use crate::cli::run::session::start_session;
use crate::cli::ui::Ui;

/// Merge lock files, or repair one with conflict markers
///
/// Merges entries instead of lines, so two branches that each add a provider do not conflict. With
/// one file, or none for the lock files here, merges both sides of its conflict markers. --resolve
/// locks providers that remain in conflict again. Lock files of modules (.modules.lock.hcl) are
/// merged in the same way.
#[derive(Args)]
#[command(before_help = "Example: provlock merge --resolve", next_display_order = OWN, next_help_heading = "Selection")]
#[command(
    override_usage = "provlock merge [OPTIONS] [FILE]\n       provlock merge [OPTIONS] --path PATH BASE OURS THEIRS"
)]
#[command(after_help = "`provlock setup git` makes git run it.\n\n\
    Exit codes: 0 merged, 1 conflicts remain and are marked in the file or a hash is malformed, 2 failed")]
pub(crate) struct MergeArgs {
    /// A lock file with conflict markers to repair, or its directory [default: .]; or git's %O %A
    /// %B, three versions of a file, whose second is overwritten with the result
    #[arg(value_name = "FILE", num_args = 0..=3, value_hint = ValueHint::FilePath, help_heading = ARGUMENTS)]
    files: Vec<PathBuf>,
    /// The lock files of every root module below the directories
    #[arg(short, long, conflicts_with = "path")]
    recursive: bool,
    /// Path of the file in the repository (git's %P), for messages and for the configuration of
    /// --resolve [default: FILE or OURS]
    #[arg(
        long,
        value_name = "PATH",
        requires = "files",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    path: Option<PathBuf>,
    /// Length of conflict markers, at least 7 (git's %L)
    #[arg(long, value_name = "NUMBER", default_value_t = MARKER_SIZE, value_parser = parse_marker_size)]
    #[arg(hide_short_help = true)]
    marker_size: usize,
    #[command(flatten)]
    resolve: ResolveArgs,
    #[command(flatten)]
    format: FormatArgs,
}

fn parse_marker_size(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        // Git may request fewer characters, but shorter markers would not be read again.
        Ok(size @ 1..=1000) => Ok(MARKER_SIZE.max(size)),
        _ => Err("not a number from 1 to 1000".to_owned()),
    }
}

/// Merged entries after the entries in conflict were locked again, and warnings.
type LockedAgain<T> = (Merged<T>, Vec<Diagnostic>);

/// Locks entries in conflict again in the root modules of a lock file, if that was requested.
type Resolver<'a, T> =
    &'a dyn Fn(&Path, Dialect, LockFileOf<T>, Vec<Conflict<T>>) -> Result<LockedAgain<T>>;

/// Both sides, and the target of the result.
struct Merge<'a, T: EntryKind> {
    dialect: Dialect,
    base: LocksOf<T>,
    /// Whether `base` has all entries of the common ancestor.
    is_base_complete: bool,
    ours: LockFileOf<T>,
    theirs: LockFileOf<T>,
    style: MarkerStyle,
    /// The file to overwrite, and its content.
    target: &'a Path,
    target_bytes: Vec<u8>,
    /// Path of the file in messages.
    shown: &'a Path,
    lock_again: Resolver<'a, T>,
}

/// Result of a file.
#[derive(Default)]
struct FileReport {
    warnings: Vec<Diagnostic>,
    errors: Diagnostics,
    status: Vec<String>,
    /// Whether there was anything to merge.
    had_conflict: bool,
    outcome: Outcome,
}

impl From<anyhow::Error> for FileReport {
    fn from(error: anyhow::Error) -> Self {
        let errors = diagnostics(error);
        Self {
            errors,
            had_conflict: true,
            outcome: Outcome::Failed,
            ..Self::default()
        }
    }
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
                merge_versions::<LockedModule>(files, arguments, &refuse_modules, ui)?
            } else {
                merge_versions::<LockedProvider>(
                    files,
                    arguments,
                    &relock_providers(arguments, ui),
                    ui,
                )?
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
    for name in [LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME] {
        let mut file = directory.join(name);
        // Messages show the names of files here without `./`.
        if directory == Path::new(".") {
            file = PathBuf::from(name);
        }
        if Tree::Work.exists(&file) {
            reports.push(repair_and_report(&file, arguments, ui));
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

/// Repairs the lock files of all root modules below directories.
fn repair_below(directories: &[PathBuf], arguments: &MergeArgs, ui: &Ui) -> Result<Outcome> {
    let session = start_session(ui, directories, |_, _| Ok(()))?;
    let roots = session.roots(&Selection {
        paths: directories.to_vec(),
        recursive: true,
        with_modules: true,
    })?;
    let mut reports = Vec::new();
    // Root modules may share a file through links.
    let mut files = BTreeSet::new();
    for path in roots.paths() {
        let root = match session.open(path) {
            Ok(root) => root,
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
        for file in [root.lock_path, root.module_lock_path] {
            if !Tree::Work.exists(&file) || !files.insert(canonical_or_given(&file)) {
                continue;
            }
            let report = repair_and_report(&file, arguments, ui);
            let mut warnings = Vec::new();
            for warning in report.warnings {
                let is_one_of_many = true;
                warnings.push(warning.in_root(path, is_one_of_many));
            }
            reports.push(FileReport { warnings, ..report });
        }
    }
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
        format!("No conflict in {}", count(files.len(), "lock file"))
    } else {
        format!(
            "Merged {merged} of {} with conflicts",
            count(with_conflicts, "lock file")
        )
    };
    Ok(show_reports(reports, Some(summary), ui))
}

/// Repairs one of several files. A failure does not stop the others.
fn repair_and_report(file: &Path, arguments: &MergeArgs, ui: &Ui) -> FileReport {
    repair_file(file, arguments, ui).unwrap_or_else(FileReport::from)
}

/// Merges the conflicts in a lock file of providers or of modules.
fn repair_file(file: &Path, arguments: &MergeArgs, ui: &Ui) -> Result<FileReport> {
    let bytes = read_lock_file(file, ui)?;
    if is_of_modules(arguments, file, &bytes) {
        repair_conflicts::<LockedModule>(file, bytes, arguments, &refuse_modules, ui)
    } else {
        repair_conflicts::<LockedProvider>(
            file,
            bytes,
            arguments,
            &relock_providers(arguments, ui),
            ui,
        )
    }
}

/// Returns a function that locks providers in conflict again.
fn relock_providers<'a>(
    MergeArgs { resolve, .. }: &'a MergeArgs,
    ui: &'a Ui,
) -> impl Fn(&Path, Dialect, LockFile, Vec<Conflict>) -> Result<LockedAgain<LockedProvider>> + 'a {
    move |file, dialect, lock_file, conflicts| {
        resolve.lock_again(file, dialect, lock_file, conflicts, ui)
    }
}

/// Fails: `lock --modules` chooses packages, after a side was chosen for each conflict.
fn refuse_modules<T>(
    _: &Path,
    _: Dialect,
    _: LockFileOf<LockedModule>,
    _: T,
) -> Result<LockedAgain<LockedModule>> {
    Err(Diagnostic::error(
        Code::InvalidArgument,
        "--resolve locks providers again, not modules",
    )
    .into())
}

/// Whether the file is a lock file of modules. In git's merge driver it has a different name, and
/// `--path` has the original one.
fn is_of_modules(arguments: &MergeArgs, file: &Path, bytes: &[u8]) -> bool {
    lockfile::is_of_modules(arguments.path.as_deref().unwrap_or(file), bytes)
}

/// Merges three versions of a file, as a merge driver of git. Versions that are no lock files are
/// merged line by line.
fn merge_versions<T: EntryKind>(
    files: [&PathBuf; 3],
    arguments: &MergeArgs,
    lock_again: Resolver<'_, T>,
    ui: &Ui,
) -> Result<FileReport> {
    let [base, ours, theirs] = files;
    let [base_bytes, our_bytes, their_bytes] = [
        read_lock_file(base, ui)?,
        read_lock_file(ours, ui)?,
        read_lock_file(theirs, ui)?,
    ];
    let dialect = detect_dialect([&our_bytes, &their_bytes, &base_bytes], ui);
    let shown = arguments.path.as_deref().unwrap_or(ours);
    let style = MarkerStyle {
        size: arguments.marker_size,
        ..MarkerStyle::default()
    };
    let parsed = [
        ("base", &base_bytes),
        ("ours", &our_bytes),
        ("theirs", &their_bytes),
    ]
    .map(|(side, bytes)| parse_side::<T>(&name_of_side(shown, side), bytes, dialect));
    let [Ok(base_document), Ok(our_document), Ok(their_document)] = parsed else {
        let mut errors = Vec::new();
        for side in parsed {
            if let Err(found) = side {
                errors.extend(found);
            }
        }
        // git does not merge lines itself where it has a merge driver, so the driver asks it to.
        let clean = git::merge_file(base, ours, theirs, &style)?;
        return Ok(report_line_by_line(errors, shown, clean));
    };
    let merge = Merge {
        dialect,
        base: base_document.locks().clone(),
        is_base_complete: true,
        ours: our_document,
        theirs: their_document,
        style,
        target: ours,
        target_bytes: our_bytes,
        shown,
        lock_again,
    };
    merge.write_and_report(arguments.resolve.resolve)
}

/// Reports that a side cannot be read, so that git merged its lines as it does without a merge
/// driver.
fn report_line_by_line(errors: Vec<Diagnostic>, file: &Path, clean: bool) -> FileReport {
    let mut warnings = Vec::new();
    for mut error in errors {
        error.severity = Severity::Warning;
        let note = "the file was merged line by line instead, as git does without provlock";
        warnings.push(error.note(note));
    }
    if clean {
        return FileReport {
            warnings,
            had_conflict: true,
            ..FileReport::default()
        };
    }
    let conflict = Diagnostic::error(
        Code::MergeConflict,
        format!("conflicts remain in {}", file.display()),
    );
    let errors = conflict
        .help(format!(
            "choose a side of each conflict in {}",
            file.display()
        ))
        .into();
    FileReport {
        warnings,
        errors,
        had_conflict: true,
        outcome: Outcome::Found,
        ..FileReport::default()
    }
}

/// Merges the conflicts that git left in a lock file, and writes the file. A file without conflicts
/// stays as it is.
fn repair_conflicts<T: EntryKind>(
    file: &Path,
    bytes: Vec<u8>,
    arguments: &MergeArgs,
    lock_again: Resolver<'_, T>,
    ui: &Ui,
) -> Result<FileReport> {
    let shown = arguments.path.as_deref().unwrap_or(file);
    let Some(sides) = merge::split_conflicts(shown, &bytes)? else {
        if !arguments.recursive {
            // Markers that git made with fewer characters are a syntax error.
            parse_side::<T>(shown, &bytes, detect_dialect([&bytes], ui))?;
        }
        let status = vec![format!("No conflict in {}", shown.display())];
        return Ok(FileReport {
            status,
            ..FileReport::default()
        });
    };
    let Sides {
        ours,
        base,
        base_is_complete,
        theirs,
        style,
    } = sides;
    let dialect = detect_dialect([&ours, &theirs], ui);
    let our_side = parse_side::<T>(&name_of_side(shown, "ours"), &ours, dialect)
        .map_err(|errors| errors.map(|error| error.help(TAKE_ONE_SIDE)))?;
    let their_side = parse_side::<T>(&name_of_side(shown, "theirs"), &theirs, dialect)
        .map_err(|errors| errors.map(|error| error.help(TAKE_ONE_SIDE)))?;
    // A base that is garbled or has conflicts of its own is ignored.
    let mut base_locks = LocksOf::<T>::default();
    let mut is_base_complete = false;
    if let Ok(lock_file) = parse_side::<T>(&name_of_side(shown, "base"), &base, dialect) {
        base_locks = lock_file.locks().clone();
        is_base_complete = base_is_complete;
    }
    let merge = Merge {
        dialect,
        base: base_locks,
        is_base_complete,
        ours: our_side,
        theirs: their_side,
        style,
        target: file,
        target_bytes: bytes,
        shown,
        lock_again,
    };
    merge.write_and_report(arguments.resolve.resolve)
}

impl<T: EntryKind> Merge<'_, T> {
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

    /// Merges the sides, locks entries in conflict again if it `resolves` conflicts, writes the
    /// file and reports the result.
    fn write_and_report(self, resolves: bool) -> Result<FileReport> {
        let mut warnings = self.doubts();
        let mut merged = merge::merge::<T>(&self.base, self.ours.locks(), self.theirs.locks());
        // After a failure the conflicts stay: a merge driver must not leave the file as if it had
        // been merged.
        let mut errors = Diagnostics::default();
        let mut status = Vec::new();
        if resolves && !merged.conflicts.is_empty() {
            match self.lock_conflicts_again(&merged) {
                Ok((without_conflicts, more_warnings)) => {
                    status =
                        lines_about_resolved(&merged.conflicts, &without_conflicts, self.dialect);
                    merged = without_conflicts;
                    warnings.extend(more_warnings);
                }
                Err(failure) => errors = diagnostics(failure),
            }
        }
        let result = merge::with_markers(&self.ours, &self.theirs, &merged, &self.style)?;
        if result != self.target_bytes {
            files::write(self.target, Some(&self.target_bytes), &result)?;
        }
        let mut findings: Vec<_> = merged
            .conflicts
            .iter()
            .map(|conflict| conflict.diagnostic(self.dialect))
            .collect();
        if let Some(last) = findings.last_mut() {
            last.help = Some(help_for_conflicts::<T>(self.shown));
        }
        // A file with markers has to be checked again anyway.
        if findings.is_empty() {
            let written = parse_side::<T>(self.shown, &result, self.dialect)?;
            findings = written.malformed_hashes();
        }
        let mut outcome = Outcome::Found;
        if findings.is_empty() {
            outcome = Outcome::Done;
            status.push(format!("Merged {}", self.shown.display()));
        }
        errors.extend(findings);
        Ok(FileReport {
            warnings,
            errors,
            status,
            had_conflict: true,
            outcome,
        })
    }

    /// Locks the entries in conflict again. Returns the merged entries and warnings.
    fn lock_conflicts_again(&self, merged: &Merged<T>) -> Result<LockedAgain<T>> {
        let without_conflicts = self.ours.edit(&merged.locks)?;
        let lock_file = parse_side::<T>(self.shown, &without_conflicts, self.dialect)?;
        let conflicts = merged.conflicts.clone();
        (self.lock_again)(self.shown, self.dialect, lock_file, conflicts)
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

/// Reads a file, unless its path resolves to a file outside of the repository.
fn read_lock_file(path: &Path, ui: &Ui) -> diagnostic::Result<Vec<u8>> {
    if ui.invocation.boundary().is_outside(path) {
        return Err(boundary::outside_error(path).into());
    }
    let Some(bytes) = lockfile::read(path)? else {
        let message = format!("there is no lock file {}", path.display());
        return Err(Diagnostic::error(Code::LockFileMissing, message).into());
    };
    Ok(bytes)
}

/// Returns the dialect that the user chose, or that the first of the files with a sign shows.
fn detect_dialect<const N: usize>(files: [&Vec<u8>; N], ui: &Ui) -> Dialect {
    if let Some(dialect) = ui.global.dialect {
        return dialect;
    }
    files
        .into_iter()
        .find_map(|bytes| lockfile::detect_dialect(bytes))
        .unwrap_or_default()
}

/// Returns the name of a version of the file in messages.
fn name_of_side(path: &Path, side: &str) -> PathBuf {
    PathBuf::from(format!("{} ({side})", path.display()))
}

/// Reads a side. The parser's help is for an existing file, but a side may have none.
fn parse_side<T: EntryKind>(
    name: &Path,
    bytes: &[u8],
    dialect: Dialect,
) -> diagnostic::Result<LockFileOf<T>> {
    let parsed = lockfile::parse_as::<T>(name, bytes, dialect);
    if let Some(lock_file) = parsed.lock_file {
        return Ok(lock_file);
    }
    let mut errors = Diagnostics::default();
    for error in parsed.diagnostics {
        if error.severity == Severity::Error {
            errors.push(Diagnostic {
                help: None,
                ..error
            });
        }
    }
    Err(errors)
}
