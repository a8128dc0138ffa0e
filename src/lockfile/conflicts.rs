//! Reads both sides of a file with git's conflict markers.

use std::ops::Range;
use std::path::Path;

use crate::diagnostic::{Code, Diagnostic, Location, Result, SourceFile};

/// Default number of characters of a marker (`conflict-marker-size` in gitattributes(5)), and the
/// smallest number that is read.
pub const MARKER_SIZE: usize = 7;

/// Next step for a conflict whose sides cannot be read.
pub const TAKE_ONE_SIDE: &str =
    "take one side with `git checkout --ours` or `--theirs`, then lock again";

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
        Self {
            size: MARKER_SIZE,
            ours: "ours".to_owned(),
            theirs: "theirs".to_owned(),
        }
    }
}

/// The sides of a file with conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sides {
    /// Our file.
    pub ours: Vec<u8>,
    /// The common ancestor, if the conflicts show it. With `merge.conflictStyle` `zdiff3` it may be
    /// garbled.
    pub base: Vec<u8>,
    /// `true` if every conflict shows the ancestor (`merge.conflictStyle` `diff3`).
    pub base_is_complete: bool,
    /// Their file.
    pub theirs: Vec<u8>,
    /// The size of the first conflict's markers, and its labels.
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
    let mut sides = Sides {
        ours: Vec::new(),
        base: Vec::new(),
        base_is_complete: true,
        theirs: Vec::new(),
        style: MarkerStyle::default(),
    };
    let mut first_style: Option<MarkerStyle> = None;
    let mut is_first_conflict = true;
    let mut section = Section::Common;
    let mut last_opening = 0..0;
    let mut conflict_size = MARKER_SIZE;
    let mut start = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let span = start..start + line.len();
        start = span.end;
        let marker = match parse_marker(line) {
            Some(marker) if section == Section::Common || marker.size == conflict_size => marker,
            // git gives conflicts within the ancestor longer markers, which are text of that
            // section.
            _ => {
                sides.add_line(section, line);
                continue;
            }
        };
        section = match (section, marker.character) {
            (Section::Common, b'<') => {
                last_opening = span;
                conflict_size = marker.size;
                // Conflicts that `merge` leaves get the markers of the first conflict.
                first_style.get_or_insert(MarkerStyle {
                    size: marker.size,
                    ours: marker.label,
                    theirs: String::new(),
                });
                Section::Ours
            }
            (Section::Ours, b'|') => Section::Base,
            (Section::Ours, b'=') => {
                // This conflict does not show the ancestor, which git writes only with
                // `merge.conflictStyle` set to `diff3` or `zdiff3`.
                sides.base_is_complete = false;
                Section::Theirs
            }
            (Section::Base, b'=') => Section::Theirs,
            (Section::Theirs, b'>') => {
                if let Some(style) = &mut first_style
                    && is_first_conflict
                {
                    style.theirs = marker.label;
                }
                is_first_conflict = false;
                Section::Common
            }
            _ => {
                return Err(
                    misplaced_marker(path, bytes, span, "unexpected conflict marker").into(),
                );
            }
        };
    }
    if section != Section::Common {
        return Err(misplaced_marker(path, bytes, last_opening, "this conflict has no end").into());
    }
    match first_style {
        Some(style) => Ok(Some(Sides { style, ..sides })),
        None => Ok(None),
    }
}

impl Sides {
    /// Adds a line to the side of its section, or to all sides.
    fn add_line(&mut self, section: Section, line: &[u8]) {
        for (text, own) in [
            (&mut self.ours, Section::Ours),
            (&mut self.base, Section::Base),
            (&mut self.theirs, Section::Theirs),
        ] {
            if section == Section::Common || section == own {
                text.extend_from_slice(line);
            }
        }
    }
}

fn misplaced_marker(path: &Path, bytes: &[u8], marker: Range<usize>, text: &str) -> Diagnostic {
    // To replace bytes that are not UTF-8 may move the place by a few bytes, but not out of the
    // text.
    let file = SourceFile::new(path, String::from_utf8_lossy(bytes));
    let line_end = marker.start + bytes[marker.clone()].trim_ascii_end().len();

    Diagnostic::error(Code::ConflictMarkers, "the conflict markers do not match")
        .at(Location::new(&file, marker.start..line_end), text)
        .help(TAKE_ONE_SIDE)
}

/// A line that is a conflict marker.
struct Marker {
    character: u8,
    size: usize,
    label: String,
}

/// Parses a line such as `<<<<<<< ours`. Outside of comments, no line of a lock file starts with
/// one of these characters.
fn parse_marker(line: &[u8]) -> Option<Marker> {
    let character = *line.first().filter(|byte| b"<|=>".contains(byte))?;
    let size = line.iter().take_while(|byte| **byte == character).count();
    let rest = line[size..].trim_ascii_end();
    let is_marker = size >= MARKER_SIZE && (rest.is_empty() || rest.starts_with(b" "));
    is_marker.then(|| Marker {
        character,
        size,
        label: String::from_utf8_lossy(rest.trim_ascii_start()).into_owned(),
    })
}
