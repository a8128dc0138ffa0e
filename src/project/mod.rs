//! Root modules with all of their files, and the operations on one or many of them: the entry point
//! of the library.
//!
//! A [`Session`] contains the shared state of a run. It finds root modules ([`Session::roots`]),
//! and locks, verifies, upgrades and mirrors them, and installs or pins their modules. Requests
//! that several of them need are sent once, and a root module that fails does not stop the others.

mod altered_paths;
mod changed_lines;
mod changed_sources;
mod coverage;
mod event;
mod filter;
mod inventory;
mod locking;
pub mod mirror;
mod modules;
mod options;
pub mod plan;
mod reviewed_change;
mod root_module;
mod selection;
mod session;
mod similar_names;
pub mod verify;

use std::path::{Path, PathBuf};

pub use coverage::{Coverage, DirectoryKind, RootStatus};
pub use event::{Event, LockedRootModule, Observer, Report, RootOutcome};
pub use inventory::bill_of_materials::{Material, Materials};
pub use inventory::{Inventory, LockedVersions};
pub use locking::merge::{InConflict, Resolved};
pub use locking::repair::RepairedRoot;
pub use mirror::{MirrorModulesOptions, MirrorOptions, MirrorTarget};
pub use modules::get::{GetOptions, InstalledModules};
pub use modules::pin::{PinOptions, PinnedModules};
pub use options::{LockOptions, UpgradeOptions};
pub use plan::moves::{HoldingConstraint, Move, Subject, UpgradePlan, VersionLabel};
pub use plan::prepared::Prepared;
pub use reviewed_change::ReviewedChange;
pub use root_module::roots::{OtherDirectories, Roots, Selection};
pub use root_module::{DialectReason, RootModule};
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
