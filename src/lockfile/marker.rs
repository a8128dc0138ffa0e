//! The lines that git puts around conflicts.

/// How many characters a marker has unless git is told otherwise (`conflict-marker-size` in gitattributes(5)).
pub const MARKER_SIZE: usize = 7;

/// The size of markers with fewer characters than git's own, in a file that is no lock file because of them.
pub(super) fn short_size(bytes: &[u8]) -> Option<usize> {
    let can_be_read = |text: &str| hcl_edit::parser::parse_body(text).is_ok();
    let text = std::str::from_utf8(bytes).ok().filter(|text| !can_be_read(text))?;
    // Lines of a comment may look like markers of another size.
    (1..MARKER_SIZE).find(|size| {
        let ours = one_side(text, *size);
        ours.len() < text.len() && can_be_read(&ours)
    })
}

/// A file without markers of this size, and without what the other side of each conflict has.
fn one_side(text: &str, size: usize) -> String {
    let mut is_shown = true;
    let is_kept = |line: &&str| {
        let Some(Marker { character, .. }) = marker(line.as_bytes()).filter(|marker| marker.size == size) else {
            return is_shown;
        };
        is_shown = matches!(character, b'<' | b'>');
        false
    };
    text.split_inclusive('\n').filter(is_kept).collect()
}

/// A line that is a conflict marker.
pub(super) struct Marker {
    pub(super) character: u8,
    pub(super) size: usize,
    pub(super) label: String,
}

/// No line of a lock file starts with these characters, unless it is in a comment.
pub(super) fn marker(line: &[u8]) -> Option<Marker> {
    let character = *line.first().filter(|byte| b"<|=>".contains(byte))?;
    let size = line.iter().take_while(|byte| **byte == character).count();
    let rest = line[size..].trim_ascii_end();
    let is_marker = rest.is_empty() || rest.starts_with(b" ");
    is_marker.then(|| Marker { character, size, label: String::from_utf8_lossy(rest.trim_ascii_start()).into_owned() })
}
