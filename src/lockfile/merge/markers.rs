//! Writes git's conflict markers around entries.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{Conflict, ConflictReason, Merged};
use crate::diagnostic::Result;
use crate::hcl::trivia;
use crate::lockfile::canonical::push_block;
use crate::lockfile::conflicts::MarkerStyle;
use crate::lockfile::edit::self_check_failed;
use crate::lockfile::entry_kind::EntryKind;
use crate::lockfile::lock_file::LockFileOf;
use crate::lockfile::parse::parse_as;

/// The bytes of `ours` with the merge's entries, and markers around each entry in conflict.
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
    // An entry that we removed is put in its place, to be replaced by the conflict below.
    let shown = |conflict: &Conflict<T>| conflict.ours.clone().or(conflict.theirs.clone());
    locks.extend(
        merged
            .conflicts
            .iter()
            .filter_map(|c| Some((c.address.clone(), shown(c)?))),
    );
    let bytes = ours.edit(&locks)?;
    if merged.conflicts.is_empty() {
        return Ok(bytes);
    }
    let lock_file = parse_as::<T>(&ours.file.path, &bytes, ours.dialect)
        .lock_file
        .ok_or_else(|| self_check_failed(&ours.file.path))?;
    let text = &lock_file.file.text;
    let line_break = trivia::dominant_line_break(text);
    let (our_blocks, their_blocks) = (blocks(&lock_file), blocks(theirs));
    let mut conflicts: Vec<_> = merged
        .conflicts
        .iter()
        .filter_map(|c| Some((our_blocks.get(&c.address)?.clone(), c)))
        .collect();
    conflicts.sort_by_key(|(place, _)| place.start);
    let mut result = lock_file.mark.to_vec();
    let mut position = 0;
    for (place, conflict) in conflicts {
        let ours = if conflict.ours.is_some() {
            &text[place.clone()]
        } else {
            ""
        };
        let theirs = their_blocks
            .get(&conflict.address)
            .map_or("", |place| &theirs.file.text[place.clone()]);
        let sides = [ours, &ancestor(conflict), theirs];
        // The empty side lacks the blank line above the block, too.
        let gap = if ours.is_empty() || theirs.is_empty() {
            blank_line_above(text, place.start)
        } else {
            place.start..place.start
        };
        let sides = sides.map(|side| {
            if side.is_empty() {
                String::new()
            } else {
                format!("{}{side}", &text[gap.clone()])
            }
        });
        result.extend_from_slice(&text.as_bytes()[position..gap.start]);
        result.extend(conflict_text(&sides, style, line_break).into_bytes());
        position = place.end;
    }
    result.extend_from_slice(&text.as_bytes()[position..]);
    Ok(result)
}

/// The line above the line that starts at `position`, if it is blank; or else an empty range.
fn blank_line_above(text: &str, position: usize) -> Range<usize> {
    let start = trivia::line_start(text, position.saturating_sub(1));
    if text[start..position].trim().is_empty() {
        start..position
    } else {
        position..position
    }
}

/// The common ancestor's entry, if the conflict has to show it. Two versions are a conflict without
/// it.
fn ancestor<T: EntryKind>(conflict: &Conflict<T>) -> String {
    let mut text = String::new();
    if let (Some(base), false) = (&conflict.base, conflict.reason == ConflictReason::Versions) {
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
    let marker = |character: &str, label: &str| {
        format!("{} {label}", character.repeat(style.size))
            .trim_end()
            .to_owned()
    };
    let mut lines = vec![marker("<", &style.ours)];
    lines.extend(ours.lines().map(str::to_owned));
    if !base.is_empty() {
        lines.push(marker("|", "base"));
        lines.extend(base.lines().map(str::to_owned));
    }
    lines.push(marker("=", ""));
    lines.extend(theirs.lines().map(str::to_owned));
    lines.push(marker(">", &style.theirs));
    lines.iter().flat_map(|line| [line, line_break]).collect()
}

/// The whole lines that each entry takes, with their line breaks.
fn blocks<T: EntryKind>(lock_file: &LockFileOf<T>) -> BTreeMap<&T::Address, Range<usize>> {
    let text = &lock_file.file.text;
    let end = |end| trivia::skip_line_break(text, trivia::line_end(text, end));
    let lines = |span: &Range<usize>| trivia::line_start(text, span.start)..end(span.end);
    lock_file
        .entries
        .iter()
        .map(|entry| (&entry.address, lines(&entry.layout.span)))
        .collect()
}
