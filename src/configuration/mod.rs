//! The providers that a module directory and all modules that it calls require, with their constraints
//! (<https://opentofu.org/docs/language/providers/requirements/>).
//!
//! Text → arguments and blocks in either syntax (`syntax`) → what one file declares (`file`, read by `decode`) → the
//! files of a directory, or of a `RootModule` from several places, merged (`merge`) → one `Module` with its local
//! names resolved → [`Requirements`] over the tree of modules (`tree`).
//!
//! In native syntax a light scanner (`hcl::scan`) finds blocks and arguments, and hcl-edit parses only the values that
//! are needed. Any other block is skipped in one pass over its bytes, so that only an unclosed string or bracket in it
//! is an error.

mod called;
mod called_packages;
mod caller;
mod decode;
mod edits;
mod file;
mod file_functions;
mod files;
mod listing;
mod locked_calls;
mod locking;
mod merge;
mod missing;
mod module;
mod module_cache;
mod module_pin;
mod module_upgrade;
mod moving_call;
mod names;
mod planned_module;
mod requirement;
mod requirers;
pub mod rewrite;
mod root;
mod scope;
mod state;
mod syntax;
pub(crate) mod terragrunt;
#[cfg(test)]
mod tests;
mod tree;
mod variables;
mod withheld;
mod written_source;

pub(crate) use file::Backend;
pub(crate) use listing::{Listing, is_part_of_configuration, listings};
pub(crate) use locked_calls::{CallToLock, LockedCalls, LockedPackage, LockingMode, ModuleLocking, ModuleRecord};
pub(crate) use module::Module;
pub use module_cache::ModuleCache;
pub use planned_module::PlannedModule;
pub(crate) use planned_module::{ModulePlan, ModuleUpgrades};
pub use requirement::{CalledModule, Declaration, DeclarationKind, ModuleDirectory, Requirement, Requirements};
pub(crate) use requirement::{ModuleCall, StateKnowledge, UnknownCall};
pub use requirers::Requirer;
pub(crate) use root::{Inputs, ModulePath, RootFiles, RootModule};
pub(crate) use state::State;
pub use tree::{Options, read};
pub(crate) use tree::{Required, read_locked};
pub use variables::{InputVariables, VariableFlag};
