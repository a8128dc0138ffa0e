//! Compares the installed modules with the locked ones.
//!
//! Codes: `module-differs`, `module-not-compared`, `module-not-installed`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::configuration::ModuleCall;
use crate::diagnostic::words::first_few;
use crate::diagnostic::{Code, Diagnostic, Help, Location, Message, Remedy};
use crate::lockfile::{Entry, LockedModule};
use crate::modules::installed::{Installed, Manifest};
use crate::modules::installed_copy::{self, Comparison};
use crate::modules::package_hash::{self, Listing};
use crate::project::verify::audited_root::{AuditedRoot, VerifiedRoot};
use crate::provider::{Hash, HashesByScheme};
use crate::system::files::{canonical_or_given, join};
use crate::system::tree::{Kind, Tree};
use crate::system::{boundary, parallel};

/// A call with its entry and the directory of its installed package.
struct InstalledCopy<'a> {
    call: &'a ModuleCall,
    entry: &'a Entry<LockedModule>,
    directory: PathBuf,
}

/// Adds the findings about the installed copies of calls, each with its entry, and about
/// modules.json, which also lists modules without a copy. Counts the copies.
pub(super) fn check_installed_copies(
    root: &AuditedRoot<'_>,
    calls: &[(&ModuleCall, &Entry<LockedModule>)],
    report: &mut VerifiedRoot,
) {
    let modules_directory = join(
        root.module.path(),
        root.module.data_directory.join("modules"),
    );
    if root.module_cache.boundary.is_outside(&modules_directory) {
        report
            .findings
            .push(boundary::outside_error(&modules_directory));
        return;
    }
    let (present, absent) = copies_of(calls, &modules_directory);

    report.installed += present.len();
    match Manifest::read(&modules_directory.join("modules.json")) {
        Ok(manifest) => {
            let findings = differences_from_manifest(root, &manifest, &present);
            report.findings.extend(findings);
        }
        Err(errors) => report.errors.extend(errors),
    }
    report
        .findings
        .extend(finding_not_installed(&absent, &modules_directory));
    report.findings.extend(differing_copies(root, &present));
}

/// The installed copies of calls, and the copies that are missing in the directory of installed
/// modules.
fn copies_of<'a>(
    calls: &[(&'a ModuleCall, &'a Entry<LockedModule>)],
    modules_directory: &Path,
) -> (Vec<InstalledCopy<'a>>, Vec<InstalledCopy<'a>>) {
    // A path of calls is installed once, however many files contain the call.
    let mut by_key = BTreeMap::new();
    for &(call, entry) in calls {
        by_key.insert(&call.key, (call, entry));
    }
    let mut present = Vec::new();
    let mut absent = Vec::new();
    for (call, entry) in by_key.into_values() {
        let directory = modules_directory.join(&call.key);
        // A broken link is a copy that differs, not a missing one.
        let is_present = Tree::Work.has(&directory);
        let copy = InstalledCopy {
            call,
            entry,
            directory,
        };
        if is_present {
            present.push(copy);
        } else {
            absent.push(copy);
        }
    }
    (present, absent)
}

fn reinstall_help() -> Help {
    Help::text("install what is locked with ").and(Remedy::Run(vec!["get".to_owned()]))
}

