//! Result of a root module or a lock file, as JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::take;
use std::path::Path;

use provlock::configuration::rewrite;
use provlock::diagnostic::Diagnostic;
use provlock::lockfile::VersionMove;
use provlock::project::plan::{ProviderReport, SkipReason};
use provlock::project::{
    self, HoldingConstraint, InstalledModules, LockedRootModule, Move, PinnedModules, Prepared, RootModule, Subject,
    Suppressed, UpgradePlan,
};
use provlock::provider::{self, Dialect};
use serde::Serialize;

use super::diagnostic::{Finding, Notice};
#[cfg(test)]
use super::tests::schema;
use super::values::shown;
use crate::cli::render::diff::FileDiff;
use crate::cli::render::help::Invocation;
use crate::cli::render::row::{Change, HashCounts, Row};
use crate::cli::render::upgrade::old_and_new;

/// A root module whose calls of modules are pinned.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "pinned_root", deny_unknown_fields))]
pub(crate) struct PinnedRoot {
    path: String,
    /// Whether a call was pinned, or would be.
    changed: bool,
    /// Whether the change was written.
    written: bool,
    /// The sources and version constraints that were rewritten, or would be.
    edits: Vec<ConstraintEdit>,
}

/// A root module whose locked modules are installed.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "installed_root", deny_unknown_fields))]
pub(crate) struct InstalledRoot {
    path: String,
    /// The paths of the calls whose package was installed, or would be with --check.
    installed: Vec<String>,
    /// Number of packages that were installed as they are locked before.
    up_to_date: usize,
    /// Whether the directory is a Terragrunt unit. Terragrunt copies modules itself, so nothing is installed.
    terragrunt_unit: bool,
    /// Whether the list of installed modules was written, or would be with --check.
    list_written: bool,
}

/// One root module.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "root", deny_unknown_fields))]
pub(crate) struct LockedRoot {
    path: String,
    lock_file: String,
    #[cfg_attr(test, schemars(with = "schema::Dialect"))]
    dialect: Dialect,
    /// Whether the lock file changed, or would change.
    changed: bool,
    /// Whether the change was written.
    written: bool,
    /// Change of each provider; empty for upgrade --check, which checks no package.
    providers: Vec<LockedProvider>,
    /// upgrade only: the versions of each selected provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    versions: Option<Vec<Versions>>,
    /// Change of each locked module; omitted without locked modules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modules: Vec<ComparedModule>,
    /// upgrade only: the versions of the module of each selected call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    module_versions: Vec<ModuleVersions>,
    /// upgrade only: the version constraints and sources of modules that were rewritten, or would be.
    #[serde(skip_serializing_if = "Option::is_none")]
    constraint_edits: Option<Vec<ConstraintEdit>>,
}

/// One root module with its findings.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "verified_root", deny_unknown_fields))]
pub(crate) struct VerifiedRoot {
    path: String,
    /// null without a lock file.
    lock_file: Option<String>,
    #[cfg_attr(test, schemars(with = "schema::Dialect"))]
    dialect: Dialect,
    /// How the registries authenticate the locked release of each provider, by its full address; omitted if they were
    /// not contacted.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    authentications: BTreeMap<String, Authentication>,
    /// Findings in the order of the lock file, then of the other files.
    findings: Vec<Finding>,
    #[cfg_attr(test, schemars(with = "schema::Suppressed"))]
    suppressed: Suppressed,
}

/// One root module that could not be locked, upgraded or checked.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "failed_root", deny_unknown_fields))]
pub(crate) struct FailedRoot {
    path: String,
    /// Errors, which are also in the list of the whole run, each once.
    errors: Vec<Notice>,
}

/// Two versions of a lock file.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "compared_root", deny_unknown_fields))]
pub(crate) struct ComparedRoot {
    /// The directory of the lock file.
    path: String,
    lock_file: String,
    #[cfg_attr(test, schemars(with = "schema::Dialect"))]
    dialect: Dialect,
    /// Whether an entry differs.
    changed: bool,
    providers: Vec<ComparedProvider>,
    /// Changes of a lock file of modules.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    modules: Vec<ComparedModule>,
}

