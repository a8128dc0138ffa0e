//! Verifying: whether the lock files of root modules fit their configurations, their policies and what is published.

use std::collections::BTreeSet;

use super::levels::Levelled;
use super::mixed::mixed;
use super::unshared::add_unshared;
use super::verified::{Suppressed, VerifiedRoot, VersionControl};
use super::{Expected, Online, Verified, VerifyRequest};
use std::path::{Path, PathBuf};

use crate::configuration::{Backend, ModuleCache, ModuleLocking, Requirements, UnknownCall};
use crate::diagnostic::{Code, Diagnostic, Location, Result};
use crate::lockfile::{LOCK_FILE_NAME, MODULE_LOCK_FILE_NAME};
use crate::packages::DemandedAge;
use crate::project::change::{KnownProviders, KnownPublishers, removed_lock_file};
use crate::project::coverage::{Fate, Kind};
use crate::project::event::Report;
use crate::project::root_module::{OtherReading, RootModule};
use crate::project::roots::{RootPath, Roots};
use crate::project::session::Session;
use crate::project::unit::Unit;
use crate::provider::Version;
use crate::settings::{Levels, PlatformSelection};
use crate::system::parallel;

/// How many root modules are verified at a time when most of the time is spent waiting for a registry.
const ROOTS_ONLINE: usize = 8;

/// What is checked.
#[derive(Default)]
#[non_exhaustive]
pub struct VerifyOptions<'a> {
    /// The platforms that must be covered; else those of the settings.
    pub platforms: Option<PlatformSelection>,
    /// Whether the test files of root modules are left out.
    pub ignore_tests: bool,
    /// Whether installed packages are compared with the lock file.
    pub check_installed: bool,
    /// Who knows which files are tracked.
    pub version_control: Option<&'a dyn VersionControl>,
    /// What the caller says of findings; it wins over the settings.
    pub levels: Levels,
    /// Whether it is asked what is published, and whose word counts.
    pub online: Option<OnlineOptions>,
}

/// Asking what is published.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnlineOptions {
    /// Whether facts that a trusted key has signed count.
    pub trust_shared: bool,
}

/// A root module that was verified, what is wrong unless git ignores the lock file for a reason that others share,
/// and what decides which findings are reported.
type Verdict<'a> = (VerifiedRoot, Vec<Diagnostic>, Levelled<'a>);

