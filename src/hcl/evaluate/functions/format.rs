//! `format` and `formatlist`, whose verbs are those of Go's `fmt` (cty's `function/stdlib/format.go`).

use num_bigint::BigInt;

use super::super::value::{ListKind, Outcome, Type, Value, failure, unknown};
use super::encoding::encode;
use super::function::Function;
use super::function::Parameter::{Nullable, Text};
use super::string::{bounded, simple};

pub(super) const FUNCTIONS: &[Function] = &[
    Function("format", &[Text], Some(Nullable), |arguments, _| {
        Ok(Value::string(format(&arguments[0].as_string()?, &arguments[1..])?))
    }),
    Function("formatlist", &[Text], Some(Nullable), |arguments, _| formatlist(arguments)),
];

/// A verb with its flags: `%-05.2f`, `%[1]s`.
#[derive(Default)]
struct Verb {
    is_left: bool,
    has_zeros: bool,
    /// What stands before a number that is not negative.
    sign: Option<char>,
    /// Whether any value is written as JSON.
    is_json: bool,
    /// The place of the argument among all, from 1; that behind the one before is meant if there is none.
    place: Option<usize>,
    width: usize,
    precision: Option<usize>,
    letter: char,
}

impl Verb {
    /// Reads what follows a percent sign, and returns the rest of the text.
    fn parse(text: &str) -> Outcome<(Self, &str)> {
        let mut verb = Self::default();
        let flags = text.len() - text.trim_start_matches(['-', '0', '+', ' ', '#']).len();
        let has = |flag: char| text[..flags].contains(flag);
        verb.sign = if has('+') { Some('+') } else { has(' ').then_some(' ') };
        verb.is_json = has('#');
        verb.is_left = text[..flags].contains('-');
        verb.has_zeros = text[..flags].contains('0') && !verb.is_left;
        let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let mut rest = &text[flags..];
        let number = |text: &str| if text.is_empty() { Ok(0) } else { text.parse().or_else(|_| unknown("a width")) };
        let (width, behind) = rest.split_at(digits(rest));
        verb.width = number(width)?;
        rest = behind;
        if let Some(behind) = rest.strip_prefix('.') {
            let (precision, behind) = behind.split_at(digits(behind));
            verb.precision = Some(number(precision)?);
            rest = behind;
        }
        if let Some((place, behind)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            match place.parse() {
                Ok(place @ 1..) => verb.place = Some(place),
                _ => return unknown("this format is not evaluated"),
            }
            rest = behind;
        }
        let mut letters = rest.chars();
        verb.letter = letters.next().map_or_else(|| failure("the format ends within a verb"), Ok)?;
        if !verb.letter.is_ascii_alphabetic() {
            return unknown("this format is not evaluated");
        }
        bounded(verb.width.max(verb.precision.unwrap_or(0)))?;
        Ok((verb, letters.as_str()))
    }

    fn format(&self, value: &Value) -> Outcome<String> {
        if self.is_json && self.letter != 'v' || self.sign.is_some() && !matches!(self.letter, 'd' | 'f') {
            return unknown("this format is not evaluated");
        }
        let integer = |write: fn(&BigInt) -> String| match value.as_number()?.to_integer() {
            Some(number) => Ok(write(&number)),
            None => unknown("a fraction is not formatted as a whole number"),
        };
        let text = match (self.letter, value) {
            ('v', _) if self.is_json && self.precision.is_none() => encode(value)?,
            ('v', Value::Null(_)) => "null".to_owned(),
            (_, Value::Null(_)) => return failure("null cannot be formatted"),
            ('v' | 's', Value::List(_) | Value::Object(_)) if self.letter == 's' => return failure("takes a string"),
            ('v', Value::List(_) | Value::Object(_)) => encode(value)?,
            ('s' | 'v', _) if self.precision.is_none() => value.as_string()?.to_string(),
            ('s', _) if self.precision.is_some() => {
                simple(value)?;
                let text = value.as_string()?;
                text[..text.len().min(self.precision.unwrap_or(0))].to_owned()
            }
            ('d', _) if self.precision.is_none() => integer(BigInt::to_string)?,
            ('b', _) if self.precision.is_none() => integer(|number| format!("{number:b}"))?,
            ('o', _) if self.precision.is_none() => integer(|number| format!("{number:o}"))?,
            ('X', Value::Number(_)) if self.precision.is_none() => integer(|number| format!("{number:X}"))?,
            ('t', _) if self.precision.is_none() && self.width == 0 => value.as_bool()?.to_string(),
            ('f', _) => value.as_number()?.to_fixed(self.precision.unwrap_or(6)),
            ('x', Value::Number(_)) if self.precision.is_none() => integer(|number| format!("{number:x}"))?,
            ('q', _) if self.precision.is_none() => quoted(&value.as_string()?)?,
            _ => return unknown("this format is not evaluated"),
        };
        self.padded(match self.sign {
            Some(sign) if !text.starts_with('-') => format!("{sign}{text}"),
            _ => text,
        })
    }

