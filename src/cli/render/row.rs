//! An entry before and after: the row of every report, whether text, Markdown or JSON.

use std::collections::BTreeSet;
use std::fmt::Display;

use provlock::lockfile::{
    EntryChange, EntryDiff, EntryKind, LockedModule, ProviderDiff, VersionMove,
};
use provlock::provider::{ConstraintList, Dialect, Hash, HashScheme, Version};
use serde::Serialize;

use super::json::AsText;
use super::style::{Color, Symbol, non_zero_numbers};

/// One provider or module, before and after. Fields that are not for JSON are skipped.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Row<'a> {
    /// The address without default parts of the dialect.
    #[serde(skip)]
    pub(crate) name: String,
    /// The full address of a provider, with the host; or the path of a module's calls.
    pub(crate) address: AsText<&'a dyn Display>,
    #[cfg_attr(test, schemars(with = "crate::cli::render::json::Action"))]
    pub(crate) action: EntryChange,
    pub(crate) version: Change<AsText<&'a Version>>,
    #[serde(skip)]
    pub(crate) version_change: Option<VersionMove>,
    pub(crate) constraints: Change<AsText<&'a ConstraintList>>,
    /// Source of a module in the configuration.
    #[serde(skip)]
    pub(crate) source: Change<&'a str>,
    /// The package of a module.
    #[serde(skip)]
    pub(crate) package: Change<&'a str>,
    pub(crate) hashes: HashChange<'a>,
    #[serde(skip)]
    pub(crate) hash_counts: Change<SchemeCounts>,
    /// Whether hashes replaced others while the version stayed.
    #[serde(skip)]
    pub(crate) hashes_replaced: bool,
    /// Number of replaced `zh:` hashes; `None` also if every hash was replaced, which needs no
    /// number.
    #[serde(skip)]
    zh_replaced: Option<usize>,
    /// Whether the same version in a registry, or the same source with its tag or branch, has a
    /// different package.
    #[serde(skip)]
    pub(crate) package_replaced: bool,
}

/// A value before and after; null without an entry.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "change_of_{T}", deny_unknown_fields)
)]
pub(crate) struct Change<T> {
    pub(crate) old: Option<T>,
    pub(crate) new: Option<T>,
}

/// The added and removed hashes.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "hash_change", deny_unknown_fields)
)]
pub(crate) struct HashChange<'a> {
    #[cfg_attr(
        test,
        schemars(with = "Vec<String>", inner(regex(pattern = "^[^:]+:")))
    )]
    pub(crate) added: BTreeSet<&'a Hash>,
    #[cfg_attr(
        test,
        schemars(with = "Vec<String>", inner(regex(pattern = "^[^:]+:")))
    )]
    pub(crate) removed: BTreeSet<&'a Hash>,
}

/// Number of hashes of each scheme, malformed ones included.
#[derive(Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "hash_counts", deny_unknown_fields)
)]
pub(crate) struct SchemeCounts {
    pub(crate) h1: usize,
    pub(crate) zh: usize,
    pub(crate) other: usize,
}

impl<'a> Row<'a> {
    /// The row of a provider, with its short name in the dialect.
    pub(crate) fn new(provider: &'a ProviderDiff, dialect: Dialect) -> Self {
        let constraints = Change::between(provider, |entry| Some(AsText(&entry.constraints)));
        Self {
            constraints,
            ..Self::with_common_parts(provider, dialect)
        }
    }

    /// The row of a module. Its version is the version in a registry.
    pub(crate) fn of_module(module: &'a EntryDiff<LockedModule>) -> Self {
        Self {
            package_replaced: module.package_replaced(),
            constraints: Change::between(module, |entry| Some(AsText(&entry.constraints))),
            source: Change::between(module, |entry| Some(&*entry.source)),
            package: Change::between(module, |entry| Some(&*entry.package)),
            ..Self::with_common_parts(module, Dialect::default())
        }
    }

    /// The row with the parts that providers and modules have in common. Constraints, source and
    /// package are left to the caller.
    fn with_common_parts<T: EntryKind>(entry: &'a EntryDiff<T>, dialect: Dialect) -> Self {
        // One warning about the replaced hashes is enough.
        let all_replaced = entry.hashes_replaced();
        let zh_replaced = if all_replaced {
            None
        } else {
            entry.zh_replaced()
        };
        Self {
            name: T::name(&entry.address, dialect),
            address: AsText(&entry.address),
            action: entry.change,
            version: Change::between(entry, |entry| entry.version().map(AsText)),
            version_change: entry.version_move(),
            constraints: Change::NONE,
            source: Change::NONE,
            package: Change::NONE,
            package_replaced: false,
            hashes: HashChange {
                added: entry.hashes_added(),
                removed: entry.hashes_removed(),
            },
            hash_counts: Change::between(entry, |entry| Some(SchemeCounts::count(entry.hashes()))),
            hashes_replaced: all_replaced || zh_replaced.is_some(),
            zh_replaced,
        }
    }

