//! A finding or a failure as every report shows it.

use std::path::Path;

use provlock::diagnostic::{Code, Diagnostic, Label, Severity, Threat};
use provlock::lockfile::LOCK_FILE_NAME;

use super::foreign::{capped, shown};
use super::verify::Verification;

/// A finding, or a reason why something was not checked: without secrets, and with paths from the
/// top of the repository.
pub(crate) struct Issue {
    pub(crate) severity: Severity,
    pub(crate) code: Code,
    pub(crate) is_failure: bool,
    pub(crate) message: String,
    pub(crate) notes: Vec<String>,
    pub(crate) help: Option<String>,
    /// Positions in files of the user, the most important first.
    pub(crate) positions: Vec<Position>,
    /// Positions in modules that were fetched, whose files no repository of the user has.
    pub(crate) fetched: Vec<Position>,
    /// File of the first position; without one the lock file of the root module, if it is about
    /// one.
    pub(crate) file: Option<String>,
}

/// Position in a file. Lines and columns count from 1.
pub(crate) struct Position {
    pub(crate) path: String,
    pub(crate) start: (usize, usize),
    pub(crate) end: (usize, usize),
    pub(crate) text: String,
}

impl Position {
    fn new(label: &Label, found: Verification<'_>) -> Self {
        let location = &label.location;
        let path = if location.file.is_fetched {
            let address = location.path().display().to_string();
            found.invocation.secrets.redact(&address)
        } else {
            found.path(location.path())
        };
        Self {
            path,
            start: location.line_column(),
            end: location.file.line_column(location.span.end),
            text: label.text.clone(),
        }
    }

    /// `git::https://example.com/network.git//main.tf:5:3 (required here)`
    fn in_words(&self) -> String {
        let Self {
            path,
            start: (line, column),
            text,
            ..
        } = self;
        if text.is_empty() {
            format!("{path}:{line}:{column}")
        } else {
            format!("{path}:{line}:{column} ({text})")
        }
    }
}

impl Issue {
    /// Findings and failures, in this order.
    pub(crate) fn all(found: Verification<'_>) -> Vec<Self> {
        let findings = found.all().map(|(root, finding)| {
            // A finding about no root module is shown at the top of the repository.
            Self::new(
                finding,
                Some(root.map_or(Path::new("."), |root| &root.lock_path)),
                found,
            )
        });
        let failures = found.errors.iter().map(|error| {
            let lock_path = error.root().map(|root| root.join(LOCK_FILE_NAME));
            Self {
                is_failure: true,
                ..Self::new(error, lock_path.as_deref(), found)
            }
        });
        findings.chain(failures).collect()
    }

    /// A finding. `file` is the position of a finding without a location.
    pub(crate) fn new(finding: &Diagnostic, file: Option<&Path>, found: Verification<'_>) -> Self {
        let finding = shown(finding, found.invocation);
        let safe = |text: &str| capped(&found.invocation.secrets.redact(text));
        let mut positions = Vec::new();
        let mut fetched = Vec::new();
        for label in &finding.labels {
            let list = if label.location.file.is_fetched {
                &mut fetched
            } else {
                &mut positions
            };
            list.push(Position::new(label, found));
        }
        Self {
            severity: finding.severity,
            code: finding.code,
            is_failure: false,
            notes: finding.all_notes().map(|note| safe(&note)).collect(),
            help: found.invocation.help(&finding).map(|help| safe(&help)),
            file: positions
                .first()
                .map(|first| first.path.clone())
                .or_else(|| file.map(|file| found.path(file))),
            positions,
            fetched,
            message: finding.message,
        }
    }

    /// Message, positions in fetched modules, notes and help.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.message.clone()];
        lines.extend(self.fetched.iter().map(Position::in_words));
        lines.extend(self.notes.iter().cloned());
        if let Some(help) = &self.help {
            lines.push(format!("help: {help}"));
        }
        lines
    }

    pub(crate) fn threat(&self) -> Threat {
        self.code.rule().map_or(Threat::None, |rule| rule.threat)
    }
}
