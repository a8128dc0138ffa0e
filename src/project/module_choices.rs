//! Chooses the versions that the modules of calls move to.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::module_edit::{self, Edited, EditedCall, RequestedModule, WrittenSource};
use super::moves::{HoldingConstraint, Move, Subject, UpgradePlan, VersionLabel};
use super::options::UpgradeOptions;
use super::plan::{RejectedVersion, SkipReason, SkippedVersions};
use crate::configuration::rewrite;
use crate::configuration::{ModuleCache, ModuleCall, Requirements};
use crate::diagnostic::{self, Code, Diagnostic, Diagnostics, Help, Severity, UpgradeRemedy};
use crate::lockfile::{EntryKind as _, LockedModule, ModuleLocks, UNIT_ADDRESS};
use crate::modules::version_tag::VersionTag;
use crate::modules::{
    ModuleSource, References, RegistrySource, Releases, RemoteSource, Revision, locked, registry,
};
use crate::packages::{DemandedAge, ReleaseInfo};
use crate::provider::{Dialect, Version};

/// Number of characters of a commit id that are shown.
const SHORT: usize = 12;

/// Name of the default branch in a comment beside a commit.
pub(super) const HEAD: &str = "HEAD";

type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// The rules by which modules move.
#[derive(Clone, Copy)]
pub(super) struct ModuleRules<'a> {
    pub(super) options: &'a UpgradeOptions,
    /// Minimum age of a version.
    pub(super) age: Option<DemandedAge>,
    pub(super) modules: &'a ModuleCache,
    pub(super) dialect: Dialect,
}

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

/// A version, tag or commit that a call may move to.
struct Choice {
    label: String,
    /// Full tag or commit ID, if the module is in git.
    reference: String,
    /// The names by which a user may select it.
    names: Vec<String>,
    /// The call after the edit that makes it ask for this choice; `None` if the user requests no
    /// such edit.
    edited: Option<Edited>,
    /// Whether the call has it now.
    is_current: bool,
}

