//! Modules of the repository that are called by the path that it has on other machines, such as
//! `/home/ann/infrastructure/modules/vpc`.

use std::path::Component;

use super::audited_root::{AuditedRoot, VerifiedRoot};
use super::readings::has_module;
use crate::diagnostic::{Code, Severity};

/// Lowers errors about modules out of the repository to warnings if root modules of the base call
/// modules of the repository there. The repository has the module itself, so that it is reviewed.
pub(super) fn lower_errors(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let Some(base) = &root.base else {
        return;
    };
    for finding in &mut report.findings {
        if finding.code != Code::OutsideRepository {
            continue;
        }
        let Some(call) = finding.labels.last() else {
            continue;
        };
        let mut modules = root.declared.outside_modules.iter();
        let Some(module) = modules.find(|module| module.location == call.location) else {
            continue;
        };
        let whole_base = base.facts.readings.whole_base();
        let Some(path) = whole_base.path_in_repository(&module.path) else {
            continue;
        };
        let is_inside = path
            .components()
            .all(|component| matches!(component, Component::Normal(_)));
        let directory = base.facts.change.top.join(path);
        if is_inside && has_module(root.module_cache, &directory) {
            finding.severity = Severity::Warning;
            let note = "root modules of the base call modules of this repository there";
            finding.notes.push(note.to_owned());
        }
    }
}
