//! Messages for the user about an input: a code, a message, locations and the next step.

mod code;
mod collector;
mod diagnostics;
mod message;
mod remedy;
mod source_file;
pub mod words;

pub use code::{Code, Needs, Rule, Severity, Threat};
pub(crate) use collector::Collector;
pub(crate) use diagnostics::collect_all;
pub use diagnostics::{Diagnostics, Result};
pub use message::{Diagnostic, Label, RootModules};
pub use remedy::{Help, HelpPart, LockRemedy, Remedy, RunOption, UpgradeRemedy};
pub use source_file::{Location, SourceFile};
