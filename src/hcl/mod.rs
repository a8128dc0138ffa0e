//! Readers of HCL: positions of comments, strings and heredocs, lines without comments, JSON with
//! positions, and the evaluator.

pub(crate) mod code_lines;
pub(crate) mod evaluate;
pub(crate) mod json;
pub(crate) mod parse;
pub(crate) mod scan;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod trivia;
pub(crate) mod yaml_paths;

pub(crate) use scan::Fault;
