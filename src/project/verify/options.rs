//! Options of `verify`.

use super::verified::VersionControl;
use crate::settings::{Levels, PlatformSelection};

/// What is checked.
#[derive(Default)]
#[non_exhaustive]
pub struct VerifyOptions<'a> {
    /// The platforms that must be covered; else those of the settings.
    pub platforms: Option<PlatformSelection>,
    /// Whether the test files of root modules are left out.
    pub ignore_tests: bool,
    /// Whether installed packages are compared with the lock file.
    pub check_installed: bool,
    /// Who knows which files are tracked.
    pub version_control: Option<&'a dyn VersionControl>,
    /// What the caller says of findings; it wins over the settings.
    pub levels: Levels,
    /// Whether it is asked what is published, and whose word counts.
    pub online: Option<OnlineOptions>,
}

/// Asking what is published.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnlineOptions {
    /// Whether facts that a trusted key has signed count.
    pub trust_shared: bool,
}
