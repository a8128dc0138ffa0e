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
    /// Positions in files, the most important first.
    pub(crate) positions: Vec<Position>,
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
        let position = |Label { location, text }: &Label| Position {
            path: found.path(location.path()),
            start: location.line_column(),
            end: location.file.line_column(location.span.end),
            text: text.clone(),
        };
        let positions: Vec<_> = finding.labels.iter().map(position).collect();
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
            message: finding.message,
        }
    }

    /// Message, notes and help.
    pub(crate) fn lines(&self) -> Vec<String> {
        let help = self.help.as_ref().map(|help| format!("help: {help}"));
        std::iter::once(&self.message)
            .chain(&self.notes)
            .cloned()
            .chain(help)
            .collect()
    }

    pub(crate) fn threat(&self) -> Threat {
        self.code.rule().map_or(Threat::None, |rule| rule.threat)
    }
}
