//! Types that variables declare (HCL's `ext/typeexpr`). Only primitive values are converted: a
//! value of any other type is unknown unless it has exactly this type.

use hcl_edit::expr::{Expression, Object, ObjectKey};

use super::value::{Members, Stop, Value};

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
pub(crate) fn convert(value: &Value, kind: &Expression) -> Result<Value, Stop> {
    value.ensure_not_failed()?;
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
        _ if is_type(kind, MAX_DEPTH) && has_type(value, kind, MAX_DEPTH) => Ok(value.clone()),
        _ => Err(Stop::unknown("conversions to this type are not computed")),
    }
}

/// Whether an expression is a valid type. Some valid types, such as those with optional attributes,
/// are refused.
fn is_type(kind: &Expression, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    if let Expression::Variable(name) = kind {
        return matches!(name.as_str(), "string" | "number" | "bool" | "any");
    }
    match constructor(kind) {
        Some(("list" | "map" | "set", item)) => is_type(item, depth),
        Some(("object", Expression::Object(attributes))) => {
            attributes.iter().all(|(name, attribute)| {
                matches!(name, ObjectKey::Ident(_)) && is_type(attribute.expr(), depth)
            })
        }
        _ => false,
    }
}

/// Whether a value has exactly a type, so that no conversion would change it. Unknown values and
/// null have every type.
fn has_type(value: &Value, kind: &Expression, depth: usize) -> bool {
    let Some(depth) = depth.checked_sub(1) else {
        return false;
    };
    if matches!(value, Value::Null | Value::Unknown(_)) {
        return true;
    }
    if let Expression::Variable(name) = kind {
        return match name.as_str() {
            "string" => matches!(value, Value::String(_) | Value::Partial(_)),
            "number" => matches!(value, Value::Int(_)),
            "bool" => matches!(value, Value::Bool(_)),
            _ => false,
        };
    }
    match (constructor(kind), value) {
        (Some(("list", item)), Value::List(items)) => {
            items.iter().all(|value| has_type(value, item, depth))
        }
        (Some(("map", item)), Value::Object(members)) => {
            members.values().all(|value| has_type(value, item, depth))
        }
        (Some(("object", Expression::Object(attributes))), Value::Object(members)) => {
            has_attributes(members, attributes, depth)
        }
        _ => false,
    }
}

/// The name and the argument of a type such as `list(string)`; `None` for any other expression.
fn constructor(kind: &Expression) -> Option<(&str, &Expression)> {
    let Expression::FuncCall(call) = kind else {
        return None;
    };
    if call.name.is_namespaced() {
        return None;
    }
    let mut arguments = call.args.iter();
    match (arguments.next(), arguments.next()) {
        (Some(only), None) => Some((call.name.name.as_str(), only)),
        _ => None,
    }
}

/// Whether an object has exactly these attributes, with values of their types.
fn has_attributes(members: &Members, attributes: &Object, depth: usize) -> bool {
    // A conversion drops other attributes, so the value would not stay as it is.
    if members.len() != attributes.len() {
        return false;
    }
    for (name, kind) in attributes {
        let ObjectKey::Ident(name) = name else {
            return false;
        };
        match members.get(name.as_str()) {
            Some(member) if has_type(member, kind.expr(), depth) => {}
            _ => return false,
        }
    }
    true
}
