//! The values of arguments.

use std::ops::Range;
use std::sync::Arc;

use hcl_edit::Span;
use hcl_edit::expr::{Expression as EditExpression, ObjectKey};

use crate::diagnostic::{Location, SourceFile};
use crate::hcl::Fault;
use crate::hcl::evaluate::expression::constant;
use crate::hcl::evaluate::value::Value;
use crate::hcl::json::{self, Kind, Member};
use crate::hcl::scan::skip_nested;

use super::deferred::{DeferredValue, json_value, parse, parse_template};

/// A name with its place, including quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::configuration) struct Name {
    pub text: String,
    pub span: Range<usize>,
}

/// The value of an argument, not looked at yet.
#[derive(Clone)]
pub(in crate::configuration) enum Expression<'a> {
    Native { text: &'a str, span: Range<usize> },
    Json(&'a json::Value),
}

/// The content of a quoted string without escapes or templates, as most strings are.
fn plain_string(written: &str) -> Option<&str> {
    let inner = written.strip_prefix('"')?.strip_suffix('"')?;
    (!inner.contains(['"', '\\', '$', '%', '\n'])).then_some(inner)
}

/// Whether a JSON string holds more than itself.
fn is_template(string: &str) -> bool {
    string.contains("${") || string.contains("%{")
}

pub(super) fn expect_string(value: &Value, span: &Range<usize>) -> Result<String, Fault> {
    match value {
        Value::String(string) => Ok(string.to_string()),
        other => Err(Fault::new(span.clone(), format!("a string is expected here, not {}", other.kind()))),
    }
}

/// The value of a native expression without variables and functions.
pub(super) fn evaluate_native(written: &str, span: &Range<usize>) -> Result<Value, Fault> {
    match plain_string(written) {
        Some(string) => Ok(Value::string(string)),
        None => evaluate(&parse(written, span)?, written, span),
    }
}

fn evaluate(expression: &EditExpression, text: &str, span: &Range<usize>) -> Result<Value, Fault> {
    constant(expression, text).map_err(|why| Fault::new(span.clone(), format!("only a constant may stand here: {why}")))
}

/// A member of a JSON object as an argument.
pub(super) fn named(member: &Member) -> (Name, Expression<'_>) {
    (Name { text: member.name.clone(), span: member.name_span.clone() }, Expression::Json(&member.value))
}

impl<'a> Expression<'a> {
    pub(in crate::configuration) fn span(&self) -> Range<usize> {
        match self {
            Self::Native { span, .. } => span.clone(),
            Self::Json(value) => value.span.clone(),
        }
    }

    /// The text of a native value; the string of a JSON one.
    pub(in crate::configuration) fn written(&self) -> &'a str {
        match self {
            Self::Native { text, span } => &text[span.clone()],
            Self::Json(json::Value { kind: Kind::String(string), .. }) => string,
            Self::Json(_) => "",
        }
    }

    /// The value of an expression without variables and functions. JSON strings are not templates.
    pub(in crate::configuration) fn constant(&self) -> Result<Value, Fault> {
        match self {
            Self::Native { span, .. } => evaluate_native(self.written(), span),
            Self::Json(value) => json_value(value, &|text| Ok(Value::string(text)))
                .map_err(|stop| Fault::new(value.span.clone(), stop.at(|| None).to_string())),
        }
    }

    /// [`Expression::constant`], which must be a string.
    pub(in crate::configuration) fn constant_string(&self) -> Result<String, Fault> {
        expect_string(&self.constant()?, &self.span())
    }

    /// [`Expression::constant_string`], where a number stands for its digits.
    pub(in crate::configuration) fn constant_text(&self) -> Result<String, Fault> {
        match self.constant()? {
            Value::Int(number) => Ok(number.to_string()),
            other => expect_string(&other, &self.span()),
        }
    }

    /// [`Expression::constant_string`], where JSON strings are templates.
    pub(in crate::configuration) fn constant_template(&self) -> Result<String, Fault> {
        match self {
            Self::Json(json::Value { kind: Kind::String(string), span }) if is_template(string) => {
                expect_string(&evaluate(&parse_template(string, span)?, string, span)?, span)
            }
            _ => self.constant_string(),
        }
    }

    /// The text of the value, to be evaluated later.
    pub(in crate::configuration) fn deferred(&self, file: &Arc<SourceFile>) -> DeferredValue {
        DeferredValue { location: Location::new(file, self.span()), is_json: matches!(self, Self::Json(_)) }
    }

    /// The entries of an object, or `None` if the value is not an object. Names may be constant expressions.
    pub(in crate::configuration) fn entries(&self) -> Result<Option<Vec<(Name, Expression<'a>)>>, Fault> {
        match self {
            Self::Json(json::Value { kind: Kind::Object(members), .. }) => {
                Ok(Some(members.iter().map(named).collect()))
            }
            Self::Native { text, span } if text[span.clone()].starts_with('{') => {
                plain_entries(text, span).map_or_else(|| native_entries(text, span).map(Some), |plain| Ok(Some(plain)))
            }
            Self::Json(_) | Self::Native { .. } => Ok(None),
        }
    }

    /// The names of a reference such as `aws.west`, `module.x["a"].aws_vpc.main[0]`: `aws`, `west`; without indexes.
    /// A quoted reference is read as if it had no quotes.
    pub(in crate::configuration) fn reference(&self) -> Result<Vec<String>, Fault> {
        let written = self.written();
        let unquoted = plain_string(written).unwrap_or(written);
        let fault = || Fault::new(self.span(), "a reference such as aws or aws.west is expected here");
        let mut names = Vec::new();
        let mut rest = unquoted.trim();
        loop {
            let length = rest.find(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '-')).unwrap_or(rest.len());
            if !rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
                return Err(fault());
            }
            names.push(rest[..length].to_owned());
            rest = rest[length..].trim_start();
            while rest.starts_with('[') {
                let end = skip_nested(rest.as_bytes(), 0).and_then(Result::ok).ok_or_else(fault)?;
                rest = rest[end..].trim_start();
            }
            match rest.strip_prefix('.') {
                Some(next) => rest = next.trim_start(),
                None if rest.is_empty() => return Ok(names),
                None => return Err(fault()),
            }
        }
    }
}

