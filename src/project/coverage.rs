//! What a run looked at, and what it did not look at and why.

use std::collections::BTreeMap;

use crate::diagnostic::Location;

/// What became of everything that a run found: each root module is counted once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    numbers: BTreeMap<(Kind, Fate), usize>,
    /// The lines of ignore files by which git ignores lock files that are missing.
    ignore_rules: Vec<(Kind, Location)>,
}

/// What has a lock file, or should have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A root module.
    RootModule,
    /// A unit of Terragrunt's.
    Unit,
    /// A lock file in a directory that is not a root module. A change is judged by it, too.
    OtherLockFile,
    /// A module whose configuration a change touches, and that no root module calls.
    ChangedModule,
}

/// What became of a root module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fate {
    /// It has errors.
    Errors,
    /// It has warnings and no errors.
    Warnings,
    /// Nothing was found, but not everything could be checked.
    PartlyChecked,
    /// Its lock file was compared, and nothing was found.
    Ok,
    /// It has no lock file, and nothing says that it must have one.
    NotLocked,
    /// It has no lock file, and git would ignore it.
    Ignored,
    /// It has no lock file, and needs none.
    NeedsNone,
    /// The settings exclude it.
    Excluded,
    /// It could not be checked.
    Failed,
}

impl Kind {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::RootModule, Self::Unit, Self::OtherLockFile, Self::ChangedModule];
}

impl Coverage {
    pub(super) fn add(&mut self, kind: Kind, fate: Fate) {
        *self.numbers.entry((kind, fate)).or_default() += 1;
    }

    pub(super) fn add_ignored(&mut self, kind: Kind, rule: &Location) {
        self.add(kind, Fate::Ignored);
        let rule = (kind, rule.clone());
        if !self.ignore_rules.contains(&rule) {
            self.ignore_rules.push(rule);
        }
    }

    /// Notes that git ignores the lock file of something that was counted as without one.
    pub(super) fn note_ignored(&mut self, kind: Kind, rule: &Location) {
        if let Some(number) = self.numbers.get_mut(&(kind, Fate::NotLocked)).filter(|number| **number > 0) {
            *number -= 1;
            self.add_ignored(kind, rule);
        }
    }

    /// How many of a kind had this fate.
    pub fn number(&self, kind: Kind, fate: Fate) -> usize {
        self.numbers.get(&(kind, fate)).copied().unwrap_or_default()
    }

    /// How many of a kind there are.
    pub fn total(&self, kind: Kind) -> usize {
        self.numbers.iter().filter(|((of, _), _)| *of == kind).map(|(_, number)| number).sum()
    }

    /// The lines of ignore files by which git ignores the missing lock files of a kind, each once.
    pub fn ignore_rules(&self, kind: Kind) -> impl Iterator<Item = &Location> {
        self.ignore_rules.iter().filter(move |(of, _)| *of == kind).map(|(_, rule)| rule)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.numbers.values().sum()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}
