//! `--new`: the findings that the base revision does not have.

use std::collections::HashMap;
use std::mem::take;
use std::path::PathBuf;

use super::audited_root::{VerifiedRoot, VerifyOptions};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Label, Location, Result, Severity, fold};
use crate::lockfile::{self, LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME, is_copied_lock_file};
use crate::project::event::Report;
use crate::project::root_module::roots::Selection;
use crate::project::session::Session;
use crate::provider::{Dialect, ProviderAddress};

/// Identity of a finding or an error: its message, and the texts that it is about, without line
/// numbers, because lines may move.
#[derive(PartialEq, Eq, Hash)]
struct FindingKey {
    code: Code,
    severity: Severity,
    message: String,
    providers: Vec<ProviderAddress>,
    contents: Vec<(PathBuf, String)>,
    left_out: usize,
    more_labels: usize,
}

impl FindingKey {
    /// Returns the parts of a finding by which the same finding is recognised at the base.
    fn new(finding: &Diagnostic, dialect: Dialect) -> Self {
        let mut message = finding.shared_message.as_ref().unwrap_or(&finding.message);
        // The line of an ignore file is the cause, in however many root modules.
        let no_message = String::new();
        if finding.code == Code::UntrackedLockFile && !finding.labels.is_empty() {
            message = &no_message;
        }
        let mut contents = Vec::new();
        for Label { location, .. } in &finding.labels {
            contents.push((
                location.path().to_owned(),
                text_of_entry_or_line(location, dialect),
            ));
        }
        // Without a base, no module out of the repository is only a warning.
        let severity = match finding.code {
            Code::OutsideRepository => Severity::Error,
            _ => finding.severity,
        };
        Self {
            code: finding.code,
            severity,
            message: message.clone(),
            providers: finding.providers.clone(),
            contents,
            left_out: finding.left_out,
            more_labels: finding.more_labels,
        }
    }
}

/// Findings of the base revision about one root module. One finding of the base excuses one
/// finding.
#[derive(Default)]
struct FindingsOfBase(HashMap<FindingKey, usize>);

impl FindingsOfBase {
    fn of<'a>(findings: impl IntoIterator<Item = &'a Diagnostic>, dialect: Dialect) -> Self {
        let mut known = HashMap::new();
        for finding in findings {
            *known.entry(FindingKey::new(finding, dialect)).or_default() += 1;
        }
        Self(known)
    }

    /// Takes one finding of this kind from the base. Returns whether there was one left.
    fn take_one(&mut self, finding: &Diagnostic, dialect: Dialect) -> bool {
        // The targets of refused links were not compared. A call names the directory.
        let mut texts = finding.labels.iter().map(|label| &label.location.file.text);
        if finding.code == Code::OutsideRepository && texts.all(String::is_empty) {
            return false;
        }
        match self.0.get_mut(&FindingKey::new(finding, dialect)) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            _ => false,
        }
    }
}

impl Session<'_> {
    /// Removes the findings and errors that the base of the change under review has, too: of the
    /// same root module, with the same message, about the same text. The base is verified with
    /// `options`, which have git's knowledge of the base.
    ///
    /// Findings about the change as a whole stay. The root modules are counted by all of their
    /// findings.
    ///
    /// # Errors
    /// The errors of [`Session::verify`].
    pub fn remove_known(
        &self,
        verified: &mut Report<VerifiedRoot>,
        selection: &Selection,
        options: &VerifyOptions<'_>,
    ) -> Result<()> {
        // Nothing could be removed, so the base is not read.
        if !verified.has_reason_to_fail() {
            return Ok(());
        }
        let Some(base) = self.base() else {
            return Ok(());
        };
        // The base has none of the selected paths, so everything is new.
        let Some(selection) = base.without_missing_paths(selection) else {
            return Ok(());
        };
        // The base cannot be read, so everything is new.
        let Ok(roots) = base.roots(&selection) else {
            return Ok(());
        };
        verified.remove_known(&base.verify(&roots, options)?);
        Ok(())
    }
}

impl Report<VerifiedRoot> {
    /// Whether a root module has a finding, or could not be checked.
    fn has_reason_to_fail(&self) -> bool {
        self.roots.iter().any(|(_, result)| match result {
            Ok(root) => !root.findings.is_empty() || !root.errors.is_empty(),
            Err(_) => true,
        })
    }

