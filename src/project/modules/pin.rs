//! Pinning: rewriting the calls of modules, so that they name a commit or a version that cannot
//! move.

use std::path::PathBuf;
use std::sync::Arc;

use super::module_candidates::{HEAD, not_requested_error};
use super::module_edit::{self, CallEdit, EditedCall, NewRevision, RequestedModule};
use crate::configuration::rewrite::ConstraintEdit;
use crate::configuration::{ModuleCache, ModuleCall, Requirements, Resolution, Resolver};
use crate::diagnostic::{Code, Diagnostic, Diagnostics, Help, Remedy, Result};
use crate::lockfile::{EntryKind as _, LockedModule, ModuleLocks};
use crate::modules::{Getter, ModuleSource, Releases, RemoteSource, Revision, locked, registry};
use crate::packages::oci::ModulePackage;
use crate::project::coverage::Coverage;
use crate::project::event::Report;
use crate::project::plan::newest::Edit;
use crate::project::plan::rewrites::{self, Rewrites};
use crate::project::root_module::roots::Roots;
use crate::project::root_module::{MissingModules, RootModule};
use crate::project::session::Session;
use crate::provider::Dialect;
use crate::system::files::FileChange;

/// Options of [`Session::pin`].
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct PinOptions {
    /// Whether modules of registries are pinned to the locked version, too.
    pub registry: bool,
    /// Whether the test files of root modules are skipped.
    pub ignore_tests: bool,
    /// Whether nothing is written.
    pub dry_run: bool,
}

/// The pinned calls of a root module.
#[derive(Debug)]
#[non_exhaustive]
pub struct PinnedModules {
    /// The edits of the configuration.
    pub edits: Vec<ConstraintEdit>,
    /// Warnings about calls that are not pinned, and about the lock file.
    pub warnings: Vec<Diagnostic>,
    /// The lock file of modules, if it changes.
    pub lock_file: Option<FileChange>,
}

impl Session<'_> {
    /// Pins the modules that root modules call, and that are neither local nor in a called package.
    /// A root module that fails does not stop the others, and stays unchanged.
    pub fn pin(&self, roots: &Roots, options: PinOptions) -> Report<PinnedModules> {
        // 1. Plan the edits. Root modules that share a file must agree on them.
        let results = self.each_root(roots, |root| self.plan_pins(root, options));
        let (paths, mut plans): (Vec<_>, Vec<_>) = results.into_iter().unzip();
        let root_paths: Vec<_> = paths.iter().map(PathBuf::as_path).collect();
        rewrites::fail_if_texts_differ(&mut plans, &root_paths, |plan: &PinnedModules| {
            plan.edits.clone()
        });

        // 2. Write the files.
        let rewrites = Rewrites::new(plans.iter().flatten().flat_map(|plan| &plan.edits));
        let mut results = Vec::new();
        for (path, mut result) in paths.into_iter().zip(plans) {
            if let Ok(plan) = &result
                && !options.dry_run
                && let Err(error) = rewrites.write(&plan.edits, plan.lock_file.as_slice())
            {
                result = Err(error.into());
            }
            results.push((path, result));
        }
        self.notify_sources_read();
        Report {
            roots: results,
            findings: Vec::new(),
            coverage: Coverage::default(),
        }
    }

    /// Plans the edits that pin the calls of a root module, and the change of its module lock file.
    fn plan_pins(&self, root: RootModule, options: PinOptions) -> Result<PinnedModules> {
        let (lock_file, mut warnings) = root.module_lock_file()?;
        let locks = lock_file.locks();
        // Calls are not followed. Terragrunt generates or copies the files of units, so that these
        // are not edited.
        let skip: &Resolver<'_> = &|_| Resolution::NotRead;
        let resolver = if root.is_unit() { None } else { Some(skip) };
        let requirements = root.requirements_with(
            &self.modules,
            options.ignore_tests,
            MissingModules::Refused,
            resolver,
        )?;
        warnings.extend(requirements.warnings.iter().cloned());

        let mut pins = Pins {
            modules: &self.modules,
            dialect: root.dialect,
            locks: locks.clone(),
            edits: Vec::new(),
            warnings,
        };
        if resolver.is_some() {
            pins.add_calls(&requirements, options.registry)?;
        }
        let new_lock_file = match root.module_lock_bytes {
            Some(old) if pins.locks != *locks => Some(FileChange {
                path: root.module_lock_path,
                old: Some(old),
                new: lock_file.edit(&pins.locks)?,
            }),
            _ => None,
        };
        Ok(PinnedModules {
            edits: pins.edits,
            warnings: pins.warnings,
            lock_file: new_lock_file,
        })
    }
}

