//! Lines of `upgrade` about providers and modules that are held back from their newest version.

use std::collections::BTreeSet;

use provlock::lockfile::{Locked as _, LockedModule};
use provlock::project::{Move, Subject, UpgradePlan};

use super::style::count;

/// How the names of modules begin. Those of providers have slashes.
const MODULE: &str = "module.";

/// Full addresses of the providers, and names of the modules, that are held back.
pub(crate) fn held_back(plan: &UpgradePlan) -> impl Iterator<Item = String> {
    plan.moves.iter().filter(|planned| planned.is_held_back()).map(name)
}

/// Providers and modules that are held back only by constraints that can be rewritten.
pub(crate) fn constrained(plan: &UpgradePlan) -> impl Iterator<Item = String> {
    let is_constrained = |planned: &&Move| {
        let holding = &planned.held_back_by;
        planned.is_held_back() && !holding.is_empty() && holding.iter().all(|constraint| constraint.is_own)
    };
    plan.moves.iter().filter(is_constrained).map(name)
}

fn name(planned: &Move) -> String {
    match &planned.subject {
        Subject::Provider(address) => address.to_string(),
        Subject::Module { key, .. } => LockedModule::label_name(key).into_owned(),
    }
}

/// Suggests `--constraints` if constraints hold something back.
pub(crate) fn constraints_can_change(constrained: &BTreeSet<String>, recursive: bool) -> Option<String> {
    let (what, flags) = held_back_and_flags(constrained, recursive)?;
    Some(format!("Constraints hold back {what}; to change them, too: provlock upgrade{flags} --constraints"))
}

/// Suggests `upgrade --check` if something is held back.
pub(crate) fn more_is_possible(held_back: &BTreeSet<String>, recursive: bool) -> Option<String> {
    let (what, flags) = held_back_and_flags(held_back, recursive)?;
    Some(format!("{what} held back from the newest version; see: provlock upgrade{flags} --check"))
}

/// `2 providers and 1 module`, and the flags of `upgrade` that select these; `None` if there are none.
fn held_back_and_flags(held_back: &BTreeSet<String>, recursive: bool) -> Option<(String, String)> {
    let modules = held_back.iter().filter(|name| name.starts_with(MODULE)).count();
    let (flag, with_modules) =
        (if recursive { " --recursive" } else { "" }, if modules > 0 { " --modules" } else { "" });
    let what = match (held_back.len() - modules, modules) {
        (0, 0) => return None,
        (providers, 0) => count(providers, "provider"),
        (0, modules) => count(modules, "module"),
        (providers, modules) => format!("{} and {}", count(providers, "provider"), count(modules, "module")),
    };
    Some((what, format!("{flag}{with_modules}")))
}
