//! Reports as text and as JSON.

pub(crate) mod diagnostics;
pub(crate) mod diff;
pub(crate) mod diff_json;
pub(crate) mod diff_markdown;
pub(crate) mod json;
pub(crate) mod lock;
pub(crate) mod style;
