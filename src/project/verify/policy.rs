//! Findings about violations of the project's policy, and registry data about providers.

use std::collections::BTreeSet;
use std::path::{self, Path};

use super::audited_root::{AuditedRoot, FileState, Named, VerifiedRoot, finding};
use crate::configuration::{DATA_DIRECTORY, ModuleCall};
use crate::diagnostic::words::few;
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Severity};
use crate::lockfile::{Entry, module_name};
use crate::modules::{Unpinned, origin};
use crate::packages::{DemandedAge, FilesystemMirror};
use crate::project::root_module::RootModule;
use crate::project::similar_names::{Lookalike, Part, look_alike};
use crate::project::unit::TerragruntUnit;
use crate::provider::{Authentication, Dialect, ProviderAddress};
use crate::settings::Settings;
use crate::system::parallel::{self, WAITING_REQUESTS};

/// Directory beside the configuration that OpenTofu and Terraform use as a mirror.
const BUNDLED: &str = "terraform.d/plugins";

/// Packages beside the configuration or the local module of a Terragrunt unit, which OpenTofu and
/// Terraform install instead of the registry's. They ignore the flat layout of Terraform 0.12.
pub(super) fn bundled_plugins(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let modules = root
        .module
        .units
        .iter()
        .filter_map(TerragruntUnit::shown_module);
    for directory in [root.module.path().to_owned()].into_iter().chain(modules) {
        report
            .findings
            .extend(bundled(&directory.join(BUNDLED), root.module.dialect));
    }
}

fn bundled(directory: &Path, dialect: Dialect) -> Option<Diagnostic> {
    let mirror = FilesystemMirror::new(directory);
    let providers = mirror.providers(dialect);
    let mut others = mirror.directories();
    others.retain(|name| {
        !providers
            .iter()
            .any(|provider| provider.to_string() == *name)
    });
    let names: Vec<_> = providers
        .iter()
        .map(|provider| provider.short(dialect))
        .chain(others)
        .collect();
    if names.is_empty() {
        return None;
    }
    let names = few(names);
    let message = |directory: path::Display<'_>| {
        format!(
            "{directory} contains packages of {names}, which are installed instead of the registry's"
        )
    };
    let finding = Diagnostic::finding(Code::BundledPlugins, "")
        .naming(directory, message)
        .shared(message(Path::new(BUNDLED).display()));
    Some(finding.help("remove this directory, or name a mirror in the CLI configuration"))
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
    let calls = root.declared.own_package_calls().into_iter();
    report
        .findings
        .extend(calls.filter_map(|call| Some(unpinned(call, &call.request()?.unpinned()?))));
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
        let location = call.entry.as_ref().unwrap_or(&call.location);
        let seen_at = (location, &call.source);
        if seen.contains(&seen_at) {
            continue;
        }
        seen.push(seen_at);
        let (reason, help) = match origin(&call.source) {
            Ok(origin) if settings.policy.allows_module(&origin, *dialect) => continue,
            Ok(origin) => (
                format!("its source is {origin}"),
                format!(
                    "use another module, or add {:?} to allowed-modules in provlock.toml",
                    origin.pattern_of_publisher()
                ),
            ),
            Err(why) => (
                why.to_owned(),
                "use the usual address of an allowed module".to_owned(),
            ),
        };
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
        let error = finding(Code::ModuleNotAllowed, message, &part.location, "");
        report
            .findings
            .push(error.help("write the source as a string, so that the policy can allow it"));
    }
}

/// Addresses and versions that the policy does not allow, and addresses that look like well-known
/// ones.
pub(super) fn addresses(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    report
        .findings
        .extend(root.named().flat_map(|named| check_address(root, named)));
}

fn check_address(root: &AuditedRoot<'_>, named: Named<'_>) -> Vec<Diagnostic> {
    let (policy, dialect, address) = (
        &root.module.settings.policy,
        root.module.dialect,
        named.address,
    );
    let mut errors = policy.against_address(address, dialect);
    let constraints = named
        .requirement
        .map(|requirement| &requirement.constraints);
    errors.extend(
        constraints
            .and_then(|constraints| policy.against_constraints(address, dialect, constraints)),
    );
    let locked = named.entry.into_iter();
    errors.extend(
        locked.flat_map(|entry| policy.against_version(address, dialect, &entry.locked.version)),
    );
    errors.extend(looks_like_another(
        root.module,
        root.base.as_ref().map(|base| &base.facts.providers),
        address,
    ));
    errors.into_iter().map(|error| named.place(error)).collect()
}

