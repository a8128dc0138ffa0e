//! Root modules with all of their files, and the operations on one or many of them: the entry point
//! of the library.
//!
//! A [`Session`] contains the shared state of a run. It finds root modules ([`Session::roots`]),
//! and locks, verifies, upgrades and mirrors them, and installs or pins their modules. Requests
//! that several of them need are sent once, and a root module that fails does not stop the others.

mod bill_of_materials;
mod changed_lines;
mod coverage;
mod covers;
mod dialect_detection;
mod discover;
mod event;
mod filter;
mod get;
mod inventory;
mod linked_lock_files;
mod locked_calls;
mod merge;
pub mod mirror;
mod module_candidates;
mod module_choices;
mod module_edit;
mod module_locks;
mod moves;
mod named_targets;
mod open;
mod options;
mod pin;
mod pipeline;
pub mod plan;
mod prepared;
mod read_to_lock;
mod refused_by_init;
mod repair;
mod reviewed_change;
mod rewrites;
mod root_module;
mod roots;
mod searched_repository;
mod selection;
mod session;
mod shared_lock_files;
mod similar_names;
mod unit;
pub mod verify;

use std::path::{Path, PathBuf};

pub use bill_of_materials::{Material, Materials, Requiring};
pub use coverage::{Coverage, DirectoryKind, RootStatus};
pub use event::{Event, LockedRootModule, Observer, Report, RootOutcome};
pub use get::{GetOptions, InstalledModules};
pub use inventory::{Inventory, LockedVersions};
pub use merge::Resolved;
pub use mirror::{MirrorOptions, MirrorTarget};
pub use moves::{HoldingConstraint, Move, Subject, UpgradePlan, VersionLabel};
pub use options::{LockOptions, UpgradeOptions};
pub use pin::{PinOptions, PinnedModules};
pub use prepared::Prepared;
pub use repair::RepairedRoot;
pub use reviewed_change::ReviewedChange;
pub use root_module::{DialectReason, RootModule};
pub use roots::{OtherDirectories, Roots, Selection};
pub use session::{ModuleFetching, Session, SessionOptions};
pub use verify::{
    OnlineOptions, SettingsEdit, Suppressed, Tracked, VerifiedRoot, VerifyOptions, VersionControl,
    what_changed,
};

/// `root/path`, without a leading `./`.
fn join(root: &Path, path: &Path) -> PathBuf {
    if root == Path::new(".") {
        path.to_owned()
    } else {
        root.join(path)
    }
}
