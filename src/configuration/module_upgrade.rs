//! Chooses the version that the module of a call moves to.

use jiff::Timestamp;

use super::module_pin::HEAD;
use super::moving_call::{Candidate, Found, MovingCall, Result, Rewritten, Wanted, Way};
use super::planned_module::PlannedModule;
use super::tree::Walk;
use super::written_source::WrittenSource;
use crate::diagnostic::{Code, Location};
use crate::modules::version_tag::VersionTag;
use crate::modules::{ModuleFetcher, ModuleSource, References, RegistrySource, Releases, RemoteSource, Revision};
use crate::modules::{locked, registry};
use crate::provider::Version;

/// How many characters of a commit id are shown.
const SHORT: usize = 12;

/// The call of a module in git.
struct GitCall<'a> {
    source: &'a RemoteSource,
    references: &'a References,
    written: std::result::Result<WrittenSource, &'static str>,
    /// The commit that the source names.
    pinned: Option<String>,
}

/// The versions of a call as they are shown: the one that it has, and the newest.
struct Labels {
    current: Option<String>,
    newest: String,
    /// What asks for the current one: its place and its text.
    asked: (Location, String),
}

impl Walk<'_> {
    /// What a call whose module is to move asks for then; none if that is not known yet, or cannot be.
    pub(super) fn moved(&mut self, moving: &MovingCall<'_>) -> Option<Wanted> {
        let wanted = match (&moving.wanted.source, self.releases(moving)?) {
            (ModuleSource::Registry(source), Releases::Versions(versions)) => {
                self.moved_version(moving, source, &versions)
            }
            (ModuleSource::Remote(source), Releases::References(references)) => {
                self.moved_reference(moving, source, &references)
            }
            _ => stays(moving, "has no versions"),
        };
        wanted.map_err(|error| self.errors.push(*error)).ok()
    }

    /// What the source of a call can move to; none if it is not known yet, or cannot be.
    pub(super) fn releases(&mut self, moving: &MovingCall<'_>) -> Option<Releases> {
        let source = &moving.wanted.source;
        if let ModuleSource::Remote(remote) = source
            && let Some(path) = self.cache.outside(remote)
        {
            let outside = moving.calling.outside(&path);
            self.leave_out([outside]);
            return None;
        }
        let Some(fetcher) = &self.cache.fetcher else {
            let why = "has versions that nobody asks for, because modules are not fetched";
            self.errors.push(*moving.error(Code::ModuleNotInstalled, why));
            return None;
        };
        match fetcher.releases(moving.dialect, source) {
            None => {
                self.asked.insert(source.clone());
                None
            }
            Some(Ok(releases)) => Some(releases),
            Some(Err(errors)) => {
                self.not_fetched(&moving.calling, errors);
                None
            }
        }
    }

    /// Chooses a version of a registry's module.
    fn moved_version(
        &mut self,
        moving: &MovingCall<'_>,
        source: &RegistrySource,
        versions: &[Version],
    ) -> Result<Wanted> {
        let constraints = &moving.wanted.constraints;
        let current = moving.known.and_then(|known| known.version.as_ref());
        let mut sorted: Vec<_> = versions.iter().collect();
        sorted.sort_by(|one, other| other.cmp(one));
        let newest = sorted.iter().find(|version| moving.rules.prereleases || !version.is_prerelease());
        let newest = newest.or(sorted.first()).map(ToString::to_string).unwrap_or_default();
        let candidates = sorted.into_iter().map(|version| Candidate {
            label: version.to_string(),
            value: version.clone(),
            is_current: current == Some(version),
        });
        let found = moving.search(
            candidates.collect(),
            |candidate, name| candidate.label == name,
            |version| moving.way_to_version(version),
            |version| self.date(|fetcher| fetcher.published(moving.dialect, &source.module, version)),
        )?;
        let place =
            moving.calling.call.version.as_ref().map_or(&moving.calling.call.location, |version| &version.location);
        let asked = (place.clone(), constraints.to_string());
        let labels = Labels { current: current.map(ToString::to_string), newest, asked };
        if let Some((version, wanted)) = self.chosen(moving, found, labels)? {
            return Ok(Wanted { version: Some(version), ..wanted });
        }
        let errors = registry::select(&source.module, versions, constraints).err();
        let error = errors.into_iter().flatten().next().map(|error| Box::new(moving.calling.located(error)));
        Err(error.unwrap_or_else(|| moving.error(Code::NoMatchingVersion, "has no version that may be chosen")))
    }

    /// Chooses a tag or a commit.
    fn moved_reference(
        &mut self,
        moving: &MovingCall<'_>,
        source: &RemoteSource,
        references: &References,
    ) -> Result<Wanted> {
        let written = moving.written();
        let (name, pinned) = match Revision::of(source) {
            Some(Revision::Head) => (None, None),
            Some(Revision::Name(name)) => (Some(name), None),
            Some(Revision::Commit(commit)) => match written.as_ref().ok().and_then(WrittenSource::name) {
                Some(name) => (Some(name.to_owned()), Some(commit)),
                None => return stays(moving, "names a commit, and no comment beside it names its tag"),
            },
            Some(Revision::Expression(_)) | None => return stays(moving, "names no tag with a version"),
        };
        let git = GitCall { source, references, written, pinned };
        match name.as_deref().and_then(|name| Some((name, VersionTag::parse(name)?))) {
            Some((name, tag)) => self.moved_tag(moving, &git, name, &tag),
            None if moving.named().is_some() => stays(moving, "names no tag with a version"),
            None => self.moved_branch(moving, &git, name.as_deref()),
        }
    }

    /// Chooses a tag of the same form as the one that a call names.
    fn moved_tag(
        &mut self,
        moving: &MovingCall<'_>,
        git: &GitCall<'_>,
        current: &str,
        current_tag: &VersionTag,
    ) -> Result<Wanted> {
        let start = ["refs/tags/", "tags/"].into_iter().find(|start| current.starts_with(start)).unwrap_or_default();
        let tags = git.references.tags().map(|tag| format!("{start}{tag}"));
        let is_named = moving.named().is_some();
        let is_release = |tag: &VersionTag| moving.rules.prereleases || !tag.version.is_prerelease();
        let is_meant = |(tag, name): &(VersionTag, String)| {
            let is_newer = is_release(tag) && tag.version > current_tag.version;
            tag.is_like(current_tag) && (is_named || is_newer || name == current)
        };
        let tags = tags.filter_map(|name| Some((VersionTag::parse(&name)?, name)));
        let mut tags: Vec<_> = tags.filter(is_meant).collect();
        tags.sort_by(|(one, _), (other, _)| other.version.cmp(&one.version));
        let newest = tags.iter().find(|(tag, name)| is_release(tag) || name == current);
        let newest = newest.map_or(current, |(_, name)| name).to_owned();
        let candidates = tags.into_iter().map(|(tag, name)| Candidate {
            label: name.clone(),
            is_current: name == current,
            value: (name, tag.version),
        });
        let found = moving.search(
            candidates.collect(),
            |Candidate { value: (tag, version), .. }, name| {
                [tag, tag.trim_start_matches(start), &version.to_string()].contains(&name)
            },
            |(tag, _)| if tag == current { Way::Allowed } else { git.way(moving, tag, git.references.commit(tag)) },
            |(tag, _)| self.date(|fetcher| fetcher.committed(&git.source.at_commit(tag))),
        )?;
        let labels = Labels { current: Some(current.to_owned()), newest, asked: git.asked(moving) };
        let chosen = self.chosen(moving, found, labels)?;
        Ok(chosen.map_or_else(|| moving.wanted.clone(), |(_, wanted)| wanted))
    }

    /// Chooses the newest commit of a branch, or of a tag that moves.
    fn moved_branch(&mut self, moving: &MovingCall<'_>, git: &GitCall<'_>, name: Option<&str>) -> Result<Wanted> {
        let newest = match name.filter(|name| *name != HEAD) {
            Some(name) => git.references.commit(name),
            None => git.references.head(),
        };
        let missing = || moving.error(Code::NoMatchingVersion, "names a branch or tag that is not there");
        let newest = newest.ok_or_else(missing)?;
        let short = |commit: &str| commit.chars().take(SHORT).collect::<String>();
        let locked = moving.known.and_then(|known| locked::commit(known));
        let current = git.pinned.clone().or_else(|| locked.clone());
        let older = current.as_deref().filter(|current| *current != newest);
        let candidates = [Some(newest), older].into_iter().flatten().map(|commit| Candidate {
            label: short(commit),
            value: commit.to_owned(),
            is_current: current.as_deref() == Some(commit),
        });
        let found = moving.search(
            candidates.collect(),
            |_, _| false,
            |commit| match (&git.pinned, name) {
                (Some(pinned), Some(name)) if pinned != commit => git.way(moving, name, Some(commit)),
                _ => Way::Allowed,
            },
            |commit| self.date(|fetcher| fetcher.committed(&git.source.at_commit(commit))),
        )?;
        let current = current.as_deref().map(short);
        let labels = Labels { current, newest: short(newest), asked: git.asked(moving) };
        let Some((commit, wanted)) = self.chosen(moving, found, labels)? else { return Ok(moving.wanted.clone()) };
        Ok(Wanted { is_other_package: locked.is_some_and(|locked| locked != commit), ..wanted })
    }

    /// Plans what a search found, and reports what it passed over. None if it found nothing.
    fn chosen<T>(&mut self, moving: &MovingCall<'_>, found: Found<T>, labels: Labels) -> Result<Option<(T, Wanted)>> {
        let Labels { current, newest, asked } = labels;
        let warnings = moving.passed_over(&found, (&asked.0, &asked.1))?;
        self.warnings.extend(warnings);
        let is_too_young = found.has_too_young();
        let Some((chosen, rewritten)) = found.chosen else { return Ok(None) };
        let is_named = moving.named().is_some();
        let is_held_back = !is_named && chosen.label != newest && !is_too_young;
        let wanted = match rewritten {
            Some(rewritten) => {
                let Rewritten { edit, wanted } = *rewritten;
                if !self.locked.plan.edits.contains(&edit) {
                    self.locked.plan.edits.push(edit);
                }
                wanted
            }
            None => moving.wanted.clone(),
        };
        self.locked.plan.modules.push(PlannedModule {
            key: moving.calling.key.to_owned(),
            source: moving.wanted.source.recorded(),
            locked: current.filter(|_| moving.known.is_some()),
            allowed: chosen.label,
            newest,
            is_named,
            held_back_by: Some(asked).filter(|_| is_held_back),
            is_too_young,
        });
        Ok(Some((chosen.value, wanted)))
    }

    fn date(
        &self,
        ask: impl FnOnce(&ModuleFetcher) -> std::result::Result<Timestamp, String>,
    ) -> std::result::Result<Timestamp, String> {
        ask(self.cache.fetcher.as_ref().ok_or("nobody is asked")?)
    }
}

