//! `--new`: the findings that the base revision does not have.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::verified::VerifiedRoot;
use crate::diagnostic::{Code, Diagnostic, Location, Severity};
use crate::lockfile::{self, LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME};
use crate::project::event::Report;
use crate::provider::{Dialect, ProviderAddress};
use crate::system::canonicalize;

/// Identity of a finding: its message and the text that it is about. Line numbers are ignored, because lines may move.
#[derive(PartialEq, Eq)]
struct FindingKey {
    code: Code,
    severity: Severity,
    message: String,
    providers: Vec<ProviderAddress>,
    contents: Vec<(PathBuf, String)>,
    left_out: usize,
}

impl Report<VerifiedRoot> {
    /// Removes the findings that the base revision has, too: of the same root module, with the same message, about the
    /// same text. `before` is the report of the base, whose files are below `directory` as the verified files are below
    /// the current directory. Both paths are absolute and without symlinks.
    ///
    /// Findings about the change as a whole stay. So do refused links, because their targets were not compared. The
    /// root modules are counted by all of their findings.
    pub fn leave_out(&mut self, before: &Self, current: &Path, directory: &Path) {
        let of_root = |root: &VerifiedRoot, current: &Path| -> Vec<_> {
            root.findings.iter().map(|finding| FindingKey::new(root, finding, current)).collect()
        };
        let before = before.roots.iter().filter_map(|(_, root)| root.as_ref().ok());
        let mut known = HashMap::<_, Vec<_>>::new();
        for root in before {
            known.entry(relative(&root.path, directory)).or_default().extend(of_root(root, directory));
        }
        for root in self.roots.iter_mut().filter_map(|(_, root)| root.as_mut().ok()) {
            let Some(known) = known.get_mut(&relative(&root.path, current)) else { continue };
            let mut found = of_root(root, current).into_iter();
            root.findings.retain(|finding| {
                let found = found.next();
                let is_seen = finding.code != Code::OutsideRepository;
                let index = known.iter().position(|known| is_seen && found.as_ref() == Some(known));
                root.suppressed.base += usize::from(index.is_some());
                // One finding of the base excuses one finding.
                index.map(|index| known.swap_remove(index)).is_none()
            });
        }
    }
}

impl FindingKey {
    fn new(root: &VerifiedRoot, finding: &Diagnostic, current: &Path) -> Self {
        let message = finding.shared_message.as_ref().unwrap_or(&finding.message);
        let locations = finding.labels.iter().map(|label| &label.location);
        Self {
            code: finding.code,
            severity: finding.severity,
            message: message.replace(&format!("{}{}", current.display(), std::path::MAIN_SEPARATOR), ""),
            providers: finding.providers.clone(),
            contents: locations
                .map(|location| (relative(location.path(), current), content(location, root.dialect)))
                .collect(),
            left_out: finding.left_out,
        }
    }
}

/// The text that a location stands for: a whole entry of a lock file, or a line. The whole file if it cannot be parsed.
fn content(location: &Location, dialect: Dialect) -> String {
    let text = &location.file.text;
    let name = location.path().file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if name == MODULE_LOCK_FILE_NAME {
        return text.clone();
    }
    if name == LOCK_FILE_NAME {
        let lock_file = lockfile::parse(location.path(), text.as_bytes(), dialect).lock_file;
        let entry = lock_file.as_ref().and_then(|file| file.text_at(location.span.start));
        return entry.unwrap_or(text).to_owned();
    }
    let start = text[..location.span.start].rfind('\n').map_or(0, |end| end + 1);
    let end = text[location.span.end..].find('\n').map_or(text.len(), |length| location.span.end + length);
    text[start..end].trim().to_owned()
}

/// A path below a directory.
fn relative(path: &Path, directory: &Path) -> PathBuf {
    let path = directory.join(path);
    let path = canonicalize(&path).unwrap_or(path);
    path.strip_prefix(directory).map(Path::to_owned).unwrap_or(path)
}
