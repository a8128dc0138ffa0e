//! Findings about module calls that the policy does not allow.

use std::collections::BTreeSet;

use super::audited_root::{AuditedRoot, finding_at};
use crate::diagnostic::{Code, Diagnostic};
use crate::lockfile::module_name;
use crate::modules::origin;
use crate::project::root_module::RootModule;

/// Findings about module calls that the policy does not allow, in all modules that are read, and
/// about calls whose source is unknown. None if the policy does not list modules.
pub(super) fn check_allowed_modules(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let RootModule {
        settings, dialect, ..
    } = root.module;
    if !settings.policy.lists_modules() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut checked_keys = BTreeSet::new();
    let mut seen = Vec::new();
    for call in root.declared.package_calls() {
        checked_keys.insert(&call.key);
        // A module that is called several times contains the same calls each time.
        let location = call.own_call.as_ref().unwrap_or(&call.location);
        let seen_at = (location, &call.source);
        if seen.contains(&seen_at) {
            continue;
        }
        seen.push(seen_at);

        let reason;
        let help;
        match origin(&call.source) {
            Ok(origin) if settings.policy.allows_module(&origin, *dialect) => continue,
            Ok(origin) => {
                reason = format!("its source is {origin}");
                help = format!(
                    "use another module, or add {:?} to allowed-modules in provlock.toml",
                    origin.pattern_of_publisher()
                );
            }
            Err(why) => {
                reason = why.to_owned();
                help = "use the usual address of an allowed module".to_owned();
            }
        }
        let message = format!("the policy does not allow {}: {reason}", call.name());
        let error = Diagnostic::finding(Code::ModuleNotAllowed, message);
        findings.push(call.at_call(error).help(help));
    }

    for call in &root.declared.unknown_calls {
        // In a directory of the repository, its own calls are checked.
        if call.directory.is_some() || !checked_keys.insert(&call.key) {
            continue;
        }
        let name = module_name(&call.key);
        let message =
            format!("the source of {name} is unknown, so allowed-modules was not checked");
        let error = finding_at(Code::ModuleNotAllowed, message, &call.location)
            .help("write the source as a string, so that the policy can allow it");
        findings.push(error);
    }
    findings
}
