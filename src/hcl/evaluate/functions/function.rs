//! What a function is and what it takes.

use super::super::allowance::Allowance;
use super::super::convert::convert;
use super::super::value::{Outcome, Type, Value, failure};

/// A function: its name, the parameters that it has, the one that may be repeated after them, and what it does with
/// arguments that fit them.
pub(super) struct Function(pub &'static str, pub &'static [Parameter], pub Option<Parameter>, pub Body);

pub(super) type Body = fn(&[Value], &Allowance) -> Outcome;

/// What a function takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Parameter {
    /// Anything at all, also what is not known.
    Open,
    /// A value whose parts may be unknown, but not null.
    Shell,
    /// A value that is fully known, but not null.
    Any,
    /// A value that is fully known, or null.
    Nullable,
    Text,
    Number,
    /// A list of values of one type.
    List,
    Texts,
    Bools,
}

impl Parameter {
    /// The argument as the function takes it.
    pub(super) fn fit(self, value: &Value) -> Outcome {
        if self == Self::Open {
            return Ok(value.clone());
        }
        if value.is_null() && self != Self::Nullable {
            return failure("null is not allowed");
        }
        let kind = match self {
            Self::Open | Self::Shell | Self::Any | Self::Nullable => Type::Any,
            Self::Text => Type::String,
            Self::Number => Type::Number,
            Self::List => Type::list(Type::Any),
            Self::Texts => Type::list(Type::String),
            Self::Bools => Type::list(Type::Bool),
        };
        match self {
            Self::Shell => value.known_itself()?,
            _ => value.known()?,
        };
        convert(value, &kind)
    }
}
