//! Parts of a generated file that may or may not be there: the branches of an `if` whose condition is not known.
//!
//! Such a part is left out of the text. It must consist of whole blocks or attributes, at the top of the file or in
//! `terraform` and its `required_providers`, or of attributes of an object. An object around a part and a block around
//! a part elsewhere are left out as a whole: a required provider whose version is in a branch is unknown.

use std::collections::HashSet;
use std::ops::Range;

use hcl_edit::Span;
use hcl_edit::expr::Expression;
use hcl_edit::structure::{Attribute, Block, Body, Structure};

use crate::hcl::parse;

/// Start of the name of the attribute that replaces a part while the text is parsed. Bodies and objects have
/// attributes.
const MARK: &str = "provlock_branch_";
/// The blocks that may have parts in them, each in the one before.
const AROUND: [&str; 2] = ["terraform", "required_providers"];

/// A part that is left out of a text.
pub(super) struct Part<'a> {
    /// Range of the mark that replaces it.
    pub(super) range: Range<usize>,
    /// The text that is certain.
    pub(super) common: &'a str,
}

/// The mark that replaces a part. Parts are numbered in their order.
pub(super) fn mark(number: usize) -> String {
    format!("\n{MARK}{number} = 0\n")
}

/// Returns the ranges of the blocks and objects around parts, in their order, or `None` if a part does not consist of
/// whole blocks or attributes.
pub(super) fn around(text: &str, body: &Body, parts: &[Part<'_>]) -> Option<Vec<Range<usize>>> {
    let mut places = Places { text, whole: HashSet::new(), blocks: Vec::new() };
    places.add(body, &AROUND);
    let Places { whole, mut blocks, .. } = places;
    blocks.sort_by_key(|block| block.start);
    let is_placed = |(number, part): (usize, &Part<'_>)| whole.contains(&number) || holds(&blocks, &part.range);
    let is_ours = text.matches(MARK).count() == parts.len();
    (is_ours && parts.iter().enumerate().all(is_placed)).then_some(blocks)
}

struct Places<'a> {
    text: &'a str,
    /// The numbers of the parts that consist of whole blocks or attributes.
    whole: HashSet<usize>,
    /// The ranges of the blocks around the other parts.
    blocks: Vec<Range<usize>>,
}

impl Places<'_> {
    /// Adds the parts in a body. `around` are the blocks in it that may have parts in them.
    fn add(&mut self, body: &Body, around: &[&str]) {
        for structure in body {
            match structure {
                Structure::Attribute(attribute) => self.add_attribute(attribute, around),
                Structure::Block(block) => match around {
                    [own, inner @ ..] if block.ident.as_str() == *own => self.add(&block.body, inner),
                    _ => self.add_enclosing(block),
                },
            }
        }
    }

    fn add_attribute(&mut self, attribute: &Attribute, around: &[&str]) {
        let name = attribute.key.as_str();
        // `required_providers` has no further blocks around parts.
        match &attribute.value {
            _ if name.starts_with(MARK) => self.whole.extend(name[MARK.len()..].parse::<usize>()),
            Expression::Object(_) if around.is_empty() => self.add_enclosing(attribute),
            _ => {}
        }
    }

    fn add_enclosing(&mut self, structure: &impl Span) {
        let range = structure.span().unwrap_or_default();
        if self.text[range.clone()].contains(MARK) {
            self.blocks.push(range);
        }
    }
}

/// Whether a branch consists of attributes of an object, which commas may separate.
pub(super) fn is_of_object(text: &str) -> bool {
    matches!(parse::expression(&format!("{{\n{text}\n}}")), Ok(Expression::Object(_)))
}

/// The text with the certain text of each part, and without the blocks around parts.
pub(super) fn without(text: &str, blocks: &[Range<usize>], parts: &[Part<'_>]) -> String {
    let whole = parts.iter().filter(|part| !holds(blocks, &part.range));
    let whole = whole.map(|part| (part.range.clone(), format!("\n{}\n", part.common)));
    let mut replaced: Vec<_> = blocks.iter().map(|block| (block.clone(), String::new())).chain(whole).collect();
    replaced.sort_by_key(|(range, _)| range.start);
    let (mut result, mut position) = (String::new(), 0);
    for (range, replacement) in replaced {
        result.push_str(&text[position..range.start]);
        result.push_str(&replacement);
        position = range.end;
    }
    result + &text[position..]
}

/// Whether one of the ranges, which are in the order of the text, holds another.
pub(super) fn holds(ranges: &[Range<usize>], range: &Range<usize>) -> bool {
    let behind = ranges.partition_point(|other| other.start <= range.start);
    ranges[..behind].last().is_some_and(|other| range.end <= other.end)
}

/// A branch, parsed.
#[derive(Clone, Copy)]
pub(super) struct Branch<'a> {
    pub(super) text: &'a str,
    pub(super) body: &'a Body,
}

/// The blocks and attributes that both branches contain, word for word, also in `terraform` and `required_providers`.
pub(super) fn common(one: Branch<'_>, two: Branch<'_>) -> String {
    common_within(one, two, &AROUND)
}

fn common_within(one: Branch<'_>, two: Branch<'_>, around: &[&str]) -> String {
    let others: HashSet<_> = two.body.iter().map(|structure| two.written(structure)).collect();
    let is_common = |structure: &&Structure| others.contains(one.written(*structure));
    let whole = one.body.iter().filter(is_common).flat_map(|structure| [one.written(structure), "\n"]);
    let mut text: String = whole.collect();
    let [name, inner @ ..] = around else { return text };
    // One block of each branch is compared: real files have no more.
    let block = one.blocks(name).find(|block| !others.contains(one.written(*block)));
    if let (Some(block), Some(other)) = (block, two.blocks(name).next()) {
        let (one, two) = (Branch { body: &block.body, ..one }, Branch { body: &other.body, ..two });
        let common = common_within(one, two, inner);
        if !common.is_empty() {
            text.extend([name, " {\n", &common, "}\n"]);
        }
    }
    text
}

impl<'a> Branch<'a> {
    fn blocks(self, name: &str) -> impl Iterator<Item = &'a Block> {
        self.body.blocks().filter(move |block| block.ident.as_str() == name)
    }

    /// A block or an attribute as it is written.
    fn written(self, structure: &impl Span) -> &'a str {
        self.text[structure.span().unwrap_or_default()].trim()
    }
}
