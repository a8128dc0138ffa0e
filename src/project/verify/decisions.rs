//! Decisions that a change makes: which versions of providers and which modules a later `init`
//! installs. Each is a note, so that a reviewer sees it without reading hashes.
//!
//! Codes: `decision-changed`, `not-decided`.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;
use std::path::Path;

use super::affected::may_be_affected;
use super::audited_root::{AuditedRoot, FileState, finding_at};
use super::backend_files;
use super::base::{Base, BaseFacts};
use super::called_source::CalledSource;
use super::changed_entries::demanding_constraints;
use super::readings::RequirementsBefore;
use crate::configuration::{InitChange, ModuleCall, StateStorage};
use crate::diagnostic::words::MOST_NAMED;
use crate::diagnostic::{Code, Diagnostic, Help, Location, Reason, RunOption};
use crate::lockfile::{
    self, EntryChange, EntryDiff, EntryKind, LOCK_FILE_NAME, LockedModule, LockedProvider,
    MODULE_LOCK_FILE_NAME,
};
use crate::project::coverage::DirectoryKind;
use crate::project::reviewed_change::ReviewedChange;
use crate::project::root_module::DialectReason;
use crate::project::root_module::roots::without_leading_dot;

/// Returns a note for each decision about a root module that the change makes.
pub(super) fn check_decisions(root: &AuditedRoot<'_>) -> Vec<Diagnostic> {
    let Some(base) = &root.base else {
        return Vec::new();
    };
    // All versions of a new root module are new, so that one note stands for them.
    if is_new_root(root, base) {
        let directory = root.module.path().display();
        let noun = match root.module.found.kind {
            DirectoryKind::Unit => "unit",
            _ => "root module",
        };
        let message = format!("the {noun} in {directory} is new");
        let mut notes = vec![decision_note(message, &own_location(root))];
        notes.extend(check_new_storage(root, base));
        return notes;
    }
    let mut notes = check_providers(root, base);
    notes.extend(check_dialect(root, base));
    notes.extend(check_required_version(root, base));
    notes.extend(check_locked_modules(root, base));
    let is_lock_file_only = root.module.found.kind == DirectoryKind::OtherLockFile;
    if !is_lock_file_only && may_be_affected(root, base.facts) {
        let before = base.requirements_before(root.module);
        notes.extend(check_calls(root, &before));
        if before.exists {
            notes.extend(check_storage(root, base, &before));
            notes.extend(check_generated_texts(root, &before));
        }
    }
    notes
}

/// Whether the base has neither a lock file nor any other file of the root module.
pub(super) fn is_new_root(root: &AuditedRoot<'_>, base: &Base<'_>) -> bool {
    let change = base.facts.change;
    !root.is_policy_only()
        && base.lock_file.bytes.is_empty()
        && base.module_lock_file.bytes.is_empty()
        && change.is_new_directory(&root.module.canonical)
}

/// Location of the lock file, or of the root module without one.
fn own_location(root: &AuditedRoot<'_>) -> Location {
    if root.module.lock_bytes.is_some() {
        Location::of_file(&root.module.lock_path)
    } else {
        Location::of_file(root.module.path())
    }
}

/// Returns a note for each provider about which the change decides: it is new, removed or at a
/// different version, or the whole lock file is new.
fn check_providers(root: &AuditedRoot<'_>, base: &Base<'_>) -> Vec<Diagnostic> {
    let now = root.module.lock_bytes.as_deref();
    if root.lock_file_state != FileState::Readable || now == Some(base.lock_file.bytes) {
        return Vec::new();
    }
    if base.lock_file.bytes.is_empty() {
        let path = &root.module.lock_path;
        let message = format!("the lock file {} is new", path.display());
        return vec![decision_note(message, &Location::of_file(path))];
    }
    let Some(before) = &base.lock_file.parsed().lock_file else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    let differences = lockfile::diff(before.locks(), root.lock_file.locks());
    for change in differences.changes() {
        let name = root.provider_name(&change.address);
        let Some(mut message) = provider_message(base.facts, &name, change) else {
            continue;
        };
        if let Some(constraints) = demanding_constraints(root, change) {
            _ = write!(message, ", as the configuration demands ({constraints})");
        }
        let location = match root.lock_file.entry(&change.address) {
            Some(entry) => entry.version().clone(),
            None => Location::of_file(&root.module.lock_path),
        };
        let note = decision_note(message, &location);
        notes.push(note.about(&change.address));
    }
    notes
}

