//! Reading root modules so that they can be locked.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::module_choices::{Choosing, ModuleChoices};
use super::module_locks;
use super::module_plan::{ModulePlan, ModuleUpgrades};
use super::options::LockOptions;
use super::plan::{LockRequest, MinimumAge};
use super::prepared::Prepared;
use super::root_module::RootModule;
use super::session::Session;
use crate::configuration::{Declaration, DeclarationKind, ModuleCall, Requirements, Resolver};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Remedy, Result};
use crate::lockfile::{LockFile, ModuleLocks};
use crate::packages::DemandedAge;
use crate::provider::{ConstraintList, Dialect, Platform, ProviderAddress, ProviderSpec, Version};
use crate::settings::PlatformSelection;

/// Of how many providers a root module's modules may make provlock ask before it is known whether all can be locked.
const MOST_ASKED_EARLY: usize = 64;

impl Session<'_> {
    /// Reads what there is to read of a root module. Where nobody has named it, there need not be a configuration
    /// beside its lock file, which then stays as it is.
    pub(super) fn prepare(&self, root: RootModule, is_named: bool, options: &LockOptions) -> Result<Prepared> {
        let (lock_file, mut warnings) = root.lock_file()?;
        let is_stale = !is_named && root.refused.is_none() && !root.has_configuration(&self.modules);
        if is_stale && root.lock_bytes.is_some() {
            let requirements = root.without_configuration("left as it is");
            warnings.extend(requirements.warnings.iter().cloned());
            let requirements = Requirements { warnings: Vec::new(), ..requirements };
            return Ok(Prepared { warnings, ..prepared(root, lock_file, requirements, options)? });
        }
        Ok(Prepared { warnings, ..self.prepare_with(root, lock_file, options)? })
    }

    /// A root module with a lock file that need not be the one on disk.
    pub(super) fn prepare_with(
        &self,
        root: RootModule,
        lock_file: LockFile,
        options: &LockOptions,
    ) -> Result<Prepared> {
        if let Some(refused) = root.refused {
            return Err(refused.into());
        }
        let locked = if root.locks_modules(options.modules) { Some(root.module_lock_file()?) } else { None };
        let (module_lock_file, warnings) = locked.unzip();
        let min_age = options.min_age.or(root.settings.policy.min_age());
        let age = min_age.map(|age| DemandedAge { age, now: self.started });
        let upgrades = options.module_upgrades.clone().map(|upgrades| ModuleUpgrades { age, ..upgrades });
        let old = module_lock_file.as_ref().map(|file| file.locks().clone()).unwrap_or_default();
        let is_meant = |address: &ProviderAddress| {
            let mut named = options.providers.iter().map(|provider| provider.resolve(root.dialect));
            options.providers.is_empty() || named.any(|named| named == *address)
        };
        let asked = AtomicUsize::new(0);
        let required = |address: &ProviderAddress| {
            if lock_file.entry(address).is_none() && is_meant(address) {
                self.ask_versions(&root, address, &asked);
            }
        };
        let mut choices = ModuleChoices::new(upgrades);
        let choosing = Choosing { locks: &old, modules: &self.modules, dialect: root.dialect };
        // A choice decides which modules a called module calls, so that there may be more to choose.
        let mut requirements = loop {
            let resolve = |call: &ModuleCall| module_locks::lock(&old, &choices, options.accept_changed_hashes, call);
            let read = root.requirements_as(
                root.dialect,
                &self.modules,
                options.ignore_tests,
                options.allow_missing_modules,
                module_lock_file.is_some().then_some(&resolve as &Resolver<'_>),
                &required,
            )?;
            if !choices.choose(read.package_calls(), choosing) {
                break read;
            }
        };
        choices.report(&mut requirements, options.allow_missing_modules)?;
        let module_locks = match &module_lock_file {
            None => ModuleLocks::new(),
            Some(_) => module_locks::entries(&requirements, &old, &choices)?,
        };
        if requirements.is_incomplete {
            let is_unit = !root.units.is_empty();
            requirements.providers.retain(|address, requirement| {
                requirement.is_certain || !is_unit || lock_file.entry(address).is_some()
            });
            bind_recorded(&mut requirements, &lock_file, &root.path);
        }
        requirements.warnings.extend(warnings.unwrap_or_default());
        let prepared = prepared(root, lock_file, requirements, options)?;
        Ok(Prepared { module_lock_file, module_locks, module_plan: choices.plan, ..prepared })
    }

    /// Asks for the versions of a provider that a module of `root` requires, while other modules are fetched. Errors are
    /// reported when the provider is locked. `asked` counts the providers.
    fn ask_versions(&self, root: &RootModule, address: &ProviderAddress, asked: &AtomicUsize) {
        let is_allowed = root.settings.policy.against_address(address, root.dialect).is_empty();
        if self.options.offline || !is_allowed || address.is_never_locked() {
            return;
        }
        let Ok(source) = self.source(root.dialect, root.settings.shared_cache()) else { return };
        let is_new = source.dev_override(address).is_none() && !source.knows_versions(address);
        if is_new && asked.fetch_add(1, Ordering::Relaxed) < MOST_ASKED_EARLY {
            let _ = source.versions(address);
        }
    }

    /// What root modules with the same source ask for, each with its index. Adds to `refused` why some cannot ask.
    pub(super) fn lock_requests_of<'a, 'b: 'a>(
        &'a self,
        roots: &[(usize, &'b Prepared)],
        options: &'a LockOptions,
        choosing: fn(&LockRequest<'a>) -> Vec<&'a ProviderAddress>,
        refused: &mut Vec<(usize, Diagnostics)>,
    ) -> Vec<(usize, &'b Prepared, LockRequest<'a>)> {
        let mut requests = Vec::new();
        for (index, prepared) in roots {
            match self.lock_request(prepared, options, choosing) {
                Ok(request) => requests.push((*index, *prepared, request)),
                Err(errors) => refused.push((*index, errors)),
            }
        }
        requests
    }

    /// What `lock` is asked for.
    ///
    /// # Errors
    /// An age is demanded for one of the providers that `choosing` returns, and publication dates are not known.
    pub(super) fn lock_request<'a>(
        &'a self,
        prepared: &'a Prepared,
        options: &'a LockOptions,
        choosing: fn(&LockRequest<'a>) -> Vec<&'a ProviderAddress>,
    ) -> Result<LockRequest<'a>> {
        let RootModule { settings, dialect, .. } = &prepared.root;
        let request = self.lock_request_of_any_age(prepared, options);
        let listings = settings.policy.judges_listings().then(|| self.listings(*dialect)).transpose()?.flatten();
        let request = LockRequest { listings, ..request };
        let Some(age) = prepared.minimum_age(options) else { return Ok(request) };
        if let Some(dates) = self.publication_dates(*dialect)? {
            let demanded = DemandedAge { age, now: self.started };
            let minimum_age = Some(MinimumAge { demanded, dates });
            return Ok(LockRequest { minimum_age, ..request });
        }
        let is_exempt = |address: &&ProviderAddress| settings.policy.is_exempt_from_min_age(address, *dialect);
        if choosing(&request).iter().all(is_exempt) {
            return Ok(request);
        }
        let message = "min-age is set, but offline it is not known when versions were published";
        let help =
            Help::text("to ignore the age pass ").and(Remedy::AnyAge).and_text(", or omit ").and(Remedy::Offline);
        Err(Diagnostic::error(Code::InvalidArgument, message).help(help).into())
    }

    /// [`Session::lock_request`], where versions may be of any age.
    pub(super) fn lock_request_of_any_age<'a>(
        &'a self,
        prepared: &'a Prepared,
        options: &'a LockOptions,
    ) -> LockRequest<'a> {
        let Prepared { requirements, versions, .. } = prepared;
        let cache = self.hash_cache.as_ref();
        LockRequest { prepared, options, requirements, versions, cache, minimum_age: None, listings: None }
    }
}

