//! Locking and upgrading: the steps of each root module; and merging and repairing lock files.

pub(super) mod merge;
mod named_targets;
mod pipeline;
mod read_to_lock;
pub(super) mod repair;
