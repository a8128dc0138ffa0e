//! Reports as text and as JSON.

pub(crate) mod diagnostics;
pub(crate) mod json;
pub(crate) mod lock;
pub(crate) mod style;
pub(crate) mod upgrade;
