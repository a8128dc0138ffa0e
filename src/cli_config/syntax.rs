//! The syntax of CLI configuration files: HCL 1 and its JSON form, read into the tree of the reader
//! of JSON.
//!
//! HCL 1 differs from the HCL 2 of configurations: keys may be quoted (`dev_overrides {
//! "acme/gamma" = "." }`), there are no expressions, and `name = {…}` and `name {…}` are the same.
//! A label is the key of an object around the block's body. The reader follows OpenTofu's
//! `github.com/hashicorp/hcl` v1, whose JSON form may have needless commas.

use crate::hcl::Fault;
use crate::hcl::json::{Kind, Member, Value};
use crate::hcl::scan::skip_comment;

/// Maximum depth of nested values; deeper input is hostile.
const DEPTH: usize = 64;

/// Reads a file of HCL 1 or JSON; the result is an object.
pub(super) fn parse(text: &str) -> Result<Value, Fault> {
    let mut parser = Parser {
        text,
        position: 0,
        depth: 0,
        is_json: false,
    };
    parser.skip_if_next("\u{feff}");
    parser.skip_space_and_comments()?;
    // As in HCL 1, a file that starts with a brace is JSON.
    if parser.peek() == Some('{') {
        parser.is_json = true;
        let root = parser.read_value()?;
        parser.skip_space_and_comments()?;
        if parser.peek().is_some() {
            return parser.fail("nothing may follow the closing brace");
        }
        return Ok(root);
    }
    let members = parser.read_members(None)?;
    Ok(Value {
        kind: Kind::Object(members),
        span: 0..text.len(),
    })
}

