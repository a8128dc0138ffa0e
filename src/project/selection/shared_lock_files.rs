//! Root modules that share a lock file through symbolic links: the file must meet the requirements
//! of all of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::configuration::terragrunt::is_unit;
use crate::configuration::{NO_OBSERVER, Requirements, Resolver};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::lockfile::{LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME};
use crate::project::root_module::linked_lock_files::{Linked, own_directory};
use crate::project::root_module::locked_calls;
use crate::project::root_module::roots::{
    FoundRoot, SharedFiles, SharingRoot, kind_of, without_leading_dot,
};
use crate::project::root_module::{DialectReason, MissingModules, ReadingOptions, RootModule};
use crate::project::session::Session;
use crate::provider::Dialect;
use crate::system::{Tree, files, parallel};

/// Maximum number of root modules that share a lock file, because each of them is compared with all
/// others.
const MOST_SHARING: usize = 500;

/// The root modules of a list, by their lock files.
type Users<'a> = HashMap<&'a Linked, Vec<&'a FoundRoot>>;

/// The directories that share lock files with a root module, with their paths as the user knows
/// them.
#[derive(Default)]
struct Sharing {
    /// The lock file of providers, if it is shared, without symlinks.
    lock_file: Option<PathBuf>,
    with_providers: BTreeMap<PathBuf, PathBuf>,
    with_modules: BTreeMap<PathBuf, PathBuf>,
}

impl Sharing {
    /// Each directory with what it shares.
    fn into_roots(self) -> Vec<SharingRoot> {
        let mut all = self.with_providers.clone();
        all.extend(self.with_modules.clone());
        let mut roots = Vec::new();
        for (canonical, path) in all {
            let shared = SharedFiles::Linked {
                providers: self.with_providers.contains_key(&canonical),
                modules: self.with_modules.contains_key(&canonical),
            };
            roots.push(SharingRoot {
                path,
                canonical,
                shared,
            });
        }
        roots
    }
}

/// Lock files of a root module, by kind.
struct LockFiles {
    providers: Option<Linked>,
    modules: Option<Linked>,
}

impl LockFiles {
    fn of(tree: &Tree, root: &FoundRoot) -> Self {
        let Some(directory) = root.lock_directory.as_ref().or(root.canonical.as_ref()) else {
            return Self {
                providers: None,
                modules: None,
            };
        };
        // Files of a listed directory without links resolve to themselves.
        if let Some(listed) = root.listed_lock_files
            && root.lock_directory.is_none()
        {
            return Self {
                providers: own_file_if(listed.has_providers, directory, LOCK_FILE_NAME),
                modules: own_file_if(listed.has_modules, directory, MODULE_LOCK_FILE_NAME),
            };
        }
        Self {
            providers: Linked::of(tree, directory, LOCK_FILE_NAME),
            modules: Linked::of(tree, directory, MODULE_LOCK_FILE_NAME),
        }
    }
}

/// The file of a directory with this name, which is no link; `None` if it does not exist.
fn own_file_if(exists: bool, directory: &Path, name: &'static str) -> Option<Linked> {
    exists.then(|| Linked::to(&directory.join(name), name))
}

