//! Findings about a change as a whole: removed lock files, edited settings, links, and paths that
//! differ in case.
//!
//! Codes: `root-removed`, `not-decided`, `decision-changed`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::audited_root::VerifyOptions;
use super::base::BaseFacts;
use super::deciding_files;
use super::decisions::{decision_note, removed_roots_note};
use super::made_unknown::finding_made_unknown;
use super::unit_locks::UnitLocks;
use crate::diagnostic::words::first_few;
use crate::diagnostic::{Code, Diagnostic, Help, Location, Reason, RunOption};
use crate::lockfile::{LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME};
use crate::project::reviewed_change::ReviewedChange;
use crate::project::root_module::roots::{Roots, Selection};
use crate::project::session::Session;
use crate::settings::{self, RootLevels, Settings};
use crate::system::{Tree, canonicalize};

impl Session<'_> {
    /// Returns the findings about the change as a whole, none without the facts of a change.
    /// The change removes `removed_lock_files`.
    pub(super) fn check_change(
        &self,
        roots: &Roots,
        options: &VerifyOptions<'_>,
        facts: Option<&BaseFacts<'_>>,
        removed_lock_files: &BTreeSet<&Path>,
    ) -> Vec<Diagnostic> {
        let Some(facts) = facts else {
            return Vec::new();
        };
        let change = facts.change;
        let (start, settings) = self
            .settings(&roots.selection.first_directory())
            .unwrap_or_default();
        // A file of settings or a tool applies to root modules below it, too.
        let mut starts = vec![start.clone()];
        for root in &roots.list {
            starts.extend(root.canonical.clone());
        }
        let applies = |directory: &Path| {
            directory.starts_with(&start) || starts.iter().any(|root| root.starts_with(directory))
        };

        let mut findings = findings_about_removals(change, removed_lock_files);
        findings.extend(notes_about_removed_copies(change, applies));
        findings.extend(change.findings.iter().cloned());
        findings.extend(self.edited_settings(change, applies));
        findings.extend(finding_omitted_files(change, applies));
        let stack_lines = change.new_unread_stack_lines();
        findings.extend(finding_made_unknown(
            &stack_lines.iter().collect::<Vec<_>>(),
        ));
        findings.extend(findings_about_links(change, &roots.selection));
        findings.extend(notes_about_links_to_roots(change, roots));
        findings.extend(finding_case_variants(change));
        findings.extend(note_about_submodules(change, applies));
        let unit_locks = UnitLocks::new(facts.environment, roots);
        findings.extend(deciding_files::check(facts, &unit_locks, applies));

        let mut reported = Vec::new();
        for finding in findings {
            // Of the directories of its files, the one with the strictest settings decides.
            let mut strictest = None;
            for directory in directories_of(&finding, change, &start) {
                let levels = self.levels_of_base(&directory, &settings);
                let leveled = options.levels.applied(finding.clone(), &levels);
                strictest = more_severe(strictest, leveled);
            }
            reported.extend(strictest);
        }
        reported
    }

    /// The severity overrides of a directory. `otherwise` are the settings where its own cannot be
    /// read.
    fn levels_of_base(&self, directory: &Path, otherwise: &Settings) -> RootLevels {
        let nearest = self.settings_at(directory, directory).ok();
        RootLevels::at(directory, &nearest.as_ref().unwrap_or(otherwise).verify)
    }
}

/// The directories of the files in the repository that a finding is about; `start` if there are
/// none.
fn directories_of(
    finding: &Diagnostic,
    change: &ReviewedChange,
    start: &Path,
) -> BTreeSet<PathBuf> {
    let mut directories = BTreeSet::new();
    for label in &finding.labels {
        let path = change.current_directory.join(label.location.path());
        if let Some(directory) = path.parent()
            && directory.starts_with(&change.top)
        {
            directories.insert(directory.to_owned());
        }
    }
    if directories.is_empty() {
        directories.insert(start.to_owned());
    }
    directories
}

