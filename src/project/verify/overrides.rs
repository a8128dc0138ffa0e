//! Severity overrides: which findings in a root module are reported, and with which severity.

use std::collections::BTreeMap;
use std::path::Path;

use super::verified::{Suppressed, VerifiedRoot, is_about_address, is_new};
use crate::diagnostic::{Code, Diagnostic, Merged};
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
        report.not_shared = std::mem::take(&mut report.not_shared).into_iter().filter_map(&mut apply).collect();
        for finding in without_consequences(reported) {
            if finding.providers.is_empty() { merged.push(finding) } else { merged.merge(finding) }
        }
        report.findings.extend(merged.into_diagnostics());
    }
}

/// Removes findings that follow from another one about the same provider, such as a new namespace beside a denied one,
/// unless they are more severe. Violations of the policy become notes of the cause. Idempotent.
fn without_consequences(mut findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut by_provider: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, finding) in findings.iter().enumerate() {
        if let ([provider], true) = (&finding.providers[..], is_about_address(finding.code)) {
            by_provider.entry(provider.clone()).or_default().push(index);
        }
    }
    let mut removed = Vec::new();
    for indexes in by_provider.values().filter(|indexes| indexes.len() > 1) {
        for &index in indexes {
            let follows_from = |cause: &&usize| follows(&findings[index], &findings[**cause]);
            if let Some(&cause) = indexes.iter().filter(follows_from).min_by_key(|cause| order(&findings[**cause])) {
                removed.push((index, cause));
            }
        }
    }
    for (index, cause) in &removed {
        if !is_new(findings[*index].code) {
            let note = findings[*index].message.clone();
            findings[*cause].notes.push(note);
        }
    }
    let mut removed: Vec<_> = removed.into_iter().map(|(index, _)| index).collect();
    removed.sort_unstable();
    let mut index = 0..;
    findings.retain(|_| index.next().is_none_or(|index| removed.binary_search(&index).is_err()));
    findings
}

/// Sort key of causes: a look-alike is kept first.
fn order(finding: &Diagnostic) -> (bool, Code) {
    (finding.code != Code::Lookalike, finding.code)
}

fn follows(finding: &Diagnostic, cause: &Diagnostic) -> bool {
    let follows = match cause.code {
        Code::Lookalike => matches!(finding.code, Code::HostNotAllowed | Code::NamespaceNotAllowed),
        Code::HostNotAllowed => finding.code == Code::NamespaceNotAllowed,
        _ => false,
    };
    let is_denied = is_about_address(cause.code) && !is_new(cause.code);
    (follows || is_denied && is_new(finding.code)) && finding.severity <= cause.severity
}
