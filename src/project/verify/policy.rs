//! Findings about violations of the project's policy, and registry data about providers.

use std::collections::BTreeSet;
use std::path::Path;

use super::audited_root::{AuditedRoot, FileState, Named, VerifiedRoot, finding};
use crate::configuration::{DATA_DIRECTORY, ModuleCall};
use crate::diagnostic::words::few;
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Severity};
use crate::lockfile::{Entry, module_name};
use crate::modules::{Unpinned, origin};
use crate::packages::{DemandedAge, FilesystemMirror};
use crate::project::root_module::RootModule;
use crate::project::similar_names::imitation;
use crate::provider::{Authentication, Dialect};
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Directory beside the configuration that OpenTofu and Terraform use as a mirror.
const BUNDLED: &str = "terraform.d/plugins";

/// Packages beside the configuration or the local module of a Terragrunt unit, which OpenTofu and
/// Terraform install instead of the registry's. They ignore the flat layout of Terraform 0.12.
pub(super) fn bundled_plugins(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let mut directories = vec![root.module.path().to_owned()];
    for unit in &root.module.units {
        directories.extend(unit.shown_module());
    }
    for directory in directories {
        let finding = bundled(&directory.join(BUNDLED), root.module.dialect);
        report.findings.extend(finding);
    }
}

fn bundled(directory: &Path, dialect: Dialect) -> Option<Diagnostic> {
    let mirror = FilesystemMirror::new(directory);
    let mut others = mirror.directories();
    let mut names = Vec::new();
    for provider in mirror.providers(dialect) {
        others.retain(|name| provider.to_string() != *name);
        names.push(provider.short(dialect));
    }
    names.extend(others);
    if names.is_empty() {
        return None;
    }
    let contains = format!(
        "contains packages of {}, which are installed instead of the registry's",
        few(names)
    );
    let finding = Diagnostic::finding(Code::BundledPlugins, "")
        .naming(directory, |directory| format!("{directory} {contains}"))
        .shared(format!("{BUNDLED} {contains}"))
        .help("remove this directory, or name a mirror in the CLI configuration");
    Some(finding)
}

/// Tracked files below the data directory, which `init` trusts as installed by itself.
pub(super) fn tracked_data(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let Some(first) = root.tracked_data.first() else {
        return;
    };
    let files = match root.tracked_data.len() {
        1 => String::new(),
        count => format!("{count} files such as "),
    };
    let help = if first.starts_with(root.module.lock_path.with_file_name(DATA_DIRECTORY)) {
        Help::from(Remedy::UntrackDataDirectory).and_text(", and add .terraform/ to .gitignore")
    } else if first.iter().any(|part| part == DATA_DIRECTORY) {
        "remove this directory from git, and add .terraform/ to .gitignore".into()
    } else {
        "remove the directory of TF_DATA_DIR from git, and add it to .gitignore".into()
    };
    let finding = Diagnostic::finding(Code::TrackedDataDirectory, "").naming(first, |first| {
        format!("git tracks {files}{first}, which init would trust as installed by itself")
    });
    report.findings.push(finding.help(help));
}

/// Module calls that are not pinned, if the policy demands it.
pub(super) fn unpinned_modules(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    if !root.module.settings.policy.pins_modules() {
        return;
    }
    for call in root.declared.own_package_calls() {
        if let Some(request) = call.request()
            && let Some(why) = request.unpinned()
        {
            report.findings.push(unpinned(call, &why));
        }
    }
}

fn unpinned(call: &ModuleCall, why: &Unpinned) -> Diagnostic {
    let name = call.name();
    let (message, help) = match why {
        Unpinned::AnyVersion => (
            format!("{name} has no version, so the newest is used"),
            "add a version such as \"1.2.3\" or \"~> 1.2\"",
        ),
        Unpinned::DefaultBranch => (
            format!("{name} has no ref, so the newest commit of the default branch is used"),
            "add ?ref= with a full commit ID or the tag of a version",
        ),
        Unpinned::Reference(reference) => (
            format!("{name} has the ref {reference:?}, which is a branch or may be one"),
            "use a full commit ID, or a tag: refs/tags/NAME unless it looks like a version",
        ),
        Unpinned::NoChecksum => (
            format!("{name} is an archive without a checksum, so its content may change"),
            "add ?checksum=sha256: with the digest of the archive; a checksum file on the server does not pin it",
        ),
        Unpinned::Tag => (
            format!("{name} has no digest, so its tag decides"),
            "add ?digest=sha256: with its digest",
        ),
    };
    finding(
        Code::ModuleRefFloating,
        message,
        &call.location,
        "called here",
    )
    .help(help)
}

