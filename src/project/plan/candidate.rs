//! A provider that is locked, and the errors about versions that it cannot have.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::age::{SkipReason, SkippedVersion};
use crate::configuration::{Declaration, DeclarationKind, Requirement, rewrite};
use crate::diagnostic::words::first_few;
use crate::diagnostic::{
    Code, Diagnostic, Diagnostics, Help, Location, Remedy, Result, UpgradeRemedy,
};
use crate::lockfile::{Entry, LockFile, LockedProvider};
use crate::packages::{AvailableVersion, AvailableVersions, DemandedAge, Source, SourceError};
use crate::project::similar_names::provider_meant;
use crate::provider::{Dialect, Hash, Hostname, ProviderAddress, Version};
use crate::settings::Policy;

/// A provider that is locked, with the rules that apply to it.
#[derive(Clone, Copy)]
pub(crate) struct Candidate<'a> {
    pub(super) address: &'a ProviderAddress,
    pub(super) requirement: &'a Requirement,
    /// Entry before, which may be carried over from the registry of the other dialect; `None` if
    /// there is none.
    pub(super) old_entry: Option<&'a Arc<LockedProvider>>,
    pub(super) version_rule: VersionRule<'a>,
    pub(super) lock_file: &'a LockFile,
    pub(super) all_required: &'a BTreeMap<ProviderAddress, Requirement>,
    /// Minimum age of the version, if there is one.
    pub(super) minimum_age: Option<DemandedAge>,
    /// Policy of the project.
    pub(super) policy: &'a Policy,
    pub(super) dialect: Dialect,
}

/// Rule by which the version of a provider is selected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum VersionRule<'a> {
    /// The locked version, or the newest if none is locked.
    Keep,
    /// The newest version that the constraints allow, after any edits.
    Newest,
    /// This version.
    Exactly(&'a Version),
}