/// Result of `lock` or `upgrade` for a provider.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "provider", extend("additionalProperties" = false)))]
struct LockedProvider {
    #[serde(flatten)]
    row: Row,
    /// Whether the configuration requires the provider.
    required: bool,
    #[cfg_attr(test, schemars(inner(regex(pattern = "^[a-z0-9]+_[a-z0-9]+$"))))]
    platforms: Vec<String>,
    /// The authentication of the packages; null if no package was checked.
    authentication: Option<Authentication>,
    /// Whether a package of one of `platforms` was not downloaded, so that its h1 is only reported by the registry
    /// (--trust-registry). Hashes of other platforms that OpenTofu's registry reports are recorded in any case, and do
    /// not matter here.
    trusted_registry: bool,
}

/// The authentication of packages.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "authentication", deny_unknown_fields))]
struct Authentication {
    result: AuthenticationResult,
    #[cfg_attr(test, schemars(inner(regex(pattern = "^[0-9A-F]{16}$"))))]
    key_ids: BTreeSet<String>,
    /// The full fingerprints of these keys, for `[trust]`.
    #[cfg_attr(test, schemars(inner(regex(pattern = "^([0-9A-F]{40}|[0-9A-F]{64})$"))))]
    fingerprints: BTreeSet<String>,
}

/// The means of the authentication.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "authentication_result"))]
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
struct ComparedProvider {
    #[serde(flatten)]
    row: Row,
    /// Direction and size of the version change; null if the version is the same or missing.
    #[cfg_attr(test, schemars(with = "Option<schema::VersionChange>"))]
    version_change: Option<VersionMove>,
    /// Number of hashes by scheme before and after; null without an entry.
    hash_counts: Change<HashCounts>,
    /// Whether hashes were replaced while the version stayed.
    hashes_replaced: bool,
}

/// The difference of a module between two versions of a lock file.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "compared_module", extend("additionalProperties" = false)))]
struct ComparedModule {
    /// The same fields as for a provider; the address is the path of the calls.
    #[serde(flatten)]
    entry: ComparedProvider,
    /// The source in the configuration; null without an entry.
    source: Change<String>,
    /// The package; null without an entry.
    package: Change<String>,
    /// Whether the package changed under the same version or, without a version, under the same source.
    package_replaced: bool,
}

/// The versions of a selected provider.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "versions", deny_unknown_fields))]
struct Versions {
    /// The full address, with the host.
    address: String,
    /// The locked version; null without an entry.
    locked: Option<String>,
    /// The chosen version.
    allowed: String,
    /// The change from the locked version to the chosen one; null if nothing changes, or if one of them is not a
    /// version.
    #[cfg_attr(test, schemars(with = "Option<schema::VersionChange>"))]
    change: Option<VersionMove>,
    /// The newest existing version.
    newest: String,
    /// Publication date of the chosen version; null if nothing changes or the date is unknown. The same applies to the
    /// next three fields.
    published: Option<String>,
    /// Publication date of the newest version.
    newest_published: Option<String>,
    /// The page with the release notes of the chosen version.
    release_notes: Option<String>,
    /// The page with the changes since the locked version.
    comparison: Option<String>,
    /// The constraints that do not allow the newest version.
    held_back_by: Vec<HoldingBack>,
    /// Whether newer versions were skipped because of min-age.
    too_young: bool,
}

/// The versions of the module of a call. In git these are tags, or the beginnings of commit IDs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "module_versions", deny_unknown_fields))]
struct ModuleVersions {
    /// The path of the calls.
    address: String,
    /// The source in the configuration.
    source: String,
    /// The locked version; null without an entry.
    locked: Option<String>,
    /// The chosen version.
    allowed: String,
    /// The change from the locked version to the chosen one; null if nothing changes, or if one of them is not a
    /// version.
    #[cfg_attr(test, schemars(with = "Option<schema::VersionChange>"))]
    change: Option<VersionMove>,
    /// The newest existing version.
    newest: String,
    /// The constraints that do not allow the newest version, or the part of a source that specifies a different one.
    held_back_by: Vec<HoldingBack>,
    /// Whether newer versions were skipped because of min-age.
    too_young: bool,
}

/// Constraints that do not allow the newest version.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "holding_back", deny_unknown_fields))]
struct HoldingBack {
    constraints: String,
    file: String,
    /// Line number, from 1.
    line: usize,
}

