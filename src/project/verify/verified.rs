//! What came of verifying a root module.

use std::path::PathBuf;

use super::baseline::KnownFinding;
use crate::diagnostic::Diagnostic;
use crate::project::root_module::DialectReason;
use crate::provider::Dialect;
use crate::settings::PlatformSelection;

/// A root module that was verified.
pub struct VerifiedRoot {
    /// Its directory, as the user knows it.
    pub path: PathBuf,
    /// The lock file's path, as the user knows it.
    pub lock_path: PathBuf,
    /// Whose rules applied.
    pub dialect: Dialect,
    /// What the dialect was decided by.
    pub dialect_reason: DialectReason,
    /// The platforms that must be covered; none if nobody named any.
    pub platforms: Option<PlatformSelection>,
    /// How many entries of the lock file were looked at.
    pub entries: usize,
    /// The dialect whose registry the lock file names, where it names no other dialect's.
    pub registry: Option<Dialect>,
    /// What is wrong, in the order of the lock file, then of the other files.
    pub findings: Vec<Diagnostic>,
    /// Why something could not be checked.
    pub errors: Vec<Diagnostic>,
    /// What is wrong and not among the findings.
    pub suppressed: Suppressed,
}

/// The findings that are not reported.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Suppressed {
    /// How many the settings or the caller allow.
    pub allowed: usize,
    /// How many a comment in the lock file ignores.
    pub ignored: usize,
    /// Those that the baseline lists.
    pub baseline: Vec<KnownFinding>,
}
