//! An entry before and after: the row of every report, whether text, Markdown or JSON.

use std::collections::BTreeSet;

use provlock::lockfile::{EntryChange, EntryDiff, EntryKind, LockedModule, ProviderDiff, VersionMove};
use provlock::provider::{Dialect, Hash, HashScheme};
use serde::Serialize;

use super::style::{Color, Symbol, numbers};

/// One provider or module, before and after. Fields that are not for JSON are skipped.
#[derive(Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row {
    /// The address without default parts of the dialect.
    #[serde(skip)]
    pub(crate) name: String,
    /// The full address of a provider, with the host; or the path of a module's calls.
    pub(crate) address: String,
    #[cfg_attr(test, schemars(with = "crate::cli::render::json::Action"))]
    pub(crate) action: EntryChange,
    pub(crate) version: Change<String>,
    #[serde(skip)]
    pub(crate) version_change: Option<VersionMove>,
    pub(crate) constraints: Change<String>,
    /// Source of a module in the configuration.
    #[serde(skip)]
    pub(crate) source: Change<String>,
    /// The package of a module.
    #[serde(skip)]
    pub(crate) package: Change<String>,
    pub(crate) hashes: HashChange,
    #[serde(skip)]
    pub(crate) hash_counts: Change<HashCounts>,
    /// Whether hashes replaced others while the version stayed.
    #[serde(skip)]
    pub(crate) hashes_replaced: bool,
    /// Text if hashes or a package were replaced under the same version: the release was replaced, or the file was
    /// edited.
    #[serde(skip)]
    pub(crate) replaced: Option<String>,
}

/// A value before and after; null without an entry.
#[derive(Clone, Copy, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "change_of_{T}", deny_unknown_fields))]
pub(crate) struct Change<T> {
    pub(crate) old: Option<T>,
    pub(crate) new: Option<T>,
}

/// The added and removed hashes.
#[derive(Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "hash_change", deny_unknown_fields))]
pub(crate) struct HashChange {
    #[cfg_attr(test, schemars(inner(regex(pattern = "^[^:]+:"))))]
    pub(crate) added: Vec<String>,
    #[cfg_attr(test, schemars(inner(regex(pattern = "^[^:]+:"))))]
    pub(crate) removed: Vec<String>,
    #[serde(skip)]
    pub(crate) added_counts: HashCounts,
    #[serde(skip)]
    pub(crate) removed_counts: HashCounts,
}

/// Number of hashes of each scheme.
#[derive(Clone, Copy, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "hash_counts", deny_unknown_fields))]
pub(crate) struct HashCounts {
    pub(crate) h1: usize,
    pub(crate) zh: usize,
    pub(crate) other: usize,
}

impl Row {
    /// The row of a provider, with its short name in the dialect.
    pub(crate) fn new(provider: &ProviderDiff, dialect: Dialect) -> Self {
        let replaced = hashes_replaced(provider);
        let constraints = Change::of(provider, |entry| Some(entry.constraints.to_string()));
        Self { hashes_replaced: replaced.is_some(), replaced, constraints, ..Self::of(provider, dialect) }
    }

    /// The row of a module. Its version is the version in a registry.
    pub(crate) fn of_module(module: &EntryDiff<LockedModule>) -> Self {
        let (row, hashes) = (Self::of(module, Dialect::default()), hashes_replaced(module));
        Self {
            hashes_replaced: hashes.is_some(),
            replaced: package_replaced(module).or(hashes),
            constraints: Change::of(module, |entry| Some(entry.constraints.to_string())),
            source: Change::of(module, |entry| Some(entry.source.clone())),
            package: Change::of(module, |entry| Some(entry.package.clone())),
            ..row
        }
    }

    fn of<T: EntryKind>(entry: &EntryDiff<T>, dialect: Dialect) -> Self {
        Self {
            name: T::name(&entry.address, dialect),
            address: entry.address.to_string(),
            action: entry.change,
            version: Change::of(entry, |entry| entry.version().map(ToString::to_string)),
            version_change: entry.version_move(),
            constraints: Change::default(),
            source: Change::default(),
            package: Change::default(),
            hashes: HashChange::new(entry),
            hash_counts: Change::of(entry, |entry| Some(HashCounts::of(entry.hashes()))),
            hashes_replaced: false,
            replaced: None,
        }
    }

