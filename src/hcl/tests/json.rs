//! The JSON reader accepts what `serde_json` accepts, and nothing else.

use proptest::prelude::*;

use crate::hcl::json::{Kind, Value, parse};

/// Whether every value's text is where its span says.
fn spans_hold(text: &str, value: &Value) -> bool {
    let own = &text[value.span.clone()];
    match &value.kind {
        Kind::Object(members) => {
            own.starts_with('{')
                && own.ends_with('}')
                && members.iter().all(|member| {
                    let name: String =
                        serde_json::from_str(&text[member.name_span.clone()]).unwrap();
                    name == member.name && spans_hold(text, &member.value)
                })
        }
        Kind::Array(values) => {
            own.starts_with('[')
                && own.ends_with(']')
                && values.iter().all(|value| spans_hold(text, value))
        }
        Kind::String(string) => serde_json::from_str::<String>(own).unwrap() == *string,
        Kind::Number(number) => own == number,
        Kind::Bool(bool) => own == bool.to_string(),
        Kind::Null => own == "null",
    }
}

fn assert_same(text: &str) {
    let ours = parse(text);
    let theirs = serde_json::from_str::<serde_json::Value>(text);
    assert_eq!(
        ours.is_ok(),
        theirs.is_ok(),
        "{text:?}: {ours:?} {theirs:?}"
    );
    assert!(
        ours.is_ok_and(|value| spans_hold(text, &value)) || theirs.is_err(),
        "{text:?}"
    );
}

#[test]
fn agrees_with_serde_json() {
    for text in [
        "{}",
        " [ ] ",
        "{\"a\":{\"b\":[1,-2.5e3,true,false,null,\"\\u00e9\\n\\\"\"]}}",
        "\"\\ud800\"",
        "\"\\x\"",
        "\"\t\"",
        "01",
        "1.",
        "-",
        "+1",
        "1e",
        "1e9999",
        "tru",
        "nulll",
        "[1,]",
        "[,]",
        "{\"a\":1,}",
        "{\"a\"}",
        "{,}",
        "\"a",
        "\"\\",
        "[",
        "{",
        "",
        " ",
        "[1]]",
        "1 2",
        "\u{e9}",
        "\"\u{e9}\"",
        "{\"a\":1,\"a\":2}",
    ] {
        assert_same(text);
    }
}

proptest! {
    #[test]
    fn agrees_with_serde_json_on_anything(
        pieces in proptest::collection::vec(
            prop_oneof![
                Just("{"), Just("}"), Just("["), Just("]"), Just(","), Just(":"), Just("\"a\""), Just("\""), Just("\\"),
                Just("1"), Just("-"), Just("."), Just("e"), Just("true"), Just("null"), Just(" "), Just("\n"),
                Just("\u{e9}"),
            ],
            0..24,
        ),
    ) {
        assert_same(&pieces.concat());
    }
}
