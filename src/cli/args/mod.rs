//! The command line: flags that several commands share, and the variables that stand for some of them.

mod format;
mod global;
mod variables;

pub(crate) use format::{FormatArgs, OutputFormat};
pub(crate) use global::{ColorChoice, GlobalArgs, Verbosity};
pub(crate) use variables::parse;
