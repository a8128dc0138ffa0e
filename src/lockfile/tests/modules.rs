//! Lock files of modules. Behaviour that both kinds of lock files share is tested with lock files
//! of providers.

use std::path::Path;
use std::sync::Arc;

use super::super::merge::{Conflict, ConflictReason, MarkerStyle, merge, with_markers};
use super::super::{LockedModule, ModuleLockFile, ModuleLocks, SIZE_LIMIT, canonical_text, diff};
use super::recognise::is_recognised_as;
use crate::provider::{ConstraintList, Dialect};

const HEADER: &str = "# This file is maintained by provlock. It records the packages of the modules that this \
                      configuration calls.\n# OpenTofu and Terraform do not read it: \"provlock get\" installs what it \
                      records, \"provlock verify\" checks it.\n";

fn read(text: &str) -> ModuleLockFile {
    let parsed = ModuleLockFile::parse(Path::new("modules"), text.as_bytes());
    parsed
        .lock_file
        .unwrap_or_else(|| panic!("{:?}\n{text}", parsed.diagnostics))
}

/// Every problem as `line:column message`.
fn problems(text: &str) -> Vec<String> {
    let parsed = ModuleLockFile::parse(Path::new("modules"), text.as_bytes());
    let place = |d: &crate::diagnostic::Diagnostic| {
        let (line, column) = d.labels[0].location.line_column();
        format!("{line}:{column} {d}")
    };
    parsed.diagnostics.iter().map(place).collect()
}

/// Reads `SOURCE VERSION [CONSTRAINTS] PACKAGE HASH…`; `-` is no version.
fn locked(text: &str) -> Arc<LockedModule> {
    let (head, rest) = text.split_once(" [").unwrap();
    let (constraints, rest) = rest.split_once("] ").unwrap();
    let (source, version) = head.split_once(' ').unwrap();
    let (package, hashes) = rest.split_once(' ').unwrap_or((rest, ""));
    Arc::new(LockedModule {
        source: source.to_owned(),
        version: (version != "-").then(|| version.parse().unwrap()),
        constraints: ConstraintList::parse_for_module(constraints).unwrap(),
        package: package.to_owned(),
        hashes: hashes
            .split_whitespace()
            .map(|hash| format!("h1:{hash}").parse().unwrap())
            .collect(),
    })
}

fn locks<const N: usize>(entries: [(&str, &str); N]) -> ModuleLocks {
    entries
        .into_iter()
        .map(|(path, entry)| (path.to_owned(), locked(entry)))
        .collect()
}

const ENTRIES: [(&str, &str); 3] = [
    (
        "net",
        "r.test/a/net/aws 5.13.0 [~> 5.0] git::https://r.test/net.git?ref=e0ab a",
    ),
    (
        "net.sub",
        "git::https://r.test/net.git//sub?ref=v1 - [] git::https://r.test/net.git?ref=5632 b c",
    ),
    (
        "net-b",
        "r.test/a/any/aws 1.0.0 [] registry::r.test/a/any/aws@1.0.0",
    ),
];

