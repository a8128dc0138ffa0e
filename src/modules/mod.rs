//! Where the modules that a configuration calls come from
//! (<https://opentofu.org/docs/language/modules/sources/>).

mod archive;
mod cache;
mod checksum;
mod contents;
#[expect(dead_code, reason = "nothing fetches modules yet")]
pub(crate) mod fetched;
mod git;
mod http;
pub(crate) mod installed;
pub(crate) mod local;
mod package;
mod package_fetcher;
#[expect(dead_code, reason = "nothing fetches modules yet")]
pub(crate) mod registry;
pub mod source;
pub(crate) mod submodule;

pub use cache::PackageCache;
pub use package::{Package, PackageOrigin, Wildcards};
pub use package_fetcher::PackageFetcher;
pub use registry::Location;
pub use source::{ModuleSource, ModuleSourceError, RegistryModule, RegistrySource, RemoteSource};
