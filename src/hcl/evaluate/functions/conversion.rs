//! Functions that convert a value to a type.

use super::super::convert::convert;
use super::super::value::{Outcome, Type, Value, failure};
use super::function::Function;
use super::function::Parameter::Open;

pub(super) const FUNCTIONS: &[Function] = &[
    Function("tostring", &[Open], None, |arguments, _| to(&arguments[0], &Type::String)),
    Function("tonumber", &[Open], None, |arguments, _| to(&arguments[0], &Type::Number)),
    Function("tobool", &[Open], None, |arguments, _| to(&arguments[0], &Type::Bool)),
    Function("tolist", &[Open], None, |arguments, _| to(&arguments[0], &Type::list(Type::Any))),
    Function("toset", &[Open], None, |arguments, _| to(&arguments[0], &Type::set(Type::Any))),
    Function("tomap", &[Open], None, |arguments, _| to(&arguments[0], &Type::map(Type::Any))),
];

fn to(value: &Value, kind: &Type) -> Outcome {
    match value {
        Value::Unknown(_) => value.known().cloned(),
        Value::Null(from) if !from.converts_to(kind)? => failure("a null of another type cannot be converted"),
        value => convert(value, kind),
    }
}
