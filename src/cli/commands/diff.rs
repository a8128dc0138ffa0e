//! `diff`: the changes between two lock files, entry by entry.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueHint};
use provlock::diagnostic::{self, Code, Diagnostic, Diagnostics, Help, Remedy, Severity};
use provlock::lockfile::{
    self, EntryDiff, EntryKind, LOCK_FILE_NAME, LockedModule, LockedProvider, LocksOf,
    MODULE_LOCK_FILE_NAME,
};
use provlock::provider::Dialect;
use provlock::system::{Tree, canonicalize, repository};

use crate::cli::args::{ARGUMENTS, FormatArgs, NoRequestsArgs, OWN, OutputFormat, is_surely_path};
use crate::cli::git::{self, RevisionFiles};
use crate::cli::render::diff::{self as text, Entries, FileDiff};
use crate::cli::render::{json, markdown};
use crate::cli::run::outcome::Outcome;
use crate::cli::ui::Ui;

const LOCK_FILE_NAMES: [&str; 2] = [LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME];

const FORMATS: &[OutputFormat] = &[
    OutputFormat::Text,
    OutputFormat::Markdown,
    OutputFormat::Json,
    OutputFormat::Unified,
];

const EXAMPLES: &str = "Examples:
  # HEAD and the working tree
  provlock diff
  # For a comment on a pull request
  provlock diff main --format markdown
  # Two revisions
  provlock diff v1..v2
  # Two files, directories or revisions
  provlock diff OLD NEW";

/// Compare two lock files, provider by provider
///
/// Shows the providers that were added, removed or changed, with versions, constraints and numbers
/// of hashes. An exclamation mark means that hashes were replaced under the same version. Lock
/// files of modules (.modules.lock.hcl) are compared in the same way, module by module.
#[derive(Args)]
#[command(before_help = "Example: provlock diff main --format markdown", before_long_help = EXAMPLES)]
#[command(next_display_order = OWN)]
#[command(after_help = "Exit codes: 0 done, 1 --exit-code: there are differences, 2 failed")]
#[command(mut_arg("format", |format| format.value_parser(OutputFormat::one_of(FORMATS))))]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    what: WhatArgs,
    #[command(flatten)]
    _offline: NoRequestsArgs,
    #[command(flatten)]
    format: FormatArgs,
    /// Exit with 1 if there are differences
    #[arg(long, help_heading = "Output")]
    exit_code: bool,
}

/// Selects what is compared.
#[derive(Args)]
#[command(next_help_heading = "Selection")]
struct WhatArgs {
    /// A lock file, or a revision as in git: REV, OLD..NEW or, from their merge base, OLD...NEW
    /// [default: HEAD]
    #[arg(value_name = "OLD", value_hint = ValueHint::FilePath, help_heading = ARGUMENTS)]
    old: Option<PathBuf>,
    /// The newer lock file or revision [default: the lock file of the current directory]
    #[arg(value_name = "NEW", value_hint = ValueHint::FilePath, help_heading = ARGUMENTS)]
    new: Option<PathBuf>,
    /// Compare every lock file that git knows in this directory and below
    #[arg(short, long)]
    recursive: bool,
    /// The revision, if a file has the same name
    #[arg(
        long,
        value_name = "REV",
        conflicts_with = "old",
        allow_hyphen_values = true
    )]
    git: Option<String>,
    /// Print FILE with one line per provider, for `git diff`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["old", "git", "recursive", "format", "json", "exit_code"])]
    textconv: Option<PathBuf>,
}

/// A file before and after; `None` if there was no file.
struct Pair {
    /// The path of the file, for messages.
    path: PathBuf,
    old: Side,
    new: Side,
}

impl Pair {
    /// Whether it is a lock file of modules, which an existing side determines.
    fn is_of_modules(&self) -> bool {
        let content = [&self.new, &self.old]
            .into_iter()
            .find_map(|side| side.bytes.as_deref());
        lockfile::is_of_modules(&self.path, content.unwrap_or_default())
    }

    /// Whether neither side has the file.
    fn is_missing(&self) -> bool {
        self.old.bytes.is_none() && self.new.bytes.is_none()
    }
}

struct Side {
    /// The side's own name, such as `HEAD:.terraform.lock.hcl`.
    name: PathBuf,
    bytes: Option<Vec<u8>>,
}

