//! Reasons why an evaluation has no value.

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

impl Stop {
    /// A value that the evaluator, a function or an operator does not know.
    pub(crate) fn unknown(reason: impl Into<String>) -> Self {
        Self::Unknown(reason.into())
    }

    /// A failure of OpenTofu, Terraform or Terragrunt, too.
    pub(crate) fn failure(reason: impl Into<String>) -> Self {
        Self::Failure(reason.into())
    }

    /// Converts to an unknown value at a location. A value that was unknown before keeps its own.
    pub(crate) fn into_unknown_at(
        self,
        location: impl FnOnce() -> Option<Location>,
    ) -> Arc<Unknown> {
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
