//! The functions of OpenTofu's language that depend on their arguments alone
//! (<https://opentofu.org/docs/language/functions/>).

use super::value::{Outcome, Value};

mod arguments;
mod collection;
mod encoding;
mod number;
mod regular_expression;
mod string;

/// Calls a function; `None` for an unknown name.
pub(crate) fn call(name: &str, arguments: &[Value]) -> Option<Outcome> {
    if let Some(outcome) = collection::call_with_unknown_items(name, arguments) {
        return Some(outcome);
    }
    if let Some(Err(stop)) = arguments.iter().map(Value::known).find(Result::is_err) {
        return Some(Err(stop));
    }
    collection::call(name, arguments)
        .or_else(|| string::call(name, arguments))
        .or_else(|| number::call(name, arguments))
        .or_else(|| encoding::call(name, arguments))
        .or_else(|| regular_expression::call(name, arguments))
}
