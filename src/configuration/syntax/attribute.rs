//! Arguments and their values.

use std::ops::Range;

use hcl_edit::expr::{Expression, ObjectKey, TraversalOperator};
use hcl_edit::template::StringTemplate;

use crate::diagnostic::Location;
use crate::hcl::Fault;
use crate::hcl::code_lines::code_without_space;
use crate::hcl::evaluate::arithmetic::constant_number;
use crate::hcl::evaluate::decimal::decimal;
use crate::hcl::evaluate::expression::constant;
use crate::hcl::evaluate::references::References;
use crate::hcl::evaluate::value::{Value, parse_exact_integer};
use crate::hcl::json::{self, Kind};

use super::native;

/// Maximum length of a value in bytes. A parsed value takes up to a hundred times as much memory.
const MAX_LENGTH: usize = 1 << 20;

/// A name with its range, which includes quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::configuration) struct Name {
    pub text: String,
    pub span: Range<usize>,
}

/// An argument of a body, or an entry of an object. Its value is parsed when it is needed.
#[derive(Clone, Debug)]
pub(in crate::configuration) struct Attribute {
    pub name: Name,
    /// Location of the value.
    pub location: Location,
    pub is_json: bool,
}

/// Meaning of strings in JSON syntax, which depends on the argument. Native syntax has only one
/// kind of string.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::configuration) enum JsonStrings {
    /// The text itself.
    Literal,
    /// A template.
    Template,
    /// An expression of native syntax, such as the type of a variable.
    Expression,
}

impl Attribute {
    fn written(&self) -> &str {
        &self.location.file.text[self.location.span.clone()]
    }

    /// The text of the value without comments and white space.
    pub(in crate::configuration) fn code(&self) -> String {
        code_without_space(self.written())
    }

    pub(in crate::configuration) fn fault(&self, message: impl Into<String>) -> Fault {
        Fault::new(self.location.span.clone(), message)
    }

    /// Parses the value.
    pub(in crate::configuration) fn expression(
        &self,
        strings: JsonStrings,
    ) -> Result<Expression, Fault> {
        let Location { file, span } = &self.location;
        if span.len() > MAX_LENGTH {
            return Err(self.fault(format!(
                "this value is longer than {} MiB",
                MAX_LENGTH >> 20
            )));
        }
        if self.is_json {
            return from_json(&json::parse_part(&file.text, span)?, strings);
        }
        native::expression(self.written(), span.start)
    }

    /// Location of a part of [`Attribute::expression`]. A part of a JSON value has the location of
    /// the whole value.
    pub(in crate::configuration) fn location_of(&self, part: Range<usize>) -> Location {
        let Location { file, span } = &self.location;
        if self.is_json {
            return self.location.clone();
        }
        Location::new(file, span.start + part.start..span.start + part.end)
    }

    /// Returns the value of an expression without variables and functions.
    pub(in crate::configuration) fn constant(&self, strings: JsonStrings) -> Result<Value, Fault> {
        if let Some(text) = plain_string(self.written()) {
            return Ok(Value::string(text));
        }
        let expression = self.expression(strings)?;
        // The evaluator reads indented heredocs again in the text, which is different in JSON.
        let text = if self.is_json { "" } else { self.written() };
        constant(&expression, text).map_err(|reason| {
            let references = References::of(&expression);
            let is_variable = |(root, _): &(String, String)| !references.bound.contains(root);
            if references.names.iter().any(is_variable) {
                return self.fault("variables are not allowed here");
            }
            self.fault(format!("only a constant may stand here: {reason}"))
        })
    }

    /// [`Attribute::constant`], which must be a string.
    pub(in crate::configuration) fn string(&self, strings: JsonStrings) -> Result<String, Fault> {
        if self.number().is_some() {
            return Err(self.fault("a string is expected here, not a number"));
        }
        match self.constant(strings)? {
            Value::String(text) => Ok(text.to_string()),
            other => Err(self.fault(format!("a string is expected here, not {}", other.kind()))),
        }
    }

    /// [`Attribute::string`], where a number stands for its digits: `3.1` for `3.10`.
    pub(in crate::configuration) fn string_or_number(&self) -> Result<String, Fault> {
        match self.number() {
            Some(digits) => Ok(digits),
            None => self.string(JsonStrings::Literal),
        }
    }