fn finding_not_installed(absent: &[InstalledCopy<'_>], top: &Path) -> Option<Diagnostic> {
    let first = absent.first()?;
    let names = first_few(
        absent
            .iter()
            .map(|copy| format!("module \"{}\"", copy.call.key)),
    );
    let verb = if absent.len() == 1 { "is" } else { "are" };
    let message = Message::naming(top, |top| format!("{names} {verb} not installed in {top}"));
    let warning = Diagnostic::finding(Code::ModuleNotInstalled, message)
        .at_location(first.entry.block.clone());
    Some(warning.help(reinstall_help()))
}

/// Findings about modules.json: records of a different directory, source or version, which OpenTofu
/// and Terraform would load instead; installed copies without a record; records without a call.
fn differences_from_manifest(
    root: &AuditedRoot<'_>,
    manifest: &Manifest,
    copies: &[InstalledCopy<'_>],
) -> Vec<Diagnostic> {
    let mut findings = BTreeMap::new();
    for copy in copies {
        let key = &copy.call.key;
        let finding = match manifest.modules.get(key) {
            Some(record) => finding_wrong_record(root, record, copy),
            None => Some(finding_not_listed(copy)),
        };
        if let Some(finding) = finding {
            findings.insert(key, finding);
        }
    }
    for (key, finding) in moved_calls(root, manifest) {
        findings.entry(key).or_insert(finding);
    }
    let mut findings: Vec<_> = findings.into_values().collect();
    findings.extend(finding_uncalled_records(root, manifest));
    findings
}

/// Findings about calls whose module is read from one directory and listed in a different one, by
/// the keys of the calls. A call without an installed copy, such as a call of a local module, may
/// be listed, too.
fn moved_calls<'a>(
    root: &'a AuditedRoot<'_>,
    manifest: &Manifest,
) -> Vec<(&'a String, Diagnostic)> {
    let mut moved = Vec::new();
    for ModuleCall { key, directory, .. } in &root.requirements().calls {
        if let Some(directory) = directory
            && let Some(record) = manifest.modules.get(key)
            && canonical_below_root(root, &record.dir) != canonical_below_root(root, directory)
        {
            let location = Location::of_file(&root.module.module_lock_path);
            moved.push((
                key,
                finding_wrong_list(elsewhere_message(key, record), location),
            ));
        }
    }
    moved
}

/// The finding about a record in modules.json with a different directory, or with a different
/// source or version than the call.
fn finding_wrong_record(
    root: &AuditedRoot<'_>,
    record: &Installed,
    copy: &InstalledCopy<'_>,
) -> Option<Diagnostic> {
    let ModuleCall {
        key,
        source,
        constraints,
        ..
    } = copy.call;
    let directory = canonical_or_given(&copy.directory);
    let message = if !canonical_below_root(root, &record.dir).starts_with(directory) {
        elsewhere_message(key, record)
    } else if !record.meets(source, constraints, root.module.dialect) {
        format!(
            "module \"{key}\" is installed as {}, which differs from its call",
            record.describe()
        )
    } else {
        return None;
    };
    Some(finding_wrong_list(message, copy.entry.block.clone()))
}

fn finding_not_listed(copy: &InstalledCopy<'_>) -> Diagnostic {
    let key = &copy.call.key;
    let message =
        format!("module \"{key}\" is not in the list of installed modules, so init fetches it");
    Diagnostic::finding(Code::ModuleNotInstalled, message)
        .at_location(copy.entry.block.clone())
        .help(reinstall_help())
}

fn elsewhere_message(key: &str, record: &Installed) -> String {
    format!(
        "the list of installed modules has module \"{key}\" in {}",
        record.dir.display()
    )
}

fn finding_wrong_list(message: String, location: Location) -> Diagnostic {
    Diagnostic::finding(Code::ModuleDiffers, message)
        .at_location(location)
        .help(reinstall_help())
}

/// The canonical path of a directory that is given relative to the root module.
fn canonical_below_root(root: &AuditedRoot<'_>, path: &Path) -> PathBuf {
    canonical_or_given(&join(root.module.path(), path))
}

/// The finding for records in modules.json that belong to no call; `None` if there are none, or if
/// some calls are not known.
fn finding_uncalled_records(root: &AuditedRoot<'_>, manifest: &Manifest) -> Option<Diagnostic> {
    let requirements = root.requirements();
    if requirements.is_incomplete {
        return None;
    }
    let called: BTreeSet<_> = requirements.calls.iter().map(|call| &call.key).collect();
    let mut uncalled = BTreeSet::new();
    for key in manifest.modules.keys() {
        // The empty key is the root module's own.
        if !key.is_empty() && !called.contains(key) {
            uncalled.insert(key);
        }
    }
    if uncalled.is_empty() {
        return None;
    }
    let names = first_few(uncalled.into_iter().map(|key| format!("{key:?}")));
    let message = format!(
        "the list of installed modules has {names}, which no call has, so it was not compared"
    );
    let warning = Diagnostic::finding(Code::ModuleNotCompared, message)
        .at_location(Location::of_file(&root.module.module_lock_path))
        .help(reinstall_help());
    Some(warning)
}

/// Findings about copies that differ from the locked packages, or that git changed when it checked
/// them out.
fn differing_copies(root: &AuditedRoot<'_>, copies: &[InstalledCopy<'_>]) -> Vec<Diagnostic> {
    let cores = parallel::cores();
    let listings = parallel::map(copies.iter().collect(), cores, InstalledCopy::listing);

    // A copy with the locked hash shows how others of its package differ.
    let mut twins: BTreeMap<_, &Listing> = BTreeMap::new();
    for (copy, listing) in copies.iter().zip(&listings) {
        if let Ok(listing) = listing
            && copy.has_locked_hash(listing)
        {
            twins.insert(package_of(copy), listing);
        }
    }

    let pairs = copies.iter().zip(&listings).collect();
    let findings = parallel::map(pairs, cores, |(copy, listing)| {
        let twin = twins.get(&package_of(copy)).copied();
        let comparison = match listing {
            Ok(listing) => compare_copy(root, copy, listing, twin),
            Err(why) => Comparison::Different(why.clone()),
        };
        match comparison {
            Comparison::Different(why) => {
                Some(finding_copy_differs(copy, listing.as_ref().ok(), &why))
            }
            Comparison::Same { not_compared } if !not_compared.is_empty() => {
                Some(finding_partly_compared(copy, &not_compared))
            }
            Comparison::Same { .. } => None,
        }
    });
    findings.into_iter().flatten().collect()
}

