//! Compares the installed modules with the locked ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::configuration::ModuleCall;
use crate::diagnostic::words::few;
use crate::diagnostic::{Code, Diagnostic, Help, Location, Remedy};
use crate::lockfile::{Entry, LockedModule};
use crate::modules::installed::Manifest;
use crate::modules::installed_copy::{self, Comparison};
use crate::modules::package_hash::{self, Listing};
use crate::project::verify::audited_root::{AuditedRoot, VerifiedRoot};
use crate::provider::{Hash, HashesByScheme};
use crate::system::files::{canonical_or_given, join};
use crate::system::{boundary, parallel};

/// A call with its entry and the directory of its installed package.
struct Copy<'a> {
    call: &'a ModuleCall,
    entry: &'a Entry<LockedModule>,
    directory: PathBuf,
}

/// Compares the installed copy of each call that matches its entry.
pub(super) fn check(
    root: &AuditedRoot<'_>,
    calls: &[(&ModuleCall, &Entry<LockedModule>)],
    report: &mut VerifiedRoot,
) {
    let top = join(
        root.module.path(),
        root.module.data_directory.join("modules"),
    );
    if root.packages.boundary.is_outside(&top) {
        report.findings.push(boundary::refused(&top));
        return;
    }
    let mut copies: BTreeMap<&String, Copy<'_>> = BTreeMap::new();
    for &(call, entry) in calls {
        copies.insert(
            &call.key,
            Copy {
                call,
                entry,
                directory: top.join(&call.key),
            },
        );
    }
    let (present, absent): (Vec<_>, Vec<_>) = copies
        .into_values()
        .partition(|copy| copy.directory.symlink_metadata().is_ok());
    report.installed += present.len();
    match Manifest::read(&top.join("modules.json")) {
        Ok(manifest) => report.findings.extend(listed(root, &manifest, &present)),
        Err(errors) => report.errors.extend(errors),
    }
    report.findings.extend(not_installed(&absent, &top));
    report.findings.extend(differing(root, &present));
}

fn help() -> Help {
    Help::text("install what is locked with ").and(Remedy::Run(vec!["get".to_owned()]))
}

fn not_installed(absent: &[Copy<'_>], top: &Path) -> Option<Diagnostic> {
    let first = absent.first()?;
    let names = few(absent
        .iter()
        .map(|copy| format!("module \"{}\"", copy.call.key)));
    let verb = if absent.len() == 1 { "is" } else { "are" };
    let warning = Diagnostic::finding(Code::ModuleNotInstalled, "")
        .naming(top, |top| format!("{names} {verb} not installed in {top}"))
        .at(first.entry.block.clone(), "");
    Some(warning.help(help()))
}

/// Entries of modules.json that make OpenTofu and Terraform load a different directory, and calls
/// without an entry.
fn listed(root: &AuditedRoot<'_>, manifest: &Manifest, copies: &[Copy<'_>]) -> Vec<Diagnostic> {
    let absolute = |path: &Path| canonical_or_given(&join(root.module.path(), path));
    let elsewhere = |key: &str, listed: &Path| {
        format!(
            "the list of installed modules has module \"{key}\" in {}",
            listed.display()
        )
    };
    let error = |message, place| {
        Diagnostic::finding(Code::ModuleDiffers, message)
            .at(place, "")
            .help(help())
    };
    let mut findings = BTreeMap::new();
    for Copy {
        call,
        entry,
        directory,
    } in copies
    {
        let ModuleCall {
            key,
            source,
            constraints,
            ..
        } = call;
        let Some(record) = manifest.modules.get(key) else {
            let message = format!(
                "module \"{key}\" is not in the list of installed modules, so init fetches it"
            );
            let warning = Diagnostic::finding(Code::ModuleNotInstalled, message);
            findings.insert(key, warning.at(entry.block.clone(), "").help(help()));
            continue;
        };
        let is_own = absolute(&record.dir).starts_with(canonical_or_given(directory));
        if is_own && record.meets(source, constraints, root.module.dialect) {
            continue;
        }
        let message = if is_own {
            format!(
                "module \"{key}\" is installed as {}, which differs from its call",
                record.describe()
            )
        } else {
            elsewhere(key, &record.dir)
        };
        findings.insert(key, error(message, entry.block.clone()));
    }
    for ModuleCall { key, directory, .. } in &root.requirements().calls {
        if let Some(directory) = directory
            && let Some(record) = manifest.modules.get(key)
            && absolute(&record.dir) != absolute(directory)
        {
            let place = || Location::of_file(&root.module.module_lock_path);
            findings
                .entry(key)
                .or_insert_with(|| error(elsewhere(key, &record.dir), place()));
        }
    }
    findings
        .into_values()
        .chain(uncalled(root, manifest))
        .collect()
}

/// The finding for records in modules.json that belong to no call, unless some calls are not known.
fn uncalled(root: &AuditedRoot<'_>, manifest: &Manifest) -> Option<Diagnostic> {
    let requirements = root.requirements();
    let called: BTreeSet<_> = requirements.calls.iter().map(|call| &call.key).collect();
    let is_uncalled =
        |key: &&String| !key.is_empty() && !called.contains(key) && !requirements.is_incomplete;
    let keys: BTreeSet<_> = manifest.modules.keys().filter(is_uncalled).collect();
    if keys.is_empty() {
        return None;
    }
    let names = few(keys.into_iter().map(|key| format!("{key:?}")));
    let message = format!(
        "the list of installed modules has {names}, which no call has, so it was not compared"
    );
    let warning = Diagnostic::finding(Code::ModuleNotCompared, message);
    Some(
        warning
            .at(Location::of_file(&root.module.module_lock_path), "")
            .help(help()),
    )
}

