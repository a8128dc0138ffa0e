//! Findings about differences between entries and the requirements of the configuration.
//!
//! Codes: `provider-not-locked`, `provider-not-required`, `version-outside-constraints`,
//! `constraints-differ`, `requirement-refused`, `no-hashes`.

use super::audited_root::{AuditedRoot, FileState, finding_at};
use crate::configuration::{Requirement, StateKnowledge};
use crate::diagnostic::{Code, Diagnostic, Help, LockRemedy, Remedy};
use crate::lockfile::{Entry, EntryKind};
use crate::project::plan::candidate::{
    only_namesake, with_assumed_namespace_note, with_source_help,
};
use crate::project::plan::refused_by_init::refused_by_init;
use crate::provider::{ConstraintList, Hash, ProviderAddress};

/// Compares every entry with the configuration, and every requirement with the entries.
pub(super) fn check_requirements(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    if root.lock_file_state != FileState::Readable {
        return Vec::new();
    }
    let requirements = root.requirements();
    let mut findings = requirements.warnings.clone();
    for entry in root.entries() {
        let mut finding = match requirements.providers.get(&entry.address) {
            Some(requirement) if root.base.is_some() && requirement.is_of_state() => {
                finding_not_required(root, entry, Some(requirement))
            }
            Some(requirement) => compare_entry(root, entry, requirement),
            // A finding about the provider without a source covers the entry.
            None if is_meant_by_provider_without_source(root, entry) => None,
            None => finding_not_required(root, entry, None),
        };
        if finding.is_none() {
            finding = finding_outside_recorded(root, entry);
        }
        findings.extend(finding);
        findings.extend(finding_no_hashes(root, entry));
    }

    let locked = root.lock_file.locks();
    for (address, requirement) in &requirements.providers {
        // For a provider under development, the tool runs a local build and needs no entry.
        let is_overridden = root.dev_overrides.contains_key(address);
        if requirement.is_certain && !is_overridden && !locked.contains_key(address) {
            findings.push(finding_not_locked(root, address, requirement));
        }
    }
    findings
}

/// Required providers that `init` refuses, whatever is locked.
pub(super) fn check_refused_requirements(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    refused_by_init(root.requirements(), root.module.dialect)
}

/// OpenTofu and Terraform ignore hashes of unknown schemes: `PreferredHashes` in OpenTofu's
/// `internal/getproviders/hash.go`.
fn finding_no_hashes(root: &AuditedRoot<'_>, entry: &Entry) -> Option<Diagnostic> {
    let hashes = &entry.locked.hashes;
    if hashes.iter().any(Hash::is_known) {
        return None;
    }
    let what = if hashes.is_empty() {
        "no hash is"
    } else {
        "only hashes of unknown schemes are"
    };
    let message = format!(
        "{what} recorded for {}, so any package would be accepted",
        root.release_name(entry)
    );
    Some(finding_at(Code::NoHashes, message, &entry.block).help(root.lock_remedy()))
}

/// Compares an entry with the requirement for its provider: the version with the constraints, or
/// else the recorded constraints with the required ones, if all of these are known.
fn compare_entry(
    root: &AuditedRoot<'_>,
    entry: &Entry,
    requirement: &Requirement,
) -> Option<Diagnostic> {
    let name = root.provider_name(&entry.address);
    let version = &entry.locked.version;
    let recorded = &entry.locked.constraints;
    let required = &requirement.constraints;
    if !required.allows(version) {
        let asks = if required.is_empty() {
            "a prerelease is accepted only if a constraint names it exactly".to_owned()
        } else {
            format!("the configuration requires {required}")
        };
        let message = format!("{name} is locked at {version}, but {asks}");
        let code = Code::VersionOutsideConstraints;
        let mut error = finding_at(code, message, entry.version());
        for declaration in &requirement.declarations {
            if !declaration.constraints.allows(version) {
                error = declaration.add_location(error, &declaration.location, "asked for here");
            }
        }
        return Some(error.help(Remedy::upgrade(name)));
    }
    // Modules that are not there may add terms.
    if recorded == required || root.requirements().is_incomplete {
        return None;
    }
    let warning = finding_constraints_differ(
        Code::ConstraintsDiffer,
        entry,
        &name,
        recorded,
        required,
        "the configuration",
    );
    Some(warning.help(Remedy::lock()))
}

