//! Root modules that failed.

use std::path::{Path, PathBuf};

use provlock::diagnostic::{Diagnostic, Result};

use crate::cli::render::causes::{SeveralRoots, distinct_diagnostics};
use crate::cli::ui::Ui;

/// Errors of root modules, each with the path of its root module.
pub(crate) struct Failures(Vec<(PathBuf, Diagnostic)>);

/// Separates the results of root modules from the errors of failed ones.
pub(crate) fn split_failures<T>(roots: Vec<(PathBuf, Result<T>)>) -> (Vec<(PathBuf, T)>, Failures) {
    let mut done = Vec::new();
    let mut failures = Vec::new();
    for (path, result) in roots {
        match result {
            Ok(result) => done.push((path, result)),
            Err(errors) => failures.extend(errors.into_iter().map(|error| (path.clone(), error))),
        }
    }
    (done, Failures(failures))
}

impl Failures {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Shows the errors, each cause once.
    pub(crate) fn show(&self, several: Option<SeveralRoots<'_>>, ui: &Ui) {
        let mut errors: Vec<(Option<&Path>, _)> = Vec::new();
        for (path, error) in &self.0 {
            errors.push((Some(path), error));
        }
        ui.error_by_cause(errors, several);
    }

    /// Returns each error once, for JSON.
    pub(crate) fn distinct_errors(&self) -> Vec<Diagnostic> {
        distinct_diagnostics(self.0.iter().map(|(_, error)| error))
    }
}
