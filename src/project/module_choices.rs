//! Chooses the versions that the modules of calls move to.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::module_edit::{self, Edited, EditedCall, Wanted};
use super::module_plan::{ModulePlan, ModuleUpgrades};
use super::moves::{HoldingConstraint, Move, Subject, VersionLabel};
use super::plan::Reason;
use super::written_source::WrittenSource;
use crate::configuration::rewrite;
use crate::configuration::{ModuleCache, ModuleCall, Requirements};
use crate::diagnostic::{self, Code, Diagnostic, Diagnostics, Help, Location, Remedy, Severity, UpgradeRemedy};
use crate::lockfile::{Locked as _, LockedModule, ModuleLocks, UNIT_ADDRESS};
use crate::modules::version_tag::VersionTag;
use crate::modules::{ModuleSource, References, RegistrySource, Releases, RemoteSource, Revision, locked, registry};
use crate::packages::{NotOldEnough, ReleaseInfo};
use crate::provider::{Dialect, Version};

/// Maximum number of versions of a call whose age is asked for, newest first.
const MOST_ASKED_ABOUT: usize = 30;
/// Number of characters of a commit id that are shown.
const SHORT: usize = 12;

/// Name of the default branch in a comment beside a commit.
pub(super) const HEAD: &str = "HEAD";

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// The choices for the calls of a root module that move.
#[derive(Default)]
pub(super) struct ModuleChoices {
    rules: Option<ModuleUpgrades>,
    /// By call; `None` for a call that cannot move.
    chosen: BTreeMap<CallKey, Option<Wanted>>,
    pub(super) plan: ModulePlan,
    warnings: Vec<Diagnostic>,
    errors: Diagnostics,
    /// Errors of hosts and repositories that were asked.
    not_asked: Diagnostics,
}

/// The path, the source and the constraints of a call. Units that share a lock file may have calls of the same path.
type CallKey = (String, String, String);

fn key(call: &ModuleCall) -> CallKey {
    (call.key.clone(), call.source.to_string(), call.constraints.to_string())
}

/// Where choices come from.
#[derive(Clone, Copy)]
pub(super) struct Choosing<'a> {
    pub(super) locks: &'a ModuleLocks,
    pub(super) modules: &'a ModuleCache,
    pub(super) dialect: Dialect,
}

/// A version, tag or commit that a call may move to.
struct Choice {
    label: String,
    /// The names by which a user may select it.
    names: Vec<String>,
    target: Target,
    edit: Edit,
    /// Whether the call has it now.
    is_current: bool,
}

/// The version or reference of a choice.
enum Target {
    Version(Version),
    /// A tag or a commit.
    Reference(String),
}

/// The edit that makes a call ask for a choice.
enum Edit {
    Unneeded,
    Possible(Box<EditedCall>),
    Impossible(&'static str),
    /// The user did not ask for edits, or not for such a version.
    NotWanted,
}

/// The versions of a call as they are shown.
struct Shown {
    current: Option<String>,
    newest: String,
    /// The constraint or `ref` of the current one: its location and its text.
    asked: (Location, String),
}

impl ModuleChoices {
    pub(super) fn new(rules: Option<ModuleUpgrades>) -> Self {
        Self { rules, ..Self::default() }
    }

    fn selects(&self, call: &ModuleCall) -> bool {
        call.key != UNIT_ADDRESS && self.rules.as_ref().is_some_and(|rules| rules.selects(&call.key))
    }

    /// The module that a call asks for; `None` if the call moves and no version is chosen.
    pub(super) fn of(&self, call: &ModuleCall) -> Option<Wanted> {
        if !self.selects(call) {
            return Some(Wanted::as_written(call));
        }
        self.chosen.get(&key(call))?.clone()
    }

