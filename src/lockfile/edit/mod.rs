//! Editing a lock file: an entry that does not change stays byte for byte.

mod block;
mod canonical_blocks;

use std::path::Path;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::hcl::trivia::{self, Kind, tokens};
use crate::lockfile::canonical::{canonical_text, push_block};
use crate::lockfile::entry_kind::{EntryKind, LocksOf};
use crate::lockfile::lock_file::TopLevelBlock;
use crate::lockfile::{Entry, LockFileOf, SIZE_LIMIT};

pub(crate) use canonical_blocks::CanonicalBlocks;
use canonical_blocks::says;

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
        self.edit_with(new, &CanonicalBlocks::<T>::default())
    }

    /// [`LockFileOf::edit`], with the blocks that many lock files have in common.
    pub(crate) fn edit_with(
        &self,
        new: &LocksOf<T>,
        blocks: &CanonicalBlocks<T>,
    ) -> Result<Vec<u8>> {
        // Without a change, even a file that is not canonical stays byte for byte.
        if self.locks == *new && !self.is_new {
            return Ok(self.bytes());
        }
        // A run over many root modules writes the same blocks into new files again and again.
        if self.mark.is_empty()
            && self.file.text.is_empty()
            && let Some(text) = blocks.checked_text(new, self.dialect)
        {
            return self.within_limit(text.into_bytes());
        }
        let bytes = self.within_limit(
            [
                self.mark,
                self.edited_text(new, UnsortedHashes::Keep).as_bytes(),
            ]
            .concat(),
        )?;
        // The new bytes are read again, because an edit must never lose an entry or a hash.
        if says::<T>(&bytes, new) {
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
        let bytes = self.within_limit([self.mark, text.as_bytes()].concat())?;
        if says::<T>(&bytes, &self.locks) {
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
            let text = canonical_text::<T>(new, self.dialect);
            return if line_break == "\n" {
                text
            } else {
                text.replace('\n', line_break)
            };
        }
        // With a line break at the end, the last block is like the others.
        let has_end = text.ends_with('\n');
        let text = if has_end {
            text.clone()
        } else {
            format!("{text}{line_break}")
        };
        let mut layout = FileLayout::read(self, new, &text, line_break, unsorted);
        for (address, locked) in new
            .iter()
            .filter(|(address, _)| !self.locks.contains_key(address))
        {
            layout.add(address, locked);
        }
        let edited = layout.text();
        let without_end = edited
            .strip_suffix("\r\n")
            .or_else(|| edited.strip_suffix('\n'))
            .unwrap_or(&edited);
        if has_end {
            edited
        } else {
            without_end.to_owned()
        }
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
    loose: String,
    /// The blank lines between the block and the text before it.
    blank: String,
    /// The new block with the comments directly above it and the rest of its last line; `None` for
    /// a removed entry.
    block: Option<String>,
}

impl<'a, T: EntryKind> FileLayout<'a, T> {
    /// Cuts the text of a lock file. Entries that `new` lacks are removed with the comments
    /// directly above them.
    fn read(
        lock_file: &'a LockFileOf<T>,
        new: &LocksOf<T>,
        text: &str,
        line_break: &'static str,
        unsorted: UnsortedHashes,
    ) -> Self {
        let mut start = 0;
        let mut sections = Vec::with_capacity(lock_file.blocks.len());
        for TopLevelBlock { span, entry } in &lock_file.blocks {
            let attached = attached_start::<T>(text, start, span.start);
            let loose = blank_start(text, start, attached);
            let end = trivia::skip_line_break(text, trivia::line_end(text, span.end));
            let entry = entry.map(|index| &lock_file.entries[index]);
            let block = match entry.map(|entry| (entry, new.get(&entry.address))) {
                Some((_, None)) => None,
                Some((entry, Some(locked)))
                    // A repair also rewrites an entry with equal values whose hashes are not
                    // sorted.
                    if *locked != entry.locked || unsorted.rewrites(entry) =>
                {
                    let rewritten = block::rewritten(text, entry, &**locked, line_break);
                    Some(
                        [
                            &text[attached..span.start],
                            &rewritten,
                            &text[span.end..end],
                        ]
                        .concat(),
                    )
                }
                _ => Some(text[attached..end].to_owned()),
            };
            let address = entry.map(|entry| &entry.address);
            sections.push(Section {
                address,
                loose: text[start..loose].to_owned(),
                blank: text[loose..attached].to_owned(),
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
    fn add(&mut self, address: &'a T::Address, locked: &T) {
        let mut block = String::new();
        push_block(&mut block, address, locked);
        let mut section = Section {
            address: Some(address),
            loose: String::new(),
            blank: self.line_break.to_owned(),
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
            section.loose = std::mem::take(&mut next.loose);
            // A block on top of a file has no blank line above it.
            if index == 0 && section.loose.is_empty() {
                section.blank.clone_from(&next.blank);
            }
            if next.blank.is_empty() {
                next.blank.push_str(self.line_break);
            }
            self.sections.insert(index, section);
        } else if let Some(index) = self
            .sections
            .iter()
            .rposition(|section| section.address.is_some())
        {
            self.sections.insert(index + 1, section);
        } else {
            section.loose = std::mem::take(&mut self.rest);
            // A header that ends with a blank line needs no other one.
            if blank_start(&section.loose, 0, section.loose.len()) < section.loose.len() {
                section.blank.clear();
            }
            self.sections.push(section);
        }
    }

    /// Joins the sections of the file.
    fn text(self) -> String {
        let mut text = String::new();
        // The text after removed entries takes their place, after the separate comments before
        // them.
        let mut removed: Option<(String, String)> = None;
        for Section {
            mut loose,
            mut blank,
            block,
            ..
        } in self.sections
        {
            if let Some((loose_before, blank_before)) = removed.take() {
                if loose.is_empty() {
                    blank = blank_before;
                }
                loose.insert_str(0, &loose_before);
            }
            match block {
                Some(block) => text.extend([loose, blank, block]),
                None => removed = Some((loose, blank)),
            }
        }
        text.extend(
            removed
                .map(|(loose, _)| loose)
                .into_iter()
                .chain([self.rest]),
        );
        text
    }
}

/// The start of the comments directly above a block at `block`, without a blank line between.
///
/// `start` is after the line of the previous block. The two lines of the file's header belong to no
/// block.
fn attached_start<T: EntryKind>(text: &str, start: usize, block: usize) -> usize {
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
fn blank_start(text: &str, start: usize, end: usize) -> usize {
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
