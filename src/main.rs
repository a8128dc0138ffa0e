//! The `provlock` program: parses its arguments, runs a command, and turns the outcome into an exit code.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(cli::parse()).into()
}
