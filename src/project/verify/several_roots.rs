//! Findings about several root modules: lock files for different tools in one repository, and lock
//! files that git does not share, because they are missing or ignored.
//!
//! Codes: `mixed-dialects`, `untracked-lock-file`.

use std::collections::BTreeMap;
use std::mem::take;
use std::path::PathBuf;

use super::audited_root::{VerifiedRoot, VersionControl};
use crate::diagnostic::words::{count, first_few};
use crate::diagnostic::{Code, Diagnostic, Help, Location, LockRemedy, Result};
use crate::lockfile::{self, LOCK_FILE_NAME};
use crate::project::root_module::DialectReason;
use crate::project::session::Session;
use crate::provider::Dialect;
use crate::system::{Tree, glob};

/// A verified root module with its index in the results.
struct IndexedRoot<'a> {
    index: usize,
    root: &'a VerifiedRoot,
}

/// Findings about repositories whose lock files contain providers of both default registries, each
/// with the index of a root module: the first of the minority. Root modules whose settings specify
/// that dialect are not counted.
pub(super) fn findings_mixed_dialects(
    results: &[Result<VerifiedRoot>],
    session: &Session<'_>,
) -> Vec<(usize, Diagnostic)> {
    if !has_registry_of(Dialect::Tofu, results) || !has_registry_of(Dialect::Terraform, results) {
        return Vec::new();
    }
    let mut repositories: BTreeMap<PathBuf, Vec<IndexedRoot<'_>>> = BTreeMap::new();
    for (index, result) in results.iter().enumerate() {
        let Ok(root) = result else { continue };
        // The settings confirm the dialect of the lock file.
        let is_set =
            root.registry == Some(root.dialect) && root.dialect_reason == DialectReason::Settings;
        if root.registry.is_none() || is_set {
            continue;
        }
        let Ok(directory) = session.tree().canonicalize(&root.path) else {
            continue;
        };
        let repository = session
            .repositories
            .around(&directory, &session.environment);
        repositories
            .entry(repository.top().to_owned())
            .or_default()
            .push(IndexedRoot { index, root });
    }

    let mut findings = Vec::new();
    for roots in repositories.values() {
        findings.extend(finding_mixed_dialects(session.tree(), roots));
    }
    findings
}

/// Whether a lock file contains only the registry of a dialect.
fn has_registry_of(dialect: Dialect, results: &[Result<VerifiedRoot>]) -> bool {
    let mut roots = results.iter().flatten();
    roots.any(|root| root.registry == Some(dialect))
}

