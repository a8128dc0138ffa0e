//! Result of `merge` for a file.

use std::path::Path;

use provlock::diagnostic::{Diagnostic, Diagnostics};

use crate::cli::run::outcome::{Outcome, diagnostics};

/// Result of a file.
#[derive(Default)]
pub(super) struct FileReport {
    pub(super) warnings: Vec<Diagnostic>,
    pub(super) errors: Diagnostics,
    pub(super) status: Vec<String>,
    /// Whether there was anything to merge.
    pub(super) had_conflict: bool,
    pub(super) outcome: Outcome,
}

impl FileReport {
    /// Names the root module in the warnings.
    pub(super) fn in_root(self, root: &Path) -> Self {
        let mut warnings = Vec::new();
        for warning in self.warnings {
            let is_one_of_many = true;
            warnings.push(warning.in_root(root, is_one_of_many));
        }
        Self { warnings, ..self }
    }
}

impl From<anyhow::Error> for FileReport {
    fn from(error: anyhow::Error) -> Self {
        let errors = diagnostics(error);
        Self {
            errors,
            had_conflict: true,
            outcome: Outcome::Failed,
            ..Self::default()
        }
    }
}
