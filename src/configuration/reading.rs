//! Reads the configuration of a root module with all modules that it calls, in as many passes as
//! fetching takes.

use std::collections::BTreeSet;
use std::path::Path;

use super::called_packages::CalledPackages;
use super::module_cache::ModuleCache;
use super::options::{Options, Required, Resolver};
use super::requirement::Requirements;
use super::root::RootSource;
use super::scope::UserValues;
use super::walk::{Input, Walk};
use crate::diagnostic::Result;
use crate::hcl::evaluate::allowance::Allowance;
use crate::modules::fetched::FetchedModule;
use crate::system::{canonicalize, parallel};

/// Maximum number of providers of one module for which `required` waits at the same time.
const ASKING_AT_ONCE: usize = 16;
/// Maximum number of passes over a configuration only because calls by the directories of installed
/// packages come before the calls of these packages.
const MOST_PASSES: usize = 8;

/// Reads the configuration whose root module is the directory `root`, given as the user knows it,
/// for example `.`; all paths in the result start with it.
///
/// # Errors
/// Everything that is wrong with the configuration, not only the first.
pub fn read(root: &Path, options: &Options) -> Result<Requirements> {
    read_resolved(
        RootSource::Directory(root, None),
        options,
        &ModuleCache::default(),
        None,
        &|_| (),
    )
}

/// [`read`] for any root module, with a cache of modules that several root modules call, and with
/// modules that `resolver` finds.
///
/// # Errors
/// The errors of [`read`].
pub(crate) fn read_resolved(
    root: RootSource<'_>,
    options: &Options,
    cache: &ModuleCache,
    resolver: Option<&Resolver<'_>>,
    required: Required<'_>,
) -> Result<Requirements> {
    let mut packages = CalledPackages::default();
    let mut passes = 0;
    loop {
        let values = UserValues::new(root.directory(), root.inputs(), &options.variables)
            .with_files_of(root.other_directories());
        let allowance = Allowance::default();
        let input = Input {
            root: root.directory(),
            options,
            cache,
            resolver,
            values: &values,
            allowance: &allowance,
        };
        let mut walk = Walk::new(input, packages);
        let requirements = walk.read(root);
        let is_settled = walk.packages.settle();
        if let Some(fetcher) = &cache.fetcher
            && !walk.requests.is_empty()
        {
            // The packages of one pass arrive together, and the next pass follows the calls in
            // them.
            fetcher.fetch_all(
                options.dialect,
                walk.requests.into_iter().collect(),
                |module| announce_providers_of(&module, options, cache, required),
            );
        } else if is_settled || passes == MOST_PASSES {
            return requirements;
        } else {
            passes += 1;
        }
        packages = walk.packages;
    }
}

/// Calls `required` for the providers that a fetched module declares, before its calls are
/// followed.
fn announce_providers_of(
    fetched: &FetchedModule,
    options: &Options,
    cache: &ModuleCache,
    required: Required<'_>,
) {
    // Errors are reported when its call is followed.
    let Ok(directory) = fetched.path() else {
        return;
    };
    let Ok(canonical) = canonicalize(&directory) else {
        return;
    };
    let shown = fetched.shown_path();
    let module = cache.fetched_module(&canonical, &directory, &shown, options.dialect);
    let providers: BTreeSet<_> = module
        .declarations
        .iter()
        .map(|(address, _)| address)
        .collect();
    parallel::map(providers.into_iter().collect(), ASKING_AT_ONCE, required);
}
