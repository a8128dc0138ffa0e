//! The variables and locals that a module declares.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::diagnostic::{Location, SourceFile};
use crate::hcl::evaluate::value::Value;

use super::syntax::{self, Block, DeferredValue, Items};

/// What a module declares that its expressions can refer to.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub variables: BTreeMap<String, Variable>,
    pub locals: BTreeMap<String, DeferredValue>,
}

/// A `variable` block.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    pub default: Option<DeferredValue>,
    /// Whether its value is known before a plan, as Terraform 1.15 wants it (`const = true`).
    pub is_const: bool,
    /// The declared type.
    pub kind: Option<DeferredValue>,
    /// Whether its value is not to be shown: it is `sensitive` or `ephemeral`.
    pub is_sensitive: bool,
    /// Whether its value may be null; otherwise null stands for the default.
    pub is_nullable: Option<bool>,
    pub location: Location,
}

impl Names {
    /// Reads the files of a module, override files last. What cannot be read is reported elsewhere.
    pub(super) fn read(files: &[Arc<SourceFile>]) -> Self {
        let mut names = Self::default();
        for file in files {
            // The file was read before.
            let _ = syntax::read(file, |items| names.add(file, items));
        }
        names
    }

    fn add(&mut self, file: &Arc<SourceFile>, items: &Items<'_>) {
        for block in items.blocks("variable", &["name"]).unwrap_or_default() {
            if let Some((name, variable)) = variable(file, &block) {
                let known = self.variables.remove(&name);
                self.variables.insert(name, variable.over(known));
            }
        }
        for block in items.blocks("locals", &[]).unwrap_or_default() {
            let arguments = block.body.items().map(|items| items.arguments()).unwrap_or_default();
            self.locals.extend(arguments.into_iter().map(|(name, value)| (name.text, value.deferred(file))));
        }
    }
}

impl Variable {
    /// The variable of an override file over another one.
    fn over(self, known: Option<Self>) -> Self {
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

fn variable(file: &Arc<SourceFile>, block: &Block<'_>) -> Option<(String, Variable)> {
    let items = block.body.items().ok()?;
    let label = block.labels.first()?;
    let flag = |name: &str| match items.argument(name)?.constant() {
        Ok(Value::Bool(value)) => Some(value),
        _ => None,
    };
    let variable = Variable {
        default: items.argument("default").map(|value| value.deferred(file)),
        is_const: flag("const") == Some(true),
        is_sensitive: flag("sensitive") == Some(true) || flag("ephemeral") == Some(true),
        kind: items.argument("type").map(|kind| kind.deferred(file)),
        is_nullable: flag("nullable"),
        location: Location::new(file, label.span.clone()),
    };
    Some((label.text.clone(), variable))
}
