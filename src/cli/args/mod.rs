//! The command line: flags that several commands share, and the environment variables that replace
//! some of them.

pub(crate) mod candidates;
mod format;
mod global;
mod roots;
mod selection;
mod severity;
mod source;
mod targets;
mod variables;
mod words_of_other_tools;

use clap::builder::{Resettable, Str};

pub(crate) use format::{Escaping, FormatArgs, OutputFormat};
pub(crate) use global::{ColorChoice, GLOBAL, GlobalArgs, Verbosity, settings_of};
pub(crate) use roots::{RootArgs, TargetArgs};
pub(crate) use selection::{
    AgeArgs, DateArgs, ModuleArgs, OfflineArgs, PlatformArgs, SelectionArgs,
};
pub(crate) use severity::SeverityArgs;
pub(crate) use source::{CacheArgs, CacheDirectory, NoRequestsArgs, OnlineArgs, SourceArgs};
pub(crate) use targets::{Targets, is_surely_path};
pub(crate) use variables::parse;

/// The heading of positional arguments: clap's own, whatever heading the flags around them have.
pub(crate) const ARGUMENTS: Resettable<Str> = Resettable::Reset;

/// Position of a command's own flags in help, after the flags of several commands, which begin at
/// zero.
pub(crate) const OWN: usize = 100;
