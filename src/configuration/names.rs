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
    /// Whether a value that is given as text is the text itself, and no expression.
    pub is_text: bool,
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
        Self { default: self.default.or(known.default), is_const: self.is_const || known.is_const, ..known }
    }
}

fn variable(file: &Arc<SourceFile>, block: &Block<'_>) -> Option<(String, Variable)> {
    let items = block.body.items().ok()?;
    let label = block.labels.first()?;
    let kind = items.argument("type").map(|kind| kind.written().trim_matches('"').to_owned());
    let variable = Variable {
        default: items.argument("default").map(|value| value.deferred(file)),
        is_const: items
            .argument("const")
            .is_some_and(|value| value.constant().is_ok_and(|value| value == Value::Bool(true))),
        is_text: matches!(kind.as_deref(), None | Some("string" | "number" | "bool" | "any")),
        location: Location::new(file, label.span.clone()),
    };
    Some((label.text.clone(), variable))
}
