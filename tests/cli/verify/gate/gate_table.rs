//! Changes and what the gate says of them, as a table: `testdata/gate/*.txt`. Each is checked in
//! memory, without git, together with its twin, in which nothing changes; a tenth of them also by
//! the program, with git.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provlock::diagnostic::{Code, Diagnostic, Location, Needs, Severity};
use provlock::project::verify::Tracking;
use provlock::project::{
    ModuleFetching, ReviewedChange, Selection, Session, SessionOptions, Tracked, VerifyOptions,
    VersionControl,
};
use provlock::settings;
use provlock::system::{Environment, Overlay, Replaced, parallel};

use super::gate::{OTHER_H1, OTHER_ZH};
use super::{H1, ZH, entry, lock_file};
use crate::lock::requires;
use provlock_test::git::Repository;
use provlock_test::survived;

/// Starts of the names under which files of several cases stand.
const ALL: &str = "all: ";
const SOME: &str = "some: ";

/// Files by path.
type Files = BTreeMap<PathBuf, String>;

/// A change of a repository, with the findings that it must have.
#[derive(Clone, Default)]
struct Case {
    name: String,
    /// Name of the attack that this case tries; empty if it has none.
    attack: String,
    /// Lines such as `error not-decided state-moved`, `note decision-changed` or `silent`.
    expected: Vec<String>,
    /// Whether it also has errors that are not about the change.
    has_own_error: bool,
    base: Files,
    head: Files,
}

/// The cases of all files. A case begins with `=== NAME`; lines up to the first file are what is
/// expected, or comments. `-- base PATH --` begins a file of both revisions, `-- change PATH --`
/// one of the change, and `-- remove PATH --` removes one. `=== all: WORDS` begins the files of all
/// cases after it, and `=== some: WORDS` further ones, up to the next of the two; the words may be
/// the name of an attack, "a pull request …". `@requires SOURCE` is a configuration that requires a
/// provider. In a lock file, `@lock ADDRESS VERSION` is an entry, `@other ADDRESS VERSION` one with
/// different hashes, and `@both ADDRESS VERSION` one with the `h1:` of both.
fn cases() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/gate");
    let mut paths: Vec<_> = fs::read_dir(directory).unwrap().collect();
    paths.sort_by_key(|entry| entry.as_ref().unwrap().path());
    let mut cases = Vec::new();
    for path in paths {
        let path = path.unwrap().path();
        let file_name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let mut of_all = Case::default();
        let mut of_some = Case::default();
        for text in fs::read_to_string(&path).unwrap().split("\n=== ").skip(1) {
            let files = text.split("\n-- ").skip(1);
            if text.starts_with(ALL) {
                of_all = Case::default();
                of_all.add_files(files);
                of_some = of_all.clone();
            } else if let Some(words) = text.strip_prefix(SOME) {
                of_some = of_all.clone();
                of_some.add_files(files);
                if words.starts_with("a pull request ") {
                    words
                        .lines()
                        .next()
                        .unwrap()
                        .clone_into(&mut of_some.attack);
                }
            } else {
                cases.push(Case::parse(&file_name, text, &of_some));
            }
        }
    }
    // No file of Windows has such a name.
    cases.retain(|case| !cfg!(windows) || !case.has_colon());
    cases
}

impl Case {
    fn parse(file_name: &str, text: &str, of_some: &Self) -> Self {
        let (name, rest) = text.split_once('\n').unwrap();
        let mut case = Self {
            name: format!("{file_name}: {name}"),
            expected: Vec::new(),
            has_own_error: false,
            attack: of_some.attack.clone(),
            base: of_some.base.clone(),
            head: of_some.head.clone(),
        };
        let sections = format!("\n{rest}");
        let mut sections = sections.split("\n-- ");
        for line in sections.next().unwrap().lines() {
            if !line.is_empty() && !line.starts_with('#') {
                case.expected.push(line.to_owned());
            }
        }
        case.add_files(sections);
        assert!(!case.expected.is_empty(), "{}", case.name);
        case
    }

    fn has_colon(&self) -> bool {
        let mut paths = self.base.keys().chain(self.head.keys());
        paths.any(|path| path.to_string_lossy().contains(':'))
    }

