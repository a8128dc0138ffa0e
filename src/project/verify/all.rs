//! Verifying: compares the lock files of root modules with their configurations, their policies and the registries.

use std::collections::BTreeSet;

use super::base::Base;
use super::overrides::SeverityOverrides;
use super::publishers::KnownPublishers;
use super::root::{Expected, FileState, Online, Root};
use super::several_roots::{ignored_by_git, mixed};
use super::verified::{OnlineOptions, Suppressed, VerifiedRoot, VerifyOptions, VersionControl};
use std::path::{Path, PathBuf};

use crate::configuration::{Backend, ModuleCache, Requirements, Resolver};
use crate::diagnostic::{Code, Diagnostic, Location, Result};
use crate::lockfile::{self, LOCK_FILE_NAME, LockFile, Parsed};
use crate::packages::DemandedAge;
use crate::project::change::{KnownProviders, removed_lock_file};
use crate::project::coverage::{Kind, RootStatus};
use crate::project::event::Report;
use crate::project::module_locks;
use crate::project::root_module::{OtherReading, RootModule};
use crate::project::roots::{FoundRoot, Roots};
use crate::project::session::Session;
use crate::project::unit::Unit;
use crate::provider::Version;
use crate::system::parallel;

/// Number of root modules that are verified at the same time if registries are asked.
const ROOTS_ONLINE: usize = 8;

