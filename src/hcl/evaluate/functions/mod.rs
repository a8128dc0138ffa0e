//! The functions of OpenTofu's and Terraform's language that depend on their arguments alone
//! (<https://opentofu.org/docs/language/functions/>).

use super::allowance::Allowance;
use super::value::{Outcome, Value, failure};
use function::Function;

mod cidr;
mod collection;
mod conversion;
mod encoding;
mod format;
mod function;
mod number;
pub(crate) mod path;
mod regular_expression;
mod set;
mod string;
mod time;

const TABLES: [&[Function]; 11] = [
    cidr::FUNCTIONS,
    collection::FUNCTIONS,
    conversion::FUNCTIONS,
    encoding::FUNCTIONS,
    format::FUNCTIONS,
    number::FUNCTIONS,
    path::FUNCTIONS,
    regular_expression::FUNCTIONS,
    set::FUNCTIONS,
    string::FUNCTIONS,
    time::FUNCTIONS,
];

/// Calls a function; `None` for an unknown name. Arguments that fail are passed to `try` and `can` alone.
pub(crate) fn call(name: &str, arguments: &[Value], allowance: &Allowance) -> Option<Outcome> {
    let Function(_, parameters, rest, body) =
        TABLES.into_iter().flatten().find(|Function(other, ..)| *other == name)?;
    let needed = parameters.len();
    if arguments.len() < needed || rest.is_none() && arguments.len() > needed {
        return Some(failure(format!("takes {needed} arguments, not {}", arguments.len())));
    }
    let parameters = parameters.iter().chain(rest.iter().cycle());
    let fitting = arguments.iter().zip(parameters).map(|(value, parameter)| parameter.fit(value));
    Some(fitting.collect::<Outcome<Vec<_>>>().and_then(|arguments| body(&arguments, allowance)))
}
