//! Requirements that a change makes unknown: parts that the head does not read, and the base reads
//! or does not read in the same way.
//!
//! Code: `not-decided`.

use std::collections::BTreeSet;

use super::affected::may_be_affected;
use super::audited_root::{AuditedRoot, VerifiedRoot};
use super::base::{BaseFacts, alters_code};
use super::readings::RequirementsBefore;
use super::requests;
use crate::configuration::terragrunt::FILE_NAMES;
use crate::configuration::{self, StateKnowledge, UnknownCall};
use crate::diagnostic::{Code, Diagnostic, Location, Reason};
use crate::hcl::evaluate::references::depends_on_names;
use crate::lockfile::{UNIT_ADDRESS, module_name};
use crate::project::root_module::unit::TerragruntUnit;
use crate::system::canonicalize;

/// Number of unreadable locations that the finding shows.
const UNKNOWN_SHOWN: usize = 3;

/// Adds the findings about requirements that the change makes unknown.
pub(super) fn check_unknown_requirements(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let Some(base) = &root.base else {
        return;
    };
    let facts = base.facts;
    let declared = &root.declared;
    let has_suspicion = !declared.unknown_calls.is_empty() || !declared.variable_calls.is_empty();
    if has_suspicion && may_be_affected(root, facts) {
        let before = base.requirements_before(root.module);
        report_unknown(root, facts, &before, report);
        report_inputs(root, facts, &before, report);
    }
    if let StateKnowledge::Unreadable(reason) = &declared.state
        && !base.requirements_before(root.module).has_unreadable_state
    {
        report.findings.push(finding_unreadable_state(root, reason));
    }
    report_stack(root, facts, report);
}

/// The finding about a state file that cannot be read, and that the base reads or does not have.
fn finding_unreadable_state(root: &AuditedRoot<'_>, reason: &str) -> Diagnostic {
    let message = format!("this change makes the state unknown: {reason}");
    Diagnostic::not_decided(Reason::FileNotRead, message)
        .at_location(Location::of_file(&root.module.lock_path))
        .note("init installs the providers that the state needs, without hashes unless they are locked")
        .help("make sure that the lock file has the providers of the state")
}

/// Adds the finding about calls, and parts of units, that cannot be read, if the base does not have
/// them, or if they depend on something that the change alters.
fn report_unknown(
    root: &AuditedRoot<'_>,
    facts: &BaseFacts<'_>,
    before: &RequirementsBefore,
    report: &mut VerifiedRoot,
) {
    let are_values_altered = facts.may_alter_values(root.module);
    let units = &root.module.units;
    let are_units_altered = units.iter().any(|unit| is_source_altered(unit, facts))
        || are_read_through_altered_links(units, facts, before);
    let mut new_or_altered = Vec::new();
    let is_stopped_unit = !units.is_empty()
        && units
            .iter()
            .all(|unit| stops_at_removed_include(unit, facts));
    let refused = requests::refused_calls(root);
    for call in &root.declared.unknown_calls {
        // A call of a host that may not be requested has a finding of its own.
        if refused.iter().any(|(refused, _)| refused.key == call.key) {
            continue;
        }
        let is_of_unit = call.key == UNIT_ADDRESS;
        if is_of_unit && (is_stopped_unit || is_of_missing_include(&call.location, units)) {
            continue;
        }
        let is_altered = facts.may_alter_reads(&call.origin.files, units)
            || (call.origin.input.is_some() && are_values_altered)
            || (is_of_unit && are_units_altered);
        // The directory may be missing only because of the change: behind a link that it alters, or
        // because it has emptied the directory.
        let is_emptied = match &call.directory {
            Some(directory) => {
                let is_elsewhere = !before.missing_directories.contains(directory);
                let has_altered_links = !facts.change.altered_links.is_empty();
                (has_altered_links && is_elsewhere) || facts.change.may_have_emptied(directory)
            }
            None => false,
        };
        let is_known = before.has_call(call)
            || is_elsewhere_in_base(root, facts, before, call)
            || is_of_own_history(root, facts, call);
        if !is_known || is_altered || is_emptied {
            new_or_altered.push(&call.location);
        }
    }
    let Some(mut finding) = finding_made_unknown(&new_or_altered) else {
        return;
    };
    // The warning about a module that is not installed says why it cannot be read.
    for label in &finding.labels {
        for warning in &report.findings {
            let is_of_call = warning.code == Code::ModuleNotInstalled
                && warning.labels.len() == 1
                && warning.labels[0].location == label.location;
            if is_of_call {
                finding.notes.push(warning.message.clone());
                finding.notes.extend(warning.notes.clone());
            }
        }
    }
    report.findings.push(finding);
}