    /// Returns the text to which a number converts, if the value consists of literal numbers and
    /// operators alone.
    pub(in crate::configuration) fn number(&self) -> Option<String> {
        let written = self.written();
        // A number need not be looked for in a string.
        if !written.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '(' | '-'))
        {
            return None;
        }
        if self.is_json {
            return decimal(written);
        }
        constant_number(&self.expression(JsonStrings::Literal).ok()?)
    }

    /// Returns the entries of an object, or `None` for any other value.
    pub(in crate::configuration) fn entries(&self) -> Result<Option<Vec<Self>>, Fault> {
        let Location { file, span } = &self.location;
        let mut entries = Vec::new();
        if self.is_json {
            let Kind::Object(members) = json::parse_part(&file.text, span)?.kind else {
                return Ok(None);
            };
            for member in members {
                let name = Name {
                    text: member.name,
                    span: member.name_span,
                };
                entries.push(self.entry(name, member.value.span));
            }
            return Ok(Some(entries));
        }
        if !self.written().starts_with('{') {
            return Ok(None);
        }
        for [key, value] in native::object_items(&file.text, span.clone())? {
            let written = &file.text[key.clone()];
            let text = if written.starts_with(['"', '(']) {
                let name = Name {
                    text: String::new(),
                    span: key.clone(),
                };
                self.entry(name, key.clone()).string(JsonStrings::Literal)?
            } else {
                written.to_owned()
            };
            entries.push(self.entry(Name { text, span: key }, value));
        }
        Ok(Some(entries))
    }

    /// An attribute with a value in the same file.
    fn entry(&self, name: Name, value: Range<usize>) -> Self {
        Self {
            name,
            location: Location::new(&self.location.file, value),
            is_json: self.is_json,
        }
    }

    /// Returns the names of a reference without indexes: `module`, `x`, `aws_vpc`, `main` of
    /// `module.x["a"].aws_vpc.main[0]`. The reference may be in quotes.
    pub(in crate::configuration) fn reference(&self) -> Result<Vec<String>, Fault> {
        match self.reference_names() {
            Some(names) => Ok(names),
            None => Err(self.fault("a reference such as aws or aws.west is expected here")),
        }
    }

    /// Returns the names in a reference: `["aws_instance", "a", "id"]` of `aws_instance.a[0].id`.
    /// `None` for any other expression.
    fn reference_names(&self) -> Option<Vec<String>> {
        let expression = match self.expression(JsonStrings::Expression).ok()? {
            // Before 0.12 references were written in quotes, which is still allowed.
            Expression::String(text) => native::expression(text.as_str(), 0).ok()?,
            expression => expression,
        };
        let (root, operators) = match &expression {
            Expression::Traversal(traversal) => (&traversal.expr, traversal.operators.as_slice()),
            expression => (expression, [].as_slice()),
        };
        let mut names = vec![match root {
            Expression::Variable(name) => name.to_string(),
            // In a reference, keywords are names.
            Expression::Null(_) => "null".to_owned(),
            Expression::Bool(value) => value.to_string(),
            _ => return None,
        }];
        for operator in operators {
            match operator.value() {
                TraversalOperator::GetAttr(name) => names.push(name.to_string()),
                // The instances of a resource have its provider.
                TraversalOperator::Index(_) => {}
                _ => return None,
            }
        }
        Some(names)
    }
}

/// The content of a quoted string without escapes and templates, as most strings are.
fn plain_string(written: &str) -> Option<&str> {
    let inner = written.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains(['"', '\\', '$', '%', '\n']) {
        return None;
    }
    Some(inner)
}

/// Converts a JSON value to the expression of native syntax with the same meaning.
fn from_json(value: &json::Value, strings: JsonStrings) -> Result<Expression, Fault> {
    Ok(match &value.kind {
        Kind::Null => Expression::null(),
        Kind::Bool(value) => (*value).into(),
        Kind::Number(number) => match parse_exact_integer(number) {
            Some(number) => number.into(),
            // The evaluator computes with integers only, so that the number may be rounded.
            None => number.parse::<f64>().unwrap_or(f64::MAX).into(),
        },
        Kind::String(text) => string_from_json(text, &value.span, strings)?,
        Kind::Array(values) => {
            let mut items = hcl_edit::expr::Array::new();
            for value in values {
                items.push(from_json(value, strings)?);
            }
            Expression::Array(items)
        }
        Kind::Object(members) => {
            let mut object = hcl_edit::expr::Object::new();
            for member in members {
                let key = string_from_json(&member.name, &member.name_span, strings)?;
                let value = from_json(&member.value, strings)?;
                object.insert(ObjectKey::Expression(key), value);
            }
            Expression::Object(object)
        }
    })
}

/// Reads a string of JSON with the meaning that it has where it stands.
fn string_from_json(
    text: &str,
    span: &Range<usize>,
    strings: JsonStrings,
) -> Result<Expression, Fault> {
    match strings {
        JsonStrings::Literal => Ok(text.into()),
        JsonStrings::Template if !text.contains("${") && !text.contains("%{") => Ok(text.into()),
        JsonStrings::Template => match hcl_edit::parser::parse_template(text) {
            Ok(template) => Ok(StringTemplate::from(template).into()),
            Err(error) => {
                let message = format!("this template cannot be read: {}", error.message());
                Err(Fault::new(span.clone(), message))
            }
        },
        JsonStrings::Expression => {
            native::expression(text, 0).map_err(|fault| Fault::new(span.clone(), fault.message))
        }
    }
}
