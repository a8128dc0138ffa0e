//! Verifying: compares the lock files of root modules with their configurations, their policies and
//! the registries.
//!
//! Code: `nothing-installed`.

use std::collections::BTreeSet;
use std::mem::take;
use std::path::{Path, PathBuf};

use super::audited_root::{
    AuditedRoot, FileState, LockFileNeed, Online, Tracked, VerifiedRoot, VerifyOptions,
};
use super::base::{Base, BaseFacts};
use super::overrides::name_allowing_option;
use super::several_roots::{findings_ignored_by_git, findings_mixed_dialects};
use super::whole_change::finding_removed_lock_file;
use crate::configuration::terragrunt::UnitState;
use crate::configuration::{Backend, ModuleCache, NO_OBSERVER, Requirements, Resolver};
use crate::diagnostic::{Code, Diagnostic, Help, Reason, Remedy, Result};
use crate::lockfile::{self, LOCK_FILE_NAME, LockFile, MODULE_LOCK_FILE_NAME};
use crate::packages::DemandedAge;
use crate::project::coverage::{Coverage, DirectoryKind, RootStatus};
use crate::project::event::Report;
use crate::project::root_module::locked_calls;
use crate::project::root_module::roots::{FoundRoot, Roots};
use crate::project::root_module::{
    LOCK_STACK, MissingModules, OtherReading, ReadingOptions, RootModule,
};
use crate::project::session::Session;
use crate::provider::Version;
use crate::system::parallel;

/// Number of root modules that are verified at the same time if registries are asked.
const ROOTS_ONLINE: usize = 8;

/// Next step of a finding about a lock file without a configuration, in place of a command that
/// locks.
const LOCK_WITH_CONFIGURATION: &str =
    "remove the lock file, or put its configuration beside it and lock that";