/// A version constraint that was rewritten.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "constraint_edit", deny_unknown_fields))]
struct ConstraintEdit {
    file: String,
    /// Line number, from 1.
    line: usize,
    /// Column, from 1, in characters.
    column: usize,
    old: String,
    new: String,
}

impl LockedRoot {
    pub(crate) fn new(locked: &LockedRootModule) -> Self {
        let LockedRootModule {
            prepared: Prepared { root, .. }, outcome, module_changes, changed, written, plan, ..
        } = locked;
        let providers = outcome.providers.iter().map(|report| LockedProvider::new(report, root.dialect)).collect();
        let modules = module_changes.iter().map(|change| Row::of_module(change).into()).collect();
        Self { changed: *changed, written: *changed && *written, providers, modules, ..Self::of(root, plan.as_ref()) }
    }

    /// A forecast of `upgrade`.
    pub(crate) fn planned(root: &RootModule, plan: &UpgradePlan) -> Self {
        Self { changed: plan.has_changes(), ..Self::of(root, Some(plan)) }
    }

    fn of(root: &RootModule, plan: Option<&UpgradePlan>) -> Self {
        Self {
            path: shown(root.path()),
            lock_file: shown(&root.lock_path),
            dialect: root.dialect,
            changed: false,
            written: false,
            providers: Vec::new(),
            modules: Vec::new(),
            versions: plan.map(|plan| plan.moves.iter().filter_map(Versions::of).collect()),
            module_versions: plan.into_iter().flat_map(|plan| &plan.moves).filter_map(ModuleVersions::of).collect(),
            constraint_edits: plan.map(|plan| constraint_edits(&plan.edits)),
        }
    }
}

impl VerifiedRoot {
    pub(crate) fn new(root: &project::VerifiedRoot, invocation: &Invocation) -> Self {
        Self {
            path: shown(&root.path),
            lock_file: root.has_lock_file.then(|| shown(&root.lock_path)),
            dialect: root.dialect,
            authentications: root
                .authentications
                .iter()
                .filter_map(|(address, found)| Some((address.to_string(), Authentication::of([found])?)))
                .collect(),
            findings: root.findings.iter().map(|finding| Finding::new(finding, invocation)).collect(),
            suppressed: root.suppressed,
        }
    }
}

impl InstalledRoot {
    pub(crate) fn new(path: &Path, modules: &InstalledModules) -> Self {
        Self {
            path: shown(path),
            installed: modules.installed.clone(),
            up_to_date: modules.kept,
            terragrunt_unit: modules.is_unit,
            list_written: modules.is_list_written,
        }
    }
}

impl PinnedRoot {
    pub(crate) fn new(path: &Path, pinned: &PinnedModules, written: bool) -> Self {
        let changed = !pinned.edits.is_empty();
        let edits = constraint_edits(&pinned.edits);
        Self { path: shown(path), changed, written: changed && written, edits }
    }
}

impl FailedRoot {
    pub(crate) fn new(path: &Path, errors: &[Diagnostic], invocation: &Invocation) -> Self {
        Self { path: shown(path), errors: Notice::all(errors, invocation) }
    }
}

impl ComparedRoot {
    pub(crate) fn new(file: &FileDiff) -> Self {
        let directory = file.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let rows = file.rows.iter().cloned();
        let is_of_modules = file.subject == "module";
        let (modules, providers): (Vec<_>, Vec<_>) = rows.partition(|_| is_of_modules);
        Self {
            path: shown(directory.unwrap_or(Path::new("."))),
            lock_file: shown(&file.path),
            dialect: file.dialect,
            changed: !file.is_empty(),
            providers: providers.into_iter().map(ComparedProvider::from).collect(),
            modules: modules.into_iter().map(ComparedModule::from).collect(),
        }
    }
}

impl LockedProvider {
    fn new(report: &ProviderReport, dialect: Dialect) -> Self {
        Self {
            row: Row::new(&report.difference, dialect),
            required: report.required,
            platforms: report.packages.keys().map(ToString::to_string).collect(),
            authentication: Authentication::of(report.packages.values().map(|package| &package.authentication)),
            trusted_registry: report.packages.values().any(|package| package.is_reported()),
        }
    }
}

