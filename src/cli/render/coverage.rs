//! Directories that a run checked or skipped, with reasons.

use std::path::{Path, PathBuf};

use provlock::diagnostic::Location;
use provlock::diagnostic::words::{MOST_NAMED, first_few};
use provlock::project::{Coverage, DirectoryKind, OtherDirectories, RootStatus, Roots, Selection};

use super::foreign::printable;
use super::help::Invocation;
use super::style::{count, joined_with_and};

/// A line for each kind of root module: `282 Terragrunt units: 4 OK, 278 without a lock file`.
pub(crate) fn lines_by_kind(coverage: &Coverage) -> Vec<String> {
    DirectoryKind::ALL
        .into_iter()
        .filter_map(|kind| line_about_kind(coverage, kind))
        .collect()
}

/// Whether there is only one kind and all are OK, so that one line is enough.
pub(crate) fn is_one_kind_and_ok(coverage: &Coverage) -> bool {
    let mut kinds = 0;
    for kind in DirectoryKind::ALL {
        let total = coverage.total(kind);
        if total > 0 {
            kinds += 1;
            if coverage.number(kind, RootStatus::Ok) < total {
                return false;
            }
        }
    }
    kinds <= 1
}

/// `Skipped: 278 Terragrunt units without a lock file, 2 root modules excluded by provlock.toml`
pub(crate) fn line_about_skipped(coverage: &Coverage) -> Option<String> {
    let mut parts = Vec::new();
    for kind in DirectoryKind::ALL {
        for (status, words) in [
            (RootStatus::NotLocked, "without a lock file"),
            (RootStatus::Excluded, "excluded by provlock.toml"),
        ] {
            let number = coverage.number(kind, status);
            if number > 0 {
                parts.push(format!("{} {words}", count(number, noun(kind))));
            }
        }
    }
    if parts.is_empty() {
        return None;
    }
    Some(format!("Skipped: {}", parts.join(", ")))
}

/// `Passed over: 2 directories without a sign of a root module, 3 directories by name (modules,
/// examples, tests or templates); -v lists them`: directories with a configuration that is not
/// checked, because nothing or only their names say what it is. With `names_all`, as with `-v`, a
/// line for each reason with the directories. Empty unless the user searched for root modules.
pub(crate) fn lines_about_unrecognised(roots: &Roots, names_all: bool) -> Vec<String> {
    if !roots.searches_below() {
        return Vec::new();
    }
    let OtherDirectories {
        skipped_by_name,
        without_sign,
        ..
    } = roots.other_directories();
    let mut parts = Vec::new();
    let mut lines = Vec::new();
    for (directories, reason) in [
        (without_sign, "without a sign of a root module"),
        (
            skipped_by_name,
            "by name (modules, examples, tests or templates)",
        ),
    ] {
        if directories.is_empty() {
            continue;
        }
        let number = match directories.len() {
            1 => "1 directory".to_owned(),
            number => format!("{number} directories"),
        };
        parts.push(format!("{number} {reason}"));
        let names: Vec<_> = directories
            .iter()
            .map(|path| printable_path(path))
            .collect();
        lines.push(format!(
            "Passed over: {number} {reason}: {}",
            joined_with_and(names)
        ));
    }
    if parts.is_empty() || names_all {
        return lines;
    }
    vec![format!("Passed over: {}; -v lists them", parts.join(", "))]
}

/// `Not checked: 278 Terragrunt units without a lock file`: directories that a report does not
/// cover, by reason.
pub(super) fn lines_about_not_checked(coverage: &Coverage) -> Vec<String> {
    let mut lines = Vec::new();
    for kind in DirectoryKind::ALL {
        let statuses = [
            (RootStatus::NotLocked, "without a lock file"),
            (RootStatus::Ignored, "whose lock files git ignores"),
            (RootStatus::Excluded, excluded_by(kind)),
            (RootStatus::Failed, "that could not be read"),
        ];
        for (status, words) in statuses {
            let number = coverage.number(kind, status);
            if number > 0 {
                lines.push(format!(
                    "Not checked: {} {words}",
                    count(number, noun(kind))
                ));
            }
        }
    }
    lines
}

/// Words for directories that the settings exclude. A user who changes a module in one may not know
/// the setting.
fn excluded_by(kind: DirectoryKind) -> &'static str {
    match kind {
        DirectoryKind::ChangedModule => "excluded by [roots] in provlock.toml",
        _ => "excluded by provlock.toml",
    }
}

/// Returns the noun for a kind.
pub(super) fn noun(kind: DirectoryKind) -> &'static str {
    match kind {
        DirectoryKind::RootModule => "root module",
        DirectoryKind::Unit => "Terragrunt unit",
        DirectoryKind::OtherLockFile => "other lock file",
        DirectoryKind::ChangedModule => "changed module",
    }
}