pub(crate) fn run(arguments: &DiffArgs, ui: &Ui) -> Result<Outcome> {
    let WhatArgs {
        old,
        new,
        textconv: file,
        ..
    } = &arguments.what;
    let paths: Vec<_> = [old, new, file].into_iter().flatten().cloned().collect();
    ui.invocation.set_paths(&paths);
    if let Some(path) = file {
        return print_for_git_diff(path, ui);
    }
    let pairs = read_selected_pairs(&arguments.what, ui)?;
    let have_differences = print_differences(&pairs, ui)?;
    if arguments.exit_code && have_differences {
        return Ok(Outcome::Found);
    }
    Ok(Outcome::Done)
}

/// Prints the differences in the chosen format. Returns whether there are any.
fn print_differences(pairs: &[Pair], ui: &Ui) -> Result<bool> {
    if ui.format == OutputFormat::Unified {
        let mut texts = String::new();
        for pair in pairs {
            texts += &text::unified_diff(
                &pair.path,
                pair.old.bytes.as_deref(),
                pair.new.bytes.as_deref(),
                ui.stdout_style.color,
            );
        }
        ui.print(&texts);
        return Ok(!texts.is_empty());
    }
    let mut warnings = Vec::new();
    let mut errors = Diagnostics::default();
    let mut compared = Vec::new();
    for pair in pairs {
        match parse_and_compare(pair, ui, &mut warnings) {
            Ok((dialect, entries)) => compared.push((&pair.path, dialect, entries)),
            // Among many files, an unchanged file with an error does not stop the others.
            Err(_) if pairs.len() > 1 && pair.old.bytes == pair.new.bytes => {}
            Err(error) => errors.extend(error),
        }
    }
    ui.warn(&warnings);
    if !errors.is_empty() {
        return Err(errors.into());
    }
    let files: Vec<_> = compared
        .iter()
        .map(|(path, dialect, entries)| FileDiff::new(path, *dialect, entries))
        .collect();
    let have_differences = files.iter().any(|file| !file.is_empty());
    match ui.format {
        OutputFormat::Markdown => ui.print(&markdown::sections_of_files(&files)),
        OutputFormat::Json => ui.print(&json::diff(files, warnings, &ui.invocation)),
        _ => {
            ui.print(&text::text_of_files(&files, ui.stdout_style));
            if !have_differences && !pairs.iter().all(Pair::is_missing) {
                let other_bytes_differ = pairs.iter().any(|pair| pair.old.bytes != pair.new.bytes);
                ui.status(&text::line_without_differences(&files, other_bytes_differ));
            }
        }
    }
    Ok(have_differences)
}

/// Parses both lock files of a pair. Returns their dialect and the entries that differ. Adds the
/// warnings about the files.
fn parse_and_compare(
    pair: &Pair,
    ui: &Ui,
    warnings: &mut Vec<Diagnostic>,
) -> diagnostic::Result<(Dialect, Entries)> {
    let dialect = match ui.global.dialect {
        Some(dialect) => dialect,
        None => dialect_of_pair(pair).unwrap_or_default(),
    };
    let entries = if pair.is_of_modules() {
        Entries::Modules(changed_entries(pair, dialect, warnings)?)
    } else {
        Entries::Providers(changed_entries(pair, dialect, warnings)?)
    };
    Ok((dialect, entries))
}

/// The dialect that the new or else the old lock file shows.
fn dialect_of_pair(pair: &Pair) -> Option<Dialect> {
    [&pair.new, &pair.old]
        .into_iter()
        .filter_map(|side| side.bytes.as_deref())
        .find_map(lockfile::detect_dialect)
}

/// Returns the entries that differ between the two lock files. Adds the warnings about the files.
fn changed_entries<T: EntryKind>(
    pair: &Pair,
    dialect: Dialect,
    warnings: &mut Vec<Diagnostic>,
) -> diagnostic::Result<Vec<EntryDiff<T>>> {
    let old = parse_locks(&pair.old, dialect, warnings)?;
    let new = parse_locks(&pair.new, dialect, warnings)?;
    Ok(lockfile::diff::<T>(&old, &new).entries)
}

