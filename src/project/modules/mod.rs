//! Modules that root modules call: choosing their versions, locking, installing and pinning them.

pub(super) mod get;
pub(super) mod module_candidates;
pub(super) mod module_choices;
mod module_edit;
pub(super) mod module_locks;
pub(super) mod pin;
