//! Root modules that are read so that they can be locked.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::configuration::{Declaration, DeclarationKind, ModuleCall, Requirements, Resolver};
use crate::diagnostic::{Code, Diagnostic, Result};
use crate::lockfile::{LockFile, ModuleLocks};
use crate::modules::fetched::ReplacedPackage;
use crate::packages::DemandedAge;
use crate::project::modules::module_candidates::ModuleRules;
use crate::project::modules::module_choices::ModuleChoices;
use crate::project::modules::module_locks;
use crate::project::options::{LockOptions, UpgradeOptions};
use crate::project::plan::prepared::{Prepared, PreparedModules, is_selected_by};
use crate::project::root_module::roots::FoundRoot;
use crate::project::root_module::{MissingModules, ReadingOptions, RootModule};
use crate::project::session::Session;
use crate::provider::{ConstraintList, Dialect, Platform, ProviderAddress, ProviderSpec, Version};
use crate::settings::PlatformSelection;

/// Maximum number of providers that are requested for the modules of a root module before all of
/// its providers are known.
const MOST_ASKED_EARLY: usize = 64;

impl Session<'_> {
    /// Reads a root module to lock it: settings, lock files and requirements, with the modules that
    /// it calls. Unless the user selected the root module, its lock file may have no configuration
    /// beside it; it is then not changed.
    pub(in crate::project) fn read_to_lock(
        &self,
        found: &FoundRoot,
        options: &LockOptions,
        upgrade: Option<&UpgradeOptions>,
    ) -> Result<Prepared> {
        let opened = self
            .open_root(found)
            .map_err(|errors| found.with_root_module(errors))?;
        let canonical = opened.canonical.clone();
        let prepared = self.read_opened(opened, options, upgrade);
        // No other root module reads this directory, and there may be very many.
        self.modules.forget(&canonical);
        prepared.map_err(|errors| found.with_root_module(errors))
    }

    /// Reads an opened root module ([`Session::prepare_with_lock_file`]). A lock file without a
    /// configuration beside it is left as it is, unless the user names the directory.
    ///
    /// # Errors
    /// The user names a directory that is no root module, but a stack or above root modules.
    fn read_opened(
        &self,
        root: RootModule,
        options: &LockOptions,
        upgrade: Option<&UpgradeOptions>,
    ) -> Result<Prepared> {
        let is_explicit = root.found.is_explicit;
        let is_refused = root.refused.is_some();
        if is_explicit && let Some(elsewhere) = self.roots_elsewhere_error(&root) {
            return Err(elsewhere.into());
        }
        if is_explicit
            && !is_refused
            && let Some(error) = self.only_stack_error(&root)
        {
            return Err(error.into());
        }

        let (lock_file, mut warnings) = root.lock_file()?;
        let is_stale = !is_explicit && !is_refused && !root.has_configuration(&self.modules);
        if is_stale && root.lock_bytes.is_some() {
            let mut requirements = root.unknown_requirements(self.tree(), "left as it is");
            warnings.append(&mut requirements.warnings);
            return Ok(Prepared {
                requirements,
                warnings,
                ..self.prepare_without_requirements(root, lock_file, options)?
            });
        }
        Ok(Prepared {
            warnings,
            ..self.prepare_with_lock_file(root, lock_file, options, upgrade)?
        })
    }

    /// Reads the requirements of a root module, with a lock file that need not be the one on disk,
    /// and selects the modules that its calls request.
    pub(super) fn prepare_with_lock_file(
        &self,
        mut root: RootModule,
        lock_file: LockFile,
        options: &LockOptions,
        upgrade: Option<&UpgradeOptions>,
    ) -> Result<Prepared> {
        // A refused file is outside of the repository, and nothing there is written.
        if let Some(refused) = root.refused.take() {
            return Err(refused.into());
        }
        let prepared = self.prepare_without_requirements(root, lock_file, options)?;
        let Prepared {
            root,
            lock_file,
            named_providers,
            ..
        } = &prepared;

        // The lock file of modules decides which modules are read.
        let upgrade = upgrade.filter(|options| options.moves_modules());
        let locks_modules = options.modules || upgrade.is_some() || root.locks_modules();
        let mut module_lock_file = None;
        let mut module_warnings = Vec::new();
        let mut old_locks = ModuleLocks::new();
        if locks_modules {
            let (file, warnings) = root.module_lock_file()?;
            old_locks.clone_from(file.locks());
            module_lock_file = Some(file);
            module_warnings = warnings;
        }

        let rules = upgrade.map(|options| ModuleRules {
            options,
            age: prepared.minimum_age,
            modules: &self.modules,
            dialect: root.dialect,
        });
        let mut choices = ModuleChoices::new(rules, &old_locks);
        let reading = ReadingOptions {
            dialect: root.dialect,
            ignore_tests: options.ignore_tests,
            allow_missing_modules: options.allow_missing_modules,
        };
        let replaced = if options.accept_changed_hashes {
            ReplacedPackage::Accepted
        } else {
            ReplacedPackage::Refused
        };
        let asked = AtomicUsize::new(0);
        // A choice decides which modules a called module calls, so there may be more choices
        // afterwards.
        let mut requirements = loop {
            let resolve = |call: &ModuleCall| {
                module_locks::resolve_to_lock(&old_locks, &choices, replaced, call)
            };
            let mut resolver: Option<&Resolver<'_>> = None;
            if locks_modules {
                resolver = Some(&resolve);
            }
            let own = root.requirements_as(
                root.dialect,
                &self.modules,
                options.ignore_tests,
                MissingModules::allowed_if(options.allow_missing_modules),
                resolver,
                &|address: &ProviderAddress| {
                    let is_selected = is_selected_by(named_providers, address);
                    if is_selected && lock_file.entry(address).is_none() {
                        self.ask_versions(root, address, &asked);
                    }
                },
            )?;
            let read = self.with_sharing(root, own, reading, resolver)?;
            if !choices.choose_missing(read.package_calls()) {
                break read;
            }
        };
        choices.move_warnings_to(&mut requirements, options.allow_missing_modules)?;
        let mut modules = None;
        if let Some(lock_file) = module_lock_file {
            modules = Some(PreparedModules {
                lock_file,
                locks: module_locks::new_entries(&requirements, &old_locks, &choices)?,
                plan: choices.plan,
            });
        }

        // Recorded entries and constraints apply where a module that is not known may be their
        // reason.
        if requirements.is_incomplete {
            requirements.providers.retain(|address, requirement| {
                requirement.is_certain
                    || !prepared.root.is_unit()
                    || prepared.lock_file.entry(address).is_some()
            });
            add_recorded_constraints(&mut requirements, &prepared.lock_file, prepared.root.path());
        }
        requirements.warnings.extend(module_warnings);
        Ok(Prepared {
            modules,
            requirements,
            ..prepared
        })
    }

    /// Prepares a root module whose requirements are not read yet: selects its platforms and
    /// providers.
    fn prepare_without_requirements(
        &self,
        root: RootModule,
        lock_file: LockFile,
        options: &LockOptions,
    ) -> Result<Prepared> {
        let named = options
            .platforms
            .as_ref()
            .or(root.settings.platforms.as_ref())
            .cloned();
        let platforms_are_named = named.is_some();
        let platforms = match named {
            Some(named) => named,
            None => PlatformSelection::These(vec![Platform::current()]),
        };
        let (named_providers, requested_versions) =
            resolve_named_providers(&options.providers, root.dialect)?;
        let mut minimum_age = None;
        if let Some(age) = options.min_age.or(root.settings.policy.min_age())
            && !age.is_zero()
        {
            minimum_age = Some(DemandedAge {
                age,
                now: self.started,
            });
        }
        Ok(Prepared {
            root,
            lock_file,
            modules: None,
            requirements: Requirements::default(),
            platforms,
            platforms_are_named,
            warnings: Vec::new(),
            covered: OnceLock::new(),
            named_providers,
            conflict_sides: BTreeMap::new(),
            requested_versions,
            minimum_age,
        })
    }

    /// Asks for the versions of a provider that a module of `root` requires, while other modules
    /// are fetched. Errors are reported when the provider is locked. `asked` counts the providers.
    fn ask_versions(&self, root: &RootModule, address: &ProviderAddress, asked: &AtomicUsize) {
        let is_allowed = root
            .settings
            .policy
            .against_address(address, root.dialect)
            .is_empty();
        if self.options.offline || !is_allowed || address.is_never_locked() {
            return;
        }
        let Ok(source) = self.source(root.dialect, root.settings.shared_cache()) else {
            return;
        };
        let is_new = source.dev_override(address).is_none() && !source.knows_versions(address);
        if is_new && asked.fetch_add(1, Ordering::Relaxed) < MOST_ASKED_EARLY {
            let _ = source.versions(address);
        }
    }
}

