//! Differences between lock files as JSON, in the schema of `docs/output.schema.json`.

use std::collections::BTreeSet;

use provlock::diagnostic::{Code, Diagnostic};
use provlock::hash::Hash;
use provlock::lockfile::{Change, Direction, LockedProvider, ProviderDiff};
use serde_json::{Map, Value, json};

use super::diff::{FileDiff, SCHEMES, counted, replaced, step_name};
use super::json::document;

/// The result of `diff`. Replaced hashes are also among the warnings.
pub(crate) fn render(files: &[FileDiff], mut warnings: Vec<Diagnostic>) -> String {
    warnings.extend(files.iter().flat_map(replaced_hashes));
    document("diff", &files.iter().map(root).collect::<Vec<_>>(), &warnings, &[])
}

fn replaced_hashes(file: &FileDiff) -> impl Iterator<Item = Diagnostic> {
    file.difference.providers.iter().filter_map(|provider| {
        let (what, entry) = (replaced(provider)?, provider.new.as_ref()?);
        let name = format!("{} {}", provider.address.short(file.dialect), entry.version);
        Some(Diagnostic::warning(Code::HashesReplaced, format!("{}: {name}: {what}", file.path.display())))
    })
}

fn root(file: &FileDiff) -> Value {
    let directory = file.path.parent().filter(|parent| !parent.as_os_str().is_empty());
    json!({
        "path": directory.map_or_else(|| ".".into(), |directory| directory.to_string_lossy()),
        "lock_file": file.path.to_string_lossy(),
        "dialect": file.dialect.name(),
        "changed": !file.difference.is_empty(),
        "providers": file.difference.providers.iter().map(provider).collect::<Vec<_>>(),
    })
}

fn provider(provider: &ProviderDiff) -> Value {
    let action = match provider.change {
        Change::Added => "added",
        Change::Changed => "changed",
        Change::Removed => "removed",
        Change::Unchanged => "unchanged",
    };
    let version_change = provider.version_move().map(|moved| {
        let direction = match moved.direction {
            Direction::Upgrade => "upgrade",
            Direction::Downgrade => "downgrade",
        };
        json!({ "direction": direction, "step": step_name(moved.step) })
    });
    let texts = |hashes: BTreeSet<&Hash>| hashes.into_iter().map(Hash::as_str).map(str::to_owned).collect::<Vec<_>>();
    json!({
        "address": provider.address.to_string(),
        "action": action,
        "version": old_and_new(provider, |entry| json!(entry.version.to_string())),
        "version_change": version_change,
        "constraints": old_and_new(provider, |entry| json!(entry.constraints.to_string())),
        "hashes": { "added": texts(provider.hashes_added()), "removed": texts(provider.hashes_removed()) },
        "hash_counts": old_and_new(provider, counts),
        "hashes_replaced": replaced(provider).is_some(),
    })
}

fn old_and_new(provider: &ProviderDiff, value: impl Fn(&LockedProvider) -> Value) -> Value {
    json!({ "old": provider.old.as_ref().map(&value), "new": provider.new.as_ref().map(&value) })
}

fn counts(entry: &LockedProvider) -> Value {
    let count = |(scheme, name): (_, &str)| (name.to_owned(), counted(&entry.hashes, scheme).into());
    Value::Object(SCHEMES.into_iter().map(count).collect::<Map<_, _>>())
}
