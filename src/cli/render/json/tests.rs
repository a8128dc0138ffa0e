//! What only tests need of the JSON: its schema.

pub(crate) mod schema;
