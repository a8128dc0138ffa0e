//! Findings that follow from another finding about the same provider, such as a new namespace beside a denied one.

use std::collections::BTreeMap;

use crate::diagnostic::{Code, Diagnostic};

/// Removes findings that follow from another one about the same provider, unless they weigh more. What the policy does
/// not allow stays as a note. Done again, it changes nothing.
pub(super) fn remove(mut findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
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

fn is_about_address(code: Code) -> bool {
    let is_not_allowed = matches!(code, Code::HostNotAllowed | Code::NamespaceNotAllowed | Code::ProviderNotAllowed);
    is_not_allowed || code == Code::Lookalike || is_new(code)
}

fn is_new(code: Code) -> bool {
    matches!(code, Code::HostAdded | Code::NamespaceAdded | Code::ProviderAdded)
}
