//! Planning: selecting versions, finding out which packages are needed, and recording their hashes.

pub(super) mod age;
pub(super) mod candidate;
pub(super) mod kept_platforms;
pub(super) mod moves;
pub(super) mod newest;
mod outcome;
mod packages;
pub(super) mod prepared;
mod record;
pub(super) mod refused_by_init;
pub(super) mod release_lookup;
mod request;
pub(super) mod rewrites;
mod select;
mod shared_entries;

pub use age::SkipReason;
pub use outcome::{LockOutcome, ProviderReport};
pub use shared_entries::UnconfirmedHashes;

pub(crate) use age::{RegistryData, SkippedVersion};
pub(crate) use outcome::record_entries;
pub(crate) use packages::{fetch_packages, plan_packages};
pub(crate) use request::{LockRequest, LockRun, Question};
pub(crate) use select::{SelectedVersions, request_known_needs, select_versions};
pub(crate) use shared_entries::SharedEntries;
