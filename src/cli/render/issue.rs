//! A finding or a failure as every report shows it.

use std::path::Path;

use provlock::diagnostic::{Code, Diagnostic, Label, Severity, Threat};
use provlock::lockfile::LOCK_FILE_NAME;
use provlock::project::VerifiedRoot;

use super::foreign::{safe_to_show, with_limited_length};
use super::identity::{Identity, compute_identities};
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
    pub(crate) identity: Identity,
}

/// Position in a file. Lines and columns count from 1.
pub(crate) struct Position {
    pub(crate) path: String,
    pub(crate) start: (usize, usize),
    pub(crate) end: (usize, usize),
    pub(crate) text: String,
}

impl Position {
    fn new(label: &Label, verification: Verification<'_>) -> Self {
        let location = &label.location;
        let path = if location.file.is_fetched {
            // The address of a module may contain a token.
            let address = location.path().display().to_string();
            verification.invocation.secrets.redact(&address)
        } else {
            verification.path(location.path())
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
    pub(crate) fn all(verification: Verification<'_>) -> Vec<Self> {
        // There is one for each finding, and then for each failure.
        let mut identities = compute_identities(verification).into_iter();
        let mut issues = Vec::new();
        for (root, finding) in verification.all_findings() {
            // A finding about no root module is shown at the top of the repository.
            let file = root.map_or(Path::new("."), |root| &root.lock_path);
            let identity = identities.next().unwrap_or_default();
            issues.push(Self::new(finding, root, Some(file), identity, verification));
        }
        for error in verification.errors {
            let lock_path = error.root().map(|root| root.join(LOCK_FILE_NAME));
            let identity = identities.next().unwrap_or_default();
            issues.push(Self {
                is_failure: true,
                ..Self::new(error, None, lock_path.as_deref(), identity, verification)
            });
        }
        issues
    }

    /// A finding or failure for a report by root module: it has a file only if it has a position,
    /// and no identity.
    pub(crate) fn in_report_by_root(
        finding: &Diagnostic,
        root: Option<&VerifiedRoot>,
        verification: Verification<'_>,
    ) -> Self {
        Self::new(finding, root, None, Identity::default(), verification)
    }

    /// The issue of a finding. `default_file` is the file of a finding without a position.
    fn new(
        finding: &Diagnostic,
        root: Option<&VerifiedRoot>,
        default_file: Option<&Path>,
        identity: Identity,
        verification: Verification<'_>,
    ) -> Self {
        let finding = safe_to_show(
            &verification.paths.diagnostic_at_top(finding, root),
            verification.invocation,
        );
        let secrets = &verification.invocation.secrets;
        let mut positions = Vec::new();
        let mut fetched = Vec::new();
        for label in &finding.labels {
            let position = Position::new(label, verification);
            // A file of a fetched module is not in the repository, so that reports cannot mark its
            // lines.
            if label.location.file.is_fetched {
                fetched.push(position);
            } else {
                positions.push(position);
            }
        }
        let mut notes = Vec::new();
        for note in finding.all_notes() {
            notes.push(with_limited_length(&secrets.redact(&note)));
        }
        let help = verification.at_top.help(&finding);
        let file = match positions.first() {
            Some(first) => Some(first.path.clone()),
            None => default_file.map(|file| verification.path(file)),
        };
        Self {
            severity: finding.severity,
            code: finding.code,
            is_failure: false,
            notes,
            help: help.map(|help| with_limited_length(&secrets.redact(&help))),
            file,
            positions,
            fetched,
            message: finding.message,
            identity,
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
