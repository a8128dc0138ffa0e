//! Severity overrides: which findings in a root module are reported, and with which severity.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::mem::take;

use super::audited_root::{VerifiedRoot, is_about_address};
use super::platforms::PLATFORM;
use crate::diagnostic::{Code, Collector, Diagnostic, Pattern, Reason, Severity};
use crate::provider::ProviderAddress;
use crate::settings::Levels;

impl VerifiedRoot {
    /// Adds a finding in front of the others, with the severity that applies, unless it is not
    /// reported.
    pub(super) fn add_first(&mut self, finding: Diagnostic, caller: &Levels) {
        let finding = self.reported(finding, caller);
        self.findings.splice(0..0, finding);
    }

    /// Applies the overrides of the caller and of the settings to all findings of a root module,
    /// which is one of `one_of`. Merges findings that differ only in their positions and providers,
    /// and removes findings that follow from others.
    pub(super) fn apply_overrides(&mut self, caller: &Levels, one_of: usize) {
        for finding in take(&mut self.not_shared) {
            let reported = self.reported(finding, caller);
            self.not_shared.extend(reported);
        }
        let mut findings = Vec::new();
        for finding in take(&mut self.findings) {
            findings.extend(self.reported(finding, caller));
        }
        let causes = without_consequences(without_lost_platforms(findings));
        self.findings
            .extend(Collector::for_one_of(one_of).merged(causes));
    }

    fn reported(&mut self, finding: Diagnostic, caller: &Levels) -> Option<Diagnostic> {
        let reported = caller.applied(finding, &self.overrides);
        self.suppressed.allowed += usize::from(reported.is_none());
        reported
    }
}

/// Names the option by which an owner lets a finding through for one run, in the help of each error
/// about a change under review.
pub(super) fn name_allowing_option(findings: &mut [Diagnostic]) {
    for finding in findings {
        let is_finding = finding.code.rule().is_some();
        if !is_finding || finding.severity < Severity::Error {
            continue;
        }
        let help = take(&mut finding.help).unwrap_or_default();
        finding.help = Some(if help.names_override(finding.code) {
            help
        } else {
            help.and_owner_allows(finding.code)
        });
    }
}

/// Removes warnings about modules that were not read, if they are a reason for a finding about the
/// change that is at least as severe.
fn without_unread_modules(findings: &mut Vec<Diagnostic>) {
    let mut causes = Vec::new();
    for finding in findings.iter() {
        if finding.reason == Some(Reason::UnknownPart) {
            causes.push(finding.clone());
        }
    }
    findings.retain(|finding| {
        if finding.code != Code::ModuleNotInstalled || finding.labels.is_empty() {
            return true;
        }
        !causes
            .iter()
            .any(|cause| finding.severity <= cause.severity && has_places_of(cause, finding))
    });
}

/// Whether the locations of a finding are among the locations of its cause.
fn has_places_of(cause: &Diagnostic, finding: &Diagnostic) -> bool {
    finding.labels.iter().all(|label| {
        let mut labels = cause.labels.iter();
        labels.any(|known| known.location == label.location)
    })
}

/// Removes findings that follow from another one about the same provider, such as a new namespace
/// beside a denied one, unless they are more severe. Violations of the policy become notes of the
/// cause. Idempotent.
fn without_consequences(mut findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    without_unread_modules(&mut findings);
    let mut by_provider: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (index, finding) in findings.iter().enumerate() {
        if is_about_address(finding.code)
            && finding.reason != Some(Reason::HostChanged)
            && let [provider] = &finding.providers[..]
        {
            by_provider.entry(provider.clone()).or_default().push(index);
        }
    }
    let mut removed = HashSet::new();
    for indexes in by_provider.values() {
        for &index in indexes {
            let causes = indexes
                .iter()
                .filter(|cause| is_consequence(&findings[index], &findings[**cause]));
            let Some(&cause) = causes.min_by_key(|cause| rank_of_cause(&findings[**cause])) else {
                continue;
            };
            removed.insert(index);
            if !is_about_addition(&findings[index]) {
                let note = findings[index].message.clone();
                findings[cause].notes.push(note);
            }
        }
    }
    let mut causes = Vec::new();
    for (index, finding) in findings.into_iter().enumerate() {
        if !removed.contains(&index) {
            causes.push(finding);
        }
    }
    causes
}

/// Platforms that the change removes from an entry, according to a finding.
struct ReportedLoss {
    severity: Severity,
    names: BTreeSet<String>,
}

/// Removes the platforms that an entry lacks because the change removes their hashes: the finding
/// about the change tells the cause, and names them, too. A finding that is less severe hides
/// nothing.
fn without_lost_platforms(findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut lost = HashMap::new();
    for finding in &findings {
        if finding.code == Code::PlatformsLost
            && let [provider] = &finding.providers[..]
            && let Some(pattern) = &finding.pattern
        {
            let of_entry = ReportedLoss {
                severity: finding.severity,
                names: pattern.names(PLATFORM),
            };
            lost.insert(provider.clone(), of_entry);
        }
    }
    findings
        .into_iter()
        .filter_map(|finding| without_platforms_lost(finding, &lost))
        .collect()
}

/// A finding without the platforms that its entry loses. `None` if nothing is left of it, or if it
/// is about too few hashes, because the loss is the cause.
fn without_platforms_lost(
    finding: Diagnostic,
    lost: &HashMap<ProviderAddress, ReportedLoss>,
) -> Option<Diagnostic> {
    let [provider] = &finding.providers[..] else {
        return Some(finding);
    };
    let Some(of_entry) = lost.get(provider) else {
        return Some(finding);
    };
    if of_entry.severity < finding.severity {
        return Some(finding);
    }
    if finding.code == Code::PlatformNotCovered {
        return None;
    }
    if finding.code != Code::PlatformMissing {
        return Some(finding);
    }
    let Some(pattern) = &finding.pattern else {
        return Some(finding);
    };
    let named = pattern.names(PLATFORM);
    // The finding for a platform that is not published has no such list.
    if named.is_empty() {
        return Some(finding);
    }
    if named.is_subset(&of_entry.names) {
        return None;
    }
    let pattern: Pattern = pattern.clone().omitting(PLATFORM, &of_entry.names);
    Some(finding.with_pattern(pattern))
}

/// Sort key of causes: a look-alike is kept first.
fn rank_of_cause(finding: &Diagnostic) -> (bool, Code) {
    (finding.code != Code::Lookalike, finding.code)
}

fn is_consequence(finding: &Diagnostic, cause: &Diagnostic) -> bool {
    let follows = match cause.code {
        Code::Lookalike => matches!(
            finding.code,
            Code::HostNotAllowed | Code::NamespaceNotAllowed
        ),
        Code::HostNotAllowed => finding.code == Code::NamespaceNotAllowed,
        _ => false,
    };
    let is_denied = is_about_address(cause.code) && cause.code != Code::PublisherAdded;
    (follows || is_denied && is_about_addition(finding)) && finding.severity <= cause.severity
}

/// Whether a finding is about a provider, namespace or host that the change adds.
fn is_about_addition(finding: &Diagnostic) -> bool {
    matches!(
        finding.reason,
        Some(Reason::HostAdded | Reason::NamespaceAdded | Reason::ProviderAdded)
    )
}
