//! Changes and what the gate says of them, as a table: `testdata/gate/*.txt`. Each is checked in
//! memory, without git, together with its twin, in which nothing changes; a tenth of them also by
//! the program, with git.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provlock::diagnostic::{Code, Diagnostic, Needs, Severity};
use provlock::project::{
    ModuleFetching, ReviewedChange, Selection, Session, SessionOptions, VerifyOptions,
};
use provlock::settings;
use provlock::system::{Environment, Overlay, Replaced};

use super::gate::{OTHER_H1, OTHER_ZH};
use super::{H1, ZH, entry, lock_file};
use provlock_test::git::Repository;
use provlock_test::survived;

/// Files by path.
type Files = BTreeMap<PathBuf, String>;

/// A change of a repository, with the findings that it must have.
#[derive(Default)]
struct Case {
    name: String,
    /// Lines such as `error not-decided state-moved`, `note decision-changed` or `silent`.
    expected: Vec<String>,
    base: Files,
    head: Files,
}

/// The cases of all files. A case begins with `=== NAME`; lines up to the first file are what is
/// expected, or comments. `-- base PATH --` begins a file of both revisions, `-- change PATH --`
/// one of the change, and `-- remove PATH --` removes one. In a lock file, `@lock ADDRESS VERSION`
/// is an entry, `@other ADDRESS VERSION` one with different hashes, and `@both ADDRESS VERSION` one
/// with the `h1:` of both.
fn cases() -> Vec<Case> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/gate");
    let mut paths: Vec<_> = fs::read_dir(directory).unwrap().collect();
    paths.sort_by_key(|entry| entry.as_ref().unwrap().path());
    let mut cases = Vec::new();
    for path in paths {
        let path = path.unwrap().path();
        let file_name = path.file_stem().unwrap().to_string_lossy().into_owned();
        for text in fs::read_to_string(&path).unwrap().split("\n=== ").skip(1) {
            cases.push(Case::parse(&file_name, text));
        }
    }
    cases
}

impl Case {
    fn parse(file_name: &str, text: &str) -> Self {
        let (name, rest) = text.split_once('\n').unwrap();
        let mut case = Self {
            name: format!("{file_name}: {name}"),
            ..Self::default()
        };
        let mut sections = format!("\n{rest}");
        if !sections.ends_with('\n') {
            sections.push('\n');
        }
        let mut sections = sections.split("\n-- ");
        for line in sections.next().unwrap().lines() {
            if !line.is_empty() && !line.starts_with('#') {
                case.expected.push(line.to_owned());
            }
        }
        for section in sections {
            let (header, content) = section.split_once('\n').unwrap_or((section, ""));
            let header = header.trim_end().trim_end_matches("--").trim_end();
            let (kind, path) = header.split_once(' ').unwrap();
            let content = expanded(content);
            match kind {
                "base" => {
                    case.base.insert(path.into(), content.clone());
                    case.head.insert(path.into(), content);
                }
                "change" => _ = case.head.insert(path.into(), content),
                "remove" => assert!(case.head.remove(Path::new(path)).is_some(), "{path}"),
                other => panic!("{}: {other}", case.name),
            }
        }
        assert!(!case.expected.is_empty(), "{}", case.name);
        case
    }

    /// The same without a change.
    fn twin(&self) -> Self {
        Self {
            name: format!("{}, in both revisions", self.name),
            expected: vec!["silent".to_owned()],
            base: self.head.clone(),
            head: self.head.clone(),
        }
    }

    /// The differences of findings from what is expected; `None` if there are none.
    fn fault(&self, findings: &[Diagnostic]) -> Option<String> {
        let mut found = BTreeSet::new();
        let mut texts = String::new();
        for finding in findings {
            let is_of_gate = match finding.code {
                Code::NotDecided => true,
                code => code.rule().is_some_and(|rule| rule.needs == Needs::Base),
            };
            if is_of_gate || finding.severity == Severity::Error {
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
            paths: vec![top],
            recursive: true,
            ..Selection::default()
        };
        let roots = session.roots(&selection).unwrap();
        let report = session.verify(&roots, &VerifyOptions::default()).unwrap();
        let mut findings = report.findings;
        for (path, result) in report.roots {
            match result {
                Ok(root) => findings.extend(root.findings),
                Err(errors) => panic!("{}: {}: {errors}", self.name, path.display()),
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
            files_now: now.map(|path| top.join(path).into_os_string()).collect(),
            touched,
            before,
            unchanged,
            differing,
            links: BTreeSet::new(),
            link_targets: BTreeMap::new(),
            omitted: BTreeSet::new(),
            submodules: BTreeSet::new(),
            case_variants: case_variants.map(|path| top.join(path)).collect(),
            findings: Vec::new(),
        }
    }
}

fn is_read(path: &Path) -> bool {
    ReviewedChange::reads(path.file_name().unwrap().to_str().unwrap())
}

/// A text with the entries of lock files in place of their abbreviations.
fn expanded(content: &str) -> String {
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
        return format!("{}\n", content.trim_end());
    }
    lock_file(&entries)
}

#[test]
fn every_change_has_the_outcome_of_the_table() {
    let mut faults = Vec::new();
    let cases = cases();
    assert!(cases.len() > 20);
    for case in &cases {
        faults.extend(case.fault(&case.checked()));
        let twin = case.twin();
        faults.extend(twin.fault(&twin.checked()));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let is_stopped = |case: &&Case| case.expected.iter().any(|one| one.starts_with("error "));
    let stopped = cases.iter().filter(is_stopped).count();
    survived(
        "a change that must be stopped, in the table of the gate",
        stopped,
    );
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
        for (path, content) in &case.head {
            repository
                .environment
                .write(path.to_str().unwrap(), content);
        }
        for path in case.base.keys() {
            if !case.head.contains_key(path) {
                fs::remove_file(repository.environment.project().join(path)).unwrap();
            }
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
        let errors = case.expected.iter().any(|one| one.starts_with("error "));
        assert_eq!(
            output.code,
            Some(i32::from(errors)),
            "{}\n{output}",
            case.name
        );
    }
}
