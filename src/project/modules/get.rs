//! Installing locked modules: below the data directory, as `get` of OpenTofu and Terraform lays
//! them out (OpenTofu's `internal/modsdir`), so that neither of them fetches a module afterwards.

#![expect(
    clippy::disallowed_methods,
    reason = "the installed modules are written, and no part of a revision"
)]

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::module_locks;
use crate::configuration::{ModuleCall, Requirements, Resolution};
use crate::diagnostic::{Code, Diagnostic, Help, Remedy, Result};
use crate::lockfile::{LockedModule, MODULE_LOCK_FILE_NAME, ModuleLocks};
use crate::modules::fetched::FetchedModule;
use crate::modules::installed::{Installed, ManifestFile};
use crate::modules::{GIT, ModuleFetcher, ModuleSource, copy, locked, package_hash};
use crate::project::coverage::Coverage;
use crate::project::event::Report;
use crate::project::root_module::roots::Roots;
use crate::project::root_module::{MissingModules, RootModule};
use crate::project::session::Session;
use crate::provider::HashesByScheme;
use crate::system::files::{self, DirectoryLock};
use crate::system::{TemporaryDirectory, boundary, parallel};

/// The list of installed modules.
const LIST_NAME: &str = "modules.json";
/// Scratch directory for packages until all are complete, in the directory of installed modules.
const SCRATCH: &str = ".provlock";
/// Longest list of installed modules in bytes.
const LONGEST_LIST: u64 = 32 << 20;
/// Number of packages that are copied at a time.
const COPIES: usize = 4;

/// Options of [`Session::get`].
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct GetOptions {
    /// Whether installed modules are only compared with the lock file.
    pub check: bool,
    /// Whether the test files of root modules are skipped.
    pub ignore_tests: bool,
    /// Whether packages of git repositories get a `.git` directory, with the commit alone.
    pub with_git: bool,
}

/// The installed modules of a root module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstalledModules {
    /// The paths of the calls whose package was installed, or would be.
    pub installed: Vec<String>,
    /// Number of packages that were already installed as locked.
    pub kept: usize,
    /// Warnings about the lock file of modules.
    pub warnings: Vec<Diagnostic>,
    /// Whether it is a Terragrunt unit. Nothing is installed then, because Terragrunt copies
    /// modules itself.
    pub is_unit: bool,
    /// Whether `modules.json`, the list of installed modules, was or would be written.
    pub is_list_written: bool,
    /// Paths of the calls whose record in `modules.json` was missing, different from the lock file,
    /// or not locked.
    pub listed_otherwise: Vec<String>,
}

impl InstalledModules {
    /// Whether an installed module differs from the lock file, or did before.
    pub fn differed(&self) -> bool {
        !self.installed.is_empty() || self.is_list_written
    }
}

