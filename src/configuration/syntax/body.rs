//! The arguments and blocks of a body.

use std::ops::Range;

use crate::hcl::Fault;
use crate::hcl::json::{self, Kind, Member};

use super::expression::{Expression, Name, evaluate_native, expect_string, named};
use super::native::{self, Item, ItemKind};

/// What stands between a block's braces, not looked at yet.
#[derive(Clone)]
pub(in crate::configuration) enum Body<'a> {
    Native { text: &'a str, span: Range<usize> },
    Json(&'a json::Value),
}

/// The arguments and blocks of a body.
pub(in crate::configuration) enum Items<'a> {
    Native { text: &'a str, items: Vec<Item> },
    Json(Vec<&'a Member>),
}

pub(in crate::configuration) struct Block<'a> {
    /// The block's type, or in JSON the name that leads to it.
    pub header: Range<usize>,
    pub labels: Vec<Name>,
    pub body: Body<'a>,
}

impl<'a> Body<'a> {
    pub(in crate::configuration) fn items(&self) -> Result<Items<'a>, Fault> {
        match self {
            Self::Native { text, span } => Ok(Items::Native { text, items: native::block_items(text, span.clone())? }),
            Self::Json(value) => Ok(Items::Json(members(value)?)),
        }
    }

    /// Whether the body can hold an argument or block of this name; `false` is certain, and cheaper than looking.
    pub(in crate::configuration) fn may_hold(&self, name: &str) -> bool {
        match self {
            Self::Native { text, span } => {
                memchr::memmem::find(&text.as_bytes()[span.clone()], name.as_bytes()).is_some()
            }
            Self::Json(_) => true,
        }
    }
}

impl<'a> Items<'a> {
    /// The value of an argument. JSON may repeat one; the last applies.
    pub(in crate::configuration) fn argument(&self, name: &str) -> Option<Expression<'a>> {
        match self {
            Self::Native { text, items } => items.iter().find_map(|item| match &item.kind {
                ItemKind::Argument(span) if &text[item.name.clone()] == name => {
                    Some(Expression::Native { text, span: span.clone() })
                }
                _ => None,
            }),
            Self::Json(members) => {
                members.iter().rev().find(|member| member.name == name).map(|member| Expression::Json(&member.value))
            }
        }
    }

    /// All arguments with their names; in JSON everything may be one.
    pub(in crate::configuration) fn arguments(&self) -> Vec<(Name, Expression<'a>)> {
        match self {
            Self::Native { text, items } => items
                .iter()
                .filter_map(|item| match &item.kind {
                    ItemKind::Argument(span) => Some((
                        Name { text: text[item.name.clone()].to_owned(), span: item.name.clone() },
                        Expression::Native { text, span: span.clone() },
                    )),
                    ItemKind::Block { .. } => None,
                })
                .collect(),
            Self::Json(members) => members.iter().map(|member| named(member)).collect(),
        }
    }

    /// The blocks of a type, which takes as many labels as `labels` names.
    pub(in crate::configuration) fn blocks(&self, kind: &str, labels: &[&str]) -> Result<Vec<Block<'a>>, Fault> {
        let mut blocks = Vec::new();
        match self {
            Self::Native { text, items } => {
                for item in items.iter().filter(|item| &text[item.name.clone()] == kind) {
                    blocks.push(native_block(text, item, labels)?);
                }
            }
            Self::Json(members) => {
                for member in members.iter().filter(|member| member.name == kind) {
                    json_blocks(&member.value, &member.name_span, labels, &[], &mut blocks)?;
                }
            }
        }
        Ok(blocks)
    }

    /// Whether there is a block (in JSON anything) of this type, whatever its labels.
    pub(in crate::configuration) fn has_block(&self, kind: &str) -> bool {
        match self {
            Self::Native { text, items } => {
                items.iter().any(|item| matches!(item.kind, ItemKind::Block { .. }) && &text[item.name.clone()] == kind)
            }
            Self::Json(members) => members.iter().any(|m| m.name == kind && m.value.kind != Kind::Null),
        }
    }

    /// The type of the first block, where only arguments may stand. JSON has the same syntax for both.
    pub(in crate::configuration) fn first_block(&self) -> Option<Range<usize>> {
        match self {
            Self::Native { items, .. } => {
                items.iter().find(|item| matches!(item.kind, ItemKind::Block { .. })).map(|item| item.name.clone())
            }
            Self::Json(_) => None,
        }
    }
}

/// The members of a JSON body: an object, or an array of objects that are one body together. `//` is a comment.
fn members(value: &json::Value) -> Result<Vec<&Member>, Fault> {
    let expected = |value: &json::Value| {
        Fault::new(value.span.clone(), format!("an object is expected here, not {}", value.describe()))
    };
    let mut members: Vec<&Member> = Vec::new();
    match &value.kind {
        Kind::Null => {}
        Kind::Object(object) => members.extend(object),
        Kind::Array(values) => {
            for value in values {
                match &value.kind {
                    Kind::Object(object) => members.extend(object),
                    _ => return Err(expected(value)),
                }
            }
        }
        _ => return Err(expected(value)),
    }
    members.retain(|member| member.name != "//");
    Ok(members)
}

fn json_blocks<'a>(
    value: &'a json::Value,
    header: &Range<usize>,
    missing: &[&str],
    labels: &[Name],
    blocks: &mut Vec<Block<'a>>,
) -> Result<(), Fault> {
    if let Some((_, missing)) = missing.split_first() {
        for member in members(value)? {
            let mut labels = labels.to_vec();
            labels.push(named(member).0);
            json_blocks(&member.value, header, missing, &labels, blocks)?;
        }
        return Ok(());
    }
    let mut add = |value: &'a json::Value| match value.kind {
        Kind::Object(_) => {
            blocks.push(Block { header: header.clone(), labels: labels.to_vec(), body: Body::Json(value) });
            Ok(())
        }
        Kind::Null => Ok(()),
        _ => Err(Fault::new(value.span.clone(), format!("an object is expected here, not {}", value.describe()))),
    };
    match &value.kind {
        Kind::Array(values) => values.iter().try_for_each(add),
        _ => add(value),
    }
}

fn native_block<'a>(text: &'a str, item: &Item, wanted: &[&str]) -> Result<Block<'a>, Fault> {
    let kind = &text[item.name.clone()];
    let ItemKind::Block { labels, body } = &item.kind else {
        return Err(Fault::new(item.name.clone(), format!("\"{kind}\" must be a block")));
    };
    if let Some(label) = labels.get(wanted.len()) {
        return Err(Fault::new(label.clone(), format!("one label too many for a \"{kind}\" block")));
    }
    if let Some(missing) = wanted.get(labels.len()) {
        return Err(Fault::new(
            item.name.clone(),
            format!("a label is missing: the {missing} of the \"{kind}\" block"),
        ));
    }
    let label = |span: &Range<usize>| {
        let written = &text[span.clone()];
        let name = if written.starts_with('"') {
            expect_string(&evaluate_native(written, span)?, span)?
        } else {
            written.to_owned()
        };
        Ok(Name { text: name, span: span.clone() })
    };
    Ok(Block {
        header: item.name.clone(),
        labels: labels.iter().map(label).collect::<Result<_, Fault>>()?,
        body: Body::Native { text, span: body.clone() },
    })
}
