//! The `provlock` program: parses its arguments, runs a command, and turns the outcome into an exit code; or answers a
//! shell that asks how to complete them.

mod cli;

use std::process::ExitCode;

/// The allocators of musl and glibc let threads wait for each other.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::run().into()
}