impl Session<'_> {
    /// Verifies root modules, each with a result of its own. Nothing is written.
    ///
    /// # Errors
    /// The settings cannot be read by which a change is judged. What is wrong with a single root module is its own
    /// result.
    pub fn verify(&self, roots: &Roots, options: &VerifyOptions<'_>) -> Result<Report<VerifiedRoot>> {
        let threads = if options.online.is_some() { ROOTS_ONLINE } else { parallel::cores() };
        let known = self.options.change.as_ref().map(|change| (change.known_providers(), change.known_publishers()));
        let removed = self.options.change.as_ref().map(|change| self.removed(&roots.selection, change)).transpose()?;
        let mut removed = removed.unwrap_or_default();
        let verify = |root: &RootPath| {
            let verified = self.open_root(root).and_then(|opened| {
                let canonical = opened.canonical.clone();
                let lock_file = opened.lock_directory.join(LOCK_FILE_NAME);
                let mut verified = self.verify_root(opened, root, options, known.as_ref());
                if let Ok((verified, ..)) = &mut verified
                    && removed.contains(&*lock_file)
                {
                    // The removal is the cause. Unlike a missing lock file it cannot be suppressed.
                    let missing = verified.findings.iter_mut().find(|one| one.code == Code::LockFileMissing);
                    if let Some(finding) = missing {
                        *finding = removed_lock_file(&lock_file, &self.environment);
                    }
                }
                self.modules.forget(&canonical);
                verified
            });
            let in_root = |error: Diagnostic| if roots.are_many() { error.in_root(&root.path, true) } else { error };
            let (mut verified, unshared, mut levelled) = verified.map_err(|errors| root.few(errors).map(in_root))?;
            levelled.apply_all(&mut verified.findings, roots.len());
            verified.errors = root.few(verified.errors).into_iter().map(in_root).collect();
            Ok((verified, unshared, levelled))
        };
        let (mut verified, mut all_levelled) = (Vec::new(), Vec::new());
        for verdict in parallel::map(roots.list.iter().collect(), threads, verify) {
            verified.push(verdict.map(|(root, unshared, levelled): Verdict<'_>| {
                all_levelled.push(levelled);
                (root, unshared)
            }));
        }
        let is_new = |rule: &Location| {
            self.options.change.as_ref().is_some_and(|change| change.is_new_line(rule, &self.environment))
        };
        let mut verified = add_unshared(verified, options.version_control, is_new);
        if options.check_installed {
            report_nothing_installed(roots, &mut verified);
        }
        if roots.selection.recursive {
            for (index, finding) in mixed(&verified, self) {
                verified[index].iter_mut().for_each(|root| root.findings.push(finding.clone()));
            }
        }
        for (root, levelled) in verified.iter_mut().flatten().zip(all_levelled) {
            levelled.finish(root, roots.len());
        }
        for (root, verified) in roots.list.iter().zip(&verified) {
            let is_reported = |root: &VerifiedRoot| root.findings.iter().any(|one| one.code == Code::RootRemoved);
            if verified.as_ref().is_ok_and(is_reported)
                && let Some(directory) = root.lock_directory.as_ref().or(root.canonical.as_ref())
            {
                removed.remove(&*directory.join(LOCK_FILE_NAME));
            }
        }
        let findings = self.judge(roots, options, &removed);
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
                Err(_) => coverage.add(root.kind(), Fate::Failed),
            }
        }
        let paths = roots.list.iter().map(|root| root.path.clone());
        Ok(Report { roots: paths.zip(verified).collect(), findings, coverage })
    }

    /// Findings about the change as a whole.
    fn judge(&self, roots: &Roots, options: &VerifyOptions<'_>, removed: &BTreeSet<&Path>) -> Vec<Diagnostic> {
        let Some(change) = &self.options.change else { return Vec::new() };
        let directory = roots.selection.first_directory();
        let (canonical, settings) = self.settings(&directory).unwrap_or_default();
        let changed = change.changed_settings(&self.environment).into_iter().filter(|(directory, _)| {
            let is_below = |root: &RootPath| root.canonical.as_ref().is_some_and(|root| root.starts_with(directory));
            canonical.starts_with(directory) || directory.starts_with(&canonical) || roots.list.iter().any(is_below)
        });
        let findings = change.removals(removed, &self.environment).into_iter().chain(change.findings.iter().cloned());
        let stacks = change.unknown_stacks(&self.environment);
        let unknown = super::change::unknown(&stacks.iter().collect::<Vec<_>>());
        let findings = findings.chain(changed.map(|(_, finding)| finding)).chain(unknown);
        let levels = (&options.levels, &settings.verify[..]);
        let mut levelled = Levelled::new(&canonical, levels, 0);
        findings.filter_map(|finding| levelled.apply(finding)).collect()
    }

    fn verify_root<'a>(
        &self,
        opened: RootModule,
        root: &RootPath,
        options: &'a VerifyOptions<'_>,
        known: Option<&(KnownProviders, KnownPublishers)>,
    ) -> Result<Verdict<'a>> {
        let levels = (&options.levels, &opened.settings.verify[..]);
        if let Some(refused) = opened.refused.clone() {
            let levelled = Levelled::new(&opened.canonical, levels, 0);
            let verified = Verified { findings: vec![refused], ..Verified::default() };
            return Ok((VerifiedRoot::new(opened, root.kind(), None, verified), Vec::new(), levelled));
        }
        let platforms = options.platforms.clone().or_else(|| opened.settings.platforms.clone());
        let platforms = platforms.filter(|_| !root.is_only_judged);
        let mut verified = self.checked(&opened, root, options, platforms.as_ref(), known)?;
        let in_root = |one: Diagnostic| opened.in_dialect(one.in_root(&opened.path, false));
        verified.findings = verified.findings.into_iter().map(in_root).collect();
        verified.errors = verified.errors.into_iter().map(in_root).collect();
        let mut levelled = Levelled::new(&opened.canonical, levels, verified.ignored);
        let unshared = std::mem::take(&mut verified.unshared).into_iter().map(in_root);
        let unshared = unshared.filter_map(|finding| levelled.apply(finding)).collect();
        Ok((VerifiedRoot::new(opened, root.kind(), platforms, verified), unshared, levelled))
    }

    /// What is wrong with a root module, at whatever level.
    fn checked(
        &self,
        opened: &RootModule,
        root: &RootPath,
        options: &VerifyOptions<'_>,
        platforms: Option<&PlatformSelection>,
        known: Option<&(KnownProviders, KnownPublishers)>,
    ) -> Result<Verified> {
        let source = |OnlineOptions { trust_shared }| {
            let shared = opened.settings.shared_cache().filter(|_| trust_shared);
            self.source(opened.dialect, shared)
        };
        let source = options.online.map(source).transpose()?;
        let dev_overrides = self.connections.dev_overrides(opened.dialect)?;
        let listings = options.online.map(|_| self.listings(opened.dialect)).transpose()?.flatten();
        let age = opened.settings.policy.min_age().map(|age| DemandedAge { age, now: self.started });
        let progress = |package: &_, progress| self.note_progress(package, progress);
        let tracked =
            |control: &dyn VersionControl| control.tracked(&opened.lock_directory, opened.module_lock_bytes.is_some());
        let tracked = options.version_control.map(tracked).unwrap_or_default();
        let change = self.options.change.as_ref();
        let before =
            |name| change.map(|change| change.file_before(&opened.lock_directory.join(name)).unwrap_or_default());
        let (base, module_base) = (before(LOCK_FILE_NAME), before(MODULE_LOCK_FILE_NAME));
        let had_lock_file = base.is_some_and(|bytes| !bytes.is_empty());
        let had_module_lock_file = module_base.is_some_and(|bytes| !bytes.is_empty());
        let modules = opened.locks_modules(had_module_lock_file).then(|| opened.parsed_module_lock_file());
        let locking = modules.as_ref().map(ModuleLocking::following);
        let (judged, to_fit) = self.readings(opened, root, options.ignore_tests, locking.as_ref())?;
        let requirements = to_fit.as_ref().unwrap_or(&judged);
        let is_new = |place: &Location| change.is_some_and(|change| change.is_new_line(place, &self.environment));
        let mut verified = super::verify(&VerifyRequest {
            root: opened,
            is_only_judged: root.is_only_judged,
            requirements,
            judged: &judged,
            packages: &self.modules,
            modules: modules.as_ref(),
            platforms,
            platforms_are_named: options.platforms.is_some(),
            cache: self.hash_cache.as_ref(),
            dev_overrides: &dev_overrides,
            check_installed: options.check_installed,
            tracked: &tracked,
            expected: if had_lock_file { Expected::Always } else { opened.expected(root.is_named, &self.modules) },
            base,
            age,
            known: known.map(|(providers, _)| providers),
            is_new: &is_new,
            module_base,
            known_publishers: known.map(|(_, publishers)| publishers),
            online: source.as_deref().map(|source| Online { source, progress: &progress, listings }),
        });
        if had_lock_file {
            // A change must not get rid of a lock file by ignoring it.
            verified.findings.splice(0..0, verified.unshared.drain(..));
        }
        verified.findings.extend(super::change::unit(opened, &self.modules));
        if let Some(change) = change {
            let is_new = |unknown: &&UnknownCall| change.makes_unknown(unknown, &self.environment);
            let new = judged.unknown.iter().filter(is_new).map(|unknown| &unknown.location);
            let sources: Vec<_> = opened.units.iter().filter_map(Unit::literal_source).collect();
            let is_of_base = |place: &&Location| {
                let mut of_unit = sources.iter().filter(|(_, location)| location == place);
                of_unit.any(|(source, _)| change.has_unit_with_source(source, &self.environment))
            };
            let (of_base, new): (Vec<_>, Vec<_>) = new.partition(is_of_base);
            verified.findings.extend(super::change::unknown(&new));
            verified.findings.extend(super::change::unknown_as_before(&of_base));
        }
        Ok(verified)
    }

    /// What the policy has to allow, and what the lock file has to fit if that is something else: nothing outside of
    /// root modules, and no reading of the other program's.
    fn readings(
        &self,
        opened: &RootModule,
        root: &RootPath,
        ignore_tests: bool,
        locking: Option<&ModuleLocking>,
    ) -> Result<(Requirements, Option<Requirements>)> {
        let unknown = || Requirements { is_incomplete: true, ..Requirements::default() };
        if root.is_only_judged && !root.is_touched {
            return Ok((unknown(), None));
        }
        let own = opened.known_requirements(&self.modules, ignore_tests, locking)?;
        let judged = if opened.other_reading != OtherReading::Ignored {
            let other =
                opened.requirements_as(opened.dialect.other(), &self.modules, ignore_tests, true, locking, &|_| ())?;
            own.clone().with_reading_of_other(other, opened.dialect)
        } else if root.is_only_judged {
            return Ok((own, Some(unknown())));
        } else {
            return Ok((own, None));
        };
        let must_be_locked = !root.is_only_judged && opened.other_reading == OtherReading::IsLocked;
        let to_fit = if root.is_only_judged { unknown() } else { own };
        Ok((judged, Some(to_fit).filter(|_| !must_be_locked)))
    }
}

