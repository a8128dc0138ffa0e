//! Root modules as a stream: however many there are, only some are in memory.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::coverage::Coverage;
use super::event::{Event, LockedRoot, Report, RootOutcome};
use super::options::LockOptions;
use super::prepared::Prepared;
use super::roots::{RootPath, Roots};
use super::session::Session;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result};
use crate::lockfile::LOCK_FILE_NAME;
use crate::packages::Source;
use crate::provider::{Dialect, ProviderAddress, ProviderSpec, Version};
use crate::system::parallel::{self, Turn};
use crate::system::{canonicalize, lock};

/// How many root modules the first batch has at most, so that hosts are asked soon.
const FIRST_ROOTS: usize = 64;

/// How many root modules any batch has at most.
const MOST_ROOTS: usize = 512;

/// A batch ends with the root module that makes it this many providers that they require: that takes some 15 MiB.
const PROVIDERS: usize = 2_400;

/// How many batches are locked at a time. With one alone, cores would have nothing to do at its beginning and its end.
const AT_ONCE: usize = 3;

/// How many root modules are read while batches are locked, and wait for theirs.
const READ_AHEAD: usize = 64;

/// Root modules in the order of their paths, some at a time. While those of some batches are locked, others are read.
pub(super) struct Batches<'a, 'b> {
    session: &'a Session<'b>,
    options: &'a LockOptions,
    first: Batch,
    rest: Vec<RootPath>,
    /// Those whose lock file is that of one before, through a symbolic link. They come last, one by one.
    linked: Vec<RootPath>,
    are_many: bool,
    locked: KnownVersions,
    /// What was found besides the root modules.
    passed_over: Coverage,
}

/// Some root modules, each as it was read, or what is wrong with it.
pub(super) struct Batch {
    pub(super) roots: Vec<(RootPath, Result<Prepared>)>,
    are_many: bool,
    /// The versions that lock files name, where no host is asked, so that these are all there are.
    locked: KnownVersions,
}

/// Root modules with what they are locked from.
pub(super) type Group<'a> = (Arc<Source>, Vec<(usize, &'a Prepared)>);

type KnownVersions = Arc<BTreeMap<ProviderAddress, BTreeSet<Version>>>;

/// What is to be known of all root modules before the first is locked.
#[derive(Default)]
struct Survey {
    /// The providers that are named and that a root module requires.
    required: BTreeSet<ProviderAddress>,
    has_failures: bool,
    locked: BTreeMap<ProviderAddress, BTreeSet<Version>>,
}

impl<'a, 'b> Batches<'a, 'b> {
    /// Reads the first root modules, or all if they are wanted in one batch, so that what they share can be changed for
    /// all of them. Of several, those that require none of the providers that the options name are left out.
    ///
    /// # Errors
    /// None requires one of the providers. What is wrong with a single root module is an error only when it is to be
    /// locked.
    pub(super) fn open(session: &'a Session<'b>, roots: &Roots, options: &'a LockOptions, whole: bool) -> Result<Self> {
        session.notify(Event::Selected(roots));
        session.notify(Event::Reading);
        let are_many = roots.are_many();
        let (mut list, linked) = distinct_lock_files(&roots.list);
        let rest = list.split_off(if whole { list.len() } else { FIRST_ROOTS.min(list.len()) });
        let threads = session.modules.threads();
        let first = parallel::map(list, threads, |root| read(session, options, root, are_many));
        let locked = KnownVersions::default();
        let first = Batch { roots: first, are_many, locked: Arc::clone(&locked) };
        let passed_over = roots.passed_over.clone();
        let mut batches = Self { session, options, first, rest, linked, are_many, locked, passed_over };
        let surveyed = batches.survey();
        session.announce();
        surveyed?;
        let hosts = batches.first.prepared().flat_map(|(_, prepared)| prepared.providers());
        session.notify(Event::Asking(&hosts.map(|address| &address.hostname).collect()));
        Ok(batches)
    }

