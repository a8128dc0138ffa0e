//! Reports as text, Markdown, JSON, and the formats of CI systems: functions from values to text.

pub(crate) mod causes;
pub(crate) mod coverage;
pub(crate) mod diagnostics;
pub(crate) mod diff;
pub(crate) mod fit;
pub(crate) mod foreign;
pub(crate) mod github;
pub(crate) mod gitlab;
pub(crate) mod help;
pub(crate) mod hints;
pub(crate) mod html;
pub(crate) mod json;
pub(crate) mod junit;
pub(crate) mod lock;
pub(crate) mod markdown;
pub(crate) mod mirror;
pub(crate) mod pages;
mod remedy;
pub(crate) mod request;
pub(crate) mod row;
pub(crate) mod sarif;
pub(crate) mod sbom;
pub(crate) mod style;
pub(crate) mod tree;
pub(crate) mod upgrade;
pub(crate) mod verify;
pub(crate) mod versions;
