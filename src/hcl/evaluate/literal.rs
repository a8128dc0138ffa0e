//! Literals, read and written by hcl-rs, which keeps neither positions nor exact numbers: values of
//! `*.tfvars` files and flags, and JSON.

use std::sync::Arc;

use ::hcl::expr::{Expression, ObjectKey};
use hcl_edit::expr::Expression as EditExpression;

use super::value::{Members, Stop, Unknown, Value, parse_exact_integer};
use crate::hcl::parse;

/// Most values that one JSON text may contain.
const MAX_JSON_VALUES: usize = 100_000;

/// Converts a literal of native syntax. Any other expression, and a number that is not an exact
/// integer, is unknown.
pub(crate) fn literal(expression: EditExpression) -> Result<Value, Stop> {
    from_hcl(as_literal(expression.into())?)
}

/// Parses a literal of native syntax, such as the value of `--var`.
pub(crate) fn parse_literal(text: &str) -> Result<Value, Stop> {
    match parse::expression(text) {
        Ok(expression) => literal(expression),
        Err(error) => Err(Stop::unknown(format!(
            "this value cannot be read: {}",
            error.message()
        ))),
    }
}

/// Converts an expression that contains no references, functions or templates.
fn as_literal(expression: Expression) -> Result<::hcl::Value, Stop> {
    Ok(match expression {
        Expression::Null => ::hcl::Value::Null,
        Expression::Bool(value) => value.into(),
        Expression::Number(number) => number.into(),
        Expression::String(text) => text.into(),
        Expression::Array(items) => {
            let mut values = Vec::new();
            for item in items {
                values.push(as_literal(item)?);
            }
            values.into()
        }
        Expression::Object(members) => {
            let mut values = ::hcl::Map::new();
            for (key, value) in members {
                let name = match key {
                    ObjectKey::Identifier(name) => name.to_string(),
                    ObjectKey::Expression(Expression::String(name)) => name,
                    // A key in parentheses, or with an interpolation, would have to be evaluated.
                    _ => return not_a_literal(),
                };
                values.insert(name, as_literal(value)?);
            }
            ::hcl::Value::Object(values)
        }
        _ => return not_a_literal(),
    })
}

fn not_a_literal<T>() -> Result<T, Stop> {
    Err(Stop::unknown("only a literal may stand here"))
}

/// JSON as Go writes it: characters that have a meaning in HTML are escaped.
pub(super) fn json(value: &Value) -> Result<String, Stop> {
    const ESCAPED: [(char, &str); 5] = [
        ('<', "\\u003c"),
        ('>', "\\u003e"),
        ('&', "\\u0026"),
        ('\u{2028}', "\\u2028"),
        ('\u{2029}', "\\u2029"),
    ];
    let Ok(json) = serde_json::to_string(&to_hcl(value.known()?)) else {
        return Err(Stop::unknown("the value is not encoded"));
    };
    if json.contains("\\b") || json.contains("\\f") {
        return Err(Stop::unknown(
            "the escapes of these characters depend on the version of the program",
        ));
    }
    Ok(ESCAPED.iter().fold(json, |json, (character, escape)| {
        json.replace(*character, escape)
    }))
}

fn to_hcl(value: &Value) -> ::hcl::Value {
    match value {
        Value::Bool(value) => (*value).into(),
        Value::Int(number) => (*number).into(),
        Value::String(text) => (&**text).into(),
        Value::List(list) => list.iter().map(to_hcl).collect::<Vec<_>>().into(),
        Value::Object(object) => ::hcl::Value::Object(
            object
                .iter()
                .map(|(name, member)| (name.clone(), to_hcl(member)))
                .collect(),
        ),
        Value::Null | Value::Partial(_) | Value::Unknown(_) => ::hcl::Value::Null,
    }
}

/// Parses JSON, in which strings are not templates.
pub(crate) fn from_json(text: &str) -> Result<Value, Stop> {
    if text
        .bytes()
        .filter(|byte| matches!(byte, b',' | b'[' | b'{'))
        .count()
        > MAX_JSON_VALUES
    {
        return Err(Stop::unknown("JSON with so many values is not read"));
    }
    match serde_json::from_str::<::hcl::Value>(text) {
        Ok(value) => from_hcl(value),
        Err(_) => Err(Stop::unknown("the text is not JSON")),
    }
}

/// Converts a literal. A number that is not an exact integer is unknown.
fn from_hcl(value: ::hcl::Value) -> Result<Value, Stop> {
    match value {
        ::hcl::Value::Null => Ok(Value::Null),
        ::hcl::Value::Bool(value) => Ok(Value::Bool(value)),
        ::hcl::Value::Number(number) => match number
            .as_i64()
            .and_then(|number| parse_exact_integer(&number.to_string()))
        {
            Some(number) => Ok(Value::Int(number)),
            None => Ok(Value::Unknown(Arc::new(Unknown::new(
                "only integers in plain digits are computed",
                None,
            )))),
        },
        ::hcl::Value::String(text) => Ok(Value::string(text)),
        ::hcl::Value::Array(items) => {
            let mut values = Vec::new();
            for item in items {
                values.push(from_hcl(item)?);
            }
            Value::list(values)
        }
        ::hcl::Value::Object(members) => {
            let mut values = Members::new();
            for (name, value) in members {
                values.insert(name, from_hcl(value)?);
            }
            Value::object(values)
        }
    }
}
