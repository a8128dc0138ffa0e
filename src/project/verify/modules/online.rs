//! Comparing locked modules with their published packages.

use std::collections::BTreeMap;

use crate::configuration::ModuleCall;
use crate::diagnostic::Code;
use crate::lockfile::{Entry, LockedModule, ModuleLockFile, UNIT_ADDRESS, module_name};
use crate::modules::{ModuleSource, locked};
use crate::project::verify::root::Root;
use crate::project::verify::verified::VerifiedRoot;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// A call and its entry.
type LockedCall<'a> = (&'a ModuleCall, &'a Entry<LockedModule>);

/// Fetches every package once for all calls that use it, several at a time.
pub(super) fn check(root: &Root<'_>, lock_file: &ModuleLockFile, report: &mut VerifiedRoot) {
    let mut groups: BTreeMap<_, Vec<LockedCall<'_>>> = BTreeMap::new();
    for call in root.requirements().package_calls() {
        let Some(entry) = lock_file.entry(&call.key) else { continue };
        let ModuleCall { source, constraints, key, .. } = call;
        let is_foreign = locked::fault(&entry.locked, root.module.dialect).is_some()
            || locked::refusal(key, Some(&entry.locked), source, constraints).is_some();
        if !is_foreign {
            let asked_for = (package_of(source), &entry.locked.package, &entry.locked.version, &entry.locked.hashes);
            groups.entry(asked_for).or_default().push((call, entry));
        }
    }
    let groups: Vec<_> = groups.into_values().collect();
    let ask = |calls: &Vec<LockedCall<'_>>| {
        let (call, entry) = calls.first()?;
        let is_refused = root.packages.refuses(&call.source, call.entry.is_some());
        let fetcher = root.packages.fetcher.as_ref().filter(|_| !is_refused)?;
        Some(fetcher.compare_published(root.module.dialect, &call.source, &entry.locked))
    };
    let asked = parallel::map(groups.iter().collect(), WAITING_REQUESTS, ask);
    for (calls, published) in groups.iter().zip(asked) {
        match published {
            Some(Ok(findings)) => report.findings.extend(findings.into_iter().map(|finding| {
                let is_copied =
                    finding.code == Code::ModuleMoved && calls.iter().all(|(call, _)| call.key == UNIT_ADDRESS);
                let finding = if is_copied {
                    finding.help(
                        "find out why; to keep Terragrunt at the locked commit, write it as the ref of the source",
                    )
                } else {
                    finding
                };
                let finding = calls.iter().fold(finding, |finding, (call, entry)| {
                    finding.at(entry.package().clone(), module_name(&call.key))
                });
                finding.at_each(calls.iter().map(|(call, _)| &call.location), "called here")
            })),
            Some(Err(errors)) => report.errors.extend(errors),
            None => {}
        }
    }
}

/// The package of a source, without the directory in it.
fn package_of(source: &ModuleSource) -> String {
    match source {
        ModuleSource::Local(path) => path.clone(),
        ModuleSource::Registry(source) => source.module.to_string(),
        ModuleSource::Remote(source) => source.package.clone(),
    }
}
