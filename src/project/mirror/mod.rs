//! Filling a mirror: a directory of packages in the packed layout (OpenTofu's
//! `internal/getproviders/filesystem_search.go`), with the documents of a network mirror beside them, as
//! `internal/command/providers_mirror.go` writes both.
//!
//! A package gets its name in the mirror only when it was authenticated and has a hash that a lock file records. One
//! that is there already is hashed, and stays if a lock file records it and it is the package of its platform, so that
//! a run which was killed goes on where it was. The documents name what was verified in this way, and nothing else.
//!
//! Repositories of OCI registries are filled by the same rules; there an index in the place of the documents makes a
//! package known, and comes last.

mod directory;
mod documents;
mod fill;
mod folder;
mod lock_files;
mod mirrored;
mod releases;
mod repositories;

pub use lock_files::MirrorOptions;
pub use mirrored::{MirrorAction, MirrorTarget, Mirrored, MirroredPackage, RemovedFile};