/// Adds the recorded constraints to requirements that are not known in full: a module that is not
/// known may be what has them.
fn add_recorded_constraints(requirements: &mut Requirements, lock_file: &LockFile, root: &Path) {
    for (address, requirement) in &mut requirements.providers {
        let Some(entry) = lock_file.entry(address) else {
            continue;
        };
        let Some(location) = entry.constraints() else {
            continue;
        };
        let constraints = &entry.locked.constraints;
        let known_terms = requirement.constraints.terms();
        let has_new_term = constraints
            .terms()
            .iter()
            .any(|term| !known_terms.contains(term));
        if !has_new_term {
            continue;
        }
        requirement.constraints = ConstraintList::merge([&requirement.constraints, constraints]);
        requirement.declarations.push(Declaration {
            version: Some(location.clone()),
            location: location.clone(),
            source: None,
            constraints: constraints.clone(),
            kind: DeclarationKind::Recorded,
            module: root.to_owned(),
            local: false,
            own_call: None,
        });
    }
}

/// The named providers by the rules of a dialect, and the versions with which some are named.
///
/// # Errors
/// A provider is named with two different versions.
fn resolve_named_providers(
    providers: &[ProviderSpec],
    dialect: Dialect,
) -> Result<(Vec<ProviderAddress>, BTreeMap<ProviderAddress, Version>)> {
    let mut named_providers = Vec::new();
    let mut versions = BTreeMap::new();
    for provider in providers {
        let address = provider.resolve(dialect);
        named_providers.push(address.clone());
        let Some(version) = provider.version() else {
            continue;
        };
        let first_version = versions.entry(address).or_insert_with(|| version.clone());
        if first_version != version {
            let address = provider.resolve(dialect);
            let message = format!("two different versions of {address} are requested");
            return Err(Diagnostic::error(Code::InvalidArgument, message).into());
        }
    }
    Ok((named_providers, versions))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::project::{ModuleFetching, Selection, SessionOptions};
    use crate::system::Environment;

    /// Many root modules can be locked, and many cannot.
    #[test]
    fn a_root_module_is_read_again_by_the_next_run() {
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
        let options = SessionOptions {
            offline: true,
            modules: ModuleFetching::Never,
            ..SessionOptions::default()
        };
        let session = Session::new(Environment::default(), options).unwrap();
        let roots = session
            .roots(&Selection::recursive(directory.path()))
            .unwrap();
        let can_be_locked = || {
            let report = session.lock(&roots, &LockOptions::default(), drop).unwrap();
            report
                .roots
                .iter()
                .map(|(_, root)| root.is_ok())
                .collect::<Vec<_>>()
        };
        assert_eq!(can_be_locked(), [true, false]);
        write([&wrong, RIGHT]);
        assert_eq!(can_be_locked(), [false, true]);
    }
}