    /// Reads all root modules if something must be known of all of them first.
    fn survey(&mut self) -> Result<()> {
        let (names_providers, offline) = (self.names_providers(), self.session.options.offline);
        if !names_providers && !offline {
            return Ok(());
        }
        let mut survey = Survey::default();
        survey.add(&self.first, offline);
        self.read_rest(|rest| {
            for batch in rest {
                survey.add(&batch, offline);
                batch.forget(self.session);
            }
        });
        for root in &self.linked {
            let batch = self.batch_of(root);
            survey.add(&batch, offline);
            batch.forget(self.session);
        }
        if names_providers {
            survey.check(&self.options.providers)?;
            self.first.leave_out_others();
        }
        self.locked = Arc::new(survey.locked);
        self.first.locked = Arc::clone(&self.locked);
        Ok(())
    }

    /// Reads the batches after the first.
    fn read_rest(&self, consume: impl FnOnce(&mut (dyn Iterator<Item = Batch> + Send))) {
        if self.rest.is_empty() {
            return consume(&mut std::iter::empty());
        }
        let read = |root: &RootPath| read(self.session, self.options, root.clone(), true);
        let threads = self.session.modules.threads().min(self.rest.len());
        parallel::in_order(self.rest.iter(), (threads, READ_AHEAD), read, |read| {
            consume(&mut std::iter::from_fn(|| self.next_batch(read)));
        });
    }

    /// Takes root modules that were read until they are a batch; none when there are no more.
    fn next_batch(&self, read: &mut dyn Iterator<Item = (RootPath, Result<Prepared>)>) -> Option<Batch> {
        let (mut roots, mut required) = (Vec::new(), 0);
        while roots.len() < MOST_ROOTS && required < PROVIDERS {
            let Some((path, prepared)) = read.next() else { break };
            required += prepared.as_ref().map_or(0, |prepared| prepared.requirements.providers.len());
            roots.push((path, prepared));
        }
        (!roots.is_empty()).then(|| Batch { roots, are_many: self.are_many, locked: Arc::clone(&self.locked) })
    }

    /// A batch of one root module, which is read now.
    fn batch_of(&self, root: &RootPath) -> Batch {
        let root = read(self.session, self.options, root.clone(), self.are_many);
        Batch { roots: vec![root], are_many: self.are_many, locked: Arc::clone(&self.locked) }
    }

    /// Leaves out the root modules that are not meant, and makes what the others are locked from.
    fn ready(&self, mut batch: Batch) -> Batch {
        if self.names_providers() {
            batch.leave_out_others();
        }
        batch.prepare(self.session, self.options);
        batch
    }

    /// Gives the batches to `work`, which does several side by side, and reports what it did in the order of the root
    /// modules.
    pub(super) fn for_each(
        mut self,
        work: impl for<'x> Fn(&'x Batch) -> Vec<Result<RootOutcome<'x>>> + Sync,
    ) -> Report<LockedRoot> {
        let session = self.session;
        let reported = Mutex::new(Vec::new());
        let empty = Batch { roots: Vec::new(), are_many: self.are_many, locked: Arc::clone(&self.locked) };
        let first = std::mem::replace(&mut self.first, empty);
        let work = |batch: Batch, turn: Turn<'_>| {
            let done = work(&batch);
            turn.wait();
            let done = batch.roots.iter().zip(done).map(|((root, _), done)| {
                let done = session.conclude(&root.path, done);
                (root.path.clone(), done)
            });
            lock(&reported).extend(done);
            drop(turn);
            batch.forget(session);
        };
        self.read_rest(|rest| {
            let ready = std::iter::once(first).chain(rest).map(|batch| self.ready(batch));
            parallel::in_turn(ready, AT_ONCE.min(1 + self.rest.len()), work);
        });
        // Each is read after the one before was written.
        let linked = self.linked.iter().map(|root| self.ready(self.batch_of(root)));
        parallel::in_turn(linked, 1, work);
        session.finish();
        let roots = reported.into_inner().unwrap_or_else(PoisonError::into_inner);
        Report { roots, findings: Vec::new(), coverage: self.passed_over }
    }

    /// Whether only some providers of many root modules are meant.
    fn names_providers(&self) -> bool {
        self.are_many && !self.options.providers.is_empty()
    }
}