impl RequirementsBefore {
    /// Whether the base has the same call, which could or could not be read there.
    fn has_call(&self, unknown: &UnknownCall) -> bool {
        let id = unknown.id();
        self.unknown_calls.contains(&id) || self.package_calls.contains(&id)
    }
}

/// Whether the change leads a link elsewhere, so that the units read other files than at the base.
fn are_read_through_altered_links(
    units: &[TerragruntUnit],
    facts: &BaseFacts<'_>,
    before: &RequirementsBefore,
) -> bool {
    let mut now = BTreeSet::new();
    for unit in units {
        now.extend(unit.read.files.iter().cloned());
    }
    !facts.change.altered_links.is_empty() && before.exists && now != before.unit_files
}

/// Whether the change removes a file that a unit includes, and alters nothing else of the unit. The
/// next run of Terragrunt stops there, so that nothing is installed.
fn stops_at_removed_include(unit: &TerragruntUnit, facts: &BaseFacts<'_>) -> bool {
    let change = facts.change;
    // The file may be there after all: where file systems ignore case, or in a submodule that is
    // not checked out here.
    !unit.read.refused_includes.is_empty()
        && unit.read.files.is_disjoint(&change.differing)
        && !change.renames_in_case()
        && change.altered_submodules().is_empty()
}

/// Whether a part of a unit is only unknown because the directories above have no file with the
/// name that it includes. Terragrunt refuses the unit, unless the file is above the repository; a
/// change that adds the file later is compared with its base.
fn is_of_missing_include(location: &Location, units: &[TerragruntUnit]) -> bool {
    let mut includes = units.iter().flat_map(|unit| &unit.read.refused_includes);
    includes.any(|include| include.is_plain_search && include.location.as_ref() == Some(location))
}

/// Whether a new root module has an unknown call that root modules of the base have, too: in a file
/// of the base that the change does not alter, or a text that refers to the same values.
fn is_elsewhere_in_base(
    root: &AuditedRoot<'_>,
    facts: &BaseFacts<'_>,
    before: &RequirementsBefore,
    unknown: &UnknownCall,
) -> bool {
    if before.exists {
        return false;
    }
    let location = &unknown.location;
    let shown = facts.change.current_directory.join(location.path());
    let path = canonicalize(&shown).unwrap_or(shown);
    let is_own = path.parent() == Some(&root.module.canonical);
    let is_unaltered = !is_own && !facts.change.differing.contains(&path);
    let text = location.file.text.get(location.span.clone());
    // The fingerprint of a part of a unit does not include the locals that its text refers to.
    let may_refer_to_others =
        unknown.key == UNIT_ADDRESS && depends_on_names(text.unwrap_or_default());
    if may_refer_to_others && !is_unaltered {
        return false;
    }
    let fingerprint = unknown.id().fingerprint;
    facts
        .readings
        .whole_base()
        .unknown_calls
        .contains(&fingerprint)
}

