//! The text of a generated file with unknown parts.
//!
//! A placeholder replaces an unknown value. Each `if` with an unknown condition doubles the
//! variants of the file, and only what all variants require is certain.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use hcl_edit::Span;
use hcl_edit::structure::{Body, Structure};

use crate::hcl::evaluate::allowance::Allowance;
use crate::hcl::evaluate::value::{Piece, Stop, Unknown, Value};
use crate::hcl::parse;

/// Replaces an unknown value in the text.
const PLACEHOLDER: &str = "unknown";
/// Most unknown conditions of a file; each doubles the number of its variants.
const MOST_CONDITIONS: usize = 5;
/// Largest size of all variants of a file in bytes.
const MOST_BYTES: usize = 1 << 20;
/// The blocks whose entries are parts of their own, each in the one before.
const AROUND: [&str; 2] = ["terraform", "required_providers"];

/// The text of a generated file, as far as it is certain.
pub(super) struct CertainText {
    /// The certain text. Values on which no requirement depends may be placeholders.
    pub(super) text: String,
    /// Reasons why the file may require more than the text.
    pub(super) omitted: Vec<Arc<Unknown>>,
    /// Reasons for the placeholders.
    pub(super) placeholders: Vec<Arc<Unknown>>,
}

/// Returns the certain text of a file: all of it if no requirement depends on its unknown parts, or
/// else only what all variants contain. A file that is no HCL must be known as a whole.
///
/// An unknown text is treated as one value. It could close its block and open a new one, but real
/// files do not do that.
pub(super) fn certain_text(contents: &Value, allowance: &Allowance) -> Result<CertainText, Stop> {
    let Value::Partial(pieces) = contents else {
        return fully_known_text(contents);
    };
    let mut variants = vec![Variant::default()];
    let mut conditions = Vec::new();
    add_pieces(pieces, &mut variants, &mut conditions)?;
    if variants.len() > 1 {
        allowance.spend_steps(variants.iter().map(|variant| variant.text.len()).sum())?;
    }
    let mut parts_by_variant = Vec::new();
    for variant in &variants {
        match variant.parts() {
            Some(parts) => parts_by_variant.push(parts),
            // The text is no HCL: nothing in it is certain.
            None => return fully_known_text(contents),
        }
    }

    let mut unknown: Vec<_> = parts_by_variant
        .iter()
        .flatten()
        .filter_map(|part| part.unknown)
        .collect();
    // A condition matters only if requirements depend on it.
    if !have_same_keys(&parts_by_variant) {
        unknown.extend(conditions);
    }
    let mut omitted = Vec::new();
    for reason in unknown {
        if !omitted.contains(reason) {
            omitted.push(Arc::clone(reason));
        }
    }
    // There may be very many, so that only their addresses are compared.
    let mut seen: HashSet<_> = omitted.iter().map(Arc::as_ptr).collect();
    let mut placeholders = Vec::new();
    for (_, reason) in variants.iter().flat_map(|variant| &variant.holes) {
        if seen.insert(Arc::as_ptr(reason)) {
            placeholders.push(Arc::clone(reason));
        }
    }
    let text = if omitted.is_empty() {
        variants[0].text.clone()
    } else {
        text_of_common_parts(&parts_by_variant)
    };
    Ok(CertainText {
        text,
        omitted,
        placeholders,
    })
}

/// Returns a text without unknown parts. An unknown part is an error.
fn fully_known_text(contents: &Value) -> Result<CertainText, Stop> {
    Ok(CertainText {
        text: contents.as_string()?.to_string(),
        omitted: Vec::new(),
        placeholders: Vec::new(),
    })
}

