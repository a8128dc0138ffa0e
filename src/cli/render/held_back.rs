//! Lines of `upgrade` about providers and modules that are held back from their newest version.

use std::collections::BTreeSet;

use provlock::configuration::Declaration;
use provlock::lockfile::{Locked as _, LockedModule};
use provlock::project::plan::UpgradePlan;

use super::style::count;

/// How the names of modules begin. Those of providers have slashes.
const MODULE: &str = "module.";

/// The providers and modules of which there is a newer version than the one that is chosen.
pub(crate) fn held_back(plan: &UpgradePlan) -> impl Iterator<Item = String> {
    let providers = plan.providers.iter().filter(|planned| planned.is_held_back());
    let modules = plan.modules.iter().filter(|planned| planned.is_held_back());
    let providers = providers.map(|planned| planned.address.to_string());
    providers.chain(modules.map(|planned| LockedModule::label_name(&planned.key).into_owned()))
}

/// The providers and modules that are held back by constraints which may all be rewritten: they are the user's own.
pub(crate) fn constrained(plan: &UpgradePlan) -> impl Iterator<Item = String> {
    let is_own = |held_back_by: &[Declaration]| {
        !held_back_by.is_empty() && held_back_by.iter().all(|declaration| declaration.local)
    };
    let providers =
        plan.providers.iter().filter(move |planned| planned.is_held_back() && is_own(&planned.held_back_by));
    let modules = plan.modules.iter().filter(|planned| planned.is_held_back() && planned.held_back_by.is_some());
    let providers = providers.map(|planned| planned.address.to_string());
    providers.chain(modules.map(|planned| LockedModule::label_name(&planned.key).into_owned()))
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