/// Requirements of a root module.
struct RootRequirements {
    /// Requirements that the policy must allow.
    declared: Requirements,
    /// Requirements that the lock file must meet, if they differ from the declared ones.
    to_meet: Option<Requirements>,
}

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
        let change = self.options.change.as_ref();
        let mut facts = None;
        let mut removed_lock_files = BTreeSet::new();
        if let Some(change) = change {
            facts = Some(BaseFacts::of(change, self, options.ignore_tests));
            removed_lock_files = self.removed_lock_files(&roots.selection, change)?;
        }
        // The change must not choose the hosts that are requested while it is checked.
        if let Some(facts) = &facts
            && options.online.is_some()
        {
            let hosts = facts.requested_hosts(self.options.settings.as_ref());
            // Only a second run of the same session finds it set.
            let _ = self.modules.requested_hosts.set(hosts);
            let internal = facts.internal_hosts(self.options.settings.as_ref());
            self.connections.limit_internal_hosts(internal);
        }

        let threads = if options.online.is_some() {
            ROOTS_ONLINE
        } else {
            parallel::cores()
        };
        let mut results = parallel::map(roots.list.iter().collect(), threads, |root| {
            let verified = self.verify_root(root, options, facts.as_ref(), &removed_lock_files);
            verified.map_err(|errors| root.with_root_module(errors))
        });

        // Findings about several root modules are reported with the first one.
        let mut of_several =
            findings_ignored_by_git(&mut results, options.version_control, |rule| {
                change.is_some_and(|change| change.is_new_line(rule))
            });
        if roots.selection.recursive {
            of_several.extend(findings_mixed_dialects(&results, self));
        }
        for (index, finding) in of_several {
            if let Ok(report) = &mut results[index] {
                report.add_first(finding, &options.levels);
            }
        }
        if options.check_installed {
            report_nothing_installed(roots, &mut results);
        }

        remove_reported_lock_files(&mut removed_lock_files, roots, &results);
        let mut findings = self.check_change(roots, options, facts.as_ref(), &removed_lock_files);
        remove_reported_patterns(&mut findings, &results);
        if change.is_some() {
            for report in results.iter_mut().flatten() {
                name_allowing_option(&mut report.findings);
            }
            name_allowing_option(&mut findings);
        }
        self.notify_at_end();

        let coverage = count_coverage(roots, options, &results);
        let paths = roots.list.iter().map(|root| root.path.clone());
        Ok(Report {
            roots: paths.zip(results).collect(),
            findings,
            coverage,
        })
    }

    /// Checks one root module, completes its findings with its path and dialect, and applies the
    /// severity overrides. The change removes `removed_lock_files`.
    fn verify_root(
        &self,
        found: &FoundRoot,
        options: &VerifyOptions<'_>,
        facts: Option<&BaseFacts<'_>>,
        removed_lock_files: &BTreeSet<&Path>,
    ) -> Result<VerifiedRoot> {
        let module = self.open_root(found)?;
        let mut report = VerifiedRoot::new(&module, options);
        if let Some(refused) = module.refused {
            report.findings.push(refused);
            report.apply_overrides(&options.levels, found.list_length);
            return Ok(report);
        }

        let audited = self.run_audits(&module, options, facts, &mut report);
        let has_configuration = module.has_configuration(&self.modules);
        let is_stack = !has_configuration && module.has_stack(self.tree());
        // From here on nothing reads this directory, and there may be very many. It is forgotten
        // also if an audit failed.
        self.modules.forget(&module.canonical);
        audited?;

        for findings in [&mut report.findings, &mut report.not_shared] {
            for finding in take(findings) {
                let finding = module.found.with_root_module_in_remedies(finding);
                findings.push(module.in_dialect(finding));
            }
        }
        let errors = take(&mut report.errors).into_iter().collect();
        report.errors = module.with_root_module(errors).into_iter().collect();

        for finding in &mut report.findings {
            let Some(help) = &finding.help else {
                continue;
            };
            // Without a configuration, no command of provlock locks anything.
            if is_stack && help.locks() {
                finding.help = Some(Help::text(LOCK_STACK));
            } else if !has_configuration && help.locks() {
                finding.help = Some(Help::text(LOCK_WITH_CONFIGURATION));
            }
        }
        if let Some(facts) = facts {
            report_removed_lock_files(&mut report.findings, &module, facts, removed_lock_files);
        }
        report.apply_overrides(&options.levels, found.list_length);
        Ok(report)
    }

    /// Collects the context of a root module, and runs all audits.
    fn run_audits(
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
        let mut source = None;
        let mut registry_data = None;
        if let Some(online) = options.online {
            let mut shared = None;
            if online.trust_shared {
                shared = settings.shared_cache();
            }
            source = Some(self.source(*dialect, shared)?);
            registry_data = self.registry_data(*dialect)?;
        }
        let progress = |package: &_, progress| self.note_progress(package, progress);

        let tracked = ask_tracking(module, options);
        let base = facts.map(|facts| Base::new(facts, module));
        let mut had_lock_file = false;
        let mut had_module_lock_file = false;
        if let Some(base) = &base {
            had_lock_file = !base.lock_file.bytes.is_empty();
            had_module_lock_file = !base.module_lock_file.bytes.is_empty();
        }

        // Modules are read in the locked versions.
        let mut module_lock_file = None;
        if had_module_lock_file || module.locks_modules() {
            module_lock_file = Some(module.parsed_module_lock_file());
        }
        let following = module_lock_file.as_ref().map(locked_calls::following);
        let resolver = following.as_ref().map(|resolve| resolve as &Resolver<'_>);
        let RootRequirements { declared, to_meet } =
            self.root_requirements(module, options.ignore_tests, resolver)?;

        let platforms = report.platforms.clone();
        let mut lock_file = LockFile::empty(lock_path, *dialect);
        let mut state = FileState::Missing;
        if let Some(bytes) = &module.lock_bytes {
            let parsed = lockfile::parse(lock_path, bytes, *dialect);
            report.findings.extend(parsed.diagnostics);
            state = FileState::Unreadable;
            if let Some(readable) = parsed.lock_file {
                lock_file = readable;
                state = FileState::Readable;
            }
        }

        let root = AuditedRoot {
            module,
            options,
            lock_file,
            lock_file_state: state,
            module_lock_file,
            declared,
            to_meet,
            module_cache: &self.modules,
            platforms: platforms.as_ref(),
            // The published packages decide then.
            cache: if source.is_some() {
                None
            } else {
                self.hash_cache.as_ref()
            },
            dev_overrides: self.connections.dev_overrides(*dialect)?,
            tracked_data: tracked_data_files(module, &tracked, options),
            tracked,
            // A lock file that the base has must not disappear, even where none would be needed.
            lock_file_need: if had_lock_file {
                LockFileNeed::Always
            } else {
                module.lock_file_need(&self.modules)
            },
            base,
            min_age: settings.policy.min_age().map(|age| DemandedAge {
                age,
                now: self.started,
            }),
            online: source.as_deref().map(|source| Online {
                source,
                progress: &progress,
                registry_data,
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

    /// Reads the requirements of a root module, as both tools do if only files under review decide
    /// which tool it is for.
    fn root_requirements(
        &self,
        module: &RootModule,
        ignore_tests: bool,
        resolver: Option<&Resolver<'_>>,
    ) -> Result<RootRequirements> {
        let unknown = Requirements {
            is_incomplete: true,
            ..Requirements::default()
        };
        if module.found.kind == DirectoryKind::OtherLockFile {
            return Ok(RootRequirements {
                declared: unknown,
                to_meet: None,
            });
        }

        let requirements = module.requirements_or_unknown(&self.modules, ignore_tests, resolver)?;
        let reading_options = ReadingOptions {
            dialect: module.dialect,
            ignore_tests,
            allow_missing_modules: true,
        };
        let own = self.with_sharing(module, requirements, reading_options, resolver)?;
        let mut to_meet = None;
        // Outside of root modules, the lock file need not fit the configuration.
        if module.found.is_policy_only() {
            to_meet = Some(unknown);
        }
        // A lock file alone has no files that only one of the tools reads.
        let is_alone = module.lock_bytes.is_some() && !module.has_configuration(&self.modules);
        if module.other_reading == OtherReading::Ignored || is_alone {
            return Ok(RootRequirements {
                declared: own,
                to_meet,
            });
        }

        let other = module.requirements_as(
            module.dialect.other(),
            &self.modules,
            ignore_tests,
            MissingModules::Allowed,
            resolver,
            NO_OBSERVER,
        )?;
        let declared = own.clone().with_reading_of_other(other, module.dialect);
        // The lock file need not contain what only the other tool would read.
        if to_meet.is_none() && module.other_reading == OtherReading::MeetsPolicy {
            to_meet = Some(own);
        }
        Ok(RootRequirements { declared, to_meet })
    }
}

/// Reports removed lock files as the cause of findings about missing ones. Unlike a missing lock
/// file, a removed one cannot be suppressed.
fn report_removed_lock_files(
    findings: &mut [Diagnostic],
    module: &RootModule,
    facts: &BaseFacts<'_>,
    removed_lock_files: &BTreeSet<&Path>,
) {
    let directory_at_base = match facts.moved_from(&module.lock_directory) {
        Some(old) => old,
        None => module.lock_directory.clone(),
    };
    for (name, code) in [
        (LOCK_FILE_NAME, Code::LockFileMissing),
        (MODULE_LOCK_FILE_NAME, Code::ModuleNotLocked),
    ] {
        let lock_file = directory_at_base.join(name);
        if !removed_lock_files.contains(&*lock_file) {
            continue;
        }
        let mut findings = findings.iter_mut();
        if let Some(missing) = findings.find(|finding| finding.code == code) {
            *missing = finding_removed_lock_file(facts.change, &lock_file);
        }
    }
}

/// Removes the lock files from the list whose removal is a finding of a root module already.
fn remove_reported_lock_files(
    removed_lock_files: &mut BTreeSet<&Path>,
    roots: &Roots,
    results: &[Result<VerifiedRoot>],
) {
    for (root, result) in roots.list.iter().zip(results) {
        let Ok(report) = result else { continue };
        let mut findings = report.findings.iter();
        if findings.any(|finding| finding.code == Code::RootRemoved)
            && let Some(directory) = root.lock_directory.as_ref().or(root.canonical.as_ref())
        {
            removed_lock_files.retain(|path| path.parent() != Some(directory));
        }
    }
}

/// Removes findings about the change that a root module has: a pattern that hides its lock file.
fn remove_reported_patterns(findings: &mut Vec<Diagnostic>, results: &[Result<VerifiedRoot>]) {
    let mut hiding = BTreeSet::new();
    for report in results.iter().flatten() {
        for finding in &report.findings {
            if finding.code == Code::RootRemoved {
                hiding.extend(finding.labels.iter().map(|label| label.location.path()));
            }
        }
    }
    findings.retain(|finding| match finding.labels.first() {
        Some(label) if finding.reason == Some(Reason::FileNotRead) => {
            !hiding.contains(label.location.path())
        }
        _ => true,
    });
}

/// Facts of version control about a root module. It is not asked about lock files under other
/// names.
fn ask_tracking(root: &RootModule, options: &VerifyOptions<'_>) -> Tracked {
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
fn tracked_data_files(
    root: &RootModule,
    tracked: &Tracked,
    options: &VerifyOptions<'_>,
) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for file in &tracked.data_files {
        files.push(root.lock_path.with_file_name(file));
    }
    let Some(control) = options.version_control else {
        return files;
    };
    for unit in &root.units {
        if unit.read.copies_hidden_files
            && let Some(module) = unit.local_module()
            && let Some(shown) = unit.shown_module()
        {
            let has_modules = false;
            for file in control.tracked(module, has_modules).data_files {
                files.push(shown.join(file));
            }
        }
    }
    files
}

/// Counts root modules and skipped directories by their results.
fn count_coverage(
    roots: &Roots,
    options: &VerifyOptions<'_>,
    results: &[Result<VerifiedRoot>],
) -> Coverage {
    let mut coverage = roots.passed_over.clone();
    if let Some(control) = options.version_control {
        let units: Vec<_> = roots.unlocked_units.iter().map(PathBuf::as_path).collect();
        for rule in control.rules_ignoring_lock_files(&units).iter().flatten() {
            coverage.note_ignored(DirectoryKind::Unit, rule);
        }
    }
    for (root, result) in roots.list.iter().zip(results) {
        match result {
            Ok(report) => {
                let mut status = report.status();
                // The settings exclude it, and it was verified for the policy only.
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
    for (root, result) in roots.list.iter().zip(results) {
        let Ok(report) = result else { continue };
        let is_compared = report.entries > 0 && report.kind == DirectoryKind::RootModule;
        if !is_compared || report.installed > 0 || report.modules > 0 {
            continue;
        }
        let error = Diagnostic::error(
            Code::NothingInstalled,
            "nothing is installed that could be compared",
        )
        .note("the data directory has no package of a locked version whose entry has an h1")
        .help(
            Help::text("install what is locked first: ")
                .and(Remedy::InstallProviders(report.dialect)),
        );
        report.errors.push(root.one_with_root_module(error));
    }
}

impl RootModule {
    /// Whether a lock file is expected: the user selected the root module, or its state is shared,
    /// so that other users run `init`. Programs before 0.14 know no lock files.
    fn lock_file_need(&self, modules: &ModuleCache) -> LockFileNeed {
        let module = self.module(modules);
        if module.required_version.is_below(&Version::new(0, 14, 0)) {
            return LockFileNeed::Never;
        }
        let has_shared_backend = matches!(module.backend, Some(Backend::Remote(_)));
        let mut units = self.units.iter();
        if self.found.is_explicit
            || has_shared_backend
            || units.any(|unit| unit.read.state != UnitState::Local)
        {
            LockFileNeed::Always
        } else {
            LockFileNeed::Perhaps
        }
    }

    /// Requirements of the configuration: unknown, with a warning, for a lock file without a
    /// configuration beside it, and none for a unit that is still empty.
    fn requirements_or_unknown(
        &self,
        modules: &ModuleCache,
        ignore_tests: bool,
        resolver: Option<&Resolver<'_>>,
    ) -> Result<Requirements> {
        if self.lock_bytes.is_some() && !self.has_configuration(modules) {
            let outcome = "checked on its own";
            return Ok(self.unknown_requirements(modules.tree(), outcome));
        }
        let requirements =
            self.requirements_with(modules, ignore_tests, MissingModules::Allowed, resolver);
        if let Err(errors) = &requirements {
            let mut errors = errors.iter();
            let is_empty = errors.all(|error| error.code == Code::NoConfiguration);
            // A new `terragrunt.hcl` is often empty first. Terragrunt has nothing to run there.
            if is_empty && self.is_unit() && self.lock_bytes.is_none() {
                return Ok(Requirements::default());
            }
        }
        requirements
    }
}
