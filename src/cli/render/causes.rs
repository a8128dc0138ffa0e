//! Diagnostics of many root modules by cause: a message that a hundred root modules share is shown
//! once.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use provlock::diagnostic::words::{MOST_NAMED, count, first_few, joined_with_and};
use provlock::diagnostic::{Code, Diagnostic, HelpPart, Remedy, RootModules, Severity};
use provlock::project::{DirectoryKind, Roots, Selection, VerifiedRoot};
use provlock::provider::Dialect;

use super::coverage::noun;
use super::help::Invocation;
use super::remedy::{own_command, takes_root_modules};
use super::style::group_by_key;

/// Selection and number of several root modules.
#[derive(Clone, Copy)]
pub(crate) struct SeveralRoots<'a> {
    pub(crate) invocation: &'a Invocation,
    pub(crate) selection: &'a Selection,
    pub(crate) number: usize,
    /// Number of Terragrunt units among them.
    pub(crate) units: usize,
    /// Number of root modules that need no lock file and have none, so that no command changes
    /// them.
    pub(crate) without_needs: usize,
}

impl<'a> SeveralRoots<'a> {
    /// Returns `None` if there can be only one root module, whose diagnostics are all shown.
    pub(crate) fn unless_single(
        roots: &Roots,
        selection: &'a Selection,
        invocation: &'a Invocation,
    ) -> Option<Self> {
        roots.may_be_several().then_some(Self {
            invocation,
            selection,
            number: roots.len(),
            units: roots.units(),
            without_needs: 0,
        })
    }

    /// Also counts the root modules without a lock file and without a need for one.
    pub(crate) fn with_needs_of(self, checked: &[VerifiedRoot]) -> Self {
        let mut without_needs = 0;
        for root in checked {
            if !root.has_lock_file && !root.needs_lock_file {
                without_needs += 1;
            }
        }
        Self {
            without_needs,
            ..self
        }
    }

    /// The word for the root modules: units if all of them are Terragrunt units.
    pub(crate) fn noun(self) -> &'static str {
        if self.units > 0 && self.units == self.number {
            noun(DirectoryKind::Unit)
        } else {
            noun(DirectoryKind::RootModule)
        }
    }

    /// Selects just these root modules. For commands that cannot name all of them, no path is
    /// given.
    fn only(self, directories: Vec<PathBuf>) -> RootModules {
        const MOST_PATHS: usize = 20;
        let (paths, recursive) = match directories.len() {
            number if number + self.without_needs >= self.number => {
                (self.selection.paths.clone(), self.selection.recursive)
            }
            ..=MOST_PATHS => (directories.clone(), false),
            _ => (Vec::new(), false),
        };
        RootModules::Selected {
            paths,
            recursive,
            directories,
        }
    }
}

/// Combines diagnostics with the same cause, each given with its root module, if that is known. The
/// first of each cause stands for all, with a note that names their root modules: a few of them, or
/// all with `names_all_roots`. If there are several root modules, errors come first.
pub(crate) fn one_per_cause<'a>(
    diagnostics: impl IntoIterator<Item = (Option<&'a Path>, &'a Diagnostic)>,
    several: Option<SeveralRoots<'_>>,
    names_all_roots: bool,
) -> Vec<Diagnostic> {
    let keyed = diagnostics
        .into_iter()
        .map(|(root, diagnostic)| (Cause::of(diagnostic), (root, diagnostic)));
    let mut causes = group_by_key(keyed);
    if several.is_some() {
        causes.sort_by_key(|(cause, _)| Reverse(cause.severity));
    }
    causes
        .iter()
        .flat_map(|(_, cause)| diagnostics_of_cause(cause, several, names_all_roots))
        .collect()
}