/// Copies that differ from the locked packages.
fn differing(root: &AuditedRoot<'_>, copies: &[Copy<'_>]) -> Vec<Diagnostic> {
    let cores = parallel::cores();
    let read = |copy: &Copy<'_>| match copy.directory.symlink_metadata() {
        Ok(metadata) if !metadata.is_dir() => Err("is not a directory".to_owned()),
        _ => package_hash::listing(&copy.directory)
            .map_err(|problem| format!("cannot be compared: {problem}")),
    };
    let listings = parallel::map(copies.iter().collect(), cores, read);
    let is_whole = |entry: &Entry<LockedModule>, listing: &Listing| {
        entry.locked.hashes.contains(&listing.h1())
    };
    let mut wholes: BTreeMap<_, &Listing> = BTreeMap::new();
    for (copy, listing) in copies.iter().zip(&listings) {
        if let Ok(listing) = listing
            && is_whole(copy.entry, listing)
        {
            wholes.insert(package_of(copy), listing);
        }
    }
    let check = |(copy, listing): (&Copy<'_>, &Result<Listing, String>)| {
        let package = &copy.entry.locked.package;
        let git = listing
            .is_ok()
            .then(|| package_hash::foreign_git(&copy.directory, package))
            .flatten();
        let git = git.map(|name| {
            format!(
                "has {:?}, which is not part of the package",
                name.display().to_string()
            )
        });
        let compared = match listing {
            Err(why) => Comparison::Different(why.clone()),
            Ok(_) if git.is_some() => Comparison::Different(git.unwrap_or_default()),
            Ok(listing) if is_whole(copy.entry, listing) => return None,
            Ok(listing) if listing.is_empty() => Comparison::Different("is empty".to_owned()),
            Ok(listing) => compared(root, copy, listing, wholes.get(&package_of(copy)).copied()),
        };
        match compared {
            Comparison::Different(why) => Some(differs(copy, listing.as_ref().ok(), &why)),
            Comparison::Same { not_compared } if !not_compared.is_empty() => {
                Some(partly_compared(copy, &not_compared))
            }
            Comparison::Same { .. } => None,
        }
    };
    let differing = parallel::map(copies.iter().zip(&listings).collect(), cores, check);
    differing.into_iter().flatten().collect()
}

/// Package and hashes that copies of the same release share.
fn package_of<'a>(copy: &Copy<'a>) -> (&'a String, &'a BTreeSet<Hash>) {
    (&copy.entry.locked.package, &copy.entry.locked.hashes)
}

/// Compares a copy that does not have the locked hash with a whole package that has it.
fn compared(
    root: &AuditedRoot<'_>,
    copy: &Copy<'_>,
    listing: &Listing,
    whole: Option<&Listing>,
) -> Comparison {
    let is_from_git = copy.entry.locked.package.starts_with("git::");
    if let Some(whole) = whole {
        return installed_copy::compare(listing, whole, is_from_git);
    }
    let fetcher = root.packages.fetcher.as_ref();
    let whole = fetcher
        .and_then(|fetcher| fetcher.whole(&copy.call.source, &copy.entry.locked, &copy.directory));
    match whole.and_then(|whole| package_hash::listing(&whole).ok()) {
        Some(whole) => installed_copy::compare(listing, &whole, is_from_git),
        None => Comparison::Different("has a different hash".to_owned()),
    }
}

/// The finding for files that git changed when it checked the copy out.
fn partly_compared(copy: &Copy<'_>, files: &[String]) -> Diagnostic {
    let Copy {
        call,
        entry,
        directory,
    } = copy;
    let names = few(files.iter().map(|name| format!("{name:?}")));
    let verb = if files.len() == 1 { "was" } else { "were" };
    Diagnostic::finding(Code::ModuleNotCompared, "")
        .naming(directory, |directory| {
            let key = &call.key;
            format!("module \"{key}\" is compared in part: {names} in {directory} {verb} not checked")
        })
        .at(entry.block.clone(), "")
        .note("a filter or an encoding in .gitattributes lets git change such a file when init checks it out")
        .help(Help::text("install the files of the commit with ").and(Remedy::Run(vec!["get".to_owned()])))
}

fn differs(copy: &Copy<'_>, listing: Option<&Listing>, why: &str) -> Diagnostic {
    let Copy {
        call,
        entry,
        directory,
    } = copy;
    let key = &call.key;
    let HashesByScheme {
        h1,
        zh: _,
        unknown: _,
        malformed: _,
    } = entry.locked.hashes.iter().collect();
    let locked: Vec<_> = h1.into_iter().map(Hash::as_str).collect();
    let mut error = Diagnostic::finding(Code::ModuleDiffers, "")
        .naming(directory, |directory| {
            format!("module \"{key}\" is not installed as locked: {directory} {why}")
        })
        .at(entry.block.clone(), "")
        .note(format!("locked hash: {}", locked.join(", ")))
        .help(help());
    error
        .notes
        .extend(listing.map(|listing| format!("installed hash: {}", listing.h1())));
    error
}
