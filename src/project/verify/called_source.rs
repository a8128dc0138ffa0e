//! Sources of module calls, which are compared as they are written and shown without their secrets.

use std::fmt;

use crate::configuration::ModuleCall;
use crate::modules::ModuleSource;
use crate::provider::ConstraintList;

/// Source and constraints of a module call. Logins and all parameters of a query count: the module
/// may be at any of them.
#[derive(PartialEq, Eq, Hash)]
pub(super) struct CalledSource {
    source: ModuleSource,
    constraints: ConstraintList,
}

impl CalledSource {
    pub(super) fn of(call: &ModuleCall) -> Self {
        Self {
            source: call.source.clone(),
            constraints: call.constraints.clone(),
        }
    }

    /// The change from a different source for a message: `old → new`, or that they differ in what
    /// may be a secret.
    pub(super) fn change_from(&self, old: &Self) -> String {
        let before = old.to_string();
        let now = self.to_string();
        if before == now {
            return format!("{now} differs from the base in a part that may be a secret");
        }
        format!("{before} → {now}")
    }
}

/// Shows source and constraints without secrets.
impl fmt::Display for CalledSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)?;
        if self.constraints.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", self.constraints)
    }
}
