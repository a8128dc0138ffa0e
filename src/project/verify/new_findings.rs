//! `--new`: the findings that the base revision does not have.

use std::collections::HashMap;
use std::mem::take;
use std::path::{Path, PathBuf};

use super::audited_root::VerifiedRoot;
use crate::diagnostic::{Code, Diagnostic, Label, Location, Severity, fold};
use crate::lockfile::{self, LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME};
use crate::project::event::Report;
use crate::provider::{Dialect, ProviderAddress};
use crate::system::canonicalize;

/// Identity of a finding: its message, and the texts that it is about, without line numbers,
/// because lines may move.
#[derive(PartialEq, Eq, Hash)]
struct FindingKey {
    root: PathBuf,
    code: Code,
    severity: Severity,
    message: String,
    providers: Vec<ProviderAddress>,
    contents: Vec<(PathBuf, String)>,
    left_out: usize,
    more_labels: usize,
}

impl FindingKey {
    fn new(root: &VerifiedRoot, finding: &Diagnostic, top: &Path) -> Self {
        let Diagnostic {
            code,
            severity,
            left_out,
            more_labels,
            ..
        } = *finding;
        let message = finding.shared_message.as_ref().unwrap_or(&finding.message);
        let message = message.replace(&top.join("").display().to_string(), "");
        let content = |Label { location, .. }: &Label| {
            (
                relative(location.path(), top),
                content(location, root.dialect),
            )
        };
        let (providers, contents) = (
            finding.providers.clone(),
            finding.labels.iter().map(content).collect(),
        );
        let root = relative(&root.path, top);
        Self {
            root,
            code,
            severity,
            message,
            providers,
            contents,
            left_out,
            more_labels,
        }
    }
}

impl Report<VerifiedRoot> {
    /// Removes the findings that the base revision has, too: of the same root module, with the same
    /// message, about the same text. `before` is the report of the base, whose files are below
    /// `directory` as the verified files are below the current directory. Both paths are absolute
    /// and without symlinks.
    ///
    /// Findings about the change as a whole stay. So do refused links, because their targets were
    /// not compared. The root modules are counted by all of their findings.
    pub fn leave_out(&mut self, before: &Self, current: &Path, directory: &Path) {
        let mut known = HashMap::<_, usize>::new();
        for root in before
            .roots
            .iter()
            .filter_map(|(_, root)| root.as_ref().ok())
        {
            for finding in &root.findings {
                *known
                    .entry(FindingKey::new(root, finding, directory))
                    .or_default() += 1;
            }
        }
        for root in self
            .roots
            .iter_mut()
            .filter_map(|(_, root)| root.as_mut().ok())
        {
            let (count, mut findings) = (root.findings.len(), take(&mut root.findings));
            findings.retain(|finding| {
                let is_compared = finding.code != Code::OutsideRepository;
                let known = is_compared
                    .then(|| known.get_mut(&FindingKey::new(root, finding, current)))
                    .flatten();
                // One finding of the base excuses one finding.
                known
                    .filter(|left| **left > 0)
                    .map(|left| *left -= 1)
                    .is_none()
            });
            root.suppressed.base += count - findings.len();
            root.findings = findings;
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

/// The text that a location stands for: a whole entry of a lock file, or a line. The whole file if
/// it cannot be parsed.
fn content(location: &Location, dialect: Dialect) -> String {
    let text = &location.file.text;
    let name = location
        .path()
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    if name == MODULE_LOCK_FILE_NAME {
        return text.clone();
    }
    if name == LOCK_FILE_NAME {
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

/// A path below a directory.
fn relative(path: &Path, directory: &Path) -> PathBuf {
    let path = directory.join(path);
    let path = canonicalize(&path).unwrap_or(path);
    path.strip_prefix(directory)
        .map(Path::to_owned)
        .unwrap_or(path)
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
            now.leave_out(&report(&known), Path::new("/"), Path::new("/"));
            assert_eq!(
                now.roots[0].1.as_ref().unwrap().findings.len(),
                findings,
                "{more_labels}"
            );
        }
    }
}