/// The more severe one of two findings. A finding that is not reported is `None`.
fn more_severe(one: Option<Diagnostic>, other: Option<Diagnostic>) -> Option<Diagnostic> {
    match (one, other) {
        (Some(one), Some(other)) if other.severity >= one.severity => Some(other),
        (Some(one), _) => Some(one),
        (None, other) => other,
    }
}

/// The finding about files that the change alters, in the directories that `applies` selects, and
/// that are not there to be checked.
fn finding_omitted_files(
    change: &ReviewedChange,
    applies: impl Fn(&Path) -> bool,
) -> Option<Diagnostic> {
    let mut names = Vec::new();
    for path in change.omitted.intersection(&change.differing) {
        if path.parent().is_some_and(&applies) {
            names.push(change.shown_path(path).display());
        }
    }
    if names.is_empty() {
        return None;
    }
    let verb = if names.len() == 1 { "is" } else { "are" };
    let message = format!(
        "{} {verb} changed but not checked out (sparse checkout), so the change was not checked",
        first_few(names)
    );
    Some(
        Diagnostic::not_decided(Reason::NotCheckedOut, message).help("git sparse-checkout disable"),
    )
}

/// One finding for each lock file that the change removes from a directory that stays, and a note
/// for each directory that it removes or moves as a whole.
fn findings_about_removals(
    change: &ReviewedChange,
    removed_lock_files: &BTreeSet<&Path>,
) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    let mut by_removed_directory = BTreeMap::<&Path, BTreeSet<&Path>>::new();
    for path in removed_lock_files {
        let root = path.parent().unwrap_or(path);
        match change.removed_directory(root) {
            // Something else may be in place of the directory.
            Some(directory) if !Tree::Work.exists(path) && !Tree::Work.is_file(directory) => {
                let roots = by_removed_directory.entry(directory).or_default();
                roots.insert(root);
            }
            _ => findings.push(finding_removed_lock_file(change, path)),
        }
    }
    for (directory, roots) in by_removed_directory {
        findings.push(removed_roots_note(change, directory, &roots));
    }
    findings
}

/// The notes about removed lock files under other names, which are removed with the component that
/// they belong to.
fn notes_about_removed_copies(
    change: &ReviewedChange,
    applies: impl Fn(&Path) -> bool,
) -> Vec<Diagnostic> {
    let mut notes = Vec::new();
    for path in change.removed_copies() {
        if path.parent().is_some_and(&applies) {
            let shown = change.shown_path(path);
            let message = format!("the lock file {} was removed", shown.display());
            notes.push(decision_note(message, &Location::of_file(shown)));
        }
    }
    notes
}

/// Finding about a removed lock file whose directory still has a configuration.
pub(super) fn finding_removed_lock_file(change: &ReviewedChange, path: &Path) -> Diagnostic {
    let shown = change.shown_path(path);
    let message = if Tree::Work.exists(path) {
        format!("git no longer has the lock file {}", shown.display())
    } else {
        format!("the lock file {} was removed", shown.display())
    };
    let finding =
        Diagnostic::finding(Code::RootRemoved, message).at_location(Location::of_file(shown));
    finding.help(owner_allows(
        "restore it; if this is intended",
        Code::RootRemoved,
    ))
}

/// Findings about links that the change makes of directories: of selected paths, and with
/// `--recursive` of directories below that have settings or a lock file at the base.
fn findings_about_links(change: &ReviewedChange, selection: &Selection) -> Vec<Diagnostic> {
    let mut links = BTreeSet::new();
    let mut starts = Vec::new();
    for path in selection.paths() {
        links.extend(change.added_link(path));
        starts.extend(canonicalize(path));
    }
    // A link may take the place of any directory that was checked at the base.
    if selection.recursive {
        for name in [settings::FILE_NAME, LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME] {
            for (path, _) in change.base_files_named(name) {
                let Some(directory) = path.parent() else {
                    continue;
                };
                if starts.iter().any(|start| directory.starts_with(start)) {
                    links.extend(change.added_link(directory));
                }
            }
        }
    }
    links.iter().map(|link| link_added(change, link)).collect()
}

