//! Parts of the JSON that only tests need: its schema.

pub(crate) mod schema;