    /// Chooses for calls that move and have no choice yet. Returns whether there are any.
    pub(super) fn choose<'a>(&mut self, calls: impl Iterator<Item = &'a ModuleCall>, choosing: Choosing<'_>) -> bool {
        let is_open = |call: &&ModuleCall| self.selects(call) && !self.chosen.contains_key(&key(call));
        let open: BTreeMap<_, _> = calls.filter(is_open).map(|call| (key(call), call)).collect();
        let Some(rules) = self.rules.clone().filter(|_| !open.is_empty()) else { return false };
        let refuses = |call: &ModuleCall| choosing.modules.refuses(&call.source, call.entry.is_some());
        let sources = open.values().filter(|call| !refuses(call)).map(|call| call.source.clone());
        if let Some(fetcher) = &choosing.modules.fetcher {
            fetcher.ask_releases(choosing.dialect, sources.collect());
        }
        for (key, call) in open {
            let moving =
                Moving { call, known: choosing.locks.get(&call.key).map(AsRef::as_ref), rules: &rules, choosing };
            // The walk reported a source that is refused.
            let wanted = if refuses(call) { None } else { self.choose_for(&moving) };
            self.chosen.insert(key, wanted);
        }
        true
    }

    /// Adds the warnings to those of the requirements.
    ///
    /// # Errors
    /// Calls that cannot move. Where modules may be missing, a host that does not answer is a warning.
    pub(super) fn report(&mut self, requirements: &mut Requirements, allow_missing: bool) -> diagnostic::Result<()> {
        let mut errors = std::mem::take(&mut self.errors);
        let not_asked = std::mem::take(&mut self.not_asked);
        requirements.warnings.append(&mut self.warnings);
        if allow_missing {
            requirements.is_incomplete |= !not_asked.is_empty();
            let warning = |error| Diagnostic { severity: Severity::Warning, code: Code::ModuleNotInstalled, ..error };
            requirements.warnings.extend(not_asked.into_iter().map(warning));
        } else {
            errors.extend(not_asked);
        }
        errors.into_result(())
    }

