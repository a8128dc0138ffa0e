//! What a Terragrunt unit requires: the working directory that Terragrunt would make of its `terragrunt.hcl`
//! (<https://terragrunt.gruntwork.io/docs/reference/hcl/blocks/>).
//!
//! [`read`] evaluates the configuration with the files that it includes, and says which module the unit runs and which
//! files it generates: a [`Unit`]. [`working_directory()`] lays the unit's files over the module's, and the generated ones
//! over both.
//!
//! Nothing is run, and nothing outside of the repository is read. What depends on more, such as `run_cmd`, the outputs
//! of other units or an environment variable that is not set, is [`Unknown`], as is all that depends on it.
//!
//! Text → structure (hcl-edit) → values that may be unknown (`evaluate`) → `configuration` with
//! its includes (`merge`) → `unit` → `working_directory`. `session` bounds what hostile text can take, and what can be
//! read.

mod configuration;
mod contents;
mod merge;
mod place;
pub(crate) mod remote;
mod session;
mod stack;
#[cfg(test)]
mod tests;
mod unit;
mod working_directory;

pub use crate::hcl::evaluate::value::Unknown;
pub use place::FILE_NAMES;
pub use session::Repository;
pub use stack::{Origin, origin};
pub use unit::{Action, GeneratedFile, ModuleSource, Unit, is_unit, read, read_or_unknown};
pub use working_directory::{RemoteModule, WorkingDirectory, working_directory};