impl Session<'_> {
    /// Installs the locked modules of root modules. A root module that fails stays as it was, and
    /// does not stop others.
    pub fn get(&self, roots: &Roots, options: GetOptions) -> Report<InstalledModules> {
        let roots = self.each_root(roots, |root| self.install(&root, options));
        self.notify_sources_read();
        Report {
            roots,
            findings: Vec::new(),
            coverage: Coverage::default(),
        }
    }

    /// Installs the packages that the module lock file of a root module records. With `check`, only
    /// compares the installed ones.
    fn install(&self, root: &RootModule, options: GetOptions) -> Result<InstalledModules> {
        // Terragrunt copies modules into its own cache on each run, and reads no lock file of
        // modules.
        if !root.units.is_empty() {
            return Ok(InstalledModules {
                is_unit: true,
                ..InstalledModules::default()
            });
        }
        if root.module_lock_bytes.is_none() {
            if let Some(error) = self.no_configuration_error(root) {
                return Err(error.into());
            }
            let message = format!("{} has no {MODULE_LOCK_FILE_NAME}", root.path().display());
            let help = Help::text("make one with ").and(Remedy::LockModules);
            let error = Diagnostic::error(Code::ModuleNotInstalled, message);
            return Err(error
                .with_shared_message(format!("there is no {MODULE_LOCK_FILE_NAME}"))
                .help(help)
                .into());
        }

        // 1. Find the directory.
        let (lock_file, warnings) = root.module_lock_file()?;
        let directory = files::join(root.path(), root.data_directory.join("modules"));
        if let Some(error) = data_directory_link_error(root) {
            return Err(error.into());
        }
        // The directory may not exist yet, so its nearest existing ancestor shows where it would
        // be.
        if let Some(existing) = directory.ancestors().find(|path| path.exists())
            && self.modules.boundary.is_outside(existing)
        {
            return Err(boundary::outside_error(existing).into());
        }

        // 2. Read the calls, and fetch their packages. A module that is installed is not fetched,
        // and with `--check` no module is.
        let locks = lock_file.locks();
        let mirrored = self.modules_of_settings(&root.settings);
        let modules = mirrored.as_deref().unwrap_or(&self.modules);
        let requirements = root.requirements_with(
            modules,
            options.ignore_tests,
            MissingModules::Refused,
            Some(
                &|call: &ModuleCall| match module_locks::resolve_locked(locks, call) {
                    Resolution::Only(request) => {
                        match self.installed_as_locked(call, locks, &directory) {
                            Some(module) => Resolution::Found(module),
                            None if options.check => Resolution::NotRead,
                            None => Resolution::Only(request),
                        }
                    }
                    other => other,
                },
            ),
        )?;

        // 3. Compare the packages with the installed ones, and install the packages that differ.
        let mut packages = Vec::new();
        for call in requirements.package_calls() {
            if let Some(locked) = locks.get(&call.key) {
                packages.push(LockedPackage {
                    key: call.key.clone(),
                    top: call.module.as_ref().map(FetchedModule::top),
                    is_installed: self.installed_as_locked(call, locks, &directory).is_some(),
                    locked: Arc::clone(locked),
                    source: call.source.clone(),
                });
            }
        }
        let git_fetcher = if options.with_git {
            modules.fetcher.as_deref()
        } else {
            None
        };
        let installation = Installation::new(&directory, &requirements, packages, git_fetcher);
        if !options.check {
            installation.carry_out()?;
        }
        Ok(InstalledModules {
            warnings,
            ..installation.outcome()
        })
    }

    /// The installed module of a call, if it is the locked one.
    fn installed_as_locked(
        &self,
        call: &ModuleCall,
        locks: &ModuleLocks,
        directory: &Path,
    ) -> Option<FetchedModule> {
        let locked = locks.get(&call.key)?;
        let fetcher = self.modules.fetcher.as_ref()?;
        fetcher.installed_if_locked(&directory.join(&call.key), &call.source, locked)
    }
}

/// The error for a data directory that is a link, unless `TF_DATA_DIR` is an absolute path. Files
/// would be deleted and written behind the link, which a repository may contain.
fn data_directory_link_error(root: &RootModule) -> Option<Diagnostic> {
    let data = &root.data_directory;
    let parts = data
        .ancestors()
        .filter(|part| !part.as_os_str().is_empty() && !data.is_absolute());
    let link = parts
        .map(|part| files::join(root.path(), part))
        .find(|path| path.is_symlink())?;
    let message = format!(
        "{} is a link, so no modules are installed behind it",
        link.display()
    );
    let error = Diagnostic::error(Code::OutsideRepository, message);
    Some(error.help(
        "remove the link, or set TF_DATA_DIR to the absolute path of the directory behind it",
    ))
}

/// The package of a call.
struct LockedPackage {
    key: String,
    /// Its directory; `None` if it is not installed as it is locked, and nothing is fetched.
    top: Option<PathBuf>,
    /// Whether it is installed as it is locked.
    is_installed: bool,
    locked: Arc<LockedModule>,
    /// Source of the call, with credentials.
    source: ModuleSource,
}

/// The packages and the list to install for a root module.
struct Installation<'a> {
    /// The directory of installed modules.
    directory: &'a Path,
    calls: &'a [ModuleCall],
    /// Adds the repository to packages from git, if the user requests that.
    git_fetcher: Option<&'a ModuleFetcher>,
    /// Packages that are not installed as they are locked: missing ones, and ones to replace.
    to_install: Vec<LockedPackage>,
    /// Number of packages that are installed as they are locked.
    kept: usize,
    /// Old and new content of `modules.json`.
    old_list: Option<Vec<u8>>,
    new_list: Vec<u8>,
}

