//! Evaluates expressions, but only those whose value is not much larger than their text: a `for` in a `for` would take
//! all memory from a line of text, and a chain of splats all of the stack.

use hcl::eval::{Context, Evaluate as _};
use hcl_edit::expr::{Expression, ForExpr, TraversalOperator};
use hcl_edit::template::ForDirective;
use hcl_edit::visit::{self, Visit};

/// The value of an expression without variables and functions, or why it has none.
pub(super) fn evaluate(expression: Expression) -> Result<hcl::Value, String> {
    let inspection = Inspection::of(&expression);
    let value = match inspection.unbounded {
        Some(what) => Err(format!("it holds {what}")),
        None => hcl::Expression::from(expression).evaluate(&Context::new()).map_err(|error| error.kind().to_string()),
    };
    value.map_err(|why| format!("only a constant may stand here: {why}"))
}

/// What an expression holds.
#[derive(Default)]
struct Inspection {
    /// What can make its value much larger or deeper than its text.
    unbounded: Option<&'static str>,
}

impl Inspection {
    fn of(expression: &Expression) -> Self {
        let mut inspection = Self::default();
        inspection.visit_expr(expression);
        inspection
    }
}

impl Visit for Inspection {
    fn visit_for_expr(&mut self, _: &ForExpr) {
        self.unbounded = Some("a for expression");
    }

    fn visit_for_directive(&mut self, _: &ForDirective) {
        self.unbounded = Some("a for directive");
    }

    fn visit_traversal_operator(&mut self, operator: &TraversalOperator) {
        match operator {
            TraversalOperator::AttrSplat(_) | TraversalOperator::FullSplat(_) => self.unbounded = Some("a splat"),
            _ => visit::visit_traversal_operator(self, operator),
        }
    }
}
