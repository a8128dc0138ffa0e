//! Sources of packages and of published hashes that a change under review must not choose.

use std::path::{Path, PathBuf};

use super::reviewed_change::ReviewedChange;
use crate::cli_config::{self, MethodKind};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::packages::connections::{SourceChoice, SourceOptions};
use crate::provider::Dialect;
use crate::system::{Environment, canonicalize};

/// Refuses a cache, a CLI configuration and filesystem mirrors that the change may have written,
/// because they decide from where packages and the published hashes come.
pub(super) fn refuse_changed_sources(
    change: &ReviewedChange,
    sources: &SourceOptions,
    modules_mirror: Option<&Path>,
    environment: &Environment,
) -> Result<()> {
    if let Some(cache) = &sources.cache_directory {
        refuse_cache_within(change, cache)?;
    }
    let mut mirrors = Vec::new();
    mirrors.extend(modules_mirror.map(Path::to_owned));
    if let SourceChoice::FilesystemMirror(directory) = &sources.choice {
        mirrors.push(directory.clone());
    }
    for dialect in [Dialect::Tofu, Dialect::Terraform] {
        for path in cli_config::files(environment, dialect) {
            refuse_altered(change, "CLI configuration", &path)?;
        }
        if let SourceChoice::CliConfiguration = sources.choice {
            mirrors.extend(configured_mirrors(environment, dialect));
        }
    }
    for mirror in mirrors {
        refuse_altered(change, "mirror", &mirror)?;
    }
    Ok(())
}

/// Refuses a cache in the repository, because the change may have added forged packages of modules.
fn refuse_cache_within(change: &ReviewedChange, cache: &Path) -> Result<()> {
    let absolute = std::path::absolute(cache).unwrap_or_else(|_| cache.to_owned());
    // The cache may not exist yet.
    let existing = absolute
        .ancestors()
        .find_map(|ancestor| canonicalize(ancestor).ok());
    if !existing.is_some_and(|existing| existing.starts_with(&change.top)) {
        return Ok(());
    }
    let message = format!(
        "the cache {} is in the repository, so the pull request may have forged it",
        cache.display()
    );
    let error = Diagnostic::error(Code::InvalidArgument, message);
    Err(error.help("keep it elsewhere with --cache-dir DIR or PROVLOCK_CACHE_DIR, or use none with --no-cache").into())
}

fn refuse_altered(change: &ReviewedChange, what: &str, path: &Path) -> Result<()> {
    if !change.alters(path) {
        return Ok(());
    }
    let shown = change.shown_path(path).display();
    let message = format!(
        "the {what} {shown} differs from the base, so the pull request would choose the packages"
    );
    let error = Diagnostic::error(Code::InvalidArgument, message);
    Err(error
        .help("keep it outside of the repository, or use a copy from the base")
        .into())
}

/// The filesystem mirrors in the CLI configuration. If it cannot be read, it is an error when it is
/// used.
fn configured_mirrors(environment: &Environment, dialect: Dialect) -> Vec<PathBuf> {
    let mut mirrors = Vec::new();
    if let Ok(configuration) = cli_config::load(environment, dialect)
        && let Some(installation) = configuration.provider_installation
    {
        for method in installation.methods {
            if let MethodKind::FilesystemMirror(path) = method.kind {
                mirrors.push(path);
            }
        }
    }
    mirrors
}
