//! Reports as JSON. The schema of all of them, `docs/output.schema.json`, is made from these types.

mod credentials;
mod diagnostic;
mod dialect;
mod explanation;
mod integration;
mod mirror;
mod output;
mod path;
mod published;
mod root;
mod tree;

pub(crate) use credentials::Credentials;
pub(crate) use explanation::Explanation;
pub(crate) use integration::{Cache, Completions, GitSetup, GitVariable};
pub(crate) use mirror::Mirror;
#[cfg(test)]
pub(crate) use output::schema;
pub(crate) use output::{CommandName, Output, Roots, diff, verify};
pub(crate) use published::{PublishedFacts, SigningKeyFile};
pub(crate) use root::{FailedRoot, LockedRoot, Root};
pub(crate) use tree::TreeRoot;