    pub(crate) fn keeps_version(&self) -> bool {
        self.version.old == self.version.new
    }

    /// `5.60.0 → 5.82.2`, or the only version.
    pub(crate) fn versions(&self) -> String {
        match (&self.version.old, &self.version.new) {
            (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
            (old, new) => new.clone().or_else(|| old.clone()).unwrap_or_default(),
        }
    }

    /// Number of hashes of an entry, or the change of the number; for the same version also its direction.
    pub(crate) fn hash_changes(&self) -> Option<String> {
        let (old, new) = match (self.hash_counts.old, self.hash_counts.new) {
            (Some(old), Some(new)) => (old, new),
            (None, Some(new)) => return Some(new.to_string()),
            (_, None) => return None,
        };
        let (added, removed) = (self.hashes.added_counts.by_scheme(), self.hashes.removed_counts.by_scheme());
        let numbers = old.by_scheme().into_iter().zip(new.by_scheme()).zip(added.into_iter().zip(removed));
        let changes = numbers.filter_map(|(((before, name), (after, _)), ((added, _), (removed, _)))| {
            if self.keeps_version() && added > 0 && removed > 0 {
                Some(format!("{name} {added} added, {removed} removed"))
            } else {
                (before != after).then(|| format!("{name} {before} → {after}"))
            }
        });
        let changes: Vec<_> = changes.collect();
        (!changes.is_empty()).then(|| changes.join(", "))
    }
}

/// The sign in front of a row of text, with its colour.
pub(crate) fn symbol(action: EntryChange) -> Symbol {
    match action {
        EntryChange::Added => ("+", Color::Green),
        EntryChange::Changed => ("~", Color::Yellow),
        EntryChange::Removed => ("-", Color::Red),
        EntryChange::Unchanged => ("=", Color::Dim),
    }
}

impl<T> Change<T> {
    fn of<E: EntryKind>(entry: &EntryDiff<E>, value: impl Fn(&E) -> Option<T>) -> Self {
        Self { old: entry.old.as_deref().and_then(&value), new: entry.new.as_deref().and_then(&value) }
    }
}

impl HashChange {
    fn new<T: EntryKind>(entry: &EntryDiff<T>) -> Self {
        let (added, removed) = (entry.hashes_added(), entry.hashes_removed());
        let texts = |hashes: &BTreeSet<&Hash>| hashes.iter().map(|hash| hash.as_str().to_owned()).collect();
        Self {
            added: texts(&added),
            removed: texts(&removed),
            added_counts: HashCounts::of(added),
            removed_counts: HashCounts::of(removed),
        }
    }
}

impl HashCounts {
    pub(crate) fn of<'a>(hashes: impl IntoIterator<Item = &'a Hash>) -> Self {
        let mut counts = Self::default();
        for hash in hashes {
            match hash.scheme() {
                HashScheme::H1 => counts.h1 += 1,
                HashScheme::Zh => counts.zh += 1,
                HashScheme::Unknown => counts.other += 1,
            }
        }
        counts
    }

    fn by_scheme(self) -> [(usize, &'static str); 3] {
        [(self.h1, "h1"), (self.zh, "zh"), (self.other, "other")]
    }
}

/// `2 h1, 15 zh`
impl std::fmt::Display for HashCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = numbers(self.by_scheme());
        f.write_str(if counts.is_empty() { "no hashes" } else { &counts })
    }
}

fn hashes_replaced<T: EntryKind>(entry: &EntryDiff<T>) -> Option<String> {
    if entry.hashes_replaced() {
        return Some("hashes replaced under the same version".to_owned());
    }
    entry.zh_replaced().map(|removed| format!("{removed} zh replaced under the same version"))
}

/// Whether a version in a registry, or a source with its tag or branch, has a different package now.
fn package_replaced(module: &EntryDiff<LockedModule>) -> Option<String> {
    let what = if module.old.as_ref()?.version.is_some() { "version" } else { "source" };
    module.package_replaced().then(|| format!("package replaced under the same {what}"))
}