fn read(session: &Session<'_>, options: &LockOptions, root: RootPath, are_many: bool) -> (RootPath, Result<Prepared>) {
    let prepared = session.open_root(&root).and_then(|opened| {
        let canonical = opened.canonical.clone();
        let prepared = match if root.is_named { session.roots_elsewhere(&opened) } else { None } {
            Some(elsewhere) => Err(elsewhere.into()),
            None => session.prepare(opened, root.is_named, options),
        };
        // Nothing more is read of a root module that cannot be locked.
        prepared.inspect_err(|_| session.modules.forget(&canonical))
    });
    let prepared = prepared.map_err(|errors| root.name(are_many, errors));
    (root, prepared)
}

/// Root modules with a lock file of their own, and those whose lock file is a link to that of another one.
fn distinct_lock_files(roots: &[RootPath]) -> (Vec<RootPath>, Vec<RootPath>) {
    let target = |root: &RootPath| -> Option<PathBuf> {
        let path = root.lock_directory.as_ref().or(root.canonical.as_ref())?.join(LOCK_FILE_NAME);
        let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        Some(if is_link { canonicalize(&path).unwrap_or(path) } else { path })
    };
    let mut seen = HashSet::new();
    roots.iter().cloned().partition(|root| target(root).is_none_or(|target| seen.insert(target)))
}

impl Batch {
    /// The root modules that could be read, each with its index among all.
    pub(super) fn prepared(&self) -> impl Iterator<Item = (usize, &Prepared)> {
        self.roots.iter().enumerate().filter_map(|(index, (_, prepared))| Some((index, prepared.as_ref().ok()?)))
    }

    /// Notifies the observers of the root modules, and makes the sources that they are locked from.
    fn prepare(&self, session: &Session<'_>, options: &LockOptions) {
        for (_, prepared) in self.prepared() {
            session.notify(Event::Prepared(prepared));
            let (dialect, shared) = prepared.source_key();
            if !session.options.offline {
                // Errors are reported when the source is used.
                let _ = session.source(dialect, shared);
                let _ = prepared.minimum_age(options).map(|_| session.publication_dates(dialect).is_ok());
            }
        }
        session.announce();
    }

    /// Leaves out the root modules that require none of the providers that are named.
    fn leave_out_others(&mut self) {
        self.roots.retain_mut(|(_, prepared)| {
            let Ok(prepared) = prepared else { return true };
            let required = &prepared.requirements.providers;
            prepared.only.retain(|address| required.contains_key(address));
            !prepared.only.is_empty()
        });
    }

    /// Forgets what has been read of the root modules' own directories.
    fn forget(&self, session: &Session<'_>) {
        self.prepared().for_each(|(_, prepared)| session.modules.forget(&prepared.root.canonical));
    }