    fn choose_for(&mut self, moving: &Moving<'_>) -> Option<Wanted> {
        let Choosing { modules, dialect, .. } = moving.choosing;
        let fetcher = modules.fetcher.as_ref();
        let releases = match fetcher.and_then(|fetcher| fetcher.releases(dialect, &moving.call.source)) {
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
                self.choose_version(moving, source, &versions)
            }
            (ModuleSource::Remote(source), Releases::References(references)) => {
                self.choose_reference(moving, source, &references)
            }
            _ => moving.unmoved("has no versions"),
        };
        wanted.map_err(|error| self.errors.push(*error)).ok()
    }

    /// Chooses a version of a registry module.
    fn choose_version(&mut self, moving: &Moving<'_>, source: &RegistrySource, versions: &[Version]) -> Result<Wanted> {
        let Moving { call, rules, .. } = *moving;
        let current = moving.known.and_then(|known| known.version.as_ref());
        let mut sorted: Vec<_> = versions.iter().collect();
        sorted.sort_by(|one, other| other.cmp(one));
        let newest = sorted.iter().find(|version| rules.prereleases || !version.is_prerelease());
        let newest = newest.or(sorted.first()).map(ToString::to_string).unwrap_or_default();
        let choices = sorted.into_iter().map(|version| Choice {
            label: version.to_string(),
            names: vec![version.to_string()],
            target: Target::Version(version.clone()),
            edit: moving.edit_to_version(version),
            is_current: current == Some(version),
        });
        let asked = (call.version.as_ref().unwrap_or(&call.location).clone(), call.constraints.to_string());
        let shown = Shown { current: current.map(ToString::to_string), newest, asked };
        if let Some((Target::Version(version), wanted)) = self.pick(moving, choices.collect(), shown)? {
            return Ok(Wanted { version: Some(version), ..wanted });
        }
        let errors = registry::select(&source.module, versions, &call.constraints).err();
        let error = errors.into_iter().flatten().next().map(|error| Box::new(call.located(error)));
        Err(error.unwrap_or_else(|| moving.error(Code::NoMatchingVersion, "has no version that may be chosen")))
    }

    /// Chooses a tag or a commit.
    fn choose_reference(
        &mut self,
        moving: &Moving<'_>,
        source: &RemoteSource,
        references: &References,
    ) -> Result<Wanted> {
        let written = module_edit::written(moving.call).ok();
        let (name, pinned) = match Revision::of(source) {
            Some(Revision::Head) => (None, None),
            Some(Revision::Name(name)) => (Some(name), None),
            Some(Revision::Commit(commit)) => match written.as_ref().and_then(WrittenSource::name) {
                Some(name) => (Some(name.to_owned()), Some(commit)),
                None => return moving.unmoved("names a commit, and no comment beside it names its tag"),
            },
            Some(Revision::Expression(_)) | None => return moving.unmoved("names no tag with a version"),
        };
        let git = GitCall { source, references, name: name.as_deref(), pinned };
        match name.as_deref().and_then(|name| Some((name, VersionTag::parse(name)?))) {
            Some((name, tag)) => self.choose_tag(moving, &git, name, &tag),
            None if moving.named().is_some() => moving.unmoved("names no tag with a version"),
            None => self.choose_commit(moving, &git),
        }
    }

    /// Chooses a tag of the same form as the one that a call names.
    fn choose_tag(
        &mut self,
        moving: &Moving<'_>,
        git: &GitCall<'_>,
        current: &str,
        current_tag: &VersionTag,
    ) -> Result<Wanted> {
        let start = ["refs/tags/", "tags/"].into_iter().find(|start| current.starts_with(start)).unwrap_or_default();
        let is_release = |tag: &VersionTag| moving.rules.prereleases || !tag.version.is_prerelease();
        let is_meant = |(tag, name): &(VersionTag, String)| {
            let is_newer = is_release(tag) && tag.version > current_tag.version;
            tag.is_like(current_tag) && (moving.named().is_some() || is_newer || name == current)
        };
        let tags = git.references.tags().map(|tag| format!("{start}{tag}"));
        let tags = tags.filter_map(|name| Some((VersionTag::parse(&name)?, name)));
        let mut tags: Vec<_> = tags.filter(is_meant).collect();
        tags.sort_by(|(one, _), (other, _)| other.version.cmp(&one.version));
        let newest = tags.iter().find(|(tag, name)| is_release(tag) || name == current);
        let newest = newest.map_or(current, |(_, name)| name).to_owned();
        let choices = tags.into_iter().map(|(tag, name)| Choice {
            label: name.clone(),
            names: vec![name.clone(), name.trim_start_matches(start).to_owned(), tag.version.to_string()],
            edit: if name == current { Edit::Unneeded } else { git.edit(moving, &name, git.references.commit(&name)) },
            is_current: name == current,
            target: Target::Reference(name),
        });
        let shown = Shown { current: Some(current.to_owned()), newest, asked: git.asked(moving.call) };
        let picked = self.pick(moving, choices.collect(), shown)?;
        Ok(picked.map_or_else(|| Wanted::as_written(moving.call), |(_, wanted)| wanted))
    }

    /// Chooses the newest commit of a branch, or of a tag that moves.
    fn choose_commit(&mut self, moving: &Moving<'_>, git: &GitCall<'_>) -> Result<Wanted> {
        let newest = match git.name.filter(|name| *name != HEAD) {
            Some(name) => git.references.commit(name),
            None => git.references.head(),
        };
        let missing = || moving.error(Code::NoMatchingVersion, "names a branch or tag that is not there");
        let newest = newest.ok_or_else(missing)?;
        let short = |commit: &str| commit.chars().take(SHORT).collect::<String>();
        let locked = moving.known.and_then(locked::commit);
        let current = git.pinned.clone().or_else(|| locked.clone());
        let older = current.as_deref().filter(|current| *current != newest);
        let choices = [Some(newest), older].into_iter().flatten().map(|commit| Choice {
            label: short(commit),
            names: Vec::new(),
            edit: match (&git.pinned, git.name) {
                (Some(pinned), Some(name)) if pinned != commit => git.edit(moving, name, Some(commit)),
                _ => Edit::Unneeded,
            },
            is_current: current.as_deref() == Some(commit),
            target: Target::Reference(commit.to_owned()),
        });
        let shown =
            Shown { current: current.as_deref().map(short), newest: short(newest), asked: git.asked(moving.call) };
        let picked = self.pick(moving, choices.collect(), shown)?;
        let Some((Target::Reference(commit), wanted)) = picked else { return Ok(Wanted::as_written(moving.call)) };
        Ok(Wanted { is_other_package: locked.is_some_and(|locked| locked != commit), ..wanted })
    }

    /// Picks the first choice (they come newest first) that may be chosen, or the one that the user named; plans it,
    /// and reports the ones that were passed over.
    fn pick(
        &mut self,
        moving: &Moving<'_>,
        mut choices: Vec<Choice>,
        shown: Shown,
    ) -> Result<Option<(Target, Wanted)>> {
        if let Some(name) = moving.named() {
            let newest = choices.first().map(|newest| format!("the newest version is {}", newest.label));
            choices.retain(|choice| choice.names.iter().any(|known| known == name));
            if choices.is_empty() {
                let error = moving.error(Code::NoMatchingVersion, &format!("has no version {name}"));
                return Err(Box::new(newest.into_iter().fold(*error, Diagnostic::note)));
            }
        }
        let mut passed = PassedOver::default();
        let mut chosen = None;
        for choice in choices {
            match choice.edit {
                Edit::NotWanted => continue,
                Edit::Impossible(why) => {
                    passed.impossible.get_or_insert((choice.label, why));
                    continue;
                }
                Edit::Unneeded | Edit::Possible(_) => {}
            }
            if !choice.is_current && passed.too_young.len() >= MOST_ASKED_ABOUT {
                continue;
            }
            let age = moving.rules.age.filter(|_| !choice.is_current);
            let rejected = age.and_then(|age| age.rejects(|| moving.published(&choice.target)));
            if let Some(NotOldEnough { why, .. }) = rejected {
                passed.too_young.push(format!("{} is not chosen: {why}", choice.label));
                continue;
            }
            chosen = Some(choice);
            break;
        }
        self.warnings.extend(passed.reported(moving, chosen.is_some(), &shown.asked)?);
        Ok(chosen.map(|choice| self.plan(moving, choice, shown, !passed.too_young.is_empty())))
    }

    fn plan(&mut self, moving: &Moving<'_>, choice: Choice, shown: Shown, is_too_young: bool) -> (Target, Wanted) {
        let wanted = match choice.edit {
            Edit::Possible(edited) => {
                self.plan.add_edit(edited.edit);
                edited.wanted
            }
            _ => Wanted::as_written(moving.call),
        };
        let mut versions = Move {
            subject: Subject::Module { key: moving.call.key.clone(), source: moving.call.source.recorded() },
            locked: shown.current.filter(|_| moving.known.is_some()).map(|text| VersionLabel::of_module(&text)),
            selected: VersionLabel::of_module(&choice.label),
            newest: VersionLabel::of_module(&shown.newest),
            is_named: moving.named().is_some(),
            held_back_by: Vec::new(),
            skipped: is_too_young.then_some(Reason::TooYoung),
            releases: ReleaseInfo::default(),
        };
        if versions.is_held_back() && !is_too_young {
            let (location, text) = shown.asked;
            versions.held_back_by.push(HoldingConstraint { text, location, is_own: true });
        }
        self.plan.moves.push(versions);
        (choice.target, wanted)
    }
}

