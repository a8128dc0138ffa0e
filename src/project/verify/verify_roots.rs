//! Verifying: compares the lock files of root modules with their configurations, their policies and
//! the registries.

use std::collections::BTreeSet;
use std::mem::take;
use std::path::{Path, PathBuf};

use super::audited_root::{
    AuditedRoot, FileState, LockFileNeed, Online, Tracked, VerifiedRoot, VerifyOptions,
};
use super::base::{Base, BaseFacts};
use super::several_roots::{ignored_by_git, mixed};
use super::whole_change::removed_lock_file;
use crate::configuration::terragrunt::UnitState;
use crate::configuration::{Backend, ModuleCache, Requirements, Resolver};
use crate::diagnostic::{Code, Diagnostic, Help, Location, Reason, Remedy, Result};
use crate::lockfile::{self, LOCK_FILE_NAME, LockFile, MODULE_LOCK_FILE_NAME};
use crate::packages::DemandedAge;
use crate::project::coverage::{Coverage, DirectoryKind, RootStatus};
use crate::project::event::Report;
use crate::project::module_locks;
use crate::project::root_module::{LOCK_STACK, OtherReading, Reading, RootModule};
use crate::project::roots::{FoundRoot, Roots};
use crate::project::session::Session;
use crate::provider::Version;
use crate::system::parallel;

/// Number of root modules that are verified at the same time if registries are asked.
const ROOTS_ONLINE: usize = 8;

