//! The scanner: the parts that it skips and refuses, and its agreement with a complete parse by
//! hcl-edit.

use std::collections::BTreeMap;
use std::ops::Range;

use hcl_edit::Span;
use hcl_edit::structure::{Body, Structure};
use proptest::prelude::*;

use crate::configuration::syntax::native::{Item, ItemKind, block_items, file_items, object_items};
use crate::hcl::scan::{skip_comment, skip_nested};

/// The text that is skipped from the start.
#[track_caller]
fn skipped(text: &str) -> &str {
    let end = skip_nested(text.as_bytes(), 0)
        .expect("nothing opens")
        .expect("it is never closed");
    &text[..end]
}

#[track_caller]
fn refused(text: &str) -> (usize, String) {
    let fault = skip_nested(text.as_bytes(), 0)
        .expect("nothing opens")
        .expect_err("it was accepted");
    (fault.span.start, fault.message)
}

#[test]
fn skips_brackets_and_text_that_looks_like_them() {
    for text in [
        "{}",
        "{ [ ( ) ] }",
        "{ a = \"}\" }",
        "{ # }\n}",
        "{ // }\n}",
        "{ /* } */ }",
        "{ /* } \n } **/ }",
        "{ a = 1 / 2 }",
        "[\"\\\"]\"]",
        "[\"\\\\\"]",
        "[\"$${]\"]",
        "[\"%%{]\"]",
        "[\"$$${]\"]",
        "[\"100%\", \"$\", \"$}\", \"%\"]",
        "[\"${\"]\"}\"]",
        "[\"${ { a = \"}${ x }\" }[\"a\"] }]\"]",
        "[\"%{ if x == \"}\" }]%{ endif }\"]",
        "{ a = <<EOT\n}\nEOT\n}",
        "{ a = <<-EOT\n  } \"\n  EOT\n}",
        "{ a = <<EOT\r\n}\r\nEOT\r\n}",
        "{ a = <<EOT\n${ \"}\" } EOT\n  EOT\n}",
        "{ a = <<EOT\n${ <<INNER\nEOT\nINNER\n}\nEOT\n}",
        "{ a = <<EOT\n$${ } %%{\nEOT\n}",
        "{ a = <<EOT\nEOTX\nXEOT\nEOT\n}",
        "{ a = <<EOT\nEOT\n}",
        "{ a = 1 < 2 }",
        "{ a = \"\u{e9}\\\u{e9}\u{1f600}\" }",
        "{ a = \"multi ${\n  x\n} line\" }",
    ] {
        assert_eq!(skipped(&format!("{text} }} rest\" ]")), text);
    }
    assert_eq!(skipped("<<X\na\nX\nmore"), "<<X\na\nX");
    assert_eq!(
        skipped("<<X\na\nX"),
        "<<X\na\nX",
        "a heredoc may end with the file"
    );
}

/// Text after such a line is code for OpenTofu, and could require a provider unseen.
#[test]
fn a_heredoc_ends_where_gos_white_space_is_around_its_marker() {
    for space in [
        "\u{b}", "\u{c}", "\u{85}", "\u{a0}", "\u{1680}", "\u{2003}", "\u{2028}", "\u{202f}",
        "\u{3000}",
    ] {
        let heredoc = format!("<<X\na\n{space}X{space}");
        assert_eq!(
            skipped(&format!("{heredoc}\nmore\nX\n")),
            heredoc,
            "{space:?}"
        );
        assert_eq!(
            skipped(&format!("{heredoc}\r\nmore\r\nX\r\n")),
            heredoc,
            "{space:?}"
        );
    }
    // A space of no width is none, and neither is half a character.
    for other in ["\u{200b}", "\u{feff}", "\u{180e}"] {
        assert_eq!(
            skipped(&format!("<<X\n{other}X\nX\n")),
            format!("<<X\n{other}X\nX"),
            "{other:?}"
        );
    }
}

