//! Where the modules that a configuration calls come from
//! (<https://opentofu.org/docs/language/modules/sources/>).

mod archive;
mod cache;
mod checksum;
mod contents;
pub(crate) mod fetched;
mod fetcher;
mod floating;
mod git;
mod http;
pub(crate) mod installed;
pub(crate) mod local;
mod package;
mod package_fetcher;
pub(crate) mod registry;
pub mod source;
pub(crate) mod submodule;
mod version_lists;

pub use cache::PackageCache;
pub(crate) use contents::is_configuration;
pub use fetcher::ModuleFetcher;
pub(crate) use floating::Floating;
pub use package::{Package, PackageOrigin, Wildcards};
pub use package_fetcher::PackageFetcher;
pub use registry::Location;
pub use source::{ModuleSource, ModuleSourceError, RegistryModule, RegistrySource, RemoteSource};
pub use version_lists::VersionLists;