impl<'a> Installation<'a> {
    /// Compares locked packages with the installed ones.
    fn new(
        directory: &'a Path,
        requirements: &'a Requirements,
        packages: Vec<LockedPackage>,
        git_fetcher: Option<&'a ModuleFetcher>,
    ) -> Self {
        let mut to_install = Vec::new();
        let mut kept = 0;
        for package in packages {
            let installed = directory.join(&package.key);
            let lacks_git = git_fetcher.is_some() && lacks_repository(&package, &installed);
            if package.is_installed && !lacks_git {
                kept += 1;
            } else {
                to_install.push(package);
            }
        }
        let old_list = files::read(&directory.join(LIST_NAME), LONGEST_LIST).ok();
        let new_list = manifest_bytes(requirements.calls.iter().filter_map(manifest_entry));
        Self {
            directory,
            calls: &requirements.calls,
            git_fetcher,
            to_install,
            kept,
            old_list,
            new_list,
        }
    }

    /// Returns what is installed, or would be.
    fn outcome(&self) -> InstalledModules {
        let is_known = self.to_install.iter().all(|package| package.top.is_some());
        InstalledModules {
            installed: self
                .to_install
                .iter()
                .map(|package| package.key.clone())
                .collect(),
            kept: self.kept,
            is_list_written: is_known && self.old_list.as_ref() != Some(&self.new_list),
            listed_otherwise: self.listed_otherwise(),
            ..InstalledModules::default()
        }
    }

    /// Calls that differ between the old and the new list.
    fn listed_otherwise(&self) -> Vec<String> {
        let old = listed_modules(self.old_list.as_deref().unwrap_or_default());
        let new = listed_modules(&self.new_list);
        let mut keys = BTreeSet::new();
        for entry in old.symmetric_difference(&new) {
            // The root module is listed without a key.
            if !entry.key.is_empty() {
                keys.insert(entry.key.clone());
            }
        }
        keys.into_iter().collect()
    }

    /// Installs the packages, in directories that are no links, and removes what a killed run has
    /// left. Does nothing if there is nothing to install or to remove.
    fn carry_out(&self) -> Result<()> {
        let scratch_parent = self.directory.join(SCRATCH);
        let is_left_over = scratch_parent.symlink_metadata().is_ok();
        if self.is_up_to_date() && !is_left_over {
            return Ok(());
        }
        // Nothing is written through a link.
        for path in [self.directory, &scratch_parent] {
            if path.is_symlink() {
                fs::remove_file(path).map_err(|error| self.io_error(&error))?;
            }
        }
        fs::create_dir_all(self.directory).map_err(|error| self.io_error(&error))?;
        let result = self.put_in_place(&scratch_parent);
        let _lock = self.wait_for_other_runs();
        // Fails if another run uses it.
        let _ = fs::remove_dir(&scratch_parent);
        result
    }

    fn is_up_to_date(&self) -> bool {
        self.to_install.is_empty() && self.old_list.as_ref() == Some(&self.new_list)
    }

    /// Waits until no other run creates or removes [`SCRATCH`], or moves packages into place. Other
    /// runs wait until the lock is dropped. Copies are not exclusive.
    fn wait_for_other_runs(&self) -> Result<DirectoryLock> {
        Ok(DirectoryLock::wait(self.directory).map_err(|error| self.io_error(&error))?)
    }

    fn io_error(&self, error: &io::Error) -> Diagnostic {
        help_with_space(
            Diagnostic::io("install modules in", self.directory, error),
            error,
        )
    }

    /// Installs packages through a new directory in `scratch_parent`. The list of installed modules
    /// never contains a package that is not in place.
    fn put_in_place(&self, scratch_parent: &Path) -> Result<()> {
        // 1. Copy the packages. Other runs may do the same meanwhile, but none may remove
        // `scratch_parent` before there is a directory in it.
        let lock = self.wait_for_other_runs()?;
        fs::create_dir_all(scratch_parent).map_err(|error| self.io_error(&error))?;
        let scratch = TemporaryDirectory::new_in(scratch_parent);
        let scratch = scratch.map_err(|error| self.io_error(&error))?;
        drop(lock);
        let numbered: Vec<_> = self.to_install.iter().enumerate().collect();
        let results = parallel::map(numbered, COPIES, |(number, package)| {
            let copy = scratch.path().join(number.to_string());
            copy_package(package, &copy, self.directory)?;
            if let Some(fetcher) = self.git_fetcher {
                fetcher.make_repository(&package.source, &package.locked, &copy.join(GIT))?;
            }
            Ok(copy)
        });
        let copies = results.into_iter().collect::<Result<Vec<_>>>()?;

        // 2. Remove the packages that are replaced from the list.
        let lock = self.wait_for_other_runs()?;
        lock.remove_left_over(self.directory, |name| name == LIST_NAME);
        let list_path = self.directory.join(LIST_NAME);
        self.unlist_replaced(&list_path)?;

        // 3. Move the copies into place, and write the whole list.
        for (package, copy) in self.to_install.iter().zip(&copies) {
            let moved = exchange_or_move(copy, &self.directory.join(&package.key));
            moved.map_err(|error| self.io_error(&error))?;
        }
        if !self.is_up_to_date() {
            write_list(&list_path, &self.new_list)?;
        }
        Ok(())
    }

