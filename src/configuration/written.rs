//! The value of an argument, kept as it is written until the values of variables are known.

use std::collections::BTreeMap;

use hcl_edit::expr::Expression;
use hcl_edit::template::StringTemplate;

use crate::diagnostic::Location;
use crate::hcl::evaluate::references::References;
use crate::hcl::evaluate::value::{Outcome, Value, failure};
use crate::hcl::json::{self, Kind};

/// The value of an argument as it is written.
#[derive(Clone, Debug)]
pub(super) struct Written {
    /// The value's place in the file in which it stands.
    pub location: Location,
    pub is_json: bool,
}

/// A value that was parsed.
pub(super) enum Parsed {
    Expression(Expression),
    Json(json::Value),
}

impl Written {
    /// The text that stands in the file.
    fn text(&self) -> &str {
        &self.location.file.text[self.location.span.clone()]
    }

    pub(super) fn parse(&self) -> Outcome<Parsed> {
        if self.is_json {
            return json::parse(self.text()).map(Parsed::Json).or_else(|fault| failure(fault.message));
        }
        match hcl_edit::parser::parse_expr(self.text()) {
            Ok(expression) => Ok(Parsed::Expression(expression)),
            Err(error) => failure(format!("the value cannot be read: {}", error.message())),
        }
    }
}

impl Parsed {
    /// The names that the value depends on.
    pub(super) fn references(&self) -> References {
        match self {
            Self::Expression(expression) => References::of(expression),
            Self::Json(value) => {
                let mut references = References::default();
                add_references(value, &mut references);
                references
            }
        }
    }

    /// The value, where `evaluate` gives that of an expression. JSON strings are templates.
    pub(super) fn value(&self, evaluate: &dyn Fn(&Expression) -> Value) -> Outcome {
        match self {
            Self::Expression(expression) => Ok(evaluate(expression)),
            Self::Json(value) => json_value(value, evaluate),
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

fn json_value(value: &json::Value, evaluate: &dyn Fn(&Expression) -> Value) -> Outcome {
    match &value.kind {
        Kind::Null => Ok(Value::Null),
        Kind::Bool(value) => Ok(Value::Bool(*value)),
        Kind::Number(number) => number.parse().map(Value::Number).or_else(|_| failure("the number cannot be read")),
        Kind::String(text) => Ok(evaluate(&template(text)?)),
        Kind::Array(values) => {
            Value::list(values.iter().map(|value| json_value(value, evaluate)).collect::<Outcome<_>>()?)
        }
        Kind::Object(members) => {
            let member = |member: &json::Member| Ok((member.name.clone(), json_value(&member.value, evaluate)?));
            Value::object(members.iter().map(member).collect::<Outcome<BTreeMap<_, _>>>()?)
        }
    }
}

/// A JSON string as the template that it is.
fn template(text: &str) -> Outcome<Expression> {
    match hcl_edit::parser::parse_template(text) {
        Ok(template) => Ok(StringTemplate::from(template).into()),
        Err(error) => failure(format!("the template cannot be read: {}", error.message())),
    }
}
