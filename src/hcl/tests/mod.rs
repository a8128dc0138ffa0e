pub(crate) mod expressions;
mod json;
