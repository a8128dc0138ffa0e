//! Facts about all root modules that must be known before the first one is locked.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::options::{LockOptions, UpgradeOptions};
use super::prepared::Prepared;
use super::roots::{FoundRoot, Roots};
use super::session::Session;
use crate::diagnostic::words::few;
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::lockfile::{EntryKind as _, LOCK_FILE_NAME, LockedModule};
use crate::packages::Source;
use crate::provider::{Dialect, ProviderSpec};
use crate::system::{canonicalize, lock, parallel};

/// Checks that each named provider and module call is in one of several root modules, unless one cannot be read. Reads
/// all of them.
///
/// # Errors
/// A name that no root module has.
pub(super) fn check_names(
    session: &Session<'_>,
    roots: &Roots,
    options: &LockOptions,
    upgrade: Option<&UpgradeOptions>,
) -> Result<()> {
    let providers = &options.providers;
    let calls: BTreeSet<_> = upgrade.into_iter().flat_map(|options| options.calls.keys()).collect();
    if !roots.may_be_several() || (providers.is_empty() && calls.is_empty()) {
        return Ok(());
    }
    let unknown = Mutex::new((providers.iter().collect::<Vec<_>>(), calls));
    let read = |root: &FoundRoot| {
        let prepared = session.read_to_lock(root, options, upgrade).ok();
        prepared.map(|Prepared { root, requirements, .. }| {
            let (providers, calls) = &mut *lock(&unknown);
            providers.retain(|provider| !requirements.providers.contains_key(&provider.resolve(root.dialect)));
            requirements.package_calls().for_each(|call| _ = calls.remove(&call.key));
        })
    };
    let are_read = parallel::map(roots.list.iter().collect(), session.modules.threads(), read);
    let (providers, calls) = unknown.into_inner().unwrap_or_else(PoisonError::into_inner);
    let error = providers.first().map(|provider| no_such_provider(provider)).or_else(|| no_such_call(calls));
    error.filter(|_| !are_read.contains(&None)).map_or(Ok(()), |error| Err(error.into()))
}

fn no_such_provider(provider: &ProviderSpec) -> Diagnostic {
    let message = format!("no root module requires {provider}, and there is no directory of that name");
    let error = Diagnostic::error(Code::InvalidArgument, message);
    error.help("correct its name, or require it in a configuration first")
}

/// The error for named calls that do not exist, if there are any.
pub(super) fn no_such_call<'a>(missing: impl IntoIterator<Item = &'a String>) -> Option<Diagnostic> {
    let names: Vec<_> = missing.into_iter().map(|key| LockedModule::name(key, Dialect::default())).collect();
    let message = format!("there is no call {} of a module that could be locked", few(&names));
    let error = Diagnostic::error(Code::InvalidArgument, message);
    (!names.is_empty()).then(|| error.help("a call in a called module has the names of both: module.network.endpoints"))
}

/// The source of an offline run: the packages in the cache, and the versions in the lock files of all root modules.
pub(super) fn offline_source(session: &Session<'_>, roots: &Roots) -> Arc<Source> {
    let known = session.read_versions(roots).providers;
    let versions = known.iter().flat_map(|(address, versions)| versions.keys().map(move |version| (address, version)));
    Arc::new(session.connections.offline(versions))
}

/// Root modules with a lock file of their own, and those whose lock file is a link to that of another root module. The
/// latter must be read after the former are written.
pub(super) fn distinct_lock_files(roots: &[FoundRoot]) -> (Vec<FoundRoot>, Vec<FoundRoot>) {
    let target = |root: &FoundRoot| -> Option<PathBuf> {
        let path = root.lock_directory.as_ref().or(root.canonical.as_ref())?.join(LOCK_FILE_NAME);
        let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        Some(if is_link { canonicalize(&path).unwrap_or(path) } else { path })
    };
    let mut seen = HashSet::new();
    roots.iter().cloned().partition(|root| target(root).is_none_or(|target| seen.insert(target)))
}
