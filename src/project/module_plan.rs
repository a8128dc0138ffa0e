//! The plan for the calls of modules that move.

use std::collections::BTreeMap;

use super::moves::Move;
use crate::configuration::rewrite::ConstraintEdit;
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

/// The plan for the calls of a root module.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModulePlan {
    /// Calls that move or could move.
    pub(crate) moves: Vec<Move>,
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
