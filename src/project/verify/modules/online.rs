//! Whether what is published of locked modules is still what was locked.

use std::collections::BTreeMap;

use crate::configuration::CallToLock;
use crate::diagnostic::Code;
use crate::lockfile::{Entry, LockedModule, ModuleLockFile, UNIT_ADDRESS, module_name};
use crate::modules::{ModuleSource, locked};
use crate::project::verify::subject::{Verified, VerifyRequest};
use crate::system::parallel::{self, WAITING_REQUESTS};

/// A call and its entry.
type Locked<'a> = (&'a CallToLock, &'a Entry<LockedModule>);

/// Asks about every package, side by side, once for all calls that get it.
pub(super) fn check(request: &VerifyRequest<'_>, lock_file: &ModuleLockFile) -> Verified {
    let mut groups: BTreeMap<_, Vec<Locked<'_>>> = BTreeMap::new();
    for call in &request.requirements.locked.calls {
        let Some(entry) = lock_file.entry(&call.key) else { continue };
        let CallToLock { source, constraints, key, .. } = call;
        let is_foreign = locked::fault(&entry.locked, request.root.dialect).is_some()
            || locked::refusal(key, Some(&entry.locked), source, constraints).is_some();
        if !is_foreign {
            let asked_for = (package_of(source), &entry.locked.package, &entry.locked.version, &entry.locked.hashes);
            groups.entry(asked_for).or_default().push((call, entry));
        }
    }
    let groups: Vec<_> = groups.into_values().collect();
    let ask = |calls: &Vec<Locked<'_>>| {
        let (call, entry) = calls.first()?;
        Some(request.packages.published(request.root.dialect, call, &entry.locked))
    };
    let mut verified = Verified::default();
    let asked = parallel::map(groups.iter().collect(), WAITING_REQUESTS, ask);
    for (calls, published) in groups.iter().zip(asked) {
        match published {
            Some(Ok(findings)) => verified.findings.extend(findings.into_iter().map(|finding| {
                let is_copied =
                    finding.code == Code::ModuleMoved && calls.iter().all(|(call, _)| call.key == UNIT_ADDRESS);
                let finding = if is_copied {
                    finding
                        .help("find out why; to keep Terragrunt at the locked commit, make that the ref of the source")
                } else {
                    finding
                };
                let finding = calls.iter().fold(finding, |finding, (call, entry)| {
                    finding.at(entry.package().clone(), module_name(&call.key))
                });
                finding.at_each(calls.iter().map(|(call, _)| &call.location), "called here")
            })),
            Some(Err(errors)) => verified.errors.extend(errors),
            None => {}
        }
    }
    verified
}

/// What a source names, whatever the directory.
fn package_of(source: &ModuleSource) -> String {
    match source {
        ModuleSource::Local(path) => path.clone(),
        ModuleSource::Registry(source) => source.module.to_string(),
        ModuleSource::Remote(source) => source.package.clone(),
    }
}
