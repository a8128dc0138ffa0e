//! What a configuration requires: a module directory, and all modules that it calls, to providers with constraints
//! (spec section 5).
//!
//! Text → items (`native`, `json`, one view in `syntax`) → what one file declares (`decode`) → one [`Module`]
//! with its files merged and its local names resolved → [`Requirements`] over the tree of modules (`tree`).
//!
//! In native syntax a light scanner (`lex`) finds blocks and arguments; only the few values that matter are parsed, by
//! hcl-edit. A block that does not matter is skipped in one pass over its bytes, so nothing in it can stop a lock but a
//! string or bracket that never ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::address::ProviderAddress;
use crate::constraint::ConstraintList;
use crate::diagnostic::{Diagnostic, Location, Result};
use crate::dialect::Dialect;

mod constant;
mod decode;
mod files;
mod manifest;
mod module;
mod native;
pub mod rewrite;
mod syntax;
#[cfg(test)]
mod tests;
mod tree;

pub use module::{Module, ModuleCache};

/// How a configuration is read.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose files are read, and whose registry is the default.
    pub dialect: Dialect,
    /// Whether the root module's test files count, as they do for `init`.
    pub tests: bool,
    /// Whether a module that is not installed is a warning only; what it requires is then not known.
    pub allow_missing_modules: bool,
    /// `.terraform` or what `TF_DATA_DIR` says; relative to the root module, or absolute.
    pub data_directory: PathBuf,
}

/// What a configuration requires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements {
    /// The providers that can be locked, with what is asked of their versions.
    pub providers: BTreeMap<ProviderAddress, Requirement>,
    /// What the user should know although nothing stops.
    pub warnings: Vec<Diagnostic>,
    /// The module directories that were read, the root module first, each once.
    pub modules: Vec<ModuleDirectory>,
}

/// A module directory that takes part in a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleDirectory {
    /// As the user knows it.
    pub path: PathBuf,
    /// Absolute, without symlinks.
    pub canonical: PathBuf,
    /// Whether only local calls lead to it, so that it is the user's own to edit.
    pub local: bool,
}

/// What is required of a provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirement {
    /// The constraints of all declarations together.
    pub constraints: ConstraintList,
    /// The places that require it, in the order of the modules, at least one.
    pub declarations: Vec<Declaration>,
}

/// A place that requires a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The version string with its quotes if there is one, else the source, the name or the block's label.
    pub location: Location,
    /// The value of `version` as it is written, quotes included; an expression need not be a string.
    pub version: Option<Location>,
    /// What it asks of the version.
    pub constraints: ConstraintList,
    /// What kind of place it is.
    pub kind: DeclarationKind,
    /// The module's directory as the user knows it.
    pub module: PathBuf,
    /// Whether the module is the user's own: only local calls lead to it.
    pub local: bool,
}

/// What kind of place requires a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeclarationKind {
    /// An entry of a `required_providers` block.
    RequiredProviders,
    /// A `provider` block of a module or a test.
    ProviderBlock,
    /// A resource or an import; of several in a module the first.
    Implied,
}

/// Reads the configuration whose root module is in `root`, given as the user knows it, for example `.`; all paths in the
/// result start with it.
///
/// # Errors
/// Everything that is wrong with the configuration, not only the first.
pub fn read(root: &Path, options: &Options) -> Result<Requirements> {
    read_with_cache(root, options, &ModuleCache::default())
}

/// [`read`], where modules that several root modules call are read once.
///
/// # Errors
/// Those of [`read`].
pub fn read_with_cache(root: &Path, options: &Options, cache: &ModuleCache) -> Result<Requirements> {
    tree::read(root, options, cache)
}
