//! Manages the dependency lock files (`.terraform.lock.hcl`) of OpenTofu and Terraform.
//!
//! Everything is `Requirements + old locks → new locks → difference`, and a command decides what to do with the
//! difference: write it, print it, or fail because there is one.
//!
//! Modules depend downwards only. The binary (`src/cli`) is the sole place that knows the terminal, the environment, the
//! home directory and the exit code; it hands them down as values.
//!
//! Each room uses only those after it:
//!
//! - [`project`]: opens root modules, and locks, verifies, upgrades, mirrors and merges them. Start here.
//! - [`configuration`]: which providers a configuration requires.
//! - [`modules`]: packages of modules, fetched and installed.
//! - [`packages`]: packages of providers: archives, signatures, registries, mirrors.
//! - [`net`], [`cli_config`], [`settings`], [`lockfile`]: what those are made of.
//! - [`system`]: files, processes, threads, and the environment as a value.
//! - [`diagnostic`]: what a user is told.
//! - [`provider`]: values without I/O.
//!
//! Whatever a user must be told is a [`diagnostic::Diagnostic`]; other error types exist only where a caller branches.
//!
//! Locking a directory from a mirror:
//!
//! ```
//! use provlock::system::Environment;
//! use provlock::packages::{FilesystemMirror, Source, SourceKind};
//! use provlock::project::{LockOptions, Workspace};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let testdata = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
//! # let directory = tempfile::tempdir()?;
//! # let (root, mirror) = (directory.path(), testdata.join("mirror"));
//! # std::fs::copy(testdata.join("demo/main.tf"), root.join("main.tf"))?;
//! let source = Source::new(SourceKind::FilesystemMirror(FilesystemMirror::new(mirror)));
//! let options = LockOptions { platforms: Some("linux_amd64".parse()?), ..LockOptions::default() };
//! let outcome = Workspace::open(root, &Environment::default())?.lock(source, &options)?;
//! for provider in &outcome.providers {
//!     println!("{} is locked", provider.difference.address);
//! }
//! # assert_eq!(outcome.locks.len(), 2);
//! # assert!(root.join(".terraform.lock.hcl").exists());
//! # Ok(())
//! # }
//! ```

#![deny(clippy::print_stdout, clippy::print_stderr, clippy::exit, clippy::unwrap_used, clippy::expect_used)]

pub mod cli_config;
pub mod configuration;
pub mod diagnostic;
mod hcl;
pub mod lockfile;
pub mod modules;
#[doc(hidden)]
pub mod net;
pub mod packages;
pub mod project;
pub mod provider;
pub mod settings;
pub mod system;