/// Whether the requirements of all variants depend on the same texts.
fn have_same_keys(variants: &[Vec<Part<'_>>]) -> bool {
    let first: Vec<_> = variants[0].iter().map(Part::key).collect();
    variants
        .iter()
        .all(|parts| parts.iter().map(Part::key).eq(first.iter().copied()))
}

/// A text of the file.
#[derive(Clone, Default)]
struct Variant<'a> {
    text: String,
    /// Ranges of placeholders, in the order of the text.
    holes: Vec<(Range<usize>, &'a Arc<Unknown>)>,
}

/// Adds pieces to the end of all variants. A piece that may be either of two doubles the variants,
/// and its condition is added to `conditions`.
///
/// # Errors
/// There are too many conditions, or the variants are too long.
fn add_pieces<'a>(
    pieces: &'a [Piece],
    variants: &mut Vec<Variant<'a>>,
    conditions: &mut Vec<&'a Arc<Unknown>>,
) -> Result<(), Stop> {
    for piece in pieces {
        match piece {
            Piece::Text(text) => variants
                .iter_mut()
                .for_each(|variant| variant.text.push_str(text)),
            Piece::Hole(unknown) | Piece::Withheld(_, unknown) => {
                for Variant { text, holes } in &mut *variants {
                    holes.push((text.len()..text.len() + PLACEHOLDER.len(), unknown));
                    text.push_str(PLACEHOLDER);
                }
            }
            Piece::Either(branches, unknown) => {
                let size: usize = variants.iter().map(|variant| variant.text.len()).sum();
                if conditions.len() == MOST_CONDITIONS || size > MOST_BYTES {
                    return Err(Stop::Needs(Arc::clone(unknown)));
                }
                conditions.push(unknown);
                let mut others = variants.clone();
                add_pieces(&branches[0], variants, conditions)?;
                add_pieces(&branches[1], &mut others, conditions)?;
                variants.append(&mut others);
            }
        }
        if let Some(unknown) = conditions.first()
            && variants
                .iter()
                .map(|variant| variant.text.len())
                .sum::<usize>()
                > MOST_BYTES
        {
            return Err(Stop::Needs(Arc::clone(unknown)));
        }
    }
    Ok(())
}

/// A block or an attribute of a file.
struct Part<'a> {
    /// Number of the blocks of [`AROUND`] around it.
    depth: usize,
    text: &'a str,
    /// The texts on which requirements depend.
    decisive: Vec<&'a str>,
    /// Reason why one of these is not known.
    unknown: Option<&'a Arc<Unknown>>,
}

impl Part<'_> {
    fn key(&self) -> (usize, &[&str]) {
        (self.depth, &self.decisive)
    }
}