#[test]
fn an_unclosed_bracket_or_string_is_an_error_at_its_start() {
    let text = |at, message: &str| (at, message.to_owned());
    assert_eq!(refused("{ a = 1"), text(0, "this bracket is never closed"));
    assert_eq!(
        refused("{ a = \"b\n }"),
        text(6, "this string is never closed")
    );
    assert_eq!(
        refused("{ a = \"b\\\n\" }"),
        text(6, "this string is never closed")
    );
    assert_eq!(
        refused("{ a = \"b\\"),
        text(6, "this string is never closed")
    );
    assert_eq!(
        refused("{ a = \"${ b \" }"),
        text(12, "this string is never closed")
    );
    assert_eq!(
        refused("[ \"${ b"),
        text(3, "this template is never closed")
    );
    assert_eq!(
        refused("{ a = <<E\n }"),
        text(6, "this heredoc is never closed")
    );
    assert_eq!(refused("{ /* "), text(2, "this comment is never closed"));
    assert_eq!(refused("{ ( }"), text(4, "\"}\" where \")\" is expected"));
    assert_eq!(
        refused(&"[".repeat(20_000)).1,
        "more than 1000 levels of nesting"
    );
    assert!(skip_nested(b"<<1\n1\n", 0).is_none());
    assert!(skip_nested(b"<<X 1\nX\n", 0).is_none());
}

#[test]
fn comments_end_at_the_newline_or_the_first_closing_mark() {
    let end =
        |text: &str| skip_comment(text.as_bytes(), 0).map(|end| end.map_err(|fault| fault.message));
    assert_eq!(end("# a\nb"), Some(Ok(3)));
    assert_eq!(end("// a"), Some(Ok(4)));
    assert_eq!(end("/* * / */ */"), Some(Ok(9)));
    assert_eq!(end("/"), None);
    assert_eq!(end("/a"), None);
    assert!(end("/*/").unwrap().is_err());
}

#[track_caller]
fn names(text: &str) -> Vec<&str> {
    file_items(text)
        .unwrap()
        .iter()
        .map(|item| &text[item.name.clone()])
        .collect()
}

#[test]
fn finds_the_items_of_a_body() {
    assert_eq!(
        names(
            "\u{feff}a = 1\r\nb \"c\" d {\r\n}\r\n# e\n/* f */ g = [\n1]// h\ni = 2 /* j\n */\nk{}"
        ),
        ["a", "b", "g", "i", "k"]
    );
    let text = "a \"b\" c { d = \"e\" } # f";
    let items = file_items(text).unwrap();
    let ItemKind::Block { labels, body } = &items[0].kind else {
        panic!("no block")
    };
    assert_eq!(
        labels.iter().map(|l| &text[l.clone()]).collect::<Vec<_>>(),
        ["\"b\"", "c"]
    );
    let inner = block_items(text, body.clone()).unwrap();
    assert_eq!(inner.len(), 1);
    assert_eq!(&text[inner[0].name.clone()], "d");
    let value = |text: &'static str| match &file_items(text).unwrap()[0].kind {
        ItemKind::Argument(span) => &text[span.clone()],
        ItemKind::Block { .. } => panic!("no argument"),
    };
    assert_eq!(
        value("a = b == c ? [\n1,\n2] : \"}\" # d"),
        "b == c ? [\n1,\n2] : \"}\""
    );
    assert_eq!(value("a = 1 /* b */ + 2 // c\n"), "1 /* b */ + 2");
    assert_eq!(value("a = <<X\nb\nX\nc = 1\n"), "<<X\nb\nX");
    assert_eq!(value("a = 6 / 2\r\n"), "6 / 2");
}

