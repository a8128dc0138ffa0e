//! What functions ask of their arguments and results.

use super::super::value::{Outcome, Value, failure, unknown};

/// The arguments of a function that takes this many.
pub(super) fn take<const N: usize>(arguments: &[Value]) -> Outcome<&[Value; N]> {
    match arguments.try_into() {
        Ok(arguments) => Ok(arguments),
        Err(_) => failure(format!("takes {N} arguments, not {}", arguments.len())),
    }
}

/// A conversion, which leaves null alone.
pub(super) fn nullable(value: &Value, convert: impl Fn(&Value) -> Outcome) -> Outcome {
    if *value == Value::Null { Ok(Value::Null) } else { convert(value) }
}

/// Refuses to build text of more than a MiB out of little.
pub(super) fn bounded(length: usize) -> Outcome<()> {
    if length > 1 << 20 { unknown("the text is too long to be computed") } else { Ok(()) }
}
