//! One CLI configuration file, with typed access to its blocks and arguments.

#![expect(
    clippy::disallowed_methods,
    reason = "the CLI configuration is the user's, and no part of a revision"
)]

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use super::syntax;
use crate::diagnostic::{Code, Diagnostic, Location, Result, SourceFile};
use crate::hcl::json::{Kind, Member, Value};

/// The largest CLI configuration file that is read, in bytes.
pub(super) const SIZE_LIMIT: u64 = 1 << 20;

/// A file that was read.
pub(super) struct ConfigFile {
    file: Arc<SourceFile>,
    members: Vec<Member>,
}

/// The content of a block, or of the whole file.
#[derive(Clone, Copy)]
pub(super) struct Body<'a> {
    file: &'a Arc<SourceFile>,
    members: &'a [Member],
}

/// A value from a file and its location.
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) location: Location,
}

impl ConfigFile {
    pub(super) fn read(path: &Path) -> Result<Self> {
        Self::parse(path, &read_text(path)?)
    }

    pub(super) fn parse(path: &Path, text: &str) -> Result<Self> {
        let file = SourceFile::private(path, text);
        match syntax::parse(text) {
            Ok(Value {
                kind: Kind::Object(members),
                ..
            }) => Ok(Self { file, members }),
            Ok(root) => Err(invalid(
                "the file must contain blocks",
                Location::new(&file, root.span),
            )
            .into()),
            Err(fault) => Err(invalid(fault.message, Location::new(&file, fault.span)).into()),
        }
    }

    pub(super) fn body(&self) -> Body<'_> {
        Body {
            file: &self.file,
            members: &self.members,
        }
    }
}

/// An error about a place in a CLI configuration file.
pub(super) fn invalid(message: impl Into<String>, location: Location) -> Diagnostic {
    Diagnostic::error(Code::InvalidCliConfiguration, message).at_location(location)
}

/// Reads a text file of at most [`SIZE_LIMIT`] bytes.
pub(super) fn read_text(path: &Path) -> Result<String> {
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(SIZE_LIMIT + 1).read_to_string(&mut text));
    read.map_err(|error| Diagnostic::io("read", path, &error))?;
    if text.len() as u64 > SIZE_LIMIT {
        let problem = format!("it is larger than {} MiB", SIZE_LIMIT >> 20);
        let message = format!(
            "{} is too large for a CLI configuration file: {problem}",
            path.display()
        );
        return Err(Diagnostic::error(Code::InvalidCliConfiguration, message).into());
    }
    Ok(text)
}

