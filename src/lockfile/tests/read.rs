use super::{HEADER, address, lock_file, locked, parsed};
use crate::diagnostic::{Code, Severity};

/// Every problem as `line:column code`.
fn problems(text: &str) -> Vec<String> {
    let parsed = parsed(text);
    assert_eq!(
        parsed.lock_file.is_none(),
        parsed
            .diagnostics
            .iter()
            .any(|d| d.severity == Severity::Error)
    );
    let place = |d: &crate::diagnostic::Diagnostic| {
        let (line, column) = d.labels[0].location.line_column();
        format!("{line}:{column} {}", d.code)
    };
    parsed.diagnostics.iter().map(place).collect()
}

fn messages(text: &str) -> Vec<String> {
    parsed(text)
        .diagnostics
        .iter()
        .map(ToString::to_string)
        .collect()
}

/// An entry with the given attributes, the first on line 2.
fn entry(attributes: &str) -> String {
    format!("provider \"a.b/c/d\" {{\n{attributes}\n}}\n")
}

#[test]
fn model_and_places() {
    let text = format!(
        "{HEADER}\nprovider \"a.b/c/d\" {{\n  version     = \"1.2.3\"\n  constraints = \">= 1.0.0\"\n  \
         hashes = [\n    \"zh:b\",\n    \"h1:a\",\n    \"zh:b\",\n  ]\n}}\n\
         provider \"a.b/c/e\" {{ version = \"2.0.0\" }}\n"
    );
    let lock_file = lock_file(&text);
    let entry = lock_file.entry(&address("a.b/c/d")).unwrap();
    assert_eq!(entry.locked, locked("1.2.3", ">= 1.0.0", &["h1:a", "zh:b"]));
    let at = |location: &crate::diagnostic::Location| &text[location.span.clone()];
    assert_eq!(at(&entry.block), "\"a.b/c/d\"");
    assert_eq!(at(entry.version()), "\"1.2.3\"");
    assert_eq!(entry.constraints().map(at), Some("\">= 1.0.0\""));
    let hashes: Vec<_> = entry
        .hashes
        .iter()
        .map(|(hash, place)| (hash.as_str(), at(place)))
        .collect();
    assert_eq!(
        hashes,
        [
            ("zh:b", "\"zh:b\""),
            ("h1:a", "\"h1:a\""),
            ("zh:b", "\"zh:b\"")
        ]
    );
    assert_eq!(entry.hashes[1].1.line_column(), (9, 5));
    let second = &lock_file.entries()[1];
    assert_eq!(
        (second.locked.clone(), second.constraints()),
        (locked("2.0.0", "", &[]), None)
    );
    assert_eq!(lock_file.locks().len(), 2);
    assert!(lock_file.entry(&address("a.b/c/f")).is_none());
}

#[test]
fn a_byte_order_mark_is_kept() {
    let lock_file = lock_file("\u{feff}provider \"a.b/c/d\" { version = \"1.0.0\" }");
    assert!(lock_file.bytes().starts_with(b"\xef\xbb\xbfprovider"));
    assert_eq!(lock_file.entries()[0].block.line_column(), (1, 10));
}

#[test]
fn escapes_and_constant_templates_are_evaluated() {
    let text = "provider \"a.b/\\u0063/d\" {\n  version = \"${1}.${\"2\"}.0\"\n  constraints = \"\\u003e= 1.0.0\"\n  \
                hashes = [\"h1:\\n$${x}%%{y}\"]\n}";
    let lock_file = lock_file(text);
    assert_eq!(
        lock_file.locks()[&address("a.b/c/d")],
        locked("1.2.0", ">= 1.0.0", &["h1:\n${x}%{y}"])
    );
}

#[test]
fn every_problem_is_reported_at_its_place() {
    let text = "provider \"c/d\" {\n  version = \"v1.0.0\"\n  constraints = \">=1.0\"\n  hashes = []\n  more = 1\n}\n\
                provider \"a.b/c/e\" {\n  hashes = [\"h1\", \":x\", \"\", 1, null, \"h1:x${y}\"]\n  inner {}\n}\n\
                provider {}\nresource \"x\" {}\nname = 1\n";
    let expected = [
        "1:10 not-canonical",
        "2:13 lock-file-syntax",
        "3:17 not-canonical",
        "4:12 lock-file-syntax",
        "5:3 lock-file-syntax",
        "7:10 lock-file-syntax",
        "8:13 malformed-hash",
        "8:19 malformed-hash",
        "8:25 malformed-hash",
        "8:29 lock-file-syntax",
        "8:32 lock-file-syntax",
        "8:38 lock-file-syntax",
        "9:3 lock-file-syntax",
        "11:1 lock-file-syntax",
        "11:1 lock-file-syntax",
        "12:1 lock-file-syntax",
        "13:1 lock-file-syntax",
    ];
    assert_eq!(problems(text), expected);
}

