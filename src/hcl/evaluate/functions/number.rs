//! Functions on numbers and bools.

use num_bigint::BigInt;

use super::super::number::Number;
use super::super::value::{Outcome, Value, failure, unknown};
use super::function::Function;
use super::function::Parameter::{Any, Bools, Number as Numeric};

pub(super) const FUNCTIONS: &[Function] = &[
    Function("abs", &[Numeric], None, |arguments, _| {
        let number = arguments[0].as_number()?;
        if number.is_negative() { number.negated() } else { Ok(number) }.map(Value::Number)
    }),
    Function("ceil", &[Numeric], None, |arguments, _| round(&arguments[0], true)),
    Function("floor", &[Numeric], None, |arguments, _| round(&arguments[0], false)),
    Function("signum", &[Numeric], None, |arguments, _| Ok(Value::number(arguments[0].as_integer()?.signum()))),
    Function("max", &[Numeric], Some(Numeric), |arguments, _| fold(arguments, |a, b| Ok(if b > a { b } else { a }))),
    Function("min", &[Numeric], Some(Numeric), |arguments, _| fold(arguments, |a, b| Ok(if b < a { b } else { a }))),
    Function("sum", &[Any], None, |arguments, _| fold(arguments[0].as_list()?, |a, b| a.plus(&b))),
    Function("pow", &[Numeric, Numeric], None, |arguments, _| pow(arguments)),
    Function("parseint", &[Any, Numeric], None, |arguments, _| parseint(arguments)),
    Function("alltrue", &[Bools], None, |arguments, _| {
        Ok(Value::Bool(arguments[0].as_list()?.iter().all(|value| *value == Value::Bool(true))))
    }),
    Function("anytrue", &[Bools], None, |arguments, _| {
        Ok(Value::Bool(arguments[0].as_list()?.contains(&Value::Bool(true))))
    }),
];

fn round(number: &Value, is_up: bool) -> Outcome {
    let number = number.as_number()?;
    let whole = match number.to_integer() {
        None if is_up => number.to_floor() + 1,
        _ => number.to_floor(),
    };
    let is_negative_zero = whole == BigInt::ZERO && number.is_negative();
    if is_negative_zero {
        unknown("a negative zero is not computed")
    } else {
        number.with_integer(whole).map(Value::Number)
    }
}

fn fold(numbers: &[Value], combine: impl Fn(Number, Number) -> Outcome<Number>) -> Outcome {
    let mut result = None;
    for number in numbers {
        let number = number.as_number()?;
        result = Some(match result {
            None => number,
            Some(sum) => combine(sum, number)?,
        });
    }
    result.map_or_else(|| failure("takes at least one number"), |number| Ok(Value::Number(number)))
}

/// `pow` computes with doubles, so only what they hold exactly is known.
fn pow(arguments: &[Value]) -> Outcome {
    let (base, exponent) = (arguments[0].as_number()?.to_i64(), arguments[1].as_number()?.to_i64());
    let power = base.zip(exponent.and_then(|exponent| u32::try_from(exponent).ok()));
    match power.and_then(|(base, exponent)| base.checked_pow(exponent)) {
        Some(power) if power.abs() < 1 << 53 => Ok(Value::Number(Number::double(power))),
        _ => unknown("this power is not computed"),
    }
}

fn parseint(arguments: &[Value]) -> Outcome {
    let Value::String(text) = &arguments[0] else { return failure("takes a string") };
    let base = match u32::try_from(arguments[1].as_integer()?) {
        Ok(base @ 2..=36) => base,
        Ok(37..=62) => return unknown("digits of this base are not read"),
        _ => return failure("the base is not from 2 to 62"),
    };
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(base)) {
        return failure("the text is not a whole number in this base");
    }
    if digits.len() > 512 {
        return unknown("numbers this large are not computed");
    }
    match BigInt::parse_bytes(text.as_bytes(), base) {
        Some(number) => Number::whole(number).map(Value::Number),
        None => unknown("the number is not read"),
    }
}