/// Returns the line about directories of a kind: `12 root modules: 1 with errors, 11 OK`. `None` if
/// there are none.
fn line_about_kind(coverage: &Coverage, kind: DirectoryKind) -> Option<String> {
    let total = coverage.total(kind);
    if total == 0 {
        return None;
    }
    let nouns = count(total, noun(kind));
    let number_excluded = coverage.number(kind, RootStatus::Excluded);
    if total > 1 && number_excluded == total {
        return Some(format!("All {nouns} are {}", excluded_by(kind)));
    }
    let unlocked =
        coverage.number(kind, RootStatus::NotLocked) + coverage.number(kind, RootStatus::Ignored);
    let without_lock_file = format!(
        "a lock file{}",
        words_about_ignored(coverage, kind, unlocked)
    );
    if total > 1 && unlocked == total {
        return Some(format!("{nouns}: none has {without_lock_file}"));
    }

    let need_none = coverage.number(kind, RootStatus::NeedsNone);
    let need = if need_none == 1 { "needs" } else { "need" };
    let mut parts = Vec::new();
    for (number, words) in [
        (
            coverage.number(kind, RootStatus::Errors),
            "with errors".to_owned(),
        ),
        (
            coverage.number(kind, RootStatus::Warnings),
            "with warnings".to_owned(),
        ),
        (
            coverage.number(kind, RootStatus::PartlyChecked),
            "partly checked".to_owned(),
        ),
        (coverage.number(kind, RootStatus::Ok), "OK".to_owned()),
        (unlocked, format!("without {without_lock_file}")),
        (need_none, format!("{need} no lock file")),
        (number_excluded, excluded_by(kind).to_owned()),
    ] {
        if number > 0 {
            parts.push(number_unless_single(total, number, &words));
        }
    }
    let mut sections = Vec::new();
    if !parts.is_empty() {
        sections.push(parts.join(", "));
    }
    let failed = coverage.number(kind, RootStatus::Failed);
    if failed > 0 {
        sections.push(number_unless_single(total, failed, "could not be checked"));
    }
    Some(format!("{nouns}: {}", sections.join("; ")))
}

/// A number of directories of a kind with a status. If there is only one directory, the number is
/// omitted.
fn number_unless_single(total: usize, number: usize, words: &str) -> String {
    if total == 1 {
        words.to_owned()
    } else {
        format!("{number} {words}")
    }
}

/// ` (git ignores 5 of them: .gitignore:15)`; empty if git ignores none of the missing lock files.
fn words_about_ignored(coverage: &Coverage, kind: DirectoryKind, unlocked: usize) -> String {
    let places = first_few(
        coverage
            .ignore_rules(kind)
            .map(|rule: &Location| format!("{}:{}", rule.path().display(), rule.line_column().0)),
    );
    match coverage.number(kind, RootStatus::Ignored) {
        0 => String::new(),
        1 if unlocked == 1 => format!(" (git ignores it: {places})"),
        number if number == unlocked => format!(" (git ignores them: {places})"),
        number => format!(" (git ignores {number} of them: {places})"),
    }
}

/// Returns the end of a sentence with the command that locks directories as root modules although
/// they have no sign of one; `None` if there are no such directories.
fn advice_to_lock(directories: &[PathBuf], invocation: &Invocation) -> Option<String> {
    let named: Vec<_> = directories.iter().take(MOST_NAMED).cloned().collect();
    let paths = match &named[..] {
        [] => return None,
        [only] if only == Path::new(".") => Vec::new(),
        _ => named.clone(),
    };
    let selection = Selection {
        paths,
        ..Selection::default()
    };
    let lock = invocation.suggest(vec!["lock".to_owned()], &selection, None);
    Some(if directories.len() == 1 {
        format!(
            "; to lock the configuration in {} as a root module: {lock}",
            printable_path(&directories[0])
        )
    } else {
        format!(
            "; no module calls the configurations in {}; to lock them as root modules: {lock}",
            first_few(directories.iter().map(|path| printable_path(path)))
        )
    })
}

/// Returns the reason why no root module was found for the searched paths, and the next step.
pub(crate) fn no_root_module(roots: &Roots, invocation: &Invocation) -> String {
    if !roots.passed_over().is_empty() {
        return lines_by_kind(roots.passed_over()).join("; ");
    }
    let paths: Vec<_> = roots
        .searched_paths()
        .iter()
        .map(|path| printable_path(path))
        .collect();
    let searched = if paths.is_empty() {
        ".".to_owned()
    } else {
        joined_with_and(&paths)
    };
    let OtherDirectories {
        skipped_by_name,
        without_sign,
        stacks,
        ignored,
        ..
    } = roots.other_directories();
    let sign = "has a backend, a lock file, or providers that it configures and uses";
    let reason = match skipped_by_name.len() {
        0 if !ignored.is_empty() => format!(
            "git ignores {}; no other directory {sign}",
            first_few(ignored.iter().map(|path| printable_path(path)))
        ),
        0 => format!("none {sign}"),
        _ => format!(
            "skipped by name (modules, examples, tests, templates): {}; no other directory {sign}",
            first_few(skipped_by_name.iter().map(|path| printable_path(path)))
        ),
    };
    let mut unread_stacks = String::new();
    if !stacks.is_empty() {
        unread_stacks = format!(
            "; stacks of Terraform are not read ({})",
            first_few(stacks.iter().map(|path| printable_path(path)))
        );
    }
    let advice = advice_to_lock(without_sign, invocation);
    // A stack cannot be used.
    let is_only_stack = !stacks.is_empty() && skipped_by_name.is_empty() && without_sign.is_empty();
    let use_anyway = if is_only_stack {
        ""
    } else {
        "; to use one anyway, name its directory here or in [roots] of provlock.toml"
    };
    let none = if roots.searches_below() {
        format!("No root module in {searched} or below")
    } else {
        format!("No root module contains or calls {searched}")
    };
    format!(
        "{none}: {reason}{unread_stacks}{use_anyway}{}",
        advice.unwrap_or_default()
    )
}

fn printable_path(path: &Path) -> String {
    printable(&path.display().to_string())
}
