//! Surroundings in which tests and benchmarks run provlock: a registry on loopback and a hermetic
//! environment.
//!
//! - [`registry`]: publish providers, order faults, read the request log. Its parts: [`publish`]
//!   makes releases, [`archive`] their packages, [`keys`] their signatures, [`routes`] answers
//!   requests, [`oci`] requests to an OCI registry, [`faults`] spoils the answers, [`state`] is the
//!   data that all of them read and write.
//! - [`server`]: the one web server, for the registry and for tests that make their answers up. Its
//!   parts: [`message`] has requests and responses, [`http2`] and [`tls`] carry them, [`shared`]
//!   answers and counts.
//! - [`environment`]: a temporary home and project, and the `provlock` program run in it. Its
//!   parts: [`output`] is what a run printed, [`snapshot`] the state of a project, [`scratch`]
//!   makes the directories.
//! - [`files`]: the text of configurations and lock files.
//! - [`git`]: git repositories.
//! - [`generated`]: the files of the repository that are made from code.
//! - [`lock_reader`]: reads lock files by hcl-rs, to compare with what provlock writes.
//! - [`threats`]: how many cases of an attack a test has tried, for the tables in docs/evidence.md.
//! - [`tools`]: programs that some tests need, and how a test is skipped without them.
//!
//! Hashes are computed here from the files that go into a package, without the library under test.

pub mod archive;
pub mod environment;
pub mod faults;
pub mod files;
mod generated;
pub mod git;
mod http2;
pub mod keys;
pub mod lock_reader;
mod message;
mod oci;
pub mod output;
pub mod publish;
pub mod registry;
mod routes;
mod scratch;
pub mod screen;
pub mod server;
mod shared;
pub mod snapshot;
mod state;
#[cfg(test)]
mod tests;
pub mod threats;
mod tls;
pub mod tools;

pub use environment::{TestEnvironment, program, run_until, wait};
pub use faults::{Fault, Times, url};
pub use generated::generated;
pub use message::{Request, Response};
pub use output::{Output, with_slashes};
pub use publish::{Flaw, PackagesMap};
pub use registry::{Discovery, Mirror, MirrorHashes, Registry};
pub use server::Server;
pub use snapbox::{self, str};
pub use threats::survived;
pub use tls::{Authority, UNTRUSTED_HOST};
pub use tools::{Tool, requires};