/// The versions, tags or commits that a call may move to, newest first.
struct Choices {
    list: Vec<Choice>,
    current: Option<String>,
    newest: String,
    /// The constraint of the call, or its `ref`.
    asked: HoldingConstraint,
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
            edited,
            is_current,
            ..
        } in std::mem::take(&mut choices.list)
        {
            let edited = match edited {
                Some(Ok(edited)) if is_current || skipped.may_ask_more() => edited,
                Some(Err(why)) => {
                    impossible.get_or_insert((label, why));
                    continue;
                }
                _ => continue,
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
    rules: ModuleRules<'a>,
}

impl Moving<'_> {
    /// The version or tag that the user named.
    fn named(&self) -> Option<&str> {
        self.rules.options.calls.get(&self.call.key)?.as_deref()
    }

    fn name(&self) -> String {
        LockedModule::label_name(&self.call.key).into_owned()
    }

    fn error(&self, code: Code, why: &str) -> Box<Diagnostic> {
        Box::new(
            self.call
                .located(Diagnostic::error(code, format!("{} {why}", self.name()))),
        )
    }

    /// An error if the user named a version for a call that cannot move.
    fn unmoved(&self, why: &str) -> Result<Option<Choices>> {
        match self.named() {
            Some(_) => Err(self.error(Code::VersionOutsideConstraints, why)),
            None => Ok(None),
        }
    }

    /// The error if no version may be selected.
    fn no_match(&self, source: &RegistrySource, versions: &[Version]) -> Box<Diagnostic> {
        let errors = registry::select(&source.module, versions, &self.call.constraints).err();
        let error = errors
            .into_iter()
            .flatten()
            .next()
            .map(|error| Box::new(self.call.located(error)));
        error.unwrap_or_else(|| {
            self.error(
                Code::NoMatchingVersion,
                "has no version that may be selected",
            )
        })
    }

    /// Fails if nothing was chosen because versions were skipped, or because the call does not
    /// allow the named one. `impossible` is the reason why it cannot be edited.
    fn refuse(
        &self,
        skipped: &SkippedVersions,
        impossible: Option<&str>,
        asked: &HoldingConstraint,
    ) -> Result<()> {
        let name = self.name();
        if let Some(error) = skipped.error(&name) {
            return Err(Box::new(error));
        }
        let Some(version) = self.named() else {
            return Ok(());
        };
        let HoldingConstraint { text, location, .. } = asked;
        let message = format!("{name} cannot be {version}, because the call requires {text}");
        let error = Diagnostic::error(Code::VersionOutsideConstraints, message)
            .at(location.clone(), "asked for here");
        let providers = vec![format!("{name}@{version}")];
        let remedy = UpgradeRemedy {
            providers,
            constraints: true,
            ..UpgradeRemedy::default()
        };
        Err(Box::new(match impossible {
            Some(why) => error.note(format!("that cannot be rewritten: {why}")),
            None => error.help(Help::text("change that: ").and(remedy)),
        }))
    }

    /// The versions of a registry module.
    fn versions(&self, versions: &[Version]) -> Choices {
        let Moving {
            call,
            rules: ModuleRules { options, .. },
            ..
        } = *self;
        let current = self.known.and_then(|known| known.version.as_ref());
        let mut sorted: Vec<_> = versions.iter().collect();
        sorted.sort_by(|one, other| other.cmp(one));
        let newest = sorted
            .iter()
            .find(|version| options.prereleases || !version.is_prerelease());
        let newest = newest
            .or(sorted.first())
            .map(ToString::to_string)
            .unwrap_or_default();
        let choices = sorted.into_iter().map(|version| Choice {
            label: version.to_string(),
            reference: String::new(),
            names: vec![version.to_string()],
            edited: self.edited_to_version(version),
            is_current: current == Some(version),
        });
        let (text, location) = (
            call.constraints.to_string(),
            call.version.as_ref().unwrap_or(&call.location).clone(),
        );
        let asked = HoldingConstraint {
            text,
            location,
            is_own: true,
        };
        Choices {
            list: choices.collect(),
            current: current.map(ToString::to_string),
            newest,
            asked,
        }
    }

    /// The tags or commits of a module in git; `None` if it does not move.
    fn references(
        &self,
        source: &RemoteSource,
        references: &References,
    ) -> Result<Option<Choices>> {
        let written = module_edit::written(self.call).ok();
        let (name, pinned) =
            match Revision::of(source) {
                Some(Revision::Head) => (None, None),
                Some(Revision::Name(name)) => (Some(name), None),
                Some(Revision::Commit(commit)) => {
                    match written.as_ref().and_then(WrittenSource::name) {
                        Some(name) => (Some(name.to_owned()), Some(commit)),
                        None => return self.unmoved(
                            "has a commit as its ref, and no comment beside it contains its tag",
                        ),
                    }
                }
                Some(Revision::Expression(_)) | None => {
                    return self.unmoved("has no tag with a version as its ref");
                }
            };
        let git = GitCall {
            moving: self,
            source,
            references,
            name: name.as_deref(),
            pinned,
        };
        match name
            .as_deref()
            .and_then(|name| Some((name, VersionTag::parse(name)?)))
        {
            Some((name, tag)) => Ok(Some(git.tags(name, &tag))),
            None if self.named().is_some() => self.unmoved("has no tag with a version as its ref"),
            None => git.commits().map(Some),
        }
    }

    fn edited_to_version(&self, version: &Version) -> Option<Edited> {
        let (constraints, options) = (&self.call.constraints, self.rules.options);
        let is_newer = (options.prereleases || !version.is_prerelease())
            && constraints.is_outgrown_by(version);
        let edited = if registry::allows(constraints, version) {
            Ok(EditedCall::as_written(self.call))
        } else if options.rewrite_constraints && (self.named().is_some() || is_newer) {
            module_edit::constraints(self.call, version, |text| rewrite::allowing(text, version))
        } else {
            return None;
        };
        Some(edited.map(|edited| {
            edited.with(|wanted| RequestedModule {
                version: Some(version.clone()),
                ..wanted
            })
        }))
    }

    fn published(
        &self,
        wanted: &RequestedModule,
        reference: &str,
    ) -> std::result::Result<Timestamp, String> {
        let ModuleRules {
            modules, dialect, ..
        } = self.rules;
        let fetcher = modules.fetcher.as_ref().ok_or("no requests are made")?;
        match (&self.call.source, &wanted.version) {
            (ModuleSource::Registry(source), Some(version)) => {
                fetcher.published(dialect, &source.module, version)
            }
            (ModuleSource::Remote(source), _) => fetcher.committed(&source.at_commit(reference)),
            _ => Err("it has no date".to_owned()),
        }
    }
}

/// The call of a module in git.
struct GitCall<'a> {
    moving: &'a Moving<'a>,
    source: &'a RemoteSource,
    references: &'a References,
    /// The branch or tag that the source, or the comment beside it, names.
    name: Option<&'a str>,
    /// The commit that the source names.
    pinned: Option<String>,
}

