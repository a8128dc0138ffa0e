//! The `provlock` program: parses its arguments, runs a command, and turns the outcome into an exit code; or answers a
//! shell that asks how to complete them.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run().into()
}