    /// The root modules by what they are locked from, and why some cannot be locked.
    pub(super) fn by_source<'a>(&'a self, session: &Session<'_>) -> (Vec<Group<'a>>, Vec<(usize, Diagnostics)>) {
        let (mut groups, mut refused) = (BTreeMap::<_, Vec<_>>::new(), Vec::new());
        for (index, prepared) in self.prepared() {
            let (dialect, shared) = prepared.source_key();
            groups.entry((dialect, shared)).or_default().push((index, prepared));
        }
        let mut sources = Vec::new();
        for ((dialect, shared), roots) in groups {
            let source = if session.options.offline {
                let locked = self.locked.iter();
                let locked = locked.flat_map(|(address, versions)| versions.iter().map(move |one| (address, one)));
                Ok(Arc::new(session.connections.offline(locked)))
            } else {
                session.source(dialect, shared)
            };
            match source {
                Ok(source) => sources.push((source, roots)),
                Err(errors) => refused.extend(roots.into_iter().map(|(index, _)| (index, errors.clone()))),
            }
        }
        (sources, refused)
    }

    /// One result for each root module, made from those of the ones that could be read. `refused` are errors that have
    /// one reason for all, so they do not say which root module they are about.
    pub(super) fn results<T>(
        &self,
        results: Vec<(usize, Result<T>)>,
        refused: Vec<(usize, Diagnostics)>,
    ) -> Vec<Result<T>> {
        let name = |(index, result): (usize, Result<T>)| {
            let named = result.map_err(|errors| {
                let (path, prepared) = &self.roots[index];
                let errors = match prepared {
                    Ok(prepared) => errors.map(|error| prepared.root.in_dialect(error)),
                    Err(_) => errors,
                };
                path.name(self.are_many, errors)
            });
            (index, named)
        };
        let refused = refused.into_iter().map(|(index, errors)| (index, Err(errors)));
        let mut results: BTreeMap<usize, Result<T>> = results.into_iter().map(name).chain(refused).collect();
        let roots = self.roots.iter().enumerate();
        let result = |(index, (_, prepared)): (usize, &(RootPath, Result<Prepared>))| match prepared {
            Err(errors) => Err(errors.clone()),
            Ok(_) => results.remove(&index).unwrap_or_else(|| Err(Diagnostics::default())),
        };
        roots.map(result).collect()
    }
}

impl Survey {
    fn add(&mut self, batch: &Batch, offline: bool) {
        self.has_failures |= batch.roots.iter().any(|(_, prepared)| prepared.is_err());
        for (_, prepared) in batch.prepared() {
            self.required.extend(prepared.named_and_required().cloned());
            if offline {
                for (address, provider) in prepared.lock_file.locks() {
                    self.locked.entry(address.clone()).or_default().insert(provider.version.clone());
                }
            }
        }
    }

    /// Each named provider must be required by some root module.
    fn check(&self, providers: &[ProviderSpec]) -> Result<()> {
        let is_required = |provider: &&ProviderSpec| {
            [Dialect::Tofu, Dialect::Terraform]
                .iter()
                .any(|dialect| self.required.contains(&provider.resolve(*dialect)))
        };
        match providers.iter().find(|provider| !self.has_failures && !is_required(provider)) {
            None => Ok(()),
            Some(provider) => {
                let message = format!("no root module requires {provider}, and there is no directory of that name");
                let error = Diagnostic::error(Code::InvalidArgument, message);
                Err(error.help("correct its name, or require it in a configuration first").into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::project::{ModuleFetching, Selection, SessionOptions};
    use crate::system::Environment;

    /// Whether root modules can be locked or not: there may be very many of both.
    #[test]
    fn what_was_read_of_a_root_module_is_forgotten() {
        const RIGHT: &str = "terraform {\n  backend \"local\" {}\n}\n";
        let wrong = format!("{RIGHT}{}", "resource \"a\" \"b\" {}\n".repeat(2));
        let directory = tempfile::tempdir().unwrap();
        let write = |texts: [&str; 2]| {
            for (root, text) in ["one", "two"].iter().zip(texts) {
                fs::create_dir_all(directory.path().join(root)).unwrap();
                fs::write(directory.path().join(root).join("main.tf"), text).unwrap();
            }
        };
        write([RIGHT, &wrong]);
        let options = SessionOptions { offline: true, modules: ModuleFetching::Never, ..SessionOptions::default() };
        let session = Session::new(Environment::default(), options).unwrap();
        let roots = session.roots(&Selection::recursive(directory.path())).unwrap();
        let can_be_locked = || {
            let report = session.lock(&roots, &LockOptions::default()).unwrap();
            report.roots.iter().map(|(_, root)| root.is_ok()).collect::<Vec<_>>()
        };
        assert_eq!(can_be_locked(), [true, false]);
        write([&wrong, RIGHT]);
        assert_eq!(can_be_locked(), [false, true]);
    }
}
