//! `yamldecode` (`github.com/zclconf/go-cty-yaml`): one document without anchors, aliases and tags,
//! with scalars that every version of YAML reads the same way. Everything else is unknown.

use saphyr_parser::{Event, Parser, ScalarStyle, StrInput};

use super::value::{Members, Stop, Value, parse_exact_integer};

/// Longest text that is parsed, in bytes.
const MAX_LENGTH: usize = 1 << 20;
/// Most values that one document may contain.
const MAX_VALUES: usize = 50_000;
/// Deepest nesting of a document.
const MAX_DEPTH: usize = 50;

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
    values: usize,
}

/// Parses a document.
pub(super) fn decode(text: &str) -> Result<Value, Stop> {
    if text.len() > MAX_LENGTH {
        return not_read();
    }
    let mut reader = Reader {
        events: Parser::new_from_str(text),
        values: 0,
    };
    let (Event::StreamStart, Event::DocumentStart(_)) = (reader.next()?, reader.next()?) else {
        return not_read();
    };
    let first = reader.next()?;
    let value = reader.node(first, 0)?;
    match (reader.next()?, reader.next()?) {
        (Event::DocumentEnd, Event::StreamEnd) => Ok(value),
        _ => not_read(),
    }
}

fn not_read<T>() -> Result<T, Stop> {
    Err(Stop::unknown("this YAML is not read"))
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<Event<'a>, Stop> {
        self.events
            .next()
            .and_then(Result::ok)
            .map_or_else(not_read, |(event, _)| Ok(event))
    }

    /// Reads the value that begins with an event. In the events, `0, None` means that the value has
    /// no anchor and no tag.
    fn node(&mut self, event: Event<'a>, depth: usize) -> Result<Value, Stop> {
        self.values += 1;
        if depth > MAX_DEPTH || self.values > MAX_VALUES {
            return not_read();
        }
        match event {
            Event::Scalar(text, style, 0, None) => scalar(&text, style),
            Event::SequenceStart(0, None) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        Event::SequenceEnd => return Value::list(items),
                        event => items.push(self.node(event, depth + 1)?),
                    }
                }
            }
            Event::MappingStart(0, None) => {
                let mut members = Members::new();
                loop {
                    let key = match self.next()? {
                        Event::MappingEnd => return Value::object(members),
                        Event::Scalar(key, style, 0, None) => scalar(&key, style)?,
                        _ => return not_read(),
                    };
                    let event = self.next()?;
                    let value = self.node(event, depth + 1)?;
                    let Value::String(key) = key else {
                        return not_read();
                    };
                    if members.insert(key.to_string(), value).is_some() {
                        return not_read();
                    }
                }
            }
            _ => not_read(),
        }
    }
}

/// A scalar. Without quotes, `yes`, `012`, `1_000`, `1:30`, `2001-01-01` and the like depend on the
/// version of YAML.
fn scalar(text: &str, style: ScalarStyle) -> Result<Value, Stop> {
    const BOOLS: [&str; 6] = ["y", "yes", "on", "n", "no", "off"];
    if style != ScalarStyle::Plain {
        return Ok(Value::string(text));
    }
    // No version of YAML reads a text with two dots between digits, such as `1.2.3`, as a number.
    let is_version = text.split('.').count() > 2
        && text
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    match text {
        "" | "~" | "null" => Ok(Value::Null),
        "true" => Ok(Value::Bool(true)),
        "false" => Ok(Value::Bool(false)),
        _ if parse_exact_integer(text).is_some()
            && (text == "0" || !text.trim_start_matches('-').starts_with('0')) =>
        {
            text.parse()
                .map_or_else(|_| not_read(), |number| Ok(Value::Int(number)))
        }
        _ if is_version => Ok(Value::string(text)),
        // Whether `True` or `yes` is a bool depends on the version of YAML.
        _ if ["true", "false", "null"]
            .iter()
            .chain(&BOOLS)
            .any(|word| text.eq_ignore_ascii_case(word)) =>
        {
            not_read()
        }
        _ if text.starts_with(|c: char| c.is_alphabetic() || c == '/' || c == '_')
            || text.starts_with("./")
            || text.starts_with("../") =>
        {
            Ok(Value::string(text))
        }
        _ => not_read(),
    }
}