impl Candidate<'_> {
    /// Returns the versions that the source lists. The error about a provider that is not there
    /// names the probable one, or Terraform's registry if the provider is there.
    pub(super) fn read_available(&self, source: &Source) -> Result<Arc<AvailableVersions>> {
        let error = match source.versions(self.address) {
            Ok(available) => return Ok(available),
            Err(error) => error,
        };
        let SourceError::ProviderNotFound { in_registry, .. } = error else {
            let errors = Diagnostics::from(error);
            return Err(errors.map(|error| self.requirement.at_declarations(error)));
        };
        let errors = Diagnostics::from(error);
        // Only mirrors were searched, which lack many providers: the address may be right.
        if !in_registry {
            return Err(errors.map(|error| self.not_found_error(error, None)));
        }
        if let Some((elsewhere, evidence)) = self.find_in_terraforms_registry(source) {
            return Err(errors.map(|error| {
                self.only_at_terraform_error(error, &elsewhere)
                    .note(evidence.clone())
            }));
        }
        let meant = provider_meant(
            self.address,
            self.lock_file,
            self.all_required,
            self.dialect,
        );
        Err(errors.map(|error| self.not_found_error(error, meant.as_deref())))
    }

    /// The address of the provider in Terraform's registry, if there is evidence that it is there,
    /// and the evidence. Requests are sent only if the run requires another provider from there.
    fn find_in_terraforms_registry(&self, source: &Source) -> Option<(ProviderAddress, String)> {
        let is_of_tofu = self.address.hostname.is_default_of(Dialect::Tofu);
        if self.dialect != Dialect::Tofu || !is_of_tofu {
            return None;
        }
        let registry = Hostname::default_of(Dialect::Terraform);
        let elsewhere = self.address.at_host(registry.clone());
        if self.lock_file.entry(&elsewhere).is_some() {
            return Some((elsewhere, format!("the lock file has it from {registry}")));
        }
        let is_asked = self
            .all_required
            .keys()
            .any(|required| required.hostname == registry);
        if is_asked && source.versions(&elsewhere).is_ok() {
            return Some((elsewhere, format!("{registry} has it")));
        }
        None
    }

    /// The error for a provider that only Terraform's registry has.
    fn only_at_terraform_error(
        &self,
        error: Diagnostic,
        elsewhere: &ProviderAddress,
    ) -> Diagnostic {
        let name = &self.address.name;
        self.not_found_error(error, None).help(format!(
            "to take it from there: {name} = {{ source = \"{elsewhere}\" }} in required_providers"
        ))
    }

    /// The error for a provider that does not exist, with `meant`, the probable one.
    fn not_found_error(&self, mut error: Diagnostic, meant: Option<&str>) -> Diagnostic {
        for declaration in &self.requirement.declarations {
            let location = declaration.source.as_ref().unwrap_or(&declaration.location);
            error = declaration.add_location(error, location, "required here");
        }
        let is_implied = is_only_implied(self.requirement);
        if is_implied {
            error = with_assumed_namespace_note(error);
        }
        // A module without a source for this provider got the default namespace; the entry shows
        // the right one.
        if let Some(entry) = only_namesake(self.address, self.requirement, self.lock_file) {
            return with_source_help(error, entry, self.dialect);
        }
        let name = &self.address.name;
        match meant {
            Some(meant) if is_implied => error
                .help(format!("did you mean {meant}? add {name} = {{ source = \"{meant}\" }} to required_providers")),
            Some(meant) => error.help(format!("did you mean {meant}? correct its source in required_providers")),
            None => error,
        }
    }

    /// Whether the old entry has a version.
    pub(super) fn is_locked_at(&self, version: &Version) -> bool {
        self.old_entry
            .is_some_and(|locked| locked.version == *version)
    }

    /// Fails for a version that the policy does not allow or whose plugin protocols are not
    /// supported.
    pub(super) fn check_allowed(
        &self,
        version: &Version,
        available: &AvailableVersions,
    ) -> Result<()> {
        if let Some(AvailableVersion {
            unsupported_protocols: Some(protocols),
            ..
        }) = available.versions.get(version)
        {
            return Err(self.unsupported_error(version, protocols, available));
        }
        let mut errors = Diagnostics::default();
        for error in self
            .policy
            .against_version(self.address, self.dialect, version)
        {
            errors.push(self.policy_error(error, version, available));
        }
        errors.into_result(())
    }

    /// The error for a version that the policy does not allow, with where it is locked, or else
    /// required.
    fn policy_error(
        &self,
        error: Diagnostic,
        version: &Version,
        available: &AvailableVersions,
    ) -> Diagnostic {
        if self.version_rule == VersionRule::Keep && self.is_locked_at(version) {
            let error = Diagnostic {
                help: None,
                ..self.at_locked_version(error)
            };
            return match self.upgrade_to_listed(available) {
                Some(upgrade) => error.help(upgrade),
                None => error.help("require a version that the policy allows"),
            };
        }
        self.requirement.at_declarations(error)
    }

    /// Returns why the policy does not allow a version.
    pub(super) fn why_not_allowed(&self, version: &Version) -> Option<SkippedVersion> {
        let error = self
            .policy
            .against_version(self.address, self.dialect, version)
            .into_iter()
            .next()?;
        Some(SkippedVersion {
            reason: SkipReason::NotAllowed,
            version: version.to_string(),
            why: error.message,
        })
    }

    /// The version that is sure to be selected if it is still offered.
    pub(super) fn kept_version(&self) -> Option<&Version> {
        let version = match self.version_rule {
            VersionRule::Exactly(version) => Some(version),
            VersionRule::Keep => self.old_entry.map(|locked| &locked.version),
            VersionRule::Newest => None,
        };
        version.filter(|version| {
            self.requirement.constraints.allows(version) && self.why_not_allowed(version).is_none()
        })
    }

    /// Fails for a version that was chosen and does not exist.
    pub(super) fn check_listed(
        &self,
        chosen: &Version,
        available: &AvailableVersions,
    ) -> Result<()> {
        if available.versions.contains_key(chosen) {
            return Ok(());
        }
        let name = self.name();
        let mut message = format!("{name} has no version {chosen}");
        let mut known = "";
        if available.is_partial {
            message = format!("version {chosen} of {name} is not known offline");
            known = "known ";
        }
        let mut error = Diagnostic::error(Code::NoMatchingVersion, message);
        if let Some(newest) = available.newest(chosen.is_prerelease()) {
            error = error.note(format!("the newest {known}version is {newest}"));
        }
        if available.is_partial {
            error = error.help(Help::run_online());
        }
        Err(error.into())
    }

    /// The error for a version that was chosen although a constraint does not allow it.
    pub(super) fn outside_constraints_error(&self, chosen: &Version) -> Diagnostic {
        let name = self.name();
        let message = format!(
            "{name} cannot be {chosen}, because {}",
            self.requirement_text()
        );
        let error = self.at_constraints(
            Diagnostic::error(Code::VersionOutsideConstraints, message),
            chosen,
        );
        let providers = vec![format!("{name}@{chosen}")];
        let upgrade = UpgradeRemedy {
            providers,
            constraints: true,
            allow_downgrade: self.is_avoidable_downgrade(chosen),
            ..UpgradeRemedy::default()
        };
        error.help(Help::text("change the constraints: ").and(upgrade))
    }

    /// Whether a version is below the locked one, although the constraints and the policy allow the
    /// locked one.
    fn is_avoidable_downgrade(&self, version: &Version) -> bool {
        self.old_entry.is_some_and(|locked| {
            *version < locked.version
                && self.requirement.constraints.allows(&locked.version)
                && self.why_not_allowed(&locked.version).is_none()
        })
    }

    /// The upgrade from a version that its source no longer lists, or that the policy does not
    /// allow, to a listed and allowed version.
    fn upgrade_to_listed(&self, available: &AvailableVersions) -> Option<UpgradeRemedy> {
        let UpgradeToListed { remedy, target } =
            upgrade_to_listed(self.name(), self.requirement, available, |version| {
                self.why_not_allowed(version).is_none()
            })?;
        Some(UpgradeRemedy {
            allow_downgrade: self.is_avoidable_downgrade(&target),
            ..remedy
        })
    }

    /// Fails if the locked version must change, or if its source does not list it.
    pub(super) fn check_kept(
        &self,
        version: &Version,
        available: &AvailableVersions,
        source: &Source,
    ) -> Result<()> {
        if !self.requirement.constraints.allows(version) {
            let message = format!(
                "{} is locked at {version}, but {}",
                self.name(),
                self.requirement_text()
            );
            let error =
                self.at_locked_version(Diagnostic::error(Code::VersionOutsideConstraints, message));
            return Err(self
                .at_constraints(error, version)
                .help(Remedy::upgrade(self.name()))
                .into());
        }
        if available.versions.contains_key(version) {
            return Ok(());
        }
        let name = self.name();
        // A mirror has copies of some versions, so it does not show what was withdrawn.
        if let Some(mirror) = source.mirror_of(self.address) {
            let message = format!("{name} {version} is locked, but {mirror} does not have it");
            let error = Diagnostic::error(Code::NoMatchingVersion, message);
            let help = match self.upgrade_to_listed(available) {
                Some(upgrade) => Help::text(
                    "put the version into the mirror; or, to lock a version that is there: ",
                )
                .and(upgrade),
                None => Help::text("put the version into the mirror"),
            };
            return Err(self.at_locked_version(error).help(help).into());
        }
        let message = format!("{name} {version} is locked, but no longer listed by its source");
        let error = self.at_locked_version(Diagnostic::error(Code::VersionWithdrawn, message));
        let help = match self.upgrade_to_listed(available) {
            Some(upgrade) => upgrade.into(),
            None => Help::text("require a version that its source lists"),
        };
        Err(error.help(help).into())
    }

    /// Requirement of the configuration that a version does not meet, in words.
    fn requirement_text(&self) -> String {
        let constraints = &self.requirement.constraints;
        if constraints.is_empty() {
            "a prerelease is locked only if a constraint names it exactly".to_owned()
        } else {
            format!("the configuration requires {constraints}")
        }
    }

    /// The error if no known version meets the constraints in an offline run; unknown versions may.
    fn no_known_match_error(&self, available: &AvailableVersions) -> Diagnostic {
        let name = self.name();
        let constraints = &self.requirement.constraints;
        let known = first_few(available.versions.keys().rev());
        let are = if available.versions.len() == 1 {
            "is"
        } else {
            "are"
        };
        let message = format!(
            "offline only {known} of {name} {are} known, and the configuration requires {constraints}"
        );
        let error = Diagnostic::error(Code::NoMatchingVersion, message);
        at_version_constraints(error, &self.requirement.declarations).help(Help::run_online())
    }

    /// The error if no version meets the constraints. Shows every constraint that takes part, each
    /// with the newest version that it allows on its own.
    pub(super) fn no_match_error(&self, available: &AvailableVersions) -> Diagnostic {
        if available.is_partial && !self.requirement.constraints.is_empty() {
            return self.no_known_match_error(available);
        }
        let name = self.name();
        let constraints = &self.requirement.constraints;
        let declarations = &self.requirement.declarations;
        let message = match (available.versions.is_empty(), constraints.is_empty()) {
            (true, _) => format!("there is no version of {name}"),
            (false, true) => format!("{name} has only prereleases"),
            (false, false) => format!("no version of {name} meets all constraints: {constraints}"),
        };
        let mut error = Diagnostic::error(Code::NoMatchingVersion, message);
        for declaration in declarations {
            if let Some(location) = &declaration.version {
                // Each constraint is shown with what it allows alone, so that the odd one out can
                // be seen.
                let newest_alone = available
                    .versions
                    .keys()
                    .rev()
                    .find(|version| declaration.constraints.allows(version));
                let text = match newest_alone {
                    None if available.versions.is_empty() => "required here".to_owned(),
                    Some(version) => format!(
                        "the newest version that {} allows is {version}",
                        declaration.constraints
                    ),
                    None => format!("no version meets {}", declaration.constraints),
                };
                error = declaration.add_location(error, location, text);
            }
        }
        let names_prerelease = constraints
            .terms()
            .iter()
            .any(|term| term.boundary.is_prerelease());
        if let Some(newest) = available.newest(names_prerelease) {
            error = error.note(format!("the newest version is {newest}"));
        }
        let any_is_recorded = declarations
            .iter()
            .any(|declaration| declaration.kind == DeclarationKind::Recorded);
        error.help(if available.versions.is_empty() {
            "check the provider's address, or wait until a version is published"
        } else if constraints.is_empty() {
            "name the prerelease exactly in required_providers"
        } else if declarations.len() <= 1 {
            "correct the version constraint"
        } else if any_is_recorded {
            "relax one of the constraints, or delete the recorded ones if nothing has them any more"
        } else {
            "relax one of the constraints"
        })
    }

    /// The error about a version whose packages have no supported protocol.
    fn unsupported_error(
        &self,
        version: &Version,
        protocols: &str,
        available: &AvailableVersions,
    ) -> Diagnostics {
        let error = SourceError::unsupported_protocol(self.address, version, protocols);
        // The newest of the older versions, or else the oldest of the newer ones.
        let mut nearest = None;
        for (other, release) in &available.versions {
            let is_nearer = other < version || nearest.is_none();
            if is_nearer && release.unsupported_protocols.is_none() {
                nearest = Some(other);
            }
        }
        let help = match nearest {
            Some(nearest) => {
                format!("the nearest version that supports protocol 5 or 6 is {nearest}")
            }
            None => "no version supports protocol 5 or 6".to_owned(),
        };
        Diagnostics::from(error).map(|error| error.help(help.clone()))
    }

    /// Location of the first recorded hash for which `is_meant` returns `true`.
    pub(super) fn location_of_hash(&self, is_meant: impl Fn(&Hash) -> bool) -> Option<&Location> {
        let mut hashes = self.lock_file.entry(self.address)?.hashes.iter();
        hashes
            .find(|(hash, _)| is_meant(hash))
            .map(|(_, location)| location)
    }

    /// Adds a label at the entry, or a note if there is no entry.
    pub(super) fn at_entry(&self, error: Diagnostic, label: String) -> Diagnostic {
        match self.lock_file.entry(self.address) {
            Some(entry) => error.at(entry.block.clone(), label),
            None => error.note(label),
        }
    }

    pub(super) fn at_locked_version(&self, error: Diagnostic) -> Diagnostic {
        error.at_each(
            self.lock_file.entry(self.address).map(Entry::version),
            "locked here",
        )
    }

    fn at_constraints(&self, error: Diagnostic, version: &Version) -> Diagnostic {
        let mut declarations: Vec<_> = self.requirement.declarations.iter().collect();
        declarations.retain(|declaration| !declaration.constraints.allows(version));
        at_version_constraints(error, declarations)
    }

    pub(super) fn name(&self) -> String {
        self.address.short(self.dialect)
    }
}

