//! Options of reading a configuration, and the ways to find called modules.

use std::path::PathBuf;

use super::requirement::ModuleCall;
use super::variables::InputVariables;
use crate::diagnostic::Diagnostic;
use crate::modules::fetched::{FetchedModule, ModuleRequest};
use crate::provider::{Dialect, ProviderAddress};

/// Options of reading a configuration.
#[derive(Clone, Debug)]
pub struct Options {
    /// Selects the files that are read, and the default registry.
    pub dialect: Dialect,
    /// Whether the root module's test files are read, as `init` does.
    pub tests: bool,
    /// Whether a module that is not installed is a warning. Its requirements are unknown then.
    pub allow_missing_modules: bool,
    /// `.terraform` or the value of `TF_DATA_DIR`, relative to the root module or absolute.
    pub data_directory: PathBuf,
    /// Whether modules that are not installed are fetched, if the cache of modules can do that.
    pub fetch_modules: bool,
    /// Values of the root module's variables.
    pub variables: InputVariables,
}

/// Called with each provider that a fetched module requires, while other modules are fetched.
pub(crate) type Required<'a> = &'a (dyn Fn(&ProviderAddress) + Sync);

/// For callers that need no provider before all modules are read.
pub(crate) const NO_OBSERVER: Required<'static> = &|_| ();

/// Decides how the module of a call is found, unless the call is local.
pub(crate) type Resolver<'a> = dyn Fn(&ModuleCall) -> Resolution + Sync + 'a;

/// Way to find the module of a call.
pub(crate) enum Resolution {
    /// As without a lock file: an installed module, or else the package of its source.
    Unlocked,
    /// By this request, or as [`Resolution::Unlocked`] if its package is not here and may not be
    /// fetched.
    Preferred(ModuleRequest),
    /// By this request only, which is also sent if the settings forbid fetching modules.
    Only(ModuleRequest),
    /// It was found already.
    Found(FetchedModule),
    /// Not at all, because of this error, which is reported.
    Refused(Diagnostic),
    /// Not at all, and nothing is reported.
    NotRead,
}