/// Returns one diagnostic for all root modules with the same cause, or, for a single root module,
/// each different diagnostic.
fn diagnostics_of_cause(
    cause: &[(Option<&Path>, &Diagnostic)],
    several: Option<SeveralRoots<'_>>,
    names_all_roots: bool,
) -> Vec<Diagnostic> {
    let (root, first) = cause[0];
    let mut other_roots = BTreeSet::new();
    for (path, _) in cause {
        if *path != root {
            other_roots.extend(*path);
        }
    }
    let (Some(several), Some(root), false) = (several, root, other_roots.is_empty()) else {
        return distinct_diagnostics(cause.iter().map(|(_, diagnostic)| *diagnostic));
    };

    let mut directories = vec![root.to_owned()];
    directories.extend(other_roots.iter().map(|path| path.to_path_buf()));
    let mut help = first.help.clone();
    // One command is for the providers of all root modules.
    if let Some(help) = &mut help {
        for (_, other) in cause {
            if let Some(other_help) = &other.help {
                help.add_names_of(other_help);
            }
        }
    }
    let summary = Diagnostic {
        message: format!(
            "{}, in {}",
            message_of_all(cause),
            count(directories.len(), several.noun())
        ),
        named: None,
        help,
        ..first.clone()
    };
    let note = note_with_roots(
        first,
        root,
        &other_roots,
        several.invocation,
        names_all_roots,
    );
    vec![
        summary
            .in_root_modules(several.only(directories))
            .note(note),
    ]
}

/// Returns the command in the help of a diagnostic that takes several root modules, with its
/// dialect. Root modules that need different commands do not share a diagnostic.
fn suggested_command(diagnostic: &Diagnostic) -> Option<SuggestedCommand<'_>> {
    for part in diagnostic.help.as_ref()?.parts() {
        if let HelpPart::Remedy(remedy) = part
            && takes_root_modules(&own_command(remedy))
        {
            return Some(SuggestedCommand {
                remedy,
                dialect: diagnostic.dialect,
            });
        }
    }
    None
}

/// Returns diagnostics with the root modules that they say they are about.
pub(crate) fn with_roots<'a>(
    diagnostics: impl IntoIterator<Item = &'a Diagnostic>,
) -> Vec<(Option<&'a Path>, &'a Diagnostic)> {
    let mut pairs = Vec::new();
    for diagnostic in diagnostics {
        pairs.push((diagnostic.root(), diagnostic));
    }
    pairs
}

/// Returns each diagnostic once, in the order of their first occurrences.
pub(crate) fn distinct_diagnostics<'a>(
    diagnostics: impl Iterator<Item = &'a Diagnostic>,
) -> Vec<Diagnostic> {
    let groups = group_by_key(diagnostics.map(|diagnostic| (diagnostic, ())));
    groups
        .into_iter()
        .map(|(diagnostic, _)| diagnostic.clone())
        .collect()
}

/// A command in help that takes root modules.
#[derive(Clone, PartialEq, Eq, Hash)]
struct SuggestedCommand<'a> {
    remedy: &'a Remedy,
    dialect: Option<Dialect>,
}

/// Facts that diagnostics with the same cause share.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Cause<'a> {
    severity: Severity,
    code: Code,
    message: String,
    command: Option<SuggestedCommand<'a>>,
}

impl<'a> Cause<'a> {
    fn of(diagnostic: &'a Diagnostic) -> Self {
        Self {
            severity: diagnostic.severity,
            code: diagnostic.code,
            message: cause_in_words(diagnostic),
            command: suggested_command(diagnostic),
        }
    }
}

/// Returns the message without the names that differ between diagnostics with the same cause.
pub(super) fn cause_in_words(diagnostic: &Diagnostic) -> String {
    match &diagnostic.pattern {
        Some(pattern) => pattern.without_names().message(),
        None => common_message(diagnostic).to_owned(),
    }
}

/// Returns the message that root modules with the same cause share. It names the provider and its
/// version.
fn common_message(diagnostic: &Diagnostic) -> &str {
    match &diagnostic.shared_message {
        Some(shared) => shared,
        None => &diagnostic.message,
    }
}

/// Returns the message about all root modules with the same cause.
fn message_of_all(cause: &[(Option<&Path>, &Diagnostic)]) -> String {
    let (_, first) = cause[0];
    let Some(mut pattern) = first.pattern.clone() else {
        return common_message(first).to_owned();
    };
    for (_, diagnostic) in cause {
        if let Some(own) = &diagnostic.pattern {
            pattern.add_names(own);
        }
    }
    pattern.message()
}