/// Adds the version constraints of declarations.
fn at_version_constraints<'a>(
    mut error: Diagnostic,
    declarations: impl IntoIterator<Item = &'a Declaration>,
) -> Diagnostic {
    for declaration in declarations {
        if let Some(version) = &declaration.version {
            error = declaration.add_location(error, version, "asked for here");
        }
    }
    error
}

/// An upgrade from a version that cannot stay to a version that the source lists.
pub(in crate::project) struct UpgradeToListed {
    pub(in crate::project) remedy: UpgradeRemedy,
    /// The version that it selects.
    pub(in crate::project) target: Version,
}

/// The upgrade to a listed version for which `is_allowed` returns `true`. If the constraints allow
/// none, it rewrites them; downgrades then require an explicit version. `None` if no version can be
/// selected.
pub(in crate::project) fn upgrade_to_listed(
    name: String,
    requirement: &Requirement,
    available: &AvailableVersions,
    is_allowed: impl Fn(&Version) -> bool,
) -> Option<UpgradeToListed> {
    let constraints = &requirement.constraints;
    let mut newest = None;
    for (version, release) in available.versions.iter().rev() {
        if release.unsupported_protocols.is_some() || !is_allowed(version) {
            continue;
        }
        if constraints.allows(version) {
            return Some(UpgradeToListed {
                remedy: UpgradeRemedy {
                    providers: vec![name],
                    ..UpgradeRemedy::default()
                },
                target: version.clone(),
            });
        }
        // Without an allowed version, the newest one is the target of a rewritten constraint.
        if newest.is_none() && !version.is_prerelease() {
            newest = Some(version);
        }
    }

    let newest = newest?;
    rewrite::allow(requirement, newest).ok()?;
    let provider = if constraints.is_outgrown_by(newest) {
        name
    } else {
        format!("{name}@{newest}")
    };
    Some(UpgradeToListed {
        remedy: UpgradeRemedy {
            providers: vec![provider],
            constraints: true,
            ..UpgradeRemedy::default()
        },
        target: newest.clone(),
    })
}

