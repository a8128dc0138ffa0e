//! Many root modules together, in the order of their paths.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::options::LockOptions;
use super::{RootSelection, SelectedRoot, Workspace};
use crate::configuration::{ModuleCache, Requirements};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Remedy, Result};
use crate::lockfile::LockFile;
use crate::packages::PublicationDates;
use crate::project::plan::{LockRequest, MinimumAge};
use crate::provider::{Dialect, Platform, ProviderAddress, ProviderSpec, SharedCache, Version};
use crate::settings::PlatformSelection;
use crate::system::parallel;

/// Root modules that are locked or upgraded together, in the order of their paths: one, or a batch of many.
#[derive(Default)]
pub struct Workspaces {
    members: Vec<ReadRoot>,
    /// Whether errors say which root module they are about, since there may be several.
    are_many: bool,
}

/// A root module, or what is wrong with it.
pub(super) type ReadRoot = (PathBuf, Result<Member>);

/// What decides what a root module is locked from: whose rules it follows, and whose facts about packages count for it.
pub(super) type SupplyKind<'a> = (Dialect, Option<&'a SharedCache>);

/// A root module with all that has been read to lock it.
pub struct Member {
    /// The root module.
    pub workspace: Workspace,
    /// Its lock file; empty if there is none.
    pub lock_file: LockFile,
    /// What its configuration requires.
    pub requirements: Requirements,
    /// The platforms to lock.
    pub platforms: PlatformSelection,
    /// Whether nobody has said which platforms are meant, so that it is the one that this program runs on.
    pub has_default_platform: bool,
    /// What the user should know of the lock file.
    pub warnings: Vec<Diagnostic>,
    /// The providers that are named; all when empty.
    pub(super) only: Vec<ProviderAddress>,
    /// The versions that some of them are to have.
    versions: BTreeMap<ProviderAddress, Version>,
}

