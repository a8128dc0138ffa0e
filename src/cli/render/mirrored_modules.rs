//! The output of `mirror --modules`: one line per package and per removed directory, then a
//! summary.

use provlock::project::mirror::{MirrorAction, MirrorTarget, MirroredModule, MirroredModules};

use super::foreign::printable;
use super::mirror::symbol_of;
use super::style::{Color, TextStyle, align_rows_with_symbols, bytes, count};

/// One line for each package that changed (all of them if verbose), and one for each removed
/// directory.
pub(crate) fn lines_of_packages(mirrored: &MirroredModules, style: TextStyle) -> Vec<String> {
    let mut changed = Vec::new();
    for module in &mirrored.modules {
        if !style.verbose && module.action == MirrorAction::Kept {
            continue;
        }
        let mut note = "";
        if module.action == MirrorAction::Replaced {
            note = "its directory had different files";
        }
        let size = module.size.map(bytes).unwrap_or_default();
        let cells = vec![module.name.clone(), size, note.to_owned()];
        changed.push((symbol_of(module.action), cells));
    }
    let mut removed = Vec::new();
    for directory in &mirrored.removed {
        let cells = vec![directory.path.display().to_string(), bytes(directory.size)];
        removed.push((("-", Color::Red), cells));
    }
    [
        align_rows_with_symbols(changed, style),
        align_rows_with_symbols(removed, style),
    ]
    .concat()
}

/// `Mirrored 4 packages of modules in DIR: 1 added (12.40 KiB), 3 already there (96.00 KiB)`;
/// `None` if errors prevented all of them.
pub(crate) fn summary_line(
    mirrored: &MirroredModules,
    target: &MirrorTarget,
    is_dry_run: bool,
) -> Option<String> {
    let MirroredModules {
        modules,
        removed,
        errors,
        ..
    } = mirrored;
    let kept = with_action(mirrored, MirrorAction::Kept);
    let added = with_action(mirrored, MirrorAction::Added);
    let replaced = with_action(mirrored, MirrorAction::Replaced);
    if modules.is_empty() && removed.is_empty() {
        // The errors say why there is nothing.
        if !errors.is_empty() {
            return None;
        }
        return Some("Nothing to mirror: the lock files of modules record no package".to_owned());
    }
    let all_packages = format!(
        "{} of modules in {}",
        count(modules.len(), "package"),
        printable(&target.to_string())
    );
    let is_unchanged = kept.len() == modules.len() && removed.is_empty();
    if is_unchanged && !mirrored.is_index_written && errors.is_empty() {
        let kept_size = total_size(&kept).unwrap_or_default();
        return Some(format!("Up to date: {all_packages} ({})", bytes(kept_size)));
    }
    let [verb, is_added, is_replaced, is_removed, is_written] = if is_dry_run {
        [
            "Would mirror",
            "to add",
            "to replace",
            "to remove",
            "the index to write",
        ]
    } else {
        [
            "Mirrored",
            "added",
            "replaced",
            "removed",
            "the index written",
        ]
    };
    let removed_size = removed.iter().map(|directory| directory.size).sum();
    let mut parts = Vec::new();
    for (number, words, size) in [
        (added.len(), is_added, total_size(&added)),
        (replaced.len(), is_replaced, total_size(&replaced)),
        (kept.len(), "already there", total_size(&kept)),
        (removed.len(), is_removed, Some(removed_size)),
    ] {
        if number == 0 {
            continue;
        }
        match size {
            Some(size) => parts.push(format!("{number} {words} ({})", bytes(size))),
            None => parts.push(format!("{number} {words}")),
        }
    }
    // A change of packages implies a change of the index, which needs no words then.
    if is_unchanged && mirrored.is_index_written {
        parts.push(is_written.to_owned());
    }
    Some(format!("{verb} {all_packages}: {}", parts.join(", ")))
}

/// The packages for which the mirror was changed in this way.
fn with_action(mirrored: &MirroredModules, action: MirrorAction) -> Vec<&MirroredModule> {
    let modules = mirrored.modules.iter();
    modules.filter(|module| module.action == action).collect()
}

/// The line about packages that a dry run did not fetch.
pub(crate) fn line_about_not_checked(
    mirrored: &MirroredModules,
    is_dry_run: bool,
) -> Option<&'static str> {
    let mut modules = mirrored.modules.iter();
    let is_fetched = modules.any(|module| module.action != MirrorAction::Kept);
    let line = "Not checked: whether the packages to add can be fetched as they are locked";
    if is_dry_run && is_fetched {
        Some(line)
    } else {
        None
    }
}

/// The size of packages in bytes, if all sizes are known.
fn total_size(modules: &[&MirroredModule]) -> Option<u64> {
    modules.iter().map(|module| module.size).sum()
}
