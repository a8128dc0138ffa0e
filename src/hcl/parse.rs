//! Parses HCL with hcl-edit. hcl-edit refuses an object with a repeated key; HCL uses the last
//! value of the key. hcl-edit also refuses a carriage return in a comment, and accepts one in place
//! of a space, which [`scan::find_lone_return`] refuses.

use std::borrow::Cow;

use hcl_edit::expr::Expression;
use hcl_edit::parser::{self, Error};
use hcl_edit::structure::Body;

#[cfg(doc)]
use super::scan;
use super::scan::skip_nested;

/// Most repeated keys that are handled. Each costs a run of the parser.
const MOST_REPEATED: usize = 32;

/// Parses a body. Its spans are ranges of the text.
pub(crate) fn body(text: &str) -> Result<Body, Error> {
    with_repeated_keys(text, parser::parse_body)
}

/// Parses an expression. Its spans are ranges of the text.
pub(crate) fn expression(text: &str) -> Result<Expression, Error> {
    with_repeated_keys(text, parser::parse_expr)
}

/// Returns the text with spaces in place of the carriage returns that no newline follows. They are
/// in comments, and all positions stay the same.
fn without_lone_returns(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let lone: Vec<usize> = memchr::memchr_iter(b'\r', bytes)
        .filter(|at| bytes.get(at + 1) != Some(&b'\n'))
        .collect();
    if lone.is_empty() {
        return text.into();
    }
    let mut replaced = String::with_capacity(text.len());
    let mut start = 0;
    for at in lone {
        replaced.push_str(&text[start..at]);
        replaced.push(' ');
        start = at + 1;
    }
    replaced.push_str(&text[start..]);
    replaced.into()
}

fn with_repeated_keys<T>(text: &str, parse: impl Fn(&str) -> Result<T, Error>) -> Result<T, Error> {
    let text = &*without_lone_returns(text);
    let mut parsed = parse(text);
    let mut changed = None;
    for _ in 0..MOST_REPEATED {
        let Err(error) = &parsed else { break };
        if !error.message().contains("redefined object key") {
            break;
        }
        let Some(next) = with_other_key(
            changed.as_deref().unwrap_or(text),
            error.location().offset(),
        ) else {
            break;
        };
        parsed = parse(changed.insert(next));
    }
    parsed
}

/// Returns the text with a key in a form that hcl-edit treats as a different key: with quotes
/// around a name, or with parentheses around a string. They replace white space around the key, so
/// that all positions stay the same. `None` if there is no key, or no white space around it.
fn with_other_key(text: &str, start: usize) -> Option<String> {
    let bytes = text.as_bytes();
    let is_quoted = *bytes.get(start)? == b'"';
    let end = if is_quoted {
        skip_nested(bytes, start)?.ok()?
    } else {
        start + text[start..].find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-'))?
    };
    if end == start {
        return None;
    }

    // It is a key only before one of these.
    let next = bytes[end..].trim_ascii_start().first()?;
    if !matches!(next, b'=' | b':') {
        return None;
    }
    let before = start.checked_sub(1)?;
    // Without a blank on each side, the new delimiters would move everything after them.
    if !is_blank(bytes[before]) || !is_blank(bytes[end]) {
        return None;
    }
    let key = &text[start..end];
    let (open, close) = if is_quoted { ("(", ")") } else { ("\"", "\"") };
    Some([&text[..before], open, key, close, &text[end + 1..]].concat())
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hcl::evaluate::expression::constant;

    /// The value of an expression as it is shown.
    fn value(text: &str) -> Option<String> {
        let expression = expression(text).ok()?;
        constant(&expression, text)
            .ok()
            .map(|value| format!("{value:?}"))
    }

    #[test]
    fn the_last_value_of_a_repeated_key_wins() {
        for (text, same) in [
            ("{\n  a = 1\n  b = 2\n  a = 3\n}", "{\n  b = 2\n  a = 3\n}"),
            ("{\n  \"a\" = 1\n  \"a\" : 3 }", "{ a = 3 }"),
            (
                "{ a = { b = 1, b = 2 }, a = { b = 3, b = 4 } }",
                "{ a = { b = 4 } }",
            ),
            ("[{\n  a = 1\n  \"a\" = 3 }]", "[{ a = 3 }]"),
        ] {
            assert_eq!(value(text), value(same), "{text}");
            assert!(value(text).is_some(), "{text}");
        }
    }

    #[test]
    fn places_stay() {
        let text = "a = {\n  b = 1\n  b = 2\n}\nc = 3\n";
        let body = body(text).unwrap();
        let attribute = body.get_attribute("c").unwrap();
        assert_eq!(&text[hcl_edit::Span::span(&attribute.value).unwrap()], "3");
    }

    #[test]
    fn other_errors_stay_and_there_is_an_end() {
        assert!(expression("{ a = 1, a = }").is_err());
        assert!(
            body("a = 1\na = 2\n").is_err(),
            "an argument may not be repeated"
        );
        let many = format!("{{\n{}}}", "  a = 1\n".repeat(1_000));
        assert!(expression(&many).is_err());
    }
}
