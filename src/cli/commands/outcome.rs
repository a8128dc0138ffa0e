//! What commands come to.

use std::process::ExitCode;

/// What a command came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Done, and nothing to report.
    Done,
    /// There are differences or findings.
    Found,
    /// It could not be done.
    Failed,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::SUCCESS,
            Outcome::Found => Self::from(1),
            Outcome::Failed => Self::from(2),
        }
    }
}