#[test]
fn canonical_forms_are_named() {
    let found = messages(&entry("version = \"1.5\"\nconstraints = \"<2, >=1.0\""));
    assert_eq!(
        found[0],
        "the version of a.b/c/d must be written \"1.5.0\", not \"1.5\""
    );
    assert_eq!(
        found[1],
        "the constraints of a.b/c/d must be written \">= 1.0.0, < 2.0.0\", not \"<2, >=1.0\""
    );
    let address = messages("provider \"acme/Gamma\" {\n version = \"1.0.0\"\n}");
    assert_eq!(
        address,
        ["provider \"acme/Gamma\": the address must be written registry.opentofu.org/acme/gamma"]
    );
}

#[test]
fn values_that_are_not_strings_are_refused() {
    for value in [
        "1",
        "null",
        "true",
        "[\"1.0.0\"]",
        "x",
        "<<E\n1.0.0\nE",
        "\"1.0.0\n\"",
        "\"${x}\"",
        "\"%{ if a }1.0.0%{ endif }\"",
    ] {
        assert_eq!(
            problems(&entry(&format!("version = {value}"))),
            ["2:11 lock-file-syntax"],
            "{value}"
        );
        let constraints = entry(&format!("version = \"1.0.0\"\nconstraints = {value}"));
        assert_eq!(problems(&constraints), ["3:15 lock-file-syntax"], "{value}");
        let hashes = entry(&format!("version = \"1.0.0\"\nhashes = [{value}]"));
        assert_eq!(problems(&hashes), ["3:11 lock-file-syntax"], "{value}");
    }
    assert_eq!(
        problems(&entry("version = \"1.0.0\"\nhashes = \"h1:x\"")),
        ["3:10 lock-file-syntax"]
    );
}

#[test]
fn hashes_with_a_scheme_are_never_judged() {
    let odd = [
        "h1:", "zh:xyz", "1:x", "h 1:x", "H1:abc", "h2:abc", "test:a:b",
    ];
    let list = odd.map(|hash| format!("\"{hash}\"")).join(", ");
    let lock_file = lock_file(&entry(&format!("version = \"1.0.0\"\nhashes = [{list}]")));
    assert_eq!(
        lock_file.locks()[&address("a.b/c/d")],
        locked("1.0.0", "", &odd)
    );
}

#[test]
fn a_provider_locked_twice_names_both_places() {
    let twice = entry("version = \"1.0.0\"").repeat(2);
    let parsed = parsed(&twice);
    assert!(parsed.lock_file.is_none());
    let [diagnostic] = &parsed.diagnostics[..] else {
        panic!("{:?}", parsed.diagnostics)
    };
    assert_eq!(diagnostic.code, Code::DuplicateProvider);
    let lines: Vec<_> = diagnostic
        .labels
        .iter()
        .map(|label| label.location.line_column().0)
        .collect();
    assert_eq!(lines, [4, 1]);
}

#[test]
fn module_blocks_are_a_warning() {
    let parsed = parsed("module \"x\" {\n  y = 1\n}\n");
    assert!(
        parsed
            .lock_file
            .is_some_and(|lock_file| lock_file.locks().is_empty())
    );
    assert_eq!(parsed.diagnostics.len(), 1);
    assert_eq!(parsed.diagnostics[0].severity, Severity::Warning);
}

#[test]
fn conflict_markers_are_named() {
    let block =
        entry("<<<<<<< HEAD\n  version = \"1.0.0\"\n=======\n  version = \"2.0.0\"\n>>>>>>> topic");
    let parsed = parsed(&block.repeat(2));
    assert!(parsed.lock_file.is_none());
    let [diagnostic] = &parsed.diagnostics[..] else {
        panic!("{:?}", parsed.diagnostics)
    };
    assert_eq!(
        (diagnostic.code, diagnostic.labels[0].location.line_column()),
        (Code::ConflictMarkers, (2, 1))
    );
    assert_eq!(diagnostic.notes, ["conflicts in the file: 2"]);
    assert_eq!(
        problems("provider \"a.b/c/d\" {\n  version = \"1.0.0\"\n>>>>>>> topic\n}\n"),
        ["3:1 conflict-markers"]
    );
}

#[test]
fn what_is_no_text_of_the_language_is_a_syntax_error() {
    assert_eq!(
        problems("provider \"a.b/c/d\" {\n  version = \"1.0.0\"\n"),
        ["2:20 lock-file-syntax"]
    );
    assert_eq!(
        problems("provider \"a.b/c/d\" {\n  version = \"1.0.0\"\n  version = \"2.0.0\"\n}"),
        ["3:3 lock-file-syntax"]
    );
    assert_eq!(problems(&"[".repeat(100_000)).len(), 1);
    let invalid = super::parse(
        std::path::Path::new("x"),
        b"# \xe4\xff\n",
        crate::provider::Dialect::Tofu,
    );
    assert!(invalid.lock_file.is_none());
    assert_eq!(invalid.diagnostics[0].labels[0].location.span, 2..2);
}