impl Authentication {
    /// Returns `None` if no package was checked.
    fn of<'a>(packages: impl IntoIterator<Item = &'a provider::Authentication>) -> Option<Self> {
        let mut packages = packages.into_iter().peekable();
        let result = match packages.peek()? {
            provider::Authentication::Signed { .. } => AuthenticationResult::Signed,
            provider::Authentication::SigningSkipped => AuthenticationResult::SigningSkipped,
            provider::Authentication::HashesChecked => AuthenticationResult::HashesChecked,
            provider::Authentication::Unauthenticated => AuthenticationResult::Unauthenticated,
        };
        let key = |package: &provider::Authentication| match package {
            provider::Authentication::Signed { key_id, fingerprint } => Some((key_id.clone(), fingerprint.clone())),
            _ => None,
        };
        let (key_ids, fingerprints) = packages.filter_map(key).unzip();
        Some(Self { result, key_ids, fingerprints })
    }
}

impl From<Row> for ComparedProvider {
    fn from(row: Row) -> Self {
        let (version_change, hashes_replaced) = (row.version_change, row.hashes_replaced);
        Self { version_change, hash_counts: row.hash_counts, hashes_replaced, row }
    }
}

impl From<Row> for ComparedModule {
    fn from(mut row: Row) -> Self {
        let (source, package) = (take(&mut row.source), take(&mut row.package));
        let stayed = source.old == source.new && row.keeps_version();
        let package_replaced = stayed && package.old.is_some() && package.new.is_some() && package.old != package.new;
        Self { source, package, package_replaced, entry: row.into() }
    }
}

impl Versions {
    /// Versions of a provider.
    fn of(planned: &Move) -> Option<Self> {
        let Subject::Provider(address) = &planned.subject else { return None };
        let Move { locked, selected, releases, .. } = planned;
        let (repository, version) = (releases.repository.as_ref(), selected.version.as_ref());
        let locked_version = locked.as_ref().and_then(|locked| locked.version.as_ref());
        Some(Self {
            address: address.to_string(),
            locked: locked.as_ref().map(|locked| locked.text.clone()),
            allowed: selected.text.clone(),
            change: change(planned),
            newest: planned.newest.text.clone(),
            published: releases.published.as_ref().map(ToString::to_string),
            newest_published: releases.newest_published.as_ref().map(ToString::to_string),
            release_notes: repository.zip(version).map(|(repository, version)| repository.release_notes(version)),
            comparison: repository
                .zip(locked_version.zip(version))
                .map(|(repository, (locked, version))| repository.comparison(locked, version)),
            held_back_by: planned.held_back_by.iter().map(HoldingBack::from).collect(),
            too_young: is_too_young(planned),
        })
    }
}

impl ModuleVersions {
    /// Versions of the module of a call.
    fn of(planned: &Move) -> Option<Self> {
        let Subject::Module { key, source } = &planned.subject else { return None };
        Some(Self {
            address: key.clone(),
            source: source.clone(),
            locked: planned.locked.as_ref().map(|locked| locked.text.clone()),
            allowed: planned.selected.text.clone(),
            change: change(planned),
            newest: planned.newest.text.clone(),
            held_back_by: planned.held_back_by.iter().map(HoldingBack::from).collect(),
            too_young: is_too_young(planned),
        })
    }
}

fn change(planned: &Move) -> Option<VersionMove> {
    VersionMove::between(planned.locked.as_ref()?.version.as_ref()?, planned.selected.version.as_ref()?)
}

fn is_too_young(planned: &Move) -> bool {
    matches!(planned.skipped, Some(SkipReason::TooYoung | SkipReason::AgeNotKnown))
}

impl From<&HoldingConstraint> for HoldingBack {
    fn from(HoldingConstraint { text, location, .. }: &HoldingConstraint) -> Self {
        Self { constraints: text.clone(), file: shown(location.path()), line: location.line_column().0 }
    }
}

fn constraint_edits(edits: &[rewrite::ConstraintEdit]) -> Vec<ConstraintEdit> {
    let edit = |edit: &rewrite::ConstraintEdit| {
        let (line, column) = edit.location.line_column();
        let [old, new] = old_and_new(edit);
        ConstraintEdit { file: shown(edit.location.path()), line, column, old, new }
    };
    edits.iter().map(edit).collect()
}
