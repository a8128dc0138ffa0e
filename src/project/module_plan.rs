//! The plan for the calls of modules that move.

use std::collections::BTreeMap;

use crate::configuration::rewrite::ConstraintEdit;
use crate::diagnostic::Location;
use crate::packages::DemandedAge;

/// Which calls of modules move, and how far.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModuleUpgrades {
    /// Calls by path, some with the version or tag that the user named.
    pub(crate) calls: BTreeMap<String, Option<String>>,
    /// Whether all other calls are to move, too.
    pub(crate) takes_all: bool,
    /// Whether constraints and `ref` are rewritten.
    pub(crate) rewrites: bool,
    /// Whether prereleases may be the newest version.
    pub(crate) prereleases: bool,
    /// Minimum age of a version.
    pub(crate) age: Option<DemandedAge>,
}

impl ModuleUpgrades {
    /// Whether a call is to move.
    pub(crate) fn selects(&self, key: &str) -> bool {
        self.takes_all || self.calls.contains_key(key)
    }

    /// The version or tag that the user named for a call.
    pub(super) fn named(&self, key: &str) -> Option<&str> {
        self.calls.get(key)?.as_deref()
    }
}

/// The versions of the module of a call. In git these are tags, or the beginnings of commit ids where the call names
/// no tag.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedModule {
    /// The path of the calls, such as `network.endpoints`.
    pub key: String,
    /// The source, as a lock file has it.
    pub source: String,
    /// The version that is locked; none if the call is not locked.
    pub locked: Option<String>,
    /// The version that is chosen: the newest that the configuration, after any edits, and the demanded age allow.
    pub allowed: String,
    /// The newest version there is.
    pub newest: String,
    /// Whether the user named the version that is chosen.
    pub is_named: bool,
    /// The constraint or `ref` that does not allow the newest version: its location and its text.
    pub held_back_by: Option<(Location, String)>,
    /// Whether newer versions were skipped for their age.
    pub is_too_young: bool,
}

impl PlannedModule {
    /// Whether the call would get another version, or its first.
    pub fn moves(&self) -> bool {
        self.locked.as_ref() != Some(&self.allowed)
    }

    /// Whether there is a newer version than the chosen one, unless the user named that.
    pub fn is_held_back(&self) -> bool {
        !self.is_named && self.allowed != self.newest
    }
}

/// The plan for the calls of a root module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ModulePlan {
    /// Versions of the calls that move or could move.
    pub(crate) modules: Vec<PlannedModule>,
    /// The sources and constraints that are to be rewritten.
    pub(crate) edits: Vec<ConstraintEdit>,
}

impl ModulePlan {
    /// Adds an edit, unless another call of the same module needs it, too.
    pub(super) fn add_edit(&mut self, edit: ConstraintEdit) {
        if !self.edits.contains(&edit) {
            self.edits.push(edit);
        }
    }
}
