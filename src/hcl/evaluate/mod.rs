//! Evaluates expressions of HCL, in which values may be unknown: for configurations, Terragrunt's files and templates
//! of repositories.
//!
//! hcl-edit parses the text. `allowance` bounds the time and the memory that hostile text can take.

pub(crate) mod allowance;
pub(crate) mod expression;
mod functions;
mod operators;
pub(crate) mod references;
pub(crate) mod value;
