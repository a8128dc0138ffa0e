//! Parses JSON with the position of every value, for configurations in HCL's JSON syntax.

use std::ops::Range;

use super::scan::Fault;

/// Deepest nesting of arrays and objects.
const MAX_DEPTH: usize = 128;
/// Most values in one file; bounds the memory for it.
const MAX_VALUES: usize = 1_000_000;

/// A value with its byte range.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Value {
    pub span: Range<usize>,
    pub kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    /// The number as written.
    Number(String),
    String(String),
    Array(Vec<Value>),
    /// Members in the order of the file. A name may occur more than once.
    Object(Vec<Member>),
}

/// A name and its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    pub name: String,
    /// Range of the name with its quotes.
    pub name_span: Range<usize>,
    pub value: Value,
}

impl Value {
    /// The kind of the value with its article.
    pub(crate) fn describe(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "a bool",
            Kind::Number(_) => "a number",
            Kind::String(_) => "a string",
            Kind::Array(_) => "an array",
            Kind::Object(_) => "an object",
        }
    }
}

/// Parses a whole file (RFC 8259).
pub(crate) fn parse(text: &str) -> Result<Value, Fault> {
    parse_part(text, &(0..text.len()))
}

/// Parses a part of a file. The part may start with a byte order mark. Ranges are ranges of the file.
pub(crate) fn parse_part(text: &str, part: &Range<usize>) -> Result<Value, Fault> {
    let text = &text[..part.end];
    let mark = if text[part.start..].starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut parser = Parser { text, at: part.start + mark, values: 0 };
    let value = parser.value(0)?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(value),
        Some(_) => parser.fault("nothing may follow the value"),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    values: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fault<T>(&self, message: &str) -> Result<T, Fault> {
        let length = self.text.get(self.at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        Err(Fault::new(self.at..self.at + length, message))
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Fault> {
        self.skip_space();
        self.values += 1;
        if depth > MAX_DEPTH || self.values > MAX_VALUES {
            return self.fault("too many values, or too deeply nested ones, for a configuration");
        }
        let start = self.at;
        let kind = match self.peek() {
            Some(b'{') => Kind::Object(self.object(depth)?),
            Some(b'[') => Kind::Array(self.array(depth)?),
            Some(b'"') => Kind::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => Kind::Number(self.number()?),
            Some(b't') => self.word("true", Kind::Bool(true))?,
            Some(b'f') => self.word("false", Kind::Bool(false))?,
            Some(b'n') => self.word("null", Kind::Null)?,
            _ => return self.fault("a value is expected here"),
        };
        Ok(Value { span: start..self.at, kind })
    }

    fn word(&mut self, word: &str, kind: Kind) -> Result<Kind, Fault> {
        if !self.text[self.at..].starts_with(word) {
            return self.fault("a value is expected here");
        }
        self.at += word.len();
        Ok(kind)
    }

    fn number(&mut self) -> Result<String, Fault> {
        let rest = &self.text[self.at..];
        let length = rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(rest.len());
        let number = &rest[..length];
        if serde_json::from_str::<serde_json::Number>(number).is_err() {
            return self.fault("this is not a number");
        }
        self.at += length;
        Ok(number.to_owned())
    }

    fn string(&mut self) -> Result<String, Fault> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut end = start + 1;
        while !matches!(bytes.get(end), None | Some(b'"')) {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        if end >= bytes.len() {
            return Err(Fault::new(start..start + 1, "this string is never closed"));
        }
        self.at = end + 1;
        // serde_json parses the literal again for escapes and control characters.
        serde_json::from_str(&self.text[start..self.at])
            .map_err(|_| Fault::new(start..self.at, "a control character or unknown escape in this string"))
    }

    fn array(&mut self, depth: usize) -> Result<Vec<Value>, Fault> {
        let mut values = Vec::new();
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(values);
        }
        loop {
            values.push(self.value(depth + 1)?);
            if self.separator(b']')? {
                return Ok(values);
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Vec<Member>, Fault> {
        let mut members = Vec::new();
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(members);
        }
        loop {
            self.skip_space();
            if self.peek() != Some(b'"') {
                return self.fault("a name in quotes is expected here");
            }
            let start = self.at;
            let name = self.string()?;
            let name_span = start..self.at;
            self.skip_space();
            if self.peek() != Some(b':') {
                return self.fault("\":\" is expected here");
            }
            self.at += 1;
            members.push(Member { name, name_span, value: self.value(depth + 1)? });
            if self.separator(b'}')? {
                return Ok(members);
            }
        }
    }

    /// Reads a comma, or the closing bracket. Returns `true` for the bracket.
    fn separator(&mut self, close: u8) -> Result<bool, Fault> {
        self.skip_space();
        let closed = match self.peek() {
            Some(b',') => false,
            Some(byte) if byte == close => true,
            _ => return self.fault(&format!("\",\" or \"{}\" is expected here", close as char)),
        };
        self.at += 1;
        Ok(closed)
    }
}
