//! Verifying: whether the lock file of a root module fits its configuration, its policy and what is published.

use super::Workspace;
use crate::diagnostic::Result;
use crate::ops::verify::{self, Online, Tracking, Verified, VerifyRequest};
use crate::package::HashCache;
use crate::requirements::ModuleCache;
use crate::settings::PlatformSelection;

/// What is checked.
pub struct VerifyOptions<'a> {
    /// The platforms that must be covered; else those of the settings.
    pub platforms: Option<PlatformSelection>,
    /// Whether what only test files require counts for nothing.
    pub ignore_tests: bool,
    /// Whether installed packages are compared with the lock file.
    pub check_installed: bool,
    /// Hashes of packages that are known already.
    pub cache: Option<&'a HashCache>,
    /// What git knows of the lock file.
    pub tracking: Tracking,
    /// The lock file as it was, if the change is to be judged.
    pub base: Option<Vec<u8>>,
    /// Where to ask what is published, if that is to be asked.
    pub online: Option<Online<'a>>,
}

impl Workspace {
    /// Verifies the lock file. Nothing is written. `modules` keeps the modules that are read, since several root modules may
    /// share them.
    ///
    /// # Errors
    /// The configuration cannot be read.
    pub fn verify(&self, options: &VerifyOptions<'_>, modules: &ModuleCache) -> Result<Verified> {
        let requirements = self.requirements(options.ignore_tests, true, modules)?;
        Ok(verify::verify(&VerifyRequest {
            root: &self.root,
            dialect: self.dialect,
            lock_path: &self.lock_path,
            lock_bytes: self.lock_bytes.as_deref(),
            requirements: &requirements,
            platforms: options.platforms.as_ref().or(self.settings.platforms.as_ref()),
            policy: &self.settings.policy,
            cache: options.cache,
            installed: &self.root.join(&self.data_directory).join("providers"),
            check_installed: options.check_installed,
            tracking: options.tracking,
            base: options.base.as_deref(),
            online: options.online,
        }))
    }
}
