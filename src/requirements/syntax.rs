//! One view of a configuration in either syntax: bodies hold arguments and blocks, blocks have labels and a body.
//!
//! Native values are handed to hcl-edit one at a time, when they are asked for, so that what does not matter is never
//! parsed. JSON follows HCL's JSON specification: a block is an object, an array of blocks repeats it, and labels are
//! the names of nested objects.

use std::ops::Range;

use hcl_edit::Span;
use hcl_edit::expr::{Expression as EditExpression, ObjectKey};
use hcl_edit::template::StringTemplate;

use super::constant::{self, Deferred};
use super::native::{self, Content, Item};
use crate::hcl::Fault;
use crate::hcl::json::{self, Kind, Member};

/// A name with its place, including quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub text: String,
    pub span: Range<usize>,
}

/// What stands between a block's braces, not looked at yet.
#[derive(Clone)]
pub(super) enum Body<'a> {
    Native { text: &'a str, span: Range<usize> },
    Json(&'a json::Value),
}

/// The arguments and blocks of a body.
pub(super) enum Items<'a> {
    Native { text: &'a str, items: Vec<Item> },
    Json(Vec<&'a Member>),
}

/// A block: its labels and body.
pub(super) struct Block<'a> {
    /// The block's type, or in JSON the name that leads to it.
    pub header: Range<usize>,
    pub labels: Vec<Name>,
    pub body: Body<'a>,
}

/// The value of an argument, not looked at yet.
#[derive(Clone)]
pub(super) enum Expression<'a> {
    Native { text: &'a str, span: Range<usize> },
    Json(&'a json::Value),
}

impl<'a> Body<'a> {
    pub(super) fn items(&self) -> Result<Items<'a>, Fault> {
        match self {
            Self::Native { text, span } => Ok(Items::Native { text, items: native::block_items(text, span.clone())? }),
            Self::Json(value) => Ok(Items::Json(members(value)?)),
        }
    }

    /// Whether the body can hold an argument or block of this name; `false` is certain, and cheaper than looking.
    pub(super) fn may_hold(&self, name: &str) -> bool {
        match self {
            Self::Native { text, span } => {
                memchr::memmem::find(&text.as_bytes()[span.clone()], name.as_bytes()).is_some()
            }
            Self::Json(_) => true,
        }
    }
}

impl<'a> Items<'a> {
    /// The value of an argument. Of several in JSON the last counts.
    pub(super) fn argument(&self, name: &str) -> Option<Expression<'a>> {
        match self {
            Self::Native { text, items } => items.iter().find_map(|item| match &item.content {
                Content::Argument(span) if &text[item.name.clone()] == name => {
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
    pub(super) fn arguments(&self) -> Vec<(Name, Expression<'a>)> {
        match self {
            Self::Native { text, items } => items
                .iter()
                .filter_map(|item| match &item.content {
                    Content::Argument(span) => Some((
                        Name { text: text[item.name.clone()].to_owned(), span: item.name.clone() },
                        Expression::Native { text, span: span.clone() },
                    )),
                    Content::Block { .. } => None,
                })
                .collect(),
            Self::Json(members) => members
                .iter()
                .map(|m| (Name { text: m.name.clone(), span: m.name_span.clone() }, Expression::Json(&m.value)))
                .collect(),
        }
    }

    /// The blocks of a type, which takes as many labels as `labels` names.
    pub(super) fn blocks(&self, kind: &str, labels: &[&str]) -> Result<Vec<Block<'a>>, Fault> {
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
    pub(super) fn has_block(&self, kind: &str) -> bool {
        match self {
            Self::Native { text, items } => items
                .iter()
                .any(|item| matches!(item.content, Content::Block { .. }) && &text[item.name.clone()] == kind),
            Self::Json(members) => members.iter().any(|m| m.name == kind && m.value.kind != Kind::Null),
        }
    }

    /// The first block's type, where only arguments may stand; JSON does not tell them apart.
    pub(super) fn first_block(&self) -> Option<Range<usize>> {
        match self {
            Self::Native { items, .. } => {
                items.iter().find(|item| matches!(item.content, Content::Block { .. })).map(|item| item.name.clone())
            }
            Self::Json(_) => None,
        }
    }
}

/// The members of a JSON body: an object, or an array of objects that count together. `//` is a comment.
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
            labels.push(Name { text: member.name.clone(), span: member.name_span.clone() });
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
    let Content::Block { labels, body } = &item.content else {
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
            expect_string(evaluate_native(written, span)?, span)?
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

/// A quoted string without escapes or templates, which is most of them.
fn plain_string(written: &str) -> Option<&str> {
    let inner = written.strip_prefix('"')?.strip_suffix('"')?;
    (!inner.contains(['"', '\\', '$', '%', '\n'])).then_some(inner)
}

/// Whether a JSON string holds more than itself.
fn is_template(string: &str) -> bool {
    string.contains("${") || string.contains("%{")
}

fn expect_string(value: hcl::Value, span: &Range<usize>) -> Result<String, Fault> {
    match value {
        hcl::Value::String(string) => Ok(string),
        other => Err(Fault::new(span.clone(), format!("a string is expected here, not {}", describe(&other)))),
    }
}

/// The value of a native expression without variables and functions.
fn evaluate_native(written: &str, span: &Range<usize>) -> Result<hcl::Value, Fault> {
    match plain_string(written) {
        Some(string) => Ok(hcl::Value::String(string.to_owned())),
        None => evaluate(parse(written, span)?, span),
    }
}

fn evaluate(expression: EditExpression, span: &Range<usize>) -> Result<hcl::Value, Fault> {
    constant::evaluate(expression).map_err(|why| Fault::new(span.clone(), why))
}

/// Parses a value with hcl-edit, whose error is moved to its place in the file.
fn parse(written: &str, span: &Range<usize>) -> Result<EditExpression, Fault> {
    hcl_edit::parser::parse_expr(written).map_err(|error| {
        let at = span.start + written.floor_char_boundary(error.location().offset());
        Fault::new(at..at, format!("this value cannot be read: {}", error.message()))
    })
}

/// [`parse`] for the template that a JSON string is.
fn parse_template(string: &str, span: &Range<usize>) -> Result<EditExpression, Fault> {
    let unreadable = |error: hcl_edit::parser::Error| format!("this template cannot be read: {}", error.message());
    let template = hcl_edit::parser::parse_template(string);
    template
        .map(|template| StringTemplate::from(template).into())
        .map_err(|error| Fault::new(span.clone(), unreadable(error)))
}

fn describe(value: &hcl::Value) -> &'static str {
    match value {
        hcl::Value::Null => "null",
        hcl::Value::Bool(_) => "a bool",
        hcl::Value::Number(_) => "a number",
        hcl::Value::String(_) => "a string",
        hcl::Value::Array(_) => "a list",
        hcl::Value::Object(_) => "an object",
    }
}

impl<'a> Expression<'a> {
    /// The value's place.
    pub(super) fn span(&self) -> Range<usize> {
        match self {
            Self::Native { span, .. } => span.clone(),
            Self::Json(value) => value.span.clone(),
        }
    }

    /// The text of a native value; the string of a JSON one.
    fn written(&self) -> &'a str {
        match self {
            Self::Native { text, span } => &text[span.clone()],
            Self::Json(json::Value { kind: Kind::String(string), .. }) => string,
            Self::Json(_) => "",
        }
    }

    /// The value of an expression without variables and functions. JSON strings stand for themselves, without templates.
    pub(super) fn constant(&self) -> Result<hcl::Value, Fault> {
        match self {
            Self::Native { span, .. } => evaluate_native(self.written(), span),
            Self::Json(value) => Ok(json_value(value)),
        }
    }

    /// [`Expression::constant`], which must be a string.
    pub(super) fn constant_string(&self) -> Result<String, Fault> {
        expect_string(self.constant()?, &self.span())
    }

    /// [`Expression::constant_string`], where a number stands for its digits.
    pub(super) fn constant_text(&self) -> Result<String, Fault> {
        match self.constant()? {
            hcl::Value::Number(number) => Ok(number.to_string()),
            other => expect_string(other, &self.span()),
        }
    }

    /// [`Expression::constant_string`], where JSON strings are templates.
    pub(super) fn constant_template(&self) -> Result<String, Fault> {
        match self {
            Self::Json(json::Value { kind: Kind::String(string), span }) if is_template(string) => {
                evaluate(parse_template(string, span)?, span).and_then(|value| expect_string(value, span))
            }
            _ => self.constant_string(),
        }
    }

    /// The value as an expression to be evaluated later, where JSON strings are templates; none if it never is.
    pub(super) fn deferred(&self) -> Result<Option<Deferred>, Fault> {
        match self {
            Self::Native { span, .. } => Ok(Deferred::new(parse(self.written(), span)?)),
            Self::Json(json::Value { kind: Kind::String(string), span }) => {
                Ok(parse_template(string, span).ok().and_then(Deferred::new))
            }
            Self::Json(_) => Ok(None),
        }
    }

    /// The entries of an object, or `None` if the value is none. Names may be constant expressions.
    pub(super) fn entries(&self) -> Result<Option<Vec<(Name, Expression<'a>)>>, Fault> {
        match self {
            Self::Json(json::Value { kind: Kind::Object(members), .. }) => Ok(Some(
                members
                    .iter()
                    .map(|m| (Name { text: m.name.clone(), span: m.name_span.clone() }, Expression::Json(&m.value)))
                    .collect(),
            )),
            Self::Native { text, span } if text[span.clone()].starts_with('{') => native_entries(text, span).map(Some),
            Self::Json(_) | Self::Native { .. } => Ok(None),
        }
    }

    /// The names of a reference such as `aws.west`, `module.x["a"].aws_vpc.main[0]`: `aws`, `west`; without indexes.
    /// A quoted reference is read as if it had no quotes.
    pub(super) fn reference(&self) -> Result<Vec<String>, Fault> {
        let written = self.written();
        let unquoted = plain_string(written).unwrap_or(written);
        let fault = || Fault::new(self.span(), "a reference such as aws or aws.west is expected here");
        let mut names = Vec::new();
        let mut rest = unquoted.trim();
        loop {
            let length = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-')).unwrap_or(rest.len());
            if !rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                return Err(fault());
            }
            names.push(rest[..length].to_owned());
            rest = rest[length..].trim_start();
            while rest.starts_with('[') {
                let end = crate::hcl::scan::skip_nested(rest.as_bytes(), 0).and_then(Result::ok).ok_or_else(fault)?;
                rest = rest[end..].trim_start();
            }
            match rest.strip_prefix('.') {
                Some(next) => rest = next.trim_start(),
                None if rest.is_empty() => return Ok(names),
                None => return Err(fault()),
            }
        }
    }
}

fn native_entries<'a>(text: &'a str, span: &Range<usize>) -> Result<Vec<(Name, Expression<'a>)>, Fault> {
    let EditExpression::Object(object) = parse(&text[span.clone()], span)? else {
        return Err(Fault::new(span.clone(), "an object is expected here"));
    };
    let shifted = |inner: Option<Range<usize>>| match inner {
        Some(inner) => span.start + inner.start..span.start + inner.end,
        None => span.clone(),
    };
    let mut entries = Vec::new();
    for (key, value) in &object {
        let name = match key {
            ObjectKey::Ident(ident) => Name { text: ident.to_string(), span: shifted(ident.span()) },
            ObjectKey::Expression(other) => {
                let span = shifted(other.span());
                let name = evaluate(other.clone(), &span)?;
                Name { text: expect_string(name, &span)?, span }
            }
        };
        entries.push((name, Expression::Native { text, span: shifted(value.expr().span()) }));
    }
    Ok(entries)
}

fn json_value(value: &json::Value) -> hcl::Value {
    match &value.kind {
        Kind::Null => hcl::Value::Null,
        Kind::Bool(bool) => hcl::Value::Bool(*bool),
        Kind::Number(number) => {
            number.parse::<f64>().ok().and_then(hcl::Number::from_f64).map_or(hcl::Value::Null, hcl::Value::Number)
        }
        Kind::String(string) => hcl::Value::String(string.clone()),
        Kind::Array(values) => values.iter().map(json_value).collect(),
        Kind::Object(members) => {
            hcl::Value::Object(members.iter().map(|m| (m.name.clone(), json_value(&m.value))).collect())
        }
    }
}
