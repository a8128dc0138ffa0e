//! `cache`: the location of the cache, emptying it, and publishing its content for other machines.

mod keygen;
mod push;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use provlock::diagnostic::{Code, Diagnostic};
use provlock::system::storage;

use crate::cli::args::{CacheDirectory, NoRequestsArgs};
use crate::cli::environment::read_environment;
use crate::cli::render::style::bytes;
use crate::cli::run::outcome::Outcome;
use crate::cli::ui::Ui;

/// Show, empty or share the cache of package hashes
#[derive(Args)]
#[command(before_help = "Example: provlock cache clean")]
#[command(mut_arg("cache_dir", |directory| directory.global(true)))]
pub(crate) struct CacheCommand {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    directory: CacheDirectory,
}

#[derive(Subcommand)]
enum Action {
    /// Print the directory of the cache
    Dir(NoRequestsArgs),
    /// Remove everything that provlock has written to the cache
    Clean(NoRequestsArgs),
    Push(push::PushArgs),
    Keygen(keygen::KeygenArgs),
}

impl CacheCommand {
    pub(crate) fn has_json(&self) -> bool {
        matches!(self.action, Action::Push(_))
    }
}

pub(crate) fn run(arguments: &CacheCommand, ui: &Ui) -> Result<Outcome> {
    match &arguments.action {
        Action::Dir(_) => ui.print(&format!(
            "{}\n",
            directory(&arguments.directory, ui)?.display()
        )),
        Action::Clean(_) => clean(&directory(&arguments.directory, ui)?, ui)?,
        Action::Push(push) => return push::run(push, &arguments.directory, ui),
        Action::Keygen(keygen) => return keygen::run(keygen, ui),
    }
    Ok(Outcome::Done)
}

fn directory(directory: &CacheDirectory, ui: &Ui) -> Result<PathBuf> {
    directory
        .get(&read_environment(&ui.invocation.secrets))
        .ok_or_else(|| {
            let error = Diagnostic::error(
                Code::InvalidArgument,
                "there is no cache directory, because there is no home directory",
            );
            error
                .help("set one with --cache-dir DIR or PROVLOCK_CACHE_DIR")
                .into()
        })
}

fn clean(directory: &Path, ui: &Ui) -> Result<()> {
    let freed = storage::clean(directory)
        .with_context(|| format!("cannot clean {}", directory.display()))?;
    ui.status(&format!(
        "Removed {} from {}",
        bytes(freed),
        directory.display()
    ));
    Ok(())
}