struct Parser<'a> {
    text: &'a str,
    position: usize,
    depth: usize,
    is_json: bool,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.position..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.position += next.len_utf8();
        Some(next)
    }

    /// Skips a text if it is next. Returns whether it was.
    fn skip_if_next(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.position += text.len();
        }
        found
    }

    fn fail<T>(&self, message: &'static str) -> Result<T, Fault> {
        Err(Fault::new(self.position..self.position, message))
    }

    /// Skips white space and comments. Returns whether a line ended.
    fn skip_space_and_comments(&mut self) -> Result<bool, Fault> {
        let start = self.position;
        loop {
            let rest = self.rest();
            let skipped = match skip_comment(self.text.as_bytes(), self.position) {
                Some(end) => end? - self.position,
                None => rest.len() - rest.trim_start().len(),
            };
            if skipped == 0 {
                return Ok(self.text[start..self.position].contains('\n'));
            }
            self.position += skipped;
        }
    }

    /// Reads entries up to a closing brace, or up to the end of the file.
    fn read_members(&mut self, close: Option<char>) -> Result<Vec<Member>, Fault> {
        let mut members = Vec::new();
        loop {
            self.skip_space_and_comments()?;
            while self.skip_if_next(",") {
                self.skip_space_and_comments()?;
            }
            match self.peek() {
                None if close.is_none() => return Ok(members),
                None => return self.fail("a closing brace is missing"),
                next if next == close => {
                    self.next();
                    return Ok(members);
                }
                Some(_) => members.push(self.read_member()?),
            }
        }
    }

    /// Reads a name and its value: `name = value`, `name { … }`, or `name "label" { … }`, which is
    /// an object with the member `label`.
    fn read_member(&mut self) -> Result<Member, Fault> {
        self.depth += 1;
        if self.depth > DEPTH {
            return self.fail("blocks are nested too deeply");
        }
        let start = self.position;
        let name = match self.peek() {
            Some('"') => self.read_string()?,
            Some(c) if is_identifier_start(c) => self.read_identifier(),
            _ => return self.fail("a name was expected here"),
        };
        let name_span = start..self.position;
        let line_ended = self.skip_space_and_comments()?;
        let value = match self.peek() {
            Some('=' | ':') => {
                self.next();
                self.skip_space_and_comments()?;
                self.read_value()?
            }
            Some('{') => self.read_value()?,
            // A label becomes a member: `host "a" {}` is read as `{"host": {"a": {}}}`.
            Some(c) if !line_ended && !self.is_json && (c == '"' || is_identifier_start(c)) => {
                let label = self.read_member()?;
                let span = label.name_span.start..label.value.span.end;
                Value {
                    kind: Kind::Object(vec![label]),
                    span,
                }
            }
            _ => return self.fail("\"=\" or \"{\" was expected after the name"),
        };
        self.depth -= 1;
        Ok(Member {
            name,
            name_span,
            value,
        })
    }

    /// Reads a string, a heredoc, an object, a list, a number, a boolean or `null`.
    fn read_value(&mut self) -> Result<Value, Fault> {
        self.depth += 1;
        if self.depth > DEPTH {
            return self.fail("values are nested too deeply");
        }
        let start = self.position;
        let kind = match self.peek() {
            Some('"') => Kind::String(self.read_string()?),
            Some('<') => Kind::String(self.read_heredoc()?),
            Some('{') => {
                self.next();
                Kind::Object(self.read_members(Some('}'))?)
            }
            Some('[') => {
                self.next();
                Kind::Array(self.read_list()?)
            }
            Some(c) if c.is_ascii_digit() || c == '-' || c == '+' || c == '.' => {
                let rest = self.rest();
                let end = rest
                    .find(|c: char| !(c.is_ascii_alphanumeric() || "+-.".contains(c)))
                    .unwrap_or(rest.len());
                let number = rest[..end].to_owned();
                self.position += end;
                Kind::Number(number)
            }
            Some(c) if is_identifier_start(c) => match self.read_identifier().as_str() {
                "true" => Kind::Bool(true),
                "false" => Kind::Bool(false),
                "null" => Kind::Null,
                _ => {
                    self.position = start;
                    return self
                        .fail("a value was expected here; texts are written in double quotes");
                }
            },
            _ => return self.fail("a value was expected here"),
        };
        self.depth -= 1;
        Ok(Value {
            kind,
            span: start..self.position,
        })
    }

    /// Reads values up to a closing bracket.
    fn read_list(&mut self) -> Result<Vec<Value>, Fault> {
        let mut items = Vec::new();
        loop {
            self.skip_space_and_comments()?;
            if self.skip_if_next("]") {
                return Ok(items);
            }
            items.push(self.read_value()?);
            self.skip_space_and_comments()?;
            if !self.skip_if_next(",") && self.peek() != Some(']') {
                return self.fail("\",\" or \"]\" was expected here");
            }
        }
    }

    /// Reads a name without quotes.
    fn read_identifier(&mut self) -> String {
        let rest = self.rest();
        let end = rest
            .find(|c: char| !(c.is_alphanumeric() || "_-.".contains(c)))
            .unwrap_or(rest.len());
        let name = rest[..end].to_owned();
        self.position += end;
        name
    }

    /// Reads a string between quotes on one line.
    fn read_string(&mut self) -> Result<String, Fault> {
        let start = self.position;
        self.next();
        let mut text = String::new();
        loop {
            // HCL 1 reads `${` up to its closing brace, and quotes in between do not end the
            // string.
            if !self.is_json && self.rest().starts_with("${") {
                self.read_template(&mut text)?;
                continue;
            }
            match self.next() {
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.read_escape()?),
                Some('\n') | None => {
                    return Err(Fault::new(
                        start..start,
                        "the closing quote is missing on this line",
                    ));
                }
                Some(c) => text.push(c),
            }
        }
    }

    /// Reads `${…}`, which is kept as it is written. Quotes inside do not end the string.
    fn read_template(&mut self, text: &mut String) -> Result<(), Fault> {
        let start = self.position;
        let mut braces = 0_usize;
        while let Some(c) = self.next() {
            text.push(c);
            match c {
                '{' => braces += 1,
                '}' if braces == 1 => return Ok(()),
                '}' => braces -= 1,
                _ => {}
            }
        }
        Err(Fault::new(start..start, "the template is not closed"))
    }

    /// Reads the part of an escape sequence behind its backslash. A code that is no character is
    /// replaced.
    fn read_escape(&mut self) -> Result<char, Fault> {
        Ok(match self.next() {
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('u') => {
                let unit = self.read_hexadecimal(4)?;
                // JSON writes a character beyond U+FFFF as a pair of surrogates.
                if (0xd800..0xdc00).contains(&unit) && self.skip_if_next("\\u") {
                    let low = self.read_hexadecimal(4)?;
                    let code =
                        0x10000 + ((unit - 0xd800) << 10) + (low.wrapping_sub(0xdc00) & 0x3ff);
                    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
                } else {
                    char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)
                }
            }
            Some('U') => {
                char::from_u32(self.read_hexadecimal(8)?).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return self.fail("unknown escape sequence; a backslash is written \"\\\\\""),
        })
    }

    /// Reads a number of this many digits.
    fn read_hexadecimal(&mut self, digits: usize) -> Result<u32, Fault> {
        let Some(number) = self
            .rest()
            .get(..digits)
            .filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()))
        else {
            return self.fail("hexadecimal digits were expected here");
        };
        let number = u32::from_str_radix(number, 16).unwrap_or(u32::MAX);
        self.position += digits;
        Ok(number)
    }

    /// Reads `<<END` … `END`. With `<<-` the lines may be indented.
    fn read_heredoc(&mut self) -> Result<String, Fault> {
        let start = self.position;
        if !self.skip_if_next("<<") {
            return self.fail("a value was expected here");
        }
        let is_indented = self.skip_if_next("-");
        let marker = self.read_identifier();
        let first_line_end = self.rest().find('\n');
        let (false, Some(first_line_end)) = (marker.is_empty(), first_line_end) else {
            return self.fail("a marker and a line break were expected after \"<<\"");
        };
        self.position += first_line_end + 1;
        let mut lines: Vec<&str> = Vec::new();
        let mut offset = 0;
        for line in self.rest().split_inclusive('\n') {
            let content = line.trim_end_matches(['\r', '\n']);
            if content.trim_start_matches([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']) == marker {
                // The smallest indentation is removed from all lines.
                let mut margin = 0;
                if is_indented {
                    let margins = lines.iter().map(|line| indentation(line));
                    margin = margins.min().unwrap_or_default();
                }
                let text = lines.iter().map(|line| &line[margin..]).collect();
                // The line break after the marker ends the member and stays.
                self.position += offset + content.len();
                return Ok(text);
            }
            offset += line.len();
            lines.push(line);
        }
        Err(Fault::new(start..start, "the closing marker is missing"))
    }
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t']).len()
}

