//! Functions that encode, decode and hash text, but not YAML: no dependency parses it.

use std::collections::BTreeMap;
use std::fmt::LowerHex;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use md5::Md5;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sha1::Sha1;
use sha2::digest::Output;
use sha2::{Digest, Sha256, Sha512};

use super::super::number::Number;
use super::super::value::{Outcome, Value, failure, unknown};
use super::function::Function;
use super::function::Parameter::{Nullable, Text};
use crate::hcl::json::{self, Kind};

pub(super) const FUNCTIONS: &[Function] = &[
    Function("jsonencode", &[Nullable], None, |arguments, _| Ok(Value::string(encode(&arguments[0])?))),
    Function("jsondecode", &[Text], None, |arguments, _| jsondecode(&arguments[0].as_string()?)),
    Function("base64encode", &[Text], None, |arguments, _| {
        Ok(Value::string(BASE64_STANDARD.encode(&*arguments[0].as_string()?)))
    }),
    Function("base64decode", &[Text], None, |arguments, _| base64decode(&arguments[0].as_string()?)),
    Function("urlencode", &[Text], None, |arguments, _| Ok(Value::string(urlencode(&arguments[0].as_string()?)))),
    Function("md5", &[Text], None, |arguments, _| hex::<Md5>(&arguments[0])),
    Function("sha1", &[Text], None, |arguments, _| hex::<Sha1>(&arguments[0])),
    Function("sha256", &[Text], None, |arguments, _| hex::<Sha256>(&arguments[0])),
    Function("sha512", &[Text], None, |arguments, _| hex::<Sha512>(&arguments[0])),
    Function("base64sha256", &[Text], None, |arguments, _| {
        Ok(Value::string(BASE64_STANDARD.encode(Sha256::digest(arguments[0].as_string()?.as_bytes()))))
    }),
    Function("base64sha512", &[Text], None, |arguments, _| {
        Ok(Value::string(BASE64_STANDARD.encode(Sha512::digest(arguments[0].as_string()?.as_bytes()))))
    }),
];

fn hex<D: Digest>(text: &Value) -> Outcome
where
    Output<D>: LowerHex,
{
    Ok(Value::string(format!("{:x}", D::digest(text.as_string()?.as_bytes()))))
}

/// JSON as Go writes it.
pub(super) fn encode(value: &Value) -> Outcome<String> {
    Ok(match value {
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(string) => quoted(string)?,
        Value::List(list) => {
            let items = list.items.iter().map(encode).collect::<Outcome<Vec<_>>>()?;
            format!("[{}]", items.join(","))
        }
        Value::Object(object) => {
            let member = |(name, member): (&String, &Value)| Ok(format!("{}:{}", quoted(name)?, encode(member)?));
            let members = object.members.iter().map(member).collect::<Outcome<Vec<_>>>()?;
            format!("{{{}}}", members.join(","))
        }
        Value::Null(_) => "null".to_owned(),
        Value::Partial(_) | Value::Unknown(_) => value.known().map(|_| String::new())?,
    })
}

/// A JSON string, in which Go escapes what HTML gives a meaning.
fn quoted(string: &str) -> Outcome<String> {
    const ESCAPED: [(char, &str); 5] =
        [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];
    if string.contains(['\u{8}', '\u{c}']) {
        return unknown("the escapes of these characters depend on the version of the program");
    }
    let json = serde_json::Value::from(string).to_string();
    Ok(ESCAPED.iter().fold(json, |json, (character, escape)| json.replace(*character, escape)))
}

fn jsondecode(text: &str) -> Outcome {
    match json::parse(text) {
        Ok(_) if text.starts_with('\u{feff}') => failure("the text is not JSON"),
        Ok(value) => from_json(&value),
        Err(_) if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() => unknown("the JSON is not read here"),
        Err(_) => failure("the text is not JSON"),
    }
}

fn from_json(value: &json::Value) -> Outcome {
    match &value.kind {
        Kind::Null => Ok(Value::NULL),
        Kind::Bool(value) => Ok(Value::Bool(*value)),
        Kind::Number(number) => Number::parse(number).map(Value::Number),
        Kind::String(text) => Ok(Value::string(text.as_str())),
        Kind::Array(items) => Value::tuple(items.iter().map(from_json).collect::<Outcome<_>>()?),
        Kind::Object(members) => {
            let member = |member: &json::Member| Ok((member.name.clone(), from_json(&member.value)?));
            Value::object(members.iter().map(member).collect::<Outcome<BTreeMap<_, _>>>()?)
        }
    }
}

fn base64decode(text: &str) -> Outcome {
    let bytes = BASE64_STANDARD.decode(text);
    match bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()) {
        Some(text) => Ok(Value::string(text)),
        None => unknown("the text is not base64 of UTF-8"),
    }
}

/// The text as part of a URL's query.
fn urlencode(text: &str) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    utf8_percent_encode(text, ESCAPED).to_string().replace("%20", "+")
}
