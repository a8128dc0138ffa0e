//! Where the modules that a configuration calls come from
//! (<https://opentofu.org/docs/language/modules/sources/>).

pub(crate) mod installed;
pub(crate) mod local;
pub mod source;
pub(crate) mod submodule;

pub use source::{ModuleSource, ModuleSourceError, RegistryModule, RegistrySource, RemoteSource};
