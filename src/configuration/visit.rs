//! A call of a module, on the walk through the tree of modules.

use crate::diagnostic::{Code, Diagnostic, Location};
use crate::hcl::evaluate::value::Unknown;

use super::caller::Calling;
use super::locked_calls::InstalledAt;
use super::root::ModulePath;

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
