//! Severity overrides: which findings in a root module are reported, and how much they weigh.

use std::path::Path;

use super::consequences;
use super::verified::{Suppressed, VerifiedRoot};
use crate::diagnostic::{Diagnostic, Merged};
use crate::settings::{FileLevels, Levels, RootLevels};

/// Severity overrides that apply to one root module.
pub(super) struct Levelled<'a> {
    caller: &'a Levels,
    settings: RootLevels,
    suppressed: Suppressed,
}

impl<'a> Levelled<'a> {
    /// `root` is the directory of the root module, absolute and without symlinks.
    pub(super) fn new(root: &Path, (caller, files): (&'a Levels, &[FileLevels]), ignored: usize) -> Self {
        let suppressed = Suppressed { ignored, ..Suppressed::default() };
        Self { caller, settings: RootLevels::at(root, files), suppressed }
    }

    /// A finding at its level; none if it is not reported.
    pub(super) fn apply(&mut self, finding: Diagnostic) -> Option<Diagnostic> {
        let reported = self.caller.applied(finding, &self.settings);
        self.suppressed.allowed += usize::from(reported.is_none());
        reported
    }

    /// Applies the levels to all findings in the root module, which is one of so many. Those that say the same of
    /// several providers become one, and those that follow from others are removed. Done again, it changes nothing.
    pub(super) fn apply_all(&mut self, findings: &mut Vec<Diagnostic>, one_of: usize) {
        let mut merged = Merged::of_one_of(one_of);
        let reported = std::mem::take(findings).into_iter().filter_map(|finding| self.apply(finding)).collect();
        for finding in consequences::remove(reported) {
            if finding.providers.is_empty() { merged.push(finding) } else { merged.merge(finding) }
        }
        findings.extend(merged.into_diagnostics());
    }

    /// Applies the levels to all findings in the root module, and records how many are not reported.
    pub(super) fn finish(mut self, root: &mut VerifiedRoot, one_of: usize) {
        self.apply_all(&mut root.findings, one_of);
        root.suppressed = self.suppressed;
    }
}