impl Session<'_> {
    /// Verifies root modules, each with a result of its own. Nothing is written.
    ///
    /// # Errors
    /// The settings cannot be read by which a change is declared. What is wrong with a single root
    /// module is its own result.
    pub fn verify(
        &self,
        roots: &Roots,
        options: &VerifyOptions<'_>,
    ) -> Result<Report<VerifiedRoot>> {
        let roots = &roots.with_copied_lock_files();
        let threads = if options.online.is_some() {
            ROOTS_ONLINE
        } else {
            parallel::cores()
        };
        let change = self.options.change.as_ref();
        let facts = change.map(|change| BaseFacts::of(change, self, options.ignore_tests));
        if let Some(facts) = &facts
            && options.online.is_some()
        {
            let hosts = facts.requested_hosts(self.options.settings.as_ref());
            // Only a second run of the same session finds it set.
            let _ = self.modules.requested_hosts.set(hosts);
        }
        let removed = change
            .map(|change| self.removed(&roots.selection, change))
            .transpose()?;
        let mut removed = removed.unwrap_or_default();
        let verify = |root: &FoundRoot| {
            let verified = self.verify_root(root, options, facts.as_ref(), &removed);
            verified.map_err(|errors| root.name(errors))
        };
        let mut results = parallel::map(roots.list.iter().collect(), threads, verify);
        let is_new = |rule: &Location| change.is_some_and(|change| change.is_new_line(rule));
        let mut of_several = ignored_by_git(&mut results, options.version_control, is_new);
        if roots.selection.recursive {
            of_several.extend(mixed(&results, self));
        }
        for (index, finding) in of_several {
            if let Ok(report) = &mut results[index] {
                report.add_first(finding, &options.levels);
            }
        }
        if options.check_installed {
            report_nothing_installed(roots, &mut results);
        }
        for (root, result) in roots.list.iter().zip(&results) {
            let mut findings = result.iter().flat_map(|report| &report.findings);
            let directory = root.lock_directory.as_ref().or(root.canonical.as_ref());
            if findings.any(|finding| finding.code == Code::RootRemoved)
                && let Some(directory) = directory
            {
                removed.retain(|path| path.parent() != Some(directory));
            }
        }
        let mut findings = self.check_change(roots, options, facts.as_ref(), &removed);
        // A pattern that hides a lock file is a finding of its root module.
        let reported = results.iter().flatten().flat_map(|root| &root.findings);
        let hiding: Vec<_> = reported
            .filter(|finding| finding.code == Code::RootRemoved)
            .flat_map(|finding| &finding.labels)
            .map(|label| label.location.path())
            .collect();
        findings.retain(|finding| {
            let first = finding.labels.first();
            finding.reason != Some(Reason::FileNotRead)
                || first.is_none_or(|label| !hiding.contains(&label.location.path()))
        });
        self.finish();
        let coverage = coverage(roots, options, &results);
        let paths = roots.list.iter().map(|root| root.path.clone());
        Ok(Report {
            roots: paths.zip(results).collect(),
            findings,
            coverage,
        })
    }

    /// Checks one root module.
    fn verify_root(
        &self,
        found: &FoundRoot,
        options: &VerifyOptions<'_>,
        facts: Option<&BaseFacts<'_>>,
        removed: &BTreeSet<&Path>,
    ) -> Result<VerifiedRoot> {
        let mut module = self.open_root(found)?;
        let mut is_unit_to_generate = false;
        if module.refused.is_none() && !found.is_policy_only() {
            is_unit_to_generate = self.add_unit_of_stack(&mut module);
        }
        let mut report = VerifiedRoot::new(&module, options);
        if let Some(refused) = module.refused {
            report.findings.push(refused);
        } else {
            let audited = self.audit(&module, options, facts, &mut report);
            self.modules.forget(&module.canonical);
            audited?;
            let in_root = |one: Diagnostic| module.in_dialect(one.in_root(module.path(), false));
            for list in [&mut report.findings, &mut report.not_shared] {
                *list = take(list).into_iter().map(in_root).collect();
            }
            if !module.has_configuration(&self.modules) && module.has_stack(self.tree()) {
                for finding in &mut report.findings {
                    if finding.help.as_ref().is_some_and(Help::locks) {
                        finding.help = Some(Help::text(LOCK_STACK));
                    }
                }
            }
            if is_unit_to_generate {
                for finding in &mut report.findings {
                    finding.help = finding.help.take().map(help_before_generation);
                }
            }
            report.errors = module
                .name(take(&mut report.errors).into_iter().collect())
                .into_iter()
                .collect();
            for (name, code) in [
                (LOCK_FILE_NAME, Code::LockFileMissing),
                (MODULE_LOCK_FILE_NAME, Code::ModuleNotLocked),
            ] {
                let Some(facts) = facts else {
                    continue;
                };
                let mut lock_file = module.lock_directory.join(name);
                if let Some(old) = facts.change.moved_from(&module.lock_directory) {
                    lock_file = old.join(name);
                }
                if removed.contains(&*lock_file)
                    && let Some(missing) = report.findings.iter_mut().find(|one| one.code == code)
                {
                    // The removal is the cause. Unlike a missing lock file it cannot be suppressed.
                    *missing = removed_lock_file(facts.change, &lock_file);
                }
            }
        }
        report.apply_overrides(&options.levels, found.list_length);
        Ok(report)
    }

    /// Collects the context of a root module, and runs all audits.
    fn audit(
        &self,
        module: &RootModule,
        options: &VerifyOptions<'_>,
        facts: Option<&BaseFacts<'_>>,
        report: &mut VerifiedRoot,
    ) -> Result<()> {
        let RootModule {
            dialect,
            settings,
            lock_path,
            ..
        } = module;
        let shared = options
            .online
            .filter(|online| online.trust_shared)
            .and(settings.shared_cache());
        let source = options
            .online
            .map(|_| self.source(*dialect, shared))
            .transpose()?;
        let listings = options
            .online
            .map(|_| self.listings(*dialect))
            .transpose()?
            .flatten();
        let progress = |package: &_, progress| self.note_progress(package, progress);
        let tracked = tracked(module, options);
        let base = facts.map(|facts| Base::new(facts, module));
        let had_lock_file = base
            .as_ref()
            .is_some_and(|base| !base.providers.bytes.is_empty());
        let had_module_lock_file = base
            .as_ref()
            .is_some_and(|base| !base.modules.bytes.is_empty());
        let modules = module
            .locks_modules(had_module_lock_file)
            .then(|| module.parsed_module_lock_file());
        let following = modules.as_ref().map(module_locks::following);
        let resolver = following.as_ref().map(|resolve| resolve as &Resolver<'_>);
        let (declared, to_meet) = self.readings(module, options.ignore_tests, resolver)?;
        let platforms = report.platforms.clone();
        let parsed = module
            .lock_bytes
            .as_deref()
            .map(|bytes| lockfile::parse(lock_path, bytes, *dialect));
        let (lock_file, state) = match parsed {
            None => (None, FileState::Missing),
            Some(parsed) => {
                let is_readable = parsed.lock_file.is_some();
                report.findings.extend(parsed.diagnostics);
                (
                    parsed.lock_file,
                    if is_readable {
                        FileState::Readable
                    } else {
                        FileState::Unreadable
                    },
                )
            }
        };
        let root = AuditedRoot {
            module,
            options,
            lock_file: lock_file.unwrap_or_else(|| LockFile::empty(lock_path, *dialect)),
            state,
            modules,
            declared,
            to_meet,
            packages: &self.modules,
            platforms: platforms.as_ref(),
            cache: self.hash_cache.as_ref(),
            dev_overrides: self.connections.dev_overrides(*dialect)?,
            tracked_data: tracked_data(module, &tracked, options),
            tracked,
            expected: if had_lock_file {
                LockFileNeed::Always
            } else {
                module.expected(&self.modules)
            },
            base,
            min_age: settings.policy.min_age().map(|age| DemandedAge {
                age,
                now: self.started,
            }),
            online: source.as_deref().map(|source| Online {
                source,
                progress: &progress,
                listings,
            }),
        };
        super::verify(&root, report);
        if !root.is_policy_only() {
            let requirements = root.requirements();
            report.is_incomplete = requirements.is_incomplete;
            report.unknown_state = requirements.unknown_state().map(str::to_owned);
        }
        if had_lock_file {
            // A change must not remove a lock file from the check by ignoring it.
            report.findings.splice(0..0, report.not_shared.drain(..));
        }
        Ok(())
    }

    /// Requirements that the policy must allow, and requirements that the lock file must meet, if
    /// they differ: none outside of root modules, and none that only the other tool would read.
    fn readings(
        &self,
        module: &RootModule,
        ignore_tests: bool,
        resolver: Option<&Resolver<'_>>,
    ) -> Result<(Requirements, Option<Requirements>)> {
        let unknown = || Requirements {
            is_incomplete: true,
            ..Requirements::default()
        };
        if module.found.kind == DirectoryKind::OtherLockFile {
            return Ok((unknown(), None));
        }
        let read = module.known_requirements(&self.modules, ignore_tests, resolver)?;
        let reading = Reading {
            dialect: module.dialect,
            ignore_tests,
            allow_missing_modules: true,
        };
        let own = self.with_sharing(module, read, reading, resolver)?;
        let unknown = module.found.is_policy_only().then(unknown);
        // A lock file alone has no files that only one of the tools reads.
        let is_alone = module.lock_bytes.is_some() && !module.has_configuration(&self.modules);
        if module.other_reading == OtherReading::Ignored || is_alone {
            return Ok((own, unknown));
        }
        let (dialect, modules) = (module.dialect, &self.modules);
        let other = module.requirements_as(
            dialect.other(),
            modules,
            ignore_tests,
            true,
            resolver,
            &|_| (),
        )?;
        let declared = own.clone().with_reading_of_other(other, dialect);
        let to_meet = (module.other_reading == OtherReading::MeetsPolicy).then_some(own);
        Ok((declared, unknown.or(to_meet)))
    }
}

