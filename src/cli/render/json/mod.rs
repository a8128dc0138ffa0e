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

pub(crate) use integration::{Cache, Completions, GitSetup};
pub(crate) use mirror::Mirror;
#[cfg(test)]
pub(crate) use output::schema;
pub(crate) use output::{
    CommandName, Roots, cache, completions, diff, explain, failure, git_setup, keygen, login, merge, mirror, publish,
    tree, verify,
};
pub(crate) use published::{PublishedFacts, SigningKeyFile};
