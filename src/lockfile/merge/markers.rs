//! Writes git's conflict markers around entries.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use super::{Conflict, ConflictReason, Merged};
use crate::diagnostic::Result;
use crate::hcl::trivia;
use crate::lockfile::canonical::push_block;
use crate::lockfile::conflicts::MarkerStyle;
use crate::lockfile::edit::self_check_failed;
use crate::lockfile::entry_kind::EntryKind;
use crate::lockfile::lock_file::LockFileOf;
use crate::lockfile::parse::parse_as;

/// Returns the bytes of `ours` with the merge's entries, and markers around each entry in conflict.
///
/// The rest of the file keeps our formatting; a conflict shows each side's entry as that side wrote
/// it. It shows the ancestor's entry where [`split_conflicts`](super::split_conflicts) needs it to
/// give the same conflicts again.
pub fn with_markers<T: EntryKind>(
    ours: &LockFileOf<T>,
    theirs: &LockFileOf<T>,
    merged: &Merged<T>,
    style: &MarkerStyle,
) -> Result<Vec<u8>> {
    let mut locks = merged.locks.clone();
    for conflict in &merged.conflicts {
        // An entry that we removed is put in its place, to be replaced by the conflict below.
        let entry = conflict.ours.as_ref().or(conflict.theirs.as_ref());
        if let Some(entry) = entry {
            locks.insert(conflict.address.clone(), Arc::clone(entry));
        }
    }
    let bytes = ours.edit(&locks)?;
    if merged.conflicts.is_empty() {
        return Ok(bytes);
    }
    // The edit has moved the blocks, so their positions are read from the new text.
    let lock_file = parse_as::<T>(&ours.file.path, &bytes, ours.dialect)
        .lock_file
        .ok_or_else(|| self_check_failed(&ours.file.path))?;
    let text = &lock_file.file.text;
    let line_break = trivia::dominant_line_break(text);
    let our_blocks = lines_of_entries(&lock_file);
    let their_blocks = lines_of_entries(theirs);
    let mut conflicts = Vec::new();
    for conflict in &merged.conflicts {
        if let Some(lines) = our_blocks.get(&conflict.address) {
            conflicts.push((lines.clone(), conflict));
        }
    }
    conflicts.sort_by_key(|(lines, _)| lines.start);

    let mut result = lock_file.byte_order_mark.to_vec();
    let mut position = 0;
    for (lines, conflict) in conflicts {
        let mut our_block = "";
        if conflict.ours.is_some() {
            our_block = &text[lines.clone()];
        }
        let mut their_block = "";
        if let Some(their_lines) = their_blocks.get(&conflict.address) {
            their_block = &theirs.file.text[their_lines.clone()];
        }
        // The empty side lacks the blank line above the block, too, so that the line is part of the
        // conflict.
        let mut start = lines.start;
        if our_block.is_empty() || their_block.is_empty() {
            start = start_with_blank_line_above(text, start);
        }
        let blank_line = &text[start..lines.start];
        let sides = [our_block, &ancestor_to_show(conflict), their_block].map(|block| {
            if block.is_empty() {
                String::new()
            } else {
                format!("{blank_line}{block}")
            }
        });
        result.extend_from_slice(&text.as_bytes()[position..start]);
        result.extend(conflict_text(&sides, style, line_break).into_bytes());
        position = lines.end;
    }
    result.extend_from_slice(&text.as_bytes()[position..]);
    Ok(result)
}

/// Returns the start of the line above the line that starts at `position`, if it is blank, or else
/// `position`.
fn start_with_blank_line_above(text: &str, position: usize) -> usize {
    let line_above = trivia::line_start(text, position.saturating_sub(1));
    if text[line_above..position].trim().is_empty() {
        line_above
    } else {
        position
    }
}

/// The common ancestor's entry, if the conflict has to show it, or else an empty text. Two versions
/// are a conflict without it.
fn ancestor_to_show<T: EntryKind>(conflict: &Conflict<T>) -> String {
    let mut text = String::new();
    if let Some(base) = &conflict.base
        && conflict.reason != ConflictReason::Versions
    {
        push_block(&mut text, &conflict.address, &**base);
    }
    text
}

/// One conflict, with the same line break everywhere.
fn conflict_text(
    [ours, base, theirs]: &[String; 3],
    style: &MarkerStyle,
    line_break: &str,
) -> String {
    let mut lines = vec![style.marker("<", &style.ours)];
    lines.extend(ours.lines().map(str::to_owned));
    if !base.is_empty() {
        lines.push(style.marker("|", "base"));
        lines.extend(base.lines().map(str::to_owned));
    }
    lines.push(style.marker("=", ""));
    lines.extend(theirs.lines().map(str::to_owned));
    lines.push(style.marker(">", &style.theirs));

    let mut text = String::new();
    for line in lines {
        text.push_str(&line);
        text.push_str(line_break);
    }
    text
}

impl MarkerStyle {
    /// A line such as `<<<<<<< ours`.
    fn marker(&self, character: &str, label: &str) -> String {
        let line = format!("{} {label}", character.repeat(self.size));
        line.trim_end().to_owned()
    }
}

/// The whole lines that each entry takes, with their line breaks.
fn lines_of_entries<T: EntryKind>(
    lock_file: &LockFileOf<T>,
) -> BTreeMap<&T::Address, Range<usize>> {
    let text = &lock_file.file.text;
    let mut lines = BTreeMap::new();
    for entry in &lock_file.entries {
        let span = &entry.layout.span;
        let start = trivia::line_start(text, span.start);
        let end = trivia::skip_line_break(text, trivia::line_end(text, span.end));
        lines.insert(&entry.address, start..end);
    }
    lines
}
