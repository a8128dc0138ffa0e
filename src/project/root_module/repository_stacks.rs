//! The stacks of a repository, and where the lock files of the units are that they generate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::configuration::terragrunt::{
    GeneratedFrom, GeneratedUnit, GeneratedUnits, Repository, STACK, Unknown,
};
use crate::lockfile::LOCK_FILE_NAME;
use crate::system::files::join;
use crate::system::{Environment, Tree, walk};

/// The stacks of a repository.
#[derive(Debug)]
pub(in crate::project) struct RepositoryStacks {
    repository: Repository,
    units: GeneratedUnits,
    /// Environment for `get_env`.
    variables: BTreeMap<String, String>,
    /// Directories with lock files that git does not ignore.
    locked: BTreeSet<PathBuf>,
    /// Whether the lock files of generated units are committed where the units are generated.
    are_locked_where_generated: bool,
}

/// A directory with a file that decides on stacks.
enum DirectoryWith {
    Stack(PathBuf),
    LockFile(PathBuf),
}

impl RepositoryStacks {
    /// Reads the stacks below the top of a repository, except in directories that git ignores.
    /// `None` if the top cannot be opened.
    pub(in crate::project) fn below(
        tree: &Tree,
        top: &Path,
        environment: &Environment,
    ) -> Option<Self> {
        let collected = walk::collect_below(tree, top, |directory| {
            let mut directories = Vec::new();
            for file in directory.files {
                if file.name == STACK && !directory.ignores(file) {
                    directories.push(DirectoryWith::Stack(directory.path.to_owned()));
                }
                if file.name == LOCK_FILE_NAME && !directory.ignores(file) {
                    directories.push(DirectoryWith::LockFile(directory.path.to_owned()));
                }
            }
            directories
        });
        let mut with_stack = BTreeSet::new();
        let mut locked = BTreeSet::new();
        for directory in collected.items {
            match directory {
                DirectoryWith::Stack(path) => with_stack.insert(path),
                DirectoryWith::LockFile(path) => locked.insert(path),
            };
        }

        let shown = join(&environment.shown_path(top), "");
        let repository = Repository::open_from(tree, top, &shown).ok()?;
        let units = GeneratedUnits::read(&with_stack, &repository, &environment.variables);
        let mut stacks = Self {
            repository,
            units,
            variables: environment.variables.clone(),
            locked,
            are_locked_where_generated: false,
        };
        stacks.are_locked_where_generated = stacks
            .units
            .iter()
            .any(|unit| stacks.is_locked(&unit.directory) && !stacks.has_locked_source(unit));
        Some(stacks)
    }

    pub(in crate::project) fn repository(&self) -> &Repository {
        &self.repository
    }

    pub(in crate::project) fn variables(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    /// The unit that is generated in a directory, which is given without symbolic links.
    ///
    /// # Errors
    /// No unit is known to be generated there.
    pub(in crate::project) fn unit_at(
        &self,
        directory: &Path,
    ) -> std::result::Result<&GeneratedUnit, Unknown> {
        self.units.unit_at(directory, &self.repository)
    }

    /// Whether stacks generate copies of a directory, which is given without symbolic links.
    pub(in crate::project) fn has_copies(&self, source: &Path) -> bool {
        self.units.of_source(source).next().is_some()
    }

    /// The copies of a directory that use the lock file beside it, or would. Terragrunt replaces a
    /// lock file of a copy by this one.
    pub(in crate::project) fn locked_beside<'a>(
        &'a self,
        source: &'a Path,
    ) -> impl Iterator<Item = &'a GeneratedUnit> {
        let units = self.units.of_source(source);
        units.filter(|unit| !self.is_locked_where_generated(unit))
    }

    /// The units without a lock file for which one would be written where they are generated.
    pub(in crate::project) fn to_lock_where_generated(
        &self,
    ) -> impl Iterator<Item = &GeneratedUnit> {
        let units = self.units.iter();
        units
            .filter(|unit| self.is_locked_where_generated(unit) && !self.is_locked(&unit.directory))
    }

    /// Whether the lock file of a unit is where it is generated, or would be written there.
    fn is_locked_where_generated(&self, unit: &GeneratedUnit) -> bool {
        !self.has_locked_source(unit)
            && (self.is_locked(&unit.directory) || self.are_locked_where_generated)
    }

    fn has_locked_source(&self, unit: &GeneratedUnit) -> bool {
        match &unit.source {
            Ok(GeneratedFrom::Directory(source)) => {
                self.repository.tree().has(&source.join(LOCK_FILE_NAME))
            }
            Ok(GeneratedFrom::Remote(..)) | Err(_) => false,
        }
    }

    fn is_locked(&self, directory: &Path) -> bool {
        self.locked.contains(directory)
    }
}
