//! Lock files to try the laws on, changes to make to them, and the laws.

pub mod changes;
pub mod dice;
pub mod generated;
pub mod laws;
