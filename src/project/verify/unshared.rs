//! Lock files that nobody else gets, since they are missing or git ignores them.

use super::verified::{VerifiedRoot, VersionControl};
use crate::diagnostic::words::few;
use crate::diagnostic::{Code, Diagnostic, Help, Location, LockRemedy, Result};
use crate::lockfile::LOCK_FILE_NAME;
use crate::settings::PlatformSelection;

/// Adds what is wrong unless git ignores the lock file. Where git ignores them there is one finding for each line that
/// says so, in the first of its root modules, and nothing else about their lock files. A new line of the change that is
/// judged keeps nothing back.
pub(super) fn add_unshared(
    results: Vec<Result<(VerifiedRoot, Vec<Diagnostic>)>>,
    version_control: Option<&dyn VersionControl>,
    is_new: impl Fn(&Location) -> bool,
) -> Vec<Result<VerifiedRoot>> {
    let may_be_ignored = |root: &VerifiedRoot, unshared: &[Diagnostic]| {
        !unshared.is_empty() || (!root.has_lock_file && root.needs_lock_file)
    };
    let paths = results.iter().flatten().filter(|(root, unshared)| may_be_ignored(root, unshared));
    let paths: Vec<_> = paths.map(|(root, _)| root.path.as_path()).collect();
    let control = version_control.filter(|_| !paths.is_empty());
    let mut rules = control.map(|control| control.ignore_rules(&paths)).unwrap_or_default().into_iter();
    let mut groups: Vec<(Location, Vec<usize>)> = Vec::new();
    let mut add = |(index, result): (usize, Result<(VerifiedRoot, Vec<Diagnostic>)>)| {
        let (mut root, unshared) = result?;
        let rule =
            may_be_ignored(&root, &unshared).then(|| rules.next().flatten()).flatten().filter(|rule| !is_new(rule));
        match &rule {
            Some(rule) => match groups.iter_mut().find(|(known, _)| known == rule) {
                Some((_, roots)) => roots.push(index),
                None => groups.push((rule.clone(), vec![index])),
            },
            None => drop(root.findings.splice(0..0, unshared)),
        }
        root.ignore_rule = rule;
        Ok(root)
    };
    let mut results: Vec<Result<VerifiedRoot>> = results.into_iter().enumerate().map(&mut add).collect();
    for (rule, indices) in groups {
        let roots: Vec<_> = indices.iter().filter_map(|index| results[*index].as_ref().ok()).collect();
        let finding = ignored(rule, &roots);
        if let Ok(first) = &mut results[indices[0]] {
            first.findings.insert(0, finding);
        }
    }
    results
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
