//! `templatefile`: a template in a file (OpenTofu's `internal/lang/funcs/filesystem.go`).

use std::collections::BTreeSet;
use std::path::Path;

use hcl_edit::expr::{Expression, ForExpr};
use hcl_edit::template::{Element, ForDirective};
use hcl_edit::visit::{self, Visit};

use super::evaluation::Evaluation;
use crate::hcl::evaluate::expression::Evaluator;
use crate::hcl::evaluate::value::{Outcome, Value, failure, unknown};

/// Evaluates a template whose variables are the members of an object. Functions that read files are unknown in it.
pub(super) fn render(evaluation: &Evaluation, path: &Path, variables: &Value) -> Outcome {
    let file = evaluation.read(path)?;
    let members = variables.known_itself()?.as_object()?;
    let Ok(template) = hcl_edit::parser::parse_template(&file.text) else {
        return unknown("the template is not read");
    };
    if file.text.starts_with('\u{feff}') || matches!(template.as_single_element(), Some(Element::Interpolation(_))) {
        return unknown("a template of this form is not evaluated");
    }
    let mut names = Names::default();
    template.iter().for_each(|element| names.visit_element(element));
    if names.used.iter().any(|name| !members.contains_key(name) && !names.bound.contains(name)) {
        return failure("the template refers to a variable that it is not given");
    }
    if !members.keys().all(|name| hcl_edit::Ident::try_new(name).is_ok()) {
        return unknown("the names of variables of a template are not all names");
    }
    Evaluator::new(&evaluation.allowance, members).render(&template)
}

/// The names to which a template refers, and those that its loops bind.
#[derive(Default)]
struct Names {
    used: BTreeSet<String>,
    bound: BTreeSet<String>,
}

impl Visit for Names {
    fn visit_expr(&mut self, expression: &Expression) {
        if let Expression::Variable(name) = expression {
            self.used.insert(name.to_string());
        }
        visit::visit_expr(self, expression);
    }

    fn visit_for_expr(&mut self, expression: &ForExpr) {
        let names = expression.intro.key_var.iter().chain([&expression.intro.value_var]);
        self.bound.extend(names.map(ToString::to_string));
        visit::visit_for_expr(self, expression);
    }

    fn visit_for_directive(&mut self, directive: &ForDirective) {
        let intro = &directive.for_expr;
        self.bound.extend(intro.key_var.iter().chain([&intro.value_var]).map(ToString::to_string));
        visit::visit_for_directive(self, directive);
    }
}
