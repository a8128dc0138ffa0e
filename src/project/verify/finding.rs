//! A finding with a location.

use crate::diagnostic::{Code, Diagnostic, Location};

pub(super) fn finding(code: Code, message: String, location: &Location, label: &str) -> Diagnostic {
    Diagnostic::finding(code, message).at(location.clone(), label)
}
