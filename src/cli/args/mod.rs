//! The command line: flags that several commands share, and the variables that stand for some of them.

mod age;
mod format;
mod global;
mod modules;
mod platforms;
mod selection;
mod source;
mod variables;

pub(crate) use age::AgeArgs;
pub(crate) use format::{FormatArgs, OutputFormat};
pub(crate) use global::{ColorChoice, GlobalArgs, Verbosity};
pub(crate) use modules::ModuleArgs;
pub(crate) use platforms::PlatformArgs;
pub(crate) use selection::{SelectionArgs, provider, provider_at_version};
pub(crate) use source::{CacheDirectory, OnlineArgs, SourceArgs};
pub(crate) use variables::parse;
