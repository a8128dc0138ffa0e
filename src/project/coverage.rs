//! Numbers of checked and unchecked directories, by reason.

use std::collections::BTreeMap;

use crate::diagnostic::Location;

/// Numbers of directories by status. Each root module is counted once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    numbers: BTreeMap<(DirectoryKind, RootStatus), usize>,
    /// The lines of ignore files by which git ignores lock files that are missing.
    ignore_rules: Vec<(DirectoryKind, Location)>,
}

/// Kind of directory that has, or should have, a lock file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DirectoryKind {
    /// A root module.
    #[default]
    RootModule,
    /// A Terragrunt unit.
    Unit,
    /// A lock file in a directory that is not a root module, checked if a change is under review.
    OtherLockFile,
    /// A module whose configuration a change touches and that no root module calls.
    ChangedModule,
}

/// Result of checking a root module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RootStatus {
    /// It has errors.
    Errors,
    /// It has warnings and no errors.
    Warnings,
    /// It has no findings, but not everything could be checked.
    PartlyChecked,
    /// Its lock file was checked and has no findings.
    Ok,
    /// It has no lock file and needs none.
    NotLocked,
    /// It has no lock file, and git ignores such a file.
    Ignored,
    /// It has no lock file, and needs none.
    NeedsNone,
    /// The settings exclude it.
    Excluded,
    /// It could not be checked.
    Failed,
}

impl DirectoryKind {
    /// All kinds, in the order in which they are shown.
    pub const ALL: [Self; 4] = [
        Self::RootModule,
        Self::Unit,
        Self::OtherLockFile,
        Self::ChangedModule,
    ];
}

impl Coverage {
    /// Counts a directory. `rule` is the line by which git ignores its lock file.
    pub(super) fn add(&mut self, kind: DirectoryKind, status: RootStatus, rule: Option<&Location>) {
        *self.numbers.entry((kind, status)).or_default() += 1;
        if status == RootStatus::Ignored
            && let Some(rule) = rule
        {
            let of_kind = (kind, rule.clone());
            if !self.ignore_rules.contains(&of_kind) {
                self.ignore_rules.push(of_kind);
            }
        }
    }

    /// Notes that git ignores the lock file of a directory that was counted as without one.
    pub(super) fn note_ignored(&mut self, kind: DirectoryKind, rule: &Location) {
        let not_locked = self.numbers.get_mut(&(kind, RootStatus::NotLocked));
        if let Some(number) = not_locked
            && *number > 0
        {
            *number -= 1;
            self.add(kind, RootStatus::Ignored, Some(rule));
        }
    }

    /// Number of directories of a kind with a status.
    pub fn number(&self, kind: DirectoryKind, status: RootStatus) -> usize {
        self.numbers
            .get(&(kind, status))
            .copied()
            .unwrap_or_default()
    }

    /// Number of directories of a kind.
    pub fn total(&self, kind: DirectoryKind) -> usize {
        self.numbers
            .iter()
            .filter(|((of, _), _)| *of == kind)
            .map(|(_, number)| number)
            .sum()
    }

    /// The lines of ignore files by which git ignores the missing lock files of a kind, each once.
    pub fn ignore_rules(&self, kind: DirectoryKind) -> impl Iterator<Item = &Location> {
        self.ignore_rules
            .iter()
            .filter(move |(of, _)| *of == kind)
            .map(|(_, rule)| rule)
    }

    /// Number of all directories.
    pub fn len(&self) -> usize {
        self.numbers.values().sum()
    }

    /// Whether no directory was counted.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}