    /// Removes the packages that are about to be replaced from the list, with the modules in them,
    /// so that the list is true even if the process is killed.
    fn unlist_replaced(&self, list_path: &Path) -> Result<()> {
        let replaces_any = self
            .to_install
            .iter()
            .any(|package| self.directory.join(&package.key).exists());
        if !replaces_any || !list_path.exists() {
            return Ok(());
        }
        let mut kept = Vec::new();
        for call in self.calls {
            let is_replaced = self
                .to_install
                .iter()
                .any(|package| module_locks::is_below(&call.key, &package.key));
            if !is_replaced {
                kept.extend(manifest_entry(call));
            }
        }
        write_list(list_path, &manifest_bytes(kept.into_iter()))
    }
}

/// Whether a package comes from git, and is installed without a repository whose HEAD is the locked
/// commit.
fn lacks_repository(package: &LockedPackage, installed: &Path) -> bool {
    let Some((_, commit)) = locked::git_repository(&package.locked) else {
        return false;
    };
    let directory = installed.join(GIT);
    let head = files::read(&directory.join("HEAD"), 1 << 20).unwrap_or_default();
    directory.is_symlink() || head.trim_ascii() != commit.as_bytes()
}

/// The entries of a list of installed modules; none if it cannot be read.
fn listed_modules(list: &[u8]) -> HashSet<Installed> {
    let list: ManifestFile = serde_json::from_slice(list).unwrap_or_default();
    list.modules.into_iter().collect()
}

/// Copies a package into the new directory `to` in the directory of installed modules, and compares
/// the copy with the lock file.
fn copy_package(package: &LockedPackage, to: &Path, modules: &Path) -> Result<()> {
    // Every package has a directory here: only `--check`, which copies none, fetches none.
    let from = package.top.as_deref().unwrap_or(Path::new(""));
    fs::create_dir(to)
        .and_then(|()| copy::tree(from, to))
        .map_err(|error| copy_error(&package.key, from, modules, &error))?;

    // Another process may alter the cache meanwhile, so that the copy is compared, not the
    // original.
    let hashes = &package.locked.hashes;
    let by_scheme: HashesByScheme<'_> = hashes.iter().collect();
    let h1 = package_hash::h1(to).ok();
    if !by_scheme.h1.is_empty() && h1.is_none_or(|h1| !hashes.contains(&h1)) {
        let message = format!(
            "the package of module \"{}\" changed while it was copied",
            package.key
        );
        let help = "run the command again; if this stays, empty the cache";
        return Err(Diagnostic::error(Code::InvalidPackage, message)
            .help(help)
            .into());
    }
    Ok(())
}

/// The error about a package that was not copied into the directory of installed modules.
fn copy_error(key: &str, from: &Path, modules: &Path, error: &io::Error) -> Diagnostic {
    let attempt = format!("copy the package of module \"{key}\" to");
    let note = format!("copied from {}", from.display());
    help_with_space(Diagnostic::io(&attempt, modules, error).note(note), error)
}

/// Adds the next step to an error about the directory of installed modules if the disk is full.
fn help_with_space(diagnostic: Diagnostic, error: &io::Error) -> Diagnostic {
    if files::is_disk_full(error) {
        diagnostic.help("free disk space for this directory")
    } else {
        diagnostic
    }
}