#[test]
fn the_text_is_aligned_by_entry_and_sorted_by_bytes() {
    let expected = format!(
        r#"{HEADER}
module "net" {{
  source      = "r.test/a/net/aws"
  version     = "5.13.0"
  constraints = "~> 5.0"
  package     = "git::https://r.test/net.git?ref=e0ab"
  hashes = [
    "h1:a",
  ]
}}

module "net-b" {{
  source  = "r.test/a/any/aws"
  version = "1.0.0"
  package = "registry::r.test/a/any/aws@1.0.0"
}}

module "net.sub" {{
  source  = "git::https://r.test/net.git//sub?ref=v1"
  package = "git::https://r.test/net.git?ref=5632"
  hashes = [
    "h1:b",
    "h1:c",
  ]
}}
"#
    );
    let text = canonical_text::<LockedModule>(&locks(ENTRIES), Dialect::default());
    assert_eq!(text, expected);
    assert_eq!(read(&text).locks(), &locks(ENTRIES));
    assert!(is_recognised_as::<LockedModule>(text.as_bytes()));
    assert!(is_recognised_as::<LockedModule>(
        text.replace("\"~> 5.0\"", "\"~>v5\"").as_bytes()
    ));
    assert!(!is_recognised_as::<LockedModule>(
        text.replace("  package ", "  packages ").as_bytes()
    ));
    let empty = ModuleLockFile::empty(Path::new("modules"), Dialect::default());
    assert_eq!(
        String::from_utf8(empty.edit(&locks(ENTRIES)).unwrap()).unwrap(),
        expected
    );
    assert_eq!(
        String::from_utf8(empty.edit(&ModuleLocks::new()).unwrap()).unwrap(),
        HEADER
    );
    assert_eq!(
        String::from_utf8(read(&text).edit(&ModuleLocks::new()).unwrap()).unwrap(),
        HEADER
    );
}

#[test]
fn constraints_have_the_form_of_modules() {
    let entry = |constraints: &str| {
        format!(
            "module \"a\" {{\n  source = \"x\"\n  package = \"y\"\n  constraints = \"{constraints}\"\n}}\n"
        )
    };
    for canonical in ["~> 1", "~> 1.0", "~> 1.0.0", ">= 1.0.0, < 2.0.0"] {
        assert_eq!(
            read(&entry(canonical)).locks()["a"].constraints.to_string(),
            canonical
        );
    }
    let told = "4:17 the constraints of module.a must be written \"~> 1\", not \"~>v1\"";
    assert_eq!(problems(&entry("~>v1")), [told]);
    assert_eq!(
        read(&entry("")).locks()["a"].constraints,
        ConstraintList::default()
    );
}

#[test]
fn every_problem_is_reported_at_its_position() {
    let text = include_str!("../../../testdata/module-locks/refused-many-problems.hcl");
    let expected = [
        "1:8 \"a..b\" is not the path of a module call, such as network.endpoints",
        "5:8 \"../a\" is not the path of a module call, such as network.endpoints",
        "6:13 the source of module.../a cannot be the address of a module: \"\"",
        "7:13 the package of module.../a cannot be the address of a module: \" https://example.com/a.zip\"",
        "9:8 the entry of module.c has no source",
        "9:8 the entry of module.c has no package",
        "10:17 \"v1.0\" is not a version of module.c: a version does not start with \"v\"",
        "11:17 the constraints of module.c must be written \"~> 1\", not \"~>v1\"",
        "12:3 unknown attribute floating is ignored: an entry has source, version, constraints, package and hashes",
        "14:1 a module block has one label, the path of the calls; this one has 2",
        "14:1 the entry of the module has no source",
        "14:1 the entry of the module has no package",
        "15:1 unknown block type resource: a lock file contains module blocks only",
    ];
    assert_eq!(problems(text), expected);
    let twice = "module \"a\" {\n  source = \"x\"\n  package = \"y\"\n}\n".repeat(2);
    assert_eq!(problems(&twice), ["5:8 module.a is locked twice"]);
    let ignored = "1:1 provider blocks in a lock file have no meaning yet; this one is ignored";
    assert_eq!(problems("provider \"a.b/c/d\" {}\n"), [ignored]);
}