impl Workspaces {
    /// One root module.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn one(workspace: Workspace, options: &LockOptions, modules: &ModuleCache) -> Result<Self> {
        let path = workspace.root.clone();
        let member = Member::read(workspace, options, modules)?;
        Ok(Self { members: vec![(path, Ok(member))], are_many: false })
    }

    /// Reads root modules. `are_many`: they are some of many. What is wrong with one is an error only when it is to be locked.
    pub(super) fn read(
        selection: &RootSelection<'_>,
        options: &LockOptions,
        roots: &[SelectedRoot],
        are_many: bool,
    ) -> Self {
        let read = |root: &SelectedRoot| Self::read_one(selection, options, root, are_many);
        Self { members: parallel::map(roots.iter().collect(), selection.modules.threads(), read), are_many }
    }

    /// Reads one of the root modules, as [`Workspaces::read`] does.
    pub(super) fn read_one(
        selection: &RootSelection<'_>,
        options: &LockOptions,
        SelectedRoot { path, is_named }: &SelectedRoot,
        are_many: bool,
    ) -> ReadRoot {
        let member = selection.open(path).and_then(|workspace| {
            let elsewhere = if *is_named { selection.roots_elsewhere(&workspace) } else { None };
            elsewhere.map_or_else(|| Member::read(workspace, options, selection.modules), |error| Err(error.into()))
        });
        (path.clone(), member.map_err(|errors| in_root(path, are_many, errors)))
    }

    /// Some of many root modules.
    pub(super) fn some_of_many(members: Vec<ReadRoot>) -> Self {
        Self { members, are_many: true }
    }

    /// Whether there may be several root modules, so that it must be said which one something is about.
    pub fn are_many(&self) -> bool {
        self.are_many
    }

    /// Leaves out the root modules that require none of the providers that are named.
    pub(super) fn leave_out_others(&mut self) {
        self.members.retain_mut(|(_, member)| {
            let Ok(member) = member else { return true };
            let required = &member.requirements.providers;
            member.only.retain(|address| required.contains_key(address));
            !member.only.is_empty()
        });
    }

    /// Forgets what has been read of the root modules' own directories.
    pub(super) fn forget(&self, modules: &ModuleCache) {
        self.members().for_each(|(_, member)| modules.forget(&member.workspace.canonical));
    }

    /// Whether a root module could not be read.
    pub(super) fn has_failures(&self) -> bool {
        self.members.iter().any(|(_, member)| member.is_err())
    }

    /// The root modules that could be read, each with its index among all.
    pub fn members(&self) -> impl Iterator<Item = (usize, &Member)> {
        self.members.iter().enumerate().filter_map(|(index, (_, member))| Some((index, member.as_ref().ok()?)))
    }

    /// The root modules that failed, given a result for each root module.
    pub fn failures<'a, T>(&'a self, results: &'a [Result<T>]) -> impl Iterator<Item = (&'a Path, &'a Diagnostics)> {
        let members = self.members.iter().zip(results);
        members.filter_map(|((path, _), result)| Some((path.as_path(), result.as_ref().err()?)))
    }

    /// The root modules that are locked from the same.
    pub(super) fn of_kind<'a, 'b>(
        &'a self,
        kind: SupplyKind<'b>,
    ) -> impl Iterator<Item = (usize, &'a Member)> + use<'a, 'b> {
        self.members().filter(move |(_, member)| member.supply_kind() == kind)
    }

    /// Errors about a root module, with commands that keep its dialect.
    fn in_dialect(&self, index: usize, errors: Diagnostics) -> Diagnostics {
        match &self.members[index].1 {
            Ok(member) => errors.map(|error| member.workspace.in_dialect(error)),
            Err(_) => errors,
        }
    }

    /// One result for each root module, made from those of the ones that could be read. `refused` are errors that have one
    /// reason for all, so they do not say which root module they are about.
    pub(super) fn results<T>(
        &self,
        results: Vec<(usize, Result<T>)>,
        refused: Vec<(usize, Diagnostics)>,
    ) -> Vec<Result<T>> {
        let name = |(index, result): (usize, Result<T>)| {
            let result = result.map_err(|errors| self.in_dialect(index, errors));
            match result {
                Err(errors) => (index, Err(in_root(&self.members[index].0, self.are_many, errors))),
                Ok(value) => (index, Ok(value)),
            }
        };
        let refused = refused.into_iter().map(|(index, errors)| (index, Err(errors)));
        let mut results: BTreeMap<usize, Result<T>> = results.into_iter().map(name).chain(refused).collect();
        let members = self.members.iter().enumerate();
        let result = |(index, (_, member)): (usize, &ReadRoot)| match member {
            Err(errors) => Err(errors.clone()),
            Ok(_) => results.remove(&index).unwrap_or_else(|| Err(Diagnostics::default())),
        };
        members.map(result).collect()
    }
}

impl Member {
    fn read(workspace: Workspace, options: &LockOptions, modules: &ModuleCache) -> Result<Self> {
        let (lock_file, warnings) = workspace.lock_file()?;
        Ok(Self { warnings, ..Self::new(workspace, lock_file, options, modules)? })
    }

    /// A root module with a lock file that need not be the one on disk.
    pub(super) fn new(
        workspace: Workspace,
        lock_file: LockFile,
        options: &LockOptions,
        modules: &ModuleCache,
    ) -> Result<Self> {
        let requirements = workspace.requirements(options.ignore_tests, options.allow_missing_modules, modules)?;
        let named = options.platforms.clone().or_else(|| workspace.settings.platforms.clone());
        let has_default_platform = named.is_none();
        let platforms = named.unwrap_or_else(|| PlatformSelection::These(vec![Platform::current()]));
        let (only, versions) = resolve(&options.providers, workspace.dialect)?;
        let warnings = Vec::new();
        Ok(Self { workspace, lock_file, requirements, platforms, has_default_platform, warnings, only, versions })
    }

