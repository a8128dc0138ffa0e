//! What `verify` says: the findings, then a summary.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use provlock::diagnostic::Severity;
use provlock::settings::PlatformSelection;
use provlock::workspace::{DialectReason, VerifiedRoot};

use super::diagnostics;
use super::help::Invocation;
use super::style::{TextStyle, count, enumerate};

/// The findings that are at least this severe as text, with a blank line after each.
pub(crate) fn findings(roots: &[VerifiedRoot], least: Severity, invocation: &Invocation, style: TextStyle) -> String {
    let findings = roots.iter().flat_map(|root| &root.findings).filter(|finding| finding.severity >= least);
    let texts = diagnostics::render_all(findings, invocation, style);
    texts.into_iter().flat_map(|text| [text, "\n\n".to_owned()]).collect()
}

/// `live/a: dialect tofu (the lock file); checked 2 providers for linux_amd64`
pub(crate) fn checked(root: &VerifiedRoot) -> String {
    let VerifiedRoot { path, dialect, dialect_reason, entries, platforms, .. } = root;
    let platforms = match platforms {
        Some(PlatformSelection::All) => "all platforms".to_owned(),
        Some(PlatformSelection::These(platforms)) => {
            enumerate(&platforms.iter().map(ToString::to_string).collect::<Vec<_>>())
        }
        None => "no platform, as none is named".to_owned(),
    };
    let checked = count(*entries, "provider");
    format!("{}: dialect {dialect} ({}); checked {checked} for {platforms}", path.display(), reason(*dialect_reason))
}

/// What a dialect was decided by.
pub(crate) fn reason(reason: DialectReason) -> &'static str {
    match reason {
        DialectReason::Named => "the flag or PROVLOCK_DIALECT",
        DialectReason::Settings => "provlock.toml",
        DialectReason::LockFile => "the lock file",
        DialectReason::TofuFiles => "the .tofu files",
        DialectReason::OtherLockFiles => "the nearest other lock files",
        DialectReason::VersionFile => "a version file",
        DialectReason::Program => "the program in PATH",
        DialectReason::Automation => "what CI files and makefiles call",
        DialectReason::Configuration => "the configuration",
        DialectReason::Default => "default",
    }
}

/// `2 errors and 1 warning in .terraform.lock.hcl`; nothing when nothing was found.
pub(crate) fn summary(roots: &[VerifiedRoot]) -> Option<String> {
    let number =
        |severity| roots.iter().flat_map(|root| &root.findings).filter(|finding| finding.severity == severity).count();
    let numbers = [(number(Severity::Error), "error"), (number(Severity::Warning), "warning")];
    let parts: Vec<_> = numbers.iter().filter(|(number, _)| *number > 0).map(|(n, noun)| count(*n, noun)).collect();
    let concerned: Vec<_> = roots.iter().filter(|root| !root.findings.is_empty()).collect();
    let place = match concerned[..] {
        [] => return None,
        [root] => match &files(root).into_iter().collect::<Vec<_>>()[..] {
            [file] => file.display().to_string(),
            [one, other] => format!("{} and {}", one.display(), other.display()),
            files => format!("{} files", files.len()),
        },
        _ => format!("{} of {}", concerned.len(), count(roots.len(), "root module")),
    };
    Some(format!("{} in {place}", parts.join(" and ")))
}

/// The files that the findings in a root module are about; what is about no place is about the lock file.
fn files(root: &VerifiedRoot) -> BTreeSet<&Path> {
    root.findings
        .iter()
        .map(|finding| match finding.labels.first() {
            Some(label) => label.location.path(),
            None => &root.lock_path,
        })
        .collect()
}

/// How paths are shown to a service that shows the repository.
pub(crate) struct RepositoryPaths<'a> {
    pub(crate) current_directory: &'a Path,
    /// The top of the repository; none outside of one.
    pub(crate) top: Option<&'a Path>,
}

impl RepositoryPaths<'_> {
    /// A path from the top of the repository, with slashes.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let absolute = self.current_directory.join(path);
        let mut clean = PathBuf::new();
        for component in absolute.components() {
            match component {
                Component::CurDir => {}
                Component::ParentDir => _ = clean.pop(),
                other => clean.push(other),
            }
        }
        let below = self.top.and_then(|top| clean.strip_prefix(top).ok()).unwrap_or(path);
        below.display().to_string().replace('\\', "/")
    }
}
