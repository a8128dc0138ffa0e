//! Values that must not be part of a request: an unapproved pull request could put them into the address of a module,
//! and so send secrets of CI, from its environment or beside the configuration, to another host.

use std::cell::RefCell;

use crate::hcl::evaluate::value::Unknown;

/// Why the value that is being evaluated must not be part of a request; the first of the reasons.
#[derive(Debug, Default)]
pub(super) struct Withheld(RefCell<Option<Unknown>>);

impl Withheld {
    pub(super) fn add(&self, reason: impl FnOnce() -> Unknown) {
        self.0.borrow_mut().get_or_insert_with(reason);
    }

    /// Evaluates something, and returns why its value is withheld, if it is.
    pub(super) fn during<T>(&self, evaluate: impl FnOnce() -> T) -> (T, Option<Unknown>) {
        let before = self.0.take();
        let value = evaluate();
        let reason = self.0.replace(before);
        if let Some(reason) = &reason {
            self.add(|| reason.clone());
        }
        (value, reason)
    }
}