    /// What decides where packages come from.
    pub(super) fn supply_kind(&self) -> SupplyKind<'_> {
        (self.workspace.dialect, self.workspace.settings.shared_cache())
    }

    /// The providers that are named and required; all that are required when none is named.
    pub fn providers(&self) -> impl Iterator<Item = &ProviderAddress> {
        let only = &self.only;
        self.requirements.providers.keys().filter(move |address| only.is_empty() || only.contains(address))
    }

    /// The providers that are named and required.
    pub(super) fn named_and_required(&self) -> impl Iterator<Item = &ProviderAddress> {
        self.only.iter().filter(|address| self.requirements.providers.contains_key(address))
    }

    /// What `lock` is asked for.
    ///
    /// # Errors
    /// An age is demanded of one of the providers that `choosing` says a version is chosen of, and nobody knows dates.
    pub(super) fn request<'a>(
        &'a self,
        dates: Option<&'a PublicationDates>,
        options: &'a LockOptions,
        choosing: impl FnOnce(&LockRequest<'a>) -> Vec<&'a ProviderAddress>,
    ) -> Result<LockRequest<'a>> {
        let request = self.request_of_any_age(options);
        let Some(age) = self.minimum_age(options) else { return Ok(request) };
        if let Some(dates) = dates {
            let minimum_age = Some(MinimumAge { age, now: options.now, dates });
            return Ok(LockRequest { minimum_age, ..request });
        }
        let Workspace { settings, dialect, .. } = &self.workspace;
        let is_exempt = |address: &&ProviderAddress| settings.policy.is_exempt_from_min_age(address, *dialect);
        if choosing(&request).iter().all(is_exempt) {
            return Ok(request);
        }
        let message = "min-age is set, but offline it is not known when versions were published";
        let help =
            Help::text("to ignore the age pass ").and(Remedy::AnyAge).and_text(", or omit ").and(Remedy::Offline);
        Err(Diagnostic::error(Code::InvalidArgument, message).help(help).into())
    }

    /// [`Member::request`], where versions may be of any age.
    pub(super) fn request_of_any_age<'a>(&'a self, options: &'a LockOptions) -> LockRequest<'a> {
        LockRequest {
            requirements: &self.requirements,
            lock_file: &self.lock_file,
            dialect: self.workspace.dialect,
            platforms: &self.platforms,
            platforms_are_named: !self.has_default_platform,
            cache: options.cache.as_ref(),
            only: &self.only,
            versions: &self.versions,
            minimum_age: None,
            policy: &self.workspace.settings.policy,
            prune: options.prune,
            accept_changed_hashes: options.accept_changed_hashes,
        }
    }

    /// The age that the options demand, else the settings; none when none is demanded.
    pub(super) fn minimum_age(&self, options: &LockOptions) -> Option<std::time::Duration> {
        options.min_age.or(self.workspace.settings.policy.min_age()).filter(|age| !age.is_zero())
    }
}

/// The providers that are named, and the versions that some of them are to have.
fn resolve(
    providers: &[ProviderSpec],
    dialect: Dialect,
) -> Result<(Vec<ProviderAddress>, BTreeMap<ProviderAddress, Version>)> {
    let only: Vec<_> = providers.iter().map(|provider| provider.resolve(dialect)).collect();
    let mut versions = BTreeMap::new();
    for (address, provider) in only.iter().zip(providers) {
        let Some(version) = provider.version().cloned() else { continue };
        if versions.insert(address.clone(), version).is_some_and(|other| other != versions[address]) {
            let message = format!("two different versions of {address} are requested");
            return Err(Diagnostic::error(Code::InvalidArgument, message).into());
        }
    }
    Ok((only, versions))
}

/// Errors about a root module, with commands for it; of one of many they say which.
fn in_root(path: &Path, is_one_of_many: bool, errors: Diagnostics) -> Diagnostics {
    errors.map(|error| {
        let error = error.in_directory(path);
        if is_one_of_many { error.in_root(path) } else { error }
    })
}
