//! Comments of a lock file that stand on lines of their own.

use crate::diagnostic::Location;

use super::LockFileOf;
use super::lock_file::Entry;
use super::locked::Locked;
use super::provider::LockedProvider;

/// A line with a comment only.
pub(crate) struct CommentLine<'a, T: Locked = LockedProvider> {
    /// The comment, with `#` or `//`.
    pub text: &'a str,
    /// Position of the comment.
    pub location: Location,
    /// The entry directly below, with at most other such lines between.
    pub entry: Option<&'a Entry<T>>,
}

impl<T: Locked> LockFileOf<T> {
    /// The lines with a comment only, in file order.
    pub(crate) fn comment_lines(&self) -> Vec<CommentLine<'_, T>> {
        let mut lines: Vec<CommentLine<'_, T>> = Vec::new();
        // The entry of the lines before this index is known.
        let mut settled = 0;
        let mut start = 0;
        for line in self.file.text.split_inclusive('\n') {
            let text = line.trim();
            let first = start + line.len() - line.trim_start().len();
            if text.starts_with('#') || text.starts_with("//") {
                let location = Location::new(&self.file, first..first + text.len());
                lines.push(CommentLine { text, location, entry: None });
            } else {
                let entry = self.entry_at(first).filter(|entry| !text.is_empty() && entry.layout.span.start == first);
                lines[settled..].iter_mut().for_each(|line| line.entry = entry);
                settled = lines.len();
            }
            start += line.len();
        }
        lines
    }

    /// The text of the entry that a place in it is in.
    pub(crate) fn text_at(&self, offset: usize) -> Option<&str> {
        self.entry_at(offset).map(|entry| &self.file.text[entry.layout.span.clone()])
    }

    /// The entry that a place in the text is in.
    pub(crate) fn entry_at(&self, offset: usize) -> Option<&Entry<T>> {
        let index = self.entries.partition_point(|entry| entry.layout.span.start <= offset);
        let entry = self.entries.get(index.checked_sub(1)?)?;
        entry.layout.span.contains(&offset).then_some(entry)
    }
}
