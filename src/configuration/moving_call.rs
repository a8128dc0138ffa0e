//! A call whose module is to move, and the search for the version that it moves to.

use std::sync::Arc;

use super::caller::Calling;
use super::edits::{ConstraintEdit, plain};
use super::planned_module::ModuleUpgrades;
use super::rewrite;
use super::written_source::WrittenSource;
use crate::diagnostic::{Code, Diagnostic, Help, Location, Remedy, Severity, UpgradeRemedy};
use crate::lockfile::{Locked as _, LockedModule};
use crate::modules::{ModuleSource, locked, registry};
use crate::packages::NotOldEnough;
use crate::provider::{ConstraintList, Dialect, Version};

/// How many versions are skipped for their age, newest first; older ones are then not asked about.
const MOST_ASKED_ABOUT: usize = 30;

pub(super) type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// What a call asks for, after any edit.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) source: ModuleSource,
    pub(super) constraints: ConstraintList,
    /// The version of a registry's module that was chosen.
    pub(super) version: Option<Version>,
    /// Whether the locked package makes room for another one that the same source leads to.
    pub(super) is_other_package: bool,
}

impl Wanted {
    pub(super) fn new(source: &ModuleSource, constraints: &ConstraintList) -> Self {
        let (source, constraints) = (source.clone(), constraints.clone());
        Self { source, constraints, version: None, is_other_package: false }
    }

    /// Whether this is what is locked.
    pub(super) fn is_locked(&self, known: &LockedModule) -> bool {
        let is_chosen = self.version.is_none() || self.version == known.version;
        is_chosen && !self.is_other_package && locked::is_allowed(known, &self.source, &self.constraints)
    }
}

/// A call whose module is to move.
pub(super) struct MovingCall<'a> {
    pub(super) calling: Calling<'a>,
    pub(super) wanted: Wanted,
    pub(super) known: Option<&'a Arc<LockedModule>>,
    pub(super) rules: &'a ModuleUpgrades,
    pub(super) dialect: Dialect,
}

/// A version that may be chosen.
pub(super) struct Candidate<T> {
    /// What it is called.
    pub(super) label: String,
    pub(super) value: T,
    /// Whether the call has it now.
    pub(super) is_current: bool,
}

/// Whether a version may be chosen.
pub(super) enum Way {
    Allowed,
    Rewritten(Box<Rewritten>),
    /// It cannot be written into the configuration.
    Refused(&'static str),
    NotAllowed,
}

/// An edit of a call, and what the call asks for then.
pub(super) struct Rewritten {
    pub(super) edit: ConstraintEdit,
    pub(super) wanted: Wanted,
}

/// What a search came to.
pub(super) struct Found<T> {
    pub(super) chosen: Option<(Candidate<T>, Option<Box<Rewritten>>)>,
    /// A newer version that cannot be written into the configuration, and why.
    refused: Option<(String, &'static str)>,
    /// Why versions were skipped for their age, the newest first.
    too_young: Vec<String>,
}

impl MovingCall<'_> {
    /// What messages call it.
    pub(super) fn name(&self) -> String {
        LockedModule::label_name(self.calling.key).into_owned()
    }

    /// The version or tag that the user named.
    pub(super) fn named(&self) -> Option<&str> {
        self.rules.named(self.calling.key)
    }

    pub(super) fn error(&self, code: Code, why: &str) -> Box<Diagnostic> {
        Box::new(self.calling.error(code, format!("{} {why}", self.name())))
    }

    /// The source as it is written, if it may be edited.
    pub(super) fn written(&self) -> std::result::Result<WrittenSource, &'static str> {
        self.is_own().and_then(|()| WrittenSource::read(&self.calling.call.location))
    }

