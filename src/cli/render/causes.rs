//! What is said of many root modules is said by cause: what a hundred of them have in common is one message.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use provlock::diagnostic::{Code, CommandArgument, Diagnostic, Severity};

use super::style::enumerate;

/// How many places are named beside the first, unless all are asked for.
const NAMED: usize = 2;

/// Root modules that were selected together.
#[derive(Clone, Copy)]
pub(crate) struct Many<'a> {
    /// The paths that the user has named.
    pub(crate) paths: &'a [PathBuf],
    /// Whether these stand for all root modules below.
    pub(crate) recursive: bool,
}

/// Diagnostics with one cause, each with the root module that it is about, if that is known.
struct Cause<'a> {
    diagnostics: Vec<(Option<&'a Path>, &'a Diagnostic)>,
}

/// What two diagnostics with the same cause share. The message names the provider and its version.
type Key = (Severity, Code, String);

/// Each cause once, in the order of the first of its diagnostics, which stands for all. `many` is nothing where there is one root
/// module; then each different diagnostic is shown. `all`: all places are named.
pub(crate) fn by_cause<'a>(
    diagnostics: impl IntoIterator<Item = (Option<&'a Path>, &'a Diagnostic)>,
    many: Option<Many<'_>>,
    all: bool,
) -> Vec<Diagnostic> {
    let mut causes: Vec<Cause<'a>> = Vec::new();
    let mut places: HashMap<Key, usize> = HashMap::new();
    for (root, diagnostic) in diagnostics {
        let message = common_message(diagnostic, root.unwrap_or(Path::new(".")));
        let place = *places.entry((diagnostic.severity, diagnostic.code, message)).or_insert(causes.len());
        if place == causes.len() {
            causes.push(Cause { diagnostics: Vec::new() });
        }
        causes[place].diagnostics.push((root, diagnostic));
    }
    causes.iter().flat_map(|cause| cause.shown(many, all)).collect()
}

impl<'a> Cause<'a> {
    /// The root modules besides that of the first diagnostic, each once, in the order of their paths.
    fn others(&self, first: Option<&Path>) -> Vec<&'a Path> {
        let mut roots: Vec<_> = self.diagnostics.iter().filter_map(|(root, _)| *root).collect();
        roots.retain(|root| Some(*root) != first);
        roots.sort_unstable();
        roots.dedup();
        roots
    }

    fn shown(&self, many: Option<Many<'_>>, all: bool) -> Vec<Diagnostic> {
        let (first_root, first) = self.diagnostics[0];
        let others = self.others(first_root);
        let (Some(many), Some(first_root), false) = (many, first_root, others.is_empty()) else {
            return self.different();
        };
        let arguments = many.recursive.then(|| CommandArgument::Word("-r".to_owned()));
        let arguments = arguments.into_iter().chain(many.paths.iter().cloned().map(CommandArgument::Path));
        let arguments: Vec<_> = arguments.collect();
        let help = first.help.clone().map(|help| help.for_many(first_root, &arguments));
        let message = format!("{}, in {} root modules", common_message(first, first_root), others.len() + 1);
        vec![Diagnostic { message, help, root: None, ..first.clone() }.note(places(first, first_root, &others, all))]
    }

    /// Each different diagnostic.
    fn different(&self) -> Vec<Diagnostic> {
        without_repetition(self.diagnostics.iter().map(|(_, diagnostic)| *diagnostic))
    }
}

/// Each diagnostic once: the same one comes from every root module that has the cause.
pub(crate) fn without_repetition<'a>(diagnostics: impl Iterator<Item = &'a Diagnostic>) -> Vec<Diagnostic> {
    #[expect(
        clippy::mutable_key_type,
        reason = "what a file computes when it is needed counts neither for Eq nor for Hash"
    )]
    let mut seen = HashSet::new();
    diagnostics.filter(|diagnostic| seen.insert(*diagnostic)).cloned().collect()
}

/// The message without the directory of the root module.
fn common_message(diagnostic: &Diagnostic, root: &Path) -> String {
    let in_root = root.join(".terraform").display().to_string();
    diagnostic.message.replace(&in_root, ".terraform")
}

/// `also in a, b and 209 more: -v lists them`. The first root module is named unless the place that is shown is in it.
fn places(first: &Diagnostic, first_root: &Path, others: &[&Path], all: bool) -> String {
    let is_shown = first.labels.first().is_some_and(|label| label.location.path().starts_with(first_root));
    let (word, first_root) = if is_shown { ("also in", None) } else { ("in", Some(first_root)) };
    let names: Vec<_> = first_root.iter().chain(others).map(|root| root.display().to_string()).collect();
    if all || names.len() <= NAMED + 1 {
        return format!("{word} {}", enumerate(&names));
    }
    format!("{word} {} and {} more: -v lists them", names[..NAMED].join(", "), names.len() - NAMED)
}

#[cfg(test)]
mod tests {
    use provlock::diagnostic::{CommandLine, Help, HelpPart};

    use super::*;

    fn found(root: &str, provider: &str) -> Diagnostic {
        let message = format!("no hash is recorded for {provider} 3.2.4");
        let command = CommandLine::from(["lock", "-p", "all"]).in_directory(Path::new(root));
        Diagnostic::error(Code::NoHashes, message).note(format!("seen in {root}")).help(command)
    }

    fn messages(found: &[(&str, Diagnostic)], all: bool) -> Vec<Diagnostic> {
        let found = found.iter().map(|(root, diagnostic)| (Some(Path::new(*root)), diagnostic));
        by_cause(found, Some(Many { paths: &[], recursive: true }), all)
    }

    #[test]
    fn one_cause_is_shown_once_with_its_first_place() {
        let roots: Vec<String> = (1..=5).map(|number| format!("live/{number}")).collect();
        let mut all: Vec<_> = roots.iter().map(|root| (root.as_str(), found(root, "acme/a"))).collect();
        all.insert(1, ("live/1", found("live/1", "acme/b")));
        let shown = messages(&all, false);
        let texts: Vec<_> = shown.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
        let expected =
            ["no hash is recorded for acme/a 3.2.4, in 5 root modules", "no hash is recorded for acme/b 3.2.4"];
        assert_eq!(texts, expected);
        assert_eq!(shown[0].notes, ["seen in live/1", "in live/1, live/2 and 3 more: -v lists them"]);
        let command = HelpPart::Command(["lock", "-r", "-p", "all"].into());
        assert_eq!(shown[0].help.as_ref().map(Help::parts), Some(&[command][..]));
        assert_eq!(shown[1].help, all[1].1.help, "one root module");
        assert_eq!(messages(&all, true)[0].notes[1], "in live/1, live/2, live/3, live/4 and live/5");
    }

    #[test]
    fn a_lock_file_in_a_message_does_not_tell_causes_apart() {
        let missing = |root: &str| {
            let lock_file = Path::new(root).join(".terraform.lock.hcl");
            Diagnostic::error(Code::LockFileMissing, format!("{} is missing", lock_file.display()))
        };
        let all = [("a", missing("a")), ("b", missing("b"))];
        let shown = messages(&all, false);
        assert_eq!(shown.len(), 1);
        assert_eq!(shown[0].message, ".terraform.lock.hcl is missing, in 2 root modules");
        assert_eq!(shown[0].notes, ["in a and b"]);
    }

    #[test]
    fn of_one_root_module_everything_is_shown_once() {
        let twice = [("a", found("a", "acme/a")), ("a", found("a", "acme/a")), ("a", found("b", "acme/a"))];
        assert_eq!(messages(&twice, false), [twice[0].1.clone(), twice[2].1.clone()]);
    }
}
