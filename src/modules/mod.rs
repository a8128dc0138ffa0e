//! The packages of called modules: sources, fetching, the cache, and installed copies
//! (<https://opentofu.org/docs/language/modules/sources/>).

mod archive;
mod archive_parameters;
mod cache;
mod checksum;
pub(crate) mod copy;
mod fetch_error;
mod fetch_locked;
mod fetch_mirrored;
mod fetch_package;
pub(crate) mod fetched;
mod fetcher;
mod git;
mod git_queries;
mod http;
pub(crate) mod installed;
pub(crate) mod installed_copy;
mod key_file;
mod limits;
pub(crate) mod local;
pub(crate) mod locked;
pub(crate) mod mirror;
mod oci_queries;
mod origin;
mod package;
pub(crate) mod package_hash;
pub(crate) mod package_store;
mod package_writer;
mod published;
pub(crate) mod registry;
mod releases;
pub(crate) mod requested_hosts;
pub mod source;
pub(crate) mod submodule;
mod unpinned;
pub(crate) mod version_tag;

pub(crate) use fetcher::ModuleFetcher;
pub(crate) use git::{References, Revision};
pub(crate) use limits::{GIT, is_configuration};
pub use locked::{commit_of, digest_of};
pub(crate) use origin::origin;
pub(crate) use releases::Releases;
pub use source::{
    Getter, ModuleSource, ModuleSourceError, RegistryModule, RegistrySource, RemoteSource,
};
pub(crate) use unpinned::Unpinned;
