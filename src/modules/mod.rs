//! Where the modules that a configuration calls come from
//! (<https://opentofu.org/docs/language/modules/sources/>).

mod cache;
mod contents;
#[expect(dead_code, reason = "nothing fetches modules yet")]
pub(crate) mod fetched;
mod git;
pub(crate) mod installed;
pub(crate) mod local;
mod package_fetcher;
#[expect(dead_code, reason = "nothing fetches modules yet")]
pub(crate) mod registry;
pub mod source;
pub(crate) mod submodule;

pub use cache::PackageCache;
pub use package_fetcher::{Package, PackageFetcher, PackageOrigin, Wildcards};
pub use source::{ModuleSource, ModuleSourceError, RegistryModule, RegistrySource, RemoteSource};
