//! Version constraints rewritten, so that they allow a version: only the version inside the string
//! changes.

use crate::diagnostic::{Code, Diagnostic, Location};
use crate::provider::{Constraint, ConstraintList, Operator, Version};

pub(crate) use super::edits::editable_string;
pub use super::edits::{ConstraintEdit, files};
use super::requirement::{Declaration, DeclarationKind, Requirement};

/// A requirement that allows a version, and the edits that make it so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// The requirement after the edits, with the locations before them.
    pub requirement: Requirement,
    /// At least one.
    pub edits: Vec<ConstraintEdit>,
}

/// Rewrites the constraints of a requirement that do not allow `version`.
///
/// # Errors
/// A warning that names the first constraint that cannot be rewritten: because its module is not
/// the user's own, because it is not a plain string, or because no version with as many numbers
/// allows this one.
pub fn allow(requirement: &Requirement, version: &Version) -> Result<Rewrite, Box<Diagnostic>> {
    let mut edits = Vec::new();
    let mut declarations = requirement.declarations.clone();
    for declaration in &mut declarations {
        // Without a constraint, it allows every version.
        let Some(written) = &declaration.version else {
            continue;
        };
        // Whether a prerelease is allowed is decided for all constraints together, at the end.
        let terms = declaration.constraints.terms();
        if terms.iter().all(|term| term.is_met_by(version)) {
            continue;
        }
        let edit = edit_to_allow(declaration, written, version)
            .map_err(|why| refusal(declaration, written, version, why))?;
        let constraints = edit
            .new
            .parse()
            .map_err(|_| refusal(declaration, written, version, "it cannot be read"))?;
        declaration.constraints = constraints;
        edits.push(edit);
    }
    let constraints = ConstraintList::merge(
        declarations
            .iter()
            .map(|declaration| &declaration.constraints),
    );
    // A prerelease is only allowed by an exact constraint, and no other operator becomes one.
    if !constraints.allows(version) {
        let message = format!(
            "no constraint can be rewritten to allow {version}, which must be named exactly"
        );
        return Err(Box::new(Diagnostic::warning(
            Code::VersionOutsideConstraints,
            message,
        )));
    }
    Ok(Rewrite {
        requirement: Requirement {
            constraints,
            declarations,
            is_certain: requirement.is_certain,
        },
        edits,
    })
}

/// The edit of a declaration's constraint that makes it allow `version`, or why there is none.
fn edit_to_allow(
    declaration: &Declaration,
    written: &Location,
    version: &Version,
) -> Result<ConstraintEdit, &'static str> {
    let location = editable(declaration, written)?;
    let text = &location.file.text[location.span.clone()];
    let Some(new) = list_allowing(text, version) else {
        return Err("only its version may change, not its form");
    };
    Ok(ConstraintEdit { location, new })
}

fn refusal(
    declaration: &Declaration,
    written: &Location,
    version: &Version,
    why: &str,
) -> Box<Diagnostic> {
    let message = format!(
        "the constraint {} cannot be made to allow {version}: {why}",
        declaration.constraints
    );
    let warning = Diagnostic::warning(Code::VersionOutsideConstraints, message);
    Box::new(warning.at_location(written.clone()))
}

/// The text between the quotes of a constraint that may be edited, or why it may not be.
fn editable(declaration: &Declaration, written: &Location) -> Result<Location, &'static str> {
    if matches!(
        declaration.kind,
        DeclarationKind::Recorded | DeclarationKind::State
    ) {
        return Err("it is recorded in the lock file, and the module that requires it is unknown");
    }
    if !declaration.local {
        return Err("its module is not in this project");
    }
    editable_string(written)
}

/// The same constraint list, with other versions where a term does not allow `version`. Operators,
/// the number of parts and white space stay. `None` if that is impossible.
pub(crate) fn list_allowing(text: &str, version: &Version) -> Option<String> {
    let terms: Option<Vec<String>> = text
        .split(',')
        .map(|term| term_allowing(term, version))
        .collect();
    terms.map(|terms| terms.join(","))
}

/// Changes the version in a term such as `~> 1.2` so that it allows a version. A term that allows
/// it stays as it is; `None` if no version in the term would.
fn term_allowing(term: &str, version: &Version) -> Option<String> {
    let written: ConstraintList = term.parse().ok()?;
    // White space between commas is no term.
    let Some(constraint) = written.terms().first() else {
        return Some(term.to_owned());
    };
    if constraint.is_met_by(version) {
        return Some(term.to_owned());
    }
    let start = term.find(|c: char| c.is_ascii_digit())?;
    let end = term.trim_end().len();
    let numbers = term[start..end].split(['-', '+']).next()?;
    let replacement = boundary_for_version(constraint, numbers.split('.').count(), version)?;
    let new = format!("{}{replacement}{}", &term[..start], &term[end..]);

    // With fewer numbers than the version has, the new term may still not allow it.
    let rewritten: ConstraintList = new.parse().ok()?;
    if !rewritten.terms().first()?.is_met_by(version) {
        return None;
    }
    Some(new)
}

/// The boundary, in so many parts, with which a term that does not allow `version` yet allows it.
/// `None` if no boundary does, and for lower limits and exclusions, with which the user excludes
/// the version on purpose.
///
/// In `<`, the last number that is not zero stays the last one: `< 6.0.0` becomes `< 7.0.0`.
fn boundary_for_version(
    constraint: &Constraint,
    parts: usize,
    version: &Version,
) -> Option<String> {
    let numbers = [version.major, version.minor, version.patch];
    let shown = parts.min(3);
    match constraint.operator {
        Operator::Exact if parts == 3 => Some(version.to_string()),
        Operator::Exact | Operator::PessimisticPatch | Operator::PessimisticMinor => {
            Some(joined(&numbers[..shown]))
        }
        Operator::LessOrEqual if numbers[shown..].iter().all(|number| *number == 0) => {
            Some(joined(&numbers[..shown]))
        }
        Operator::LessOrEqual => {
            let limit = next(numbers, parts.checked_sub(1)?);
            Some(joined(&limit[..shown]))
        }
        Operator::Less => {
            let old = [
                constraint.boundary.major,
                constraint.boundary.minor,
                constraint.boundary.patch,
            ];
            let last = old.iter().rposition(|number| *number != 0).unwrap_or(0);
            Some(joined(&next(numbers, last)[..shown]))
        }
        Operator::Greater
        | Operator::GreaterOrEqual
        | Operator::PessimisticMajor
        | Operator::NotEqual => None,
    }
}

/// The first version above `numbers` whose numbers after `index` are zero.
fn next(numbers: [u64; 3], index: usize) -> [u64; 3] {
    let mut next = [0; 3];
    next[..=index].copy_from_slice(&numbers[..=index]);
    next[index] = next[index].saturating_add(1);
    next
}

fn joined(numbers: &[u64]) -> String {
    let texts: Vec<_> = numbers.iter().map(u64::to_string).collect();
    texts.join(".")
}
