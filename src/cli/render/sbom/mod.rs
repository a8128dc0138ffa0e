//! Bills of materials, in three formats.
//!
//! A document depends on the lock files and on the keys in the cache, so the same lock files give
//! the same document on a machine: its serial number is computed from its content, and its time is
//! `SOURCE_DATE_EPOCH`.

mod bill;
pub(crate) mod cyclonedx;
mod package;
mod purl;
pub(crate) mod snapshot;
pub(crate) mod spdx;

pub(crate) use bill::Bill;
