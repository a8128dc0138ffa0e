//! What the program tells its user about an input: a code, a message, the places in question and what to do next.

mod code;
mod diagnostics;
mod help;
mod message;
mod source_file;

pub use code::Code;
pub use diagnostics::{Diagnostics, Result};
pub use help::{CommandArgument, CommandLine, Help, HelpPart};
pub use message::{Diagnostic, Label, Severity};
pub use source_file::{Location, SourceFile};
