//! Reports as JSON. The schema of all of them, `docs/output.schema.json`, is made from these types.

mod credentials;
mod diagnostic;
mod output;
mod path;
mod root;

#[cfg(test)]
pub(crate) use output::schema;
pub(crate) use output::{CommandName, diff, failure, lock, login, merge, plans, upgrade, verify};
