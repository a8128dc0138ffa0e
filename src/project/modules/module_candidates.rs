//! The versions, tags, commits and digests that the module of a call may move to.

use jiff::Timestamp;

use super::module_edit::{self, CallEdit, EditedCall, NewRevision, RequestedModule};
use crate::configuration::rewrite;
use crate::configuration::{ModuleCache, ModuleCall};
use crate::diagnostic::{Code, Diagnostic, Help, UpgradeRemedy};
use crate::lockfile::{EntryKind as _, LockedModule};
use crate::modules::version_tag::VersionTag;
use crate::modules::{
    Getter, ModuleSource, References, RegistrySource, RemoteSource, Revision, locked, registry,
};
use crate::packages::DemandedAge;
use crate::project::options::UpgradeOptions;
use crate::project::plan::SkippedVersion;
use crate::project::plan::moves::HoldingConstraint;
use crate::project::plan::newest::{Edit, SelectionRules};
use crate::provider::{Dialect, Version};

/// Number of characters of a commit id or a digest that are shown.
const SHORT: usize = 12;

/// Start of a digest.
const SHA256: &str = "sha256:";

/// Name of the default branch in a comment beside a commit.
pub(super) const HEAD: &str = "HEAD";

/// The rules by which modules move.
#[derive(Clone, Copy)]
pub(in crate::project) struct ModuleRules<'a> {
    pub(in crate::project) options: &'a UpgradeOptions,
    /// Minimum age of a version.
    pub(in crate::project) age: Option<DemandedAge>,
    pub(in crate::project) modules: &'a ModuleCache,
    pub(in crate::project) dialect: Dialect,
}

/// A version, tag, commit or digest that a call may move to.
pub(super) struct Choice {
    pub(in crate::project) label: String,
    /// Full tag, commit ID or digest; empty for the version of a registry module.
    pub(in crate::project) reference: String,
    /// The names by which a user may select it.
    pub(in crate::project) names: Vec<String>,
    pub(in crate::project) edit: PossibleEdit,
    /// Whether the call has it now.
    pub(super) is_current: bool,
}

/// The edit that makes a call ask for a choice.
pub(super) enum PossibleEdit {
    /// An edit that needs no request.
    Known(Box<CallEdit>),
    /// An edit to the digest of a tag, which is requested only if the choice is considered.
    ToDigestOf(String),
}

/// The versions, tags, commits or digests that a call may move to, newest first.
pub(super) struct Choices {
    pub(in crate::project) list: Vec<Choice>,
    pub(in crate::project) current: Option<String>,
    pub(in crate::project) newest: String,
    /// The constraint of the call, its `ref`, or its tag.
    pub(in crate::project) constraint: HoldingConstraint,
}

/// Tags with versions, newest first.
struct SimilarTags {
    list: Vec<(VersionTag, String)>,
    newest: String,
}

impl PossibleEdit {
    fn known(edit: CallEdit) -> Self {
        Self::Known(Box::new(edit))
    }
}

/// The error for a call whose versions are not requested.
pub(super) fn not_requested_error(call: &ModuleCall) -> Diagnostic {
    let name = LockedModule::label_name(&call.key);
    let message = format!("the versions of {name} are unknown, because modules are not fetched");
    call.at_call(Diagnostic::error(Code::ModuleNotInstalled, message))
}

/// A call that moves.
#[derive(Clone, Copy)]
pub(super) struct MovingCall<'a> {
    pub(in crate::project) call: &'a ModuleCall,
    pub(in crate::project) locked: Option<&'a LockedModule>,
    pub(in crate::project) rules: ModuleRules<'a>,
}