/// A call that cannot move; an error if the user wants it to.
fn stays(moving: &MovingCall<'_>, why: &str) -> Result<Wanted> {
    match moving.named() {
        Some(_) => Err(moving.error(Code::VersionOutsideConstraints, why)),
        None => Ok(moving.wanted.clone()),
    }
}

impl GitCall<'_> {
    /// Whether another tag or another commit may be chosen.
    fn way(&self, moving: &MovingCall<'_>, name: &str, commit: Option<&str>) -> Way {
        if !moving.rules.rewrites {
            return Way::NotAllowed;
        }
        let rewritten = self.written.as_ref().map_err(|why| *why).and_then(|written| match (&self.pinned, commit) {
            (Some(_), Some(commit)) => moving.with_reference(written, commit, Some(name)),
            _ => moving.with_reference(written, name, None),
        });
        rewritten.map_or_else(Way::Refused, |rewritten| Way::Rewritten(Box::new(rewritten)))
    }

    /// What the source asks for.
    fn asked(&self, moving: &MovingCall<'_>) -> (Location, String) {
        let query = self.source.package.split_once('?').map_or("", |(_, query)| query);
        let name = self.written.as_ref().ok().and_then(WrittenSource::name).filter(|_| self.pinned.is_some());
        let reference = query.split('&').find(|parameter| parameter.starts_with("ref="));
        let text = name.map_or_else(|| reference.unwrap_or_default().to_owned(), |name| format!("# {name}"));
        (moving.calling.call.location.clone(), text)
    }
}
