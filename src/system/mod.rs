//! The operating system as the program uses it: environment, processes, files, threads; and the
//! secrets of a run, which no output shows.

#![expect(
    clippy::disallowed_methods,
    reason = "the room that reads files for all others"
)]

pub mod boundary;
pub(crate) mod bounded;
mod environment;
pub mod files;
pub mod git;
pub(crate) mod glob;
mod ignored;
pub(crate) mod links;
mod lock;
mod once;
pub mod parallel;
pub(crate) mod process;
pub mod repository;
mod safe_url;
mod secrets;
pub(crate) mod shared_jobs;
mod stop;
pub mod storage;
mod temporary;
mod temporary_paths;
mod token;
pub(crate) mod tree;
pub mod variables;
pub(crate) mod walk;

pub use boundary::Boundary;
pub use environment::Environment;
pub(crate) use environment::program_name;
pub use files::canonicalize;
pub(crate) use ignored::excludes_from_upload;
pub(crate) use lock::lock;
pub(crate) use once::OnceMap;
pub use safe_url::SafeUrl;
pub(crate) use safe_url::{is_public_parameter, percent_decoded};
pub use secrets::Secrets;
pub use stop::{Stopped, stop};
pub(crate) use temporary::TemporaryDirectory;
pub(crate) use temporary_paths::Temporary;
pub use token::{Token, token_variable};
pub use tree::{Overlay, ReadBlob, Replaced, Tree};
