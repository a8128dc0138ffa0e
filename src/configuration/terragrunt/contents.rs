//! The text of a generated file. Values may be unknown if no requirement depends on them. If branches are unknown, the
//! file may have more requirements.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use hcl_edit::Span;
use hcl_edit::structure::{Block, Body, Structure};

use super::branches::{self, Branch, Part, holds};
use crate::hcl::evaluate::value::{Outcome, Piece, Stop, Unknown, Value};
use crate::hcl::parse;

/// Replaces an unknown value in the text.
const PLACEHOLDER: &str = "unknown";

/// The text of a generated file.
pub(super) struct Contents {
    /// Each unknown value is a placeholder.
    pub(super) text: String,
    /// Why the file may have more than the text: branches of it are left out.
    pub(super) left_out: Vec<Arc<Unknown>>,
}

/// The text, in which each unknown value is a placeholder, and each `if` with an unknown condition is one branch, or
/// the common part of both.
///
/// An unknown text is treated as one value. It could close its block and open a new one, but real files do not do that.
pub(super) fn text(contents: &Value) -> Outcome<Contents> {
    let Value::Partial(pieces) = contents else {
        return Ok(Contents { text: contents.as_string()?.to_string(), left_out: Vec::new() });
    };
    Assembled::new(pieces, is_common).text().or_else(|stop| {
        // A branch that matters where it is can be left out, too.
        Assembled::new(pieces, |piece| is_common(piece) || matches!(piece, Piece::Branch(..))).text().map_err(|_| stop)
    })
}

fn is_common(piece: &Piece) -> bool {
    matches!(piece, Piece::Common(..))
}

struct Hole<'a> {
    range: Range<usize>,
    is_branch: bool,
    unknown: &'a Arc<Unknown>,
}

/// The text of pieces, without some of them.
struct Assembled<'a> {
    text: String,
    /// Unknown parts of the text.
    holes: Vec<Hole<'a>>,
    /// The parts that are left out, and why.
    parts: Vec<Part<'a>>,
    left_out: Vec<Arc<Unknown>>,
}

impl<'a> Assembled<'a> {
    fn new(pieces: &'a [Piece], leaves_out: impl Fn(&Piece) -> bool) -> Self {
        let mut all = Self { text: String::new(), holes: Vec::new(), parts: Vec::new(), left_out: Vec::new() };
        for piece in pieces {
            let start = all.text.len();
            match piece {
                Piece::Common(_, unknown) | Piece::Branch(_, unknown) if leaves_out(piece) => {
                    let common = if let Piece::Common(common, _) = piece { common } else { "" };
                    all.text.push_str(&branches::mark(all.parts.len()));
                    all.parts.push(Part { range: start..all.text.len(), common });
                    all.left_out.push(Arc::clone(unknown));
                }
                Piece::Text(text) => all.text.push_str(text),
                Piece::Hole(unknown) | Piece::Withheld(_, unknown) | Piece::Common(_, unknown) => {
                    all.text.push_str(PLACEHOLDER);
                    all.holes.push(Hole { range: start..all.text.len(), is_branch: false, unknown });
                }
                Piece::Branch(branch, unknown) => {
                    all.text.push_str(branch);
                    all.holes.push(Hole { range: start..all.text.len(), is_branch: true, unknown });
                }
            }
        }
        all
    }

    /// The text, if no requirement in it depends on an unknown part.
    fn text(self) -> Outcome<Contents> {
        let body = parse::body(&self.text).ok();
        let mut free = Free::default();
        for block in body.iter().flat_map(Body::blocks) {
            free.add_top_level(block);
        }
        let blocks = match &body {
            Some(body) => branches::around(&self.text, body, &self.parts),
            None => self.parts.is_empty().then(Vec::new),
        };
        let Some(blocks) = blocks else { return Err(Stop::Needs(Arc::clone(&self.left_out[0]))) };
        let is_free = |Hole { range, is_branch, .. }: &Hole<'_>| {
            holds(&blocks, range) || holds(&free.values, range) || (*is_branch && holds(&free.bodies, range))
        };
        if let Some(hole) = self.holes.iter().find(|hole| !is_free(hole)) {
            return Err(Stop::Needs(Arc::clone(hole.unknown)));
        }
        let text = branches::without(&self.text, &blocks, &self.parts);
        Ok(Contents { text, left_out: self.left_out })
    }

    /// The text, if all omitted parts consist of whole blocks or attributes.
    fn omitting(&self) -> Option<String> {
        let body = parse::body(&self.text).ok()?;
        let blocks = branches::around(&self.text, &body, &self.parts)?;
        Some(branches::without(&self.text, &blocks, &self.parts))
    }
}

/// Returns the pieces for two branches with an unknown condition: the first branch if both contain the same providers,
/// a [`Piece::Branch`] if neither can contain a requirement, else their common part, or a hole if they do not consist
/// of blocks and attributes.
pub(super) fn either(one: Vec<Piece>, two: &[Piece], unknown: &Arc<Unknown>) -> Vec<Piece> {
    let hole = || vec![Piece::Hole(Arc::clone(unknown))];
    let text = |pieces: &[Piece]| Assembled::new(pieces, is_common).omitting();
    let is_of_object = |pieces: &[Piece]| branches::is_of_object(&Assembled::new(pieces, is_common).text);
    let (Some(text), Some(other)) = (text(&one), text(two)) else {
        let is_enclosed = is_of_object(&one) && is_of_object(two);
        return if is_enclosed { vec![Piece::Common(String::new(), Arc::clone(unknown))] } else { hole() };
    };
    let (Ok(body), Ok(other_body)) = (parse::body(&text), parse::body(&other)) else { return hole() };
    let all = || one.iter().chain(two);
    if !all().any(is_common) {
        let providers = providers(&body);
        if providers.is_some() && providers == self::providers(&other_body) {
            return one;
        }
        let may_require = |text: &str| ["version", "source", "provider"].iter().any(|word| text.contains(word));
        if !may_require(&text) && !may_require(&other) {
            return vec![Piece::Branch(text, Arc::clone(unknown))];
        }
    }
    let is_known = all().all(|piece| matches!(piece, Piece::Text(_) | Piece::Common(..)));
    let branches = [(&text, &body), (&other, &other_body)].map(|(text, body)| Branch { text, body });
    let common = if is_known { branches::common(branches[0], branches[1]) } else { String::new() };
    vec![Piece::Common(common, Arc::clone(unknown))]
}

/// The names of the providers in a body of `provider` blocks without versions; `None` if it contains anything else.
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
                // Sources in a module may depend on its arguments.
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