    /// Returns a warning if hashes or a package were replaced under the same version: the release
    /// was replaced, or the file was edited. Otherwise `None`.
    pub(crate) fn warning_if_replaced(&self) -> Option<String> {
        if self.package_replaced {
            let kept_part = if self.version.old.is_some() {
                "version"
            } else {
                "source"
            };
            return Some(format!("package replaced under the same {kept_part}"));
        }
        if !self.hashes_replaced {
            return None;
        }
        let hashes = match self.zh_replaced {
            Some(removed) => format!("{removed} zh"),
            None => "hashes".to_owned(),
        };
        Some(format!("{hashes} replaced under the same version"))
    }

    pub(crate) fn keeps_version(&self) -> bool {
        self.version.old == self.version.new
    }

    /// `5.60.0 → 5.82.2`, or the only version.
    pub(crate) fn versions(&self) -> String {
        match (self.version.old, self.version.new) {
            (Some(old), Some(new)) if old != new => format!("{old} → {new}"),
            (old, new) => new
                .or(old)
                .map(|version| version.to_string())
                .unwrap_or_default(),
        }
    }

    /// `h1 2 → 3, zh 15 added, 15 removed`: the changes of the numbers of hashes; for a new entry
    /// their numbers. `None` without changes, and for a removed entry.
    pub(crate) fn hash_changes_in_words(&self) -> Option<String> {
        let (old, new) = match (self.hash_counts.old, self.hash_counts.new) {
            (Some(old), Some(new)) => (old.by_scheme(), new.by_scheme()),
            (None, Some(new)) => return Some(new.to_string()),
            (_, None) => return None,
        };
        let added = SchemeCounts::count(self.hashes.added.iter().copied()).by_scheme();
        let removed = SchemeCounts::count(self.hashes.removed.iter().copied()).by_scheme();
        let mut changes = Vec::new();
        for (index, (before, name)) in old.into_iter().enumerate() {
            let (after, _) = new[index];
            let (added, _) = added[index];
            let (removed, _) = removed[index];
            // Of a new version, all hashes are new.
            if self.keeps_version() && added > 0 && removed > 0 {
                changes.push(format!("{name} {added} added, {removed} removed"));
            } else if before != after {
                changes.push(format!("{name} {before} → {after}"));
            }
        }
        if changes.is_empty() {
            return None;
        }
        Some(changes.join(", "))
    }
}

/// The sign in front of a row of text, with its colour.
pub(crate) fn symbol_of(action: EntryChange) -> Symbol {
    match action {
        EntryChange::Added => ("+", Color::Green),
        EntryChange::Changed => ("~", Color::Yellow),
        EntryChange::Removed => ("-", Color::Red),
        EntryChange::Unchanged => ("=", Color::Dim),
    }
}

impl<T: Copy + PartialEq> Change<T> {
    const NONE: Self = Self {
        old: None,
        new: None,
    };

    fn between<'a, E: EntryKind>(
        entry: &'a EntryDiff<E>,
        value: impl Fn(&'a E) -> Option<T>,
    ) -> Self {
        Self {
            old: entry.old.as_deref().and_then(&value),
            new: entry.new.as_deref().and_then(&value),
        }
    }

    /// Returns the new value if it differs from the old one.
    pub(crate) fn changed(self) -> Option<T> {
        if self.new == self.old { None } else { self.new }
    }
}

impl SchemeCounts {
    pub(crate) fn count<'a>(hashes: impl IntoIterator<Item = &'a Hash>) -> Self {
        let mut counts = Self {
            h1: 0,
            zh: 0,
            other: 0,
        };
        for hash in hashes {
            let count = match hash.scheme() {
                HashScheme::H1 => &mut counts.h1,
                HashScheme::Zh => &mut counts.zh,
                HashScheme::Unknown => &mut counts.other,
            };
            *count += 1;
        }
        counts
    }

    fn by_scheme(self) -> [(usize, &'static str); 3] {
        [(self.h1, "h1"), (self.zh, "zh"), (self.other, "other")]
    }
}

/// `2 h1, 15 zh`
impl std::fmt::Display for SchemeCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = non_zero_numbers(self.by_scheme());
        f.write_str(if counts.is_empty() {
            "no hashes"
        } else {
            &counts
        })
    }
}
