//! The types that variables declare (HCL's `ext/typeexpr`).

use std::collections::BTreeMap;

use hcl_edit::expr::{Expression, FuncCall, Object, ObjectKey};

use super::allowance::Allowance;
use super::convert::convert;
use super::expression::Evaluator;
use super::value::{Attribute, Outcome, Type, Value, failure};

impl Type {
    /// The type that an expression declares: `string`, `list(object({ name = optional(string, "a") }))`.
    pub(crate) fn declared(expression: &Expression, allowance: &Allowance) -> Outcome<Self> {
        match expression {
            Expression::Variable(name) => named(name.as_str()),
            // A type in quotes is from before 0.12.
            Expression::String(name) if matches!(name.as_str(), "list" | "map" | "string") => named(name.as_str()),
            Expression::FuncCall(call) => allowance.nested(|| composed(call, allowance)),
            _ => invalid(),
        }
    }
}

fn invalid<T>() -> Outcome<T> {
    failure("the type of the variable is not one")
}

fn named(name: &str) -> Outcome<Type> {
    match name {
        "list" => Ok(Type::list(Type::Any)),
        "map" => Ok(Type::map(Type::Any)),
        "string" => Ok(Type::String),
        "number" => Ok(Type::Number),
        "bool" => Ok(Type::Bool),
        "any" => Ok(Type::Any),
        _ => invalid(),
    }
}

fn composed(call: &FuncCall, allowance: &Allowance) -> Outcome<Type> {
    let mut arguments = call.args.iter();
    let (Some(argument), None, false) = (arguments.next(), arguments.next(), call.name.is_namespaced()) else {
        return invalid();
    };
    match (call.name.name.as_str(), argument) {
        ("list", of) => Ok(Type::list(Type::declared(of, allowance)?)),
        ("set", of) => Ok(Type::set(Type::declared(of, allowance)?)),
        ("map", of) => Ok(Type::map(Type::declared(of, allowance)?)),
        ("tuple", Expression::Array(items)) => {
            Ok(Type::Tuple(items.iter().map(|item| Type::declared(item, allowance)).collect::<Outcome<_>>()?))
        }
        ("object", Expression::Object(attributes)) => object(attributes, allowance),
        _ => invalid(),
    }
}

fn object(attributes: &Object, allowance: &Allowance) -> Outcome<Type> {
    let mut declared = BTreeMap::new();
    for (name, kind) in attributes {
        let name = match name {
            ObjectKey::Ident(name) => name.to_string(),
            ObjectKey::Expression(Expression::String(name)) => name.to_string(),
            ObjectKey::Expression(_) => return invalid(),
        };
        let attribute = match kind.expr() {
            Expression::FuncCall(call) if call.name.name.as_str() == "optional" => optional(call, allowance)?,
            kind => Attribute::required(Type::declared(kind, allowance)?),
        };
        declared.insert(name, attribute);
    }
    Ok(Type::Object(declared))
}

/// `optional(type)` or `optional(type, default)`.
fn optional(call: &FuncCall, allowance: &Allowance) -> Outcome<Attribute> {
    let arguments: Vec<&Expression> = call.args.iter().collect();
    let ([kind] | [kind, _]) = arguments.as_slice() else { return invalid() };
    let kind = Type::declared(kind, allowance)?;
    let default = match arguments.get(1) {
        Some(default) => {
            let variables = BTreeMap::new();
            let value = Evaluator::without_functions(allowance, &variables).evaluate(default);
            convert(value.known()?, &kind)?
        }
        None => Value::Null(kind.of_values()),
    };
    Ok(Attribute { kind, default: Some(default) })
}
