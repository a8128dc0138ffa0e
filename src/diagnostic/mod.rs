//! Messages for the user about an input: a code, a message, locations and the next step.

mod code;
mod collector;
mod diagnostics;
mod fold;
mod message;
mod pattern;
mod reason;
mod remedy;
mod source_file;
pub mod words;

pub use code::{Code, Needs, Rule, Severity, Threat};
pub(crate) use collector::Collector;
pub(crate) use diagnostics::collect_all;
pub use diagnostics::{Diagnostics, Result};
pub(crate) use fold::fold;
pub use message::{Diagnostic, Label, Message, NamedPath, RootModules};
pub use pattern::Pattern;
pub use reason::Reason;
pub use remedy::{Help, HelpPart, LockRemedy, Remedy, RunOption, UpgradeRemedy};
pub use source_file::{Location, SourceFile};
