//! The command line: flags that several commands share, and the variables that stand for some of them.

mod global;
mod variables;

pub(crate) use global::GlobalArgs;
pub(crate) use variables::parse;