/// Module calls that the policy does not allow, of all modules that are read, and calls whose
/// source is unknown.
pub(super) fn modules_not_allowed(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let RootModule {
        settings, dialect, ..
    } = root.module;
    if !settings.policy.lists_modules() {
        return;
    }
    let mut known = BTreeSet::new();
    let mut seen = Vec::new();
    for call in root.declared.package_calls() {
        known.insert(&call.key);
        // A module that is called several times contains the same calls each time.
        let location = call.entry.as_ref().unwrap_or(&call.location);
        let seen_at = (location, &call.source);
        if seen.contains(&seen_at) {
            continue;
        }
        seen.push(seen_at);

        let reason;
        let help;
        match origin(&call.source) {
            Ok(origin) if settings.policy.allows_module(&origin, *dialect) => continue,
            Ok(origin) => {
                reason = format!("its source is {origin}");
                help = format!(
                    "use another module, or add {:?} to allowed-modules in provlock.toml",
                    origin.pattern_of_publisher()
                );
            }
            Err(why) => {
                reason = why.to_owned();
                help = "use the usual address of an allowed module".to_owned();
            }
        }
        let message = format!("the policy does not allow {}: {reason}", call.name());
        let error = Diagnostic::finding(Code::ModuleNotAllowed, message);
        report.findings.push(call.located(error).help(help));
    }

    for part in &root.declared.unknown {
        // In a directory of the repository, its own calls are checked.
        if part.directory.is_some() || !known.insert(&part.key) {
            continue;
        }
        let name = module_name(&part.key);
        let message =
            format!("the source of {name} is unknown, so allowed-modules was not checked");
        let error = finding(Code::ModuleNotAllowed, message, &part.location, "")
            .help("write the source as a string, so that the policy can allow it");
        report.findings.push(error);
    }
}

/// Addresses and versions that the policy does not allow, and addresses that look like well-known
/// ones.
pub(super) fn addresses(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    for named in root.named() {
        report.findings.extend(check_address(root, named));
    }
}

fn check_address(root: &AuditedRoot<'_>, named: Named<'_>) -> Vec<Diagnostic> {
    let policy = &root.module.settings.policy;
    let dialect = root.module.dialect;
    let address = named.address;
    let mut errors = policy.against_address(address, dialect);
    if let Some(requirement) = named.requirement {
        errors.extend(policy.against_constraints(address, dialect, &requirement.constraints));
    }
    if let Some(entry) = named.entry {
        errors.extend(policy.against_version(address, dialect, &entry.locked.version));
    }
    let known = root.base.as_ref().map(|base| &base.facts.providers);
    errors.extend(imitation(address, policy, dialect, known));
    errors.into_iter().map(|error| named.place(error)).collect()
}

/// Signatures of an entry's release that the policy does not accept.
pub(super) fn check_signature(
    root: &AuditedRoot<'_>,
    entry: &Entry,
    authentication: &Authentication,
) -> Vec<Diagnostic> {
    let policy = &root.module.settings.policy;
    let release = root.release(entry);
    let errors = policy.against_signature(
        &entry.address,
        root.module.dialect,
        &release,
        authentication,
    );
    errors
        .into_iter()
        .map(|error| Named::entry(entry).place(error))
        .collect()
}

/// Checks the age of every version that the change brings.
pub(super) fn check_ages(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let Some(demanded) = root.min_age else { return };
    let mut entries = new_versions(root);
    entries.retain(|entry| root.is_requested(&entry.address));
    let findings = parallel::map(entries, WAITING_REQUESTS, |entry| {
        check_age(root, entry, demanded)
    });
    report.findings.extend(findings.into_iter().flatten());
}

/// Entries with a version that the lock file of the base does not have. If that file cannot be
/// read, all versions are new.
fn new_versions<'a>(root: &'a AuditedRoot<'_>) -> Vec<&'a Entry> {
    if root.min_age.is_none() || root.base.is_none() {
        return Vec::new();
    }
    let policy = &root.module.settings.policy;
    let before = root.lock_file_before();
    let mut entries = Vec::new();
    for entry in root.entries() {
        if policy.is_exempt_from_min_age(&entry.address, root.module.dialect) {
            continue;
        }
        if let Some(before) = before
            && let Some(old) = before.locks().get(&entry.address)
            && old.version == entry.locked.version
        {
            continue;
        }
        entries.push(entry);
    }
    entries
}

fn check_age(root: &AuditedRoot<'_>, entry: &Entry, demanded: DemandedAge) -> Option<Diagnostic> {
    let release = root.release(entry);
    let mut dates = None;
    if let Some(online) = root.online
        && let Some(listings) = online.listings
    {
        dates = Some((listings.dates, online.source));
    }
    let Some((dates, source)) = dates else {
        let message = format!("{release} is new, and its age was not checked against min-age");
        let mut warning = finding(Code::VersionTooYoung, message, entry.version(), "");
        warning.severity = Severity::Warning;
        return Some(warning.help(Remedy::verify_online()));
    };
    let not_old_enough =
        demanded.rejects(|| dates.published(&entry.address, &entry.locked.version, source))?;
    let message = format!("{release} may not be used yet: {}", not_old_enough.why);
    let error = finding(Code::VersionTooYoung, message, entry.version(), "");
    Some(error.help("wait until it is old enough, or lock an older version"))
}

/// Asks about every provider if the policy depends on it, else about those whose dates are needed
/// anyway.
pub(super) fn registry_data(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    if root.state != FileState::Readable {
        return;
    }
    let Some(online) = root.online else { return };
    let Some(listings) = online.listings else {
        return;
    };
    let policy = &root.module.settings.policy;
    let dialect = root.module.dialect;

    let mut with_dates = BTreeSet::new();
    for entry in new_versions(root) {
        with_dates.insert(&entry.address);
    }
    let mut providers = Vec::new();
    for named in root.named() {
        let is_needed = policy.judges_listings() || with_dates.contains(named.address);
        if is_needed && root.is_requested(named.address) {
            providers.push(named);
        }
    }

    let findings = parallel::map(providers, WAITING_REQUESTS, |named| {
        let mut findings = listings.against(named.address, policy, dialect, online.source);
        findings.extend(listings.warnings(named.address));
        (named, findings)
    });
    for (named, findings) in findings {
        for finding in findings {
            report.findings.push(named.place(finding));
        }
    }
}