impl MovingCall<'_> {
    /// The version or tag that the user named.
    pub(in crate::project) fn named_version(&self) -> Option<&str> {
        self.rules.options.calls.get(&self.call.key)?.as_deref()
    }

    pub(in crate::project) fn name(&self) -> String {
        LockedModule::label_name(&self.call.key).into_owned()
    }

    pub(in crate::project) fn error(&self, code: Code, why: &str) -> Box<Diagnostic> {
        Box::new(
            self.call
                .at_call(Diagnostic::error(code, format!("{} {why}", self.name()))),
        )
    }

    /// `None` for a call that cannot move, unless the user named a version for it.
    ///
    /// # Errors
    /// The user named a version. `why` completes the message.
    pub(super) fn none_unless_named(&self, why: &str) -> Result<Option<Choices>, Box<Diagnostic>> {
        match self.named_version() {
            Some(_) => Err(self.error(Code::VersionOutsideConstraints, why)),
            None => Ok(None),
        }
    }

    /// The error if no version may be selected.
    pub(in crate::project) fn no_match_error(
        &self,
        source: &RegistrySource,
        versions: &[Version],
    ) -> Box<Diagnostic> {
        if let Err(errors) =
            registry::select_version(&source.module, versions, &self.call.constraints)
            && let Some(error) = errors.into_iter().next()
        {
            return Box::new(self.call.at_call(error));
        }
        self.error(
            Code::NoMatchingVersion,
            "has no version that may be selected",
        )
    }

    /// The error about the version that the user named, which the call does not allow; `None` if
    /// the user named none. `not_editable` is the reason for which the call cannot be edited.
    pub(super) fn named_version_error(
        &self,
        not_editable: Option<&str>,
        constraint: &HoldingConstraint,
    ) -> Option<Diagnostic> {
        let version = self.named_version()?;
        let name = self.name();
        let HoldingConstraint { text, location, .. } = constraint;
        let message = format!("{name} cannot be {version}, because the call requires {text}");
        let error = Diagnostic::error(Code::VersionOutsideConstraints, message)
            .at(location.clone(), "asked for here");
        if let Some(why) = not_editable {
            return Some(error.note(format!("that cannot be rewritten: {why}")));
        }
        let remedy = UpgradeRemedy {
            providers: vec![format!("{name}@{version}")],
            constraints: true,
            ..UpgradeRemedy::default()
        };
        Some(error.help(Help::text("change that: ").and(remedy)))
    }

    /// Returns the versions of a registry module as choices, the newest first.
    pub(in crate::project) fn choices_of_versions(&self, versions: &[Version]) -> Choices {
        let current = match self.locked {
            Some(locked_module) => locked_module.version.as_ref(),
            None => None,
        };
        let mut sorted: Vec<_> = versions.iter().collect();
        sorted.sort_by(|one, other| other.cmp(one));

        let allows_prereleases = self.rules.options.prereleases;
        let newest = sorted
            .iter()
            .find(|version| allows_prereleases || !version.is_prerelease());
        let newest = match newest.or(sorted.first()) {
            Some(newest) => newest.to_string(),
            None => String::new(),
        };
        let mut list = Vec::new();
        for version in sorted {
            list.push(Choice {
                label: version.to_string(),
                reference: String::new(),
                names: vec![version.to_string()],
                edit: PossibleEdit::known(self.edited_to_version(version)),
                is_current: current == Some(version),
            });
        }
        let location = self.call.version.as_ref().unwrap_or(&self.call.location);
        Choices {
            list,
            current: current.map(ToString::to_string),
            newest,
            constraint: HoldingConstraint {
                text: self.call.constraints.to_string(),
                location: location.clone(),
                is_rewritable: true,
            },
        }
    }

    /// Returns the tags or commits of a module in git as choices; `None` if its `ref` cannot move,
    /// which is an error if the user named a version.
    pub(in crate::project) fn choices_of_references(
        &self,
        source: &RemoteSource,
        references: &References,
    ) -> Result<Option<Choices>, Box<Diagnostic>> {
        let mut name = None;
        let mut pinned = None;
        match Revision::of(source) {
            Some(Revision::Head) => {}
            Some(Revision::Name(branch_or_tag)) => name = Some(branch_or_tag),
            // Commits have no order, so the comment beside one must say for which tag it stands.
            Some(Revision::Commit(commit)) => {
                name = self.name_beside();
                pinned = Some(commit);
                if name.is_none() {
                    return self.none_unless_named(
                        "has a commit as its ref, and no comment beside it contains its tag",
                    );
                }
            }
            Some(Revision::Expression(_)) | None => {
                return self.none_unless_named("has no tag with a version as its ref");
            }
        }
        let git = GitCall {
            moving: self,
            source,
            references,
            name: name.as_deref(),
            pinned,
        };
        if let Some(name) = &name
            && let Some(tag) = VersionTag::parse(name)
        {
            return Ok(Some(git.tag_choices(name, &tag)));
        }
        // The user named a version, and the ref is not one.
        if self.named_version().is_some() {
            return self.none_unless_named("has no tag with a version as its ref");
        }
        git.commit_choices().map(Some)
    }

    /// The tag or branch that a comment beside the source contains.
    fn name_beside(&self) -> Option<String> {
        let written = module_edit::written_source(self.call).ok()?;
        Some(written.name()?.to_owned())
    }

    /// Returns the tags or digests of a module in an OCI registry as choices; `None` if it does not
    /// move. That is an error if the user named a version.
    pub(in crate::project) fn choices_of_tags(
        &self,
        source: &RemoteSource,
        tags: &[String],
    ) -> Result<Option<Choices>, Box<Diagnostic>> {
        let Some(package) = source.in_oci_registry() else {
            return self.none_unless_named("has an address that cannot be read");
        };
        let tag = match package.tag() {
            Some(tag) => Some(tag.to_owned()),
            None => self.name_beside(),
        };
        // A digest has no order either.
        let Some(tag) = tag else {
            return self
                .none_unless_named("has a digest, and no comment beside it contains its tag");
        };
        let call = OciCall {
            moving: self,
            source,
            tags,
            pinned: package.digest(),
            tag,
        };
        match VersionTag::parse(&call.tag) {
            Some(version) => Ok(Some(call.version_choices(&version))),
            None if self.named_version().is_some() => {
                self.none_unless_named("has no tag with a version")
            }
            None => call.digest_choices().map(Some),
        }
    }

    /// Tags with versions of the same form as the current tag: the current and newer ones or, if
    /// the user names a version, all of them.
    fn similar_tags(
        &self,
        names: impl Iterator<Item = String>,
        current: &str,
        current_tag: &VersionTag,
    ) -> SimilarTags {
        let mut list = Vec::new();
        for name in names {
            let Some(tag) = VersionTag::parse(&name) else {
                continue;
            };
            // An upgrade goes upwards, so older tags are candidates for a user who names one only.
            let is_newer = self.may_select(&tag) && tag.version > current_tag.version;
            let is_candidate = self.named_version().is_some() || is_newer || name == current;
            if tag.is_like(current_tag) && is_candidate {
                list.push((tag, name));
            }
        }
        list.sort_by(|(one, _), (other, _)| other.version.cmp(&one.version));
        let newest = list
            .iter()
            .find(|(tag, name)| self.may_select(tag) || name == current);
        let newest = match newest {
            Some((_, name)) => name.clone(),
            None => current.to_owned(),
        };
        SimilarTags { list, newest }
    }

    /// Whether a tag may be selected although the user does not name it.
    fn may_select(&self, tag: &VersionTag) -> bool {
        self.rules.options.prereleases || !tag.version.is_prerelease()
    }

    /// Requests the digest of a tag.
    fn digest_of(&self, source: &RemoteSource, tag: &str) -> Result<String, Box<Diagnostic>> {
        let Some(fetcher) = &self.rules.modules.fetcher else {
            return Err(Box::new(not_requested_error(self.call)));
        };
        match fetcher.current_digest(self.rules.dialect, &source.at_tag(tag)) {
            Ok(digest) => Ok(digest),
            Err(errors) => {
                let first = self.call.not_fetched(errors).into_iter().next();
                Err(Box::new(
                    first.unwrap_or_else(|| not_requested_error(self.call)),
                ))
            }
        }
    }

    /// The call after the edit that makes it ask for the present digest of a tag.
    fn edited_to_digest(&self, tag: &str) -> Result<CallEdit, Box<Diagnostic>> {
        let ModuleSource::Remote(source) = &self.call.source else {
            return Err(Box::new(not_requested_error(self.call)));
        };
        let digest = self.digest_of(source, tag)?;
        let new = NewRevision::Digest {
            digest: &digest,
            tag,
        };
        Ok(module_edit::to_revision(self.call, self.rules.dialect, new).into())
    }

    /// The constraint of a call: the name in the comment or, if there is none, a parameter of its
    /// source, such as `ref=`.
    fn constraint_of(
        &self,
        source: &RemoteSource,
        parameter: &str,
        name: Option<&str>,
    ) -> HoldingConstraint {
        let (_, query) = source.package.split_once('?').unwrap_or_default();
        let text = match name {
            Some(name) => format!("# {name}"),
            None => query
                .split('&')
                .find(|text| text.starts_with(parameter))
                .unwrap_or_default()
                .to_owned(),
        };
        HoldingConstraint {
            text,
            location: self.call.location.clone(),
            is_rewritable: true,
        }
    }

    /// Returns the call at a version: as it is if its constraints allow the version, or with
    /// rewritten constraints if the options allow that and these can be rewritten. An older version
    /// is not requested unless the user named it.
    fn edited_to_version(&self, version: &Version) -> CallEdit {
        let constraints = &self.call.constraints;
        let options = self.rules.options;
        let is_newer = (options.prereleases || !version.is_prerelease())
            && constraints.is_outgrown_by(version);
        let mut edited = EditedCall::as_written(self.call);
        if !registry::allows(constraints, version) {
            if !options.rewrite_constraints || (self.named_version().is_none() && !is_newer) {
                return Edit::NotRequested;
            }
            let rewritten = module_edit::to_constraints(self.call, version, |text| {
                rewrite::list_allowing(text, version)
            });
            match rewritten {
                Ok(call) => edited = call,
                Err(why) => return Edit::Impossible(why),
            }
        }
        edited.requested.version = Some(version.clone());
        Edit::Done(edited)
    }

    /// Returns the date of a version, tag or commit of the module.
    ///
    /// # Errors
    /// The reason why it is unknown.
    fn publication_date(
        &self,
        requested: &RequestedModule,
        reference: &str,
    ) -> Result<Timestamp, String> {
        let ModuleRules {
            modules, dialect, ..
        } = self.rules;
        let fetcher = modules.fetcher.as_ref().ok_or("no requests are made")?;
        match (&self.call.source, &requested.version) {
            (ModuleSource::Registry(source), Some(version)) => {
                fetcher.publication_date(dialect, &source.module, version)
            }
            (ModuleSource::Remote(source), _) if source.getter() == Getter::Oci => {
                let source = if reference.starts_with(SHA256) {
                    source.at_digest(reference)
                } else {
                    source.at_tag(reference)
                };
                fetcher.creation_date(dialect, &source)
            }
            (ModuleSource::Remote(source), _) => fetcher.commit_date(&source.at_commit(reference)),
            _ => Err("it has no date".to_owned()),
        }
    }
}