/// The decision about an entry of a provider; `None` if its version stays, or if a finding about a
/// new provider says the same.
fn provider_message(
    facts: &BaseFacts<'_>,
    name: &str,
    change: &EntryDiff<LockedProvider>,
) -> Option<String> {
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => version_message(name, &old.version, &new.version),
        (None, Some(new)) if facts.providers.contains(&change.address) => {
            Some(format!("{name} {} is locked", new.version))
        }
        (Some(old), None) => Some(format!("{name} {} is no longer locked", old.version)),
        (None, _) => None,
    }
}

/// Returns the decision that a lock file is for the other tool now, as other lock files of the base
/// are.
fn check_dialect(root: &AuditedRoot<'_>, base: &Base<'_>) -> Option<Diagnostic> {
    let now = root.module.dialect;
    let before = lockfile::detect_dialect(base.lock_file.bytes)?;
    let is_of_lock_file = root.module.dialect_reason == DialectReason::LockFile;
    if before == now || !is_of_lock_file {
        return None;
    }
    let path = &root.module.lock_path;
    let message = format!("{} is for {} now", path.display(), now.name());
    Some(decision_note(message, &Location::of_file(path)))
}

/// Returns the decision about the versions of the tool that a root module requires.
fn check_required_version(root: &AuditedRoot<'_>, base: &Base<'_>) -> Option<Diagnostic> {
    let before = base.module(root.module)?;
    let before = &before.required_version;
    let module = root.module.module(root.module_cache);
    let now = &module.required_version;
    if before == now {
        return None;
    }
    let directory = root.module.path().display();
    let [before, now] = [before, now].map(|versions| {
        if versions.is_empty() {
            return "any version".to_owned();
        }
        versions.to_string()
    });
    let message = format!("required_version of {directory}: {before} → {now}");
    Some(decision_note(message, &own_location(root)))
}

/// Returns a note for each locked module about which the change decides.
fn check_locked_modules(root: &AuditedRoot<'_>, base: &Base<'_>) -> Vec<Diagnostic> {
    // A removed file is a finding of its own.
    let Some(parsed) = &root.module_lock_file else {
        return Vec::new();
    };
    if root.module.module_lock_bytes.is_none() {
        return Vec::new();
    }
    let (Some(now), Some(before)) = (&parsed.lock_file, &base.module_lock_file.parsed().lock_file)
    else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    let differences = lockfile::diff(before.locks(), now.locks());
    for change in differences.changes() {
        let name = LockedModule::label_name(&change.address);
        let Some(message) = module_message(&name, change) else {
            continue;
        };
        let location = match now.entry(&change.address) {
            Some(entry) => entry.version().clone(),
            None => Location::of_file(&root.module.module_lock_path),
        };
        notes.push(decision_note(message, &location));
    }
    notes
}

/// The decision about an entry of a module; `None` for an entry that the change adds, which its
/// call shows.
fn module_message(name: &str, change: &EntryDiff<LockedModule>) -> Option<String> {
    if change.change == EntryChange::Removed {
        return Some(format!("{name} is no longer locked"));
    }
    let old = change.old.as_ref()?.version.as_ref()?;
    let new = change.new.as_ref()?.version.as_ref()?;
    version_message(name, old, new)
}

fn version_message<V: PartialEq + std::fmt::Display>(
    name: &str,
    old: &V,
    new: &V,
) -> Option<String> {
    if old == new {
        return None;
    }
    Some(format!("{name} {old} → {new}"))
}

/// Returns the decisions about the modules that are called or run.
fn check_calls(root: &AuditedRoot<'_>, before: &RequirementsBefore) -> Vec<Diagnostic> {
    let calls = root.declared.own_package_calls();
    let mut notes = check_changed_calls(&calls, before);
    notes.extend(check_own_commits(root, before));
    notes.extend(check_removed_calls(root, &calls, before));
    notes
}

