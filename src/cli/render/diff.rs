//! The output of `diff`: one line per provider, one line per provider of a single file, or the
//! difference line by line.

use std::path::Path;

use provlock::diagnostic::words::{MOST_NAMED, first_few};
use provlock::lockfile::{
    Direction, EntryChange, EntryDiff, EntryKind, LockedModule, LocksOf, ProviderDiff,
};
use provlock::provider::{Dialect, Hash};
use sha2::{Digest as _, Sha256};

use super::foreign::{printable, printable_lines};
use super::row::{Row, SchemeCounts, symbol_of};
use super::style::{Color, TextStyle, count, group_by_key, paint};
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

/// Returns the changed files with their changes. Files with the same changes are shown together;
/// with a verbose style, each is shown with its changes and unchanged entries.
pub(crate) fn text_of_files(files: &[FileDiff<'_>], style: TextStyle) -> String {
    let mut changes = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let lines = entry_table(file, style.verbose).lines(style);
        if lines.is_empty() {
            continue;
        }
        // With `-v`, each file is a group of its own.
        let group = if style.verbose { Some(index) } else { None };
        changes.push(((lines, group), printable(&file.path.display().to_string())));
    }

    let mut text = String::new();
    for ((lines, _), paths) in group_by_key(changes) {
        text.push_str(&first_few(&paths));
        if paths.len() > MOST_NAMED {
            text.push_str(": -v lists them");
        }
        text.push('\n');
        for line in lines {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text
}

/// Returns the table of a file: a row for each entry that changed, or for all `with_unchanged`.
pub(crate) fn entry_table(file: &FileDiff<'_>, with_unchanged: bool) -> Table {
    let mut rows = Vec::new();
    for row in &file.rows {
        if with_unchanged || row.action != EntryChange::Unchanged {
            rows.push(table_row(row));
        }
    }
    Table {
        header: vec![file.subject, "version", "change", "details"],
        rows,
    }
}

/// The row of an entry in the table.
fn table_row(row: &Row<'_>) -> TableRow {
    let step = row.version_change.map(|change| match change.direction {
        Direction::Upgrade => Piece::Own(change.to_string()),
        Direction::Downgrade => Piece::Strong(change.to_string()),
    });

    // A warning first, then the other changes.
    let mut symbol = symbol_of(row.action);
    let mut details = Vec::new();
    if let Some(warning) = row.warning_if_replaced() {
        symbol = ALARM;
        details.push(Piece::Strong(warning));
    }
    details.extend(attribute_changes(row).into_iter().map(Piece::Foreign));
    details.extend(row.hash_changes_in_words().map(Piece::Own));

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
}

pub(crate) fn line_without_differences(files: &[FileDiff<'_>], bytes_differ: bool) -> String {
    let text = if bytes_differ {
        "; other text does, such as comments (see --format unified)"
    } else {
        ""
    };
    format!("{}{text}", nothing_differs(files))
}

/// `No provider differs in 2 lock files`
pub(crate) fn nothing_differs(files: &[FileDiff<'_>]) -> String {
    let mut subject = match files.first() {
        Some(file) => file.subject,
        None => "provider",
    };
    if files.iter().any(|file| file.subject != subject) {
        subject = "entry";
    }
    format!(
        "No {subject} differs in {}",
        count(files.len(), "lock file")
    )
}

/// `constraints ~> 4.0 → ~> 5.0`, `source A → B`, and `package C → D`; of a new module its package.
fn attribute_changes(row: &Row<'_>) -> Vec<String> {
    let Row {
        constraints,
        source,
        package,
        ..
    } = row;
    let old_constraints = constraints.old.map(|text| text.to_string());
    let new_constraints = constraints.new.map(|text| text.to_string());
    let mut changes = Vec::new();
    for (name, old, new) in [
        (
            "constraints",
            old_constraints.as_deref(),
            new_constraints.as_deref(),
        ),
        ("source", source.old, source.new),
        ("package", package.old, package.new),
    ] {
        match (old, new) {
            (None, Some(new)) if name == "package" => changes.push(format!("{name} {new}")),
            // An entry that is new or removed has nothing to compare.
            (None, _) | (_, None) => {}
            (Some(old), Some(new)) if old == new => {}
            (Some(old), Some("")) => changes.push(format!("{name} {old} removed")),
            (Some(""), Some(new)) => changes.push(format!("{name} {new}")),
            (Some(old), Some(new)) => changes.push(format!("{name} {old} → {new}")),
        }
    }
    changes
}

/// One line per entry, for `git diff`. The line differs whenever the entry does: it ends with the
/// start of a checksum over the hashes.
pub(crate) fn lines_for_git_diff<T: EntryKind>(locks: &LocksOf<T>) -> String {
    let mut text = String::new();
    for (address, entry) in locks {
        let mut words = vec![address.to_string()];
        words.extend(entry.attributes().into_iter().flatten().map(String::from));
        words.push(SchemeCounts::count(entry.hashes()).to_string());
        if !entry.hashes().is_empty() {
            words.push(format!("#{}", checksum(entry.hashes())));
        }
        text += &printable(&words.join("  "));
        text.push('\n');
    }
    text
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

/// Returns the change of a file as `diff -u` shows it; empty if there is none. A missing file is
/// `/dev/null`.
pub(crate) fn unified_diff(
    path: &Path,
    old: Option<&[u8]>,
    new: Option<&[u8]>,
    color: bool,
) -> String {
    // Patches have slashes on every system.
    let path = printable(&path.display().to_string()).replace('\\', "/");
    let name = path.trim_start_matches('/');
    let mut old_name = "/dev/null".to_owned();
    let mut new_name = "/dev/null".to_owned();
    if old.is_some() {
        old_name = format!("a/{name}");
    }
    if new.is_some() {
        new_name = format!("b/{name}");
    }
    let old_text = String::from_utf8_lossy(old.unwrap_or_default());
    let new_text = String::from_utf8_lossy(new.unwrap_or_default());
    let difference = similar::TextDiff::from_lines(&*old_text, &*new_text);
    let text = printable_lines(
        &difference
            .unified_diff()
            .header(&old_name, &new_name)
            .to_string(),
    );
    if color {
        text.split_inclusive('\n').map(paint_line).collect()
    } else {
        text
    }
}

fn paint_line(line: &str) -> String {
    let color = match line.as_bytes().first() {
        Some(b'+') => Color::Green,
        Some(b'-') => Color::Red,
        Some(b'@') => Color::Dim,
        _ => return line.to_owned(),
    };
    let text = line.trim_end_matches(['\r', '\n']);
    paint(true, color, text) + &line[text.len()..]
}
