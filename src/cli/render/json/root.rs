//! Result of a root module or a lock file, as JSON.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::slice;

use jiff::Timestamp;
use provlock::diagnostic::Diagnostic;
use provlock::lockfile::VersionMove;
use provlock::project::plan::{ProviderReport, SkipReason};
use provlock::project::{
    self, HoldingConstraint, InstalledModules, Move, PinnedModules, RootOutcome, Subject,
    Suppressed,
};
use provlock::provider::{self, Dialect, Platform, ProviderAddress, Version};
use serde::Serialize;

use super::diagnostic::{Finding, Notice};
#[cfg(test)]
use super::tests::schema;
use super::values::{AsText, Place};
use crate::cli::render::diff::FileDiff;
use crate::cli::render::help::Invocation;
use crate::cli::render::row::{Change, Row, SchemeCounts};
use crate::cli::render::upgrade::{EditText, texts_of_edits};
use crate::cli::render::verify::lines_about_not_checked;

/// A root module whose calls of modules are pinned.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "pinned_root", deny_unknown_fields)
)]
pub(crate) struct PinnedRoot<'a> {
    path: Cow<'a, str>,
    /// Whether a call was pinned, or would be.
    changed: bool,
    /// Whether the change was written.
    written: bool,
    /// The sources and version constraints that were rewritten, or would be.
    edits: Vec<EditText>,
}

/// A root module whose lock files were repaired.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "repaired_root", deny_unknown_fields)
)]
pub(crate) struct RepairedRoot<'a> {
    path: Cow<'a, str>,
    /// Whether a lock file was repaired, or would be.
    changed: bool,
    /// Whether the change was written.
    written: bool,
    /// Values that were rewritten, or would be.
    repairs: Vec<RepairedValue<'a>>,
}

/// A value of a lock file that was rewritten.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "repaired_value", deny_unknown_fields)
)]
struct RepairedValue<'a> {
    /// Position of the old value.
    at: Place,
    /// Description of the change.
    change: &'a str,
}

/// A root module whose locked modules are installed.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "installed_root", deny_unknown_fields)
)]
pub(crate) struct InstalledRoot<'a> {
    path: Cow<'a, str>,
    /// The paths of the calls whose package was installed, or would be with --check.
    installed: &'a [String],
    /// Number of packages that were installed as they are locked before.
    up_to_date: usize,
    /// Whether the directory is a Terragrunt unit. Terragrunt copies modules itself, so nothing is
    /// installed.
    terragrunt_unit: bool,
    /// Whether the list of installed modules was written, or would be with --check.
    list_written: bool,
}

/// One root module.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "root", deny_unknown_fields)
)]
pub(crate) struct LockedRoot<'a> {
    path: Cow<'a, str>,
    lock_file: Cow<'a, str>,
    #[cfg_attr(test, schemars(with = "schema::Dialect"))]
    dialect: Dialect,
    /// Whether the lock file changed, or would change.
    changed: bool,
    /// Whether the change was written.
    written: bool,
    /// Change of each provider; empty for upgrade --check, which checks no package.
    providers: Vec<LockedProvider<'a>>,
    /// upgrade only: the versions of each selected provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    versions: Option<Vec<Versions<'a>>>,
    /// Change of each locked module; omitted without locked modules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modules: Vec<ComparedModule<'a>>,
    /// upgrade only: the versions of the module of each selected call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    module_versions: Vec<ModuleVersions<'a>>,
    /// upgrade only: the version constraints and sources of modules that were rewritten, or would
    /// be.
    #[serde(skip_serializing_if = "Option::is_none")]
    constraint_edits: Option<Vec<EditText>>,
}

