//! Evaluates expressions, but only those whose value is not much larger than their text: a `for` in a `for` would take
//! all memory from a line of text, and a chain of splats all of the stack.

use hcl::eval::{Context, Evaluate as _};
use hcl_edit::expr::{Expression, ForExpr, Traversal, TraversalOperator};
use hcl_edit::template::ForDirective;
use hcl_edit::visit::{self, Visit};

/// The most references to variables in an expression that is evaluated; each copies the values of all its variables.
const MAX_REFERENCES: usize = 16;

/// The value of an expression without variables and functions, or why it has none.
pub(super) fn evaluate(expression: Expression) -> Result<hcl::Value, String> {
    let inspection = Inspection::of(&expression);
    let value = match inspection.unbounded {
        Some(what) => Err(format!("it holds {what}")),
        None => hcl::Expression::from(expression).evaluate(&Context::new()).map_err(|error| error.kind().to_string()),
    };
    value.map_err(|why| format!("only a constant may stand here: {why}"))
}

/// An expression that is evaluated when the values of variables are known.
#[derive(Clone, Debug)]
pub(super) struct Deferred {
    expression: hcl::Expression,
    /// The variables that it refers to.
    variables: Vec<String>,
}

impl Deferred {
    /// None for an expression that is not evaluated whatever the variables are.
    pub(super) fn new(expression: Expression) -> Option<Self> {
        let Inspection { unbounded, references, variables } = Inspection::of(&expression);
        let is_bounded = unbounded.is_none() && references <= MAX_REFERENCES;
        is_bounded.then(|| Self { expression: expression.into(), variables })
    }

    /// The value when the variables have these values; none if it depends on more.
    pub(super) fn evaluate<'a>(&self, variable: impl Fn(&str) -> Option<&'a hcl::Value>) -> Option<hcl::Value> {
        let value = |name: &String| Some((name.clone(), variable(name)?.clone()));
        let mut context = Context::new();
        context.declare_var("var", self.variables.iter().filter_map(value).collect::<hcl::Value>());
        self.expression.evaluate(&context).ok()
    }
}

/// What an expression holds.
#[derive(Default)]
struct Inspection {
    /// What can make its value much larger or deeper than its text.
    unbounded: Option<&'static str>,
    /// How many variables of any kind it refers to.
    references: usize,
    /// The names after `var`.
    variables: Vec<String>,
}

impl Inspection {
    fn of(expression: &Expression) -> Self {
        let mut inspection = Self::default();
        inspection.visit_expr(expression);
        inspection
    }
}

impl Visit for Inspection {
    fn visit_expr(&mut self, expression: &Expression) {
        if matches!(expression, Expression::Variable(_)) {
            self.references += 1;
        }
        visit::visit_expr(self, expression);
    }

    fn visit_for_expr(&mut self, _: &ForExpr) {
        self.unbounded = Some("a for expression");
    }

    fn visit_for_directive(&mut self, _: &ForDirective) {
        self.unbounded = Some("a for directive");
    }

    fn visit_traversal(&mut self, traversal: &Traversal) {
        let is_var = matches!(&traversal.expr, Expression::Variable(name) if name.as_str() == "var");
        match traversal.operators.first().map(hcl_edit::Decorated::value) {
            Some(TraversalOperator::GetAttr(name)) if is_var => self.variables.push(name.to_string()),
            Some(TraversalOperator::Index(Expression::String(name))) if is_var => self.variables.push(name.to_string()),
            _ => {}
        }
        visit::visit_traversal(self, traversal);
    }

    fn visit_traversal_operator(&mut self, operator: &TraversalOperator) {
        match operator {
            TraversalOperator::AttrSplat(_) | TraversalOperator::FullSplat(_) => self.unbounded = Some("a splat"),
            _ => visit::visit_traversal_operator(self, operator),
        }
    }
}
