//! The callers of modules, their calls, and what is read of them.

use std::path::Path;

use crate::diagnostic::{Code, Diagnostic, Location};
use crate::hcl::evaluate::value::Unknown;
use crate::system::boundary;

use super::file::Call;
use super::locked_calls::InstalledAt;
use super::requirement::CalledModule;
use super::root::ModulePath;
use super::scope::Scope;

/// A module whose calls are followed.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub place: &'a ModulePath,
    /// The names of the calls that lead to it; empty for the root module.
    pub key: &'a str,
    /// The first call on the way to it that is not local; `None` for the user's own modules.
    pub entry: Option<&'a Location>,
    /// The index of its call in the tree; `None` for the root module.
    pub node: Option<usize>,
    pub scope: &'a Scope<'a>,
    /// Where it is, or would be, installed.
    pub at: &'a InstalledAt,
}

/// A call that is followed.
#[derive(Clone, Copy)]
pub(super) struct Calling<'a> {
    pub caller: &'a Caller<'a>,
    pub call: &'a Call,
    /// The names of the calls that lead to the module.
    pub key: &'a str,
}

impl Caller<'_> {
    pub(super) fn key_of(&self, call: &Call) -> String {
        if self.key.is_empty() { call.name.clone() } else { format!("{}.{}", self.key, call.name) }
    }

    pub(super) fn address_of(&self, call: &Call, tree: &[CalledModule]) -> String {
        let own = self.node.and_then(|node| tree.get(node)).map_or(self.key, |called| &called.address);
        let separator = if own.is_empty() { "" } else { "." };
        format!("{own}{separator}module.{}", call.name)
    }

    /// The call from which the user's own modules lead to it.
    pub(super) fn entered(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.at_each(self.entry, "called from here")
    }
}

impl Calling<'_> {
    /// An error about the call, with the place from which the user's own modules lead to it.
    pub(super) fn error(&self, code: Code, message: String) -> Diagnostic {
        self.located(Diagnostic::error(code, message))
    }

    /// The error for a called module outside of the repository.
    pub(super) fn outside(&self, place: &Path) -> Diagnostic {
        let message =
            format!("module \"{}\" is in {}, out of the repository, so it was not read", self.key, place.display());
        self.error(Code::OutsideRepository, message).help(boundary::help())
    }

    pub(super) fn located(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.at(self.call.location.clone(), "called here").at_each(self.caller.entry, "from here")
    }
}

/// A call of a module that is to be read.
pub(super) struct Visit<'a> {
    pub(super) place: ModulePath,
    pub(super) calling: Calling<'a>,
    /// The call with which the way to it leaves the user's own modules.
    pub(super) entry: Option<&'a Location>,
    /// The source, if it is a local one.
    pub(super) path: Option<&'a str>,
    /// Why nothing that it calls may be requested, if that is so.
    pub(super) withheld: Option<Unknown>,
    /// Where it is, or would be, installed.
    pub(super) at: InstalledAt,
}

impl Visit<'_> {
    pub(super) fn error(&self, what: &str) -> Diagnostic {
        let message = format!("module \"{}\" is in {}, {what}", self.calling.key, self.place.shown().display());
        self.calling.error(Code::InvalidConfiguration, message)
    }
}

/// What a module's calls lead to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The same modules, whoever calls the module.
    Same,
    /// Perhaps other modules for another caller: a module is installed once for each path of calls, and a source may
    /// depend on the variables that the caller sets.
    ByCaller,
}
