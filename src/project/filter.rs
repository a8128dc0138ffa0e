//! Directories that `[roots]` of the settings selects.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet};

use crate::diagnostic::{Code, Diagnostic, Result};
use crate::settings::{RootFilter, is_match};
use crate::system::glob;

/// The compiled globs of `[roots]` in all settings files.
pub(super) struct Filter(Vec<FileFilter>);

struct FileFilter {
    base: PathBuf,
    include: Option<GlobSet>,
    exclude: GlobSet,
    /// The directories that `include` lists without a wildcard.
    named: HashSet<PathBuf>,
}

impl Filter {
    /// Compiles the globs of `[roots]`. An `include` without wildcards names a root module.
    pub(super) fn new(filters: &[RootFilter]) -> Result<Self> {
        let mut compiled = Vec::new();
        for filter in filters {
            let mut include = None;
            if !filter.include.is_empty() {
                include = Some(globs(&filter.include)?);
            }
            let mut named = HashSet::new();
            for glob in &filter.include {
                let text = glob.glob();
                // A glob without wildcards names one directory, which is a root module without any
                // other sign.
                if !text.contains(['*', '?', '[', '{', '\\']) {
                    // Without a redundant `.` or `/` at either end, as in compared paths.
                    named.insert(filter.base.join(text).components().collect());
                }
            }
            compiled.push(FileFilter {
                base: filter.base.clone(),
                include,
                exclude: globs(&filter.exclude)?,
                named,
            });
        }
        Ok(Self(compiled))
    }

    /// Whether the settings list a directory; its path is absolute and without symlinks.
    pub(super) fn names_exactly(&self, directory: &Path) -> bool {
        self.0.iter().any(|filter| filter.named.contains(directory))
    }

    /// Whether the settings list root modules, and this directory is one of them.
    pub(super) fn includes(&self, directory: &Path) -> bool {
        self.0.iter().any(|filter| filter.include.is_some()) && self.selects(directory)
    }

    /// Whether the settings select a directory; its path is absolute and without symlinks.
    pub(super) fn selects(&self, directory: &Path) -> bool {
        self.0.iter().all(|filter| filter.selects(directory))
    }
}

impl FileFilter {
    fn selects(&self, directory: &Path) -> bool {
        if let Some(include) = &self.include
            && !self.matches(include, directory)
        {
            return false;
        }
        !self.matches(&self.exclude, directory)
    }

    fn matches(&self, globs: &GlobSet, directory: &Path) -> bool {
        is_match(&self.base, directory, |path| globs.is_match(path))
    }
}

fn globs(globs: &[Glob]) -> Result<GlobSet> {
    glob::set(globs).map_err(|why| Diagnostic::error(Code::InvalidArgument, why).into())
}
