//! Lock files that nobody else gets, since they are missing or git ignores them.

use std::path::PathBuf;

use super::verified::{VerifiedRoot, VersionControl};
use crate::diagnostic::words::few;
use crate::diagnostic::{Code, Diagnostic, Help, Location, LockRemedy, Result};
use crate::lockfile::LOCK_FILE_NAME;
use crate::settings::PlatformSelection;

/// Moves findings about missing and ignored lock files to the others, unless git ignores the lock file. Returns one
/// finding for each line of an ignore file that ignores lock files, with the index of the first root module concerned.
/// Lines that the change under review adds are disregarded.
pub(super) fn unshared(
    results: &mut [Result<VerifiedRoot>],
    version_control: Option<&dyn VersionControl>,
    is_new: impl Fn(&Location) -> bool,
) -> Vec<(usize, Diagnostic)> {
    let may_be_ignored =
        |root: &VerifiedRoot| !root.unshared.is_empty() || (!root.has_lock_file && root.needs_lock_file);
    let concerned = results.iter_mut().enumerate().filter_map(|(index, result)| Some((index, result.as_mut().ok()?)));
    let mut concerned: Vec<_> = concerned.filter(|(_, root)| may_be_ignored(root)).collect();
    let paths: Vec<_> = concerned.iter().map(|(_, root)| root.path.clone()).collect();
    let paths: Vec<_> = paths.iter().map(PathBuf::as_path).collect();
    let control = version_control.filter(|_| !paths.is_empty());
    let mut rules = control.map(|control| control.ignore_rules(&paths)).unwrap_or_default().into_iter();
    let mut groups: Vec<(Location, Vec<usize>)> = Vec::new();
    for (position, (_, root)) in concerned.iter_mut().enumerate() {
        let unshared = std::mem::take(&mut root.unshared);
        root.ignore_rule = rules.next().flatten().filter(|rule| !is_new(rule));
        match &root.ignore_rule {
            Some(rule) => match groups.iter_mut().find(|(known, _)| known == rule) {
                Some((_, roots)) => roots.push(position),
                None => groups.push((rule.clone(), vec![position])),
            },
            None => drop(root.findings.splice(0..0, unshared)),
        }
    }
    let finding = |(rule, positions): (Location, Vec<usize>)| {
        let roots: Vec<&VerifiedRoot> = positions.iter().map(|position| &*concerned[*position].1).collect();
        (concerned[positions[0]].0, ignored(rule, &roots))
    };
    groups.into_iter().map(finding).collect()
}

/// A line of an ignore file keeps the lock files of root modules from everybody else.
fn ignored(rule: Location, roots: &[&VerifiedRoot]) -> Diagnostic {
    let platforms = match &roots[0].platforms {
        Some(PlatformSelection::These(platforms)) => platforms.clone(),
        Some(PlatformSelection::All) | None => Vec::new(),
    };
    let names_it = rule.file.text.get(rule.span.clone()).is_some_and(|pattern| pattern.contains(LOCK_FILE_NAME));
    let undo = if names_it { "remove this line".to_owned() } else { format!("add !{LOCK_FILE_NAME} below this line") };
    let (message, files) = match roots {
        [root] => (format!("git ignores {}, so nobody else gets it", root.lock_path.display()), "file"),
        _ => (format!("git ignores the lock files of {} root modules, so nobody else gets them", roots.len()), "files"),
    };
    let lock = LockRemedy { platforms: Some(platforms), recursive: roots.len() != 1, ..LockRemedy::default() };
    let help = Help::text(format!("{undo}, run ")).and(lock);
    let finding = Diagnostic::finding(Code::UntrackedLockFile, message)
        .at(rule, "")
        .help(help.and_text(format!(", and add the lock {files} to git")));
    match roots {
        [root] => finding.in_root(&root.path, false),
        _ => finding.note(format!("root modules: {}", few(roots.iter().map(|root| root.path.display())))),
    }
}
