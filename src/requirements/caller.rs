//! A module whose calls are followed.

use crate::diagnostic::{Code, Diagnostic, Location};

use super::file::Call;
use super::place::Place;
use super::scope::Scope;

/// A module whose calls are followed.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub place: &'a Place,
    /// The names of the calls that lead to it; empty for the root module.
    pub key: &'a str,
    /// The call with which the way to it leaves the user's own modules; none as long as only local calls lead to it.
    pub entry: Option<&'a Location>,
    pub scope: &'a Scope<'a>,
}

impl Caller<'_> {
    pub(super) fn key_of(&self, call: &Call) -> String {
        if self.key.is_empty() { call.name.clone() } else { format!("{}.{}", self.key, call.name) }
    }

    /// An error about a call, with the place from which the user's own modules lead to it.
    pub(super) fn error(&self, code: Code, message: String, call: &Call) -> Diagnostic {
        self.located(Diagnostic::error(code, message), call)
    }

    pub(super) fn located(&self, diagnostic: Diagnostic, call: &Call) -> Diagnostic {
        let diagnostic = diagnostic.at(call.location.clone(), "called here");
        match self.entry {
            Some(entry) => diagnostic.at(entry.clone(), "from here"),
            None => diagnostic,
        }
    }
}
