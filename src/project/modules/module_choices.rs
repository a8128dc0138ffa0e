//! Chooses the versions that the modules of calls move to.

use std::collections::BTreeMap;
use std::mem::take;

use super::module_candidates::{Choices, ModuleRules, MovingCall, not_requested_error};
use super::module_edit::{EditedCall, RequestedModule};
use crate::configuration::{ModuleCall, Requirements};
use crate::diagnostic::{self, Code, Diagnostic, Diagnostics, Severity};
use crate::lockfile::{ModuleLocks, UNIT_ADDRESS};
use crate::modules::version_tag::VersionTag;
use crate::modules::{ModuleSource, Releases};
use crate::packages::ReleaseInfo;
use crate::project::plan::SkipReason;
use crate::project::plan::moves::{Move, Subject, UpgradePlan, VersionLabel};
use crate::project::plan::newest::{NewestAccepted, newest_accepted};

/// The choices for the calls of a root module that move.
pub(in crate::project) struct ModuleChoices<'a> {
    /// `None` if no module moves.
    rules: Option<ModuleRules<'a>>,
    locks: &'a ModuleLocks,
    /// By call; `None` for a call that cannot move.
    chosen: BTreeMap<CallKey, Option<RequestedModule>>,
    pub(in crate::project) plan: UpgradePlan,
    errors: Diagnostics,
    /// Errors of hosts and repositories that did not answer.
    unanswered: Diagnostics,
}

/// The path, the source and the constraints of a call. Units that share a lock file may have calls
/// of the same path.
type CallKey = (String, String, String);

fn call_key(call: &ModuleCall) -> CallKey {
    (
        call.key.clone(),
        call.source.to_string(),
        call.constraints.to_string(),
    )
}

/// Leaves the choices that the user's name selects.
fn retain_named(
    moving: &MovingCall<'_>,
    choices: &mut Choices,
    name: &str,
) -> Result<(), Box<Diagnostic>> {
    // To a user who names a prerelease, the newest one is shown, which may be what they want.
    let mut newest = choices.newest.clone();
    if let Some(tag) = VersionTag::parse(name)
        && tag.version.is_prerelease()
        && let Some(first) = choices.list.first()
    {
        newest.clone_from(&first.label);
    }
    let had_choices = !choices.list.is_empty();
    choices
        .list
        .retain(|choice| choice.names.iter().any(|known| known == name));
    if !choices.list.is_empty() {
        return Ok(());
    }
    let mut error = moving.error(Code::NoMatchingVersion, &format!("has no version {name}"));
    if had_choices {
        error = Box::new(error.note(format!("the newest version is {newest}")));
    }
    Err(error)
}

impl<'a> ModuleChoices<'a> {
    pub(in crate::project) fn new(rules: Option<ModuleRules<'a>>, locks: &'a ModuleLocks) -> Self {
        Self {
            rules,
            locks,
            chosen: BTreeMap::new(),
            plan: UpgradePlan::default(),
            errors: Diagnostics::default(),
            unanswered: Diagnostics::default(),
        }
    }

    /// Whether the user asks for a move of a call.
    fn moves(&self, call: &ModuleCall) -> bool {
        let Some(ModuleRules { options, .. }) = self.rules else {
            return false;
        };
        // Files of Terragrunt are not edited.
        if call.key == UNIT_ADDRESS {
            return false;
        }
        options.modules || options.calls.contains_key(&call.key)
    }

    /// The module that a call requests; `None` if the call is upgraded and no version is chosen.
    pub(in crate::project) fn requested_by(&self, call: &ModuleCall) -> Option<RequestedModule> {
        if !self.moves(call) {
            return Some(RequestedModule::as_written(call));
        }
        self.chosen.get(&call_key(call))?.clone()
    }

