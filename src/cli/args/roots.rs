//! Flags that select root modules.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use clap_complete::ArgValueCandidates;
use provlock::diagnostic::Result;
use provlock::project::Selection;

use super::targets::Targets;
use super::{ARGUMENTS, candidates};

/// Root modules, by paths.
#[derive(Args)]
#[command(next_help_heading = "Selection")]
pub(crate) struct RootArgs {
    /// Root modules, or files in them [default: .]
    #[arg(value_name = "PATH", value_hint = ValueHint::AnyPath, help_heading = ARGUMENTS)]
    paths: Vec<PathBuf>,
    /// Every root module below the paths, without directories that git ignores
    #[arg(short, long)]
    recursive: bool,
}

/// Root modules by paths, among names of providers and modules.
#[derive(Args)]
#[command(next_help_heading = "Selection")]
pub(crate) struct TargetArgs {
    /// Providers [default: all]; and root modules, by a directory or a file in it [default: .]
    #[arg(value_name = "PROVIDER|PATH", value_hint = ValueHint::AnyPath, help_heading = ARGUMENTS)]
    #[arg(add = ArgValueCandidates::new(candidates::providers))]
    pub(crate) targets: Vec<OsString>,
    /// Every root module below the paths, without directories that git ignores
    #[arg(short, long)]
    pub(crate) recursive: bool,
}

impl RootArgs {
    /// Returns the selected root modules.
    pub(crate) fn selection(&self, with_modules: bool) -> Selection {
        Selection {
            paths: self.paths.clone(),
            recursive: self.recursive,
            with_modules,
        }
    }
}

impl TargetArgs {
    /// Separates paths from names, and returns the root modules with the rest.
    ///
    /// # Errors
    /// See [`Targets::read`].
    pub(crate) fn read(&self, with_modules: bool) -> Result<(Selection, Targets)> {
        let mut targets = Targets::read(&self.targets)?;
        let paths = std::mem::take(&mut targets.paths);
        Ok((
            Selection {
                paths,
                recursive: self.recursive,
                with_modules,
            },
            targets,
        ))
    }
}