impl<'a> Variant<'a> {
    fn parts(&'a self) -> Option<Vec<Part<'a>>> {
        let mut parts = Vec::new();
        self.add_parts(&parse::body(&self.text).ok()?, &AROUND, &mut parts);
        Some(parts)
    }

    /// Adds the parts in a body. `around` are the blocks in it whose entries are parts.
    fn add_parts(&'a self, body: &Body, around: &[&str], parts: &mut Vec<Part<'a>>) {
        for structure in body {
            match (structure, around) {
                (Structure::Block(block), [own, inner @ ..])
                    if block.has_ident(own) && block.labels.is_empty() =>
                {
                    self.add_parts(&block.body, inner, parts);
                }
                _ => parts.push(self.part(structure, AROUND.len() - around.len())),
            }
        }
    }

    /// Returns a part of the file: a block or an argument, with the texts in it on which
    /// requirements depend.
    fn part(&'a self, structure: &Structure, depth: usize) -> Part<'a> {
        let span = structure.span().unwrap_or_default();
        let text = self.written(span.clone());
        let mut decisive = vec![text];
        let mut undecisive = Vec::new();
        if let Structure::Block(block) = structure {
            let (decisive_names, may_be_unknown) = decisive_arguments(depth, block.ident.as_str());
            add_ranges_of_values(&block.body, may_be_unknown, &mut undecisive);
            if let Some(names) = decisive_names {
                let header = match block.labels.last() {
                    Some(label) => label.span(),
                    None => block.ident.span(),
                };
                let header_end = header.unwrap_or_default().end;
                decisive = vec![self.written(span.start..header_end)];
                for attribute in block.body.attributes() {
                    if names.contains(&attribute.key.as_str()) {
                        decisive.push(self.written(attribute.span().unwrap_or_default()));
                    }
                }
            }
        }
        Part {
            depth,
            text,
            decisive,
            unknown: self.first_unknown_outside(&span, &undecisive),
        }
    }

    fn written(&'a self, span: Range<usize>) -> &'a str {
        self.text[span].trim()
    }

    /// The reason for the first placeholder in a range of the text that is in none of the ranges
    /// `undecisive`.
    fn first_unknown_outside(
        &self,
        range: &Range<usize>,
        undecisive: &[Range<usize>],
    ) -> Option<&'a Arc<Unknown>> {
        let first = self
            .holes
            .partition_point(|(hole, _)| hole.start < range.start);
        for (hole, unknown) in &self.holes[first..] {
            if hole.start >= range.end {
                break;
            }
            if !contains(undecisive, hole) {
                return Some(unknown);
            }
        }
        None
    }
}

type Arguments = &'static [&'static str];

/// Returns the arguments of a block on which requirements depend, or `None` if they may depend on
/// all of it; and whether the value of an argument may be unknown.
fn decisive_arguments(depth: usize, kind: &str) -> (Option<Arguments>, fn(&str) -> bool) {
    match (depth, kind) {
        (0, "provider") => (Some(&["alias", "version"]), |name| name != "version"),
        (0, "resource" | "data" | "ephemeral" | "action" | "import") => {
            (Some(&["provider", "to"]), |name| {
                !matches!(name, "provider" | "to")
            })
        }
        (0, "check") => (None, |name| name != "provider"),
        // Sources in a module may depend on its other arguments.
        (0, "module") => (None, |name| {
            matches!(name, "count" | "for_each" | "depends_on")
        }),
        // OpenTofu allows locals and variables in the source of a module.
        (0, "locals" | "variable") | (2, _) => (None, |_| false),
        (1, "state_store") => (None, |_| true),
        _ => (Some(&[]), |_| true),
    }
}

/// Adds the ranges of the values that may be unknown, also in nested blocks.
fn add_ranges_of_values(
    body: &Body,
    may_be_unknown: fn(&str) -> bool,
    values: &mut Vec<Range<usize>>,
) {
    for structure in body {
        match structure {
            Structure::Attribute(attribute) if may_be_unknown(attribute.key.as_str()) => {
                values.extend(attribute.value.span());
            }
            Structure::Attribute(_) => {}
            Structure::Block(block) => add_ranges_of_values(&block.body, may_be_unknown, values),
        }
    }
}

/// Whether one of the ranges, which are in the order of the text, contains a range.
fn contains(ranges: &[Range<usize>], range: &Range<usize>) -> bool {
    let behind = ranges.partition_point(|other| other.start <= range.start);
    ranges[..behind]
        .last()
        .is_some_and(|other| range.end <= other.end)
}

/// Returns the text of the parts that are known and in all variants.
fn text_of_common_parts(variants: &[Vec<Part<'_>>]) -> String {
    let mut common = known_keys(&variants[0]);
    for parts in &variants[1..] {
        let keys = known_keys(parts);
        common.retain(|key| keys.contains(key));
    }

    // Blocks of `AROUND` may be written several times, and their entries are collected in one.
    let mut texts = [String::new(), String::new(), String::new()];
    for part in &variants[0] {
        if common.remove(&part.key()) {
            texts[part.depth].extend([part.text, "\n"]);
        }
    }
    let [top, terraform, providers] = texts;
    let providers = block(AROUND[1], &providers);
    top + &block(AROUND[0], &(terraform + &providers))
}

fn known_keys<'a>(parts: &'a [Part<'_>]) -> HashSet<(usize, &'a [&'a str])> {
    parts
        .iter()
        .filter(|part| part.unknown.is_none())
        .map(Part::key)
        .collect()
}

/// Returns the text of a block; none if its body is empty.
fn block(name: &str, body: &str) -> String {
    if body.is_empty() {
        return String::new();
    }
    format!("{name} {{\n{body}}}\n")
}