    /// Adds files from texts that begin with `base PATH --` and the like.
    fn add_files<'a>(&mut self, sections: impl Iterator<Item = &'a str>) {
        for section in sections {
            let (header, content) = section.split_once('\n').unwrap_or((section, ""));
            let header = header.trim_end().trim_end_matches("--").trim_end();
            let (kind, path) = header.split_once(' ').unwrap();
            let content = expanded(content);
            match kind {
                "base" => {
                    self.base.insert(path.into(), content.clone());
                    self.head.insert(path.into(), content);
                }
                "change" => _ = self.head.insert(path.into(), content),
                "remove" => assert!(self.head.remove(Path::new(path)).is_some(), "{path}"),
                other => panic!("{}: {other}", self.name),
            }
        }
    }

    /// The same without a change: the gate finds nothing. If the change has errors of its own, such
    /// as a provider that is not locked, or has settings of its own, these errors may stay.
    fn twin(&self) -> Self {
        let has_own_error = self.expected.iter().any(|one| {
            let code = one.split(' ').nth(1);
            code.is_some_and(|code| !code.parse().is_ok_and(is_of_gate))
        });
        let settings = Path::new(settings::FILE_NAME);
        let has_own_settings = self.base.get(settings) != self.head.get(settings);
        Self {
            name: format!("{}, in both revisions", self.name),
            attack: String::new(),
            expected: vec!["silent".to_owned()],
            has_own_error: has_own_error || has_own_settings,
            base: self.head.clone(),
            head: self.head.clone(),
        }
    }

    /// The differences of findings from what is expected; `None` if there are none.
    fn fault(&self, findings: &[Diagnostic]) -> Option<String> {
        let mut found = BTreeSet::new();
        let mut texts = String::new();
        for finding in findings {
            let is_own_error = finding.severity == Severity::Error && !self.has_own_error;
            if is_of_gate(finding.code) || is_own_error {
                let reason = finding.reason.map_or("", |reason| reason.as_str());
                let line = format!("{} {} {reason}", finding.severity, finding.code);
                _ = writeln!(texts, "    {line}: {}", finding.message);
                found.insert(line.trim_end().to_owned());
            }
        }
        let is_expected = |found: &String| {
            let mut expected = self.expected.iter();
            expected.any(|one| found == one || found.starts_with(&format!("{one} ")))
        };
        let mut is_right = found
            .iter()
            .all(|found| found.starts_with("note ") || is_expected(found));
        for expected in &self.expected {
            let mut found = found.iter();
            is_right &= if expected == "silent" {
                found.len() == 0
            } else {
                found.any(|found| found == expected || found.starts_with(&format!("{expected} ")))
            };
        }
        let expected = self.expected.join(", ");
        (!is_right).then(|| format!("{}\n  expected: {expected}\n{texts}", self.name))
    }

    /// Checks the change in memory: only the files of the head are on disk.
    fn checked(&self) -> Vec<Diagnostic> {
        let directory = tempfile::tempdir().unwrap();
        let top = dunce::canonicalize(directory.path()).unwrap();
        for (path, content) in &self.head {
            let path = top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let mut environment = Environment::default();
        environment.current_directory.clone_from(&top);
        let mut options = SessionOptions::default();
        options.offline = true;
        options.modules = ModuleFetching::Never;
        options.change = Some(self.change(&top));
        let session = Session::new(environment, options).unwrap();
        let selection = Selection {
            paths: vec![top.clone()],
            recursive: true,
            ..Selection::default()
        };
        let git = AllTracked {
            top: &top,
            head: &self.head,
        };
        let mut verify_options = VerifyOptions::default();
        verify_options.version_control = Some(&git);
        let verified = session
            .roots(&selection)
            .and_then(|roots| session.verify(&roots, &verify_options));
        let report = match verified {
            Ok(report) => report,
            Err(errors) => return errors.into_iter().collect(),
        };
        let mut findings = report.findings;
        for (_, result) in report.roots {
            match result {
                Ok(root) => {
                    findings.extend(root.findings);
                    findings.extend(root.errors);
                }
                Err(errors) => findings.extend(errors),
            }
        }
        findings
    }

    fn change(&self, top: &Path) -> ReviewedChange {
        let mut replaced = BTreeMap::new();
        let mut contents = BTreeMap::new();
        let mut differing = BTreeSet::new();
        let mut touched = BTreeSet::new();
        let all: BTreeSet<_> = self.base.keys().chain(self.head.keys()).collect();
        for path in all {
            if self.base.get(path) == self.head.get(path) {
                continue;
            }
            let absolute = top.join(path);
            let at_base = match self.base.get(path) {
                Some(content) => {
                    contents.insert(path.display().to_string(), content.clone());
                    Replaced::File(path.display().to_string())
                }
                None => Replaced::Absent,
            };
            if is_read(path) {
                touched.extend(absolute.parent().map(Path::to_owned));
            }
            replaced.insert(absolute.clone(), at_base);
            differing.insert(absolute);
        }
        let mut before = BTreeMap::new();
        let mut unchanged = HashSet::new();
        for (path, content) in &self.base {
            if !is_read(path) {
                continue;
            }
            let absolute = top.join(path).into_os_string();
            if self.head.get(path) == Some(content) {
                unchanged.insert(absolute.clone());
            }
            before.insert(absolute, content.clone().into_bytes());
        }
        let mut settings = before.clone();
        settings
            .retain(|path, _| Path::new(path).file_name() == Some(settings::FILE_NAME.as_ref()));
        let is_added = |path: &&PathBuf| !self.base.contains_key(*path);
        let is_variant = |path: &&PathBuf| ReviewedChange::is_case_variant(path);
        let case_variants = self.head.keys().filter(is_added).filter(is_variant);
        let read = move |name: &str, _limit| Ok(contents[name].clone().into_bytes());
        let now = self.head.keys().filter(|path| is_read(path));
        ReviewedChange {
            top: top.to_owned(),
            current_directory: top.to_owned(),
            commit: "0".repeat(40),
            missing_commits: 0,
            settings,
            revision_lock_files: None,
            base: Arc::new(Overlay::new(top.to_owned(), replaced, Box::new(read))),
            read_files_now: now.map(|path| top.join(path).into_os_string()).collect(),
            touched,
            before,
            unchanged,
            differing,
            altered_links: BTreeSet::new(),
            links: BTreeSet::new(),
            link_targets: BTreeMap::new(),
            omitted: BTreeSet::new(),
            submodules: BTreeSet::new(),
            case_variants: case_variants.map(|path| top.join(path)).collect(),
            findings: Vec::new(),
        }
    }
}

