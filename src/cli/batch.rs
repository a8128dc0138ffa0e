//! The root modules that `lock` and `upgrade` work on together, and what becomes of each.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use provlock::address::ProviderAddress;
use provlock::cli_config::Environment;
use provlock::diagnostic::{Diagnostic, Diagnostics, Result};
use provlock::dialect::Dialect;
use provlock::files::Replacement;
use provlock::lockfile::LockFile;
use provlock::ops::{self, LockOutcome, LockRequest};
use provlock::package::cache::HashCache;
use provlock::parallel;
use provlock::provider_spec::ProviderSpec;
use provlock::requirements::{ModuleCache, Requirements};
use provlock::settings::PlatformSelection;
use provlock::source::Source;

use super::connections::Connections;
use super::project::Project;
use super::render::lock::Report;
use super::roots::RootArguments;
use super::source::SourceArgs;
use super::ui::{Downloads, Ui};
use super::what::{Targets, WhatArgs};
use super::{GlobalArgs, invalid_argument};

/// A root module that is to be locked.
pub(crate) struct Root {
    pub(crate) project: Project,
    pub(crate) lock_file: LockFile,
    pub(crate) requirements: Requirements,
    platforms: PlatformSelection,
    /// Whether nobody has said which platforms are meant, so that it is the one that this program runs on.
    pub(crate) has_default_platform: bool,
    targets: Targets,
    warnings: Vec<Diagnostic>,
}

/// A root module that was locked.
pub(crate) struct Done {
    pub(crate) outcome: LockOutcome,
    /// The lock file's new bytes.
    pub(crate) new: Vec<u8>,
    pub(crate) changed: bool,
}

/// Root modules, in the order of their paths.
pub(crate) struct Batch<'a> {
    what: &'a WhatArgs,
    /// The directory of `-C`.
    chdir: Option<&'a Path>,
    cache: Option<HashCache>,
    /// Each as far as it came: it, or what is wrong with it.
    roots: Vec<Result<Root>>,
}

/// What came of each root of a batch; none for those that had failed before.
pub(crate) type Results<T> = Vec<Option<Result<T>>>;