/// The finding about recorded constraints that differ from the constraints of `source`. The locked
/// version meets both.
pub(super) fn finding_constraints_differ<T: EntryKind>(
    code: Code,
    entry: &Entry<T>,
    name: &str,
    recorded: &ConstraintList,
    required: &ConstraintList,
    source: &str,
) -> Diagnostic {
    let recorded = if recorded.is_empty() {
        "no constraints".to_owned()
    } else {
        format!("the constraints {:?}", recorded.to_string())
    };
    let required = if required.is_empty() {
        "none".to_owned()
    } else {
        format!("{:?}", required.to_string())
    };
    let message =
        format!("the lock file records {recorded} for {name}, but {source} has {required}");
    let finding = finding_at(code, message, entry.constraints().unwrap_or(&entry.block));
    finding.note(format!(
        "the locked version {} meets the constraints of {source}",
        entry.locked.release()
    ))
}

/// The finding about a version that the entry's recorded constraints exclude, if the configuration
/// is not completely known. If the entry records none, the constraints in the base apply, because a
/// change may have removed them.
fn finding_outside_recorded(root: &AuditedRoot<'_>, entry: &Entry) -> Option<Diagnostic> {
    if !root.requirements().is_incomplete {
        return None;
    }
    let mut recorded = &entry.locked.constraints;
    let mut records = "the lock file records";
    let mut location = entry.constraints();
    if recorded.is_empty() {
        let before = root.lock_file_before()?;
        recorded = &before.locks().get(&entry.address)?.constraints;
        records = "the base records";
        location = None;
    }
    let version = &entry.locked.version;
    if recorded.is_empty() || recorded.allows(version) {
        return None;
    }
    let name = root.provider_name(&entry.address);
    let message =
        format!("{name} is locked at {version}, but {records} the constraints {recorded}");
    let code = Code::VersionOutsideConstraints;
    let error = finding_at(code, message, entry.version()).at_each(location, "recorded here");
    let note = "they are treated as required, because the configuration is not completely known";
    Some(error.note(note).help(Remedy::upgrade(name)))
}

/// The finding about an entry that the configuration does not require; `None` if the configuration
/// is not completely known. A state file that needs it is shown, but does not excuse it in a change
/// under review, because the change may have brought the file.
fn finding_not_required(
    root: &AuditedRoot<'_>,
    entry: &Entry,
    by_state: Option<&Requirement>,
) -> Option<Diagnostic> {
    let requirements = root.requirements();
    if requirements.is_incomplete {
        return None;
    }
    let name = root.provider_name(&entry.address);
    let message = format!("{name} is locked, but the configuration does not require it");
    let mut warning = finding_at(Code::ProviderNotRequired, message, &entry.block);
    if let Some(requirement) = by_state {
        let declarations = requirement.declarations.iter();
        let locations = declarations.map(|declaration| &declaration.location);
        return Some(warning
            .at_each(locations, "this state needs it")
            .note("a state file under review does not explain an entry, because the change may have added it")
            .help("make sure that the entry is intended; init keeps it while the state needs it"));
    }

    if let Some(path) = requirements.unused_state.get(&entry.address) {
        warning = warning.note(format!(
            "the state in {} needs it, but the backend does not use that file",
            path.display()
        ));
    }
    let fails = format!(
        "{} init -lockfile=readonly fails because of the entry",
        root.module.dialect
    );
    let prune = Help::from(LockRemedy {
        prune: true,
        ..LockRemedy::default()
    });
    Some(match &requirements.state {
        StateKnowledge::Read => warning
            .note(format!(
                "no state file beside it needs the provider: {fails}"
            ))
            .help(prune),
        StateKnowledge::Absent => warning
            .note(fails)
            .help(prune.and_text(", unless a state elsewhere still has resources of it")),
        StateKnowledge::Unknown(reason) | StateKnowledge::Unreadable(reason) => warning
            .note(format!(
                "{fails}, unless the state needs it, which is unknown: {reason}"
            ))
            .help(prune.and_text(", unless the state still has resources of it")),
    })
}

fn finding_not_locked(
    root: &AuditedRoot<'_>,
    address: &ProviderAddress,
    requirement: &Requirement,
) -> Diagnostic {
    let message = format!(
        "{} is required, but not locked",
        root.provider_name(address)
    );
    let error = Diagnostic::finding(Code::ProviderNotLocked, message).about(address);
    let error = requirement.at_declarations(error.help(Remedy::lock()));
    // An entry that nothing else requires is probably meant.
    if let Some(entry) = only_namesake(address, requirement, &root.lock_file)
        && !root.requirements().providers.contains_key(&entry.address)
    {
        return with_source_help(
            with_assumed_namespace_note(error),
            entry,
            root.module.dialect,
        );
    }
    error
}

/// Whether an entry that nothing requires is probably meant by a required provider without a
/// source.
fn is_meant_by_provider_without_source(root: &AuditedRoot<'_>, entry: &Entry) -> bool {
    let locked = root.lock_file.locks();
    for (address, requirement) in &root.requirements().providers {
        if !locked.contains_key(address)
            && only_namesake(address, requirement, &root.lock_file) == Some(entry)
        {
            return true;
        }
    }
    false
}