impl<'a> Body<'a> {
    /// The names of all arguments and blocks, with their places.
    pub(super) fn keys(self) -> impl Iterator<Item = Located<&'a str>> {
        self.members
            .iter()
            .map(move |member| self.at_name(member.name.as_str(), member))
    }

    /// The blocks of a type that takes no label.
    pub(super) fn blocks(self, name: &str) -> Result<Vec<Located<Body<'a>>>> {
        let mut blocks = Vec::new();
        for member in self.members.iter().filter(|member| member.name == name) {
            self.add_blocks(member, &mut blocks)?;
        }
        Ok(blocks)
    }

    /// The blocks of a type with one label, each with its label.
    pub(super) fn labelled_blocks(self, name: &str) -> Result<Vec<(&'a str, Located<Body<'a>>)>> {
        let mut labelled = Vec::new();
        for outer in self.blocks(name)? {
            labelled.extend(outer.value.inner_blocks()?);
        }
        Ok(labelled)
    }

    /// Blocks inside this block; anything else in it is an error.
    pub(super) fn inner_blocks(self) -> Result<Vec<(&'a str, Located<Body<'a>>)>> {
        let mut inner = Vec::new();
        for member in self.members {
            let mut blocks = Vec::new();
            self.add_blocks(member, &mut blocks)?;
            inner.extend(
                blocks
                    .into_iter()
                    .map(|block| (member.name.as_str(), block)),
            );
        }
        Ok(inner)
    }

    /// Adds the blocks that a member stands for: an object, or in JSON also a list of objects. The
    /// location of each is the name of the member.
    fn add_blocks(self, member: &'a Member, blocks: &mut Vec<Located<Body<'a>>>) -> Result<()> {
        for value in one_or_many(&member.value) {
            let members = self.expect(&member.name, value, "a block", as_object)?;
            let body = Body {
                file: self.file,
                members: members.value,
            };
            blocks.push(self.at_name(body, member));
        }
        Ok(())
    }

    fn argument(self, name: &str) -> Option<&'a Value> {
        self.members
            .iter()
            .rfind(|member| member.name == name)
            .map(|member| &member.value)
    }

    /// Converts the value of an argument or block, which is an error if `convert` returns `None`.
    fn expect<T>(
        self,
        name: &str,
        value: &'a Value,
        expected: &str,
        convert: impl Fn(&'a Kind) -> Option<T>,
    ) -> Result<Located<T>> {
        let location = Location::new(self.file, value.span.clone());
        let Some(value) = convert(&value.kind) else {
            return Err(invalid(format!("\"{name}\" must be {expected}"), location).into());
        };
        Ok(Located { value, location })
    }

    fn expect_text(self, name: &str, value: &'a Value) -> Result<Located<&'a str>> {
        self.expect(name, value, "text in double quotes", as_text)
    }

    /// A text argument.
    pub(super) fn string(self, name: &str) -> Result<Option<Located<&'a str>>> {
        self.argument(name)
            .map(|value| self.expect_text(name, value))
            .transpose()
    }

    /// A text argument that is required and not empty.
    pub(super) fn required_string(self, name: &str, block: &Location) -> Result<Located<&'a str>> {
        let text = self.string(name)?.filter(|text| !text.value.is_empty());
        text.ok_or_else(|| {
            invalid(
                format!("the block needs the argument \"{name}\""),
                block.clone(),
            )
            .into()
        })
    }

    /// A list of texts; a single text stands for a list of one.
    pub(super) fn strings(self, name: &str) -> Result<Option<Vec<Located<&'a str>>>> {
        let Some(argument) = self.argument(name) else {
            return Ok(None);
        };
        let mut texts = Vec::new();
        for value in one_or_many(argument) {
            texts.push(self.expect_text(name, value)?);
        }
        Ok(Some(texts))
    }

    /// A `true` or `false`, quoted or not.
    pub(super) fn boolean(self, name: &str) -> Result<Option<bool>> {
        let Some(value) = self.argument(name) else {
            return Ok(None);
        };
        let located = self.expect(name, value, "true or false", |kind| match kind {
            Kind::Bool(value) => Some(*value),
            Kind::String(text) => text.parse().ok(),
            _ => None,
        })?;
        Ok(Some(located.value))
    }

    /// A number of something, quoted or not.
    pub(super) fn count(self, name: &str) -> Result<Option<u32>> {
        let Some(value) = self.argument(name) else {
            return Ok(None);
        };
        let located = self.expect(name, value, "a whole number", |kind| match kind {
            Kind::Number(text) | Kind::String(text) => text.parse().ok(),
            _ => None,
        })?;
        Ok(Some(located.value))
    }

    /// Every text argument with its name, without other arguments.
    pub(super) fn texts(self) -> impl Iterator<Item = (&'a str, Located<&'a str>)> {
        self.members
            .iter()
            .filter_map(move |member| match &member.value.kind {
                Kind::String(text) => {
                    Some((member.name.as_str(), self.at_name(text.as_str(), member)))
                }
                _ => None,
            })
    }

    /// A value with the location of the name of its member.
    fn at_name<T>(self, value: T, member: &Member) -> Located<T> {
        Located {
            value,
            location: Location::new(self.file, member.name_span.clone()),
        }
    }
}

/// The values of a list; any other value stands for a list of one.
fn one_or_many(value: &Value) -> &[Value] {
    match &value.kind {
        Kind::Array(values) => values,
        _ => std::slice::from_ref(value),
    }
}

/// The members of an object; `None` for any other value.
fn as_object(kind: &Kind) -> Option<&[Member]> {
    match kind {
        Kind::Object(members) => Some(members),
        _ => None,
    }
}

/// The text of a string; `None` for any other value.
fn as_text(kind: &Kind) -> Option<&str> {
    match kind {
        Kind::String(text) => Some(text),
        _ => None,
    }
}
