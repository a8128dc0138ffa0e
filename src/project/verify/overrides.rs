//! Severity overrides: which findings in a root module are reported, and with which severity.

use std::path::Path;

use super::consequences;
use super::verified::{Suppressed, VerifiedRoot};
use crate::diagnostic::{Diagnostic, Merged};
use crate::settings::{FileLevels, Levels, RootLevels};

/// Severity overrides that apply to one root module.
pub(super) struct SeverityOverrides<'a> {
    caller: &'a Levels,
    settings: RootLevels,
}

impl<'a> SeverityOverrides<'a> {
    /// `root` is the directory of the root module, absolute and without symlinks.
    pub(super) fn new(root: &Path, caller: &'a Levels, files: &[FileLevels]) -> Self {
        Self { caller, settings: RootLevels::at(root, files) }
    }

    /// The finding with the severity that applies; `None` if it is not reported.
    pub(super) fn apply(&self, finding: Diagnostic, suppressed: &mut Suppressed) -> Option<Diagnostic> {
        let reported = self.caller.applied(finding, &self.settings);
        suppressed.allowed += usize::from(reported.is_none());
        reported
    }

    /// Applies the overrides to all findings of a root module, which is one of `one_of`. Findings that say the same
    /// about several providers become one, and findings that follow from others are removed.
    pub(super) fn apply_to_all(&self, report: &mut VerifiedRoot, one_of: usize) {
        let mut merged = Merged::of_one_of(one_of);
        let mut apply = |finding| self.apply(finding, &mut report.suppressed);
        let reported = std::mem::take(&mut report.findings).into_iter().filter_map(&mut apply).collect();
        report.unshared = std::mem::take(&mut report.unshared).into_iter().filter_map(&mut apply).collect();
        for finding in consequences::remove(reported) {
            if finding.providers.is_empty() { merged.push(finding) } else { merged.merge(finding) }
        }
        report.findings.extend(merged.into_diagnostics());
    }
}
