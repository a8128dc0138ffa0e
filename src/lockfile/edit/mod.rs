//! Editing a lock file: an entry that does not change stays byte for byte.

mod block;
mod canonical_blocks;

use std::path::Path;

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::hcl::trivia::{self, Kind, tokens};
use crate::lockfile::canonical::{canonical_text, push_block};
use crate::lockfile::locked::{Locked, LocksOf};
use crate::lockfile::{LockFileOf, SIZE_LIMIT};
use crate::system::files::BYTE_ORDER_MARK;

pub(crate) use canonical_blocks::CanonicalBlocks;
use canonical_blocks::says;

impl<T: Locked> LockFileOf<T> {
    /// Returns the bytes of the file when it records `new`. Entries that do not change, comments, blank lines between
    /// blocks, the order of blocks, line breaks, a byte order mark and a missing final line break stay. An entry that
    /// changes gets canonical form and keeps its comments.
    ///
    /// The result is read again before it is returned.
    ///
    /// # Errors
    /// The result is larger than [`SIZE_LIMIT`], so that it could not be read. Or it does not record `new`, which is a
    /// bug.
    pub fn edit(&self, new: &LocksOf<T>) -> Result<Vec<u8>> {
        self.edit_with(new, &CanonicalBlocks::<T>::default())
    }

    /// [`LockFileOf::edit`], with the blocks that many lock files have in common.
    pub(crate) fn edit_with(&self, new: &LocksOf<T>, blocks: &CanonicalBlocks<T>) -> Result<Vec<u8>> {
        if self.locks == *new && !self.is_new {
            return Ok(self.bytes.clone());
        }
        if self.bytes.is_empty()
            && let Some(text) = blocks.checked_text(new, self.dialect)
        {
            return self.within_limit(text.into_bytes());
        }
        let mut bytes = if self.bytes.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.to_vec() } else { Vec::new() };
        let text = self.edited_text(new);
        bytes.extend_from_slice(text.as_bytes());
        let bytes = self.within_limit(bytes)?;
        if says::<T>(&bytes, new) { Ok(bytes) } else { Err(self_check_failed(&self.file.path).into()) }
    }

    /// New bytes of the file.
    ///
    /// # Errors
    /// They are too many to be read again.
    fn within_limit(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        if bytes.len() as u64 > SIZE_LIMIT { Err(too_large(&self.file.path).into()) } else { Ok(bytes) }
    }

    fn edited_text(&self, new: &LocksOf<T>) -> String {
        let text = &self.file.text;
        let line_break = trivia::dominant_line_break(text);
        if text.trim().is_empty() {
            let text = canonical_text::<T>(new, self.dialect);
            return if line_break == "\n" { text } else { text.replace('\n', line_break) };
        }
        // With a line break at the end, the last block is like the others.
        let has_end = text.ends_with('\n');
        let text = if has_end { text.clone() } else { format!("{text}{line_break}") };
        let mut layout = FileLayout::read(self, &text, line_break);
        layout.add(self, new);
        layout.change(self, new);
        let edited = layout.text();
        let without_end = edited.strip_suffix("\r\n").or_else(|| edited.strip_suffix('\n')).filter(|_| !has_end);
        without_end.unwrap_or(&edited).to_owned()
    }
}

fn too_large(path: &Path) -> Diagnostic {
    let limit = SIZE_LIMIT / (1024 * 1024);
    let message = format!("{} would become larger than {limit} MiB, so it stays as it is", path.display());
    Diagnostic::error(Code::Io, message)
        .help("a lock file of that size cannot be read; lock fewer providers or platforms in it")
}

/// The error for a text that was just written and cannot be read back, which is a bug.
pub(super) fn self_check_failed(path: &Path) -> Diagnostic {
    let message = format!("the edited {} does not have the expected content, so it stays as it is", path.display());
    Diagnostic::error(Code::LockFileSyntax, message).help("this is a bug of provlock: please report it")
}

/// A lock file cut at its top-level blocks; the pieces in their order are its text.
struct FileLayout<T: Locked> {
    line_break: &'static str,
    sections: Vec<Section<T>>,
    /// The text after the last block.
    rest: String,
}

/// A top-level block with the lines above it that belong to it.
struct Section<T: Locked> {
    /// The entry's address; `None` for a block that is ignored.
    address: Option<T::Address>,
    /// The entry's index in the lock file; `None` for a new entry.
    entry: Option<usize>,
    /// Comments that stand alone, such as the header, and blank lines above them.
    loose: String,
    /// The blank lines between the block and the text before it.
    blank: String,
    /// Comments directly above the block, and its indentation.
    attached: String,
    block: String,
    /// The rest of the block's last line, with the line break.
    line_end: String,
}

