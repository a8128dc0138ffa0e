//! Facts about a run of `verify` as JSON.

use serde::Serialize;

use crate::cli::render::run_facts::{RunFacts, VERSION};

/// Facts about the run.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "run", deny_unknown_fields)
)]
pub(crate) struct Run<'a> {
    /// Start of the run in UTC (RFC 3339), or the time of `SOURCE_DATE_EPOCH`.
    time: String,
    /// Version of provlock.
    version: &'static str,
    /// The commit that is checked out; null outside of a repository.
    commit: Option<&'a str>,
    /// The commit of --base.
    base: Option<&'a str>,
    /// Whether the registries were asked.
    online: bool,
    /// Lines about everything that was not checked, or not confirmed as published.
    not_checked: Vec<String>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(facts: &'a RunFacts, not_checked: Vec<String>) -> Self {
        Self {
            time: facts.time(),
            version: VERSION,
            commit: facts.commit.as_deref(),
            base: facts.base.as_deref(),
            online: facts.is_online,
            not_checked,
        }
    }
}
