//! The [dependency lock file](https://opentofu.org/docs/language/files/dependency-lock/) of
//! providers, and that of modules beside it: parsing with spans, format-preserving edits, canonical
//! text, differences and merges.
//!
//! [`parse`] gives the [`Locks`] together with the places they were read from,
//! [`ModuleLockFile::parse`] the [`ModuleLocks`]. [`LockFileOf::edit`] takes the locks that are
//! wanted and gives the bytes of the file with only that changed. Both kinds of files have one
//! parser, editor, difference and merge, which are generic over what an entry records
//! ([`EntryKind`]). Types of the HCL parser stay inside this module. The format is that of
//! OpenTofu's `internal/depsfile/locks_file.go`.

mod canonical;
mod conflicts;
mod diff;
mod edit;
mod entry_kind;
mod lfs;
mod lock_file;
mod malformed;
pub mod merge;
mod module;
mod parse;
mod provider;
mod raw_entry;
mod recognise;
mod repair;
#[cfg(test)]
mod tests;

pub use canonical::canonical_text;
pub use diff::{
    Direction, EntryChange, EntryDiff, LockDiff, ProviderDiff, Step, VersionMove, diff,
};
pub(crate) use edit::CanonicalBlock;
pub use entry_kind::{AttributeRule, EntryKind, LocksOf};
pub(crate) use lfs::{LFS_HELP, is_lfs_pointer};
pub(crate) use lock_file::{CommentLine, read_in};
pub use lock_file::{
    Entry, LockFile, LockFileOf, Locks, ModuleLockFile, ModuleLocks, Parsed, SIZE_LIMIT, read,
};
pub(crate) use malformed::malformed_hash;
pub(crate) use module::module_name;
pub use module::{LockedModule, MODULE_LOCK_FILE_NAME, UNIT_ADDRESS, is_of_modules};
pub use parse::{parse, parse_as};
pub(crate) use provider::named_providers;
pub(crate) use provider::{DRAFT_LOCK_FILE_NAME, is_copied_lock_file};
pub use provider::{LOCK_FILE_NAME, LockedProvider, detect_dialect};
pub use repair::{Repair, Repaired, repair_as};