fn prepared(
    root: RootModule,
    lock_file: LockFile,
    requirements: Requirements,
    options: &LockOptions,
) -> Result<Prepared> {
    let named = options.platforms.clone().or_else(|| root.settings.platforms.clone());
    let platforms_are_named = named.is_some();
    let platforms = named.unwrap_or_else(|| PlatformSelection::These(vec![Platform::current()]));
    let (only, versions) = resolve(&options.providers, root.dialect)?;
    let (warnings, replaced) = (Vec::new(), BTreeMap::new());
    Ok(Prepared {
        root,
        lock_file,
        module_lock_file: None,
        module_locks: ModuleLocks::new(),
        module_plan: ModulePlan::default(),
        requirements,
        platforms,
        platforms_are_named,
        warnings,
        covered: OnceLock::new(),
        only,
        replaced,
        versions,
    })
}

/// Adds the recorded constraints to requirements that are not known in full: a module that is not known may be what has
/// them.
fn bind_recorded(requirements: &mut Requirements, lock_file: &LockFile, root: &Path) {
    for (address, requirement) in &mut requirements.providers {
        let Some(entry) = lock_file.entry(address) else { continue };
        let constraints = entry.locked.constraints.clone();
        let is_new = |term| !requirement.constraints.terms().contains(term);
        let Some(location) = entry.constraints().cloned().filter(|_| constraints.terms().iter().any(is_new)) else {
            continue;
        };
        requirement.constraints = ConstraintList::merge([&requirement.constraints, &constraints]);
        requirement.declarations.push(Declaration {
            version: Some(location.clone()),
            location,
            source: None,
            constraints,
            kind: DeclarationKind::Recorded,
            module: root.to_owned(),
            local: false,
        });
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
