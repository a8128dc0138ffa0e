//! Shared parts of commands: sessions, results and failures of root modules, outcomes, and errors
//! of the command line.

pub(crate) mod base;
pub(crate) mod choice;
pub(crate) mod failures;
pub(crate) mod outcome;
pub(crate) mod report_paths;
pub(crate) mod results;
pub(crate) mod session;
pub(crate) mod usage;
