//! Editing a lock file: an entry that does not change stays byte for byte.

mod block;
mod canonical_block;

use std::path::Path;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::hcl::trivia::{self, Kind, tokens};
use crate::lockfile::canonical::{canonical_text, push_block};
use crate::lockfile::entry_kind::{EntryKind, LocksOf};
use crate::lockfile::lock_file::TopLevelBlock;
use crate::lockfile::{Entry, LockFileOf, SIZE_LIMIT};

pub(crate) use canonical_block::CanonicalBlock;
use canonical_block::{checked_text, records_exactly};

impl<T: EntryKind> LockFileOf<T> {
    /// Returns the bytes of the file when it records `new`. Entries that do not change, comments,
    /// blank lines between blocks, the order of blocks, line breaks, a byte order mark and a
    /// missing final line break stay. An entry that changes gets canonical form and keeps its
    /// comments.
    ///
    /// The result is read again before it is returned.
    ///
    /// # Errors
    /// The result is larger than [`SIZE_LIMIT`], so that it could not be read. Or it does not
    /// record `new`, which is a bug.
    pub fn edit(&self, new: &LocksOf<T>) -> Result<Vec<u8>> {
        self.edit_with(new, || None)
    }

    /// [`LockFileOf::edit`]. An empty file gets the canonical blocks of the entries `new`, in their
    /// order, if `blocks` returns them: a run over many root modules writes the same blocks into
    /// new files again and again.
    pub(crate) fn edit_with<'b>(
        &self,
        new: &LocksOf<T>,
        blocks: impl FnOnce() -> Option<Vec<&'b CanonicalBlock>>,
    ) -> Result<Vec<u8>> {
        // Without a change, even a file that is not canonical stays byte for byte.
        if self.locks == *new && !self.is_new {
            return Ok(self.bytes());
        }
        if self.byte_order_mark.is_empty()
            && self.file.text.is_empty()
            && let Some(blocks) = blocks()
            && let Some(text) = checked_text::<T>(&blocks, self.dialect)
        {
            return self.within_limit(text.into_bytes());
        }
        let bytes = self.within_limit(
            [
                self.byte_order_mark,
                self.edited_text(new, UnsortedHashes::Keep).as_bytes(),
            ]
            .concat(),
        )?;
        // The new bytes are read again, because an edit must never lose an entry or a hash.
        if records_exactly::<T>(&bytes, new) {
            Ok(bytes)
        } else {
            Err(self_check_failed(&self.file.path).into())
        }
    }

    /// Returns the bytes of the file with each list of hashes sorted and without duplicates. An
    /// entry whose list changes gets canonical form and keeps its comments.
    ///
    /// # Errors
    /// As [`LockFileOf::edit`].
    pub(super) fn with_sorted_hashes(&self) -> Result<Vec<u8>> {
        let text = self.edited_text(&self.locks, UnsortedHashes::Sort);
        let bytes = self.within_limit([self.byte_order_mark, text.as_bytes()].concat())?;
        if records_exactly::<T>(&bytes, &self.locks) {
            Ok(bytes)
        } else {
            Err(self_check_failed(&self.file.path).into())
        }
    }

    /// New bytes of the file.
    ///
    /// # Errors
    /// They are too many to be read again.
    fn within_limit(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        if bytes.len() as u64 > SIZE_LIMIT {
            Err(too_large(&self.file.path).into())
        } else {
            Ok(bytes)
        }
    }

    /// Returns the text of the file with the entries `new`. An empty file gets the canonical text.
    fn edited_text(&self, new: &LocksOf<T>, unsorted: UnsortedHashes) -> String {
        let text = &self.file.text;
        let line_break = trivia::dominant_line_break(text);
        if text.trim().is_empty() {
            let canonical = canonical_text::<T>(new, self.dialect);
            return if line_break == "\n" {
                canonical
            } else {
                canonical.replace('\n', line_break)
            };
        }

        // With a line break at the end, the last block is like the others.
        let mut terminated = text.clone();
        let has_final_break = text.ends_with('\n');
        if !has_final_break {
            terminated.push_str(line_break);
        }
        let mut layout = FileLayout::cut(self, new, &terminated, line_break, unsorted);
        for (address, locked) in new {
            if !self.locks.contains_key(address) {
                layout.insert_entry(address, locked);
            }
        }
        let mut edited = layout.into_text();
        if !has_final_break && edited.ends_with('\n') {
            edited.pop();
            if edited.ends_with('\r') {
                edited.pop();
            }
        }
        edited
    }
}