/// One root module with its findings.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "verified_root", deny_unknown_fields)
)]
pub(crate) struct VerifiedRoot<'a> {
    path: Cow<'a, str>,
    /// null without a lock file.
    lock_file: Option<Cow<'a, str>>,
    #[cfg_attr(test, schemars(with = "schema::Dialect"))]
    dialect: Dialect,
    /// The locked version of each provider, by its full address.
    locked: BTreeMap<AsText<&'a ProviderAddress>, AsText<&'a Version>>,
    /// The locked version of each module, by the path of its calls; null for a module without a
    /// version. Omitted without locked modules.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    locked_modules: BTreeMap<&'a str, Option<AsText<&'a Version>>>,
    /// Authentication of the locked release of each provider by the registries, by its full
    /// address; omitted if they were not contacted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    authentications: BTreeMap<AsText<&'a ProviderAddress>, Authentication<'a>>,
    /// Lines about parts that were not checked, or not confirmed as published, as in the text;
    /// omitted without one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_checked: Vec<String>,
    /// Findings in the order of the lock file, then of the other files.
    findings: &'a [Finding<'a>],
    #[cfg_attr(test, schemars(with = "schema::Suppressed"))]
    suppressed: Suppressed,
}

/// One root module that could not be locked, upgraded or checked.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "failed_root", deny_unknown_fields)
)]
pub(crate) struct FailedRoot<'a> {
    path: Cow<'a, str>,
    /// Errors, which are also in the list of the whole run, each once.
    errors: Vec<Notice>,
}

/// Two versions of a lock file.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "compared_root", deny_unknown_fields)
)]
pub(crate) struct ComparedRoot<'a> {
    /// The directory of the lock file.
    path: Cow<'a, str>,
    lock_file: Cow<'a, str>,
    #[cfg_attr(test, schemars(with = "schema::Dialect"))]
    dialect: Dialect,
    /// Whether an entry differs.
    changed: bool,
    providers: Vec<ComparedProvider<'a>>,
    /// Changes of a lock file of modules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modules: Vec<ComparedModule<'a>>,
}

/// Result of `lock` or `upgrade` for a provider.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "provider", extend("additionalProperties" = false)))]
struct LockedProvider<'a> {
    #[serde(flatten)]
    row: Row<'a>,
    /// Whether the configuration requires the provider.
    required: bool,
    #[cfg_attr(test, schemars(inner(regex(pattern = "^[a-z0-9]+_[a-z0-9]+$"))))]
    platforms: Vec<AsText<&'a Platform>>,
    /// The authentication of the packages; null if no package was checked.
    authentication: Option<Authentication<'a>>,
    /// Whether a package of one of `platforms` was not downloaded, so that its h1 is only reported
    /// by the registry (--trust-registry). Hashes of other platforms that OpenTofu's registry
    /// reports are recorded in any case, and do not matter here.
    trusted_registry: bool,
}

/// The authentication of packages.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "authentication", deny_unknown_fields)
)]
struct Authentication<'a> {
    result: AuthenticationResult,
    #[cfg_attr(test, schemars(inner(regex(pattern = "^[0-9A-F]{16}$"))))]
    key_ids: BTreeSet<&'a str>,
    /// The full fingerprints of these keys, for `[trust]`.
    #[cfg_attr(
        test,
        schemars(inner(regex(pattern = "^([0-9A-F]{40}|[0-9A-F]{64})$")))
    )]
    fingerprints: BTreeSet<&'a str>,
}

/// The means of the authentication.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "authentication_result")
)]
enum AuthenticationResult {
    Signed,
    SigningSkipped,
    HashesChecked,
    Unauthenticated,
}

/// The difference of a provider between two versions of a lock file.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "compared_provider", extend("additionalProperties" = false)))]
struct ComparedProvider<'a> {
    #[serde(flatten)]
    row: Row<'a>,
    /// Direction and size of the version change; null if the version is the same or missing.
    #[cfg_attr(test, schemars(with = "Option<schema::VersionChange>"))]
    version_change: Option<VersionMove>,
    /// Number of hashes by scheme before and after; null without an entry.
    hash_counts: Change<SchemeCounts>,
    /// Whether hashes were replaced while the version stayed.
    hashes_replaced: bool,
}

