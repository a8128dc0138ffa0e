//! Arguments of `merge`.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use provlock::lockfile::merge::MARKER_SIZE;

use super::resolve::ResolveArgs;
use crate::cli::args::{ARGUMENTS, FormatArgs, OWN};

/// Merge lock files, or repair one with conflict markers
///
/// Merges entries instead of lines, so two branches that each add a provider do not conflict. With
/// one file, or none for the lock files here, merges both sides of its conflict markers. --resolve
/// locks providers that remain in conflict again. Lock files of modules (.modules.lock.hcl) are
/// merged in the same way.
#[derive(Args)]
#[command(before_help = "Example: provlock merge --resolve", next_display_order = OWN, next_help_heading = "Selection")]
#[command(
    override_usage = "provlock merge [OPTIONS] [FILE]\n       provlock merge [OPTIONS] --path PATH BASE OURS THEIRS"
)]
#[command(after_help = "`provlock setup git` makes git run it.\n\n\
    Exit codes: 0 merged, 1 conflicts remain and are marked in the file or a hash is malformed, 2 failed")]
pub(crate) struct MergeArgs {
    /// A lock file with conflict markers to repair, or its directory [default: .]; or git's %O %A
    /// %B, three versions of a file, whose second is overwritten with the result
    #[arg(value_name = "FILE", num_args = 0..=3, value_hint = ValueHint::FilePath, help_heading = ARGUMENTS)]
    pub(super) files: Vec<PathBuf>,
    /// The lock files of every root module below the directories
    #[arg(short, long, conflicts_with = "path")]
    pub(super) recursive: bool,
    /// Path of the file in the repository (git's %P), for messages and for the configuration of
    /// --resolve [default: FILE or OURS]
    #[arg(
        long,
        value_name = "PATH",
        requires = "files",
        allow_hyphen_values = true,
        hide_short_help = true
    )]
    pub(super) path: Option<PathBuf>,
    /// Length of conflict markers, at least 7 (git's %L)
    #[arg(long, value_name = "NUMBER", default_value_t = MARKER_SIZE, value_parser = parse_marker_size)]
    #[arg(hide_short_help = true)]
    pub(super) marker_size: usize,
    #[command(flatten)]
    pub(super) resolve: ResolveArgs,
    #[command(flatten)]
    format: FormatArgs,
}

fn parse_marker_size(text: &str) -> std::result::Result<usize, String> {
    match text.parse() {
        // Git may request fewer characters, but shorter markers would not be read again.
        Ok(size @ 1..=1000) => Ok(MARKER_SIZE.max(size)),
        _ => Err("not a number from 1 to 1000".to_owned()),
    }
}
