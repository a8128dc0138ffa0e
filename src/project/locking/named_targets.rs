//! Providers and module calls that a user names, found among the requirements of root modules.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::diagnostic::words::first_few;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Result, collect_all};
use crate::lockfile::{EntryKind as _, LockedModule};
use crate::project::options::{LockOptions, UpgradeOptions};
use crate::project::plan::prepared::Prepared;
use crate::project::root_module::roots::{FoundRoot, Roots};
use crate::project::session::Session;
use crate::provider::{Dialect, ProviderAddress, ProviderSpec};
use crate::system::{lock, parallel};

/// The named providers and module calls, and the root modules that have them.
struct NamedTargets<'a> {
    providers: Vec<NamedInRoots<'a>>,
    /// Whether a short name may stand for a provider.
    takes_short_names: bool,
    /// Module calls that no root module so far has.
    unknown_calls: BTreeSet<&'a String>,
    /// Number of root modules that could be read.
    read_count: usize,
    /// Errors of root modules that could not be read. They may have all of the names.
    reading_errors: Diagnostics,
}

/// A named provider, with the required providers that it may stand for.
struct NamedInRoots<'a> {
    spec: &'a ProviderSpec,
    /// Whether a root module requires it by the rules of its dialect.
    is_by_rule: bool,
    /// Required providers with the written parts.
    short_for: BTreeSet<ProviderAddress>,
}

/// Returns the providers that the user names. In an upgrade a short name that no root module
/// requires by the rules of its dialect is written in full. `lock` takes none, like `providers
/// lock` of OpenTofu and Terraform.
///
/// # Errors
/// A name that none of several root modules has, beside the errors of root modules that cannot be
/// read; and a short name that stands for several providers.
pub(super) fn named_providers(
    session: &Session<'_>,
    roots: &Roots,
    options: &LockOptions,
    upgrade: Option<&UpgradeOptions>,
) -> Result<Vec<ProviderSpec>> {
    let targets = NamedTargets::new(options, upgrade);
    let are_names_in_full = !targets.takes_short_names || targets.have_entries(session, roots);
    // The only root module reports names that it does not have when it is locked.
    if targets.is_empty() || (!roots.may_be_several() && are_names_in_full) {
        return Ok(options.providers.clone());
    }

    // Each root module is dropped at once, because many take much memory.
    let shared_targets = Mutex::new(targets);
    let threads = session.modules.threads();
    parallel::map(roots.list.iter().collect(), threads, |root: &FoundRoot| {
        let result = session.read_to_lock(root, options, upgrade);
        lock(&shared_targets).add_root(result);
    });
    let targets = shared_targets
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    if roots.may_be_several() {
        targets.check_each_is_found()?;
    }
    collect_all(targets.providers.iter().map(NamedInRoots::in_full))
}

impl<'a> NamedTargets<'a> {
    fn new(options: &'a LockOptions, upgrade: Option<&'a UpgradeOptions>) -> Self {
        let providers = options.providers.iter().map(|spec| NamedInRoots {
            spec,
            is_by_rule: false,
            short_for: BTreeSet::new(),
        });
        Self {
            providers: providers.collect(),
            takes_short_names: upgrade.is_some(),
            unknown_calls: match upgrade {
                Some(options) => options.calls.keys().collect(),
                None => BTreeSet::new(),
            },
            read_count: 0,
            reading_errors: Diagnostics::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.providers.is_empty() && self.unknown_calls.is_empty()
    }

    /// Whether the lock file of the only root module has all named providers by the rules of its
    /// dialect, or cannot be read. Nothing else then needs to be read to find them.
    fn have_entries(&self, session: &Session<'_>, roots: &Roots) -> bool {
        let Some(root) = roots.list.first() else {
            return true;
        };
        let Ok(root) = session.open_root(root) else {
            return true;
        };
        let Ok((lock_file, _)) = root.lock_file() else {
            return true;
        };
        self.providers
            .iter()
            .all(|named| lock_file.entry(&named.spec.resolve(root.dialect)).is_some())
    }

    /// Looks for the names in a root module, or notes why it could not be read.
    fn add_root(&mut self, result: Result<Prepared>) {
        let prepared = match result {
            Ok(prepared) => prepared,
            Err(errors) => return self.reading_errors.extend(errors),
        };
        self.read_count += 1;
        let required = &prepared.requirements.providers;
        for named in &mut self.providers {
            let address = named.spec.resolve(prepared.root.dialect);
            named.is_by_rule |= required.contains_key(&address);
            if !self.takes_short_names {
                continue;
            }
            for address in required.keys() {
                if named.spec.is_short_for(address) {
                    named.short_for.insert(address.clone());
                }
            }
        }
        for call in prepared.requirements.package_calls() {
            self.unknown_calls.remove(&call.key);
        }
    }

    /// Fails for the first name that no root module has, unless none could be read.
    fn check_each_is_found(&self) -> Result<()> {
        if self.read_count == 0 && !self.reading_errors.is_empty() {
            return Ok(());
        }
        let is_complete = self.reading_errors.is_empty();
        let unknown = self.providers.iter().find(|named| named.is_unknown());
        let error = match unknown {
            Some(named) => Some(unknown_provider_error(named.spec, is_complete)),
            None => unknown_calls_error(self.unknown_calls.iter().copied()),
        };
        match error {
            Some(error) => Err(self.reading_errors.iter().cloned().chain([error]).collect()),
            None => Ok(()),
        }
    }
}

impl NamedInRoots<'_> {
    fn is_unknown(&self) -> bool {
        !self.is_by_rule && self.short_for.is_empty()
    }

    /// Returns the provider, a short name in full.
    ///
    /// # Errors
    /// A short name that stands for several providers.
    fn in_full(&self) -> Result<ProviderSpec> {
        if self.is_by_rule {
            return Ok(self.spec.clone());
        }
        let mut addresses = self.short_for.iter();
        match (addresses.next(), addresses.next()) {
            (None, _) => Ok(self.spec.clone()),
            (Some(address), None) => Ok(self.spec.in_full(address)),
            (Some(_), Some(_)) => {
                let name = self.spec.written();
                let meant = first_few(&self.short_for);
                let message = format!("{name} may be any of several required providers: {meant}");
                let error = Diagnostic::error(Code::InvalidArgument, message);
                Err(error.help("write the address in full").into())
            }
        }
    }
}

fn unknown_provider_error(provider: &ProviderSpec, is_complete: bool) -> Diagnostic {
    let which = if is_complete {
        "no root module"
    } else {
        "no root module that can be read"
    };
    let message = format!("{which} requires {provider}, and there is no directory of that name");
    let error = Diagnostic::error(Code::InvalidArgument, message);
    error.help("correct its name, or require it in a configuration first")
}

/// The error for named calls that do not exist, if there are any.
pub(super) fn unknown_calls_error<'a>(
    missing: impl IntoIterator<Item = &'a String>,
) -> Option<Diagnostic> {
    let names: Vec<_> = missing
        .into_iter()
        .map(|key| LockedModule::name(key, Dialect::default()))
        .collect();
    let message = format!(
        "there is no call {} of a module that could be locked",
        first_few(&names)
    );
    let error = Diagnostic::error(Code::InvalidArgument, message);
    (!names.is_empty()).then(|| {
        error.help(
            "a call in a called module has the names of both: module.network.module.endpoints",
        )
    })
}