/// The difference of a module between two versions of a lock file.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "compared_module", extend("additionalProperties" = false)))]
struct ComparedModule<'a> {
    /// The same fields as for a provider; the address is the path of the calls.
    #[serde(flatten)]
    entry: ComparedProvider<'a>,
    /// The source in the configuration; null without an entry.
    source: Change<&'a str>,
    /// The package; null without an entry.
    package: Change<&'a str>,
    /// Whether the package changed under the same version or, without a version, under the same
    /// source.
    package_replaced: bool,
}

/// The versions of a selected provider.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "versions", deny_unknown_fields)
)]
struct Versions<'a> {
    /// The full address, with the host.
    address: AsText<&'a ProviderAddress>,
    /// The locked version; null without an entry.
    locked: Option<&'a str>,
    /// The chosen version.
    allowed: &'a str,
    /// The change from the locked version to the chosen one; null if nothing changes, or if one of
    /// them is not a version.
    #[cfg_attr(test, schemars(with = "Option<schema::VersionChange>"))]
    change: Option<VersionMove>,
    /// The newest existing version.
    newest: &'a str,
    /// Publication date of the chosen version; null if nothing changes or the date is unknown. The
    /// same applies to the next three fields.
    published: Option<AsText<Timestamp>>,
    /// Publication date of the newest version.
    newest_published: Option<AsText<Timestamp>>,
    /// The page with the release notes of the chosen version.
    release_notes: Option<String>,
    /// The page with the changes since the locked version.
    comparison: Option<String>,
    /// The constraints that do not allow the newest version.
    held_back_by: Vec<HoldingBack<'a>>,
    /// Whether newer versions were skipped because of min-age.
    too_young: bool,
}

/// The versions of the module of a call. In git these are tags, or the beginnings of commit IDs; in
/// an OCI registry tags, or the beginnings of digests.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "module_versions", deny_unknown_fields)
)]
struct ModuleVersions<'a> {
    /// The path of the calls.
    address: &'a str,
    /// The source in the configuration.
    source: &'a str,
    /// The locked version; null without an entry.
    locked: Option<&'a str>,
    /// The chosen version.
    allowed: &'a str,
    /// The change from the locked version to the chosen one; null if nothing changes, or if one of
    /// them is not a version.
    #[cfg_attr(test, schemars(with = "Option<schema::VersionChange>"))]
    change: Option<VersionMove>,
    /// The newest existing version.
    newest: &'a str,
    /// The constraints that do not allow the newest version, or the part of a source that specifies
    /// a different one.
    held_back_by: Vec<HoldingBack<'a>>,
    /// Whether newer versions were skipped because of min-age.
    too_young: bool,
}

/// Constraints that do not allow the newest version.
#[derive(Serialize)]
#[cfg_attr(
    test,
    derive(schemars::JsonSchema),
    schemars(rename = "holding_back", deny_unknown_fields)
)]
struct HoldingBack<'a> {
    constraints: &'a str,
    file: Cow<'a, str>,
    /// Line number, from 1.
    line: usize,
}

impl<'a> LockedRoot<'a> {
    pub(crate) fn new(outcome: &'a RootOutcome) -> Self {
        let root = &outcome.prepared().root;
        let changed = outcome.has_changes();
        let mut json = Self {
            path: root.path().to_string_lossy(),
            lock_file: root.lock_path.to_string_lossy(),
            dialect: root.dialect,
            changed,
            written: false,
            providers: Vec::new(),
            modules: Vec::new(),
            versions: None,
            module_versions: Vec::new(),
            constraint_edits: None,
        };
        if let RootOutcome::Locked(locked) = outcome {
            json.written = changed && locked.written;
            for report in &locked.outcome.providers {
                json.providers
                    .push(LockedProvider::new(report, root.dialect));
            }
            for change in &locked.module_changes {
                json.modules.push(Row::of_module(change).into());
            }
        }
        if let Some(plan) = outcome.plan() {
            json.versions = Some(plan.moves.iter().filter_map(Versions::of).collect());
            json.module_versions = plan.moves.iter().filter_map(ModuleVersions::of).collect();
            json.constraint_edits = Some(texts_of_edits(&plan.edits).collect());
        }
        json
    }
}

