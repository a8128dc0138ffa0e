//! Reports as JSON. Their schema, `docs/output.schema.json`, is generated from these types.

mod counts;
mod diagnostic;
mod mirror;
mod output;
mod reports;
mod root;
mod run;
#[cfg(test)]
mod tests;
mod tree;
mod values;

pub(crate) use mirror::Mirror;
pub(crate) use output::{DoneOrFailed, Roots, diff, output_line, raw, verify};
pub(crate) use reports::{Explanation, PublishedFacts, SettingsFile};
pub(crate) use root::{FailedRoot, InstalledRoot, LockedRoot, PinnedRoot, RepairedRoot};
#[cfg(test)]
pub(crate) use tests::schema::{Action, schema};
pub(crate) use tree::{ProviderUse, RequiredProvider, RequiringModule, TreeRoot, VersionUse};
pub(crate) use values::{AsText, Place};