fn is_identifier_start(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree as compact JSON-like text.
    fn show(value: &Value) -> String {
        match &value.kind {
            Kind::String(text) => format!("{text:?}"),
            Kind::Number(text) => text.clone(),
            Kind::Bool(value) => value.to_string(),
            Kind::Null => "null".to_owned(),
            Kind::Array(items) => {
                format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(" "))
            }
            Kind::Object(members) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|member| format!("{}={}", member.name, show(&member.value)))
                    .collect();
                format!("{{{}}}", members.join(" "))
            }
        }
    }

    #[test]
    fn native_and_json_forms_give_the_same_tree() {
        let native = r#"# c
credentials "h.test" {
  token = "a\"b" // c
}
/* c */ dev_overrides { "a/b" = "." }
n = 3
l = ["x", "y",]
t = true"#;
        let json = r#"{"credentials": {"h.test": {"token": "a\"b"}}, "dev_overrides": {"a/b": "."},
            "n": 3, "l": ["x", "y"], "t": true}"#;
        let expected = r#"{credentials={h.test={token="a\"b"}} dev_overrides={a/b="."} n=3 l=["x" "y"] t=true}"#;
        assert_eq!(show(&parse(native).unwrap()), expected);
        assert_eq!(show(&parse(json).unwrap()), expected);
    }

    #[test]
    fn strings_keep_templates_and_heredocs_their_lines() {
        assert_eq!(
            show(&parse("a = \"x/${f(\"y\")}/z\"").unwrap()),
            r#"{a="x/${f(\"y\")}/z"}"#
        );
        assert_eq!(
            show(&parse("a = <<-E\n    one\n      two\n    E\nb = 1").unwrap()),
            r#"{a="one\n  two\n" b=1}"#
        );
        assert_eq!(
            show(&parse(r#"{"a": "\ud83d\ude00\u00e9"}"#).unwrap()),
            "{a=\"😀é\"}"
        );
    }

    #[test]
    fn errors_have_their_place() {
        for (text, offset) in [
            ("a = \"b\nc = 1", 4),
            ("a = b", 4),
            ("a {\n b = 1\n", 11),
            ("a\nb = 1", 2),
            ("{\"a\": 1} x", 9),
            ("a = [1 2]", 7),
            ("/* x", 0),
            ("a = \"\\q\"", 7),
            ("= 1", 0),
        ] {
            assert_eq!(parse(text).unwrap_err().span.start, offset, "{text}");
        }
        for hostile in [
            "[".repeat(10_000),
            "a {".repeat(10_000),
            "a ".repeat(10_000),
            "{\"a\":".repeat(10_000),
        ] {
            assert!(parse(&hostile).is_err());
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text in "[a-z\"{}\\[\\]=:,<\\\\u$\n é#/*0-9-]{0,60}") {
            let _ = parse(&text);
        }
    }
}