impl InstalledCopy<'_> {
    /// Reads the files of the copy. The error is a verb phrase.
    fn listing(&self) -> Result<Listing, String> {
        let kind = Tree::Work.own_kind(&self.directory);
        if kind.is_some_and(|kind| kind != Kind::Directory) {
            return Err("is not a directory".to_owned());
        }
        package_hash::listing(&self.directory)
            .map_err(|problem| format!("cannot be compared: {problem}"))
    }

    fn has_locked_hash(&self, listing: &Listing) -> bool {
        self.entry.locked.hashes.contains(&listing.h1())
    }
}

/// Package and hashes that copies of the same release share.
fn package_of<'a>(copy: &InstalledCopy<'a>) -> (&'a String, &'a BTreeSet<Hash>) {
    (&copy.entry.locked.package, &copy.entry.locked.hashes)
}

/// Compares a copy with its entry. If it does not have the locked hash, compares its files with the
/// files of the locked package, if that is on this machine.
///
/// `twin` is a copy of the same package that has the locked hash.
fn compare_copy(
    root: &AuditedRoot<'_>,
    copy: &InstalledCopy<'_>,
    listing: &Listing,
    twin: Option<&Listing>,
) -> Comparison {
    let locked = &copy.entry.locked;
    // The hash shows no .git that was added, because it covers none.
    if let Some(name) = package_hash::path_of_added_git(&copy.directory, &locked.package) {
        let name = name.display().to_string();
        return Comparison::Different(format!("has {name:?}, which is not part of the package"));
    }
    if copy.has_locked_hash(listing) {
        return Comparison::Same {
            not_compared: Vec::new(),
        };
    }
    if listing.is_empty() {
        return Comparison::Different("is empty".to_owned());
    }

    let is_from_git = locked.package.starts_with("git::");
    if let Some(twin) = twin {
        return installed_copy::compare(listing, twin, is_from_git);
    }
    // No copy here is whole, so that the package itself shows how this one differs.
    if let Some(fetcher) = &root.module_cache.fetcher
        && let Some(package) =
            fetcher.locked_package_here(&copy.call.source, locked, &copy.directory)
        && let Ok(locked_listing) = package_hash::listing(&package)
    {
        return installed_copy::compare(listing, &locked_listing, is_from_git);
    }
    Comparison::Different("has a different hash".to_owned())
}

/// The finding for files that git changed when it checked the copy out.
fn finding_partly_compared(copy: &InstalledCopy<'_>, files: &[String]) -> Diagnostic {
    let InstalledCopy {
        call,
        entry,
        directory,
    } = copy;
    let names = first_few(files.iter().map(|name| format!("{name:?}")));
    let verb = if files.len() == 1 { "was" } else { "were" };
    let message = Message::naming(directory, |directory| {
        let key = &call.key;
        format!("module \"{key}\" is compared in part: {names} in {directory} {verb} not checked")
    });
    Diagnostic::finding(Code::ModuleNotCompared, message)
        .at_location(entry.block.clone())
        .note("a filter or an encoding in .gitattributes lets git change such a file when init checks it out")
        .help(Help::text("install the files of the commit with ").and(Remedy::Run(vec!["get".to_owned()])))
}

/// The finding about a copy that is not the locked package. `why` continues the message.
fn finding_copy_differs(
    copy: &InstalledCopy<'_>,
    listing: Option<&Listing>,
    why: &str,
) -> Diagnostic {
    let HashesByScheme {
        h1,
        zh: _,
        unknown: _,
        malformed: _,
    } = copy.entry.locked.hashes.iter().collect();
    let locked: Vec<_> = h1.into_iter().map(Hash::as_str).collect();
    let key = &copy.call.key;
    let message = Message::naming(&copy.directory, |directory| {
        format!("module \"{key}\" is not installed as locked: {directory} {why}")
    });
    let mut error = Diagnostic::finding(Code::ModuleDiffers, message)
        .at_location(copy.entry.block.clone())
        .note(format!("locked hash: {}", locked.join(", ")))
        .help(reinstall_help());
    if let Some(listing) = listing {
        error = error.note(format!("installed hash: {}", listing.h1()));
    }
    error
}
