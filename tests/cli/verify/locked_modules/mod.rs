//! Entries of `.modules.lock.hcl`, and modules that are installed or called.

mod called_modules;
#[cfg(unix)]
pub(super) mod ignored_modules;
mod installed_modules;
#[cfg(unix)]
pub(super) mod modules;

use super::*;
