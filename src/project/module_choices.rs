//! Chooses the versions that the modules of calls move to.

use std::collections::BTreeMap;

use super::module_candidates::{Choice, Choices, ModuleRules, Moving, PossibleEdit, not_asked};
use super::module_edit::{EditedCall, RequestedModule};
use super::moves::{Move, Subject, UpgradePlan, VersionLabel};
use super::options::UpgradeOptions;
use super::plan::{RejectedVersion, SkipReason, SkippedVersions};
use crate::configuration::{ModuleCall, Requirements};
use crate::diagnostic::{self, Code, Diagnostic, Diagnostics, Severity};
use crate::lockfile::{ModuleLocks, UNIT_ADDRESS};
use crate::modules::version_tag::VersionTag;
use crate::modules::{ModuleSource, Releases};
use crate::packages::ReleaseInfo;

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// The choices for the calls of a root module that move.
pub(super) struct ModuleChoices<'a> {
    /// `None` if no module moves.
    rules: Option<ModuleRules<'a>>,
    locks: &'a ModuleLocks,
    /// By call; `None` for a call that cannot move.
    chosen: BTreeMap<CallKey, Option<RequestedModule>>,
    pub(super) plan: UpgradePlan,
    errors: Diagnostics,
    /// Errors of hosts and repositories that did not answer.
    not_asked: Diagnostics,
}

/// The path, the source and the constraints of a call. Units that share a lock file may have calls
/// of the same path.
type CallKey = (String, String, String);

fn key(call: &ModuleCall) -> CallKey {
    (
        call.key.clone(),
        call.source.to_string(),
        call.constraints.to_string(),
    )
}

impl<'a> ModuleChoices<'a> {
    pub(super) fn new(rules: Option<ModuleRules<'a>>, locks: &'a ModuleLocks) -> Self {
        let (chosen, plan) = (BTreeMap::new(), UpgradePlan::default());
        let (errors, not_asked) = (Diagnostics::default(), Diagnostics::default());
        Self {
            rules,
            locks,
            chosen,
            plan,
            errors,
            not_asked,
        }
    }

    fn selects(&self, call: &ModuleCall) -> bool {
        let is_selected =
            |options: &UpgradeOptions| options.modules || options.calls.contains_key(&call.key);
        call.key != UNIT_ADDRESS && self.rules.is_some_and(|rules| is_selected(rules.options))
    }

    /// The module that a call requests; `None` if the call is upgraded and no version is chosen.
    pub(super) fn of(&self, call: &ModuleCall) -> Option<RequestedModule> {
        if !self.selects(call) {
            return Some(RequestedModule::as_written(call));
        }
        self.chosen.get(&key(call))?.clone()
    }

