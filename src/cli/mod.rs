//! The command line: raw arguments to validated requests, reports to text or JSON, outcomes to exit codes.

mod age;
mod args;
mod commands;
mod environment;
mod git;
mod interrupt;
mod platforms;
mod render;
mod resolve;
mod source;
mod ui;
mod what;

use provlock::diagnostic::Diagnostic;

pub(crate) use args::parse;
pub(crate) use commands::run;

/// The error for an argument that cannot be understood.
fn invalid_argument(message: String) -> Diagnostic {
    Diagnostic::error(provlock::diagnostic::Code::InvalidArgument, message)
}