/// Help about the lock file of a unit that is not generated, which no command can lock.
fn help_before_generation(help: Help) -> Help {
    if !help.locks() {
        return help;
    }
    help.after("run terragrunt stack generate, then: ")
}

/// Facts of version control about a root module. It is not asked about lock files under other
/// names.
fn tracked(root: &RootModule, options: &VerifyOptions<'_>) -> Tracked {
    match options.version_control {
        Some(control) if root.found.lock_name.is_none() => {
            let has_modules = root.module_lock_bytes.is_some();
            control.tracked(&root.lock_directory, has_modules)
        }
        _ => Tracked::default(),
    }
}

/// Tracked files of data directories, as the user knows them, also in modules whose hidden files
/// Terragrunt copies.
fn tracked_data(root: &RootModule, tracked: &Tracked, options: &VerifyOptions<'_>) -> Vec<PathBuf> {
    let own = tracked
        .data_files
        .iter()
        .map(|file| root.lock_path.with_file_name(file));
    let units = root
        .units
        .iter()
        .filter(|unit| unit.read.copies_hidden_files);
    let modules = units.filter_map(|unit| Some((unit.local_module()?, unit.shown_module()?)));
    let copied = modules.flat_map(|(module, shown)| {
        let files = options
            .version_control
            .map(|control| control.tracked(module, false).data_files);
        files
            .into_iter()
            .flatten()
            .map(move |file| shown.join(file))
    });
    own.chain(copied).collect()
}

