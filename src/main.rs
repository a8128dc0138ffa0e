//! The `provlock` program: parses its arguments, runs a command, and turns the outcome into an exit code.

mod cli;

use std::process::ExitCode;

use clap::Parser as _;

fn main() -> ExitCode {
    cli::run(cli::Cli::parse()).into()
}
