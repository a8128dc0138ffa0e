//! Filling a mirror: a directory of packages in the packed layout (OpenTofu's
//! `internal/getproviders/filesystem_search.go`), with the documents of a network mirror beside
//! them, as `internal/command/providers_mirror.go` writes both.
//!
//! A package gets its name in the mirror only after it was authenticated and a lock file was found
//! to record one of its hashes. An existing package is hashed, and stays if a lock file records it
//! and it belongs to its platform, so that the next run continues after a killed one. The documents
//! list only packages that were verified in this way.
//!
//! Repositories of OCI registries are filled by the same rules. There an index replaces the
//! documents; it makes a package visible, and is written last. A mirror of modules is a directory
//! with an index, too.

mod directory;
mod documents;
mod fill;
mod folder;
mod lock_files;
mod mirrored;
mod modules;
mod releases;
mod repositories;

pub use lock_files::MirrorOptions;
pub use mirrored::{MirrorAction, MirrorTarget, Mirrored, MirroredPackage, RemovedFile};
pub use modules::{MirrorModulesOptions, MirroredModule, MirroredModules};
