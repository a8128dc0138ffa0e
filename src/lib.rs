//! Manages the dependency lock files (`.terraform.lock.hcl`) of OpenTofu and Terraform.
//!
//! Everything is `Requirements + old locks → new locks → difference`, and a command decides what to do with the
//! difference: write it, print it, or fail because there is one.
//!
//! Modules depend downwards only. The binary (`src/cli`) is the sole place that knows the terminal, the environment, the
//! home directory and the exit code; it hands them down as values.
//!
//! - [`workspace`]: opens root modules, and locks, verifies and upgrades them. Start here.
//! - [`ops`]: selecting versions, what an entry records, what is verified.
//! - [`source`], [`lockfile`], [`requirements`]: where packages come from, what is locked, what is required. `lockfile`
//!   knows no source, and `source` no lock file.
//! - [`mirror`]: what becomes of a directory of packages that lock files name.
//! - [`terragrunt`]: the directory whose requirements a Terragrunt unit has.
//! - [`package`], [`authentication`], [`shared_facts`], [`net`], [`cli_config`], [`settings`]: what those are made of.
//! - [`address`], [`provider_spec`], [`version`], [`constraint`], [`platform`], [`hash`], [`dialect`], [`oci_repository`],
//!   [`diagnostic`]: values, no I/O.
//!
//! Whatever a user must be told is a [`diagnostic::Diagnostic`]; other error types exist only where a caller branches.
//!
//! Locking a directory from a mirror:
//!
//! ```
//! use provlock::cli_config::Environment;
//! use provlock::source::{FilesystemMirror, Source, SourceKind};
//! use provlock::workspace::{LockOptions, Workspace};
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

pub mod address;
pub mod authentication;
mod bounded;
pub mod cli_config;
pub mod constraint;
pub mod diagnostic;
pub mod dialect;
mod evaluate;
pub mod files;
pub mod hash;
mod hcl;
pub mod lockfile;
pub mod mirror;
pub mod modules;
#[doc(hidden)]
pub mod net;
pub mod oci_repository;
mod once_map;
pub mod ops;
pub mod package;
mod parallel;
pub mod platform;
pub mod provider_pattern;
pub mod provider_spec;
pub mod requirements;
pub mod settings;
pub mod shared_facts;
pub mod source;
mod storage;
pub mod terragrunt;
pub mod version;
pub mod workspace;
