//! Reports as JSON. The schema of all of them, `docs/output.schema.json`, is made from these types.

mod credentials;
mod diagnostic;
mod dialect;
mod explanation;
mod output;
mod path;
mod root;
mod tree;

#[cfg(test)]
pub(crate) use output::schema;
pub(crate) use output::{CommandName, diff, explain, failure, lock, login, merge, plans, tree, upgrade, verify};
