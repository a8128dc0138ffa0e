//! HCL's operators on values (HCL native syntax specification, "Operations" and "Traversals").

use std::sync::Arc;

use hcl_edit::expr::{BinaryOperator, UnaryOperator};

use super::value::{Outcome, Value, exact, failure};

/// `-a` or `!a`.
pub(super) fn unary(operator: UnaryOperator, operand: &Value) -> Outcome {
    match operator {
        UnaryOperator::Neg => Ok(Value::Number(-operand.as_number()?)),
        UnaryOperator::Not => Ok(Value::Bool(!operand.as_bool()?)),
    }
}

/// `a == b` and the like. `false && x` is false and `true || x` true even if `x` is unknown, so long as it does not
/// fail.
pub(super) fn binary(operator: BinaryOperator, left: &Value, right: &Value) -> Outcome {
    use BinaryOperator::{And, Eq, NotEq, Or};
    match operator {
        Eq => Ok(Value::Bool(left.comparable()? == right.comparable()?)),
        NotEq => Ok(Value::Bool(left.comparable()? != right.comparable()?)),
        And => logical(left, right, false),
        Or => logical(left, right, true),
        _ => arithmetic(operator, left.as_number()?, right.as_number()?),
    }
}

fn logical(left: &Value, right: &Value, deciding: bool) -> Outcome {
    let decides = |value: &Value| value.as_bool() == Ok(deciding);
    let fails = |value: &Value| matches!(value, Value::Unknown(unknown) if unknown.is_failure);
    if (decides(left) || decides(right)) && !fails(left) && !fails(right) {
        return Ok(Value::Bool(deciding));
    }
    left.as_bool()?;
    Ok(Value::Bool(right.as_bool()?))
}

fn arithmetic(operator: BinaryOperator, left: f64, right: f64) -> Outcome {
    use BinaryOperator::{Div, Greater, GreaterEq, Less, LessEq, Minus, Mod, Mul, Plus};
    if matches!(operator, Div | Mod) && right == 0.0 {
        return failure("division by zero");
    }
    let number = match operator {
        LessEq => return Ok(Value::Bool(left <= right)),
        GreaterEq => return Ok(Value::Bool(left >= right)),
        Less => return Ok(Value::Bool(left < right)),
        Greater => return Ok(Value::Bool(left > right)),
        Plus => left + right,
        Minus => left - right,
        Mul => left * right,
        Div => left / right,
        Mod => left % right,
        _ => return failure("the operator does not take numbers"),
    };
    Ok(Value::Number(exact(number)?))
}

/// `collection[index]`.
pub(super) fn index(collection: &Value, index: &Value) -> Outcome {
    match collection {
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