/// `also in a, b, c and 208 more: -v lists them`. The first root module is omitted if the position
/// that is shown is in it.
fn note_with_roots(
    first: &Diagnostic,
    first_root: &Path,
    others: &BTreeSet<&Path>,
    invocation: &Invocation,
    names_all_roots: bool,
) -> String {
    let is_shown = first
        .labels
        .first()
        .is_some_and(|label| label.location.path().starts_with(first_root));
    let (word, first_root) = if is_shown {
        ("also in", None)
    } else {
        ("in", Some(first_root))
    };
    let names: Vec<_> = first_root
        .into_iter()
        .chain(others.iter().copied())
        .map(|root| invocation.user_path(root).display().to_string())
        .collect();
    if names_all_roots {
        return format!("{word} {}", joined_with_and(&names));
    }
    match names.len() {
        0..=MOST_NAMED => format!("{word} {}", first_few(names)),
        _ => format!("{word} {}: -v lists them", first_few(names)),
    }
}

#[cfg(test)]
mod tests {
    use provlock::diagnostic::Message;

    use super::*;

    fn found(root: &str, provider: &str) -> Diagnostic {
        let message = format!("no hash is recorded for {provider} 3.2.4");
        let error = Diagnostic::error(Code::NoHashes, message).note(format!("seen in {root}"));
        error.help(Remedy::lock()).in_root(Path::new(root), false)
    }

    fn messages(found: &[(&str, Diagnostic)], all: bool) -> Vec<Diagnostic> {
        let found = found
            .iter()
            .map(|(root, diagnostic)| (Some(Path::new(*root)), diagnostic));
        let selection = &Selection {
            recursive: true,
            ..Selection::default()
        };
        one_per_cause(
            found,
            Some(SeveralRoots {
                invocation: &Invocation::new(None),
                selection,
                number: 5,
                units: 0,
                without_needs: 0,
            }),
            all,
        )
    }

    #[test]
    fn one_cause_is_shown_once_with_its_first_position() {
        let roots: Vec<String> = (1..=5).map(|number| format!("live/{number}")).collect();
        let mut all: Vec<_> = roots
            .iter()
            .map(|root| (root.as_str(), found(root, "acme/a")))
            .collect();
        all.insert(1, ("live/1", found("live/1", "acme/b")));
        let shown = messages(&all, false);
        let texts: Vec<_> = shown
            .iter()
            .map(|diagnostic| diagnostic.message.as_str())
            .collect();
        let expected = [
            "no hash is recorded for acme/a 3.2.4, in 5 root modules",
            "no hash is recorded for acme/b 3.2.4",
        ];
        assert_eq!(texts, expected);
        assert_eq!(
            shown[0].notes,
            [
                "seen in live/1",
                "in live/1, live/2, live/3 and 2 more: -v lists them"
            ]
        );
        let directories = roots.iter().map(PathBuf::from).collect();
        let selected = RootModules::Selected {
            paths: Vec::new(),
            recursive: true,
            directories,
        };
        assert_eq!(shown[0].root_modules.as_deref(), Some(&selected));
        assert_eq!(
            shown[1].root_modules, all[1].1.root_modules,
            "one root module"
        );
        assert_eq!(
            messages(&all, true)[0].notes[1],
            "in live/1, live/2, live/3, live/4 and live/5"
        );
    }

    #[test]
    fn a_lock_file_in_a_message_does_not_distinguish_causes() {
        let missing = |root: &str| {
            let lock_file = Path::new(root).join(".terraform.lock.hcl");
            let message = Message::naming(&lock_file, |path| format!("{path} is missing"));
            Diagnostic::finding(Code::LockFileMissing, message)
        };
        let all = [("a", missing("a")), ("b", missing("b"))];
        let shown = messages(&all, false);
        assert_eq!(shown.len(), 1);
        assert_eq!(
            shown[0].message,
            ".terraform.lock.hcl is missing, in 2 root modules"
        );
        assert_eq!(shown[0].notes, ["in a and b"]);
    }

    #[test]
    fn of_one_root_module_everything_is_shown_once() {
        let twice = [
            ("a", found("a", "acme/a")),
            ("a", found("a", "acme/a")),
            ("a", found("b", "acme/a")),
        ];
        assert_eq!(
            messages(&twice, false),
            [twice[0].1.clone(), twice[2].1.clone()]
        );
    }
}
