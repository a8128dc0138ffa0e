//! The providers that a module directory and all modules that it calls require, with their
//! constraints (<https://opentofu.org/docs/language/providers/requirements/>).
//!
//! Text → arguments and blocks that a schema lists, in either syntax (`syntax`) → the declarations
//! of one file (`file`, read by `decode`) → the files of a directory, or of a `RootModule` from
//! several places, merged (`merge`) → one `Module` with its local names resolved → [`Requirements`]
//! over all modules that are called (`walk`).
//!
//! In native syntax a light scanner (`hcl::scan`) finds blocks and arguments, and hcl-edit parses
//! only the values that are needed. Any other block is skipped in one pass over its bytes, so that
//! only an unclosed string or bracket in it is an error.

mod call_resolution;
mod called_packages;
mod caller;
mod decode;
mod edits;
mod evaluated_storage;
mod file;
mod file_reads;
mod files;
mod fingerprint;
mod listing;
mod merge;
mod missing;
mod module;
mod module_cache;
mod names;
mod options;
mod origin;
mod reading;
mod requirement;
mod requirers;
pub mod rewrite;
mod root;
mod scope;
mod state;
mod storage;
mod syntax;
pub(crate) mod terragrunt;
#[cfg(test)]
mod tests;
mod variables;
mod walk;
mod walk_errors;

pub(crate) use file::{Backend, CloudHost};
pub(crate) use file_reads::FileReads;
pub(crate) use files::{
    DATA_DIRECTORY, is_loaded, is_of_stack, is_of_tofu, is_test, no_configuration,
};
pub(crate) use fingerprint::{Fingerprint, PartId};
pub(crate) use listing::{
    DirectoryListing, has_linked_lock_file, has_tests, is_part_of_configuration, listings,
};
pub(crate) use module::Module;
pub use module_cache::ModuleCache;
pub use options::Options;
pub(crate) use options::{NO_OBSERVER, Required, Resolution, Resolver};
pub(crate) use origin::Origin;
pub use reading::read;
pub(crate) use reading::read_resolved;
pub use requirement::{
    CalledModule, Declaration, DeclarationKind, ModuleDirectory, Requirement, Requirements,
};
pub(crate) use requirement::{ModuleCall, OutsideModule, OwnCommit, StateKnowledge, UnknownCall};
pub use requirers::Requirer;
pub(crate) use root::{Inputs, ModulePath, RootFiles, RootSource};
pub(crate) use state::{State, providers_in_state};
pub(crate) use storage::{InitChange, STORES, StateStorage, StorageRole, role_in_storage};
pub(crate) use variables::is_automatic;
pub use variables::{InputVariables, VariableFlag};
