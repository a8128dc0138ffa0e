//! The value of an argument, kept as text until the values of variables are known.

use std::collections::BTreeMap;
use std::ops::Range;

use hcl_edit::expr::Expression;
use hcl_edit::template::StringTemplate;

use crate::diagnostic::Location;
use crate::hcl::Fault;
use crate::hcl::evaluate::references::References;
use crate::hcl::evaluate::value::{Outcome, Stop, Value, integer, unknown};
use crate::hcl::json::{self, Kind};
use crate::hcl::parse;

/// The text of a value.
#[derive(Clone, Debug)]
pub(in crate::configuration) struct DeferredValue {
    /// The place of the value in its file.
    pub location: Location,
    pub is_json: bool,
}

pub(in crate::configuration) enum ParsedValue {
    Native(Expression),
    Json(json::Value),
}

impl DeferredValue {
    pub(in crate::configuration) fn parse(&self) -> Outcome<ParsedValue> {
        let text = &self.location.file.text[self.location.span.clone()];
        let parsed = if self.is_json {
            json::parse(text).map(ParsedValue::Json)
        } else {
            parse(text, &(0..text.len())).map(ParsedValue::Native)
        };
        parsed.map_err(|fault| Stop::Failure(fault.message))
    }

    /// The place in the file of a part of the value. A part of a JSON string has the place of the whole value.
    pub(in crate::configuration) fn place_of(&self, part: Range<usize>) -> Location {
        let Location { file, span } = &self.location;
        if self.is_json {
            self.location.clone()
        } else {
            Location::new(file, span.start + part.start..span.start + part.end)
        }
    }
}

impl ParsedValue {
    /// The names that the value depends on.
    pub(in crate::configuration) fn references(&self) -> References {
        match self {
            Self::Native(expression) => References::of(expression),
            Self::Json(value) => {
                let mut references = References::default();
                add_references(value, &mut references);
                references
            }
        }
    }

    /// The value as an expression of native syntax, which a JSON string may hold; `None` for other JSON.
    pub(in crate::configuration) fn as_expression(&self) -> Outcome<Option<Expression>> {
        match self {
            Self::Native(expression) => Ok(Some(expression.clone())),
            Self::Json(json::Value { kind: Kind::String(text), .. }) => match parse(text, &(0..text.len())) {
                Ok(expression) => Ok(Some(expression)),
                Err(fault) => Err(Stop::Failure(fault.message)),
            },
            Self::Json(_) => Ok(None),
        }
    }

    /// The value, where `evaluate` gives the value of an expression. JSON strings are templates.
    pub(in crate::configuration) fn value(&self, evaluate: &dyn Fn(&Expression) -> Value) -> Outcome {
        match self {
            Self::Native(expression) => Ok(evaluate(expression)),
            Self::Json(value) => json_value(value, &|text| Ok(evaluate(&template(text)?))),
        }
    }
}

fn add_references(value: &json::Value, references: &mut References) {
    match &value.kind {
        Kind::String(text) => {
            if let Ok(template) = template(text) {
                references.names.extend(References::of(&template).names);
            }
        }
        Kind::Array(values) => values.iter().for_each(|value| add_references(value, references)),
        Kind::Object(members) => members.iter().for_each(|member| add_references(&member.value, references)),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) => {}
    }
}

/// Parses a value with hcl-edit, and moves its error to the place in the file.
pub(super) fn parse(written: &str, span: &Range<usize>) -> Result<Expression, Fault> {
    parse::expression(written).map_err(|error| {
        let at = span.start + written.floor_char_boundary(error.location().offset());
        Fault::new(at..at, format!("this value cannot be read: {}", error.message()))
    })
}

/// [`parse`] for the template that a JSON string is.
pub(super) fn parse_template(string: &str, span: &Range<usize>) -> Result<Expression, Fault> {
    match hcl_edit::parser::parse_template(string) {
        Ok(template) => Ok(StringTemplate::from(template).into()),
        Err(error) => Err(Fault::new(span.clone(), format!("this template cannot be read: {}", error.message()))),
    }
}

fn template(text: &str) -> Outcome<Expression> {
    parse_template(text, &(0..text.len())).map_err(|fault| Stop::Failure(fault.message))
}

/// A JSON value, where `string` gives the value of a string.
pub(super) fn json_value(value: &json::Value, string: &dyn Fn(&str) -> Outcome) -> Outcome {
    match &value.kind {
        Kind::Null => Ok(Value::Null),
        Kind::Bool(value) => Ok(Value::Bool(*value)),
        Kind::Number(number) => match integer(number) {
            Some(number) => Ok(Value::Int(number)),
            None => unknown("only integers in plain digits are computed"),
        },
        Kind::String(text) => string(text),
        Kind::Array(values) => {
            Value::list(values.iter().map(|value| json_value(value, string)).collect::<Outcome<_>>()?)
        }
        Kind::Object(members) => {
            let member = |member: &json::Member| Ok((member.name.clone(), json_value(&member.value, string)?));
            Value::object(members.iter().map(member).collect::<Outcome<BTreeMap<_, _>>>()?)
        }
    }
}
