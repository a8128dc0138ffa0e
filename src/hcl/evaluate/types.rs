//! Types that variables declare (HCL's `ext/typeexpr`). Only primitive values are converted: a
//! value of any other type is unknown unless it has exactly this type.

use hcl_edit::expr::{Expression, Object, ObjectKey};

use super::value::{Members, Outcome, Value, unknown};

/// Deepest nesting of a type.
const MAX_DEPTH: usize = 32;

/// Whether a type is `string`, `number` or `bool`: a text that is given for it is the value itself,
/// not an expression.
pub(crate) fn is_primitive(kind: &Expression) -> bool {
    match kind {
        Expression::Variable(name) => matches!(name.as_str(), "string" | "number" | "bool"),
        Expression::String(name) => name.as_str() == "string",
        _ => false,
    }
}

/// Converts a value to a type such as `string` or `list(object({ name = string }))`. Unknown parts
/// of the value stay unknown.
pub(crate) fn convert(value: &Value, kind: &Expression) -> Outcome {
    value.failed()?;
    let name = match kind {
        Expression::Variable(name) => name.as_str(),
        // A type in quotes is from before 0.12.
        Expression::String(name) => name.as_str(),
        _ => "",
    };
    match (name, value) {
        ("any", _)
        | ("string" | "number" | "bool", Value::Null | Value::Unknown(_))
        | ("string", Value::Partial(_)) => Ok(value.clone()),
        ("string", _) => value.as_string().map(Value::String),
        ("number", _) => value.as_int().map(Value::Int),
        ("bool", _) => value.as_bool().map(Value::Bool),
        _ if has_type(None, kind, MAX_DEPTH) && has_type(Some(value), kind, MAX_DEPTH) => {
            Ok(value.clone())
        }
        _ => unknown("conversions to this type are not computed"),
    }
}

/// Whether a value has a type; without a value, whether the type is valid. Some values of valid
/// types are refused.
fn has_type(value: Option<&Value>, kind: &Expression, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    if matches!(value, Some(Value::Null | Value::Unknown(_))) {
        return true;
    }
    let call = match kind {
        Expression::Variable(name) => {
            return match name.as_str() {
                "string" => matches!(value, None | Some(Value::String(_) | Value::Partial(_))),
                "number" => matches!(value, None | Some(Value::Int(_))),
                "bool" => matches!(value, None | Some(Value::Bool(_))),
                name => name == "any" && value.is_none(),
            };
        }
        Expression::FuncCall(call) if !call.name.is_namespaced() => call,
        _ => return false,
    };
    let mut arguments = call.args.iter();
    let (Some(of), None) = (arguments.next(), arguments.next()) else {
        return false;
    };
    match (call.name.name.as_str(), of, value) {
        ("list" | "map" | "set", _, None) => has_type(None, of, depth),
        ("list", _, Some(Value::List(items))) => {
            items.iter().all(|item| has_type(Some(item), of, depth))
        }
        ("map", _, Some(Value::Object(members))) => members
            .values()
            .all(|member| has_type(Some(member), of, depth)),
        ("object", Expression::Object(attributes), None) => has_attributes(None, attributes, depth),
        ("object", Expression::Object(attributes), Some(Value::Object(members))) => {
            has_attributes(Some(members), attributes, depth)
        }
        _ => false,
    }
}

/// Whether an object has exactly these attributes; without an object, whether their types are
/// valid.
fn has_attributes(members: Option<&Members>, attributes: &Object, depth: usize) -> bool {
    // A conversion drops other attributes, so the value would not stay as it is.
    if members.is_some_and(|members| members.len() != attributes.len()) {
        return false;
    }
    for (name, kind) in attributes {
        let ObjectKey::Ident(name) = name else {
            return false;
        };
        let member = match members {
            Some(members) => match members.get(name.as_str()) {
                Some(member) => Some(member),
                None => return false,
            },
            None => None,
        };
        if !has_type(member, kind.expr(), depth) {
            return false;
        }
    }
    true
}
