//! `templatefile`: a template in a file (OpenTofu's `internal/lang/funcs/filesystem.go`).

use std::path::Path;

use hcl_edit::template::Element;
use hcl_edit::visit::Visit as _;

use super::evaluation::Evaluation;
use crate::hcl::evaluate::expression::Evaluator;
use crate::hcl::evaluate::references::References;
use crate::hcl::evaluate::value::{Stop, Value};

/// Evaluates a template whose variables are the members of an object. Functions that read files are
/// unknown in it.
pub(super) fn render(
    evaluation: &Evaluation,
    path: &Path,
    variables: &Value,
) -> Result<Value, Stop> {
    let file = evaluation.read_file(path)?;
    let members = variables.known_except_items()?.as_object()?;
    let Ok(template) = hcl_edit::parser::parse_template(&file.text) else {
        return Err(Stop::unknown("the template is not read"));
    };
    // A template of one interpolation returns the value itself, which need not be a string.
    if file.text.starts_with('\u{feff}')
        || matches!(
            template.as_single_element(),
            Some(Element::Interpolation(_))
        )
    {
        return Err(Stop::unknown("a template of this form is not evaluated"));
    }
    let mut references = References::default();
    for element in &template {
        references.visit_element(element);
    }
    for (name, _) in &references.names {
        if !members.contains_key(name) && !references.bound.contains(name) {
            return Err(Stop::failure(
                "the template refers to a variable that it is not given",
            ));
        }
    }
    if !members
        .keys()
        .all(|name| hcl_edit::Ident::try_new(name).is_ok())
    {
        return Err(Stop::unknown(
            "the names of variables of a template are not all names",
        ));
    }
    Evaluator::new(&evaluation.allowance, members).render(&template)
}
