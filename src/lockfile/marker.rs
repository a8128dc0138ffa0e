//! The lines that git puts around conflicts.

/// Default number of characters of a marker (`conflict-marker-size` in gitattributes(5)), and the smallest number that
/// is read.
pub const MARKER_SIZE: usize = 7;

/// A line that is a conflict marker.
pub(super) struct Marker {
    pub(super) character: u8,
    pub(super) size: usize,
    pub(super) label: String,
}

/// Parses a line such as `<<<<<<< ours`. Outside of comments, no line of a lock file starts with one of these
/// characters.
pub(super) fn marker(line: &[u8]) -> Option<Marker> {
    let character = *line.first().filter(|byte| b"<|=>".contains(byte))?;
    let size = line.iter().take_while(|byte| **byte == character).count();
    let rest = line[size..].trim_ascii_end();
    let is_marker = size >= MARKER_SIZE && (rest.is_empty() || rest.starts_with(b" "));
    is_marker.then(|| Marker { character, size, label: String::from_utf8_lossy(rest.trim_ascii_start()).into_owned() })
}