/// The error for a call whose versions are not asked for.
pub(super) fn not_asked(call: &ModuleCall) -> Diagnostic {
    let name = LockedModule::label_name(&call.key);
    let message = format!("the versions of {name} are unknown, because modules are not fetched");
    call.located(Diagnostic::error(Code::ModuleNotInstalled, message))
}

/// A call that moves.
#[derive(Clone, Copy)]
struct Moving<'a> {
    call: &'a ModuleCall,
    known: Option<&'a LockedModule>,
    rules: &'a ModuleUpgrades,
    choosing: Choosing<'a>,
}

impl Moving<'_> {
    /// The version or tag that the user named.
    fn named(&self) -> Option<&str> {
        self.rules.named(&self.call.key)
    }

    fn name(&self) -> String {
        LockedModule::label_name(&self.call.key).into_owned()
    }

    fn error(&self, code: Code, why: &str) -> Box<Diagnostic> {
        Box::new(self.call.located(Diagnostic::error(code, format!("{} {why}", self.name()))))
    }

    /// The result for a call that cannot move: an error if the user named a version for it.
    fn unmoved(&self, why: &str) -> Result<Wanted> {
        match self.named() {
            Some(_) => Err(self.error(Code::VersionOutsideConstraints, why)),
            None => Ok(Wanted::as_written(self.call)),
        }
    }

    fn edit_to_version(&self, version: &Version) -> Edit {
        let constraints = &self.call.constraints;
        if registry::allows(constraints, version) {
            return Edit::Unneeded;
        }
        let is_newer = (self.rules.prereleases || !version.is_prerelease()) && constraints.is_outgrown_by(version);
        if !self.rules.rewrites || !(self.named().is_some() || is_newer) {
            return Edit::NotWanted;
        }
        module_edit::constraints(self.call, version, |text| rewrite::allowing(text, version)).into()
    }

    fn published(&self, target: &Target) -> std::result::Result<Timestamp, String> {
        let Choosing { modules, dialect, .. } = self.choosing;
        let fetcher = modules.fetcher.as_ref().ok_or("no requests are made")?;
        match (&self.call.source, target) {
            (ModuleSource::Registry(source), Target::Version(version)) => {
                fetcher.published(dialect, &source.module, version)
            }
            (ModuleSource::Remote(source), Target::Reference(reference)) => {
                fetcher.committed(&source.at_commit(reference))
            }
            _ => Err("it has no date".to_owned()),
        }
    }
}

