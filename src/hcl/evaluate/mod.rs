//! Evaluates expressions of HCL, where values may be unknown: those of Terragrunt's files, and those on which the source
//! of a module depends.
//!
//! Text is parsed by hcl-edit. `allowance` bounds what hostile text can take.

pub(crate) mod allowance;
pub(crate) mod expression;
mod functions;
mod operators;
pub(crate) mod references;
pub(crate) mod value;