/// Returns the decisions about calls of modules of other packages with a new source. A further call
/// of a module that the root module calls anyway is none.
fn check_changed_calls(calls: &[&ModuleCall], before: &RequirementsBefore) -> Vec<Diagnostic> {
    let mut notes = Vec::new();
    let called_before: HashSet<&CalledSource> = before.sources.values().flatten().collect();
    let mut places = BTreeSet::new();
    for call in calls {
        let source = CalledSource::of(call);
        let name = call.name();
        let old = before.sources.get(&call.key).map(Vec::as_slice);
        let message = match old.unwrap_or_default() {
            old if old.contains(&source) => continue,
            [old, ..] => format!("{name} {}", source.change_from(old)),
            [] if called_before.contains(&source) => continue,
            [] => format!("{name} {source} is called"),
        };
        // Where the same text was read in both dialects, one note stands for both.
        let place = CallPlace {
            key: &call.key,
            file: call.location.path(),
            start: call.location.span.start,
        };
        if places.insert(place) {
            notes.push(decision_note(message, &call.location));
        }
    }
    notes
}

/// Returns the decisions about modules in commits of the user's own repository.
fn check_own_commits(root: &AuditedRoot<'_>, before: &RequirementsBefore) -> Vec<Diagnostic> {
    let mut notes = Vec::new();
    let directory = root.module.path().display();
    for (old, now) in before.own_commits.iter().zip(&root.declared.own_commits) {
        if old.source != now.source {
            let message = format!("the module of {directory} {} → {}", old.source, now.source);
            notes.push(decision_note(message, &now.location));
        }
    }
    notes
}

/// Returns the decisions about calls that are gone. If a different call has the same source, the
/// call was renamed.
fn check_removed_calls(
    root: &AuditedRoot<'_>,
    calls: &[&ModuleCall],
    before: &RequirementsBefore,
) -> Vec<Diagnostic> {
    let mut notes = Vec::new();
    for (key, sources) in &before.sources {
        let is_called = calls
            .iter()
            .any(|call| call.key == *key || sources.contains(&CalledSource::of(call)));
        if !is_called && let Some(source) = sources.first() {
            let name = lockfile::module_name(key);
            let message = format!("{name} {source} is no longer called");
            notes.push(decision_note(message, &own_location(root)));
        }
    }
    notes
}

/// Returns the decision about the first text in generated files that is not known: a value of the
/// environment, for example, that ends the string around it may require any provider.
fn check_generated_texts(
    root: &AuditedRoot<'_>,
    before: &RequirementsBefore,
) -> Option<Diagnostic> {
    let mut texts = root.declared.generated_texts.iter();
    let new = texts.find(|text| !before.generated_texts.contains(&text.id()))?;
    let message = "a generated file contains a text that is not known";
    Some(decision_note(message.to_owned(), &new.location))
}

/// Place of a call. Calls in a generated file have one location, that of its block.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct CallPlace<'a> {
    key: &'a str,
    file: &'a Path,
    start: usize,
}

/// Returns the decisions about the place of the state, which decides on providers, too. A finding
/// that an owner has to allow is about a store that no state of the base is in, or about arguments
/// that may have other values.
fn check_storage(
    root: &AuditedRoot<'_>,
    base: &Base<'_>,
    before: &RequirementsBefore,
) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let storages = &root.declared.storages;
    let directory = root.module.path().display().to_string();
    for (index, storage) in storages.iter().enumerate() {
        let old = before
            .state_storages
            .get(index)
            .cloned()
            .unwrap_or_default();
        let changes = storage.changes_from(&old);
        let location = storage
            .location
            .clone()
            .unwrap_or_else(|| own_location(root));
        if changes.is_empty() {
            // The arguments are the same text, but may have other values.
            let units = &root.module.units;
            if base.facts.may_alter_reads(&storage.reads, units) {
                let message =
                    format!("the state of {directory} depends on a file that the change alters");
                findings.push(finding_state_moved(message, location));
            }
            continue;
        }
        let changes = changes.join(", ");
        let mut is_store_known = old.is_in_same_store(storage);
        if !is_store_known {
            let mut known = base.facts.readings.whole_base().state_storages.iter();
            is_store_known = known.any(|known| known.is_in_same_store(storage));
        }
        // The arguments may move from a file into the configuration.
        if !is_store_known {
            let directory = base.moved_from.as_deref().unwrap_or(&root.module.canonical);
            let known = backend_files::completed_places(base.facts.change, directory, &old);
            is_store_known = known.iter().any(|known| known.is_in_same_store(storage));
        }
        if let Some(change) = storage.change_of_init(&old) {
            let is_note = is_store_known || change == InitChange::NoneAdded;
            findings.push(finding_arguments_of_init(&directory, is_note, location));
            continue;
        }
        if is_store_known {
            let message = format!("the state of {directory} moves: {changes}");
            findings.push(decision_note(message, &location));
            continue;
        }
        let message = format!(
            "the state of {directory} moves to a store that the base does not use: {changes}"
        );
        findings.push(finding_state_moved(message, location));
    }
    if storages.is_empty()
        && let Some(old) = before.state_storages.first()
    {
        let message = match StateStorage::default().change_of_init(old) {
            Some(_) => message_about_arguments_of_init(&directory),
            None => format!("the state of {directory} moves to files beside the configuration"),
        };
        findings.push(decision_note(message, &own_location(root)));
    }
    findings
}

