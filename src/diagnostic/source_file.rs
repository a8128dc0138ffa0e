//! Files that diagnostics point into.

use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// A text file that was read, under the name that the user knows it by.
#[derive(derive_more::Debug)]
#[debug("{}", path.display())]
pub struct SourceFile {
    /// The path as it is shown.
    pub path: PathBuf,
    /// The whole text.
    pub text: String,
    /// Whether the text is masked, because it may contain secrets, so that no line of it is shown.
    /// Such a file belongs to the user, whether it is in the repository or not.
    pub is_private: bool,
    /// Whether the file is in a package of a module that was fetched, so that no repository or
    /// editor of the user has it.
    pub is_fetched: bool,
    /// Line and column at each multiple of [`Position::DISTANCE`] in the text, when they are
    /// needed.
    positions: OnceLock<Vec<Position>>,
}

/// Line and column of a byte, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    line: usize,
    column: usize,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    /// The file.
    pub file: Arc<SourceFile>,
    /// Byte range in the file's text.
    pub span: Range<usize>,
}

/// The character that stands for one of a private file.
fn masked(c: char) -> char {
    match c.len_utf8() {
        _ if c == '\n' => c,
        1 => '*',
        2 => '·',
        3 => '•',
        _ => '🞄',
    }
}

impl SourceFile {
    /// A file's text under the path it is shown by.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self::with_text(path.into(), text.into()))
    }

    /// A file of a package that was fetched, under the address that it is shown by.
    pub(crate) fn fetched(path: impl Into<PathBuf>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self {
            is_fetched: true,
            ..Self::with_text(path.into(), text.into())
        })
    }

    fn with_text(path: PathBuf, text: String) -> Self {
        Self {
            path,
            text,
            is_private: false,
            is_fetched: false,
            positions: OnceLock::new(),
        }
    }

    /// Creates a file of the user that may contain secrets. All characters but line breaks are
    /// masked by others of the same length, so that offsets, lines and columns stay valid.
    pub fn private(path: impl Into<PathBuf>, text: &str) -> Arc<Self> {
        let masked = text.chars().map(masked).collect();
        Arc::new(Self {
            is_private: true,
            ..Self::with_text(path.into(), masked)
        })
    }

    /// Line and column, both from 1, of a byte offset; columns count characters. The first call for
    /// a file reads all of its text, others only a little.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset.min(self.text.len()));
        let bytes = self.text.as_bytes();
        // Positions at regular distances, so that a later call reads only the text after the last
        // one.
        let positions = self.positions.get_or_init(|| {
            let mut positions = vec![Position { line: 1, column: 1 }];
            for chunk in bytes.chunks(Position::DISTANCE) {
                positions.extend(positions.last().map(|position| position.after(chunk)));
            }
            positions
        });
        let index = offset / Position::DISTANCE;
        let Position { line, column } =
            positions[index].after(&bytes[index * Position::DISTANCE..offset]);
        (line, column)
    }
}

impl Position {
    /// Bytes between the places whose positions are known.
    const DISTANCE: usize = 1024;

    /// The position after some bytes of UTF-8, which may begin or end within a character.
    fn after(self, bytes: &[u8]) -> Self {
        let line_start = memchr::memrchr(b'\n', bytes).map_or(0, |newline| newline + 1);
        let lines = memchr::memchr_iter(b'\n', &bytes[..line_start]).count();
        let characters = bytes[line_start..]
            .iter()
            // These bytes continue a character, which its first byte counts.
            .filter(|byte| !matches!(byte, 0x80..0xc0))
            .count();
        Self {
            line: self.line + lines,
            column: if lines == 0 {
                self.column + characters
            } else {
                1 + characters
            },
        }
    }
}

/// By path and text.
impl PartialEq for SourceFile {
    fn eq(&self, other: &Self) -> bool {
        self.path == other.path && self.text == other.text
    }
}

impl Eq for SourceFile {}

/// By the path alone: a text may be long, and few have the same path.
impl Hash for SourceFile {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.path.hash(state);
    }
}

impl Location {
    /// A byte range of a file.
    pub fn new(file: &Arc<SourceFile>, span: Range<usize>) -> Self {
        Self {
            file: Arc::clone(file),
            span,
        }
    }

    /// The start of a file, for a diagnostic about the file as a whole.
    pub fn of_file(path: impl Into<PathBuf>) -> Self {
        Self::new(&SourceFile::new(path, ""), 0..0)
    }

    /// The start of the same file, without its text.
    #[must_use]
    pub fn without_text(&self) -> Self {
        let file = if self.file.is_fetched {
            SourceFile::fetched(self.path(), "")
        } else {
            SourceFile::new(self.path(), "")
        };
        Self::new(&file, 0..0)
    }

    /// The file's path.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Line and column of the start, both from 1.
    pub fn line_column(&self) -> (usize, usize) {
        self.file.line_column(self.span.start)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_private_file_has_positions_and_no_text() {
        let file = SourceFile::private("rc", "a = \"é€\n😀b\"");
        assert_eq!(
            (file.text.as_str(), file.line_column(12)),
            ("*****·•\n🞄**", (2, 1))
        );
        assert_eq!(file.line_column(7), (1, 7));
    }

    proptest! {
        #[test]
        fn line_and_column_are_counted_from_the_start(
            pieces in proptest::collection::vec(
                prop_oneof![
                    Just("a"), Just("\u{e9}"), Just("\u{1f980}\u{1f980}"), Just("\n"), Just("\r\n"), Just("0123456789"),
                ],
                0..1000,
            ),
            offset in 0_usize..5000,
        ) {
            let file = SourceFile::new("f", pieces.concat());
            let before = &file.text[..file.text.floor_char_boundary(offset.min(file.text.len()))];
            let line = before.split('\n').next_back().unwrap_or_default();
            prop_assert_eq!(file.line_column(offset), (before.matches('\n').count() + 1, line.chars().count() + 1));
            prop_assert_eq!(file.line_column(usize::MAX).0, file.text.matches('\n').count() + 1);
        }
    }
}
