//! The output of `mirror`: one line per release and per removed file, then a summary.

use std::collections::{BTreeMap, BTreeSet};

use provlock::project::mirror::{
    MirrorAction, MirrorTarget, Mirrored, MirroredPackage, RemovedFile,
};
use provlock::provider::{ProviderAddress, Version};

use super::foreign::printable;
use super::style::{Color, Symbol, TextStyle, bytes, count, enumerate, symbol_rows};

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
    let is_shown = |(action, _): &(MirrorAction, _)| style.verbose || *action != MirrorAction::Kept;
    let shown = releases
        .values()
        .map(|release| (action(release), release))
        .filter(is_shown);
    let rows = shown
        .map(|(action, release)| (symbol(action), row(action, release)))
        .collect();
    let removed = mirrored.removed.iter().map(|RemovedFile { path, size }| {
        (
            ("-", Color::Red),
            vec![path.display().to_string(), bytes(*size)],
        )
    });
    [
        symbol_rows(rows, style),
        symbol_rows(removed.collect(), style),
    ]
    .concat()
}

/// Returns the greatest change among the packages of a release.
fn action(release: &[&MirroredPackage]) -> MirrorAction {
    release
        .iter()
        .map(|package| package.action)
        .max()
        .unwrap_or(MirrorAction::Kept)
}

fn symbol(action: MirrorAction) -> Symbol {
    match action {
        MirrorAction::Kept => ("=", Color::Dim),
        MirrorAction::Added => ("+", Color::Green),
        MirrorAction::Replaced => ("~", Color::Yellow),
    }
}

/// The provider, its version, the platforms, the authentication of the packages, their size, and
/// the replaced files.
fn row(action: MirrorAction, release: &[&MirroredPackage]) -> Vec<String> {
    let is_done = |package: &&&MirroredPackage| package.action >= action.min(MirrorAction::Added);
    let done: Vec<_> = release.iter().filter(is_done).copied().collect();
    let replaced: Vec<_> = done
        .iter()
        .filter(|package| package.action == MirrorAction::Replaced)
        .copied()
        .collect();
    let replaced = match &replaced[..] {
        [] => String::new(),
        replaced => format!(
            "{} was there with hashes that are not locked",
            platforms(replaced)
        ),
    };
    let authentication: BTreeSet<_> = done
        .iter()
        .filter_map(|package| package.authentication.as_ref())
        .map(ToString::to_string)
        .collect();
    let authentication = authentication.into_iter().collect::<Vec<_>>().join("; ");
    let (name, version) = release.first().map_or_else(Default::default, |package| {
        (
            package.package.address.short(package.dialect),
            package.package.version.to_string(),
        )
    });
    vec![
        name,
        version,
        platforms(&done),
        authentication,
        size(&done).map(bytes).unwrap_or_default(),
        replaced,
    ]
}

/// `darwin_arm64 and linux_amd64`
fn platforms(packages: &[&MirroredPackage]) -> String {
    enumerate(packages.iter().map(|package| &package.package.platform))
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
        return errors
            .is_empty()
            .then(|| "Nothing to mirror: the lock files name no provider".to_owned());
    }
    let providers: BTreeSet<_> = packages
        .iter()
        .map(|package| &package.package.address)
        .collect();
    let what = format!(
        "{} of {}",
        count(packages.len(), "package"),
        count(providers.len(), "provider")
    );
    let what = format!("{what} in {}", printable(&target.to_string()));
    let number = |number: usize, what: &str, size: Option<u64>| {
        let size = size
            .map(|size| format!(" ({})", bytes(size)))
            .unwrap_or_default();
        (number > 0).then(|| format!("{number} {what}{size}"))
    };
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
    let parts = [
        number(fetched.len(), downloaded, size(&fetched)),
        number(replacements, replaced, None),
        number(kept.len(), "already there", size(&kept)),
        number(
            removed.len(),
            &format!("{files} {is_removed}"),
            Some(removed.iter().map(|file| file.size).sum()),
        ),
        number(documents, &format!("{noun} {written}"), None),
    ];
    Some(format!(
        "{verb} {what}: {}",
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    ))
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