/// Whether no `required_providers` block names the provider.
pub(in crate::project) fn is_only_implied(requirement: &Requirement) -> bool {
    requirement.declarations.iter().all(|declaration| {
        !matches!(
            declaration.kind,
            DeclarationKind::RequiredProviders | DeclarationKind::State
        )
    })
}

/// The entry that a provider without a source probably means: the only one with its name in a
/// different namespace. `None` if there are several, or if `required_providers` names the provider.
pub(in crate::project) fn only_namesake<'a>(
    address: &ProviderAddress,
    requirement: &Requirement,
    lock_file: &'a LockFile,
) -> Option<&'a Entry> {
    if !is_only_implied(requirement) {
        return None;
    }
    let mut namesake = None;
    for entry in lock_file.entries() {
        let is_other = entry.address.namespace != address.namespace;
        if is_other && entry.address.name == address.name {
            // With several, it is unknown which one is intended.
            if namesake.is_some() {
                return None;
            }
            namesake = Some(entry);
        }
    }
    namesake
}

/// Adds why the provider is assumed to be one of hashicorp.
pub(in crate::project) fn with_assumed_namespace_note(error: Diagnostic) -> Diagnostic {
    error.note(
        "required_providers has no source for it, so it is assumed to be a hashicorp provider",
    )
}

/// Adds the missing source, taken from the entry that is probably intended.
pub(in crate::project) fn with_source_help(
    error: Diagnostic,
    entry: &Entry,
    dialect: Dialect,
) -> Diagnostic {
    let name = &entry.address.name;
    let help = format!(
        "add {name} = {{ source = \"{}\" }} to required_providers",
        entry.address.short(dialect)
    );
    error
        .at(entry.block.clone(), "this one is locked")
        .help(help)
}
