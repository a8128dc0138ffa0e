//! Reports as JSON, in the schema of `docs/output.schema.json`.

use super::help;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use provlock::address::Hostname;
use provlock::authentication::Authentication;
use provlock::cli_config::CredentialsOrigin;
use provlock::diagnostic::{Diagnostic, Location, Severity};
use provlock::hash::Hash;
use provlock::lockfile::{Change, LockedProvider};
use provlock::ops::{PlannedUpgrade, ProviderReport, Reason, UpgradePlan};
use provlock::requirements::Declaration;
use provlock::requirements::rewrite::ConstraintEdit;
use provlock::source::Fetched;
use provlock::workspace::{Locked, Workspace};
use serde_json::{Value, json};

use super::verify::CheckedRoot;

/// The version of the schema. It grows when a field is removed or changes its meaning.
const SCHEMA: u32 = 1;

/// The result of `lock`: the roots that were locked, and what stopped others.
pub(crate) fn lock(reports: &[&Locked<'_>], warnings: &[Diagnostic], errors: &[Diagnostic]) -> String {
    let roots: Vec<_> = reports.iter().map(|report| root(report)).collect();
    document("lock", &roots, warnings, errors)
}

/// The result of `upgrade`: the roots that were upgraded, and what stopped others.
pub(crate) fn upgrade(
    upgraded: &[(&Locked<'_>, &UpgradePlan)],
    warnings: &[Diagnostic],
    errors: &[Diagnostic],
) -> String {
    let root = |(report, plan): &(&Locked<'_>, &UpgradePlan)| {
        let mut root = root(report);
        root["versions"] = plan.providers.iter().map(planned).collect();
        root["constraint_edits"] = plan.edits.iter().map(constraint_edit).collect();
        root
    };
    document("upgrade", &upgraded.iter().map(root).collect::<Vec<_>>(), warnings, errors)
}

/// The result of `upgrade` when nothing is to be written.
pub(crate) fn plans(plans: &[(&Workspace, &UpgradePlan)], warnings: &[Diagnostic], errors: &[Diagnostic]) -> String {
    let root = |(workspace, plan): &(&Workspace, &UpgradePlan)| {
        json!({
            "path": shown(&workspace.root),
            "lock_file": shown(&workspace.lock_path),
            "dialect": workspace.dialect.name(),
            "changed": plan.moves(),
            "written": false,
            "providers": [],
            "versions": plan.providers.iter().map(planned).collect::<Vec<_>>(),
            "constraint_edits": plan.edits.iter().map(constraint_edit).collect::<Vec<_>>(),
        })
    };
    document("upgrade", &plans.iter().map(root).collect::<Vec<_>>(), warnings, errors)
}

fn root(report: &Locked<'_>) -> Value {
    let workspace = &report.member.workspace;
    json!({
        "path": shown(&workspace.root),
        "lock_file": shown(&workspace.lock_path),
        "dialect": workspace.dialect.name(),
        "changed": report.changed,
        "written": report.changed && report.written,
        "providers": report.outcome.providers.iter().map(provider).collect::<Vec<_>>(),
    })
}

fn planned(planned: &PlannedUpgrade) -> Value {
    let holding_back = |declaration: &Declaration| {
        let place = declaration.version.as_ref().unwrap_or(&declaration.location);
        json!({ "constraints": declaration.constraints.to_string(), "file": shown(place.path()), "line": place.line_column().0 })
    };
    json!({
        "address": planned.address.to_string(),
        "locked": planned.locked.as_ref().map(ToString::to_string),
        "allowed": planned.allowed.to_string(),
        "newest": planned.newest.to_string(),
        "held_back_by": planned.held_back_by.iter().map(holding_back).collect::<Vec<_>>(),
        "too_young": planned.skipped == Some(Reason::TooYoung),
    })
}

fn constraint_edit(edit: &ConstraintEdit) -> Value {
    let (line, column) = edit.location.line_column();
    let old = edit.location.file.text.get(edit.location.span.clone());
    json!({ "file": shown(edit.location.path()), "line": line, "column": column, "old": old, "new": edit.new })
}

/// The result of `verify`, with what could not be checked.
pub(crate) fn verify(roots: &[CheckedRoot], errors: &[Diagnostic]) -> String {
    let root = |root: &CheckedRoot| {
        json!({
            "path": shown(&root.path),
            "lock_file": shown(&root.lock_path),
            "dialect": root.dialect.name(),
            "findings": root.findings.iter().map(finding).collect::<Vec<_>>(),
        })
    };
    document("verify", &roots.iter().map(root).collect::<Vec<_>>(), &[], errors)
}

/// The result of `login` and `logout`: where the token of a host is, or was, without the token.
pub(crate) fn login(
    command: &str,
    host: &Hostname,
    origin: Option<&CredentialsOrigin>,
    warnings: &[Diagnostic],
) -> String {
    let kind = origin.map(|origin| match origin {
        CredentialsOrigin::Environment(_) => "environment",
        CredentialsOrigin::Block(_) => "file",
        CredentialsOrigin::Helper(_) => "helper",
    });
    let place = origin.map(|origin| match origin {
        CredentialsOrigin::Environment(variable) => variable.clone(),
        CredentialsOrigin::Block(path) | CredentialsOrigin::Helper(path) => path.display().to_string(),
    });
    let mut value = envelope(command, &[], warnings, &[]);
    value["credentials"] = json!({ "host": host.to_string(), "origin": kind, "place": place });
    format!("{value}\n")
}

/// The result of a command that could not do what it was asked for.
pub(crate) fn failure(command: &str, errors: &[Diagnostic]) -> String {
    document(command, &[], &[], errors)
}

/// The result of `merge`: conflicts are among its errors.
pub(crate) fn merge(warnings: &[Diagnostic], errors: &[Diagnostic]) -> String {
    document("merge", &[], warnings, errors)
}

pub(super) fn document(command: &str, roots: &[Value], warnings: &[Diagnostic], errors: &[Diagnostic]) -> String {
    format!("{}\n", envelope(command, roots, warnings, errors))
}

fn envelope(command: &str, roots: &[Value], warnings: &[Diagnostic], errors: &[Diagnostic]) -> Value {
    json!({
        "schema": SCHEMA,
        "command": command,
        "roots": roots,
        "warnings": warnings.iter().map(diagnostic).collect::<Vec<_>>(),
        "errors": errors.iter().map(diagnostic).collect::<Vec<_>>(),
    })
}

fn provider(report: &ProviderReport) -> Value {
    let difference = &report.difference;
    let action = match difference.change {
        Change::Added => "added",
        Change::Changed => "changed",
        Change::Removed => "removed",
        Change::Unchanged => "unchanged",
    };
    let empty = BTreeSet::new();
    let hashes = |provider: &Option<LockedProvider>| provider.as_ref().map_or(empty.clone(), |p| p.hashes.clone());
    let (old, new) = (hashes(&difference.old), hashes(&difference.new));
    let texts = |hashes: Vec<&Hash>| hashes.into_iter().map(Hash::as_str).map(str::to_owned).collect::<Vec<_>>();
    json!({
        "address": difference.address.to_string(),
        "action": action,
        "required": report.required,
        "version": old_and_new(difference, |provider| provider.version.to_string()),
        "constraints": old_and_new(difference, |provider| provider.constraints.to_string()),
        "hashes": {
            "added": texts(new.difference(&old).collect()),
            "removed": texts(old.difference(&new).collect()),
        },
        "platforms": report.packages.keys().map(ToString::to_string).collect::<Vec<_>>(),
        "authentication": authentication(report),
        "trusted_registry": report.packages.values().any(|package| package.reported),
    })
}

fn old_and_new(difference: &provlock::lockfile::ProviderDiff, text: impl Fn(&LockedProvider) -> String) -> Value {
    json!({ "old": difference.old.as_ref().map(&text), "new": difference.new.as_ref().map(&text) })
}

/// How a provider's packages were authenticated; `null` when none was looked at.
fn authentication(report: &ProviderReport) -> Value {
    let Some(first) = report.packages.values().next() else { return Value::Null };
    let result = match first.authentication {
        Authentication::Signed { .. } => "signed",
        Authentication::SigningSkipped => "signing-skipped",
        Authentication::HashesChecked => "hashes-checked",
        Authentication::Unauthenticated => "unauthenticated",
    };
    let key_id = |package: &Arc<Fetched>| match &package.authentication {
        Authentication::Signed { key_id, .. } => Some(key_id.clone()),
        _ => None,
    };
    let key_ids: BTreeSet<String> = report.packages.values().filter_map(key_id).collect();
    json!({ "result": result, "key_ids": key_ids })
}

/// A path as text; what JSON cannot hold of it is replaced.
fn shown(path: &Path) -> Cow<'_, str> {
    path.to_string_lossy()
}

fn finding(finding: &Diagnostic) -> Value {
    let mut value = diagnostic(finding);
    value["severity"] = match finding.severity {
        Severity::Error => "error".into(),
        Severity::Warning => "warning".into(),
    };
    value
}

fn diagnostic(diagnostic: &Diagnostic) -> Value {
    let place = diagnostic.labels.first().map(|label| &label.location);
    let position = place.map(Location::line_column);
    json!({
        "code": diagnostic.code.as_str(),
        "message": diagnostic.message,
        "notes": diagnostic.notes,
        "help": diagnostic.help.as_ref().map(help::text),
        "file": place.map(|place| shown(place.path())),
        "line": position.map(|(line, _)| line),
        "column": position.map(|(_, column)| column),
    })
}
