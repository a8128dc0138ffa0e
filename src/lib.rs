//! Manages the dependency lock files (`.terraform.lock.hcl`) of OpenTofu and Terraform.
//!
//! Everything is `Requirements + old locks → new locks → difference`, and a command decides what to
//! do with the difference: write it, print it, or fail because there is one.
//!
//! Before 1.0 any release may change what is public; `Session`, its options and reports, `lockfile`
//! and `provider` change least.
//!
//! Modules depend downwards only. The binary (`src/cli`) is the sole place that knows the terminal,
//! the environment, the home directory and the exit code; it hands them down as values.
//!
//! Each room uses only rooms further down in this list:
//!
//! - [`project`]: opens root modules, and locks, verifies, upgrades, mirrors and merges them. Start
//!   here.
//! - [`configuration`]: the providers that a configuration requires.
//! - [`modules`]: packages of modules, fetched and installed.
//! - [`packages`]: packages of providers: archives, signatures, registries, mirrors.
//! - [`cli_config`], [`settings`], [`lockfile`]: the files that configure and record all this.
//! - [`system`]: files, processes, threads, and the environment as a value.
//! - [`diagnostic`]: messages for users.
//! - [`provider`]: values without I/O.
//!
//! Every message for users is a [`diagnostic::Diagnostic`]; other error types exist only where a
//! caller branches.
//!
//! Locking every root module below a directory, from the registries of their providers:
//!
//! ```no_run
//! use provlock::project::{LockOptions, Selection, Session, SessionOptions};
//! use provlock::system::Environment;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let environment = Environment {
//!     current_directory: std::env::current_dir()?,
//!     ..Environment::default()
//! };
//! let session = Session::new(environment, SessionOptions::default())?;
//! let roots = session.roots(&Selection::recursive("infra"))?;
//! let report = session.lock(&roots, &LockOptions::default(), |outcome| outcome.has_changes())?;
//! for (path, result) in report.roots {
//!     println!("{}: {}", path.display(), if result? { "changed" } else { "up to date" });
//! }
//! # Ok(())
//! # }
//! ```

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::exit,
    clippy::unwrap_used,
    clippy::expect_used
)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod cli_config;
pub mod configuration;
pub mod diagnostic;
mod hcl;
pub mod lockfile;
pub mod modules;
mod net;
pub mod packages;
pub mod project;
pub mod provider;
pub mod settings;
pub mod system;
