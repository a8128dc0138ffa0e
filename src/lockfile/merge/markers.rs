//! Git's conflict markers: reads both sides of a file, and writes markers around entries.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use crate::diagnostic::{Code, Diagnostic, Location, Result, SourceFile};

use super::{Conflict, ConflictReason, Merged};
use crate::hcl::trivia;
use crate::lockfile::canonical::push_block;
use crate::lockfile::edit::self_check_failed;
use crate::lockfile::entry_kind::EntryKind;
use crate::lockfile::lock_file::LockFileOf;
use crate::lockfile::parse::{MARKER_SIZE, parse_as};

/// Format of conflict markers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkerStyle {
    /// Number of characters of a marker.
    pub size: usize,
    /// Label of our side; may be empty.
    pub ours: String,
    /// Label of their side; may be empty.
    pub theirs: String,
}

impl Default for MarkerStyle {
    fn default() -> Self {
        Self { size: MARKER_SIZE, ours: "ours".to_owned(), theirs: "theirs".to_owned() }
    }
}

/// The sides of a file with conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
    /// Our file.
    pub ours: Vec<u8>,
    /// The common ancestor, if the conflicts show it. With `merge.conflictStyle` `zdiff3` it may be garbled.
    pub base: Vec<u8>,
    /// `true` if every conflict shows the ancestor (`merge.conflictStyle` `diff3`).
    pub base_is_complete: bool,
    /// Their file.
    pub theirs: Vec<u8>,
    /// The size of the first conflict's markers, and the names of the sides.
    pub style: MarkerStyle,
}

/// Part of a file with conflicts that a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Common,
    Ours,
    Base,
    Theirs,
}

/// Splits a file with conflict markers into its sides; `None` if it has no conflicts.
///
/// `path` is how an error names the file. Markers that do not belong together are an error.
pub fn split_conflicts(path: &Path, bytes: &[u8]) -> Result<Option<Sides>> {
    let (mut ours, mut base, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    let (mut section, mut start, mut base_is_complete) = (Section::Common, 0, true);
    let mut style: Option<MarkerStyle> = None;
    let mut last_opened = (0..0, MARKER_SIZE);
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let place = start..start + line.len();
        start = place.end;
        // Within a conflict, markers of another size are text: git shows conflicts of the ancestors so.
        let is_marker = |marker: &Marker| section == Section::Common || marker.size == last_opened.1;
        let marker = marker(line).filter(is_marker);
        let Some(marker) = marker else {
            for (text, own) in [(&mut ours, Section::Ours), (&mut base, Section::Base), (&mut theirs, Section::Theirs)]
            {
                if section == Section::Common || section == own {
                    text.extend_from_slice(line);
                }
            }
            continue;
        };
        section = match (section, marker.character) {
            (Section::Common, b'<') => {
                last_opened = (place, marker.size);
                style.get_or_insert(MarkerStyle { size: marker.size, ours: marker.label, theirs: String::new() });
                Section::Ours
            }
            (Section::Ours, b'|') => Section::Base,
            (Section::Ours, b'=') => {
                base_is_complete = false;
                Section::Theirs
            }
            (Section::Base, b'=') => Section::Theirs,
            (Section::Theirs, b'>') => {
                style = style.map(|style| MarkerStyle { theirs: marker.label, ..style });
                Section::Common
            }
            _ => return Err(misplaced(path, bytes, place, "unexpected conflict marker").into()),
        };
    }
    if section != Section::Common {
        return Err(misplaced(path, bytes, last_opened.0, "this conflict has no end").into());
    }
    Ok(style.map(|style| Sides { ours, base, base_is_complete, theirs, style }))
}

fn misplaced(path: &Path, bytes: &[u8], place: Range<usize>, text: &str) -> Diagnostic {
    // To replace bytes that are not UTF-8 may move the place by a few bytes, but not out of the text.
    let file = SourceFile::new(path, String::from_utf8_lossy(bytes));
    let line_end = place.start + bytes[place.clone()].trim_ascii_end().len();

    Diagnostic::error(Code::ConflictMarkers, "the conflict markers do not match")
        .at(Location::new(&file, place.start..line_end), text)
        .help("take one side with `git checkout --ours` or `--theirs`, then lock again")
}

/// The bytes of `ours` with the merge's entries, and markers around each entry in conflict.
///
/// The rest of the file keeps our formatting; a conflict shows each side's entry as that side wrote it. It shows the
/// ancestor's entry where [`split_conflicts`] needs it to give the same conflicts again.
pub fn with_markers<T: EntryKind>(
    ours: &LockFileOf<T>,
    theirs: &LockFileOf<T>,
    merged: &Merged<T>,
    style: &MarkerStyle,
) -> Result<Vec<u8>> {
    let mut locks = merged.locks.clone();
    // An entry that we removed is put in its place, to be replaced by the conflict below.
    let shown = |conflict: &Conflict<T>| conflict.ours.clone().or(conflict.theirs.clone());
    locks.extend(merged.conflicts.iter().filter_map(|c| Some((c.address.clone(), shown(c)?))));
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
    let mut conflicts: Vec<_> =
        merged.conflicts.iter().filter_map(|c| Some((our_blocks.get(&c.address)?.clone(), c))).collect();
    conflicts.sort_by_key(|(place, _)| place.start);
    let mut result = lock_file.mark.to_vec();
    let mut position = 0;
    for (place, conflict) in conflicts {
        let ours = if conflict.ours.is_some() { &text[place.clone()] } else { "" };
        let theirs = their_blocks.get(&conflict.address).map_or("", |place| &theirs.file.text[place.clone()]);
        let sides = [ours, &ancestor(conflict), theirs];
        // The empty side lacks the blank line above the block, too.
        let gap = if ours.is_empty() || theirs.is_empty() {
            blank_line_above(text, place.start)
        } else {
            place.start..place.start
        };
        let sides =
            sides.map(|side| if side.is_empty() { String::new() } else { format!("{}{side}", &text[gap.clone()]) });
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
    if text[start..position].trim().is_empty() { start..position } else { position..position }
}

/// The common ancestor's entry, if the conflict has to show it. Two versions are a conflict without it.
fn ancestor<T: EntryKind>(conflict: &Conflict<T>) -> String {
    let mut text = String::new();
    if let (Some(base), false) = (&conflict.base, conflict.reason == ConflictReason::Versions) {
        push_block(&mut text, &conflict.address, &**base);
    }
    text
}

/// One conflict, with the same line break everywhere.
fn conflict_text([ours, base, theirs]: &[String; 3], style: &MarkerStyle, line_break: &str) -> String {
    let marker =
        |character: &str, label: &str| format!("{} {label}", character.repeat(style.size)).trim_end().to_owned();
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
    lock_file.entries.iter().map(|entry| (&entry.address, lines(&entry.layout.span))).collect()
}

/// A line that is a conflict marker.
struct Marker {
    character: u8,
    size: usize,
    label: String,
}

/// Parses a line such as `<<<<<<< ours`. Outside of comments, no line of a lock file starts with one of these
/// characters.
fn marker(line: &[u8]) -> Option<Marker> {
    let character = *line.first().filter(|byte| b"<|=>".contains(byte))?;
    let size = line.iter().take_while(|byte| **byte == character).count();
    let rest = line[size..].trim_ascii_end();
    let is_marker = size >= MARKER_SIZE && (rest.is_empty() || rest.starts_with(b" "));
    is_marker.then(|| Marker { character, size, label: String::from_utf8_lossy(rest.trim_ascii_start()).into_owned() })
}