impl<'a> Batch<'a> {
    /// Reads the root modules that the flags mean. Where there are many, those that require none of the `providers` are left
    /// out.
    pub(crate) fn open(
        what: &'a WhatArgs,
        source: &SourceArgs,
        providers: &[ProviderSpec],
        global: &'a GlobalArgs,
        environment: &Environment,
    ) -> Result<Self> {
        let modules = ModuleCache::default();
        let dialect = global.dialect;
        let paths = match &what.recursive {
            Some(paths) => {
                let roots = RootArguments { paths, recursive: true, dialect, environment, modules: &modules }.roots();
                let is_missing = paths.iter().any(|path| !path.exists());
                let help = "after -r come directories; a provider goes before it";
                let helpful = |error: Diagnostic| if is_missing { error.help(help) } else { error };
                roots.map_err(|errors| errors.map(helpful))?
            }
            None => vec![PathBuf::from(".")],
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let roots = parallel::map(paths, cores, |path| {
            let read = |project: Project| {
                let targets = Targets::new(providers, project.dialect)?;
                Root::read(project, targets, what, environment, &modules)
            };
            let root = Project::open(&path, dialect, environment).and_then(read);
            root.map_err(|errors| named(what, global.chdir.as_deref(), &path, errors))
        });
        let mut batch = Self { what, chdir: global.chdir.as_deref(), cache: source.cache(environment), roots };
        if what.is_recursive() && !providers.is_empty() {
            batch.leave_out_others(providers)?;
        }
        Ok(batch)
    }

    /// Leaves out the roots that require none of the named providers. Each must be required by some root.
    fn leave_out_others(&mut self, providers: &[ProviderSpec]) -> Result<()> {
        let required: BTreeSet<_> = self.readable().flat_map(|(_, root)| root.targets.only.iter().cloned()).collect();
        for provider in providers {
            let dialects = [Dialect::Tofu, Dialect::Terraform];
            let is_required = dialects.into_iter().any(|dialect| required.contains(&provider.resolve(dialect)));
            if !is_required && self.failed() == 0 {
                return Err(required_nowhere(provider).into());
            }
        }
        self.roots.retain(|root| root.as_ref().map_or(true, |root| !root.targets.only.is_empty()));
        Ok(())
    }

    /// Says which dialect each root has, and why.
    pub(crate) fn tell_dialects(&self, ui: &Ui) {
        for (_, root) in self.readable() {
            let Project { root, dialect, dialect_reason, .. } = &root.project;
            ui.detail(&format!("{}: dialect {dialect} ({dialect_reason})", root.display()));
        }
    }

    pub(crate) fn is_recursive(&self) -> bool {
        self.what.is_recursive()
    }

    /// The number of roots, with those that failed.
    pub(crate) fn len(&self) -> usize {
        self.roots.len()
    }

    /// The roots that have not failed, each with its index.
    pub(crate) fn readable(&self) -> impl Iterator<Item = (usize, &Root)> {
        self.roots.iter().enumerate().filter_map(|(index, root)| Some((index, root.as_ref().ok()?)))
    }

    /// The providers of all roots that are to be locked.
    pub(crate) fn providers(&self) -> impl Iterator<Item = &ProviderAddress> {
        self.readable().flat_map(|(_, root)| root.providers())
    }

    /// Those of [`Batch::readable`] that have a dialect.
    pub(crate) fn of_dialect(&self, dialect: Dialect) -> Vec<(usize, &Root)> {
        self.readable().filter(|(_, root)| root.project.dialect == dialect).collect()
    }

    /// A source for each dialect that a root has.
    pub(crate) fn sources(
        &self,
        arguments: &SourceArgs,
        connections: &Connections<'_>,
    ) -> Result<Vec<(Dialect, Source)>> {
        let groups = [Dialect::Tofu, Dialect::Terraform].map(|dialect| (dialect, self.of_dialect(dialect)));
        let groups = groups.iter().filter(|(_, group)| !group.is_empty());
        let source = |(dialect, group): &(Dialect, Vec<(usize, &Root)>)| {
            let locked = group.iter().map(|(_, root)| root.lock_file.locks());
            Ok((*dialect, arguments.source(*dialect, locked, connections)?))
        };
        groups.map(source).collect()
    }

    /// What `lock` is asked for of a root; no age is demanded.
    pub(crate) fn request<'b>(&'b self, root: &'b Root) -> LockRequest<'b> {
        LockRequest {
            requirements: &root.requirements,
            lock_file: &root.lock_file,
            dialect: root.project.dialect,
            platforms: &root.platforms,
            platforms_are_named: !root.has_default_platform,
            cache: self.cache.as_ref(),
            only: &root.targets.only,
            versions: &root.targets.versions,
            minimum_age: None,
            policy: &root.project.settings.policy,
            prune: self.what.prune,
            accept_changed_hashes: self.what.accept_changed_hashes,
        }
    }

    /// Locks all roots that have not failed, those of a dialect together. `write` gets the lock file of a root as soon as it
    /// is known, if it changes, and writes what there is to write.
    pub(crate) fn lock<'b>(
        &'b self,
        sources: &[(Dialect, Source)],
        request: impl Fn(usize, &'b Root) -> LockRequest<'b>,
        write: &(dyn Fn(usize, Option<Replacement<'_>>) -> Result<()> + Sync),
        downloads: &Downloads,
    ) -> Results<Done> {
        let results = Mutex::new(self.roots.iter().map(|_| None).collect::<Vec<_>>());
        for (dialect, source) in sources {
            let group = self.of_dialect(*dialect);
            let requests: Vec<_> = group.iter().map(|(index, root)| request(*index, root)).collect();
            ops::lock_all(&requests, source, &|wanted, progress| downloads.note(wanted, progress), &|place, locked| {
                let (index, root) = group[place];
                let done = locked.and_then(|outcome| root.conclude(outcome, |lock_file| write(index, lock_file)));
                results.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(done);
            });
        }
        results.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of what came of the roots: from then on, those that failed hold their errors.
    pub(crate) fn note<T>(&mut self, results: Results<T>) -> Vec<Option<T>> {
        let mut values = Vec::new();
        for (root, result) in self.roots.iter_mut().zip(results) {
            let (value, errors) = match result {
                Some(Ok(value)) => (Some(value), None),
                Some(Err(errors)) => (None, Some(errors)),
                None => (None, None),
            };
            if let (Ok(known), Some(errors)) = (&root, errors) {
                *root = Err(named(self.what, self.chdir, &known.project.root, errors));
            }
            values.push(value);
        }
        values
    }

    /// Takes note that roots failed for one common reason.
    pub(crate) fn fail(&mut self, indices: &[usize], error: &Diagnostic) {
        for index in indices {
            match &mut self.roots[*index] {
                Err(errors) => errors.push(error.clone()),
                root => *root = Err(error.clone().into()),
            }
        }
    }

    /// What the user should know of the roots that have not failed, each thing once.
    pub(crate) fn warnings<'b>(&'b self, more: impl IntoIterator<Item = &'b Diagnostic>) -> Vec<Diagnostic> {
        without_repetition(self.readable().flat_map(|(_, root)| &root.warnings).chain(more))
    }

    /// What is wrong with those that failed, each thing once.
    pub(crate) fn errors(&self) -> Vec<Diagnostic> {
        without_repetition(self.roots.iter().filter_map(|root| root.as_ref().err()).flatten())
    }

    /// How many failed.
    pub(crate) fn failed(&self) -> usize {
        self.roots.iter().filter(|root| root.is_err()).count()
    }

    /// The roots that were locked, each with its index.
    pub(crate) fn reports<'b>(&'b self, done: &'b [Option<Done>], written: bool) -> Vec<(usize, Report<'b>)> {
        let report = |(index, root): (usize, &'b Root)| {
            let Done { outcome, changed, .. } = done[index].as_ref()?;
            Some((index, Report { project: &root.project, outcome, changed: *changed, written }))
        };
        self.readable().filter_map(report).collect()
    }
}

impl Root {
    fn read(
        project: Project,
        mut targets: Targets,
        what: &WhatArgs,
        environment: &Environment,
        modules: &ModuleCache,
    ) -> Result<Self> {
        let (lock_file, warnings) = project.lock_file()?;
        let platforms = what.platforms.named_or_current(&project.settings);
        let has_default_platform = what.platforms.named(&project.settings).is_none();
        let requirements = what.requirements(&project, environment, modules)?;
        if what.is_recursive() {
            targets.only.retain(|address| requirements.providers.contains_key(address));
        }
        Ok(Self { project, lock_file, requirements, platforms, has_default_platform, targets, warnings })
    }

    /// The providers that are named and required; all that are required when none is named.
    pub(crate) fn providers(&self) -> impl Iterator<Item = &ProviderAddress> {
        let only = &self.targets.only;
        self.requirements.providers.keys().filter(move |address| only.is_empty() || only.contains(address))
    }

    /// Makes the new lock file, and hands it on to be written if it differs.
    fn conclude(&self, outcome: LockOutcome, write: impl Fn(Option<Replacement<'_>>) -> Result<()>) -> Result<Done> {
        let old = self.project.lock_bytes.as_deref();
        let new = self.lock_file.edit(&outcome.locks)?;
        let changed = old != Some(new.as_slice());
        let lock_file = Replacement { path: &self.project.lock_path, old, new: &new };
        write(changed.then_some(lock_file))?;
        Ok(Done { outcome, new, changed })
    }
}

/// The errors of a root module; when there may be many roots, with its name and with commands for it.
fn named(what: &WhatArgs, chdir: Option<&Path>, root: &Path, errors: Diagnostics) -> Diagnostics {
    if !what.is_recursive() {
        return errors;
    }
    let directory = match chdir {
        Some(chdir) if root != Path::new(".") => chdir.join(root),
        Some(chdir) => chdir.to_owned(),
        None => root.to_owned(),
    };
    errors.map(|error| error.in_directory(&directory).note(format!("root module: {}", root.display())))
}

/// The error for a provider that no root module requires, or for a directory that another argument stands in front of.
fn required_nowhere(provider: &ProviderSpec) -> Diagnostic {
    let error = invalid_argument(format!("no root module requires {provider}"));
    let directory = provider.to_string();
    if Path::new(&directory).is_dir() {
        error.help(format!("{directory} is a directory: put it right after -r"))
    } else {
        error
    }
}

/// Each diagnostic once: the same one comes from every root that has the cause.
fn without_repetition<'a>(diagnostics: impl Iterator<Item = &'a Diagnostic>) -> Vec<Diagnostic> {
    #[expect(
        clippy::mutable_key_type,
        reason = "what a file computes when it is needed counts neither for Eq nor for Hash"
    )]
    let mut seen = HashSet::new();
    diagnostics.filter(|diagnostic| seen.insert(*diagnostic)).cloned().collect()
}
