//! Where the modules that a configuration calls come from
//! (<https://opentofu.org/docs/language/modules/sources/>).

mod cache;
mod contents;
mod git;
pub(crate) mod installed;
pub(crate) mod local;
mod package_fetcher;
pub mod source;
pub(crate) mod submodule;

pub use cache::PackageCache;
pub use package_fetcher::{Package, PackageFetcher, PackageOrigin, Wildcards};
pub use source::{ModuleSource, ModuleSourceError, RegistryModule, RegistrySource, RemoteSource};
