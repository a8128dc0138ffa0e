//! What a configuration requires: a module directory, and all modules that it calls, to providers with constraints
//! (<https://opentofu.org/docs/language/providers/requirements/>).
//!
//! Text → arguments and blocks in either syntax (`syntax`) → what one file declares (`file`, read by `decode`) → the files
//! of a directory, or of a `RootModule` from several places, merged (`merge`) → one [`Module`] with its local names resolved → [`Requirements`] over the tree of
//! modules (`tree`).
//!
//! In native syntax a light scanner (`hcl::scan`) finds blocks and arguments; only the few values that matter are parsed,
//! by hcl-edit. A block that does not matter is skipped in one pass over its bytes, so nothing in it can stop a lock but a
//! string or bracket that never ends.

mod called;
mod caller;
mod decode;
mod file;
mod files;
mod listing;
mod merge;
mod missing;
mod module;
mod module_cache;
mod names;
mod place;
mod requirement;
mod requirers;
pub mod rewrite;
mod root;
mod scope;
mod syntax;
pub mod terragrunt;
#[cfg(test)]
mod tests;
mod tree;
mod variables;

pub(crate) use file::Backend;
pub(crate) use listing::{Listing, listings};
pub use module::Module;
pub use module_cache::ModuleCache;
pub(crate) use place::Place;
pub(crate) use requirement::ModuleCall;
pub use requirement::{CalledModule, Declaration, DeclarationKind, ModuleDirectory, Requirement, Requirements};
pub use requirers::Requirer;
pub(crate) use root::{RootFiles, RootModule};
pub(crate) use tree::read_with_cache;
pub use tree::{Options, read};
pub use variables::InputVariables;
