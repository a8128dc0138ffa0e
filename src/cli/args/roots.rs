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
    pub(crate) fn selection(&self) -> Selection {
        Selection {
            paths: self.paths.clone(),
            recursive: self.recursive,
            with_modules: false,
        }
    }

    /// [`Self::selection`], in which a directory that only calls modules may be a root module.
    pub(crate) fn selection_with_modules(&self) -> Selection {
        Selection {
            with_modules: true,
            ..self.selection()
        }
    }
}

impl TargetArgs {
    /// Returns the selection of the root modules at the paths, and the names of providers and
    /// modules.
    ///
    /// # Errors
    /// See [`Targets::parse`].
    pub(crate) fn selection_and_names(&self) -> Result<(Selection, Targets)> {
        let mut targets = Targets::parse(&self.targets)?;
        let selection = Selection {
            paths: std::mem::take(&mut targets.paths),
            recursive: self.recursive,
            with_modules: false,
        };
        Ok((selection, targets))
    }
}
