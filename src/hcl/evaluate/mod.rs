//! Evaluates expressions of HCL, in which values may be unknown: for configurations, Terragrunt's
//! files and templates of repositories.
//!
//! It covers what real configurations write where a source or a version depends on it. Everything
//! else is unknown. hcl-edit parses the text. `allowance` bounds the time and the memory that
//! hostile text can take.

pub(crate) mod allowance;
pub(crate) mod arithmetic;
pub(crate) mod decimal;
pub(crate) mod expression;
pub(crate) mod functions;
pub(crate) mod literal;
pub(crate) mod references;
mod stop;
mod template;
pub(crate) mod types;
pub(crate) mod value;
mod yaml;
