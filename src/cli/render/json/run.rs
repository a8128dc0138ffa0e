//! Facts about a run of `verify` as JSON.

use provlock::settings::LevelOverride;
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
    /// Severities that flags gave to findings, in their order. Of several for a finding, the last
    /// applies.
    severities: Vec<FlagSeverity>,
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
            severities: facts
                .levels
                .0
                .iter()
                .copied()
                .map(FlagSeverity::new)
                .collect(),
            not_checked,
        }
    }
}

/// Severity that a flag gives to findings.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "flag_severity", deny_unknown_fields)
)]
struct FlagSeverity {
    /// The flag: `deny`, `warn` or `allow`.
    flag: &'static str,
    /// The code or the reason of the findings; `warnings` means all warnings.
    finding: String,
}

impl FlagSeverity {
    fn new(level: LevelOverride) -> Self {
        let (flag, finding) = match level {
            LevelOverride::Deny(denied) => ("deny", denied.to_string()),
            LevelOverride::Warn(code) => ("warn", code.to_string()),
            LevelOverride::Allow(code) => ("allow", code.to_string()),
        };
        Self { flag, finding }
    }
}