impl From<Edited> for Edit {
    fn from(edited: Edited) -> Self {
        edited.map_or_else(Self::Impossible, |edited| Self::Possible(Box::new(edited)))
    }
}

/// The call of a module in git.
struct GitCall<'a> {
    source: &'a RemoteSource,
    references: &'a References,
    /// The branch or tag that the source, or the comment beside it, names.
    name: Option<&'a str>,
    /// The commit that the source names.
    pinned: Option<String>,
}

impl GitCall<'_> {
    /// The edit that makes the call ask for another tag or commit.
    fn edit(&self, moving: &Moving<'_>, name: &str, commit: Option<&str>) -> Edit {
        if !moving.rules.rewrites {
            return Edit::NotWanted;
        }
        let (reference, comment) = match (&self.pinned, commit) {
            (Some(_), Some(commit)) => (commit, Some(name)),
            _ => (name, None),
        };
        module_edit::reference(moving.call, moving.choosing.dialect, reference, comment).into()
    }

    /// The `ref` of the source, or the name beside it: the location and the text.
    fn asked(&self, call: &ModuleCall) -> (Location, String) {
        let query = self.source.package.split_once('?').map_or("", |(_, query)| query);
        let reference = query.split('&').find(|parameter| parameter.starts_with("ref=")).unwrap_or_default();
        let comment = self.name.filter(|_| self.pinned.is_some()).map(|name| format!("# {name}"));
        (call.location.clone(), comment.unwrap_or_else(|| reference.to_owned()))
    }
}

/// Choices that were not chosen.
#[derive(Default)]
struct PassedOver {
    /// The newest version that cannot be written into the configuration, and why.
    impossible: Option<(String, &'static str)>,
    /// Why versions were skipped for their age, newest first.
    too_young: Vec<String>,
}

impl PassedOver {
    /// The warnings about them; an error if nothing was chosen because of them.
    fn reported(&self, moving: &Moving<'_>, is_chosen: bool, asked: &(Location, String)) -> Result<Vec<Diagnostic>> {
        let ((location, text), name) = (asked, moving.name());
        let mut warnings = Vec::new();
        if let Some((first, others)) = self.too_young.split_first() {
            let warning = Diagnostic::warning(Code::TooYoung, format!("{name} {first}"));
            let warning = others.iter().cloned().fold(warning, Diagnostic::note);
            if !is_chosen {
                let help = Help::text("to use it anyway, pass ").and(Remedy::AnyAge);
                return Err(Box::new(Diagnostic { severity: Severity::Error, ..warning }.help(help)));
            }
            warnings.push(warning);
        } else if let (false, Some(version)) = (is_chosen, moving.named()) {
            let message = format!("{name} cannot be {version}, because the call asks for {text}");
            let error = Diagnostic::error(Code::VersionOutsideConstraints, message);
            let error = error.at(location.clone(), "asked for here");
            let providers = vec![format!("{name}@{version}")];
            let remedy = UpgradeRemedy { providers, constraints: true, ..UpgradeRemedy::default() };
            return Err(Box::new(match self.impossible {
                Some((_, why)) => error.note(format!("that cannot be rewritten: {why}")),
                None => error.help(Help::text("change that: ").and(remedy)),
            }));
        }
        warnings.extend(self.impossible.as_ref().map(|(label, why)| {
            let message = format!("the call of {name} cannot be made to allow {label}: {why}");
            Diagnostic::warning(Code::VersionOutsideConstraints, message).at(location.clone(), "")
        }));
        Ok(warnings)
    }
}
