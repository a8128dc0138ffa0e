//! Editing one `provider` block.

use std::ops::Range;

use super::hash_list::{self, Surroundings};
use crate::hcl::trivia::{self, Kind, tokens};
use crate::lockfile::canonical::push_hashes_attribute;
use crate::lockfile::raw_entry::AttributeLayout;
use crate::lockfile::{Entry, LockedProvider};

/// The gap before `=` that OpenTofu writes after `version`, in a block with and in one without `constraints`.
const ALIGNED: &str = "     ";
const NOT_ALIGNED: &str = " ";

/// A part of the text, and its replacement.
type Splice = (Range<usize>, String);

/// The text of an entry's block after it was changed to record `new`. Its hashes are sorted, too:
/// the programs would write the file again otherwise.
pub(super) fn edited(text: &str, entry: &Entry, new: &LockedProvider, line_break: &str) -> String {
    let layout = &entry.layout;
    let indent = trivia::indentation(text, layout.version.key.start);
    let mut edit = BlockEdit {
        text,
        entry,
        line_break,
        on_one_line: !tokens(text, layout.label_end..layout.version.key.start).any(|t| t.kind == Kind::LineBreak),
        indent: indent.unwrap_or("  "),
        splices: Vec::new(),
        added: Vec::new(),
    };
    if entry.provider.version != new.version {
        edit.replace(layout.version.value.clone(), format!("\"{}\"", new.version));
    }
    if entry.provider.constraints != new.constraints {
        edit.constraints(new);
    }
    if entry.provider.hashes != new.hashes || !entry.hashes.is_sorted_by(|(one, _), (next, _)| one < next) {
        edit.hashes(new);
    }
    edit.finish()
}

struct BlockEdit<'a> {
    text: &'a str,
    entry: &'a Entry,
    line_break: &'a str,
    on_one_line: bool,
    /// The indentation of the attributes.
    indent: &'a str,
    splices: Vec<Splice>,
    /// New attributes, and after which one they go.
    added: Vec<(&'a AttributeLayout, String)>,
}

impl BlockEdit<'_> {
    fn replace(&mut self, span: Range<usize>, text: String) {
        self.splices.push((span, text));
    }

    fn constraints(&mut self, new: &LockedProvider) {
        let layout = &self.entry.layout;
        let gap = layout.version.key.end..self.equals_sign(&layout.version);
        let found = &self.text[gap.clone()];
        match &layout.constraints {
            Some(attribute) if new.constraints.is_empty() => {
                self.remove(attribute);
                if found == ALIGNED {
                    self.replace(gap, NOT_ALIGNED.to_owned());
                }
            }
            Some(attribute) => self.replace(attribute.value.clone(), format!("\"{}\"", new.constraints)),
            None => {
                let after = &self.text[gap.end + 1..layout.version.value.start];
                let after = if after.trim().is_empty() { after } else { " " };
                let before = if found.is_empty() { "" } else { " " };
                if found == NOT_ALIGNED {
                    self.replace(gap, ALIGNED.to_owned());
                }
                let attribute = format!("constraints{before}={after}\"{}\"", new.constraints);
                self.added.push((&layout.version, attribute));
            }
        }
    }

    fn hashes(&mut self, new: &LockedProvider) {
        let layout = &self.entry.layout;
        match &layout.hashes {
            Some(attribute) if new.hashes.is_empty() => self.remove(attribute),
            Some(attribute) => {
                let around = Surroundings {
                    text: self.text,
                    span: attribute.value.clone(),
                    indent: self.indent,
                    line_break: self.line_break,
                };
                let list = hash_list::edited(&around, self.entry, &new.hashes);
                self.replace(attribute.value.clone(), list);
            }
            None => {
                let constraints = layout.constraints.as_ref().filter(|_| !new.constraints.is_empty());
                let last = constraints.filter(|attribute| attribute.key.start > layout.version.key.start);
                let mut attribute = String::new();
                push_hashes_attribute(&mut attribute, &new.hashes, self.indent, self.line_break);
                self.added.push((last.unwrap_or(&layout.version), attribute));
            }
        }
    }

    /// Where the `=` of an attribute is.
    fn equals_sign(&self, attribute: &AttributeLayout) -> usize {
        let span = attribute.key.end..attribute.value.start;
        let sign = tokens(self.text, span).find(|token| token.kind == Kind::Other);
        sign.map_or(attribute.key.end, |token| token.span.start)
    }

    /// Removes an attribute with its lines, but no comment.
    fn remove(&mut self, attribute: &AttributeLayout) {
        let text = self.text;
        let mut span = attribute.span();
        let line_end = trivia::line_end(text, span.end);
        let comments = trivia::comments(text, span.start..line_end);
        let starts_line = trivia::indentation(text, span.start).is_some();
        if comments.is_empty() && starts_line {
            span = trivia::line_start(text, span.start)..trivia::skip_line_break(text, line_end);
        } else {
            span.end = line_end;
        }
        let separator = format!("{}{}", self.line_break, self.indent);
        self.replace(span, comments.join(&separator));
    }

    /// Puts new attributes on lines of their own, then applies everything.
    fn finish(mut self) -> String {
        if self.on_one_line && !self.added.is_empty() {
            self.open_up();
        } else {
            for (after, attribute) in std::mem::take(&mut self.added) {
                let end = trivia::line_end(self.text, after.value.end);
                self.replace(end..end, format!("{}{}{attribute}", self.line_break, self.indent));
            }
        }
        splice(self.text, self.entry.layout.span.clone(), self.splices)
    }

    /// Breaks a block on one line, which can only hold `version`, into lines.
    fn open_up(&mut self) {
        let (text, layout) = (self.text, &self.entry.layout);
        let before = text[..layout.version.key.start].trim_end_matches([' ', '\t']).len();
        let new_line = format!("{}{}", self.line_break, self.indent);
        self.replace(before..layout.version.key.start, new_line.clone());
        let closing = layout.span.end - 1;
        let after = text[..closing].trim_end_matches([' ', '\t']).len();
        let attributes = std::mem::take(&mut self.added).into_iter().map(|(_, attribute)| attribute);
        let lines: String = attributes.flat_map(|attribute| [new_line.clone(), attribute]).collect();
        self.replace(after..closing, format!("{lines}{}", self.line_break));
    }
}

/// `text[span]` with parts replaced. Where several start at the same place, the first comes first.
fn splice(text: &str, span: Range<usize>, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|(part, _)| part.start);
    let mut result = String::with_capacity(span.len());
    let mut position = span.start;
    for (part, replacement) in splices {
        result.push_str(&text[position..part.start]);
        result.push_str(&replacement);
        position = part.end;
    }
    result.push_str(&text[position..span.end]);
    result
}