/// Counts root modules and skipped directories by their results.
fn coverage(
    roots: &Roots,
    options: &VerifyOptions<'_>,
    results: &[Result<VerifiedRoot>],
) -> Coverage {
    let mut coverage = roots.passed_over.clone();
    let units: Vec<_> = roots.unlocked_units.iter().map(PathBuf::as_path).collect();
    let rules = options
        .version_control
        .map(|control| control.ignore_rules(&units))
        .unwrap_or_default();
    rules
        .iter()
        .flatten()
        .for_each(|rule| coverage.note_ignored(DirectoryKind::Unit, rule));
    for (root, result) in roots.list.iter().zip(results) {
        match result {
            Ok(report) => {
                let mut status = report.status();
                let is_without_findings = matches!(status, RootStatus::NeedsNone | RootStatus::Ok);
                if root.is_excluded && is_without_findings {
                    status = RootStatus::Excluded;
                }
                coverage.add(report.kind, status, report.ignore_rule.as_ref());
            }
            Err(_) => coverage.add(root.kind, RootStatus::Failed, None),
        }
    }
    coverage
}

/// Adds an error to each root module without any installed package of a locked provider. With
/// `--recursive`, some may be uninstalled on purpose, but not all. Terragrunt installs units
/// elsewhere, and locked modules that are not installed are a finding.
fn report_nothing_installed(roots: &Roots, results: &mut [Result<VerifiedRoot>]) {
    if roots.selection.recursive && results.iter().flatten().any(|report| report.installed > 0) {
        return;
    }
    let is_empty = |root: &&mut VerifiedRoot| {
        root.entries > 0
            && root.installed == 0
            && root.modules == 0
            && root.kind == DirectoryKind::RootModule
    };
    for (root, result) in roots.list.iter().zip(results) {
        if let Some(report) = result.as_mut().ok().filter(is_empty) {
            let error = Diagnostic::error(
                Code::NothingInstalled,
                "nothing is installed that could be compared",
            )
            .note("the data directory has no package of a locked version whose entry has an h1")
            .help(
                Help::text("install what is locked first: ")
                    .and(Remedy::InstallProviders(report.dialect)),
            );
            report.errors.push(root.locate(error));
        }
    }
}

impl RootModule {
    /// Whether a lock file is expected: the user selected the root module, or its state is shared,
    /// so that other users run `init`. Programs before 0.14 know no lock files.
    fn expected(&self, modules: &ModuleCache) -> LockFileNeed {
        let module = self.module(modules);
        let shares_state = matches!(module.backend, Some(Backend::Remote(_)))
            || self
                .units
                .iter()
                .any(|unit| unit.read.state != UnitState::Local);
        match self.found.is_explicit || shares_state {
            _ if module.required_version.is_below(&Version::new(0, 14, 0)) => LockFileNeed::Never,
            true => LockFileNeed::Always,
            false => LockFileNeed::Perhaps,
        }
    }

    /// Requirements of the configuration, as far as they are known. A lock file may have no
    /// configuration beside it.
    fn known_requirements(
        &self,
        modules: &ModuleCache,
        ignore_tests: bool,
        resolver: Option<&Resolver<'_>>,
    ) -> Result<Requirements> {
        if self.lock_bytes.is_none() || self.has_configuration(modules) {
            let read = self.requirements_with(modules, ignore_tests, true, resolver);
            // A new `terragrunt.hcl` is often empty first. Terragrunt has nothing to run there.
            if let Err(errors) = &read
                && self.is_unit()
                && self.lock_bytes.is_none()
                && errors
                    .iter()
                    .all(|error| error.code == Code::NoConfiguration)
            {
                return Ok(Requirements::default());
            }
            return read;
        }
        Ok(self.without_configuration(modules.tree(), "checked on its own"))
    }
}
