//! Reads the two sides of a merge: from conflict markers, or from git's versions of a file.

use std::path::{Path, PathBuf};

use anyhow::Result;
use provlock::diagnostic::{self, Code, Diagnostic, Diagnostics, Severity};
use provlock::lockfile::merge::{self, MarkerStyle, Sides, TAKE_ONE_SIDE};
use provlock::lockfile::{self, EntryKind, LockFileOf, LocksOf};
use provlock::provider::Dialect;
use provlock::system::boundary;

use super::arguments::MergeArgs;
use super::file_report::FileReport;
use crate::cli::git;
use crate::cli::run::outcome::Outcome;
use crate::cli::ui::Ui;

/// Both sides, and the target of the result.
pub(super) struct Merge<T: EntryKind> {
    pub(super) dialect: Dialect,
    pub(super) base: LocksOf<T>,
    /// Whether `base` has all entries of the common ancestor.
    pub(super) is_base_complete: bool,
    pub(super) ours: LockFileOf<T>,
    pub(super) theirs: LockFileOf<T>,
    pub(super) style: MarkerStyle,
    /// The file to overwrite, and its content.
    pub(super) target: PathBuf,
    pub(super) target_bytes: Vec<u8>,
    /// Path of the file in messages.
    pub(super) shown: PathBuf,
}

/// A lock file that was read.
pub(super) enum ReadFile<T: EntryKind> {
    /// Its sides are to be merged.
    Conflicts(Box<Merge<T>>),
    /// There is nothing to merge, or git has merged it.
    Done(FileReport),
}

/// Whether the file is a lock file of modules. In git's merge driver it has a different name, and
/// `--path` has the original one.
pub(super) fn is_of_modules(arguments: &MergeArgs, file: &Path, bytes: &[u8]) -> bool {
    lockfile::is_of_modules(arguments.path.as_deref().unwrap_or(file), bytes)
}

/// Reads three versions of a file, as a merge driver of git. Versions that are no lock files are
/// merged line by line.
pub(super) fn read_versions<T: EntryKind>(
    files: [&PathBuf; 3],
    arguments: &MergeArgs,
    ui: &Ui,
) -> Result<ReadFile<T>> {
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
        return Ok(ReadFile::Done(report_line_by_line(errors, shown, clean)));
    };
    Ok(ReadFile::Conflicts(Box::new(Merge {
        dialect,
        base: base_document.locks().clone(),
        is_base_complete: true,
        ours: our_document,
        theirs: their_document,
        style,
        target: ours.clone(),
        target_bytes: our_bytes,
        shown: shown.to_owned(),
    })))
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

/// Reads the conflicts that git left in a lock file.
pub(super) fn read_conflicts<T: EntryKind>(
    file: &Path,
    arguments: &MergeArgs,
    ui: &Ui,
) -> Result<ReadFile<T>> {
    let bytes = read_lock_file(file, ui)?;
    let shown = arguments.path.as_deref().unwrap_or(file);
    let Some(sides) = merge::split_conflicts(shown, &bytes)? else {
        if !arguments.recursive {
            // Markers that git made with fewer characters are a syntax error.
            parse_side::<T>(shown, &bytes, detect_dialect([&bytes], ui))?;
        }
        let status = vec![format!("No conflict in {}", shown.display())];
        return Ok(ReadFile::Done(FileReport {
            status,
            ..FileReport::default()
        }));
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
    Ok(ReadFile::Conflicts(Box::new(Merge {
        dialect,
        base: base_locks,
        is_base_complete,
        ours: our_side,
        theirs: their_side,
        style,
        target: file.to_owned(),
        target_bytes: bytes,
        shown: shown.to_owned(),
    })))
}

/// Reads a file, unless its path resolves to a file outside of the repository.
pub(super) fn read_lock_file(path: &Path, ui: &Ui) -> diagnostic::Result<Vec<u8>> {
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
pub(super) fn parse_side<T: EntryKind>(
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