/// The notes about links that lead to directories with other root modules than in the base.
/// `--recursive` checks root modules where they are, and not through links.
fn notes_about_links_to_roots(change: &ReviewedChange, roots: &Roots) -> Vec<Diagnostic> {
    let base = Tree::Revision(Arc::clone(&change.base));
    let mut notes = Vec::new();
    for link in &change.altered_links {
        let (Ok(before), Ok(now)) = (base.canonicalize(link), canonicalize(link)) else {
            continue;
        };
        let mut directories = roots.list.iter().filter_map(|root| root.canonical.as_ref());
        let leads_to_roots = directories.any(|directory| directory.starts_with(&now));
        if before != now && leads_to_roots {
            let shown = change.shown_path(link);
            let message = format!(
                "{} leads to the root modules in {}, and in the base to {}",
                shown.display(),
                change.shown_path(&now).display(),
                change.shown_path(&before).display()
            );
            notes.push(decision_note(message, &Location::of_file(shown)));
        }
    }
    notes
}

fn link_added(change: &ReviewedChange, link: &Path) -> Diagnostic {
    let shown = change.shown_path(link);
    let target = Tree::Work.read_link(link).unwrap_or_default();
    let message = format!(
        "{} is a link to {} now, which the base does not have",
        shown.display(),
        target.display()
    );
    let help = "check the directory behind the link under its own path; if the link is intended";
    Diagnostic::not_decided(Reason::LinkAdded, message)
        .at_location(Location::of_file(shown))
        .help(owner_allows(help, Code::NotDecided))
}

/// The note about changed submodules that are not checked out, in the directories that `applies`
/// selects; `None` if there are none. A module in them that a call reads is a finding of its own.
fn note_about_submodules(
    change: &ReviewedChange,
    applies: impl Fn(&Path) -> bool,
) -> Option<Diagnostic> {
    let mut shown = Vec::new();
    for path in change.altered_submodules() {
        // git clones nothing into the directory of a submodule that was removed.
        let is_checked_out = Tree::Work
            .entries(&path)
            .is_ok_and(|entries| !entries.is_empty());
        if applies(&path) && !is_checked_out && change.has_submodule(&path) {
            shown.push(change.shown_path(&path).to_owned());
        }
    }
    let location = Location::of_file(shown.first()?);
    let names = first_few(shown.iter().map(|path| path.display()));
    let message = if shown.len() == 1 {
        format!("the submodule {names} differs from the base, and is not checked out")
    } else {
        format!("the submodules {names} differ from the base, and are not checked out")
    };
    let note = "root modules in it were not checked";
    Some(decision_note(message, &location).note(note))
}

/// Help that ends with the option by which an owner of the repository allows a finding.
fn owner_allows(help: &str, code: Code) -> Help {
    Help::text(format!("{help}, an owner allows it with ")).and(RunOption::Warn(code))
}

/// The finding about new files whose paths differ only in case from the path of a file that is
/// read; `None` if there are none.
fn finding_case_variants(change: &ReviewedChange) -> Option<Diagnostic> {
    let variants = change.all_case_variants();
    if variants.is_empty() {
        return None;
    }
    let shown: Vec<&Path> = variants
        .iter()
        .map(|path| change.shown_path(path))
        .collect();
    let verb = if variants.len() == 1 {
        "differs"
    } else {
        "differ"
    };
    let is_ascii = shown.iter().all(|path| path.to_string_lossy().is_ascii());
    let how = if is_ascii {
        "in case"
    } else {
        "in case, or in how accents are encoded,"
    };
    let names = first_few(shown.iter().map(|path| path.display()));
    let message = format!("{names} {verb} only {how} from a path that is read");
    let locations: Vec<_> = shown.iter().map(Location::of_file).collect();
    let note = "file systems of macOS and Windows ignore case, so that it takes the place of the other file there";
    let finding = Diagnostic::not_decided(Reason::CaseVariant, message)
        .at_each_location(&locations)
        .note(note)
        .help("rename or remove it");
    Some(finding)
}

impl ReviewedChange {
    /// The finding about a path that the caller specifies, if the change makes a link of it or of a
    /// directory above.
    pub fn link_added(&self, path: &Path) -> Option<Diagnostic> {
        self.added_link(path).map(|link| link_added(self, &link))
    }
}