/// Returns the entries of a side: none if it has no file. Adds the warnings about the file.
fn parse_locks<T: EntryKind>(
    side: &Side,
    dialect: Dialect,
    warnings: &mut Vec<Diagnostic>,
) -> diagnostic::Result<LocksOf<T>> {
    let Some(bytes) = &side.bytes else {
        return Ok(LocksOf::<T>::new());
    };
    let parsed = lockfile::parse_as::<T>(&side.name, bytes, dialect);
    let (errors, weaker): (Vec<_>, Vec<_>) = parsed
        .diagnostics
        .into_iter()
        .partition(|diagnostic| diagnostic.severity == Severity::Error);
    warnings.extend(weaker);
    if let Some(lock_file) = parsed.lock_file {
        return Ok(lock_file.locks().clone());
    }

    // The help is about the lock file of a root module, but a side may come from elsewhere.
    let is_of_root = side.name.ends_with(T::FILE_NAME) && Tree::Work.is_file(&side.name);
    let mut located = Diagnostics::default();
    for error in errors {
        match side.name.parent() {
            Some(directory) if is_of_root => {
                let is_one_of_many = false;
                located.push(error.in_root(directory, is_one_of_many));
            }
            _ => located.push(Diagnostic {
                help: None,
                ..error
            }),
        }
    }
    Err(located)
}

/// Reads the pairs of lock files that the arguments select. None of them may have a file if no
/// lock file is found.
fn read_selected_pairs(what: &WhatArgs, ui: &Ui) -> Result<Vec<Pair>> {
    let range = match (&what.old, &what.git) {
        (None, None) => "HEAD".to_owned(),
        (None, Some(range)) => range.clone(),
        (Some(old), _) => match parse_revision_range(old, what.new.as_deref())? {
            Some(range) => range,
            None if what.recursive => return Err(files_with_recursive_error().into()),
            None => return Ok(vec![read_pair_of_files(old, what.new.as_deref(), ui)?]),
        },
    };
    let revisions = Revisions::parse(&range)?.map_err(unknown_revision_error)?;
    let pairs = revisions.read_pairs(what.recursive, ui)?;
    if revisions.old.is_unborn {
        ui.status("HEAD has no commit yet: every lock file is compared with an empty one");
    }
    if !pairs.iter().all(Pair::is_missing) {
        return Ok(pairs);
    }
    // Users above their root modules may expect the lock files below.
    if !what.recursive {
        let recursive = true;
        let below = revisions.read_pairs(recursive, ui)?;
        if let Some(first) = below.first() {
            let named = (what.old.is_some() || what.git.is_some()).then_some(range.as_str());
            return Err(only_below_error(&first.path, below.len(), named).into());
        }
    }
    ui.status(&revisions.no_lock_file());
    Ok(pairs)
}

/// Returns the revisions that the arguments name, in the form of `--git`; `None` if the arguments
/// name files.
///
/// # Errors
/// An argument names both or neither, or one names a file and the other a revision.
fn parse_revision_range(old: &Path, new: Option<&Path>) -> Result<Option<String>> {
    let Some(new) = new else {
        return Ok(parse_revision(old)?.map(str::to_owned));
    };
    match (parse_revision(old)?, parse_revision(new)?) {
        (None, None) => Ok(None),
        (Some(old), Some(new)) => Ok(Some(format!("{old}..{new}"))),
        _ => {
            let error = format!(
                "of {} and {}, one is a file and one a git revision",
                old.display(),
                new.display()
            );
            let help =
                Help::text("compare two files or two revisions; a revision and the files here: ");
            Err(Diagnostic::error(Code::InvalidArgument, error)
                .help(help.and(diff_remedy(&["REV"])))
                .into())
        }
    }
}

/// Returns the argument if it is a revision; `None` for the path of a file or directory.
///
/// # Errors
/// It is both, or neither.
fn parse_revision(argument: &Path) -> Result<Option<&str>> {
    // No name of a revision begins like these paths.
    let Some(text) = argument
        .to_str()
        .filter(|text| !text.starts_with(['.', '/']))
    else {
        return Ok(None);
    };
    let is_revision = match Revisions::parse(text) {
        Ok(parsed) => parsed.is_ok(),
        // Files need no repository.
        Err(_) if Tree::Work.exists(argument) || is_surely_path(argument) => false,
        Err(_) if !is_in_repository() => false,
        Err(error) => return Err(error),
    };
    let exists = Tree::Work.exists(argument);
    if is_revision && !exists {
        return Ok(Some(text));
    }
    if is_revision {
        let message = format!("{text} is both a file and a git revision");
        let help = Help::text("for the revision: ")
            .and(diff_remedy(&["--git", text]))
            .and_text(", for the file: ")
            .and(diff_remedy(&[&format!("./{text}")]));
        return Err(Diagnostic::error(Code::InvalidArgument, message)
            .help(help)
            .into());
    }
    // A file that does not exist has an error of its own.
    if exists || is_surely_path(argument) {
        return Ok(None);
    }
    let message = format!("{text} is neither a file nor a git revision");
    let help = "name a lock file, or a commit, branch or tag of the repository here";
    Err(Diagnostic::error(Code::InvalidArgument, message)
        .help(help)
        .into())
}