/// An address that looks like a well-known one, unless the policy names it. `known` contains the
/// providers of the base, whose hosts are accepted.
pub(in crate::project) fn looks_like_another(
    root: &RootModule,
    known: Option<&BTreeSet<ProviderAddress>>,
    address: &ProviderAddress,
) -> Option<Diagnostic> {
    let Lookalike { like, part } = look_alike(address)?;
    let RootModule {
        settings: Settings { policy, .. },
        dialect,
        ..
    } = root;
    let was_there = |known: &BTreeSet<ProviderAddress>| {
        known.iter().any(|one| one.hostname == address.hostname)
    };
    let is_meant = match part {
        Part::Provider => false,
        Part::Host => policy.names_host(address) || known.is_some_and(was_there),
        Part::NewHost => policy.names_host(address) || known.is_none_or(was_there),
    };
    if is_meant || policy.names(address, *dialect) {
        return None;
    }
    let what = match part {
        Part::Provider => "its namespace to allowed-namespaces".to_owned(),
        Part::Host | Part::NewHost => format!("{:?} to allowed-hosts", address.hostname.as_ascii()),
    };
    let error = Diagnostic::finding(
        Code::Lookalike,
        format!("{address} looks like {like}, but is not"),
    );
    Some(error.help(format!(
        "correct the source; if the address is right, add {what} in provlock.toml"
    )))
}

/// Signatures of an entry's release that the policy does not accept.
pub(super) fn check_signature(
    root: &AuditedRoot<'_>,
    entry: &Entry,
    found: &Authentication,
) -> Vec<Diagnostic> {
    let RootModule {
        settings, dialect, ..
    } = root.module;
    let errors =
        settings
            .policy
            .against_signature(&entry.address, *dialect, &root.release(entry), found);
    errors
        .into_iter()
        .map(|error| Named::entry(entry).place(error))
        .collect()
}

/// Checks the age of every version that the change brings.
pub(super) fn check_ages(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let Some(demanded) = root.min_age else { return };
    let check = |entry| check_age(root, entry, demanded);
    let mut versions = new_versions(root);
    versions.retain(|entry| root.is_requested(&entry.address));
    report.findings.extend(
        parallel::map(versions, WAITING_REQUESTS, check)
            .into_iter()
            .flatten(),
    );
}

/// Entries with a version that the lock file of the base does not have. If that file cannot be
/// read, all versions are new.
fn new_versions<'a>(root: &'a AuditedRoot<'_>) -> Vec<&'a Entry> {
    let RootModule {
        settings, dialect, ..
    } = root.module;
    let before = root.lock_file_before();
    let is_new = |entry: &&Entry| {
        let before = before.and_then(|before| before.locks().get(&entry.address));
        let is_known = before.is_some_and(|before| before.version == entry.locked.version);
        !is_known
            && !settings
                .policy
                .is_exempt_from_min_age(&entry.address, *dialect)
    };
    let has_changes = root.min_age.is_some() && root.base.is_some();
    if has_changes {
        root.entries().iter().filter(is_new).collect()
    } else {
        Vec::new()
    }
}

fn check_age(root: &AuditedRoot<'_>, entry: &Entry, demanded: DemandedAge) -> Option<Diagnostic> {
    let release = root.release(entry);
    let place = |message| finding(Code::VersionTooYoung, message, entry.version(), "");
    let Some((listings, source)) = root
        .online
        .and_then(|online| Some((online.listings?, online.source)))
    else {
        let warning = place(format!(
            "{release} is new, and its age was not checked against min-age"
        ));
        return Some(
            Diagnostic {
                severity: Severity::Warning,
                ..warning
            }
            .help(Remedy::verify_online()),
        );
    };
    let not_old_enough = demanded.rejects(|| {
        listings
            .dates
            .published(&entry.address, &entry.locked.version, source)
    })?;
    let error = place(format!(
        "{release} may not be used yet: {}",
        not_old_enough.why
    ));
    Some(error.help("wait until it is old enough, or lock an older version"))
}

/// Asks about every provider if the policy depends on it, else about those whose dates are needed
/// anyway.
pub(super) fn registry_data(root: &AuditedRoot<'_>, report: &mut VerifiedRoot) {
    let Some((online, listings)) = root
        .online
        .and_then(|online| Some((online, online.listings?)))
    else {
        return;
    };
    if root.state != FileState::Readable {
        return;
    }
    let RootModule {
        settings: Settings { policy, .. },
        dialect,
        ..
    } = root.module;
    let of_age: Vec<_> = new_versions(root)
        .into_iter()
        .map(|entry| &entry.address)
        .collect();
    let is_asked_for =
        |named: &Named<'_>| policy.judges_listings() || of_age.contains(&named.address);
    let check = |named: Named<'_>| {
        let errors = listings.against(named.address, policy, *dialect, online.source);
        let found = errors.into_iter().chain(listings.warnings(named.address));
        found
            .map(|finding| named.place(finding))
            .collect::<Vec<_>>()
    };
    let mut named: Vec<_> = root.named().filter(is_asked_for).collect();
    named.retain(|named| root.is_requested(named.address));
    report.findings.extend(
        parallel::map(named, WAITING_REQUESTS, check)
            .into_iter()
            .flatten(),
    );
}