    /// Chooses for calls that move and have no choice yet. Returns whether there are any.
    pub(super) fn choose<'c>(&mut self, calls: impl Iterator<Item = &'c ModuleCall>) -> bool {
        let is_open =
            |call: &&ModuleCall| self.selects(call) && !self.chosen.contains_key(&key(call));
        let open: BTreeMap<_, _> = calls
            .filter(is_open)
            .map(|call| (key(call), call))
            .collect();
        let (Some(rules), false) = (self.rules, open.is_empty()) else {
            return false;
        };
        let ModuleRules {
            modules, dialect, ..
        } = rules;
        let refuses = |call: &ModuleCall| modules.refuses(&call.source, call.entry.is_some());
        let sources = open
            .values()
            .filter(|call| !refuses(call))
            .map(|call| call.source.clone());
        if let Some(fetcher) = &modules.fetcher {
            fetcher.ask_releases(dialect, sources.collect());
        }
        for (key, call) in open {
            let known = self.locks.get(&call.key).map(AsRef::as_ref);
            let moving = Moving { call, known, rules };
            // A refused source was reported when the calls were read.
            let wanted = if refuses(call) {
                None
            } else {
                self.choose_for(&moving)
            };
            self.chosen.insert(key, wanted);
        }
        true
    }

    /// Adds the warnings to the warnings of the requirements.
    ///
    /// # Errors
    /// Calls that cannot move. Where modules may be missing, a host that does not answer is a
    /// warning.
    pub(super) fn report(
        &mut self,
        requirements: &mut Requirements,
        allow_missing: bool,
    ) -> diagnostic::Result<()> {
        let mut errors = std::mem::take(&mut self.errors);
        let not_asked = std::mem::take(&mut self.not_asked);
        requirements.warnings.append(&mut self.plan.warnings);
        if allow_missing {
            requirements.is_incomplete |= !not_asked.is_empty();
            let warning = |error| Diagnostic {
                severity: Severity::Warning,
                code: Code::ModuleNotInstalled,
                ..error
            };
            requirements
                .warnings
                .extend(not_asked.into_iter().map(warning));
        } else {
            errors.extend(not_asked);
        }
        errors.into_result(())
    }

    fn choose_for(&mut self, moving: &Moving<'_>) -> Option<RequestedModule> {
        let ModuleRules {
            modules, dialect, ..
        } = moving.rules;
        let fetcher = modules.fetcher.as_ref();
        let releases =
            match fetcher.and_then(|fetcher| fetcher.releases(dialect, &moving.call.source)) {
                Some(Ok(releases)) => releases,
                Some(Err(errors)) => {
                    self.not_asked.extend(moving.call.not_fetched(errors));
                    return None;
                }
                None => {
                    self.errors.push(not_asked(moving.call));
                    return None;
                }
            };
        let wanted = match (&moving.call.source, releases) {
            (ModuleSource::Registry(source), Releases::Versions(versions)) => {
                let picked = self.pick(moving, moving.versions(&versions));
                picked.and_then(|picked| picked.ok_or_else(|| moving.no_match(source, &versions)))
            }
            (ModuleSource::Remote(source), Releases::References(references)) => {
                let choices = moving.references(source, &references);
                let picked = choices.and_then(|choices| {
                    choices.map_or(Ok(None), |choices| self.pick(moving, choices))
                });
                picked.map(|picked| {
                    picked.unwrap_or_else(|| RequestedModule::as_written(moving.call))
                })
            }
            (ModuleSource::Remote(source), Releases::Tags(tags)) => {
                let picked = moving
                    .tags(source, &tags)
                    .and_then(|choices| match choices {
                        Some(choices) => self.pick(moving, choices),
                        None => Ok(None),
                    });
                picked.map(|picked| {
                    picked.unwrap_or_else(|| RequestedModule::as_written(moving.call))
                })
            }
            _ => moving
                .unmoved("has no versions")
                .map(|_| RequestedModule::as_written(moving.call)),
        };
        wanted.map_err(|error| self.errors.push(*error)).ok()
    }

    /// Picks the first allowed choice, or the choice of the user; plans it, and reports the choices
    /// that were skipped.
    fn pick(
        &mut self,
        moving: &Moving<'_>,
        mut choices: Choices,
    ) -> Result<Option<RequestedModule>> {
        if let Some(name) = moving.named() {
            let names_prerelease =
                VersionTag::parse(name).is_some_and(|tag| tag.version.is_prerelease());
            let newest = choices.list.first().map(|first| {
                let label = if names_prerelease {
                    &first.label
                } else {
                    &choices.newest
                };
                format!("the newest version is {label}")
            });
            choices
                .list
                .retain(|choice| choice.names.iter().any(|known| known == name));
            if choices.list.is_empty() {
                let error =
                    moving.error(Code::NoMatchingVersion, &format!("has no version {name}"));
                return Err(Box::new(newest.into_iter().fold(*error, Diagnostic::note)));
            }
        }
        let (mut skipped, mut impossible, mut chosen) = (SkippedVersions::default(), None, None);
        for Choice {
            label,
            reference,
            edit,
            is_current,
            ..
        } in std::mem::take(&mut choices.list)
        {
            if !is_current && !skipped.may_ask_more() {
                continue;
            }
            let edited = match edit {
                PossibleEdit::NotRequested => continue,
                PossibleEdit::Known(edited) => *edited,
                PossibleEdit::ToDigestOf(tag) => moving.edited_to_digest(&tag)?,
            };
            let edited = match edited {
                Ok(edited) => edited,
                Err(why) => {
                    impossible.get_or_insert((label, why));
                    continue;
                }
            };
            let age = if is_current { None } else { moving.rules.age };
            let published = || moving.published(&edited.wanted, &reference);
            let Some(rejected) =
                age.and_then(|age| RejectedVersion::by_age(&label, age, published))
            else {
                chosen = Some((label, edited));
                break;
            };
            skipped.push(rejected);
        }
        if chosen.is_none() {
            moving.refuse(
                &skipped,
                impossible.as_ref().map(|(_, why)| *why),
                &choices.asked,
            )?;
        }
        self.plan.warnings.extend(skipped.warning(&moving.name()));
        self.plan.warnings.extend(impossible.map(|(label, why)| {
            let message = format!(
                "the call of {} cannot be made to allow {label}: {why}",
                moving.name()
            );
            Diagnostic::warning(Code::VersionOutsideConstraints, message)
                .at(choices.asked.location.clone(), "")
        }));
        Ok(chosen
            .map(|(label, edited)| self.plan(moving, &label, edited, choices, skipped.reason())))
    }

    fn plan(
        &mut self,
        moving: &Moving<'_>,
        label: &str,
        EditedCall { edit, wanted }: EditedCall,
        Choices {
            current,
            newest,
            asked,
            ..
        }: Choices,
        skipped: Option<SkipReason>,
    ) -> RequestedModule {
        // Several calls of a module may need the same edit.
        let edit = edit.filter(|edit| !self.plan.edits.contains(edit));
        self.plan.edits.extend(edit);
        let mut versions = Move {
            subject: Subject::Module {
                key: moving.call.key.clone(),
                source: moving.call.source.recorded(),
            },
            locked: moving
                .known
                .and(current)
                .map(|text| VersionLabel::of_module(&text)),
            selected: VersionLabel::of_module(label),
            newest: VersionLabel::of_module(&newest),
            is_named: moving.named().is_some(),
            held_back_by: Vec::new(),
            skipped,
            stays_for_state: false,
            releases: ReleaseInfo::default(),
        };
        if versions.is_held_back() && skipped.is_none() {
            versions.held_back_by.push(asked);
        }
        self.plan.moves.push(versions);
        wanted
    }
}