fn is_in_repository() -> bool {
    let here = Path::new(".");
    let is_below_top = canonicalize(here).is_ok_and(|here| repository::top(&here).is_some());
    is_below_top || repository::is_bare(here)
}

/// The error for a name that git does not know.
fn unknown_revision_error(UnknownRevision(name): UnknownRevision) -> Diagnostic {
    let help = Help::text("name a commit, branch or tag, as in: ").and(diff_remedy(&["main"]));
    Diagnostic::error(
        Code::InvalidArgument,
        format!("unknown git revision {name:?}"),
    )
    .help(help)
}

/// The error for files beside `-r`.
fn files_with_recursive_error() -> Diagnostic {
    let help = Help::text("name a revision, as in: ").and(diff_remedy(&["-r", "main"]));
    Diagnostic::error(
        Code::InvalidArgument,
        "-r compares revisions, but files are named",
    )
    .help(help)
}

/// The error if only directories below have lock files.
fn only_below_error(first: &Path, number: usize, revision: Option<&str>) -> Diagnostic {
    let message = format!(
        "there is no lock file here, but {number} below, such as {}",
        first.display()
    );
    let arguments: Vec<_> = ["-r"].into_iter().chain(revision).collect();
    Diagnostic::error(Code::LockFileMissing, message).help(diff_remedy(&arguments))
}

/// Reads two files; without `new`, the second one is the lock file in the current directory. One of
/// the two may be missing.
fn read_pair_of_files(old: &Path, new: Option<&Path>, ui: &Ui) -> Result<Pair> {
    let old = read_side(old, ui)?;
    let new = read_side(new.unwrap_or(Path::new(LOCK_FILE_NAME)), ui)?;
    let mut errors = Diagnostics::default();
    for side in [&old, &new] {
        if side.bytes.is_none() {
            let message = format!("there is no lock file {}", side.name.display());
            errors.push(Diagnostic::error(Code::LockFileMissing, message));
        }
    }
    if errors.len() == 2 {
        return Err(errors.into());
    }
    let mut warnings = Vec::new();
    for error in errors {
        let warning = Diagnostic {
            severity: Severity::Warning,
            ..error
        };
        warnings.push(warning.note("it is treated as empty"));
    }
    ui.warn(&warnings);
    Ok(Pair {
        path: new.name.clone(),
        old,
        new,
    })
}

/// A lock file, or the lock file of providers in a directory.
fn read_side(path: &Path, ui: &Ui) -> std::result::Result<Side, Diagnostics> {
    let name = if Tree::Work.is_dir(path) {
        path.join(LOCK_FILE_NAME)
    } else {
        path.to_owned()
    };
    let bytes = read_lock_file(&name, ui)?;
    Ok(Side { name, bytes })
}

/// The lock file at a path, unless the path resolves to a file outside of the repository.
fn read_lock_file(path: &Path, ui: &Ui) -> diagnostic::Result<Option<Vec<u8>>> {
    if ui.invocation.boundary().is_outside(path) {
        return Err(provlock::system::boundary::outside_error(path).into());
    }
    lockfile::read(path)
}

/// The command `provlock diff` with arguments, as a next step.
fn diff_remedy(arguments: &[&str]) -> Remedy {
    let mut words = vec!["diff".to_owned()];
    for argument in arguments {
        words.push((*argument).to_owned());
    }
    Remedy::Run(words)
}

/// Without git, files can still be compared.
fn suggest_two_files(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Diagnostic>() {
        Ok(mut error) => {
            error.help = error.help.map(|help| {
                help.and_text(", or name two files: ")
                    .and(diff_remedy(&["OLD", "NEW"]))
            });
            error.into()
        }
        Err(error) => error,
    }
}

/// The error for two revisions without a known common ancestor.
fn no_merge_base_error(old: &str, new: &str) -> Diagnostic {
    let message = format!("the revisions {old} and {new} have no common ancestor");
    let range = format!("{old}..{new}");
    let help = Help::text(
        "in a shallow clone, fetch the history: git fetch --unshallow; or compare them directly: ",
    );
    Diagnostic::error(Code::InvalidArgument, message).help(help.and(diff_remedy(&[&range])))
}

