//! Origins of the values that choose modules.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::file_reads::FileReads;
use super::fingerprint::Fingerprint;
use crate::hcl::evaluate::value::Unknown;

/// Everything besides its own expression that decides on a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    /// First reason why the value must not be part of a request: an unapproved pull request could
    /// put it into the address of a module, and so send secrets of CI, from its environment or
    /// beside the configuration, to another host.
    pub(crate) withheld: Option<Unknown>,
    /// First input of the run. An input without a flag comes before one with a flag.
    pub(crate) input: Option<RunInput>,
    /// Variables of the root module.
    pub(crate) variables: BTreeSet<String>,
    /// Identity of the expression, and of the locals, variables and arguments of calls that it
    /// refers to.
    pub(crate) fingerprint: Fingerprint,
    /// Files that functions in these expressions may read.
    pub(crate) files: FileReads,
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
        self.variables.extend(other.variables);
        self.fingerprint.add(other.fingerprint);
        self.files.add(other.files);
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

    pub(super) fn add_input(&self, input: RunInput) {
        self.add(Origin {
            input: Some(input),
            ..Origin::default()
        });
    }

    /// Adds a variable of the root module.
    pub(super) fn add_variable(&self, name: &str) {
        self.0.borrow_mut().variables.insert(name.to_owned());
    }

    /// Adds something that decides on the value ([`Fingerprint::mix`]).
    pub(super) fn mix(&self, kind: &str, text: &str) {
        self.0.borrow_mut().fingerprint.mix(kind, text);
    }

    /// Adds files that functions may read.
    pub(super) fn add_files(&self, files: FileReads) {
        self.0.borrow_mut().files.add(files);
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
