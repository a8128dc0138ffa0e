//! Edits of a module call, so that it asks for another version, tag or commit.

use super::written_source::WrittenSource;
use crate::configuration::ModuleCall;
use crate::configuration::rewrite::{self, ConstraintEdit};
use crate::lockfile::LockedModule;
use crate::modules::{ModuleSource, locked, registry};
use crate::provider::{ConstraintList, Dialect, Version};

/// The module that a call asks for, after any edit.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    pub(super) source: ModuleSource,
    pub(super) constraints: ConstraintList,
    /// Version that was chosen for a registry module.
    pub(super) version: Option<Version>,
    /// `true` if the source leads to another package than the locked one, which is to be replaced.
    pub(super) is_other_package: bool,
}

/// An edit of a call, and the module that the call asks for afterwards.
#[derive(Clone, Debug)]
pub(super) struct EditedCall {
    pub(super) edit: ConstraintEdit,
    pub(super) wanted: Wanted,
}

/// The edited call, or why the call cannot be edited.
pub(super) type Edited = Result<EditedCall, &'static str>;

impl Wanted {
    /// The module that a call asks for as it is written.
    pub(super) fn as_written(call: &ModuleCall) -> Self {
        let (source, constraints) = (call.source.clone(), call.constraints.clone());
        Self { source, constraints, version: None, is_other_package: false }
    }

    /// Whether the entry of a lock file is for this.
    pub(super) fn is_locked(&self, known: &LockedModule) -> bool {
        let is_version = self.version.is_none() || self.version == known.version;
        is_version && !self.is_other_package && locked::is_allowed(known, &self.source, &self.constraints)
    }
}

/// Rewrites the constraints of a call, which must allow a version then.
pub(super) fn constraints(call: &ModuleCall, version: &Version, new: impl FnOnce(&str) -> Option<String>) -> Edited {
    const FORM: &str = "only its version may change, not its form";
    is_own(call)?;
    let location = rewrite::plain(call.version.as_ref().ok_or("the call has none")?)?;
    let new = new(&location.file.text[location.span.clone()]).ok_or(FORM)?;
    let constraints = ConstraintList::parse_for_module(&new).map_err(|_| "it cannot be read")?;
    if !registry::allows(&constraints, version) {
        return Err(FORM);
    }
    Ok(EditedCall {
        edit: ConstraintEdit { location, new },
        wanted: Wanted { constraints, ..Wanted::as_written(call) },
    })
}

/// Rewrites the `ref` of a call: to a name, or to a commit with the name that leads to it.
pub(super) fn reference(call: &ModuleCall, dialect: Dialect, reference: &str, name: Option<&str>) -> Edited {
    let rewritten = written(call)?.with(reference, name);
    let source = ModuleSource::parse(&rewritten.text, dialect).map_err(|_| "it cannot be read")?;
    Ok(EditedCall { edit: rewritten.edit, wanted: Wanted { source, ..Wanted::as_written(call) } })
}

/// The source as it is written, if it may be edited.
pub(super) fn written(call: &ModuleCall) -> Result<WrittenSource, &'static str> {
    is_own(call)?;
    WrittenSource::read(&call.location)
}

fn is_own(call: &ModuleCall) -> Result<(), &'static str> {
    if call.entry.is_none() { Ok(()) } else { Err("its module is not part of this project") }
}
