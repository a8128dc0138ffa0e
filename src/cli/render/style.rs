//! Columns, counts and colours of text. Colours only add: every text means the same without them.

use std::collections::HashMap;
use std::fmt::Display;
use std::hash::Hash;

pub(crate) use provlock::diagnostic::words::{count, joined_with_and};

use textwrap::{Options, WordSplitter};

use super::foreign::safe_line;

/// Style of text, and its detail.
#[derive(Clone, Copy)]
pub(crate) struct TextStyle {
    pub(crate) color: bool,
    /// Whether codes link to their pages.
    pub(crate) hyperlinks: bool,
    /// The width of the terminal.
    pub(crate) columns: Option<usize>,
    /// Whether unchanged entries are shown, too.
    pub(crate) verbose: bool,
}

impl TextStyle {
    /// Whether text has escape sequences.
    pub(crate) fn has_escapes(self) -> bool {
        self.color || self.hyperlinks
    }
}

/// Wraps `text` in an ANSI colour when `enabled`.
pub(crate) fn paint(enabled: bool, color: Color, text: impl Display) -> String {
    if enabled {
        format!("\u{1b}[{}m{text}\u{1b}[0m", color as u8)
    } else {
        text.to_string()
    }
}

/// The few colours in use, with their ANSI codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Color {
    Dim = 2,
    Red = 31,
    Green = 32,
    Yellow = 33,
}

/// Symbol in front of a row, with its colour.
pub(crate) type Symbol = (&'static str, Color);

/// Returns rows in columns, each behind its symbol. A row that is wider than the terminal is
/// wrapped between words.
pub(crate) fn align_rows_with_symbols(
    rows: Vec<(Symbol, Vec<String>)>,
    style: TextStyle,
) -> Vec<String> {
    let (symbols, rows): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    let mut lines = Vec::new();
    for ((symbol, color), row) in symbols.into_iter().zip(align_in_columns(&rows)) {
        let line = format!("  {} {row}", paint(style.color, color, symbol));
        match style.columns {
            Some(width) => lines.extend(wrapped(&line, width).lines().map(str::to_owned)),
            None => lines.push(line),
        }
    }
    lines
}

/// Wraps lines between words; a longer word stays whole.
pub(crate) fn wrap_options<'a>(width: usize) -> Options<'a> {
    Options::new(width)
        .subsequent_indent("    ")
        .word_splitter(WordSplitter::NoHyphenation)
        .break_words(false)
}

/// A line that is wrapped between words if it is longer than `width`.
pub(crate) fn wrapped(line: &str, width: usize) -> String {
    textwrap::fill(line, wrap_options(width))
}

/// Returns rows with the same number of cells as lines in columns. A column without any text takes
/// no room. The text of cells is made printable.
pub(crate) fn align_in_columns(rows: &[Vec<String>]) -> Vec<String> {
    let mut printable_rows = Vec::with_capacity(rows.len());
    let mut widths: Vec<usize> = Vec::new();
    for row in rows {
        let cells: Vec<_> = row.iter().map(|cell| safe_line(cell)).collect();
        widths.resize(cells.len(), 0);
        for (width, cell) in widths.iter_mut().zip(&cells) {
            *width = (*width).max(cell.chars().count());
        }
        printable_rows.push(cells);
    }

    let mut lines = Vec::with_capacity(rows.len());
    for row in printable_rows {
        let mut cells = Vec::with_capacity(row.len());
        for (cell, &width) in row.iter().zip(&widths) {
            if width > 0 {
                cells.push(format!("{cell:width$}"));
            }
        }
        lines.push(cells.join("   ").trim_end().to_owned());
    }
    lines
}

/// Groups values by their keys, in the order of the first value of each.
pub(crate) fn group_by_key<K: Clone + Eq + Hash, T>(
    items: impl IntoIterator<Item = (K, T)>,
) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    let mut indexes = HashMap::new();
    for (key, value) in items {
        let index = *indexes.entry(key.clone()).or_insert(groups.len());
        match groups.get_mut(index) {
            Some((_, values)) => values.push(value),
            None => groups.push((key, vec![value])),
        }
    }
    groups
}

/// `2 errors and 1 warning`: the counts that are not zero.
pub(crate) fn non_zero_counts<'a>(parts: impl IntoIterator<Item = (usize, &'a str)>) -> String {
    let mut counts = Vec::new();
    for (number, noun) in parts {
        if number > 0 {
            counts.push(count(number, noun));
        }
    }
    joined_with_and(counts)
}

/// `3 added, 1 changed`: the counts that are not zero.
pub(crate) fn non_zero_numbers<'a>(parts: impl IntoIterator<Item = (usize, &'a str)>) -> String {
    let mut counts = Vec::new();
    for (number, what) in parts {
        if number > 0 {
            counts.push(format!("{number} {what}"));
        }
    }
    counts.join(", ")
}

/// Bytes in binary units, as in `118.4 MiB`.
pub(crate) fn bytes(number: u64) -> String {
    indicatif::BinaryBytes(number).to_string()
}
