//! Findings about module calls that are not pinned.

use super::audited_root::AuditedRoot;
use crate::configuration::ModuleCall;
use crate::diagnostic::{Code, Diagnostic};
use crate::modules::Unpinned;

/// Module calls that are not pinned, if the policy demands it.
pub(super) fn check_unpinned_modules(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    if !root.module.settings.policy.pins_modules() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for call in root.declared.own_package_calls() {
        if let Some(request) = call.request()
            && let Some(why) = request.why_unpinned()
        {
            findings.push(finding_unpinned(call, &why));
        }
    }
    findings
}

/// The finding about a call whose package may change without a change of the call.
fn finding_unpinned(call: &ModuleCall, why: &Unpinned) -> Diagnostic {
    let name = call.name();
    let (message, help) = match why {
        Unpinned::AnyVersion => (
            format!("{name} has no version, so the newest is used"),
            "add a version such as \"1.2.3\" or \"~> 1.2\"",
        ),
        Unpinned::DefaultBranch => (
            format!("{name} has no ref, so the newest commit of the default branch is used"),
            "add ?ref= with a full commit ID or the tag of a version",
        ),
        Unpinned::Reference(reference) => (
            format!("{name} has the ref {reference:?}, which is a branch or may be one"),
            "use a full commit ID, or a tag: refs/tags/NAME unless it looks like a version",
        ),
        Unpinned::NoChecksum => (
            format!("{name} is an archive without a checksum, so its content may change"),
            "add ?checksum=sha256: with the digest of the archive; a checksum file on the server does not pin it",
        ),
        Unpinned::Tag => (
            format!("{name} has no digest, so its tag decides"),
            "add ?digest=sha256: with its digest",
        ),
    };
    Diagnostic::finding(Code::ModuleRefFloating, message)
        .at(call.location.clone(), "called here")
        .help(help)
}