    fn padded(&self, text: String) -> Outcome<String> {
        let missing = self.width.saturating_sub(text.len());
        if missing == 0 {
            return Ok(text);
        }
        if !text.is_ascii() {
            return unknown("the width of text that is not ASCII is not computed");
        }
        let sign = if self.letter == 'd' || self.letter == 'f' { &['-', '+', ' '][..] } else { &['-'] };
        Ok(match text.strip_prefix(sign) {
            _ if self.is_left => text + &" ".repeat(missing),
            _ if !self.has_zeros => " ".repeat(missing) + &text,
            _ if !matches!(self.letter, 'd' | 'f' | 'x' | 'X' | 'o' | 'b') => {
                return unknown("zeros before text are not computed");
            }
            Some(digits) => format!("{}{}{digits}", &text[..1], "0".repeat(missing)),
            None => "0".repeat(missing) + &text,
        })
    }
}

/// A string in quotes. Where Go's quoting and JSON's differ, it is unknown.
fn quoted(text: &str) -> Outcome<String> {
    if text.chars().all(|c| (' '..='~').contains(&c) && !matches!(c, '<' | '>' | '&')) {
        Ok(serde_json::Value::from(text).to_string())
    } else {
        unknown("these characters are not quoted here")
    }
}

fn format(pattern: &str, arguments: &[Value]) -> Outcome<String> {
    let (mut next, mut used) = (0, 0);
    let mut result = String::new();
    let mut rest = pattern;
    while let Some((text, verb)) = rest.split_once('%') {
        result.push_str(text);
        if let Some(behind) = verb.strip_prefix('%') {
            result.push('%');
            rest = behind;
            continue;
        }
        let (verb, behind) = Verb::parse(verb)?;
        let index = verb.place.map_or(next, |place| place - 1);
        let argument = arguments.get(index).map_or_else(|| failure("too few arguments"), Ok)?;
        next = index + 1;
        used = used.max(next);
        result.push_str(&verb.format(argument)?);
        bounded(result.len())?;
        rest = behind;
    }
    result.push_str(rest);
    match arguments.get(used) {
        None => Ok(result),
        Some(_) if pattern.contains('%') => failure("too many arguments"),
        Some(_) => unknown("too many arguments"),
    }
}

/// `format` once for each item of the lists; other arguments are the same each time.
fn formatlist(arguments: &[Value]) -> Outcome {
    let (pattern, arguments) = (arguments[0].as_string()?, &arguments[1..]);
    let is_list = |value: &&Value| matches!(value, Value::List(list) if !matches!(list.kind, ListKind::Set(_)));
    let Some(first) = arguments.iter().find(is_list) else { return unknown("a list of one text is not computed") };
    let count = first.as_list()?.len();
    if arguments.iter().filter(is_list).any(|list| list.as_list().is_ok_and(|items| items.len() != count)) {
        return failure("the lists differ in length");
    }
    let item = |argument: &Value, index: usize| match argument {
        Value::List(list) if is_list(&argument) => list.items[index].clone(),
        argument => argument.clone(),
    };
    let mut texts = Vec::new();
    for index in 0..count {
        let row: Vec<Value> = arguments.iter().map(|argument| item(argument, index)).collect();
        texts.push(Value::string(format(&pattern, &row)?));
    }
    Value::list(Type::String, texts)
}
