//! Bills of materials: the locked packages of root modules, and the requirements between them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use crate::configuration::Requirements;
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Remedy, Result};
use crate::lockfile::{Locks, ModuleLocks};
use crate::project::event::Event;
use crate::project::root_module::RootModule;
use crate::project::root_module::roots::Roots;
use crate::project::session::Session;
use crate::provider::ProviderAddress;

/// The locked packages of a root module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Materials {
    /// The root module's directory, as the user knows it.
    pub path: PathBuf,
    /// The lock file's path, as the user knows it; that of modules if only modules are locked.
    pub lock_path: PathBuf,
    /// The locked providers.
    pub providers: Locks,
    /// The locked modules.
    pub modules: ModuleLocks,
    /// Pairs of a requirer and the required package. The requirer is the locked module of a call,
    /// or `None` for the root module. Local modules belong to the package that calls them.
    pub requirements: BTreeSet<(Option<String>, Material)>,
    /// The fingerprints of the keys that `[trust]` accepts for a provider, if it names any.
    pub trusted_keys: BTreeMap<ProviderAddress, BTreeSet<String>>,
    /// Fingerprints of the keys that signed the locked versions, according to the cache. For
    /// display only: they are not verified again.
    pub signers: BTreeMap<ProviderAddress, String>,
    /// Whether everything that the configuration requires is locked.
    pub is_complete: bool,
    /// Reasons why the bill may be incomplete, and other problems that do not stop the command.
    pub warnings: Vec<Diagnostic>,
}

/// Something that a lock file records.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Material {
    /// A provider.
    Provider(ProviderAddress),
    /// The module of a call.
    Module(String),
}

impl Session<'_> {
    /// Returns the locked packages of root modules, and the errors of root modules that cannot be
    /// read, or that a path names and that have no lock file.
    pub fn bill_of_materials(&self, roots: &Roots) -> (Vec<Materials>, Diagnostics) {
        self.notify(Event::Reading);
        let mut bill = Vec::new();
        let mut errors = Diagnostics::default();
        for (_, materials) in self.each_root(roots, |root| self.materials(root)) {
            match materials {
                Ok(materials) => bill.push(materials),
                Err(more) => errors.extend(more),
            }
        }
        self.notify_at_end();
        (bill, errors)
    }

    /// Collects the locked packages of a root module, and the requirements between them.
    fn materials(&self, root: RootModule) -> Result<Materials> {
        // A named root module without any lock file is a mistake of the user; a found one has
        // nothing to list.
        if root.lock_bytes.is_none() && root.module_lock_bytes.is_none() && root.found.is_explicit {
            return Err(self
                .nothing_locked(&root, "the packages of the root module are unknown")
                .into());
        }
        let (lock_file, mut warnings) = root.lock_file()?;
        let (module_lock_file, module_warnings) = root.module_lock_file()?;
        warnings.extend(module_warnings);
        let required = if root.has_configuration(&self.modules) {
            let ignore_tests = false;
            self.requirements_of(&root, ignore_tests)?
        } else {
            root.unknown_requirements(self.tree(), "taken as it is")
        };
        let providers = lock_file.locks().clone();
        let modules = module_lock_file.locks().clone();
        let unlocked = unlocked_modules(&required, &modules);
        if !unlocked.is_empty() {
            let message =
                "called modules that are not locked are missing from the bill of materials";
            warnings.push(
                Diagnostic::warning(Code::ModuleNotLocked, message).help(Remedy::LockModules),
            );
        }
        let is_complete = !required.is_incomplete
            && unlocked.is_empty()
            && required
                .providers
                .keys()
                .all(|address| providers.contains_key(address));
        let requirements = requirements_between(&required, &providers, &modules);
        warnings.extend(required.warnings);

        let mut trusted_keys = BTreeMap::new();
        let mut signers = BTreeMap::new();
        for (address, locked) in &providers {
            let keys = root.settings.policy.trusted_keys(address, root.dialect);
            if !keys.is_empty() {
                trusted_keys.insert(address.clone(), keys);
            }
            if let Some(signer) = self.remembered_signer(address, &locked.version) {
                signers.insert(address.clone(), signer);
            }
        }
        Ok(Materials {
            signers,
            trusted_keys,
            lock_path: if root.lock_bytes.is_some() {
                root.lock_path
            } else {
                root.module_lock_path
            },
            path: root.found.path,
            providers,
            modules,
            requirements,
            is_complete,
            warnings,
        })
    }
}

/// Returns the module calls that are neither locked nor local, nor in a locked package.
fn unlocked_modules<'a>(required: &'a Requirements, locks: &ModuleLocks) -> Vec<&'a str> {
    // A local module is a part of the repository, and no lock file records it.
    let mut local: HashSet<&Path> = HashSet::new();
    for module in &required.modules {
        if module.local {
            local.insert(&module.canonical);
        }
    }
    // Also a call by a path into the package of a locked call.
    let mut called = HashSet::new();
    for call in &required.calls {
        if call.directory.is_some() {
            called.insert(&call.key);
        }
    }

    let mut unlocked = Vec::new();
    for call in &required.call_tree {
        if !local.contains(call.directory.as_path())
            && !called.contains(&call.key)
            && nearest_locked_module(&call.key, locks).is_none()
        {
            unlocked.push(call.key.as_str());
        }
    }
    unlocked
}

/// Returns the requirements between locked packages. A package without a known requirer belongs to
/// the root module, whose lock file records it.
fn requirements_between(
    required: &Requirements,
    providers: &Locks,
    modules: &ModuleLocks,
) -> BTreeSet<(Option<String>, Material)> {
    let mut all = BTreeSet::new();
    for address in providers.keys() {
        let material = Material::Provider(address.clone());
        let mut has_requirer = false;
        for requirer in required.requirers(address) {
            // The provider is a dependency of the modules that this one calls, which are listed,
            // too.
            if requirer.declaration.is_none() {
                continue;
            }
            let caller = requirer
                .call
                .and_then(|call| nearest_locked_module(&call.key, modules));
            all.insert((caller, material.clone()));
            has_requirer = true;
        }
        if !has_requirer {
            all.insert((None, material));
        }
    }
    for key in modules.keys() {
        let mut caller = None;
        if let Some((outer, _)) = key.rsplit_once('.') {
            caller = nearest_locked_module(outer, modules);
        }
        all.insert((caller, Material::Module(key.clone())));
    }
    all
}

/// Returns the nearest locked ancestor of a call, or the call itself.
fn nearest_locked_module(key: &str, locks: &ModuleLocks) -> Option<String> {
    let mut nearest = key;
    while !locks.contains_key(nearest) {
        nearest = nearest.rsplit_once('.')?.0;
    }
    Some(nearest.to_owned())
}
