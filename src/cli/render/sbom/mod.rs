//! Bills of materials, in three formats.
//!
//! A document depends on what is locked and on the keys that the cache knows, so the same lock files give the same
//! document on a machine: its number is made from its content, and its time is that of `SOURCE_DATE_EPOCH`.

mod bill;
pub(crate) mod cyclonedx;
mod package;
mod purl;
pub(crate) mod snapshot;
pub(crate) mod spdx;

pub(crate) use bill::Bill;