#[test]
fn refuses_text_without_the_structure_of_a_body() {
    let message = |text: &str| {
        let fault = file_items(text).and_then(|items| match &items[0].kind {
            ItemKind::Block { body, .. } => block_items(text, body.clone()),
            ItemKind::Argument(_) => Ok(Vec::new()),
        });
        let fault = fault.unwrap_err();
        (fault.span.start, fault.message)
    };
    for (text, at, wanted) in [
        ("a", 1, "is expected here"),
        ("a =\n", 3, "a value is expected"),
        ("a = }\n", 4, "no opening bracket"),
        ("= 1", 0, "an argument or block"),
        ("\"a\" = 1", 0, "must not be quoted"),
        ("a = 1 b = 2 }", 12, "no opening bracket"),
        ("a {} b {}", 5, "a new line must start here"),
        ("a { b {} }", 4, "a block may not stand"),
        ("a { b = 1\n}", 9, "only one argument"),
        ("a {\n b = 1 }", 11, "a new line must start before"),
        ("a == 1", 2, "is expected here"),
        ("a b = 1", 4, "is expected here"),
        ("a {", 2, "never closed"),
        ("}", 0, "an argument or block"),
        ("1a = 1", 0, "an argument or block"),
    ] {
        let (found, message) = message(text);
        assert!(message.contains(wanted), "{text:?}: {message}");
        assert_eq!(found, at, "{text:?}: {message}");
    }
}

/// A scanner that looks for the end of the line after each template would take minutes.
#[test]
fn a_heredoc_may_contain_many_templates_on_one_line() {
    let heredoc = format!("<<E\n{}$${{%\nE", "${}".repeat(2_000_000));
    let text = format!("{heredoc}\n");
    assert_eq!(skip_nested(text.as_bytes(), 0), Some(Ok(heredoc.len())));
}

/// A body as lines: names, labels and the places of values, of all levels.
fn scanned(text: &str, items: &[Item], lines: &mut Vec<String>) {
    for item in items {
        let name = &text[item.name.clone()];
        match &item.kind {
            ItemKind::Argument(value) => lines.push(format!("{name} = {value:?}")),
            ItemKind::Block { labels, body } => {
                lines.push(format!("{name} {labels:?}"));
                scanned(text, &block_items(text, body.clone()).unwrap(), lines);
            }
        }
    }
}

fn parsed(body: &Body, shift: usize, lines: &mut Vec<String>) {
    let shifted = |span: Option<Range<usize>>| {
        span.map(|span| span.start + shift..span.end + shift)
            .unwrap()
    };
    for structure in body {
        match structure {
            Structure::Attribute(attribute) => {
                lines.push(format!(
                    "{} = {:?}",
                    attribute.key.as_str(),
                    shifted(attribute.value.span())
                ));
            }
            Structure::Block(block) => {
                let labels: Vec<_> = block
                    .labels
                    .iter()
                    .map(|label| shifted(label.span()))
                    .collect();
                lines.push(format!("{} {labels:?}", block.ident.as_str()));
                parsed(&block.body, shift, lines);
            }
        }
    }
}

/// Asserts that the scanner finds the same in a text as hcl-edit, which must accept the text.
fn assert_same(name: &str, text: &str) {
    let shift = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let body: Body = text[shift..]
        .parse()
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    let (mut expected, mut found) = (Vec::new(), Vec::new());
    parsed(&body, shift, &mut expected);
    scanned(
        text,
        &file_items(text).unwrap_or_else(|fault| panic!("{name}: {fault:?}")),
        &mut found,
    );
    assert_eq!(found, expected, "{name}");
}

#[test]
fn agrees_with_hcl_edit_on_every_configuration_of_the_tests() {
    let text = include_str!("../../../testdata/configurations/conformance.json");
    let cases: BTreeMap<String, serde_json::Value> = serde_json::from_str(text).unwrap();
    let mut compared = 0;
    for (name, case) in &cases {
        for (path, text) in case["files"].as_object().unwrap() {
            let invalid = matches!(name.as_str(), "syn-oneline" | "syn-quotedkey");
            if [".tf", ".tofu"]
                .iter()
                .any(|extension| path.strip_suffix(extension).is_some())
                && !invalid
            {
                assert_same(name, text.as_str().unwrap());
                compared += 1;
            }
        }
    }
    assert!(compared > 150, "only {compared} files");
    assert_same(
        "constructs.tf",
        include_str!("../../../testdata/configurations/constructs.tf"),
    );
}