#[test]
fn labels_are_paths_of_calls() {
    let entry =
        |label: &str| format!("module \"{label}\" {{\n  source = \"x\"\n  package = \"y\"\n}}\n");
    for label in [
        "a",
        "a.b-c.D_1",
        "bücher.x",
        ".",
        "test.tests.a.x",
        "test.my tests.a.x",
    ] {
        assert_eq!(read(&entry(label)).entries()[0].address, label);
    }
    for label in [
        "", "..", "a.", ".a", "a..b", "a/b", "../a", "a\\\\b", "C:", "a\\nb", "a\\u0000",
    ] {
        assert_eq!(problems(&entry(label)).len(), 1, "{label}");
    }
    for address in ["", " x", "x\\n", "x\\u001b[0m"] {
        assert_eq!(
            problems(&entry("a").replace("\"x\"", &format!("\"{address}\""))).len(),
            1,
            "{address}"
        );
    }
    let large = format!("#{}", " ".repeat(usize::try_from(SIZE_LIMIT).unwrap()));
    let error = read(&large).edit(&locks(ENTRIES)).unwrap_err();
    assert!(
        error[0]
            .message
            .ends_with("would become larger than 4 MiB, so it stays as it is"),
        "{error:?}"
    );
}

/// Edits the one entry of `text`, which is `a`.
fn edited(text: &str, entry: &str) -> String {
    String::from_utf8(read(text).edit(&locks([("a", entry)])).unwrap()).unwrap()
}

#[test]
fn attributes_come_and_go_with_alignment() {
    let git = "module \"a\" { # a\n  source  = \"g?ref=v1\" # why\n  package = \"g?ref=c1\"\n  # end\n}\n";
    let registry = r#"module "a" { # a
  source      = "r" # why
  version     = "1.0.0"
  constraints = "~> 1"
  package     = "p"
  hashes = [
    "h1:x",
  ]
  # end
}
"#;
    assert_eq!(edited(git, "r 1.0.0 [~> 1] p x"), registry);
    let back = git.replace("\n  # end", "\n  hashes = [\n    \"h1:x\",\n  ]\n  # end");
    assert_eq!(edited(registry, "g?ref=v1 - [] g?ref=c1 x"), back);
    let only_version = registry
        .replace("\n  constraints = \"~> 1\"", "")
        .replace("      = ", "  = ");
    let only_version = only_version.replace("     = ", " = ");
    assert_eq!(edited(registry, "r 1.0.0 [] p x"), only_version);
    let tight = "module \"a\" {\n\tsource=\"g\"\n\n\tpackage=\"p\"\n}\n";
    let expected =
        "module \"a\" {\n  source  = \"r\"\n  version = \"1.0.0\"\n  package = \"p\"\n}\n";
    assert_eq!(edited(tight, "r 1.0.0 [] p"), expected);
    let crlf = git.replace('\n', "\r\n");
    assert_eq!(
        edited(&crlf, "r 1.0.0 [~> 1] p x"),
        registry.replace('\n', "\r\n")
    );
}

#[test]
fn unknown_attributes_stay_as_they_are_written() {
    let text = "module \"a\" {\n  new={ a = [ 1 ] } # n\n  source = \"g\"\n  # of p\n  package = \"p\"\n}\n";
    let expected = r#"module "a" {
  source  = "r"
  # of p
  package = "p"
  new={ a = [ 1 ] } # n
  hashes = [
    "h1:x",
  ]
}
"#;
    assert_eq!(edited(text, "r - [] p x"), expected);
}

#[test]
fn differences_and_moves() {
    let (mut new, old) = (locks(ENTRIES), locks(ENTRIES));
    Arc::make_mut(new.get_mut("net").unwrap()).version = Some("6.0.0".parse().unwrap());
    Arc::make_mut(new.get_mut("net.sub").unwrap()).hashes = ["h1:z".parse().unwrap()].into();
    let difference = diff::<LockedModule>(&old, &new);
    let changed: Vec<_> = difference
        .changes()
        .map(|entry| entry.address.as_str())
        .collect();
    assert_eq!(changed, ["net", "net.sub"]);
    assert!(
        difference.entries[0].version_move().is_some() && !difference.entries[0].hashes_replaced()
    );
    assert!(
        difference.entries[2].version_move().is_none() && difference.entries[2].hashes_replaced()
    );
}