/// Whether a part is the module of a unit in a commit of the user's own repository that the base
/// was at, so that the module was approved. A merged branch may contain commits that no reviewer
/// has seen.
fn is_of_own_history(root: &AuditedRoot<'_>, facts: &BaseFacts<'_>, unknown: &UnknownCall) -> bool {
    let mut own_commits = root.declared.own_commits.iter();
    let Some(own) = own_commits.find(|own| own.location == unknown.location) else {
        return false;
    };
    let Some(commit) = &own.commit else {
        return false;
    };
    if own.repository != facts.change.top {
        return false;
    }
    let history = facts
        .own_history
        .get_or_init(|| match root.options.version_control {
            Some(control) => control.commits_on_line_of(&facts.change.commit),
            None => BTreeSet::new(),
        });
    history.contains(commit)
}

/// Whether the change alters what decides on the source of a unit, or a file that cannot be read
/// for it.
fn is_source_altered(unit: &TerragruntUnit, facts: &BaseFacts<'_>) -> bool {
    if unit.reads_altered_unreadable_path(facts.change) {
        return true;
    }
    if unit.read.source.is_ok() {
        return false;
    }
    let directory = &unit.read.directory;
    let is_own_altered = FILE_NAMES
        .iter()
        .any(|name| facts.change.differing.contains(&directory.join(name)));
    let is_unread = unit.read.files.is_empty();
    (is_unread && is_own_altered) || alters_code(facts.change, &unit.read)
}

/// Adds the findings about calls that the change adds or alters and whose module depends on an
/// input of the run. Only the module for the value of this run was read, while other users may set
/// a different value.
fn report_inputs(
    root: &AuditedRoot<'_>,
    facts: &BaseFacts<'_>,
    before: &RequirementsBefore,
    report: &mut VerifiedRoot,
) {
    let are_values_altered = facts.may_alter_values(root.module);
    let mut seen = Vec::new();
    for call in &root.declared.variable_calls {
        let is_known = before.variable_calls.contains(&call.id());
        let is_altered = are_values_altered || facts.may_alter_files(&call.origin.files);
        if (is_known && !is_altered) || seen.contains(&&call.locations) {
            continue;
        }
        seen.push(&call.locations);
        let name = module_name(&call.key);
        let input = &call.input.name;
        let message = format!("because of this change {input} decides from where {name} comes");
        let finding =
            Diagnostic::not_decided(Reason::RunInput, message).at_each_location(&call.locations);
        let note = "a run with a different value uses a module that was not checked";
        let help = "write source and version as plain text, or compute them from locals";
        report.findings.push(finding.note(note).help(help));
    }
}

/// Adds the finding about files of a stack of HCP Terraform, which are not read.
fn report_stack(root: &AuditedRoot<'_>, facts: &BaseFacts<'_>, report: &mut VerifiedRoot) {
    let directory = &root.module.canonical;
    let below = facts.change.differing.range(directory.join("")..);
    for path in below.take_while(|path| path.starts_with(directory)) {
        let is_here = path.parent() == Some(directory);
        if is_here && path.file_name().is_some_and(configuration::is_of_stack) {
            let location = Location::of_file(facts.change.shown_path(path));
            report.findings.extend(finding_made_unknown(&[&location]));
            return;
        }
    }
}

/// The finding about locations that the change adds and that cannot be read; `None` if there are
/// none.
pub(super) fn finding_made_unknown(locations: &[&Location]) -> Option<Diagnostic> {
    let message = "this change makes the requirements of the configuration unknown";
    let mut finding = Diagnostic::not_decided(Reason::UnknownPart, message)
        .at_each(
            locations.iter().take(UNKNOWN_SHOWN).copied(),
            "cannot be read",
        )
        .help("use a source that provlock can read, or give the job access to it");
    let more = locations
        .len()
        .checked_sub(UNKNOWN_SHOWN)
        .filter(|more| *more > 0);
    finding
        .notes
        .extend(more.map(|more| format!("and {more} more")));
    (!locations.is_empty()).then_some(finding)
}