impl<'a> VerifiedRoot<'a> {
    pub(crate) fn new(
        root: &'a project::VerifiedRoot,
        findings: &'a [Finding<'a>],
        is_online: bool,
    ) -> Self {
        let mut lock_file = None;
        if root.has_lock_file {
            lock_file = Some(root.lock_path.to_string_lossy());
        }
        Self {
            locked: root
                .locked
                .iter()
                .map(|(address, version)| (AsText(address), AsText(version)))
                .collect(),
            locked_modules: root
                .locked_modules
                .iter()
                .map(|(key, version)| (&**key, version.as_ref().map(AsText)))
                .collect(),
            path: root.path.to_string_lossy(),
            lock_file,
            dialect: root.dialect,
            authentications: root
                .authentications
                .iter()
                .filter_map(|(address, authentication)| {
                    Some((AsText(address), Authentication::of([authentication])?))
                })
                .collect(),
            not_checked: lines_about_not_checked(slice::from_ref(root), is_online),
            findings,
            suppressed: root.suppressed,
        }
    }
}

impl<'a> InstalledRoot<'a> {
    pub(crate) fn new(path: &'a Path, modules: &'a InstalledModules) -> Self {
        Self {
            path: path.to_string_lossy(),
            installed: &modules.installed,
            up_to_date: modules.kept,
            terragrunt_unit: modules.is_unit,
            list_written: modules.is_list_written,
        }
    }
}

impl<'a> PinnedRoot<'a> {
    pub(crate) fn new(path: &'a Path, pinned: &PinnedModules, written: bool) -> Self {
        let changed = !pinned.edits.is_empty();
        let edits = texts_of_edits(&pinned.edits).collect();
        Self {
            path: path.to_string_lossy(),
            changed,
            written: changed && written,
            edits,
        }
    }
}

impl<'a> RepairedRoot<'a> {
    pub(crate) fn new(path: &'a Path, repaired: &'a project::RepairedRoot, written: bool) -> Self {
        let changed = !repaired.repairs.is_empty();
        let mut repairs = Vec::new();
        for repair in &repaired.repairs {
            repairs.push(RepairedValue {
                at: Place::from(&repair.location),
                change: &repair.change,
            });
        }
        Self {
            path: path.to_string_lossy(),
            changed,
            written: changed && written,
            repairs,
        }
    }
}

impl<'a> FailedRoot<'a> {
    pub(crate) fn new(path: &'a Path, errors: &[Diagnostic], invocation: &Invocation) -> Self {
        Self {
            path: path.to_string_lossy(),
            errors: Notice::all(errors, invocation),
        }
    }
}

impl<'a> From<FileDiff<'a>> for ComparedRoot<'a> {
    fn from(file: FileDiff<'a>) -> Self {
        let directory = match file.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let mut json = Self {
            path: directory.to_string_lossy(),
            lock_file: file.path.to_string_lossy(),
            dialect: file.dialect,
            changed: !file.is_empty(),
            providers: Vec::new(),
            modules: Vec::new(),
        };
        if file.subject == "module" {
            json.modules = file.rows.into_iter().map(ComparedModule::from).collect();
        } else {
            json.providers = file.rows.into_iter().map(ComparedProvider::from).collect();
        }
        json
    }
}

impl<'a> LockedProvider<'a> {
    fn new(report: &'a ProviderReport, dialect: Dialect) -> Self {
        Self {
            row: Row::new(&report.difference, dialect),
            required: report.required,
            platforms: report.packages.keys().map(AsText).collect(),
            authentication: Authentication::of(
                report
                    .packages
                    .values()
                    .map(|package| &package.authentication),
            ),
            trusted_registry: report
                .packages
                .values()
                .any(|package| package.is_reported()),
        }
    }
}

