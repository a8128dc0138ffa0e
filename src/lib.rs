//! Manages the dependency lock files (`.terraform.lock.hcl`) of OpenTofu and Terraform.
//!
//! Everything is `Requirements + old locks → new locks → difference`, and a command decides what to do with the
//! difference: write it, print it, or fail because there is one.
//!
//! Modules depend downwards only. The binary (`src/cli`) is the sole place that knows the terminal, the environment, the
//! home directory and the exit code; it hands them down as values.
//!
//! - [`ops`]: what the commands do.
//! - [`source`], [`lockfile`], [`requirements`]: where packages come from, what is locked, what is required. `lockfile`
//!   knows no source, and `source` no lock file.
//! - [`package`], [`authentication`], [`net`], [`cli_config`], [`settings`]: what those are made of.
//! - [`address`], [`version`], [`constraint`], [`platform`], [`hash`], [`dialect`], [`diagnostic`]: values, no I/O.
//!
//! Whatever a user must be told is a [`diagnostic::Diagnostic`]; other error types exist only where a caller branches.
//!
//! "spec" in the documentation means the project's description of the domain, which follows OpenTofu 1.12.

#![deny(clippy::print_stdout, clippy::print_stderr, clippy::exit, clippy::unwrap_used, clippy::expect_used)]

pub mod address;
pub mod authentication;
pub mod cli_config;
pub mod constraint;
pub mod diagnostic;
pub mod dialect;
pub mod files;
pub mod hash;
mod hcl;
pub mod lockfile;
mod modules;
pub mod net;
mod once_map;
pub mod ops;
pub mod package;
pub mod parallel;
pub mod platform;
pub mod provider_pattern;
pub mod provider_spec;
pub mod requirements;
pub mod settings;
pub mod source;
mod storage;
pub mod terragrunt;
pub mod version;