/// The entries of an object of plain strings, as most `required_providers` have; `None` for any other object. Many
/// times as fast as the parser of all HCL.
fn plain_entries<'a>(text: &'a str, span: &Range<usize>) -> Option<Vec<(Name, Expression<'a>)>> {
    // They mean something else to HCL.
    const KEYWORDS: [&str; 4] = ["for", "null", "true", "false"];
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut rest = text[span.clone()].strip_prefix('{')?.strip_suffix('}')?;
    let place = |part: &str, rest: &str| {
        let start = span.end - 1 - rest.len();
        start..start + part.len()
    };
    let mut entries: Vec<(Name, Expression<'a>)> = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n']);
        if rest.is_empty() {
            return Some(entries);
        }
        let name = &rest[..rest.find(|c| !is_in_name(c))?];
        let is_known = entries.iter().any(|(known, _)| known.text == name);
        if is_known || KEYWORDS.contains(&name) || !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let name = Name { text: name.to_owned(), span: place(name, rest) };
        rest = rest[name.text.len()..].trim_start_matches(' ').strip_prefix('=')?.trim_start_matches(' ');
        let written = &rest[..rest.strip_prefix('"')?.find('"')? + 2];
        plain_string(written)?;
        entries.push((name, Expression::Native { text, span: place(written, rest) }));
        rest = rest[written.len()..].trim_start_matches(' ');
        rest = match rest.strip_prefix(',') {
            Some(rest) => rest,
            None if rest.is_empty() || rest.starts_with('\n') => rest,
            None => return None,
        };
    }
}

fn native_entries<'a>(text: &'a str, span: &Range<usize>) -> Result<Vec<(Name, Expression<'a>)>, Fault> {
    let EditExpression::Object(object) = parse(&text[span.clone()], span)? else {
        return Err(Fault::new(span.clone(), "an object is expected here"));
    };
    let shifted = |inner: Option<Range<usize>>| match inner {
        Some(inner) => span.start + inner.start..span.start + inner.end,
        None => span.clone(),
    };
    let mut entries = Vec::new();
    for (key, value) in &object {
        let name = match key {
            ObjectKey::Ident(ident) => Name { text: ident.to_string(), span: shifted(ident.span()) },
            ObjectKey::Expression(other) => {
                let span = shifted(other.span());
                Name { text: expect_string(&evaluate(other, text, &span)?, &span)?, span }
            }
        };
        entries.push((name, Expression::Native { text, span: shifted(value.expr().span()) }));
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names and values with their places.
    fn shown(entries: Vec<(Name, Expression<'_>)>) -> Vec<(String, Range<usize>, Range<usize>)> {
        entries.into_iter().map(|(name, value)| (name.text, name.span, value.span())).collect()
    }

    #[test]
    fn objects_of_plain_strings_are_read_as_the_parser_reads_them() {
        for object in [
            "{}",
            "{ }",
            "{\n}",
            "{ source = \"hashicorp/aws\" }",
            "{source=\"hashicorp/aws\",version=\"~> 5.0\"}",
            "{\n  source  = \"hashicorp/aws\"\n  version = \">= 5.0, < 6.0\"\n}",
            "{\n\n  source  = \"a/b\",\n\n  version = \"1.0\" ,\n\t}",
            "{ a1_B = \"}{ = ,#//\", b = \"ü\" }",
        ] {
            let text = format!("  aws = {object}\n");
            let span = 8..8 + object.len();
            let plain = plain_entries(&text, &span).unwrap_or_else(|| panic!("{object} is plain"));
            assert_eq!(shown(plain), shown(native_entries(&text, &span).unwrap()), "{object}");
        }
    }

    #[test]
    fn every_other_object_is_left_to_the_parser() {
        for object in [
            "{ source = \"a\" version = \"b\" }",
            "{ source = \"a\", source = \"b\" }",
            "{ source = \"a${b}\" }",
            "{ source = \"a\\n\" }",
            "{ source = \"a\n\" }",
            "{ source = \"a\" # why\n}",
            "{ /* why */ source = \"a\" }",
            "{ configuration_aliases = [aws.west] }",
            "{ source : \"a\" }",
            "{ source == \"a\" }",
            "{ \"source\" = \"a\" }",
            "{ source = \"a\" == \"b\" }",
            "{ source = \"a\",, }",
            "{ , }",
            "{ source = }",
            "{ source }",
            "{ for = \"a\" }",
            "{ null = \"a\" }",
            "{ a-b = \"a\" }",
            "{ 1a = \"a\" }",
            "{\r\n  source = \"a\"\r\n}",
            "{ source = <<X\na\nX\n}",
        ] {
            assert!(plain_entries(object, &(0..object.len())).is_none(), "{object}");
        }
    }
}
