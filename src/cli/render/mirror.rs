//! The output of `mirror`: one line per release and per removed file, then a summary.

use std::collections::{BTreeMap, BTreeSet};

use provlock::project::mirror::{
    MirrorAction, MirrorTarget, Mirrored, MirroredPackage, RemovedFile,
};
use provlock::provider::{ProviderAddress, Version};

use super::foreign::printable;
use super::style::{
    Color, Symbol, TextStyle, align_rows_with_symbols, bytes, count, joined_with_and,
};

/// The packages of a version, for several platforms.
type Release<'a> = Vec<&'a MirroredPackage>;

/// Words of the summary.
struct SummaryWords {
    mirrored: &'static str,
    downloaded: &'static str,
    replaced: &'static str,
    removed: &'static str,
    written: &'static str,
}

impl SummaryWords {
    /// Words of a dry run.
    const PLANNED: Self = Self {
        mirrored: "Would mirror",
        downloaded: "to download",
        replaced: "of them to replace another file",
        removed: "to remove",
        written: "to write",
    };
    const DONE: Self = Self {
        mirrored: "Mirrored",
        downloaded: "downloaded",
        replaced: "of them replaced another file",
        removed: "removed",
        written: "written",
    };
}

/// One line for each release that changed (all of them if verbose), and one for each removed file.
pub(crate) fn lines_of_releases(mirrored: &Mirrored, style: TextStyle) -> Vec<String> {
    let mut releases: BTreeMap<(&ProviderAddress, &Version), Release<'_>> = BTreeMap::new();
    for package in &mirrored.packages {
        releases
            .entry((&package.package.address, &package.package.version))
            .or_default()
            .push(package);
    }
    let mut changed = Vec::new();
    for release in releases.values() {
        let action = greatest_action(release);
        if style.verbose || action != MirrorAction::Kept {
            changed.push((symbol_of(action), release_row(action, release)));
        }
    }
    let mut removed = Vec::new();
    for RemovedFile { path, size } in &mirrored.removed {
        let cells = vec![path.display().to_string(), bytes(*size)];
        removed.push((("-", Color::Red), cells));
    }
    [
        align_rows_with_symbols(changed, style),
        align_rows_with_symbols(removed, style),
    ]
    .concat()
}

/// Returns the greatest change among the packages of a release.
fn greatest_action(release: &[&MirroredPackage]) -> MirrorAction {
    release
        .iter()
        .map(|package| package.action)
        .max()
        .unwrap_or(MirrorAction::Kept)
}

pub(super) fn symbol_of(action: MirrorAction) -> Symbol {
    match action {
        MirrorAction::Kept => ("=", Color::Dim),
        MirrorAction::Added => ("+", Color::Green),
        MirrorAction::Replaced => ("~", Color::Yellow),
    }
}

/// Returns the cells of a release: the provider, its version, and of the packages that have
/// changed, or of all if none has, the platforms, the authentication, the size and the replaced
/// files.
fn release_row(action: MirrorAction, release: &[&MirroredPackage]) -> Vec<String> {
    // Of a changed release, kept packages are not listed.
    let mut listed = release.to_vec();
    listed.retain(|package| package.action >= action.min(MirrorAction::Added));
    let mut replaced = listed.clone();
    replaced.retain(|package| package.action == MirrorAction::Replaced);

    let mut note = String::new();
    if !replaced.is_empty() {
        let platforms = names_of_platforms(&replaced);
        note = format!("{platforms} was there with hashes that are not locked");
    }
    let mut authentications = BTreeSet::new();
    for package in &listed {
        authentications.extend(package.authentication.as_ref().map(ToString::to_string));
    }
    let authentications: Vec<_> = authentications.into_iter().collect();
    let mut name = String::new();
    let mut version = String::new();
    if let Some(first) = release.first() {
        name = first.package.address.short(first.dialect);
        version = first.package.version.to_string();
    }
    vec![
        name,
        version,
        names_of_platforms(&listed),
        authentications.join("; "),
        total_size(&listed).map(bytes).unwrap_or_default(),
        note,
    ]
}

/// `darwin_arm64 and linux_amd64`
fn names_of_platforms(packages: &[&MirroredPackage]) -> String {
    joined_with_and(packages.iter().map(|package| &package.package.platform))
}

/// `Mirrored 4 packages of 2 providers in DIR: 1 downloaded (118.40 MiB), 3 already there (96.00
/// MiB)`; `None` if errors prevented all of them.
pub(crate) fn summary_line(
    mirrored: &Mirrored,
    target: &MirrorTarget,
    is_dry_run: bool,
) -> Option<String> {
    let Mirrored {
        packages,
        removed,
        errors,
        ..
    } = mirrored;
    let (kept, fetched): (Vec<_>, Vec<_>) = packages
        .iter()
        .partition(|package| package.action == MirrorAction::Kept);
    let is_unchanged = fetched.is_empty() && removed.is_empty();
    // Fetched and removed packages always change documents, so that these are counted only if
    // nothing else changed.
    let documents = if is_unchanged { mirrored.documents } else { 0 };
    if is_unchanged && kept.is_empty() {
        if !errors.is_empty() {
            return None;
        }
        return Some("Nothing to mirror: the lock files name no provider".to_owned());
    }
    let providers: BTreeSet<_> = packages
        .iter()
        .map(|package| &package.package.address)
        .collect();
    let all_packages = format!(
        "{} of {} in {}",
        count(packages.len(), "package"),
        count(providers.len(), "provider"),
        printable(&target.to_string())
    );
    if is_unchanged && documents == 0 && errors.is_empty() {
        return Some(format!(
            "Up to date: {all_packages} ({})",
            bytes(total_size(&kept).unwrap_or_default())
        ));
    }
    let words = if is_dry_run {
        SummaryWords::PLANNED
    } else {
        SummaryWords::DONE
    };
    let replacements = fetched
        .iter()
        .filter(|package| package.action == MirrorAction::Replaced)
        .count();
    let files = if removed.len() == 1 { "file" } else { "files" };
    let noun = if documents == 1 {
        "document"
    } else {
        "documents"
    };
    let mut parts = Vec::new();
    for (number, phrase, size) in [
        (fetched.len(), words.downloaded, total_size(&fetched)),
        (replacements, words.replaced, None),
        (kept.len(), "already there", total_size(&kept)),
        (
            removed.len(),
            &format!("{files} {}", words.removed),
            Some(removed.iter().map(|file| file.size).sum()),
        ),
        (documents, &format!("{noun} {}", words.written), None),
    ] {
        if number == 0 {
            continue;
        }
        match size {
            Some(size) => parts.push(format!("{number} {phrase} ({})", bytes(size))),
            None => parts.push(format!("{number} {phrase}")),
        }
    }
    Some(format!(
        "{} {all_packages}: {}",
        words.mirrored,
        parts.join(", ")
    ))
}

/// The line about packages that a dry run did not download, so that the source and the policy may
/// refuse them.
pub(crate) fn line_about_not_checked(
    mirrored: &Mirrored,
    is_dry_run: bool,
) -> Option<&'static str> {
    let is_fetched = mirrored
        .packages
        .iter()
        .any(|package| package.action != MirrorAction::Kept);
    let line = "Not checked: whether the packages to download exist and their keys are allowed";
    if is_dry_run && is_fetched {
        Some(line)
    } else {
        None
    }
}

/// The size of packages in bytes, if all sizes are known.
fn total_size(packages: &[&MirroredPackage]) -> Option<u64> {
    packages.iter().map(|package| package.size).sum()
}