impl Session<'_> {
    /// Verifies root modules, each with a result of its own. Nothing is written.
    ///
    /// # Errors
    /// The settings cannot be read by which a change is declared. What is wrong with a single root module is its own
    /// result.
    pub fn verify(&self, roots: &Roots, options: &VerifyOptions<'_>) -> Result<Report<VerifiedRoot>> {
        let threads = if options.online.is_some() { ROOTS_ONLINE } else { parallel::cores() };
        let known = self.options.change.as_ref().map(|change| (change.known_providers(), KnownPublishers::of(change)));
        let removed = self.options.change.as_ref().map(|change| self.removed(&roots.selection, change)).transpose()?;
        let mut removed = removed.unwrap_or_default();
        let verify = |root: &FoundRoot| {
            let verified = self.open_root(root).and_then(|opened| {
                let verified = self.verify_root(&opened, root, options, known.as_ref(), &removed);
                self.modules.forget(&opened.canonical);
                verified
            });
            let in_root =
                |error: Diagnostic| if roots.may_be_several() { error.in_root(&root.path, true) } else { error };
            let (mut report, overrides) = verified.map_err(|errors| root.truncate(errors).map(in_root))?;
            overrides.apply_to_all(&mut report, roots.len());
            report.errors = root.truncate(std::mem::take(&mut report.errors)).into_iter().map(in_root).collect();
            Ok((report, overrides))
        };
        let (mut verified, mut overrides) = (Vec::new(), Vec::new());
        for result in parallel::map(roots.list.iter().collect(), threads, verify) {
            let (report, of_root) = match result {
                Ok((report, of_root)) => (Ok(report), Some(of_root)),
                Err(errors) => (Err(errors), None),
            };
            verified.push(report);
            overrides.push(of_root);
        }
        let is_new = |rule: &Location| {
            self.options.change.as_ref().is_some_and(|change| change.is_new_line(rule, &self.environment))
        };
        for (index, finding) in ignored_by_git(&mut verified, options.version_control, is_new) {
            if let (Ok(report), Some(overrides)) = (&mut verified[index], &overrides[index]) {
                let finding = overrides.apply(finding, &mut report.suppressed);
                report.findings.splice(0..0, finding);
            }
        }
        if options.check_installed {
            report_nothing_installed(roots, &mut verified);
        }
        let mixed = if roots.selection.recursive { mixed(&verified, self) } else { Vec::new() };
        for (index, finding) in mixed {
            if let (Ok(report), Some(overrides)) = (&mut verified[index], &overrides[index]) {
                report.findings.extend(overrides.apply(finding, &mut report.suppressed));
            }
        }
        for (root, verified) in roots.list.iter().zip(&verified) {
            let is_reported = |root: &VerifiedRoot| root.findings.iter().any(|one| one.code == Code::RootRemoved);
            if verified.as_ref().is_ok_and(is_reported)
                && let Some(directory) = root.lock_directory.as_ref().or(root.canonical.as_ref())
            {
                removed.remove(&*directory.join(LOCK_FILE_NAME));
            }
        }
        let findings = self.check_change(roots, options, &removed);
        self.finish();
        let mut coverage = roots.passed_over.clone();
        if let Some(control) = options.version_control.filter(|_| !roots.unlocked_units.is_empty()) {
            let units: Vec<_> = roots.unlocked_units.iter().map(PathBuf::as_path).collect();
            for rule in control.ignore_rules(&units).into_iter().flatten() {
                coverage.note_ignored(Kind::Unit, &rule);
            }
        }
        for (root, verified) in roots.list.iter().zip(&verified) {
            match verified {
                Ok(verified) => verified.count_in(&mut coverage),
                Err(_) => coverage.add(root.kind, RootStatus::Failed),
            }
        }
        let paths = roots.list.iter().map(|root| root.path.clone());
        Ok(Report { roots: paths.zip(verified).collect(), findings, coverage })
    }

    /// Findings about the change as a whole.
    fn check_change(&self, roots: &Roots, options: &VerifyOptions<'_>, removed: &BTreeSet<&Path>) -> Vec<Diagnostic> {
        let Some(change) = &self.options.change else { return Vec::new() };
        let directory = roots.selection.first_directory();
        let (canonical, settings) = self.settings(&directory).unwrap_or_default();
        let changed = change.changed_settings(&self.environment).into_iter().filter(|(directory, _)| {
            let is_below = |root: &FoundRoot| root.canonical.as_ref().is_some_and(|root| root.starts_with(directory));
            canonical.starts_with(directory) || directory.starts_with(&canonical) || roots.list.iter().any(is_below)
        });
        let findings = change.removals(removed, &self.environment).into_iter().chain(change.findings.iter().cloned());
        let stacks = change.unknown_stacks(&self.environment);
        let unknown = super::change::unknown(&stacks.iter().collect::<Vec<_>>());
        let findings = findings.chain(changed.map(|(_, finding)| finding)).chain(unknown);
        let findings = findings.chain(change.links_added(&roots.selection, &self.environment));
        let findings = findings.chain(change.case_variant(&self.environment));
        let overrides = SeverityOverrides::new(&canonical, &options.levels, &settings.verify);
        findings.filter_map(|finding| overrides.apply(finding, &mut Suppressed::default())).collect()
    }

    /// Checks one root module. Its findings have the severities of their codes.
    fn verify_root<'a>(
        &self,
        opened: &RootModule,
        root: &FoundRoot,
        options: &'a VerifyOptions<'_>,
        known: Option<&(KnownProviders, KnownPublishers)>,
        removed: &BTreeSet<&Path>,
    ) -> Result<(VerifiedRoot, SeverityOverrides<'a>)> {
        let overrides = SeverityOverrides::new(&opened.canonical, &options.levels, &opened.settings.verify);
        let platforms = options.platforms.clone().or_else(|| opened.settings.platforms.clone());
        let platforms = platforms.filter(|_| !root.is_policy_only() && opened.refused.is_none());
        let mut report = VerifiedRoot::new(opened, root.kind, platforms);
        if let Some(refused) = opened.refused.clone() {
            report.findings.push(refused);
            return Ok((report, overrides));
        }
        self.audit(opened, root, options, known, &mut report)?;
        for list in [&mut report.findings, &mut report.not_shared, &mut report.errors] {
            let in_root = |one: Diagnostic| opened.in_dialect(one.in_root(opened.path(), false));
            *list = std::mem::take(list).into_iter().map(in_root).collect();
        }
        let lock_file = opened.lock_directory.join(LOCK_FILE_NAME);
        if removed.contains(&*lock_file)
            && let Some(missing) = report.findings.iter_mut().find(|one| one.code == Code::LockFileMissing)
        {
            // The removal is the cause. Unlike a missing lock file it cannot be suppressed.
            *missing = removed_lock_file(&lock_file, &self.environment);
        }
        Ok((report, overrides))
    }

    /// Collects the context of a root module, and runs all audits.
    fn audit(
        &self,
        opened: &RootModule,
        root: &FoundRoot,
        options: &VerifyOptions<'_>,
        known: Option<&(KnownProviders, KnownPublishers)>,
        report: &mut VerifiedRoot,
    ) -> Result<()> {
        let source = |OnlineOptions { trust_shared }| {
            let shared = opened.settings.shared_cache().filter(|_| trust_shared);
            self.source(opened.dialect, shared)
        };
        let source = options.online.map(source).transpose()?;
        let listings = options.online.map(|_| self.listings(opened.dialect)).transpose()?.flatten();
        let progress = |package: &_, progress| self.note_progress(package, progress);
        let tracked =
            |control: &dyn VersionControl| control.tracked(&opened.lock_directory, opened.module_lock_bytes.is_some());
        let base = self.options.change.as_ref().zip(known);
        let base = base.map(|(change, known)| Base::new(change, &self.environment, opened, known));
        let had_lock_file = base.as_ref().is_some_and(|base| !base.bytes.is_empty());
        let had_module_lock_file = base.as_ref().is_some_and(|base| !base.module_bytes.is_empty());
        let modules = opened.locks_modules(had_module_lock_file).then(|| opened.parsed_module_lock_file());
        let following = modules.as_ref().map(module_locks::following);
        let resolver = following.as_ref().map(|resolve| resolve as &Resolver<'_>);
        let (declared, to_meet) = self.readings(opened, root, options.ignore_tests, resolver)?;
        let platforms = report.platforms.clone();
        let bytes = opened.lock_bytes.as_deref();
        let parsed = bytes.map(|bytes| lockfile::parse(&opened.lock_path, bytes, opened.dialect));
        let state = match &parsed {
            None => FileState::Missing,
            Some(Parsed { lock_file: None, .. }) => FileState::Unreadable,
            Some(_) => FileState::Readable,
        };
        let Parsed { lock_file, diagnostics } = parsed.unwrap_or(Parsed { lock_file: None, diagnostics: Vec::new() });
        super::verify(
            &Root {
                module: opened,
                options,
                is_policy_only: root.is_policy_only(),
                lock_file: lock_file.unwrap_or_else(|| LockFile::empty(&opened.lock_path, opened.dialect)),
                state,
                problems: diagnostics,
                modules,
                declared,
                to_meet,
                packages: &self.modules,
                platforms: platforms.as_ref(),
                cache: self.hash_cache.as_ref(),
                dev_overrides: self.connections.dev_overrides(opened.dialect)?,
                tracked: options.version_control.map(tracked).unwrap_or_default(),
                expected: if had_lock_file {
                    Expected::Always
                } else {
                    opened.expected(root.is_explicit, &self.modules)
                },
                base,
                age: opened.settings.policy.min_age().map(|age| DemandedAge { age, now: self.started }),
                online: source.as_deref().map(|source| Online { source, progress: &progress, listings }),
            },
            report,
        );
        if had_lock_file {
            // A change must not remove a lock file from the check by ignoring it.
            report.findings.splice(0..0, report.not_shared.drain(..));
        }
        Ok(())
    }

    /// Requirements that the policy must allow, and requirements that the lock file must meet, if they differ: none
    /// outside of root modules, and none that only the other tool would read.
    fn readings(
        &self,
        opened: &RootModule,
        root: &FoundRoot,
        ignore_tests: bool,
        resolver: Option<&Resolver<'_>>,
    ) -> Result<(Requirements, Option<Requirements>)> {
        let unknown = || Requirements { is_incomplete: true, ..Requirements::default() };
        if root.kind == Kind::OtherLockFile {
            return Ok((unknown(), None));
        }
        let own = opened.known_requirements(&self.modules, ignore_tests, resolver)?;
        let declared = if opened.other_reading != OtherReading::Ignored {
            let other =
                opened.requirements_as(opened.dialect.other(), &self.modules, ignore_tests, true, resolver, &|_| ())?;
            own.clone().with_reading_of_other(other, opened.dialect)
        } else if root.is_policy_only() {
            return Ok((own, Some(unknown())));
        } else {
            return Ok((own, None));
        };
        let must_be_locked = !root.is_policy_only() && opened.other_reading == OtherReading::IsLocked;
        let to_meet = if root.is_policy_only() { unknown() } else { own };
        Ok((declared, Some(to_meet).filter(|_| !must_be_locked)))
    }
}

