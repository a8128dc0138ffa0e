//! The [dependency lock file](https://opentofu.org/docs/language/files/dependency-lock/): parsing with spans,
//! format-preserving edits, canonical text, differences and merges.
//!
//! [`parse`] gives the [`Locks`] together with the places they were read from. [`LockFile::edit`] takes the locks that
//! are wanted and gives the bytes of the file with only that changed. Types of the HCL parser stay inside this module.
//! The format is that of OpenTofu's `internal/depsfile/locks_file.go`.

mod canonical;
mod comments;
mod diff;
mod edit;
mod lock_file;
mod marker;
pub mod merge;
mod parse;
mod raw_entry;
mod recognise;
#[cfg(test)]
mod tests;

pub use canonical::{canonical_text, detect_dialect};
pub(crate) use comments::CommentLine;
pub use diff::{Direction, EntryChange, LockDiff, ProviderDiff, Step, VersionMove, diff};
pub(crate) use edit::CanonicalBlocks;
pub use lock_file::{Entry, LOCK_FILE_NAME, LockFile, LockedProvider, Locks, Parsed, SIZE_LIMIT, read};
pub use parse::parse;
