//! The block of an entry that changed: canonical form with the user's comments.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::hcl::trivia::{self, Kind, Token, tokens};
use crate::lockfile::Entry;
use crate::lockfile::canonical::push_block;
use crate::lockfile::entry_kind::EntryKind;
use crate::provider::Hash;

/// A part of a block. In canonical form each has a line of its own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part<'a> {
    Header,
    /// Index of the attribute in [`EntryKind::ATTRIBUTES`].
    Attribute(usize),
    /// Text of an attribute that this version of provlock does not know.
    UnknownAttribute(&'a str),
    HashesStart,
    Hash(&'a Hash),
    HashesEnd,
    End,
}

/// Comments of a part: on lines above it, and behind it on its line.
#[derive(Default)]
struct PartComments<'a> {
    above: Vec<&'a str>,
    beside: Vec<&'a str>,
}

/// Returns the block of an entry that is to record `new`, in canonical form.
///
/// A comment stays above or beside its part. Comments of a removed part go above the next part that
/// remains.
pub(super) fn rewritten<T: EntryKind>(
    text: &str,
    entry: &Entry<T>,
    new: &T,
    line_break: &str,
) -> String {
    let mut canonical = String::new();
    push_block(&mut canonical, &entry.address, new);
    let lines = lines_to_write(text, entry, new, &canonical);
    let mut comments: BTreeMap<_, _> = lines
        .iter()
        .map(|(part, _)| (part.clone(), PartComments::default()))
        .collect();
    distribute_comments(text, &parts(text, entry), &mut comments);
    let mut block = String::with_capacity(canonical.len());
    for (part, line) in &lines {
        let PartComments { above, beside } = &comments[part];
        let indent = match part {
            Part::Header => "",
            Part::Attribute(_) | Part::UnknownAttribute(_) | Part::HashesStart | Part::End => "  ",
            Part::Hash(_) | Part::HashesEnd => "    ",
        };
        for comment in above {
            block.extend([indent, comment, line_break]);
        }
        block.push_str(line);
        let mut is_in_line_comment = false;
        for comment in beside {
            // Nothing can follow a `#` comment on its line.
            block.extend(if is_in_line_comment {
                [line_break, indent]
            } else {
                [" ", ""]
            });
            block.push_str(comment);
            is_in_line_comment = !comment.starts_with("/*");
        }
        if *part != Part::End {
            block.push_str(line_break);
        }
    }
    block
}

/// The lines of the new block with the part that each is. Unknown attributes follow the known ones.
fn lines_to_write<'a, T: EntryKind>(
    text: &'a str,
    entry: &Entry<T>,
    new: &'a T,
    canonical: &str,
) -> Vec<(Part<'a>, String)> {
    let mut parts = vec![Part::Header];
    for (index, value) in new.attributes().iter().enumerate() {
        if value.is_some() {
            parts.push(Part::Attribute(index));
        }
    }
    let unknown_start = parts.len();
    if !new.hashes().is_empty() {
        parts.push(Part::HashesStart);
        parts.extend(new.hashes().iter().map(Part::Hash));
        parts.push(Part::HashesEnd);
    }
    parts.push(Part::End);
    // Canonical form has one line for each part.
    let mut lines: Vec<_> = parts
        .into_iter()
        .zip(canonical.lines().map(str::to_owned))
        .collect();

    let mut unknown = Vec::new();
    for span in &entry.layout.unknown_attributes {
        let attribute = &text[span.clone()];
        unknown.push((Part::UnknownAttribute(attribute), format!("  {attribute}")));
    }
    lines.splice(unknown_start..unknown_start, unknown);
    lines
}

/// The parts of the old block in their order, each with its place.
fn parts<'a, T: EntryKind>(text: &'a str, entry: &'a Entry<T>) -> Vec<(Part<'a>, Range<usize>)> {
    let layout = &entry.layout;
    let end = layout.span.end;
    let mut parts = vec![
        (Part::Header, layout.span.start..layout.label_end),
        (Part::End, end - 1..end),
    ];
    for (index, attribute) in layout.attributes.iter().enumerate() {
        if let Some(attribute) = attribute {
            parts.push((Part::Attribute(index), attribute.span()));
        }
    }
    for span in &layout.unknown_attributes {
        parts.push((Part::UnknownAttribute(&text[span.clone()]), span.clone()));
    }
    if let Some(hashes) = &layout.hashes {
        let end = hashes.value.end;
        parts.push((Part::HashesStart, hashes.key.start..hashes.value.start + 1));
        parts.push((Part::HashesEnd, end - 1..end));
    }
    for (hash, location) in &entry.hashes {
        parts.push((Part::Hash(hash), location.span.clone()));
    }
    parts.sort_by_key(|(_, span)| span.start);
    parts
}

/// Adds each comment of the old block to a part that remains.
///
/// A comment belongs to the part before it on its line if the line or the list ends behind the
/// comment, otherwise to the part that follows.
fn distribute_comments<'a>(
    text: &'a str,
    parts: &[(Part<'a>, Range<usize>)],
    remaining: &mut BTreeMap<Part<'a>, PartComments<'a>>,
) {
    let mut above = Vec::new();
    for (index, (part, span)) in parts.iter().enumerate() {
        // The text of an unknown attribute is copied as it is, with the comments in it.
        let is_copied = matches!(part, Part::UnknownAttribute(_));
        let mut beside = if is_copied {
            Vec::new()
        } else {
            trivia::comments(text, span.clone())
        };
        let mut above_next = Vec::new();
        if let Some((next, next_span)) = parts.get(index + 1) {
            let gap: Vec<Token> = tokens(text, span.end..next_span.start).collect();
            let line_break = gap.iter().position(|token| token.kind == Kind::LineBreak);
            let closes = matches!(next, Part::HashesEnd | Part::End);
            let line_end = line_break.unwrap_or(if closes { gap.len() } else { 0 });
            for (index, token) in gap
                .into_iter()
                .enumerate()
                .filter(|(_, token)| token.is_comment())
            {
                let comments = if index < line_end {
                    &mut beside
                } else {
                    &mut above_next
                };
                comments.push(&text[token.span]);
            }
        }
        match remaining.get_mut(part) {
            Some(comments) => {
                comments.above.append(&mut above);
                comments.beside.append(&mut beside);
            }
            None => above.append(&mut beside),
        }
        above.append(&mut above_next);
    }
}
