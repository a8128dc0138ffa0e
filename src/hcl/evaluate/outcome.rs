//! The result of an evaluation: a value, or why there is none.

use std::sync::Arc;

use crate::diagnostic::Location;

/// Reason why a value is not known.
#[derive(Clone, Debug, PartialEq, Eq, derive_more::Display)]
#[display("{reason}")]
pub struct Unknown {
    /// A fragment such as "`run_cmd` is not run". It quotes no values: they may come from the
    /// user's environment, and the configuration may be hostile.
    pub reason: String,
    /// Location of the expression.
    pub location: Option<Location>,
    /// Whether OpenTofu, Terraform or Terragrunt would certainly fail here, so that `try` takes its
    /// next argument.
    pub(crate) is_failure: bool,
}

impl Unknown {
    /// A value that OpenTofu, Terraform or Terragrunt may know, although a reader of files does
    /// not.
    pub(crate) fn new(reason: impl Into<String>, location: Option<Location>) -> Self {
        Self {
            reason: reason.into(),
            location,
            is_failure: false,
        }
    }
}

/// Reason why an evaluation ends early.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stop {
    /// A needed value is unknown.
    Needs(Arc<Unknown>),
    /// The evaluator, a function or an operator does not know. The expression around it adds the
    /// location.
    Unknown(String),
    /// OpenTofu, Terraform or Terragrunt would fail, too.
    Failure(String),
}

/// The result of a function or an operator.
pub(crate) type Outcome<T> = Result<T, Stop>;

impl Stop {
    /// Converts to an unknown value at a location.
    pub(crate) fn at(self, location: impl FnOnce() -> Option<Location>) -> Arc<Unknown> {
        match self {
            Self::Needs(unknown) => unknown,
            Self::Unknown(reason) => Arc::new(Unknown::new(reason, location())),
            Self::Failure(reason) => Arc::new(Unknown {
                is_failure: true,
                ..Unknown::new(reason, location())
            }),
        }
    }
}

/// Returns [`Stop::Failure`].
pub(crate) fn failure<T>(reason: impl Into<String>) -> Outcome<T> {
    Err(Stop::Failure(reason.into()))
}

/// Returns [`Stop::Unknown`].
pub(crate) fn unknown<T>(reason: impl Into<String>) -> Outcome<T> {
    Err(Stop::Unknown(reason.into()))
}