/// Treatment of entries that do not change, and whose hashes are unsorted or contain duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnsortedHashes {
    Keep,
    Sort,
}

impl UnsortedHashes {
    fn rewrites<T: EntryKind>(self, entry: &Entry<T>) -> bool {
        self == Self::Sort && !has_sorted_hashes(entry)
    }
}

/// Whether the hashes of an entry are sorted and without duplicates.
pub(super) fn has_sorted_hashes<T: EntryKind>(entry: &Entry<T>) -> bool {
    entry.hashes.is_sorted_by(|(one, _), (next, _)| one < next)
}

fn too_large(path: &Path) -> Diagnostic {
    let limit = SIZE_LIMIT / (1024 * 1024);
    let message = format!(
        "{} would become larger than {limit} MiB, so it stays as it is",
        path.display()
    );
    Diagnostic::error(Code::Io, message)
        .help("a lock file of that size cannot be read; lock fewer providers or platforms in it")
}

/// The error for a text that was just written and cannot be read back, which is a bug.
pub(super) fn self_check_failed(path: &Path) -> Diagnostic {
    let message = format!(
        "the edited {} does not have the expected content, so it stays as it is",
        path.display()
    );
    Diagnostic::error(Code::LockFileSyntax, message)
        .help("this is a bug of provlock: please report it")
}

/// A lock file cut at its top-level blocks; the pieces in their order are its text.
struct FileLayout<'a, T: EntryKind> {
    line_break: &'static str,
    sections: Vec<Section<'a, T>>,
    /// The text after the last block.
    rest: String,
}

/// A top-level block with the text above it.
struct Section<'a, T: EntryKind> {
    /// The entry's address; `None` for a block that is ignored.
    address: Option<&'a T::Address>,
    /// Comments that stand alone, such as the header, and blank lines above them.
    separate: String,
    /// The blank lines between the block and the text before it.
    blank_lines: String,
    /// The new block with the comments directly above it and the rest of its last line; `None` for
    /// a removed entry.
    block: Option<String>,
}

/// The text above an entry that was removed.
struct TextAbove {
    separate: String,
    blank_lines: String,
}

impl<'a, T: EntryKind> FileLayout<'a, T> {
    /// Cuts the text of a lock file. Entries that `new` lacks are removed with the comments
    /// directly above them.
    fn cut(
        lock_file: &'a LockFileOf<T>,
        new: &LocksOf<T>,
        text: &str,
        line_break: &'static str,
        unsorted: UnsortedHashes,
    ) -> Self {
        let mut start = 0;
        let mut sections = Vec::with_capacity(lock_file.blocks.len());
        for TopLevelBlock { span, entry } in &lock_file.blocks {
            let attached = start_of_attached_comments::<T>(text, start, span.start);
            let separate_end = start_of_blank_lines(text, start, attached);
            let end = trivia::skip_line_break(text, trivia::line_end(text, span.end));
            let entry = entry.map(|index| &lock_file.entries[index]);
            let mut block = Some(text[attached..end].to_owned());
            if let Some(entry) = entry {
                match new.get(&entry.address) {
                    None => block = None,
                    // A repair also rewrites an entry with equal values whose hashes are not
                    // sorted.
                    Some(locked) if *locked != entry.locked || unsorted.rewrites(entry) => {
                        let rewritten = block::rewritten(text, entry, &**locked, line_break);
                        let comments = &text[attached..span.start];
                        let rest_of_line = &text[span.end..end];
                        block = Some([comments, &rewritten, rest_of_line].concat());
                    }
                    Some(_) => {}
                }
            }
            let address = entry.map(|entry| &entry.address);
            sections.push(Section {
                address,
                separate: text[start..separate_end].to_owned(),
                blank_lines: text[separate_end..attached].to_owned(),
                block,
            });
            start = end;
        }
        Self {
            line_break,
            sections,
            rest: text[start..].to_owned(),
        }
    }

