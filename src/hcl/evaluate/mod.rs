//! Evaluates expressions of HCL, in which values may be unknown: for configurations, Terragrunt's files and templates
//! of repositories.
//!
//! hcl-edit parses the text. `allowance` bounds the time and the memory that hostile text can take.

pub(crate) mod allowance;
mod constraint;
pub(crate) mod convert;
pub(crate) mod expression;
pub(crate) mod functions;
pub(crate) mod number;
mod operators;
mod outcome;
pub(crate) mod references;
mod template;
mod types;
pub(crate) mod value;