/// Returns the warning about root modules of one repository that are locked for both dialects, and
/// the index of the root module that has it; `None` if they are locked for one.
fn finding_mixed_dialects(tree: &Tree, roots: &[IndexedRoot<'_>]) -> Option<(usize, Diagnostic)> {
    let mut tofu = Vec::new();
    let mut terraform = Vec::new();
    for indexed in roots {
        if indexed.root.registry == Some(Dialect::Tofu) {
            tofu.push(indexed);
        } else {
            terraform.push(indexed);
        }
    }
    // The fewer ones are probably the mistake.
    let mut dialect = Dialect::Terraform;
    let mut fewer = terraform;
    let mut others = tofu;
    if fewer.len() > others.len() {
        dialect = Dialect::Tofu;
        std::mem::swap(&mut fewer, &mut others);
    }
    let host = dialect.default_host_name();
    let other = dialect.other();
    let first = fewer.first()?;
    let first_other = others.first()?;

    let message = format!(
        "{} here {} locked for {host}, and {} for {}: OpenTofu and Terraform do not accept each other's lock files",
        count(fewer.len(), "root module"),
        if fewer.len() == 1 { "is" } else { "are" },
        count(others.len(), "root module"),
        other.default_host_name(),
    );
    let names = first_few(fewer.iter().map(|fewer| fewer.root.path.display()));
    let help = format!(
        "if all are for one program: set dialect = \"{}\" in provlock.toml and lock again; \
        else name the dialect of each",
        other.name()
    );
    let warning = Diagnostic::finding(Code::MixedDialects, message)
        .at_each(
            &location_of_entry(tree, first.root, dialect),
            "one registry here",
        )
        .at_each(
            &location_of_entry(tree, first_other.root, other),
            "the other here",
        )
        .note(format!("locked for {host}: {names}"))
        .help(help);
    Some((first.index, warning))
}

/// Location of the first entry of a dialect's registry. Reads the lock file again, because keeping
/// the texts of ten thousand root modules would take too much memory.
fn location_of_entry(tree: &Tree, root: &VerifiedRoot, dialect: Dialect) -> Option<Location> {
    let bytes = lockfile::read_in(tree, &root.lock_path).ok()??;
    let lock_file = lockfile::parse(&root.lock_path, &bytes, root.dialect).lock_file?;
    let entry = lock_file
        .entries()
        .iter()
        .find(|entry| entry.address.hostname.is_default_of(dialect))?;
    Some(entry.block.clone())
}

/// Moves findings about missing and ignored lock files to the others, unless git ignores the lock
/// file. Returns one finding for each line of an ignore file that ignores lock files, with the
/// index of the first root module concerned. Lines that the change under review adds are
/// disregarded.
pub(super) fn findings_ignored_by_git(
    results: &mut [Result<VerifiedRoot>],
    version_control: Option<&dyn VersionControl>,
    is_new: impl Fn(&Location) -> bool,
) -> Vec<(usize, Diagnostic)> {
    let mut concerned = Vec::new();
    for (index, result) in results.iter_mut().enumerate() {
        if let Ok(root) = result {
            let is_missing = !root.has_lock_file && root.needs_lock_file;
            if is_missing || !root.not_shared.is_empty() {
                concerned.push((index, root));
            }
        }
    }

    // One run of git answers for all of them.
    let mut rules = vec![None; concerned.len()];
    if let Some(control) = version_control {
        let paths: Vec<_> = concerned
            .iter()
            .map(|(_, root)| root.path.as_path())
            .collect();
        rules = control.rules_ignoring_lock_files(&paths);
    }
    for ((_, root), rule) in concerned.iter_mut().zip(rules) {
        root.ignore_rule = rule.filter(|rule| !is_new(rule));
        let not_shared = take(&mut root.not_shared);
        if root.ignore_rule.is_none() {
            root.findings.splice(0..0, not_shared);
        }
    }

    let mut groups: Vec<(&Location, Vec<IndexedRoot<'_>>)> = Vec::new();
    for (index, root) in &concerned {
        let index = *index;
        let Some(rule) = &root.ignore_rule else {
            continue;
        };
        match groups.iter_mut().find(|(known, _)| *known == rule) {
            Some((_, roots)) => roots.push(IndexedRoot { index, root }),
            None => groups.push((rule, vec![IndexedRoot { index, root }])),
        }
    }
    let mut findings = Vec::new();
    for (rule, roots) in groups {
        findings.push((roots[0].index, finding_ignored_lock_files(rule, &roots)));
    }
    findings
}

/// Whether a pattern of an ignore file matches lock files, not a directory above them.
fn matches_file_name(pattern: &str) -> bool {
    let name = pattern.trim().rsplit('/').next().unwrap_or_default();
    glob::parse(name).is_ok_and(|glob| glob.compile_matcher().is_match(LOCK_FILE_NAME))
}

/// The finding about a line of an ignore file by which git ignores the lock files of root modules.
/// There is at least one.
fn finding_ignored_lock_files(rule: &Location, roots: &[IndexedRoot<'_>]) -> Diagnostic {
    let platforms = match &roots[0].root.platforms {
        Some(selection) => selection.named().to_vec(),
        None => Vec::new(),
    };
    let undo = match rule.file.text.get(rule.span.clone()).unwrap_or_default() {
        pattern if pattern.contains(LOCK_FILE_NAME) => "remove this line".to_owned(),
        pattern if matches_file_name(pattern) => format!("add !{LOCK_FILE_NAME} below this line"),
        // The pattern ignores a directory, and git includes no file again that is in it.
        _ => "remove this line, or let it not match the directory".to_owned(),
    };
    let message;
    let files;
    if let [only] = roots {
        let path = only.root.lock_path.display();
        message = format!("git ignores {path}, so other users do not get it");
        files = "file";
    } else {
        let count = roots.len();
        message = format!(
            "git ignores the lock files of {count} root modules, so other users do not get them"
        );
        files = "files";
    }
    let lock = LockRemedy {
        platforms: Some(platforms),
        recursive: roots.len() != 1,
        ..LockRemedy::default()
    };
    let help = Help::text(format!("{undo}, run ")).and(lock);
    let finding = Diagnostic::finding(Code::UntrackedLockFile, message)
        .at_location(rule.clone())
        .help(help.and_text(format!(", and add the lock {files} to git")));
    match roots {
        [only] => finding.in_root(&only.root.path, false),
        _ => finding.note(format!(
            "root modules: {}",
            first_few(roots.iter().map(|indexed| indexed.root.path.display()))
        )),
    }
}
