//! The `provlock` program: parses its arguments, runs a command, and turns the outcome into an exit
//! code; or answers a shell that asks how to complete them.

#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod cli;

use std::process::ExitCode;

/// The allocator of musl lets threads wait for each other.
#[cfg(all(feature = "jemalloc", target_os = "linux", target_pointer_width = "64"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    cli::run().into()
}
