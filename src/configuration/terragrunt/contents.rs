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
use crate::hcl::evaluate::value::{Outcome, Piece, Stop, Unknown, Value};
use crate::hcl::parse;

/// Replaces an unknown value in the text.
const PLACEHOLDER: &str = "unknown";
/// Most unknown conditions of a file; each doubles the number of its variants.
const MOST_CONDITIONS: usize = 5;
/// Largest size of all variants of a file in bytes.
const MOST_BYTES: usize = 1 << 20;
/// The blocks whose entries are parts of their own, each in the one before.
const AROUND: [&str; 2] = ["terraform", "required_providers"];

/// The text of a generated file.
pub(super) struct Contents {
    /// The certain text. Values on which no requirement depends may be placeholders.
    pub(super) text: String,
    /// Reasons why the file may require more than the text.
    pub(super) omitted: Vec<Arc<Unknown>>,
}

/// Returns the certain text of a file. Unknown parts on which no requirement depends do not matter.
///
/// An unknown text is treated as one value. It could close its block and open a new one, but real
/// files do not do that.
pub(super) fn text(contents: &Value, allowance: &Allowance) -> Outcome<Contents> {
    let whole = || {
        Ok(Contents {
            text: contents.as_string()?.to_string(),
            omitted: Vec::new(),
        })
    };
    let Value::Partial(pieces) = contents else {
        return whole();
    };
    let (mut variants, mut conditions) = (vec![Variant::default()], Vec::new());
    add(pieces, &mut variants, &mut conditions)?;
    if variants.len() > 1 {
        allowance.spend(variants.iter().map(|variant| variant.text.len()).sum())?;
    }
    let Some(parts) = variants
        .iter()
        .map(Variant::parts)
        .collect::<Option<Vec<_>>>()
    else {
        return whole();
    };
    let is_same = parts.iter().all(|others| {
        others
            .iter()
            .map(Part::key)
            .eq(parts[0].iter().map(Part::key))
    });
    let decisive = if is_same { Vec::new() } else { conditions };
    let mut omitted = Vec::new();
    let unknown = parts.iter().flatten().filter_map(|part| part.unknown);
    for unknown in unknown.chain(decisive) {
        if !omitted.contains(unknown) {
            omitted.push(Arc::clone(unknown));
        }
    }
    let text = if omitted.is_empty() {
        variants[0].text.clone()
    } else {
        certain(&parts)
    };
    Ok(Contents { text, omitted })
}

/// A text of the file.
#[derive(Clone, Default)]
struct Variant<'a> {
    text: String,
    /// Ranges of placeholders, in the order of the text.
    holes: Vec<(Range<usize>, &'a Arc<Unknown>)>,
}

/// Adds pieces to all variants, and their conditions.
fn add<'a>(
    pieces: &'a [Piece],
    variants: &mut Vec<Variant<'a>>,
    conditions: &mut Vec<&'a Arc<Unknown>>,
) -> Outcome<()> {
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
                add(&branches[0], variants, conditions)?;
                add(&branches[1], &mut others, conditions)?;
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

    fn part(&'a self, structure: &Structure, depth: usize) -> Part<'a> {
        let written = |span: Option<Range<usize>>| self.text[span.unwrap_or_default()].trim();
        let (span, mut free) = (structure.span().unwrap_or_default(), Vec::new());
        let text = written(Some(span.clone()));
        let mut decisive = vec![text];
        if let Structure::Block(block) = structure {
            let (names, is_free) = decisive_arguments(depth, block.ident.as_str());
            add_values(&block.body, is_free, &mut free);
            if let Some(names) = names {
                let header = block
                    .labels
                    .last()
                    .map_or_else(|| block.ident.span(), Span::span)
                    .unwrap_or_default();
                let arguments = block
                    .body
                    .attributes()
                    .filter(|it| names.contains(&it.key.as_str()))
                    .map(Span::span);
                decisive = [Some(span.start..header.end)]
                    .into_iter()
                    .chain(arguments)
                    .map(written)
                    .collect();
            }
        }
        let holes = &self.holes[self
            .holes
            .partition_point(|(hole, _)| hole.start < span.start)..];
        let mut holes = holes.iter().take_while(|(hole, _)| hole.start < span.end);
        let unknown = holes
            .find(|(hole, _)| !contains(&free, hole))
            .map(|(_, unknown)| *unknown);
        Part {
            depth,
            text,
            decisive,
            unknown,
        }
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
fn add_values(body: &Body, is_free: fn(&str) -> bool, values: &mut Vec<Range<usize>>) {
    for structure in body {
        match structure {
            Structure::Attribute(attribute) if is_free(attribute.key.as_str()) => {
                values.extend(attribute.value.span());
            }
            Structure::Attribute(_) => {}
            Structure::Block(block) => add_values(&block.body, is_free, values),
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
fn certain(variants: &[Vec<Part<'_>>]) -> String {
    let known = variants.iter().map(|parts| {
        parts
            .iter()
            .filter(|part| part.unknown.is_none())
            .map(Part::key)
    });
    let known = known
        .map(HashSet::<_>::from_iter)
        .reduce(|one, other| one.intersection(&other).copied().collect());
    let mut common = known.unwrap_or_default();
    let mut texts = [String::new(), String::new(), String::new()];
    for part in &variants[0] {
        if common.remove(&part.key()) {
            texts[part.depth].extend([part.text, "\n"]);
        }
    }
    let [top, terraform, providers] = texts;
    let block = |name: &str, body: String| {
        if body.is_empty() {
            body
        } else {
            format!("{name} {{\n{body}}}\n")
        }
    };
    top + &block(AROUND[0], terraform + &block(AROUND[1], providers))
}
