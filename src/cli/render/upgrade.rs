//! What `upgrade` says: a table of versions, as those who know `npm outdated` expect it.

use std::collections::BTreeSet;

use provlock::diagnostic::Location;
use provlock::dialect::Dialect;
use provlock::ops::{PlannedUpgrade, Reason, UpgradePlan};
use provlock::requirements::Declaration;

use super::lock::root_modules;
use super::style::count;

/// Every provider with its versions. A cell that would repeat the locked version is empty.
pub(crate) fn table(plan: &UpgradePlan, dialect: Dialect) -> String {
    let header = ["provider", "locked", "allowed", "newest", "held back by"].map(str::to_owned);
    let rows: Vec<[String; 5]> =
        std::iter::once(header).chain(plan.providers.iter().flat_map(|planned| rows(planned, dialect))).collect();
    let widths: [usize; 5] =
        std::array::from_fn(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0));
    let line = |row: &[String; 5]| {
        let cells: Vec<_> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("   ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// A provider's rows: one, and one more for each further declaration that holds it back.
fn rows(planned: &PlannedUpgrade, dialect: Dialect) -> Vec<[String; 5]> {
    let mut reasons: Vec<String> = planned.held_back_by.iter().map(reason).collect();
    if reasons.is_empty() && planned.is_held_back() {
        let reason = match planned.skipped {
            Some(Reason::TooYoung) => Some("its age"),
            Some(Reason::Incomplete) => Some("packages that are not in the cache"),
            None => planned.newest.is_prerelease().then_some("a prerelease must be named exactly"),
        };
        reasons.extend(reason.map(str::to_owned));
    }
    let allowed = if planned.moves() { planned.allowed.to_string() } else { String::new() };
    let locked = planned.locked.as_ref().map(ToString::to_string).unwrap_or_default();
    let mut reasons = reasons.into_iter();
    let first = [
        planned.address.short(dialect),
        locked,
        allowed,
        planned.newest.to_string(),
        reasons.next().unwrap_or_default(),
    ];
    let more = reasons.map(|reason| [String::new(), String::new(), String::new(), String::new(), reason]);
    std::iter::once(first).chain(more).collect()
}

/// `versions.tf:6  ~> 5.0`
fn reason(declaration: &Declaration) -> String {
    let place = declaration.version.as_ref().unwrap_or(&declaration.location);
    format!("{}  {}", shown(place), declaration.constraints)
}

fn shown(place: &Location) -> String {
    format!("{}:{}", place.path().display(), place.line_column().0)
}

/// How many providers can move, and how many are held back; then what would be pruned.
pub(crate) fn summary(plan: &UpgradePlan) -> Vec<String> {
    let moving = plan.providers.iter().filter(|planned| planned.moves()).count();
    let held_back = plan.providers.iter().filter(|planned| planned.is_held_back()).count();
    let verb = match moving {
        _ if !plan.edits.is_empty() => "with new constraints",
        1 => "within its constraints",
        _ => "within their constraints",
    };
    let first = match (moving, held_back) {
        (0, 0) => format!("Up to date: {}", count(plan.providers.len(), "provider")),
        (moving, 0) => format!("{} can move {verb}", count(moving, "provider")),
        (moving, held_back) => format!("{} can move {verb}; {held_back} held back", count(moving, "provider")),
    };
    let pruned = match plan.pruned.len() {
        0 => None,
        1 => Some("1 entry is not required and would be removed".to_owned()),
        number => Some(format!("{number} entries are not required and would be removed")),
    };
    std::iter::once(first).chain(pruned).collect()
}

/// `3 root modules: 2 can move, 1 up to date`
pub(crate) fn summary_of_many(plans: &[&UpgradePlan], failed: usize) -> String {
    let moving = plans.iter().filter(|plan| plan.moves()).count();
    root_modules([(moving, "can move"), (plans.len() - moving, "up to date")], failed)
}

/// The constraints that were rewritten.
pub(crate) fn edits(plan: &UpgradePlan) -> impl Iterator<Item = String> {
    plan.edits.iter().map(|edit| {
        let old = edit.location.file.text.get(edit.location.span.clone()).unwrap_or_default();
        format!("  ~ {}   {old} → {}", shown(&edit.location), edit.new)
    })
}

/// That more would be possible, if it would.
pub(crate) fn held_back(plans: &[&UpgradePlan], recursive: bool) -> Option<String> {
    let outlooks = plans.iter().flat_map(|plan| &plan.providers);
    let held_back: BTreeSet<_> =
        outlooks.filter(|planned| planned.is_held_back()).map(|planned| &planned.address).collect();
    let flag = if recursive { " --recursive" } else { "" };
    let number = (!held_back.is_empty()).then(|| count(held_back.len(), "provider"))?;
    Some(format!("{number} held back from the newest version; see: provlock upgrade{flag} --dry-run"))
}