/// Two resolved revisions; without a new one, the old one is compared with the working tree.
struct Revisions {
    old: Revision,
    new: Option<Revision>,
}

struct Revision {
    /// As the user wrote it.
    name: String,
    object: String,
    /// Whether the tree is the state of the current directory, and not of the repository around it.
    is_directory: bool,
    /// Whether the revision is `HEAD` in a repository without commits, which is treated as a commit
    /// without files.
    is_unborn: bool,
}

/// A name that git does not know. The caller decides whether this is an error, because a file may
/// have the name.
struct UnknownRevision(String);

impl Revision {
    /// Resolves a name as git does. `HEAD` of a repository without commits is a commit without
    /// files.
    ///
    /// # Errors
    /// Git fails. A name that git does not know is a result.
    fn resolve(name: &str) -> Result<std::result::Result<Self, UnknownRevision>> {
        // As git reads `..`.
        let name = if name.is_empty() { "HEAD" } else { name };
        let here = Path::new(".");
        let mut object = None;
        // git would read it as an option.
        if !name.starts_with('-') {
            object = git::resolve(here, name).map_err(suggest_two_files)?;
        }
        // HEAD has no commit before the first one is made.
        let is_unborn = name == "HEAD" && object.is_none() && git::current_branch(here)?.is_some();
        if is_unborn {
            object = git::empty_tree(here)?;
        }
        let Some(object) = object else {
            return Ok(Err(UnknownRevision(name.to_owned())));
        };
        let is_directory = !is_unborn && git::is_directory(name, &object)?;
        Ok(Ok(Self {
            name: name.to_owned(),
            object,
            is_directory,
            is_unborn,
        }))
    }

    /// The lock files in the revision: at these paths, or all if there are none.
    fn lock_files(&self, only_paths: &[&Path]) -> Result<RevisionFiles> {
        let here = Path::new(".");
        RevisionFiles::list(
            here,
            &self.object,
            self.is_directory,
            only_paths,
            is_lock_file,
        )
    }

    /// A file among the lock files of the revision.
    fn side(&self, path: &Path, lock_files: &RevisionFiles) -> Result<Side> {
        let separator = match self.is_directory {
            true if self.name.ends_with([':', '/']) => "",
            true => "/",
            false => ":",
        };
        Ok(Side {
            name: PathBuf::from(format!("{}{separator}{}", self.name, path.display())),
            bytes: lock_files.read(path)?,
        })
    }
}

impl Revisions {
    /// Parses `REV`, `OLD..NEW` or `OLD...NEW`.
    ///
    /// # Errors
    /// Git fails, or two revisions have no common ancestor.
    fn parse(text: &str) -> Result<std::result::Result<Self, UnknownRevision>> {
        if text.is_empty() {
            let error = Diagnostic::error(Code::InvalidArgument, "--git is given no revision");
            return Err(error.into());
        }
        let mut old_name = text;
        let mut new_name = None;
        let mut from_merge_base = false;
        if let Some((before, after)) = text.split_once("...") {
            old_name = before;
            new_name = Some(after);
            from_merge_base = true;
        } else if let Some((before, after)) = text.split_once("..") {
            old_name = before;
            new_name = Some(after);
        }

        let mut old = match Revision::resolve(old_name)? {
            Ok(old) => old,
            Err(unknown) => return Ok(Err(unknown)),
        };
        let Some(new_name) = new_name else {
            return Ok(Ok(Self { old, new: None }));
        };
        let new = match Revision::resolve(new_name)? {
            Ok(new) => new,
            Err(unknown) => return Ok(Err(unknown)),
        };
        if from_merge_base {
            let Some(object) = git::merge_base(&old.object, &new.object)? else {
                return Err(no_merge_base_error(&old.name, &new.name).into());
            };
            old.object = object;
        }
        Ok(Ok(Self {
            old,
            new: Some(new),
        }))
    }

    /// `No lock file here or below, neither in HEAD nor in the working tree`
    fn no_lock_file(&self) -> String {
        let new = self
            .new
            .as_ref()
            .map_or("the working tree", |new| new.name.as_str());
        if self.old.name == new {
            return format!("No lock file here or below in {new}");
        }
        format!(
            "No lock file here or below, neither in {} nor in {new}",
            self.old.name
        )
    }

