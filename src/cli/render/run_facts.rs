//! Facts about a run of `verify` that every report states: when and of what it is.

use jiff::Timestamp;
use provlock::settings::Levels;

/// Facts about a run.
pub(crate) struct RunFacts {
    /// Start of the run, or the time that reproducible reports are given.
    pub(crate) time: Timestamp,
    /// The commit that is checked out; `None` outside of a repository.
    pub(crate) commit: Option<String>,
    /// The commit of `--base`.
    pub(crate) base: Option<String>,
    /// Whether the registries were asked.
    pub(crate) is_online: bool,
    /// Severity overrides of the command line.
    pub(crate) levels: Levels,
}

/// Version of the program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

impl RunFacts {
    /// `provlock 0.1.0, 2026-11-28T22:41:00Z, commit e0ab1c9…, base 5632352…, offline`
    pub(crate) fn line(&self) -> String {
        let mut parts = vec![format!("provlock {VERSION}"), self.time()];
        parts.extend(self.commit.iter().map(|commit| format!("commit {commit}")));
        parts.extend(self.base.iter().map(|base| format!("base {base}")));
        parts.push(self.network().to_owned());
        parts.join(", ")
    }

    /// The time in seconds, in UTC (RFC 3339).
    pub(crate) fn time(&self) -> String {
        Timestamp::from_second(self.time.as_second())
            .unwrap_or(self.time)
            .to_string()
    }

    pub(crate) fn network(&self) -> &'static str {
        if self.is_online { "online" } else { "offline" }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Facts about a run that is offline and outside of a repository.
    pub(crate) const OFFLINE: RunFacts = RunFacts {
        time: Timestamp::UNIX_EPOCH,
        commit: None,
        base: None,
        is_online: false,
        levels: Levels(Vec::new()),
    };

    #[test]
    fn a_line_has_everything_that_is_known() {
        let line = OFFLINE.line();
        assert_eq!(
            line,
            format!("provlock {VERSION}, 1970-01-01T00:00:00Z, offline")
        );
        let online = RunFacts {
            commit: Some("abc".to_owned()),
            base: Some("def".to_owned()),
            is_online: true,
            ..OFFLINE
        };
        let end = "1970-01-01T00:00:00Z, commit abc, base def, online";
        assert!(online.line().ends_with(end), "{}", online.line());
    }
}
