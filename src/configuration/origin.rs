//! Origins of the values that choose modules.

use std::cell::RefCell;

use crate::diagnostic::Location;
use crate::hcl::evaluate::value::Unknown;

use super::terragrunt::is_generated;

/// Maximum number of causes of an origin.
const MOST_CAUSES: usize = 32;

/// Everything besides its own expression that decides on a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// First reason why the value must not be part of a request: an unapproved pull request could
    /// put it into the address of a module, and so send secrets of CI, from its environment or
    /// beside the configuration, to another host.
    pub(crate) withheld: Option<Unknown>,
    /// First input of the run. An input without a flag comes before one with a flag.
    pub(crate) input: Option<RunInput>,
    /// Values of locals, variables and arguments of calls.
    pub(crate) causes: Vec<Cause>,
    /// Whether there are more causes than can be stored.
    pub(crate) has_more: bool,
    /// Whether a cause is in a file that Terragrunt generates.
    pub(crate) is_generated: bool,
}

/// Something in a configuration that decides on a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cause {
    pub(crate) location: Location,
    /// The argument that the call at the location lacks, so that the default of a variable counts.
    pub(crate) lacking: Option<String>,
}

/// A value that another run of the same files may have otherwise: of a variable of the root module,
/// or the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunInput {
    /// A noun phrase, such as `the variable "region"`.
    pub(crate) name: String,
    /// Whether a flag of this run sets it.
    pub(crate) is_flag: bool,
}

impl Origin {
    pub(crate) fn add(&mut self, other: Self) {
        self.withheld = self.withheld.take().or(other.withheld);
        let is_certain = self
            .input
            .as_ref()
            .is_some_and(|input| !input.is_flag || other.input.is_none());
        if !is_certain {
            self.input = other.input.or(self.input.take());
        }
        self.has_more |= other.has_more;
        self.is_generated |= other.is_generated;
        for cause in other.causes {
            self.add_cause(cause);
        }
    }

    fn add_cause(&mut self, cause: Cause) {
        self.is_generated |= is_generated(&cause.location);
        if self.causes.contains(&cause) {
            return;
        }
        self.has_more |= self.causes.len() == MOST_CAUSES;
        if !self.has_more {
            self.causes.push(cause);
        }
    }
}

/// Collects the origin of the value that is being evaluated.
#[derive(Debug, Default)]
pub(super) struct OriginTracker(RefCell<Origin>);

impl OriginTracker {
    pub(super) fn add(&self, origin: Origin) {
        self.0.borrow_mut().add(origin);
    }

    pub(super) fn withhold(&self, reason: Unknown) {
        self.add(Origin {
            withheld: Some(reason),
            ..Origin::default()
        });
    }

    pub(super) fn add_input(&self, name: String, is_flag: bool) {
        self.add(Origin {
            input: Some(RunInput { name, is_flag }),
            ..Origin::default()
        });
    }

    pub(super) fn add_location(&self, location: &Location) {
        self.0.borrow_mut().add_cause(Cause {
            location: location.clone(),
            lacking: None,
        });
    }

    /// Notes that a call lacks an argument.
    pub(super) fn add_lacking(&self, call: &Location, argument: &str) {
        self.0.borrow_mut().add_cause(Cause {
            location: call.clone(),
            lacking: Some(argument.to_owned()),
        });
    }

    /// Evaluates something, and returns the origin of its value.
    pub(super) fn during<T>(&self, evaluate: impl FnOnce() -> T) -> (T, Origin) {
        let before = self.0.take();
        let value = evaluate();
        let origin = self.0.replace(before);
        self.add(origin.clone());
        (value, origin)
    }
}
