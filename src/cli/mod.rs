//! The command line: raw arguments to validated requests, reports to text or JSON, outcomes to exit
//! codes.

mod args;
mod commands;
mod environment;
mod git;
mod interrupt;
mod render;
mod run;
mod ui;

pub(crate) use commands::run;
