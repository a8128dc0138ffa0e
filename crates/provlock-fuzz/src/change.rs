//! Changes of a root module, as `verify --base` judges them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use provlock::diagnostic::{Code, Diagnostic, Needs};
use provlock::project::{
    ModuleFetching, ReviewedChange, Selection, Session, SessionOptions, VerifyOptions,
};
use provlock::system::{Environment, Overlay, Replaced, canonicalize};

/// A call of a module whose publisher the base does not know.
const NEW_CALL: &str =
    "module \"provlock_fuzz\" {\n  source = \"git::https://new.test/acme/new.git?ref=v1\"\n}\n";
const NEW_CALL_IN_JSON: &str = "{\"module\": {\"provlock_fuzz\": {\"source\": \
                                \"git::https://new.test/acme/new.git?ref=v1\"}}}";

/// Judges changes of a root module that consists of one file. A comment is no change; a new call is
/// never passed in silence, whatever is beside it.
pub fn change(data: &[u8]) -> bool {
    let is_json = data.starts_with(b"{");
    let (name, end, call) = if is_json {
        ("main.tf.json", "\n ", NEW_CALL_IN_JSON)
    } else {
        ("main.tf", "\n# a comment\n", NEW_CALL)
    };
    let call_name = if is_json { "call.tf.json" } else { "call.tf" };
    let project = tempfile::tempdir().expect("a temporary directory");
    let top = canonicalize(project.path()).expect("an existing directory");
    fs::write(top.join(".git"), "").expect("a file");

    let longer = [data, end.as_bytes()].concat();
    fs::write(top.join(name), &longer).expect("a file");
    let base = Some(data);
    let Some(findings) = judged(&top, &ChangedFile { name, base }) else {
        return false;
    };
    let is_silent = !findings.iter().any(is_of_change);
    assert!(is_silent, "with a comment: {findings:?}");

    fs::write(top.join(name), data).expect("a file");
    fs::write(top.join(call_name), call).expect("a file");
    let added = ChangedFile {
        name: call_name,
        base: None,
    };
    if let Some(findings) = judged(&top, &added) {
        let is_seen = findings.iter().any(is_of_change);
        assert!(is_seen, "a new call: {findings:?}");
    }
    true
}

fn is_of_change(finding: &Diagnostic) -> bool {
    let needs_base = |rule: &provlock::diagnostic::Rule| rule.needs == Needs::Base;
    finding.code == Code::NotDecided || finding.code.rule().is_some_and(needs_base)
}

/// A file that the change adds or alters.
struct ChangedFile<'a> {
    name: &'a str,
    /// Its content at the base; `None` if the change adds it.
    base: Option<&'a [u8]>,
}

/// The findings about the change of a file in a directory, which has the other files at the base,
/// too; `None` if the directory cannot be read.
fn judged(top: &Path, changed: &ChangedFile<'_>) -> Option<Vec<Diagnostic>> {
    let environment = Environment {
        current_directory: top.to_owned(),
        ..Environment::default()
    };
    let mut options = SessionOptions::default();
    options.offline = true;
    options.modules = ModuleFetching::Never;
    options.change = Some(reviewed(top, changed));
    let session = Session::new(environment, options).expect("a session");
    let verified = session
        .roots(&Selection::one(top.to_owned()))
        .and_then(|roots| session.verify(&roots, &VerifyOptions::default()));
    let report = verified.ok()?;
    let mut findings = report.findings;
    for (_, result) in report.roots {
        let root = result.ok()?;
        if !root.errors.is_empty() {
            return None;
        }
        findings.extend(root.findings);
    }
    Some(findings)
}

fn reviewed(top: &Path, changed: &ChangedFile<'_>) -> ReviewedChange {
    let path = top.join(changed.name);
    let mut before = BTreeMap::new();
    let mut read_files_now = HashSet::new();
    let mut unchanged = HashSet::new();
    for entry in fs::read_dir(top).expect("a directory") {
        let file = entry.expect("an entry").path();
        let name = file.file_name().expect("a name").to_string_lossy();
        if !ReviewedChange::reads(&name) {
            continue;
        }
        read_files_now.insert(file.clone().into_os_string());
        if file != path {
            let content = fs::read(&file).expect("a file");
            before.insert(file.clone().into_os_string(), content);
            unchanged.insert(file.into_os_string());
        }
    }
    let mut at_base = Replaced::Absent;
    let mut content = Vec::new();
    if let Some(bytes) = changed.base {
        at_base = Replaced::File(changed.name.to_owned());
        content = bytes.to_vec();
        before.insert(path.clone().into_os_string(), content.clone());
    }
    let read = move |_: &str, _limit| Ok(content.clone());
    let replaced = BTreeMap::from([(path.clone(), at_base)]);
    ReviewedChange {
        top: top.to_owned(),
        current_directory: top.to_owned(),
        commit: "0".repeat(40),
        missing_commits: 0,
        settings: BTreeMap::new(),
        revision_lock_files: None,
        base: Arc::new(Overlay::new(top.to_owned(), replaced, Box::new(read))),
        read_files_now: read_files_now.into_iter().collect(),
        touched: BTreeSet::from([top.to_owned()]),
        before,
        unchanged,
        differing: BTreeSet::from([path]),
        altered_links: BTreeSet::new(),
        links: BTreeSet::new(),
        link_targets: BTreeMap::new(),
        omitted: BTreeSet::new(),
        submodules: BTreeSet::new(),
        case_variants: BTreeSet::new(),
        findings: Vec::new(),
    }
}