    /// Chooses for calls that move and have no choice yet. Returns whether there are any: the calls
    /// of the chosen modules must then be read again.
    pub(in crate::project) fn choose_missing<'c>(
        &mut self,
        calls: impl Iterator<Item = &'c ModuleCall>,
    ) -> bool {
        let Some(rules) = self.rules else {
            return false;
        };
        let mut without_choice = BTreeMap::new();
        for call in calls {
            if self.moves(call) && !self.chosen.contains_key(&call_key(call)) {
                without_choice.insert(call_key(call), call);
            }
        }
        if without_choice.is_empty() {
            return false;
        }

        // The hosts of all calls are asked at the same time.
        let mut allowed = BTreeMap::new();
        let mut sources = Vec::new();
        for (key, call) in without_choice {
            // A refused source was reported when the calls were read.
            if rules.modules.never_fetches(call) {
                self.chosen.insert(key, None);
            } else {
                sources.push(call.source.clone());
                allowed.insert(key, call);
            }
        }
        if let Some(fetcher) = &rules.modules.fetcher {
            fetcher.request_releases(rules.dialect, sources);
        }
        for (key, call) in allowed {
            let locked = self.locks.get(&call.key).map(AsRef::as_ref);
            let chosen = self.choose_for_call(&MovingCall {
                call,
                locked,
                rules,
            });
            self.chosen.insert(key, chosen);
        }
        true
    }

    /// Moves the warnings to the warnings of the requirements. Where modules may be missing, a host
    /// that did not answer is a warning, too.
    ///
    /// # Errors
    /// Calls that cannot move.
    pub(in crate::project) fn move_warnings_to(
        &mut self,
        requirements: &mut Requirements,
        allow_missing: bool,
    ) -> diagnostic::Result<()> {
        let mut errors = take(&mut self.errors);
        let unanswered = take(&mut self.unanswered);
        requirements.warnings.append(&mut self.plan.warnings);
        if allow_missing {
            requirements.is_incomplete |= !unanswered.is_empty();
            for mut warning in unanswered {
                warning.severity = Severity::Warning;
                warning.code = Code::ModuleNotInstalled;
                requirements.warnings.push(warning);
            }
        } else {
            errors.extend(unanswered);
        }
        errors.into_result(())
    }

    /// Chooses a release for a call; `None` after an error, which is noted.
    fn choose_for_call(&mut self, moving: &MovingCall<'_>) -> Option<RequestedModule> {
        let ModuleRules {
            modules, dialect, ..
        } = moving.rules;
        let mut releases = None;
        if let Some(fetcher) = &modules.fetcher {
            releases = fetcher.releases(dialect, &moving.call.source);
        }
        let releases = match releases {
            Some(Ok(releases)) => releases,
            Some(Err(errors)) => {
                self.unanswered.extend(moving.call.not_fetched(errors));
                return None;
            }
            None => {
                self.errors.push(not_requested_error(moving.call));
                return None;
            }
        };
        match self.choose_from(moving, releases) {
            Ok(chosen) => Some(chosen),
            Err(error) => {
                self.errors.push(*error);
                None
            }
        }
    }

    /// Chooses one of the releases of a module. A call that cannot move stays as it is.
    fn choose_from(
        &mut self,
        moving: &MovingCall<'_>,
        releases: Releases,
    ) -> Result<RequestedModule, Box<Diagnostic>> {
        let choices = match (&moving.call.source, releases) {
            (ModuleSource::Registry(source), Releases::Versions(versions)) => {
                let selected = self.select(moving, moving.choices_of_versions(&versions))?;
                return selected.ok_or_else(|| moving.no_match_error(source, &versions));
            }
            (ModuleSource::Remote(source), Releases::References(references)) => {
                moving.choices_of_references(source, &references)?
            }
            (ModuleSource::Remote(source), Releases::Tags(tags)) => {
                moving.choices_of_tags(source, &tags)?
            }
            _ => moving.none_unless_named("has no versions")?,
        };
        if let Some(choices) = choices
            && let Some(selected) = self.select(moving, choices)?
        {
            return Ok(selected);
        }
        Ok(RequestedModule::as_written(moving.call))
    }

    /// Selects the first allowed choice, or the choice of the user, adds it to the plan, and warns
    /// of the choices that were skipped. `None` if the call allows no choice and cannot be edited
    /// to.
    ///
    /// # Errors
    /// All allowed choices were skipped, or the choice of the user is not allowed.
    fn select(
        &mut self,
        moving: &MovingCall<'_>,
        mut choices: Choices,
    ) -> Result<Option<RequestedModule>, Box<Diagnostic>> {
        if let Some(name) = moving.named_version() {
            retain_named(moving, &mut choices, name)?;
        }

        let NewestAccepted {
            selected,
            skipped,
            not_editable,
        } = newest_accepted(moving, take(&mut choices.list))?;
        if selected.is_none() {
            // All versions that the call may ask for were skipped.
            if let Some(error) = skipped.error(&moving.name()) {
                return Err(Box::new(error));
            }
            let why = not_editable.as_ref().map(|(_, why)| *why);
            if let Some(error) = moving.named_version_error(why, &choices.constraint) {
                return Err(Box::new(error));
            }
        }
        self.plan.warnings.extend(skipped.warning(&moving.name()));
        if let Some((choice, why)) = not_editable {
            let message = format!(
                "the call of {} cannot be made to allow {}: {why}",
                moving.name(),
                choice.label
            );
            let warning = Diagnostic::warning(Code::VersionOutsideConstraints, message)
                .at_location(choices.constraint.location.clone());
            self.plan.warnings.push(warning);
        }
        let Some((choice, edited)) = selected else {
            return Ok(None);
        };
        Ok(Some(self.add_to_plan(
            moving,
            &choice.label,
            edited,
            choices,
            skipped.reason(),
        )))
    }

    /// Adds the chosen release of a call to the plan: its move, and the edit of the call.
    fn add_to_plan(
        &mut self,
        moving: &MovingCall<'_>,
        label: &str,
        edited: EditedCall,
        choices: Choices,
        skipped: Option<SkipReason>,
    ) -> RequestedModule {
        // Several calls of a module may need the same edit.
        if let Some(edit) = edited.edit
            && !self.plan.edits.contains(&edit)
        {
            self.plan.edits.push(edit);
        }
        let mut locked = None;
        if moving.locked.is_some() {
            locked = choices.current.as_deref().map(VersionLabel::of_module);
        }
        let mut planned_move = Move {
            subject: Subject::Module {
                key: moving.call.key.clone(),
                source: moving.call.source.lock_file_text(),
            },
            locked,
            selected: VersionLabel::of_module(label),
            newest: VersionLabel::of_module(&choices.newest),
            is_named: moving.named_version().is_some(),
            held_back_by: Vec::new(),
            skipped,
            stays_for_state: false,
            releases: ReleaseInfo::default(),
        };
        // A newer version that was skipped is not held back by the constraint.
        if planned_move.is_held_back() && skipped.is_none() {
            planned_move.held_back_by.push(choices.constraint);
        }
        self.plan.moves.push(planned_move);
        edited.requested
    }
}
