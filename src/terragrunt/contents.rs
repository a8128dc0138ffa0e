//! The text of a generated file, of which some values may be unknown so long as no requirement depends on them.

use std::ops::Range;
use std::sync::Arc;

use hcl_edit::Span;
use hcl_edit::structure::{Block, Body, Structure};

use super::value::{Outcome, Piece, Stop, Unknown, Value};

/// What stands in the text for a value that is not known.
const PLACEHOLDER: &str = "unknown";

/// The text, where each unknown value is a placeholder.
///
/// An unknown value is assumed to be one: that it closes the block that it stands in and opens another is possible, but
/// nobody writes that.
pub(super) fn text(contents: &Value) -> Outcome<String> {
    let Value::Partial(pieces) = contents else { return Ok(contents.as_string()?.to_string()) };
    let mut text = String::new();
    let mut holes: Vec<(Range<usize>, &Arc<Unknown>)> = Vec::new();
    for piece in pieces.iter() {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Hole(unknown) => {
                holes.push((text.len()..text.len() + PLACEHOLDER.len(), unknown));
                text.push_str(PLACEHOLDER);
            }
        }
    }
    let body = hcl_edit::parser::parse_body(&text).ok();
    let mut values = Vec::new();
    for structure in body.iter().flat_map(Body::iter) {
        if let Structure::Block(block) = structure {
            free_values(block, &mut values);
        }
    }
    // Both are in the order of the text.
    let mut values = values.into_iter().peekable();
    for (hole, unknown) in holes {
        while values.next_if(|value| value.end < hole.end).is_some() {}
        if values.peek().is_none_or(|value| hole.start < value.start) {
            return Err(Stop::Needs(Arc::clone(unknown)));
        }
    }
    Ok(text)
}

/// Finds the values in a top-level block on which no requirement depends.
fn free_values(block: &Block, values: &mut Vec<Range<usize>>) {
    let needed: &[&str] = match block.ident.as_str() {
        "terraform" => {
            for inner in block.body.blocks().filter(|inner| inner.ident.as_str() != "required_providers") {
                all_values(&inner.body, &[], values);
            }
            return;
        }
        "provider" => &["version"],
        "module" => &["source", "version", "providers"],
        "resource" | "data" | "ephemeral" | "action" | "import" | "check" => &["provider", "to"],
        // Locals and variables may stand in a module's source, under OpenTofu.
        "locals" | "variable" => return,
        _ => &[],
    };
    all_values(&block.body, needed, values);
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