/// Adds an error to each root module without any installed package of a locked provider. With `--recursive`, some may
/// be uninstalled on purpose, but not all. Terragrunt installs units elsewhere, and locked modules that are not
/// installed are a finding.
fn report_nothing_installed(roots: &Roots, verified: &mut [Result<VerifiedRoot>]) {
    let is_meant = roots.selection.recursive && verified.iter().flatten().any(|root| root.installed > 0);
    let is_empty = |root: &&mut VerifiedRoot| {
        root.entries > 0 && root.installed == 0 && root.modules == 0 && root.kind == Kind::RootModule
    };
    for root in verified.iter_mut().flatten().filter(|root| !is_meant && is_empty(root)) {
        let error = Diagnostic::error(Code::NothingInstalled, "nothing is installed that could be compared");
        let error = error.note("the data directory has no package of a locked version whose entry has an h1");
        let error = error.help(format!("install what is locked first: {} init", root.dialect.name()));
        root.errors.push(if roots.may_be_several() { error.in_root(&root.path, true) } else { error });
    }
}

impl RootModule {
    /// Whether a lock file is expected: the user selected the root module, or its state is shared, so that other users
    /// run `init`. Programs before 0.14 know no lock files.
    fn expected(&self, is_named: bool, modules: &ModuleCache) -> Expected {
        let module = self.module(modules);
        let shares_state =
            matches!(module.backend, Some(Backend::Remote(_))) || self.units.iter().any(Unit::shares_state);
        match is_named || shares_state {
            _ if module.required_version.is_below(&Version::new(0, 14, 0)) => Expected::Never,
            true => Expected::Always,
            false => Expected::Perhaps,
        }
    }

    /// Requirements of the configuration, as far as they are known. A lock file may have no configuration beside it.
    fn known_requirements(
        &self,
        modules: &ModuleCache,
        ignore_tests: bool,
        resolver: Option<&Resolver<'_>>,
    ) -> Result<Requirements> {
        if self.lock_bytes.is_none() || self.has_configuration(modules) {
            return self.requirements_with(modules, ignore_tests, true, resolver);
        }
        Ok(self.without_configuration("checked on its own"))
    }
}
