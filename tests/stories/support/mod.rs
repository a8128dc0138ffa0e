//! What the stories and the benchmarks run provlock against: a registry on loopback and a hermetic environment.
//!
//! - [`registry`]: publish providers, order faults, read the request log. Its parts: [`publish`] makes releases,
//!   [`archive`] their packages, [`keys`] their signatures, [`routes`] answers requests, [`faults`] spoils the answers,
//!   [`server`], [`http2`] and [`tls`] carry them.
//! - [`environment`]: a temporary home and project, and the `provlock` program run in it.
//!
//! Hashes are computed here from the files that go into a package, without the library under test.

#![allow(dead_code, unused_imports, reason = "every binary that includes this module uses a part of it")]

pub mod archive;
pub mod environment;
pub mod faults;
mod http2;
pub mod keys;
pub mod publish;
pub mod registry;
mod routes;
mod server;
mod tls;

pub use environment::TestEnvironment;
pub use faults::{Fault, Times, url};
pub use publish::{Flaw, PackagesMap};
pub use registry::{Discovery, Mirror, MirrorHashes, Registry};
