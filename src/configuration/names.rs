//! The variables and locals that a module declares.

use std::collections::BTreeMap;

use crate::diagnostic::Location;

use super::syntax::{Attribute, Block, Content, JsonStrings, Schema};

/// Declarations of a module that its expressions can refer to.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub variables: BTreeMap<String, Variable>,
    pub locals: BTreeMap<String, Attribute>,
}

/// A `variable` block.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub default: Option<Attribute>,
    /// `const = true`, which Terraform 1.15 requires of a variable whose value must be known before
    /// a plan.
    pub is_const: bool,
    /// The declared type.
    pub kind: Option<Attribute>,
    /// `sensitive = true` or `ephemeral = true`: the value must not be shown.
    pub is_sensitive: bool,
    /// `nullable`. If it is false, null stands for the default.
    pub is_nullable: Option<bool>,
    pub location: Location,
}

impl Variable {
    /// The arguments that decide on the value, without comments and white space.
    pub(super) fn declaration(&self) -> String {
        let Self {
            default,
            is_const,
            kind,
            is_sensitive,
            is_nullable,
            location: _,
        } = self;
        let default_code = default.as_ref().map(Attribute::code);
        let kind_code = kind.as_ref().map(Attribute::code);
        format!("{default_code:?} {kind_code:?} {is_const} {is_sensitive} {is_nullable:?}")
    }
}

/// Arguments of a `variable` block.
const VARIABLE: Schema = Schema::of_attributes(&[
    "default",
    "const",
    "sensitive",
    "ephemeral",
    "type",
    "nullable",
]);

impl Names {
    /// Reads the `variable` and `locals` blocks of a module, override files last. Malformed blocks
    /// are skipped.
    pub(super) fn read(blocks: &[Block]) -> Self {
        let mut names = Self::default();
        for block in blocks {
            match block.labels.as_slice() {
                [] => {
                    let content = block.content(&Schema::ALL_ATTRIBUTES).unwrap_or_default();
                    for local in content.attributes {
                        names.locals.insert(local.name.text.clone(), local);
                    }
                }
                [name, ..] => {
                    let Ok(content) = block.content(&VARIABLE) else {
                        continue;
                    };
                    // A block of an override file changes only the arguments that it has.
                    let earlier = names.variables.remove(&name.text);
                    let variable = Variable::new(&content, block.location(&name.span));
                    names
                        .variables
                        .insert(name.text.clone(), variable.overriding(earlier));
                }
            }
        }
        names
    }
}

/// The value of an argument that is `true` or `false`.
fn flag(content: &Content, name: &str) -> Option<bool> {
    let value = content
        .attribute(name)?
        .constant(JsonStrings::Literal)
        .ok()?;
    value.as_bool().ok()
}

impl Variable {
    fn new(content: &Content, location: Location) -> Self {
        let is_sensitive = flag(content, "sensitive") == Some(true);
        let is_ephemeral = flag(content, "ephemeral") == Some(true);
        Self {
            default: content.attribute("default").cloned(),
            is_const: flag(content, "const") == Some(true),
            is_sensitive: is_sensitive || is_ephemeral,
            kind: content.attribute("type").cloned(),
            is_nullable: flag(content, "nullable"),
            location,
        }
    }

    /// Applies the arguments of a variable in an override file to the variable known so far.
    fn overriding(self, known: Option<Self>) -> Self {
        let Some(known) = known else { return self };
        Self {
            default: self.default.or(known.default),
            is_const: self.is_const || known.is_const,
            is_sensitive: self.is_sensitive || known.is_sensitive,
            kind: self.kind.or(known.kind),
            is_nullable: self.is_nullable.or(known.is_nullable),
            location: known.location,
        }
    }
}
