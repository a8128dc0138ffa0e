//! What the readers of HCL texts share. Values are parsed by hcl-edit, where they matter.

pub(crate) mod evaluate;
pub(crate) mod json;
pub(crate) mod parse;
pub(crate) mod scan;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod trivia;

pub(crate) use scan::Fault;