    /// Removes the findings and errors that the report of the base has, too, whose paths are the
    /// same.
    fn remove_known(&mut self, before: &Self) {
        let mut results_before = HashMap::new();
        for (path, result) in &before.roots {
            results_before.insert(path, result);
        }
        for (path, result) in &mut self.roots {
            match (&mut *result, results_before.get(path)) {
                (Ok(root), Some(Ok(root_before))) => root.remove_known(root_before),
                // What could not be read before either is not a mistake of the change.
                (Err(errors), Some(Err(before))) if is_the_same_failure(errors, before) => {
                    let failed = VerifiedRoot {
                        path: path.clone(),
                        has_failed_as_before: true,
                        ..VerifiedRoot::default()
                    };
                    *result = Ok(failed);
                }
                _ => {}
            }
        }
    }
}

impl Report<VerifiedRoot> {
    /// Folds the findings of each root module that have the same next step. It is the last step,
    /// because comments and the base suppress findings about single entries.
    pub fn fold(&mut self) {
        for (_, root) in &mut self.roots {
            if let Ok(root) = root {
                root.findings = fold(take(&mut root.findings));
            }
        }
    }
}

impl VerifiedRoot {
    fn remove_known(&mut self, before: &Self) {
        let dialect = self.dialect;
        let mut known = FindingsOfBase::of(&before.findings, before.dialect);
        let number = self.findings.len();
        self.findings
            .retain(|finding| !known.take_one(finding, dialect));
        self.suppressed.base += number - self.findings.len();

        let mut known = FindingsOfBase::of(&before.errors, before.dialect);
        let number = self.errors.len();
        self.errors.retain(|error| !known.take_one(error, dialect));
        self.has_failed_as_before |= self.errors.len() < number;
    }
}

/// Whether every error of a root module that cannot be read is one of the base, too.
fn is_the_same_failure(errors: &Diagnostics, before: &Diagnostics) -> bool {
    // Without a lock file that can be read, its dialect does not matter.
    let dialect = Dialect::default();
    let mut known = FindingsOfBase::of(before, dialect);
    errors.iter().all(|error| known.take_one(error, dialect))
}

/// The text that a location stands for: a whole entry of a lock file of providers, or a line. The
/// whole file if it is a lock file of modules, or cannot be parsed.
fn text_of_entry_or_line(location: &Location, dialect: Dialect) -> String {
    let text = &location.file.text;
    let name = location
        .path()
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    if name == MODULE_LOCK_FILE_NAME {
        return text.clone();
    }
    if name == LOCK_FILE_NAME || is_copied_lock_file(name) {
        let lock_file = lockfile::parse(location.path(), text.as_bytes(), dialect).lock_file;
        let entry = lock_file
            .as_ref()
            .and_then(|file| file.text_at(location.span.start));
        return entry.unwrap_or(text).to_owned();
    }
    let start = text[..location.span.start]
        .rfind('\n')
        .map_or(0, |end| end + 1);
    let end = text[location.span.end..]
        .find('\n')
        .map_or(text.len(), |length| location.span.end + length);
    text[start..end].trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::coverage::Coverage;

    /// The report about one root module with one finding.
    fn report(finding: &Diagnostic) -> Report<VerifiedRoot> {
        let root = VerifiedRoot {
            findings: vec![finding.clone()],
            ..VerifiedRoot::default()
        };
        let (roots, coverage) = (vec![(PathBuf::new(), Ok(root))], Coverage::default());
        Report {
            roots,
            findings: Vec::new(),
            coverage,
        }
    }

    #[test]
    fn a_finding_with_more_omitted_positions_is_new() {
        let known = Diagnostic {
            more_labels: 1,
            ..Diagnostic::finding(Code::NoHashes, "no hashes")
        };
        for (more_labels, findings) in [(1, 0), (2, 1)] {
            let mut now = report(&Diagnostic {
                more_labels,
                ..known.clone()
            });
            now.remove_known(&report(&known));
            assert_eq!(
                now.roots[0].1.as_ref().unwrap().findings.len(),
                findings,
                "{more_labels}"
            );
        }
    }
}
