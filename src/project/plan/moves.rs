//! Moves: versions that the providers and modules of a root module move to, and reasons that hold
//! them back.

use super::{SkipReason, UnconfirmedHashes};
use crate::configuration::rewrite::ConstraintEdit;
use crate::diagnostic::{Diagnostic, Location};
use crate::packages::ReleaseInfo;
use crate::provider::{ProviderAddress, Version};

/// Plan of an upgrade of one root module.
#[derive(Clone, Debug, Default)]
pub struct UpgradePlan {
    /// Providers in the order of their addresses, then calls of modules.
    pub moves: Vec<Move>,
    /// Edits of version constraints and of module sources.
    pub edits: Vec<ConstraintEdit>,
    /// Entries to remove because the configuration does not require them.
    pub pruned: Vec<ProviderAddress>,
    /// Providers that stay, and whose entries contain no hash that OpenTofu and Terraform compare.
    pub without_hashes: Vec<ProviderAddress>,
    /// Warnings for the user.
    pub warnings: Vec<Diagnostic>,
    /// Numbers of hashes of unchanged entries that differ from the published release, or may do so,
    /// if they were compared.
    pub counts: UnconfirmedHashes,
}

/// A provider or a module that was looked at, with its versions.
#[derive(Clone, Debug)]
pub struct Move {
    /// The provider or the module.
    pub subject: Subject,
    /// Version in the lock file; `None` without an entry.
    pub locked: Option<VersionLabel>,
    /// Selected version: the newest that the constraints, after any edits, the policy and the
    /// minimum age allow.
    pub selected: VersionLabel,
    /// Newest version of all.
    pub newest: VersionLabel,
    /// Whether the user named the selected version.
    pub is_named: bool,
    /// Constraints that do not allow the newest version, unless the user named a version.
    pub held_back_by: Vec<HoldingConstraint>,
    /// Reason for which newer versions that the constraints allow were skipped, if any were.
    pub skipped: Option<SkipReason>,
    /// Whether the locked version stays because only the state needs the provider.
    pub stays_for_state: bool,
    /// Dates and links of its releases, if its version changes and they were requested.
    pub releases: ReleaseInfo,
}

/// Subject of a move.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// A provider.
    Provider(ProviderAddress),
    /// The module of calls.
    Module {
        /// Path of the calls, such as `network.endpoints`.
        key: String,
        /// Source, as a lock file records it.
        source: String,
    },
}

/// A version. Modules in git have tags, or the beginnings of commit ids where the call names no
/// tag.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VersionLabel {
    /// The version, if the text is one.
    pub version: Option<Version>,
    /// The text that is shown.
    pub text: String,
}

/// A constraint, or the `ref` of a source, that does not allow the newest version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldingConstraint {
    /// Its text.
    pub text: String,
    /// Its location.
    pub location: Location,
    /// Whether it is in the user's own configuration, so that it can be rewritten.
    pub is_rewritable: bool,
}

impl Move {
    /// Whether the version would change, or be the first one.
    pub fn moves(&self) -> bool {
        self.locked.as_ref() != Some(&self.selected)
    }

    /// Whether there is a newer version than the selected one, and the user named none.
    pub fn is_held_back(&self) -> bool {
        let is_older = match (&self.selected.version, &self.newest.version) {
            (Some(selected), Some(newest)) => selected < newest,
            _ => self.selected != self.newest,
        };
        !self.is_named && is_older
    }

    /// Whether the selected version is older than the locked one.
    pub fn is_downgrade(&self) -> bool {
        match (&self.locked, &self.selected.version) {
            (
                Some(VersionLabel {
                    version: Some(locked),
                    ..
                }),
                Some(selected),
            ) => selected < locked,
            _ => false,
        }
    }

    /// Whether the subject is a module.
    pub fn is_of_module(&self) -> bool {
        matches!(self.subject, Subject::Module { .. })
    }
}

impl From<&Version> for VersionLabel {
    fn from(version: &Version) -> Self {
        Self {
            version: Some(version.clone()),
            text: version.to_string(),
        }
    }
}

impl VersionLabel {
    /// A version, tag or commit of a module.
    pub(in crate::project) fn of_module(text: &str) -> Self {
        Self {
            version: text.strip_prefix('v').unwrap_or(text).parse().ok(),
            text: text.to_owned(),
        }
    }
}

impl UpgradePlan {
    /// Whether there is anything to do.
    pub fn has_changes(&self) -> bool {
        let changes_entries = !self.pruned.is_empty() || !self.without_hashes.is_empty();
        self.moves.iter().any(Move::moves) || !self.edits.is_empty() || changes_entries
    }

    /// Moves of providers.
    pub fn providers(&self) -> impl Iterator<Item = &Move> {
        self.moves.iter().filter(|one| !one.is_of_module())
    }

    /// Moves of modules.
    pub fn modules(&self) -> impl Iterator<Item = &Move> {
        self.moves.iter().filter(|one| one.is_of_module())
    }
}
