//! The output of `diff`: one line per provider, one line per provider of a single file, or the
//! difference line by line.

use std::path::Path;

use provlock::diagnostic::words::{MOST_NAMED, few};
use provlock::lockfile::{
    Direction, EntryChange, EntryDiff, EntryKind, LockedModule, LocksOf, ProviderDiff,
};
use provlock::provider::{Dialect, Hash};
use sha2::{Digest as _, Sha256};

use super::foreign::{printable, printable_lines};
use super::row::{Row, SchemeCounts, symbol};
use super::style::{Color, TextStyle, count, group_by, paint};
use super::table::{ALARM, Cell, Piece, Table, TableRow};

/// Entries of a lock file before and after.
pub(crate) enum Entries {
    Providers(Vec<ProviderDiff>),
    Modules(Vec<EntryDiff<LockedModule>>),
}

pub(crate) struct FileDiff<'a> {
    pub(crate) path: &'a Path,
    pub(crate) dialect: Dialect,
    /// Noun for its entries: `provider` or `module`.
    pub(crate) subject: &'static str,
    pub(crate) rows: Vec<Row<'a>>,
}

impl<'a> FileDiff<'a> {
    pub(crate) fn new(path: &'a Path, dialect: Dialect, entries: &'a Entries) -> Self {
        let (subject, rows) = match entries {
            Entries::Providers(entries) => (
                "provider",
                entries
                    .iter()
                    .map(|entry| Row::new(entry, dialect))
                    .collect(),
            ),
            Entries::Modules(entries) => ("module", entries.iter().map(Row::of_module).collect()),
        };
        Self {
            path,
            dialect,
            subject,
            rows,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows
            .iter()
            .all(|row| row.action == EntryChange::Unchanged)
    }
}

/// The changed files with their changes. Files with the same changes are shown together, unless all
/// are to be listed.
pub(crate) fn render(files: &[FileDiff<'_>], style: TextStyle) -> String {
    let texts = files.iter().enumerate().map(|(index, file)| {
        // Each file is a group of its own if all are to be listed.
        let lines = table(file, style.verbose).lines(style);
        (
            (lines, style.verbose.then_some(index)),
            printable(&file.path.display().to_string()),
        )
    });
    let groups = group_by(texts.filter(|((lines, _), _)| !lines.is_empty()));
    let more = |paths: &[String]| {
        if paths.len() > MOST_NAMED {
            ": -v lists them"
        } else {
            ""
        }
    };
    let text = |((lines, _), paths): ((Vec<String>, _), Vec<String>)| {
        let title = few(&paths) + more(&paths);
        std::iter::once(title)
            .chain(lines)
            .map(|line| line + "\n")
            .collect::<String>()
    };
    groups.into_iter().map(text).collect()
}

/// Returns the changes of a file, a row for each entry; for unchanged entries only if `all` is set.
pub(crate) fn table(file: &FileDiff<'_>, all: bool) -> Table {
    let row = |row: &Row<'_>| {
        let warning = row.replaced().map(Piece::Strong);
        let symbol = if warning.is_some() {
            ALARM
        } else {
            symbol(row.action)
        };
        let step = row.version_change.map(|change| match change.direction {
            Direction::Upgrade => Piece::Own(change.to_string()),
            Direction::Downgrade => Piece::Strong(change.to_string()),
        });
        // A warning first, then the other changes.
        let details = warning
            .into_iter()
            .chain(changes(row).into_iter().map(Piece::Foreign));
        let details = details.chain(row.hash_changes().map(Piece::Own));
        let cells = vec![
            Cell::foreign(&row.name),
            Cell::foreign(row.versions()),
            Cell::new(step),
            Cell::new(details),
        ];
        TableRow {
            symbol: Some(symbol),
            cells,
            ..TableRow::default()
        }
    };
    let rows = file
        .rows
        .iter()
        .filter(|row| all || row.action != EntryChange::Unchanged)
        .map(row)
        .collect();
    Table {
        header: vec![file.subject, "version", "change", "details"],
        rows,
    }
}

pub(crate) fn no_difference(files: &[FileDiff<'_>], bytes_differ: bool) -> String {
    let text = if bytes_differ {
        "; other text does, such as comments (see --format unified)"
    } else {
        ""
    };
    format!("{}{text}", nothing_differs(files))
}

/// `No provider differs in 2 lock files`
pub(crate) fn nothing_differs(files: &[FileDiff<'_>]) -> String {
    let mut subjects = files.iter().map(|file| file.subject);
    let subject = subjects.next().unwrap_or("provider");
    let subject = if subjects.all(|other| other == subject) {
        subject
    } else {
        "entry"
    };
    format!(
        "No {subject} differs in {}",
        count(files.len(), "lock file")
    )
}

/// `constraints ~> 4.0 → ~> 5.0`, `source A → B`, and `package C → D`; of a new module its package.
fn changes(row: &Row<'_>) -> Vec<String> {
    let Row {
        constraints,
        source,
        package,
        ..
    } = row;
    let [old, new] = [constraints.old, constraints.new]
        .map(|constraints| constraints.map(|text| text.to_string()));
    let constraints = ("constraints", old.as_deref(), new.as_deref());
    let others = [
        ("source", source.old, source.new),
        ("package", package.old, package.new),
    ];
    let change = |(name, old, new): (&str, Option<&str>, Option<&str>)| match (old, new) {
        (None, Some(new)) if name == "package" => Some(format!("{name} {new}")),
        (None, _) | (_, None) => None,
        (Some(old), Some(new)) if old == new => None,
        (Some(old), Some("")) => Some(format!("{name} {old} removed")),
        (Some(""), Some(new)) => Some(format!("{name} {new}")),
        (Some(old), Some(new)) => Some(format!("{name} {old} → {new}")),
    };
    [constraints]
        .into_iter()
        .chain(others)
        .filter_map(change)
        .collect()
}

/// One line per entry, for `git diff`. The line differs whenever the entry does: it ends with the
/// start of a checksum over the hashes.
pub(crate) fn summary<T: EntryKind>(locks: &LocksOf<T>) -> String {
    let lines = locks.iter().map(|(address, entry)| {
        let hashes = match SchemeCounts::of(entry.hashes()).to_string() {
            counts if entry.hashes().is_empty() => counts,
            counts => format!("{counts}  #{}", checksum(entry.hashes())),
        };
        let attributes = entry.attributes().into_iter().flatten().map(String::from);
        let words: Vec<_> = [address.to_string()]
            .into_iter()
            .chain(attributes)
            .chain([hashes])
            .collect();
        printable(&words.join("  ")) + "\n"
    });
    lines.collect()
}

fn checksum<'a>(hashes: impl IntoIterator<Item = &'a Hash>) -> String {
    let mut digest = Sha256::new();
    for hash in hashes {
        // Line breaks separate hashes, so a line break in a hash is doubled.
        digest.update(hash.as_str().replace('\n', "\n\n"));
        digest.update("\n");
    }
    digest.finalize()[..4]
        .iter()
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// The change of a file as `diff -u` shows it; empty when there is none. A file that is not there
/// is `/dev/null`.
pub(crate) fn unified(path: &Path, old: Option<&[u8]>, new: Option<&[u8]>, color: bool) -> String {
    let name = printable(&path.display().to_string()).replace('\\', "/");
    let name = name.trim_start_matches('/');
    let header = |side: &str, bytes: Option<&[u8]>| match bytes {
        Some(_) => format!("{side}/{name}"),
        None => "/dev/null".to_owned(),
    };
    let (old_name, new_name) = (header("a", old), header("b", new));
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
    let difference = similar::TextDiff::from_lines(&*old, &*new);
    let text = printable_lines(
        &difference
            .unified_diff()
            .header(&old_name, &new_name)
            .to_string(),
    );
    if color {
        text.split_inclusive('\n').map(painted).collect()
    } else {
        text
    }
}

fn painted(line: &str) -> String {
    let color = match line.as_bytes().first() {
        Some(b'+') => Color::Green,
        Some(b'-') => Color::Red,
        Some(b'@') => Color::Dim,
        _ => return line.to_owned(),
    };
    let text = line.trim_end_matches(['\r', '\n']);
    paint(true, color, text) + &line[text.len()..]
}
