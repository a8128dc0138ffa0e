//! Mirroring: the packages that the lock files of root modules name, in a directory.

use std::path::Path;
use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Remedy, Result, Severity};
use crate::lockfile::{Entry, LockFile};
use crate::packages::connections::Connections;
use crate::packages::{ProgressSink, Source};
use crate::project::mirror::{self, MirrorRequest, Mirrored, Record, Releases};
use crate::project::{RootSelection, SelectedRoot, Workspace};
use crate::provider::{Dialect, Platform};
use crate::settings::PlatformSelection;
use crate::system::{OnceMap, parallel};

/// How many lock files are read before what they record is taken together, which takes less memory.
const READ_TOGETHER: usize = 256;

/// How a mirror is filled.
pub struct MirrorOptions<'a> {
    /// Its directory, which need not exist yet.
    pub directory: &'a Path,
    /// The platforms whose packages it is to hold; else those of the settings, else the one that this program runs on.
    pub platforms: Option<PlatformSelection>,
    /// Whether what no lock file names is removed. Nothing is if there is an error in a lock file.
    pub prune: bool,
    /// Whether nothing is to be written, and no package to be fetched.
    pub dry_run: bool,
    /// How hosts are reached.
    pub connections: &'a Connections,
    /// Takes note of downloads.
    pub progress: ProgressSink<'a>,
}

/// What the lock files of root modules say.
#[derive(Default)]
struct LockFiles {
    releases: Releases,
    warnings: Vec<Diagnostic>,
    errors: Diagnostics,
}

/// Puts the packages that the lock files of root modules name into a mirror, each once. How many root modules there are comes
/// along.
///
/// # Errors
/// The root modules cannot be found, or the directory cannot be used. Any other error is in the result.
pub fn mirror(selection: &RootSelection<'_>, options: &MirrorOptions<'_>) -> Result<(Mirrored, usize)> {
    let selected = selection.roots()?;
    if selected.is_empty() {
        return Ok((Mirrored::default(), 0));
    }
    let LockFiles { releases, mut warnings, errors } = LockFiles::read(&selected, selection, options);
    let MirrorOptions { directory, prune, dry_run, progress, .. } = *options;
    if prune && !errors.is_empty() {
        let message = "nothing is removed from the mirror, because of the errors in lock files";
        warnings.push(Diagnostic::warning(Code::Io, message));
    }
    let sources: OnceMap<Dialect, Result<Arc<Source>>> = OnceMap::default();
    let source = |dialect| sources.get_or_compute(&dialect, || options.connections.source(dialect).map(Arc::new));
    let prune = prune && errors.is_empty();
    let mut mirrored = mirror::fill(&releases, MirrorRequest { directory, prune, dry_run, source: &source, progress })?;
    mirrored.warnings.splice(0..0, warnings);
    mirrored.errors.splice(0..0, errors);
    Ok((mirrored, selected.len()))
}

impl LockFiles {
    /// Reads the lock file of each root module.
    fn read(selected: &[SelectedRoot], selection: &RootSelection<'_>, options: &MirrorOptions<'_>) -> Self {
        let mut all = Self::default();
        let are_many = selection.recursive || selected.len() != 1;
        let in_root = |root: &Path, error: Diagnostic| {
            let error = error.in_directory(root);
            if are_many { error.in_root(root) } else { error }
        };
        for some in selected.chunks(READ_TOGETHER) {
            let read = |root: &SelectedRoot| (root.path.clone(), read(selection, root));
            for (root, read) in parallel::map(some.iter().collect(), selection.modules.threads(), read) {
                match read {
                    Ok((workspace, lock_file, warnings)) => {
                        all.warnings.extend(warnings.into_iter().map(|warning| in_root(&root, warning)));
                        all.add(&workspace, &lock_file, are_many, options);
                    }
                    Err(errors) => all.errors.extend(errors.map(|error| in_root(&root, error))),
                }
            }
        }
        all
    }

    fn add(&mut self, workspace: &Workspace, lock_file: &LockFile, are_many: bool, options: &MirrorOptions<'_>) {
        let platforms = options.platforms.as_ref().or(workspace.settings.platforms.as_ref()).cloned();
        let platforms = platforms.unwrap_or_else(|| PlatformSelection::These(vec![Platform::current()]));
        let (dialect, policy) = (workspace.dialect, Arc::new(workspace.settings.policy.clone()));
        for Entry { address, provider, version, .. } in lock_file.entries() {
            let record = Record {
                root: workspace.root.clone(),
                is_one_of_many: are_many,
                others: 0,
                dialect,
                policy: Arc::clone(&policy),
                platforms: platforms.clone(),
                hashes: provider.hashes.clone(),
                place: version.clone(),
            };
            let forbidden = policy.against_address(address, dialect);
            if forbidden.is_empty() {
                self.releases.add(address, &provider.version, record);
            } else {
                self.errors.extend(forbidden.into_iter().map(|error| record.error(error, "locked here")));
            }
        }
    }
}

/// Reads the lock file of a root module, with its warnings. There must be one if somebody names the root module.
fn read(
    selection: &RootSelection<'_>,
    SelectedRoot { path, is_named }: &SelectedRoot,
) -> Result<(Workspace, LockFile, Vec<Diagnostic>)> {
    let workspace = selection.open(path)?;
    let (lock_file, mut warnings) = workspace.lock_file()?;
    if workspace.lock_bytes.is_none() {
        let message = "there is no lock file, so the mirror gets nothing for this root module";
        let missing = Diagnostic::warning(Code::LockFileMissing, message).help(Remedy::lock());
        let missing = workspace.in_dialect(missing);
        if *is_named {
            let elsewhere = selection.roots_elsewhere(&workspace);
            return Err(elsewhere.unwrap_or(Diagnostic { severity: Severity::Error, ..missing }).into());
        }
        warnings.push(missing);
    }
    Ok((workspace, lock_file, warnings))
}