impl<'a> Authentication<'a> {
    /// Returns `None` if no package was checked.
    fn of(packages: impl IntoIterator<Item = &'a provider::Authentication>) -> Option<Self> {
        let mut result = None;
        let mut key_ids = BTreeSet::new();
        let mut fingerprints = BTreeSet::new();
        for package in packages {
            let of_package = match package {
                provider::Authentication::Signed {
                    key_id,
                    fingerprint,
                } => {
                    key_ids.insert(&**key_id);
                    fingerprints.insert(&**fingerprint);
                    AuthenticationResult::Signed
                }
                provider::Authentication::SigningSkipped => AuthenticationResult::SigningSkipped,
                provider::Authentication::HashesChecked => AuthenticationResult::HashesChecked,
                provider::Authentication::Unauthenticated => AuthenticationResult::Unauthenticated,
            };
            result.get_or_insert(of_package);
        }
        Some(Self {
            result: result?,
            key_ids,
            fingerprints,
        })
    }
}

impl<'a> From<Row<'a>> for ComparedProvider<'a> {
    fn from(row: Row<'a>) -> Self {
        let Row {
            version_change,
            hash_counts,
            hashes_replaced,
            ..
        } = row;
        Self {
            row,
            version_change,
            hash_counts,
            hashes_replaced,
        }
    }
}

impl<'a> From<Row<'a>> for ComparedModule<'a> {
    fn from(row: Row<'a>) -> Self {
        let Row {
            source,
            package,
            package_replaced,
            ..
        } = row;
        Self {
            source,
            package,
            package_replaced,
            entry: row.into(),
        }
    }
}

impl<'a> Versions<'a> {
    /// The versions of a planned move of a provider; `None` for a module. It has links only if the
    /// repository of the provider is known.
    fn of(planned: &'a Move) -> Option<Self> {
        let Subject::Provider(address) = &planned.subject else {
            return None;
        };
        let Move {
            locked,
            selected,
            releases,
            ..
        } = planned;
        Some(Self {
            address: AsText(address),
            locked: locked.as_ref().map(|locked| &*locked.text),
            allowed: &selected.text,
            change: version_change(planned),
            newest: &planned.newest.text,
            published: releases.published.map(AsText),
            newest_published: releases.newest_published.map(AsText),
            release_notes: release_notes(planned),
            comparison: comparison(planned),
            held_back_by: planned.held_back_by.iter().map(HoldingBack::from).collect(),
            too_young: is_too_young(planned),
        })
    }
}

impl<'a> ModuleVersions<'a> {
    /// The versions of a planned move of the module of a call; `None` for a provider.
    fn of(planned: &'a Move) -> Option<Self> {
        let Subject::Module { key, source } = &planned.subject else {
            return None;
        };
        Some(Self {
            address: key,
            source,
            locked: planned.locked.as_ref().map(|locked| &*locked.text),
            allowed: &planned.selected.text,
            change: version_change(planned),
            newest: &planned.newest.text,
            held_back_by: planned.held_back_by.iter().map(HoldingBack::from).collect(),
            too_young: is_too_young(planned),
        })
    }
}

/// The page with the release notes of the selected version, if the repository of the provider is
/// known.
fn release_notes(planned: &Move) -> Option<String> {
    let repository = planned.releases.repository.as_ref()?;
    Some(repository.release_notes(planned.selected.version.as_ref()?))
}

/// The page that compares the locked version with the selected one, if the repository of the
/// provider is known.
fn comparison(planned: &Move) -> Option<String> {
    let repository = planned.releases.repository.as_ref()?;
    let locked = planned.locked.as_ref()?.version.as_ref()?;
    Some(repository.comparison(locked, planned.selected.version.as_ref()?))
}

/// The change between the locked and the selected version; `None` if one of them is no version.
fn version_change(planned: &Move) -> Option<VersionMove> {
    VersionMove::between(
        planned.locked.as_ref()?.version.as_ref()?,
        planned.selected.version.as_ref()?,
    )
}

fn is_too_young(planned: &Move) -> bool {
    matches!(
        planned.skipped,
        Some(SkipReason::TooYoung | SkipReason::AgeNotKnown)
    )
}

impl<'a> From<&'a HoldingConstraint> for HoldingBack<'a> {
    fn from(HoldingConstraint { text, location, .. }: &'a HoldingConstraint) -> Self {
        Self {
            constraints: text,
            file: location.path().to_string_lossy(),
            line: location.line_column().0,
        }
    }
}
