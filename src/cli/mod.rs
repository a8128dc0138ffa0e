//! The command line: raw arguments to validated requests, reports to text or JSON, outcomes to exit codes.

mod age;
mod args;
mod batch;
mod commands;
mod connections;
mod environment;
mod git;
mod installation;
mod interrupt;
mod platforms;
mod project;
mod render;
mod resolve;
mod rewrites;
mod roots;
mod source;
mod ui;
mod what;

use provlock::diagnostic::Diagnostic;

use args::GlobalArgs;
pub(crate) use args::parse;
pub(crate) use commands::run;

/// The error for an argument that cannot be understood.
fn invalid_argument(message: String) -> Diagnostic {
    Diagnostic::error(provlock::diagnostic::Code::InvalidArgument, message)
}