    /// Reads the lock files of both kinds here, or if `recursive` in all directories below, sorted
    /// by directory. A pair without any file is returned only for the lock file of providers here.
    fn read_pairs(&self, recursive: bool, ui: &Ui) -> Result<Vec<Pair>> {
        let here = Path::new(".");
        if self.new.is_none() && repository::is_bare(here) {
            let error = "a bare repository has no working tree to compare a revision with";
            let help = Help::text("name two revisions: ").and(diff_remedy(&["OLD..NEW"]));
            return Err(Diagnostic::error(Code::InvalidArgument, error)
                .help(help)
                .into());
        }

        let names = LOCK_FILE_NAMES.map(Path::new);
        // Without paths, the files of all directories are listed.
        let only_paths = if recursive { &[][..] } else { &names };
        let old_files = self.old.lock_files(only_paths)?;
        let mut paths = old_files.paths.clone();
        let mut new_files = None;
        if let Some(new) = &self.new {
            let files = new.lock_files(only_paths)?;
            paths.extend(files.paths.iter().cloned());
            new_files = Some((new, files));
        } else if recursive {
            let entries = git::list_entries(here, |path, _| is_lock_file(path))?;
            paths.extend(entries.into_keys().map(PathBuf::from));
        } else {
            paths.extend(names.map(PathBuf::from));
        }

        let mut pairs = Vec::new();
        for path in paths {
            let old = self.old.side(&path, &old_files)?;
            let new = match &new_files {
                Some((revision, files)) => revision.side(&path, files)?,
                None => Side {
                    name: path.clone(),
                    bytes: read_lock_file(&path, ui)?,
                },
            };
            pairs.push(Pair { path, old, new });
        }
        if self.new.is_none() {
            convert_line_endings_of_new(&mut pairs)?;
        }
        pairs.retain(|pair| pair.path.ends_with(LOCK_FILE_NAME) || !pair.is_missing());
        // In each directory, the lock file of providers comes first.
        pairs.sort_by_cached_key(|pair| {
            (
                pair.path.parent().map(Path::to_owned),
                pair.path.ends_with(MODULE_LOCK_FILE_NAME),
            )
        });
        Ok(pairs)
    }
}

/// Gives files of the working tree the line endings with which git would add them, unless the file
/// of the revision has Windows line endings, too.
fn convert_line_endings_of_new(pairs: &mut [Pair]) -> Result<()> {
    let mut files = BTreeMap::new();
    for pair in pairs.iter() {
        if let (Some(old), Some(new)) = (&pair.old.bytes, &pair.new.bytes)
            && has_windows_line_ending(new)
            && !has_windows_line_ending(old)
        {
            files.insert(pair.path.as_path(), new.as_slice());
        }
    }
    let mut converted = git::with_converted_line_endings(Path::new("."), &files)?;
    for pair in pairs {
        if let Some(bytes) = converted.remove(&pair.path) {
            pair.new.bytes = Some(bytes);
        }
    }
    Ok(())
}

fn is_lock_file(path: &Path) -> bool {
    LOCK_FILE_NAMES.iter().any(|name| path.ends_with(name))
}

fn has_windows_line_ending(bytes: &[u8]) -> bool {
    bytes.windows(2).any(|pair| pair == b"\r\n")
}

/// Prints a lock file with one line per entry.
fn print_for_git_diff(path: &Path, ui: &Ui) -> Result<Outcome> {
    let Some(bytes) = read_lock_file(path, ui)? else {
        return Err(Diagnostic::io("read", path, &std::io::ErrorKind::NotFound.into()).into());
    };
    let dialect = match ui.global.dialect {
        Some(dialect) => dialect,
        None => lockfile::detect_dialect(&bytes).unwrap_or_default(),
    };
    let summary = if lockfile::is_of_modules(path, &bytes) {
        lines_per_entry::<LockedModule>(path, &bytes, dialect)
    } else {
        lines_per_entry::<LockedProvider>(path, &bytes, dialect)
    };
    match summary {
        Some(text) => ui.print(&text),
        // A file that cannot be parsed is printed unchanged, because `git diff` has nothing else to
        // show.
        None => ui.print_bytes(&bytes),
    }
    Ok(Outcome::Done)
}

/// One line per entry; `None` if the file cannot be parsed.
fn lines_per_entry<T: EntryKind>(path: &Path, bytes: &[u8], dialect: Dialect) -> Option<String> {
    let lock_file = lockfile::parse_as::<T>(path, bytes, dialect).lock_file?;
    Some(text::lines_for_git_diff::<T>(lock_file.locks()))
}
