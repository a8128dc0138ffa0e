//! Converts values to the types that variables declare (HCL's `ext/typeexpr` and cty's `convert`).

use std::collections::BTreeMap;

use hcl_edit::expr::{Expression, FuncCall, Object, ObjectKey};

use super::allowance::Allowance;
use super::expression::Evaluator;
use super::references::References;
use super::value::{Members, Outcome, Value, failure, uniform, unknown};

/// Whether a type is `string`, `number` or `bool`: a text that is given for it is the value itself, not an expression.
pub(crate) fn is_primitive(kind: &Expression) -> bool {
    match kind {
        Expression::Variable(name) => matches!(name.as_str(), "string" | "number" | "bool"),
        Expression::String(name) => name.as_str() == "string",
        _ => false,
    }
}

/// Converts a value to a type such as `string` or `list(object({ name = optional(string, "a") }))`. Unknown parts of
/// the value stay unknown, and null fits every type.
pub(crate) fn convert(value: &Value, kind: &Expression, allowance: &Allowance) -> Outcome {
    value.failed()?;
    allowance.nested(|| match kind {
        Expression::Variable(name) => named(value, name.as_str()),
        // A type in quotes is from before 0.12.
        Expression::String(name) if matches!(name.as_str(), "list" | "map" | "string") => named(value, name.as_str()),
        Expression::FuncCall(call) => composed(value, call, allowance),
        _ => invalid(),
    })
}

fn invalid<T>() -> Outcome<T> {
    failure("the type of the variable is invalid")
}

fn named(value: &Value, name: &str) -> Outcome {
    match (name, value) {
        ("string" | "number" | "bool" | "any" | "list" | "map", Value::Null | Value::Unknown(_))
        | ("string", Value::Partial(_))
        | ("any", _) => Ok(value.clone()),
        ("string", _) => value.as_string().map(Value::String),
        ("number", _) => value.as_int().map(Value::Int),
        ("bool", _) => value.as_bool().map(Value::Bool),
        ("list", _) => uniform(value.as_list()?).and_then(|()| Value::list(value.as_list()?.to_vec())),
        ("map", _) => uniform(value.as_object()?.values()).map(|()| value.clone()),
        _ => invalid(),
    }
}

/// Converts to a type that contains others. The types in it are checked even if the value contains none of them.
fn composed(value: &Value, call: &FuncCall, allowance: &Allowance) -> Outcome {
    let mut arguments = call.args.iter();
    let (Some(of), None, false) = (arguments.next(), arguments.next(), call.name.is_namespaced()) else {
        return invalid();
    };
    let name = call.name.name.as_str();
    match (name, of) {
        ("list" | "set" | "map", of) => convert(&Value::Null, of, allowance)?,
        ("tuple", Expression::Array(kinds)) => {
            kinds.iter().try_for_each(|kind| convert(&Value::Null, kind, allowance).map(drop))?;
            Value::Null
        }
        ("object", Expression::Object(attributes)) => object(&Members::new(), attributes, true, allowance)?,
        _ => return invalid(),
    };
    if value.is_null() || matches!(value, Value::Unknown(_)) {
        return Ok(value.clone());
    }
    // Where a type is left open by `any`, all items are converted to one type.
    let is_open = References::of(of).names.iter().any(|(name, _)| matches!(name.as_str(), "any" | "list" | "map"));
    let all = |items: &[Value]| items.iter().map(|item| convert(item, of, allowance)).collect::<Outcome<Vec<_>>>();
    match (name, of) {
        ("list" | "set", _) => {
            let items = all(value.as_list()?)?;
            if is_open {
                uniform(&items)?;
            }
            if name == "set" { Value::set(items) } else { Value::list(items) }
        }
        ("map", _) => {
            let members = value.as_object()?.iter();
            let members = members.map(|(name, value)| Ok((name.clone(), convert(value, of, allowance)?)));
            let members: Members = members.collect::<Outcome<_>>()?;
            if is_open {
                uniform(members.values())?;
            }
            Value::object(members)
        }
        ("object", Expression::Object(attributes)) => object(value.as_object()?, attributes, false, allowance),
        _ => unknown("values of tuple types are not computed"),
    }
}

/// An object with exactly these attributes; others are dropped. `is_check` checks the types alone.
fn object(given: &Members, attributes: &Object, is_check: bool, allowance: &Allowance) -> Outcome {
    let mut members = Members::new();
    for (name, kind) in attributes {
        let name = match name {
            ObjectKey::Ident(name) => name.to_string(),
            ObjectKey::Expression(Expression::String(name)) => name.to_string(),
            ObjectKey::Expression(_) => return invalid(),
        };
        let (kind, default) = match kind.expr() {
            Expression::FuncCall(call) if call.name.name.as_str() == "optional" => {
                match call.args.iter().collect::<Vec<_>>().as_slice() {
                    [kind] => (*kind, Some(Value::Null)),
                    [kind, default] => (*kind, Some(constant(default, kind, allowance)?)),
                    _ => return invalid(),
                }
            }
            kind => (kind, None),
        };
        let value = match (given.get(&name), default) {
            (None, None) if is_check => Value::Null,
            (None, None) => return failure(format!("the attribute \"{name}\" is required")),
            (None, Some(default)) => default,
            (Some(given), Some(default)) if given.is_null() => default,
            (Some(given), _) => given.clone(),
        };
        members.insert(name, convert(&value, kind, allowance)?);
    }
    Value::object(members)
}

/// The default of an optional attribute.
fn constant(default: &Expression, kind: &Expression, allowance: &Allowance) -> Outcome {
    let variables = BTreeMap::new();
    let value = Evaluator::without_functions(allowance, &variables).evaluate(default);
    convert(value.known()?, kind, allowance)
}
