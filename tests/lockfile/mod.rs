//! Lock files to test the properties on, changes to make to them, and the properties.

pub mod changes;
pub mod generated;
pub mod properties;
pub mod rng;
