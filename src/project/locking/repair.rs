//! Repair of lock files that other tools have written in a form which OpenTofu and Terraform do not
//! write.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::diagnostic::{Diagnostics, Result};
use crate::lockfile::{EntryKind, LockedModule, LockedProvider, Repair, repair_as};
use crate::project::coverage::Coverage;
use crate::project::event::Report;
use crate::project::root_module::RootModule;
use crate::project::root_module::roots::Roots;
use crate::project::session::Session;
use crate::provider::Dialect;
use crate::system::files::{self, FileChange, canonical_or_given};

/// The repaired lock files of a root module.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct RepairedRoot {
    /// Repaired values.
    pub repairs: Vec<Repair>,
    /// Lock files that change.
    pub files: Vec<FileChange>,
}

impl Session<'_> {
    /// Repairs the lock files of providers and of modules of root modules. Makes no requests and
    /// reads no configuration. A root module that fails does not stop the others, and its lock
    /// files stay unchanged.
    pub fn repair(&self, roots: &Roots, dry_run: bool) -> Report<RepairedRoot> {
        let mut written = BTreeSet::new();
        let mut repaired_roots = Vec::new();
        for (path, repaired) in self.each_root(roots, |root| repaired(&root)) {
            let result = match repaired {
                Ok(repaired) if !dry_run => write(repaired, &mut written),
                repaired => repaired,
            };
            repaired_roots.push((path, result));
        }
        self.notify_sources_read();
        Report {
            roots: repaired_roots,
            findings: Vec::new(),
            coverage: Coverage::default(),
        }
    }
}

/// Writes the files of a root module that no other root module has written.
fn write(repaired: RepairedRoot, written: &mut BTreeSet<PathBuf>) -> Result<RepairedRoot> {
    let unwritten = repaired
        .files
        .iter()
        .filter(|change| written.insert(canonical_or_given(&change.path)));
    files::write_all(unwritten)?;
    Ok(repaired)
}

fn repaired(root: &RootModule) -> Result<RepairedRoot> {
    let mut repaired = RepairedRoot::default();
    let mut errors = Diagnostics::default();
    if let Some(bytes) = &root.lock_bytes {
        let added = add::<LockedProvider>(&mut repaired, &root.lock_path, bytes, root.dialect);
        errors.extend(added.err().into_iter().flatten());
    }
    if let Some(bytes) = &root.module_lock_bytes {
        let path = &root.module_lock_path;
        let added = add::<LockedModule>(&mut repaired, path, bytes, root.dialect);
        errors.extend(added.err().into_iter().flatten());
    }
    errors.into_result(repaired)
}

/// Adds the repairs of a lock file.
fn add<T: EntryKind>(
    repaired: &mut RepairedRoot,
    path: &Path,
    bytes: &[u8],
    dialect: Dialect,
) -> Result<()> {
    let file = repair_as::<T>(path, bytes, dialect)?;
    if !file.repairs.is_empty() {
        repaired.repairs.extend(file.repairs);
        repaired.files.push(FileChange {
            path: path.to_owned(),
            old: Some(bytes.to_vec()),
            new: file.bytes,
        });
    }
    Ok(())
}
