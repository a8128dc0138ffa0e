//! HCL's operators on values (HCL native syntax specification, "Operations" and "Traversals").

use std::sync::Arc;

use hcl_edit::expr::{BinaryOperator, UnaryOperator};

use super::convert::equals;
use super::number::Number;
use super::value::{ListKind, Outcome, Value, failure, unknown};

/// `-a` or `!a`.
pub(super) fn unary(operator: UnaryOperator, operand: &Value) -> Outcome {
    match operator {
        UnaryOperator::Neg => operand.as_number()?.negated().map(Value::Number),
        UnaryOperator::Not => Ok(Value::Bool(!operand.as_bool()?)),
    }
}

/// `a == b` and the like. `false && x` is false and `true || x` true even if `x` is unknown, so long as it does not
/// fail.
pub(super) fn binary(operator: BinaryOperator, left: &Value, right: &Value) -> Outcome {
    use BinaryOperator::{And, Eq, NotEq, Or};
    match operator {
        Eq => equals(left, right).map(Value::Bool),
        NotEq => equals(left, right).map(|is_equal| Value::Bool(!is_equal)),
        And => logical(left, right, false),
        Or => logical(left, right, true),
        _ => {
            left.failed()?;
            right.failed()?;
            arithmetic(operator, &left.as_number()?, &right.as_number()?)
        }
    }
}

fn logical(left: &Value, right: &Value, deciding: bool) -> Outcome {
    let decides = |value: &Value| value.as_bool() == Ok(deciding);
    left.failed()?;
    let is_open = |value: &Value| value.is_null() || value.failed().is_err();
    if is_open(right) || left.is_null() || decides(left) && right.known_itself().is_ok() && right.as_bool().is_err() {
        // Newer versions evaluate the second operand only when they need it, older ones always.
        return unknown("whether an operand that fails matters depends on the version of the program");
    }
    if decides(left) || decides(right) && left.known_itself().is_err() {
        return Ok(Value::Bool(deciding));
    }
    left.as_bool()?;
    Ok(Value::Bool(right.as_bool()?))
}

fn arithmetic(operator: BinaryOperator, left: &Number, right: &Number) -> Outcome {
    use BinaryOperator::{Div, Greater, GreaterEq, Less, LessEq, Minus, Mod, Mul, Plus};
    let number = match operator {
        LessEq => return Ok(Value::Bool(left <= right)),
        GreaterEq => return Ok(Value::Bool(left >= right)),
        Less => return Ok(Value::Bool(left < right)),
        Greater => return Ok(Value::Bool(left > right)),
        Plus => left.plus(right),
        Minus => left.minus(right),
        Mul => left.times(right),
        Div => left.divided_by(right),
        Mod => left.modulo(right),
        _ => return failure("the operator does not take numbers"),
    };
    number.map(Value::Number)
}

/// `collection[index]`.
pub(super) fn index(collection: &Value, index: &Value) -> Outcome {
    match collection {
        Value::List(list) if matches!(list.kind, ListKind::Set(_)) => failure("a set has no indexes"),
        Value::List(list) => match list.items.get(index.as_index()?) {
            Some(item) => Ok(item.clone()),
            None => failure("the index is past the end of the list"),
        },
        _ => match collection.as_object()?.get(&*index.comparable()?.as_string()?) {
            Some(value) => Ok(value.clone()),
            None => failure("there is no such key"),
        },
    }
}

/// `object.name`.
pub(super) fn attribute(object: &Value, name: &str) -> Outcome {
    match object {
        // An attribute of an unknown value is unknown for the same reason.
        Value::Unknown(unknown) => Ok(Value::Unknown(Arc::clone(unknown))),
        _ => match object.as_object()?.get(name) {
            Some(value) => Ok(value.clone()),
            None => failure(format!("there is no attribute \"{name}\"")),
        },
    }
}
