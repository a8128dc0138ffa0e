//! Blocks, and what a schema selects of their content (HCL's `Body.PartialContent`).

use std::ops::Range;
use std::sync::Arc;

use crate::diagnostic::{Location, SourceFile};
use crate::hcl::Fault;
use crate::hcl::code_lines::code_without_space;
use crate::hcl::json::{self, Kind, Member};

use super::attribute::{Attribute, JsonStrings, Name};
use super::native::{self, ItemKind};

/// Maximum nesting of JSON in a body above the bodies of its blocks: two labels and a block, each
/// in an array, too.
const JSON_LEVELS: usize = 8;

/// The arguments and blocks to read from a body.
pub(in crate::configuration) struct Schema {
    pub attributes: AttributeNames,
    pub blocks: &'static [BlockSchema],
}

/// The arguments that a schema selects.
#[derive(Clone, Copy)]
pub(in crate::configuration) enum AttributeNames {
    Any,
    These(&'static [&'static str]),
}

pub(in crate::configuration) struct BlockSchema {
    /// The block's type.
    pub kind: &'static str,
    /// Names of the labels, for errors.
    pub labels: &'static [&'static str],
}

/// A block, or the content of a whole file, in either syntax.
#[derive(Clone, Debug)]
pub(in crate::configuration) struct Block {
    /// The block's type; empty for a file.
    pub kind: &'static str,
    /// Range of the block's type, or of its name in JSON.
    pub header: Range<usize>,
    pub labels: Vec<Name>,
    /// The text between the braces, or the JSON value.
    body: Location,
    is_json: bool,
}

/// The selected arguments and blocks, in the order of the file.
#[derive(Debug, Default)]
pub(in crate::configuration) struct Content {
    pub attributes: Vec<Attribute>,
    /// The types of the blocks, and the blocks or why they are malformed.
    pub blocks: Vec<(&'static str, Result<Block, Fault>)>,
    /// Range of the type of the first block that the schema does not list. Without a schema, JSON
    /// has no blocks.
    pub other_block: Option<Range<usize>>,
}

impl Schema {
    /// Selects all arguments and no blocks.
    pub(in crate::configuration) const ALL_ATTRIBUTES: Self = Self::with_any_attribute(&[]);

    /// Selects all arguments, and blocks.
    pub(in crate::configuration) const fn with_any_attribute(
        blocks: &'static [BlockSchema],
    ) -> Self {
        Self {
            attributes: AttributeNames::Any,
            blocks,
        }
    }

    /// Selects blocks only.
    pub(in crate::configuration) const fn of_blocks(blocks: &'static [BlockSchema]) -> Self {
        Self {
            attributes: AttributeNames::These(&[]),
            blocks,
        }
    }

    /// Selects arguments only.
    pub(in crate::configuration) const fn of_attributes(names: &'static [&'static str]) -> Self {
        Self {
            attributes: AttributeNames::These(names),
            blocks: &[],
        }
    }

    fn block(&self, kind: &str) -> Option<&'static BlockSchema> {
        self.blocks.iter().find(|block| block.kind == kind)
    }

    fn has_attribute(&self, name: &str) -> bool {
        match self.attributes {
            AttributeNames::Any => true,
            AttributeNames::These(names) => names.contains(&name),
        }
    }
}

impl Content {
    /// The argument of a name. JSON may repeat one; the last one applies.
    pub(in crate::configuration) fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes
            .iter()
            .rev()
            .find(|attribute| attribute.name.text == name)
    }
}

impl Block {
    /// The content of a file, whose name decides the syntax.
    pub(in crate::configuration) fn of_file(file: &Arc<SourceFile>) -> Self {
        let is_json = file
            .path
            .extension()
            .is_some_and(|extension| extension == "json");
        Self {
            kind: "",
            header: 0..0,
            labels: Vec::new(),
            body: Location::new(file, 0..file.text.len()),
            is_json,
        }
    }

    /// Location of a part of the block's file.
    pub(in crate::configuration) fn location(&self, span: &Range<usize>) -> Location {
        Location::new(&self.body.file, span.clone())
    }

    /// The text of the body without comments and white space.
    pub(in crate::configuration) fn code(&self) -> String {
        code_without_space(&self.body.file.text[self.body.span.clone()])
    }

    /// Returns `false` only if the body has no argument of this name. Cheaper than reading the
    /// content.
    pub(in crate::configuration) fn may_have(&self, name: &str) -> bool {
        let text = &self.body.file.text.as_bytes()[self.body.span.clone()];
        memchr::memmem::find(text, name.as_bytes()).is_some()
            || self.is_json && memchr::memchr(b'\\', text).is_some()
    }

    /// Reads the body.
    ///
    /// # Errors
    /// The body is malformed.
    pub(in crate::configuration) fn content(&self, schema: &Schema) -> Result<Content, Fault> {
        if self.is_json {
            self.json_content(schema)
        } else {
            self.native_content(schema)
        }
    }