impl GitCall<'_> {
    /// Tags of the same form as the call's tag.
    fn tags(&self, current: &str, current_tag: &VersionTag) -> Choices {
        let Self {
            moving, references, ..
        } = self;
        let start = ["refs/tags/", "tags/"]
            .into_iter()
            .find(|start| current.starts_with(start))
            .unwrap_or_default();
        let is_release =
            |tag: &VersionTag| moving.rules.options.prereleases || !tag.version.is_prerelease();
        let is_meant = |(tag, name): &(VersionTag, String)| {
            let is_newer = is_release(tag) && tag.version > current_tag.version;
            tag.is_like(current_tag) && (moving.named().is_some() || is_newer || name == current)
        };
        let names = references.tags().map(|tag| format!("{start}{tag}"));
        let parsed = names.filter_map(|name| Some((VersionTag::parse(&name)?, name)));
        let mut tags: Vec<_> = parsed.filter(is_meant).collect();
        tags.sort_by(|(one, _), (other, _)| other.version.cmp(&one.version));
        let newest = tags
            .iter()
            .find(|(tag, name)| is_release(tag) || name == current);
        let newest = newest.map_or(current, |(_, name)| name).to_owned();
        let choices = tags.into_iter().map(|(tag, name)| {
            let is_current = name == current;
            let edited = || self.edited(&name, references.commit(&name));
            Choice {
                label: name.clone(),
                names: vec![
                    name.clone(),
                    name.trim_start_matches(start).to_owned(),
                    tag.version.to_string(),
                ],
                edited: if is_current {
                    Some(Ok(EditedCall::as_written(moving.call)))
                } else {
                    edited()
                },
                is_current,
                reference: name,
            }
        });
        Choices {
            list: choices.collect(),
            current: Some(current.to_owned()),
            newest,
            asked: self.asked(),
        }
    }

    /// The newest commit of a branch, or of a tag that moves, and the present one.
    fn commits(&self) -> Result<Choices> {
        let Self {
            moving,
            references,
            name,
            pinned,
            ..
        } = self;
        let newest = match name.filter(|name| *name != HEAD) {
            Some(name) => references.commit(name),
            None => references.head(),
        };
        let missing = || {
            moving.error(
                Code::NoMatchingVersion,
                "has a branch or tag as its ref that does not exist",
            )
        };
        let newest = newest.ok_or_else(missing)?;
        let short = |commit: &str| commit.chars().take(SHORT).collect::<String>();
        let locked = moving.known.and_then(locked::commit_of);
        let current = pinned.clone().or_else(|| locked.clone());
        let older = current.as_deref().filter(|current| *current != newest);
        let choices = [Some(newest), older].into_iter().flatten().map(|commit| {
            let edited = match (pinned, name) {
                (Some(pinned), Some(name)) if pinned != commit => self.edited(name, Some(commit)),
                _ => Some(Ok(EditedCall::as_written(moving.call))),
            };
            let is_other_package = locked.as_deref().is_some_and(|locked| locked != commit);
            let with = |edited: EditedCall| {
                edited.with(|wanted| RequestedModule {
                    is_other_package,
                    ..wanted
                })
            };
            Choice {
                label: short(commit),
                reference: commit.to_owned(),
                names: Vec::new(),
                edited: edited.map(|edited| edited.map(with)),
                is_current: current.as_deref() == Some(commit),
            }
        });
        let list = choices.collect();
        Ok(Choices {
            list,
            current: current.as_deref().map(short),
            newest: short(newest),
            asked: self.asked(),
        })
    }

    /// The call after the edit that makes it ask for a different tag or commit.
    fn edited(&self, name: &str, commit: Option<&str>) -> Option<Edited> {
        let (reference, comment) = match (&self.pinned, commit) {
            (Some(_), Some(commit)) => (commit, Some(name)),
            _ => (name, None),
        };
        let Moving {
            call,
            rules: ModuleRules {
                options, dialect, ..
            },
            ..
        } = *self.moving;
        options
            .rewrite_constraints
            .then(|| module_edit::reference(call, dialect, reference, comment))
    }

    /// The `ref` of the source, or the name beside it.
    fn asked(&self) -> HoldingConstraint {
        let query = self
            .source
            .package
            .split_once('?')
            .map_or("", |(_, query)| query);
        let reference = query
            .split('&')
            .find(|parameter| parameter.starts_with("ref="))
            .unwrap_or_default();
        let comment = self
            .pinned
            .as_ref()
            .and(self.name)
            .map(|name| format!("# {name}"));
        let text = comment.unwrap_or_else(|| reference.to_owned());
        HoldingConstraint {
            text,
            location: self.moving.call.location.clone(),
            is_own: true,
        }
    }
}
