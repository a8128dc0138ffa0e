//! Reports as text, JSON, SARIF and annotations.

pub(crate) mod diagnostics;
pub(crate) mod diff;
pub(crate) mod diff_json;
pub(crate) mod diff_markdown;
pub(crate) mod github;
pub(crate) mod help;
pub(crate) mod json;
pub(crate) mod lock;
pub(crate) mod sarif;
pub(crate) mod style;
pub(crate) mod upgrade;
pub(crate) mod verify;
