//! Functions on numbers, and conversions to numbers and bools.

use super::super::value::{Outcome, Value, exact, failure};
use super::arguments::{nullable, take};

/// Calls a function whose arguments are fully known.
pub(super) fn call(name: &str, arguments: &[Value]) -> Option<Outcome> {
    let outcome = match name {
        "abs" => map(arguments, f64::abs),
        "ceil" => map(arguments, f64::ceil),
        "floor" => map(arguments, f64::floor),
        "signum" => map(arguments, |number| if number == 0.0 { 0.0 } else { number.signum() }),
        "max" => fold(arguments, f64::max),
        "min" => fold(arguments, f64::min),
        "sum" => take(arguments).and_then(|[list]| fold(list.as_list()?, |a, b| a + b)),
        "parseint" => parseint(arguments),
        "tonumber" => take(arguments).and_then(|[value]| nullable(value, |value| value.as_number().map(Value::Number))),
        "tobool" => take(arguments).and_then(|[value]| nullable(value, |value| value.as_bool().map(Value::Bool))),
        "alltrue" => bools(arguments, |bools| bools.iter().all(|value| *value)),
        "anytrue" => bools(arguments, |bools| bools.iter().any(|value| *value)),
        _ => return None,
    };
    Some(outcome)
}

fn map(arguments: &[Value], change: impl Fn(f64) -> f64) -> Outcome {
    let [number] = take(arguments)?;
    Ok(Value::Number(change(number.as_number()?)))
}

fn fold(numbers: &[Value], combine: impl Fn(f64, f64) -> f64) -> Outcome {
    let numbers = numbers.iter().map(Value::as_number).collect::<Outcome<Vec<_>>>()?;
    match numbers.into_iter().reduce(combine) {
        Some(number) => Ok(Value::Number(exact(number)?)),
        None => failure("takes at least one number"),
    }
}

fn parseint(arguments: &[Value]) -> Outcome {
    let [text, base] = take(arguments)?;
    let base = u32::try_from(base.as_index()?).ok().filter(|base| (2..=36).contains(base));
    match base.and_then(|base| i64::from_str_radix(&text.as_string().ok()?, base).ok()) {
        #[expect(clippy::cast_precision_loss)] // `exact` refuses what is not exact
        Some(number) => Ok(Value::Number(exact(number as f64)?)),
        None => failure("the text is not a whole number in this base"),
    }
}

fn bools(arguments: &[Value], test: impl Fn(&[bool]) -> bool) -> Outcome {
    let [list] = take(arguments)?;
    let bools = list.as_list()?.iter().map(Value::as_bool).collect::<Outcome<Vec<_>>>()?;
    Ok(Value::Bool(test(&bools)))
}