/// The finding about different arguments that Terragrunt passes to `init`.
fn finding_arguments_of_init(directory: &str, is_note: bool, location: Location) -> Diagnostic {
    let message = message_about_arguments_of_init(directory);
    if is_note {
        return decision_note(message, &location);
    }
    let note = "they decide where the state is, or what is installed";
    let help = Help::text("if this is intended, an owner allows it with ");
    Diagnostic::not_decided(Reason::StateMoved, message)
        .at_location(location)
        .note(note)
        .help(help.and(RunOption::Warn(Code::NotDecided)))
}

fn message_about_arguments_of_init(directory: &str) -> String {
    format!("Terragrunt passes other arguments to init in {directory}")
}

/// The finding about a state that is, or may be, in a different store.
fn finding_state_moved(message: String, location: Location) -> Diagnostic {
    let note = "init installs the providers that the state needs, without hashes of the lock file";
    let help = Help::text("if this is intended, an owner allows it with ");
    Diagnostic::not_decided(Reason::StateMoved, message)
        .at_location(location)
        .note(note)
        .help(help.and(RunOption::Warn(Code::NotDecided)))
}

/// Returns a note for each state of a new root module in a store that the base does not use.
fn check_new_storage(root: &AuditedRoot<'_>, base: &Base<'_>) -> Vec<Diagnostic> {
    let mut notes = Vec::new();
    for storage in &root.declared.storages {
        let storages = &base.facts.readings.whole_base().state_storages;
        if storages.iter().any(|known| known.is_in_same_store(storage)) {
            continue;
        }
        let which = match storage.changes_from_nearest(storages) {
            Some(changes) => format!("unlike the nearest one, {}", changes.join(", ")),
            None => storage.changes_from(&StateStorage::default()).join(", "),
        };
        let directory = root.module.path().display();
        let message =
            format!("the state of {directory} is in a store that the base does not use: {which}");
        let location = storage
            .location
            .clone()
            .unwrap_or_else(|| own_location(root));
        notes.push(decision_note(message, &location));
    }
    notes
}

/// The note that root modules were removed with everything in their directories, or are in
/// different directories now.
pub(super) fn removed_roots_note(
    change: &ReviewedChange,
    directory: &Path,
    roots: &BTreeSet<&Path>,
) -> Diagnostic {
    let shown_directory = without_leading_dot(change.shown_path(directory));
    let location = Location::of_file(&shown_directory);
    let mut sentences = Vec::new();
    for root in roots {
        let old = without_leading_dot(change.shown_path(root));
        let old = old.display();
        sentences.push(match new_directory_of(change, root) {
            Some(target) => {
                let new = without_leading_dot(change.shown_path(target));
                format!("the root module in {old} was moved to {}", new.display())
            }
            None => format!("the root module in {old} was removed"),
        });
    }
    if let [only] = &sentences[..] {
        return decision_note(only.clone(), &location);
    }
    let message = format!(
        "{} was removed, with {} root modules",
        shown_directory.display(),
        roots.len()
    );
    let mut note = decision_note(message, &location);
    for sentence in sentences.into_iter().take(MOST_NAMED) {
        note = note.note(sentence);
    }
    note
}

/// The directory of a new lock file that has the bytes of the lock file of a removed directory;
/// `None` if there is no such file.
fn new_directory_of<'a>(change: &'a ReviewedChange, directory: &Path) -> Option<&'a Path> {
    for name in [LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME] {
        let Some(bytes) = change.file_before(&directory.join(name)) else {
            continue;
        };
        for path in change.current_files_named(name) {
            let is_added = change.file_before(path).is_none();
            if is_added && lockfile::read(path).is_ok_and(|now| now.as_deref() == Some(bytes)) {
                return path.parent();
            }
        }
    }
    None
}

/// A note about a decision.
pub(super) fn decision_note(message: String, location: &Location) -> Diagnostic {
    let note = finding_at(Code::DecisionChanged, message, location);
    note.help("make sure that this is intended")
}