impl SelectionRules for MovingCall<'_> {
    type Version = Choice;
    type Edited = EditedCall;
    type Reason = &'static str;
    type Error = Box<Diagnostic>;

    fn is_current(&self, choice: &Choice) -> bool {
        choice.is_current
    }

    fn edit_for(&self, choice: &Choice) -> Result<CallEdit, Box<Diagnostic>> {
        match &choice.edit {
            PossibleEdit::Known(edit) => Ok((**edit).clone()),
            PossibleEdit::ToDigestOf(tag) => self.edited_to_digest(tag),
        }
    }

    fn why_skipped(&self, choice: &Choice, edited: &EditedCall) -> Option<SkippedVersion> {
        // The present version stays, however young it is.
        if choice.is_current {
            return None;
        }
        SkippedVersion::if_too_young(&choice.label, self.rules.age?, || {
            self.publication_date(&edited.requested, &choice.reference)
        })
    }
}

/// The call of a module in git.
struct GitCall<'a> {
    moving: &'a MovingCall<'a>,
    source: &'a RemoteSource,
    references: &'a References,
    /// The branch or tag that the source, or the comment beside it, names.
    name: Option<&'a str>,
    /// The commit that the source names.
    pinned: Option<String>,
}

impl GitCall<'_> {
    /// Tags of the same form as the call's tag, as choices.
    fn tag_choices(&self, current: &str, current_tag: &VersionTag) -> Choices {
        let Self {
            moving, references, ..
        } = self;
        // `ref=refs/tags/v1` and `ref=tags/v1` name the tag `v1`, and keep their form in the edit.
        let prefix = ["refs/tags/", "tags/"]
            .into_iter()
            .find(|prefix| current.starts_with(prefix))
            .unwrap_or_default();
        let names = references.tags().map(|tag| format!("{prefix}{tag}"));
        let tags = moving.similar_tags(names, current, current_tag);
        let mut list = Vec::new();
        for (tag, name) in tags.list {
            let is_current = name == current;
            let edit = if is_current {
                PossibleEdit::known(Edit::Done(EditedCall::as_written(moving.call)))
            } else {
                PossibleEdit::known(self.edit_to(&name, references.commit(&name)))
            };
            let tag_name = name.trim_start_matches(prefix);
            list.push(Choice {
                label: name.clone(),
                names: vec![name.clone(), tag_name.to_owned(), tag.version.to_string()],
                edit,
                is_current,
                reference: name,
            });
        }
        Choices {
            list,
            current: Some(current.to_owned()),
            newest: tags.newest,
            constraint: self.constraint(),
        }
    }

    /// The newest commit of a branch, or of a tag that moves, and the present one if it is older.
    fn commit_choices(&self) -> Result<Choices, Box<Diagnostic>> {
        let Self {
            moving,
            references,
            name,
            pinned,
            ..
        } = self;
        let newest = match name {
            Some(name) if *name != HEAD => references.commit(name),
            _ => references.head(),
        };
        let Some(newest) = newest else {
            let why = "has a branch or tag as its ref that does not exist";
            return Err(moving.error(Code::NoMatchingVersion, why));
        };
        let locked = moving.locked.and_then(locked::commit_of);
        let current = pinned.as_deref().or(locked.as_deref());
        // The present commit stays for the case that the newest one is too young.
        let mut commits = vec![newest];
        if let Some(current) = current
            && current != newest
        {
            commits.push(current);
        }

        let mut list = Vec::new();
        for commit in commits {
            let mut edit = match (pinned, name) {
                (Some(pinned), Some(name)) if pinned != commit => self.edit_to(name, Some(commit)),
                _ => Edit::Done(EditedCall::as_written(moving.call)),
            };
            if let Edit::Done(call) = &mut edit
                && let Some(locked) = &locked
            {
                call.requested.is_other_package = locked != commit;
            }
            list.push(Choice {
                label: shortened(commit),
                reference: commit.to_owned(),
                names: Vec::new(),
                edit: PossibleEdit::known(edit),
                is_current: current == Some(commit),
            });
        }
        Ok(Choices {
            list,
            current: current.map(shortened),
            newest: shortened(newest),
            constraint: self.constraint(),
        })
    }

    /// The call after the edit that makes it ask for a different tag or commit.
    fn edit_to(&self, name: &str, commit: Option<&str>) -> CallEdit {
        let ModuleRules {
            options, dialect, ..
        } = self.moving.rules;
        if !options.rewrite_constraints {
            return Edit::NotRequested;
        }
        let new = match (&self.pinned, commit) {
            (Some(_), Some(commit)) => NewRevision::Commit {
                id: commit,
                name: Some(name),
            },
            _ => NewRevision::Reference(name),
        };
        module_edit::to_revision(self.moving.call, dialect, new).into()
    }

    /// The `ref` of the source, or the name beside it.
    fn constraint(&self) -> HoldingConstraint {
        let name = self.pinned.as_ref().and(self.name);
        self.moving.constraint_of(self.source, "ref=", name)
    }
}

