//! One content for every file that several root modules share, whose constraints are rewritten for each of them.
//!
//! Of several edits of one constraint, that for the newest version counts, for every root module that reads the
//! constraint. It must allow the version that was chosen for each of them; otherwise none of them can go on, because to
//! write the edit would break those whose version it does not allow.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::upgrade::UpgradePlan;
use crate::configuration::rewrite::ConstraintEdit;
use crate::diagnostic::{Code, Diagnostic, Help, Location, UpgradeRemedy};
use crate::provider::{ConstraintList, ProviderAddress, Version};
use crate::system::files::canonical_or_given;

/// A constraint that cannot be rewritten for all root modules that share it.
pub(crate) struct ConstraintConflict {
    /// The root modules that read it, as indices of what was given.
    pub roots: Vec<usize>,
    /// What to tell the user.
    pub error: Diagnostic,
}

/// Where a constraint's text starts, in a file whose path has no symlinks.
type Position = (PathBuf, usize);

/// The canonical paths of files, each looked up once.
#[derive(Default)]
struct CanonicalPaths(BTreeMap<PathBuf, PathBuf>);

/// An edit with the provider's version that it is for and the root module that wants it.
struct RequiredConstraint {
    address: ProviderAddress,
    version: Version,
    edit: ConstraintEdit,
    root: usize,
}

/// A constraint that an edit changes, as one root module reads it.
struct Reading {
    root: usize,
    place: Position,
    /// The version that was chosen, if the edit does not allow it.
    excluded: Option<Version>,
}

/// Makes the plans of root modules, each with the module's path, agree on the constraints that they share. What is
/// returned must not be carried out.
pub(crate) fn agree(plans: &mut [(&Path, &mut UpgradePlan)]) -> Vec<ConstraintConflict> {
    let mut paths = CanonicalPaths::default();
    let required = newest_edits(plans, &mut paths);
    if required.is_empty() {
        return Vec::new();
    }
    let mut readings: BTreeMap<Position, Vec<Reading>> = BTreeMap::new();
    for (root, (_, plan)) in plans.iter_mut().enumerate() {
        for reading in adopt(plan, root, &required, &mut paths) {
            readings.entry(reading.place.clone()).or_default().push(reading);
        }
    }
    let disagreed = readings.iter().filter(|(_, list)| list.iter().any(|reading| reading.excluded.is_some()));
    disagreed.map(|(place, list)| conflict(&required[place], list, plans)).collect()
}

/// For every constraint that is to be rewritten, the edit that counts.
fn newest_edits(
    plans: &[(&Path, &mut UpgradePlan)],
    paths: &mut CanonicalPaths,
) -> BTreeMap<Position, RequiredConstraint> {
    let mut required: BTreeMap<Position, RequiredConstraint> = BTreeMap::new();
    for (root, (_, plan)) in plans.iter().enumerate().filter(|(_, (_, plan))| !plan.edits.is_empty()) {
        let edits: BTreeMap<(&Path, usize), &ConstraintEdit> =
            plan.edits.iter().map(|edit| ((edit.location.path(), edit.location.span.start), edit)).collect();
        for (address, requirement) in &plan.requirements.providers {
            let Some(version) = plan.versions.get(address) else { continue };
            for location in requirement.declarations.iter().filter_map(|declaration| declaration.version.as_ref()) {
                let Some(edit) = edits.get(&(location.path(), location.span.start + 1)) else { continue };
                let place = paths.place(location);
                if required.get(&place).is_none_or(|other| other.version < *version) {
                    let (address, version, edit) = (address.clone(), version.clone(), (*edit).clone());
                    required.insert(place, RequiredConstraint { address, version, edit, root });
                }
            }
        }
    }
    required
}

/// Takes over the edits that count into a plan.
fn adopt(
    plan: &mut UpgradePlan,
    root: usize,
    required: &BTreeMap<Position, RequiredConstraint>,
    paths: &mut CanonicalPaths,
) -> Vec<Reading> {
    let mut readings = Vec::new();
    let mut edits = Vec::new();
    for (address, requirement) in &mut plan.requirements.providers {
        let chosen = plan.versions.get(address);
        let mut is_changed = false;
        for declaration in &mut requirement.declarations {
            let Some(location) = &declaration.version else { continue };
            let place = paths.place(location);
            let Some(RequiredConstraint { edit, .. }) = required.get(&place) else { continue };
            // Otherwise the file changed between two readings, which is found when it is to be written.
            if location.file.text != edit.location.file.text {
                continue;
            }
            let Ok(constraints) = edit.new.parse::<ConstraintList>() else { continue };
            let excludes = |version: &&Version| !constraints.terms().iter().all(|term| term.compares(version));
            readings.push(Reading { root, place, excluded: chosen.filter(excludes).cloned() });
            let location = Location::new(&location.file, location.span.start + 1..location.span.end - 1);
            edits.push(ConstraintEdit { location, new: edit.new.clone() });
            declaration.constraints = constraints;
            is_changed = true;
        }
        if is_changed {
            let lists = requirement.declarations.iter().map(|declaration| &declaration.constraints);
            requirement.constraints = ConstraintList::merge(lists);
        }
    }
    plan.edits = edits;
    readings
}

fn conflict(
    required: &RequiredConstraint,
    readings: &[Reading],
    plans: &[(&Path, &mut UpgradePlan)],
) -> ConstraintConflict {
    let RequiredConstraint { address, version, edit, root } = required;
    let name = |root: usize| plans[root].0.display();
    let old = edit.location.file.text.get(edit.location.span.clone()).unwrap_or_default();
    let message = format!("the constraint {old} cannot be rewritten for all root modules that share it");
    let error = Diagnostic::error(Code::VersionOutsideConstraints, message).at(edit.location.clone(), "");
    let error = error.note(format!("{} should get {version}, which needs {}", name(*root), edit.new));
    let excluded = readings.iter().filter_map(|reading| Some((reading.root, reading.excluded.as_ref()?)));
    let excluded: BTreeSet<_> = excluded.collect();
    let note = |error: Diagnostic, (root, version): &(usize, &Version)| {
        error.note(format!("{} can get {version} at most, which that does not allow", name(*root)))
    };
    let error = excluded.iter().fold(error, note);
    let common = excluded.iter().map(|(_, version)| *version).min().unwrap_or(version);
    let name = address.short(plans[*root].1.dialect);
    let providers = vec![format!("{name}@{common}")];
    let upgrade = UpgradeRemedy { providers, recursive: true, constraints: true, ..UpgradeRemedy::default() };
    let help = Help::text("change what holds it back there, or keep all of them at an older version: ").and(upgrade);
    let roots: BTreeSet<usize> = readings.iter().map(|reading| reading.root).collect();
    ConstraintConflict { roots: roots.into_iter().collect(), error: error.help(help) }
}

impl CanonicalPaths {
    /// The place of a version string's text, given the place of the string with its quotes.
    fn place(&mut self, location: &Location) -> Position {
        let path = location.path();
        let canonical = self.0.entry(path.to_owned());
        let canonical = canonical.or_insert_with(|| canonical_or_given(path));
        (canonical.clone(), location.span.start + 1)
    }
}

#[cfg(test)]
mod tests;
