//! Names that an expression refers to.

use std::collections::BTreeSet;

use hcl_edit::Decorated;
use hcl_edit::expr::{Expression, ForIntro, Traversal, TraversalOperator};
use hcl_edit::template::ForTemplateExpr;
use hcl_edit::visit::{self, Visit};

/// References of an expression, such as `local.region`: the first two names of each. The second
/// name is empty for a reference with one name.
#[derive(Debug, Default)]
pub(crate) struct References {
    pub names: Vec<(String, String)>,
    /// Variables of loops.
    pub bound: BTreeSet<String>,
}

impl References {
    pub(crate) fn of(expression: &Expression) -> Self {
        let mut references = Self::default();
        references.visit_expr(expression);
        references
    }
}

/// Whether the value of an expression depends on names, such as locals. A text that is no
/// expression may depend on anything.
pub(crate) fn depends_on_names(text: &str) -> bool {
    match text.parse::<Expression>() {
        Ok(expression) => !References::of(&expression).names.is_empty(),
        Err(_) => true,
    }
}

impl Visit for References {
    fn visit_expr(&mut self, expression: &Expression) {
        if let Expression::Variable(root) = expression {
            self.names.push((root.to_string(), String::new()));
        }
        visit::visit_expr(self, expression);
    }

    fn visit_for_intro(&mut self, intro: &ForIntro) {
        self.bound.extend(
            intro
                .key_var
                .iter()
                .chain([&intro.value_var])
                .map(ToString::to_string),
        );
        visit::visit_for_intro(self, intro);
    }

    fn visit_for_template_expr(&mut self, intro: &ForTemplateExpr) {
        self.bound.extend(
            intro
                .key_var
                .iter()
                .chain([&intro.value_var])
                .map(ToString::to_string),
        );
        visit::visit_for_template_expr(self, intro);
    }

    fn visit_traversal(&mut self, traversal: &Traversal) {
        let name = match traversal.operators.first().map(Decorated::value) {
            Some(TraversalOperator::GetAttr(name)) => Some(name.to_string()),
            Some(TraversalOperator::Index(Expression::String(name))) => Some(name.to_string()),
            _ => None,
        };
        match (&traversal.expr, name) {
            (Expression::Variable(root), Some(name)) => {
                self.names.push((root.to_string(), name));
                for operator in &traversal.operators {
                    self.visit_traversal_operator(operator);
                }
            }
            _ => visit::visit_traversal(self, traversal),
        }
    }
}