/// A repository in which git tracks every file.
struct AllTracked<'a> {
    top: &'a Path,
    head: &'a Files,
}

impl VersionControl for AllTracked<'_> {
    fn tracked(&self, root: &Path, _has_modules: bool) -> Tracked {
        let mut tracked = Tracked {
            lock_file: Tracking::Tracked,
            module_lock_file: Tracking::Tracked,
            ..Tracked::default()
        };
        for path in self.head.keys() {
            let path = self.top.join(path);
            if path.starts_with(root.join(".terraform")) {
                tracked
                    .data_files
                    .push(path.strip_prefix(root).unwrap().to_owned());
            }
        }
        tracked
    }

    fn rules_ignoring_lock_files(&self, roots: &[&Path]) -> Vec<Option<Location>> {
        vec![None; roots.len()]
    }
}

/// Whether a finding is about the difference of two revisions.
fn is_of_gate(code: Code) -> bool {
    code == Code::NotDecided || code.rule().is_some_and(|rule| rule.needs == Needs::Base)
}

fn is_read(path: &Path) -> bool {
    ReviewedChange::reads(path.file_name().unwrap().to_str().unwrap())
}

/// A text with what its abbreviations stand for.
fn expanded(content: &str) -> String {
    let mut content = content.trim_end().to_owned();
    if let Some((before, rest)) = content.split_once("@requires ") {
        let (source, after) = rest.split_once('\n').unwrap_or((rest, ""));
        content = format!("{before}{}{after}", requires(source, ""));
    }
    let mut entries = Vec::new();
    for line in content.lines() {
        let mut words = line.split(' ');
        let hashes = match words.next() {
            Some("@lock") => &[H1, ZH][..],
            Some("@other") => &[OTHER_H1, OTHER_ZH],
            Some("@both") => &[H1, OTHER_H1, ZH],
            _ => continue,
        };
        let address = words.next().unwrap();
        let version = words.next().unwrap();
        entries.push(entry(address, version, "", hashes));
    }
    if entries.is_empty() {
        return format!("{content}\n");
    }
    lock_file(&entries)
}

#[test]
fn every_change_has_the_outcome_of_the_table() {
    let cases = cases();
    assert!(cases.len() > 20);
    let faults = parallel::map(cases.iter().collect(), parallel::cores(), |case: &Case| {
        let twin = case.twin();
        let own = case.fault(&case.checked());
        [own, twin.fault(&twin.checked())]
    });
    let faults: Vec<_> = faults.into_iter().flatten().flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let mut stopped: BTreeMap<&str, usize> = BTreeMap::new();
    for case in &cases {
        if case.expected.iter().any(|one| one.starts_with("error ")) {
            *stopped.entry(&case.attack).or_default() += 1;
        }
    }
    for (attack, number) in stopped {
        if attack.is_empty() {
            survived(
                "a change that must be stopped, in the table of the gate",
                number,
            );
        } else {
            survived(attack, number);
        }
    }
}

/// The program with git says what the table says.
#[test]
fn a_tenth_of_the_table_comes_out_the_same_with_git() {
    for case in cases().iter().step_by(10) {
        let repository = Repository::new();
        for (path, content) in &case.base {
            repository
                .environment
                .write(path.to_str().unwrap(), content);
        }
        repository.environment.commit_all(".");
        for path in case.base.keys() {
            if !case.head.contains_key(path) {
                let file = repository.environment.project().join(path);
                fs::remove_file(&file).unwrap();
                // A file may take the place of a directory.
                for above in file.ancestors().skip(1) {
                    if fs::remove_dir(above).is_err() {
                        break;
                    }
                }
            }
        }
        for (path, content) in &case.head {
            repository
                .environment
                .write(path.to_str().unwrap(), content);
        }
        repository.git(["add", "--all", "--force"]);
        let output = repository.environment.provlock([
            "verify",
            "-r",
            "--base",
            "HEAD",
            "--offline",
            "--json",
        ]);
        let has_error = |start: &str| case.expected.iter().any(|one| one.starts_with(start));
        let mut code = i32::from(has_error("error "));
        // Such a root module could not be checked.
        if has_error("error invalid-configuration") {
            code = 2;
        }
        assert_eq!(output.code, Some(code), "{}\n{output}", case.name);
    }
}
