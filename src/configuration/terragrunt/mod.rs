//! The working directory that Terragrunt would make from the `terragrunt.hcl` of a unit
//! (<https://terragrunt.gruntwork.io/docs/reference/hcl/blocks/>).
//!
//! [`read_or_unknown`] evaluates the configuration with the files that it includes, and returns the
//! module that the unit runs and the files it generates: a [`Unit`]. [`working_directory()`] lays
//! the unit's files over the module's, and the generated ones over both.
//!
//! No program is run, and no file outside of the repository is read. Everything else is
//! [`Unknown`], for example the result of `run_cmd`, the outputs of other units, an environment
//! variable that is not set, and every value that depends on them.
//!
//! Text → structure (hcl-edit) → values that may be unknown (`evaluate`) → `configuration` with its
//! includes (`merge`) → `unit` → `working_directory`. `evaluation` has the limits for hostile text,
//! and decides which files may be read.

mod configuration;
mod contents;
mod environment_names;
mod evaluation;
mod extra_arguments;
mod generated_units;
mod merge;
mod parsing_context;
pub(crate) mod remote;
mod stack;
mod template_file;
#[cfg(test)]
mod tests;
mod unit;
mod unit_reads;
mod working_directory;

pub(crate) use crate::hcl::evaluate::value::Unknown;
pub(crate) use environment_names::{environment_names, may_read_environment};
pub(crate) use evaluation::{MAX_FILE_SIZE, Repository};
pub(crate) use extra_arguments::is_readonly;
pub(crate) use generated_units::{GeneratedFrom, GeneratedUnit, GeneratedUnits};
pub(crate) use parsing_context::FILE_NAMES;
pub(crate) use stack::{GENERATED_UNITS, INCLUDE, STACK, unread_locations};
pub(crate) use unit::{CACHE, Unit, UnitSource, UnitState, is_unit, read_or_unknown};
pub(crate) use unit_reads::UnitReads;
pub(crate) use working_directory::{WorkingDirectory, loads_own_files, working_directory};

/// Whether Terragrunt may read a file of this name.
pub(crate) fn may_read(name: &str) -> bool {
    [".hcl", ".hcl.json"].iter().any(|end| name.ends_with(end)) && !name.starts_with('.')
}