/// The pins of a root module's calls.
struct Pins<'a> {
    modules: &'a ModuleCache,
    dialect: Dialect,
    /// Entries of the lock file of modules, with the sources and constraints of pinned calls.
    locks: ModuleLocks,
    edits: Vec<ConstraintEdit>,
    warnings: Vec<Diagnostic>,
}

impl Pins<'_> {
    /// Pins the user's own calls: git to the locked commit, and OCI registries to the locked
    /// digest, or else to the current one; modules of registries to the locked version.
    fn add_calls(&mut self, requirements: &Requirements, with_registry: bool) -> Result<()> {
        let modules = self.modules;
        let mut calls = Vec::new();
        let mut without_known_commit = Vec::new();
        for call in requirements.package_calls() {
            // A call in a fetched package is not in a file of the user.
            if call.own_call.is_some() || modules.never_fetches(call) {
                continue;
            }
            let locked = self.locked_entry(call);
            // All hosts are asked at once, before the first call needs an answer.
            if locked.is_none() && may_move_in_git(&call.source) {
                without_known_commit.push(call.source.clone());
            }
            calls.push((call, locked));
        }
        if let Some(fetcher) = &modules.fetcher {
            fetcher.request_releases(self.dialect, without_known_commit);
        }

        let mut errors = Diagnostics::default();
        for (call, locked) in &calls {
            let locked = locked.as_deref();
            let pinned = match &call.source {
                ModuleSource::Registry(_) if with_registry => Ok(self.pinned_version(call, locked)),
                ModuleSource::Remote(source) if source.getter() == Getter::Oci => {
                    self.pinned_digest(call, source, locked)
                }
                ModuleSource::Remote(source) => self.pinned_commit(call, source, locked),
                _ => Ok(Edit::NotRequested),
            };
            match pinned {
                Ok(Edit::NotRequested) => {}
                Ok(Edit::Done(edited)) => self.add_edit(call, locked, edited),
                Ok(Edit::Impossible(why)) => {
                    let name = LockedModule::label_name(&call.key);
                    let message = format!("{name} is not pinned: {why}");
                    let warning = Diagnostic::warning(Code::ModuleRefFloating, message);
                    self.warnings.push(call.at_call(warning));
                }
                Err(more) => errors.extend(more),
            }
        }
        errors.into_result(())
    }

    /// The entry of a call, if it is for the call.
    fn locked_entry(&self, call: &ModuleCall) -> Option<Arc<LockedModule>> {
        self.locks
            .get(&call.key)
            .filter(|known| RequestedModule::as_written(call).is_met_by(known))
            .cloned()
    }

    fn add_edit(&mut self, call: &ModuleCall, locked: Option<&LockedModule>, edited: EditedCall) {
        if let Some(locked) = locked {
            let entry = LockedModule {
                source: edited.requested.source.lock_file_text(),
                constraints: edited.requested.constraints,
                ..locked.clone()
            };
            self.locks.insert(call.key.clone(), Arc::new(entry));
        }
        // Several calls may need the same edit.
        if let Some(edit) = edited.edit
            && !self.edits.contains(&edit)
        {
            self.edits.push(edit);
        }
    }

    /// Returns the call with the locked version as its only constraint, unless it has that already
    /// or is not locked.
    fn pinned_version(&mut self, call: &ModuleCall, locked: Option<&LockedModule>) -> CallEdit {
        // A constraint says what is allowed, and only the lock file says what is used.
        let Some(version) = locked.and_then(|locked| locked.version.as_ref()) else {
            let name = LockedModule::label_name(&call.key);
            let message = format!("{name} is not pinned, because it is not locked");
            let warning = Diagnostic::warning(Code::ModuleRefFloating, message);
            let help = Help::text("lock it with ").and(Remedy::LockModules);
            self.warnings.push(call.at_call(warning).help(help));
            return Edit::NotRequested;
        };
        if registry::pinned_version(&call.constraints) == Some(version) {
            return Edit::NotRequested;
        }
        module_edit::to_constraints(call, version, |_| Some(version.to_string())).into()
    }

    /// The edit that completes the ID of a commit.
    fn pinned_short_commit(
        &self,
        call: &ModuleCall,
        source: &RemoteSource,
        locked: Option<&LockedModule>,
    ) -> Result<CallEdit> {
        if let Err(why) = module_edit::written_source(call) {
            return Ok(Edit::Impossible(why));
        }
        // The lock file has the full ID without a request.
        let commit = if let Some(commit) = locked.and_then(locked::commit_of) {
            commit
        } else if let Some(fetcher) = &self.modules.fetcher {
            let commit = fetcher.full_commit(source);
            commit.map_err(|errors| call.not_fetched(errors))?
        } else {
            return Err(not_requested_error(call).into());
        };
        let new = NewRevision::Commit {
            id: &commit,
            name: None,
        };
        Ok(module_edit::to_revision(call, self.dialect, new).into())
    }

    /// The edit that replaces the tag of an OCI registry by its digest; none if the source
    /// contains a digest, or the dialect has no such modules.
    fn pinned_digest(
        &self,
        call: &ModuleCall,
        source: &RemoteSource,
        locked: Option<&LockedModule>,
    ) -> Result<CallEdit> {
        let package = source.in_oci_registry();
        let Some(tag) = package.as_ref().and_then(ModulePackage::tag) else {
            return Ok(Edit::NotRequested);
        };
        // Terraform has no modules in OCI registries.
        if self.dialect != Dialect::Tofu {
            return Ok(Edit::NotRequested);
        }
        if let Err(why) = module_edit::written_source(call) {
            return Ok(Edit::Impossible(why));
        }
        let digest = if let Some(digest) = locked.and_then(locked::digest_of) {
            digest
        } else if let Some(fetcher) = &self.modules.fetcher {
            let digest = fetcher.current_digest(self.dialect, source);
            digest.map_err(|errors| call.not_fetched(errors))?
        } else {
            return Err(not_requested_error(call).into());
        };
        let new = NewRevision::Digest {
            digest: &digest,
            tag,
        };
        Ok(module_edit::to_revision(call, self.dialect, new).into())
    }

    /// The edit that pins a source in git; none if it names a commit, or is not in git.
    fn pinned_commit(
        &self,
        call: &ModuleCall,
        source: &RemoteSource,
        locked: Option<&LockedModule>,
    ) -> Result<CallEdit> {
        let name = match Revision::of(source) {
            None | Some(Revision::Commit(_)) => return Ok(Edit::NotRequested),
            // The repository may get another commit with the same short ID.
            Some(Revision::Expression(digits)) if is_short_commit(&digits) => {
                return self.pinned_short_commit(call, source, locked);
            }
            Some(Revision::Expression(_)) => {
                return Ok(Edit::Impossible("its ref is neither a branch nor a tag"));
            }
            Some(Revision::Head) => None,
            Some(Revision::Name(name)) => Some(name),
        };
        if let Err(why) = module_edit::written_source(call) {
            return Ok(Edit::Impossible(why));
        }
        let mut commit = locked.and_then(locked::commit_of);
        // What is not locked yet is pinned at the commit that a run would use now.
        if commit.is_none() {
            let Some(fetcher) = &self.modules.fetcher else {
                return Err(not_requested_error(call).into());
            };
            let references = match fetcher.releases(self.dialect, &call.source) {
                Some(Ok(Releases::References(references))) => references,
                Some(Ok(_)) => return Ok(Edit::NotRequested),
                Some(Err(errors)) => return Err(call.not_fetched(errors)),
                None => return Err(not_requested_error(call).into()),
            };
            let current = match &name {
                Some(name) => references.commit(name),
                None => references.head(),
            };
            commit = current.map(str::to_owned);
        }
        let Some(commit) = commit else {
            return Ok(Edit::Impossible("its repository has no such branch or tag"));
        };
        let new = NewRevision::Commit {
            id: &commit,
            name: Some(name.as_deref().unwrap_or(HEAD)),
        };
        Ok(module_edit::to_revision(call, self.dialect, new).into())
    }
}

/// Whether a source is in git and names neither a commit nor an expression.
fn may_move_in_git(source: &ModuleSource) -> bool {
    let ModuleSource::Remote(source) = source else {
        return false;
    };
    matches!(
        Revision::of(source),
        Some(Revision::Head | Revision::Name(_))
    )
}

/// Whether the `ref` of a source is the beginning of the ID of a commit.
fn is_short_commit(reference: &str) -> bool {
    (4..40).contains(&reference.len()) && reference.bytes().all(|byte| byte.is_ascii_hexdigit())
}
