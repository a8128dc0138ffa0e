//! `cache`: where the cache is, and how it is emptied.

use std::io;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use provlock::diagnostic::{Code, Diagnostic};
use provlock::modules::{PackageCache, VersionLists};
use provlock::package::HashCache;
use provlock::source::{DiscoveryCache, ReleaseUrls};

use super::outcome::Outcome;
use crate::cli::args::CacheDirectory;
use crate::cli::environment::environment;
use crate::cli::render::json;
use crate::cli::render::style::bytes;
use crate::cli::ui::Ui;

/// Show or empty the cache of package hashes
#[derive(Args)]
#[command(before_help = "Example: provlock cache clean")]
#[command(mut_arg("cache_dir", |directory| directory.global(true)))]
pub(crate) struct CacheArgs {
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    directory: CacheDirectory,
}

#[derive(Subcommand)]
enum Action {
    /// Print the directory of the cache
    Dir,
    /// Remove everything that provlock put there
    Clean,
}

pub(crate) fn run(arguments: &CacheArgs, ui: &Ui) -> Result<Outcome> {
    let Some(directory) = arguments.directory.get(&environment(&ui.invocation.secrets)) else {
        let error = Diagnostic::error(Code::InvalidArgument, "no cache directory: there is no home directory");
        return Err(error.help("set one with --cache-dir DIR or PROVLOCK_CACHE_DIR").into());
    };
    match arguments.action {
        Action::Dir if ui.is_json() => ui.print(&json::cache(json::Cache::new(&directory, None), &ui.invocation)),
        Action::Dir => ui.print(&format!("{}\n", directory.display())),
        Action::Clean => {
            let hashes = HashCache::open(&directory).clean();
            let discovery = DiscoveryCache::open(&directory).clean();
            let places = ReleaseUrls::open(&directory).clean();
            let modules = PackageCache::open(&directory).clean();
            let versions = VersionLists::open(&directory).clean();
            let freed = [hashes, discovery, places, modules, versions].into_iter().sum::<io::Result<u64>>();
            let freed = freed.with_context(|| format!("cannot clean {}", directory.display()))?;
            ui.status(&format!("Removed {} from {}", bytes(freed), directory.display()));
            if ui.is_json() {
                ui.print(&json::cache(json::Cache::new(&directory, Some(freed)), &ui.invocation));
            }
        }
    }
    Ok(Outcome::Done)
}
