//! Functions that encode and decode text, but not YAML: no dependency parses it.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::super::value::{Outcome, Value, exact, failure, unknown};
use super::arguments::take;

/// Calls a function whose arguments are fully known.
pub(super) fn call(name: &str, arguments: &[Value]) -> Option<Outcome> {
    let outcome = match name {
        "jsonencode" => take(arguments).map(|[value]| Value::string(encode(&to_json(value)))),
        "jsondecode" => jsondecode(arguments),
        "base64encode" => {
            take(arguments).and_then(|[text]| Ok(Value::string(BASE64_STANDARD.encode(&*text.as_string()?))))
        }
        "base64decode" => base64decode(arguments),
        _ => return None,
    };
    Some(outcome)
}

/// JSON as Go writes it, which escapes what HTML gives a meaning.
fn encode(value: &serde_json::Value) -> String {
    let mut text = value.to_string();
    for (character, escaped) in
        [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")]
    {
        text = text.replace(character, escaped);
    }
    text
}

fn to_json(value: &Value) -> serde_json::Value {
    match value {
        Value::Bool(value) => (*value).into(),
        #[expect(clippy::cast_possible_truncation)] // whole, and held exactly by a double
        Value::Number(number) if number.fract() == 0.0 => (*number as i64).into(),
        Value::Number(number) => (*number).into(),
        Value::String(text) => (&**text).into(),
        Value::List(list) => list.items.iter().map(to_json).collect(),
        Value::Object(object) => object.members.iter().map(|(key, value)| (key.clone(), to_json(value))).collect(),
        Value::Null | Value::Partial(_) | Value::Unknown(_) => serde_json::Value::Null,
    }
}

fn jsondecode(arguments: &[Value]) -> Outcome {
    let [text] = take(arguments)?;
    match serde_json::from_str(&text.as_string()?) {
        Ok(value) => from_json(value),
        Err(_) => failure("the text is not JSON"),
    }
}

fn from_json(value: serde_json::Value) -> Outcome {
    match value {
        serde_json::Value::Null => Ok(Value::Null),
        serde_json::Value::Bool(value) => Ok(Value::Bool(value)),
        serde_json::Value::Number(number) => Ok(Value::Number(exact(number.as_f64().unwrap_or(f64::INFINITY))?)),
        serde_json::Value::String(text) => Ok(Value::string(text)),
        serde_json::Value::Array(items) => Value::list(items.into_iter().map(from_json).collect::<Outcome<_>>()?),
        serde_json::Value::Object(members) => {
            Value::object(members.into_iter().map(|(key, value)| Ok((key, from_json(value)?))).collect::<Outcome<_>>()?)
        }
    }
}

fn base64decode(arguments: &[Value]) -> Outcome {
    let [text] = take(arguments)?;
    let bytes = BASE64_STANDARD.decode(&*text.as_string()?);
    match bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()) {
        Some(text) => Ok(Value::string(text)),
        None => unknown("the text is not base64 of UTF-8"),
    }
}
