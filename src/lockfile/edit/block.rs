//! Editing one entry.

use std::borrow::Cow;
use std::ops::Range;

use super::hash_list::{self, Surroundings};
use crate::hcl::trivia::{self, Kind, tokens};
use crate::lockfile::Entry;
use crate::lockfile::canonical::{push_hashes_attribute, quoted};
use crate::lockfile::locked::{Locked, name_width};
use crate::lockfile::raw_entry::{AttributeLayout, PerAttribute};

/// A part of the text, and its replacement.
type Splice = (Range<usize>, String);

/// The text of an entry's block after it was changed to record `new`. Its hashes are sorted, too:
/// the programs would write the file again otherwise.
pub(super) fn edited<T: Locked>(text: &str, entry: &Entry<T>, new: &T, line_break: &str) -> String {
    let layout = &entry.layout;
    let indent = trivia::indentation(text, layout.main.key.start);
    let mut edit = BlockEdit {
        text,
        entry,
        line_break,
        on_one_line: !tokens(text, layout.label_end..layout.main.key.start).any(|t| t.kind == Kind::LineBreak),
        indent: indent.unwrap_or("  "),
        splices: Vec::new(),
        removed: Vec::new(),
        added: Vec::new(),
    };
    edit.attributes(&entry.locked.attributes(), &new.attributes());
    if entry.locked.hashes() != new.hashes() || !entry.hashes.is_sorted_by(|(one, _), (next, _)| one < next) {
        edit.hashes(new);
    }
    edit.finish()
}

struct BlockEdit<'a, T: Locked> {
    text: &'a str,
    entry: &'a Entry<T>,
    line_break: &'a str,
    on_one_line: bool,
    /// The indentation of the attributes.
    indent: &'a str,
    splices: Vec<Splice>,
    removed: Vec<&'a AttributeLayout>,
    /// New attributes, and after which one they go.
    added: Vec<(&'a AttributeLayout, String)>,
}

impl<'a, T: Locked> BlockEdit<'a, T> {
    fn replace(&mut self, span: Range<usize>, text: String) {
        self.splices.push((span, text));
    }

    /// Gives the attributes their new values. Those that come or go change the alignment of the others.
    fn attributes(&mut self, old: &PerAttribute<Cow<'_, str>>, new: &PerAttribute<Cow<'_, str>>) {
        let layouts = &self.entry.layout.attributes;
        let widths = (name_width::<T, _>(layouts), name_width::<T, _>(new));
        for (index, rule) in T::ATTRIBUTES.iter().enumerate() {
            match (&layouts[index], &new[index]) {
                (Some(attribute), None) => self.remove(attribute),
                (Some(attribute), Some(value)) => {
                    self.align(attribute, rule.name, widths);
                    if old[index].as_ref() != Some(value) {
                        self.replace(attribute.value.clone(), quoted(value));
                    }
                }
                (None, Some(value)) => self.add(index, value, widths),
                (None, None) => {}
            }
        }
    }

    /// Aligns an attribute with the others, if it was.
    fn align(&mut self, attribute: &AttributeLayout, name: &str, (old, new): (usize, usize)) {
        let gap = attribute.key.end..self.equals_sign(attribute);
        if old != new && self.text[gap.clone()] == aligned_gap(name, old) {
            self.replace(gap, aligned_gap(name, new));
        }
    }

    /// Adds an attribute in the style of the one that every entry has.
    fn add(&mut self, index: usize, value: &str, (old, new): (usize, usize)) {
        let main = &self.entry.layout.main;
        let sign = self.equals_sign(main);
        let (found, name) = (&self.text[main.key.end..sign], T::ATTRIBUTES[index].name);
        let before = match found {
            "" => String::new(),
            found if found == aligned_gap(T::ATTRIBUTES[0].name, old) => aligned_gap(name, new),
            _ => " ".to_owned(),
        };
        let after = &self.text[sign + 1..main.value.start];
        let after = if after.trim().is_empty() { after } else { " " };
        let above = self.last_of(&self.entry.layout.attributes[..index]);
        self.added.push((above, format!("{name}{before}={after}{}", quoted(value))));
    }

    /// The attribute of some that comes last in the text and stays; the main one always does.
    fn last_of(&self, attributes: &'a [Option<AttributeLayout>]) -> &'a AttributeLayout {
        let stays = |attribute: &&AttributeLayout| !self.removed.contains(attribute);
        let last = attributes.iter().flatten().filter(stays).max_by_key(|attribute| attribute.key.start);
        last.unwrap_or(&self.entry.layout.main)
    }

    fn hashes(&mut self, new: &T) {
        let layout = &self.entry.layout;
        match &layout.hashes {
            Some(attribute) if new.hashes().is_empty() => self.remove(attribute),
            Some(attribute) => {
                let around = Surroundings {
                    text: self.text,
                    span: attribute.value.clone(),
                    indent: self.indent,
                    line_break: self.line_break,
                };
                let list = hash_list::edited(&around, &self.entry.hashes, new.hashes());
                self.replace(attribute.value.clone(), list);
            }
            None => {
                let mut attribute = String::new();
                push_hashes_attribute(&mut attribute, new.hashes(), self.indent, self.line_break);
                self.added.push((self.last_of(&layout.attributes), attribute));
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
    fn remove(&mut self, attribute: &'a AttributeLayout) {
        self.removed.push(attribute);
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

    /// Breaks a block on one line, which can hold one attribute only, into lines.
    fn open_up(&mut self) {
        let (text, layout) = (self.text, &self.entry.layout);
        let before = text[..layout.main.key.start].trim_end_matches([' ', '\t']).len();
        let new_line = format!("{}{}", self.line_break, self.indent);
        self.replace(before..layout.main.key.start, new_line.clone());
        let closing = layout.span.end - 1;
        let after = text[..closing].trim_end_matches([' ', '\t']).len();
        let attributes = std::mem::take(&mut self.added).into_iter().map(|(_, attribute)| attribute);
        let lines: String = attributes.flat_map(|attribute| [new_line.clone(), attribute]).collect();
        self.replace(after..closing, format!("{lines}{}", self.line_break));
    }
}

/// What stands between the name of an attribute and its `=` where the names are this wide.
fn aligned_gap(name: &str, width: usize) -> String {
    " ".repeat(width - name.len() + 1)
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