    fn is_own(&self) -> std::result::Result<(), &'static str> {
        if self.calling.caller.entry.is_none() { Ok(()) } else { Err("its module is not part of this project") }
    }

    /// Whether a version of a registry's module may be chosen.
    pub(super) fn way_to_version(&self, version: &Version) -> Way {
        let constraints = &self.wanted.constraints;
        if registry::allows(constraints, version) {
            return Way::Allowed;
        }
        let is_meant = self.rules.prereleases || !version.is_prerelease();
        let is_meant = self.named().is_some() || (is_meant && constraints.is_outgrown_by(version));
        if !self.rules.rewrites || !is_meant {
            return Way::NotAllowed;
        }
        self.with_version(|text| rewrite::allowing(text, version), version)
            .map_or_else(Way::Refused, |rewritten| Way::Rewritten(Box::new(rewritten)))
    }

    /// The call with another text of its constraint, which must allow a version.
    pub(super) fn with_version(
        &self,
        new: impl FnOnce(&str) -> Option<String>,
        version: &Version,
    ) -> std::result::Result<Rewritten, &'static str> {
        self.is_own()?;
        let written = self.calling.call.version.as_ref().ok_or("the call has none")?;
        let location = plain(&written.location)?;
        let new = new(&location.file.text[location.span.clone()]).ok_or("only its version may change, not its form")?;
        let constraints = ConstraintList::parse_for_module(&new).map_err(|_| "it cannot be read")?;
        if !registry::allows(&constraints, version) {
            return Err("only its version may change, not its form");
        }
        let wanted = Wanted { constraints, ..self.wanted.clone() };
        Ok(Rewritten { edit: ConstraintEdit { location, new }, wanted })
    }

    /// The call with another `ref`: a name, or a commit with the name that leads to it.
    pub(super) fn with_reference(
        &self,
        written: &WrittenSource,
        reference: &str,
        name: Option<&str>,
    ) -> std::result::Result<Rewritten, &'static str> {
        let rewritten = written.with(reference, name);
        let source = ModuleSource::parse(&rewritten.text, self.dialect).map_err(|_| "it cannot be read")?;
        Ok(Rewritten { edit: rewritten.edit, wanted: Wanted { source, ..self.wanted.clone() } })
    }

    /// Takes the first of the candidates, which come newest first, that may be chosen; or the one that the user named.
    pub(super) fn search<T>(
        &self,
        mut candidates: Vec<Candidate<T>>,
        is_called: impl Fn(&Candidate<T>, &str) -> bool,
        way: impl Fn(&T) -> Way,
        published: impl Fn(&T) -> std::result::Result<jiff::Timestamp, String>,
    ) -> Result<Found<T>> {
        let newest = candidates.first().map(|newest| newest.label.clone());
        if let Some(name) = self.named() {
            candidates.retain(|candidate| is_called(candidate, name));
            if candidates.is_empty() {
                let error = self.error(Code::NoMatchingVersion, &format!("has no version {name}"));
                let note = newest.map(|newest| format!("the newest version is {newest}"));
                return Err(Box::new(note.into_iter().fold(*error, Diagnostic::note)));
            }
        }
        let mut found = Found { chosen: None, refused: None, too_young: Vec::new() };
        for candidate in candidates {
            let rewritten = match way(&candidate.value) {
                Way::Allowed => None,
                Way::Rewritten(rewritten) => Some(rewritten),
                Way::Refused(why) => {
                    found.refused.get_or_insert((candidate.label, why));
                    continue;
                }
                Way::NotAllowed => continue,
            };
            if !candidate.is_current && found.too_young.len() >= MOST_ASKED_ABOUT {
                continue;
            }
            let age = self.rules.age.filter(|_| !candidate.is_current);
            let rejected = age.and_then(|age| age.rejects(|| published(&candidate.value)));
            let Some(NotOldEnough { why, .. }) = rejected else {
                found.chosen = Some((candidate, rewritten));
                break;
            };
            found.too_young.push(format!("{} is not chosen: {why}", candidate.label));
        }
        Ok(found)
    }

    /// What to say of the versions that were passed over: an error if none was chosen for it.
    pub(super) fn passed_over<T>(
        &self,
        found: &Found<T>,
        (place, asked): (&Location, &str),
    ) -> Result<Vec<Diagnostic>> {
        let name = self.name();
        let mut warnings = Vec::new();
        if let Some((first, others)) = found.too_young.split_first() {
            let warning = others
                .iter()
                .cloned()
                .fold(Diagnostic::warning(Code::TooYoung, format!("{name} {first}")), Diagnostic::note);
            if found.chosen.is_none() {
                let help = Help::text("to use it anyway, pass ").and(Remedy::AnyAge);
                return Err(Box::new(Diagnostic { severity: Severity::Error, ..warning }.help(help)));
            }
            warnings.push(warning);
        } else if let (None, Some(version)) = (&found.chosen, self.named()) {
            let message = format!("{name} cannot be {version}, because the call asks for {asked}");
            let error = Diagnostic::error(Code::VersionOutsideConstraints, message).at(place.clone(), "asked for here");
            let providers = vec![format!("{name}@{version}")];
            let remedy = UpgradeRemedy { providers, constraints: true, ..UpgradeRemedy::default() };
            return Err(Box::new(match &found.refused {
                Some((_, why)) => error.note(format!("that cannot be rewritten: {why}")),
                None => error.help(Help::text("change that: ").and(remedy)),
            }));
        }
        warnings.extend(found.refused.as_ref().map(|(label, why)| {
            let message = format!("what {name} asks for cannot be made to allow {label}: {why}");
            Diagnostic::warning(Code::VersionOutsideConstraints, message).at(place.clone(), "")
        }));
        Ok(warnings)
    }
}

impl<T> Found<T> {
    /// Whether versions were skipped for their age.
    pub(super) fn has_too_young(&self) -> bool {
        !self.too_young.is_empty()
    }
}