    /// Adds a new entry before the first entry with a greater address, or else after the last
    /// entry.
    fn insert_entry(&mut self, address: &'a T::Address, locked: &T) {
        let mut block = String::new();
        push_block(&mut block, address, locked);
        let mut section = Section {
            address: Some(address),
            separate: String::new(),
            blank_lines: self.line_break.to_owned(),
            block: Some(block.replace('\n', self.line_break)),
        };
        if let Some(index) = self
            .sections
            .iter()
            .position(|section| section.address.is_some_and(|other| other > address))
        {
            // Comments that stand alone stay above the new block, so that the header remains on
            // top.
            let next = &mut self.sections[index];
            section.separate = std::mem::take(&mut next.separate);
            // A block on top of a file has no blank line above it.
            if index == 0 && section.separate.is_empty() {
                section.blank_lines.clone_from(&next.blank_lines);
            }
            if next.blank_lines.is_empty() {
                next.blank_lines.push_str(self.line_break);
            }
            self.sections.insert(index, section);
        } else if let Some(index) = self
            .sections
            .iter()
            .rposition(|section| section.address.is_some())
        {
            self.sections.insert(index + 1, section);
        } else {
            section.separate = std::mem::take(&mut self.rest);
            // A header that ends with a blank line needs no other one.
            if start_of_blank_lines(&section.separate, 0, section.separate.len())
                < section.separate.len()
            {
                section.blank_lines.clear();
            }
            self.sections.push(section);
        }
    }

    /// Joins the sections of the file.
    fn into_text(self) -> String {
        let mut text = String::new();
        // The text after removed entries takes their place, after the separate comments before
        // them.
        let mut removed: Option<TextAbove> = None;
        for Section {
            mut separate,
            mut blank_lines,
            block,
            ..
        } in self.sections
        {
            if let Some(before) = removed.take() {
                if separate.is_empty() {
                    blank_lines = before.blank_lines;
                }
                separate.insert_str(0, &before.separate);
            }
            match block {
                Some(block) => text.extend([separate, blank_lines, block]),
                None => {
                    removed = Some(TextAbove {
                        separate,
                        blank_lines,
                    });
                }
            }
        }
        if let Some(before) = removed {
            text.push_str(&before.separate);
        }
        text + &self.rest
    }
}

/// The start of the comments directly above a block at `block`, without a blank line between.
///
/// `start` is after the line of the previous block. The two lines of the file's header belong to no
/// block.
fn start_of_attached_comments<T: EntryKind>(text: &str, start: usize, block: usize) -> usize {
    let mut attached = start;
    let mut line_is_blank = true;
    for token in tokens(text, start..block) {
        let end = token.span.end;
        match token.kind {
            Kind::LineBreak if line_is_blank => attached = end,
            Kind::LineBreak => line_is_blank = true,
            Kind::Space => {}
            _ => line_is_blank = false,
        }
        if token.kind == Kind::LineComment && T::is_header_line(&text[token.span]) {
            attached = trivia::skip_line_break(text, end);
        }
    }
    attached
}

/// The start of the blank lines that end at `end`, not before `start`. Both are starts of lines.
fn start_of_blank_lines(text: &str, start: usize, end: usize) -> usize {
    let mut position = end;
    while position > start {
        let line = trivia::line_start(text, position - 1).max(start);
        if !text[line..position].trim().is_empty() {
            break;
        }
        position = line;
    }
    position
}
