//! Root modules as a stream: however many there are, only some are in memory.

use std::collections::{BTreeMap, BTreeSet};

use super::many::{ReadRoot, Workspaces};
use super::options::LockOptions;
use super::selection::{RootSelection, SelectedRoot};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::provider::{Dialect, ProviderAddress, ProviderSpec, Version};
use crate::system::parallel::{self, Turn};

/// How many root modules the first batch has at most, so that hosts are asked soon.
const FIRST_ROOTS: usize = 64;

/// How many root modules any batch has at most.
const MOST_ROOTS: usize = 512;

/// A batch ends with the root module that makes it this many providers that they require: that takes some 20 MiB.
const PROVIDERS: usize = 3_200;

/// How many batches are locked at a time. With one alone, cores would have nothing to do at its beginning and its end.
const AT_ONCE: usize = 3;

/// How many root modules are read while batches are locked, and wait for theirs.
const READ_AHEAD: usize = 64;

/// Root modules in the order of their paths, some at a time. While those of some batches are locked, others are read.
pub struct Batches<'a> {
    selection: &'a RootSelection<'a>,
    options: &'a LockOptions,
    first: Workspaces,
    rest: Vec<SelectedRoot>,
    are_many: bool,
    locked: KnownVersions,
}

/// Versions of providers.
pub(super) type KnownVersions = BTreeMap<ProviderAddress, BTreeSet<Version>>;

/// What is to be known of all root modules before the first is locked.
#[derive(Default)]
struct Survey {
    /// The providers that are named and that a root module requires.
    required: BTreeSet<ProviderAddress>,
    has_failures: bool,
    locked: KnownVersions,
}

impl<'a> Batches<'a> {
    /// The root modules that paths mean. Of several, those that require none of the providers that the options name are left out.
    ///
    /// # Errors
    /// There is no root module, or none requires one of the providers. What is wrong with a single root module is an error
    /// only when it is to be locked.
    pub fn open(selection: &'a RootSelection<'a>, options: &'a LockOptions) -> Result<Self> {
        Self::of_size(selection, options, Some(FIRST_ROOTS))
    }

    /// [`Batches::open`], with all root modules in one batch, so that what they share can be changed for all of them.
    ///
    /// # Errors
    /// Those of [`Batches::open`].
    pub fn whole(selection: &'a RootSelection<'a>, options: &'a LockOptions) -> Result<Self> {
        Self::of_size(selection, options, None)
    }

    fn of_size(selection: &'a RootSelection<'a>, options: &'a LockOptions, size: Option<usize>) -> Result<Self> {
        let mut rest = selection.roots()?;
        let are_many = selection.recursive || rest.len() != 1;
        let after_first = rest.split_off(size.unwrap_or(usize::MAX).min(rest.len()));
        let first = Workspaces::read(selection, options, &rest, are_many);
        let mut batches = Self { selection, options, first, rest: after_first, are_many, locked: KnownVersions::new() };
        batches.survey()?;
        Ok(batches)
    }

    /// Whether there may be several root modules, so that it must be said which one something is about.
    pub fn are_many(&self) -> bool {
        self.are_many
    }

    /// The versions that lock files name, where no host is asked, so that these are all there are.
    pub(super) fn locked_versions(&self) -> &KnownVersions {
        &self.locked
    }

    /// The providers that the root modules of the first batch lock.
    pub fn first_providers(&self) -> impl Iterator<Item = &ProviderAddress> {
        self.first.members().flat_map(|(_, member)| member.providers())
    }

    /// Reads all root modules if something must be known of all of them first.
    fn survey(&mut self) -> Result<()> {
        let names_providers = self.names_providers();
        if !names_providers && !self.options.offline {
            return Ok(());
        }
        let mut survey = Survey::default();
        survey.add(&self.first, self.options.offline);
        self.read_rest(|rest| {
            for batch in rest {
                survey.add(&batch, self.options.offline);
                batch.forget(self.selection.modules);
            }
        });
        if names_providers {
            survey.check(&self.options.providers)?;
            self.first.leave_out_others();
        }
        self.locked = survey.locked;
        Ok(())
    }

    /// Reads the batches after the first.
    fn read_rest(&self, consume: impl FnOnce(&mut (dyn Iterator<Item = Workspaces> + Send))) {
        if self.rest.is_empty() {
            return consume(&mut std::iter::empty());
        }
        let Self { selection, options, .. } = *self;
        let read = |root: &SelectedRoot| Workspaces::read_one(selection, options, root, true);
        let threads = selection.modules.threads().min(self.rest.len());
        parallel::in_order(self.rest.iter(), (threads, READ_AHEAD), read, |read| {
            consume(&mut std::iter::from_fn(|| next_batch(read)));
        });
    }

    /// Gives each batch, in their order, to `prepare`, and then with the result to `work`, which does several side by side. What
    /// must be done in their order waits for the batch's turn.
    pub fn for_each<P: Send>(
        mut self,
        mut prepare: impl FnMut(&Workspaces) -> P + Send,
        work: impl Fn(&Workspaces, P, &Turn<'_>) + Sync,
    ) {
        let (first, names_providers) = (std::mem::take(&mut self.first), self.names_providers());
        let (modules, at_once) = (self.selection.modules, AT_ONCE.min(1 + self.rest.len()));
        self.read_rest(|rest| {
            let rest = rest.map(|mut batch| {
                if names_providers {
                    batch.leave_out_others();
                }
                batch
            });
            let prepared = std::iter::once(first).chain(rest).map(|batch| (prepare(&batch), batch));
            parallel::in_turn(prepared, at_once, |(prepared, batch), turn| {
                work(&batch, prepared, &turn);
                drop(turn);
                batch.forget(modules);
            });
        });
    }

    /// Whether only some providers of many root modules are meant.
    fn names_providers(&self) -> bool {
        self.are_many && !self.options.providers.is_empty()
    }
}

/// Takes root modules that were read until they are a batch; none when there are no more.
fn next_batch(read: &mut dyn Iterator<Item = ReadRoot>) -> Option<Workspaces> {
    let (mut members, mut required) = (Vec::new(), 0);
    while members.len() < MOST_ROOTS && required < PROVIDERS {
        let Some((path, member)) = read.next() else { break };
        required += member.as_ref().map_or(0, |member| member.requirements.providers.len());
        members.push((path, member));
    }
    (!members.is_empty()).then(|| Workspaces::some_of_many(members))
}

impl Survey {
    fn add(&mut self, batch: &Workspaces, offline: bool) {
        self.has_failures |= batch.has_failures();
        for (_, member) in batch.members() {
            self.required.extend(member.named_and_required().cloned());
            if offline {
                for (address, provider) in member.lock_file.locks() {
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
