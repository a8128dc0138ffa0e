//! How a mirror is filled.

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::Result;
use crate::packages::{ProgressSink, Source};
use crate::provider::Dialect;

/// How a mirror is filled.
#[derive(Clone, Copy)]
pub(crate) struct MirrorRequest<'a> {
    /// The directory of the mirror, which need not exist yet.
    pub(crate) directory: &'a Path,
    /// Whether what no lock file names is removed.
    pub(crate) prune: bool,
    /// Whether nothing is to be written, and no package to be fetched.
    pub(crate) dry_run: bool,
    /// Where the packages that lock files of a dialect name come from.
    pub(crate) source: &'a (dyn Fn(Dialect) -> Result<Arc<Source>> + Sync),
    /// Takes note of downloads.
    pub(crate) progress: ProgressSink<'a>,
}