/// Adds an error to each root module in which nothing that is locked is installed. With `--recursive` it may be meant
/// that some are not installed, but not all. Terragrunt installs units elsewhere, and locked modules that are not
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
        root.errors.push(if roots.are_many() { error.in_root(&root.path, true) } else { error });
    }
}

impl VerifiedRoot {
    fn new(
        RootModule { path, lock_path, lock_bytes, dialect, dialect_reason, .. }: RootModule,
        kind: Kind,
        platforms: Option<PlatformSelection>,
        verified: Verified,
    ) -> Self {
        Self {
            path,
            lock_path,
            kind,
            has_lock_file: lock_bytes.is_some(),
            needs_lock_file: verified.needs_lock_file,
            ignore_rule: None,
            dialect,
            dialect_reason,
            platforms,
            installed: verified.installed,
            not_installed: verified.not_installed,
            dev_overrides: verified.dev_overrides,
            has_unknown_platforms: verified.has_unknown_platforms,
            mirrors: verified.mirrors,
            authentications: verified.authentications,
            entries: verified.entries,
            modules: verified.modules,
            registry: verified.registry,
            findings: verified.findings,
            errors: verified.errors,
            suppressed: Suppressed::default(),
        }
    }
}

impl RootModule {
    /// Whether there is to be a lock file: somebody asks for it, or state is shared, so that others run `init` here
    /// too. Programs before 0.14 know no lock files.
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

    /// What the configuration requires, as far as it is known. Beside a lock file there need not be one.
    fn known_requirements(
        &self,
        modules: &ModuleCache,
        ignore_tests: bool,
        locking: Option<&ModuleLocking>,
    ) -> Result<Requirements> {
        if self.lock_bytes.is_none() || self.has_configuration(modules) {
            return self.requirements_with(modules, ignore_tests, true, locking);
        }
        Ok(self.without_configuration("checked on its own"))
    }
}