    /// Reads the arguments and blocks of the body that a schema lists. A wrong block is an error of
    /// its own, so that others are read.
    fn native_content(&self, schema: &Schema) -> Result<Content, Fault> {
        let Location { file, span } = &self.body;
        let text = &file.text;
        let is_file = self.kind.is_empty();
        let items = if is_file {
            native::file_items(text)?
        } else {
            native::block_items(text, span.clone())?
        };
        let mut content = Content::default();
        for native::Item { name, kind } in items {
            match (schema.block(&text[name.clone()]), kind) {
                (Some(block), ItemKind::Block { labels, body }) => {
                    content
                        .blocks
                        .push((block.kind, self.native_block(block, name, labels, body)));
                }
                (Some(BlockSchema { kind, .. }), ItemKind::Argument(_)) => {
                    content.blocks.push((
                        kind,
                        Err(Fault::new(name, format!("\"{kind}\" must be a block"))),
                    ));
                }
                (None, ItemKind::Block { .. }) => drop(content.other_block.get_or_insert(name)),
                (None, ItemKind::Argument(value)) if schema.has_attribute(&text[name.clone()]) => {
                    let name = Name {
                        text: text[name.clone()].to_owned(),
                        span: name,
                    };
                    content.attributes.push(self.attribute(name, value));
                }
                (None, ItemKind::Argument(_)) => {}
            }
        }
        Ok(content)
    }

    /// Returns a block in the body. It must have the labels of its schema.
    fn native_block(
        &self,
        schema: &BlockSchema,
        header: Range<usize>,
        labels: Vec<Range<usize>>,
        body: Range<usize>,
    ) -> Result<Self, Fault> {
        let BlockSchema {
            kind,
            labels: expected,
        } = schema;
        if let Some(label) = labels.get(expected.len()) {
            return Err(Fault::new(
                label.clone(),
                format!("one label too many for a \"{kind}\" block"),
            ));
        }
        if let Some(missing) = expected.get(labels.len()) {
            return Err(Fault::new(
                header,
                format!("a label is missing: the {missing} of the \"{kind}\" block"),
            ));
        }
        let mut names = Vec::new();
        for label in labels {
            names.push(self.label(label)?);
        }
        Ok(Self {
            kind,
            header,
            labels: names,
            body: self.location(&body),
            is_json: false,
        })
    }

    /// Reads a label of a block, with or without quotes.
    fn label(&self, span: Range<usize>) -> Result<Name, Fault> {
        let written = &self.body.file.text[span.clone()];
        let text = if written.starts_with('"') {
            let name = Name {
                text: String::new(),
                span: span.clone(),
            };
            self.attribute(name, span.clone())
                .string(JsonStrings::Literal)?
        } else {
            written.to_owned()
        };
        Ok(Name { text, span })
    }

    /// Reads the members of the body that a schema lists. A wrong block is an error of its own, so
    /// that others are read.
    fn json_content(&self, schema: &Schema) -> Result<Content, Fault> {
        let value = json::parse_levels(&self.body.file.text, &self.body.span, JSON_LEVELS)?;
        let mut content = Content::default();
        for Member {
            name,
            name_span,
            value,
        } in members(&value)?
        {
            let name = Name {
                text: name.clone(),
                span: name_span.clone(),
            };
            match schema.block(&name.text) {
                Some(block) => {
                    let unlabelled = Self {
                        kind: block.kind,
                        header: name.span,
                        labels: Vec::new(),
                        ..self.clone()
                    };
                    if let Err(fault) =
                        unlabelled.add_json_blocks(value, block.labels.len(), &mut content.blocks)
                    {
                        content.blocks.push((block.kind, Err(fault)));
                    }
                }
                None if schema.has_attribute(&name.text) => {
                    content
                        .attributes
                        .push(self.attribute(name, value.span.clone()));
                }
                None => {}
            }
        }
        Ok(content)
    }

    /// Adds the blocks that a value of JSON stands for. They have the labels of this block, and so
    /// many labels more, which are the names of nested objects.
    fn add_json_blocks(
        &self,
        value: &json::Value,
        labels: usize,
        blocks: &mut Vec<(&'static str, Result<Self, Fault>)>,
    ) -> Result<(), Fault> {
        if let Some(labels_below) = labels.checked_sub(1) {
            for member in members(value)? {
                let mut labelled = self.clone();
                labelled.labels.push(Name {
                    text: member.name.clone(),
                    span: member.name_span.clone(),
                });
                labelled.add_json_blocks(&member.value, labels_below, blocks)?;
            }
            return Ok(());
        }
        // In an array each value is a block, also `null`, which is an empty one, and an array of
        // objects.
        let values = match &value.kind {
            Kind::Array(values) => values,
            Kind::Null => &[][..],
            _ => std::slice::from_ref(value),
        };
        for value in values {
            if !matches!(value.kind, Kind::Array(_) | Kind::Object(_) | Kind::Null) {
                return Err(no_object(value));
            }
            let block = Self {
                body: self.location(&value.span),
                ..self.clone()
            };
            blocks.push((self.kind, Ok(block)));
        }
        Ok(())
    }

    fn attribute(&self, name: Name, value: Range<usize>) -> Attribute {
        Attribute {
            name,
            location: self.location(&value),
            is_json: self.is_json,
        }
    }
}

/// The members of a JSON body: an object, or an array of objects that form one body. `//` is a
/// comment.
fn members(value: &json::Value) -> Result<Vec<&Member>, Fault> {
    let mut members: Vec<&Member> = Vec::new();
    match &value.kind {
        Kind::Null => {}
        Kind::Object(object) => members.extend(object),
        Kind::Array(values) => {
            for value in values {
                let Kind::Object(object) = &value.kind else {
                    return Err(no_object(value));
                };
                members.extend(object);
            }
        }
        _ => return Err(no_object(value)),
    }
    members.retain(|member| member.name != "//");
    Ok(members)
}

fn no_object(value: &json::Value) -> Fault {
    Fault::new(
        value.span.clone(),
        format!("an object is expected here, not {}", value.describe()),
    )
}
