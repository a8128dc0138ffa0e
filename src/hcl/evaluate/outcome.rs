//! The result of an evaluation: a value, or why there is none.

use std::sync::Arc;

use crate::diagnostic::Location;

/// Why something is not known.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
#[display("{reason}")]
pub struct Unknown {
    /// A fragment such as "`run_cmd` is not run". It quotes no values: they may come from the user's environment, and
    /// the configuration may be hostile.
    pub reason: String,
    /// The expression in question.
    pub location: Option<Location>,
    /// Whether OpenTofu, Terraform or Terragrunt would certainly fail here, so that `try` takes its next argument.
    pub(crate) is_failure: bool,
}

impl Unknown {
    /// Something that the program that runs the configuration may know, although a reader of files does not.
    pub(crate) fn new(reason: impl Into<String>, location: Option<Location>) -> Self {
        Self { reason: reason.into(), location, is_failure: false }
    }
}

/// What ends an evaluation early.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stop {
    /// A value that was needed is unknown.
    Needs(Arc<Unknown>),
    /// The evaluator, a function or an operator does not know; the place is added by the expression around it.
    Unknown(String),
    /// The program that runs the configuration would fail, too.
    Failure(String),
}

/// The result of a function or an operator.
pub(crate) type Outcome<T> = Result<T, Stop>;

impl Stop {
    /// The unknown value that is left behind at a place.
    pub(crate) fn at(self, location: impl FnOnce() -> Option<Location>) -> Arc<Unknown> {
        match self {
            Self::Needs(unknown) => unknown,
            Self::Unknown(reason) => Arc::new(Unknown::new(reason, location())),
            Self::Failure(reason) => Arc::new(Unknown { is_failure: true, ..Unknown::new(reason, location()) }),
        }
    }
}

/// A failure of the program that runs the configuration, for `Err`.
pub(crate) fn failure<T>(reason: impl Into<String>) -> Outcome<T> {
    Err(Stop::Failure(reason.into()))
}

/// Something that is not known here, for `Err`.
pub(crate) fn unknown<T>(reason: impl Into<String>) -> Outcome<T> {
    Err(Stop::Unknown(reason.into()))
}
