//! Parses JSON with the position of every value, for configurations in HCL's JSON syntax.
//! `serde_json` splits a value into parts of the text, and each part again.

use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::scan::Fault;

/// Deepest nesting of arrays and objects. Reading takes time in proportion to it.
const MAX_DEPTH: usize = 64;
/// Maximum number of values in one file; bounds the memory for it to 200 MiB.
const MAX_VALUES: usize = 400_000;

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

/// Parses a part of a file. The part may start with a byte order mark. Ranges are ranges of the
/// file.
pub(crate) fn parse_part(text: &str, part: &Range<usize>) -> Result<Value, Fault> {
    parse_levels(text, part, usize::MAX)
}

/// [`parse_part`] without arrays and objects that are nested deeper than so many levels: they are
/// read as null.
pub(crate) fn parse_levels(text: &str, part: &Range<usize>, levels: usize) -> Result<Value, Fault> {
    let reader = Reader { text, levels };
    let part = &text[part.clone()];
    if part
        .bytes()
        .filter(|byte| matches!(byte, b',' | b'[' | b'{'))
        .count()
        > MAX_VALUES
    {
        return Err(too_many(reader.span(part)));
    }
    let value: &RawValue = reader.parse(part.strip_prefix('\u{feff}').unwrap_or(part))?;
    reader.read_value(value, 0)
}

fn too_many(span: Range<usize>) -> Fault {
    Fault::new(
        span,
        "too many values, or too deeply nested ones, for a configuration",
    )
}

/// Reads the parts of a text.
struct Reader<'a> {
    text: &'a str,
    /// Number of levels of arrays and objects that are read.
    levels: usize,
}

impl<'a> Reader<'a> {
    /// The range of a part of the text.
    fn span(&self, part: &str) -> Range<usize> {
        let start = part.as_ptr().addr() - self.text.as_ptr().addr();
        start..start + part.len()
    }

    /// Parses a part of the text. The range of an error is one of the file.
    fn parse<T: Deserialize<'a>>(&self, part: &'a str) -> Result<T, Fault> {
        serde_json::from_str(part).map_err(|error| {
            let lines = part
                .split_inclusive('\n')
                .take(error.line().saturating_sub(1));
            let before = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
            let at = self.span(part).start + part.floor_char_boundary(before);
            let message = error.to_string();
            Fault::new(
                at..at,
                message
                    .rsplit_once(" at line ")
                    .map_or(&*message, |(reason, _)| reason),
            )
        })
    }

    /// Reads a value. Objects and arrays that are nested deeper than `levels` are not read, and
    /// become null.
    fn read_value(&self, raw: &'a RawValue, depth: usize) -> Result<Value, Fault> {
        let written = raw.get();
        let span = self.span(written);
        if depth > MAX_DEPTH {
            return Err(too_many(span));
        }
        let kind = match written.as_bytes()[0] {
            // No block is nested deeper, so the reader does not need the value.
            b'{' | b'[' if depth == self.levels => Kind::Null,
            b'{' => {
                let Parts(parts) = self.parse(written)?;
                let mut members = Vec::with_capacity(parts.len());
                for (raw_name, raw_value) in parts {
                    members.push(Member {
                        name: self.parse(raw_name.get())?,
                        name_span: self.span(raw_name.get()),
                        value: self.read_value(raw_value, depth + 1)?,
                    });
                }
                Kind::Object(members)
            }
            b'[' => {
                let items: Vec<&RawValue> = self.parse(written)?;
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.push(self.read_value(item, depth + 1)?);
                }
                Kind::Array(values)
            }
            b'"' => Kind::String(self.parse(written)?),
            b't' | b'f' => Kind::Bool(written == "true"),
            b'n' => Kind::Null,
            _ => {
                // The text is kept, since a float would round the number.
                self.parse::<serde_json::Number>(written)?;
                Kind::Number(written.to_owned())
            }
        };
        Ok(Value { span, kind })
    }
}

/// The names and values of an object.
struct Parts<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for Parts<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Parts<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Parts<'de>, A::Error> {
                let mut parts = Vec::new();
                while let Some(part) = map.next_entry()? {
                    parts.push(part);
                }
                Ok(Parts(parts))
            }
        }
        deserializer.deserialize_map(Members)
    }
}