/// The call of a module in an OCI registry.
struct OciCall<'a> {
    moving: &'a MovingCall<'a>,
    source: &'a RemoteSource,
    tags: &'a [String],
    /// The tag in the source, or in the comment beside a digest.
    tag: String,
    /// The digest in the source.
    pinned: Option<String>,
}

impl OciCall<'_> {
    /// Tags of the same form as the call's tag, as choices.
    fn version_choices(&self, current_tag: &VersionTag) -> Choices {
        let names = self.tags.iter().cloned();
        let SimilarTags { list, newest } = self.moving.similar_tags(names, &self.tag, current_tag);
        let mut choices = Vec::new();
        for (tag, name) in list {
            let is_current = name == self.tag;
            let edit = if is_current {
                PossibleEdit::known(Edit::Done(EditedCall::as_written(self.moving.call)))
            } else {
                self.edit_to(&name)
            };
            choices.push(Choice {
                label: name.clone(),
                names: vec![name.clone(), tag.version.to_string()],
                edit,
                is_current,
                reference: name,
            });
        }
        Choices {
            list: choices,
            current: Some(self.tag.clone()),
            newest,
            constraint: self.constraint(),
        }
    }

    /// The present digest of a tag that moves, and the digest that the call has.
    fn digest_choices(&self) -> Result<Choices, Box<Diagnostic>> {
        let call = self.moving.call;
        let newest = self.moving.digest_of(self.source, &self.tag)?;
        let locked = self.moving.locked.and_then(locked::digest_of);
        let current = self.pinned.as_ref().or(locked.as_ref());
        let mut digests = vec![&newest];
        if let Some(current) = current
            && *current != newest
        {
            digests.push(current);
        }

        let mut list = Vec::new();
        for digest in digests {
            let needs_edit = self.pinned.as_ref().is_some_and(|pinned| pinned != digest);
            let edit = if needs_edit {
                self.edit_to(&self.tag)
            } else {
                let mut edited = EditedCall::as_written(call);
                if let Some(locked) = &locked {
                    edited.requested.is_other_package = locked != digest;
                }
                PossibleEdit::known(Edit::Done(edited))
            };
            list.push(Choice {
                label: shortened(digest),
                reference: digest.clone(),
                names: Vec::new(),
                edit,
                is_current: current == Some(digest),
            });
        }
        Ok(Choices {
            list,
            current: current.map(|current| shortened(current)),
            newest: shortened(&newest),
            constraint: self.constraint(),
        })
    }

    /// The edit that makes the call ask for a tag, or for its digest if the source contains one.
    fn edit_to(&self, tag: &str) -> PossibleEdit {
        let MovingCall { call, rules, .. } = *self.moving;
        if !rules.options.rewrite_constraints {
            return PossibleEdit::known(Edit::NotRequested);
        }
        if self.pinned.is_some() {
            return PossibleEdit::ToDigestOf(tag.to_owned());
        }
        let edited = module_edit::to_revision(call, rules.dialect, NewRevision::Tag(tag));
        PossibleEdit::known(edited.into())
    }

    /// The tag of the source, or the tag beside its digest.
    fn constraint(&self) -> HoldingConstraint {
        let name = self.pinned.as_ref().map(|_| &*self.tag);
        self.moving.constraint_of(self.source, "tag=", name)
    }
}

/// Returns the start of a commit ID or of a digest.
fn shortened(revision: &str) -> String {
    let start = if revision.starts_with(SHA256) {
        SHA256.len()
    } else {
        0
    };
    revision.chars().take(start + SHORT).collect()
}