/// Exchanges a directory with the directory or file at the target, or moves it there if there is
/// none.
fn exchange_or_move(new: &Path, target: &Path) -> io::Result<()> {
    let _uninterrupted = files::hold_off_interrupts();
    if let Err(error) = target.symlink_metadata() {
        return if error.kind() == ErrorKind::NotFound {
            fs::rename(new, target)
        } else {
            Err(error)
        };
    }
    if exchange(new, target).is_ok() {
        return Ok(());
    }
    let old = new.with_extension("old");
    fs::rename(target, &old)?;
    fs::rename(new, target).inspect_err(|_| drop(fs::rename(&old, target)))
}

/// Exchanges two paths in one step.
#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)?)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange(_: &Path, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Replaces the list of installed modules, even if it is a link or an empty directory.
fn write_list(path: &Path, bytes: &[u8]) -> Result<()> {
    Ok(replace(path, bytes).map_err(|error| Diagnostic::io("write", path, &error))?)
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path)?;
    }
    files::overwrite(path, bytes)
}

/// The entry of a call in `modules.json`; `None` for a call that is not installed.
fn manifest_entry(call: &ModuleCall) -> Option<Installed> {
    let directory = call.directory.as_ref()?.to_string_lossy();
    let mut version = String::new();
    if let (ModuleSource::Registry(_), Some(module)) = (&call.source, &call.module)
        && let Some(fetched_version) = module.version()
    {
        version = fetched_version.to_string();
    }
    Some(Installed {
        key: call.key.clone(),
        source: call.source.manifest_text(),
        version,
        dir: directory.replace(std::path::MAIN_SEPARATOR, "/").into(),
    })
}

/// `modules.json`, byte for byte as OpenTofu and Terraform write it.
fn manifest_bytes(modules: impl Iterator<Item = Installed>) -> Vec<u8> {
    let root = Installed {
        key: String::new(),
        source: String::new(),
        version: String::new(),
        dir: ".".into(),
    };
    // Both tools list the root module first, and the calls in the order of their keys.
    let mut modules: Vec<_> = modules.collect();
    modules.sort_by(|one, other| one.key.cmp(&other.key));
    modules.insert(0, root);
    let mut text = serde_json::to_string(&ManifestFile { modules }).unwrap_or_default();
    // As Go's `encoding/json` does.
    for (character, escape) in [
        ("&", "\\u0026"),
        ("<", "\\u003c"),
        (">", "\\u003e"),
        ("\u{2028}", "\\u2028"),
        ("\u{2029}", "\\u2029"),
    ] {
        text = text.replace(character, escape);
    }
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_written_as_go_writes_it() {
        let entry = |key: &str, source: &str, version: &str| Installed {
            key: key.to_owned(),
            source: source.to_owned(),
            version: version.to_owned(),
            dir: format!(".terraform/modules/{key}").into(),
        };
        let entries = [
            entry("a.b", "https://h.test/m.zip?x=1&y=<2>", ""),
            entry("a", "registry.opentofu.org/a/b/c", "1.2.0"),
            entry("a-b", "./m", ""),
        ];
        let expected = concat!(
            r#"{"Modules":[{"Key":"","Source":"","Dir":"."},"#,
            r#"{"Key":"a","Source":"registry.opentofu.org/a/b/c","Version":"1.2.0","Dir":".terraform/modules/a"},"#,
            r#"{"Key":"a-b","Source":"./m","Dir":".terraform/modules/a-b"},"#,
            r#"{"Key":"a.b","Source":"https://h.test/m.zip?x=1\u0026y=\u003c2\u003e","Dir":".terraform/modules/a.b"}]}"#
        );
        assert_eq!(
            String::from_utf8(manifest_bytes(entries.into_iter())).unwrap(),
            expected
        );
    }

    #[test]
    fn a_full_disk_is_that_of_the_installed_modules() {
        let modules = Path::new(".terraform/modules");
        let error = io::Error::from(ErrorKind::StorageFull);
        let diagnostic = copy_error("net", Path::new("/cache/a"), modules, &error);
        assert_eq!(
            diagnostic.message,
            "cannot copy the package of module \"net\" to .terraform/modules: no storage space"
        );
        assert!(diagnostic.help.is_some());
        let error = io::Error::from(ErrorKind::PermissionDenied);
        assert!(
            copy_error("net", Path::new("/cache/a"), modules, &error)
                .help
                .is_none()
        );
    }
}
