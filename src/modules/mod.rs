//! Where the modules that a configuration calls come from
//! (<https://opentofu.org/docs/language/modules/sources/>).

mod archive;
mod cache;
mod checksum;
mod contents;
pub(crate) mod copy;
mod fetch_error;
pub(crate) mod fetched;
mod fetcher;
mod git;
mod http;
pub(crate) mod installed;
pub(crate) mod installed_copy;
mod key_file;
pub(crate) mod local;
pub(crate) mod locked;
mod package;
mod package_fetcher;
pub(crate) mod package_hash;
mod published;
pub(crate) mod registry;
mod releases;
pub mod source;
pub(crate) mod submodule;
mod unpinned;
pub(crate) mod version_tag;
mod workshop;

pub use cache::PackageCache;
pub(crate) use contents::{GIT, is_configuration};
pub(crate) use fetcher::ModuleFetcher;
pub(crate) use git::{References, Revision};
pub(crate) use releases::Releases;
pub use source::{Getter, ModuleSource, ModuleSourceError, RegistryModule, RegistrySource, RemoteSource};
pub(crate) use unpinned::Unpinned;