impl<T: Locked> FileLayout<T> {
    fn read(lock_file: &LockFileOf<T>, text: &str, line_break: &'static str) -> Self {
        let mut start = 0;
        let mut sections = Vec::with_capacity(lock_file.blocks.len());
        for block in &lock_file.blocks {
            let attached = attached_start::<T>(text, start, block.span.start);
            let loose = blank_start(text, start, attached);
            let end = trivia::skip_line_break(text, trivia::line_end(text, block.span.end));
            sections.push(Section {
                address: block.entry.map(|index| lock_file.entries[index].address.clone()),
                entry: block.entry,
                loose: text[start..loose].to_owned(),
                blank: text[loose..attached].to_owned(),
                attached: text[attached..block.span.start].to_owned(),
                block: text[block.span.clone()].to_owned(),
                line_end: text[block.span.end..end].to_owned(),
            });
            start = end;
        }
        Self { line_break, sections, rest: text[start..].to_owned() }
    }

    /// Adds each new entry before the first entry with a greater address, or else after the last entry.
    fn add(&mut self, lock_file: &LockFileOf<T>, new: &LocksOf<T>) {
        for (address, locked) in new.iter().filter(|(address, _)| !lock_file.locks.contains_key(address)) {
            let greater = |section: &Section<T>| section.address.as_ref().is_some_and(|other| other > address);
            let last = self.sections.iter().rposition(|section| section.address.is_some());
            let section = self.new_section(address, locked);
            if let Some(index) = self.sections.iter().position(greater) {
                self.insert_before(index, section);
            } else if let Some(index) = last {
                self.sections.insert(index + 1, section);
            } else {
                self.append(section);
            }
        }
    }

    fn new_section(&self, address: &T::Address, locked: &T) -> Section<T> {
        let mut block = String::new();
        push_block(&mut block, address, locked);
        Section {
            address: Some(address.clone()),
            entry: None,
            loose: String::new(),
            blank: self.line_break.to_owned(),
            attached: String::new(),
            block: block.trim_end().replace('\n', self.line_break),
            line_end: self.line_break.to_owned(),
        }
    }

    /// Comments that stand alone stay above the new block, so that the header remains on top.
    fn insert_before(&mut self, index: usize, mut section: Section<T>) {
        let next = &mut self.sections[index];
        section.loose = std::mem::take(&mut next.loose);
        if index == 0 && section.loose.is_empty() {
            section.blank.clone_from(&next.blank);
        }
        if next.blank.is_empty() {
            next.blank.push_str(self.line_break);
        }
        self.sections.insert(index, section);
    }

    /// Puts the first entry at the end of the file.
    fn append(&mut self, mut section: Section<T>) {
        section.loose = std::mem::take(&mut self.rest);
        let ends_blank = blank_start(&section.loose, 0, section.loose.len()) < section.loose.len();
        if ends_blank {
            section.blank.clear();
        }
        self.sections.push(section);
    }

    /// Edits the entries that changed, and removes the entries that `new` lacks, with the comments directly above them.
    fn change(&mut self, lock_file: &LockFileOf<T>, new: &LocksOf<T>) {
        // The text after removed entries takes their place, after the separate comments before them.
        let mut removed: Option<Section<T>> = None;
        for mut section in std::mem::take(&mut self.sections) {
            if let Some(Section { mut loose, blank, .. }) = removed.take() {
                if section.loose.is_empty() {
                    section.blank = blank;
                }
                loose.push_str(&section.loose);
                section.loose = loose;
            }
            if let Some(entry) = section.entry.map(|entry| &lock_file.entries[entry]) {
                match new.get(&entry.address) {
                    None => {
                        removed = Some(section);
                        continue;
                    }
                    Some(locked) if *locked == entry.locked => {}
                    Some(locked) => {
                        section.block = block::rewritten(&lock_file.file.text, entry, &**locked, self.line_break);
                    }
                }
            }
            self.sections.push(section);
        }
        if let Some(removed) = removed {
            self.rest.insert_str(0, &removed.loose);
        }
    }

    fn text(self) -> String {
        let sections = self.sections.into_iter();
        let pieces = sections.flat_map(|s| [s.loose, s.blank, s.attached, s.block, s.line_end]);
        pieces.chain([self.rest]).collect()
    }
}

/// The start of the comments directly above a block at `block`, without a blank line between.
///
/// `start` is after the line of the previous block. The two lines of the file's header belong to no block.
fn attached_start<T: Locked>(text: &str, start: usize, block: usize) -> usize {
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