proptest! {
    #[test]
    fn never_panics_and_covers_the_text(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just("{"), Just("}"), Just("["), Just("]"), Just("("), Just(")"), Just("\""), Just("${"), Just("%{"),
                Just("$"), Just("<<E\n"), Just("\nE\n"), Just("\n"), Just("#"), Just("//"), Just("/*"), Just("*/"),
                Just("\\"), Just(" "), Just("a"), Just("="), Just("\u{e9}"), Just("\r\n"), Just("terraform"), Just("1"),
                Just(","),
            ],
            0..60,
        ),
    ) {
        let text = pieces.concat();
        match file_items(&text) {
            Ok(items) => {
                let mut last = 0;
                for item in items {
                    prop_assert!(item.name.start >= last);
                    last = match &item.kind {
                        ItemKind::Argument(value) => value.end,
                        ItemKind::Block { body, .. } => {
                            if let Err(fault) = block_items(&text, body.clone()) {
                                prop_assert!(fault.span.start >= body.start && fault.span.start <= body.end);
                            }
                            prop_assert_eq!(&text[body.end..=body.end], "}");
                            body.end + 1
                        }
                    };
                    prop_assert!(last <= text.len());
                }
            }
            Err(fault) => prop_assert!(fault.span.start <= fault.span.end),
        }
    }

    #[test]
    fn never_panics_on_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for at in 0..bytes.len() {
            if let Some(Ok(end)) = skip_nested(&bytes, at) {
                prop_assert!(end > at && end <= bytes.len());
            }
        }
        let _ = file_items(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn items_of_objects_are_where_a_whole_parse_finds_them() {
    for object in [
        "{}",
        "{\n}",
        "{source=\"hashicorp/aws\",version=\"~> 5.0\"}",
        "{\n  source  = \"hashicorp/aws\"\n  version = \">= 5.0, < 6.0\"\n}",
        "{\n\n  source  = \"a/b\",\n\n  version = \"1.0\" ,\n\t}",
        "{\r\n  source = \"a\" # why\r\n  // why\r\n  version = \"b\" /* why */\r\n}",
        "{ /* why */ a1_B = \"}{ = ,#//\", b-c = \"\u{fc}\" }",
        "{ \"source\" : \"a${b}\", (\"ver${\"sion\"}\") = true ? \"a\" : \"b\" }",
        "{ aliases = [aws.west, aws.east], nested = { a = 1, b = f(1, 2) } }",
        "{\n  a = <<X\na, b }\nX\n  b = \"c\" == \"d\"\n}",
    ] {
        let text = format!("  aws = {object}\n");
        let found = object_items(&text, 8..8 + object.len()).unwrap();
        let parsed: hcl_edit::expr::Object = match object.parse().unwrap() {
            hcl_edit::expr::Expression::Object(object) => object,
            other => panic!("{other:?}"),
        };
        let place =
            |span: Option<Range<usize>>| span.map(|span| span.start + 8..span.end + 8).unwrap();
        let expected = parsed
            .iter()
            .map(|(key, value)| [place(key.span()), place(value.expr().span())]);
        // The range of a heredoc may end after its line.
        let shown =
            |[key, value]: [Range<usize>; 2]| (text[key].to_owned(), text[value].trim().to_owned());
        assert_eq!(
            found.into_iter().map(shown).collect::<Vec<_>>(),
            expected.map(shown).collect::<Vec<_>>(),
            "{object}"
        );
    }
    for text in [
        "{ source }",
        "{ source == \"a\" }",
        "{ , }",
        "{ a = \"b\",, }",
        "{ = 1 }",
        "{ a = \"b }",
        "{} + {}",
    ] {
        assert!(object_items(text, 0..text.len()).is_err(), "{text}");
    }
}
