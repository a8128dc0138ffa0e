//! The output of `mirror`: one line per release and per removed file, then a summary.

use std::collections::{BTreeMap, BTreeSet};

use provlock::project::mirror::{
    MirrorAction, MirrorTarget, Mirrored, MirroredPackage, RemovedFile,
};
use provlock::provider::{ProviderAddress, Version};

use super::foreign::printable;
use super::style::{Color, Symbol, TextStyle, bytes, count, joined_with_and, symbol_rows};

/// The packages of a version, for several platforms.
type Release<'a> = Vec<&'a MirroredPackage>;

/// One line for each release that changed (all of them if verbose), and one for each removed file.
pub(crate) fn lines(mirrored: &Mirrored, style: TextStyle) -> Vec<String> {
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
            changed.push((symbol_of(action), row(action, release)));
        }
    }
    let mut removed = Vec::new();
    for RemovedFile { path, size } in &mirrored.removed {
        let cells = vec![path.display().to_string(), bytes(*size)];
        removed.push((("-", Color::Red), cells));
    }
    [symbol_rows(changed, style), symbol_rows(removed, style)].concat()
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

/// The provider, its version, the platforms, the authentication of the packages, their size, and
/// the replaced files.
fn row(action: MirrorAction, release: &[&MirroredPackage]) -> Vec<String> {
    let mut done = release.to_vec();
    done.retain(|package| package.action >= action.min(MirrorAction::Added));
    let mut replaced = done.clone();
    replaced.retain(|package| package.action == MirrorAction::Replaced);

    let mut note = String::new();
    if !replaced.is_empty() {
        let platforms = names_of_platforms(&replaced);
        note = format!("{platforms} was there with hashes that are not locked");
    }
    let mut authentications = BTreeSet::new();
    for package in &done {
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
        names_of_platforms(&done),
        authentications.join("; "),
        size(&done).map(bytes).unwrap_or_default(),
        note,
    ]
}

/// `darwin_arm64 and linux_amd64`
fn names_of_platforms(packages: &[&MirroredPackage]) -> String {
    joined_with_and(packages.iter().map(|package| &package.package.platform))
}

/// `Mirrored 4 packages of 2 providers in DIR: 1 downloaded (118.40 MiB), 3 already there (96.00
/// MiB)`; empty if errors prevented all of them.
pub(crate) fn summary(
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
    // Packages that are fetched or removed change documents, too.
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
    let what = format!(
        "{} of {} in {}",
        count(packages.len(), "package"),
        count(providers.len(), "provider"),
        printable(&target.to_string())
    );
    if is_unchanged && documents == 0 && errors.is_empty() {
        return Some(format!(
            "Up to date: {what} ({})",
            bytes(size(&kept).unwrap_or_default())
        ));
    }
    let [verb, downloaded, replaced, is_removed, written] = if is_dry_run {
        [
            "Would mirror",
            "to download",
            "of them to replace another file",
            "to remove",
            "to write",
        ]
    } else {
        [
            "Mirrored",
            "downloaded",
            "of them replaced another file",
            "removed",
            "written",
        ]
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
    for (number, words, size) in [
        (fetched.len(), downloaded, size(&fetched)),
        (replacements, replaced, None),
        (kept.len(), "already there", size(&kept)),
        (
            removed.len(),
            &format!("{files} {is_removed}"),
            Some(removed.iter().map(|file| file.size).sum()),
        ),
        (documents, &format!("{noun} {written}"), None),
    ] {
        if number == 0 {
            continue;
        }
        match size {
            Some(size) => parts.push(format!("{number} {words} ({})", bytes(size))),
            None => parts.push(format!("{number} {words}")),
        }
    }
    Some(format!("{verb} {what}: {}", parts.join(", ")))
}

/// The line about packages that a dry run did not download, so that the source and the policy may
/// refuse them.
pub(crate) fn not_checked(mirrored: &Mirrored, is_dry_run: bool) -> Option<&'static str> {
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
fn size(packages: &[&MirroredPackage]) -> Option<u64> {
    packages.iter().map(|package| package.size).sum()
}