impl Session<'_> {
    /// Completes the root modules of a list with the other root modules, in the list or not, that
    /// share a lock file with them through links.
    pub(super) fn find_sharing(&self, list: &mut [FoundRoot]) {
        let lock_files = parallel::map(list.iter().collect(), parallel::cores(), |root| {
            LockFiles::of(self.tree(), root)
        });
        let mut users = Users::new();
        for (root, files) in list.iter().zip(&lock_files) {
            for file in [&files.providers, &files.modules].into_iter().flatten() {
                users.entry(file).or_default().push(root);
            }
        }

        let roots_with_files = list.iter().zip(&lock_files).collect();
        let sharing = parallel::map(roots_with_files, parallel::cores(), |(root, files)| {
            self.sharing_of(root, files, &users)
        });

        let mut reported = BTreeSet::new();
        for (root, sharing) in list.iter_mut().zip(sharing) {
            // One root module reports what concerns all that share the file.
            if let Some(file) = &sharing.lock_file {
                root.linked_lock_file = Some(self.environment.shown_path(file));
                root.is_sharing_reported = !reported.insert(file.clone());
            }
            root.sharing.extend(sharing.into_roots());
        }
    }

    /// The lock files that a root module shares with others; none if only its policy is checked.
    fn sharing_of(&self, root: &FoundRoot, files: &LockFiles, users: &Users<'_>) -> Sharing {
        if root.is_policy_only() {
            return Sharing::default();
        }
        let with_providers = self.directories_sharing(root, files.providers.as_ref(), users);
        let with_modules = self.directories_sharing(root, files.modules.as_ref(), users);
        let mut lock_file = None;
        if let Some(file) = &files.providers
            && !with_providers.is_empty()
        {
            lock_file = Some(file.file.clone());
        }
        Sharing {
            lock_file,
            with_providers,
            with_modules,
        }
    }

    /// Returns the directory of a root module with a lock file, given by a path: that of the file,
    /// or, without a configuration there, one with a link to the file.
    pub(in crate::project) fn root_of_lock_file(&self, path: &Path) -> PathBuf {
        let directory = path.parent().map(without_leading_dot).unwrap_or_default();
        let Ok(canonical) = self.canonical(&directory) else {
            return directory;
        };
        let is_lock_file = path.file_name().is_some_and(|name| name == LOCK_FILE_NAME);
        let has_configuration = is_unit(self.tree(), &canonical)
            || !self
                .modules
                .module(&canonical, Dialect::default())
                .is_empty();
        if is_lock_file && has_configuration {
            return directory;
        }
        let file = self.environment.current_directory.join(path);
        let linked = Linked::to(&files::resolved(&file), LOCK_FILE_NAME);
        let repository =
            self.repositories
                .around_lock_file(&canonical, &linked.file, &self.environment);
        match repository.linked_lock_files().links_to(&linked).next() {
            Some(root) => without_leading_dot(&self.environment.shown_path(root)),
            None => directory,
        }
    }

    /// The other directories whose lock file is the same file, through links, with their paths as
    /// the user knows them. Directories outside of the repository, and of units that use the lock
    /// file of their module, are not among them.
    fn directories_sharing(
        &self,
        root: &FoundRoot,
        file: Option<&Linked>,
        users: &Users<'_>,
    ) -> BTreeMap<PathBuf, PathBuf> {
        let mut others = BTreeMap::new();
        let (Some(file), Some(canonical)) = (file, &root.canonical) else {
            return others;
        };
        let repository =
            self.repositories
                .around_lock_file(canonical, &file.file, &self.environment);
        let links = repository.linked_lock_files().links_to(file);
        for directory in links.chain(own_directory(file)) {
            // Most root modules have a lock file of their own.
            if directory != canonical {
                let shown = without_leading_dot(&self.environment.shown_path(directory));
                others.insert(directory.to_owned(), shown);
            }
        }
        for user in users.get(file).into_iter().flatten() {
            if let Some(directory) = &user.canonical
                && directory != canonical
            {
                others.insert(directory.clone(), user.path.clone());
            }
        }

        // Units use the lock file of their module without links.
        if let Some(directory) = &root.lock_directory {
            others.remove(directory);
        }
        for unit in root.sharing_units() {
            others.remove(&unit.canonical);
        }
        others.retain(|directory, _| !self.modules.boundary.excludes(directory));
        others
    }

    /// Adds the requirements of the root modules that share a lock file with `root` through links.
    /// With a resolver, the lock file of modules is used, which they may share, too.
    ///
    /// # Errors
    /// The configuration of one of them cannot be read, or is for a different tool.
    pub(in crate::project) fn with_sharing(
        &self,
        root: &RootModule,
        own: Requirements,
        reading_options: ReadingOptions,
        resolver: Option<&Resolver<'_>>,
    ) -> Result<Requirements> {
        // All of them are read for each other, and a change can add any number of links.
        if root.found.sharing.len() > MOST_SHARING {
            let message = format!(
                "more than {MOST_SHARING} root modules share {} through links",
                root.lock_path.display()
            );
            return Err(Diagnostic::error(Code::InvalidConfiguration, message)
                .help("let fewer root modules share one lock file")
                .into());
        }

        let mut all = own;
        for other in &root.found.sharing {
            let SharedFiles::Linked { providers, modules } = other.shared else {
                continue;
            };
            let read = match resolver {
                Some(resolver) if modules => {
                    Arc::new(self.read_sharing(other, root, reading_options, Some(resolver))?)
                }
                // Its reading without this lock file of modules is the same for every root module
                // that shares.
                _ => self.shared_requirements.get_or_compute(
                    &(other.canonical.clone(), reading_options),
                    || {
                        self.read_sharing(other, root, reading_options, None)
                            .map(Arc::new)
                    },
                )?,
            };
            if providers {
                // Before the first addition, the root module itself requires all providers.
                if all.by_root.is_empty() {
                    let addresses = all.providers.keys().cloned().collect();
                    all.by_root.insert(root.path().to_owned(), addresses);
                }
                let addresses = read.providers.keys().cloned().collect();
                all.by_root.insert(other.path.clone(), addresses);
                all.add_providers(&read);
            }
            if modules && resolver.is_some() {
                all.add_calls(&read);
            }
        }
        Ok(all)
    }

    /// Reads the requirements of a root module that shares a lock file with `root`; none if it is
    /// not read, or has no configuration.
    fn read_sharing(
        &self,
        other: &SharingRoot,
        root: &RootModule,
        reading_options: ReadingOptions,
        resolver: Option<&Resolver<'_>>,
    ) -> Result<Requirements> {
        let SharingRoot {
            path, canonical, ..
        } = other;
        let kind = kind_of(self.tree(), canonical);
        let found = FoundRoot::new(path.clone(), Some(canonical.clone()), kind);
        let opened = self.open_root(&found)?;
        if opened.refused.is_some() || !opened.has_configuration(&self.modules) {
            return Ok(Requirements::default());
        }
        // An address without a host means a different registry for each tool, so no entry is for
        // both.
        if opened.dialect_reason == DialectReason::Settings && opened.dialect != root.dialect {
            return Err(different_tools(&opened, root).into());
        }

        let following = locked_calls::following_own(&opened);
        let own_resolver = following.as_ref().map(|resolve| resolve as &Resolver<'_>);
        let read = opened.requirements_as(
            reading_options.dialect,
            &self.modules,
            reading_options.ignore_tests,
            MissingModules::allowed_if(reading_options.allow_missing_modules),
            resolver.or(own_resolver),
            NO_OBSERVER,
        );
        // It may be written before it is read again.
        self.modules.forget(canonical);
        read.map_err(|errors| {
            errors.map(|error| error.note(format!("{} uses the same lock file", path.display())))
        })
    }
}

/// The error for root modules of OpenTofu and of Terraform with one lock file.
fn different_tools(other: &RootModule, root: &RootModule) -> Diagnostic {
    let message = format!(
        "{} is for {} and {} for {}, but they share the lock file {}",
        root.path().display(),
        root.dialect.name(),
        other.path().display(),
        other.dialect.name(),
        shown_lock_file(root).display(),
    );
    Diagnostic::error(Code::InvalidConfiguration, message)
        .help("give each of them a lock file of its own: OpenTofu and Terraform do not accept each other's lock files")
}

fn shown_lock_file(root: &RootModule) -> &Path {
    match &root.found.linked_lock_file {
        Some(path) => path,
        None => &root.lock_path,
    }
}
