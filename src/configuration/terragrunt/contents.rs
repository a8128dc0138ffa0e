//! The text of a generated file. Values in it may be unknown if no requirement depends on them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use hcl_edit::Span;
use hcl_edit::structure::{Block, Body, Structure};

use crate::hcl::evaluate::value::{Outcome, Piece, Stop, Unknown, Value};
use crate::hcl::parse;

/// What stands in the text for a value that is not known.
const PLACEHOLDER: &str = "unknown";

/// The text, where each unknown value is a placeholder, and of each `if` with an unknown condition one branch.
///
/// An unknown text is taken for one value. It could close its block and open another, but people do not write that.
pub(super) fn text(contents: &Value) -> Outcome<String> {
    let Value::Partial(pieces) = contents else { return Ok(contents.as_string()?.to_string()) };
    let (text, holes) = assemble(pieces);
    let body = parse::body(&text).ok();
    let mut free = Free::default();
    for structure in body.iter().flat_map(Body::iter) {
        if let Structure::Block(block) = structure {
            free.add_top_level(block);
        }
    }
    for (hole, is_branch, unknown) in holes {
        let is_free = holds(&free.values, &hole) || (is_branch && holds(&free.bodies, &hole));
        if !is_free {
            return Err(Stop::Needs(Arc::clone(unknown)));
        }
    }
    Ok(text)
}

type Hole<'a> = (Range<usize>, bool, &'a Arc<Unknown>);

/// The text of pieces, and the ranges of its unknown parts, with whether each is a branch.
fn assemble(pieces: &[Piece]) -> (String, Vec<Hole<'_>>) {
    let mut text = String::new();
    let mut holes = Vec::new();
    for piece in pieces {
        let start = text.len();
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Hole(unknown) | Piece::Withheld(_, unknown) => {
                text.push_str(PLACEHOLDER);
                holes.push((start..text.len(), false, unknown));
            }
            Piece::Branch(branch, unknown) => {
                text.push_str(branch);
                holes.push((start..text.len(), true, unknown));
            }
        }
    }
    (text, holes)
}

/// Whether one of the ranges, which are in the order of the text, holds another.
fn holds(ranges: &[Range<usize>], range: &Range<usize>) -> bool {
    let behind = ranges.partition_point(|other| other.start <= range.start);
    ranges[..behind].last().is_some_and(|other| range.end <= other.end)
}

/// The pieces that stand for two branches if it is unknown which one is taken: the first branch if both hold the same
/// providers, a [`Piece::Branch`] if neither can hold a requirement, or else a hole.
pub(super) fn either(one: Vec<Piece>, two: &[Piece], unknown: &Arc<Unknown>) -> Vec<Piece> {
    let ((text, _), (other, _)) = (assemble(&one), assemble(two));
    let (Ok(body), Ok(other_body)) = (parse::body(&text), parse::body(&other)) else {
        return vec![Piece::Hole(Arc::clone(unknown))];
    };
    let providers = providers(&body);
    if providers.is_some() && providers == self::providers(&other_body) {
        return one;
    }
    let may_require = |text: &str| ["version", "source", "provider"].iter().any(|word| text.contains(word));
    if may_require(&text) || may_require(&other) {
        return vec![Piece::Hole(Arc::clone(unknown))];
    }
    vec![Piece::Branch(text, Arc::clone(unknown))]
}

/// The names of the providers in a body of `provider` blocks without versions; `None` if it holds anything else.
fn providers(body: &Body) -> Option<BTreeSet<&str>> {
    let name = |structure: &'_ Structure| match structure {
        Structure::Block(block) => block.ident.as_str() == "provider" && !block.body.has_attribute("version"),
        Structure::Attribute(_) => false,
    };
    body.iter().all(name).then(|| body.blocks().filter_map(|block| Some(block.labels.first()?.as_str())).collect())
}

/// The ranges of a text on which no requirement depends, each kind in the order of the text and without overlaps.
#[derive(Default)]
struct Free {
    values: Vec<Range<usize>>,
    /// The bodies of blocks whose attributes are all free.
    bodies: Vec<Range<usize>>,
}

impl Free {
    fn add_top_level(&mut self, block: &Block) {
        let needed: &[&str] = match block.ident.as_str() {
            "terraform" => {
                for inner in block.body.blocks().filter(|inner| inner.ident.as_str() != "required_providers") {
                    self.add(inner, &[]);
                }
                return;
            }
            "provider" => &["version"],
            "module" => {
                // A module may have sources that depend on what it is given.
                for name in ["count", "for_each", "depends_on"] {
                    self.values.extend(block.body.get_attribute(name).and_then(|attribute| attribute.value.span()));
                }
                self.values.sort_by_key(|value| value.start);
                return;
            }
            "resource" | "data" | "ephemeral" | "action" | "import" | "check" => &["provider", "to"],
            // OpenTofu allows locals and variables in the source of a module.
            "locals" | "variable" => return,
            _ => &[],
        };
        self.add(block, needed);
    }

    fn add(&mut self, block: &Block, needed: &[&str]) {
        all_values(&block.body, needed, &mut self.values);
        let header = block.labels.last().map_or_else(|| block.ident.span(), Span::span);
        if let (Some(header), Some(block)) = (header, block.span())
            && needed.iter().all(|name| *name == "version")
        {
            self.bodies.push(header.end..block.end);
        }
    }
}

fn all_values(body: &Body, needed: &[&str], values: &mut Vec<Range<usize>>) {
    for structure in body {
        match structure {
            Structure::Attribute(attribute) if !needed.contains(&attribute.key.as_str()) => {
                values.extend(attribute.value.span());
            }
            Structure::Attribute(_) => {}
            Structure::Block(block) => all_values(&block.body, needed, values),
        }
    }
}
