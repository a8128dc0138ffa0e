//! Root modules as a stream: however many there are, only some are in memory.

use std::collections::{BTreeMap, BTreeSet};

use super::many::Workspaces;
use super::options::LockOptions;
use super::selection::{RootSelection, SelectedRoot};
use crate::address::ProviderAddress;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::dialect::Dialect;
use crate::parallel;
use crate::provider_spec::ProviderSpec;
use crate::version::Version;

/// How many root modules the first batch has at most.
const FIRST_ROOTS: usize = 64;

/// How many root modules any batch has at most.
const MOST_ROOTS: usize = 512;

/// How many providers all root modules of a batch require, as far as the batch before tells: that takes some 20 MiB. With fewer,
/// what one batch waits for would often be in the way of the next.
const PROVIDERS: usize = 3_200;

/// Root modules in the order of their paths, some at a time. While those of one batch are locked, those of the next are read.
pub struct Batches<'a> {
    selection: &'a RootSelection<'a>,
    options: &'a LockOptions,
    first: Workspaces,
    rest: Vec<SelectedRoot>,
    /// How many of them the next batch has.
    next_size: usize,
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
        let first = Workspaces::read(selection, options, rest, are_many);
        let (next_size, locked) = (next_size(&first), KnownVersions::new());
        let mut batches = Self { selection, options, first, rest: after_first, next_size, are_many, locked };
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
        for batch in self.read_rest() {
            survey.add(&batch, self.options.offline);
            batch.forget(self.selection.modules);
        }
        if names_providers {
            survey.check(&self.options.providers)?;
            self.first.leave_out_others();
        }
        self.locked = survey.locked;
        Ok(())
    }

    /// Reads the batches after the first.
    fn read_rest(&self) -> impl Iterator<Item = Workspaces> {
        let mut rest = self.rest.as_slice();
        let mut size = self.next_size;
        std::iter::from_fn(move || {
            let (roots, others) = rest.split_at_checked(size).unwrap_or((rest, &[]));
            rest = others;
            let batch = (!roots.is_empty())
                .then(|| Workspaces::read(self.selection, self.options, roots.to_vec(), self.are_many))?;
            size = next_size(&batch);
            Some(batch)
        })
    }

    /// Gives the batches to `work` one after the other.
    pub fn for_each(mut self, mut work: impl FnMut(&Workspaces)) {
        let names_providers = self.names_providers();
        let first = std::mem::take(&mut self.first);
        let rest = self.read_rest().map(|mut batch| {
            if names_providers {
                batch.leave_out_others();
            }
            batch
        });
        parallel::one_ahead(std::iter::once(first).chain(rest), |batch| {
            work(&batch);
            batch.forget(self.selection.modules);
        });
    }

    /// Whether only some providers of many root modules are meant.
    fn names_providers(&self) -> bool {
        self.are_many && !self.options.providers.is_empty()
    }
}

/// How many root modules the next batch has.
fn next_size(batch: &Workspaces) -> usize {
    let providers: usize = batch.members().map(|(_, member)| member.requirements.providers.len()).sum();
    (PROVIDERS * batch.len() / providers.max(1)).clamp(1, MOST_ROOTS)
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