fn merged(base: &str, ours: &str, theirs: &str) -> Result<LockedModule, ConflictReason> {
    let [base, ours, theirs] = [base, ours, theirs].map(|side| locks([("a", side)]));
    let merged = merge::<LockedModule>(&base, &ours, &theirs);
    merged
        .locks
        .get("a")
        .map(|entry| LockedModule::clone(entry))
        .ok_or_else(|| merged.conflicts[0].reason)
}

#[test]
fn sides_are_merged() {
    let is = |entry: &str| Ok(LockedModule::clone(&locked(entry)));
    assert_eq!(
        merged(
            "s 1.0.0 [~> 1] p a",
            "s 1.1.0 [~> 1] q b",
            "s 1.0.0 [~> 1] p a"
        ),
        is("s 1.1.0 [~> 1] q b")
    );
    assert_eq!(
        merged(
            "s 1.0.0 [~> 1] p a",
            "s 1.0.0 [~> 1.0] p a",
            "s 1.0.0 [~> 1] p a b"
        ),
        is("s 1.0.0 [~> 1.0] p a b")
    );
    let conflict = |base, ours, theirs| merged(base, ours, theirs).unwrap_err();
    let base = "s 1.0.0 [~> 1] p a";
    assert_eq!(
        conflict(base, "s 1.1.0 [~> 1] q b", "s 1.2.0 [~> 1] r c"),
        ConflictReason::Versions
    );
    assert_eq!(
        conflict(base, "s 1.1.0 [~> 1] q b", "s 1.0.0 [~> 1.0] p a"),
        ConflictReason::Versions
    );
    assert_eq!(
        conflict(base, "s 1.0.0 [~> 1.0] p a", "s 1.0.0 [~> 1.1] p a"),
        ConflictReason::Constraints
    );
    assert_eq!(
        conflict("s - [] p a", "s - [] p b", "s - [] p c"),
        ConflictReason::Hashes
    );
    assert_eq!(
        conflict("s - [] p", "s - [] p b", "s - [] p c"),
        ConflictReason::Hashes
    );
    assert_eq!(
        conflict("s - [] p a b", "s - [] p a", "s - [] p b"),
        ConflictReason::NoHashLeft
    );
    assert_eq!(
        merged("s - [] p", "s - [] p b", "s - [] p b c"),
        is("s - [] p b c")
    );
    assert_eq!(
        conflict("s - [] p a", "t - [] p a", "s - [] q a"),
        ConflictReason::Versions
    );
}

#[test]
fn conflicts_are_reported_and_marked() {
    let side = |package: &str| locks([("a", &*format!("s?ref=v1 - [] p?ref={package} {package}"))]);
    let (ours, theirs) = (side("1"), side("2"));
    let merged = merge::<LockedModule>(&ModuleLocks::new(), &ours, &theirs);
    let told = merged.conflicts[0].diagnostic(Dialect::default()).message;
    assert_eq!(told, "conflict: ours has module.a p?ref=1, theirs p?ref=2");
    let reason = ConflictReason::Constraints;
    let constraints = Conflict {
        reason,
        ..merged.conflicts[0].clone()
    }
    .diagnostic(Dialect::default());
    assert_eq!(
        constraints.message,
        "conflict: each side gave module.a other constraints"
    );
    let [ours, theirs] =
        [ours, theirs].map(|side| read(&canonical_text::<LockedModule>(&side, Dialect::default())));
    let marked =
        String::from_utf8(with_markers(&ours, &theirs, &merged, &MarkerStyle::default()).unwrap())
            .unwrap();
    let block = |file: &ModuleLockFile| file.file().text.split_once("\n\n").unwrap().1.to_owned();
    let expected = format!(
        "{HEADER}\n<<<<<<< ours\n{}=======\n{}>>>>>>> theirs\n",
        block(&ours),
        block(&theirs)
    );
    assert_eq!(marked, expected);
}
